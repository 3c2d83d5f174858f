// SPDX-License-Identifier: Apache-2.0
// Level 5, per target. All kernels of a target, and its table.

#if defined(MXREF_SIMD_KERNELS_INL_) == defined(HWY_TARGET_TOGGLE)
#ifdef MXREF_SIMD_KERNELS_INL_
#undef MXREF_SIMD_KERNELS_INL_
#else
#define MXREF_SIMD_KERNELS_INL_
#endif

#include "mxref/simd/block-inl.hpp"
#include "mxref/simd/chain-inl.hpp"
#include "mxref/simd/decode-inl.hpp"
#include "mxref/simd/encode-inl.hpp"
#include "mxref/simd/quantize-inl.hpp"
#include "mxref/simd/quantize_columns-inl.hpp"
#include "mxref/simd/highway.hpp"
#include "mxref/simd/kernels.hpp"
#include "mxref/simd/window-inl.hpp"

HWY_BEFORE_NAMESPACE();
MXREF_BEGIN_NAMESPACE
namespace HWY_NAMESPACE {

/// The table of this target. Where there are no tile kernels their functions are null, and the
/// scalar core computes products.
inline simd::kernel_table make_kernel_table() {
  simd::kernel_table t{};
  t.target = hwy::TargetName(HWY_TARGET);
  t.encode = encode_kernel;
  t.quantize = quantize_kernel;
  t.quantize_columns = quantize_columns_kernel;
  t.transpose_codes = transpose_codes_kernel;
  t.fake_quantize = fake_quantize_kernel;
  t.fake_quantize_columns = fake_quantize_columns_kernel;
  t.decode = decode_kernel;
  t.decode_blocks = decode_blocks_kernel;
  t.apply_scales = apply_scales_kernel;
  t.stream = stream_kernel;
  t.flush = flush_kernel;
  t.lanes = static_cast<int>(hn::Lanes(hn::ScalableTag<float>()));
#if MXREF_TILE_KERNELS
  t.transpose = transpose_kernel;
  t.chain_rows = chain_tile_rows;
  t.chain_vectors = chain_tile_vectors;
  t.chain = chain_kernel;
  t.block_rows = block_tile_rows;
  t.block_cols = block_tile_vectors * t.lanes / 2;
  t.block = block_kernel;
  t.split = split_kernel;
  t.join = join_kernel;
  t.window_rows = window_tile_rows;
  t.window_cols = t.lanes;
  t.window = window_kernel;
#endif
  return t;
}

/// This target for simd::backend, also in a foreach_target unit of your own.
struct target {
  static const simd::kernel_table& kernels() noexcept {
    static const simd::kernel_table table = make_kernel_table();
    return table;
  }
};

}  // namespace HWY_NAMESPACE
MXREF_END_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
