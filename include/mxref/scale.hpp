// SPDX-License-Identifier: Apache-2.0
// Level 3. How a block's shared scale is chosen, and what a scale does to an element.
#ifndef MXREF_SCALE_HPP_
#define MXREF_SCALE_HPP_

#include <concepts>
#include <cstdint>

#include "mxref/binary32.hpp"
#include "mxref/bits.hpp"
#include "mxref/config.hpp"
#include "mxref/convert.hpp"
#include "mxref/formats.hpp"
#include "mxref/overflow.hpp"
#include "mxref/rounded_log2.hpp"
#include "mxref/rounding.hpp"

MXREF_BEGIN_NAMESPACE

/// The E8M0 scale 2^exp, clamped to -127..127.
MXREF_HD constexpr E8M0 e8m0_from_exp(int exp) noexcept {
  return E8M0{static_cast<std::uint8_t>(max_of(-127, min_of(127, exp)) + 127)};
}

/// Names of the rules with E8M0 scales for tools; each has a policy type of the same name.
enum class scale_rule {
  floor,
  ceil,
  even,
  rceil,
  rceil_div,
  rceil_exact,
  deepgemm,
  microx,
  fbgemm_floor,
  fbgemm_ceil,
  fbgemm_nearest,
  fbgemm_even,
  te_pow2,
  ggml,
  gfloat_amax
};

namespace detail {

MXREF_HD constexpr number max_of_format(format_desc f) noexcept {
  return to_number(f, f.max_magnitude());
}

/// 1 / the largest finite number of a format, rounded to binary32.
MXREF_HD constexpr number reciprocal_of_max(format_desc f) noexcept {
  return in_binary32(quotient(one(), max_of_format(f)));
}

/// The smallest E8M0 scale not below d, at most 2^127.
MXREF_HD constexpr E8M0 e8m0_up(const number& d) noexcept {
  return E8M0{
      static_cast<std::uint8_t>(to_code(E8M0::desc, d, rounding::up{}, overflow::saturate{}))};
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
    // binary64 amax have up to 53 bits, too many for one product: they are binary32 first.
    return detail::e8m0_up(detail::in_binary32(
        multiply(detail::in_binary32(amax), detail::reciprocal_of_max(element))));
  }
};

/// As rceil with d = RN(amax / M), a division in binary32. No amax is known on which the bytes
/// differ. Used by: Triton ROUND_UP, oneDNN dynamic_fp.
struct rceil_div {
  static constexpr scale_rule rule = scale_rule::rceil_div;
  MXREF_HD constexpr E8M0 operator()(const number& amax, format_desc element) const noexcept {
    return detail::e8m0_up(detail::in_binary32(
        detail::quotient(detail::in_binary32(amax), detail::max_of_format(element))));
  }
};

/// As rceil without a rounding: the smallest 2^s >= amax / M. It differs from rceil at amax =
/// M * 2^-127 plus an ulp of binary32, which the quotient in binary32 loses. The same as `bump`:
/// floor, plus one when amax > M * 2^s, that is when the block would saturate.
struct rceil_exact {
  static constexpr scale_rule rule = scale_rule::rceil_exact;
  MXREF_HD constexpr E8M0 operator()(const number& amax, format_desc element) const noexcept {
    if (amax.sig == 0) return E8M0{0};
    const number most = detail::max_of_format(element);
    const int exp = detail::floor_log2(amax) - element.emax();
    const number limit{most.sig, most.exp + exp, false, number_class::finite};
    return e8m0_from_exp(exp + (detail::magnitude_less(limit, amax) ? 1 : 0));
  }
};
using bump = rceil_exact;

/// rceil_div of an amax raised to 1e-4, with codes 1 .. 254. Used by: DeepGEMM with UE8M0 scales.
struct deepgemm {
  static constexpr scale_rule rule = scale_rule::deepgemm;
  MXREF_HD constexpr E8M0 operator()(const number& amax, format_desc element) const noexcept {
    const number least = to_number(1e-4F);
    const E8M0 code = rceil_div{}(detail::magnitude_less(amax, least) ? least : amax, element);
    return code.code == 0 ? E8M0{1} : code;
  }
};

}  // namespace scale

/// A rule gives a code of its scale format; most give E8M0. By default an element is multiplied by
/// 2^-s, exactly, and rounded once. A rule with other arithmetic has a member
///   number descale(number x, Scale code, format_desc element)
/// which is what is rounded; a rule that must see the numbers of a block has a member pick (see
/// nvfp4.hpp).
template <class S>
concept scale_policy = requires(const S s, number amax, format_desc f) {
  requires element_format<decltype(s(amax, f))>;
};

/// The scale type of a rule.
template <scale_policy S>
using scale_type_of = decltype(S{}(number{}, format_desc{}));

enum class nan_mode { poison, finite, gfloat_inf, ignore };

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

/// As the gfloat library: an Inf gives the rule's largest scale (254, where the rule has none of
/// its own) and saturates, a NaN poisons the block. Used by: gfloat, FBGEMM.
struct gfloat_inf {
  static constexpr nan_mode mode = nan_mode::gfloat_inf;
};

/// As C's fmax: a NaN does not enter amax and is encoded alone; an Inf gives the largest scale, so
/// that Inf saturates and finite elements go to zero or near it. Used by: TransformerEngine, ggml.
struct ignore {
  static constexpr nan_mode mode = nan_mode::ignore;
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
/// value itself. The significands together have at most 64 bits. Zero times Inf is NaN, whichever
/// is the scale.
MXREF_HD constexpr number scaled(number element, const number& s) noexcept {
  const bool has_zero = element.is_zero() || s.is_zero();
  if (s.is_nan() || ((element.is_inf() || s.is_inf()) && has_zero)) {
    return {0, 0, false, number_class::nan};
  }
  if (element.is_nan()) return element;
  element.negative = element.negative != s.negative;
  if (s.is_inf()) element.cls = number_class::infinite;
  element.sig *= s.sig;
  element.exp += s.exp;
  return element;
}

MXREF_END_NAMESPACE

#endif  // MXREF_SCALE_HPP_
