// SPDX-License-Identifier: Apache-2.0
// Level 1. The rounding policies and round_shift, the only function in the library that rounds.
#ifndef MXREF_ROUNDING_HPP_
#define MXREF_ROUNDING_HPP_

#include <concepts>
#include <cstdint>

#include "mxref/bits.hpp"
#include "mxref/config.hpp"
#include "mxref/philox.hpp"

MXREF_BEGIN_NAMESPACE

/// What a policy may look at: the kept integer's parity, the sign, and the discarded part, a
/// fraction of one ulp held as a 64-bit binary fraction plus "there was more below".
struct discarded {
  std::uint64_t fraction;  ///< floor(delta * 2^64), 0 <= delta < 1
  bool sticky;             ///< delta has bits below 2^-64
  bool odd;                ///< the kept integer is odd
  bool negative;           ///< sign of the number

  MXREF_HD constexpr bool inexact() const noexcept { return fraction != 0 || sticky; }
};

/// Names of the rounding policies for tools; each has a policy type of the same name.
enum class rounding_mode {
  nearest_even,
  nearest_away,
  nearest_toward_zero,
  toward_zero,
  up,
  down,
  to_odd,
  stochastic
};

/// Each policy answers one question: is the magnitude rounded away from zero?
namespace rounding {

inline constexpr std::uint64_t half = std::uint64_t{1} << 63;

/// IEEE 754 roundTiesToEven; the mode that OCP MX 5.3 and 6.3 require.
struct nearest_even {
  static constexpr rounding_mode mode = rounding_mode::nearest_even;
  MXREF_HD constexpr bool away(const discarded& d) const noexcept {
    return d.fraction > half || (d.fraction == half && (d.sticky || d.odd));
  }
};

/// IEEE 754 roundTiesToAway.
struct nearest_away {
  static constexpr rounding_mode mode = rounding_mode::nearest_away;
  MXREF_HD constexpr bool away(const discarded& d) const noexcept { return d.fraction >= half; }
};

/// To nearest, ties to the smaller magnitude. Used by: ggml and DeepGEMM, for E2M1.
struct nearest_toward_zero {
  static constexpr rounding_mode mode = rounding_mode::nearest_toward_zero;
  MXREF_HD constexpr bool away(const discarded& d) const noexcept {
    return d.fraction > half || (d.fraction == half && d.sticky);
  }
};

/// IEEE 754 roundTowardZero: truncation of the magnitude.
struct toward_zero {
  static constexpr rounding_mode mode = rounding_mode::toward_zero;
  MXREF_HD constexpr bool away(const discarded&) const noexcept { return false; }
};

/// IEEE 754 roundTowardPositive.
struct up {
  static constexpr rounding_mode mode = rounding_mode::up;
  MXREF_HD constexpr bool away(const discarded& d) const noexcept {
    return d.inexact() && !d.negative;
  }
};

/// IEEE 754 roundTowardNegative.
struct down {
  static constexpr rounding_mode mode = rounding_mode::down;
  MXREF_HD constexpr bool away(const discarded& d) const noexcept {
    return d.inexact() && d.negative;
  }
};

/// Von Neumann rounding: an inexact result gets an odd last bit, so that a second rounding to a
/// format at least two bits narrower gives the same result as a single one. Beyond the largest
/// finite code, an odd one keeps what lies less than an ulp above it; an even one overflows.
struct to_odd {
  static constexpr rounding_mode mode = rounding_mode::to_odd;
  MXREF_HD constexpr bool away(const discarded& d) const noexcept { return d.inexact() && !d.odd; }
};

/// Away from zero with a probability equal to the discarded fraction delta of an ulp, to `bits`
/// bits: away when floor(delta * 2^bits) plus a random integer reaches 2^bits. The random integer
/// is the top `bits` bits of a random word. Representable numbers never move.
///
/// gfloat calls this StochasticFastest; AMD's mxDataGenerator computes it with 23 - man_bits bits.
///
/// Range:   1 <= bits <= 32.
/// Checked: tests/sweep/stochastic_test.cpp, over all random integers of up to 16 bits.
struct stochastic {
  static constexpr rounding_mode mode = rounding_mode::stochastic;
  std::uint32_t random = 0;
  int bits = 32;
  MXREF_HD constexpr bool away(const discarded& d) const noexcept {
    const std::uint64_t floor_delta = d.fraction >> (64 - bits);
    return floor_delta + (random >> (32 - bits)) >= std::uint64_t{1} << bits;
  }
};

/// As stochastic, with both integers taken half a unit higher, which takes away the bias of few
/// bits: away when floor(delta * 2^(bits + 1)) + 2 * random + 1 reaches 2^(bits + 1).
/// gfloat: StochasticFast. Range: 1 <= bits <= 31.
struct stochastic_offset {
  static constexpr rounding_mode mode = rounding_mode::stochastic;
  std::uint32_t random = 0;
  int bits = 31;
  MXREF_HD constexpr bool away(const discarded& d) const noexcept {
    const std::uint64_t floor_delta = d.fraction >> (63 - bits);
    const std::uint64_t r = random >> (32 - bits);
    return floor_delta + 2 * r + 1 >= std::uint64_t{2} << bits;
  }
};

namespace detail {
/// Away when delta * 2^bits, rounded to an integer by R, plus a random integer reaches 2^bits.
template <class R>
struct stochastic_rounded {
  static constexpr rounding_mode mode = rounding_mode::stochastic;
  std::uint32_t random = 0;
  int bits = 32;
  MXREF_HD constexpr bool away(const discarded& d) const noexcept {
    const std::uint64_t kept = d.fraction >> (64 - bits);
    const discarded rest{d.fraction << bits, d.sticky, (kept & 1) != 0, false};
    return kept + (R{}.away(rest) ? 1U : 0U) + (random >> (32 - bits)) >= std::uint64_t{1} << bits;
  }
};
}  // namespace detail

/// As stochastic, but delta * 2^bits is rounded to nearest even. gfloat: Stochastic.
using stochastic_even = detail::stochastic_rounded<nearest_even>;
/// As stochastic, but delta * 2^bits is rounded to odd. gfloat: StochasticOdd.
using stochastic_odd = detail::stochastic_rounded<to_odd>;

/// Stochastic rounding of arrays by one of the above: element i (in C order of the source) has
/// word i of the seed, so that the result depends on neither threads nor the order of the work.
template <class S>
struct philox_of {
  static constexpr rounding_mode mode = rounding_mode::stochastic;
  std::uint64_t seed = 0;
  int bits = S{}.bits;
  /// The policy for element i.
  MXREF_HD constexpr S at(std::uint64_t i) const noexcept { return {philox_word(seed, i), bits}; }
  /// Word 0 of the seed, where there is one number alone.
  MXREF_HD constexpr bool away(const discarded& d) const noexcept { return at(0).away(d); }
};
using philox = philox_of<stochastic>;

/// The policy chosen at run time; seed and bits are those of philox.
struct dynamic {
  rounding_mode mode = rounding_mode::nearest_even;
  std::uint64_t seed = 0;
  int bits = 32;
  std::uint64_t index = 0;

  MXREF_HD constexpr dynamic at(std::uint64_t i) const noexcept { return {mode, seed, bits, i}; }
  MXREF_HD constexpr bool away(const discarded& d) const noexcept {
    switch (mode) {
      case rounding_mode::nearest_even:
        return nearest_even{}.away(d);
      case rounding_mode::nearest_away:
        return nearest_away{}.away(d);
      case rounding_mode::nearest_toward_zero:
        return nearest_toward_zero{}.away(d);
      case rounding_mode::toward_zero:
        return toward_zero{}.away(d);
      case rounding_mode::up:
        return up{}.away(d);
      case rounding_mode::down:
        return down{}.away(d);
      case rounding_mode::to_odd:
        return to_odd{}.away(d);
      case rounding_mode::stochastic:
        return philox{seed, bits}.at(index).away(d);
    }
    return false;
  }
};

}  // namespace rounding

template <class R>
concept rounding_policy = requires(R r, discarded d) {
  { r.away(d) } -> std::convertible_to<bool>;
  { r.mode } -> std::convertible_to<rounding_mode>;
};

/// The policy for element i of an array: its own where the policy depends on the position.
template <rounding_policy R>
MXREF_HD constexpr auto rounding_at(const R& r, std::uint64_t i) noexcept {
  if constexpr (requires { r.at(i); }) {
    return r.at(i);
  } else {
    return r;
  }
}

/// Rounds sig * 2^-shift to an integer by the policy r.
///
/// Rounds:  once. A shift of 0 or less is exact; then sig * 2^-shift must be below 2^64.
///          A shift of any size above 64 is handled (all of sig is the discarded fraction).
/// Checked: tests/sweep/rounding_test.cpp
template <rounding_policy R>
MXREF_HD constexpr std::uint64_t round_shift(std::uint64_t sig, int shift, bool negative,
                                             R r) noexcept {
  if (shift <= 0) return sig << -shift;
  std::uint64_t kept = 0;
  discarded d{0, false, false, negative};
  if (shift < 64) {
    kept = sig >> shift;
    d.fraction = sig << (64 - shift);
  } else if (shift < 128) {
    d.fraction = sig >> (shift - 64);
    d.sticky = (sig & low_mask(shift - 64)) != 0;
  } else {
    d.sticky = sig != 0;
  }
  d.odd = (kept & 1) != 0;
  return kept + (r.away(d) ? 1U : 0U);
}

MXREF_END_NAMESPACE

#endif  // MXREF_ROUNDING_HPP_
