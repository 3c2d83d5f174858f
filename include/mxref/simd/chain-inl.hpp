// SPDX-License-Identifier: Apache-2.0
// Level 5, per target. The binary32 chain: fused multiply-adds in increasing k, a register tile of
// outputs at a time. Checked against fma_binary32, for every target: tests/target/gemm_test.cpp

#if defined(MXREF_SIMD_CHAIN_INL_) == defined(HWY_TARGET_TOGGLE)
#ifdef MXREF_SIMD_CHAIN_INL_
#undef MXREF_SIMD_CHAIN_INL_
#else
#define MXREF_SIMD_CHAIN_INL_
#endif

#include <cstddef>
#include <cstdint>

#include "mxref/simd/decode-inl.hpp"
#include "mxref/simd/highway.hpp"
#include "mxref/simd/kernels.hpp"
#include "mxref/view.hpp"

HWY_BEFORE_NAMESPACE();
MXREF_BEGIN_NAMESPACE
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

#if HWY_TARGET == HWY_SCALAR
inline constexpr bool has_fused_multiply_add = false;
#elif defined(HWY_NATIVE_FMA)
inline constexpr bool has_fused_multiply_add = HWY_NATIVE_FMA != 0;
#else
// Highway before 1.1 does not say; its x86 targets from AVX2 on and NEON have it.
inline constexpr bool has_fused_multiply_add = (HWY_TARGET & (HWY_SSSE3 | HWY_SSE4)) == 0;
#endif

#if MXREF_TILE_KERNELS

using chain_f32 = hn::ScalableTag<float>;
using chain_f64 = hn::ScalableTag<double>;
using chain_vec = hn::Vec<chain_f32>;

/// s + err of two binary64 numbers, made odd where inexact: no rounding to binary32 can tell the
/// result from the exact sum (53 bits against 24 and two more).
template <class V>
HWY_INLINE V add_to_odd(V a, V b) {
  const chain_f64 d;
  const hn::RebindToUnsigned<chain_f64> du;
  const V s = hn::Add(a, b);
  const V t = hn::Sub(s, a);
  const V err = hn::Add(hn::Sub(a, hn::Sub(s, t)), hn::Sub(b, t));
  const auto one = hn::Set(du, std::uint64_t{1});
  const auto bits = hn::BitCast(du, s);
  // One step toward err: up in magnitude when the signs agree. Not for an odd s, nor NaN or Inf.
  const auto inexact = hn::Or(hn::Gt(err, hn::Zero(d)), hn::Lt(err, hn::Zero(d)));
  const auto even = hn::Eq(hn::And(bits, one), hn::Zero(du));
  const auto grow = hn::Eq(hn::ShiftRight<63>(hn::Xor(bits, hn::BitCast(du, err))), hn::Zero(du));
  const auto moved = hn::IfThenElse(grow, hn::Add(bits, one), hn::Sub(bits, one));
  const auto change = hn::And(hn::RebindMask(du, inexact), even);
  return hn::BitCast(d, hn::IfThenElse(change, moved, bits));
}

/// a * b + c rounded once, with or without the instruction.
HWY_INLINE chain_vec fused_multiply_add(chain_vec a, chain_vec b, chain_vec c) {
  if constexpr (has_fused_multiply_add) {
    return hn::MulAdd(a, b, c);
  } else {
    const chain_f32 df;
    const chain_f64 dd;
    const hn::Half<chain_f32> dh;
    const auto product = [&](auto x, auto y) HWY_ATTR {
      return hn::Mul(hn::PromoteTo(dd, x), hn::PromoteTo(dd, y));  // 48 bits: exact
    };
    const auto low =
        hn::DemoteTo(dh, add_to_odd(product(hn::LowerHalf(dh, a), hn::LowerHalf(dh, b)),
                                    hn::PromoteTo(dd, hn::LowerHalf(dh, c))));
    const auto high =
        hn::DemoteTo(dh, add_to_odd(product(hn::UpperHalf(dh, a), hn::UpperHalf(dh, b)),
                                    hn::PromoteTo(dd, hn::UpperHalf(dh, c))));
    return hn::Combine(df, high, low);
  }
}

// A tile fills the registers: 27 accumulators of 32, 12 of 16, or few where each step is long.
#if HWY_TARGET <= HWY_AVX3 && HWY_ARCH_X86
inline constexpr int chain_tile_rows = 9;
inline constexpr int chain_tile_vectors = 3;
#elif HWY_ARCH_ARM_A64
inline constexpr int chain_tile_rows = 8;
inline constexpr int chain_tile_vectors = 3;
#else
inline constexpr int chain_tile_rows = has_fused_multiply_add ? 6 : 2;
inline constexpr int chain_tile_vectors = has_fused_multiply_add ? 2 : 1;
#endif

template <int Vectors, bool ByColumns>
HWY_INLINE void chain_tile(const simd::chain_operands& o, float* HWY_RESTRICT c, index_t c_stride) {
  const chain_f32 d;
  constexpr int rows = chain_tile_rows;
  const auto lanes = static_cast<index_t>(hn::Lanes(d));
  chain_vec acc[rows][Vectors];
  const float* HWY_RESTRICT b = o.b;
  const float* HWY_RESTRICT column = o.a;
  const float* a[rows];
  HWY_UNROLL(rows)
  for (int i = 0; i < rows; ++i) {
    a[i] = o.a + i * o.a_stride;
    HWY_UNROLL(4)
    for (int j = 0; j < Vectors; ++j) {
      acc[i][j] = o.first ? hn::Zero(d) : hn::LoadU(d, c + i * c_stride + j * lanes);
    }
  }
  for (index_t k = 0; k < o.depth; ++k) {
    chain_vec right[Vectors];
    HWY_UNROLL(4)
    for (int j = 0; j < Vectors; ++j) right[j] = hn::LoadU(d, b + j * lanes);
    HWY_UNROLL(rows)
    for (int i = 0; i < rows; ++i) {
      const chain_vec left = hn::Set(d, ByColumns ? column[i] : a[i][k]);
      HWY_UNROLL(4)
      for (int j = 0; j < Vectors; ++j) acc[i][j] = fused_multiply_add(left, right[j], acc[i][j]);
    }
    b += Vectors * lanes;
    column += o.a_stride;
  }
  HWY_UNROLL(rows)
  for (int i = 0; i < rows; ++i) {
    HWY_UNROLL(4)
    for (int j = 0; j < Vectors; ++j) {
      const chain_vec sum = o.last ? canonical(acc[i][j]) : acc[i][j];
      hn::StoreU(sum, d, c + i * c_stride + j * lanes);
    }
  }
}

template <int Vectors>
HWY_INLINE void chain_tile(const simd::chain_operands& o, float* c, index_t c_stride) {
  if (o.a_is_by_columns) return chain_tile<Vectors, true>(o, c, c_stride);
  return chain_tile<Vectors, false>(o, c, c_stride);
}

inline void chain_kernel(const simd::chain_operands& o, float* c, index_t c_stride) {
  if (o.vectors == chain_tile_vectors) return chain_tile<chain_tile_vectors>(o, c, c_stride);
  if constexpr (chain_tile_vectors > 2) {
    if (o.vectors == 2) return chain_tile<2>(o, c, c_stride);
  }
  return chain_tile<1>(o, c, c_stride);
}

/// The vector of in[0], in[1], in[2], in[3] in its first 128 bits, then of in[4 * stride] and so
/// on.
template <class D>
HWY_INLINE hn::Vec<D> load_blocks(D d, const float* in, index_t stride) {
  if constexpr (hn::MaxLanes(D()) == 4) {
    return hn::LoadU(d, in);
  } else {
    const hn::Half<D> half;
    constexpr auto rows = static_cast<index_t>(hn::MaxLanes(D()) / 2);
    return hn::Combine(d, load_blocks(half, in + rows * stride, stride),
                       load_blocks(half, in, stride));
  }
}

/// Four k of all rows at a time: the 4 x 4 transpositions inside 128 bits make whole columns when
/// the 128-bit parts of a vector come from every fourth row.
inline void transpose_kernel(const float* in, index_t in_stride, index_t depth, float* out,
                             index_t out_stride) {
  const chain_f32 d;
  const chain_f64 dd;
  const auto lanes = static_cast<index_t>(hn::Lanes(d));
  index_t k = 0;
  for (; k + 4 <= depth; k += 4) {
    const chain_vec r0 = load_blocks(d, in + k, in_stride);
    const chain_vec r1 = load_blocks(d, in + k + in_stride, in_stride);
    const chain_vec r2 = load_blocks(d, in + k + 2 * in_stride, in_stride);
    const chain_vec r3 = load_blocks(d, in + k + 3 * in_stride, in_stride);
    const auto low01 = hn::BitCast(dd, hn::InterleaveLower(d, r0, r1));
    const auto high01 = hn::BitCast(dd, hn::InterleaveUpper(d, r0, r1));
    const auto low23 = hn::BitCast(dd, hn::InterleaveLower(d, r2, r3));
    const auto high23 = hn::BitCast(dd, hn::InterleaveUpper(d, r2, r3));
    float* to = out + k * out_stride;
    hn::StoreU(hn::BitCast(d, hn::InterleaveLower(dd, low01, low23)), d, to);
    hn::StoreU(hn::BitCast(d, hn::InterleaveUpper(dd, low01, low23)), d, to + out_stride);
    hn::StoreU(hn::BitCast(d, hn::InterleaveLower(dd, high01, high23)), d, to + 2 * out_stride);
    hn::StoreU(hn::BitCast(d, hn::InterleaveUpper(dd, high01, high23)), d, to + 3 * out_stride);
  }
  for (; k < depth; ++k) {
    for (index_t i = 0; i < lanes; ++i) out[k * out_stride + i] = in[i * in_stride + k];
  }
}

#endif  // MXREF_TILE_KERNELS

}  // namespace HWY_NAMESPACE
MXREF_END_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
