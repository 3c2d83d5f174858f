// SPDX-License-Identifier: Apache-2.0
// Layouts as SVG drawings.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "mxref/mxref.hpp"

namespace mxtool {

/// What is drawn at most: bytes of a row of codes, bytes of the scales of a matrix.
inline constexpr mxref::index_t drawn_row_bytes = 512;
inline constexpr mxref::index_t drawn_scale_bytes = 8192;

/// What is written above a drawing.
struct drawing_text {
  std::string title;
  std::string about;  // the layout
  std::string sizes;  // of what is drawn
};

/// A row of `depth` codes as bytes in memory, bit by bit.
std::string draw_codes(const mxref::code_layout& layout, const drawing_text& text,
                       mxref::index_t depth);

/// The scales of one matrix of rows x cols blocks: the matrix beside the bytes in memory.
std::string draw_scales(const mxref::scale_layout& layout, const drawing_text& text,
                        mxref::index_t rows, mxref::index_t cols);

/// The bits of a code as parts of bytes.
struct bit_part {
  mxref::index_t byte;
  int high;  // bits of the byte, 7 is the most significant
  int low;
};
std::vector<bit_part> parts_of(const mxref::code_layout& layout, mxref::index_t k);

}  // namespace mxtool
