// SPDX-License-Identifier: Apache-2.0
// std::numeric_limits of every format: by enumeration of its codes, and for binary32 against float.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <limits>

#include "format_list.hpp"
#include "mxref/limits.hpp"

namespace {

using mxref::decode;

template <class E>
class Limits : public testing::Test {};
TYPED_TEST_SUITE(Limits, sweep::narrow_formats, sweep::format_names);

TYPED_TEST(Limits, AreThoseOfTheCodes) {
  using E = TypeParam;
  using limits = std::numeric_limits<E>;
  const oracle::format& f = sweep::oracle_of<E>();
  double largest = -1;
  double lowest = 1;
  double smallest = 1e300;
  double next = 1e300;  // the smallest above 1
  bool inf = false;
  bool nan = false;
  bool minus = false;
  for (std::uint32_t code = 0; code < f.code_count(); ++code) {
    const double v = decode<double>(E{static_cast<typename E::code_type>(code)});
    inf |= std::isinf(v);
    nan |= std::isnan(v);
    minus |= v < 0;
    if (!std::isfinite(v)) continue;
    largest = std::max(largest, v);
    lowest = std::min(lowest, v);
    if (v > 0) smallest = std::min(smallest, v);
    if (v > 1) next = std::min(next, v);
  }
  EXPECT_EQ(decode<double>(limits::max()), largest);
  EXPECT_EQ(decode<double>(limits::lowest()), lowest);
  EXPECT_EQ(decode<double>(limits::denorm_min()), smallest);
  EXPECT_EQ(decode<double>(limits::epsilon()), next - 1);
  EXPECT_EQ(limits::has_infinity, inf);
  EXPECT_EQ(limits::has_quiet_NaN, nan);
  EXPECT_EQ(limits::is_signed, minus);
  EXPECT_EQ(limits::max_exponent, std::ilogb(largest) + 1);
  EXPECT_EQ(limits::max_exponent10, static_cast<int>(std::floor(std::log10(largest))));
  if (inf) {
    EXPECT_EQ(decode<double>(limits::infinity()), std::numeric_limits<double>::infinity());
  }
  if (nan) {
    EXPECT_TRUE(std::isnan(decode<double>(limits::quiet_NaN())));
  }
  // The normal numbers begin at min: there the step to the next number stops to be constant.
  const double min = decode<double>(limits::min());
  EXPECT_EQ(std::ldexp(1.0, limits::min_exponent - 1), min);
  EXPECT_GE(min, smallest);
  EXPECT_GE(std::pow(10.0, limits::min_exponent10), min);
  EXPECT_LT(std::pow(10.0, limits::min_exponent10 - 1), min);
}

TEST(LimitsOfBinary32, AreThoseOfFloat) {
  using ours = std::numeric_limits<mxref::binary32>;
  using theirs = std::numeric_limits<float>;
  EXPECT_EQ(ours::digits, theirs::digits);
  EXPECT_EQ(ours::digits10, theirs::digits10);
  EXPECT_EQ(ours::max_digits10, theirs::max_digits10);
  EXPECT_EQ(ours::min_exponent, theirs::min_exponent);
  EXPECT_EQ(ours::min_exponent10, theirs::min_exponent10);
  EXPECT_EQ(ours::max_exponent, theirs::max_exponent);
  EXPECT_EQ(ours::max_exponent10, theirs::max_exponent10);
  EXPECT_EQ(decode(ours::min()), theirs::min());
  EXPECT_EQ(decode(ours::max()), theirs::max());
  EXPECT_EQ(decode(ours::lowest()), theirs::lowest());
  EXPECT_EQ(decode(ours::epsilon()), theirs::epsilon());
  EXPECT_EQ(decode(ours::denorm_min()), theirs::denorm_min());
  EXPECT_EQ(decode(ours::round_error()), theirs::round_error());
}

}  // namespace
