// SPDX-License-Identifier: Apache-2.0
// Level 4. Operands of a matrix product as the accumulation policies read them.
#ifndef MXREF_DECODED_ROWS_HPP_
#define MXREF_DECODED_ROWS_HPP_

#include <concepts>
#include <cstdint>

#include "mxref/binary32.hpp"
#include "mxref/buffer.hpp"
#include "mxref/config.hpp"
#include "mxref/convert.hpp"
#include "mxref/quantize.hpp"
#include "mxref/terms.hpp"
#include "mxref/view.hpp"

MXREF_BEGIN_NAMESPACE

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
  index_t step_count() const noexcept { return steps_of(view_.depth); }
  index_t steps_of(index_t depth) const noexcept { return (depth + step_ - 1) / step_; }
  index_t depth() const noexcept { return view_.depth; }
  int step_length() const noexcept { return step_; }

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

}  // namespace detail

MXREF_END_NAMESPACE

#endif  // MXREF_DECODED_ROWS_HPP_
