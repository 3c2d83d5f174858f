// SPDX-License-Identifier: Apache-2.0
#include "study_run.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "files.hpp"

namespace instability {

namespace {

constexpr arm arms[] = {arm::fp32, arm::mx};
constexpr std::string_view kind_names[] = {"gain", "weight", "post_norm", "hidden", "gradient"};

pair_moments moments_of(const engine& e, const student& s, const std::vector<float>& x,
                        const std::vector<float>& y, pair_moments (&groups)[3]) {
  pair_moments all;
  for (int g = 0; g < 3; ++g) {
    groups[g] = group_moments(e, s, static_cast<group>(g), x.data(), y.data());
    all.add(groups[g]);
  }
  return all;
}

index_t count_of(const student& s, group g) {
  index_t count = 0;
  for (const auto& [first, last] : s.parts_of(g)) count += last - first;
  return count;
}

}  // namespace

study_run::study_run(const engine& e, const study_settings& s, bool has_fp32, std::string folder)
    : engine_(e), settings_(s), folder_(std::move(folder)), source_(e, s) {
  if (has_fp32) runs_[0] = std::make_unique<one_run>(e, s, full_precision());
  runs_[1] = std::make_unique<one_run>(e, s, effective_precision(s));
}

const batch& study_run::data_of(arm a) {
  const auto step = static_cast<std::uint64_t>(step_);
  const bool own = a == arm::mx && (settings_.quirks.quantized_teacher ||
                                    (settings_.quirks.fresh_noise && runs_[0] != nullptr));
  if (!own) {
    if (a == arm::fp32 || runs_[0] == nullptr) {
      source_.fill(step, full_precision(), settings_.seed, data_);
    }
    return data_;
  }
  const precision p = settings_.quirks.quantized_teacher ? at(a)->precision : full_precision();
  const std::uint64_t noise = settings_.seed + (settings_.quirks.fresh_noise ? 1 : 0);
  source_.fill(step, p, noise, at(a)->data);
  return at(a)->data;
}

void study_run::measure(log_row& row, arm a, const clamp_observer& clamps) {
  one_run& r = *at(a);
  const std::string prefix = std::string(arm_names[static_cast<int>(a)]) + "_";
  row.put(prefix + "loss", r.loss);
  const std::string validation = prefix + "validation";
  if (step_ % settings_.measure.validate_every == 0 || step_ == settings_.steps) {
    double sum = 0;
    batch b;
    for (std::int64_t i = 0; i < settings_.data.validation_batches; ++i) {
      source_.fill_validation(static_cast<std::uint64_t>(i), b);
      sum += r.train.loss(r.precision, b);
    }
    row.put(validation, sum / static_cast<double>(settings_.data.validation_batches));
  } else {
    row.skip(validation);
  }
  pair_moments groups[3];
  const pair_moments all = moments_of(engine_, r.train.network(), r.gradient, r.gradient, groups);
  row.put(prefix + "gradient_norm", std::sqrt(all.xx));
  for (int g = 0; g < 3; ++g) {
    row.put(fmt::format("{}gradient_norm_{}", prefix, group_names[g]), std::sqrt(groups[g].xx));
  }
  const gain_statistics gains =
      measure_gains(engine_, r.train.network(), r.state.parameters.data());
  row.put(prefix + "gain_mean", gains.mean);
  row.put(prefix + "gain_spread", gains.spread);
  for (int k = 0; k < tensor_kind_count; ++k) {
    for (int t = 0; t < threshold_count; ++t) {
      row.put(fmt::format("{}clamp_{}_{}", prefix, kind_names[k], thresholds[t].significand),
              clamps.of(static_cast<tensor_kind>(k)).share(t));
    }
  }
}

void study_run::compare_gradients(log_row& row, bool measured) {
  one_run& mx = *at(arm::mx);
  const student& s = mx.train.network();
  const auto put = [&](const std::string& name, double value) {
    measured ? row.put(name, value) : row.skip(name);
  };
  pair_moments groups[3];
  pair_moments all;
  if (measured) all = moments_of(engine_, s, mx.gradient, reference_, groups);
  const auto all_count = static_cast<index_t>(mx.gradient.size());
  const auto put_error = [&](const std::string& suffix, const pair_moments& m, index_t count) {
    const gradient_error e = compare(m, count);
    put("r" + suffix, e.ratio);
    put("cosine" + suffix, e.cosine);
    put("bias" + suffix, e.bias);
    put("mean_difference" + suffix, e.mean_difference);
  };
  put_error("", all, all_count);
  for (int g = 0; g < 3; ++g) {
    put_error("_" + std::string(group_names[g]), groups[g], count_of(s, static_cast<group>(g)));
  }
  if (runs_[0] == nullptr) return;
  // The authors' statistic: the two runs' own gradients, squared norms.
  pair_moments cross;
  if (measured) cross = moments_of(engine_, s, mx.gradient, at(arm::fp32)->gradient, groups);
  const gradient_error e = compare(cross, all_count);
  put("cross_r_squared", e.ratio * e.ratio);
  put("cross_two_over_r_squared", 2 / (e.ratio * e.ratio));
  put("cross_cosine", e.cosine);
}

void study_run::apply_changes() {
  if (settings_.changes.empty()) return;
  const study_settings now = settings_at(settings_, step_);
  for (const arm a : arms) {
    if (at(a) != nullptr) at(a)->train.change(now);
  }
  at(arm::mx)->precision = effective_precision(now);
}

/// Measures where it is time to, and steps unless all steps are done.
void study_run::take_step() {
  apply_changes();
  const bool last = step_ == settings_.steps;
  const bool measured = last || step_ % settings_.measure.every == 0;
  const bool compared = last || step_ % settings_.measure.gradients_every == 0;
  log_row row;
  row.put("step", static_cast<double>(step_));
  row.put("learning_rate",
          learning_rate(at(arm::mx)->train.settings().optimizer, static_cast<std::uint64_t>(step_),
                        static_cast<std::uint64_t>(settings_.steps)));
  clamp_rules rules;
  if (settings_.quirks.norm_blocks_of_16) rules.gain_block = 16;
  if (settings_.quirks.e2m1_emax_3) rules.e2m1 = 0.75F;  // 6 / 2^3
  for (const arm a : arms) {
    if (at(a) == nullptr) continue;
    one_run& r = *at(a);
    const batch& b = data_of(a);
    // First, for the pass itself leaves the step's tensors behind.
    if (a == arm::mx && compared) r.train.gradient(full_precision(), b, reference_);
    clamp_observer clamps(engine_, rules);
    r.loss = r.train.gradient(r.precision, b, r.gradient, measured ? &clamps : nullptr);
    if (!last) r.watch.see(step_, r.loss);
    not_finite_ = not_finite_ || !std::isfinite(r.loss);
    if (measured) measure(row, a, clamps);
  }
  if (measured) {
    compare_gradients(row, compared);
    csv_header_ = row.csv_header();
    csv_lines_.push_back(row.csv());
    json_lines_.push_back(row.json_line());
  }
  if (last) return;
  for (const arm a : arms) {
    if (at(a) != nullptr) at(a)->train.step(at(a)->gradient);
  }
  ++step_;
}

bool study_run::run(std::int64_t last, const std::function<void(double)>& progress) {
  const std::int64_t stop = std::min(last, settings_.steps);
  if (step_ >= stop || not_finite_) return true;
  make_folder(folder_);
  while (step_ < stop && !not_finite_ && !interrupted()) {
    if (std::ranges::count(settings_.keep_at, step_) != 0) {
      save_state(path(fmt::format("kept-{}.npz", step_)));
    }
    take_step();
    progress(1);
    if (step_ % settings_.checkpoint_every == 0 && step_ < stop) save();
  }
  const bool ended = step_ == stop || not_finite_;
  if (ended && step_ == settings_.steps && !not_finite_) take_step();
  save();
  return ended;
}

std::uint64_t study_run::digest(arm a) const {
  std::uint64_t hash = 0xCBF29CE484222325U;
  for (const float x : runs_[static_cast<int>(a)]->state.parameters) {
    const auto bits = mxref::bit_cast<std::uint32_t>(x);
    for (int i = 0; i < 32; i += 8) hash = (hash ^ (bits >> i & 0xFFU)) * 0x100000001B3U;
  }
  return hash;
}

json study_run::summary() const {
  const bool finished = step_ == settings_.steps && !not_finite_;
  json j = {{"name", settings_.name},
            {"status", finished      ? "finished"
                       : not_finite_ ? "not finite"
                                     : "stopped"},
            {"step", step_}};
  for (const arm a : arms) {
    const auto& r = runs_[static_cast<int>(a)];
    if (r == nullptr) continue;
    json& mine = j[std::string(arm_names[static_cast<int>(a)])];
    mine["loss"] = r->loss;
    mine["smallest_loss"] = r->watch.smallest;
    mine["spikes"] = r->watch.spikes;
    mine["failed_at"] = r->watch.failed_at < 0 ? json() : json(r->watch.failed_at);
    mine["digest"] = fmt::format("{:016x}", digest(a));
  }
  return j;
}

}  // namespace instability
