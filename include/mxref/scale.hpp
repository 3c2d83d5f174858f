// SPDX-License-Identifier: Apache-2.0
// Level 3. How a block's shared scale is chosen, and what a scale does to an element.
#ifndef MXREF_SCALE_HPP_
#define MXREF_SCALE_HPP_

#include <concepts>
#include <cstdint>

#include "mxref/bits.hpp"
#include "mxref/config.hpp"
#include "mxref/convert.hpp"
#include "mxref/formats.hpp"

MXREF_BEGIN_NAMESPACE

/// The E8M0 scale 2^exp, clamped to -127..127.
MXREF_HD constexpr E8M0 e8m0_from_exp(int exp) noexcept {
  return E8M0{static_cast<std::uint8_t>(max_of(-127, min_of(127, exp)) + 127)};
}

enum class scale_rule { floor };

/// A rule maps a block's finite amax (the largest magnitude) to its scale.
namespace scale {

/// OCP MX 6.3: s = floor(log2 amax) - emax of the element format, from the exact exponent.
/// An all-zero block gets code 0; s is clamped to -127..127.
struct floor {
  static constexpr scale_rule rule = scale_rule::floor;
  MXREF_HD constexpr E8M0 operator()(const number& amax, format_desc element) const noexcept {
    if (amax.sig == 0) return E8M0{0};
    return e8m0_from_exp(amax.exp + bit_width(amax.sig) - 1 - element.emax());
  }
};

}  // namespace scale

template <class S>
concept scale_policy = requires(S s, number amax, format_desc f) {
  { s(amax, f) } -> std::same_as<E8M0>;
};

enum class nan_mode { poison, finite, gfloat_inf };

/// What a NaN or an Inf does to its block.
namespace nan {

/// The whole block becomes NaN: scale 0xFF, element codes 0.
struct poison {
  static constexpr nan_mode mode = nan_mode::poison;
};

/// The scale comes from the finite elements; NaN and Inf are encoded like any element, so a format
/// without NaN refuses a NaN (errc::unrepresentable_nan).
struct finite {
  static constexpr nan_mode mode = nan_mode::finite;
};

/// As the gfloat library: an Inf gives scale 254 and saturates, a NaN poisons the block.
struct gfloat_inf {
  static constexpr nan_mode mode = nan_mode::gfloat_inf;
};

/// The policy chosen at run time.
struct dynamic {
  nan_mode mode = nan_mode::poison;
};

}  // namespace nan

template <class P>
concept nan_policy = requires(P p) {
  { p.mode } -> std::convertible_to<nan_mode>;
};

/// Element times scale, exactly (OCP MX 5.1): a NaN scale makes NaN, an Inf or NaN element is the
/// value itself. The significands must have at most 32 bits each. A zero scale (unsigned E4M3)
/// times Inf is NaN.
MXREF_HD constexpr number scaled(number element, const number& s) noexcept {
  if (s.is_nan() || (element.is_inf() && s.is_zero())) return {0, 0, false, number_class::nan};
  element.sig *= s.sig;
  element.exp += s.exp;
  return element;
}

MXREF_END_NAMESPACE

#endif  // MXREF_SCALE_HPP_
