// SPDX-License-Identifier: Apache-2.0
// run: an FP32 run and an MX run. presets, interventions, config, schema: what there is.
#include <fmt/format.h>

#include <filesystem>
#include <memory>

#include "files.hpp"
#include "progress.hpp"
#include "study_commands.hpp"
#include "study_run.hpp"

namespace instability {

void add_settings_options(CLI::App& cmd, settings_options& o) {
  auto* const preset =
      cmd.add_option("--preset", o.preset, "Settings by name, see mxref-study presets [quick]");
  cmd.add_option("--config", o.config, "JSON file of settings, see mxref-study schema")
      ->excludes(preset);
  cmd.add_option("--set", o.changes, "PATH=VALUE: one setting; may be given several times")
      ->take_all();
}

study_settings read_settings(const settings_options& o) {
  study_settings s;
  std::string name = o.config;
  if (o.config.empty()) {
    name = o.preset.empty() ? "quick" : o.preset;
    s = preset_settings(name);
  } else {
    apply(read_json_file(o.config), o.config, s);
  }
  for (const std::string& change : o.changes) apply(patch_of(change), "--set " + change, s);
  check(s, o.changes.empty() ? name : "--set " + o.changes.back());
  return s;
}

namespace {

struct run_options {
  settings_options settings;
  std::string out;
  int threads = 0;
  bool mx_only = false;
  bool afresh = false;
};

void refuse_strangers(const std::string& folder) {
  namespace fs = std::filesystem;
  if (!fs::exists(folder) || fs::exists(folder + "/settings.json")) return;
  if (fs::is_directory(folder) && fs::is_empty(folder)) return;
  throw settings_error(fmt::format("{}: exists and holds no run; choose another --out", folder));
}

int run(const run_options& o) {
  const study_settings s = read_settings(o.settings);
  const std::string folder = o.out.empty() ? "runs/" + s.name : o.out;
  refuse_strangers(folder);
  catch_interrupts();
  const engine e(o.threads);
  study_run study(e, s, !o.mx_only, folder);
  const bool goes_on = !o.afresh && study.resume();
  if (goes_on) fmt::print("{}: going on from step {}\n", folder, study.step());
  bool ended = false;
  {
    mxtool::progress bar(s.name, static_cast<double>(s.steps - study.step()), "steps");
    ended = study.run(s.steps, [&](double steps) { bar.add(steps); });
  }
  const json summary = study.summary();
  fmt::print("{}: {} at step {}\n", folder, summary["status"].get<std::string>(), study.step());
  for (const char* const name : {"fp32", "mx"}) {
    if (!summary.contains(name)) continue;
    const json& a = summary[name];
    fmt::print("{:>5}: loss {:.4g}, smallest {:.4g}, spikes {}, failed {}, digest {}\n", name,
               a["loss"].get<double>(), a["smallest_loss"].get<double>(), a["spikes"].dump(),
               a["failed_at"].is_null() ? "never" : "at step " + a["failed_at"].dump(),
               a["digest"].get<std::string>());
  }
  if (!ended) fmt::print("interrupted; the same command goes on from step {}\n", study.step());
  return ended ? 0 : interrupted_exit;
}

}  // namespace

void add_run(CLI::App& app, int& exit_code) {
  auto o = std::make_shared<run_options>();
  CLI::App* cmd = app.add_subcommand(
      "run", "Train in FP32 and in MX on the same data, and log how they differ");
  add_settings_options(*cmd, o->settings);
  cmd->add_option("--out", o->out, "Folder of the run [runs/NAME]; an unfinished one goes on");
  cmd->add_option("--threads", o->threads, "Threads [all cores]; never changes a bit")
      ->check(CLI::Range(1, 1024));
  cmd->add_flag("--mx-only", o->mx_only, "No FP32 run beside it");
  cmd->add_flag("--afresh", o->afresh, "Start at step 0 even where a run could go on");
  cmd->callback([o, &exit_code] { exit_code = run(*o); });
}

void add_lists(CLI::App& app) {
  app.add_subcommand("presets", "List the named settings")->callback([] {
    for (const preset& p : presets()) fmt::print("{:<14}{}\n", p.name, p.summary);
  });
  app.add_subcommand("interventions", "List the named interventions")->callback([] {
    for (const intervention& i : interventions()) fmt::print("{:<26}{}\n", i.name, i.summary);
  });
  app.add_subcommand("schema", "Print the JSON schema of settings")->callback([] {
    fmt::print("{}\n", schema().dump(2));
  });
  auto o = std::make_shared<settings_options>();
  CLI::App* config = app.add_subcommand("config", "Print settings, complete, as JSON");
  add_settings_options(*config, *o);
  config->callback([o] { fmt::print("{}\n", to_json(read_settings(*o)).dump(2)); });
}

}  // namespace instability
