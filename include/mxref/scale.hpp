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
#include "mxref/overflow.hpp"
#include "mxref/rounding.hpp"

MXREF_BEGIN_NAMESPACE

/// The E8M0 scale 2^exp, clamped to -127..127.
MXREF_HD constexpr E8M0 e8m0_from_exp(int exp) noexcept {
  return E8M0{static_cast<std::uint8_t>(max_of(-127, min_of(127, exp)) + 127)};
}

enum class scale_rule { floor, ceil, even, rceil };

namespace detail {

/// floor(log2 x) of a finite number that is not zero.
MXREF_HD constexpr int floor_log2(const number& x) noexcept { return x.exp + bit_width(x.sig) - 1; }

/// 1 / the largest finite number of a format, rounded to binary32 (nearest even).
MXREF_HD constexpr number reciprocal_of_max(format_desc f) noexcept {
  const number m = to_number(f, f.max_magnitude());
  const std::uint64_t one = std::uint64_t{1} << 62;  // and the largest number has at most 11 bits
  const std::uint64_t quotient = one / m.sig | (one % m.sig != 0 ? 1U : 0U);
  const number exact{quotient, -62 - m.exp, false, number_class::finite};
  return to_number(from_number<float>(exact));
}

}  // namespace detail

/// A rule maps a block's finite amax (the largest magnitude) to its scale.
namespace scale {

/// OCP MX 6.3: s = floor(log2 amax) - emax of the element format, from the exact exponent.
/// An all-zero block gets code 0; s is clamped to -127..127.
struct floor {
  static constexpr scale_rule rule = scale_rule::floor;
  MXREF_HD constexpr E8M0 operator()(const number& amax, format_desc element) const noexcept {
    if (amax.sig == 0) return E8M0{0};
    return e8m0_from_exp(detail::floor_log2(amax) - element.emax());
  }
};

/// s = ceil(log2 amax) - emax: relative to 2^emax, not to the largest element, so up to a binade of
/// the format stays unused. Used by: torchao CEIL.
struct ceil {
  static constexpr scale_rule rule = scale_rule::ceil;
  MXREF_HD constexpr E8M0 operator()(const number& amax, format_desc element) const noexcept {
    if (amax.sig == 0) return E8M0{0};
    const bool power_of_two = (amax.sig & (amax.sig - 1)) == 0;
    return e8m0_from_exp(detail::floor_log2(amax) + (power_of_two ? 0 : 1) - element.emax());
  }
};

/// floor of amax rounded to the element's precision: half an element ulp is added to amax as a
/// binary32 number, then s = floor(log2 amax) - emax. An amax that leaves binary32 by that makes
/// the scale NaN. INT8 counts as 6 mantissa bits. Used by: torchao EVEN, AMD Quark even_round.
struct even {
  static constexpr scale_rule rule = scale_rule::even;
  MXREF_HD constexpr E8M0 operator()(const number& amax, format_desc element) const noexcept {
    if (amax.sig == 0) return E8M0{0};
    const int man_bits =
        element.code == encoding::twos_complement ? element.man_bits - 1 : element.man_bits;
    // amax + 2^half reaches 2^next? binary32's subnormals have the ulp of the binade above.
    const int floor_log2 = detail::floor_log2(amax);
    const int half = max_of(floor_log2, -126) - man_bits - 1;
    const int next = max_of(floor_log2 + 1, -126);
    const number threshold{low_mask(next - half), half, false, number_class::finite};
    const int exp = next - (detail::magnitude_less(amax, threshold) ? 1 : 0);
    if (exp > 127) return E8M0{E8M0::desc.nan_code()};
    return e8m0_from_exp(exp - element.emax());
  }
};

/// The smallest power of two that lets the block fit: 2^s is d rounded up, d = RN(amax * RN(1 /
/// M)), both in binary32, M the largest element. Saturates at 2^127. Used by: torchao RCEIL,
/// TransformerEngine MXFP8, cuBLAS and cuDNN.
struct rceil {
  static constexpr scale_rule rule = scale_rule::rceil;
  MXREF_HD constexpr E8M0 operator()(const number& amax, format_desc element) const noexcept {
    const number r = detail::reciprocal_of_max(element);
    // binary64 amax have up to 53 bits, too many for one product: they are binary32 first.
    const number a = to_number(from_number<float>(amax));
    const number product{a.sig * r.sig, a.exp + r.exp, false, a.cls};
    const number d = to_number(from_number<float>(product));
    return E8M0{
        static_cast<std::uint8_t>(to_code(E8M0::desc, d, rounding::up{}, overflow::saturate{}))};
  }
};

/// The rule chosen at run time.
struct dynamic {
  scale_rule rule = scale_rule::floor;
  MXREF_HD constexpr E8M0 operator()(const number& amax, format_desc element) const noexcept {
    switch (rule) {
      case scale_rule::floor:
        return floor{}(amax, element);
      case scale_rule::ceil:
        return ceil{}(amax, element);
      case scale_rule::even:
        return even{}(amax, element);
      case scale_rule::rceil:
        return rceil{}(amax, element);
    }
    return E8M0{E8M0::desc.nan_code()};
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
