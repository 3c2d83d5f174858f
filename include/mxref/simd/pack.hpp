// SPDX-License-Identifier: Apache-2.0
// Level 5. Rows of an operand decoded and laid out for the tile kernels.
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

/// Decodes rows of one operand to binary32, with or without their scales.
class row_decoder {
 public:
  row_decoder(const kernel_table& kernels, const operand_view& view) noexcept
      : kernels_(kernels), view_(view) {}

  bool allocate() noexcept { return codes_.allocate(4 * view_.depth); }

  /// Elements alone; exact.
  void elements(index_t row, float* out) noexcept {
    const index_t bytes = container_bytes(view_.format);
    const void* codes = static_cast<const std::uint8_t*>(view_.codes) + row * view_.row_bytes;
    if (!has_lane_decoder(view_.format)) {
      for (index_t k = 0; k < view_.depth; ++k) {
        out[k] = from_number<float>(to_number(view_.format, view_.code(row, k)));
      }
      return;
    }
    if (view_.storage != code_storage::containers || view_.col_bytes != bytes) {
      for (index_t k = 0; k < view_.depth; ++k) {
        store_code(codes_.data() + k * bytes, bytes, view_.code(row, k));
      }
      codes = codes_.data();
    }
    kernels_.decode(codes, view_.depth, view_.format, out);
  }

  /// Element times scale, rounded to binary32.
  void values(index_t row, float* out) noexcept {
    elements(row, out);
    if (!view_.scaled()) return;
    if (view_.scale_format == E8M0::desc) {
      kernels_.apply_scales(out, view_.depth, view_.scales + row * view_.scale_row_bytes,
                            view_.block);
      return;
    }
    for (index_t k = 0; k < view_.depth; ++k) {
      out[k] = from_number<float>(operand_number(view_, row, k));
    }
  }

  const operand_view& view() const noexcept { return view_; }

 private:
  const kernel_table& kernels_;
  operand_view view_;
  buffer<std::uint8_t> codes_;
};

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
