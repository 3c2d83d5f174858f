// SPDX-License-Identifier: Apache-2.0
// Saving and taking up a study.
#include <fmt/format.h>

#include <cmath>
#include <cstring>
#include <filesystem>
#include <sstream>

#include "array_io.hpp"
#include "files.hpp"
#include "study_run.hpp"

namespace instability {

namespace {

using mxtool::dtype;

template <class T>
mxtool::array array_of(dtype type, const std::vector<T>& values) {
  mxtool::array a = mxtool::make_array(type, {values.size()});
  std::memcpy(a.bytes.data(), values.data(), values.size() * sizeof(T));
  return a;
}

template <class T>
std::vector<T> values_of(const std::string& spec, std::size_t count) {
  const mxtool::array a = mxtool::load_array(spec);
  if (a.bytes.size() != count * sizeof(T)) {
    throw mxtool::input_error(
        fmt::format("{}: holds {} bytes, not the {} of this model; the settings are not those it "
                    "was saved with",
                    spec, a.bytes.size(), count * sizeof(T)));
  }
  std::vector<T> values(count);
  std::memcpy(values.data(), a.bytes.data(), a.bytes.size());
  return values;
}

/// The first `count` lines of a log; the others are of steps that were not saved.
std::vector<std::string> first_lines(const std::string& path, std::size_t count) {
  std::istringstream in(read_file(path));
  std::vector<std::string> lines;
  for (std::string line; lines.size() < count && std::getline(in, line);) lines.push_back(line);
  if (lines.size() != count) {
    throw mxtool::input_error(
        fmt::format("{}: {} lines, but the state was saved with {}", path, lines.size(), count));
  }
  return lines;
}

std::string joined(const std::vector<std::string>& lines) {
  std::string text;
  for (const std::string& line : lines) text += line + '\n';
  return text;
}

void load_state(const std::string& file, std::string_view name, training_state& s) {
  const std::string prefix = fmt::format("{}:{}_", file, name);
  const std::size_t count = s.parameters.size();
  training_state loaded;
  loaded.parameters = values_of<float>(prefix + "parameters", count);
  loaded.m = values_of<float>(prefix + "m", count);
  loaded.v = values_of<float>(prefix + "v", count);
  loaded.step = static_cast<std::uint64_t>(values_of<std::int64_t>(file + ":step", 1).front());
  s = loaded;
}

}  // namespace

void study_run::save_state(const std::string& file) const {
  mxtool::output_set out;
  const auto add = [&](const std::string& name, mxtool::array a) {
    out.add(file + ":" + name, std::move(a));
  };
  add("step", array_of(dtype::i64, std::vector<std::int64_t>{step_}));
  add("rows", array_of(dtype::i64,
                       std::vector<std::int64_t>{static_cast<std::int64_t>(json_lines_.size())}));
  for (int a = 0; a < 2; ++a) {
    if (runs_[a] == nullptr) continue;
    const std::string name(arm_names[a]);
    add(name + "_parameters", array_of(dtype::f32, runs_[a]->state.parameters));
    add(name + "_m", array_of(dtype::f32, runs_[a]->state.m));
    add(name + "_v", array_of(dtype::f32, runs_[a]->state.v));
    const loss_watch& w = runs_[a]->watch;
    add(name + "_losses", array_of(dtype::f64, std::vector<double>{w.smallest, runs_[a]->loss}));
    add(name + "_watch",
        array_of(dtype::i64, std::vector<std::int64_t>{w.above_for, w.spikes, w.failed_at}));
  }
  out.commit();
}

void study_run::save() {
  make_folder(folder_);
  write_file(path("settings.json"), to_json(settings_).dump(2) + "\n");
  write_file(path("steps.csv"), csv_header_ + "\n" + joined(csv_lines_));
  write_file(path("steps.jsonl"), joined(json_lines_));
  save_state(path("state.npz"));
  write_file(path("summary.json"), summary().dump(2) + "\n");
}

bool study_run::resume() {
  const std::string file = path("state.npz");
  if (!std::filesystem::exists(file)) return false;
  if (read_json_file(path("settings.json")) != to_json(settings_)) {
    throw settings_error(
        fmt::format("{}: was made with other settings; choose another folder, or "
                    "give --config {}/settings.json to go on with them",
                    folder_, folder_));
  }
  for (int a = 0; a < 2; ++a) {
    if (runs_[a] == nullptr) continue;
    const std::string prefix = fmt::format("{}:{}_", file, arm_names[a]);
    load_state(file, arm_names[a], runs_[a]->state);
    loss_watch& w = runs_[a]->watch;
    const auto losses = values_of<double>(prefix + "losses", 2);
    w.smallest = losses[0];
    runs_[a]->loss = losses[1];
    not_finite_ = not_finite_ || !std::isfinite(losses[1]);
    const auto watch = values_of<std::int64_t>(prefix + "watch", 3);
    w.above_for = watch[0];
    w.spikes = watch[1];
    w.failed_at = watch[2];
  }
  step_ = values_of<std::int64_t>(file + ":step", 1).front();
  const auto rows = static_cast<std::size_t>(values_of<std::int64_t>(file + ":rows", 1).front());
  json_lines_ = first_lines(path("steps.jsonl"), rows);
  csv_lines_ = first_lines(path("steps.csv"), rows + 1);
  csv_header_ = csv_lines_.front();
  csv_lines_.erase(csv_lines_.begin());
  return true;
}

void study_run::take(const std::string& state_file) {
  load_state(state_file, arm_names[1], at(arm::mx)->state);
  step_ = static_cast<std::int64_t>(at(arm::mx)->state.step);
}

}  // namespace instability
