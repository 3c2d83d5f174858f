// SPDX-License-Identifier: Apache-2.0
// dot of two blocks: what gemm makes of the same bits, and the same in constant expressions.
#include <gtest/gtest.h>

#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "dot_cases.hpp"
#include "mxref/block.hpp"
#include "mxref/dot.hpp"
#include "mxref/gemm.hpp"
#include "mxref/quantize.hpp"

namespace {

namespace accumulate = mxref::accumulate;
using accumulate::block_exact_fp32;
using accumulate::block_fused_fp32;
using accumulate::exact;
using accumulate::fp32_chain;
using tcgen05 = accumulate::nvidia_blackwell_tcgen05_mxf8f6f4;
using mxref::mx_block;

std::uint32_t bits_of(float x) { return std::bit_cast<std::uint32_t>(x); }

// Two rows of codes, one scale each, and C.
struct row_pair {
  std::vector<std::uint8_t> a;
  std::vector<std::uint8_t> b;
  std::uint8_t scale_a = 0;
  std::uint8_t scale_b = 0;
  float c = 0;
};

template <class P, class A, class B>
std::uint32_t dot_of_blocks(const row_pair& p) {
  A a;
  B b;
  for (int i = 0; i < A::size; ++i) {
    a.set_element(i, {p.a[static_cast<std::size_t>(i)]});
    b.set_element(i, {p.b[static_cast<std::size_t>(i)]});
  }
  a.set_scale({p.scale_a});
  b.set_scale({p.scale_b});
  return bits_of(bits_of(p.c) == 0 ? dot(a, b, P{}) : dot(a, b, P{}, p.c));
}

// A pair of block types, the function for it, and the same data as gemm and the drawing of cases
// take it.
struct block_pair {
  std::uint32_t (*dot)(const row_pair&);
  sweep::named_format a;
  sweep::named_format scale_a;
  sweep::named_format b;
  sweep::named_format scale_b;
  int size;
};

template <class E>
constexpr sweep::named_format named() {
  for (const auto& f : sweep::all_elements) {
    if (f.desc == E::desc) return f;
  }
  return E::desc == mxref::E8M0::desc ? sweep::e8m0 : sweep::ue4m3;
}
template <class P, class A, class B>
constexpr block_pair pair_of() {
  return {&dot_of_blocks<P, A, B>,         named<typename A::element_type>(),
          named<typename A::scale_type>(), named<typename B::element_type>(),
          named<typename B::scale_type>(), A::size};
}

mxref::operand_view row_view(const sweep::named_format& element, const sweep::named_format& scale,
                             const std::vector<std::uint8_t>& codes, const std::uint8_t& s) {
  mxref::operand_view v;
  v.format = element.desc;
  v.codes = codes.data();
  v.rows = 1;
  v.depth = static_cast<mxref::index_t>(codes.size());
  v.block = static_cast<int>(codes.size());
  v.scale_format = scale.desc;
  v.scales = &s;
  return v;
}

template <class P>
void expect_gemm(const block_pair& pair) {
  sweep::random_source random(61);
  row_pair p;
  for (int round = 0; round < 60; ++round) {
    for (auto [codes, format] : {std::pair{&p.a, &pair.a}, {&p.b, &pair.b}}) {
      const auto kind = sweep::all_numbers[random.below(7)];
      codes->resize(static_cast<std::size_t>(pair.size));
      for (std::uint8_t& c : *codes) {
        c = static_cast<std::uint8_t>(sweep::draw_code(format->table(), kind, random));
      }
    }
    const auto scales = sweep::all_scale_codes[random.below(5)];
    p.scale_a = sweep::draw_scale(pair.scale_a, scales, random);
    p.scale_b = sweep::draw_scale(pair.scale_b, scales, random);
    p.c = random.one_in(2) ? 0.0F : std::bit_cast<float>(random.word());

    const std::array<mxref::binary32, 1> c{mxref::binary32{bits_of(p.c)}};
    mxref::gemm_options options;
    options.c = mxref::unscaled(mxref::view(c.data(), 1, 1));
    float d = 0;
    ASSERT_TRUE(gemm(row_view(pair.a, pair.scale_a, p.a, p.scale_a),
                     row_view(pair.b, pair.scale_b, p.b, p.scale_b), mxref::view(&d, 1, 1), P{},
                     options)
                    .ok());
    ASSERT_EQ(pair.dot(p), bits_of(d))
        << P::name << ", " << pair.a.table().name << " x " << pair.b.table().name << ", size "
        << pair.size << ", round " << round;
  }
}

template <class P>
class Dot : public testing::Test {};
using all_policies = testing::Types<exact, block_exact_fp32, block_fused_fp32, fp32_chain, tcgen05>;
TYPED_TEST_SUITE(Dot, all_policies, sweep::policy_names);

// The pairs of a list of blocks that the policy takes.
template <class P, class A, class... Bs>
void expect_gemm_with(std::tuple<Bs...>) {
  const auto check = [](auto b) {
    using other = decltype(b);
    if constexpr (mxref::detail::takes_operands<
                      P, typename A::element_type, typename other::element_type, A::size,
                      typename A::scale_type, typename other::scale_type>) {
      expect_gemm<P>(pair_of<P, A, other>());
    }
  };
  (check(Bs{}), ...);
}
template <class P, class... As>
void expect_gemm_of_all_pairs(std::tuple<As...> blocks) {
  (expect_gemm_with<P, As>(blocks), ...);
}

TYPED_TEST(Dot, EqualsGemmForEveryPair) {
  expect_gemm_of_all_pairs<TypeParam>(
      std::tuple<mxref::mxfp8_e5m2, mxref::mxfp8_e4m3, mxref::mxfp6_e3m2, mxref::mxfp6_e2m3,
                 mxref::mxfp4, mxref::mxint8>{});
}

// Other sizes than 32, and scales with a significand, on one side or both.
TYPED_TEST(Dot, EqualsGemmForOtherBlocks) {
  using mxref::E2M1;
  using mxref::UE4M3;
  if constexpr (!std::is_same_v<TypeParam, tcgen05>) {
    expect_gemm_of_all_pairs<TypeParam>(
        std::tuple<mx_block<E2M1, 16, UE4M3>, mx_block<mxref::E4M3, 16>>{});
    expect_gemm_of_all_pairs<TypeParam>(std::tuple<mx_block<E2M1, 2>>{});
    expect_gemm_of_all_pairs<TypeParam>(std::tuple<mx_block<mxref::E3M2, 64, UE4M3>>{});
  }
}

// Blocks made from integers alone, the same at compile time and at run time. `seed` is a function
// parameter there, and the compiler cannot see it.
template <class Block>
constexpr Block make_block(std::uint32_t seed, int scale, bool with_specials) {
  Block block;
  for (int i = 0; i < Block::size; ++i) {
    seed = seed * 1664525U + 1013904223U;
    auto code = static_cast<std::uint8_t>(seed >> 24);
    if (!with_specials) code &= 0xB7;  // neither of E5M2 and E4M3 has a special code among these
    block.set_element(i, {code});
  }
  block.set_scale({static_cast<std::uint8_t>(scale)});
  return block;
}

template <class P, class A, class B>
constexpr std::array<float, 4> dots(std::uint32_t seed) {
  return {dot(make_block<A>(seed, 127, false), make_block<B>(seed + 1, 130, false), P{}, -3.25F),
          dot(make_block<A>(seed + 2, 0, false), make_block<B>(seed + 3, 9, false), P{}, -0.0F),
          dot(make_block<A>(seed + 4, 254, false), make_block<B>(seed + 5, 254, false), P{}),
          dot(make_block<A>(seed + 6, 120, true), make_block<B>(seed + 7, 255, true), P{}, 1.0F)};
}

template <class P, class A, class B>
void expect_same_at_compile_time() {
  constexpr std::array<float, 4> compiled = dots<P, A, B>(7);
  const volatile std::uint32_t seed = 7;
  const std::array<float, 4> run = dots<P, A, B>(seed);
  for (std::size_t i = 0; i < run.size(); ++i) {
    EXPECT_EQ(bits_of(compiled[i]), bits_of(run[i])) << P::name << ", dot " << i;
  }
  // They are not all trivial: a number, an underflow, an overflow, a NaN.
  EXPECT_NE(compiled[0], -3.25F);
  EXPECT_EQ(std::abs(compiled[1]), 0.0F);
  EXPECT_FALSE(std::isfinite(compiled[2]));
  EXPECT_TRUE(std::isnan(compiled[3]));
}

TYPED_TEST(Dot, IsTheSameInConstantExpressions) {
  expect_same_at_compile_time<TypeParam, mxref::mxfp8_e4m3, mxref::mxfp8_e5m2>();
  expect_same_at_compile_time<TypeParam, mxref::mxfp6_e3m2, mxref::mxfp4>();
}

// OCP MX 6.1: Dot(A, B) = X(A) X(B) sum of Pi(A) Pi(B).
constexpr mx_block<mxref::E2M1, 32> ramp(int scale) {
  mx_block<mxref::E2M1, 32> block;
  for (int i = 0; i < 32; ++i) block.set_element(i, {static_cast<std::uint8_t>(i % 8)});
  block.set_scale({static_cast<std::uint8_t>(scale)});
  return block;
}
// 4 * (0.25 + 1 + 2.25 + 4 + 9 + 16 + 36) = 274
static_assert(dot(ramp(127), ramp(127)) == 274.0F);
static_assert(dot(ramp(128), ramp(126)) == 274.0F);
static_assert(dot(ramp(129), ramp(128)) == 274.0F * 8);
static_assert(dot(ramp(127), ramp(127), exact{}, -274.0F) == 0.0F);
static_assert(dot(ramp(127), ramp(127), tcgen05{}, 1.0F) == 275.0F);
static_assert(dot(ramp(127), ramp(127), fp32_chain{}) == 274.0F);

}  // namespace
