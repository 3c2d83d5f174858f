// SPDX-License-Identifier: Apache-2.0
// Level 5. quantize, dequantize, encode and decode on a target's kernels. The bits, shapes and
// errors are those of the scalar functions of the same names.
#ifndef MXREF_SIMD_CONVERT_HPP_
#define MXREF_SIMD_CONVERT_HPP_

#include <concepts>
#include <cstdint>
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

}  // namespace detail

/// The run-time names of a quantizer's policies.
template <class... Policies>
constexpr convert_policy policy_of(const quantizer<Policies...>& q) noexcept {
  return {q.rounding.mode, q.overflow.mode, negative_mode::to_nan, q.on_nan.mode, q.scale.rule};
}

/// See mxref::quantize. binary64 input goes through the scalar core.
template <class T, class... Policies, executor E>
status quantize_with(const kernel_table& kernels, matrix_view<T> in, const quantized_view& out,
                     const quantizer<Policies...>& q, quantize_options options,
                     const E& e) noexcept {
  const status checked = mxref::detail::check_quantize(in, out, q, options);
  if (!checked) return checked;
  if (options.axis == 0) in = transposed(in);
  if constexpr (std::same_as<std::remove_const_t<T>, float>) {
    detail::row_scratch<float> scratch(e, in.col_stride == 1 ? 0 : in.cols);
    if (!scratch.ok()) return {errc::out_of_memory};
    const convert_policy policy = policy_of(q);
    detail::for_rows(e, in.rows, in.cols, [&](index_t first, index_t count, index_t worker) {
      for (index_t row = first; row < first + count; ++row) {
        const float* numbers = in.data + row * in.row_stride;
        if (in.col_stride != 1) {
          float* gathered = scratch.row(worker);
          for (index_t k = 0; k < in.cols; ++k) gathered[k] = in(row, k);
          numbers = gathered;
        }
        kernels.quantize(numbers, in.cols, out.format, out.block, policy,
                         out.codes + row * out.code_row_bytes,
                         out.scales + row * out.scale_row_bytes);
      }
    });
    return {};
  } else {
    return quantize(in, out, q, {-1, options.strict});
  }
}

/// See mxref::dequantize. binary64 output goes through the scalar core.
template <native_float T, executor E>
status dequantize_with(const kernel_table& kernels, const operand_view& in, matrix_view<T> out,
                       int axis, const E& e) noexcept {
  if constexpr (std::same_as<T, float>) {
    if (axis != 0 && axis != -1 && axis != 1) return {errc::shape_mismatch};
    if (axis == 0) out = transposed(out);
    if (out.rows != in.rows || out.cols != in.depth) return {errc::shape_mismatch};
    detail::row_scratch<float> scratch(e, in.depth);
    const auto worker_count = static_cast<index_t>(e.size());
    const std::unique_ptr<std::unique_ptr<run_decoder>[]> decoders(
        new (std::nothrow) std::unique_ptr<run_decoder>[static_cast<std::size_t>(worker_count)]);
    if (!scratch.ok() || decoders == nullptr) return {errc::out_of_memory};
    for (index_t w = 0; w < worker_count; ++w) {
      auto& decoder = decoders[static_cast<std::size_t>(w)];
      decoder.reset(new (std::nothrow) run_decoder(kernels, in));
      if (decoder == nullptr || !decoder->allocate(in.depth)) return {errc::out_of_memory};
    }
    detail::for_rows(e, in.rows, in.depth, [&](index_t first, index_t count, index_t worker) {
      run_decoder& decoder = *decoders[static_cast<std::size_t>(worker)];
      for (index_t row = first; row < first + count; ++row) {
        if (out.col_stride == 1) {
          decoder.values(row, 0, in.depth, out.data + row * out.row_stride);
          continue;
        }
        float* numbers = scratch.row(worker);
        decoder.values(row, 0, in.depth, numbers);
        for (index_t k = 0; k < in.depth; ++k) out(row, k) = numbers[k];
      }
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
                     kernels.encode(in + from, (end < count ? end : count) - from, format, policy,
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
