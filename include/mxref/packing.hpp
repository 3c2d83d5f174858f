// SPDX-License-Identifier: Apache-2.0
// Level 3. Codes of fewer than eight bits in bytes: a little-endian bit stream.
#ifndef MXREF_PACKING_HPP_
#define MXREF_PACKING_HPP_

#include <cstddef>
#include <cstdint>

#include "mxref/code_layout.hpp"
#include "mxref/config.hpp"

MXREF_BEGIN_NAMESPACE

// layout::dense by short names: it is how mx_block and dense operands store their codes.
// Checked: tests/sweep/packing_test.cpp, against CUDA's x2 types and mxDataGenerator.

/// Bytes of count codes; the last byte's unused bits are 0.
MXREF_HD constexpr std::size_t packed_size(int bits, std::size_t count) noexcept {
  return layout::dense::codes(bits).row_bytes(count);
}

/// Reads code i, 1 <= bits <= 8.
MXREF_HD constexpr std::uint8_t get_packed(const std::uint8_t* bytes, int bits,
                                           std::size_t i) noexcept {
  return layout::dense::codes(bits).get(bytes, i);
}

/// Writes code i and leaves its neighbours alone; bits of code beyond the width are ignored.
MXREF_HD constexpr void set_packed(std::uint8_t* bytes, int bits, std::size_t i,
                                   std::uint8_t code) noexcept {
  layout::dense::codes(bits).set(bytes, i, code);
}

MXREF_END_NAMESPACE

#endif  // MXREF_PACKING_HPP_
