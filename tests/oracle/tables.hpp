// SPDX-License-Identifier: Apache-2.0
// What every code of every format stands for. Nothing here comes from include/mxref: values are
// typed lists, or are enumerated in code order by adding the format's step; no code is ever taken
// apart into fields. All values are exact in binary64.
#ifndef MXREF_TESTS_ORACLE_TABLES_HPP_
#define MXREF_TESTS_ORACLE_TABLES_HPP_

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "policies.hpp"

namespace oracle {

enum class format_id {
  e5m2,
  e4m3,
  e3m2,
  e2m3,
  e2m1,
  int8,
  e8m0,
  ue4m3,
  e4m3fnuz,
  e5m2fnuz,
  e4m3b11fnuz,
  e4m3ieee,
  e3m4,
  bf16,
  f16,
  tf32,
  f32,
};

inline constexpr std::array all_formats{
    format_id::e5m2,     format_id::e4m3,     format_id::e3m2,        format_id::e2m3,
    format_id::e2m1,     format_id::int8,     format_id::e8m0,        format_id::ue4m3,
    format_id::e4m3fnuz, format_id::e5m2fnuz, format_id::e4m3b11fnuz, format_id::e4m3ieee,
    format_id::e3m4,     format_id::bf16,     format_id::f16,         format_id::tf32,
    format_id::f32};

/// How a sign enters a code.
enum class signs {
  bit,                ///< the bit above the magnitude
  bit_no_minus_zero,  ///< the same, but the code of -0 is the NaN
  twos_complement,
  none,  ///< there are no negative numbers
};

struct format {
  std::string name;
  int bits = 0;
  signs sign = signs::bit;
  bool has_zero = true;
  bool one_digit = false;  ///< no mantissa: every non-zero number is a power of two

  /// Finite magnitudes in code order; the index is the code without sign. Empty for binary32,
  /// whose values the machine has itself.
  std::vector<double> magnitudes;
  std::uint32_t largest_code = 0;
  double largest = 0;
  /// The number after the largest one, if the exponent had no limit.
  double beyond = 0;
  /// Code of +Inf.
  std::optional<std::uint32_t> infinity;

  // The codes that a conversion writes: [0] for positive, [1] for negative numbers.
  std::array<std::uint32_t, 2> saturated{};       ///< beyond the range, saturating
  std::array<std::uint32_t, 2> saturated_full{};  ///< the same with the code -2^(bits-1) in use
  std::array<std::uint32_t, 2> unsaturated{};     ///< beyond the range, not saturating
  std::uint32_t nan = 0;                          ///< for a NaN

  std::uint32_t code_count() const { return std::uint32_t{1} << bits; }  ///< not for binary32
  std::uint32_t sign_code() const { return std::uint32_t{1} << (bits - 1); }
  bool has_sign() const { return sign != signs::none; }

  /// Value of the i-th magnitude; magnitude(largest_code + 1) is `beyond`.
  double magnitude(std::uint32_t i) const;
  /// Code of the i-th magnitude with a sign.
  std::uint32_t signed_code(std::uint32_t i, bool negative) const;
  /// Code for a number whose rounded magnitude is above the largest, or which is infinite.
  std::uint32_t overflow_code(bool negative, bool is_inf, rounding r, overflow o) const;
};

const format& get(format_id id);

/// A format of sign bit, exponent field and mantissa field that no table lists.
enum class custom_specials { none, ieee, top_nan, minus_zero_nan };
format make_custom(int exp_bits, int man_bits, int bias, custom_specials specials);
/// Two's complement of `bits` bits; code 1 stands for `step`.
format make_fixed_point(int bits, double step);

enum class value_class { finite, infinite, nan };
struct value {
  value_class cls = value_class::finite;
  bool negative = false;
  double magnitude = 0;

  double signed_value() const { return negative ? -magnitude : magnitude; }
};

value decode(const format& f, std::uint32_t code);

}  // namespace oracle

#endif  // MXREF_TESTS_ORACLE_TABLES_HPP_
