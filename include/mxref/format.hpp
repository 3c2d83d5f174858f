// SPDX-License-Identifier: Apache-2.0
// Level 2. A number format is data: format_desc and what follows from it.
#ifndef MXREF_FORMAT_HPP_
#define MXREF_FORMAT_HPP_

#include <cstdint>

#include "mxref/bits.hpp"
#include "mxref/config.hpp"

MXREF_BEGIN_NAMESPACE

/// Which codes are not finite numbers.
enum class specials : std::uint8_t {
  none,           ///< every code is a finite number (FP6, FP4, INT8)
  ieee,           ///< the top exponent field holds Inf and NaNs (E5M2, binary16, ...)
  nan_only,       ///< the all-ones magnitude is NaN, there is no Inf (E4M3, E8M0)
  nan_for_minus0  ///< the code of -0 is the only NaN, there is no Inf ("fnuz" types)
};

/// How sign and magnitude become a code.
enum class encoding : std::uint8_t {
  sign_magnitude,   ///< sign bit above the magnitude
  twos_complement,  ///< fixed point: code * quantum (INT8)
  unsigned_value,   ///< no sign bit (unsigned E4M3)
  exponent_only     ///< no sign, no zero, no subnormals: exponent field 0 is a power of two (E8M0)
};

/// A binary format of at most 64 bits. For a code with exponent field E and mantissa T:
/// value = (1 + T * 2^-man_bits) * 2^(E - bias) for E > 0, and T * 2^(emin - man_bits) for E = 0.
struct format_desc {
  int exp_bits;
  int man_bits;
  int bias;
  specials special = specials::none;
  encoding code = encoding::sign_magnitude;

  MXREF_HD constexpr bool has_sign() const noexcept {
    return code == encoding::sign_magnitude || code == encoding::twos_complement;
  }
  MXREF_HD constexpr bool has_inf() const noexcept { return special == specials::ieee; }
  MXREF_HD constexpr bool has_nan() const noexcept { return special != specials::none; }

  MXREF_HD constexpr int magnitude_bits() const noexcept { return exp_bits + man_bits; }
  MXREF_HD constexpr int total_bits() const noexcept {
    return magnitude_bits() + (has_sign() ? 1 : 0);
  }

  /// Exponent of the smallest normal number.
  MXREF_HD constexpr int emin() const noexcept {
    return code == encoding::exponent_only ? -bias : 1 - bias;
  }
  /// The smallest positive subnormal, the ulp of everything below 2^(emin + 1), is 2^quantum_exp.
  MXREF_HD constexpr int quantum_exp() const noexcept { return emin() - man_bits; }

  /// Magnitude of the largest finite number (for INT8 the symmetric one, 127).
  MXREF_HD constexpr std::uint64_t max_magnitude() const noexcept {
    const std::uint64_t all_ones = low_mask(magnitude_bits());
    if (special == specials::ieee) return inf_magnitude() - 1;
    return special == specials::nan_only ? all_ones - 1 : all_ones;
  }
  /// Exponent of the largest finite number.
  MXREF_HD constexpr int emax() const noexcept {
    if (code == encoding::twos_complement) return man_bits - 1 + quantum_exp();
    const auto field = static_cast<int>(max_magnitude() >> man_bits);
    return field == 0 && code != encoding::exponent_only ? emin() - 1 : field - bias;
  }
  /// Magnitude of Inf; meaningful for specials::ieee.
  MXREF_HD constexpr std::uint64_t inf_magnitude() const noexcept {
    return low_mask(exp_bits) << man_bits;
  }
  MXREF_HD constexpr std::uint64_t sign_code() const noexcept {
    return has_sign() ? std::uint64_t{1} << magnitude_bits() : 0;
  }
  /// The code written for NaN. 8-bit types use all ones (0x7F), wider IEEE types the quiet bit
  /// alone (binary32: 0x7FC00000). A format without NaN gives its largest value, as CUDA's
  /// conversions do; a two's complement format gives 0.
  MXREF_HD constexpr std::uint64_t nan_code() const noexcept {
    switch (special) {
      case specials::none:
        return code == encoding::twos_complement ? 0 : max_magnitude();
      case specials::nan_for_minus0:
        return sign_code();
      case specials::ieee:
        if (total_bits() > 8) return inf_magnitude() | std::uint64_t{1} << (man_bits - 1);
        break;
      case specials::nan_only:
        break;
    }
    return low_mask(magnitude_bits());
  }

  friend constexpr bool operator==(const format_desc&, const format_desc&) noexcept = default;
};

/// What an element, scale or output type must satisfy: a code that fits 32 bits, values exact in
/// binary64, and products of two values within the range of the exact accumulators.
MXREF_HD constexpr bool is_valid(const format_desc& f) noexcept {
  if (f.exp_bits < 0 || f.exp_bits > 8 || f.man_bits < 0 || f.man_bits > 23) return false;
  if (f.magnitude_bits() < 1 || f.total_bits() > 32) return false;
  switch (f.code) {
    case encoding::twos_complement:
      if (f.exp_bits != 0 || f.special != specials::none) return false;
      break;
    case encoding::exponent_only:
      if (f.exp_bits == 0 || f.man_bits != 0 || f.special == specials::ieee) return false;
      break;
    case encoding::sign_magnitude:
    case encoding::unsigned_value:
      if (f.exp_bits == 0) return false;
      break;
  }
  if (f.special == specials::ieee && f.man_bits == 0) return false;
  if (f.special == specials::nan_for_minus0 && f.code != encoding::sign_magnitude) return false;
  return f.quantum_exp() >= -149 && f.emax() <= 127;
}

/// What a block scale must satisfy besides: one byte, no sign and no Inf; or it is binary32, of
/// which a negative scale is as good as any.
MXREF_HD constexpr bool is_valid_scale(const format_desc& f) noexcept {
  if (f == format_desc{8, 23, 127, specials::ieee}) return true;
  return is_valid(f) && f.total_bits() <= 8 && !f.has_sign() && !f.has_inf();
}

MXREF_END_NAMESPACE

#endif  // MXREF_FORMAT_HPP_
