// SPDX-License-Identifier: Apache-2.0
// The transpose of an array in a file, without the whole of either in memory.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "array_io.hpp"

namespace mxtool {

/// Reads an array of two axes as its transpose, from front to back, by bands of columns.
class transposed_reader {
 public:
  explicit transposed_reader(npy_reader& in);

  /// Fills `out`, which is not longer than what remains.
  void read(std::span<std::byte> out);

 private:
  void load_band();

  npy_reader& in_;
  std::size_t element_;
  std::size_t rows_;
  std::size_t cols_;
  std::size_t next_col_ = 0;
  std::vector<std::byte> strip_;  // some rows of a band, as the file has them
  std::vector<std::byte> band_;   // columns of the file, one after another
  std::span<const std::byte> rest_;
};

}  // namespace mxtool
