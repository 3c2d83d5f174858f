// SPDX-License-Identifier: Apache-2.0
// Inputs on which published implementations were wrong, with the right answers typed. N is the
// number of the fault in the list of tests/spec/faults.txt, T that of a case in its table of
// inputs. What is a matter of layouts, tails or dot products is beside the tests of these, see that
// list.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <initializer_list>
#include <limits>
#include <vector>

#include "format_list.hpp"
#include "mxref/mxref.hpp"

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
TEST(Faults, Fault_26_T5_E2m1Ties) {
  const std::vector<float> ties{0.25F, 0.75F, 1.25F, 1.75F, 2.5F, 3.5F, 5.0F};
  EXPECT_EQ(encode_all<E2M1>(ties), (codes{0, 2, 2, 4, 4, 6, 6}));
  EXPECT_EQ(encode_all<E2M1>(ties, rounding::nearest_away{}), (codes{1, 2, 3, 4, 5, 6, 7}));
  EXPECT_EQ(encode<E2M1>(0.25000006F).code, 1);
  EXPECT_EQ(encode<E2M1>(5.0000005F).code, 7);
}

// A scale byte is a code, not a number to compare with (sgl-project/sglang#25519).
TEST(Faults, Fault_18_T7_E8m0CodesAbove127AreNotNan) {
  EXPECT_EQ(decode(E8M0{126}), 0.5F);
  EXPECT_EQ(decode(E8M0{127}), 1.0F);
  EXPECT_EQ(decode(E8M0{128}), 2.0F);
  EXPECT_EQ(decode(E8M0{134}), 128.0F);
  EXPECT_EQ(decode(E8M0{254}), 0x1p127F);
  EXPECT_TRUE(std::isnan(decode(E8M0{255})));
}

// Scale byte 0 is 2^-127, a binary32 subnormal, not zero (NVIDIA/TransformerEngine#3262).
TEST(Faults, Fault_16_T6_E8m0CodeZeroIsNotZero) {
  EXPECT_EQ(std::bit_cast<std::uint32_t>(decode(E8M0{0})), 0x00400000U);
}

// Where saturation begins (stillwater-sc/universal#1302, jax-ml/ml_dtypes#400).
TEST(Faults, Fault_29_Fault_30_T9_Fp8OverflowThresholds) {
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
TEST(Faults, Fault_27_Fault_28_T19_OneRoundingOnly) {
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
TEST(Faults, Fault_5_T22_E8m0FromBinary32) {
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
TEST(Faults, Fault_19_E8m0InTheLowestBinades) {
  for (const float tiny : {0x1p-128F, 0x1p-149F}) {  // never a value outside the format
    EXPECT_EQ(encode_all<E8M0>({tiny}, rounding::nearest_even{}), codes{0});
    EXPECT_EQ(encode_all<E8M0>({tiny}, rounding::up{}), codes{0});
    EXPECT_EQ(encode_all<E8M0>({tiny}, rounding::toward_zero{}), codes{0});
  }
  EXPECT_EQ(encode<E8M0>(0x1.7FFFFCp-127F).code, 0);
  EXPECT_EQ(encode<E8M0>(0x1.8p-127F).code, 1);
  EXPECT_EQ(encode<E8M0>(1.5F).code, 128);
  EXPECT_EQ(encode<E8M0>(3.0F).code, 129);
}

// Directed rounding beyond the range (ucb-bar/saturn-vectors#101): 672 toward zero is 448.
TEST(Faults, Fault_31_DirectedModesDoNotOverflowInward) {
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
TEST(Faults, Fault_30_FnuzAndIeeeOverflowThresholds) {
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
TEST(Faults, Fault_33_TopBinadeOfE4m3) {
  EXPECT_EQ(encode_all<E4M3>({256, 288, 320, 352, 384, 416, 448}),
            (codes{0x78, 0x79, 0x7A, 0x7B, 0x7C, 0x7D, 0x7E}));
}

/// A block of 32 with these numbers in front.
template <class E, class... Policies>
mx_block<E, 32> block_of(std::initializer_list<float> front, Policies... p) {
  std::vector<float> x(front);
  x.resize(32);
  return quantize<mx_block<E, 32>>(x.data(), p...);
}
template <class E>
std::vector<float> values(const mx_block<E, 32>& b, int count) {
  std::vector<float> v;
  for (int i = 0; i < count; ++i) v.push_back(b.value(i));
  return v;
}

// microsoft/microxcaling#4: 957 comes back as 896 because the floor rule saturates.
TEST(Faults, Fault_1_T1_TheFloorRuleSaturates) {
  const auto down = block_of<E4M3>({957.0F, 960.0F, -959.5632F, 57.7898F});
  EXPECT_EQ(down.scale().code, 128);
  EXPECT_EQ(values(down, 4), (std::vector<float>{896, 896, -896, 56}));
  const auto up = block_of<E4M3>({957.0F, 960.0F, -959.5632F, 57.7898F}, scale::rceil{});
  EXPECT_EQ(up.scale().code, 129);
  EXPECT_EQ(up.value(0), 960.0F);
  EXPECT_EQ(up.element(0).code, 0x77);
  EXPECT_EQ(up.element(3).code, 0x56);
}

// pytorch/ao#436: amax just below a power of two.
TEST(Faults, Fault_2_T2_AmaxJustBelowAPowerOfTwo) {
  const std::initializer_list<float> x{1.0F, 31.0F, std::bit_cast<float>(0x42FFFFFFU)};
  EXPECT_EQ(block_of<E5M2>(x).scale().code, 118);
  EXPECT_EQ(block_of<E5M2>(x, scale::microx{}).scale().code, 119);  // the fault
  for (const int code : {block_of<E5M2>(x, scale::rceil{}).scale().code,
                         block_of<E5M2>(x, scale::ceil{}).scale().code,
                         block_of<E5M2>(x, scale::even{}).scale().code}) {
    EXPECT_EQ(code, 119);
  }
  EXPECT_EQ(values(block_of<E5M2>(x), 3), (std::vector<float>{1, 32, 112}));
}

// vllm-project/vllm#43557: amax / 6 before the exponent is taken gives one too small: 2.5 and 5.
TEST(Faults, Fault_6_ExponentBeforeTheDivision) {
  EXPECT_EQ(block_of<E2M1>({5.0F}).scale().code, 127);
  EXPECT_EQ(encode<E8M0>(5.0F / 6.0F, rounding::toward_zero{}).code, 126);  // the fault
}

// ROCm/FlyDSL#590: the nearest power of two of amax / M is one low.
TEST(Faults, Fault_7_NearestPowerOfTheQuotient) {
  for (const float amax : {4.0F, 5.0F}) {
    EXPECT_EQ(block_of<E2M3>({amax}).scale().code, 127) << amax;
    EXPECT_EQ(block_of<E2M3>({amax}, scale::rceil{}).scale().code, 127) << amax;
    EXPECT_EQ(encode<E8M0>(amax / 7.5F).code, 126) << amax;  // the fault
  }
}

// pytorch/ao#4725: through bfloat16 an amax just below a power of two reaches it.
TEST(Faults, Fault_9_NoScaleThroughANarrowerType) {
  const float x = std::bit_cast<float>(0x3FFFFFFFU);  // 2 less an ulp
  EXPECT_EQ(block_of<E4M3>({x}).scale().code, 119);
  EXPECT_EQ(block_of<E4M3>({decode(encode<bfloat16>(x))}).scale().code, 120);  // the fault
  EXPECT_EQ(encode<E8M0>(quiet_nan).code, 255);
}

// pytorch/FBGEMM#3515: which scale keeps the middle values.
TEST(Faults, Fault_11_T14_MiddleValuesSurvive) {
  const std::initializer_list<float> x{-180.8454F, 276.3368F,  892.1324F,  1101.1176F,
                                       -502.5216F, -302.0942F, 2268.5430F, -5960.6919F};
  for (const auto& b :
       {block_of<E2M1>(x), block_of<E2M1>(x, scale::even{}), block_of<E2M1>(x, scale::rceil{})}) {
    EXPECT_EQ(b.scale().code, 137);
    EXPECT_EQ(values(b, 8), (std::vector<float>{-0.0F, 512, 1024, 1024, -512, -512, 2048, -6144}));
  }
  const auto up = block_of<E2M1>(x, scale::ceil{});
  EXPECT_EQ(up.scale().code, 138);
  EXPECT_EQ(values(up, 8), (std::vector<float>{-0.0F, 0, 1024, 1024, -0.0F, -0.0F, 2048, -6144}));
}

// NVIDIA/Megatron-LM#6666: requantizing what was dequantized. floor gives the same bytes, a
// round-up rule the same values.
TEST(Faults, Fault_13_RequantizingKeepsValues) {
  int other_bytes = 0;
  for (int i = 1; i <= 1000; ++i) {
    const float x = 1.0F + 0.001F * static_cast<float>(i);
    const auto a = block_of<E4M3>({x, 0.3F * x});
    EXPECT_EQ(block_of<E4M3>({a.value(0), a.value(1)}), a);
    const auto up = block_of<E4M3>({x, 0.3F * x}, scale::rceil{});
    const auto again = block_of<E4M3>({up.value(0), up.value(1)}, scale::rceil{});
    EXPECT_EQ(values(again, 2), values(up, 2));
    other_bytes += again == up ? 0 : 1;
  }
  EXPECT_GT(other_bytes, 0);
}

// huggingface/transformers#46763: elements follow from the stored scale, not from the unrounded
// one.
TEST(Faults, Fault_14_ElementsFollowFromTheStoredScale) {
  const auto b = block_of<E4M3>({600.0F, 100.0F}, scale::rceil{});
  EXPECT_EQ(b.scale().code, 128);  // 600 / 448 = 1.34, stored as 2
  EXPECT_EQ(b.element(0), encode<E4M3>(300.0F));
  EXPECT_EQ(b.element(1), encode<E4M3>(50.0F));
}

// pytorch/ao#1104: the smallest scale, there and back.
TEST(Faults, Fault_20_T8_RoundTripAtScaleZero) {
  const auto b = block_of<E4M3>({0x1p-119F});
  EXPECT_EQ(b.scale().code, 0);
  EXPECT_EQ(b.element(0).code, 0x78);
  EXPECT_EQ(b.value(0), 0x1p-119F);
}

// llvm/llvm-project#214919, #223286: NaN, zero and negative numbers as a scale.
TEST(Faults, Fault_21_E8m0OfNanZeroAndNegative) {
  EXPECT_EQ(encode<E8M0>(quiet_nan).code, 255);
  EXPECT_EQ(encode<E8M0>(-quiet_nan).code, 255);
  EXPECT_EQ(encode<E8M0>(0.0F).code, 0);
  EXPECT_EQ(encode<E8M0>(-0.0F).code, 0);
  EXPECT_EQ(encode<E8M0>(-2.0F).code, 255);
  EXPECT_EQ(
      (encode<E8M0>(-2.0F, rounding::nearest_even{}, overflow::saturate{}, negative::abs{})).code,
      128);
}

// pytorch/FBGEMM#5706: exponents of 128 and more are not negative.
TEST(Faults, Fault_22_ScaleBytes128To254) {
  for (int code = 128; code <= 254; ++code) {
    EXPECT_EQ(decode<double>(E8M0{static_cast<std::uint8_t>(code)}), std::ldexp(1.0, code - 127));
  }
}

// JustVugg/colibri#1041: scale 255 makes NaN of every element, zeros too.
TEST(Faults, Fault_23_Fault_24_NanScaleAndScaleOne) {
  mx_block<E4M3, 32> b;
  b.set_scale(E8M0{255});
  for (int i = 0; i < 32; ++i) EXPECT_TRUE(std::isnan(b.value(i)));
  b.set_scale(encode<E8M0>(1.0F));
  EXPECT_EQ(b.scale().code, 127);
  b.set_element(3, encode<E4M3>(1.5F));
  EXPECT_EQ(b.value(3), 1.5F);
}

// tenstorrent/tt-metal#51971: every code survives, and sticky bits count.
TEST(Faults, Fault_25_CodesSurviveAndStickyBitsCount) {
  for (int code = 0; code < 256; ++code) {
    const E4M3 e{static_cast<std::uint8_t>(code)};
    if ((code & 0x7F) == 0x7F) continue;
    EXPECT_EQ(encode<E4M3>(decode(e)), e) << code;
  }
  EXPECT_EQ(decode(encode<E2M1>(0.25000006F)), 0.5F);
}

// ROCm/aiter#974: an MXFP4 block, and numbers just above half at scale 2.
TEST(Faults, Fault_26_T4_JustAboveHalf) {
  const auto at_scale_two = [](std::uint32_t bits) {
    return encode<E2M1>(std::bit_cast<float>(bits) * 0.5F).code;
  };
  EXPECT_EQ(at_scale_two(0x3F000000), 0);
  EXPECT_EQ(at_scale_two(0x3F000001), 1);
  EXPECT_EQ(at_scale_two(0x3F000003), 1);
}

// ooples/AiDotNet.Tensors#801: the smallest E4M3 subnormal is 2^-9.
TEST(Faults, Fault_34_SubnormalsOfE4m3) {
  for (int m = 1; m < 8; ++m) {
    EXPECT_EQ(decode(E4M3{static_cast<std::uint8_t>(m)}), 0x1p-9F * static_cast<float>(m));
  }
}

// intel/torch-xpu-ops#2951: -0 is a zero, and Inf into fnuz types is the largest number.
TEST(Faults, Fault_35_MinusZeroAndFnuz) {
  EXPECT_EQ(encode<E4M3>(-0.0F).code, 0x80);
  EXPECT_EQ(encode<E4M3FNUZ>(-0.0F).code, 0x00);
  EXPECT_EQ(encode<E5M2FNUZ>(infinity).code, 0x7F);
}

// graphcore-research/gfloat#49: directed modes go to the neighbour, never past it.
TEST(Faults, Fault_37_DirectedModesTakeTheNeighbour) {
  for (std::uint8_t code = 0; code < 0x7E; ++code) {
    const double low = decode<double>(E4M3{code});
    const double high = decode<double>(E4M3{static_cast<std::uint8_t>(code + 1)});
    const double x = low + (high - low) * 0x1p-20;
    EXPECT_EQ(encode<E4M3>(x, rounding::up{}).code, code + 1);
    EXPECT_EQ(encode<E4M3>(x, rounding::down{}).code, code);
    EXPECT_EQ(encode<E4M3>(-x, rounding::up{}).code, code | 0x80);
    EXPECT_EQ(encode<E4M3>(-x, rounding::down{}).code, (code + 1) | 0x80);
  }
}

// Tiiiger/QPyTorch#24: subnormals are numbers.
TEST(Faults, Fault_38_SubnormalsAreAlwaysOn) {
  EXPECT_EQ(decode(encode<E5M2>(0x1p-16F)), 0x1p-16F);
  EXPECT_EQ(decode(encode<E3M2>(0x1p-4F)), 0x1p-4F);
}

// amd/Quark#12: the codes of MXINT8 are 2^6 times its values.
TEST(Faults, Fault_39_ImpliedScaleOfInt8) {
  EXPECT_EQ(encode<INT8>(1.0F).code, 64);
  EXPECT_EQ(decode(INT8{127}), 127.0F / 64);
}

// NVIDIA/TransformerEngine#3550: a NaN in a block does not get lost.
TEST(Faults, Fault_40_T10_NanInABlock) {
  const auto strict = block_of<E4M3>({1.0F, quiet_nan, 2.0F});
  EXPECT_EQ(strict.scale().code, 255);
  const auto alone = block_of<E4M3>({1.0F, quiet_nan, 2.0F}, scale::floor{},
                                    rounding::nearest_even{}, overflow::saturate{}, nan::finite{});
  EXPECT_EQ(alone.scale().code, 120);
  EXPECT_TRUE(std::isnan(alone.value(1)));
  EXPECT_EQ(alone.value(2), 2.0F);
}

// THUDM/slime#2256: an all-zero block divides nothing.
TEST(Faults, Fault_42_T11_ZeroBlock) {
  const auto b = block_of<E4M3>({0.0F, -0.0F});
  EXPECT_EQ(b.scale().code, 0);
  EXPECT_EQ(b.element(0).code, 0x00);
  EXPECT_EQ(b.element(1).code, 0x80);
}

// HomericIntelligence/Odyssey#2379: blocks of subnormal numbers.
TEST(Faults, Fault_43_T12_NearlyZeroBlocks) {
  const auto normal = block_of<E4M3>({0x1p-126F});
  EXPECT_EQ(normal.scale().code, 0);
  EXPECT_EQ(normal.element(0).code, 0x40);
  EXPECT_EQ(normal.value(0), 0x1p-126F);
  const auto tiny = block_of<E4M3>({0x1p-140F});
  EXPECT_EQ(tiny.scale().code, 0);
  EXPECT_EQ(tiny.element(0).code, 0x00);
}

// milankl/StochasticRounding.jl#43 and the like: what the format holds never moves, subnormals
// have their probability, and few bits are biased only by the scheme that says so.
TEST(Faults, Fault_69_Fault_70_Fault_71_Fault_72_StochasticRounding) {
  for (const std::uint32_t word : {0U, 0x80000000U, 0xFFFFFFFFU}) {
    EXPECT_EQ(encode<E4M3>(0.875F, rounding::stochastic{word}), encode<E4M3>(0.875F));
    EXPECT_EQ(encode<E4M3>(0x1p-9F, rounding::stochastic{word}).code, 1);
  }
  int away = 0;
  for (std::uint32_t r = 0; r < 256; ++r) {
    away += encode<E4M3>(0x1.8p-10F, rounding::stochastic{r << 24, 8}).code;  // 3/4 of 2^-9
  }
  EXPECT_EQ(away, 192);
}

}  // namespace
