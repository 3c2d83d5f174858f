// SPDX-License-Identifier: Apache-2.0
// Level 2. IEEE 754 binary32 addition and fused multiply-add on bit patterns, integers only, so
// that no compiler flag and no control register can reach the result.
#ifndef MXREF_BINARY32_HPP_
#define MXREF_BINARY32_HPP_

#include <cstdint>

#include "mxref/bits.hpp"
#include "mxref/config.hpp"
#include "mxref/convert.hpp"

MXREF_BEGIN_NAMESPACE

inline constexpr std::uint32_t binary32_nan = 0x7FC00000;
inline constexpr std::uint32_t binary32_one = 0x3F800000;

/// The product of two numbers, exactly; significands of at most 32 bits.
MXREF_HD constexpr number multiply(const number& a, const number& b) noexcept {
  const bool negative = a.negative != b.negative;
  if (a.is_nan() || b.is_nan() || (a.is_inf() && b.is_zero()) || (a.is_zero() && b.is_inf())) {
    return {0, 0, false, number_class::nan};
  }
  if (a.is_inf() || b.is_inf()) return {0, 0, negative, number_class::infinite};
  return {a.sig * b.sig, a.exp + b.exp, negative, number_class::finite};
}

/// The sum of two numbers with significands of at most 48 bits, exact but for a last bit made odd
/// when something lies below 62 bits: no later rounding to 59 bits or fewer can tell.
/// Zero signs as IEEE 754 6.3: x + (-x) is +0, and only -0 + -0 is -0.
MXREF_HD constexpr number add(number a, number b) noexcept {
  if (a.is_nan() || b.is_nan() || (a.is_inf() && b.is_inf() && a.negative != b.negative)) {
    return {0, 0, false, number_class::nan};
  }
  if (a.is_inf()) return a;
  if (b.is_inf()) return b;
  if (a.sig == 0 && b.sig == 0) return {0, 0, a.negative && b.negative, number_class::finite};
  if (a.sig == 0) return b;
  if (b.sig == 0) return a;
  if (a.exp + bit_width(a.sig) < b.exp + bit_width(b.sig)) {
    const number t = a;
    a = b;
    b = t;
  }
  const int up = 62 - bit_width(a.sig);
  a.sig <<= up;
  a.exp -= up;
  // Bits of b below a's last one exist only when b is smaller than a by a factor of 2^14 or more;
  // then no cancellation can bring them above the 59th bit of the sum.
  b.sig = round_shift(b.sig, a.exp - b.exp, false, rounding::to_odd{});
  if (a.negative == b.negative) {
    a.sig += b.sig;
  } else {
    const bool swap = a.sig < b.sig;
    a.sig = swap ? b.sig - a.sig : a.sig - b.sig;
    a.negative = swap ? b.negative : a.negative && a.sig != 0;
  }
  return a;
}

/// Rounds to a binary32 pattern, nearest even, overflow to Inf, NaN 0x7FC00000.
MXREF_HD constexpr std::uint32_t to_binary32(const number& x) noexcept {
  return static_cast<std::uint32_t>(
      to_code(binary32_desc, x, rounding::nearest_even{}, overflow::nonsaturating{}));
}

/// a + b, rounded once. Checked: tests/sweep/binary32_test.cpp against the processor and MPFR.
MXREF_HD constexpr std::uint32_t add_binary32(std::uint32_t a, std::uint32_t b) noexcept {
  return to_binary32(add(to_number(binary32_desc, a), to_number(binary32_desc, b)));
}

/// a * b + c, rounded once. Checked: tests/sweep/binary32_test.cpp
MXREF_HD constexpr std::uint32_t fma_binary32(std::uint32_t a, std::uint32_t b,
                                              std::uint32_t c) noexcept {
  return to_binary32(add(multiply(to_number(binary32_desc, a), to_number(binary32_desc, b)),
                         to_number(binary32_desc, c)));
}

namespace detail {

/// A number rounded to binary32 (nearest even).
MXREF_HD constexpr number in_binary32(const number& x) noexcept {
  return to_number(from_number<float>(x));
}

/// a / b to 38 bits and more, b not zero; the last bit is odd when there is more below, so that a
/// rounding to 36 bits or fewer is that of the quotient. Significands of b have at most 24 bits.
MXREF_HD constexpr number quotient(const number& a, const number& b) noexcept {
  if (a.sig == 0) return a;
  const int lift = 63 - bit_width(a.sig);
  const std::uint64_t sig = a.sig << lift;
  const std::uint64_t inexact = sig % b.sig != 0 ? 1U : 0U;
  return {sig / b.sig | inexact, a.exp - lift - b.exp, a.negative != b.negative, a.cls};
}

MXREF_HD constexpr number one() noexcept { return {1, 0, false, number_class::finite}; }

// Arithmetic in binary32: numbers in, RN of the result out.
MXREF_HD constexpr number times(const number& a, const number& b) noexcept {
  return in_binary32(multiply(a, b));
}
/// Division by zero gives Inf.
MXREF_HD constexpr number over(const number& a, const number& b) noexcept {
  if (b.is_zero()) return {0, 0, a.negative, number_class::infinite};
  if (b.is_inf()) return {0, 0, a.negative, number_class::finite};
  return in_binary32(quotient(a, b));
}
MXREF_HD constexpr number minus(const number& a, number b) noexcept {
  b.negative = !b.negative;
  return in_binary32(add(a, b));
}

}  // namespace detail

MXREF_END_NAMESPACE

#endif  // MXREF_BINARY32_HPP_
