// SPDX-License-Identifier: Apache-2.0
// Level 3. Real numbers to blocks and back (OCP MX 6.3), for one block and for matrices.
#ifndef MXREF_QUANTIZE_HPP_
#define MXREF_QUANTIZE_HPP_

#include <cstddef>
#include <cstdint>
#include <utility>

#include "mxref/block.hpp"
#include "mxref/config.hpp"
#include "mxref/convert.hpp"
#include "mxref/matrix.hpp"
#include "mxref/overflow.hpp"
#include "mxref/rounding.hpp"
#include "mxref/scale.hpp"
#include "mxref/status.hpp"
#include "mxref/view.hpp"

MXREF_BEGIN_NAMESPACE

/// The four questions of a block quantization, with the answers of OCP MX 6.3 as defaults.
template <scale_policy S = scale::floor, rounding_policy R = rounding::nearest_even,
          overflow_policy O = overflow::saturate, nan_policy P = nan::poison>
struct quantizer {
  S scale{};
  R rounding{};
  O overflow{};
  P on_nan{};
};

/// Which axis of a matrix the blocks run along, and what happens to a last, short block.
struct quantize_options {
  int axis = -1;  ///< -1 or 1: along rows; 0: down columns, the result is a K-major (C, R) operand
  bool strict = false;  ///< refuse a length that is not a multiple of the block
};

/// Where a matrix goes: codes of a K-major operand, one per byte, and scale codes. With axis 0,
/// code_row_bytes = 1 and code_col_bytes = C leave the codes in the order of the source (R, C).
struct quantized_view {
  format_desc format{};
  int block = 32;
  std::uint8_t* codes = nullptr;
  index_t code_row_bytes = 0;
  std::uint8_t* scales = nullptr;
  index_t scale_row_bytes = 0;
  index_t code_col_bytes = 1;  ///< distance between codes of an operand's row

  /// What quantize has written here, of `rows` rows of `depth` codes, for dequantize and gemm.
  constexpr operand_view operand(index_t rows, index_t depth) const noexcept {
    operand_view v;
    v.format = format;
    v.codes = codes;
    v.rows = rows;
    v.depth = depth;
    v.row_bytes = code_row_bytes;
    v.col_bytes = code_col_bytes;
    v.block = block;
    v.scale_format = E8M0::desc;
    v.scales = scales;
    v.scale_row_bytes = scale_row_bytes;
    return v;
  }
};

/// Where numbers stand in their source, for policies that depend on it: x[i] has the position
/// first + i * step.
struct element_order {
  std::uint64_t first = 0;
  std::uint64_t step = 1;

  MXREF_HD constexpr std::uint64_t operator()(index_t i) const noexcept {
    return first + static_cast<std::uint64_t>(i) * step;
  }
};

/// What a block holds besides numbers, and its largest finite magnitude.
struct block_amax {
  number amax{};
  bool has_nan = false;
  bool has_inf = false;
};

template <native_float T>
MXREF_HD constexpr block_amax find_amax(const T* x, index_t stride, int count) noexcept {
  block_amax result;
  for (int i = 0; i < count; ++i) {
    const number v = to_number(x[i * stride]);
    result.has_nan |= v.is_nan();
    result.has_inf |= v.is_inf();
    if (v.is_finite() && detail::magnitude_less(result.amax, v)) result.amax = v;
  }
  result.amax.negative = false;
  return result;
}

/// The scale of a block by a quantizer's policies: NaN when the block is poisoned.
template <class... Policies>
MXREF_HD constexpr E8M0 choose_scale(const block_amax& found, format_desc format,
                                     const quantizer<Policies...>& q) noexcept {
  const nan_mode mode = q.on_nan.mode;
  if ((mode != nan_mode::finite && found.has_nan) || (mode == nan_mode::poison && found.has_inf)) {
    return E8M0{E8M0::desc.nan_code()};
  }
  return mode == nan_mode::gfloat_inf && found.has_inf ? E8M0{254} : q.scale(found.amax, format);
}

/// The code of one number under a scale, 0 under a NaN scale; index as in element_order.
template <class... Policies>
MXREF_HD constexpr std::uint8_t encode_scaled(number x, const number& scale, format_desc format,
                                              const quantizer<Policies...>& q,
                                              std::uint64_t index) noexcept {
  if (scale.is_nan()) return 0;
  x.exp -= scale.exp;
  return static_cast<std::uint8_t>(to_code(format, x, rounding_at(q.rounding, index), q.overflow));
}

/// Quantizes one block of count numbers, x[0], x[stride], ...
///
/// Units:   in: real values; scale: code of 2^s; codes[i * code_stride]: element code, one per
/// byte. Rounds:  each element once, x * 2^-s to the element format. Errors:  none; under
/// nan::finite a format without NaN must not be given one (its nan_code()
///          would be stored), which the callers below refuse.
/// Source:  OCP MX 6.3. Left open there and decided by policy: NaN and Inf (P), s outside
///          -127..127 (clamped), zero block (scale code 0, signs kept), -2 in MXINT8 (O).
/// Checked: tests/spec/mx_6_3_spec.cpp, tests/sweep/golden_block_test.cpp
template <native_float T, class... Policies>
MXREF_HD constexpr void quantize_block(const T* x, index_t stride, int count, format_desc format,
                                       const quantizer<Policies...>& q, E8M0& scale,
                                       std::uint8_t* codes, index_t code_stride = 1,
                                       element_order order = {}) noexcept {
  scale = choose_scale(find_amax(x, stride, count), format, q);
  const number s = scale.to_number();
  for (int i = 0; i < count; ++i) {
    codes[i * code_stride] = encode_scaled(to_number(x[i * stride]), s, format, q, order(i));
  }
}

/// Quantizes the first `count` of a block's numbers; the codes behind a tail are 0.
template <class Block, native_float T, scale_policy S = scale::floor,
          rounding_policy R = rounding::nearest_even, overflow_policy O = overflow::saturate,
          nan_policy P = nan::poison>
requires(P::mode != nan_mode::finite || Block::element_type::desc.has_nan()) MXREF_HD
    constexpr Block
    quantize(const T* x, int count, S s = {}, R r = {}, O o = {}, P p = {}) noexcept {
  Block result;
  E8M0 code;
  std::uint8_t codes[Block::size]{};
  quantize_block(x, 1, count, detail::desc_of<typename Block::element_type>::get(),
                 quantizer<S, R, O, P>{s, r, o, p}, code, codes);
  result.set_scale(code);
  for (int i = 0; i < count; ++i) {
    result.set_element(i, typename Block::element_type{codes[i]});
  }
  return result;
}

/// Quantizes a whole block: quantize<mx_block<E4M3, 32>>(x32, scale::floor{}).
template <class Block, native_float T, scale_policy S = scale::floor,
          rounding_policy R = rounding::nearest_even, overflow_policy O = overflow::saturate,
          nan_policy P = nan::poison>
MXREF_HD constexpr Block quantize(const T* x, S s = {}, R r = {}, O o = {}, P p = {}) noexcept {
  return quantize<Block>(x, Block::size, s, r, o, p);
}

namespace detail {

/// The positions of numbers in their source, seen from the rows that blocks run along.
struct source_order {
  std::uint64_t first = 0;
  std::uint64_t row_step = 0;
  std::uint64_t step = 1;

  /// From element k of a row on.
  constexpr element_order at(index_t row, index_t k) const noexcept {
    return {
        first + static_cast<std::uint64_t>(row) * row_step + static_cast<std::uint64_t>(k) * step,
        step};
  }
};

/// C order of a whole matrix.
template <class T>
constexpr source_order c_order(const matrix_view<T>& in, int axis) noexcept {
  const auto cols = static_cast<std::uint64_t>(in.cols);
  return axis == 0 ? source_order{0, 1, cols} : source_order{0, cols, 1};
}

/// quantize along rows, of numbers whose positions are given.
template <class T, class... Policies>
void quantize_rows(matrix_view<T> in, const quantized_view& out, const quantizer<Policies...>& q,
                   const source_order& order) noexcept {
  for (index_t row = 0; row < in.rows; ++row) {
    for (index_t k = 0; k < in.cols; k += out.block) {
      const auto count = static_cast<int>(in.cols - k < out.block ? in.cols - k : out.block);
      E8M0 scale;
      quantize_block(&in(row, k), in.col_stride, count, out.format, q, scale,
                     out.codes + row * out.code_row_bytes + k * out.code_col_bytes,
                     out.code_col_bytes, order.at(row, k));
      out.scales[row * out.scale_row_bytes + k / out.block] = scale.code;
    }
  }
}

/// fake_quantize along rows, of numbers whose positions are given.
template <class T, class... Policies>
void fake_quantize_rows(matrix_view<T> in, matrix_view<float> out, format_desc format, int block,
                        const quantizer<Policies...>& q, const source_order& order) noexcept {
  for (index_t row = 0; row < in.rows; ++row) {
    for (index_t k = 0; k < in.cols; k += block) {
      const auto count = static_cast<int>(in.cols - k < block ? in.cols - k : block);
      const number scale =
          choose_scale(find_amax(&in(row, k), in.col_stride, count), format, q).to_number();
      const element_order positions = order.at(row, k);
      for (int i = 0; i < count; ++i) {
        const std::uint8_t code =
            encode_scaled(to_number(in(row, k + i)), scale, format, q, positions(i));
        out(row, k + i) = from_number<float>(scaled(to_number(format, code), scale));
      }
    }
  }
}

/// Everything that quantize refuses.
template <class T, class... Policies>
status check_quantize(const matrix_view<T>& in, format_desc format, int block,
                      const quantizer<Policies...>& q, quantize_options options) noexcept {
  if (options.axis != 0 && options.axis != -1 && options.axis != 1) return {errc::shape_mismatch};
  if (block < 1 || in.rows < 0 || in.cols < 0) return {errc::shape_mismatch};
  if (format.total_bits() > 8 || !is_valid(format)) return {errc::unsupported_format};
  const index_t depth = options.axis == 0 ? in.rows : in.cols;
  if (options.strict && depth % block != 0) return {errc::partial_block};
  if (q.on_nan.mode == nan_mode::finite && !format.has_nan()) {
    for (index_t row = 0; row < in.rows; ++row) {
      for (index_t col = 0; col < in.cols; ++col) {
        if (to_number(in(row, col)).is_nan()) return {errc::unrepresentable_nan};
      }
    }
  }
  return {};
}

}  // namespace detail

/// Quantizes a matrix to K-major codes and scales.
///
/// Shape:   axis -1: in (R, C), out rows R, depth C. axis 0: in (R, C), out rows C, depth R.
///          out.codes: depth bytes per row; out.scales: ceil(depth / block) bytes per row.
/// Errors:  shape_mismatch (block < 1, axis not in -1, 0, 1), unsupported_format (elements over 8
///          bits), partial_block in strict mode, unrepresentable_nan. Nothing is written then.
///          Allocates nothing.
/// Source:  OCP MX 6.3. A tail's missing elements are absent: they do not enter amax.
template <class T, class... Policies>
status quantize(matrix_view<T> in, const quantized_view& out, const quantizer<Policies...>& q = {},
                quantize_options options = {}) noexcept {
  if (const status s = detail::check_quantize(in, out.format, out.block, q, options); !s) return s;
  const detail::source_order order = detail::c_order(in, options.axis);
  detail::quantize_rows(options.axis == 0 ? transposed(in) : in, out, q, order);
  return {};
}

/// The numbers that the codes and scales of quantize stand for: dequantize(quantize(in)) without
/// storing either, the step of training with simulated MX.
///
/// Shape:   out as in, for both axes; out may be in.
/// Rounds:  as quantize, then element times scale to binary32.
/// Errors:  those of quantize, and shape_mismatch when out is not as large as in.
/// Checked: tests/sweep/fake_quantize_test.cpp
template <class T, class... Policies>
status fake_quantize(matrix_view<T> in, matrix_view<float> out, format_desc format, int block,
                     const quantizer<Policies...>& q = {}, quantize_options options = {}) noexcept {
  if (out.rows != in.rows || out.cols != in.cols) return {errc::shape_mismatch};
  if (const status s = detail::check_quantize(in, format, block, q, options); !s) return s;
  const detail::source_order order = detail::c_order(in, options.axis);
  const bool down = options.axis == 0;
  detail::fake_quantize_rows(down ? transposed(in) : in, down ? transposed(out) : out, format,
                             block, q, order);
  return {};
}

/// Quantizes a matrix to an owning operand:
/// mx_matrix<E4M3, 32> A = quantize<mx_block<E4M3, 32>>(view(a, M, K)). Tails are kept.
template <class Block, class T, scale_policy S = scale::floor,
          rounding_policy R = rounding::nearest_even, overflow_policy O = overflow::saturate,
          nan_policy P = nan::poison>
requires(P::mode != nan_mode::finite || Block::element_type::desc.has_nan())
    mx_matrix<typename Block::element_type, Block::size> quantize(matrix_view<T> in, S s = {},
                                                                  R r = {}, O o = {}, P p = {}) {
  using matrix = mx_matrix<typename Block::element_type, Block::size>;
  matrix result(in.rows, in.cols);
  const quantized_view out{
      Block::element_type::desc, Block::size,         result.codes(), result.depth(),
      result.scales(),           result.block_count()};
  static_cast<void>(quantize(in, out, quantizer<S, R, O, P>{s, r, o, p}));
  return result;
}

/// The number that position (row, k) of an operand stands for, exactly.
inline number operand_number(const operand_view& m, index_t row, index_t k) noexcept {
  const number e = to_number(m.format, m.code(row, k));
  return m.scaled() ? scaled(e, to_number(m.scale_format, m.scale_code(row, k / m.block))) : e;
}

/// Decodes an operand to native floats (exact in double; float: nearest even, overflow to Inf).
///
/// Shape:   axis -1: out (rows, depth). axis 0: out (depth, rows), undoing quantize along axis 0.
/// Errors:  shape_mismatch.
template <native_float T>
status dequantize(const operand_view& in, matrix_view<T> out, int axis = -1) noexcept {
  if (axis == 0) {
    out = transposed(out);
  } else if (axis != -1 && axis != 1) {
    return {errc::shape_mismatch};
  }
  if (out.rows != in.rows || out.cols != in.depth) return {errc::shape_mismatch};
  for (index_t row = 0; row < in.rows; ++row) {
    for (index_t k = 0; k < in.depth; ++k) out(row, k) = from_number<T>(operand_number(in, row, k));
  }
  return {};
}

MXREF_END_NAMESPACE

#endif  // MXREF_QUANTIZE_HPP_
