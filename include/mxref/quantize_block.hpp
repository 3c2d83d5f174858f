// SPDX-License-Identifier: Apache-2.0
// Level 3. Real numbers to one block (OCP MX 6.3): its scale, then its codes.
#ifndef MXREF_QUANTIZE_BLOCK_HPP_
#define MXREF_QUANTIZE_BLOCK_HPP_

#include <concepts>
#include <cstdint>

#include "mxref/block.hpp"
#include "mxref/config.hpp"
#include "mxref/convention.hpp"
#include "mxref/convert.hpp"
#include "mxref/overflow.hpp"
#include "mxref/rounded_log2.hpp"
#include "mxref/rounding.hpp"
#include "mxref/scale.hpp"
#include "mxref/view.hpp"

MXREF_BEGIN_NAMESPACE

/// The questions of a block quantization, with the answers of OCP MX 6.3 as defaults.
template <scale_policy S = scale::floor, rounding_policy R = rounding::nearest_even,
          overflow_policy O = overflow::saturate, nan_policy P = nan::poison,
          convention_policy C = convention::standard>
struct quantizer {
  using scale_type = scale_type_of<S>;

  S scale{};
  R rounding{};
  O overflow{};
  P on_nan{};
  C elements{};
};

/// Where numbers stand in their source, for policies that depend on it: x[i] has the position
/// first + i * step.
struct element_order {
  std::uint64_t first = 0;
  std::uint64_t step = 1;

  MXREF_HD constexpr std::uint64_t operator()(index_t i) const noexcept {
    return first + static_cast<std::uint64_t>(i) * step;
  }
};

/// What a block holds besides numbers, and its largest finite magnitude.
struct block_amax {
  number amax{};
  bool has_nan = false;
  bool has_inf = false;

  template <native_float T>
  MXREF_HD constexpr void include(T x) noexcept {
    const number v = to_number(x);
    has_nan |= v.is_nan();
    has_inf |= v.is_inf();
    if (!v.is_finite() || !detail::magnitude_less(amax, v)) return;
    amax = v;
    amax.negative = false;
  }
};

template <native_float T>
MXREF_HD constexpr block_amax find_amax(const T* x, index_t stride, int count) noexcept {
  block_amax result;
  for (int i = 0; i < count; ++i) result.include(x[i * stride]);
  return result;
}

namespace detail {
/// Beyond every amax of numbers: what a rule is given for an Inf.
MXREF_HD constexpr number inf_amax() noexcept { return {1, 2000, false, number_class::finite}; }
}  // namespace detail

/// The scale of a block by a quantizer's policies: NaN when the block is poisoned.
template <class... Policies>
MXREF_HD constexpr auto choose_scale(const block_amax& found, format_desc format,
                                     const quantizer<Policies...>& q) noexcept {
  using scale_type = typename quantizer<Policies...>::scale_type;
  using code_type = typename scale_type::code_type;
  constexpr format_desc f = detail::desc_of<scale_type>::get();
  const nan_mode mode = q.on_nan.mode;
  const bool inf_poisons = mode == nan_mode::poison;
  const bool nan_poisons = inf_poisons || mode == nan_mode::gfloat_inf;
  if ((found.has_nan && nan_poisons) || (found.has_inf && inf_poisons)) {
    return scale_type{static_cast<code_type>(f.nan_code())};
  }
  if (!found.has_inf || mode == nan_mode::finite) return q.scale(found.amax, format);
  const scale_type largest = q.scale(detail::inf_amax(), format);
  if (mode == nan_mode::ignore || !largest.to_number().is_nan()) return largest;
  return scale_type{static_cast<code_type>(f.max_magnitude())};
}

/// Whether a convention makes zeros of a block.
MXREF_HD constexpr bool is_flushed(const block_amax& found, const element_convention& c) noexcept {
  if (c.flush == block_flush::none || found.has_inf) return false;
  const number a = to_number(from_number<float>(found.amax));
  if (a.is_inf()) return false;
  if (a.sig == 0) return true;
  return (c.flush == block_flush::rounded ? detail::rounded_log2(a, 24).floor()
                                          : detail::floor_log2(a)) <= -127;
}

/// A block's scale, and whether its elements are zeros whatever they were.
template <element_format Scale>
struct block_scale {
  Scale scale{};
  bool is_flushed = false;
};
template <element_format Scale>
block_scale(Scale, bool) -> block_scale<Scale>;

/// The code of one number of a block, 0 under a NaN scale; index as in element_order.
template <element_format Scale, class... Policies>
MXREF_HD constexpr std::uint8_t encode_scaled(number x, const block_scale<Scale>& block,
                                              format_desc format, const quantizer<Policies...>& q,
                                              std::uint64_t index) noexcept {
  const Scale scale = block.scale;
  const number s = scale.to_number();
  if (s.is_nan()) return 0;
  if (block.is_flushed && x.is_finite()) x.sig = 0;
  if constexpr (requires { q.scale.descale(x, scale, format); }) {
    x = q.scale.descale(x, scale, format);
  } else {
    x.exp -= s.exp;
  }
  return static_cast<std::uint8_t>(
      to_code_by(format, x, rounding_at(q.rounding, index), q.overflow, q.elements));
}

/// The scale of a block of count numbers x[0], x[stride], ...
template <native_float T, class... Policies>
MXREF_HD constexpr auto scale_of_block(const T* x, index_t stride, int count, format_desc format,
                                       const quantizer<Policies...>& q) noexcept {
  const block_amax found = find_amax(x, stride, count);
  block_scale result{choose_scale(found, format, q), is_flushed(found, q.elements)};
  if constexpr (requires { q.scale.pick(result.scale, found.amax, x, stride, count, format); }) {
    // Without an Inf: its scale is the largest, whatever the numbers are.
    if (!result.scale.to_number().is_nan() && !found.has_inf) {
      result.scale = q.scale.pick(result.scale, found.amax, x, stride, count, format);
    }
  }
  return result;
}

/// Quantizes one block of count numbers, x[0], x[stride], ...
///
/// Units:   in: real values; scale: code of the rule's scale format; codes[i * code_stride]:
///          element code, one per byte.
/// Rounds:  each element once, x * 2^-s to the element format; or what the rule's descale gives.
/// Errors:  none; under nan::finite a format without NaN must not be given one (its nan_code()
///          would be stored), which the callers below refuse.
/// Source:  OCP MX 6.3. Left open there and decided by policy: NaN and Inf (P), s outside
///          -127..127 (clamped), zero block (scale code 0, signs kept), -2 in MXINT8 (O).
/// Checked: tests/spec/mx_6_3_spec.cpp, tests/sweep/golden_block_test.cpp
template <native_float T, class... Policies>
MXREF_HD constexpr void quantize_block(const T* x, index_t stride, int count, format_desc format,
                                       const quantizer<Policies...>& q,
                                       typename quantizer<Policies...>::scale_type& scale,
                                       std::uint8_t* codes, index_t code_stride = 1,
                                       element_order order = {}) noexcept {
  const auto block = scale_of_block(x, stride, count, format, q);
  scale = block.scale;
  for (int i = 0; i < count; ++i) {
    codes[i * code_stride] = encode_scaled(to_number(x[i * stride]), block, format, q, order(i));
  }
}

/// Quantizes the first `count` of a block's numbers; the codes behind a tail are 0. The block's
/// scale type must be that of the rule.
template <class Block, native_float T, scale_policy S = scale::floor,
          rounding_policy R = rounding::nearest_even, overflow_policy O = overflow::saturate,
          nan_policy P = nan::poison, convention_policy C = convention::standard>
requires(P::mode != nan_mode::finite || Block::element_type::desc.has_nan()) MXREF_HD
    constexpr Block
    quantize(const T* x, int count, S s = {}, R r = {}, O o = {}, P p = {}, C c = {}) noexcept {
  static_assert(std::same_as<typename Block::scale_type, scale_type_of<S>>,
                "the scale rule gives another scale type than the block has");
  Block result;
  scale_type_of<S> code;
  std::uint8_t codes[Block::size]{};
  quantize_block(x, 1, count, detail::desc_of<typename Block::element_type>::get(),
                 quantizer<S, R, O, P, C>{s, r, o, p, c}, code, codes);
  result.set_scale(code);
  for (int i = 0; i < count; ++i) {
    result.set_element(i, typename Block::element_type{codes[i]});
  }
  return result;
}

/// Quantizes a whole block: quantize<mx_block<E4M3, 32>>(x32, scale::floor{}).
template <class Block, native_float T, scale_policy S = scale::floor,
          rounding_policy R = rounding::nearest_even, overflow_policy O = overflow::saturate,
          nan_policy P = nan::poison, convention_policy C = convention::standard>
MXREF_HD constexpr Block quantize(const T* x, S s = {}, R r = {}, O o = {}, P p = {},
                                  C c = {}) noexcept {
  return quantize<Block>(x, Block::size, s, r, o, p, c);
}

MXREF_END_NAMESPACE

#endif  // MXREF_QUANTIZE_BLOCK_HPP_
