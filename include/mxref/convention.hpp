// SPDX-License-Identifier: Apache-2.0
// Level 2. What libraries write where the standards leave a choice: NaN and Inf codes, signs of
// zeros, conversions through a narrower type. Conventions are data; preset.hpp has the known ones.
#ifndef MXREF_CONVENTION_HPP_
#define MXREF_CONVENTION_HPP_

#include <concepts>
#include <cstdint>

#include "mxref/bits.hpp"
#include "mxref/config.hpp"
#include "mxref/convert.hpp"
#include "mxref/element.hpp"
#include "mxref/format.hpp"
#include "mxref/overflow.hpp"
#include "mxref/rounded_log2.hpp"
#include "mxref/rounding.hpp"

MXREF_BEGIN_NAMESPACE

/// The code of a NaN.
enum class nan_result : std::uint8_t {
  canonical,    ///< format_desc::nan_code(), whatever the sign (CUDA)
  with_sign,    ///< the same with the sign of the NaN; IEEE types the quiet bit alone
  all_ones,     ///< every bit set, where the format has a NaN (gfloat)
  largest,      ///< canonical, IEEE types the last NaN but two with the sign bit set (E5M2: 0xFD);
                ///< in formats without NaN the largest number with the sign (mxDataGenerator)
  zero,         ///< in formats without NaN +0 (TransformerEngine, DeepGEMM, ggml)
  flipped_zero  ///< with_sign; in formats without NaN a zero with the other sign (ml_dtypes)
};

/// The code of an Inf.
enum class inf_result : std::uint8_t {
  by_overflow,  ///< as the overflow policy says (OFP8 5.2)
  special,      ///< Inf, else NaN, else the largest number, even when saturating (ml_dtypes)
  zero          ///< in formats without Inf and NaN a zero with the sign (LLVM)
};

/// The sign of a result that is zero.
enum class zero_result : std::uint8_t {
  keeps_sign,       ///< that of the number
  minus_zero_lost,  ///< -0 gives +0, a negative number that rounds to zero gives -0
  positive          ///< always +0
};

/// Where a finite number overflows.
enum class overflow_edge : std::uint8_t {
  rounded,     ///< where the rounded number lies beyond the largest (OFP8 5.2, IEEE 754 7.4)
  magnitude,   ///< the same, but rounding inward does not protect (ml_dtypes kTruncate)
  tie,         ///< a tie that rounds down to the largest overflows too (mxDataGenerator: 464)
  onnxruntime  ///< nonsaturating as ONNX Runtime 1.30: E4M3 [480, 496) gives the largest number,
               ///< E5M2 below 2^16 gives NaN
};

/// The arithmetic of the rounding.
enum class element_arithmetic : std::uint8_t {
  exact,        ///< one rounding of the number itself
  microxcaling  ///< that of its Python path, see detail::microxcaling_element
};

/// Blocks whose elements are all zeros, with their signs, because the block's amax is small: the
/// flush_fp32_subnorms of microxcaling. The elements of other blocks are never flushed.
enum class block_flush : std::uint8_t {
  none,
  subnormal,  ///< amax below 2^-126 (its C++ path)
  rounded     ///< floor(RN(log2 amax)) <= -127 in binary32, which the 22 numbers below 2^-126 are
              ///< not (its Python path)
};

struct element_convention {
  nan_result nan = nan_result::canonical;
  inf_result inf = inf_result::by_overflow;
  zero_result zero = zero_result::keeps_sign;
  overflow_edge edge = overflow_edge::rounded;
  element_arithmetic arithmetic = element_arithmetic::exact;
  /// The number is rounded to this format first, to nearest even: two roundings, as hardware does
  /// that converts through bfloat16 or binary16. format_desc{}: it is not.
  format_desc via{};
  block_flush flush = block_flush::none;

  friend constexpr bool operator==(const element_convention&,
                                   const element_convention&) noexcept = default;
};

/// The convention of mxref, CUDA's, is a type of its own: nothing of this costs anything then.
namespace convention {
struct standard {
  MXREF_HD constexpr operator element_convention() const noexcept { return {}; }
};
/// Through a narrower format first.
MXREF_HD constexpr element_convention via(format_desc f) noexcept {
  element_convention c;
  c.via = f;
  return c;
}
}  // namespace convention

template <class C>
concept convention_policy = std::convertible_to<C, element_convention>;

namespace detail {

MXREF_HD constexpr std::uint64_t nan_by(format_desc f, bool negative, nan_result r) noexcept {
  const bool keeps_sign = r == nan_result::with_sign || r == nan_result::flipped_zero;
  const bool is_ieee = f.special == specials::ieee;
  if (!f.has_nan()) {
    if (f.code == encoding::twos_complement || r == nan_result::zero) return 0;
    if (r == nan_result::flipped_zero) return negative ? 0 : f.sign_code();
    if (r == nan_result::with_sign) return negative ? f.sign_code() : 0;
    return join_sign(f, negative && r == nan_result::largest, f.nan_code());
  }
  if (f.special == specials::nan_for_minus0) return f.nan_code();
  if (r == nan_result::all_ones) return low_mask(f.total_bits());
  if (is_ieee && r == nan_result::largest) return f.sign_code() | (f.inf_magnitude() + 1);
  const std::uint64_t quiet = f.inf_magnitude() | std::uint64_t{1} << max_of(f.man_bits - 1, 0);
  return join_sign(f, keeps_sign && negative, is_ieee && keeps_sign ? quiet : f.nan_code());
}

/// The NaN that an overflow gives in a format without Inf: it keeps the sign where NaN does not
/// have one code alone.
MXREF_HD constexpr std::uint64_t overflow_nan(format_desc f, bool negative, nan_result r) noexcept {
  if (r == nan_result::all_ones) return low_mask(f.total_bits());
  return join_sign(f, negative && r != nan_result::largest, f.nan_code());
}

MXREF_HD constexpr std::uint64_t inf_by(format_desc f, bool negative, rounding_mode r,
                                        overflow_mode o, const element_convention& c) noexcept {
  if (c.inf == inf_result::zero && f.special == specials::none) return join_sign(f, negative, 0);
  const overflow_mode mode = c.inf == inf_result::special ? overflow_mode::nonsaturating : o;
  const bool to_nan = mode == overflow_mode::nonsaturating && f.has_nan() && !f.has_inf() &&
                      f.special != specials::nan_for_minus0;
  return to_nan ? overflow_nan(f, negative, c.nan) : overflow_code(f, negative, true, r, mode);
}

/// Whether the edge of a convention makes another code of a finite number than rounding does, under
/// overflow::nonsaturating; `code` is replaced then.
MXREF_HD constexpr bool meets_edge(format_desc f, const number& x, rounding_mode r,
                                   const element_convention& c, std::uint64_t& code) noexcept {
  if (c.edge == overflow_edge::rounded || !f.has_nan() || x.sig == 0) return false;
  const number most = to_number(f, f.max_magnitude());
  const auto above = [&](std::uint64_t quarters) {  // largest + quarters / 4 of its ulp
    return number{4 * most.sig + quarters, most.exp - 2, false, number_class::finite};
  };
  const auto in = [&](std::uint64_t from, std::uint64_t to) {
    return !magnitude_less(x, above(from)) && magnitude_less(x, above(to));
  };
  switch (c.edge) {
    case overflow_edge::rounded:
      return false;
    case overflow_edge::magnitude:
      if (r != rounding_mode::toward_zero || magnitude_less(x, above(4))) return false;
      break;
    case overflow_edge::tie:
      if (f.has_inf() || !in(2, 3) || magnitude_less(above(2), x)) return false;
      break;
    case overflow_edge::onnxruntime:
      if (f.special == specials::nan_only && in(4, 6)) {
        code = join_sign(f, x.negative, f.max_magnitude());
        return true;
      }
      if (!f.has_inf() || !in(2, 4)) return false;
      code = nan_by(f, x.negative, c.nan);
      return true;
  }
  code = f.has_inf() ? join_sign(f, x.negative, f.inf_magnitude())
                     : overflow_nan(f, x.negative, c.nan);
  return true;
}

/// An element as microxcaling's Python path rounds it. The ulp is that of the exponent
/// floor(RN(log2 |x|)) in binary32, which is one too large just below a power of two; and
/// floor(RN(|x| / ulp + 1/2)) lifts the largest float below half of the smallest step to one step.
/// FLT_MAX becomes NaN in floating-point formats. x is binary32.
template <rounding_policy R>
MXREF_HD constexpr number microxcaling_element(format_desc f, const number& x, R r) noexcept {
  if (x.sig == 0) return x;
  const bool fixed_point = f.code == encoding::twos_complement;
  const int e = fixed_point ? f.emin() : max_of(f.emin(), rounded_log2(x, 24).floor());
  if (e == 128) return {0, 0, x.negative, number_class::nan};
  const int ulp_exp = e - f.man_bits;
  if (x.exp >= ulp_exp) return x;
  const bool nearest =
      r.mode == rounding_mode::nearest_even || r.mode == rounding_mode::nearest_away;
  const bool is_lifted = nearest && x.sig == low_mask(24) && x.exp == ulp_exp - 25;
  const std::uint64_t steps = is_lifted ? 1 : round_shift(x.sig, ulp_exp - x.exp, x.negative, r);
  return {steps, ulp_exp, x.negative, number_class::finite};
}

}  // namespace detail

/// to_code by a convention: what a library writes.
///
/// Rounds:  once, after a conversion to c.via (nearest even) where that is a format.
/// Errors:  none.
/// Checked: tests/sweep/golden_preset_test.cpp, against every oracle and all its inputs.
template <rounding_policy R, overflow_policy O>
MXREF_HD constexpr std::uint64_t to_code_by(format_desc f, number x, R r, O o,
                                            const element_convention& c) noexcept {
  const bool was_zero = x.is_zero();
  if (c.via != format_desc{} && x.is_finite()) {
    x = to_number(c.via, to_code(c.via, x, rounding::nearest_even{}, overflow::nonsaturating{}));
  }
  if (x.is_nan()) return detail::nan_by(f, x.negative, c.nan);
  if (x.is_inf()) return detail::inf_by(f, x.negative, r.mode, o.mode, c);
  if (c.arithmetic == element_arithmetic::microxcaling) {
    x = detail::microxcaling_element(f, to_number(from_number<float>(x)), r);
    if (x.is_nan()) return detail::nan_by(f, x.negative, c.nan);
  }
  std::uint64_t code = 0;
  if (o.mode == overflow_mode::nonsaturating && detail::meets_edge(f, x, r.mode, c, code)) {
    return code;
  }
  code = to_code(f, x, r, o);
  const number got = to_number(f, code);
  if (got.is_nan()) return detail::overflow_nan(f, x.negative, c.nan);
  if (!got.is_zero() || c.zero == zero_result::keeps_sign) return code;
  return was_zero || c.zero == zero_result::positive ? 0 : code;
}
template <rounding_policy R, overflow_policy O>
MXREF_HD constexpr std::uint64_t to_code_by(format_desc f, number x, R r, O o,
                                            convention::standard) noexcept {
  return to_code(f, x, r, o);
}

MXREF_END_NAMESPACE

#endif  // MXREF_CONVENTION_HPP_
