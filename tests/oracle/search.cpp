// SPDX-License-Identifier: Apache-2.0
#include "search.hpp"

#include <gmpxx.h>

#include <cmath>

namespace oracle {

namespace {

mpq_class power_of_two(int exp) {
  const mpz_class power = mpz_class(1) << static_cast<mp_bitcnt_t>(exp < 0 ? -exp : exp);
  return exp < 0 ? mpq_class(1, power) : mpq_class(power);
}

// Fills in what follows from the magnitude. `not_above(m)` says whether the table's magnitude m is
// not above the number.
template <class NotAbove>
void place(const format& f, const mpq_class& number, NotAbove not_above, position& p) {
  p.zero = number == 0;
  p.out_of_range = not_above(f.beyond);
  if (p.out_of_range) return;
  if (!not_above(f.magnitude(0))) {  // below the least number of a format without zero
    p.exact = true;
    return;
  }
  std::uint32_t low = 0;
  std::uint32_t high = f.largest_code + 1;
  while (high - low > 1) {
    const std::uint32_t middle = low + (high - low) / 2;
    (not_above(f.magnitude(middle)) ? low : high) = middle;
  }
  p.low = low;

  const mpq_class below(f.magnitude(low));
  const mpq_class distance = mpq_class(f.magnitude(high)) - below;
  p.exact = number == below;
  const mpq_class twice_the_rest = 2 * (number - below);
  p.against_middle = cmp(twice_the_rest, distance);
  const mpq_class count = below / distance;
  p.low_is_odd = mpz_odd_p(count.get_num_mpz_t()) != 0;
}

}  // namespace

position locate(const format& f, double x) {
  position p;
  p.negative = std::signbit(x);
  if (std::isnan(x)) {
    p.cls = value_class::nan;
  } else if (std::isinf(x)) {
    p.cls = value_class::infinite;
  } else {
    const double magnitude = std::fabs(x);
    place(
        f, mpq_class(magnitude), [magnitude](double m) { return m <= magnitude; }, p);
  }
  return p;
}

position locate(const format& f, bool negative, std::uint64_t sig, int exp) {
  position p;
  p.negative = negative;
  mpq_class number(static_cast<unsigned long>(sig >> 32));
  number = number * power_of_two(32) + static_cast<unsigned long>(sig & 0xFFFFFFFFU);
  number *= power_of_two(exp);
  place(
      f, number, [&number](double m) { return mpq_class(m) <= number; }, p);
  return p;
}

std::uint32_t encode(const format& f, const position& p, rounding r, overflow o, negative n) {
  if (p.cls == value_class::nan) return f.nan;
  bool negative_number = p.negative;
  if (!f.has_sign() && negative_number) {
    if (n == negative::to_nan && !p.zero) return f.nan;
    negative_number = false;
  }
  if (p.cls == value_class::infinite) return f.overflow_code(negative_number, true, r, o);
  if (p.out_of_range) return f.overflow_code(negative_number, false, r, o);

  bool take_upper = false;
  if (!p.exact) {
    switch (r) {
      case rounding::nearest_even:
        take_upper = p.against_middle > 0 || (p.against_middle == 0 && p.low_is_odd);
        break;
      case rounding::nearest_away:
        take_upper = p.against_middle >= 0;
        break;
      case rounding::nearest_toward_zero:
        take_upper = p.against_middle > 0;
        break;
      case rounding::toward_zero:
        break;
      case rounding::up:
        take_upper = !negative_number;
        break;
      case rounding::down:
        take_upper = negative_number;
        break;
      case rounding::to_odd:
        take_upper = !p.low_is_odd;
        break;
    }
  }
  const std::uint32_t index = p.low + (take_upper ? 1U : 0U);
  return index > f.largest_code ? f.overflow_code(negative_number, false, r, o)
                                : f.signed_code(index, negative_number);
}

}  // namespace oracle
