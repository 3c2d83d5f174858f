// SPDX-License-Identifier: Apache-2.0
// sweep: a grid of settings, several runs at a time, resumed where it was left.
#include <fmt/format.h>

#include <atomic>
#include <exception>
#include <filesystem>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>

#include "files.hpp"
#include "names.hpp"
#include "progress.hpp"
#include "study_commands.hpp"
#include "study_run.hpp"

namespace instability {

namespace {

struct sweep_options {
  std::string config;
  std::string out;
  int jobs = 0;
};

struct point {
  std::string name;
  study_settings settings;
};

/// `{"preset": NAME, "settings": {...}, "variants": {NAME: {...}}, "grid": {PATH: [VALUE, ...]}}`:
/// every variant at every point of the grid.
std::vector<point> points_of(const json& config, const std::string& file) {
  if (!config.is_object()) throw settings_error(file + ": $: must be an object");
  for (const auto& item : config.items()) {
    constexpr std::string_view known[] = {"preset", "settings", "variants", "grid"};
    if (std::ranges::count(known, item.key()) == 0) {
      try {
        mxtool::throw_unknown("key", item.key(), known);
      } catch (const std::runtime_error& e) {
        throw settings_error(fmt::format("{}: $: {}", file, e.what()));
      }
    }
  }
  study_settings base;
  if (config.contains("preset")) {
    if (!config["preset"].is_string()) throw settings_error(file + ": $.preset: must be a string");
    base = preset_settings(config["preset"].get<std::string>());
  }
  if (config.contains("settings")) apply(config["settings"], file + ": $.settings", base);
  std::vector<point> list{{"", base}};
  const auto multiply = [&](const auto& choices, const std::string& where) {
    std::vector<point> longer;
    for (const point& p : list) {
      for (const auto& [name, patch] : choices) {
        point q = p;
        q.name += (q.name.empty() ? "" : "_") + name;
        apply(patch, where + name, q.settings);
        longer.push_back(std::move(q));
      }
    }
    list = std::move(longer);
  };
  using choices_type = std::vector<std::pair<std::string, json>>;
  if (config.contains("variants")) {
    choices_type choices;
    for (const auto& item : config["variants"].items()) {
      choices.emplace_back(item.key(), item.value());
    }
    multiply(choices, file + ": $.variants.");
  }
  const json grid = config.value("grid", json::object());
  if (!grid.is_object()) throw settings_error(file + ": $.grid: must be an object");
  for (const auto& item : grid.items()) {
    if (!item.value().is_array() || item.value().empty()) {
      throw settings_error(
          fmt::format("{}: $.grid.{}: must be an array of values", file, item.key()));
    }
    choices_type choices;
    const std::string last = item.key().substr(item.key().rfind('.') + 1);
    for (const json& value : item.value()) {
      const std::string text = value.is_string() ? value.get<std::string>() : value.dump();
      choices.emplace_back(last + "=" + text, nested(item.key(), value));
    }
    multiply(choices, file + ": $.grid: ");
  }
  for (point& p : list) {
    if (p.name.empty()) p.name = "run";
    p.settings.name = p.name;
    check(p.settings, file + ": " + p.name);
  }
  return list;
}

int sweep(const sweep_options& o) {
  const std::vector<point> points = points_of(read_json_file(o.config), o.config);
  make_folder(o.out);
  catch_interrupts();
  double total = 0;
  for (const point& p : points) total += static_cast<double>(p.settings.steps);
  std::optional<mxtool::progress> bar(std::in_place, "sweep", total, "steps");
  std::mutex mutex;
  std::atomic<std::size_t> next = 0;
  std::vector<json> summaries(points.size());
  std::exception_ptr error;
  const auto work = [&] {
    for (std::size_t i = next++; i < points.size() && !interrupted(); i = next++) {
      try {
        const engine e(1);
        study_run study(e, points[i].settings, true, o.out + "/" + points[i].name);
        study.resume();
        const auto advance = [&](double steps) {
          const std::lock_guard lock(mutex);
          bar->add(steps);
        };
        advance(static_cast<double>(study.step()));
        if (study.run(points[i].settings.steps, advance)) summaries[i] = study.summary();
      } catch (...) {
        const std::lock_guard lock(mutex);
        error = std::current_exception();
        next = points.size();
      }
    }
  };
  const unsigned cores = std::max(1U, std::thread::hardware_concurrency());
  {
    std::vector<std::jthread> workers;
    for (unsigned i = 0; i < (o.jobs > 0 ? static_cast<unsigned>(o.jobs) : cores); ++i) {
      workers.emplace_back(work);
    }
  }
  bar.reset();
  if (error) std::rethrow_exception(error);
  json table = json::array();
  for (const json& s : summaries) {
    if (!s.is_null()) table.push_back(s);
  }
  write_file(o.out + "/sweep.json", json{{"runs", table}}.dump(2) + "\n");
  for (const json& s : table) {
    const auto failed = [&](const char* a) {
      return s[a]["failed_at"].is_null() ? std::string("stable")
                                         : "failed at " + s[a]["failed_at"].dump();
    };
    fmt::print("{:<44} fp32 {:.4g} {}, mx {:.4g} {}\n", s["name"].get<std::string>(),
               s["fp32"]["loss"].get<double>(), failed("fp32"), s["mx"]["loss"].get<double>(),
               failed("mx"));
  }
  if (table.size() == points.size()) return 0;
  fmt::print("interrupted after {} of {} runs; the same command goes on\n", table.size(),
             points.size());
  return interrupted_exit;
}

}  // namespace

void add_sweep(CLI::App& app, int& exit_code) {
  auto o = std::make_shared<sweep_options>();
  CLI::App* cmd = app.add_subcommand("sweep", "Run every point of a grid of settings");
  cmd->add_option("CONFIG", o->config,
                  "JSON: {\"preset\": NAME, \"settings\": {...}, \"variants\": {NAME: {...}}, "
                  "\"grid\": {PATH: [VALUE, ...]}}")
      ->required();
  cmd->add_option("--out", o->out, "Folder of the runs; finished ones are not run again")
      ->required();
  cmd->add_option("--jobs", o->jobs, "Runs at a time, one thread each [all cores]")
      ->check(CLI::Range(1, 1024));
  cmd->callback([o, &exit_code] { exit_code = sweep(*o); });
}

}  // namespace instability
