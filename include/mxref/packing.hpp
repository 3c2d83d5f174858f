// SPDX-License-Identifier: Apache-2.0
// Level 3. Codes of fewer than eight bits in bytes: a little-endian bit stream.
#ifndef MXREF_PACKING_HPP_
#define MXREF_PACKING_HPP_

#include <cstddef>
#include <cstdint>

#include "mxref/bits.hpp"
#include "mxref/config.hpp"

MXREF_BEGIN_NAMESPACE

// "dense" packing: code i occupies bits [i * bits, (i + 1) * bits) of the stream, least significant
// bits first. So an FP4 pair has element 0 in the low nibble, and four FP6 codes fill three bytes.
// Checked: tests/sweep/packing_test.cpp, against CUDA's x2 types and mxDataGenerator.

/// Bytes of count codes; the last byte's unused bits are 0.
MXREF_HD constexpr std::size_t packed_size(int bits, std::size_t count) noexcept {
  return (count * static_cast<std::size_t>(bits) + 7) / 8;
}

/// Reads code i, 1 <= bits <= 8.
MXREF_HD constexpr std::uint8_t get_packed(const std::uint8_t* bytes, int bits,
                                           std::size_t i) noexcept {
  const std::size_t bit = i * static_cast<std::size_t>(bits);
  const int offset = static_cast<int>(bit % 8);
  unsigned word = bytes[bit / 8];
  if (offset + bits > 8) word |= static_cast<unsigned>(bytes[bit / 8 + 1]) << 8;
  return static_cast<std::uint8_t>((word >> offset) & low_mask(bits));
}

/// Writes code i and leaves its neighbours alone; bits of code beyond the width are ignored.
MXREF_HD constexpr void set_packed(std::uint8_t* bytes, int bits, std::size_t i,
                                   std::uint8_t code) noexcept {
  const std::size_t bit = i * static_cast<std::size_t>(bits);
  const int offset = static_cast<int>(bit % 8);
  const auto mask = static_cast<unsigned>(low_mask(bits)) << offset;
  const unsigned word = (static_cast<unsigned>(code) << offset) & mask;
  bytes[bit / 8] = static_cast<std::uint8_t>((bytes[bit / 8] & ~mask) | word);
  if (offset + bits > 8) {
    bytes[bit / 8 + 1] =
        static_cast<std::uint8_t>((bytes[bit / 8 + 1] & ~(mask >> 8)) | (word >> 8));
  }
}

MXREF_END_NAMESPACE

#endif  // MXREF_PACKING_HPP_
