// SPDX-License-Identifier: Apache-2.0
// Level 4. Decoded operands: what the accumulation policies read, the same for every format.
#ifndef MXREF_TERMS_HPP_
#define MXREF_TERMS_HPP_

#include <cstdint>

#include "mxref/bits.hpp"
#include "mxref/config.hpp"
#include "mxref/convert.hpp"

MXREF_BEGIN_NAMESPACE

/// A decoded code, value = sig * 2^exp with a signed, unnormalised significand. The three cases
/// without a significand are told by an exponent that no number has, far enough from all others
/// that exponents may be added first and looked at later.
struct term {
  static constexpr std::int32_t zero_exp = -(1 << 24);
  static constexpr std::int32_t inf_exp = 1 << 24;
  static constexpr std::int32_t nan_exp = 1 << 26;

  std::int32_t sig = 0;
  std::int32_t exp = zero_exp;

  MXREF_HD constexpr bool is_nan() const noexcept { return exp == nan_exp; }
  MXREF_HD constexpr bool is_inf() const noexcept { return exp == inf_exp; }
  MXREF_HD constexpr bool is_special() const noexcept { return exp >= inf_exp; }
};

MXREF_HD constexpr term to_term(const number& x) noexcept {
  const int sign = x.negative ? -1 : 1;
  if (x.is_nan()) return {0, term::nan_exp};
  if (x.is_inf()) return {sign, term::inf_exp};
  if (x.sig == 0) return {0, term::zero_exp};
  return {sign * static_cast<std::int32_t>(x.sig), x.exp};
}

/// Consecutive terms of one row for one step of an accumulation, with their block scales:
/// term k belongs to scales[k / block].
struct chunk {
  const term* terms = nullptr;
  const term* scales = nullptr;
  int count = 0;
  int block = 1;
  int man_bits = 0;        ///< of the element format: a term is aligned as sig * 2^-man_bits * 2^e
  bool special = false;    ///< some term or scale is NaN or Inf
  int scale_man_bits = 0;  ///< of the scale format
  int quantum_exp = 0;     ///< of the element format: the least exponent of a term
};

/// The class that NaN and Inf give to a sum of products, by IEEE 754 rules.
struct special_class {
  bool nan = false;
  bool positive_inf = false;
  bool negative_inf = false;

  MXREF_HD constexpr bool any() const noexcept { return nan || positive_inf || negative_inf; }
  MXREF_HD constexpr void add_inf(bool is_negative) noexcept {
    (is_negative ? negative_inf : positive_inf) = true;
  }
  MXREF_HD constexpr void add(const number& x) noexcept {
    nan |= x.is_nan();
    if (x.is_inf()) add_inf(x.negative);
  }
  /// What an accumulator and the products of a step give.
  MXREF_HD static constexpr special_class of_step(const number& acc, const chunk& a,
                                                  const chunk& b) noexcept {
    special_class special;
    special.add(acc);
    if (a.special || b.special) special.add_products(a, b);
    return special;
  }
  /// NaN, or an Inf with its sign; call when any().
  MXREF_HD constexpr number result() const noexcept {
    if (nan || (positive_inf && negative_inf)) return {0, 0, false, number_class::nan};
    return {0, 0, negative_inf, number_class::infinite};
  }
  /// Looks at the products of a pair of chunks, of which one is special. A NaN scale makes NaN
  /// whatever its elements hold; Inf times zero, element or scale, makes NaN.
  MXREF_HD constexpr void add_products(const chunk& a, const chunk& b) noexcept {
    for (int k = 0; k < a.count; ++k) {
      const term factors[4] = {a.terms[k], b.terms[k], a.scales[k / a.block],
                               b.scales[k / b.block]};
      bool has_inf = false;
      bool has_zero = false;
      bool negative = false;
      for (const term& f : factors) {
        nan |= f.is_nan();
        has_inf |= f.is_inf();
        has_zero |= f.exp == term::zero_exp;
        negative = negative != (f.sig < 0);
      }
      nan |= has_inf && has_zero;
      if (has_inf) add_inf(negative);
    }
  }
};

MXREF_END_NAMESPACE

#endif  // MXREF_TERMS_HPP_
