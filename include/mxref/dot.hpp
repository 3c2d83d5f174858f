// SPDX-License-Identifier: Apache-2.0
// Level 4. The dot product of two blocks, usable in device code and constant expressions.
#ifndef MXREF_DOT_HPP_
#define MXREF_DOT_HPP_

#include <concepts>
#include <cstdint>
#include <type_traits>

#include "mxref/accumulate.hpp"
#include "mxref/bits.hpp"
#include "mxref/block.hpp"
#include "mxref/config.hpp"
#include "mxref/matrix_unit.hpp"
#include "mxref/terms.hpp"

MXREF_BEGIN_NAMESPACE

namespace detail {

template <class P, element_format A, element_format B, int N, element_format SA, element_format SB>
inline constexpr bool takes_operands = check_policy(P{}, {A::desc, SA::desc, N},
                                                    {B::desc, SB::desc, N},
                                                    binary32_desc) == errc::ok;

/// For a model of hardware, the unit that it is for the operands. A variable: device code may
/// have its value, but calls no host function.
template <class P, element_format A, element_format B, int N, element_format SA, element_format SB>
inline constexpr unit_choice unit_of_blocks = P{}.resolve({A::desc, SA::desc, N},
                                                          {B::desc, SB::desc, N}, binary32_desc);

template <class P, element_format A, element_format B, int N, element_format SA, element_format SB>
constexpr bool is_one_step() noexcept {
  if constexpr (hardware_model<P>) {
    const unit_choice c = unit_of_blocks<P, A, B, N, SA, SB>;
    return c ? c.unit.step_length(N) >= N : c.code != errc::block_mismatch;
  } else {
    return P{}.step_length(N) >= N;
  }
}
template <class P, element_format A, element_format B, int N, element_format SA, element_format SB>
inline constexpr bool takes_block_in_one_step = is_one_step<P, A, B, N, SA, SB>();

/// The policy that takes the steps.
template <class P, element_format A, element_format B, int N, element_format SA, element_format SB>
MXREF_HD constexpr auto policy_for_dot(const P& p) noexcept {
  if constexpr (hardware_model<P>) {
    if constexpr (std::is_empty_v<P>) {
      constexpr accumulate::matrix_unit u = unit_of_blocks<P, A, B, N, SA, SB>.unit;
      return u;
    } else {
      return p.resolve({A::desc, SA::desc, N}, {B::desc, SB::desc, N}, binary32_desc).unit;
    }
  } else {
    return p;
  }
}

}  // namespace detail

/// Dot(A, B) + c of OCP MX 6.1 as a binary32 number, by the accumulation policy P, which must take
/// the block in one step. Checked: tests/spec/mx_6_dot_spec.cpp
template <class P = accumulate::exact, element_format A, element_format B, int N, element_format SA,
          element_format SB>
MXREF_HD constexpr float dot(const mx_block<A, N, SA>& a, const mx_block<B, N, SB>& b,
                             P policy = {}, float c = 0.0F) noexcept {
  static_assert(!std::same_as<P, accumulate::matrix_unit>,
                "the parameters of the unit must be a part of its type: derive one that sets them");
  static_assert(detail::takes_block_in_one_step<P, A, B, N, SA, SB>,
                "the accumulation policy does not take a block of this size in one step");
  static_assert(detail::takes_operands<P, A, B, N, SA, SB>,
                "the accumulation policy does not take these formats or this block size");
  const auto p = detail::policy_for_dot<P, A, B, N, SA, SB>(policy);
  using step_policy = std::remove_const_t<decltype(p)>;
  typename step_policy::state state{};
  p.start(state, to_number(c));
  if constexpr (std::same_as<typename step_policy::operand, term>) {
    term ta[N];
    term tb[N];
    const term sa = to_term(a.scale().to_number());
    const term sb = to_term(b.scale().to_number());
    bool special_a = sa.is_special();
    bool special_b = sb.is_special();
    for (int i = 0; i < N; ++i) {
      ta[i] = to_term(a.element(i).to_number());
      tb[i] = to_term(b.element(i).to_number());
      special_a |= ta[i].is_special();
      special_b |= tb[i].is_special();
    }
    constexpr format_desc fa = detail::desc_of<A>::get();
    constexpr format_desc fb = detail::desc_of<B>::get();
    p.step(state,
           {ta, &sa, N, N, fa.man_bits, special_a, detail::desc_of<SA>::get().man_bits,
            fa.quantum_exp()},
           {tb, &sb, N, N, fb.man_bits, special_b, detail::desc_of<SB>::get().man_bits,
            fb.quantum_exp()});
  } else {
    std::uint32_t va[N];
    std::uint32_t vb[N];
    for (int i = 0; i < N; ++i) {
      va[i] = to_binary32(scaled(a.element(i).to_number(), a.scale().to_number()));
      vb[i] = to_binary32(scaled(b.element(i).to_number(), b.scale().to_number()));
    }
    p.step(state, va, vb, N);
  }
  return bit_cast<float>(p.finish(state, binary32_desc));
}

MXREF_END_NAMESPACE

#endif  // MXREF_DOT_HPP_
