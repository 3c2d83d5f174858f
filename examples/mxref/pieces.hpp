// SPDX-License-Identifier: Apache-2.0
// A matrix in pieces that fit in memory, or in the cache of a core.
#pragma once

#include <algorithm>
#include <numeric>

#include "mxref/view.hpp"

namespace mxtool {

/// The last axis is the depth; all others are flattened into rows.
struct matrix_shape {
  mxref::index_t rows = 0;
  mxref::index_t cols = 0;
};

/// A part of a matrix.
struct rectangle {
  mxref::index_t row = 0;
  mxref::index_t col = 0;
  mxref::index_t rows = 0;
  mxref::index_t cols = 0;
};

/// Pieces of about `most` elements at most, which follow each other in C order: whole rows, or
/// where a row is longer, parts of one row that start at multiples of `unit`.
class matrix_pieces {
 public:
  matrix_pieces(matrix_shape shape, mxref::index_t most, mxref::index_t unit)
      : shape_(shape),
        rows_(shape.cols <= most ? most / std::max<mxref::index_t>(1, shape.cols) : 1),
        cols_(shape.cols <= most ? shape.cols : std::max(unit, most / unit * unit)) {}

  mxref::index_t count() const {
    return shape_.cols == 0 ? 0 : parts(shape_.rows, rows_) * parts(shape_.cols, cols_);
  }

  rectangle operator[](mxref::index_t i) const {
    const mxref::index_t in_row = parts(shape_.cols, cols_);
    const mxref::index_t row = i / in_row * rows_;
    const mxref::index_t col = i % in_row * cols_;
    return {row, col, std::min(rows_, shape_.rows - row), std::min(cols_, shape_.cols - col)};
  }

 private:
  static mxref::index_t parts(mxref::index_t size, mxref::index_t part) {
    return size / part + (size % part != 0 ? 1 : 0);
  }

  matrix_shape shape_;
  mxref::index_t rows_;
  mxref::index_t cols_;
};

/// Elements that are read, converted and written at once: 8 MiB of binary32.
inline constexpr mxref::index_t chunk_elements = mxref::index_t{1} << 21;

/// Elements that one thread takes at once.
inline constexpr mxref::index_t task_elements = mxref::index_t{1} << 16;

/// Where rows of blocks may be cut: between blocks, and where their packing may be cut.
inline mxref::index_t cut_unit(int block, int packing_cut) {
  return std::lcm(mxref::index_t{block}, mxref::index_t{packing_cut});
}

}  // namespace mxtool
