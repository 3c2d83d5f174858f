// SPDX-License-Identifier: Apache-2.0
#include "thresholds.hpp"

#include <algorithm>
#include <bit>

namespace oracle {
namespace {

constexpr std::uint32_t infinity_bits = 0x7F800000;
constexpr std::uint32_t sign_bit = 0x80000000;

double float_value(std::uint32_t bits) { return double{std::bit_cast<float>(bits)}; }

// The smallest pattern whose value is at least x (x >= 0, at most 2^128).
std::uint32_t first_at_least(double x) {
  auto bits = std::bit_cast<std::uint32_t>(static_cast<float>(x));
  while (float_value(bits) < x) ++bits;
  while (bits > 0 && float_value(bits - 1) >= x) --bits;
  return bits;
}

std::uint32_t first_above(double x) {
  std::uint32_t bits = first_at_least(x);
  while (float_value(bits) <= x) ++bits;
  return bits;
}

// The smallest pattern, in magnitude, that is rounded up from magnitude i to magnitude i + 1. The
// mean of two neighbours of a format with at most 23 significant bits is exact in binary64.
std::uint32_t threshold(const format& f, std::uint32_t i, rounding r, bool negative) {
  const double low = f.magnitude(i);
  const double high = f.magnitude(i + 1);
  const double middle = (low + high) / 2;
  // Without mantissa the significand of every number but zero is 1, which is odd.
  const bool odd = f.one_digit ? low > 0 : i % 2 == 1;
  switch (r) {
    case rounding::nearest_even:
      return odd ? first_at_least(middle) : first_above(middle);
    case rounding::nearest_away:
      return first_at_least(middle);
    case rounding::nearest_toward_zero:
      return first_above(middle);
    case rounding::toward_zero:
      return first_at_least(high);
    case rounding::up:
      return negative ? first_at_least(high) : first_above(low);
    case rounding::down:
      return negative ? first_above(low) : first_at_least(high);
    case rounding::to_odd:
      return odd ? first_at_least(high) : first_above(low);
  }
  return 0;
}

void add(std::vector<run>& runs, std::uint32_t first, std::uint32_t code) {
  if (runs.back().first == first) {
    runs.back().code = code;
  } else if (runs.back().code != code) {
    runs.push_back({first, code});
  }
}

void add_side(std::vector<run>& runs, const format& f, rounding r, overflow o, bool negative,
              std::uint32_t offset) {
  runs.push_back({offset, f.signed_code(0, negative)});
  for (std::uint32_t i = 0; i <= f.largest_code; ++i) {
    const std::uint32_t first = threshold(f, i, r, negative);
    if (first >= infinity_bits) break;
    add(runs, offset + first,
        i < f.largest_code ? f.signed_code(i + 1, negative)
                           : f.overflow_code(negative, false, r, o));
  }
  add(runs, offset + infinity_bits, f.overflow_code(negative, true, r, o));
  add(runs, offset + infinity_bits + 1, f.nan);
}

}  // namespace

std::vector<run> threshold_runs(const format& f, rounding r, overflow o, negative n) {
  std::vector<run> runs;
  add_side(runs, f, r, o, false, 0);
  if (f.has_sign()) {
    add_side(runs, f, r, o, true, sign_bit);
  } else if (n == negative::abs) {
    add_side(runs, f, r, o, false, sign_bit);
  } else {
    runs.push_back({sign_bit, f.signed_code(0, false)});  // -0 is not a negative number
    add(runs, sign_bit + 1, f.nan);
  }
  return runs;
}

std::uint32_t expected_code(const std::vector<run>& runs, std::uint32_t input_bits) {
  const auto after = std::upper_bound(runs.begin(), runs.end(), input_bits,
                                      [](std::uint32_t x, const run& y) { return x < y.first; });
  return std::prev(after)->code;
}

}  // namespace oracle
