// SPDX-License-Identifier: Apache-2.0
// What the golden tests expect where an oracle and the library part: element rounding and floor
// scales in plain binary64 arithmetic, and a model of microxcaling's binary32 arithmetic. Nothing
// here comes from the library.
#ifndef MXREF_TESTS_SWEEP_GOLDEN_REFERENCE_HPP_
#define MXREF_TESTS_SWEEP_GOLDEN_REFERENCE_HPP_

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

#include "golden_formats.hpp"
#include "mxref/rounding.hpp"

namespace golden {

using mxref::rounding_mode;

inline float to_float(std::uint64_t bits) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(bits));
}

/// Bits of a value that binary32 holds exactly or that overflows it; the quiet NaN for NaN.
inline std::uint64_t float_bits(double x) {
  constexpr double largest = std::numeric_limits<float>::max();
  if (std::isnan(x)) return 0x7FC00000;
  if (std::fabs(x) > largest) return std::signbit(x) ? 0xFF800000 : 0x7F800000;
  return std::bit_cast<std::uint32_t>(static_cast<float>(x));
}

inline int exponent_of_smallest_normal(const constants& f) {
  return std::ilogb(f.quantum) + f.mantissa_bits;
}

/// Whether a magnitude with this discarded fraction of an ulp is rounded away from zero.
inline bool rounds_away(double rest, bool odd, bool negative, rounding_mode r) {
  switch (r) {
    case rounding_mode::nearest_even:
      return rest > 0.5 || (rest == 0.5 && odd);
    case rounding_mode::nearest_away:
      return rest >= 0.5;
    case rounding_mode::nearest_toward_zero:
      return rest > 0.5;
    case rounding_mode::toward_zero:
      return false;
    case rounding_mode::up:
      return rest > 0 && !negative;
    case rounding_mode::down:
      return rest > 0 && negative;
    case rounding_mode::to_odd:
      return rest > 0 && !odd;
    case rounding_mode::stochastic:  // has a reference of its own
      break;
  }
  return false;
}

/// Rounds to the format, saturating. Every operation is exact in binary64, so any binary64 number
/// may be given. Zero signs are kept where the format has them.
inline double exact_element(double a, const constants& f, rounding_mode r) {
  const double mag = std::fabs(a);
  const bool integer = f.family == kind::integer;
  double rounded = mag;
  if (mag != 0 && std::isfinite(mag)) {
    const int e = std::max(std::ilogb(mag), exponent_of_smallest_normal(f));
    const double ulp = integer ? f.quantum : std::ldexp(1.0, e - f.mantissa_bits);
    const double kept = std::floor(mag / ulp);
    const double rest = mag / ulp - kept;
    rounded =
        (kept + (rounds_away(rest, std::fmod(kept, 2) == 1, std::signbit(a), r) ? 1 : 0)) * ulp;
  }
  rounded = std::min(rounded, f.largest_value);
  const bool one_zero = integer || f.family == kind::fnuz;
  return one_zero && rounded == 0 ? 0.0 : std::copysign(rounded, a);
}

/// OCP MX 6.3: the exponent of the scale of a block with this finite amax.
inline int exact_scale_exp(double amax, const constants& f) {
  if (amax == 0) return -127;
  return std::clamp(std::ilogb(amax) - std::ilogb(f.largest_value), -127, 127);
}

/// Element times scale, the value of the dequantized element.
inline double exact_block_element(double x, int scale_exp, const constants& f, rounding_mode r) {
  return std::ldexp(exact_element(std::ldexp(x, -scale_exp), f, r), scale_exp);
}

/// floor(RN(log2 a)) in binary32: one too large when a lies at most N(k) binary32 steps below 2^k.
inline int microx_log2(double a) {
  const int e = std::ilogb(a);
  const int k = e + 1;
  const double step = std::ldexp(1.0, std::max(e - 23, -149));
  const double steps_below = (std::ldexp(1.0, k) - a) / step;
  double most = 0;
  if (k != 0) {
    const double j = k > 0 ? std::ceil(std::log2(k)) - 1 : std::floor(std::log2(-k));
    const int p = k >= -125 ? 24 : 149 + k;
    most = std::floor(std::log(2.0) * std::ldexp(1.0, static_cast<int>(j) - 24 + p));
  }
  return steps_below <= most ? k : e;
}

/// microxcaling's Python element core. Binary32 arithmetic: |A| + 0.5 is rounded, the private
/// exponent is microx_log2, and +-0 gives +0.
inline double microx_element(double a, const constants& f, rounding_mode r) {
  if (std::isnan(a) || std::isinf(a)) return a;
  if (a == 0) return 0.0;
  const bool integer = f.family == kind::integer;
  const int shift = integer ? -std::ilogb(f.quantum) : f.mantissa_bits;
  const int exp = integer ? 0 : std::max(microx_log2(std::fabs(a)), exponent_of_smallest_normal(f));
  if (exp == 128) return std::numeric_limits<double>::quiet_NaN();  // Inf / Inf
  const auto scaled = static_cast<float>(std::ldexp(std::fabs(a), shift - exp));
  float kept = std::floor(r == rounding_mode::toward_zero ? scaled : scaled + 0.5F);
  if (r == rounding_mode::nearest_even && std::fmod(scaled - 0.5F, 2.0F) == 0) kept -= 1;
  const double value = std::ldexp(static_cast<double>(kept), exp - shift);
  return std::copysign(std::min(value, f.largest_value), a);
}

/// Exponent of microxcaling's shared scale; above 127 it is NaN.
inline int microx_scale_exp(double amax, const constants& f) {
  const int exp = (amax == 0 ? -126 : microx_log2(amax)) - std::ilogb(f.largest_value);
  return std::max(exp, -127);
}

}  // namespace golden

#endif  // MXREF_TESTS_SWEEP_GOLDEN_REFERENCE_HPP_
