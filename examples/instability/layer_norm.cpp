// SPDX-License-Identifier: Apache-2.0
#include "layer_norm.hpp"

namespace instability {

namespace {

std::size_t size_of(index_t count) { return static_cast<std::size_t>(count); }

vector_rounding first_rounding(const precision& p) {
  return p.norm == norm_mode::bf16 || p.norm == norm_mode::mx_affine ? p.vector
                                                                     : vector_rounding::off;
}

}  // namespace

layer_norm::layer_norm(index_t width, index_t rows, std::uint32_t site)
    : width_(width),
      rows_(rows),
      site_(site),
      normalized_(size_of(rows * width)),
      variance_(size_of(rows)),
      gain_(size_of(width)),
      bias_(size_of(width)) {}

const float* layer_norm::affine(const pass& p, const float* x, std::uint32_t place,
                                std::vector<float>& out) const {
  const tensor t{x, 1, width_};
  switch (p.precision.norm) {
    case norm_mode::mx_affine:
      return p.operand(role::w, t, axis::along_rows, site_ + place, out.data());
    case norm_mode::bf16:
      p.kernels.vectors().round(p.precision.vector, x, width_, out.data());
      return out.data();
    default:
      return x;
  }
}

void layer_norm::forward(const pass& p, const float* x, const float* gain, const float* bias,
                         float* y) {
  const vector_rounding second =
      p.precision.norm == norm_mode::fp32 ? vector_rounding::off : p.precision.vector;
  const float* const gains = affine(p, gain, 0, gain_);
  const float* const biases = affine(p, bias, 1, bias_);
  p.kernels.for_rows(rows_, width_, 1, [&](index_t row, index_t count) {
    const index_t at = row * width_;
    p.kernels.vectors().norm_forward({x + at, gains, biases, count, width_, epsilon,
                                      first_rounding(p.precision), second, normalized_.data() + at,
                                      variance_.data() + row, y + at});
  });
}

void layer_norm::backward(const pass& p, const float* g, const float* gain, const float* residual,
                          float* out, float* dgain, float* dbias) {
  const vector_rounding r =
      p.precision.backward ? first_rounding(p.precision) : vector_rounding::off;
  const float* const gains = p.precision.backward ? affine(p, gain, 0, gain_) : gain;
  float* const results[] = {dgain, dbias};
  const auto add = [&](index_t row, index_t count, double* sums) {
    const index_t at = row * width_;
    p.kernels.vectors().norm_backward({g + at, gains, normalized_.data() + at,
                                       variance_.data() + row, count, width_, r, residual + at,
                                       out + at, sums, sums + width_});
  };
  column_sums(p.kernels, rows_, width_, 2, r, results, add);
}

}  // namespace instability
