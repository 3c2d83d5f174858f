// SPDX-License-Identifier: Apache-2.0
// Level 2. Codes to numbers and back, for every format. to_code is the only way to make a code.
#ifndef MXREF_CONVERT_HPP_
#define MXREF_CONVERT_HPP_

#include <concepts>
#include <cstdint>

#include "mxref/bits.hpp"
#include "mxref/config.hpp"
#include "mxref/format.hpp"
#include "mxref/overflow.hpp"
#include "mxref/rounding.hpp"

MXREF_BEGIN_NAMESPACE

enum class number_class : std::uint8_t { finite, infinite, nan };

/// A number taken apart: (-1)^negative * sig * 2^exp. Zero is sig = 0 and keeps its sign.
/// The significand is not normalised: a subnormal keeps the exponent of its format's quantum.
struct number {
  std::uint64_t sig = 0;
  int exp = 0;
  bool negative = false;
  number_class cls = number_class::finite;

  MXREF_HD constexpr bool is_nan() const noexcept { return cls == number_class::nan; }
  MXREF_HD constexpr bool is_inf() const noexcept { return cls == number_class::infinite; }
  MXREF_HD constexpr bool is_finite() const noexcept { return cls == number_class::finite; }
  MXREF_HD constexpr bool is_zero() const noexcept { return is_finite() && sig == 0; }
};

namespace detail {

/// |a| < |b| for finite numbers: significands at one exponent need no alignment.
MXREF_HD constexpr bool magnitude_less(const number& a, const number& b) noexcept {
  if (a.sig == 0 || b.sig == 0) return a.sig == 0 && b.sig != 0;
  const int wa = bit_width(a.sig);
  const int wb = bit_width(b.sig);
  if (a.exp + wa != b.exp + wb) return a.exp + wa < b.exp + wb;
  return (a.sig << (64 - wa)) < (b.sig << (64 - wb));
}

}  // namespace detail

/// binary32 and binary64 as formats, for the two native types.
inline constexpr format_desc binary32_desc{8, 23, 127, specials::ieee};
inline constexpr format_desc binary64_desc{11, 52, 1023, specials::ieee};

/// The number that a code stands for, exactly. Bits above the format's width are ignored.
/// Source: OCP OFP8 5.1, OCP MX 5.3 and 5.4.1. Checked: tests/spec,
/// tests/sweep/golden_decode_test.cpp.
MXREF_HD constexpr number to_number(format_desc f, std::uint64_t code) noexcept {
  code &= low_mask(f.total_bits());
  number n;
  n.negative = (code & f.sign_code()) != 0;
  if (f.code == encoding::twos_complement) {
    n.sig = n.negative ? (f.sign_code() << 1) - code : code;
    n.exp = f.quantum_exp();
    return n;
  }
  const std::uint64_t mag = code & low_mask(f.magnitude_bits());
  const auto field = static_cast<int>(mag >> f.man_bits);
  n.sig = mag & low_mask(f.man_bits);
  if ((f.special == specials::ieee && mag >= f.inf_magnitude()) ||
      (f.special == specials::nan_only && mag == low_mask(f.magnitude_bits())) ||
      (f.special == specials::nan_for_minus0 && n.negative && mag == 0)) {
    const bool inf = f.special == specials::ieee && n.sig == 0;
    n.cls = inf ? number_class::infinite : number_class::nan;
    n.sig = 0;
    return n;
  }
  if (field == 0 && f.code != encoding::exponent_only) {
    n.exp = f.quantum_exp();
  } else {
    n.sig |= std::uint64_t{1} << f.man_bits;
    n.exp = field - f.bias - f.man_bits;
  }
  return n;
}

namespace detail {

/// Whether a policy rounds a number that lies beyond the finite range back to it (IEEE 754 7.4).
MXREF_HD constexpr bool rounds_inward(rounding_mode mode, bool negative) noexcept {
  return mode == rounding_mode::toward_zero || (mode == rounding_mode::up && negative) ||
         (mode == rounding_mode::down && !negative);
}

MXREF_HD constexpr std::uint64_t join_sign(format_desc f, bool negative,
                                           std::uint64_t mag) noexcept {
  if (!negative || !f.has_sign()) return mag;
  if (f.code == encoding::twos_complement)
    return ((f.sign_code() << 1) - mag) & low_mask(f.total_bits());
  return f.sign_code() | mag;
}

MXREF_HD constexpr std::uint64_t overflow_code(format_desc f, bool negative, bool from_inf,
                                               rounding_mode r, overflow_mode o) noexcept {
  const bool to_special = o == overflow_mode::nonsaturating && f.special != specials::none &&
                          (from_inf || !rounds_inward(r, negative));
  if (!to_special) {
    const bool full = o == overflow_mode::saturate_full && f.code == encoding::twos_complement;
    return join_sign(f, negative, f.max_magnitude() + (full && negative ? 1U : 0U));
  }
  return join_sign(f, negative, f.has_inf() ? f.inf_magnitude() : f.nan_code());
}

}  // namespace detail

/// Rounds a number to a code of the format.
///
/// Rounds:  once, to the ulp of the number's binade or to the quantum below emin; a carry walks
///          into the exponent field by itself. Overflow is decided on the rounded result.
/// Errors:  none. NaN gives f.nan_code(). A negative number in an unsigned format: policy n.
/// Source:  OCP OFP8 5.2, OCP MX 6.3; zero signs are kept where the format has them.
/// Checked: tests/sweep/encode_test.cpp (exhaustive against thresholds),
/// tests/sweep/golden_encode_test.cpp
template <rounding_policy R, overflow_policy O = overflow::saturate,
          negative_policy N = negative::to_nan>
MXREF_HD constexpr std::uint64_t to_code(format_desc f, number x, R r, O o = {},
                                         N n = {}) noexcept {
  if (x.is_nan()) return f.nan_code();
  if (!f.has_sign() && x.negative) {
    if (n.mode == negative_mode::to_nan && !x.is_zero()) return f.nan_code();
    x.negative = false;
  }
  if (x.is_inf()) return detail::overflow_code(f, x.negative, true, r.mode, o.mode);
  std::uint64_t mag = 0;
  if (x.sig != 0) {
    const int e = max_of(x.exp + bit_width(x.sig) - 1, f.emin());
    if (e > f.emax() + 1) return detail::overflow_code(f, x.negative, false, r.mode, o.mode);
    mag = round_shift(x.sig, e - f.man_bits - x.exp, x.negative, r) +
          (static_cast<std::uint64_t>(e - f.emin()) << f.man_bits);
    if (f.code == encoding::exponent_only && mag != 0) --mag;  // field 0 is 2^emin, not zero
    if (mag > f.max_magnitude()) {
      return detail::overflow_code(f, x.negative, false, r.mode, o.mode);
    }
  }
  if (mag == 0 && f.special == specials::nan_for_minus0) return 0;
  return detail::join_sign(f, x.negative, mag);
}

template <class T>
concept native_float = std::same_as<T, float> || std::same_as<T, double>;

MXREF_HD constexpr number to_number(float x) noexcept {
  return to_number(binary32_desc, bit_cast<std::uint32_t>(x));
}
MXREF_HD constexpr number to_number(double x) noexcept {
  return to_number(binary64_desc, bit_cast<std::uint64_t>(x));
}

/// The native float nearest to a number (ties to even); beyond the range Inf, NaN is the quiet NaN.
template <native_float T>
MXREF_HD constexpr T from_number(const number& x) noexcept {
  if constexpr (std::same_as<T, float>) {
    return bit_cast<float>(static_cast<std::uint32_t>(
        to_code(binary32_desc, x, rounding::nearest_even{}, overflow::nonsaturating{})));
  } else {
    return bit_cast<double>(
        to_code(binary64_desc, x, rounding::nearest_even{}, overflow::nonsaturating{}));
  }
}

MXREF_END_NAMESPACE

#endif  // MXREF_CONVERT_HPP_
