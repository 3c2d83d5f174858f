// SPDX-License-Identifier: Apache-2.0
// Level 5, per target. quantize and fake_quantize of blocks that run down columns, a vector of
// columns at a time. Checked against the scalar core: tests/target/convert_test.cpp

#if defined(MXREF_SIMD_QUANTIZE_COLUMNS_INL_) == defined(HWY_TARGET_TOGGLE)
#ifdef MXREF_SIMD_QUANTIZE_COLUMNS_INL_
#undef MXREF_SIMD_QUANTIZE_COLUMNS_INL_
#else
#define MXREF_SIMD_QUANTIZE_COLUMNS_INL_
#endif

#include <cstdint>
#include <type_traits>

#include "mxref/quantize.hpp"
#include "mxref/simd/highway.hpp"
#include "mxref/simd/kernels.hpp"
#include "mxref/simd/quantize-inl.hpp"
#include "mxref/simd/rounders-inl.hpp"

HWY_BEFORE_NAMESPACE();
MXREF_BEGIN_NAMESPACE
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

/// A vector of columns, block by block: each lane has the scale of its own column. Calls
/// on_row(k, x, factor, code) for each row k of a block, done(b, code, special) after its rows.
template <class Row, class Done>
HWY_INLINE void for_column_blocks(const float* in, index_t in_stride, index_t depth, index_t block,
                                  const scale_finder& rule, const Row& on_row, const Done& done) {
  const f32_tag df;
  const u32_tag du;
  const auto lanes = static_cast<index_t>(hn::Lanes(df));
  // Rows at a power of two from each other do not stay in the first cache: they are kept here.
  constexpr index_t kept_rows = 64;
  HWY_ALIGN float kept[kept_rows * HWY_MAX_BYTES / sizeof(float)];
  for (index_t first = 0; first < depth; first += block) {
    const index_t last = first + block < depth ? first + block : depth;
    u32_vec amax = hn::Zero(du);
    for (index_t k = first; k < last; ++k) {
      const f32_vec x = hn::LoadU(df, in + k * in_stride);
      amax = hn::Max(amax, hn::And(hn::BitCast(du, x), hn::Set(du, 0x7FFFFFFFU)));
      if (block <= kept_rows) hn::Store(x, df, kept + (k - first) * lanes);
    }
    f32_vec factor;
    const u32_vec code = rule(amax, factor);
    const bool special = !hn::AllTrue(
        du, hn::And(hn::Lt(amax, hn::Set(du, inf_bits)), hn::Lt(code, hn::Set(du, nan_scale))));
    for (index_t k = first; k < last && !special; ++k) {
      const f32_vec x = block <= kept_rows ? hn::Load(df, kept + (k - first) * lanes)
                                           : hn::LoadU(df, in + k * in_stride);
      on_row(k, x, factor, code);
    }
    done(first / block, code, special);
  }
}

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
  const auto lanes = static_cast<index_t>(hn::Lanes(f32_tag()));
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
  index_t col = 0;
  with_rounder(f, block, p, p.row_step == 1, [&](auto round_to) HWY_ATTR {
    word_source<decltype(round_to)> words(p);
    const scale_finder rule(f, p.scale);
    HWY_ALIGN std::uint32_t lane_codes[HWY_MAX_BYTES / sizeof(std::uint32_t)] = {};
    for (; col + lanes <= cols; col += lanes) {
      for_column_blocks(
          in + col, in_stride, depth, block, rule,
          [&](index_t k, f32_vec x, f32_vec factor, u32_vec) HWY_ATTR {
            words.fill(order_of(p).at(col, k).first, lanes);
            store_bytes(round_to.codes(x, factor, words.at(0)), codes + k * code_stride + col);
          },
          [&](index_t b, u32_vec code, bool special) HWY_ATTR {
            const index_t first = b * block;
            if (special) {
              return core(first, first + block < depth ? first + block : depth, col, col + lanes);
            }
            hn::Store(code, u32_tag(), lane_codes);
            for (index_t c = 0; c < lanes; ++c) {
              scales[(col + c) * scale_stride + b] = static_cast<std::uint8_t>(lane_codes[c]);
            }
          });
    }
  });
  if (col < cols) core(0, depth, col, cols);
}

inline void fake_quantize_columns_kernel(const float* in, index_t in_stride, index_t depth,
                                         index_t cols, format_desc f, int block,
                                         const simd::convert_policy& p, float* out,
                                         index_t out_stride) {
  const f32_tag df;
  const auto lanes = static_cast<index_t>(hn::Lanes(df));
  const auto core = [&](index_t first, index_t last, index_t col, index_t end) {
    const core_part part(in, in_stride, first, last, col, end, p);
    const matrix_view<float> to{out + first * out_stride + col, end - col, last - first, 1,
                                out_stride};
    detail::fake_quantize_rows(part.in, to, f, block, core_quantizer(p), part.order);
  };
  index_t col = 0;
  with_rounder(f, block, p, p.row_step == 1, [&](auto round_to) HWY_ATTR {
    word_source<decltype(round_to)> words(p);
    const scale_finder rule(f, p.scale);
    for (; col + lanes <= cols; col += lanes) {
      for_column_blocks(
          in + col, in_stride, depth, block, rule,
          [&](index_t k, f32_vec x, f32_vec factor, u32_vec code) HWY_ATTR {
            words.fill(order_of(p).at(col, k).first, lanes);
            hn::StoreU(round_to.values(x, factor, scale_values(code), words.at(0)), df,
                       out + k * out_stride + col);
          },
          [&](index_t b, u32_vec, bool special) HWY_ATTR {
            const index_t first = b * block;
            if (special) {
              core(first, first + block < depth ? first + block : depth, col, col + lanes);
            }
          });
    }
  });
  if (col < cols) core(0, depth, col, cols);
}

}  // namespace HWY_NAMESPACE
MXREF_END_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
