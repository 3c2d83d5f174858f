// SPDX-License-Identifier: Apache-2.0
// Level 3. Scale rules of systems that take a rounded logarithm of amax, and scale::dynamic.
//
// log2 in binary32 cannot tell a number a few ulps below a power of two from the power itself: the
// exponent comes out one too large, and the block's largest element saturates or loses a bit. These
// rules reproduce that with integers. Checked: tests/sweep/scale_log2_test.cpp,
// tests/sweep/golden_rules_test.cpp
#ifndef MXREF_SCALE_LOG2_HPP_
#define MXREF_SCALE_LOG2_HPP_

#include <cstdint>

#include "mxref/binary32.hpp"
#include "mxref/bits.hpp"
#include "mxref/config.hpp"
#include "mxref/convert.hpp"
#include "mxref/formats.hpp"
#include "mxref/rounded_log2.hpp"
#include "mxref/scale.hpp"

MXREF_BEGIN_NAMESPACE

namespace detail {

/// 2^-126, which stands for the amax of an all-zero block in microxcaling and FBGEMM.
MXREF_HD constexpr number least_normal() noexcept { return {1, -126, false, number_class::finite}; }

/// E8M0 of an exponent clamped to -127 .. 125, as FBGEMM does for its 4-bit type.
MXREF_HD constexpr E8M0 fbgemm_code(int exp) noexcept { return e8m0_from_exp(min_of(125, exp)); }

}  // namespace detail

namespace scale {

/// floor(RN(log2 amax)) - emax in binary32; beyond 2^127 NaN. An all-zero block counts as 2^-126.
/// Used by: microxcaling's Python path.
struct microx {
  static constexpr scale_rule rule = scale_rule::microx;
  MXREF_HD constexpr E8M0 operator()(const number& amax, format_desc element) const noexcept {
    const number a = detail::in_binary32(amax);
    if (a.is_inf()) return E8M0{E8M0::desc.nan_code()};
    const int exp =
        detail::rounded_log2(a.sig == 0 ? detail::least_normal() : a, 24).floor() - element.emax();
    return exp > 127 ? E8M0{E8M0::desc.nan_code()} : e8m0_from_exp(exp);
  }
};

/// floor(RN(log2 amax)) - emax in binary32, clamped to -127 .. 125. Used by: FBGEMM MX4.
struct fbgemm_floor {
  static constexpr scale_rule rule = scale_rule::fbgemm_floor;
  MXREF_HD constexpr E8M0 operator()(const number& amax, format_desc element) const noexcept {
    const number a = detail::in_binary32(amax);
    if (a.is_inf()) return detail::fbgemm_code(125);
    return detail::fbgemm_code(
        detail::rounded_log2(a.sig == 0 ? detail::least_normal() : a, 24).floor() - element.emax());
  }
};

/// ceil(RN(log2 amax)) - emax in binary32, clamped to -127 .. 125. Used by: FBGEMM MX4.
struct fbgemm_ceil {
  static constexpr scale_rule rule = scale_rule::fbgemm_ceil;
  MXREF_HD constexpr E8M0 operator()(const number& amax, format_desc element) const noexcept {
    const number a = detail::in_binary32(amax);
    if (a.is_inf()) return detail::fbgemm_code(125);
    return detail::fbgemm_code(
        detail::rounded_log2(a.sig == 0 ? detail::least_normal() : a, 24).ceil() - element.emax());
  }
};

/// floor(RN(RN(log2 amax) + 1/2)) - emax in binary32, clamped to -127 .. 125: one more than floor
/// from about sqrt(2) * 2^k on. Used by: FBGEMM MX4.
struct fbgemm_nearest {
  static constexpr scale_rule rule = scale_rule::fbgemm_nearest;
  MXREF_HD constexpr E8M0 operator()(const number& amax, format_desc element) const noexcept {
    const number rounded = detail::in_binary32(amax);
    if (rounded.is_inf()) return detail::fbgemm_code(125);
    const number a = rounded.sig == 0 ? detail::least_normal() : rounded;
    const int e = detail::floor_log2(a);
    // log2 rounds to e + 1/2 from half a unit h of its last place below, h = 2^(j - 24); where e is
    // 0 the sum with 1/2 rounds too, which makes it 3/4 * 2^-24. Threshold of the significand, in
    // 2^-23: sqrt(2) * (1 - h * ln2), with 16 bits of fraction.
    const int twice = e < 0 ? -2 * e - 1 : 2 * e + 1;  // |2e + 1|
    const int j = bit_width(static_cast<std::uint64_t>(twice)) - 2;
    constexpr std::uint64_t sqrt2 = 777472127993;  // floor(sqrt(2) * 2^39)
    constexpr std::uint64_t ln2_sqrt2 = 32121;     // floor(sqrt(2) * ln2 * 2^-1 * 2^16)
    const std::uint64_t lowered = e == 0  ? ln2_sqrt2 * 3 / 4
                                  : j < 0 ? ln2_sqrt2 / 2
                                          : ln2_sqrt2 << j;
    const std::uint64_t sig = a.sig << (24 - bit_width(a.sig)) << 16;
    return detail::fbgemm_code(e + (sig >= sqrt2 - lowered ? 1 : 0) - element.emax());
  }
};

/// floor(RN(log2 y)) - emax, clamped to -127 .. 125, where y has the pattern of amax plus half an
/// element ulp less one: one more than floor above the tie, where `even` is so from the tie on.
/// Where the pattern is a NaN's so is the scale (FBGEMM writes code 0 and elements without
/// meaning). Used by: FBGEMM MX4.
struct fbgemm_even {
  static constexpr scale_rule rule = scale_rule::fbgemm_even;
  MXREF_HD constexpr E8M0 operator()(const number& amax, format_desc element) const noexcept {
    const auto bits = bit_cast<std::uint32_t>(from_number<float>(amax));
    const int man_bits =
        element.code == encoding::twos_complement ? element.man_bits - 1 : element.man_bits;
    const number y =
        to_number(binary32_desc, bits + (std::uint32_t{1} << (22 - man_bits)) - std::uint32_t{1});
    if (y.is_inf()) return detail::fbgemm_code(125);
    if (y.is_nan()) return E8M0{E8M0::desc.nan_code()};
    if (y.sig == 0) return E8M0{0};
    return detail::fbgemm_code(detail::rounded_log2(y, 24).floor() - element.emax());
  }
};

/// ceil(RN(log2 RN(amax / M))) in binary32, M the largest element, clamped to -127 .. 127: a few
/// ulps above a power of two it is one less than rceil, and the block saturates. Used by:
/// TransformerEngine's reference with pow_2_scales (MXFP4).
struct te_pow2 {
  static constexpr scale_rule rule = scale_rule::te_pow2;
  MXREF_HD constexpr E8M0 operator()(const number& amax, format_desc element) const noexcept {
    const number d = detail::in_binary32(
        detail::quotient(detail::in_binary32(amax), detail::max_of_format(element)));
    if (d.is_inf()) return e8m0_from_exp(127);
    return d.sig == 0 ? E8M0{0} : e8m0_from_exp(detail::rounded_log2(d, 24).ceil());
  }
};

/// The low byte of floor(RN(log2 amax)) - emax + 127, so that tiny blocks wrap to huge scales; 0
/// for an all-zero block and for Inf. Elements are found by a search, which sends ties toward zero.
/// Used by: ggml MXFP4.
struct ggml {
  static constexpr scale_rule rule = scale_rule::ggml;
  MXREF_HD constexpr E8M0 operator()(const number& amax, format_desc element) const noexcept {
    const number a = detail::in_binary32(amax);
    if (a.is_inf() || a.sig == 0) return E8M0{0};
    return E8M0{
        static_cast<std::uint8_t>(detail::rounded_log2(a, 24).floor() - element.emax() + 127)};
  }
  /// The first of the format's numbers, smallest magnitude first, whose product with 2^s lies
  /// nearest to x: products and distances in binary32.
  MXREF_HD constexpr number descale(const number& x, E8M0 scale,
                                    format_desc element) const noexcept {
    if (x.is_nan()) return x;
    const number s{1, scale.code - 127, false, number_class::finite};
    const number magnitude = detail::in_binary32({x.sig, x.exp, false, x.cls});
    number best{0, 0, x.negative, number_class::finite};
    number least = magnitude;
    for (std::uint64_t code = 1; code <= element.max_magnitude(); ++code) {
      number v = to_number(element, code);
      number distance = detail::minus(detail::times(v, s), magnitude);
      distance.negative = false;
      const bool nearer =
          distance.is_finite() && (least.is_inf() || detail::magnitude_less(distance, least));
      if (!nearer) continue;
      least = distance;
      v.negative = x.negative;
      best = v;
    }
    return best;
  }
};

/// floor(RN(log2 amax)) - emax in binary64. On binary32 numbers it is floor. Used by: gfloat's
/// compute_scale_amax.
struct gfloat_amax {
  static constexpr scale_rule rule = scale_rule::gfloat_amax;
  MXREF_HD constexpr E8M0 operator()(const number& amax, format_desc element) const noexcept {
    if (amax.sig == 0) return E8M0{0};
    return e8m0_from_exp(detail::rounded_log2(amax, 53).floor() - element.emax());
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
      case scale_rule::rceil_div:
        return rceil_div{}(amax, element);
      case scale_rule::rceil_exact:
        return rceil_exact{}(amax, element);
      case scale_rule::deepgemm:
        return deepgemm{}(amax, element);
      case scale_rule::microx:
        return microx{}(amax, element);
      case scale_rule::fbgemm_floor:
        return fbgemm_floor{}(amax, element);
      case scale_rule::fbgemm_ceil:
        return fbgemm_ceil{}(amax, element);
      case scale_rule::fbgemm_nearest:
        return fbgemm_nearest{}(amax, element);
      case scale_rule::fbgemm_even:
        return fbgemm_even{}(amax, element);
      case scale_rule::te_pow2:
        return te_pow2{}(amax, element);
      case scale_rule::ggml:
        return ggml{}(amax, element);
      case scale_rule::gfloat_amax:
        return gfloat_amax{}(amax, element);
    }
    return E8M0{E8M0::desc.nan_code()};
  }
  MXREF_HD constexpr number descale(number x, E8M0 scale, format_desc element) const noexcept {
    if (rule == scale_rule::ggml) return ggml{}.descale(x, scale, element);
    x.exp -= scale.code - 127;
    return x;
  }
};

}  // namespace scale

MXREF_END_NAMESPACE

#endif  // MXREF_SCALE_LOG2_HPP_
