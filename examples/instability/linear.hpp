// SPDX-License-Identifier: Apache-2.0
// A linear layer Y = X W^T with MX operands. X (batch, in), W (out, in), G = dL/dY (batch, out).
//
//   Y  = Q_a(r X) Q_w(r W)^T          blocks along in
//   dW = r(Q_ex(r G)^T Q_a_bp(r X))   blocks along the batch
//   dX = Q_os(r G) Q_w_bp(r W)        blocks along out
//
// Q is the quantization of a role, r rounding to bfloat16; every tensor is quantized from the
// original each time. Y and dX are left to the caller to round. With precision.backward off the
// backward products take X, W and G as they are.
// Checked against plain loops and microxcaling: tests/instability/student_test.cpp,
// tests/instability/golden_test.cpp
#pragma once

#include "pass.hpp"

namespace instability {

struct linear_layer {
  index_t in;
  index_t out;
  std::uint32_t site;

  tensor weight(const float* w) const noexcept { return {w, out, in}; }
  tensor input(const float* x, index_t rows) const noexcept { return {x, rows, in}; }
  tensor gradient(const float* g, index_t rows) const noexcept { return {g, rows, out}; }

  /// x becomes what the backward pass needs. Scratch: as large as x and w.
  void forward(const pass& p, float* x, index_t rows, const float* w, float* y, float* scratch_x,
               float* scratch_w) const {
    const float* a = p.operand(role::a, input(x, rows), axis::along_rows, site, scratch_x);
    const float* b = p.operand(role::w, weight(w), axis::along_rows, site, scratch_w);
    p.multiply({a, rows, in}, {b, out, in}, y);
    if (p.keeps && p.precision.backward) {
      static_cast<void>(p.operand(role::a_bp, input(x, rows), axis::down_columns, site, x));
    }
  }

  /// x: as forward has left it. dx may be null. Scratch: as large as g and w.
  void backward(const pass& p, const float* g, index_t rows, const float* x, const float* w,
                float* dw, float* dx, float* scratch_g, float* scratch_w) const {
    const bool rounds = p.precision.backward;
    const tensor gs = gradient(g, rows);
    if (dx != nullptr) {
      const float* a = g;
      const float* b = w;
      if (rounds) {
        a = p.operand(role::os, gs, axis::along_rows, site, scratch_g);
        b = p.operand(role::w_bp, weight(w), axis::down_columns, site, scratch_w);
      }
      p.multiply({a, rows, out}, {b, in, out, true}, dx);
    }
    if (rounds) g = p.operand(role::ex, gs, axis::down_columns, site, scratch_g);
    p.multiply({g, out, rows, true}, {x, in, rows, true}, dw);
    p.round(p.backward(), dw, out * in);
  }
};

}  // namespace instability
