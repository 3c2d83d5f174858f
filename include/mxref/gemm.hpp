// SPDX-License-Identifier: Apache-2.0
// Level 4. The scalar reference GEMM. Its interface is the interface of every backend.
#ifndef MXREF_GEMM_HPP_
#define MXREF_GEMM_HPP_

#include <concepts>
#include <cstdint>
#include <type_traits>

#include "mxref/accumulate.hpp"
#include "mxref/buffer.hpp"
#include "mxref/config.hpp"
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

/// A model of hardware: its table says which unit it is for given operands.
template <class P>
concept hardware_model = requires(const P p, format_desc out, operand_kind kind) {
  { p.resolve(kind, kind, out) } -> std::same_as<unit_choice>;
  { p.check(kind, kind, out) } -> std::same_as<errc>;
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
};

namespace detail {

/// Rows of an operand decoded for a policy: as terms with their scales beside them, or as
/// binary32 patterns with the scales multiplied in.
template <class Operand>
class decoded_rows {
 public:
  decoded_rows(const operand_view& view, int step) noexcept : view_(view), step_(step) {
    if (view.format.total_bits() > 8) return;
    for (unsigned code = 0; code < 256; ++code) {
      numbers_[code] = mxref::to_number(view.format, code);
    }
  }

  bool allocate(index_t rows) noexcept {
    if (!values_.allocate(rows * view_.depth)) return false;
    if constexpr (std::same_as<Operand, term>) {
      return scales_.allocate(rows * scale_count()) && special_.allocate(rows * step_count());
    }
    return true;
  }

  void decode(index_t row, index_t slot) noexcept {
    Operand* values = values_.data() + slot * view_.depth;
    for (index_t k = 0; k < view_.depth; ++k) {
      const std::uint32_t code = view_.code(row, k);
      const number e =
          view_.format.total_bits() <= 8 ? numbers_[code & 0xFF] : to_number(view_.format, code);
      if constexpr (std::same_as<Operand, term>) {
        values[k] = to_term(e);
      } else {
        values[k] = to_binary32(
            view_.scaled()
                ? scaled(e, to_number(view_.scale_format, view_.scale_code(row, k / view_.block)))
                : e);
      }
    }
    if constexpr (std::same_as<Operand, term>) decode_scales(row, slot);
  }

  /// Step i of a decoded row.
  auto step(index_t slot, index_t i) const noexcept {
    const Operand* values = values_.data() + slot * view_.depth + i * step_;
    if constexpr (std::same_as<Operand, term>) {
      chunk c;
      c.terms = values;
      c.scales = scales_.data() + slot * scale_count() + i * step_ / scale_block();
      c.count = step_size(i);
      c.block = scale_block();
      c.man_bits = view_.format.man_bits;
      c.special = special_[slot * step_count() + i];
      c.scale_man_bits = view_.scaled() ? view_.scale_format.man_bits : 0;
      c.quantum_exp = view_.format.quantum_exp();
      return c;
    } else {
      return values;
    }
  }

  int step_size(index_t i) const noexcept {
    return static_cast<int>(smaller(view_.depth - i * step_, step_));
  }
  index_t step_count() const noexcept { return (view_.depth + step_ - 1) / step_; }

 private:
  static index_t smaller(index_t a, index_t b) noexcept { return a < b ? a : b; }
  int scale_block() const noexcept { return view_.scaled() ? view_.block : step_; }
  index_t scale_count() const noexcept { return (view_.depth + scale_block() - 1) / scale_block(); }

  void decode_scales(index_t row, index_t slot) noexcept {
    term* scales = scales_.data() + slot * scale_count();
    for (index_t b = 0; b < scale_count(); ++b) {
      scales[b] = view_.scaled() ? to_term(to_number(view_.scale_format, view_.scale_code(row, b)))
                                 : term{1, 0};
    }
    for (index_t i = 0; i < step_count(); ++i) {
      const index_t end = smaller(view_.depth, (i + 1) * step_);
      bool special = false;
      for (index_t k = i * step_; k < end; ++k) {
        special |=
            values_[slot * view_.depth + k].is_special() || scales[k / scale_block()].is_special();
      }
      special_[slot * step_count() + i] = special;
    }
  }

  operand_view view_;
  int step_;
  number numbers_[256]{};
  buffer<Operand> values_;
  buffer<term> scales_;
  buffer<bool> special_;
};

inline operand_kind kind_of(const operand_view& v) noexcept {
  return {v.format, v.scale_format, v.block};
}

template <accumulation_policy P>
status check_gemm(const operand_view& a, const operand_view& b, const output_view& d, const P& p,
                  const gemm_options& o) noexcept {
  const bool has_c = o.c.rows != 0;
  if (a.rows < 0 || b.rows < 0 || a.depth < 0 || a.depth != b.depth || d.rows != a.rows ||
      d.cols != b.rows || (has_c && (o.c.rows != d.rows || o.c.depth != d.cols))) {
    return {errc::shape_mismatch};
  }
  if (a.block < 0 || b.block < 0 || o.block < 1 ||
      (a.scaled() && b.scaled() && a.block != b.block)) {
    return {errc::block_mismatch};
  }
  for (const operand_view* v : {&a, &b}) {
    if (!is_valid(v->format)) return {errc::unsupported_format};
    if (v->storage == code_storage::dense && v->format.total_bits() > 8) {
      return {errc::unsupported_format};
    }
    if (v->scaled() && !is_valid_scale(v->scale_format)) return {errc::unsupported_format};
  }
  if (has_c && (!is_valid(o.c.format) || o.c.scaled())) return {errc::unsupported_format};
  if (!is_valid(d.format)) return {errc::unsupported_output};
  return {p.check(kind_of(a), kind_of(b), o.epilogue ? binary32_desc : d.format)};
}

/// D = fma(alpha, acc, RN(beta * C)).
inline std::uint32_t apply_epilogue(const gemm_options& o, std::uint32_t acc, const number* c,
                                    format_desc out) noexcept {
  number t{};
  if (c != nullptr) t = to_number(binary32_desc, to_binary32(multiply(to_number(o.beta), *c)));
  const number product = multiply(to_number(o.alpha), to_number(binary32_desc, acc));
  return finish_nearest(c != nullptr ? add(product, t) : product, out);
}

/// One output of a product whose rows are decoded: row slot_a of A, slot_b of B.
template <step_policy P>
std::uint32_t compute_output(const P& p, const decoded_rows<typename P::operand>& rows_a,
                             index_t slot_a, const decoded_rows<typename P::operand>& rows_b,
                             index_t slot_b, const number* c, const gemm_options& o,
                             format_desc out) noexcept {
  typename P::state state{};
  p.start(state, c == nullptr || o.epilogue ? number{} : *c);
  for (index_t i = 0; i < rows_a.step_count(); ++i) {
    if constexpr (std::same_as<typename P::operand, term>) {
      p.step(state, rows_a.step(slot_a, i), rows_b.step(slot_b, i));
    } else {
      p.step(state, rows_a.step(slot_a, i), rows_b.step(slot_b, i), rows_a.step_size(i));
    }
  }
  return o.epilogue ? apply_epilogue(o, p.finish(state, binary32_desc), c, out)
                    : p.finish(state, out);
}

/// The block size that decides the steps of a product.
inline int step_block(const operand_view& a, const operand_view& b,
                      const gemm_options& o) noexcept {
  return a.scaled() ? a.block : b.scaled() ? b.block : o.block;
}

/// The policy that takes the steps of a product that check_gemm has accepted.
template <accumulation_policy P>
auto policy_of_steps(const operand_view& a, const operand_view& b, const output_view& d, const P& p,
                     const gemm_options& o) noexcept {
  if constexpr (hardware_model<P>) {
    return p.resolve(kind_of(a), kind_of(b), o.epilogue ? binary32_desc : d.format).unit;
  } else {
    return p;
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
  const bool has_c = options.c.rows != 0;
  for (index_t m = 0; m < a.rows; ++m) {
    rows_a.decode(m, 0);
    for (index_t n = 0; n < b.rows; ++n) {
      number c{};
      if (has_c) c = operand_number(options.c, m, n);
      d.store(m, n,
              compute_output(p, rows_a, 0, rows_b, n, has_c ? &c : nullptr, options, d.format));
    }
  }
  return {};
}

}  // namespace detail

/// D[m][n] = C[m][n] + sum over k of A[m][k] * B[n][k], by the accumulation policy P.
///
/// Shape:   a (M, K), b (N, K), d and options.c (M, N). Any format pair; a side may be unscaled.
///          Scaled sides have one block size; the last block of a row may be short.
/// Rounds:  as P says. Output formats: what P makes (exact: any; the others: binary32). K = 0
///          gives C rounded to the output, NaN as 0x7FC00000: no step was taken.
/// Errors:  shape_mismatch, block_mismatch, unsupported_format, unsupported_output,
///          out_of_memory (decoded copies of B and of one row of A); d is untouched then.
/// Source:  OCP MX 6.1, 6.2 (which leave order and precision to P); C is added first.
/// Checked: tests/sweep/gemm_test.cpp, tests/sweep/golden_units_test.cpp
template <accumulation_policy P = accumulate::exact>
status gemm(const operand_view& a, const operand_view& b, const output_view& d, P p = {},
            const gemm_options& options = {}) noexcept {
  if (const status s = detail::check_gemm(a, b, d, p, options); !s) return s;
  return detail::run_gemm(a, b, d, detail::policy_of_steps(a, b, d, p, options), options);
}

MXREF_END_NAMESPACE

#endif  // MXREF_GEMM_HPP_
