// SPDX-License-Identifier: Apache-2.0
// The yardstick of quantization: binary32 to small floats one at a time, without a block scale, by
// integer arithmetic and a branch for each special case, as ml_dtypes does it.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>

#include "array.hpp"
#include "mxref/format.hpp"

namespace bench {

/// The code of a magnitude's pattern: nearest even, saturating.
template <mxref::format_desc F>
std::uint32_t convert_magnitude(std::uint32_t magnitude) {
  constexpr auto max = static_cast<std::uint32_t>(F.max_magnitude());
  if (magnitude > 0x7F800000) return static_cast<std::uint32_t>(F.nan_code());
  if (magnitude == 0x7F800000) return max;
  if (magnitude == 0) return 0;
  int exponent = static_cast<int>(magnitude >> 23) - 127;
  std::uint32_t significand = magnitude & 0x7FFFFF;
  if (exponent == -127) {
    const int lift = std::countl_zero(significand) - 8;
    significand <<= lift;
    exponent = -126 - lift;
  } else {
    significand |= 0x800000;
  }
  if (exponent > F.emax()) return max;
  int dropped = 23 - F.man_bits;
  std::uint32_t field =
      0;  // one less than the exponent field, whose last unit the leading bit adds
  if (exponent < F.emin()) {
    dropped += F.emin() - exponent;
    if (dropped > 25) return 0;
  } else {
    field = static_cast<std::uint32_t>(exponent - F.emin());
  }
  const std::uint32_t odd = significand >> dropped & 1;
  const std::uint32_t kept = (significand + (1U << (dropped - 1)) - 1 + odd) >> dropped;
  const std::uint32_t code = (field << F.man_bits) + kept;
  return code < max ? code : max;
}

template <mxref::format_desc F>
std::uint8_t convert_one(float x) {
  const auto bits = std::bit_cast<std::uint32_t>(x);
  if (bits >> 31 != 0) {
    return static_cast<std::uint8_t>(F.sign_code() | convert_magnitude<F>(bits & 0x7FFFFFFF));
  }
  return static_cast<std::uint8_t>(convert_magnitude<F>(bits));
}

template <mxref::format_desc F>
void convert_all(const array<float>& in, array<std::uint8_t>& out) {
  for (std::size_t i = 0; i < in.size(); ++i) out[i] = convert_one<F>(in[i]);
}

}  // namespace bench
