// SPDX-License-Identifier: Apache-2.0
// Level 4. The scalar reference GEMM. Its interface is the interface of every backend.
#ifndef MXREF_GEMM_HPP_
#define MXREF_GEMM_HPP_

#include <concepts>
#include <cstdint>
#include <type_traits>

#include "mxref/accumulate.hpp"
#include "mxref/config.hpp"
#include "mxref/decoded_rows.hpp"
#include "mxref/element.hpp"
#include "mxref/matrix_unit.hpp"
#include "mxref/quantize.hpp"
#include "mxref/status.hpp"
#include "mxref/terms.hpp"
#include "mxref/view.hpp"

MXREF_BEGIN_NAMESPACE

/// A policy that takes steps by itself.
template <class P>
concept step_policy = requires(const P p, typename P::state s, number c, format_desc out,
                               operand_kind kind) {
  requires std::same_as<typename P::operand, term> ||
      std::same_as<typename P::operand, std::uint32_t>;
  { p.step_length(32) } -> std::same_as<int>;
  { p.check(kind, kind, out) } -> std::same_as<errc>;
  p.start(s, c);
  { p.finish(s, out) } -> std::same_as<std::uint32_t>;
};

template <class P>
concept accumulation_policy = step_policy<P> || hardware_model<P>;

/// Where codes of an output format go: M x N containers of the format's code_type.
struct output_view {
  format_desc format{};
  void* data = nullptr;
  index_t rows = 0;
  index_t cols = 0;
  index_t row_bytes = 0;
  index_t col_bytes = 0;

  constexpr output_view() noexcept = default;
  constexpr output_view(matrix_view<float> m) noexcept : output_view(binary32_desc, m) {}
  template <format_desc D>
  constexpr output_view(matrix_view<element<D>> m) noexcept : output_view(D, m) {}

  void store(index_t row, index_t col, std::uint32_t code) const noexcept {
    store_code(static_cast<std::uint8_t*>(data) + row * row_bytes + col * col_bytes,
               container_bytes(format), code);
  }

 private:
  template <class T>
  constexpr output_view(format_desc f, matrix_view<T> m) noexcept
      : format(f),
        data(m.data),
        rows(m.rows),
        cols(m.cols),
        row_bytes(m.row_stride * static_cast<index_t>(sizeof(T))),
        col_bytes(m.col_stride * static_cast<index_t>(sizeof(T))) {}
};

/// What a GEMM may be given besides its operands.
struct gemm_options {
  /// C, an unscaled M x N matrix; without rows there is none and accumulators start at +0.
  operand_view c{};
  /// The "block" of two unscaled operands, for the policies that round once a block.
  int block = 32;
  /// With alpha or beta (an epilogue), the accumulator starts at +0 and ends as binary32;
  /// t = RN(beta * C), D = fma(alpha, acc, t) rounded once to the output format (without C:
  /// D = RN(alpha * acc), zero signs as IEEE 754 multiplies them).
  bool epilogue = false;
  float alpha = 1.0F;
  float beta = 1.0F;
  /// The scales of whole tensors (NVFP4), multiplied. Other than 1 it makes an epilogue, with
  /// RN(alpha * tensor_scale) for alpha.
  float tensor_scale = 1.0F;

  // The orders of libraries: the policy gives binary32 partial results, which are added in
  // binary32 (nearest even, IEEE zero signs, NaN 0x7FC00000) and rounded once to the output format.

  /// Every so many k (whole steps of the policy) the accumulator is added to a binary32 register
  /// and starts anew at +0; the register starts at C. DeepSeek-V3 does so every 128 k. 0: never.
  int promotion = 0;
  /// Split-K: S contiguous ranges of ceil(K / S), rounded up to whole steps, added in increasing
  /// k. The first range starts at C, the others at +0; ranges without k are absent.
  int split_k = 1;

  /// The format that the policy makes when it is not that of D, as the D type of an instruction;
  /// then every output is converted once more, to nearest even. format_desc{}: that of D.
  format_desc made{};
  overflow_mode overflow = overflow_mode::nonsaturating;  ///< of that conversion
};

namespace detail {

inline operand_kind kind_of(const operand_view& v) noexcept {
  return {v.format, v.scale_format, v.block};
}

constexpr bool has_order(const gemm_options& o) noexcept {
  return o.promotion != 0 || o.split_k != 1;
}

/// The format that the policy has to make for an output of this format.
constexpr format_desc made_format(const gemm_options& o, const format_desc& out) noexcept {
  if (o.epilogue || o.tensor_scale != 1.0F || has_order(o)) return binary32_desc;
  return o.made == format_desc{} ? out : o.made;
}

/// The block size that decides the steps of a product.
inline int step_block(const operand_view& a, const operand_view& b,
                      const gemm_options& o) noexcept {
  return a.scaled() ? a.block : b.scaled() ? b.block : o.block;
}

/// The policy that takes the steps of a product: for a model of hardware its unit.
template <accumulation_policy P>
auto policy_of_steps(const operand_view& a, const operand_view& b, const output_view& d, const P& p,
                     const gemm_options& o) noexcept {
  if constexpr (hardware_model<P>) {
    return p.resolve(kind_of(a), kind_of(b), made_format(o, d.format)).unit;
  } else {
    return p;
  }
}

template <accumulation_policy P>
status check_gemm(const operand_view& a, const operand_view& b, const output_view& d, const P& p,
                  const gemm_options& o) noexcept {
  const bool has_c = o.c.rows != 0;
  if (a.rows < 0 || b.rows < 0 || a.depth < 0 || a.depth != b.depth || d.rows != a.rows ||
      d.cols != b.rows || (has_c && (o.c.rows != d.rows || o.c.depth != d.cols))) {
    return {errc::shape_mismatch};
  }
  if (a.block < 0 || b.block < 0 || o.block < 1 || o.promotion < 0 || o.split_k < 1 ||
      (a.scaled() && b.scaled() && a.block != b.block)) {
    return {errc::block_mismatch};
  }
  for (const operand_view* v : {&a, &b}) {
    if (!is_valid(v->format)) return {errc::unsupported_format};
    if (v->storage == code_storage::dense && v->format.total_bits() > 8) {
      return {errc::unsupported_format};
    }
    if (!v->scaled()) continue;
    // Products of two significands and two scales are 64-bit integers.
    const bool is_wide = v->scale_format.total_bits() > 8 && v->format.total_bits() > 8;
    if (is_wide || !is_valid_scale(v->scale_format)) return {errc::unsupported_format};
  }
  if (has_c && (!is_valid(o.c.format) || o.c.scaled())) return {errc::unsupported_format};
  const format_desc made = made_format(o, d.format);
  if (!is_valid(d.format) || !is_valid(made)) return {errc::unsupported_output};
  if (const errc e = check_policy(p, kind_of(a), kind_of(b), made); e != errc::ok) return {e};
  if (o.promotion != 0) {
    const auto steps = policy_of_steps(a, b, d, p, o);
    if (o.promotion % steps.step_length(step_block(a, b, o)) != 0) return {errc::block_mismatch};
  }
  return {};
}

/// D = fma(alpha, acc, RN(beta * C)).
inline std::uint32_t apply_epilogue(const gemm_options& o, std::uint32_t acc, const number* c,
                                    format_desc out) noexcept {
  number t{};
  if (c != nullptr) t = to_number(binary32_desc, to_binary32(multiply(to_number(o.beta), *c)));
  const number product = multiply(to_number(o.alpha), to_number(binary32_desc, acc));
  return finish_nearest(c != nullptr ? add(product, t) : product, out);
}

/// The options with the tensor scale in alpha.
inline gemm_options fold_tensor_scale(gemm_options o) noexcept {
  if (o.tensor_scale == 1.0F) return o;
  o.epilogue = true;
  o.alpha = from_number<float>(multiply(to_number(o.alpha), to_number(o.tensor_scale)));
  o.tensor_scale = 1.0F;
  return o;
}

/// Steps first..end-1 of one output from start: what the policy makes of them, in the format out.
template <step_policy P>
std::uint32_t compute_steps(const P& p, const decoded_rows<typename P::operand>& rows_a,
                            index_t slot_a, const decoded_rows<typename P::operand>& rows_b,
                            index_t slot_b, index_t first, index_t end, const number& start,
                            format_desc out) noexcept {
  typename P::state state{};
  p.start(state, start);
  for (index_t i = first; i < end; ++i) {
    if constexpr (std::same_as<typename P::operand, term>) {
      p.step(state, rows_a.step(slot_a, i), rows_b.step(slot_b, i));
    } else {
      p.step(state, rows_a.step(slot_a, i), rows_b.step(slot_b, i), rows_a.step_size(i));
    }
  }
  return p.finish(state, out);
}

/// The same over all steps, in the order of a library: a binary32 result.
template <step_policy P>
std::uint32_t compute_in_order(const P& p, const decoded_rows<typename P::operand>& rows_a,
                               index_t slot_a, const decoded_rows<typename P::operand>& rows_b,
                               index_t slot_b, const number& start,
                               const gemm_options& o) noexcept {
  const auto run = [&](index_t first, index_t end, const number& x) {
    return compute_steps(p, rows_a, slot_a, rows_b, slot_b, first, end, x, binary32_desc);
  };
  const index_t steps = rows_a.step_count();
  const index_t range = rows_a.steps_of((rows_a.depth() + o.split_k - 1) / o.split_k);
  const index_t interval = o.promotion == 0 ? steps : o.promotion / rows_a.step_length();
  std::uint32_t total = to_binary32(start);
  for (index_t first = 0; first < steps; first += range) {
    const index_t end = first + range < steps ? first + range : steps;
    const bool is_first = first == 0;
    std::uint32_t part = is_first ? total : 0;
    if (o.promotion == 0) {
      part = run(first, end, is_first ? start : number{});
    } else {
      for (index_t i = first; i < end; i += interval) {
        part = add_binary32(part, run(i, i + interval < end ? i + interval : end, number{}));
      }
    }
    total = is_first ? part : add_binary32(total, part);
  }
  return total;
}

/// One output of a product whose rows are decoded: row slot_a of A, slot_b of B.
template <step_policy P>
std::uint32_t compute_output(const P& p, const decoded_rows<typename P::operand>& rows_a,
                             index_t slot_a, const decoded_rows<typename P::operand>& rows_b,
                             index_t slot_b, const number* c, const gemm_options& o,
                             format_desc out) noexcept {
  const format_desc made = made_format(o, out);
  const number start = c == nullptr || o.epilogue ? number{} : *c;
  const std::uint32_t code =
      has_order(o)
          ? compute_in_order(p, rows_a, slot_a, rows_b, slot_b, start, o)
          : compute_steps(p, rows_a, slot_a, rows_b, slot_b, 0, rows_a.step_count(), start, made);
  if (o.epilogue) return apply_epilogue(o, code, c, out);
  if (made == out) return code;
  return static_cast<std::uint32_t>(
      to_code(out, to_number(made, code), rounding::nearest_even{}, overflow::dynamic{o.overflow}));
}

/// Outputs (row, col) .. (row, col + count - 1) of a product: row slot_a of A, rows first_b and on
/// of B.
template <step_policy P>
void compute_outputs(const P& p, const decoded_rows<typename P::operand>& rows_a, index_t slot_a,
                     const decoded_rows<typename P::operand>& rows_b, index_t first_b, index_t row,
                     index_t col, index_t count, const gemm_options& o,
                     const output_view& d) noexcept {
  const bool has_c = o.c.rows != 0;
  for (index_t n = 0; n < count; ++n) {
    number c{};
    if (has_c) c = operand_number(o.c, row, col + n);
    d.store(
        row, col + n,
        compute_output(p, rows_a, slot_a, rows_b, first_b + n, has_c ? &c : nullptr, o, d.format));
  }
}

template <step_policy P>
status run_gemm(const operand_view& a, const operand_view& b, const output_view& d, const P& p,
                const gemm_options& options) noexcept {
  const int step = p.step_length(step_block(a, b, options));
  decoded_rows<typename P::operand> rows_a(a, step);
  decoded_rows<typename P::operand> rows_b(b, step);
  if (!rows_a.allocate(1) || !rows_b.allocate(b.rows)) return {errc::out_of_memory};
  for (index_t n = 0; n < b.rows; ++n) rows_b.decode(n, n);
  for (index_t m = 0; m < a.rows; ++m) {
    rows_a.decode(m, 0);
    compute_outputs(p, rows_a, 0, rows_b, 0, m, 0, b.rows, options, d);
  }
  return {};
}

}  // namespace detail

/// D[m][n] = C[m][n] + sum over k of A[m][k] * B[n][k], by the accumulation policy P.
///
/// Shape:   a (M, K), b (N, K), d and options.c (M, N). Any format pair; a side may be unscaled.
///          Scaled sides have one block size; the last block of a row may be short.
/// Rounds:  as P says. Output formats: what P makes (exact: any; matrix units: their D types; the
///          others: binary32), and any with options.made. K = 0 gives C rounded to the output, NaN
///          as 0x7FC00000: no step was taken.
/// Errors:  shape_mismatch, block_mismatch (also promotion that is no multiple of P's step),
///          unsupported_format, unsupported_output,
///          out_of_memory (decoded copies of B and of one row of A); d is untouched then.
/// Source:  OCP MX 6.1, 6.2 (which leave order and precision to P); C is added first.
/// Checked: tests/sweep/gemm_test.cpp, tests/sweep/golden_units_test.cpp,
///          tests/sweep/library_order_test.cpp
template <accumulation_policy P = accumulate::exact>
status gemm(const operand_view& a, const operand_view& b, const output_view& d, P p = {},
            const gemm_options& options = {}) noexcept {
  if (const status s = detail::check_gemm(a, b, d, p, options); !s) return s;
  const gemm_options folded = detail::fold_tensor_scale(options);
  return detail::run_gemm(a, b, d, detail::policy_of_steps(a, b, d, p, folded), folded);
}

MXREF_END_NAMESPACE

#endif  // MXREF_GEMM_HPP_
