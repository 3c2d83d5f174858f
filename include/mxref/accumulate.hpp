// SPDX-License-Identifier: Apache-2.0
// Level 4. Accumulation policies: how the products of a dot product become one number.
// The matrix units of hardware are in matrix_unit.hpp.
#ifndef MXREF_ACCUMULATE_HPP_
#define MXREF_ACCUMULATE_HPP_

#include <cstdint>

#include "mxref/binary32.hpp"
#include "mxref/bits.hpp"
#include "mxref/config.hpp"
#include "mxref/convert.hpp"
#include "mxref/exact_sum.hpp"
#include "mxref/status.hpp"
#include "mxref/terms.hpp"

MXREF_BEGIN_NAMESPACE

// A policy P defines
//   P::state            what one output element carries from step to step
//   P::operand          term (codes decoded) or std::uint32_t (binary32 patterns, scale applied)
//   p.step_length(B)    how many k one step takes, given the block size B
//   p.check(a, b, out)  whether it takes these operands and makes this output format
//   p.start(s, c)       begins with the number c
//   p.step(s, a, b)     adds the products of one step, in increasing k
//   p.finish(s, out)    the code of the result in the format out
// All are total and MXREF_HD.

/// What a policy must know of an operand before it accepts it.
struct operand_kind {
  format_desc format{};
  format_desc scale_format{};
  int block = 0;  ///< 0: unscaled
};

namespace detail {

/// Adds the exact scaled products of a pair of chunks without specials.
MXREF_HD constexpr void add_products(exact_sum& sum, const chunk& a, const chunk& b) noexcept {
  for (int k = 0; k < a.count; ++k) {
    const term& sa = a.scales[k / a.block];
    const term& sb = b.scales[k / b.block];
    const std::int64_t product = std::int64_t{a.terms[k].sig} * b.terms[k].sig;
    if (product == 0) continue;
    const std::int64_t scale = std::int64_t{sa.sig} * sb.sig;
    sum.add(magnitude(product) * magnitude(scale),
            a.terms[k].exp + b.terms[k].exp + sa.exp + sb.exp, (product < 0) != (scale < 0));
  }
}

/// The exact scaled dot product of a pair of chunks.
MXREF_HD constexpr number exact_dot(const chunk& a, const chunk& b) noexcept {
  if (a.special || b.special) {
    special_class special;
    special.add_products(a, b);
    if (special.any()) return special.result();
  }
  exact_sum sum;
  add_products(sum, a, b);
  return sum.total();
}

MXREF_HD constexpr std::uint32_t finish_nearest(const number& x, format_desc out) noexcept {
  return static_cast<std::uint32_t>(
      to_code(out, x, rounding::nearest_even{}, overflow::nonsaturating{}));
}

/// What every binary32 accumulator shares.
struct binary32_state {
  std::uint32_t value = 0;
};

struct binary32_policy {
  using state = binary32_state;

  static constexpr errc check(const operand_kind&, const operand_kind&, format_desc out) noexcept {
    return out == binary32_desc ? errc::ok : errc::unsupported_output;
  }
  MXREF_HD static constexpr void start(state& s, const number& c) noexcept {
    s.value = to_binary32(c);
  }
  MXREF_HD static constexpr std::uint32_t finish(const state& s, format_desc) noexcept {
    return s.value;
  }
};

}  // namespace detail

namespace accumulate {

/// The mathematical result: all products, scales and C summed without error, rounded once (nearest
/// even, gradual underflow, overflow to Inf) to the output format. An exact zero is +0.
struct exact {
  static constexpr const char* name = "exact";
  using operand = term;
  struct state {
    exact_sum sum{};
    special_class special{};
  };

  static constexpr int step_length(int block) noexcept { return block; }
  static constexpr errc check(const operand_kind&, const operand_kind&, format_desc) noexcept {
    return errc::ok;
  }
  MXREF_HD static constexpr void start(state& s, const number& c) noexcept {
    s.special.add(c);
    if (c.is_finite()) s.sum.add(c);
  }
  MXREF_HD static constexpr void step(state& s, const chunk& a, const chunk& b) noexcept {
    if (a.special || b.special) s.special.add_products(a, b);
    if (!s.special.any()) detail::add_products(s.sum, a, b);
  }
  MXREF_HD static constexpr std::uint32_t finish(const state& s, format_desc out) noexcept {
    return detail::finish_nearest(s.special.any() ? s.special.result() : s.sum.total(), out);
  }
};

/// Exact scaled block dot, rounded to binary32, then added in binary32: two roundings a block.
struct block_exact_fp32 : detail::binary32_policy {
  static constexpr const char* name = "block-exact-fp32";
  using operand = term;

  static constexpr int step_length(int block) noexcept { return block; }
  MXREF_HD static constexpr void step(state& s, const chunk& a, const chunk& b) noexcept {
    s.value = add_binary32(s.value, to_binary32(detail::exact_dot(a, b)));
  }
};

/// Exact scaled block dot added to the binary32 accumulator with one rounding a block.
struct block_fused_fp32 : detail::binary32_policy {
  static constexpr const char* name = "block-fused-fp32";
  using operand = term;

  static constexpr int step_length(int block) noexcept { return block; }
  MXREF_HD static constexpr void step(state& s, const chunk& a, const chunk& b) noexcept {
    const number acc = to_number(binary32_desc, s.value);
    const special_class special = special_class::of_step(acc, a, b);
    if (special.any()) {
      s.value = to_binary32(special.result());
      return;
    }
    exact_sum sum;
    sum.add(acc);
    detail::add_products(sum, a, b);
    s.value = to_binary32(sum.total());
  }
};

/// IEEE fused multiply-add of decoded binary32 values (element times scale, rounded to binary32)
/// in increasing k, with IEEE zero signs.
struct fp32_chain : detail::binary32_policy {
  static constexpr const char* name = "fp32-chain";
  using operand = std::uint32_t;

  static constexpr int step_length(int block) noexcept { return block; }
  MXREF_HD static constexpr void step(state& s, const std::uint32_t* a, const std::uint32_t* b,
                                      int count) noexcept {
    for (int k = 0; k < count; ++k) s.value = fma_binary32(a[k], b[k], s.value);
  }
};

}  // namespace accumulate

MXREF_END_NAMESPACE

#endif  // MXREF_ACCUMULATE_HPP_
