// SPDX-License-Identifier: Apache-2.0
// One training run: data, student, teacher, optimizer. Everything follows from the settings, the
// state and the step number, so that a run may be stopped, copied and continued at any step.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "measure.hpp"
#include "optimizer.hpp"
#include "settings.hpp"
#include "student.hpp"

namespace instability {

/// Inputs and labels of a step: x (batch, width), y (batch, width).
struct batch {
  std::vector<float> x;
  std::vector<float> y;
};

/// The inputs of a step, and its labels: a teacher's output plus noise.
class data_source {
 public:
  data_source(const engine& e, const study_settings& s);

  /// noise_seed: other seeds give other label noise.
  void fill(std::uint64_t step, const precision& teacher, std::uint64_t noise_seed, batch& out);
  /// Validation batch i: its own inputs, no noise.
  void fill_validation(std::uint64_t i, batch& out);

 private:
  void make_inputs(stream s, std::uint64_t index, batch& out) const;

  engine engine_;
  study_settings settings_;
  teacher teacher_;
};

class trainer {
 public:
  trainer(const engine& e, const study_settings& s);

  training_state& state() noexcept { return state_; }
  const training_state& state() const noexcept { return state_; }
  student& network() noexcept { return student_; }
  const study_settings& settings() const noexcept { return settings_; }
  /// What an intervention changes; the shape of the model stays.
  void change(const study_settings& s) { settings_ = s; }

  /// Loss and gradient at the present parameters. observer may be null.
  double gradient(const precision& p, const batch& b, std::vector<float>& out,
                  tensor_observer* observer = nullptr);

  /// The loss alone.
  double loss(const precision& p, const batch& b);

  /// One optimizer step.
  void step(const std::vector<float>& gradient);

 private:
  double error(const pass& p, const batch& b, float scale, float* gradient);

  engine engine_;
  study_settings settings_;
  student student_;
  training_state state_;
  std::vector<float> output_gradient_;
};

}  // namespace instability
