// SPDX-License-Identifier: Apache-2.0
// Level 0. How the borders of the library (quantize, gemm) report what they cannot do.
#ifndef MXREF_STATUS_HPP_
#define MXREF_STATUS_HPP_

#include "mxref/config.hpp"

MXREF_BEGIN_NAMESPACE

enum class errc {
  ok,
  shape_mismatch,
  block_mismatch,
  partial_block,
  unsupported_format,
  unsupported_output,
  unrepresentable_nan,
  out_of_memory,
  unsupported_unit,
  ambiguous_unit,
  layout_mismatch,
  buffer_mismatch,
  not_a_power_of_two,
};

/// Result of an operation that checks its arguments. Nothing was written unless it is ok.
struct [[nodiscard]] status {
  errc code = errc::ok;

  constexpr bool ok() const noexcept { return code == errc::ok; }
  constexpr explicit operator bool() const noexcept { return ok(); }
  friend constexpr bool operator==(status, status) noexcept = default;
};

/// One sentence that says what is wrong.
constexpr const char* message(status s) noexcept {
  switch (s.code) {
    case errc::ok:
      return "no error";
    case errc::shape_mismatch:
      return "the shapes do not fit: A is M x K, B is N x K, C and D are M x N";
    case errc::block_mismatch:
      return "the block sizes do not fit each other or the accumulation policy";
    case errc::partial_block:
      return "the length is not a multiple of the block size, and strict mode refuses tails";
    case errc::unsupported_format:
      return "the accumulation policy does not take these element or scale formats";
    case errc::unsupported_output:
      return "the accumulation policy does not produce this output type";
    case errc::unrepresentable_nan:
      return "the input has a NaN, and neither the element format nor the NaN policy can hold it";
    case errc::out_of_memory:
      return "not enough memory for the decoded operands";
    case errc::unsupported_unit:
      return "the parameters of the matrix unit contradict each other, or its sums may need more "
             "than 63 bits";
    case errc::ambiguous_unit:
      return "several instructions of the unit take these operands: name the kind";
    case errc::layout_mismatch:
      return "the layouts are of codes of different widths";
    case errc::buffer_mismatch:
      return "a buffer does not have the shape that its layout gives";
    case errc::not_a_power_of_two:
      return "a scale is not a power of two from 2^-127 to 2^127 (nor NaN), so E8M0 has no code "
             "for it";
  }
  return "unknown error";
}

MXREF_END_NAMESPACE

#endif  // MXREF_STATUS_HPP_
