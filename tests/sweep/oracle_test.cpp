// SPDX-License-Identifier: Apache-2.0
// The oracle against itself: its two ways to an expected code, and its tables against numbers that
// the specifications state elsewhere. No library code is called.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "format_list.hpp"
#include "oracle/search.hpp"
#include "oracle/tables.hpp"
#include "oracle/thresholds.hpp"
#include "policies.hpp"

namespace {

class OracleTables : public testing::TestWithParam<oracle::format_id> {
 protected:
  const oracle::format& f = oracle::get(GetParam());
};
std::string name_of(const testing::TestParamInfo<oracle::format_id>& info) {
  return sweep::test_name(oracle::get(info.param).name);
}

// The closed formula of a floating-point code gives the values that were enumerated.
TEST_P(OracleTables, ValuesFollowTheFormulaOfTheirCode) {
  const double least = f.magnitude(f.has_zero ? 1 : 0);
  std::uint32_t per_binade = 1;  // while the spacing stays that of the subnormals, twice
  while (f.has_zero && f.magnitude(2 * per_binade + 1) - f.magnitude(2 * per_binade) == least) {
    per_binade *= 2;
  }
  const int emin = std::ilogb(least) + std::ilogb(per_binade);
  const std::uint32_t stride = f.bits == 32 ? 65521 : 1;
  for (std::uint32_t i = 0; i <= f.largest_code; i += stride) {
    const std::uint32_t field = i / per_binade;
    const double fraction = double(i % per_binade) / per_binade;
    const double want =
        f.has_zero ? (field == 0 ? std::ldexp(fraction, emin)
                                 : std::ldexp(1 + fraction, emin + static_cast<int>(field) - 1))
                   : std::ldexp(1.0, static_cast<int>(i) - 127);
    ASSERT_EQ(f.magnitude(i), want) << "code " << i;
  }
}

TEST_P(OracleTables, WrittenCodesMeanWhatTheyAreWrittenFor) {
  for (const bool negative : {false, true}) {
    if (negative && !f.has_sign()) continue;
    const std::size_t side = negative ? 1 : 0;
    const oracle::value top = oracle::decode(f, f.saturated[side]);
    EXPECT_EQ(top.cls, oracle::value_class::finite);
    EXPECT_EQ(top.magnitude, f.largest);
    EXPECT_EQ(top.negative, negative);
    const oracle::value over = oracle::decode(f, f.unsaturated[side]);
    if (f.infinity) {
      EXPECT_EQ(over.cls, oracle::value_class::infinite);
      EXPECT_EQ(over.negative, negative);
    } else if (oracle::decode(f, f.nan).cls == oracle::value_class::nan) {
      EXPECT_EQ(over.cls, oracle::value_class::nan);
    } else {
      EXPECT_EQ(f.unsaturated[side], f.saturated[side]);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Formats, OracleTables, testing::ValuesIn(oracle::all_formats), name_of);

class OracleAgreement : public testing::TestWithParam<oracle::format_id> {};

// Thresholds (binary64 means of neighbours) against search (rationals), on both sides of every run
// and inside it. The runs are monotone between these points, so nothing can hide there.
TEST_P(OracleAgreement, ThresholdsEqualSearch) {
  const oracle::format& f = oracle::get(GetParam());
  const std::size_t step = f.bits > 16 ? 4093 : f.bits > 8 ? 127 : 1;
  for (const auto n : oracle::all_negatives) {
    if (f.has_sign() && n == oracle::negative::abs) continue;
    for (const auto r : oracle::all_roundings) {
      for (const auto o : oracle::all_overflows) {
        const std::vector<oracle::run> runs = oracle::threshold_runs(f, r, o, n);
        ASSERT_EQ(runs.front().first, 0U);
        for (std::size_t i = 0; i < runs.size(); i += i < 64 || i + 64 > runs.size() ? 1 : step) {
          const std::uint64_t end = i + 1 < runs.size() ? runs[i + 1].first : 0x100000000U;
          ASSERT_LT(runs[i].first, end);
          const auto last = static_cast<std::uint32_t>(end - 1);
          for (const std::uint32_t bits :
               {runs[i].first, runs[i].first + (last - runs[i].first) / 3, last}) {
            const float x = std::bit_cast<float>(bits);
            ASSERT_EQ(runs[i].code, oracle::encode(f, double{x}, r, o, n))
                << name(r) << ' ' << name(o) << ' ' << name(n) << ' ' << std::hexfloat << x;
            ASSERT_EQ(oracle::expected_code(runs, bits), runs[i].code);
          }
        }
      }
    }
  }
}

std::vector<oracle::format_id> narrow() {
  std::vector<oracle::format_id> ids(oracle::all_formats.begin(), oracle::all_formats.end());
  std::erase(ids, oracle::format_id::f32);
  return ids;
}
INSTANTIATE_TEST_SUITE_P(Formats, OracleAgreement, testing::ValuesIn(narrow()), name_of);

// For binary32 the processor is a third opinion.
TEST(OracleSearch, EqualsTheProcessorForBinary32) {
  const oracle::format& f = oracle::get(oracle::format_id::f32);
  std::uint64_t state = 7;
  for (int i = 0; i < 20000; ++i) {
    state = state * 6364136223846793005U + 1442695040888963407U;
    // Exponents from far below the subnormals of binary32 to above its range.
    const std::uint64_t e = 1023 - 155 + (state >> 40) % 290;
    const std::uint64_t mantissa = (state * 0x9E3779B97F4A7C15U) >> 12;
    const std::uint64_t low_zeros = i % 3 == 0 ? ~std::uint64_t{0} << 28 : ~std::uint64_t{0};
    const double x = std::bit_cast<double>((state & 1) << 63 | e << 52 | (mantissa & low_zeros));
    ASSERT_EQ(oracle::encode(f, x, oracle::rounding::nearest_even, oracle::overflow::nonsaturating),
              std::bit_cast<std::uint32_t>(static_cast<float>(x)))
        << std::hexfloat << x;
  }
}

// The thresholds that OFP8 5.2 implies, and the neighbours one binary32 ulp away.
TEST(OracleThresholds, OverflowStartsWhereOfp8SaysSo) {
  const auto code = [](oracle::format_id id, float x) {
    const auto runs = oracle::threshold_runs(oracle::get(id), oracle::rounding::nearest_even,
                                             oracle::overflow::nonsaturating);
    return oracle::expected_code(runs, std::bit_cast<std::uint32_t>(x));
  };
  using oracle::format_id;
  EXPECT_EQ(code(format_id::e4m3, 464.0F), 0x7EU);
  EXPECT_EQ(code(format_id::e4m3, std::nextafter(464.0F, 500.0F)), 0x7FU);
  EXPECT_EQ(code(format_id::e4m3, -465.0F), 0xFFU);
  EXPECT_EQ(code(format_id::e5m2, 61440.0F), 0x7CU);
  EXPECT_EQ(code(format_id::e5m2, std::nextafter(61440.0F, 0.0F)), 0x7BU);
  EXPECT_EQ(code(format_id::e4m3fnuz, 248.0F), 0x80U);
  EXPECT_EQ(code(format_id::e4m3fnuz, std::nextafter(248.0F, 0.0F)), 0x7FU);
  EXPECT_EQ(code(format_id::e5m2fnuz, 61440.0F), 0x80U);
  EXPECT_EQ(code(format_id::e4m3ieee, 248.0F), 0x78U);
  EXPECT_EQ(code(format_id::e3m4, 15.75F), 0x70U);
  EXPECT_EQ(code(format_id::e3m4, std::nextafter(15.75F, 0.0F)), 0x6FU);
}

// IEEE 754 7.4 for finite numbers; an infinite one stays infinite in every direction.
TEST(OracleSearch, DirectedModesBeyondTheRange) {
  const oracle::format& f = oracle::get(oracle::format_id::e5m2);
  const double inf = std::numeric_limits<double>::infinity();
  const auto code = [&f](double x, oracle::rounding r) {
    return oracle::encode(f, x, r, oracle::overflow::nonsaturating);
  };
  using oracle::rounding;
  EXPECT_EQ(code(1e30, rounding::toward_zero), 0x7BU);
  EXPECT_EQ(code(1e30, rounding::down), 0x7BU);
  EXPECT_EQ(code(1e30, rounding::up), 0x7CU);
  EXPECT_EQ(code(-1e30, rounding::up), 0xFBU);
  EXPECT_EQ(code(-1e30, rounding::down), 0xFCU);
  EXPECT_EQ(code(65535, rounding::to_odd), 0x7BU);
  EXPECT_EQ(code(65536, rounding::to_odd), 0x7CU);
  for (const rounding r : oracle::all_roundings) {
    EXPECT_EQ(code(inf, r), 0x7CU) << name(r);
    EXPECT_EQ(code(-inf, r), 0xFCU) << name(r);
  }
}

}  // namespace
