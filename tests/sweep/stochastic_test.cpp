// SPDX-License-Identifier: Apache-2.0
// Stochastic rounding: the probability of each neighbour, by counting over all random integers;
// what never moves; and that an array's result depends on positions alone.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <random>
#include <vector>

#include "golden_formats.hpp"
#include "mxref/mxref.hpp"

namespace {

using mxref::index_t;
namespace rounding = mxref::rounding;

/// The random word whose top bits are the integer r.
std::uint32_t word(std::uint32_t r, int bits) { return r << (32 - bits); }

template <class E>
class Stochastic : public testing::Test {};
TYPED_TEST_SUITE(Stochastic, golden::ocp_float_formats, golden::format_names);

TYPED_TEST(Stochastic, RoundsAwayWithTheProbabilityOfTheDiscardedPart) {
  using E = TypeParam;
  std::mt19937 random(3);
  const double quantum = golden::of<E>.quantum;
  for (const int bits : {1, 2, 5, 8, 12, 16}) {
    for (int round = 0; round < (bits > 12 ? 6 : 40); ++round) {
      // Between two neighbours, normal or subnormal; delta has up to 20 bits.
      const auto code = static_cast<std::uint8_t>(random() % golden::of<E>.largest);
      const auto next = static_cast<std::uint8_t>(code + 1);
      const double low = mxref::decode<double>(E{code});
      const double ulp = mxref::decode<double>(E{next}) - low;
      const auto part = static_cast<double>(random() % (1U << 20));
      const double x = low + ulp * std::ldexp(part, -20);
      const double delta = (x - low) / ulp;  // exact: powers of two
      ASSERT_GE(ulp, quantum);
      std::uint64_t away = 0;
      const std::uint32_t all = std::uint32_t{1} << bits;
      for (std::uint32_t r = 0; r < all; ++r) {
        // Bits of the word below its top `bits` do not matter.
        const std::uint32_t noise = static_cast<std::uint32_t>(random()) & (word(1, bits) - 1);
        for (const double s : {x, -x}) {
          const E got = mxref::encode<E>(s, rounding::stochastic{word(r, bits) | noise, bits});
          const auto mag = static_cast<std::uint8_t>(got.code & (golden::of<E>.sign - 1));
          ASSERT_TRUE(mag == code || mag == next) << s;
          ASSERT_EQ((got.code & golden::of<E>.sign) != 0, std::signbit(s));
          away += mag == next ? 1U : 0U;
        }
      }
      ASSERT_EQ(away, 2 * static_cast<std::uint64_t>(std::floor(std::ldexp(delta, bits))))
          << x << ", " << bits << " bits";
    }
  }
}

TYPED_TEST(Stochastic, NeverMovesWhatTheFormatHolds) {
  using E = TypeParam;
  for (int code = 0; code < golden::of<E>.code_count; ++code) {
    const E e{static_cast<std::uint8_t>(code)};
    if (!e.to_number().is_finite()) continue;
    for (const int bits : {1, 7, 32}) {
      EXPECT_EQ(mxref::encode<E>(mxref::decode<double>(e), rounding::stochastic{0xFFFFFFFF, bits}),
                e);
    }
  }
}

/// How many random integers of `bits` bits round x away from zero.
template <class Policy, class E>
int count_away(double x, E low, int bits) {
  int away = 0;
  for (std::uint32_t r = 0; r < std::uint32_t{1} << bits; ++r) {
    away += mxref::encode<E>(x, Policy{word(r, bits), bits}) == low ? 0 : 1;
  }
  return away;
}

// The variants of gfloat, by its formulas in binary64: how delta * 2^n becomes an integer.
TYPED_TEST(Stochastic, VariantsCountAsGfloatSays) {
  using E = TypeParam;
  std::mt19937 random(4);
  int differ = 0;
  for (const int bits : {1, 2, 4, 7}) {
    const double all = std::ldexp(1.0, bits);
    for (int round = 0; round < 60; ++round) {
      const auto code = static_cast<std::uint8_t>(random() % golden::of<E>.largest);
      const double low = mxref::decode<double>(E{code});
      const double ulp = mxref::decode<double>(E{static_cast<std::uint8_t>(code + 1)}) - low;
      // Short fractions make ties, others do not.
      const int width = round % 2 == 0 ? bits + 1 : 20;
      const double delta = std::ldexp(static_cast<double>(random() % (1U << width)), -width);
      const double x = low + ulp * delta;
      const double scaled = delta * all;
      const double floor = std::floor(scaled);
      const bool odd = std::fmod(floor, 2) == 1;
      const double rest = scaled - floor;
      const double even = floor + (rest > 0.5 || (rest == 0.5 && odd) ? 1 : 0);
      const double to_odd = floor + (rest > 0 && !odd ? 1 : 0);
      int offset = 0;
      for (double r = 0; r < all; ++r) {
        offset += std::floor(2 * scaled) + 2 * r + 1 >= 2 * all ? 1 : 0;
      }
      ASSERT_EQ((count_away<rounding::stochastic_even>(x, E{code}, bits)), even) << x;
      ASSERT_EQ((count_away<rounding::stochastic_odd>(x, E{code}, bits)), to_odd) << x;
      ASSERT_EQ((count_away<rounding::stochastic_offset>(x, E{code}, bits)), offset) << x;
      ASSERT_EQ((count_away<rounding::stochastic>(x, E{code}, bits)), floor) << x;
      differ += even != floor || to_odd != even || offset != floor ? 1 : 0;
    }
  }
  EXPECT_GT(differ, 50);
}

TEST(StochasticVariants, OfArraysTakeTheWordOfTheElement) {
  std::vector<float> x(96);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = 0.01F * static_cast<float>(i + 1);
  const rounding::philox_of<rounding::stochastic_even> policy{7, 3};
  const auto m = mxref::quantize<mxref::mx_block<mxref::E2M1, 32>>(mxref::view(x.data(), 3, 32),
                                                                   mxref::scale::floor{}, policy);
  for (index_t row = 0; row < 3; ++row) {
    for (index_t k = 0; k < 32; ++k) {
      const auto i = static_cast<std::size_t>(32 * row + k);
      const double scaled = static_cast<double>(x[i]) / mxref::decode<double>(m.scale(row, 0));
      ASSERT_EQ(m.element(row, k),
                mxref::encode<mxref::E2M1>(scaled,
                                           rounding::stochastic_even{mxref::philox_word(7, i), 3}));
    }
  }
}

TEST(StochasticOverflow, IsDecidedOnTheRoundedNumber) {
  using mxref::E5M2;
  const float above = 57344.0F + 4096.0F;  // halfway from the largest number to 65536
  EXPECT_EQ(mxref::encode<E5M2>(above, rounding::stochastic{0x7FFFFFFF}).code, 0x7B);
  EXPECT_EQ(mxref::encode<E5M2>(above, rounding::stochastic{0x80000000}).code, 0x7B);
  const mxref::overflow::nonsaturating inf;
  EXPECT_EQ(mxref::encode<E5M2>(above, rounding::stochastic{0x7FFFFFFF}, inf).code, 0x7B);
  EXPECT_EQ(mxref::encode<E5M2>(-above, rounding::stochastic{0x80000000}, inf).code, 0xFC);
}

TEST(StochasticQuantize, ElementIHasWordIOfTheSeedInCOrderOfTheSource) {
  constexpr index_t rows = 6;
  constexpr index_t cols = 9;
  constexpr std::uint64_t seed = 0xFEDCBA9876543210;
  std::vector<float> x(rows * cols);
  std::mt19937 random(4);
  for (float& v : x) v = static_cast<float>(random() % 100000) * 0.001F;
  const auto in = mxref::view(static_cast<const float*>(x.data()), rows, cols);
  const mxref::quantizer<mxref::scale::floor, rounding::philox> q{{}, {seed, 20}};
  for (const int axis : {-1, 0}) {
    const index_t out_rows = axis == 0 ? cols : rows;
    const index_t depth = axis == 0 ? rows : cols;
    constexpr int block = 4;
    const index_t blocks = (depth + block - 1) / block;
    std::vector<std::uint8_t> codes(x.size());
    std::vector<std::uint8_t> scales(static_cast<std::size_t>(out_rows * blocks));
    ASSERT_TRUE(
        mxref::quantize(in, {mxref::E3M2::desc, block, codes.data(), depth, scales.data(), blocks},
                        q, {axis, false}));
    for (index_t i = 0; i < rows; ++i) {
      for (index_t j = 0; j < cols; ++j) {
        const index_t row = axis == 0 ? j : i;
        const index_t k = axis == 0 ? i : j;
        const int s = scales[static_cast<std::size_t>(row * blocks + k / block)] - 127;
        const std::uint32_t w = mxref::philox_word(seed, static_cast<std::uint64_t>(i * cols + j));
        const auto want = mxref::encode<mxref::E3M2>(std::ldexp(static_cast<double>(in(i, j)), -s),
                                                     rounding::stochastic{w, 20});
        ASSERT_EQ(codes[static_cast<std::size_t>(row * depth + k)], want.code) << i << ' ' << j;
      }
    }
  }
}

}  // namespace
