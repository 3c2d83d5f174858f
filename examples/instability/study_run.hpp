// SPDX-License-Identifier: Apache-2.0
// A study: an FP32 run and an MX run side by side on the same data, or one of them, with the log,
// checkpoints, and resume.
//
// Folder of a run:  settings.json   the settings, complete
//                   steps.csv, steps.jsonl   the log
//                   state.npz       where to go on
//                   kept-STEP.npz   states to intervene from
//                   summary.json    how it ended
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "run_log.hpp"
#include "settings_json.hpp"
#include "trainer.hpp"

namespace instability {

/// Which runs a study has.
enum class arm : std::uint8_t { fp32, mx };
inline constexpr std::string_view arm_names[] = {"fp32", "mx"};

class study_run {
 public:
  /// Starts at step 0.
  study_run(const engine& e, const study_settings& s, bool has_fp32, std::string folder);

  /// Takes up what `save` has written to the folder; false: nothing is there. Throws where the
  /// folder belongs to other settings.
  bool resume();

  /// Takes the MX run's state at a step of another study, and its settings from here on.
  void take(const std::string& state_file);

  /// Runs until `last` (or all steps), an interrupt, or a loss that is not finite; saves. Calls
  /// progress(steps done) after each step. False: interrupted.
  bool run(std::int64_t last, const std::function<void(double)>& progress);

  std::int64_t step() const noexcept { return step_; }
  const training_state& state(arm a) const { return runs_[static_cast<int>(a)]->state; }
  const std::vector<std::string>& log() const noexcept { return json_lines_; }

  /// FNV-1a of the bits of an arm's parameters.
  std::uint64_t digest(arm a) const;
  json summary() const;

 private:
  struct one_run {
    one_run(const engine& e, const study_settings& s, const instability::precision& p)
        : train(e, s), state(train.state()), precision(p) {}
    trainer train;
    training_state& state;
    instability::precision precision;
    loss_watch watch;
    std::vector<float> gradient;
    double loss = 0;
    batch data;  ///< where it differs from the other run's
  };

  one_run* at(arm a) noexcept { return runs_[static_cast<int>(a)].get(); }
  const batch& data_of(arm a);
  /// The settings of the present step, for all that changes.
  void apply_changes();
  void take_step();
  void measure(log_row& row, arm a, const clamp_observer& clamps);
  void compare_gradients(log_row& row, bool measured);
  void save();
  void save_state(const std::string& file) const;
  std::string path(const std::string& name) const { return folder_ + "/" + name; }

  engine engine_;
  study_settings settings_;
  std::string folder_;
  data_source source_;
  std::unique_ptr<one_run> runs_[2];
  batch data_;
  std::vector<float> reference_;  ///< binary32 gradient at the MX run's parameters
  std::int64_t step_ = 0;
  bool not_finite_ = false;
  std::string csv_header_;
  std::vector<std::string> csv_lines_;
  std::vector<std::string> json_lines_;
};

}  // namespace instability
