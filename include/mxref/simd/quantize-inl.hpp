// SPDX-License-Identifier: Apache-2.0
// Level 5, per target. Blocks of binary32 numbers to codes and scales, or to the numbers that these
// stand for. Checked against the scalar core, for every target: tests/target/convert_test.cpp

#if defined(MXREF_SIMD_QUANTIZE_INL_) == defined(HWY_TARGET_TOGGLE)
#ifdef MXREF_SIMD_QUANTIZE_INL_
#undef MXREF_SIMD_QUANTIZE_INL_
#else
#define MXREF_SIMD_QUANTIZE_INL_
#endif

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "mxref/bits.hpp"
#include "mxref/quantize.hpp"
#include "mxref/simd/decode-inl.hpp"
#include "mxref/simd/encode-inl.hpp"
#include "mxref/simd/highway.hpp"
#include "mxref/simd/kernels.hpp"
#include "mxref/simd/rounders-inl.hpp"
#include "mxref/simd/scales-inl.hpp"

HWY_BEFORE_NAMESPACE();
MXREF_BEGIN_NAMESPACE
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

inline quantizer<scale::dynamic, rounding::dynamic, overflow::dynamic, nan::dynamic> core_quantizer(
    const simd::convert_policy& p) noexcept {
  return {{p.scale}, {p.rounding, p.seed, p.random_bits}, {p.overflow}, {p.on_nan}};
}

inline source_order order_of(const simd::convert_policy& p) noexcept {
  return {p.first, p.row_step, p.step};
}

#if HWY_TARGET != HWY_SCALAR
/// The numbers of four vectors.
inline index_t chunk_size() { return 4 * static_cast<index_t>(hn::Lanes(f32_tag())); }

/// Less than a chunk of numbers, and zeros, in a buffer.
inline const float* load_some(const float* in, index_t count, float* HWY_RESTRICT buffer) {
  std::memset(buffer, 0, static_cast<std::size_t>(chunk_size()) * sizeof(float));
  std::memcpy(buffer, in, static_cast<std::size_t>(count) * sizeof(float));
  return buffer;
}

/// Four vectors to codes: the rounder, and vector i of numbers, factors and random words.
template <class Rounder, class Numbers, class Factors>
HWY_INLINE u8_vec codes_of(const Rounder& round_to, const Numbers& x, const Factors& factor,
                           const word_source<Rounder>& words) {
  const auto lanes = static_cast<index_t>(hn::Lanes(f32_tag()));
  u32_vec place0, place1, place2, place3;
  u32_vec farthest = hn::Zero(u32_tag());
  u32_vec steps0 = round_to.steps(x(0), factor(0), words.at(0), place0, farthest);
  u32_vec steps1 = round_to.steps(x(1), factor(1), words.at(lanes), place1, farthest);
  u32_vec steps2 = round_to.steps(x(2), factor(2), words.at(2 * lanes), place2, farthest);
  u32_vec steps3 = round_to.steps(x(3), factor(3), words.at(3 * lanes), place3, farthest);
  if constexpr (std::is_same_v<Rounder, stochastic_rounder>) {
    if (round_to.is_far(farthest)) {
      steps0 = round_to.far_steps(x(0), factor(0), words.at(0));
      steps1 = round_to.far_steps(x(1), factor(1), words.at(lanes));
      steps2 = round_to.far_steps(x(2), factor(2), words.at(2 * lanes));
      steps3 = round_to.far_steps(x(3), factor(3), words.at(3 * lanes));
    }
  }
  return round_to.codes(steps0, steps1, steps2, steps3, place0, place1, place2, place3);
}

/// The same to the numbers that the codes and scales stand for. They are stored after all loads: a
/// load right after a store 4 KiB before it may wait for it.
template <class Rounder, class Numbers, class Factors, class Scales>
HWY_INLINE void values_of(const Rounder& round_to, const Numbers& x, const Factors& factor,
                          const Scales& back, const word_source<Rounder>& words, float* out) {
  const f32_tag df;
  const auto lanes = static_cast<index_t>(hn::Lanes(df));
  const f32_vec v0 = round_to.values(x(0), factor(0), back(0), words.at(0));
  const f32_vec v1 = round_to.values(x(1), factor(1), back(1), words.at(lanes));
  const f32_vec v2 = round_to.values(x(2), factor(2), back(2), words.at(2 * lanes));
  const f32_vec v3 = round_to.values(x(3), factor(3), back(3), words.at(3 * lanes));
  hn::StoreU(v0, df, out);
  hn::StoreU(v1, df, out + lanes);
  hn::StoreU(v2, df, out + 2 * lanes);
  hn::StoreU(v3, df, out + 3 * lanes);
}

/// Consecutive numbers of a row, and the scales of their blocks.
struct row_part {
  index_t row;
  index_t k;  ///< where it begins
  index_t count;
  const float* factor;
  const float* back;
};

/// Rows in runs of blocks. While numbers of a run are rounded, the scales of the next are there
/// already. on_scales(row, b, blocks, run): the scales from block b on, before their numbers;
/// on_numbers(part, shift): a part of a row, number i of which has scale i >> shift; on_core(row,
/// k, n, b) for a block with NaN or Inf, n numbers from k on, which the scalar core takes.
template <class Scales, class Part, class Core>
HWY_INLINE void for_runs(matrix_view<const float> in, const scale_finder& rule, index_t block,
                         const Scales& on_scales, const Part& on_numbers, const Core& on_core) {
  struct start {
    index_t row;
    index_t block;
  };
  const std::integral_constant<int, 63> one_scale;  // i >> 63 is 0
  const auto lanes = static_cast<index_t>(hn::Lanes(f32_tag()));
  const bool is_regular = block >= lanes && (block & (block - 1)) == 0;
  const int shift = bit_width(static_cast<std::uint64_t>(block)) - 1;
  const index_t row_blocks = (in.cols + block - 1) / block;
  if (row_blocks == 0 || in.rows == 0) return;
  const index_t most = min_of(run_blocks, run_numbers / min_of(block, run_numbers));
  const auto size_of = [&](start at) { return min_of(row_blocks - at.block, most); };
  const auto scales_of = [&](start at, block_run& run) HWY_ATTR {
    const index_t from = at.block * block;
    find_amax(in.data + at.row * in.row_stride + from, min_of(in.cols - from, most * block), block,
              size_of(at), run);
    find_scales(rule, size_of(at), run);
    on_scales(at.row, at.block, size_of(at), run);
  };
  block_run runs[2];
  start at{0, 0};
  scales_of(at, runs[0]);
  for (unsigned i = 0; at.row < in.rows; i ^= 1U) {
    const index_t after = at.block + size_of(at);
    const start next = after < row_blocks ? start{at.row, after} : start{at.row + 1, 0};
    if (next.row < in.rows) scales_of(next, runs[i ^ 1U]);
    const block_run& run = runs[i];
    const index_t from = at.block * block;
    if (is_regular && !run.special) {
      const row_part part{at.row, from, min_of(in.cols - from, most * block), run.factor, run.back};
      if (block == 32) {
        on_numbers(part, std::integral_constant<int, 5>());
      } else {
        on_numbers(part, shift);
      }
    } else {
      for (index_t b = 0; b < size_of(at); ++b) {
        const index_t k = from + b * block;
        const index_t n = min_of(in.cols - k, block);
        if (run.is_special(b)) {
          on_core(at.row, k, n, at.block + b);
        } else {
          on_numbers(row_part{at.row, k, n, run.factor + b, run.back + b}, one_scale);
        }
      }
    }
    at = next;
  }
}

/// Calls f(i, n) for chunks of n numbers from number i of a part on, only the last of which may be
/// short, while what comes in a while is fetched from memory.
template <class F>
HWY_INLINE void for_chunks(matrix_view<const float> in, const row_part& part, const F& f) {
  const index_t size = chunk_size();
  const float* ahead = in.data + part.row * in.row_stride + part.k;
  const float* end = in.data + (in.rows - 1) * in.row_stride + in.cols;
  constexpr index_t distance = 2 * run_numbers;
  for (index_t i = 0; i < part.count; i += size) {
    if (end - ahead > i + distance) simd::prefetch(ahead + i + distance, 4 * size);
    f(i, min_of(part.count - i, size));
  }
}

template <class Rounder>
HWY_INLINE void quantize_rows_fast(const Rounder& rounder, matrix_view<const float> in,
                                   const quantized_view& out, const simd::convert_policy& p) {
  const f32_tag df;
  const auto lanes = static_cast<index_t>(hn::Lanes(df));
  const Rounder round_to = rounder;  // a copy that stores of results cannot reach
  word_source<Rounder> words(p);
  for_runs(
      in, scale_finder(out.format, p.scale), out.block,
      [&](index_t row, index_t b, index_t blocks, const block_run& run) HWY_ATTR {
        std::memcpy(out.scales + row * out.scale_row_bytes + b, run.bytes,
                    static_cast<std::size_t>(blocks));
      },
      [&](const row_part& part, auto shift) HWY_ATTR {
        const float* numbers = in.data + part.row * in.row_stride + part.k;
        std::uint8_t* codes = out.codes + part.row * out.code_row_bytes + part.k;
        const std::uint64_t position = order_of(p).at(part.row, part.k).first;
        for_chunks(in, part, [&](index_t i, index_t n) MXREF_INLINE_LAMBDA {
          words.move_to(position + static_cast<std::uint64_t>(i), part.count - i);
          const bool is_whole = n == chunk_size();
          HWY_ALIGN float some[HWY_MAX_BYTES];
          std::uint8_t bytes[HWY_MAX_BYTES];
          const float* from = is_whole ? numbers + i : load_some(numbers + i, n, some);
          const u8_vec chunk = codes_of(
              round_to, [&](index_t v) HWY_ATTR { return hn::LoadU(df, from + v * lanes); },
              [&](index_t v)
                  HWY_ATTR { return hn::Set(df, part.factor[(i + v * lanes) >> shift]); },
              words);
          hn::StoreU(chunk, u8_tag(), is_whole ? codes + i : bytes);
          if (!is_whole) std::memcpy(codes + i, bytes, static_cast<std::size_t>(n));
        });
      },
      [&](index_t row, index_t k, index_t n, index_t b) {
        E8M0 scale;
        quantize_block(in.data + row * in.row_stride + k, 1, static_cast<int>(n), out.format,
                       core_quantizer(p), scale, out.codes + row * out.code_row_bytes + k, 1,
                       order_of(p).at(row, k));
        out.scales[row * out.scale_row_bytes + b] = scale.code;
      });
}

template <class Rounder>
HWY_INLINE void fake_quantize_rows_fast(const Rounder& rounder, matrix_view<const float> in,
                                        matrix_view<float> out, format_desc f, int block,
                                        const simd::convert_policy& p) {
  const f32_tag df;
  const auto lanes = static_cast<index_t>(hn::Lanes(df));
  const Rounder round_to = rounder;  // a copy that stores of results cannot reach
  word_source<Rounder> words(p);
  for_runs(
      in, scale_finder(f, p.scale), block, [](index_t, index_t, index_t, const block_run&) {},
      [&](const row_part& part, auto shift) HWY_ATTR {
        const float* numbers = in.data + part.row * in.row_stride + part.k;
        float* results = out.data + part.row * out.row_stride + part.k;
        const std::uint64_t position = order_of(p).at(part.row, part.k).first;
        for_chunks(in, part, [&](index_t i, index_t n) MXREF_INLINE_LAMBDA {
          words.move_to(position + static_cast<std::uint64_t>(i), part.count - i);
          const bool is_whole = n == chunk_size();
          HWY_ALIGN float some[HWY_MAX_BYTES];
          const float* from = is_whole ? numbers + i : load_some(numbers + i, n, some);
          float* to = is_whole ? results + i : some;
          values_of(
              round_to, [&](index_t v) HWY_ATTR { return hn::LoadU(df, from + v * lanes); },
              [&](index_t v)
                  HWY_ATTR { return hn::Set(df, part.factor[(i + v * lanes) >> shift]); },
              [&](index_t v) HWY_ATTR { return hn::Set(df, part.back[(i + v * lanes) >> shift]); },
              words, to);
          if (!is_whole) {
            std::memcpy(results + i, some, static_cast<std::size_t>(n) * sizeof(float));
          }
        });
      },
      [&](index_t row, index_t k, index_t n, index_t) {
        detail::fake_quantize_rows(view(in.data + row * in.row_stride + k, 1, n),
                                   view(out.data + row * out.row_stride + k, 1, n), f, block,
                                   core_quantizer(p), {order_of(p).at(row, k).first, 0, p.step});
      });
}
#endif

/// Whether a rule's elements are rounded from x * 2^-s.
inline bool is_simply_rounded(const simd::convert_policy& p) noexcept {
  return p.scale != scale_rule::ggml;
}

template <rounding_mode Mode>
HWY_INLINE void quantize_row(const encoder<Mode>& to_codes, const float* in, index_t count,
                             format_desc f, int block, const simd::convert_policy& p,
                             std::uint8_t* codes, std::uint8_t* scales) {
  for (index_t k = 0; k < count; k += block) {
    const index_t n = count - k < block ? count - k : block;
    const std::uint32_t top = max_magnitude_bits(in + k, n);
    E8M0 scale;
    if (top >= inf_bits) {
      quantize_block(in + k, 1, static_cast<int>(n), f, core_quantizer(p), scale, codes + k);
    } else {
      scale = core_quantizer(p).scale(to_number(binary32_desc, top), f);
      if (scale.code == nan_scale) {
        std::memset(codes + k, 0, static_cast<std::size_t>(n));
      } else {
        encode_run(to_codes, in + k, n, scale.to_number().exp, 1, codes + k);
      }
    }
    scales[k / block] = scale.code;
  }
}

#if HWY_TARGET != HWY_SCALAR
/// Calls f with the fast rounder of a format and policy, if there is one. `consecutive`: the
/// numbers of a chunk have consecutive positions, as random words have.
template <class F>
HWY_INLINE bool with_rounder(format_desc f, const simd::convert_policy& p, bool consecutive,
                             const F& call) {
  const auto is_taken_by = [&]<class Rounder>(std::type_identity<Rounder>) HWY_ATTR {
    if (!Rounder::takes(f, p)) return false;
    call(Rounder(f, p));
    return true;
  };
  if (!is_simply_rounded(p)) return false;
  return is_taken_by(std::type_identity<nearest_rounder<rounding_mode::nearest_even>>()) ||
         is_taken_by(std::type_identity<nearest_rounder<rounding_mode::nearest_away>>()) ||
         (consecutive && is_taken_by(std::type_identity<stochastic_rounder>()));
}
#endif

inline void quantize_kernel(const float* in, index_t in_stride, index_t rows, index_t count,
                            format_desc f, int block, const simd::convert_policy& p,
                            std::uint8_t* codes, index_t code_stride, std::uint8_t* scales,
                            index_t scale_stride) {
  const auto numbers = view(in, rows, count, in_stride);
  const quantized_view out{f, block, codes, code_stride, scales, scale_stride};
#if HWY_TARGET != HWY_SCALAR
  const bool done = with_rounder(f, p, p.step == 1, [&](const auto& round_to) HWY_ATTR {
    quantize_rows_fast(round_to, numbers, out, p);
  });
  if (done) return;
#endif
  if (p.rounding == rounding_mode::stochastic || !is_simply_rounded(p)) {
    return detail::quantize_rows(numbers, out, core_quantizer(p), order_of(p));
  }
  with_rounding(p.rounding, [&]<rounding_mode Mode>() HWY_ATTR {
    const encoder<Mode> to_codes(f, p);
    for (index_t row = 0; row < rows; ++row) {
      quantize_row(to_codes, in + row * in_stride, count, f, block, p, codes + row * code_stride,
                   scales + row * scale_stride);
    }
  });
}

inline void fake_quantize_kernel(const float* in, index_t in_stride, index_t rows, index_t count,
                                 format_desc f, int block, const simd::convert_policy& p,
                                 float* out, index_t out_stride) {
  const auto numbers = view(in, rows, count, in_stride);
  const auto results = view(out, rows, count, out_stride);
#if HWY_TARGET != HWY_SCALAR
  const bool done = with_rounder(f, p, p.step == 1, [&](const auto& round_to) HWY_ATTR {
    fake_quantize_rows_fast(round_to, numbers, results, f, block, p);
  });
  if (done) return;
#endif
  detail::fake_quantize_rows(numbers, results, f, block, core_quantizer(p), order_of(p));
}

}  // namespace HWY_NAMESPACE
MXREF_END_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
