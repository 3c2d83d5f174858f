// SPDX-License-Identifier: Apache-2.0
// Level 5. backend<Target>: the entry points on the kernels of a target. A type for each target, so
// that units compiled with different flags share no function by name.
#ifndef MXREF_SIMD_BACKEND_HPP_
#define MXREF_SIMD_BACKEND_HPP_

#include "mxref/config.hpp"
#include "mxref/simd/convert.hpp"
#include "mxref/simd/executor.hpp"
#include "mxref/simd/gemm.hpp"
#include "mxref/simd/kernels.hpp"

MXREF_BEGIN_NAMESPACE

namespace simd {

/// Target has static const kernel_table& kernels(). All functions have the shapes, errors and bits
/// of the scalar functions of the same names, and take an executor.
template <class Target>
struct backend {
  static const kernel_table& kernels() noexcept { return Target::kernels(); }
  static const char* target() noexcept { return kernels().target; }

  /// backend::gemm(A, B, view(out, M, N), accumulate::exact{}, threads{2})
  template <accumulation_policy P, executor E = serial>
  static status gemm(const operand_view& a, const operand_view& b, const output_view& d, P p = {},
                     const E& e = {}, const gemm_options& options = {}) noexcept {
    return gemm_with(kernels(), a, b, d, p, e, options);
  }

  template <class T, class... Policies, executor E = serial>
  static status quantize(matrix_view<T> in, const quantized_view& out,
                         const quantizer<Policies...>& q, quantize_options options = {},
                         const E& e = {}) noexcept {
    return quantize_with(kernels(), in, out, q, options, e);
  }

  template <class T, class... Policies, executor E = serial>
  static status fake_quantize(matrix_view<T> in, matrix_view<float> out, format_desc format,
                              int block, const quantizer<Policies...>& q,
                              quantize_options options = {}, const E& e = {}) noexcept {
    return fake_quantize_with(kernels(), in, out, format, block, q, options, e);
  }

  template <native_float T, executor E = serial>
  static status dequantize(const operand_view& in, matrix_view<T> out, int axis = -1,
                           const E& e = {}) noexcept {
    return dequantize_with(kernels(), in, out, axis, e);
  }

  /// count numbers to codes in containers of the format (its code_type), without a scale.
  template <executor E = serial>
  static status encode(const float* in, index_t count, format_desc format,
                       const convert_policy& policy, void* codes, const E& e = {}) noexcept {
    return encode_with(kernels(), in, count, format, policy, codes, e);
  }

  /// count codes in containers of the format to numbers.
  template <executor E = serial>
  static status decode(const void* codes, index_t count, format_desc format, float* out,
                       const E& e = {}) noexcept {
    return decode_with(kernels(), codes, count, format, out, e);
  }
};

}  // namespace simd

MXREF_END_NAMESPACE

#endif  // MXREF_SIMD_BACKEND_HPP_
