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

/// Rounds count numbers to codes in containers of the format.
inline void encode_core(const float* in, index_t count, format_desc f, const convert_policy& p,
                        void* codes) {
  const rounding::dynamic r{p.rounding, p.seed, p.random_bits};
  for (index_t i = 0; i < count; ++i) {
    const std::uint64_t code =
        to_code(f, to_number(in[i]), r.at(p.first + static_cast<std::uint64_t>(i) * p.step),
                overflow::dynamic{p.overflow}, negative::dynamic{p.negative});
    store_code(static_cast<std::uint8_t*>(codes) + i * container_bytes(f), container_bytes(f),
               static_cast<std::uint32_t>(code));
  }
}

/// Kernels that are the scalar core; there are no tile kernels, so products are mxref::gemm.
struct scalar_target {
  static const kernel_table& kernels() noexcept {
    static const kernel_table table = [] {
      kernel_table t{};
      t.target = "scalar";
      t.encode = encode_core;
      t.quantize = quantize_rows;
      t.quantize_columns = quantize_columns;
      t.transpose_codes = transpose_codes;
      t.fake_quantize = fake_quantize_rows;
      t.fake_quantize_columns = fake_quantize_columns;
      t.decode = decode;
      t.decode_blocks = decode_blocks;
      t.apply_scales = apply_scales;
      t.stream = [](const float* in, index_t count, float* out) {
        std::memcpy(out, in, static_cast<std::size_t>(count) * sizeof(float));
      };
      t.flush = [] {};
      return t;
    }();
    return table;
  }

 private:
  static auto policies(const convert_policy& p) noexcept {
    return quantizer<scale::dynamic, rounding::dynamic, overflow::dynamic, nan::dynamic>{
        {p.scale}, {p.rounding, p.seed, p.random_bits}, {p.overflow}, {p.on_nan}};
  }
  static mxref::source_order order_of(const convert_policy& p) noexcept {
    return {p.first, p.row_step, p.step};
  }

  static void quantize_rows(const float* in, index_t in_stride, index_t rows, index_t count,
                            format_desc f, int block, const convert_policy& p, std::uint8_t* codes,
                            index_t code_stride, std::uint8_t* scales, index_t scale_stride) {
    mxref::detail::quantize_rows(view(in, rows, count, in_stride),
                                 {f, block, codes, code_stride, scales, scale_stride}, policies(p),
                                 order_of(p));
  }

  static void quantize_columns(const float* in, index_t in_stride, index_t depth, index_t cols,
                               format_desc f, int block, const convert_policy& p,
                               std::uint8_t* codes, index_t code_stride, std::uint8_t* scales,
                               index_t scale_stride) {
    mxref::detail::quantize_rows(transposed(view(in, depth, cols, in_stride)),
                                 {f, block, codes, 1, scales, scale_stride, code_stride},
                                 policies(p), order_of(p));
  }

  static void transpose_codes(const std::uint8_t* in, index_t in_stride, index_t rows, index_t cols,
                              std::uint8_t* out, index_t out_stride) {
    for (index_t r = 0; r < rows; ++r) {
      for (index_t c = 0; c < cols; ++c) out[c * out_stride + r] = in[r * in_stride + c];
    }
  }

  static void fake_quantize_rows(const float* in, index_t in_stride, index_t rows, index_t count,
                                 format_desc f, int block, const convert_policy& p, float* out,
                                 index_t out_stride) {
    mxref::detail::fake_quantize_rows(view(in, rows, count, in_stride),
                                      view(out, rows, count, out_stride), f, block, policies(p),
                                      order_of(p));
  }

  static void fake_quantize_columns(const float* in, index_t in_stride, index_t depth, index_t cols,
                                    format_desc f, int block, const convert_policy& p, float* out,
                                    index_t out_stride) {
    mxref::detail::fake_quantize_rows(transposed(view(in, depth, cols, in_stride)),
                                      transposed(view(out, depth, cols, out_stride)), f, block,
                                      policies(p), order_of(p));
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

  static void decode_blocks(const std::uint8_t* codes, index_t count, format_desc f,
                            const float* factors, int block, float* out) {
    decode(codes, count, f, out);
    apply_scales(out, count, factors, block, 0);
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
