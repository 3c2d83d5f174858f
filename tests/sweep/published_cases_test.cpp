// SPDX-License-Identifier: Apache-2.0
// Inputs on which published implementations were wrong, with the right answers typed.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "format_list.hpp"
#include "mxref/formats.hpp"

namespace {

using namespace mxref;

constexpr float infinity = std::numeric_limits<float>::infinity();
constexpr float quiet_nan = std::numeric_limits<float>::quiet_NaN();

using codes = std::vector<int>;

template <class E, class R = rounding::nearest_even, class O = overflow::saturate>
codes encode_all(const std::vector<float>& inputs, R r = {}, O o = {}) {
  codes result;
  for (const float x : inputs) result.push_back(encode<E>(x, r, o).code);
  return result;
}

// Ties of E2M1 (ROCm/aiter#3992, tenstorrent/tt-metal#51971).
TEST(PublishedCases, E2m1Ties) {
  const std::vector<float> ties{0.25F, 0.75F, 1.25F, 1.75F, 2.5F, 3.5F, 5.0F};
  EXPECT_EQ(encode_all<E2M1>(ties), (codes{0, 2, 2, 4, 4, 6, 6}));
  EXPECT_EQ(encode_all<E2M1>(ties, rounding::nearest_away{}), (codes{1, 2, 3, 4, 5, 6, 7}));
  EXPECT_EQ(encode<E2M1>(0.25000006F).code, 1);
  EXPECT_EQ(encode<E2M1>(5.0000005F).code, 7);
}

// A scale byte is a code, not a number to compare with (sgl-project/sglang#25519).
TEST(PublishedCases, E8m0CodesAbove127AreNotNan) {
  EXPECT_EQ(decode(E8M0{126}), 0.5F);
  EXPECT_EQ(decode(E8M0{127}), 1.0F);
  EXPECT_EQ(decode(E8M0{128}), 2.0F);
  EXPECT_EQ(decode(E8M0{134}), 128.0F);
  EXPECT_EQ(decode(E8M0{254}), 0x1p127F);
  EXPECT_TRUE(std::isnan(decode(E8M0{255})));
}

// Scale byte 0 is 2^-127, a binary32 subnormal, not zero (NVIDIA/TransformerEngine#3262).
TEST(PublishedCases, E8m0CodeZeroIsNotZero) {
  EXPECT_EQ(std::bit_cast<std::uint32_t>(decode(E8M0{0})), 0x00400000U);
}

// Where saturation begins (stillwater-sc/universal#1302, jax-ml/ml_dtypes#400).
TEST(PublishedCases, Fp8OverflowThresholds) {
  const rounding::nearest_even rne;
  const std::vector<float> e4m3{448, 464, 464.00003F, 465, 500, infinity, -infinity};
  EXPECT_EQ(encode_all<E4M3>(e4m3), (codes{0x7E, 0x7E, 0x7E, 0x7E, 0x7E, 0x7E, 0xFE}));
  EXPECT_EQ(encode_all<E4M3>(e4m3, rne, overflow::nonsaturating{}),
            (codes{0x7E, 0x7E, 0x7F, 0x7F, 0x7F, 0x7F, 0xFF}));
  const std::vector<float> e5m2{58000, 61439.996F, 61440, 65536};
  EXPECT_EQ(encode_all<E5M2>(e5m2), (codes{0x7B, 0x7B, 0x7B, 0x7B}));
  EXPECT_EQ(encode_all<E5M2>(e5m2, rne, overflow::nonsaturating{}),
            (codes{0x7B, 0x7B, 0x7C, 0x7C}));
}

// No path through a narrower type (MurrellGroup/Microfloats.jl#25); ties to even of E5M2
// (triton-lang/triton#5925).
TEST(PublishedCases, OneRoundingOnly) {
  EXPECT_EQ(encode<E4M3>(1.31640625F).code, 0x3B);
  EXPECT_EQ(decode(E4M3{0x3B}), 1.375F);
  EXPECT_EQ(encode<E4M3>(encode<bfloat16>(1.31640625F)).code, 0x3A);
  EXPECT_EQ(encode<E5M2>(9.0F).code, 0x48);
  EXPECT_EQ(decode(E5M2{0x48}), 8.0F);
  // Just above the tie at 232 in binary64; binary32 cannot hold it.
  EXPECT_EQ(encode<E4M3>(232.00000000000006).code, 0x77);
  EXPECT_EQ(encode<E4M3>(static_cast<float>(232.00000000000006)).code, 0x76);
}

// graphcore-research/gfloat#62, jax-ml/ml_dtypes#298.
TEST(PublishedCases, E8m0FromBinary32) {
  const std::vector<float> inputs{
      0.0F,     1.4e-45F,   0x1p-127F, std::bit_cast<float>(0x00400001U),
      1.0F,     1.0000001F, 0x1p127F,  std::bit_cast<float>(0x7F000001U),
      infinity, quiet_nan};
  const rounding::up up;
  EXPECT_EQ(encode_all<E8M0>(inputs, up), (codes{0, 0, 0, 1, 127, 128, 254, 254, 254, 255}));
  EXPECT_EQ(encode_all<E8M0>(inputs, up, overflow::nonsaturating{}),
            (codes{0, 0, 0, 1, 127, 128, 254, 255, 255, 255}));
  EXPECT_EQ(encode_all<E8M0>(inputs, rounding::toward_zero{}),
            (codes{0, 0, 0, 0, 127, 127, 254, 254, 254, 255}));
}

// The open interval (2^-127, 1.5 * 2^-127) rounds down to 2^-127, its upper end up.
TEST(PublishedCases, E8m0NearestInTheLowestBinade) {
  EXPECT_EQ(encode<E8M0>(0x1.7FFFFCp-127F).code, 0);
  EXPECT_EQ(encode<E8M0>(0x1.8p-127F).code, 1);
  EXPECT_EQ(encode<E8M0>(1.5F).code, 128);
  EXPECT_EQ(encode<E8M0>(3.0F).code, 129);
}

// Directed rounding beyond the range (ucb-bar/saturn-vectors#101): 672 toward zero is 448.
TEST(PublishedCases, DirectedModesDoNotOverflowInward) {
  const overflow::nonsaturating nosat;
  EXPECT_EQ(encode<E4M3>(672.0F, rounding::toward_zero{}, nosat).code, 0x7E);
  EXPECT_EQ(encode<E4M3>(672.0F, rounding::down{}, nosat).code, 0x7E);
  EXPECT_EQ(encode<E4M3>(672.0F, rounding::up{}, nosat).code, 0x7F);
  EXPECT_EQ(encode<E4M3>(-672.0F, rounding::up{}, nosat).code, 0xFE);
  EXPECT_EQ(encode<E4M3>(-672.0F, rounding::down{}, nosat).code, 0xFF);
  EXPECT_EQ(encode<E5M2>(1e30, rounding::toward_zero{}, nosat).code, 0x7B);
  EXPECT_EQ(encode<E5M2>(-1e30, rounding::down{}, nosat).code, 0xFC);
}

// Thresholds of the neighbouring 8-bit types.
TEST(PublishedCases, FnuzAndIeeeOverflowThresholds) {
  const rounding::nearest_even rne;
  const overflow::nonsaturating nosat;
  EXPECT_EQ(encode_all<mxref::E4M3FNUZ>({247.99998F, 248, infinity, -infinity}, rne, nosat),
            (codes{0x7F, 0x80, 0x80, 0x80}));
  EXPECT_EQ(encode_all<mxref::E5M2FNUZ>({61439.996F, 61440, infinity}, rne, nosat),
            (codes{0x7F, 0x80, 0x80}));
  EXPECT_EQ(encode_all<mxref::E4M3IEEE>({247.99998F, 248, -infinity}, rne, nosat),
            (codes{0x77, 0x78, 0xF8}));
  EXPECT_EQ(encode_all<mxref::E3M4>({15.749999F, 15.75F, -16}, rne, nosat),
            (codes{0x6F, 0x70, 0xF0}));
  EXPECT_EQ(encode_all<mxref::E4M3FNUZ>({-0.0F, -0x1p-20F, 248, -infinity, quiet_nan}),
            (codes{0, 0, 0x7F, 0xFF, 0x80}));
}

// The whole top binade of E4M3 is there (tile-ai/tilelang-metax#140).
TEST(PublishedCases, TopBinadeOfE4m3) {
  EXPECT_EQ(encode_all<E4M3>({256, 288, 320, 352, 384, 416, 448}),
            (codes{0x78, 0x79, 0x7A, 0x7B, 0x7C, 0x7D, 0x7E}));
}

}  // namespace
