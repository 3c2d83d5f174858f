// SPDX-License-Identifier: Apache-2.0
// Level 4. The arithmetic of one step of a matrix unit, in 64-bit integers.
#ifndef MXREF_UNIT_STEP_HPP_
#define MXREF_UNIT_STEP_HPP_

#include <cstdint>

#include "mxref/accumulate.hpp"
#include "mxref/binary32.hpp"
#include "mxref/bits.hpp"
#include "mxref/config.hpp"
#include "mxref/convert.hpp"
#include "mxref/exact_sum.hpp"
#include "mxref/terms.hpp"
#include "mxref/unit_desc.hpp"

MXREF_BEGIN_NAMESPACE

namespace detail {

/// mag * 2^shift, cut off toward zero; the result must fit.
MXREF_HD constexpr std::int64_t shift_toward_zero(std::uint64_t mag, int shift) noexcept {
  return static_cast<std::int64_t>(shift >= 0 ? mag << min_of(shift, 63)
                                              : mag >> min_of(-shift, 63));
}

/// x * 2^shift, cut off toward minus infinity; the result must fit.
MXREF_HD constexpr std::int64_t shift_down(std::int64_t x, int shift) noexcept {
  if (shift < 0) return x >> min_of(-shift, 63);
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(x) << min_of(shift, 63));
}

/// Exponents of fewer than half of zero_exp belong to nothing at all.
inline constexpr int no_exponent = term::zero_exp / 2;

/// Exp of an element that is normalised down to the exponent `emin` or its format's own.
MXREF_HD constexpr int normalized_exponent(const term& t, const chunk& c, int emin) noexcept {
  if (t.sig == 0) return t.exp;
  const int own = c.quantum_exp + c.man_bits;
  return max_of(t.exp + bit_width(magnitude(t.sig)) - 1, min_of(own, emin));
}

/// Products that share both scales.
MXREF_HD constexpr int scale_run(const chunk& a, const chunk& b) noexcept {
  return min_of(a.block, b.block);
}

/// The scales of the products from k on: their product, and its exponent.
struct scale_pair {
  std::uint64_t sig;
  int exp;       ///< value = sig * 2^exp
  int exponent;  ///< Exp(sa) + Exp(sb)
};
MXREF_HD constexpr scale_pair scales_at(const chunk& a, const chunk& b, int k) noexcept {
  const term& sa = a.scales[k / a.block];
  const term& sb = b.scales[k / b.block];
  const int exp = sa.exp + sb.exp;
  return {static_cast<std::uint64_t>(sa.sig) * static_cast<std::uint64_t>(sb.sig), exp,
          exp + a.scale_man_bits + b.scale_man_bits};
}

/// The largest exponent of the nonzero products of a step.
MXREF_HD constexpr int top_exponent(const unit_desc& u, const chunk& a, const chunk& b) noexcept {
  int top = term::zero_exp;
  const int run = scale_run(a, b);
  for (int first = 0; first < a.count; first += run) {
    const int end = min_of(first + run, a.count);
    int here = 2 * term::zero_exp;
    if (u.element_emin == unit_desc::own_emin) {
      for (int k = first; k < end; ++k) here = max_of(here, a.terms[k].exp + b.terms[k].exp);
      here += a.man_bits + b.man_bits;
    } else {
      for (int k = first; k < end; ++k) {
        here = max_of(here, normalized_exponent(a.terms[k], a, u.element_emin) +
                                normalized_exponent(b.terms[k], b, u.element_emin));
      }
    }
    top = max_of(top, here + scales_at(a, b, first).exponent);
  }
  return top;
}

/// The products of a step, each cut off toward zero at 2^lsb, in units of 2^lsb.
MXREF_HD constexpr std::int64_t sum_products(const chunk& a, const chunk& b, int lsb) noexcept {
  std::int64_t sum = 0;
  const int run = scale_run(a, b);
  for (int first = 0; first < a.count; first += run) {
    const int end = min_of(first + run, a.count);
    const scale_pair s = scales_at(a, b, first);
    for (int k = first; k < end; ++k) {
      const std::int64_t product = std::int64_t{a.terms[k].sig} * b.terms[k].sig;
      const std::int64_t t = shift_toward_zero(magnitude(product) * s.sig,
                                               a.terms[k].exp + b.terms[k].exp + s.exp - lsb);
      sum += product < 0 ? -t : t;
    }
  }
  return sum;
}

/// Terms of consecutive products that are summed exactly before alignment. Their sum is an integer
/// in units of the product of both formats' quanta.
struct product_group {
  std::int64_t sum = 0;
  bool any = false;  ///< some product is nonzero: a group that cancels still has an exponent
  scale_pair scale{};
};
MXREF_HD constexpr product_group group_at(const chunk& a, const chunk& b, int first,
                                          int group) noexcept {
  product_group g;
  g.scale = scales_at(a, b, first);
  const int end = min_of(first + group, a.count);
  for (int k = first; k < end; ++k) {
    const std::int64_t product = std::int64_t{a.terms[k].sig} * b.terms[k].sig;
    if (product == 0) continue;
    g.any = true;
    g.sum += product *
             (std::int64_t{1} << (a.terms[k].exp - a.quantum_exp + b.terms[k].exp - b.quantum_exp));
  }
  g.any = g.any && g.scale.sig != 0;
  return g;
}
MXREF_HD constexpr int top_group_exponent(const chunk& a, const chunk& b, int group) noexcept {
  int top = term::zero_exp;
  for (int first = 0; first < a.count; first += group) {
    const product_group g = group_at(a, b, first, group);
    if (g.any) top = max_of(top, g.scale.exponent);
  }
  return top;
}
MXREF_HD constexpr std::int64_t sum_groups(const chunk& a, const chunk& b, int group,
                                           int lsb) noexcept {
  std::int64_t sum = 0;
  for (int first = 0; first < a.count; first += group) {
    const product_group g = group_at(a, b, first, group);
    if (!g.any) continue;
    const std::int64_t t = shift_toward_zero(magnitude(g.sum) * g.scale.sig,
                                             a.quantum_exp + b.quantum_exp + g.scale.exp - lsb);
    sum += g.sum < 0 ? -t : t;
  }
  return sum;
}

/// The output rounding of sum * 2^exp. Beyond the range Inf, also toward zero. An exact zero is +0.
MXREF_HD constexpr std::uint32_t round_output(const unit_desc& u, std::int64_t sum,
                                              int exp) noexcept {
  const format_desc& acc = u.accumulator;
  const format_desc kept{acc.exp_bits, u.output_bits, acc.bias, specials::ieee};
  const number x{magnitude(sum), exp, sum < 0, number_class::finite};
  std::uint64_t code = 0;
  if (u.output == rounding_mode::nearest_even) {
    code = to_code(kept, x, rounding::nearest_even{}, overflow::nonsaturating{});
  } else if (x.exp + bit_width(x.sig) > acc.emax() + 1 && x.sig != 0) {
    code = (x.negative ? kept.sign_code() : 0) | kept.inf_magnitude();
  } else {
    code = to_code(kept, x, rounding::toward_zero{});
  }
  if (u.underflow == underflow_sign::dropped && code == kept.sign_code()) code = 0;
  return static_cast<std::uint32_t>(code << (acc.man_bits - u.output_bits));
}

MXREF_HD constexpr std::uint32_t special_output(const unit_desc& u,
                                                const special_class& special) noexcept {
  const number r = special.result();
  return r.is_nan() ? u.nan_code() : finish_nearest(r, u.accumulator);
}

/// unit_sum::window. Source: "T-FDPA", "ST-FDPA" and "GST-FDPA" of MMA-Sim (arXiv 2511.10909v2).
MXREF_HD constexpr std::uint32_t window_step(const unit_desc& u, std::uint32_t c, const chunk& a,
                                             const chunk& b) noexcept {
  const number acc = to_number(u.accumulator, c);
  const special_class special = special_class::of_step(acc, a, b);
  if (special.any()) return special_output(u, special);

  int top = u.group == 1 ? top_exponent(u, a, b) : top_group_exponent(a, b, u.group);
  if (acc.sig != 0) top = max_of(top, acc.exp + u.accumulator.man_bits);
  top = max_of(top, u.exponent_floor);
  if (top < no_exponent) return 0;
  const int lsb = top - u.fraction_bits;
  std::int64_t sum = u.group == 1 ? sum_products(a, b, lsb) : sum_groups(a, b, u.group, lsb);
  const std::int64_t t = shift_toward_zero(acc.sig, acc.exp - lsb);
  sum += acc.negative ? -t : t;
  return round_output(u, sum, lsb);
}

/// The members of a step that are summed apart, brought together; unscaled steps only.
struct interleaved {
  term a[unit_desc::max_interleaved];
  term b[unit_desc::max_interleaved];
  int count = 0;

  /// part 0 or 1.
  MXREF_HD constexpr interleaved(const chunk& x, const chunk& y, unit_order order,
                                 int part) noexcept
      : a{}, b{} {
    const int width = order == unit_order::even_odd ? 1 : 2;
    for (int k = 0; k < x.count; ++k) {
      if (k / width % 2 != part) continue;
      a[count] = x.terms[k];
      b[count] = y.terms[k];
      ++count;
    }
  }
  /// count products from `first` of them on, with the scales of the whole.
  MXREF_HD constexpr chunk part_of(const chunk& whole, const term* terms, int first,
                                   int length) const noexcept {
    chunk c = whole;
    c.terms = terms + first;
    c.count = min_of(length, count - first);
    return c;
  }
};

/// A part of a step in its order.
MXREF_HD constexpr chunk slice(const chunk& whole, int first, int length) noexcept {
  chunk c = whole;
  c.terms = whole.terms + first;
  c.scales = whole.scales + first / whole.block;
  c.count = min_of(length, whole.count - first);
  return c;
}

/// An instruction that starts at +0, takes its products in the unit's order, and adds its result to
/// C with one rounding to nearest even.
MXREF_HD constexpr std::uint32_t restarted_step(const unit_desc& u, std::uint32_t c, const chunk& a,
                                                const chunk& b) noexcept {
  std::uint32_t acc = 0;
  if (u.order == unit_order::together) {
    for (int first = 0; first < a.count; first += u.length) {
      acc = window_step(u, acc, slice(a, first, u.length), slice(b, first, u.length));
    }
  } else {
    for (int part = 0; part < 2; ++part) {
      const interleaved x(a, b, u.order, part);
      int first = 0;
      do {  // a part without products is a step too
        acc = window_step(u, acc, x.part_of(a, x.a, first, u.length),
                          x.part_of(b, x.b, first, u.length));
        first += u.length;
      } while (first < x.count);
    }
  }
  const number sum = add(to_number(u.accumulator, c), to_number(u.accumulator, acc));
  return sum.is_nan() ? u.nan_code() : finish_nearest(sum, u.accumulator);
}

/// Adds what products of 2^128 and more are to the class of a step without specials.
MXREF_HD constexpr void add_overflowing_products(special_class& special, const chunk& a,
                                                 const chunk& b) noexcept {
  for (int k = 0; k < a.count; ++k) {
    const std::int64_t product = std::int64_t{a.terms[k].sig} * b.terms[k].sig;
    if (product == 0) continue;
    const int width = bit_width(magnitude(product));
    if (width + a.terms[k].exp + b.terms[k].exp > 128) special.add_inf(product < 0);
  }
}

/// unit_sum::two_windows. Source: "TR-FDPA" and, with even_odd, "GTR-FDPA" of MMA-Sim.
MXREF_HD constexpr std::uint32_t two_windows_step(const unit_desc& u, std::uint32_t c,
                                                  const chunk& a, const chunk& b) noexcept {
  const number acc = to_number(u.accumulator, c);
  special_class special = special_class::of_step(acc, a, b);
  if (!special.nan) add_overflowing_products(special, a, b);
  if (special.any()) return special_output(u, special);

  // The products: sum * 2^(top - F).
  const int f = u.fraction_bits;
  std::int64_t sum = 0;
  int top = term::zero_exp;
  if (u.order == unit_order::together) {
    top = top_exponent(u, a, b);
    if (top > no_exponent) sum = sum_products(a, b, top - f);
  } else {
    std::int64_t sums[2]{};
    int tops[2]{};
    for (int part = 0; part < 2; ++part) {
      const interleaved x(a, b, u.order, part);
      const chunk xa = x.part_of(a, x.a, 0, x.count);
      const chunk xb = x.part_of(b, x.b, 0, x.count);
      tops[part] = top_exponent(u, xa, xb);
      if (tops[part] > no_exponent) sums[part] = sum_products(xa, xb, tops[part] - f);
    }
    top = max_of(tops[0], tops[1]);
    sum = shift_down(sums[0], tops[0] - top) + shift_down(sums[1], tops[1] - top);
  }

  // With the accumulator, one bit more than is kept in the end: x * 2^(both - g).
  const int g = u.second_fraction_bits + 1;
  const int man = u.accumulator.man_bits;
  const int acc_top = acc.sig == 0 ? u.accumulator.emin() : acc.exp + man;
  const int both = max_of(top, acc_top);
  std::int64_t x = shift_down(sum, g - f - (both - max_of(top, no_exponent)));
  const bool is_lost = u.order != unit_order::together && acc_top < both - (f + 1);
  if (!is_lost) {
    const auto sig = static_cast<std::int64_t>(acc.sig);
    const std::int64_t cut = shift_down(acc.negative ? -sig : sig, acc.exp + f - both);
    x += shift_down(cut, g - f);
  }
  if (x == 0) return 0;
  const int leading = max_of(bit_width(magnitude(x)) - 1 + both - g, u.accumulator.emin());
  const int lsb = leading - u.second_fraction_bits;
  return both - g < lsb ? round_output(u, shift_down(x, both - g - lsb), lsb)
                        : round_output(u, x, both - g);
}

/// unit_sum::exact. Source: "E-FDPA" of MMA-Sim, with an exact sum where its code rounds.
MXREF_HD constexpr std::uint32_t exact_step(const unit_desc& u, std::uint32_t c, const chunk& a,
                                            const chunk& b) noexcept {
  const number acc = to_number(u.accumulator, c);
  const special_class special = special_class::of_step(acc, a, b);
  if (special.any()) return special_output(u, special);
  exact_sum sum;
  sum.add(acc);
  add_products(sum, a, b);
  const number total = sum.total();
  if (total.sig == 0) return 0;
  // 63 bits and a sticky one.
  const auto half = static_cast<std::int64_t>(total.sig >> 1 | (total.sig & 1));
  return round_output(u, total.negative ? -half : half, total.exp + 1);
}

/// binary32 as the flushing units see it: a subnormal is a zero of the same sign.
MXREF_HD constexpr std::uint32_t flush(std::uint32_t code) noexcept {
  return (code & 0x7F800000) == 0 ? code & 0x80000000 : code;
}

/// An element as a number; a subnormal and both zeros are +0.
MXREF_HD constexpr number flushed_number(const term& t, int man_bits) noexcept {
  if (t.is_nan()) return {0, 0, false, number_class::nan};
  if (t.is_inf()) return {0, 0, t.sig < 0, number_class::infinite};
  const std::uint64_t sig = magnitude(t.sig);
  return sig >> man_bits == 0 ? number{} : number{sig, t.exp, t.sig < 0, number_class::finite};
}

/// unit_sum::flushed. Source: study of public models, "FTZ multiply-add" of MMA-Sim. Absent
/// products are +0.
MXREF_HD constexpr std::uint32_t flushed_step(const unit_desc& u, std::uint32_t c, const chunk& a,
                                              const chunk& b) noexcept {
  std::uint32_t sums[unit_desc::max_interleaved]{};
  for (int k = 0; k < a.count; ++k) {
    sums[k] = flush(to_binary32(
        multiply(flushed_number(a.terms[k], a.man_bits), flushed_number(b.terms[k], b.man_bits))));
  }
  for (int count = u.length; count > 1; count = (count + 1) / 2) {
    for (int k = 0; k < count / 2; ++k) {
      sums[k] = flush(add_binary32(sums[2 * k], sums[2 * k + 1]));
    }
    if (count % 2 != 0) sums[count / 2] = sums[count - 1];
  }
  const std::uint32_t d = flush(add_binary32(c, sums[0]));
  return to_number(binary32_desc, d).is_nan() ? u.nan_code() : d;
}

MXREF_HD constexpr std::uint32_t unit_step(const unit_desc& u, std::uint32_t c, const chunk& a,
                                           const chunk& b) noexcept {
  switch (u.sum) {
    case unit_sum::window:
      return u.restart == 0 ? window_step(u, c, a, b) : restarted_step(u, c, a, b);
    case unit_sum::two_windows:
      return two_windows_step(u, c, a, b);
    case unit_sum::exact:
      return exact_step(u, c, a, b);
    case unit_sum::flushed:
      return flushed_step(u, c, a, b);
  }
  return u.nan_code();
}

}  // namespace detail

MXREF_END_NAMESPACE

#endif  // MXREF_UNIT_STEP_HPP_
