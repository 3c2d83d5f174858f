// SPDX-License-Identifier: Apache-2.0
// Level 2. element<desc>: a code with a type, and encode/decode between elements and native floats.
#ifndef MXREF_ELEMENT_HPP_
#define MXREF_ELEMENT_HPP_

#include <concepts>
#include <cstdint>
#include <type_traits>

#include "mxref/config.hpp"
#include "mxref/convert.hpp"
#include "mxref/format.hpp"

MXREF_BEGIN_NAMESPACE

/// A code of format D. It has no arithmetic and no implicit conversion: values are made by
/// encode, read by decode, and compared by code.
template <format_desc D>
struct element {
  static_assert(is_valid(D), "this exponent, mantissa, bias and encoding do not make a format");
  using code_type =
      std::conditional_t<(D.total_bits() <= 8), std::uint8_t,
                         std::conditional_t<(D.total_bits() <= 16), std::uint16_t, std::uint32_t>>;

  static constexpr format_desc desc = D;
  code_type code = 0;  ///< the bit pattern, in the low total_bits()

  MXREF_HD constexpr number to_number() const noexcept { return mxref::to_number(D, code); }
  MXREF_HD constexpr explicit operator float() const noexcept;
  MXREF_HD constexpr explicit operator double() const noexcept;

  friend constexpr bool operator==(const element&, const element&) noexcept = default;
};

namespace detail {
template <class T>
inline constexpr bool is_element = false;
template <format_desc D>
inline constexpr bool is_element<element<D>> = true;

template <class E>
struct desc_of;
template <format_desc D>
struct desc_of<element<D>> {
  MXREF_HD static constexpr format_desc get() noexcept { return D; }
};
}  // namespace detail

template <class E>
concept element_format = detail::is_element<std::remove_cv_t<E>>;

/// Rounds a native float, or another format's element, to format E; one rounding, from either
/// width.
///
/// Example: encode<E2M1>(-5.3, rounding::toward_zero{}). The default is what OCP MX 6.3 asks for:
///          nearest even, saturating.
/// Errors:  none; NaN, Inf and overflow follow the policies (see to_code).
template <element_format E, class T, rounding_policy R = rounding::nearest_even,
          overflow_policy O = overflow::saturate, negative_policy N = negative::to_nan>
requires native_float<T> || element_format<T> MXREF_HD constexpr E encode(T x, R r = {}, O o = {},
                                                                          N n = {}) noexcept {
  constexpr format_desc f = detail::desc_of<E>::get();
  number v;
  if constexpr (native_float<T>) {
    v = to_number(x);
  } else {
    v = x.to_number();
  }
  return E{static_cast<typename E::code_type>(to_code(f, v, r, o, n))};
}

/// The value of an element: exact in binary64 for every format, and in binary32 for every format
/// whose values are binary32 values (all of formats.hpp). NaN gives the quiet NaN 0x7FC00000.
template <native_float T = float, element_format E>
MXREF_HD constexpr T decode(E e) noexcept {
  return from_number<T>(e.to_number());
}

template <format_desc D>
MXREF_HD constexpr element<D>::operator float() const noexcept {
  return decode<float>(*this);
}
template <format_desc D>
MXREF_HD constexpr element<D>::operator double() const noexcept {
  return decode<double>(*this);
}

MXREF_END_NAMESPACE

#endif  // MXREF_ELEMENT_HPP_
