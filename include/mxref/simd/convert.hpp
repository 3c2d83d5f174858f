// SPDX-License-Identifier: Apache-2.0
// Level 5. quantize, dequantize, encode and decode on a target's kernels. The bits, shapes and
// errors are those of the scalar functions of the same names.
#ifndef MXREF_SIMD_CONVERT_HPP_
#define MXREF_SIMD_CONVERT_HPP_

#include <concepts>
#include <cstdint>
#include <cstring>
#include <memory>
#include <new>

#include "mxref/buffer.hpp"
#include "mxref/config.hpp"
#include "mxref/quantize.hpp"
#include "mxref/simd/control_register.hpp"
#include "mxref/simd/executor.hpp"
#include "mxref/simd/kernels.hpp"
#include "mxref/simd/pack.hpp"

MXREF_BEGIN_NAMESPACE

namespace simd {

namespace detail {

/// Rows are handed out in runs of about this many numbers.
inline constexpr index_t run_size = index_t{1} << 16;

/// Calls f(first, count, worker) for runs of rows.
template <executor E, class F>
void for_rows(const E& e, index_t rows, index_t cols, F&& f) {
  const index_t at_once = cols >= run_size ? 1 : run_size / (cols < 1 ? 1 : cols);
  e.run((rows + at_once - 1) / at_once, [&](index_t i, index_t worker) {
    const control_register_guard guard;
    const index_t first = i * at_once;
    f(first, rows - first < at_once ? rows - first : at_once, worker);
  });
}

/// Columns of a strip: enough that every row of it is some whole cache lines.
inline constexpr index_t strip_cols = 64;

/// Calls f(first, count, worker) for strips of columns.
template <executor E, class F>
void for_strips(const E& e, index_t rows, index_t cols, F&& f) {
  if (rows == 0) return;
  e.run((cols + strip_cols - 1) / strip_cols, [&](index_t i, index_t worker) {
    const control_register_guard guard;
    const index_t first = i * strip_cols;
    f(first, cols - first < strip_cols ? cols - first : strip_cols, worker);
  });
}

/// A policy for the part of a matrix that begins at an element of a row.
inline convert_policy policy_at(convert_policy p, index_t row, index_t k) noexcept {
  p.first += static_cast<std::uint64_t>(row) * p.row_step + static_cast<std::uint64_t>(k) * p.step;
  return p;
}

/// One scratch row for each worker.
template <class T>
class row_scratch {
 public:
  template <executor E>
  row_scratch(const E& e, index_t cols) noexcept : cols_(cols) {
    ok_ = data_.allocate(static_cast<index_t>(e.size()) * cols);
  }
  bool ok() const noexcept { return ok_; }
  T* row(index_t worker) noexcept { return data_.data() + worker * cols_; }

 private:
  buffer<T> data_;
  index_t cols_;
  bool ok_;
};

/// Blocks along rows, in any order of memory.
template <executor E>
status quantize_rows(const kernel_table& kernels, matrix_view<const float> in,
                     const quantized_view& out, const convert_policy& policy, const E& e) noexcept {
  const bool gather = in.col_stride != 1;
  const bool scatter = out.code_col_bytes != 1;
  row_scratch<float> numbers(e, gather ? in.cols : 0);
  row_scratch<std::uint8_t> codes(e, scatter ? in.cols : 0);
  if (!numbers.ok() || !codes.ok()) return {errc::out_of_memory};
  const auto quantize = [&](const float* x, index_t row, index_t rows, std::uint8_t* to) {
    kernels.quantize(x, in.row_stride, rows, in.cols, out.format, out.block,
                     policy_at(policy, row, 0), to, out.code_row_bytes,
                     out.scales + row * out.scale_row_bytes, out.scale_row_bytes);
  };
  for_rows(e, in.rows, in.cols, [&](index_t first, index_t count, index_t worker) {
    if (!gather && !scatter) {
      return quantize(in.data + first * in.row_stride, first, count,
                      out.codes + first * out.code_row_bytes);
    }
    for (index_t row = first; row < first + count; ++row) {
      const float* x = in.data + row * in.row_stride;
      if (gather) {
        x = numbers.row(worker);
        for (index_t k = 0; k < in.cols; ++k) numbers.row(worker)[k] = in(row, k);
      }
      std::uint8_t* to = out.codes + row * out.code_row_bytes;
      quantize(x, row, 1, scatter ? codes.row(worker) : to);
      for (index_t k = 0; scatter && k < in.cols; ++k) {
        to[k * out.code_col_bytes] = codes.row(worker)[k];
      }
    }
  });
  return {};
}

/// Blocks down columns that are neighbours in memory.
template <executor E>
status quantize_columns(const kernel_table& kernels, matrix_view<const float> in,
                        const quantized_view& out, const convert_policy& policy,
                        const E& e) noexcept {
  // A strip's codes come in the order of the source; K-major ones are transposed piece by piece.
  const bool in_order = out.code_row_bytes == 1;
  const index_t piece = in_order ? in.rows : (128 + out.block - 1) / out.block * out.block;
  row_scratch<std::uint8_t> codes(e, in_order ? 0 : strip_cols * piece);
  if (!codes.ok()) return {errc::out_of_memory};
  for_strips(e, in.rows, in.cols, [&](index_t col, index_t cols, index_t worker) {
    for (index_t k = 0; k < in.rows; k += piece) {
      const index_t depth = in.rows - k < piece ? in.rows - k : piece;
      std::uint8_t* to = out.codes + col * out.code_row_bytes + k * out.code_col_bytes;
      std::uint8_t* ordered = in_order ? to : codes.row(worker);
      const index_t stride = in_order ? out.code_col_bytes : strip_cols;
      kernels.quantize_columns(in.data + k * in.row_stride + col, in.row_stride, depth, cols,
                               out.format, out.block, policy_at(policy, col, k), ordered, stride,
                               out.scales + col * out.scale_row_bytes + k / out.block,
                               out.scale_row_bytes);
      if (in_order) continue;
      if (out.code_col_bytes == 1) {
        kernels.transpose_codes(ordered, stride, depth, cols, to, out.code_row_bytes);
        continue;
      }
      for (index_t i = 0; i < depth; ++i) {
        for (index_t c = 0; c < cols; ++c) {
          to[c * out.code_row_bytes + i * out.code_col_bytes] = ordered[i * stride + c];
        }
      }
    }
  });
  return {};
}

}  // namespace detail

/// Policies of the library, which kernels know by name; a user's own take the scalar core.
template <class T, class... Known>
concept one_of = (std::same_as<T, Known> || ...);
template <class S>
concept known_scale =
    one_of<S, scale::floor, scale::ceil, scale::even, scale::rceil, scale::rceil_div,
           scale::rceil_exact, scale::deepgemm, scale::microx, scale::fbgemm_floor,
           scale::fbgemm_ceil, scale::fbgemm_nearest, scale::fbgemm_even, scale::te_pow2,
           scale::ggml, scale::gfloat_amax, scale::dynamic>;
template <class R>
concept known_rounding =
    one_of<R, rounding::nearest_even, rounding::nearest_away, rounding::nearest_toward_zero,
           rounding::toward_zero, rounding::up, rounding::down, rounding::to_odd, rounding::philox,
           rounding::dynamic>;
template <class O>
concept known_overflow = one_of<O, overflow::saturate, overflow::nonsaturating,
                                overflow::saturate_full, overflow::dynamic>;
template <class P>
concept known_nan = one_of<P, nan::poison, nan::finite, nan::gfloat_inf, nan::ignore, nan::dynamic>;

template <class Q>
inline constexpr bool has_kernel = false;
template <known_scale S, known_rounding R, known_overflow O, known_nan P>
inline constexpr bool has_kernel<quantizer<S, R, O, P>> = true;

/// The run-time names of a quantizer's policies, for numbers in the C order of a matrix.
template <class... Policies>
constexpr convert_policy policy_of(const quantizer<Policies...>& q,
                                   const mxref::source_order& order) noexcept {
  convert_policy p{q.rounding.mode, q.overflow.mode, negative_mode::to_nan, q.on_nan.mode,
                   q.scale.rule};
  if constexpr (requires { q.rounding.seed; }) {
    p.seed = q.rounding.seed;
    p.random_bits = q.rounding.bits;
  }
  p.first = order.first;
  p.row_step = order.row_step;
  p.step = order.step;
  return p;
}

/// See mxref::quantize. binary64 input, and policies that are not the library's, go through the
/// scalar core.
template <class T, class... Policies, executor E>
status quantize_with(const kernel_table& kernels, matrix_view<T> in, const quantized_view& out,
                     const quantizer<Policies...>& q, quantize_options options,
                     const E& e) noexcept {
  if constexpr (std::same_as<std::remove_const_t<T>, float> && has_kernel<quantizer<Policies...>>) {
    const status checked = mxref::detail::check_quantize(in, out, q, options);
    if (!checked) return checked;
    if (out.block_rows != 1) return quantize(in, out, q, options);
    // As blocks along rows, and then, where columns are contiguous, as blocks down them.
    const convert_policy policy = policy_of(q, mxref::detail::order_of(in, options));
    if (options.axis != 0 && in.row_stride == 1 && in.col_stride != 1) {
      in = transposed(in);
      options.axis = 0;
    } else if (options.axis == 0 && in.col_stride != 1) {
      in = transposed(in);
      options.axis = -1;
    }
    return options.axis == 0 ? detail::quantize_columns(kernels, in, out, policy, e)
                             : detail::quantize_rows(kernels, in, out, policy, e);
  } else {
    return quantize(in, out, q, options);
  }
}

/// See mxref::fake_quantize and quantize_with.
template <class T, class... Policies, executor E>
status fake_quantize_with(const kernel_table& kernels, matrix_view<T> in, matrix_view<float> out,
                          format_desc format, int block, const quantizer<Policies...>& q,
                          quantize_options options, const E& e) noexcept {
  if constexpr (std::same_as<std::remove_const_t<T>, float> && has_kernel<quantizer<Policies...>>) {
    const status checked = mxref::detail::check_quantize(in, format, block, q, options);
    if (!checked) return checked;
    if (out.rows != in.rows || out.cols != in.cols) return {errc::shape_mismatch};
    const convert_policy policy = policy_of(q, mxref::detail::order_of(in, options));
    if (in.col_stride != 1 && in.row_stride == 1 && out.row_stride == 1) {
      in = transposed(in);
      out = transposed(out);
      options.axis = options.axis == 0 ? -1 : 0;
    }
    const bool contiguous = in.col_stride == 1 && out.col_stride == 1;
    if (!contiguous) return fake_quantize(in, out, format, block, q, options);
    if (options.axis == 0) {
      detail::for_strips(e, in.rows, in.cols, [&](index_t col, index_t cols, index_t) {
        kernels.fake_quantize_columns(in.data + col, in.row_stride, in.rows, cols, format, block,
                                      detail::policy_at(policy, col, 0), out.data + col,
                                      out.row_stride);
      });
    } else {
      detail::for_rows(e, in.rows, in.cols, [&](index_t first, index_t count, index_t) {
        kernels.fake_quantize(in.data + first * in.row_stride, in.row_stride, count, in.cols,
                              format, block, detail::policy_at(policy, first, 0),
                              out.data + first * out.row_stride, out.row_stride);
      });
    }
    return {};
  } else {
    return fake_quantize(in, out, format, block, q, options);
  }
}

/// See mxref::dequantize. binary64 output goes through the scalar core. Results larger than the
/// caches are written past them.
template <native_float T, executor E>
status dequantize_with(const kernel_table& kernels, const operand_view& in, matrix_view<T> out,
                       int axis, const E& e) noexcept {
  if constexpr (std::same_as<T, float>) {
    if (axis != 0 && axis != -1 && axis != 1) return {errc::shape_mismatch};
    if (axis == 0) out = transposed(out);
    if (out.rows != in.rows || out.cols != in.depth) return {errc::shape_mismatch};
    constexpr index_t piece = 1024;
    constexpr index_t beyond_caches = index_t{1} << 23;
    const index_t longest = in.depth < piece ? in.depth : piece;
    detail::row_scratch<float> scratch(e, longest);
    const auto worker_count = static_cast<index_t>(e.size());
    const std::unique_ptr<std::unique_ptr<run_decoder>[]> decoders(
        new (std::nothrow) std::unique_ptr<run_decoder>[static_cast<std::size_t>(worker_count)]);
    if (!scratch.ok() || decoders == nullptr) return {errc::out_of_memory};
    for (index_t w = 0; w < worker_count; ++w) {
      auto& decoder = decoders[static_cast<std::size_t>(w)];
      decoder.reset(new (std::nothrow) run_decoder(kernels, in));
      if (decoder == nullptr || !decoder->allocate(longest)) return {errc::out_of_memory};
    }
    const bool contiguous = out.col_stride == 1;
    const bool past_caches = contiguous && in.rows * in.depth > beyond_caches;
    detail::for_rows(e, in.rows, in.depth, [&](index_t first, index_t count, index_t worker) {
      run_decoder& decoder = *decoders[static_cast<std::size_t>(worker)];
      for (index_t row = first; row < first + count; ++row) {
        for (index_t from = 0; from < in.depth; from += piece) {
          const index_t n = in.depth - from < piece ? in.depth - from : piece;
          float* to = out.data + row * out.row_stride + from * out.col_stride;
          float* numbers = contiguous && !past_caches ? to : scratch.row(worker);
          const index_t soon = from + 3 * piece;  // a decoder alone does not keep memory busy
          if (past_caches && in.storage == code_storage::containers && soon + piece <= in.depth) {
            const auto* codes = static_cast<const std::uint8_t*>(in.codes);
            prefetch(codes + row * in.row_bytes + soon * in.col_bytes, piece * in.col_bytes);
          }
          decoder.values(row, from, n, numbers);
          if (past_caches) kernels.stream(numbers, n, to);
          if (contiguous) continue;
          for (index_t k = 0; k < n; ++k) to[k * out.col_stride] = numbers[k];
        }
      }
      if (past_caches) kernels.flush();
    });
    return {};
  } else {
    return dequantize(in, out, axis);
  }
}

/// Rounds count numbers to codes in containers of the format (its code_type), as encode does.
template <executor E>
status encode_with(const kernel_table& kernels, const float* in, index_t count, format_desc format,
                   const convert_policy& policy, void* codes, const E& e) noexcept {
  if (count < 0) return {errc::shape_mismatch};
  if (!is_valid(format)) return {errc::unsupported_format};
  const index_t bytes = container_bytes(format);
  detail::for_rows(e, (count + detail::run_size - 1) / detail::run_size, detail::run_size,
                   [&](index_t first, index_t runs, index_t) {
                     const index_t from = first * detail::run_size;
                     const index_t end = (first + runs) * detail::run_size;
                     kernels.encode(in + from, (end < count ? end : count) - from, format,
                                    detail::policy_at(policy, 0, from),
                                    static_cast<std::uint8_t*>(codes) + from * bytes);
                   });
  return {};
}

/// Decodes count codes in containers of the format, as decode does.
template <executor E>
status decode_with(const kernel_table& kernels, const void* codes, index_t count,
                   format_desc format, float* out, const E& e) noexcept {
  if (count < 0) return {errc::shape_mismatch};
  if (!is_valid(format)) return {errc::unsupported_format};
  operand_view v;
  v.format = format;
  v.codes = codes;
  v.col_bytes = container_bytes(format);
  v.row_bytes = detail::run_size * v.col_bytes;
  v.rows = count / detail::run_size;
  v.depth = detail::run_size;
  const auto whole = view(out, v.rows, v.depth);
  if (const status s = dequantize_with(kernels, v, whole, -1, e); !s) return s;
  const index_t done = v.rows * v.depth;
  v.codes = static_cast<const std::uint8_t*>(codes) + done * v.col_bytes;
  v.rows = 1;
  v.depth = count - done;
  return dequantize_with(kernels, v, view(out + done, 1, v.depth), -1, serial{});
}

}  // namespace simd

MXREF_END_NAMESPACE

#endif  // MXREF_SIMD_CONVERT_HPP_
