// SPDX-License-Identifier: Apache-2.0
#include "unit_oracle.hpp"

#include <algorithm>
#include <map>
#include <stdexcept>
#include <utility>
#include <vector>

namespace oracle {
namespace {

const format& binary32() { return get(format_id::f32); }
real infinity(bool negative) { return {value_class::infinite, negative, 0}; }

/// |x| rounded down or to nearest even, with the sign of x.
mpz_class integer_part(const mpq_class& x, bool truncate) {
  const mpq_class magnitude = abs(x);
  mpz_class whole = magnitude.get_num() / magnitude.get_den();
  if (!truncate) {
    const mpq_class rest = magnitude - whole;
    const int against_half = cmp(rest, mpq_class(1, 2));
    if (against_half > 0 || (against_half == 0 && mpz_odd_p(whole.get_mpz_t()) != 0)) ++whole;
  }
  return x < 0 ? mpz_class(-whole) : whole;
}

/// The largest multiple of 2^exponent that is not above x.
mpq_class floor_at(const mpq_class& x, long exponent) {
  const mpq_class scaled = x / power_of_two(exponent);
  mpz_class whole;
  mpz_fdiv_q(whole.get_mpz_t(), scaled.get_num_mpz_t(), scaled.get_den_mpz_t());
  return whole * power_of_two(exponent);
}

/// Exponent of a format's smallest normal number, as the standards print it.
long smallest_normal_exponent(const format& f) {
  static const std::map<std::string, long> exponents{
      {"e5m2", -14},    {"e4m3", -6},      {"e3m2", -2},  {"e2m3", 0},    {"e2m1", 0},
      {"e4m3fnuz", -7}, {"e5m2fnuz", -15}, {"f16", -14},  {"bf16", -126}, {"tf32", -126},
      {"f32", -126},    {"ue4m3", -6},     {"e8m0", -127}};
  return exponents.at(f.name);
}

long aligned_exponent(const format& f, const mpq_class& x, bool normalizes) {
  const long leading = floor_log2(x);
  return normalizes ? leading : std::max(leading, smallest_normal_exponent(f));
}

/// What NaN and infinities make of a sum; finite: the sum is arithmetic.
class special_sum {
 public:
  void add(const real& x) {
    nan_ |= x.is_nan();
    if (x.is_inf()) (x.negative ? negative_ : positive_) = true;
  }
  bool is_nan() const { return nan_ || (positive_ && negative_); }
  bool is_inf() const { return positive_ || negative_; }
  bool is_negative() const { return negative_; }

 private:
  bool nan_ = false;
  bool positive_ = false;
  bool negative_ = false;
};

/// Some products of a row, in a chosen order.
struct row_part {
  const dot_problem& p;
  std::vector<std::size_t> k;
};
row_part consecutive(const dot_problem& p, std::size_t first, std::size_t count) {
  row_part part{p, {}};
  for (std::size_t k = first; k < std::min(p.a.codes.size(), first + count); ++k) {
    part.k.push_back(k);
  }
  return part;
}
template <class Condition>
row_part those(const row_part& all, Condition condition) {
  row_part part{all.p, {}};
  for (const std::size_t k : all.k) {
    if (condition(k - all.k.front())) part.k.push_back(k);
  }
  return part;
}

real product(const dot_problem& p, std::size_t k) { return multiply(p.a.scaled(k), p.b.scaled(k)); }

struct summand {
  mpq_class value;
  long exponent;
};

long scale_exponent(const operand_row& r, std::size_t k) {
  if (r.scale_format == nullptr) return 0;
  return aligned_exponent(*r.scale_format, r.scale(k).value, false);
}

long element_exponent(const fused_sum& unit, const operand_row& r, const mpq_class& x) {
  if (unit.converts_to_f16) return std::max(floor_log2(x), -14L);
  return aligned_exponent(*r.elements, x, unit.normalizes_subnormals);
}

/// The terms of a step: single products, or sums of groups.
std::vector<summand> make_terms(const row_part& part, const fused_sum& unit) {
  std::vector<summand> terms;
  const dot_problem& p = part.p;
  for (std::size_t i = 0; i < part.k.size(); ++i) {
    const std::size_t k = part.k[i];
    const real a = p.a.element(k);
    const real b = p.b.element(k);
    const mpq_class scale = p.a.scale(k).value * p.b.scale(k).value;
    if (scale == 0) continue;
    const long scaled_by = scale_exponent(p.a, k) + scale_exponent(p.b, k);
    if (unit.group != 0) {
      // A group is there when one of its products is not zero, whatever their sum.
      bool any = false;
      mpq_class sum = 0;
      const std::size_t end = std::min(part.k.size(), i - i % unit.group + unit.group);
      for (std::size_t j = i; j < end; ++j) {
        const mpq_class one = p.a.element(part.k[j]).value * p.b.element(part.k[j]).value;
        any |= one != 0;
        sum += one;
      }
      if (any) terms.push_back({sum * scale, scaled_by});
      i = end - 1;
      continue;
    }
    if (a.is_zero() || b.is_zero()) {
      if (unit.zero_products_align) {
        const auto exponent = [&unit](const operand_row& r, const real& x) {
          return x.is_zero() ? smallest_normal_exponent(*r.elements)
                             : element_exponent(unit, r, x.value);
        };
        terms.push_back({0, exponent(p.a, a) + exponent(p.b, b) + scaled_by});
      }
      continue;
    }
    const mpq_class value = a.value * b.value * scale;
    const long exponent = unit.normalizes_products
                              ? floor_log2(value)
                              : element_exponent(unit, p.a, a.value) +
                                    element_exponent(unit, p.b, b.value) + scaled_by;
    terms.push_back({value, exponent});
  }
  return terms;
}

/// All mantissa bits set: 0x7FFFFFFF, 0x7FFF.
std::uint32_t nvidia_nan(const format& f) { return f.sign_code() - 1; }

/// One step: d = Output(FS(products, c; F, floor)).
std::uint32_t fused_step(const row_part& part, const fused_sum& unit, std::uint32_t c_code) {
  const format& acc = get(unit.accumulator);
  const real c = code_value(acc, c_code);
  special_sum specials;
  specials.add(c);
  for (const std::size_t k : part.k) specials.add(product(part.p, k));
  if (specials.is_nan()) return nvidia_nan(acc);
  if (specials.is_inf()) return nearest_code(acc, infinity(specials.is_negative()));

  std::vector<summand> terms = make_terms(part, unit);
  if (!c.is_zero()) terms.push_back({c.value, aligned_exponent(acc, c.value, false)});
  if (terms.empty()) return 0;
  long top = terms.front().exponent;
  for (const summand& t : terms) top = std::max(top, t.exponent);
  if (unit.exponent_floor) top = std::max(top, *unit.exponent_floor);
  const mpq_class last_place = power_of_two(top - unit.fraction_bits);
  mpz_class sum = 0;
  for (const summand& t : terms) sum += integer_part(t.value / last_place, unit.truncates_terms);

  const mpq_class value = sum * last_place;
  const bool negative = sum < 0;
  if (!unit.truncates_output) {
    const std::uint32_t code = nearest_code(acc, {value_class::finite, negative, value});
    return code == acc.sign_code() && !unit.keeps_negative_underflow ? 0 : code;
  }
  const toward_zero_result low = toward_zero(acc, value);
  if (low.beyond) {
    return unit.overflows_to_largest ? acc.signed_code(acc.largest_code, negative)
                                     : nearest_code(acc, infinity(negative));
  }
  const std::uint32_t kept = low.code >> unit.dropped_digits << unit.dropped_digits;
  if (kept == 0 && !unit.keeps_negative_underflow) return 0;
  return acc.signed_code(kept, negative);
}

std::uint32_t emulated_step(const row_part& part, const fused_sum& unit, std::uint32_t c_code) {
  const format& f = get(unit.accumulator);
  std::uint32_t acc = 0;
  acc = fused_step(those(part, [](std::size_t k) { return k % 4 < 2; }), unit, acc);
  acc = fused_step(those(part, [](std::size_t k) { return k % 4 >= 2; }), unit, acc);
  const real sum = add(code_value(f, c_code), code_value(f, acc));
  return sum.is_nan() ? nvidia_nan(f) : nearest_code(f, sum);
}

std::uint32_t exact_step(const row_part& part, std::uint32_t c_code) {
  const real c = code_value(binary32(), c_code);
  special_sum specials;
  specials.add(c);
  for (const std::size_t k : part.k) specials.add(product(part.p, k));
  if (specials.is_nan()) return binary32().nan;
  if (specials.is_inf()) return nearest_code(binary32(), infinity(specials.is_negative()));
  mpq_class sum = c.value;
  for (const std::size_t k : part.k) sum += product(part.p, k).value;
  return nearest_code(binary32(), {value_class::finite, sum < 0, sum});
}

/// A binary32 result of a unit without subnormals.
real flushed(const real& x) {
  real r = nearest_binary32(x);
  if (r.cls == value_class::finite && abs(r.value) < power_of_two(-126)) r.value = 0;
  return r;
}

/// Subnormal inputs and zeros are +0.
real flushed_input(const format& f, const real& x) {
  const bool is_small =
      x.cls == value_class::finite && abs(x.value) < power_of_two(smallest_normal_exponent(f));
  return is_small ? real{} : x;
}

std::uint32_t flushing_step(const row_part& part, std::size_t length, const real& c) {
  const dot_problem& p = part.p;
  std::vector<real> sums(length);
  for (std::size_t i = 0; i < part.k.size(); ++i) {
    const real a = flushed_input(*p.a.elements, p.a.element(part.k[i]));
    const real b = flushed_input(*p.b.elements, p.b.element(part.k[i]));
    sums[i] = flushed(multiply(a, b));
  }
  real total = sums[0];
  if (length == 2) total = flushed(add(sums[0], sums[1]));
  if (length == 4) {
    total = flushed(add(flushed(add(sums[0], sums[1])), flushed(add(sums[2], sums[3]))));
  }
  return nearest_code(binary32(), flushed(add(c, total)));
}

/// A sum of products cut off toward zero 24 bits below the largest exponent.
struct first_window {
  mpq_class value = 0;
  std::optional<long> top;
};
first_window sum_products(const row_part& part) {
  first_window w;
  const std::vector<summand> terms = make_terms(part, {});
  for (const summand& t : terms) w.top = std::max(w.top.value_or(t.exponent), t.exponent);
  if (!w.top) return w;
  const mpq_class last_place = power_of_two(*w.top - 24);
  for (const summand& t : terms) w.value += integer_part(t.value / last_place, true) * last_place;
  return w;
}

std::uint32_t cdna3_step(const row_part& part, bool splits, std::uint32_t c_code) {
  const real c = code_value(binary32(), c_code);
  special_sum specials;
  specials.add(c);
  for (const std::size_t k : part.k) {
    real x = product(part.p, k);
    if (x.cls == value_class::finite && abs(x.value) >= power_of_two(128))
      x = infinity(x.value < 0);
    specials.add(x);
  }
  if (specials.is_nan()) return binary32().nan;
  if (specials.is_inf()) return nearest_code(binary32(), infinity(specials.is_negative()));

  first_window products;
  if (splits) {
    const first_window even = sum_products(those(part, [](std::size_t k) { return k % 2 == 0; }));
    const first_window odd = sum_products(those(part, [](std::size_t k) { return k % 2 != 0; }));
    if (even.top || odd.top) {
      products.top = std::max(even.top.value_or(-10000), odd.top.value_or(-10000));
      products.value =
          floor_at(even.value, *products.top - 24) + floor_at(odd.value, *products.top - 24);
    }
  } else {
    products = sum_products(part);
  }
  const long c_exponent = c.is_zero() ? -126 : aligned_exponent(binary32(), c.value, false);
  const long top = std::max(products.top.value_or(c_exponent), c_exponent);
  mpq_class sum = floor_at(products.value, top - 32);
  if (!splits || c_exponent >= top - 25) sum += floor_at(c.value, top - 24);
  if (sum == 0) return 0;
  const long leading = std::max(floor_log2(sum), -126L);
  return nearest_code(binary32(), {value_class::finite, sum < 0, floor_at(sum, leading - 31)});
}

bool is_fp8(format_id f) { return f == format_id::e4m3 || f == format_id::e5m2; }
bool is_f8f6f4(format_id f) {
  return is_fp8(f) || f == format_id::e3m2 || f == format_id::e2m3 || f == format_id::e2m1;
}

/// Section 3 of the public model's tables: floors of binary32 and binary16 accumulators.
unit chain(std::size_t length, long bits, long floor, long f16_floor, format_id out) {
  unit u;
  u.sum.length = length;
  u.sum.fraction_bits = bits;
  u.sum.accumulator = out;
  u.sum.exponent_floor = out == format_id::f32 ? floor : f16_floor;
  u.sum.truncates_output = out == format_id::f32;
  return u;
}

[[noreturn]] void refuse(const std::string& model) {
  throw std::invalid_argument("no description of these operands: " + model);
}

}  // namespace

unit describe_unit(const std::string& model, format_id a, format_id b, format_id out) {
  const bool f16 = a == format_id::f16 && b == format_id::f16;
  const bool bf16 = a == format_id::bf16 && b == format_id::bf16;
  const bool tf32 = a == format_id::tf32 && b == format_id::tf32;
  const bool fp8 = is_fp8(a) && is_fp8(b);
  const bool small = is_f8f6f4(a) && is_f8f6f4(b);
  const bool wide = out == format_id::f32;
  const bool sixteen = f16 || (bf16 && wide);
  unit u;
  if (model == "nvidia-volta-mma" && f16) return chain(4, 23, -131, -20, out);
  if (model == "nvidia-turing-mma" && f16) return chain(8, 24, -132, -21, out);
  if (model == "nvidia-ampere-mma" || model == "nvidia-ada-mma") {
    if (sixteen) return chain(8, 24, -132, -21, out);
    if (tf32 && wide) return chain(4, 24, -132, 0, out);
    if (fp8 && model == "nvidia-ada-mma") {
      u = chain(16, 13, -132, -21, out);
      u.sum.dropped_digits = wide ? 10 : 0;
      return u;
    }
  }
  if (model == "nvidia-hopper-mma" || model == "nvidia-blackwell-mma" ||
      model == "nvidia-rtx-blackwell-mma") {
    if (sixteen) return chain(16, 25, -133, -22, out);
    if (tf32 && wide) return chain(8, 25, -133, 0, out);
    if (fp8 && model != "nvidia-rtx-blackwell-mma") {
      u = chain(16, 25, -133, -22, out);
      u.kind = unit_kind::emulated_fp8;
      u.sum.converts_to_f16 = true;
      return u;
    }
  }
  if (model == "nvidia-hopper-wgmma") {
    if (sixteen) return chain(16, 25, -133, -133, out);
    if (tf32 && wide) return chain(8, 25, -133, 0, out);
    if (fp8) {
      u = chain(32, 13, -133, -133, out);
      u.sum.dropped_digits = wide ? 10 : 0;
      return u;
    }
  }
  if (model == "nvidia-blackwell-tcgen05-f16" && sixteen) return chain(16, 25, -133, -133, out);
  if (model == "nvidia-blackwell-tcgen05-tf32" && tf32 && wide) return chain(8, 25, -133, 0, out);
  if (model == "nvidia-blackwell-tcgen05-f8f6f4" && small) return chain(32, 25, -133, -133, out);
  if (model == "nvidia-rtx-blackwell-mma-f8f6f4" && small) return chain(32, 25, -133, -22, out);
  if (model.ends_with("-mxf8f6f4") && small && wide) return chain(32, 25, -133, 0, out);
  if ((model.ends_with("-mxf4") || model.ends_with("-mxf4nvf4")) && wide) {
    if (a == format_id::e2m1 && b == format_id::e2m1) {
      u = chain(64, 35, -139, 0, out);
      u.sum.group = 16;
      return u;
    }
  }
  if (!wide) refuse(model);
  const auto amd = [&u](unit_kind kind, std::size_t length) {
    u.kind = kind;
    u.sum.length = length;
    return u;
  };
  if (model == "amd-cdna1-mfma" && (f16 || bf16)) return amd(unit_kind::cdna1, f16 ? 4 : 2);
  if (model == "amd-cdna2-mfma" && (f16 || bf16)) return amd(unit_kind::cdna2, f16 ? 4 : 2);
  if (model == "amd-cdna2-mfma-1k" && bf16) return amd(unit_kind::cdna2, 4);
  if (model == "amd-cdna3-mfma") {
    if (f16 || bf16) return amd(unit_kind::cdna3, 8);
    if (tf32) return amd(unit_kind::cdna3, 4);
    const auto is_fnuz = [](format_id f) {
      return f == format_id::e4m3fnuz || f == format_id::e5m2fnuz;
    };
    if (is_fnuz(a) && is_fnuz(b)) return amd(unit_kind::cdna3_fp8, 16);
  }
  // Not a description of hardware: what the library assumes.
  if (model == "amd-cdna4-mfma-scale" && small) return amd(unit_kind::cdna1, 32);
  refuse(model);
}

std::uint32_t dot(const dot_problem& p, const unit& u) {
  const format& f = get(u.sum.accumulator);
  std::uint32_t acc = p.c ? nearest_code(f, *p.c) : 0;
  const std::size_t step = u.kind == unit_kind::emulated_fp8 ? 32 : u.sum.length;
  for (std::size_t first = 0; first < p.a.codes.size(); first += step) {
    const row_part part = consecutive(p, first, step);
    switch (u.kind) {
      case unit_kind::chain:
        acc = fused_step(part, u.sum, acc);
        break;
      case unit_kind::emulated_fp8:
        acc = emulated_step(part, u.sum, acc);
        break;
      case unit_kind::cdna1:
        acc = exact_step(part, acc);
        break;
      case unit_kind::cdna2: {
        const real c = code_value(f, acc);
        acc = flushing_step(part, step, first == 0 ? flushed_input(f, c) : c);
        break;
      }
      case unit_kind::cdna3:
      case unit_kind::cdna3_fp8:
        acc = cdna3_step(part, u.kind == unit_kind::cdna3_fp8, acc);
        break;
    }
  }
  return acc;
}

std::uint32_t dot(const dot_problem& p, const fused_sum& sum, const format& out) {
  dot_problem unscaled = p;
  if (p.scaling) unscaled.c.reset();
  const std::uint32_t acc = dot(unscaled, unit{unit_kind::chain, sum});
  return p.scaling ? scale_result(p, code_value(binary32(), acc), out) : acc;
}

}  // namespace oracle
