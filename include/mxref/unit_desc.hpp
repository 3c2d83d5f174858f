// SPDX-License-Identifier: Apache-2.0
// Level 4. The parameters of a matrix unit: every model of hardware is one of these, as data.
#ifndef MXREF_UNIT_DESC_HPP_
#define MXREF_UNIT_DESC_HPP_

#include <cstdint>

#include "mxref/bits.hpp"
#include "mxref/config.hpp"
#include "mxref/convert.hpp"
#include "mxref/format.hpp"
#include "mxref/rounding.hpp"

MXREF_BEGIN_NAMESPACE

/// How well a model is known.
enum class evidence {
  definition,    ///< a mathematical definition: nothing to measure
  measured,      ///< reproduces public measurements of real hardware
  public_model,  ///< equals a published model whose authors compared it with hardware
  guess          ///< extends a published model to inputs that nobody has measured in public
};

constexpr const char* to_string(evidence e) noexcept {
  switch (e) {
    case evidence::definition:
      return "definition";
    case evidence::measured:
      return "measured on hardware";
    case evidence::public_model:
      return "public model, not measured silicon";
    case evidence::guess:
      return "guess: public model extended to formats that nobody has measured in public";
  }
  return "";
}

/// How one step of a unit sums its products and the accumulator.
enum class unit_sum : std::uint8_t {
  window,       ///< products and accumulator are aligned to the largest exponent, cut off toward
                ///< zero fraction_bits below it, and summed; what alignment drops is gone
  two_windows,  ///< the products in a window of their own, then their sum and the accumulator in a
                ///< second one, cut off toward minus infinity; products beyond binary32 are Inf
  exact,        ///< accumulator and products without error, one rounding
  flushed,      ///< binary32 products and additions in a tree of neighbours, then one addition to
                ///< the accumulator; subnormal inputs and results are zero
};

/// Which products of a step are summed apart.
enum class unit_order : std::uint8_t {
  together,        ///< all of a step
  even_odd,        ///< k mod 2 = 0, and k mod 2 = 1
  pairs_of_pairs,  ///< k mod 4 in {0, 1}, and k mod 4 in {2, 3}
};

/// What becomes of a negative sum that the output rounding takes to zero.
enum class underflow_sign : std::uint8_t { kept, dropped };

/// The NaN that a unit writes.
enum class unit_nan : std::uint8_t {
  all_ones,  ///< 0x7FFFFFFF, 0x7FFF: NVIDIA
  quiet      ///< the library's own: 0x7FC00000, 0x7E00
};

/// A matrix unit. One output element starts at C in the accumulator format; a step takes `length`
/// consecutive products and gives the next accumulator; longer K is a chain of steps.
///
/// An exponent belongs to an unnormalised significand: Exp(a) + Exp(b) of a product, plus those of
/// its scales; a subnormal element keeps its format's emin (see element_emin). Zero products have
/// none.
struct unit_desc {
  static constexpr int no_floor = -(1 << 20);
  static constexpr int own_emin = 1 << 20;
  static constexpr int max_interleaved = 64;

  int length = 16;                ///< L: products of one step
  int fraction_bits = 25;         ///< F: fractional bits kept below the largest exponent
  int exponent_floor = no_floor;  ///< the alignment exponent is never below this
  unit_sum sum = unit_sum::window;
  int group = 1;  ///< G: products summed exactly before alignment; the exponent
                  ///< of such a sum is that of its scales alone
  format_desc accumulator = binary32_desc;            ///< C and D of a step
  rounding_mode output = rounding_mode::toward_zero;  ///< or nearest_even
  int output_bits = 23;           ///< mantissa bits that the output rounding keeps
  int second_fraction_bits = 31;  ///< two_windows: bits kept before the output rounding
  unit_order order = unit_order::together;
  int restart = 0;              ///< products of an instruction that starts at +0 and whose
                                ///< result is added to C by one nearest-even addition; 0: none
  int element_emin = own_emin;  ///< elements are normalised down to this exponent where it is
                                ///< below the emin of their format
  underflow_sign underflow = underflow_sign::kept;
  unit_nan nan = unit_nan::all_ones;

  friend constexpr bool operator==(const unit_desc&, const unit_desc&) noexcept = default;

  /// Products that one step of the policy takes.
  MXREF_HD constexpr int step() const noexcept { return restart == 0 ? length : restart; }

  /// NaN in the accumulator format.
  MXREF_HD constexpr std::uint32_t nan_code() const noexcept {
    return static_cast<std::uint32_t>(
        nan == unit_nan::quiet ? accumulator.nan_code() : low_mask(accumulator.magnitude_bits()));
  }
};

namespace detail {

/// ceil(log2 n), n >= 1.
MXREF_HD constexpr int ceil_log2(int n) noexcept {
  return bit_width(static_cast<std::uint64_t>(n) - 1);
}

}  // namespace detail

/// What a unit must satisfy, so that every sum is exact in 63 bits.
MXREF_HD constexpr bool is_valid(const unit_desc& u) noexcept {
  const format_desc& acc = u.accumulator;
  if (!is_valid(acc) || acc.code != encoding::sign_magnitude || acc.special != specials::ieee) {
    return false;
  }
  if (u.length < 1 || u.length > (1 << 16) || u.restart < 0) return false;
  if (u.output != rounding_mode::toward_zero && u.output != rounding_mode::nearest_even) {
    return false;
  }
  if (u.output_bits < 1 || u.output_bits > acc.man_bits) return false;
  if (u.group < 1 || u.group > u.length || u.length % u.group != 0) return false;
  if (u.order != unit_order::together && u.step() > unit_desc::max_interleaved) return false;
  if ((u.sum == unit_sum::flushed || u.sum == unit_sum::exact) &&
      (u.group != 1 || u.order != unit_order::together || u.restart != 0)) {
    return false;
  }
  if (u.sum == unit_sum::flushed) {
    return acc == binary32_desc && u.length <= unit_desc::max_interleaved;
  }
  if (u.sum == unit_sum::exact) return true;
  const int headroom = 3 + detail::ceil_log2(u.length + 1);
  if (u.fraction_bits < 1 || u.fraction_bits + headroom > 62) return false;
  if (u.sum == unit_sum::two_windows) {
    return u.group == 1 && u.restart == 0 && u.second_fraction_bits >= u.fraction_bits &&
           u.second_fraction_bits + 1 + headroom <= 62;
  }
  if (u.order == unit_order::even_odd) return false;
  return u.order == unit_order::together || (u.restart != 0 && u.group == 1);
}

MXREF_END_NAMESPACE

#endif  // MXREF_UNIT_DESC_HPP_
