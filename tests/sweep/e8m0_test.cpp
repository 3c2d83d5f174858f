// SPDX-License-Identifier: Apache-2.0
// The two scale formats, E8M0 and unsigned E4M3, with both answers to negative numbers.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "format_list.hpp"
#include "mxref/formats.hpp"
#include "oracle/search.hpp"
#include "oracle/thresholds.hpp"
#include "policies.hpp"

namespace {

using mxref::E8M0;

template <class E>
class ScaleSweep : public testing::Test {
 protected:
  static const oracle::format& format() { return sweep::oracle_of<E>(); }

  template <class T>
  static E encode(T x, oracle::rounding r, oracle::overflow o, oracle::negative n) {
    return n == oracle::negative::abs ? sweep::encoder_for<E, T, mxref::negative::abs>(r, o)(x)
                                      : sweep::encoder_for<E, T>(r, o)(x);
  }

  template <class F>
  static void for_each_policy(F function) {
    for (const auto n : oracle::all_negatives) {
      for (const auto r : oracle::all_roundings) {
        for (const auto o : oracle::all_overflows) {
          function(r, o, n);
          if (testing::Test::HasFatalFailure()) return;
        }
      }
    }
  }
};
using scale_formats = testing::Types<mxref::E8M0, mxref::UE4M3>;
TYPED_TEST_SUITE(ScaleSweep, scale_formats, sweep::format_names);

TYPED_TEST(ScaleSweep, StrideThroughEveryBinary32) {
  this->for_each_policy([&](auto r, auto o, auto n) {
    const std::vector<oracle::run> runs = oracle::threshold_runs(this->format(), r, o, n);
    std::size_t at = 0;
    for (std::uint64_t bits = 0; bits <= 0xFFFFFFFFU; bits += 65521) {
      while (at + 1 < runs.size() && runs[at + 1].first <= bits) ++at;
      const float x = std::bit_cast<float>(static_cast<std::uint32_t>(bits));
      const E8M0::code_type got = this->encode(x, r, o, n).code;
      ASSERT_EQ(got, runs[at].code) << sweep::describe(r, o, x, got, runs[at].code) << name(n);
    }
  });
}

TYPED_TEST(ScaleSweep, BothSidesOfEveryThreshold) {
  this->for_each_policy([&](auto r, auto o, auto n) {
    const std::vector<oracle::run> runs = oracle::threshold_runs(this->format(), r, o, n);
    for (const oracle::run& run : runs) {
      for (std::uint32_t bits = run.first - 3; bits != run.first + 4; ++bits) {
        const float x = std::bit_cast<float>(bits);
        const std::uint32_t want = oracle::expected_code(runs, bits);
        ASSERT_EQ(this->encode(x, r, o, n).code, want)
            << sweep::describe(r, o, x, this->encode(x, r, o, n).code, want) << ' ' << name(n);
      }
    }
  });
}

TYPED_TEST(ScaleSweep, DoublesAroundEveryThreshold) {
  const oracle::format& f = this->format();
  const double inf = std::numeric_limits<double>::infinity();
  std::vector<double> inputs{0.0,
                             inf,
                             f.beyond,
                             f.beyond * 1.5,
                             f.beyond * 4,
                             0x1p-149,
                             0x1p-1074,
                             std::numeric_limits<double>::max(),
                             std::numeric_limits<double>::min(),
                             f.magnitude(0) / 2,
                             std::nextafter(f.magnitude(0) / 2, inf),
                             f.magnitude(0) * 0.75};
  for (std::uint32_t i = 0; i <= f.largest_code; ++i) {
    const double low = f.magnitude(i);
    const double middle = low + (f.magnitude(i + 1) - low) / 2;
    for (const double x : {low, middle}) {
      inputs.insert(inputs.end(), {x, std::nextafter(x, inf), std::nextafter(x, 0)});
    }
  }
  this->for_each_policy([&](auto r, auto o, auto n) {
    for (const double magnitude : inputs) {
      for (const double x : {magnitude, -magnitude}) {
        const std::uint32_t want = oracle::encode(f, x, r, o, n);
        const std::uint32_t got = this->encode(x, r, o, n).code;
        ASSERT_EQ(got, want) << sweep::describe(r, o, x, got, want) << ' ' << name(n);
      }
    }
  });
}

// -0 is a zero, not a negative number; every other negative number has no code.
TYPED_TEST(ScaleSweep, NegativeNumbers) {
  this->for_each_policy([&](auto r, auto o, auto n) {
    const bool to_nan = n == oracle::negative::to_nan;
    EXPECT_EQ(this->encode(-0.0F, r, o, n).code, 0);
    const std::uint32_t nan = this->format().nan;
    for (const float x : {-1.0F, -0x1p-149F, -std::numeric_limits<float>::max(),
                          -std::numeric_limits<float>::infinity()}) {
      EXPECT_EQ(this->encode(x, r, o, n).code, to_nan ? nan : this->encode(-x, r, o, n).code);
    }
    const float nans[] = {std::numeric_limits<float>::quiet_NaN(),
                          -std::numeric_limits<float>::quiet_NaN()};
    for (const float x : nans) EXPECT_EQ(this->encode(x, r, o, n).code, nan);
  });
}

TEST(E8m0, Decodes256Codes) {
  for (int code = 0; code < 255; ++code) {
    const E8M0 e{static_cast<std::uint8_t>(code)};
    EXPECT_EQ(mxref::decode<double>(e), std::ldexp(1.0, code - 127)) << code;
    EXPECT_EQ(mxref::decode<float>(e), std::ldexp(1.0F, code - 127)) << code;
    EXPECT_FALSE(e.to_number().negative);
  }
  EXPECT_TRUE(std::isnan(mxref::decode<float>(E8M0{255})));
  EXPECT_TRUE(std::isnan(mxref::decode<double>(E8M0{255})));
}

}  // namespace
