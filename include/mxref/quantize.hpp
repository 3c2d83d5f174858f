// SPDX-License-Identifier: Apache-2.0
// Level 3. Matrices of real numbers to blocks and back (OCP MX 6.3).
#ifndef MXREF_QUANTIZE_HPP_
#define MXREF_QUANTIZE_HPP_

#include <concepts>
#include <cstddef>
#include <cstdint>

#include "mxref/block.hpp"
#include "mxref/config.hpp"
#include "mxref/convention.hpp"
#include "mxref/convert.hpp"
#include "mxref/matrix.hpp"
#include "mxref/overflow.hpp"
#include "mxref/quantize_block.hpp"
#include "mxref/rounding.hpp"
#include "mxref/scale.hpp"
#include "mxref/scale_log2.hpp"
#include "mxref/status.hpp"
#include "mxref/view.hpp"

MXREF_BEGIN_NAMESPACE

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

/// Which axis of a matrix the blocks run along, and what happens to a last, short block.
struct quantize_options {
  int axis = -1;  ///< -1 or 1: along rows; 0: down columns, the result is a K-major (C, R) operand
  bool strict = false;  ///< refuse a length that is not a multiple of the block
  /// Where the numbers stand in a larger source of which they are a part; null: they are all of it,
  /// in C order. Only rounding that depends on positions (rounding::philox) looks at it.
  const source_order* order = nullptr;
};

/// Where a matrix goes: codes of a K-major operand, one per byte, and scale codes in containers of
/// the scale format. With axis 0, code_row_bytes = 1 and code_col_bytes = C leave the codes in the
/// order of the source (R, C).
struct quantized_view {
  format_desc format{};
  int block = 32;
  std::uint8_t* codes = nullptr;
  index_t code_row_bytes = 0;
  std::uint8_t* scales = nullptr;
  index_t scale_row_bytes = 0;
  index_t code_col_bytes = 1;             ///< distance between codes of an operand's row
  format_desc scale_format = E8M0::desc;  ///< that of the scale rule
  int block_rows = 1;  ///< rows that share their scales, for tiles of block_rows x block numbers

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
    v.scale_format = scale_format;
    v.scales = scales;
    v.scale_row_bytes = scale_row_bytes;
    v.block_rows = block_rows;
    return v;
  }

  /// Stores scale b of a row.
  void set_scale(index_t row, index_t b, std::uint32_t code) const noexcept {
    const index_t bytes = container_bytes(scale_format);
    store_code(scales + row / block_rows * scale_row_bytes + b * bytes, bytes, code);
  }
};

namespace detail {

constexpr index_t smaller(index_t a, index_t b) noexcept { return a < b ? a : b; }

/// The positions of a matrix of numbers: C order, unless the options say otherwise.
template <class T>
constexpr source_order order_of(const matrix_view<T>& in, const quantize_options& o) noexcept {
  if (o.order != nullptr) return *o.order;
  const int axis = o.axis;
  const auto cols = static_cast<std::uint64_t>(in.cols);
  return axis == 0 ? source_order{0, 1, cols} : source_order{0, cols, 1};
}

/// Rows of blocks whose scales are found: calls done(row, k, count, block_scale) for each.
template <class T, class Q, class Done>
void for_blocks(const matrix_view<T>& in, format_desc format, int block, int block_rows, const Q& q,
                const Done& done) noexcept {
  for (index_t row = 0; row < in.rows; row += block_rows) {
    const index_t end = smaller(row + block_rows, in.rows);
    for (index_t k = 0; k < in.cols; k += block) {
      const auto count = static_cast<int>(smaller(in.cols - k, block));
      if (block_rows == 1) {
        done(row, k, count, scale_of_block(&in(row, k), in.col_stride, count, format, q));
        continue;
      }
      block_amax found;
      for (index_t r = row; r < end; ++r) {
        for (int i = 0; i < count; ++i) found.include(in(r, k + i));
      }
      const block_scale scale{choose_scale(found, format, q), is_flushed(found, q.elements)};
      for (index_t r = row; r < end; ++r) done(r, k, count, scale);
    }
  }
}

/// quantize along rows, of numbers whose positions are given.
template <class T, class... Policies>
void quantize_rows(matrix_view<T> in, const quantized_view& out, const quantizer<Policies...>& q,
                   const source_order& order) noexcept {
  for_blocks(in, out.format, out.block, out.block_rows, q,
             [&](index_t row, index_t k, int count, auto block) {
               out.set_scale(row, k / out.block, block.scale.code);
               const element_order positions = order.at(row, k);
               std::uint8_t* codes = out.codes + row * out.code_row_bytes + k * out.code_col_bytes;
               for (int i = 0; i < count; ++i) {
                 codes[i * out.code_col_bytes] =
                     encode_scaled(to_number(in(row, k + i)), block, out.format, q, positions(i));
               }
             });
}

/// fake_quantize along rows, of numbers whose positions are given.
template <class T, class... Policies>
void fake_quantize_rows(matrix_view<T> in, matrix_view<float> out, format_desc format, int block,
                        const quantizer<Policies...>& q, const source_order& order) noexcept {
  for_blocks(in, format, block, 1, q, [&](index_t row, index_t k, int count, auto shared) {
    const number s = shared.scale.to_number();
    const element_order positions = order.at(row, k);
    for (int i = 0; i < count; ++i) {
      const std::uint8_t code =
          encode_scaled(to_number(in(row, k + i)), shared, format, q, positions(i));
      out(row, k + i) = from_number<float>(scaled(to_number(format, code), s));
    }
  });
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

template <class T, class... Policies>
status check_quantize(const matrix_view<T>& in, const quantized_view& out,
                      const quantizer<Policies...>& q, quantize_options options) noexcept {
  using scale_type = typename quantizer<Policies...>::scale_type;
  if (out.block_rows < 1) return {errc::shape_mismatch};
  if (out.scale_format != desc_of<scale_type>::get()) return {errc::unsupported_format};
  if constexpr (requires { q.scale.pick(scale_type{}, number{}, in.data, 1, 1, out.format); }) {
    if (out.block_rows != 1) return {errc::unsupported_format};
  }
  return check_quantize(in, out.format, out.block, q, options);
}

}  // namespace detail

/// Quantizes a matrix to K-major codes and scales.
///
/// Shape:   axis -1: in (R, C), out rows R, depth C. axis 0: in (R, C), out rows C, depth R.
///          out.codes: depth bytes per row; out.scales: ceil(depth / block) codes per row, and one
///          row of them for out.block_rows rows: tiles of block_rows x block numbers.
/// Errors:  shape_mismatch (block or block_rows < 1, axis not in -1, 0, 1), unsupported_format
///          (elements over 8 bits; out.scale_format is not that of the rule; tiles under a rule
///          that must see the numbers), partial_block in strict mode, unrepresentable_nan. Nothing
///          is written then. Allocates nothing.
/// Source:  OCP MX 6.3. A tail's missing elements are absent: they do not enter amax.
template <class T, class... Policies>
status quantize(matrix_view<T> in, const quantized_view& out, const quantizer<Policies...>& q = {},
                quantize_options options = {}) noexcept {
  if (const status s = detail::check_quantize(in, out, q, options); !s) return s;
  const source_order order = detail::order_of(in, options);
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
  const source_order order = detail::order_of(in, options);
  const bool down = options.axis == 0;
  detail::fake_quantize_rows(down ? transposed(in) : in, down ? transposed(out) : out, format,
                             block, q, order);
  return {};
}

/// Quantizes a matrix to an owning operand:
/// mx_matrix<E4M3, 32> A = quantize<mx_block<E4M3, 32>>(view(a, M, K)). Tails are kept.
template <class Block, class T, scale_policy S = scale::floor,
          rounding_policy R = rounding::nearest_even, overflow_policy O = overflow::saturate,
          nan_policy P = nan::poison, convention_policy C = convention::standard>
requires(P::mode != nan_mode::finite || Block::element_type::desc.has_nan())
    mx_matrix<typename Block::element_type, Block::size, scale_type_of<S>> quantize(
        matrix_view<T> in, S s = {}, R r = {}, O o = {}, P p = {}, C c = {}) {
  static_assert(std::same_as<typename Block::scale_type, scale_type_of<S>>,
                "the scale rule gives another scale type than the block has");
  mx_matrix<typename Block::element_type, Block::size, scale_type_of<S>> result(in.rows, in.cols);
  using code_type = typename scale_type_of<S>::code_type;
  quantized_view out{Block::element_type::desc,
                     Block::size,
                     result.codes(),
                     result.depth(),
                     reinterpret_cast<std::uint8_t*>(result.scales()),
                     result.block_count() * static_cast<index_t>(sizeof(code_type))};
  out.scale_format = detail::desc_of<scale_type_of<S>>::get();
  static_cast<void>(quantize(in, out, quantizer<S, R, O, P, C>{s, r, o, p, c}));
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
