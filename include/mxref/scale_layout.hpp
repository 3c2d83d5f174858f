// SPDX-License-Identifier: Apache-2.0
// Level 3. Where the block scales of a matrix lie: a layout is data, scale_layout, with one
// formula.
#ifndef MXREF_SCALE_LAYOUT_HPP_
#define MXREF_SCALE_LAYOUT_HPP_

#include <cstdint>

#include "mxref/config.hpp"
#include "mxref/format.hpp"
#include "mxref/formats.hpp"
#include "mxref/view.hpp"

MXREF_BEGIN_NAMESPACE

/// A scale by its matrix position: the row of the operand and the index of the block in it.
struct scale_position {
  index_t row = -1;
  index_t col = -1;

  MXREF_HD constexpr bool is_padding() const noexcept { return row < 0; }
  friend constexpr bool operator==(scale_position, scale_position) noexcept = default;
};

/// Which coordinate of a scale.
enum class scale_axis : std::uint8_t { row, col };

/// A part of a coordinate: axis / divisor % size.
struct scale_digit {
  scale_axis axis = scale_axis::col;
  int divisor = 1;
  int size = 1;

  friend constexpr bool operator==(scale_digit, scale_digit) noexcept = default;
};

/// Where the scale of row `row` and block `col` of a matrix of rows x cols scales lies, in bytes.
/// Both extents are rounded up to multiples; tiles of tile_rows x tile_cols follow each other along
/// `next_tile`; inside a tile the offset is a number in mixed radix, whose digits are listed from
/// the fastest (offsets 0, 1, ...) to the slowest:
///
///   offset = tile * tile_rows * tile_cols + digit[0] + size[0] * (digit[1] + size[1] * (...))
///
/// Bytes that are no scale are padding. Every matrix of a batch is padded alone.
/// Checked: tests/sweep/scale_layout_test.cpp.
struct scale_layout {
  int row_multiple = 1;
  int col_multiple = 1;
  int tile_rows = 1;
  int tile_cols = 1;
  scale_digit digits[4]{{}, {}, {}, {}};
  scale_axis next_tile = scale_axis::col;
  int size_multiple = 1;  ///< of the bytes of a matrix

  MXREF_HD constexpr index_t padded_rows(index_t rows) const noexcept {
    return round_up(rows, row_multiple);
  }
  MXREF_HD constexpr index_t padded_cols(index_t cols) const noexcept {
    return round_up(cols, col_multiple);
  }

  /// Bytes of the scales of a matrix, padding included.
  MXREF_HD constexpr index_t size(index_t rows, index_t cols) const noexcept {
    return round_up(padded_rows(rows) * padded_cols(cols), size_multiple);
  }

  /// The byte of a scale, 0 <= row < padded_rows(rows), 0 <= col < padded_cols(cols).
  MXREF_HD constexpr index_t offset(index_t rows, index_t cols, index_t row,
                                    index_t col) const noexcept {
    const index_t tile_row = row / tile_rows;
    const index_t tile_col = col / tile_cols;
    const index_t tile = next_tile == scale_axis::col
                             ? tile_row * (padded_cols(cols) / tile_cols) + tile_col
                             : tile_col * (padded_rows(rows) / tile_rows) + tile_row;
    index_t at = tile * tile_rows * tile_cols;
    index_t stride = 1;
    for (const scale_digit& d : digits) {
      at += (d.axis == scale_axis::row ? row : col) / d.divisor % d.size * stride;
      stride *= d.size;
    }
    return at;
  }

  /// The inverse: the scale in the byte at `offset`, or padding.
  MXREF_HD constexpr scale_position position(index_t rows, index_t cols,
                                             index_t offset) const noexcept {
    const index_t tile = offset / (tile_rows * tile_cols);
    const index_t tiles =  // along next_tile
        next_tile == scale_axis::col ? padded_cols(cols) / tile_cols
                                     : padded_rows(rows) / tile_rows;
    if (tiles == 0) return {};
    const bool along_cols = next_tile == scale_axis::col;
    scale_position p{(along_cols ? tile / tiles : tile % tiles) * tile_rows,
                     (along_cols ? tile % tiles : tile / tiles) * tile_cols};
    index_t rest = offset % (tile_rows * tile_cols);
    for (const scale_digit& d : digits) {
      (d.axis == scale_axis::row ? p.row : p.col) += rest % d.size * d.divisor;
      rest /= d.size;
    }
    return p.row < rows && p.col < cols ? p : scale_position{};
  }

  friend constexpr bool operator==(const scale_layout&, const scale_layout&) noexcept = default;

 private:
  MXREF_HD static constexpr index_t round_up(index_t x, index_t multiple) noexcept {
    return (x + multiple - 1) / multiple * multiple;
  }
};

enum class scale_layout_mode : std::uint8_t {
  linear,
  swizzled_128x4,
  swizzled_8x4,
  word4,
  section_separated,
  amd_preshuffled
};

namespace detail {
/// Layouts move bytes: a scale is one.
MXREF_HD constexpr bool is_byte_scale(format_desc f) noexcept {
  return is_valid_scale(f) && f.total_bits() <= 8;
}
}  // namespace detail

namespace layout {

/// Row-major, no padding. Used by: torchao and TransformerEngine before the swizzle, mx_matrix.
struct linear {
  static constexpr scale_layout_mode mode = scale_layout_mode::linear;
  MXREF_HD static constexpr bool takes(format_desc f) noexcept { return detail::is_byte_scale(f); }
  MXREF_HD static constexpr scale_layout scales() noexcept { return {}; }
};

/// Tiles of 128 rows x 4 blocks, 512 bytes, in 32 lines of 16 bytes: line r mod 32, in it the rows
/// r, r + 32, r + 64, r + 96 with four blocks each. Used by: cuBLAS, cuDNN and CUTLASS on
/// Blackwell, torchao, TransformerEngine (MXFP8, MXFP4, NVFP4). Source: cuBLAS, layout of block
/// scaling factors. Verified: torchao's to_blocked, tests/sweep/golden_layout_test.cpp.
struct swizzled_128x4 {
  static constexpr scale_layout_mode mode = scale_layout_mode::swizzled_128x4;
  MXREF_HD static constexpr bool takes(format_desc f) noexcept { return detail::is_byte_scale(f); }
  MXREF_HD static constexpr scale_layout scales() noexcept {
    return {128,
            4,
            128,
            4,
            {{scale_axis::col, 1, 4}, {scale_axis::row, 32, 4}, {scale_axis::row, 1, 32}}};
  }
};

/// Tiles of 8 rows x 4 blocks, row-major, for products with few rows. Used by: TensorRT-LLM (R8c4)
/// and FlashInfer, NVFP4 and MXFP8. Evidence: read in the offset function of their quantization
/// kernels, and in two reimplementations that agree; unverified, nothing was run.
struct swizzled_8x4 {
  static constexpr scale_layout_mode mode = scale_layout_mode::swizzled_8x4;
  MXREF_HD static constexpr bool takes(format_desc f) noexcept { return detail::is_byte_scale(f); }
  MXREF_HD static constexpr scale_layout scales() noexcept {
    return {8, 4, 8, 4, {{scale_axis::col, 1, 4}, {scale_axis::row, 1, 8}}};
  }
};

/// Four E8M0 scales of a row in a 32-bit word, the first in the lowest byte; the words of all rows
/// for blocks 0..3 come first, then those for blocks 4..7 (row-contiguous, "MN-major"). Rows are
/// padded to 4, so that a column of words is a multiple of 16 bytes. Used by: DeepGEMM on
/// Blackwell, SGLang, vLLM. Evidence: read in DeepGEMM's reference packing; unverified, nothing
/// was run. Packing from binary32 is encode_scales (layout.hpp), which refuses what DeepGEMM
/// truncates.
struct word4 {
  static constexpr scale_layout_mode mode = scale_layout_mode::word4;
  MXREF_HD static constexpr bool takes(format_desc f) noexcept { return f == E8M0::desc; }
  MXREF_HD static constexpr scale_layout scales() noexcept {
    return {4, 4, 1, 4, {{scale_axis::col, 1, 4}}, scale_axis::row};
  }
};

/// Row-major, and the whole padded to 16 bytes: the first of two aligned sections, of which the
/// second holds the codes (see sections). Used by: Tenstorrent's MX tiles. Evidence: read in the
/// review of tt-metal 42106; unverified, nothing was run.
struct section_separated {
  static constexpr scale_layout_mode mode = scale_layout_mode::section_separated;
  MXREF_HD static constexpr bool takes(format_desc f) noexcept { return detail::is_byte_scale(f); }
  MXREF_HD static constexpr scale_layout scales() noexcept {
    scale_layout l;
    l.size_multiple = 16;
    return l;
  }
};

/// Tiles of 32 rows x 8 blocks, 256 bytes: four bytes hold rows r, r + 16 of blocks c, c + 4. Rows
/// are padded to 256, blocks to 8. Used by: AMD CDNA4 (gfx950): aiter's e8m0_shuffle; Triton's
/// GFX950 scale layout is the same order without padding. Evidence: both read, they agree;
/// unverified, nothing was run.
struct amd_preshuffled {
  static constexpr scale_layout_mode mode = scale_layout_mode::amd_preshuffled;
  MXREF_HD static constexpr bool takes(format_desc f) noexcept { return f == E8M0::desc; }
  MXREF_HD static constexpr scale_layout scales() noexcept {
    return {256,
            8,
            32,
            8,
            {{scale_axis::row, 16, 2},
             {scale_axis::col, 4, 2},
             {scale_axis::row, 1, 16},
             {scale_axis::col, 1, 4}}};
  }
};

/// The scale layout chosen at run time.
struct dynamic_scales {
  scale_layout_mode mode = scale_layout_mode::linear;

  MXREF_HD constexpr bool takes(format_desc f) const noexcept {
    const bool is_e8m0_only =
        mode == scale_layout_mode::word4 || mode == scale_layout_mode::amd_preshuffled;
    return is_e8m0_only ? f == E8M0::desc : detail::is_byte_scale(f);
  }

  MXREF_HD constexpr scale_layout scales() const noexcept {
    switch (mode) {
      case scale_layout_mode::linear:
        break;
      case scale_layout_mode::swizzled_128x4:
        return swizzled_128x4::scales();
      case scale_layout_mode::swizzled_8x4:
        return swizzled_8x4::scales();
      case scale_layout_mode::word4:
        return word4::scales();
      case scale_layout_mode::section_separated:
        return section_separated::scales();
      case scale_layout_mode::amd_preshuffled:
        return amd_preshuffled::scales();
    }
    return linear::scales();
  }
};

/// Scales and codes of a matrix in one buffer, each in a section that starts and ends on a multiple
/// of `alignment` bytes: scales first.
struct sections {
  index_t scale_bytes = 0;  ///< without padding
  index_t code_bytes = 0;
  index_t alignment = 16;

  MXREF_HD constexpr index_t scales_at() const noexcept { return 0; }
  MXREF_HD constexpr index_t codes_at() const noexcept { return aligned(scale_bytes); }
  MXREF_HD constexpr index_t size() const noexcept { return codes_at() + aligned(code_bytes); }

 private:
  MXREF_HD constexpr index_t aligned(index_t bytes) const noexcept {
    return (bytes + alignment - 1) / alignment * alignment;
  }
};

}  // namespace layout

MXREF_END_NAMESPACE

#endif  // MXREF_SCALE_LAYOUT_HPP_
