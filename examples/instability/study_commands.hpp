// SPDX-License-Identifier: Apache-2.0
// The commands of mxref-study. Exit codes: 0 done, 2 wrong input, 130 interrupted with the state
// saved.
#pragma once

#include <CLI/CLI.hpp>

#include <string>
#include <vector>

#include "settings_json.hpp"

namespace instability {

/// Where settings come from: a preset or a file, then single changes.
struct settings_options {
  std::string preset;
  std::string config;
  std::vector<std::string> changes;
};

void add_settings_options(CLI::App& cmd, settings_options& o);
/// Checked settings; without preset and file those of `quick`.
study_settings read_settings(const settings_options& o);

void add_run(CLI::App& app, int& exit_code);
void add_sweep(CLI::App& app, int& exit_code);
void add_intervene(CLI::App& app, int& exit_code);
void add_report(CLI::App& app);
void add_lists(CLI::App& app);

}  // namespace instability
