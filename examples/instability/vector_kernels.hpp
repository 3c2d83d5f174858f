// SPDX-License-Identifier: Apache-2.0
// The vector operations of training, for each vector target: plain functions on arrays whose
// lengths are multiples of 16. No Highway here.
//
// Sums are binary64 sums of binary32 terms in 16 chains: term i goes to chain i mod 16, in
// increasing i; chain j then takes chain j + 8, j + 4, j + 2, j + 1. The length of a vector decides
// nothing. All need the floating-point control register of mxref::simd::control_register_guard.
#pragma once

#include <cstdint>

#include "precision.hpp"

namespace instability {

enum class function : std::uint8_t { identity, relu, gelu, gelu_emulated, silu, silu_emulated };

/// A piece of the rows of a LayerNorm; see layer_norm.hpp.
struct norm_forward_rows {
  const float* x;     ///< rows x width
  const float* gain;  ///< as they enter the operations: rounded, quantized or neither
  const float* bias;
  index_t rows;
  index_t width;
  float epsilon;
  vector_rounding first;   ///< input, mean, centred value, variance
  vector_rounding second;  ///< all that follows
  float* normalized;       ///< rows x width, kept for the backward pass
  float* variance;         ///< one per row, epsilon added
  float* out;              ///< rows x width
};

struct norm_backward_rows {
  const float* gradient;  ///< of the output
  const float* gain;
  const float* normalized;
  const float* variance;
  index_t rows;
  index_t width;
  vector_rounding rounding;
  const float* residual;  ///< added to the gradient of the input, unrounded
  float* out;             ///< may be residual
  double* gain_sums;      ///< width sums, added to row by row
  double* bias_sums;
};

/// What the moments of a pair of arrays are.
struct pair_moments {
  double sum_x = 0;
  double sum_y = 0;
  double xx = 0;
  double yy = 0;
  double xy = 0;

  void add(const pair_moments& o) noexcept {
    sum_x += o.sum_x;
    sum_y += o.sum_y;
    xx += o.xx;
    yy += o.yy;
    xy += o.xy;
  }
};

/// The factors of one optimizer step, the same for all parameters; see optimizer.hpp.
struct optimizer_factors {
  float beta1 = 0;
  float one_minus_beta1 = 0;
  float beta2 = 0;
  float one_minus_beta2 = 0;
  float root_correction = 1;  ///< sqrt(1 - beta2^t)
  float step_size = 0;        ///< lr / (1 - beta1^t), or lr
  float epsilon = 0;
  float decay = 1;  ///< 1 - lr * weight decay, before the step
};

struct vector_kernels {
  const char* target;

  /// To bfloat16; out may be in.
  void (*round)(vector_rounding r, const float* in, index_t count, float* out);

  /// out = f(in), slope = f'(in); slope may be in. The emulated functions round after every
  /// operation, f by `forward`, f' by `backward`.
  void (*apply)(function f, vector_rounding forward, vector_rounding backward, const float* in,
                index_t count, float* out, float* slope);

  /// out = product(given(g) * f): g rounded, then the product. out may be g or f.
  void (*multiply)(vector_rounding given, vector_rounding product, const float* g, const float* f,
                   index_t count, float* out);

  /// out = a + r(r(y) + bias), row by row; out may be a.
  void (*add_branch)(vector_rounding r, const float* a, const float* y, const float* bias,
                     index_t rows, index_t width, float* out);

  void (*norm_forward)(const norm_forward_rows& p);
  void (*norm_backward)(const norm_backward_rows& p);

  /// sums[c] += r(x[row][c]), in increasing row.
  void (*add_columns)(vector_rounding r, const float* x, index_t rows, index_t width, double* sums);

  /// Normalizes rows to mean 0 and variance 1, in place.
  void (*standardize)(float* x, index_t rows, index_t width);

  void (*adam)(const optimizer_factors& o, const float* gradient, index_t count, float* m, float* v,
               float* parameters);
  void (*sgd)(const optimizer_factors& o, const float* gradient, index_t count, float* m,
              float* parameters);

  pair_moments (*moments)(const float* x, const float* y, index_t count);

  /// The sum of (a - y)^2; gradient = (a - y) * scale, where it is not null.
  double (*square_error)(const float* a, const float* y, index_t count, float scale,
                         float* gradient);

  /// Normal numbers first .. first + count - 1 of a seed (first a multiple of 16): words 2i and
  /// 2i + 1 of Philox make numbers 2i and 2i + 1 by Box and Muller. out = base + deviation * n,
  /// base null: 0.
  void (*normals)(std::uint64_t seed, std::uint64_t first, index_t count, float deviation,
                  const float* base, float* out);

  /// Uniform numbers in (-limit, limit), one word each.
  void (*uniforms)(std::uint64_t seed, index_t count, double limit, float* out);
};

/// The targets that were compiled and that this processor has, best first; ends with a null
/// pointer.
const vector_kernels* const* available_vector_kernels() noexcept;

}  // namespace instability
