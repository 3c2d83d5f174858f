// SPDX-License-Identifier: Apache-2.0
// Level 3. Codes and scales from one layout to another.
#ifndef MXREF_LAYOUT_HPP_
#define MXREF_LAYOUT_HPP_

#include <concepts>
#include <cstddef>
#include <cstdint>

#include "mxref/bits.hpp"
#include "mxref/code_layout.hpp"
#include "mxref/config.hpp"
#include "mxref/element.hpp"
#include "mxref/format.hpp"
#include "mxref/formats.hpp"
#include "mxref/scale_layout.hpp"
#include "mxref/status.hpp"
#include "mxref/view.hpp"

MXREF_BEGIN_NAMESPACE

template <class L>
concept code_packing = requires(const L l) {
  { l.takes(4) } -> std::same_as<bool>;
  { l.codes(4) } -> std::same_as<code_layout>;
};

template <class L>
concept scale_arrangement = requires(const L l) {
  { l.takes(E8M0::desc) } -> std::same_as<bool>;
  { l.scales() } -> std::same_as<scale_layout>;
};

/// The layout of elements of type E in a packing; a packing that does not take them does not
/// compile.
template <element_format E, code_packing L>
MXREF_HD constexpr code_layout layout_of(L) noexcept {
  static_assert(L::takes(E::desc.total_bits()), "this packing does not take codes of this width");
  return L::codes(E::desc.total_bits());
}

/// The layout of scales of type S; a layout that does not take them does not compile.
template <element_format S, scale_arrangement L>
MXREF_HD constexpr scale_layout layout_of(L) noexcept {
  static_assert(L::takes(S::desc), "this scale layout does not take scales of this format");
  return L::scales();
}

/// What padding is filled with. A reader that is right never sees the difference.
enum class padding : std::uint8_t { zero = 0x00, poison = 0xFF };

namespace detail {

constexpr void fill(std::uint8_t* bytes, index_t count, padding with) noexcept {
  for (index_t i = 0; i < count; ++i) bytes[i] = static_cast<std::uint8_t>(with);
}

}  // namespace detail

/// Moves rows of `depth` codes from one layout to another. `in` and `out` are rows of bytes,
/// from.row_bytes(depth) and to.row_bytes(depth) long, and do not overlap; every other bit of `out`
/// is `fill`. One side with layout::bytes packs or unpacks. Rows are independent: a matrix may be
/// moved in parts.
/// Errors: layout_mismatch (the widths differ), buffer_mismatch. Checked:
/// tests/sweep/layout_test.cpp.
constexpr status repack(matrix_view<const std::uint8_t> in, const code_layout& from,
                        matrix_view<std::uint8_t> out, const code_layout& to, index_t depth,
                        padding fill = padding::zero) noexcept {
  if (from.bits != to.bits) return {errc::layout_mismatch};
  if (depth < 0 || in.rows != out.rows) return {errc::buffer_mismatch};
  const auto k_end = static_cast<std::size_t>(depth);
  const auto in_bytes = static_cast<index_t>(from.row_bytes(k_end));
  const auto out_bytes = static_cast<index_t>(to.row_bytes(k_end));
  if (in.cols != in_bytes || in.col_stride != 1 || out.cols != out_bytes || out.col_stride != 1) {
    return {errc::buffer_mismatch};
  }
  for (index_t row = 0; row < in.rows; ++row) {
    const std::uint8_t* const source = in.data + row * in.row_stride;
    std::uint8_t* const target = out.data + row * out.row_stride;
    detail::fill(target, out_bytes, fill);
    for (std::size_t k = 0; k < k_end; ++k) to.set(target, k, from.get(source, k));
  }
  return {};
}

/// Puts scales in row-major order, `matrices` of them below one another in `scales`, into a layout.
/// `out` has matrices * to.size(rows of one, cols) bytes, does not overlap the scales, and gets
/// `fill` where it holds no scale.
/// Errors: buffer_mismatch. Checked: tests/sweep/layout_test.cpp, golden_layout_test.cpp.
constexpr status swizzle(matrix_view<const std::uint8_t> scales, const scale_layout& to,
                         std::uint8_t* out, index_t bytes, padding fill = padding::zero,
                         index_t matrices = 1) noexcept {
  if (matrices < 1 || scales.rows % matrices != 0) return {errc::buffer_mismatch};
  const index_t rows = scales.rows / matrices;
  const index_t size = to.size(rows, scales.cols);
  if (bytes != matrices * size) return {errc::buffer_mismatch};
  detail::fill(out, bytes, fill);
  for (index_t row = 0; row < scales.rows; ++row) {
    std::uint8_t* const matrix = out + row / rows * size;
    for (index_t col = 0; col < scales.cols; ++col) {
      matrix[to.offset(rows, scales.cols, row % rows, col)] = scales(row, col);
    }
  }
  return {};
}

/// The inverse: scales of a layout in row-major order. Padding is not looked at.
/// Errors: buffer_mismatch. Checked: as swizzle.
constexpr status unswizzle(const std::uint8_t* in, index_t bytes, const scale_layout& from,
                           matrix_view<std::uint8_t> scales, index_t matrices = 1) noexcept {
  if (matrices < 1 || scales.rows % matrices != 0) return {errc::buffer_mismatch};
  const index_t rows = scales.rows / matrices;
  const index_t size = from.size(rows, scales.cols);
  if (bytes != matrices * size) return {errc::buffer_mismatch};
  for (index_t row = 0; row < scales.rows; ++row) {
    const std::uint8_t* const matrix = in + row / rows * size;
    for (index_t col = 0; col < scales.cols; ++col) {
      scales(row, col) = matrix[from.offset(rows, scales.cols, row % rows, col)];
    }
  }
  return {};
}

/// The E8M0 code of a binary32 number that is one: a power of two from 2^-127 to 2^127, or a NaN
/// (0xFF). Errors: not_a_power_of_two, for zero, negative numbers, Inf and everything between
/// powers of two: a kernel that shifts the exponent field out would change those without a word.
/// Checked: tests/sweep/layout_test.cpp, every code and its neighbours.
constexpr status encode_scale(float scale, E8M0& code) noexcept {
  const auto bits = bit_cast<std::uint32_t>(scale);
  const std::uint32_t field = bits >> 23 & 0xFF;
  const auto fraction = static_cast<std::uint32_t>(bits & low_mask(23));
  if (field == 0xFF && fraction != 0) {
    code = E8M0{0xFF};
  } else if (bits == 0x0040'0000) {  // 2^-127, a subnormal
    code = E8M0{0};
  } else if (bits >> 31 == 0 && field >= 1 && field <= 254 && fraction == 0) {
    code = E8M0{static_cast<std::uint8_t>(field)};
  } else {
    return {errc::not_a_power_of_two};
  }
  return {};
}

/// The E8M0 codes of a matrix of binary32 scales, checked as encode_scale does; swizzle to
/// layout::word4 makes them words. Errors: not_a_power_of_two, buffer_mismatch; nothing is written.
/// Checked: tests/sweep/layout_test.cpp.
constexpr status encode_scales(matrix_view<const float> scales,
                               matrix_view<std::uint8_t> codes) noexcept {
  if (scales.rows != codes.rows || scales.cols != codes.cols) return {errc::buffer_mismatch};
  E8M0 code{};
  for (index_t row = 0; row < scales.rows; ++row) {
    for (index_t col = 0; col < scales.cols; ++col) {
      if (const status s = encode_scale(scales(row, col), code); !s) return s;
    }
  }
  for (index_t row = 0; row < scales.rows; ++row) {
    for (index_t col = 0; col < scales.cols; ++col) {
      if (const status s = encode_scale(scales(row, col), code); !s) return s;
      codes(row, col) = code.code;
    }
  }
  return {};
}

MXREF_END_NAMESPACE

#endif  // MXREF_LAYOUT_HPP_
