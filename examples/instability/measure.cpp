// SPDX-License-Identifier: Apache-2.0
#include "measure.hpp"

#include <algorithm>
#include <cmath>

namespace instability {

namespace {

std::uint32_t magnitude_bits(float x) noexcept {
  return mxref::bit_cast<std::uint32_t>(x) & 0x7FFFFFFFU;
}

/// The numbers above T * 2^floor(log2 amax): a threshold pattern a block.
clamp_counts count_row(const float* x, index_t width, int block, const clamp_rules& rules) {
  clamp_counts counts;
  counts.numbers = static_cast<std::uint64_t>(width);
  for (index_t k = 0; k < width; k += block) {
    const index_t n = std::min<index_t>(block, width - k);
    std::uint32_t top = 0;
    for (index_t i = 0; i < n; ++i) top = std::max(top, magnitude_bits(x[k + i]));
    const std::uint32_t exponent = top & 0x7F800000U;
    if (exponent == 0 || exponent == 0x7F800000U) continue;
    for (int t = 0; t < threshold_count; ++t) {
      const float significand = t == 0 ? rules.e2m1 : thresholds[t].significand;
      const std::uint32_t limit = exponent + mxref::bit_cast<std::uint32_t>(significand) -
                                  mxref::bit_cast<std::uint32_t>(1.0F);
      std::uint32_t above = 0;
      for (index_t i = 0; i < n; ++i) above += magnitude_bits(x[k + i]) > limit ? 1U : 0U;
      counts.above[static_cast<std::size_t>(t)] += above;
    }
  }
  return counts;
}

}  // namespace

clamp_counts count_clamped(const engine& e, const tensor& x, int block, vector_rounding r,
                           const clamp_rules& rules) {
  const index_t at_once = engine::rows_at_once(x.width, 1);
  std::vector<clamp_counts> parts(static_cast<std::size_t>((x.rows + at_once - 1) / at_once));
  e.for_pieces(x.rows, at_once, [&](index_t first, index_t rows) {
    std::vector<float> line(static_cast<std::size_t>(x.width));
    for (index_t row = first; row < first + rows; ++row) {
      e.vectors().round(r, x.data + row * x.width, x.width, line.data());
      parts[static_cast<std::size_t>(first / at_once)].add(
          count_row(line.data(), x.width, block, rules));
    }
  });
  clamp_counts counts;
  for (const clamp_counts& part : parts) counts.add(part);
  return counts;
}

void clamp_observer::see(tensor_kind kind, const tensor& t, vector_rounding r) {
  const int block = kind == tensor_kind::gain ? rules_.gain_block : 32;
  counts_[static_cast<std::size_t>(kind)].add(count_clamped(engine_, t, block, r, rules_));
}

gain_statistics measure_gains(const engine& e, const student& s, const float* parameters) {
  const mxref::simd::control_register_guard guard;
  pair_moments sum;
  const index_t width = s.shape().width;
  for (index_t i = 0; i < s.shape().layers; ++i) {
    const float* const gain = parameters + block_layout(s.shape(), i).gain;
    sum.add(e.vectors().moments(gain, gain, width));
  }
  const auto count = static_cast<double>(width * s.shape().layers);
  const double mean = sum.sum_x / count;
  return {mean, std::sqrt(std::max(0.0, sum.xx / count - mean * mean))};
}

pair_moments group_moments(const engine& e, const student& s, group g, const float* x,
                           const float* y) {
  pair_moments sum;
  for (const auto& [first, last] : s.parts_of(g)) {
    const float* const from_x = x + first;
    const float* const from_y = y + first;
    sum.add(e.sum_of_numbers<pair_moments>(last - first, [&](index_t at, index_t n) {
      return e.vectors().moments(from_x + at, from_y + at, n);
    }));
  }
  return sum;
}

gradient_error compare(const pair_moments& m, index_t count) noexcept {
  const double difference = std::max(0.0, m.xx - 2 * m.xy + m.yy);
  const auto n = static_cast<double>(count);
  return {std::sqrt(difference / m.yy), m.xy / std::sqrt(m.xx * m.yy), m.xy / m.yy - 1,
          (m.sum_x - m.sum_y) / n};
}

}  // namespace instability
