// SPDX-License-Identifier: Apache-2.0
// The scale rules against their definitions in binary32 arithmetic and bit patterns, which is how
// the systems that use them compute; amax in every binade, around everything that decides.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "golden_formats.hpp"
#include "mxref/mxref.hpp"

namespace {

constexpr int nan_code = 255;

int clamped(int s) { return std::min(std::max(s, -127), 127) + 127; }

std::uint32_t bits(float x) { return mxref::bit_cast<std::uint32_t>(x); }

/// Powers of two, format maxima, halves of ulps, each with its neighbours.
std::vector<float> amax_cases() {
  std::vector<float> cases;
  const auto near = [&](double x) {
    const auto f = static_cast<float>(x);
    if (!std::isfinite(f)) return;
    const float inf = std::numeric_limits<float>::infinity();
    const float below = std::nextafter(f, 0.0F);
    const float above = std::nextafter(f, inf);
    for (const float v :
         {std::nextafter(below, 0.0F), below, f, above, std::nextafter(above, inf)}) {
      if (std::isfinite(v) && v > 0) cases.push_back(v);
    }
  };
  for (int e = -149; e <= 127; ++e) {
    for (int m = 0; m <= 8; ++m) near(std::ldexp(2 - std::ldexp(1.0, -m), e));
    for (const double largest : {1.0, 1.75, 1.875, 1.5, 127.0 / 64}) near(std::ldexp(largest, e));
    near(std::ldexp(1.3, e));
  }
  near(std::numeric_limits<float>::max());
  return cases;
}

template <class E>
class ScaleRules : public testing::Test {};
using formats =
    testing::Types<mxref::E4M3, mxref::E5M2, mxref::E3M2, mxref::E2M3, mxref::E2M1, mxref::INT8>;
TYPED_TEST_SUITE(ScaleRules, formats, golden::format_names);

TYPED_TEST(ScaleRules, FollowTheirDefinitions) {
  constexpr auto f = TypeParam::desc;
  const double largest = golden::of<TypeParam>.largest_value;
  const int emax = std::ilogb(largest);
  const bool integer = golden::of<TypeParam>.family == golden::kind::integer;
  const int m = integer ? 6 : golden::of<TypeParam>.mantissa_bits;
  const volatile float reciprocal = 1.0F / static_cast<float>(largest);
  for (const float a : amax_cases()) {
    const mxref::number amax = mxref::to_number(a);
    const double exact = a;
    const int exponent = std::ilogb(exact);
    EXPECT_EQ(mxref::scale::floor{}(amax, f).code, clamped(exponent - emax)) << a;
    const bool power = std::ldexp(1.0, exponent) == exact;
    EXPECT_EQ(mxref::scale::ceil{}(amax, f).code, clamped(exponent + (power ? 0 : 1) - emax)) << a;

    const auto field = static_cast<int>((bits(a) + (1U << (22 - m))) >> 23);
    EXPECT_EQ(mxref::scale::even{}(amax, f).code,
              field == 255 ? nan_code : clamped(field - 127 - emax))
        << a;

    const volatile float d = a * reciprocal;
    int up = std::ilogb(static_cast<float>(d));
    if (std::ldexp(1.0, up) < static_cast<double>(d)) ++up;
    EXPECT_EQ(mxref::scale::rceil{}(amax, f).code, d == 0 ? 0 : clamped(up)) << a;

    for (const mxref::scale_rule rule : {mxref::scale_rule::floor, mxref::scale_rule::ceil,
                                         mxref::scale_rule::even, mxref::scale_rule::rceil}) {
      const int by_name = rule == mxref::scale_rule::floor  ? mxref::scale::floor{}(amax, f).code
                          : rule == mxref::scale_rule::ceil ? mxref::scale::ceil{}(amax, f).code
                          : rule == mxref::scale_rule::even ? mxref::scale::even{}(amax, f).code
                                                            : mxref::scale::rceil{}(amax, f).code;
      EXPECT_EQ(mxref::scale::dynamic{rule}(amax, f).code, by_name);
    }
  }
  for (const mxref::scale_rule rule : {mxref::scale_rule::floor, mxref::scale_rule::ceil,
                                       mxref::scale_rule::even, mxref::scale_rule::rceil}) {
    EXPECT_EQ(mxref::scale::dynamic{rule}(mxref::number{}, f).code, 0) << "an all-zero block";
  }
}

// Inputs on which each rule differs from the others: E4M3, largest element 448 = 1.75 * 2^8.
TEST(ScaleRulesDiffer, OnThese) {
  const auto codes = [](float a) {
    const mxref::number n = mxref::to_number(a);
    constexpr auto f = mxref::E4M3::desc;
    return std::vector<int>{mxref::scale::floor{}(n, f).code, mxref::scale::even{}(n, f).code,
                            mxref::scale::rceil{}(n, f).code, mxref::scale::ceil{}(n, f).code};
  };
  EXPECT_EQ(codes(256.0F), (std::vector<int>{127, 127, 127, 127}));
  EXPECT_EQ(codes(300.0F), (std::vector<int>{127, 127, 127, 128}));  // ceil: relative to 2^8
  EXPECT_EQ(codes(450.0F), (std::vector<int>{127, 127, 128, 128}));  // rceil: 448 would saturate
  EXPECT_EQ(codes(500.0F), (std::vector<int>{127, 128, 128, 128}));  // even: rounds to 512
}

}  // namespace
