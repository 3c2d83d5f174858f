// SPDX-License-Identifier: Apache-2.0
// Level 3. mx_matrix: an owning K-major operand, one code per byte, scales beside it.
#ifndef MXREF_MATRIX_HPP_
#define MXREF_MATRIX_HPP_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "mxref/config.hpp"
#include "mxref/element.hpp"
#include "mxref/formats.hpp"
#include "mxref/view.hpp"

MXREF_BEGIN_NAMESPACE

/// rows x depth elements of format E with a scale of format S for every B consecutive elements of
/// a row. A row never shares a block with another row; the last block of a row may be short.
template <element_format E, int B = 32, element_format S = E8M0>
class mx_matrix {
 public:
  static_assert(E::desc.total_bits() <= 8 && is_valid_scale(S::desc));
  static_assert(B >= 1);
  using element_type = E;
  using scale_type = S;
  static constexpr int block = B;

  mx_matrix() = default;
  /// All codes 0: zeros with the smallest scale.
  mx_matrix(index_t rows, index_t depth)
      : rows_(rows),
        depth_(depth),
        codes_(static_cast<std::size_t>(rows * depth)),
        scales_(static_cast<std::size_t>(rows * block_count())) {}

  index_t rows() const noexcept { return rows_; }
  index_t depth() const noexcept { return depth_; }
  index_t block_count() const noexcept { return (depth_ + B - 1) / B; }

  E element(index_t row, index_t k) const noexcept { return E{codes_[at(row, k)]}; }
  S scale(index_t row, index_t b) const noexcept { return S{scales_[scale_at(row, b)]}; }
  void set_element(index_t row, index_t k, E e) noexcept { codes_[at(row, k)] = e.code; }
  void set_scale(index_t row, index_t b, S s) noexcept { scales_[scale_at(row, b)] = s.code; }

  template <native_float T = float>
  T value(index_t row, index_t k) const noexcept {
    return from_number<T>(scaled(element(row, k).to_number(), scale(row, k / B).to_number()));
  }

  /// rows * depth codes, row-major.
  std::uint8_t* codes() noexcept { return codes_.data(); }
  const std::uint8_t* codes() const noexcept { return codes_.data(); }
  /// rows * block_count() scale codes, row-major.
  typename S::code_type* scales() noexcept { return scales_.data(); }
  const typename S::code_type* scales() const noexcept { return scales_.data(); }

  operand_view operand() const noexcept {
    operand_view v;
    v.format = E::desc;
    v.codes = codes_.data();
    v.rows = rows_;
    v.depth = depth_;
    v.row_bytes = depth_;
    v.block = B;
    v.scale_format = S::desc;
    v.scales = reinterpret_cast<const std::uint8_t*>(scales_.data());
    v.scale_row_bytes = block_count() * static_cast<index_t>(sizeof(typename S::code_type));
    return v;
  }
  operator operand_view() const noexcept { return operand(); }

  friend bool operator==(const mx_matrix&, const mx_matrix&) = default;

 private:
  std::size_t at(index_t row, index_t k) const noexcept {
    return static_cast<std::size_t>(row * depth_ + k);
  }
  std::size_t scale_at(index_t row, index_t b) const noexcept {
    return static_cast<std::size_t>(row * block_count() + b);
  }

  index_t rows_ = 0;
  index_t depth_ = 0;
  std::vector<std::uint8_t> codes_;
  std::vector<typename S::code_type> scales_;
};

MXREF_END_NAMESPACE

#endif  // MXREF_MATRIX_HPP_
