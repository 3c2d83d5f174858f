// SPDX-License-Identifier: Apache-2.0
// The scale rules that take a rounded logarithm, against that logarithm: log2 in binary64, rounded
// to binary32 as a correctly rounded log2f is. amax in every binade, around everything that
// decides.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "golden_formats.hpp"
#include "mxref/mxref.hpp"

namespace {

namespace scale = mxref::scale;

constexpr int nan_code = 255;

int code_of(double s, int most = 127) {
  return static_cast<int>(std::min(std::max(s, -127.0), static_cast<double>(most))) + 127;
}

/// RN(log2 a) in binary32. The logarithm in binary64 is never close enough to a tie of binary32 to
/// round twice: it is irrational there, and exact at powers of two.
float log2_rounded(float a) { return static_cast<float>(std::log2(static_cast<double>(a))); }

/// Up to 64 binary32 steps to both sides of powers of two and of their multiples by sqrt(2), of
/// M * 2^k, and some others.
std::vector<float> amax_cases(double largest) {
  std::vector<float> cases;
  const auto near = [&](double x, int steps) {
    const auto f = static_cast<float>(x);
    if (!std::isfinite(f) || f == 0) return;
    const auto bits = mxref::bit_cast<std::uint32_t>(f);
    for (int i = -steps; i <= steps; ++i) {
      const auto v = mxref::bit_cast<float>(bits + static_cast<std::uint32_t>(i));
      if (std::isfinite(v) && v > 0) cases.push_back(v);
    }
  };
  for (int e = -149; e <= 127; ++e) {
    near(std::ldexp(1.0, e), 64);
    near(std::ldexp(std::sqrt(2.0), e), 96);
    near(std::ldexp(largest, e), 64);
    near(std::ldexp(1.75, e), 2);
    near(std::ldexp(1.9375, e), 2);
    near(std::ldexp(1.3, e), 1);
  }
  near(static_cast<double>(std::numeric_limits<float>::max()), 64);
  return cases;
}

template <class E>
class ScaleLog2 : public testing::Test {};
using formats =
    testing::Types<mxref::E4M3, mxref::E5M2, mxref::E3M2, mxref::E2M3, mxref::E2M1, mxref::INT8>;
TYPED_TEST_SUITE(ScaleLog2, formats, golden::format_names);

TYPED_TEST(ScaleLog2, FollowTheirDefinitions) {
  constexpr auto f = TypeParam::desc;
  const double largest = golden::of<TypeParam>.largest_value;
  const int emax = std::ilogb(largest);
  const bool integer = golden::of<TypeParam>.family == golden::kind::integer;
  const int m = integer ? 6 : golden::of<TypeParam>.mantissa_bits;
  const volatile float divisor = static_cast<float>(largest);
  for (const float a : amax_cases(largest)) {
    const mxref::number amax = mxref::to_number(a);
    const volatile float log = log2_rounded(a);
    const double down = std::floor(static_cast<double>(log)) - emax;
    const double up = std::ceil(static_cast<double>(log)) - emax;
    ASSERT_EQ(scale::microx{}(amax, f).code, down > 127 ? nan_code : code_of(down)) << a;
    ASSERT_EQ(scale::fbgemm_floor{}(amax, f).code, code_of(down, 125)) << a;
    ASSERT_EQ(scale::fbgemm_ceil{}(amax, f).code, code_of(up, 125)) << a;
    const volatile float sum = log + 0.5F;
    ASSERT_EQ(scale::fbgemm_nearest{}(amax, f).code,
              code_of(std::floor(static_cast<double>(sum)) - emax, 125))
        << a;
    ASSERT_EQ(scale::ggml{}(amax, f).code, static_cast<std::uint8_t>(static_cast<int>(down) + 127))
        << a;

    const auto y = mxref::bit_cast<float>(mxref::bit_cast<std::uint32_t>(a) +
                                          (std::uint32_t{1} << (22 - m)) - std::uint32_t{1});
    const int even =
        std::isnan(y) ? nan_code : code_of(std::floor(double{log2_rounded(y)}) - emax, 125);
    ASSERT_EQ(scale::fbgemm_even{}(amax, f).code, even) << a;

    const volatile float d = a / divisor;
    const int te = d == 0 ? 0 : code_of(std::ceil(static_cast<double>(log2_rounded(d))));
    ASSERT_EQ(scale::te_pow2{}(amax, f).code, te) << a;

    ASSERT_EQ(scale::gfloat_amax{}(amax, f).code,
              code_of(std::floor(std::log2(static_cast<double>(a))) - emax))
        << a;
    for (const auto rule :
         {mxref::scale_rule::microx, mxref::scale_rule::ggml, mxref::scale_rule::te_pow2}) {
      const int by_name = rule == mxref::scale_rule::microx ? scale::microx{}(amax, f).code
                          : rule == mxref::scale_rule::ggml ? scale::ggml{}(amax, f).code
                                                            : scale::te_pow2{}(amax, f).code;
      ASSERT_EQ(scale::dynamic{rule}(amax, f).code, by_name);
    }
  }
}

// In binary64 the same happens a few binary64 steps from a power of two.
TEST(ScaleLog2Double, GfloatOnBinary64) {
  constexpr auto f = mxref::E4M3::desc;
  int differ = 0;
  for (int e = -120; e <= 120; ++e) {
    for (int i = -80; i <= 80; ++i) {
      const double power = std::ldexp(1.0, e);
      const double a = mxref::bit_cast<double>(mxref::bit_cast<std::uint64_t>(power) +
                                               static_cast<std::uint64_t>(std::int64_t{i}));
      const mxref::number amax = mxref::to_number(a);
      const auto log = static_cast<double>(std::log2(static_cast<long double>(a)));
      ASSERT_EQ(scale::gfloat_amax{}(amax, f).code, code_of(std::floor(log) - 8)) << e << ' ' << i;
      differ += scale::gfloat_amax{}(amax, f) != scale::floor{}(amax, f) ? 1 : 0;
    }
  }
  EXPECT_GT(differ, 1000);
}

// All-zero blocks.
TEST(ScaleLog2Zero, CodesOfZeroBlocks) {
  const mxref::number zero{};
  EXPECT_EQ(scale::microx{}(zero, mxref::E4M3::desc).code, 0);
  EXPECT_EQ(scale::microx{}(zero, mxref::INT8::desc).code, 1);
  EXPECT_EQ(scale::fbgemm_floor{}(zero, mxref::E2M1::desc).code, 0);
  EXPECT_EQ(scale::fbgemm_even{}(zero, mxref::E2M1::desc).code, 0);
  EXPECT_EQ(scale::te_pow2{}(zero, mxref::E2M1::desc).code, 0);
  EXPECT_EQ(scale::ggml{}(zero, mxref::E2M1::desc).code, 0);
  EXPECT_EQ(scale::gfloat_amax{}(zero, mxref::E4M3::desc).code, 0);
  EXPECT_EQ(scale::deepgemm{}(zero, mxref::E4M3::desc).code, 127 - 22);  // 1e-4 / 448
  constexpr mxref::format_desc bf16{8, 7, 127};
  EXPECT_EQ(scale::deepgemm{}(zero, bf16).code, 1);  // 1e-4 / 2^128, and never code 0
  EXPECT_EQ(scale::rceil_exact{}(zero, mxref::E4M3::desc).code, 0);
}

// An input that separates each rule from each neighbour: E2M1, M = 6, emax = 2.
TEST(ScaleRulesDiffer, LogarithmsAndEdges) {
  constexpr auto f = mxref::E2M1::desc;
  const auto below = [](float x, int steps) {
    return mxref::to_number(mxref::bit_cast<float>(mxref::bit_cast<std::uint32_t>(x) -
                                                   static_cast<std::uint32_t>(steps)));
  };
  const mxref::number just_below = below(0x1p100F, 1);
  EXPECT_EQ(scale::floor{}(just_below, f).code, 97 + 127);
  EXPECT_EQ(scale::microx{}(just_below, f).code, 98 + 127);
  EXPECT_EQ(scale::gfloat_amax{}(just_below, f).code, 97 + 127);
  EXPECT_EQ(scale::fbgemm_floor{}(mxref::to_number(0x1.8p127F), f).code, 125 + 127);
  EXPECT_EQ(scale::ggml{}(mxref::to_number(0x1p-126F), f).code, 255);  // wraps
  EXPECT_EQ(scale::fbgemm_floor{}(mxref::to_number(0x1p-126F), f).code, 0);
  // 1.75 * 2^k: even steps up, fbgemm_even does not, one ulp above it does.
  EXPECT_EQ(scale::even{}(mxref::to_number(1.75F), f).code, 126);
  EXPECT_EQ(scale::fbgemm_even{}(mxref::to_number(1.75F), f).code, 125);
  EXPECT_EQ(scale::fbgemm_even{}(below(1.75F, -1), f).code, 126);
  EXPECT_EQ(scale::fbgemm_nearest{}(mxref::to_number(1.5F), f).code, 126);
  EXPECT_EQ(scale::fbgemm_ceil{}(mxref::to_number(1.01F), f).code, 126);
  // M * 2^-127 and an ulp: the quotient in binary32 loses it.
  const mxref::number edge = below(0x1.8p-125F, -1);
  EXPECT_EQ(scale::rceil{}(edge, f).code, 0);
  EXPECT_EQ(scale::rceil_div{}(edge, f).code, 0);
  EXPECT_EQ(scale::rceil_exact{}(edge, f).code, 1);
  // A few ulps above 6 * 2^100 te_pow2 is one too small.
  EXPECT_EQ(scale::te_pow2{}(below(0x1.8p102F, -1), f).code, 100 + 127);
  EXPECT_EQ(scale::rceil{}(below(0x1.8p102F, -1), f).code, 101 + 127);
}

// bump is floor, plus one exactly when the largest element would saturate.
TYPED_TEST(ScaleLog2, BumpIsFloorOrOneMore) {
  constexpr auto f = TypeParam::desc;
  const double largest = golden::of<TypeParam>.largest_value;
  int bumped = 0;
  for (const float a : amax_cases(largest)) {
    const mxref::number amax = mxref::to_number(a);
    const int low = scale::floor{}(amax, f).code;
    const bool saturates = static_cast<double>(a) > largest * std::ldexp(1.0, low - 127);
    ASSERT_EQ(scale::bump{}(amax, f).code, std::min(low + (saturates ? 1 : 0), 254)) << a;
    bumped += saturates ? 1 : 0;
  }
  EXPECT_GT(bumped, 100);
}

}  // namespace
