// SPDX-License-Identifier: Apache-2.0
// Level 5. Run-time dispatch: the best instruction set of the processor. Link mxref::dispatch.
// Reaches no Highway header; safe in any unit, whatever its flags.
#ifndef MXREF_SIMD_DISPATCH_HPP_
#define MXREF_SIMD_DISPATCH_HPP_

#include "mxref/config.hpp"
#include "mxref/simd/backend.hpp"
#include "mxref/simd/executor.hpp"
#include "mxref/simd/kernels.hpp"

MXREF_BEGIN_NAMESPACE

namespace simd {

/// The targets that were compiled and that this processor has, best first; ends with a null
/// pointer. Defined in mxref::dispatch.
const kernel_table* const* available_kernels() noexcept;

/// The best of them.
inline const kernel_table& best_kernels() noexcept { return *available_kernels()[0]; }

struct best_target {
  static const kernel_table& kernels() noexcept { return best_kernels(); }
};
using dispatched = backend<best_target>;

/// mxref::gemm, fast: simd::gemm(A, B, view(out, M, N), accumulate::exact{}, threads{2}).
template <accumulation_policy P, executor E = serial>
status gemm(const operand_view& a, const operand_view& b, const output_view& d, P p = {},
            const E& e = {}, const gemm_options& options = {}) noexcept {
  return dispatched::gemm(a, b, d, p, e, options);
}

/// mxref::quantize, fast.
template <class T, class... Policies, executor E = serial>
status quantize(matrix_view<T> in, const quantized_view& out, const quantizer<Policies...>& q,
                quantize_options options = {}, const E& e = {}) noexcept {
  return dispatched::quantize(in, out, q, options, e);
}

/// mxref::fake_quantize, fast.
template <class T, class... Policies, executor E = serial>
status fake_quantize(matrix_view<T> in, matrix_view<float> out, format_desc format, int block,
                     const quantizer<Policies...>& q, quantize_options options = {},
                     const E& e = {}) noexcept {
  return dispatched::fake_quantize(in, out, format, block, q, options, e);
}

/// mxref::dequantize, fast.
template <native_float T, executor E = serial>
status dequantize(const operand_view& in, matrix_view<T> out, int axis = -1,
                  const E& e = {}) noexcept {
  return dispatched::dequantize(in, out, axis, e);
}

}  // namespace simd

MXREF_END_NAMESPACE

#endif  // MXREF_SIMD_DISPATCH_HPP_
