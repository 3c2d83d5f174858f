// SPDX-License-Identifier: Apache-2.0
#include "tables.hpp"

#include <bit>
#include <cmath>
#include <limits>
#include <stdexcept>
#include <utility>

namespace oracle {
namespace {

static_assert(std::numeric_limits<float>::is_iec559 && std::numeric_limits<double>::is_iec559);

// One row per format, in the order of all_formats, as the specifications print them: OCP MX 1.0
// tables 2 to 7, OFP8 1.0 tables 1 and 2, IEEE 754 for the wide ones.
struct value_row {
  const char* name;
  int bits;
  signs sign;
  std::uint32_t per_binade;  // numbers in one binade
  double smallest;
  double largest;
  double beyond;
};

// The codes that a conversion writes.
struct code_row {
  std::uint32_t largest;
  std::uint32_t minus_largest;
  std::uint32_t over;  // beyond the range, not saturating
  std::uint32_t minus_over;
  std::uint32_t nan;
  bool over_is_inf;
};

// clang-format off
constexpr value_row value_rows[] = {
    {"e5m2",        8,  signs::bit,               4,    0x1p-16,  57344,          65536},
    {"e4m3",        8,  signs::bit,               8,    0x1p-9,   448,            480},
    {"e3m2",        6,  signs::bit,               4,    0x1p-4,   28,             32},
    {"e2m3",        6,  signs::bit,               8,    0x1p-3,   7.5,            8},
    {"e2m1",        4,  signs::bit,               2,    0.5,      6,              8},
    {"int8",        8,  signs::twos_complement,   128,  0x1p-6,   1.984375,       2},
    {"e8m0",        8,  signs::none,              1,    0x1p-127, 0x1p127,        0x1p128},
    {"ue4m3",       7,  signs::none,              8,    0x1p-9,   448,            480},
    {"e4m3fnuz",    8,  signs::bit_no_minus_zero, 8,    0x1p-10,  240,            256},
    {"e5m2fnuz",    8,  signs::bit_no_minus_zero, 4,    0x1p-17,  57344,          65536},
    {"e4m3b11fnuz", 8,  signs::bit_no_minus_zero, 8,    0x1p-13,  30,             32},
    {"e4m3ieee",    8,  signs::bit,               8,    0x1p-9,   240,            256},
    {"e3m4",        8,  signs::bit,               16,   0x1p-6,   15.5,           16},
    {"bf16",        16, signs::bit,               128,  0x1p-133, 0x1.FEp127,     0x1p128},
    {"f16",         16, signs::bit,               1024, 0x1p-24,  65504,          65536},
    {"tf32",        19, signs::bit,               1024, 0x1p-136, 0x1.FFCp127,    0x1p128},
    {"f32",         32, signs::bit,               0,    0x1p-149, 0x1.FFFFFEp127, 0x1p128},
};

constexpr code_row code_rows[] = {
    {/*e5m2       */ 0x7B,       0xFB,       0x7C,       0xFC,       0x7F,       true},
    {/*e4m3       */ 0x7E,       0xFE,       0x7F,       0xFF,       0x7F,       false},
    {/*e3m2       */ 0x1F,       0x3F,       0x1F,       0x3F,       0x1F,       false},
    {/*e2m3       */ 0x1F,       0x3F,       0x1F,       0x3F,       0x1F,       false},
    {/*e2m1       */ 0x7,        0xF,        0x7,        0xF,        0x7,        false},
    {/*int8       */ 0x7F,       0x81,       0x7F,       0x81,       0,          false},
    {/*e8m0       */ 0xFE,       0,          0xFF,       0,          0xFF,       false},
    {/*ue4m3      */ 0x7E,       0,          0x7F,       0,          0x7F,       false},
    {/*e4m3fnuz   */ 0x7F,       0xFF,       0x80,       0x80,       0x80,       false},
    {/*e5m2fnuz   */ 0x7F,       0xFF,       0x80,       0x80,       0x80,       false},
    {/*e4m3b11fnuz*/ 0x7F,       0xFF,       0x80,       0x80,       0x80,       false},
    {/*e4m3ieee   */ 0x77,       0xF7,       0x78,       0xF8,       0x7F,       true},
    {/*e3m4       */ 0x6F,       0xEF,       0x70,       0xF0,       0x7F,       true},
    {/*bf16       */ 0x7F7F,     0xFF7F,     0x7F80,     0xFF80,     0x7FC0,     true},
    {/*f16        */ 0x7BFF,     0xFBFF,     0x7C00,     0xFC00,     0x7E00,     true},
    {/*tf32       */ 0x3FBFF,    0x7FBFF,    0x3FC00,    0x7FC00,    0x3FE00,    true},
    {/*f32        */ 0x7F7FFFFF, 0xFF7FFFFF, 0x7F800000, 0xFF800000, 0x7FC00000, true},
};
// clang-format on

// OCP MX 1.0, 5.3.2 and 5.3.3: the short formats as whole lists.
constexpr std::array fp4_values{0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0};
constexpr std::array e2m3_values{0.0, 0.125, 0.25, 0.375, 0.5, 0.625, 0.75, 0.875,
                                 1.0, 1.125, 1.25, 1.375, 1.5, 1.625, 1.75, 1.875,
                                 2.0, 2.25,  2.5,  2.75,  3.0, 3.25,  3.5,  3.75,
                                 4.0, 4.5,   5.0,  5.5,   6.0, 6.5,   7.0,  7.5};
constexpr std::array e3m2_values{0.0, 0.0625, 0.125, 0.1875, 0.25, 0.3125, 0.375, 0.4375,
                                 0.5, 0.625,  0.75,  0.875,  1.0,  1.25,   1.5,   1.75,
                                 2.0, 2.5,    3.0,   3.5,    4.0,  5.0,    6.0,   7.0,
                                 8.0, 10.0,   12.0,  14.0,   16.0, 20.0,   24.0,  28.0};

// Magnitudes in code order. Subnormals and the first binade share one step; it doubles at the start
// of every later binade.
std::vector<double> by_steps(double smallest, std::uint32_t per_binade, std::uint32_t last_code) {
  std::vector<double> values{0};
  values.reserve(last_code + std::size_t{1});
  double step = smallest;
  for (std::uint32_t code = 0; code < last_code; ++code) {
    if (code >= 2 * per_binade && code % per_binade == 0) step *= 2;
    values.push_back(values.back() + step);
  }
  return values;
}

std::vector<double> by_doubling(double smallest, std::uint32_t last_code) {
  std::vector<double> values{smallest};
  for (std::uint32_t code = 0; code < last_code; ++code) values.push_back(2 * values.back());
  return values;
}

void require(bool condition, const std::string& format_name) {
  if (!condition) throw std::logic_error("oracle table of " + format_name + " is inconsistent");
}

format build(format_id id, const value_row& r, const code_row& c) {
  format f;
  f.name = r.name;
  f.bits = r.bits;
  f.sign = r.sign;
  f.largest_code = c.largest;
  f.largest = r.largest;
  f.beyond = r.beyond;
  if (c.over_is_inf) f.infinity = c.over;
  f.saturated = f.saturated_full = {c.largest, c.minus_largest};
  f.unsaturated = {c.over, c.minus_over};
  f.nan = c.nan;
  const auto stepped = [&] { return by_steps(r.smallest, r.per_binade, c.largest); };
  switch (id) {
    case format_id::e2m1:
      f.magnitudes.assign(fp4_values.begin(), fp4_values.end());
      break;
    case format_id::e2m3:
      f.magnitudes.assign(e2m3_values.begin(), e2m3_values.end());
      break;
    case format_id::e3m2:
      f.magnitudes.assign(e3m2_values.begin(), e3m2_values.end());
      break;
    case format_id::e8m0:
      f.has_zero = false;
      f.one_digit = true;
      f.magnitudes = by_doubling(r.smallest, c.largest);
      break;
    case format_id::int8:
      f.saturated_full[1] = 0x80;  // -2, the code that MX 5.3.4 allows to be left unused
      f.magnitudes = stepped();
      break;
    case format_id::f32:
      return f;
    default:
      f.magnitudes = stepped();
      break;
  }
  require(f.magnitudes.size() == c.largest + std::size_t{1}, f.name);
  require(f.magnitudes[f.has_zero ? 1 : 0] == r.smallest, f.name);
  require(f.magnitudes.back() == r.largest && r.largest < r.beyond, f.name);
  return f;
}

}  // namespace

double format::magnitude(std::uint32_t i) const {
  if (i > largest_code) return beyond;
  return magnitudes.empty() ? double{std::bit_cast<float>(i)} : magnitudes[i];
}

std::uint32_t format::signed_code(std::uint32_t i, bool negative) const {
  if (!negative || i == 0) {
    return negative && sign == signs::bit ? sign_code() : i;
  }
  switch (sign) {
    case signs::bit:
    case signs::bit_no_minus_zero:
      return sign_code() + i;
    case signs::twos_complement:
      return 2 * sign_code() - i;
    case signs::none:
      break;
  }
  throw std::logic_error(name + " has no negative numbers");
}

std::uint32_t format::overflow_code(bool negative, bool is_inf, rounding r, overflow o) const {
  const std::size_t side = negative ? 1 : 0;
  switch (o) {
    case overflow::saturate:
      return saturated[side];
    case overflow::saturate_full:
      return saturated_full[side];
    case overflow::nonsaturating:
      break;
  }
  // IEEE 754 7.4: a finite number never leaves the range in a direction that points back into it.
  const bool stays_finite =
      r == rounding::toward_zero || r == (negative ? rounding::up : rounding::down);
  return stays_finite && !is_inf ? saturated[side] : unsaturated[side];
}

const format& get(format_id id) {
  static const std::vector<format> formats = [] {
    std::vector<format> built;
    for (const format_id each : all_formats) {
      const auto i = static_cast<std::size_t>(each);
      built.push_back(build(each, value_rows[i], code_rows[i]));
    }
    return built;
  }();
  return formats[static_cast<std::size_t>(id)];
}

format make_custom(int exp_bits, int man_bits, int bias, custom_specials specials) {
  format f;
  for (const auto& [letter, number] :
       {std::pair{'e', exp_bits}, std::pair{'m', man_bits}, std::pair{'b', bias}}) {
    f.name += letter;
    f.name += std::to_string(number);
  }
  f.bits = 1 + exp_bits + man_bits;
  f.one_digit = man_bits == 0;
  const auto per_binade = std::uint32_t{1} << man_bits;
  const std::uint32_t top = f.sign_code() - 1;
  f.largest_code = top;
  switch (specials) {
    case custom_specials::none:
      f.nan = top;
      break;
    case custom_specials::ieee:
      f.largest_code = top - per_binade;
      f.infinity = f.largest_code + 1;
      f.nan = f.bits <= 8 ? top : *f.infinity + per_binade / 2;
      break;
    case custom_specials::top_nan:
      f.largest_code = top - 1;
      f.nan = top;
      break;
    case custom_specials::minus_zero_nan:
      f.sign = signs::bit_no_minus_zero;
      f.nan = f.sign_code();
      break;
  }
  f.magnitudes = by_steps(std::ldexp(1.0, 1 - bias - man_bits), per_binade, f.largest_code + 1);
  f.beyond = f.magnitudes.back();
  f.magnitudes.pop_back();
  f.largest = f.magnitudes.back();
  f.saturated = {f.largest_code, f.sign_code() + f.largest_code};
  f.saturated_full = f.saturated;
  f.unsaturated = f.saturated;
  if (specials == custom_specials::ieee) {
    f.unsaturated = {*f.infinity, f.sign_code() + *f.infinity};
  } else if (specials == custom_specials::top_nan) {
    f.unsaturated = {top, f.sign_code() + top};
  } else if (specials == custom_specials::minus_zero_nan) {
    f.unsaturated = {f.nan, f.nan};
  }
  return f;
}

format make_fixed_point(int bits, double step) {
  format f;
  f.name = "int";
  f.name += std::to_string(bits);
  f.bits = bits;
  f.sign = signs::twos_complement;
  f.largest_code = f.sign_code() - 1;
  for (std::uint32_t i = 0; i <= f.largest_code; ++i) f.magnitudes.push_back(i * step);
  f.largest = f.magnitudes.back();
  f.beyond = f.largest + step;
  f.saturated = {f.largest_code, f.sign_code() + 1};
  f.saturated_full = {f.largest_code, f.sign_code()};
  f.unsaturated = f.saturated;
  return f;
}

value decode(const format& f, std::uint32_t code) {
  if (f.sign == signs::twos_complement) {
    const bool negative = code >= f.sign_code();
    const std::uint32_t steps = negative ? 2 * f.sign_code() - code : code;
    return {value_class::finite, negative, f.magnitude(steps)};
  }
  const bool negative = f.has_sign() && code >= f.sign_code();
  const std::uint32_t index = negative ? code - f.sign_code() : code;
  if (negative && index == 0 && f.sign == signs::bit_no_minus_zero) {
    return {value_class::nan, true, 0};
  }
  if (index <= f.largest_code) return {value_class::finite, negative, f.magnitude(index)};
  if (f.infinity && index == *f.infinity) return {value_class::infinite, negative, 0};
  return {value_class::nan, negative, 0};
}

}  // namespace oracle
