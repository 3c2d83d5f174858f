// SPDX-License-Identifier: Apache-2.0
// intervene: from one state of a run, several continuations that differ in one setting each.
#include <fmt/format.h>

#include <filesystem>
#include <memory>
#include <optional>

#include "files.hpp"
#include "progress.hpp"
#include "study_commands.hpp"
#include "study_run.hpp"

namespace instability {

namespace {

struct intervene_options {
  std::string run;
  std::int64_t at = -1;
  std::int64_t steps = 1000;
  std::vector<std::string> names;
  std::vector<std::string> own;  ///< NAME=PATH=VALUE
  std::string out;
  int threads = 0;
};

struct variant {
  std::string name;
  std::string summary;
  study_settings settings;
};

std::vector<variant> variants_of(const intervene_options& o, const study_settings& base) {
  std::vector<variant> list;
  std::vector<std::string> names = o.names;
  if (names.empty() && o.own.empty()) {
    for (const intervention& i : interventions()) names.emplace_back(i.name);
  }
  for (const std::string& name : names) {
    const intervention i = find_intervention(name);
    variant v{std::string(i.name), std::string(i.summary), base};
    apply(parse_json(std::string(i.patch), v.name), v.name, v.settings);
    v.settings.optimizer.learning_rate *= i.rate;
    list.push_back(v);
  }
  for (const std::string& text : o.own) {
    const std::size_t at = text.find('=');
    if (at == text.npos || at == 0) {
      throw settings_error(fmt::format("--own {}: write NAME=PATH=VALUE", text));
    }
    variant v{text.substr(0, at), text.substr(at + 1), base};
    apply(patch_of(v.summary), "--own " + text, v.settings);
    list.push_back(v);
  }
  return list;
}

int intervene(const intervene_options& o) {
  namespace fs = std::filesystem;
  const std::string state = fmt::format("{}/kept-{}.npz", o.run, o.at);
  study_settings base;
  const std::string file = o.run + "/settings.json";
  apply(read_json_file(file), file, base);
  if (!fs::exists(state)) {
    std::vector<std::string> kept;
    for (const std::int64_t step : base.keep_at) kept.push_back(std::to_string(step));
    throw settings_error(fmt::format(
        "{}: no such state; the run keeps {}; name steps with --set keep_at=[{}] when it is run",
        state, kept.empty() ? "none" : fmt::format("{}", fmt::join(kept, " ")), o.at));
  }
  base.keep_at.clear();
  base = settings_at(base, o.at);  // the run's own later changes do not happen here
  base.changes.clear();
  const std::int64_t last = o.at + o.steps;
  if (last > base.steps) base.steps = last;
  const std::string out = o.out.empty() ? fmt::format("{}/from-{}", o.run, o.at) : o.out;
  const std::vector<variant> list = variants_of(o, base);
  catch_interrupts();
  const engine e(o.threads);
  json table = json::array();
  // Its line goes away before anything is printed.
  std::optional<mxtool::progress> bar(
      std::in_place, "intervene", static_cast<double>(o.steps) * static_cast<double>(list.size()),
      "steps");
  for (const variant& v : list) {
    study_run study(e, v.settings, false, out + "/" + v.name);
    if (!study.resume()) study.take(state);
    bar->add(static_cast<double>(study.step() - o.at));
    if (!study.run(last, [&](double steps) { bar->add(steps); })) {
      bar.reset();
      fmt::print("interrupted in {}; the same command goes on\n", v.name);
      return interrupted_exit;
    }
    const json summary = study.summary();
    const json& mx = summary["mx"];
    const std::int64_t end =
        mx["failed_at"].is_null() ? study.step() : mx["failed_at"].get<std::int64_t>();
    json row = {{"name", v.name}, {"what", v.summary}, {"folder", v.name}};
    row["survived"] = end - o.at;
    row["failed"] = !mx["failed_at"].is_null();
    row["loss"] = mx["loss"];
    row["spikes"] = mx["spikes"];
    table.push_back(row);
  }
  bar.reset();
  write_file(
      out + "/interventions.json",
      json{{"run", base.name}, {"at", o.at}, {"steps", o.steps}, {"variants", table}}.dump(2) +
          "\n");
  for (const json& row : table) {
    fmt::print("{:<26} {} {} steps, loss {:.4g}\n", row["name"].get<std::string>(),
               row["failed"].get<bool>() ? "failed after" : "survived", row["survived"].dump(),
               row["loss"].get<double>());
  }
  return 0;
}

}  // namespace

void add_intervene(CLI::App& app, int& exit_code) {
  auto o = std::make_shared<intervene_options>();
  CLI::App* cmd = app.add_subcommand(
      "intervene", "Continue a run from a kept state, once for each change of one setting");
  cmd->add_option("RUN", o->run, "Folder of a run with a kept state")->required();
  cmd->add_option("--at", o->at, "Step of the kept state")->required();
  cmd->add_option("--steps", o->steps, "Steps of each continuation")
      ->capture_default_str()
      ->check(CLI::Range(1, 1000000000));
  cmd->add_option("--only", o->names, "Names from mxref-study interventions [all]")->delimiter(',');
  cmd->add_option("--own", o->own, "NAME=PATH=VALUE: a change of your own")->take_all();
  cmd->add_option("--out", o->out, "Folder of the results [RUN/from-STEP]");
  cmd->add_option("--threads", o->threads, "Threads [all cores]; never changes a bit")
      ->check(CLI::Range(1, 1024));
  cmd->callback([o, &exit_code] { exit_code = intervene(*o); });
}

}  // namespace instability
