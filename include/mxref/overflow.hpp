// SPDX-License-Identifier: Apache-2.0
// Level 1. What happens beyond the largest finite value, and to negative inputs of unsigned
// formats.
#ifndef MXREF_OVERFLOW_HPP_
#define MXREF_OVERFLOW_HPP_

#include <concepts>

#include "mxref/config.hpp"

MXREF_BEGIN_NAMESPACE

enum class overflow_mode { saturate, nonsaturating, saturate_full };

namespace overflow {

/// Finite overflow and Inf give the largest finite value with the sign (OFP8 5.2 "saturating").
struct saturate {
  static constexpr overflow_mode mode = overflow_mode::saturate;
};

/// Overflow gives Inf where the format has it, else NaN where it has that, else the largest finite
/// value (OFP8 5.2 "non-saturating"). A directed rounding never overflows inward: it gives the
/// largest finite value there.
struct nonsaturating {
  static constexpr overflow_mode mode = overflow_mode::nonsaturating;
};

/// As saturate, but a two's complement format uses its most negative code too (INT8: -128). A block
/// that holds it does not requantize to the same bytes: -2 lies a binade above all other elements.
struct saturate_full {
  static constexpr overflow_mode mode = overflow_mode::saturate_full;
};

/// The policy chosen at run time.
struct dynamic {
  overflow_mode mode = overflow_mode::saturate;
};

}  // namespace overflow

template <class O>
concept overflow_policy = requires(O o) {
  { o.mode } -> std::convertible_to<overflow_mode>;
};

enum class negative_mode { to_nan, abs };

/// How an unsigned format (E8M0, unsigned E4M3) takes a negative number.
namespace negative {

/// A negative number has no representation: the result is NaN.
struct to_nan {
  static constexpr negative_mode mode = negative_mode::to_nan;
};

/// The sign is dropped before anything else, as CUDA's conversions do.
struct abs {
  static constexpr negative_mode mode = negative_mode::abs;
};

/// The policy chosen at run time.
struct dynamic {
  negative_mode mode = negative_mode::to_nan;
};

}  // namespace negative

template <class P>
concept negative_policy = requires(P p) {
  { p.mode } -> std::convertible_to<negative_mode>;
};

MXREF_END_NAMESPACE

#endif  // MXREF_OVERFLOW_HPP_
