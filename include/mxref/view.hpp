// SPDX-License-Identifier: Apache-2.0
// Level 3. Non-owning matrices: plain values, and operands (codes with optional block scales).
#ifndef MXREF_VIEW_HPP_
#define MXREF_VIEW_HPP_

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "mxref/config.hpp"
#include "mxref/element.hpp"
#include "mxref/format.hpp"
#include "mxref/formats.hpp"
#include "mxref/packing.hpp"

MXREF_BEGIN_NAMESPACE

/// Sizes and positions. Signed, so that differences and loops need no care.
using index_t = std::ptrdiff_t;

/// A rows x cols matrix of T with strides counted in T.
template <class T>
struct matrix_view {
  T* data = nullptr;
  index_t rows = 0;
  index_t cols = 0;
  index_t row_stride = 0;
  index_t col_stride = 1;

  MXREF_HD constexpr T& operator()(index_t row, index_t col) const noexcept {
    return data[row * row_stride + col * col_stride];
  }
  constexpr operator matrix_view<const T>() const noexcept {
    return {data, rows, cols, row_stride, col_stride};
  }
};

/// A row-major matrix at data.
template <class T>
constexpr matrix_view<T> view(T* data, index_t rows, index_t cols) noexcept {
  return {data, rows, cols, cols, 1};
}
/// The same with a distance between rows of its own.
template <class T>
constexpr matrix_view<T> view(T* data, index_t rows, index_t cols, index_t row_stride) noexcept {
  return {data, rows, cols, row_stride, 1};
}
/// The transposed matrix, without moving anything.
template <class T>
constexpr matrix_view<T> transposed(matrix_view<T> m) noexcept {
  return {m.data, m.cols, m.rows, m.col_stride, m.row_stride};
}

/// How the codes of a row lie in memory.
enum class code_storage : std::uint8_t {
  containers,  ///< each code in an unsigned integer of 1, 2 or 4 bytes (the code_type of its
               ///< format)
  dense        ///< packed bits, see packing.hpp; every row starts on a byte
};

/// Bytes of the container of a code.
MXREF_HD constexpr index_t container_bytes(format_desc f) noexcept {
  return f.total_bits() <= 8 ? 1 : f.total_bits() <= 16 ? 2 : 4;
}

/// Writes a code to a container of 1, 2 or 4 bytes.
inline void store_code(void* container, index_t bytes, std::uint32_t code) noexcept {
  if (bytes == 1) {
    *static_cast<std::uint8_t*>(container) = static_cast<std::uint8_t>(code);
  } else if (bytes == 2) {
    const auto narrow = static_cast<std::uint16_t>(code);
    std::memcpy(container, &narrow, sizeof narrow);
  } else {
    std::memcpy(container, &code, sizeof code);
  }
}

/// Reads a code from a container of 1, 2 or 4 bytes.
inline std::uint32_t load_code(const std::uint8_t* container, index_t bytes) noexcept {
  if (bytes == 1) return *container;
  if (bytes == 2) {
    std::uint16_t narrow;
    std::memcpy(&narrow, container, sizeof narrow);
    return narrow;
  }
  std::uint32_t code;
  std::memcpy(&code, container, sizeof code);
  return code;
}

/// A K-major operand of a matrix product: rows x depth codes, with one scale for each `block`
/// consecutive codes of `block_rows` rows (the last blocks may be smaller), or block = 0: unscaled.
/// The formats are values here, so that one GEMM serves every pair of them.
struct operand_view {
  format_desc format{};
  const void* codes = nullptr;
  index_t rows = 0;
  index_t depth = 0;
  index_t row_bytes = 0;  ///< distance between rows of codes
  index_t col_bytes = 1;  ///< distance between codes of a row (code_storage::containers)
  code_storage storage = code_storage::containers;

  int block = 0;
  format_desc scale_format{};
  const std::uint8_t* scales = nullptr;  ///< in containers of the scale format
  index_t scale_row_bytes = 0;           ///< distance between rows of scales
  int block_rows = 1;                    ///< rows that share their scales: 1, or a tile's

  constexpr bool scaled() const noexcept { return block != 0; }
  constexpr index_t block_count() const noexcept {
    return block == 0 ? 0 : (depth + block - 1) / block;
  }

  std::uint32_t code(index_t row, index_t k) const noexcept {
    const auto* bytes = static_cast<const std::uint8_t*>(codes) + row * row_bytes;
    if (storage == code_storage::dense) {
      return get_packed(bytes, format.total_bits(), static_cast<std::size_t>(k));
    }
    return load_code(bytes + k * col_bytes, container_bytes(format));
  }
  /// Scale b of a row.
  const std::uint8_t* scale_at(index_t row, index_t b) const noexcept {
    return scales + row / block_rows * scale_row_bytes + b * container_bytes(scale_format);
  }
  std::uint32_t scale_code(index_t row, index_t b) const noexcept {
    return load_code(scale_at(row, b), container_bytes(scale_format));
  }
};

/// An unscaled operand: a matrix of elements (bfloat16, binary16, E4M3, ...), one row per row of K.
template <format_desc D>
constexpr operand_view unscaled(matrix_view<const element<D>> m) noexcept {
  operand_view v;
  v.format = D;
  v.codes = m.data;
  v.rows = m.rows;
  v.depth = m.cols;
  v.row_bytes = m.row_stride * static_cast<index_t>(sizeof(element<D>));
  v.col_bytes = m.col_stride * static_cast<index_t>(sizeof(element<D>));
  return v;
}

MXREF_END_NAMESPACE

#endif  // MXREF_VIEW_HPP_
