// SPDX-License-Identifier: Apache-2.0
// Level 5, per target. quantize and fake_quantize of blocks that run down columns, four vectors of
// columns at a time. Checked against the scalar core: tests/target/convert_test.cpp

#if defined(MXREF_SIMD_QUANTIZE_COLUMNS_INL_) == defined(HWY_TARGET_TOGGLE)
#ifdef MXREF_SIMD_QUANTIZE_COLUMNS_INL_
#undef MXREF_SIMD_QUANTIZE_COLUMNS_INL_
#else
#define MXREF_SIMD_QUANTIZE_COLUMNS_INL_
#endif

#include <cstdint>
#include <cstring>

#include "mxref/quantize.hpp"
#include "mxref/simd/highway.hpp"
#include "mxref/simd/kernels.hpp"
#include "mxref/simd/quantize-inl.hpp"
#include "mxref/simd/rounders-inl.hpp"
#include "mxref/simd/scales-inl.hpp"

HWY_BEFORE_NAMESPACE();
MXREF_BEGIN_NAMESPACE
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

#if HWY_TARGET != HWY_SCALAR
/// Columns by the chunk, block by block, a run of the blocks beside each other: calls
/// on_row(k, x, scales) for each row k of a block, x its numbers in a whole chunk, then
/// done(b, scales) for block b; or on_core(first, last) for the
/// rows of a block with NaN or Inf in one of its columns.
template <class Row, class Done, class Core>
HWY_INLINE void for_column_blocks(const float* in, index_t in_stride, index_t depth, index_t cols,
                                  index_t block, const scale_finder& rule, const Row& on_row,
                                  const Done& done, const Core& on_core) {
  const f32_tag df;
  const u32_tag du;
  const auto lanes = static_cast<index_t>(hn::Lanes(df));
  const index_t width = 4 * lanes;
  // Rows at a power of two from each other do not stay in the first cache: they are kept here.
  constexpr index_t kept_rows = 64;
  const bool keeps = block <= kept_rows;
  HWY_ALIGN float kept[kept_rows * HWY_MAX_BYTES];
  if (cols < width) {
    const index_t used = (keeps ? block : 1) * width;
    std::memset(kept, 0, static_cast<std::size_t>(used) * sizeof(float));
  }
  block_run scales;
  for (index_t first = 0; first < depth; first += block) {
    const index_t last = min_of(first + block, depth);
    // Row k, where it may be in whole vectors, and a place to keep it.
    const auto row = [&](index_t k) HWY_ATTR {
      const float* from = in + k * in_stride;
      if (cols == width) return from;
      float* to = kept + (keeps ? k - first : 0) * width;
      std::memcpy(to, from, static_cast<std::size_t>(cols) * sizeof(float));
      return static_cast<const float*>(to);
    };
    u32_vec top0 = hn::Zero(du);
    u32_vec top1 = top0;
    u32_vec top2 = top0;
    u32_vec top3 = top0;
    for (index_t k = first; k < last; ++k) {
      const float* from = row(k);
      const f32_vec x0 = hn::LoadU(df, from);
      const f32_vec x1 = hn::LoadU(df, from + lanes);
      const f32_vec x2 = hn::LoadU(df, from + 2 * lanes);
      const f32_vec x3 = hn::LoadU(df, from + 3 * lanes);
      top0 = hn::Max(top0, magnitude_bits(x0));
      top1 = hn::Max(top1, magnitude_bits(x1));
      top2 = hn::Max(top2, magnitude_bits(x2));
      top3 = hn::Max(top3, magnitude_bits(x3));
      if (keeps && cols == width) {
        float* to = kept + (k - first) * width;
        hn::Store(x0, df, to);
        hn::Store(x1, df, to + lanes);
        hn::Store(x2, df, to + 2 * lanes);
        hn::Store(x3, df, to + 3 * lanes);
      }
    }
    u32_vec most = hn::Zero(du);
    u32_vec most_code = most;
    find_some_scales(rule, top0, 0, scales, most, most_code);
    find_some_scales(rule, top1, lanes, scales, most, most_code);
    find_some_scales(rule, top2, 2 * lanes, scales, most, most_code);
    find_some_scales(rule, top3, 3 * lanes, scales, most, most_code);
    if (!are_plain(most, most_code)) {
      on_core(first, last);
      continue;
    }
    for (index_t k = first; k < last; ++k) {
      on_row(k, keeps ? kept + (k - first) * width : row(k), scales);
    }
    done(first / block, scales);
  }
}
#endif

/// Part of a strip for the scalar core: its columns as rows, and the positions of their numbers.
struct core_part {
  matrix_view<const float> in;
  source_order order;

  core_part(const float* from, index_t stride, index_t first, index_t last, index_t col,
            index_t end, const simd::convert_policy& p) noexcept
      : in{from + first * stride + col, end - col, last - first, 1, stride},
        order{order_of(p).at(col, first).first, p.row_step, p.step} {}
};

inline void quantize_columns_kernel(const float* in, index_t in_stride, index_t depth, index_t cols,
                                    format_desc f, int block, const simd::convert_policy& p,
                                    std::uint8_t* codes, index_t code_stride, std::uint8_t* scales,
                                    index_t scale_stride) {
  const auto core = [&](index_t first, index_t last, index_t col, index_t end) {
    const core_part part(in, in_stride, first, last, col, end, p);
    const quantized_view to{f,
                            block,
                            codes + first * code_stride + col,
                            1,
                            scales + col * scale_stride + first / block,
                            scale_stride,
                            code_stride};
    detail::quantize_rows(part.in, to, core_quantizer(p), part.order);
  };
#if HWY_TARGET != HWY_SCALAR
  const bool done = with_rounder(f, p, p.row_step == 1, [&](auto round_to) HWY_ATTR {
    const f32_tag df;
    const auto lanes = static_cast<index_t>(hn::Lanes(df));
    word_source<decltype(round_to)> words(p);
    const scale_finder rule(f, p.scale);
    for (index_t col = 0; col < cols; col += chunk_size()) {
      const index_t n = min_of(cols - col, chunk_size());
      for_column_blocks(
          in + col, in_stride, depth, n, block, rule,
          [&](index_t k, const float* x, const block_run& of) MXREF_INLINE_LAMBDA {
            words.move_to(order_of(p).at(col, k).first, n);
            const u8_vec row = codes_of(
                round_to, [&](index_t v) HWY_ATTR { return hn::LoadU(df, x + v * lanes); },
                [&](index_t v) HWY_ATTR { return hn::Load(df, of.factor + v * lanes); }, words);
            std::uint8_t* to = codes + k * code_stride + col;
            if (n == chunk_size()) return hn::StoreU(row, u8_tag(), to);
            HWY_ALIGN std::uint8_t bytes[HWY_MAX_BYTES];
            hn::Store(row, u8_tag(), bytes);
            std::memcpy(to, bytes, static_cast<std::size_t>(n));
          },
          [&](index_t b, const block_run& of) HWY_ATTR {
            for (index_t c = 0; c < n; ++c) {
              scales[(col + c) * scale_stride + b] = of.bytes[c];
            }
          },
          [&](index_t first, index_t last) { core(first, last, col, col + n); });
    }
  });
  if (done) return;
#endif
  core(0, depth, 0, cols);
}

inline void fake_quantize_columns_kernel(const float* in, index_t in_stride, index_t depth,
                                         index_t cols, format_desc f, int block,
                                         const simd::convert_policy& p, float* out,
                                         index_t out_stride) {
  const auto core = [&](index_t first, index_t last, index_t col, index_t end) {
    const core_part part(in, in_stride, first, last, col, end, p);
    const matrix_view<float> to{out + first * out_stride + col, end - col, last - first, 1,
                                out_stride};
    detail::fake_quantize_rows(part.in, to, f, block, core_quantizer(p), part.order);
  };
#if HWY_TARGET != HWY_SCALAR
  const bool done = with_rounder(f, p, p.row_step == 1, [&](auto round_to) HWY_ATTR {
    const f32_tag df;
    const auto lanes = static_cast<index_t>(hn::Lanes(df));
    word_source<decltype(round_to)> words(p);
    const scale_finder rule(f, p.scale);
    for (index_t col = 0; col < cols; col += chunk_size()) {
      const index_t n = min_of(cols - col, chunk_size());
      for_column_blocks(
          in + col, in_stride, depth, n, block, rule,
          [&](index_t k, const float* x, const block_run& of) MXREF_INLINE_LAMBDA {
            words.move_to(order_of(p).at(col, k).first, n);
            HWY_ALIGN float some[HWY_MAX_BYTES];
            float* row = out + k * out_stride + col;
            float* to = n == chunk_size() ? row : some;
            values_of(
                round_to, [&](index_t v) HWY_ATTR { return hn::LoadU(df, x + v * lanes); },
                [&](index_t v) HWY_ATTR { return hn::Load(df, of.factor + v * lanes); },
                [&](index_t v) HWY_ATTR { return hn::Load(df, of.back + v * lanes); }, words, to);
            if (n != chunk_size()) {
              std::memcpy(row, some, static_cast<std::size_t>(n) * sizeof(float));
            }
          },
          [](index_t, const block_run&) {},
          [&](index_t first, index_t last) { core(first, last, col, col + n); });
    }
  });
  if (done) return;
#endif
  core(0, depth, 0, cols);
}

}  // namespace HWY_NAMESPACE
MXREF_END_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
