// SPDX-License-Identifier: Apache-2.0
// add_binary32 and fma_binary32 against the processor's own float arithmetic and against MPFR.
#include <gtest/gtest.h>
#include <mpfr.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

#include "dot_cases.hpp"
#include "mxref/binary32.hpp"

namespace {

constexpr std::uint32_t nan_code = 0x7FC00000;
constexpr std::uint32_t sign = 0x80000000;

float as_float(std::uint32_t bits) { return std::bit_cast<float>(bits); }
bool is_nan(std::uint32_t bits) { return (bits & ~sign) > 0x7F800000; }

// The library has one NaN; processors have many.
std::uint32_t bits_of(float x) {
  return std::isnan(x) ? nan_code : std::bit_cast<std::uint32_t>(x);
}

// Through volatile variables: neither contracted nor computed in a wider format.
std::uint32_t processor_add(std::uint32_t a, std::uint32_t b) {
  const volatile float x = as_float(a);
  const volatile float y = as_float(b);
  const volatile float sum = x + y;
  return bits_of(sum);
}
std::uint32_t processor_fma(std::uint32_t a, std::uint32_t b, std::uint32_t c) {
  return bits_of(std::fma(as_float(a), as_float(b), as_float(c)));
}

// A binary32 variable of MPFR: 24 bits, exponent range and subnormals of binary32.
class mpfr_binary32 {
 public:
  mpfr_binary32() {
    mpfr_set_emin(-148);
    mpfr_set_emax(128);
    for (mpfr_t* x : {&a_, &b_, &c_, &result_}) mpfr_init2(*x, 24);
  }
  ~mpfr_binary32() {
    mpfr_set_emin(mpfr_get_emin_min());
    mpfr_set_emax(mpfr_get_emax_max());
    for (mpfr_t* x : {&a_, &b_, &c_, &result_}) mpfr_clear(*x);
  }
  mpfr_binary32(const mpfr_binary32&) = delete;
  mpfr_binary32& operator=(const mpfr_binary32&) = delete;

  std::uint32_t add(std::uint32_t a, std::uint32_t b) {
    mpfr_set_flt(a_, as_float(a), MPFR_RNDN);
    mpfr_set_flt(b_, as_float(b), MPFR_RNDN);
    return finish(mpfr_add(result_, a_, b_, MPFR_RNDN));
  }
  std::uint32_t fma(std::uint32_t a, std::uint32_t b, std::uint32_t c) {
    mpfr_set_flt(a_, as_float(a), MPFR_RNDN);
    mpfr_set_flt(b_, as_float(b), MPFR_RNDN);
    mpfr_set_flt(c_, as_float(c), MPFR_RNDN);
    return finish(mpfr_fma(result_, a_, b_, c_, MPFR_RNDN));
  }

 private:
  std::uint32_t finish(int ternary) {
    mpfr_subnormalize(result_, ternary, MPFR_RNDN);
    return bits_of(mpfr_get_flt(result_, MPFR_RNDN));
  }
  mpfr_t a_, b_, c_, result_;
};

class Binary32 : public testing::Test {
 protected:
  void check_add(std::uint32_t a, std::uint32_t b) {
    const std::uint32_t got = mxref::add_binary32(a, b);
    ASSERT_EQ(got, processor_add(a, b)) << "processor, " << text(a) << " + " << text(b);
    ASSERT_EQ(got, mpfr_.add(a, b)) << "MPFR, " << text(a) << " + " << text(b);
  }
  void check_fma(std::uint32_t a, std::uint32_t b, std::uint32_t c) {
    const std::uint32_t got = mxref::fma_binary32(a, b, c);
    ASSERT_EQ(got, processor_fma(a, b, c))
        << "processor, " << text(a) << " * " << text(b) << " + " << text(c);
    ASSERT_EQ(got, mpfr_.fma(a, b, c))
        << "MPFR, " << text(a) << " * " << text(b) << " + " << text(c);
  }
  static std::string text(std::uint32_t bits) {
    char buffer[48];
    std::snprintf(buffer, sizeof buffer, "%08X (%a)", bits, double{as_float(bits)});
    return buffer;
  }

  mpfr_binary32 mpfr_;
};

// Both signs of: zero, the ends of the subnormal, normal and special ranges, and numbers around
// powers of two near one, near the middle of the significand, and where sums lose their last bit.
std::vector<std::uint32_t> boundary_patterns() {
  std::vector<std::uint32_t> patterns;
  for (const std::uint32_t p :
       {0x00000000U, 0x00000001U, 0x00000002U, 0x00000003U, 0x003FFFFFU, 0x00400000U, 0x007FFFFFU,
        0x00800000U, 0x00800001U, 0x00FFFFFFU, 0x01000000U, 0x1FFFFFFFU, 0x20000000U, 0x33800000U,
        0x33800001U, 0x34000000U, 0x3EFFFFFFU, 0x3F000000U, 0x3F7FFFFFU, 0x3F800000U, 0x3F800001U,
        0x3FC00000U, 0x3FFFFFFFU, 0x40000000U, 0x40490FDBU, 0x4B7FFFFFU, 0x4B800000U, 0x4B800001U,
        0x5F000000U, 0x5F7FFFFFU, 0x72FFFFFFU, 0x73000000U, 0x7E800000U, 0x7EFFFFFFU, 0x7F000000U,
        0x7F7FFFFEU, 0x7F7FFFFFU, 0x7F800000U, 0x7F800001U, 0x7FC00000U, 0x7FFFFFFFU}) {
    patterns.push_back(p);
    patterns.push_back(p | sign);
  }
  return patterns;
}

TEST_F(Binary32, SumsOfBoundaryPatterns) {
  for (const std::uint32_t a : boundary_patterns()) {
    for (const std::uint32_t b : boundary_patterns()) check_add(a, b);
  }
}

TEST_F(Binary32, FusedProductsOfBoundaryPatterns) {
  const std::vector<std::uint32_t> patterns = boundary_patterns();
  for (const std::uint32_t a : patterns) {
    for (const std::uint32_t b : patterns) {
      for (const std::uint32_t c : patterns) {
        check_fma(a, b, c);
        if (HasFatalFailure()) return;
      }
    }
  }
}

// Every distance of exponents, with significands that end in ties and next to them.
TEST_F(Binary32, SumsAtEveryDistance) {
  const std::vector<std::uint32_t> fractions{0,        1,        2,        0x400000, 0x3FFFFF,
                                             0x400001, 0x7FFFFE, 0x7FFFFF, 0x555555};
  for (const std::uint32_t base : {0U, 1U, 30U, 127U, 200U, 254U}) {
    for (std::uint32_t other = 0; other < 256; ++other) {
      for (const std::uint32_t fa : fractions) {
        for (const std::uint32_t fb : fractions) {
          check_add(base << 23 | fa, other << 23 | fb);
          check_add(base << 23 | fa, sign | other << 23 | fb);
          if (HasFatalFailure()) return;
        }
      }
    }
  }
}

TEST_F(Binary32, RandomSums) {
  sweep::random_source random(11);
  for (int i = 0; i < 1'000'000; ++i) {
    const std::uint32_t a = random.word();
    std::uint32_t b = random.word();
    // Two of three: exponents close to each other, where sums round and cancel.
    if (i % 3 != 0) {
      const std::uint32_t exponent = (a >> 23 & 0xFFU) + random.below(60) - 30;
      b = (b & 0x807FFFFFU) | (exponent & 0xFFU) << 23;
    }
    check_add(a, b);
    if (HasFatalFailure()) return;
  }
}

// c stands near the product, far above it and far below it, and results reach the subnormals and
// the overflow threshold.
TEST_F(Binary32, RandomFusedProducts) {
  sweep::random_source random(12);
  for (int i = 0; i < 1'200'000; ++i) {
    const std::uint32_t a = random.word();
    const std::uint32_t b = random.word();
    std::uint32_t c = random.word();
    if (i % 4 != 0) {
      const int product = static_cast<int>(a >> 23 & 0xFFU) + static_cast<int>(b >> 23 & 0xFFU);
      const int exponent = std::min(255, std::max(0, product - 127 + random.between(-56, 56)));
      c = (c & 0x807FFFFFU) | static_cast<std::uint32_t>(exponent) << 23;
    }
    check_fma(a, b, c);
    if (HasFatalFailure()) return;
  }
}

// c is the rounded product with the other sign, or next to it: only the product's low half is left.
TEST_F(Binary32, FusedProductsThatCancel) {
  sweep::random_source random(13);
  for (int i = 0; i < 500'000; ++i) {
    const std::uint32_t a = (random.word() & 0x807FFFFFU) | (64 + random.below(128)) << 23;
    const std::uint32_t b = (random.word() & 0x807FFFFFU) | (64 + random.below(128)) << 23;
    const std::uint32_t product = std::bit_cast<std::uint32_t>(as_float(a) * as_float(b));
    check_fma(a, b, (product + random.below(5) - 2) ^ sign);
    if (HasFatalFailure()) return;
  }
}

// Products whose exact value is a tie of the sum, decided by a bit far below.
TEST_F(Binary32, FusedTies) {
  sweep::random_source random(14);
  for (int i = 0; i < 300'000; ++i) {
    const std::uint32_t small_bits = random.below(12);
    const std::uint32_t a = (100 + random.below(60)) << 23 | (random.below(1U << small_bits))
                                                                 << (23 - small_bits);
    const std::uint32_t b = (100 + random.below(60)) << 23 | random.below(2) << 22;
    const int product = static_cast<int>(a >> 23) + static_cast<int>(b >> 23) - 127;
    const int exponent = product + random.between(20, 50);
    if (exponent > 254) continue;
    const std::uint32_t c = static_cast<std::uint32_t>(exponent) << 23 | random.below(4) |
                            (random.one_in(2) ? sign : 0);
    check_fma(a, b, c);
    check_fma(a, b ^ sign, c);
    if (HasFatalFailure()) return;
  }
}

// IEEE 754 6.3, 7.2 and 7.4 in cases a reader can check.
static_assert(mxref::add_binary32(0x3F800000, 0xBF800000) == 0);           // 1 - 1 is +0
static_assert(mxref::add_binary32(sign, sign) == sign);                    // -0 + -0
static_assert(mxref::add_binary32(sign, 0) == 0);                          // -0 + +0
static_assert(mxref::add_binary32(0x3F800000, 0x33800000) == 0x3F800000);  // tie to even
static_assert(mxref::add_binary32(0x3F800001, 0x33800000) == 0x3F800002);  // tie to even
static_assert(mxref::add_binary32(0x7F7FFFFF, 0x73000000) == 0x7F800000);  // tie above the largest
static_assert(mxref::add_binary32(0x7F7FFFFF, 0x72FFFFFF) == 0x7F7FFFFF);
static_assert(mxref::add_binary32(0x7F800000, 0xFF800000) == nan_code);  // Inf - Inf
static_assert(mxref::fma_binary32(0x7F800000, sign, 0) == nan_code);     // Inf * -0
static_assert(mxref::fma_binary32(0x7F800000, 0x3F800000, 0xFF800000) == nan_code);
static_assert(mxref::fma_binary32(0x00000001, 0x3F000000, 0) == 0);     // a tie to even: zero
static_assert(mxref::fma_binary32(0x00000001, 0xBF000000, 0) == sign);  // which keeps its sign
static_assert(mxref::fma_binary32(sign, 0x3F800000, sign) == sign);
static_assert(mxref::fma_binary32(sign, 0x3F800000, 0) == 0);
// (1 + 2^-12)^2 - (1 + 2^-11) = 2^-24: the product is not rounded first.
static_assert(mxref::fma_binary32(0x3F800800, 0x3F800800, 0xBF801000) == 0x33800000);
// 2^127 * 4 - 2^127 * 3 does not overflow in between.
static_assert(mxref::fma_binary32(0x7F000000, 0x40000000, 0xFF000000) == 0x7F000000);

TEST(Binary32Nan, IsAlwaysTheSame) {
  for (const std::uint32_t n : {0x7F800001U, 0x7FC00000U, 0xFFFFFFFFU, 0xFF800001U}) {
    ASSERT_TRUE(is_nan(n));
    EXPECT_EQ(mxref::add_binary32(n, 0), nan_code);
    EXPECT_EQ(mxref::add_binary32(0x7F800000, n), nan_code);
    EXPECT_EQ(mxref::fma_binary32(n, 0, 0), nan_code);
    EXPECT_EQ(mxref::fma_binary32(0, n, 0x7F800000), nan_code);
    EXPECT_EQ(mxref::fma_binary32(0x3F800000, 0x3F800000, n), nan_code);
  }
}

}  // namespace
