// SPDX-License-Identifier: Apache-2.0
// Level 3. Elements in order: by value, and every code in its place. For the host: the types of
// <compare> are not device code.
#ifndef MXREF_ORDER_HPP_
#define MXREF_ORDER_HPP_

#include <compare>
#include <cstdint>

#include "mxref/config.hpp"
#include "mxref/convert.hpp"
#include "mxref/element.hpp"

MXREF_BEGIN_NAMESPACE

/// Compares two numbers by value: zeros are equal, a NaN is unordered.
constexpr std::partial_ordering compare(const number& a, const number& b) noexcept {
  if (a.is_nan() || b.is_nan()) return std::partial_ordering::unordered;
  if (a.is_zero() && b.is_zero()) return std::partial_ordering::equivalent;
  if (a.is_zero() || b.is_zero() || a.negative != b.negative) {
    const bool less = b.is_zero() ? a.negative : !b.negative;
    return less ? std::partial_ordering::less : std::partial_ordering::greater;
  }
  // One sign, neither zero.
  const bool smaller = a.is_inf() ? false : b.is_inf() || detail::magnitude_less(a, b);
  const bool larger = b.is_inf() ? false : a.is_inf() || detail::magnitude_less(b, a);
  if (smaller == larger) return std::partial_ordering::equivalent;
  return smaller != a.negative ? std::partial_ordering::less : std::partial_ordering::greater;
}

/// Compares two elements, of any formats, by value. (element::operator== compares codes.)
/// Checked: tests/sweep/order_test.cpp, all pairs of 8-bit codes.
template <element_format A, element_format B>
constexpr std::partial_ordering compare(A a, B b) noexcept {
  return compare(a.to_number(), b.to_number());
}

/// An order of all codes of a format, as IEEE 754 totalOrder: negative NaNs, negative numbers from
/// the largest, -0, +0, positive numbers, NaNs. The only NaN of an fnuz format comes last.
template <element_format E>
constexpr std::strong_ordering total_order(E a, E b) noexcept {
  const auto place = [](E e) {
    constexpr format_desc f = detail::desc_of<E>::get();
    const auto code = static_cast<std::int64_t>(e.code & low_mask(f.total_bits()));
    const auto sign = static_cast<std::int64_t>(f.sign_code());
    if (sign == 0 || code < sign) return code;
    if (f.code == encoding::twos_complement) return code - 2 * sign;
    if (f.special == specials::nan_for_minus0 && code == sign) return code;
    return sign - code - 1;
  };
  return place(a) <=> place(b);
}

MXREF_END_NAMESPACE

#endif  // MXREF_ORDER_HPP_
