// SPDX-License-Identifier: Apache-2.0
// Level 5, per target. Exact block dot products in binary64 lanes: every partial sum is exact by
// the planner's choice of tiles, so no order and no instruction set can show. Three policies differ
// only in what happens once a block. Checked: tests/target/gemm_test.cpp

#if defined(MXREF_SIMD_BLOCK_INL_) == defined(HWY_TARGET_TOGGLE)
#ifdef MXREF_SIMD_BLOCK_INL_
#undef MXREF_SIMD_BLOCK_INL_
#else
#define MXREF_SIMD_BLOCK_INL_
#endif

#include <cstddef>
#include <cstdint>

#include "mxref/simd/chain-inl.hpp"
#include "mxref/simd/highway.hpp"
#include "mxref/simd/kernels.hpp"

HWY_BEFORE_NAMESPACE();
MXREF_BEGIN_NAMESPACE
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

#if MXREF_TILE_KERNELS

using block_f64 = hn::ScalableTag<double>;
using block_f32 = hn::Rebind<float, block_f64>;
using block_vec = hn::Vec<block_f64>;

inline constexpr int block_tile_rows = chain_tile_rows > 6 ? 6 : chain_tile_rows;
inline constexpr int block_tile_vectors = chain_tile_rows > 6 ? 4 : chain_tile_vectors;

/// What a block's exact dot product does to the state of its output.
template <simd::block_mode Mode>
HWY_INLINE void end_block(block_vec dot, double grid, index_t at, const simd::block_state& s) {
  const block_f64 d;
  const block_f32 df;
  if constexpr (Mode == simd::block_mode::exact_sum) {
    // Split on a fixed grid: both parts are sums of multiples of one power of two, hence exact.
    const block_vec g = hn::Set(d, grid);
    const block_vec high = hn::Sub(hn::Add(dot, g), g);
    hn::StoreU(hn::Add(hn::LoadU(d, s.high + at), high), d, s.high + at);
    hn::StoreU(hn::Add(hn::LoadU(d, s.low + at), hn::Sub(dot, high)), d, s.low + at);
  } else if constexpr (Mode == simd::block_mode::rounded) {
    hn::StoreU(hn::Add(hn::LoadU(df, s.value + at), hn::DemoteTo(df, dot)), df, s.value + at);
  } else {
    const block_vec sum = add_to_odd(dot, hn::PromoteTo(d, hn::LoadU(df, s.value + at)));
    hn::StoreU(hn::DemoteTo(df, sum), df, s.value + at);
  }
}

template <simd::block_mode Mode>
inline void block_tile(const simd::block_operands& o, const simd::block_state& s) {
  const block_f64 d;
  constexpr int rows = block_tile_rows;
  constexpr int vectors = block_tile_vectors;
  const auto lanes = static_cast<index_t>(hn::Lanes(d));
  const index_t cols = vectors * lanes;
  const double* HWY_RESTRICT a = o.a;
  const double* HWY_RESTRICT b = o.b;
  const double* HWY_RESTRICT scale_a = o.scale_a;
  const double* HWY_RESTRICT scale_b = o.scale_b;
  for (index_t left = o.depth; left > 0; left -= o.block) {
    const index_t count = left < o.block ? left : o.block;
    block_vec acc[rows][vectors];
    HWY_UNROLL(rows)
    for (int i = 0; i < rows; ++i) {
      HWY_UNROLL(vectors)
      for (int j = 0; j < vectors; ++j) acc[i][j] = hn::Zero(d);
    }
    for (index_t k = 0; k < count; ++k) {
      block_vec right[vectors];
      HWY_UNROLL(vectors)
      for (int j = 0; j < vectors; ++j) right[j] = hn::LoadU(d, b + j * lanes);
      HWY_UNROLL(rows)
      for (int i = 0; i < rows; ++i) {
        const block_vec x = hn::Set(d, a[i]);
        HWY_UNROLL(vectors)
        for (int j = 0; j < vectors; ++j) acc[i][j] = hn::MulAdd(x, right[j], acc[i][j]);
      }
      a += rows;
      b += cols;
    }
    HWY_UNROLL(rows)
    for (int i = 0; i < rows; ++i) {
      const block_vec x = hn::Set(d, scale_a[i]);
      HWY_UNROLL(vectors)
      for (int j = 0; j < vectors; ++j) {
        const block_vec scaled = hn::Mul(hn::Mul(acc[i][j], x), hn::LoadU(d, scale_b + j * lanes));
        end_block<Mode>(scaled, o.grid, i * cols + j * lanes, s);
      }
    }
    scale_a += rows;
    scale_b += cols;
  }
}

inline void block_kernel(simd::block_mode mode, const simd::block_operands& o,
                         const simd::block_state& s) {
  switch (mode) {
    case simd::block_mode::rounded:
      return block_tile<simd::block_mode::rounded>(o, s);
    case simd::block_mode::fused:
      return block_tile<simd::block_mode::fused>(o, s);
    case simd::block_mode::exact_sum:
      return block_tile<simd::block_mode::exact_sum>(o, s);
  }
}

/// high into high and low on the grid; count is a multiple of the lanes.
inline void split_kernel(double grid, double* high, double* low, index_t count) {
  const block_f64 d;
  const block_vec g = hn::Set(d, grid);
  for (index_t i = 0; i < count; i += static_cast<index_t>(hn::Lanes(d))) {
    const block_vec whole = hn::LoadU(d, high + i);
    const block_vec top = hn::Sub(hn::Add(whole, g), g);
    hn::StoreU(top, d, high + i);
    hn::StoreU(hn::Sub(whole, top), d, low + i);
  }
}

/// high + low made odd where inexact, for the one rounding at the end.
inline void join_kernel(double* high, const double* low, index_t count) {
  const block_f64 d;
  for (index_t i = 0; i < count; i += static_cast<index_t>(hn::Lanes(d))) {
    hn::StoreU(add_to_odd(hn::LoadU(d, high + i), hn::LoadU(d, low + i)), d, high + i);
  }
}

#endif  // MXREF_TILE_KERNELS

}  // namespace HWY_NAMESPACE
MXREF_END_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
