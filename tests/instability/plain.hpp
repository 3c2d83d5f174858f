// SPDX-License-Identifier: Apache-2.0
// The training step once more, in plain loops over numbers: the oracle of the emulator. It shares
// with it the settings and where parameters lie, and no arithmetic: rounding and quantization are
// the scalar core, products std::fma, sums long double, functions MPFR.
#pragma once

#include <cstdint>
#include <vector>

#include "settings.hpp"

namespace plain {

using instability::index_t;
using instability::precision;

struct matrix {
  index_t rows = 0;
  index_t cols = 0;
  std::vector<float> values;

  matrix() = default;
  matrix(index_t r, index_t c) : rows(r), cols(c), values(static_cast<std::size_t>(r * c)) {}
  matrix(const float* from, index_t r, index_t c) : matrix(r, c) {
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = from[i];
  }
  float& operator()(index_t r, index_t c) { return values[static_cast<std::size_t>(r * cols + c)]; }
  float operator()(index_t r, index_t c) const {
    return values[static_cast<std::size_t>(r * cols + c)];
  }
  matrix transposed() const {
    matrix t(cols, rows);
    for (index_t r = 0; r < rows; ++r) {
      for (index_t c = 0; c < cols; ++c) t(c, r) = (*this)(r, c);
    }
    return t;
  }
};

/// The functions of the emulator from the real ones, rounded once (MPFR).
float gelu(float x);
float gelu_slope(float x);
float silu(float x);
float silu_slope(float x);
float exponential(float x);

float to_bfloat16(instability::vector_rounding r, float x);

/// x quantized along its rows. positions: of numbers in the source, for stochastic rounding.
matrix quantized(const matrix& x, const instability::role_precision& role,
                 instability::vector_rounding r, std::uint64_t seed, int random_bits,
                 bool transposed_source);

struct result {
  double loss;
  std::vector<float> gradient;
};

/// Loss and gradient of the student at the parameters. seed, step: of stochastic rounding.
result gradient(const instability::model_shape& shape, const precision& p,
                const std::vector<float>& parameters, const matrix& x, const matrix& y,
                std::uint64_t seed, std::uint64_t step);

}  // namespace plain
