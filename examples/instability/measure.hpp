// SPDX-License-Identifier: Apache-2.0
// What is measured at a step: shares of clamped numbers, gains, and how two gradients differ.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "pass.hpp"
#include "student.hpp"

namespace instability {

/// Thresholds of significands that are counted, with formats that have them.
struct threshold {
  float significand;
  const char* formats;
};
inline constexpr threshold thresholds[] = {
    {1.5F, "e2m1"}, {1.75F, "e4m3 e5m2 e3m2"}, {1.875F, "e2m3"}};
inline constexpr int threshold_count = 3;

/// How clamped numbers are counted; the defaults are right, see quirk_settings for others.
struct clamp_rules {
  int gain_block = 32;
  float e2m1 = thresholds[0].significand;  ///< counted for the first threshold
};

/// Numbers of a tensor whose magnitude, divided by the power of two of their block's largest one,
/// is above a threshold T: those that the floor rule clamps to T, by more than half an ulp or less.
struct clamp_counts {
  std::uint64_t numbers = 0;
  std::array<std::uint64_t, threshold_count> above{};

  void add(const clamp_counts& o) noexcept {
    numbers += o.numbers;
    for (std::size_t i = 0; i < above.size(); ++i) above[i] += o.above[i];
  }
  double share(int threshold) const noexcept {
    const std::uint64_t count = above[static_cast<std::size_t>(threshold)];
    return numbers == 0 ? 0 : static_cast<double>(count) / static_cast<double>(numbers);
  }
};

/// Counts along rows in blocks, each number first rounded by r.
clamp_counts count_clamped(const engine& e, const tensor& x, int block, vector_rounding r,
                           const clamp_rules& rules = {});

/// Counts what a pass shows, kind by kind.
class clamp_observer : public tensor_observer {
 public:
  clamp_observer(const engine& e, const clamp_rules& rules) : engine_(e), rules_(rules) {}
  void see(tensor_kind kind, const tensor& t, vector_rounding r) override;
  const clamp_counts& of(tensor_kind kind) const { return counts_[static_cast<std::size_t>(kind)]; }

 private:
  engine engine_;
  clamp_rules rules_;
  std::array<clamp_counts, tensor_kind_count> counts_{};
};

/// Mean and spread (standard deviation) of all LayerNorm gains.
struct gain_statistics {
  double mean;
  double spread;
};
gain_statistics measure_gains(const engine& e, const student& s, const float* parameters);

/// Moments of the pair (x, y) of gradients over a group of parameters.
pair_moments group_moments(const engine& e, const student& s, group g, const float* x,
                           const float* y);

/// How a gradient x differs from a reference y.
struct gradient_error {
  double ratio;            ///< r = |x - y| / |y|
  double cosine;           ///< x . y / (|x| |y|)
  double bias;             ///< x . y / (y . y) - 1: what the projection gains or loses
  double mean_difference;  ///< mean of x less mean of y
};
gradient_error compare(const pair_moments& m, index_t count) noexcept;

}  // namespace instability
