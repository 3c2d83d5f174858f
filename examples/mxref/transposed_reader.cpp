// SPDX-License-Identifier: Apache-2.0
#include "transposed_reader.hpp"

#include <algorithm>
#include <cstring>

namespace mxtool {

namespace {

constexpr std::size_t band_bytes = std::size_t{32} << 20;
constexpr std::size_t strip_bytes = std::size_t{1} << 20;

/// Row-major rows x cols to columns that lie `stride` elements apart.
template <std::size_t N>
void scatter(const std::byte* in, std::size_t rows, std::size_t cols, std::byte* out,
             std::size_t stride) {
  constexpr std::size_t tile = 16;
  for (std::size_t first = 0; first < rows; first += tile) {
    const std::size_t last = std::min(rows, first + tile);
    for (std::size_t c = 0; c != cols; ++c) {
      for (std::size_t r = first; r != last; ++r) {
        std::memcpy(out + (c * stride + r) * N, in + (r * cols + c) * N, N);
      }
    }
  }
}

}  // namespace

transposed_reader::transposed_reader(npy_reader& in)
    : in_(in), element_(size_of(in.type())), rows_(in.shape().at(0)), cols_(in.shape().at(1)) {}

void transposed_reader::load_band() {
  const std::size_t width =
      std::clamp<std::size_t>(band_bytes / (rows_ * element_), 1, cols_ - next_col_);
  const std::size_t row_bytes = width * element_;
  const std::size_t at_once = std::clamp<std::size_t>(strip_bytes / row_bytes, 1, rows_);
  strip_.resize(at_once * row_bytes);
  band_.resize(rows_ * row_bytes);
  for (std::size_t row = 0; row < rows_; row += at_once) {
    const std::size_t count = std::min(at_once, rows_ - row);
    const std::span strip = std::span(strip_).first(count * row_bytes);
    if (width == cols_) {
      in_.read_at(row * row_bytes, strip);
    } else {
      for (std::size_t r = 0; r != count; ++r) {
        in_.read_at(((row + r) * cols_ + next_col_) * element_,
                    strip.subspan(r * row_bytes, row_bytes));
      }
    }
    std::byte* const out = band_.data() + row * element_;
    if (element_ == 4) {
      scatter<4>(strip.data(), count, width, out, rows_);
    } else {
      scatter<8>(strip.data(), count, width, out, rows_);
    }
  }
  next_col_ += width;
  rest_ = band_;
}

void transposed_reader::read(std::span<std::byte> out) {
  while (!out.empty()) {
    if (rest_.empty()) load_band();
    const std::size_t count = std::min(out.size(), rest_.size());
    std::ranges::copy(rest_.first(count), out.begin());
    rest_ = rest_.subspan(count);
    out = out.subspan(count);
  }
}

}  // namespace mxtool
