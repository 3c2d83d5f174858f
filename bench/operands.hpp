// SPDX-License-Identifier: Apache-2.0
// Operands of products, by the names that benchmarks use, and the check of a product.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

#include "bench.hpp"
#include "mxref/mxref.hpp"

namespace bench {

using mxref::index_t;

inline std::size_t size_of(index_t a, index_t b) { return static_cast<std::size_t>(a * b); }

/// The MX formats.
struct named_format {
  const char* name;
  mxref::format_desc format;
};
inline constexpr named_format mx_formats[] = {
    {"e4m3", mxref::E4M3::desc}, {"e5m2", mxref::E5M2::desc}, {"e3m2", mxref::E3M2::desc},
    {"e2m3", mxref::E2M3::desc}, {"e2m1", mxref::E2M1::desc}, {"int8", mxref::INT8::desc}};

/// Roughly normal numbers as an operand with its storage. Kinds: the names of mx_formats, in blocks
/// of 32; binary32; binary32_t, stored transposed; bfloat16.
class operand {
 public:
  operand(const std::string& kind, index_t rows, index_t depth, std::uint32_t seed)
      : numbers_(normal_data(size_of(rows, depth), seed)) {
    view_.rows = rows;
    view_.depth = depth;
    if (kind == "binary32" || kind == "binary32_t") {
      const bool transposed = kind == "binary32_t";
      view_.format = mxref::binary32_desc;
      view_.codes = numbers_.data();
      view_.row_bytes = 4 * (transposed ? 1 : depth);
      view_.col_bytes = 4 * (transposed ? rows : 1);
      return;
    }
    codes_.resize(2 * numbers_.size());
    view_.codes = codes_.data();
    if (kind == "bfloat16") {
      view_.format = mxref::bfloat16::desc;
      view_.row_bytes = 2 * depth;
      view_.col_bytes = 2;
      static_cast<void>(
          fast::encode(numbers_.data(), rows * depth, view_.format, {}, codes_.data()));
      return;
    }
    for (const named_format& f : mx_formats) {
      if (kind == f.name) quantize(f.format);
    }
    if (view_.block == 0) fail("no such kind of operand: " + kind);
  }
  operand(const operand&) = delete;
  operand& operator=(const operand&) = delete;

  operator const mxref::operand_view&() const { return view_; }
  const float* numbers() const { return numbers_.data(); }

 private:
  void quantize(mxref::format_desc format) {
    const index_t blocks = (view_.depth + 31) / 32;
    scales_.resize(size_of(view_.rows, blocks));
    view_.format = format;
    view_.row_bytes = view_.depth;
    view_.block = 32;
    view_.scale_format = mxref::E8M0::desc;
    view_.scales = scales_.data();
    view_.scale_row_bytes = blocks;
    static_cast<void>(fast::quantize(
        mxref::view(numbers_.data(), view_.rows, view_.depth),
        {format, 32, codes_.data(), view_.depth, scales_.data(), blocks}, mxref::quantizer<>{}));
  }

  array<float> numbers_;
  array<std::uint8_t> codes_;
  array<std::uint8_t> scales_;
  mxref::operand_view view_;
};

inline mxref::operand_view one_row(mxref::operand_view v, index_t row) {
  v.codes = static_cast<const std::uint8_t*>(v.codes) + row * v.row_bytes;
  if (v.scaled()) v.scales += row * v.scale_row_bytes;
  v.rows = 1;
  return v;
}

/// Compares outputs, the corners among them, with the same dot products from the scalar core.
template <class Policy>
void check_product(const mxref::operand_view& a, const mxref::operand_view& b,
                   const array<float>& d, Policy policy) {
  constexpr index_t samples = 16;
  for (index_t s = 0; s < samples; ++s) {
    const index_t row = s * (a.rows - 1) / (samples - 1);
    const index_t col = s * 7 % samples * (b.rows - 1) / (samples - 1);
    float alone = 0;
    const bool ok =
        mxref::gemm(one_row(a, row), one_row(b, col), mxref::view(&alone, 1, 1), policy).ok();
    const float here = d[static_cast<std::size_t>(row * b.rows + col)];
    if (!ok || mxref::bit_cast<std::uint32_t>(alone) != mxref::bit_cast<std::uint32_t>(here)) {
      fail("wrong product");
    }
  }
}

/// Whether a policy takes a pair of kinds.
template <class Policy>
bool accepts(Policy policy, const std::string& kind_a, const std::string& kind_b) {
  const operand a(kind_a, 1, 32, 1);
  const operand b(kind_b, 1, 32, 1);
  float d = 0;
  return mxref::gemm(a, b, mxref::view(&d, 1, 1), policy).ok();
}

inline double operations(index_t m, index_t n, index_t k) {
  return 2.0 * static_cast<double>(m) * static_cast<double>(n) * static_cast<double>(k);
}

}  // namespace bench
