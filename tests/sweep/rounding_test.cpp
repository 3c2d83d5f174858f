// SPDX-License-Identifier: Apache-2.0
// round_shift against the definition in integers of unlimited size.
#include <gmpxx.h>
#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <vector>

#include "mxref/rounding.hpp"
#include "oracle/policies.hpp"
#include "policies.hpp"

namespace {

using oracle::rounding;

mpz_class to_mpz(std::uint64_t x) {
  mpz_class high(static_cast<unsigned long>(x >> 32));
  return (high << 32) + static_cast<unsigned long>(x & 0xFFFFFFFFU);
}

// sig * 2^-shift, rounded by the text of each mode.
mpz_class round_exactly(std::uint64_t sig, int shift, bool negative, rounding r) {
  const mpz_class n = to_mpz(sig);
  if (shift <= 0) return n << static_cast<mp_bitcnt_t>(-shift);
  const mpz_class unit = mpz_class(1) << static_cast<mp_bitcnt_t>(shift);
  const mpz_class lower = n / unit;
  const mpz_class rest = n % unit;
  if (rest == 0) return lower;
  const mpz_class upper = lower + 1;
  const bool lower_is_even = lower % 2 == 0;
  const int against_half = cmp(2 * rest, unit);
  switch (r) {
    case rounding::nearest_even:
      if (against_half == 0) return lower_is_even ? lower : upper;
      return against_half < 0 ? lower : upper;
    case rounding::nearest_away:
      return against_half < 0 ? lower : upper;
    case rounding::nearest_toward_zero:
      return against_half <= 0 ? lower : upper;
    case rounding::toward_zero:
      return lower;
    case rounding::up:
      return negative ? lower : upper;
    case rounding::down:
      return negative ? upper : lower;
    case rounding::to_odd:
      return lower_is_even ? upper : lower;
  }
  return -1;
}

std::uint64_t round_statically(std::uint64_t sig, int shift, bool negative, rounding r) {
  switch (r) {
    case rounding::nearest_even:
      return mxref::round_shift(sig, shift, negative, mxref::rounding::nearest_even{});
    case rounding::nearest_away:
      return mxref::round_shift(sig, shift, negative, mxref::rounding::nearest_away{});
    case rounding::nearest_toward_zero:
      return mxref::round_shift(sig, shift, negative, mxref::rounding::nearest_toward_zero{});
    case rounding::toward_zero:
      return mxref::round_shift(sig, shift, negative, mxref::rounding::toward_zero{});
    case rounding::up:
      return mxref::round_shift(sig, shift, negative, mxref::rounding::up{});
    case rounding::down:
      return mxref::round_shift(sig, shift, negative, mxref::rounding::down{});
    case rounding::to_odd:
      return mxref::round_shift(sig, shift, negative, mxref::rounding::to_odd{});
  }
  return ~std::uint64_t{0};
}

// Powers of two, their neighbours, halves of odd and even integers at many positions, all small
// numbers, and some arbitrary ones.
std::vector<std::uint64_t> boundary_significands() {
  std::vector<std::uint64_t> sigs;
  for (std::uint64_t i = 0; i < 40; ++i) sigs.push_back(i);
  for (int bit = 5; bit < 64; ++bit) {
    const std::uint64_t power = std::uint64_t{1} << bit;
    for (const std::uint64_t x : {power - 1, power, power + 1, power | power >> 1,
                                  (power | power >> 1) - 1, (power | power >> 1) + 1}) {
      sigs.push_back(x);
    }
  }
  sigs.push_back(~std::uint64_t{0});
  sigs.push_back(~std::uint64_t{1});
  std::uint64_t state = 1;
  for (int i = 0; i < 200; ++i) {
    state = state * 6364136223846793005U + 1442695040888963407U;
    sigs.push_back(state >> (i % 60));
  }
  return sigs;
}

class RoundShift : public testing::TestWithParam<rounding> {};

TEST_P(RoundShift, MatchesExactIntegers) {
  const rounding r = GetParam();
  const std::vector<std::uint64_t> sigs = boundary_significands();
  for (int shift = -8; shift <= 200; ++shift) {
    for (const std::uint64_t sig : sigs) {
      if (shift < 0 && (sig >> (64 + shift)) != 0) continue;  // outside the contract
      for (const bool negative : {false, true}) {
        const mpz_class want = round_exactly(sig, shift, negative, r);
        const std::uint64_t got = round_statically(sig, shift, negative, r);
        ASSERT_TRUE(to_mpz(got) == want)
            << sig << " * 2^-" << shift << (negative ? ", negative" : ", positive") << " gives "
            << got << ", expected " << want.get_str();
        ASSERT_EQ(mxref::round_shift(sig, shift, negative, sweep::dynamic(r)), got)
            << "dynamic policy, " << sig << " * 2^-" << shift;
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Modes, RoundShift, testing::ValuesIn(oracle::all_roundings),
                         [](const auto& test) { return sweep::test_name(name(test.param)); });

// Every 12-bit number, cut in two steps. The first step keeps at least two bits more than the last.
template <class Last>
int double_rounding_errors(auto first, Last last) {
  int errors = 0;
  for (std::uint64_t sig = 0; sig < 4096; ++sig) {
    for (int cut = 0; cut <= 8; ++cut) {
      for (int again = 2; again <= 8; ++again) {
        for (const bool negative : {false, true}) {
          const std::uint64_t middle = mxref::round_shift(sig, cut, negative, first);
          const std::uint64_t twice = mxref::round_shift(middle, again, negative, last);
          if (twice != mxref::round_shift(sig, cut + again, negative, last)) ++errors;
        }
      }
    }
  }
  return errors;
}

TEST(RoundToOdd, MakesASecondRoundingHarmless) {
  namespace rounding = mxref::rounding;
  EXPECT_EQ(double_rounding_errors(rounding::to_odd{}, rounding::nearest_even{}), 0);
  EXPECT_EQ(double_rounding_errors(rounding::to_odd{}, rounding::nearest_away{}), 0);
  EXPECT_EQ(double_rounding_errors(rounding::to_odd{}, rounding::toward_zero{}), 0);
  EXPECT_EQ(double_rounding_errors(rounding::to_odd{}, rounding::up{}), 0);
  EXPECT_EQ(double_rounding_errors(rounding::to_odd{}, rounding::down{}), 0);
  EXPECT_EQ(double_rounding_errors(rounding::to_odd{}, rounding::to_odd{}), 0);
}

// The sweep above would notice: rounding to nearest twice is wrong for many of the same numbers.
TEST(RoundToOdd, IsNeededForThat) {
  namespace rounding = mxref::rounding;
  EXPECT_GT(double_rounding_errors(rounding::nearest_even{}, rounding::nearest_even{}), 1000);
  EXPECT_GT(double_rounding_errors(rounding::toward_zero{}, rounding::nearest_even{}), 1000);
}

// A few results a reader can check, as constant expressions: 2.5, 3.5, just above 2.5, and a number
// that is cut away whole.
constexpr std::uint64_t cut(std::uint64_t sig, int shift, auto r, bool negative = false) {
  return mxref::round_shift(sig, shift, negative, r);
}
static_assert(cut(5, 1, mxref::rounding::nearest_even{}) == 2);
static_assert(cut(7, 1, mxref::rounding::nearest_even{}) == 4);
static_assert(cut(11, 2, mxref::rounding::nearest_even{}) == 3);
static_assert(cut(5, 1, mxref::rounding::nearest_away{}) == 3);
static_assert(cut(11, 2, mxref::rounding::toward_zero{}) == 2);
static_assert(cut(9, 2, mxref::rounding::up{}) == 3);
static_assert(cut(9, 2, mxref::rounding::up{}, true) == 2);
static_assert(cut(9, 2, mxref::rounding::down{}) == 2);
static_assert(cut(9, 2, mxref::rounding::down{}, true) == 3);
static_assert(cut(9, 2, mxref::rounding::to_odd{}) == 3);
static_assert(cut(13, 2, mxref::rounding::to_odd{}) == 3);
static_assert(cut(std::uint64_t{1} << 63, 64, mxref::rounding::nearest_even{}) == 0);
static_assert(cut((std::uint64_t{1} << 63) + 1, 64, mxref::rounding::nearest_even{}) == 1);
static_assert(cut(1, 1000, mxref::rounding::up{}) == 1);
static_assert(cut(1, 1000, mxref::rounding::nearest_away{}) == 0);
static_assert(cut(0, 1000, mxref::rounding::up{}) == 0);

}  // namespace
