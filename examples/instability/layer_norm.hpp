// SPDX-License-Identifier: Apache-2.0
// LayerNorm with bfloat16 rounding r after every operation (microxcaling's order of operations):
//
//   mean = r(r(sum r(x)) / d)   c = r(r(x) - mean)   v = r(r(sum r(c c)) / d) + eps, rounded
//   n = r(c r(1 / r(sqrt v)))   y = r(r(gain n) + bias)
//
//   with g = r(dL/dy):  dbias = r(sum g)   dgain = r(sum r(g n))   t = r(g gain)
//   s = r(sqrt v)   a = r(t r(1 / s))   k = r(r(r(sum r(r(t n) s)) / d) r(1 / v))
//   z = r(a + r(-k n))   dx = r(z - r(r(sum z) / d))
//
// fp32: r is nothing anywhere. partial: r is nothing up to the variance and in the backward pass.
// gain and bias enter as r(gain), r(bias); mx_affine: quantized as weights in blocks along d.
// Checked: tests/instability/student_test.cpp, tests/instability/golden_test.cpp
#pragma once

#include <vector>

#include "pass.hpp"

namespace instability {

class layer_norm {
 public:
  layer_norm(index_t width, index_t rows, std::uint32_t site);

  /// y (rows, width) = LayerNorm(x).
  void forward(const pass& p, const float* x, const float* gain, const float* bias, float* y);

  /// out = residual + dx; the gradients of gain and bias. out may be residual.
  void backward(const pass& p, const float* g, const float* gain, const float* residual, float* out,
                float* dgain, float* dbias);

  static constexpr float epsilon = 1e-5F;

 private:
  /// gain or bias as it enters the operations.
  const float* affine(const pass& p, const float* x, std::uint32_t place,
                      std::vector<float>& out) const;

  index_t width_;
  index_t rows_;
  std::uint32_t site_;
  std::vector<float> normalized_;
  std::vector<float> variance_;
  std::vector<float> gain_;
  std::vector<float> bias_;
};

/// out[c] = r(sum over rows of term(row)[c]); `add(first, count, sums)` adds the terms of some rows
/// to `series` rows of width sums.
template <class F>
void column_sums(const engine& e, index_t rows, index_t width, int series, vector_rounding r,
                 float* const* out, const F& add) {
  constexpr index_t at_once = 64;
  const index_t parts = (rows + at_once - 1) / at_once;
  const index_t size = series * width;
  std::vector<double> sums(static_cast<std::size_t>(parts * size));
  e.for_pieces(rows, at_once, [&](index_t first, index_t count) {
    add(first, count, sums.data() + first / at_once * size);
  });
  for (index_t part = 1; part < parts; ++part) {
    for (index_t i = 0; i < size; ++i) {
      sums[static_cast<std::size_t>(i)] += sums[static_cast<std::size_t>(part * size + i)];
    }
  }
  for (int s = 0; s < series; ++s) {
    for (index_t i = 0; i < width; ++i) {
      out[s][i] = static_cast<float>(sums[static_cast<std::size_t>(s * width + i)]);
    }
    e.vectors().round(r, out[s], width, out[s]);
  }
}

}  // namespace instability
