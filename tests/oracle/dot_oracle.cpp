// SPDX-License-Identifier: Apache-2.0
#include "dot_oracle.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <stdexcept>
#include <utility>

namespace oracle {
namespace {

real nan_real() { return {value_class::nan, false, 0}; }
real infinity(bool negative) { return {value_class::infinite, negative, 0}; }
const format& binary32() { return get(format_id::f32); }

/// Where |x| lies in a format: the greatest magnitude not above it, and more.
struct neighbours {
  std::uint32_t low = 0;
  bool beyond = false;  ///< |x| >= format::beyond; low is the largest
  int against_middle = 0;
};

neighbours find_neighbours(const format& f, const mpq_class& x) {
  const mpq_class magnitude = abs(x);
  neighbours n;
  if (magnitude >= f.beyond) {
    n.low = f.largest_code;
    n.beyond = true;
    return n;
  }
  // The greatest binary64 number not above: no code's value lies between it and the magnitude.
  const double below = magnitude.get_d();
  if (f.magnitudes.empty()) {
    auto nearest = std::min(static_cast<float>(below), static_cast<float>(f.largest));
    n.low = std::bit_cast<std::uint32_t>(nearest);
    if (double{nearest} > below) --n.low;
  } else {
    const auto above = std::upper_bound(f.magnitudes.begin(), f.magnitudes.end(), below);
    n.low = static_cast<std::uint32_t>(above - f.magnitudes.begin()) - 1;
  }
  const double low = f.magnitude(n.low);
  n.against_middle = cmp(magnitude, low + (f.magnitude(n.low + 1) - low) / 2);
  return n;
}

/// A sum in which nothing is lost: NaN if a NaN or both infinities took part; +0 for exactly zero.
class exact_total {
 public:
  void add(const real& x) {
    nan_ |= x.is_nan();
    if (x.is_inf()) (x.negative ? negative_inf_ : positive_inf_) = true;
    sum_ += x.value;
  }
  real result() const {
    if (nan_ || (positive_inf_ && negative_inf_)) return nan_real();
    if (positive_inf_ || negative_inf_) return infinity(negative_inf_);
    return {value_class::finite, sum_ < 0, sum_};
  }

 private:
  bool nan_ = false;
  bool positive_inf_ = false;
  bool negative_inf_ = false;
  mpq_class sum_{};
};

real product(const dot_problem& p, std::size_t k) { return multiply(p.a.scaled(k), p.b.scaled(k)); }

/// The accumulator's value after all k, before the rounding to the output format.
real accumulate(const dot_problem& p, accumulation policy, const real& start) {
  const std::size_t depth = p.a.codes.size();
  if (policy == accumulation::exact) {
    exact_total total;
    total.add(start);
    for (std::size_t k = 0; k < depth; ++k) total.add(product(p, k));
    return total.result();
  }
  real acc = nearest_binary32(start);
  if (policy == accumulation::fp32_chain) {
    for (std::size_t k = 0; k < depth; ++k) {
      const real a = nearest_binary32(p.a.scaled(k));
      const real b = nearest_binary32(p.b.scaled(k));
      acc = nearest_binary32(add(multiply(a, b), acc));
    }
    return acc;
  }
  for (std::size_t first = 0; first < depth; first += p.block) {
    exact_total total;
    if (policy == accumulation::block_fused_fp32) total.add(acc);
    const std::size_t end = std::min(depth, first + p.block);
    for (std::size_t k = first; k < end; ++k) total.add(product(p, k));
    acc = policy == accumulation::block_fused_fp32
              ? nearest_binary32(total.result())
              : nearest_binary32(add(acc, nearest_binary32(total.result())));
  }
  return acc;
}

}  // namespace

mpq_class power_of_two(long exponent) {
  mpq_class result = 1;
  if (exponent >= 0) {
    mpq_mul_2exp(result.get_mpq_t(), result.get_mpq_t(), static_cast<mp_bitcnt_t>(exponent));
  } else {
    mpq_div_2exp(result.get_mpq_t(), result.get_mpq_t(), static_cast<mp_bitcnt_t>(-exponent));
  }
  return result;
}

long floor_log2(const mpq_class& x) {
  const auto width = [](const mpz_class& n) {
    return static_cast<long>(mpz_sizeinbase(n.get_mpz_t(), 2));
  };
  const long guess = width(x.get_num()) - width(x.get_den());
  return abs(x) < power_of_two(guess) ? guess - 1 : guess;
}

real make_real(double x) {
  if (std::isnan(x)) return nan_real();
  if (std::isinf(x)) return infinity(std::signbit(x));
  return {value_class::finite, std::signbit(x), mpq_class(x)};
}

real code_value(const format& f, std::uint32_t code) {
  const value v = decode(f, code);
  if (v.cls == value_class::nan) return nan_real();
  if (v.cls == value_class::infinite) return infinity(v.negative);
  return {value_class::finite, v.negative, mpq_class(v.signed_value())};
}

real multiply(const real& a, const real& b) {
  const bool negative = a.negative != b.negative;
  if (a.is_nan() || b.is_nan()) return nan_real();
  if (a.is_inf() || b.is_inf()) {
    return a.is_zero() || b.is_zero() ? nan_real() : infinity(negative);
  }
  return {value_class::finite, negative, a.value * b.value};
}

real add(const real& a, const real& b) {
  if (a.is_nan() || b.is_nan()) return nan_real();
  if (a.is_inf() && b.is_inf()) return a.negative == b.negative ? a : nan_real();
  if (a.is_inf()) return a;
  if (b.is_inf()) return b;
  real sum{value_class::finite, false, a.value + b.value};
  sum.negative = sum.value == 0 ? a.is_zero() && a.negative && b.negative : sum.value < 0;
  return sum;
}

std::uint32_t nearest_code(const format& f, const real& x) {
  if (!f.has_sign() || f.one_digit)
    throw std::logic_error("nearest_code does not round to " + f.name);
  const std::size_t side = x.negative ? 1 : 0;
  if (x.is_nan()) return f.nan;
  if (x.is_inf()) return f.unsaturated[side];
  const neighbours at = find_neighbours(f, x.value);
  if (at.beyond) return f.unsaturated[side];
  const bool up = at.against_middle > 0 || (at.against_middle == 0 && at.low % 2 != 0);
  const std::uint32_t magnitude = at.low + (up ? 1 : 0);
  return magnitude > f.largest_code ? f.unsaturated[side] : f.signed_code(magnitude, x.negative);
}

toward_zero_result toward_zero(const format& f, const mpq_class& x) {
  const neighbours at = find_neighbours(f, x);
  return {at.low, at.beyond};
}

real nearest_binary32(const real& x) { return code_value(binary32(), nearest_code(binary32(), x)); }

real operand_row::scale(std::size_t k) const {
  if (scale_format == nullptr) return {value_class::finite, false, 1};
  return code_value(*scale_format, scales[k / static_cast<std::size_t>(block)]);
}

std::uint32_t dot(const dot_problem& p, accumulation policy, const format& out) {
  if (p.scaling) return scale_result(p, nearest_binary32(accumulate(p, policy, {})), out);
  return nearest_code(out, accumulate(p, policy, p.c.value_or(real{})));
}

std::uint32_t scale_result(const dot_problem& p, const real& acc, const format& out) {
  const real scaled = multiply(make_real(double{p.scaling->alpha}), acc);
  if (!p.c) return nearest_code(out, scaled);
  const real t = nearest_binary32(multiply(make_real(double{p.scaling->beta}), *p.c));
  return nearest_code(out, add(scaled, t));
}

}  // namespace oracle
