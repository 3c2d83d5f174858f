// SPDX-License-Identifier: Apache-2.0
// Level 3. std::numeric_limits of every element type, for the host.
#ifndef MXREF_LIMITS_HPP_
#define MXREF_LIMITS_HPP_

#include <cstdint>
#include <limits>

#include "mxref/bits.hpp"
#include "mxref/config.hpp"
#include "mxref/element.hpp"
#include "mxref/format.hpp"

/// As for the built-in types, but that functions which a format has no value for (infinity of E4M3)
/// give what encode gives for it. min() is the smallest normal number. (Parentheses: some users
/// have macros min and max.) Checked: tests/sweep/limits_test.cpp, by enumeration and against
/// float.
template <mxref::format_desc D>
class std::numeric_limits<mxref::element<D>> {
  using type = mxref::element<D>;
  using code_type = typename type::code_type;

  // floor(x * log10(2)), 0 <= x < 100.
  static constexpr int digits_of_power(int x) noexcept { return x * 30103 / 100000; }
  /// How many powers of ten above 1 are not above x.
  static constexpr int powers_of_ten(double x) noexcept {
    int count = 0;
    for (double power = 10; power <= x; power *= 10) ++count;
    return count;
  }
  static constexpr bool is_fixed_point = D.code == mxref::encoding::twos_complement;
  static constexpr std::uint64_t smallest_normal() noexcept {
    if (is_fixed_point) return 1;
    return D.code == mxref::encoding::exponent_only ? 0 : std::uint64_t{1} << D.man_bits;
  }
  static constexpr double value(std::uint64_t code) noexcept {
    return mxref::from_number<double>(mxref::to_number(D, code));
  }

 public:
  static constexpr bool is_specialized = true;
  static constexpr bool is_signed = D.has_sign();
  static constexpr bool is_integer = false;
  static constexpr bool is_exact = false;
  static constexpr bool has_infinity = D.has_inf();
  static constexpr bool has_quiet_NaN = D.has_nan();
  static constexpr bool has_signaling_NaN = false;
  static constexpr bool is_iec559 = false;  // elements have no arithmetic
  static constexpr bool is_bounded = true;
  static constexpr bool is_modulo = false;
  static constexpr bool traps = false;
  static constexpr bool tinyness_before = false;
  static constexpr float_round_style round_style = round_to_nearest;

  static constexpr int radix = 2;
  static constexpr int digits = D.man_bits + (is_fixed_point ? 0 : 1);
  static constexpr int digits10 = digits_of_power(digits - 1);
  static constexpr int max_digits10 = digits_of_power(digits) + 2;
  static constexpr int min_exponent = (is_fixed_point ? D.quantum_exp() : D.emin()) + 1;
  static constexpr int max_exponent = D.emax() + 1;
  static constexpr int min_exponent10 = -powers_of_ten(1 / value(smallest_normal()));
  static constexpr int max_exponent10 = powers_of_ten(value(D.max_magnitude()));

  static constexpr type(min)() noexcept { return {static_cast<code_type>(smallest_normal())}; }
  static constexpr type denorm_min() noexcept {
    return {static_cast<code_type>(D.code == mxref::encoding::exponent_only ? 0 : 1)};
  }
  static constexpr type(max)() noexcept { return {static_cast<code_type>(D.max_magnitude())}; }
  static constexpr type lowest() noexcept {
    if (!D.has_sign()) return D.code == mxref::encoding::exponent_only ? (min)() : type{};
    const std::uint64_t low = is_fixed_point ? D.sign_code() : D.sign_code() | D.max_magnitude();
    return {static_cast<code_type>(low)};
  }
  /// The distance from 1 to the next number.
  static constexpr type epsilon() noexcept {
    return from({1, is_fixed_point ? D.quantum_exp() : -D.man_bits});
  }
  static constexpr type round_error() noexcept { return from({1, -1}); }
  static constexpr type infinity() noexcept {
    return from({0, 0, false, mxref::number_class::infinite});
  }
  static constexpr type quiet_NaN() noexcept { return {static_cast<code_type>(D.nan_code())}; }
  static constexpr type signaling_NaN() noexcept { return quiet_NaN(); }

 private:
  static constexpr type from(const mxref::number& x) noexcept {
    return {static_cast<code_type>(
        mxref::to_code(D, x, mxref::rounding::nearest_even{}, mxref::overflow::nonsaturating{}))};
  }
};

#endif  // MXREF_LIMITS_HPP_
