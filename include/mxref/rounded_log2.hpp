// SPDX-License-Identifier: Apache-2.0
// Level 2. Exponents of numbers: exact ones, and those of a logarithm that was rounded first.
#ifndef MXREF_ROUNDED_LOG2_HPP_
#define MXREF_ROUNDED_LOG2_HPP_

#include <cstdint>

#include "mxref/bits.hpp"
#include "mxref/config.hpp"
#include "mxref/convert.hpp"

MXREF_BEGIN_NAMESPACE

namespace detail {

/// floor(log2 x) of a finite number that is not zero.
MXREF_HD constexpr int floor_log2(const number& x) noexcept { return x.exp + bit_width(x.sig) - 1; }

/// floor(ln2 * 2^shift), shift <= 64.
MXREF_HD constexpr std::uint64_t ln2_times_power(int shift) noexcept {
  constexpr std::uint64_t ln2 = 0xB17217F7D1CF79AB;  // floor(ln2 * 2^64)
  return shift <= 0 ? 0 : ln2 >> (64 - shift);
}

/// A correctly rounded log2 x of `precision` bits, cut to an integer: x is finite and not zero, and
/// has at most `precision` bits. The floats around an integer k that is not 0 lie 2^(j + 1 -
/// precision) apart on the side of zero or on the other, so that a relative distance of x from 2^k
/// of up to ln2 * 2^(j - precision) rounds away.
struct rounded_log2 {
  int exponent;  ///< floor(log2 x)
  int width;
  std::uint64_t sig;
  int precision;

  MXREF_HD constexpr rounded_log2(const number& x, int bits) noexcept
      : exponent(floor_log2(x)), width(bit_width(x.sig)), sig(x.sig), precision(bits) {}

  MXREF_HD constexpr int floor() const noexcept {
    const int k = exponent + 1;
    if (k == 0) return exponent;
    // Below k floats are denser when k is positive.
    const int j = k > 0 ? bit_width(static_cast<std::uint64_t>(k) - 1) - 1
                        : bit_width(static_cast<std::uint64_t>(-k)) - 1;
    const std::uint64_t distance = (std::uint64_t{1} << width) - sig;
    return distance <= ln2_times_power(width + j - precision) ? k : exponent;
  }

  MXREF_HD constexpr int ceil() const noexcept {
    const std::uint64_t distance = sig - (std::uint64_t{1} << (width - 1));
    if (distance == 0) return exponent;
    const int k = exponent;
    if (k == 0) return k + 1;
    const int j = k > 0 ? bit_width(static_cast<std::uint64_t>(k)) - 1
                        : bit_width(static_cast<std::uint64_t>(-k) - 1) - 1;
    return distance <= ln2_times_power(width - 1 + j - precision) ? k : k + 1;
  }
};

}  // namespace detail

MXREF_END_NAMESPACE

#endif  // MXREF_ROUNDED_LOG2_HPP_
