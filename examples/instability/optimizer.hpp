// SPDX-License-Identifier: Apache-2.0
// Adam, AdamW and SGD with momentum, and the learning rate of a step. Binary32 states; the factors
// of a step are binary64 numbers rounded once.
#pragma once

#include <cmath>
#include <cstdint>
#include <vector>

#include "engine.hpp"

namespace instability {

/// adam: m = b1 m + (1 - b1) g, v = b2 v + (1 - b2) g g,
///       x = x - (lr / (1 - b1^t)) m / (sqrt v / sqrt(1 - b2^t) + eps).
/// adamw: x = x (1 - lr decay) first. sgd: m = momentum m + g, x = x - lr m.
enum class optimizer_kind : std::uint8_t { adam, adamw, sgd };
inline constexpr named<optimizer_kind> optimizer_names[] = {
    {"adam", optimizer_kind::adam}, {"adamw", optimizer_kind::adamw}, {"sgd", optimizer_kind::sgd}};

enum class schedule_kind : std::uint8_t { constant, cosine };
inline constexpr named<schedule_kind> schedule_names[] = {{"constant", schedule_kind::constant},
                                                          {"cosine", schedule_kind::cosine}};

struct optimizer_settings {
  optimizer_kind kind = optimizer_kind::adam;
  double learning_rate = 2e-3;
  schedule_kind schedule = schedule_kind::constant;
  double last_rate = 0;  ///< cosine: at the last step
  double beta1 = 0.9;
  double beta2 = 0.999;
  double epsilon = 1e-8;
  double weight_decay = 0;
  double momentum = 0;
};

/// base^n by squaring: the same operations everywhere.
inline double power(double base, std::uint64_t n) noexcept {
  double result = 1;
  for (; n != 0; n >>= 1) {
    if ((n & 1) != 0) result *= base;
    base *= base;
  }
  return result;
}

/// cos(pi x), 0 <= x <= 1, by doubling the angle of a series: 1 - y^2/2 + ... at pi x / 64.
inline double cos_pi(double x) noexcept {
  const double y = x * 3.141592653589793 / 64;
  const double yy = y * y;
  double versine = yy / 2 - yy * yy / 24 + yy * yy * yy / 720 - yy * yy * yy * yy / 40320;
  for (int i = 0; i < 6; ++i) versine = 2 * versine * (2 - versine);  // of the double angle
  return 1 - versine;
}

/// Of step 0 .. steps - 1.
inline double learning_rate(const optimizer_settings& s, std::uint64_t step,
                            std::uint64_t steps) noexcept {
  if (s.schedule == schedule_kind::constant || steps < 2) return s.learning_rate;
  const double x =
      static_cast<double>(step < steps ? step : steps - 1) / static_cast<double>(steps - 1);
  return s.last_rate + (s.learning_rate - s.last_rate) * (1 + cos_pi(x)) / 2;
}

/// The factors of the step number `step` (from 0), `rate` its learning rate.
inline optimizer_factors factors_of(const optimizer_settings& s, std::uint64_t step,
                                    double rate) noexcept {
  optimizer_factors f;
  const auto narrow = [](double x) { return static_cast<float>(x); };
  if (s.kind == optimizer_kind::sgd) {
    f.beta1 = narrow(s.momentum);
    f.step_size = narrow(rate);
    f.decay = narrow(1 - rate * s.weight_decay);
    return f;
  }
  f.beta1 = narrow(s.beta1);
  f.one_minus_beta1 = narrow(1 - s.beta1);
  f.beta2 = narrow(s.beta2);
  f.one_minus_beta2 = narrow(1 - s.beta2);
  f.root_correction = narrow(std::sqrt(1 - power(s.beta2, step + 1)));
  f.step_size = narrow(rate / (1 - power(s.beta1, step + 1)));
  f.epsilon = narrow(s.epsilon);
  if (s.kind == optimizer_kind::adamw) f.decay = narrow(1 - rate * s.weight_decay);
  return f;
}

/// What a trajectory carries from step to step besides its settings.
struct training_state {
  std::uint64_t step = 0;
  std::vector<float> parameters;
  std::vector<float> m;
  std::vector<float> v;
};

/// One step with a gradient.
inline void optimize(const engine& e, const optimizer_settings& s, double rate,
                     const float* gradient, training_state& state) {
  const optimizer_factors f = factors_of(s, state.step, rate);
  e.for_numbers(static_cast<index_t>(state.parameters.size()), [&](index_t first, index_t n) {
    float* const x = state.parameters.data() + first;
    if (s.kind == optimizer_kind::sgd) {
      e.vectors().sgd(f, gradient + first, n, state.m.data() + first, x);
    } else {
      e.vectors().adam(f, gradient + first, n, state.m.data() + first, state.v.data() + first, x);
    }
  });
  ++state.step;
}

}  // namespace instability
