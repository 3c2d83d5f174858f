// SPDX-License-Identifier: Apache-2.0
// Level 5. Parts of an operand decoded to binary32 for the kernels.
#ifndef MXREF_SIMD_PACK_HPP_
#define MXREF_SIMD_PACK_HPP_

#include <cstdint>
#include <cstring>

#include "mxref/buffer.hpp"
#include "mxref/config.hpp"
#include "mxref/convert.hpp"
#include "mxref/quantize.hpp"
#include "mxref/scale.hpp"
#include "mxref/simd/kernels.hpp"
#include "mxref/terms.hpp"
#include "mxref/view.hpp"

MXREF_BEGIN_NAMESPACE

namespace simd {

/// Whether the lane decoder takes a format: its normal numbers are normal in binary32.
constexpr bool has_lane_decoder(format_desc f) noexcept {
  return f.emin() >= -126 || f.code == encoding::exponent_only;
}

/// Decodes runs of one operand to binary32, with or without their scales: along a row, or down a
/// column where the codes of a column are neighbours (a transposed operand).
class run_decoder {
 public:
  run_decoder(const kernel_table& kernels, const operand_view& view) noexcept
      : kernels_(kernels), view_(view), bytes_(container_bytes(view.format)) {}

  /// Room for runs of up to `longest` codes.
  bool allocate(index_t longest) noexcept {
    return codes_.allocate(4 * longest) && factors_.allocate(longest) &&
           factor_codes_.allocate(4 * longest);
  }

  /// Whether columns are contiguous, so that runs down them are the fast ones.
  bool by_columns() const noexcept {
    return view_.storage == code_storage::containers && view_.row_bytes == bytes_ &&
           view_.col_bytes != bytes_;
  }

  /// Elements (row, from) .. (row, from + count - 1) without their scales; exact.
  void elements(index_t row, index_t from, index_t count, float* out) noexcept {
    decode(row_codes(row, from, count), count, view_.format, out);
  }

  /// The same times their scales, rounded to binary32.
  void values(index_t row, index_t from, index_t count, float* out) noexcept {
    const std::uint8_t* codes = row_codes(row, from, count);
    if (!view_.scaled()) return decode(codes, count, view_.format, out);
    const index_t first = from / view_.block;
    const index_t blocks = (from + count - 1) / view_.block - first + 1;
    decode(view_.scale_at(row, first), blocks, view_.scale_format, factors_.data());
    const auto phase = static_cast<int>(from % view_.block);
    if (phase == 0 && bytes_ == 1 && has_lane_decoder(view_.format)) {
      kernels_.decode_blocks(codes, count, view_.format, factors_.data(), view_.block, out);
    } else {
      decode(codes, count, view_.format, out);
      kernels_.apply_scales(out, count, factors_.data(), view_.block, phase);
    }
  }

  /// Values (from, k) .. (from + count - 1, k), of a containers operand.
  void column_values(index_t from, index_t k, index_t count, float* out) noexcept {
    if (k + ahead < view_.depth) prefetch(at(from, k + ahead), count * bytes_);
    decode(gathered(at(from, k), view_.row_bytes, count), count, view_.format, out);
    if (!view_.scaled()) return;
    // The factors of the last call serve the rest of the block.
    if (const index_t b = k / view_.block; b != block_ || from != first_) {
      column_factors(from, b, count);
      block_ = b;
      first_ = from;
    }
    kernels_.apply_scales(out, count, factors_.data(), 1, 0);
  }

  const operand_view& view() const noexcept { return view_; }

 private:
  static constexpr index_t ahead = 16;  ///< columns

  const std::uint8_t* at(index_t row, index_t k) const noexcept {
    return static_cast<const std::uint8_t*>(view_.codes) + row * view_.row_bytes +
           k * view_.col_bytes;
  }

  /// Codes that lie `stride` bytes apart, one after the other.
  const std::uint8_t* gathered(const std::uint8_t* codes, index_t stride, index_t count) noexcept {
    if (stride == bytes_) return codes;
    for (index_t i = 0; i < count; ++i) {
      std::memcpy(codes_.data() + i * bytes_, codes + i * stride, static_cast<std::size_t>(bytes_));
    }
    return codes_.data();
  }

  const std::uint8_t* row_codes(index_t row, index_t from, index_t count) noexcept {
    if (view_.storage == code_storage::containers) {
      return gathered(at(row, from), view_.col_bytes, count);
    }
    for (index_t k = 0; k < count; ++k) {
      codes_[k] = static_cast<std::uint8_t>(view_.code(row, from + k));
    }
    return codes_.data();
  }

  /// The factors of block b of some rows.
  void column_factors(index_t row, index_t b, index_t count) noexcept {
    const index_t bytes = container_bytes(view_.scale_format);
    const std::uint8_t* codes = view_.scale_at(row, b);
    if (bytes != view_.scale_row_bytes || view_.block_rows != 1) {
      for (index_t i = 0; i < count; ++i) {
        std::memcpy(factor_codes_.data() + i * bytes, view_.scale_at(row + i, b),
                    static_cast<std::size_t>(bytes));
      }
      codes = factor_codes_.data();
    }
    decode(codes, count, view_.scale_format, factors_.data());
  }

  void decode(const std::uint8_t* codes, index_t count, format_desc f, float* out) const noexcept {
    if (has_lane_decoder(f)) {
      kernels_.decode(codes, count, f, out);
    } else {
      operand_view v;
      v.format = f;
      v.codes = codes;
      v.col_bytes = container_bytes(f);
      for (index_t i = 0; i < count; ++i) out[i] = from_number<float>(to_number(f, v.code(0, i)));
    }
  }

  const kernel_table& kernels_;
  operand_view view_;
  index_t bytes_;
  buffer<std::uint8_t> codes_;
  buffer<std::uint8_t> factor_codes_;
  buffer<float> factors_;
  index_t block_ = -1;  ///< block and first row of factors_, as column_values left them
  index_t first_ = 0;
};

/// out[c * out_stride + r] = in[r * in_stride + c].
inline void transpose(const kernel_table& kernels, const float* in, index_t in_stride, index_t rows,
                      index_t cols, float* out, index_t out_stride) noexcept {
  index_t r = 0;
  for (; kernels.transpose != nullptr && r + kernels.lanes <= rows; r += kernels.lanes) {
    kernels.transpose(in + r * in_stride, in_stride, cols, out + r, out_stride);
  }
  for (; r < rows; ++r) {
    for (index_t c = 0; c < cols; ++c) out[c * out_stride + r] = in[r * in_stride + c];
  }
}

/// True if any number is NaN or Inf.
inline bool any_special(const float* x, index_t count) noexcept {
  std::uint32_t special = 0;
  for (index_t k = 0; k < count; ++k) {
    const std::uint32_t magnitude = bit_cast<std::uint32_t>(x[k]) & 0x7FFFFFFF;
    special |= magnitude >= 0x7F800000 ? 1U : 0U;
  }
  return special != 0;
}

/// Scale b of a row as a number, 1 for an unscaled operand.
inline number scale_number(const operand_view& v, index_t row, index_t b) noexcept {
  if (!v.scaled()) return {1, 0, false, number_class::finite};
  return to_number(v.scale_format, v.scale_code(row, b));
}

}  // namespace simd

MXREF_END_NAMESPACE

#endif  // MXREF_SIMD_PACK_HPP_
