// SPDX-License-Identifier: Apache-2.0
// exact_sum against integers of unlimited size.
#include <gmpxx.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <iterator>
#include <sstream>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "dot_cases.hpp"
#include "mxref/exact_sum.hpp"
#include "oracle/dot_oracle.hpp"

namespace {

using mxref::exact_sum;
using mxref::number;

struct summand {
  std::uint64_t sig;
  int exp;
  bool negative;
};

constexpr int lsb = exact_sum::lsb_exp;
constexpr std::uint64_t largest_sig = (std::uint64_t{1} << 63) - 1;

mpz_class to_mpz(std::uint64_t x) {
  const mpz_class high(static_cast<unsigned long>(x >> 32));
  return (high << 32) + static_cast<unsigned long>(x & 0xFFFFFFFFU);
}

// The sum in units of 2^lsb.
mpz_class sum_of(const std::vector<summand>& terms) {
  mpz_class sum = 0;
  for (const summand& t : terms) {
    const mpz_class value = to_mpz(t.sig) << static_cast<mp_bitcnt_t>(t.exp - lsb);
    sum += t.negative ? mpz_class(-value) : value;
  }
  return sum;
}

// What total() promises: the leading 64 bits, the last of them odd when anything lies below.
number leading_bits(const mpz_class& sum) {
  number n;
  if (sum == 0) return n;
  mpz_class magnitude = abs(sum);
  n.negative = sum < 0;
  const auto width = static_cast<int>(mpz_sizeinbase(magnitude.get_mpz_t(), 2));
  const int cut = width - 64;
  n.exp = lsb + cut;
  if (cut <= 0) {
    magnitude <<= static_cast<mp_bitcnt_t>(-cut);
  } else {
    const bool inexact = mpz_scan1(magnitude.get_mpz_t(), 0) < static_cast<mp_bitcnt_t>(cut);
    magnitude >>= static_cast<mp_bitcnt_t>(cut);
    if (inexact) mpz_setbit(magnitude.get_mpz_t(), 0);
  }
  const mpz_class high = magnitude >> 32;
  const mpz_class low = magnitude & mpz_class(0xFFFFFFFFUL);
  n.sig = std::uint64_t{high.get_ui()} << 32 | low.get_ui();
  return n;
}

std::string text_of(const number& n) {
  std::ostringstream text;
  text << (n.negative ? '-' : '+') << n.sig << " * 2^" << n.exp;
  return text.str();
}

testing::AssertionResult equal(const number& got, const number& want) {
  if (got.is_finite() && got.sig == want.sig && got.negative == want.negative &&
      (got.sig == 0 || got.exp == want.exp)) {
    return testing::AssertionSuccess();
  }
  return testing::AssertionFailure() << text_of(got) << ", expected " << text_of(want);
}

exact_sum add_all(const std::vector<summand>& terms) {
  exact_sum sum;
  for (const summand& t : terms) sum.add(t.sig, t.exp, t.negative);
  return sum;
}

void expect_exact(const std::vector<summand>& terms, const std::string& what) {
  ASSERT_TRUE(equal(add_all(terms).total(), leading_bits(sum_of(terms)))) << what;
}

summand draw(sweep::random_source& random, int first_exp, int last_exp, int sig_bits) {
  return {random.bits() >> (64 - sig_bits), random.between(first_exp, last_exp), random.one_in(2)};
}

TEST(ExactSum, EmptyIsPlusZero) {
  const number zero = exact_sum{}.total();
  EXPECT_TRUE(zero.is_zero());
  EXPECT_FALSE(zero.negative);
}

// Every position of every width, alone and with a neighbour, of both signs.
TEST(ExactSum, OneAndTwoTermsAtEveryPosition) {
  for (int exp = lsb; exp <= 512 - 64; ++exp) {
    for (const std::uint64_t sig :
         {std::uint64_t{1}, std::uint64_t{3}, std::uint64_t{0xFFFFFFFF}, std::uint64_t{1} << 32,
          std::uint64_t{0x8000000080000001} >> 1, largest_sig}) {
      for (const bool negative : {false, true}) {
        expect_exact({{sig, exp, negative}}, "one term at " + std::to_string(exp));
        expect_exact({{sig, exp, negative}, {1, lsb, false}}, "with the least bit");
        expect_exact({{sig, exp, negative}, {1, lsb, true}}, "less the least bit");
        expect_exact({{sig, exp, negative}, {1, exp + 1, !negative}}, "less its second bit");
        if (HasFatalFailure()) return;
      }
    }
  }
}

// The range that is_valid formats can need, and more terms than a block has.
TEST(ExactSum, RandomTermsOfEverySize) {
  sweep::random_source random(1);
  for (int round = 0; round < 6000; ++round) {
    std::vector<summand> terms(1 + random.below(round % 50 == 0 ? 3000 : 40));
    const int first = random.between(lsb, 440);
    const int last = random.between(first, std::min(448, first + (round % 3 == 0 ? 1200 : 60)));
    const int bits = random.between(1, 63);
    for (summand& t : terms) t = draw(random, first, last, bits);
    expect_exact(terms, "round " + std::to_string(round));
    if (HasFatalFailure()) return;
  }
}

// A sum that cancels to zero, and one that cancels to a single bit far below.
TEST(ExactSum, Cancellation) {
  sweep::random_source random(2);
  for (int round = 0; round < 2000; ++round) {
    std::vector<summand> terms(1 + random.below(30));
    for (summand& t : terms) t = draw(random, lsb, 448, 63);
    const std::size_t count = terms.size();
    for (std::size_t i = 0; i < count; ++i) {
      terms.push_back({terms[i].sig, terms[i].exp, !terms[i].negative});
    }
    const number zero = add_all(terms).total();
    ASSERT_TRUE(zero.is_zero() && !zero.negative) << text_of(zero);
    terms.push_back({1, random.between(lsb, 400), random.one_in(2)});
    expect_exact(terms, "round " + std::to_string(round));
    if (HasFatalFailure()) return;
  }
}

TEST(ExactSum, OrderDoesNotMatter) {
  sweep::random_source random(3);
  for (int round = 0; round < 300; ++round) {
    std::vector<summand> terms(2 + random.below(60));
    for (summand& t : terms) t = draw(random, lsb, 448, 63);
    const number first = add_all(terms).total();
    for (int shuffle = 0; shuffle < 5; ++shuffle) {
      for (std::size_t i = terms.size() - 1; i > 0; --i) {
        std::swap(terms[i], terms[random.below(static_cast<std::uint32_t>(i + 1))]);
      }
      ASSERT_TRUE(equal(add_all(terms).total(), first)) << "round " << round;
    }
  }
}

// Asking for the total takes nothing away and adds nothing.
TEST(ExactSum, TotalMayBeAskedInBetween) {
  sweep::random_source random(4);
  mpz_class want = 0;
  exact_sum sum;
  for (int i = 0; i < 2000; ++i) {
    const summand t = draw(random, lsb, 448, 63);
    want += sum_of({t});
    sum.add(t.sig, t.exp, t.negative);
    ASSERT_TRUE(equal(sum.total(), leading_bits(want))) << i;
    ASSERT_TRUE(equal(sum.total(), leading_bits(want))) << i << ", again";
  }
}

// add(number) is the same, and needs no sign for zero.
TEST(ExactSum, TakesNumbers) {
  exact_sum sum;
  sum.add(number{5, -3, true});
  sum.add(number{0, 1000000, true});
  sum.add(number{1, 7, false});
  EXPECT_TRUE(equal(sum.total(), leading_bits(sum_of({{5, -3, true}, {1, 7, false}}))));
}

// 64-bit significands occur with binary32 elements and 8-bit unsigned scales.
TEST(ExactSum, TakesTheLargestProduct) {
  const std::uint64_t sig = std::uint64_t{0xFFFFFF} * 0xFFFFFF * 255 * 255;
  for (int exp = lsb; exp <= 448; exp += 7) {
    expect_exact({{sig, exp, false}, {sig, exp, false}, {1, lsb, true}}, std::to_string(exp));
  }
}

// The rounded total is the rounded sum, for every width a result can have.
TEST(ExactSum, RoundsOnceToEveryOutput) {
  sweep::random_source random(5);
  for (int round = 0; round < 4000; ++round) {
    const int top = round % 2 == 0 ? random.between(-160, 140) : random.between(-30, 30);
    std::vector<summand> terms(2 + random.below(6));
    for (summand& t : terms) t = draw(random, top - 100, top - 24, 24);
    // A tie, or next to one: the last bits of the leading term end in 1000...
    const std::uint64_t tie = random.bits() >> 40 << 1 | 1;
    terms.push_back({tie, top, random.one_in(2)});
    if (round % 3 == 0) terms = {terms.back()};
    if (round % 3 == 1) terms = {terms.back(), {1, lsb, random.one_in(2)}};
    const mpq_class value = mpq_class(sum_of(terms)) * oracle::power_of_two(lsb);
    const oracle::real sum{oracle::value_class::finite, value < 0, value};
    for (const sweep::named_format& out : {sweep::f32, sweep::tf32, sweep::f16, sweep::bf16,
                                           sweep::e4m3, sweep::e5m2, sweep::e2m1}) {
      ASSERT_EQ(mxref::to_code(out.desc, add_all(terms).total(), mxref::rounding::nearest_even{},
                               mxref::overflow::nonsaturating{}),
                oracle::nearest_code(out.table(), sum))
          << out.table().name << ", round " << round;
    }
  }
}

// The members, to reach a state that takes 2^30 additions. Bit for bit the library's own class.
struct mirror {
  std::int64_t limb[exact_sum::limb_count];
  int pending;
};
static_assert(sizeof(mirror) == sizeof(exact_sum) && std::is_trivially_copyable_v<exact_sum>);
constexpr int settles_after = 1 << 30;

// `count` additions of one term, made at once.
exact_sum repeated(const summand& t, int count) {
  exact_sum once;
  once.add(t.sig, t.exp, t.negative);
  auto state = std::bit_cast<mirror>(once);
  for (std::int64_t& limb : state.limb) limb *= count;
  state.pending = count;
  return std::bit_cast<exact_sum>(state);
}

TEST(ExactSumCarries, RepeatedIsWhatAdditionsDo) {
  for (const summand& t : {summand{largest_sig, -21, false}, summand{largest_sig, 95, true},
                           summand{0xFFFFFFFF, 0, true}}) {
    exact_sum sum;
    for (int i = 0; i < 1000; ++i) sum.add(t.sig, t.exp, t.negative);
    const auto got = std::bit_cast<mirror>(repeated(t, 1000));
    const auto want = std::bit_cast<mirror>(sum);
    EXPECT_TRUE(std::equal(std::begin(got.limb), std::end(got.limb), std::begin(want.limb)));
    EXPECT_EQ(got.pending, want.pending);
  }
}

// The last addition before the carries, the one that makes them, and the ones after it. All digits
// as large as they can be, at every offset.
TEST(ExactSumCarries, AreMadeInTime) {
  for (int exp = lsb; exp < lsb + 96; ++exp) {
    for (const bool negative : {false, true}) {
      const summand t{~std::uint64_t{0}, exp, negative};
      exact_sum sum = repeated(t, settles_after - 2);
      mpz_class want = sum_of({t}) * (settles_after - 2);
      for (int i = 0; i < 4; ++i) {
        sum.add(t.sig, t.exp, t.negative);
        want += sum_of({t});
        ASSERT_TRUE(equal(sum.total(), leading_bits(want))) << exp << ", addition " << i;
        ASSERT_EQ(std::bit_cast<mirror>(sum).pending, i == 0 ? settles_after - 1 : i - 1);
      }
      // Carried digits are digits, so that 2^30 more additions have room.
      const auto state = std::bit_cast<mirror>(sum);
      for (int i = 0; i + 1 < exact_sum::limb_count; ++i) {
        ASSERT_LT(std::abs(state.limb[i]), std::int64_t{1} << 34) << "limb " << i;
      }
    }
  }
}

// Positive and negative halves of 2^30 additions each take one another away across a carry.
TEST(ExactSumCarries, CancelAcrossACarry) {
  const summand t{largest_sig, 3, false};
  exact_sum sum = repeated(t, settles_after - 1);
  sum.add(t.sig, t.exp, false);  // carries
  auto state = std::bit_cast<mirror>(sum);
  const auto minus = std::bit_cast<mirror>(repeated({t.sig, t.exp, true}, settles_after - 1));
  for (int i = 0; i < exact_sum::limb_count; ++i) state.limb[i] += minus.limb[i];
  state.pending = settles_after - 1;
  sum = std::bit_cast<exact_sum>(state);
  sum.add(t.sig, t.exp, true);
  EXPECT_TRUE(sum.total().is_zero());
  EXPECT_FALSE(sum.total().negative);
  sum.add(1, lsb, true);
  EXPECT_TRUE(equal(sum.total(), leading_bits(-1)));
}

// The largest sum the range note allows: 2^31 products just below 2^512, of either sign.
TEST(ExactSumCarries, HoldsTheLargestSum) {
  for (const bool negative : {false, true}) {
    const summand t{~std::uint64_t{0}, 448, negative};
    const mpz_class once = sum_of({t});
    auto state = std::bit_cast<mirror>(repeated(t, settles_after - 1));
    exact_sum sum = std::bit_cast<exact_sum>(state);
    sum.add(t.sig, t.exp, negative);
    state = std::bit_cast<mirror>(sum);
    const auto second = std::bit_cast<mirror>(repeated(t, settles_after - 1));
    for (int i = 0; i < exact_sum::limb_count; ++i) state.limb[i] += second.limb[i];
    state.pending = settles_after - 1;
    sum = std::bit_cast<exact_sum>(state);
    sum.add(t.sig, t.exp, negative);
    EXPECT_TRUE(equal(sum.total(), leading_bits(once * 2 * mpz_class(settles_after))));
  }
}

constexpr number sum_at_compile_time() {
  exact_sum sum;
  sum.add(3, 100, false);
  sum.add(3, 100, true);
  sum.add(1, -600, true);
  return sum.total();
}
static_assert(sum_at_compile_time().sig == std::uint64_t{1} << 63);
static_assert(sum_at_compile_time().exp == -663);
static_assert(sum_at_compile_time().negative);

}  // namespace
