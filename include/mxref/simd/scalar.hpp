// SPDX-License-Identifier: Apache-2.0
// Level 5. The scalar core as a target: for units compiled with -ffast-math, for builds without
// Highway, and to compare with.
#ifndef MXREF_SIMD_SCALAR_HPP_
#define MXREF_SIMD_SCALAR_HPP_

#include <cstdint>
#include <cstring>

#include "mxref/config.hpp"
#include "mxref/quantize.hpp"
#include "mxref/simd/kernels.hpp"
#include "mxref/view.hpp"

MXREF_BEGIN_NAMESPACE

namespace simd {

/// Kernels that are the scalar core; there are no tile kernels, so products are mxref::gemm.
struct scalar_target {
  static const kernel_table& kernels() noexcept {
    static const kernel_table table = [] {
      kernel_table t{};
      t.target = "scalar";
      t.encode = encode;
      t.quantize = quantize_row;
      t.decode = decode;
      t.apply_scales = apply_scales;
      return t;
    }();
    return table;
  }

 private:
  static void encode(const float* in, index_t count, format_desc f, const convert_policy& p,
                     void* codes) {
    for (index_t i = 0; i < count; ++i) {
      store_code(static_cast<std::uint8_t*>(codes) + i * container_bytes(f), container_bytes(f),
                 static_cast<std::uint32_t>(
                     to_code(f, to_number(in[i]), rounding::dynamic{p.rounding},
                             overflow::dynamic{p.overflow}, negative::dynamic{p.negative})));
    }
  }

  static void quantize_row(const float* in, index_t count, format_desc f, int block,
                           const convert_policy& p, std::uint8_t* codes, std::uint8_t* scales) {
    const quantizer<scale::floor, rounding::dynamic, overflow::dynamic, nan::dynamic> q{
        {}, {p.rounding}, {p.overflow}, {p.on_nan}};
    for (index_t k = 0; k < count; k += block) {
      const auto n = static_cast<int>(count - k < block ? count - k : block);
      E8M0 scale;
      quantize_block(in + k, 1, n, f, q, scale, codes + k);
      scales[k / block] = scale.code;
    }
  }

  static void decode(const void* codes, index_t count, format_desc f, float* out) {
    operand_view v;
    v.format = f;
    v.codes = codes;
    v.rows = 1;
    v.depth = count;
    v.col_bytes = container_bytes(f);
    for (index_t i = 0; i < count; ++i) {
      out[i] = from_number<float>(to_number(f, v.code(0, i)));
    }
  }

  static void apply_scales(float* out, index_t count, const float* factors, int block, int phase) {
    for (index_t i = 0; i < count; ++i) {
      const float factor = factors[(phase + i) / block];
      out[i] = from_number<float>(scaled(to_number(out[i]), to_number(factor)));
    }
  }
};

}  // namespace simd

MXREF_END_NAMESPACE

#endif  // MXREF_SIMD_SCALAR_HPP_
