// SPDX-License-Identifier: Apache-2.0
// Formats nobody has named: every ExMy of up to eight bits with several biases and each kind of
// special values, and short two's complement formats, as format descriptions at run time.
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>

#include "mxref/convert.hpp"
#include "mxref/format.hpp"
#include "oracle/search.hpp"
#include "oracle/tables.hpp"
#include "policies.hpp"

namespace {

// One input of one format under all policies; false after a mismatch.
bool agrees(const mxref::format_desc& d, const oracle::format& f, double x) {
  const oracle::position p = oracle::locate(f, x);
  const mxref::number n = mxref::to_number(x);
  for (const auto r : oracle::all_roundings) {
    for (const auto o : oracle::all_overflows) {
      const std::uint64_t want = oracle::encode(f, p, r, o);
      const std::uint64_t got = mxref::to_code(d, n, sweep::dynamic(r), sweep::dynamic(o));
      if (got != want) {
        ADD_FAILURE() << f.name << ' ' << sweep::describe(r, o, x, got, want);
        return false;
      }
    }
  }
  return true;
}

bool decodes(const mxref::format_desc& d, const oracle::format& f) {
  for (std::uint32_t code = 0; code < f.code_count(); ++code) {
    const mxref::number n = mxref::to_number(d, code);
    const oracle::value v = oracle::decode(f, code);
    const bool same_class = n.is_finite() == (v.cls == oracle::value_class::finite) &&
                            n.is_inf() == (v.cls == oracle::value_class::infinite);
    const bool same_value =
        v.cls == oracle::value_class::nan ||
        (n.negative == v.negative && std::ldexp(static_cast<double>(n.sig), n.exp) == v.magnitude);
    if (!same_class || !same_value) {
      ADD_FAILURE() << f.name << ": code 0x" << std::hex << code;
      return false;
    }
  }
  return true;
}

bool converts(const mxref::format_desc& d, const oracle::format& f) {
  const double inf = std::numeric_limits<double>::infinity();
  for (const double x : {0.0, inf, std::numeric_limits<double>::denorm_min(), 0x1p-200, f.beyond,
                         f.beyond * 1.5, f.beyond * 2, f.beyond * 8, 0x1p1000}) {
    if (!agrees(d, f, x) || !agrees(d, f, -x)) return false;
  }
  if (!agrees(d, f, std::numeric_limits<double>::quiet_NaN())) return false;
  for (std::uint32_t i = 0; i <= f.largest_code; ++i) {
    const double low = f.magnitude(i);
    const double middle = low + (f.magnitude(i + 1) - low) / 2;
    for (const double x : {low, std::nextafter(low, inf), std::nextafter(middle, 0), middle,
                           std::nextafter(middle, inf), std::nextafter(f.magnitude(i + 1), 0)}) {
      if (!agrees(d, f, x) || !agrees(d, f, -x)) return false;
    }
  }
  return true;
}

class CustomFormat : public testing::TestWithParam<oracle::custom_specials> {};

TEST_P(CustomFormat, EncodesAndDecodesAsTheOracle) {
  const auto specials = [] {
    switch (GetParam()) {
      case oracle::custom_specials::ieee:
        return mxref::specials::ieee;
      case oracle::custom_specials::top_nan:
        return mxref::specials::nan_only;
      case oracle::custom_specials::minus_zero_nan:
        return mxref::specials::nan_for_minus0;
      case oracle::custom_specials::none:
        break;
    }
    return mxref::specials::none;
  }();
  int formats = 0;
  for (int exp_bits = 1; exp_bits <= 7; ++exp_bits) {
    for (int man_bits = 0; exp_bits + man_bits <= 7; ++man_bits) {
      const int usual_bias = (1 << (exp_bits - 1)) - 1;
      for (const int bias : {usual_bias, usual_bias + 1, 0, -3, 20}) {
        const mxref::format_desc d{exp_bits, man_bits, bias, specials};
        if (!mxref::is_valid(d)) continue;
        const oracle::format f = oracle::make_custom(exp_bits, man_bits, bias, GetParam());
        if (!decodes(d, f) || !converts(d, f)) return;
        ++formats;
      }
    }
  }
  EXPECT_GE(formats, 80);
}

std::string name_of(const testing::TestParamInfo<oracle::custom_specials>& test) {
  constexpr std::array names{"None", "Ieee", "TopNan", "MinusZeroNan"};
  return names[static_cast<std::size_t>(test.param)];
}

INSTANTIATE_TEST_SUITE_P(Specials, CustomFormat,
                         testing::Values(oracle::custom_specials::none,
                                         oracle::custom_specials::ieee,
                                         oracle::custom_specials::top_nan,
                                         oracle::custom_specials::minus_zero_nan),
                         name_of);

TEST(CustomFixedPoint, EncodesAndDecodesAsTheOracle) {
  for (int bits = 2; bits <= 9; ++bits) {
    for (const int step_exp : {-6, 0, 3}) {
      // The step of a fixed-point description is 2^(1 - bias - man_bits).
      const int man_bits = bits - 1;
      const mxref::format_desc d{0, man_bits, 1 - man_bits - step_exp, mxref::specials::none,
                                 mxref::encoding::twos_complement};
      ASSERT_TRUE(mxref::is_valid(d));
      const oracle::format f = oracle::make_fixed_point(bits, std::ldexp(1.0, step_exp));
      if (!decodes(d, f) || !converts(d, f)) return;
    }
  }
}

// The named tables, made a second time from their parameters.
TEST(CustomFormatOracle, RebuildsTheNamedTables) {
  using oracle::custom_specials;
  const auto same = [](oracle::format_id id, const oracle::format& made) {
    const oracle::format& f = oracle::get(id);
    EXPECT_EQ(f.magnitudes, made.magnitudes) << f.name;
    EXPECT_EQ(f.bits, made.bits) << f.name;
    EXPECT_EQ(f.sign, made.sign) << f.name;
    EXPECT_EQ(f.beyond, made.beyond) << f.name;
    EXPECT_EQ(f.infinity, made.infinity) << f.name;
    EXPECT_EQ(f.saturated, made.saturated) << f.name;
    EXPECT_EQ(f.saturated_full, made.saturated_full) << f.name;
    EXPECT_EQ(f.unsaturated, made.unsaturated) << f.name;
    EXPECT_EQ(f.nan, made.nan) << f.name;
  };
  using oracle::format_id;
  using oracle::make_custom;
  same(format_id::e5m2, make_custom(5, 2, 15, custom_specials::ieee));
  same(format_id::e4m3, make_custom(4, 3, 7, custom_specials::top_nan));
  same(format_id::e3m2, make_custom(3, 2, 3, custom_specials::none));
  same(format_id::e2m3, make_custom(2, 3, 1, custom_specials::none));
  same(format_id::e2m1, make_custom(2, 1, 1, custom_specials::none));
  same(format_id::e4m3fnuz, make_custom(4, 3, 8, custom_specials::minus_zero_nan));
  same(format_id::e5m2fnuz, make_custom(5, 2, 16, custom_specials::minus_zero_nan));
  same(format_id::e4m3b11fnuz, make_custom(4, 3, 11, custom_specials::minus_zero_nan));
  same(format_id::e4m3ieee, make_custom(4, 3, 7, custom_specials::ieee));
  same(format_id::e3m4, make_custom(3, 4, 3, custom_specials::ieee));
  same(format_id::bf16, make_custom(8, 7, 127, custom_specials::ieee));
  same(format_id::f16, make_custom(5, 10, 15, custom_specials::ieee));
  same(format_id::tf32, make_custom(8, 10, 127, custom_specials::ieee));
  same(format_id::int8, oracle::make_fixed_point(8, 0x1p-6));
}

}  // namespace
