// SPDX-License-Identifier: Apache-2.0
// Level 4. GEMM whose D is quantized to MX codes and scales: what feeds the next layer.
#ifndef MXREF_GEMM_QUANTIZED_HPP_
#define MXREF_GEMM_QUANTIZED_HPP_

#include "mxref/accumulate.hpp"
#include "mxref/buffer.hpp"
#include "mxref/config.hpp"
#include "mxref/gemm.hpp"
#include "mxref/quantize.hpp"
#include "mxref/status.hpp"
#include "mxref/view.hpp"

MXREF_BEGIN_NAMESPACE

/// gemm to binary32, then quantize by q.
///
/// Shape:   as gemm and quantize: axis -1 has blocks along the N columns of D, axis 0 down its M
///          rows.
/// Rounds:  as gemm to binary32 (by options.made where that is given; binary32 holds it), then as
///          quantize.
/// Errors:  those of gemm and quantize, out_of_memory for M x N binary32 numbers; nothing is
///          written then.
/// Checked: tests/sweep/library_order_test.cpp
template <accumulation_policy P = accumulate::exact, class... Policies>
status gemm(const operand_view& a, const operand_view& b, const quantized_view& d,
            const quantizer<Policies...>& q, P p = {}, const gemm_options& options = {},
            quantize_options how = {}) noexcept {
  if (a.rows < 0 || b.rows < 0) return {errc::shape_mismatch};
  buffer<float> values;
  if (!values.allocate(a.rows * b.rows)) return {errc::out_of_memory};
  const matrix_view<float> whole = view(values.data(), a.rows, b.rows);
  if (const status s = gemm(a, b, whole, p, options); !s) return s;
  return quantize(whole, d, q, how);
}

MXREF_END_NAMESPACE

#endif  // MXREF_GEMM_QUANTIZED_HPP_
