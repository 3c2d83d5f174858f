// SPDX-License-Identifier: Apache-2.0
// Settings as JSON: read with every fault named by file and path, written, and described by a
// JSON schema.
#pragma once

#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "settings.hpp"

namespace instability {

using json = nlohmann::ordered_json;

/// One line for the user; exit code 2.
class settings_error : public std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// The JSON of a file or of a text that has this name in messages.
json parse_json(const std::string& text, const std::string& name);
json read_json_file(const std::string& path);

/// Changes those settings that the JSON names. Unknown keys, other types and values outside the
/// limits throw settings_error.
void apply(const json& patch, const std::string& name, study_settings& s);

/// Sets `path=value` of the command line: optimizer.learning_rate=1e-3, precision.w=e5m2.
json patch_of(std::string_view assignment);

/// {"a": {"b": value}} for the path a.b.
json nested(std::string_view path, json value);

/// What must hold between settings; throws settings_error.
void check(const study_settings& s, const std::string& name);

/// The settings of a step: with all changes up to it.
study_settings settings_at(const study_settings& s, std::int64_t step);

json to_json(const study_settings& s);
json schema();

/// Settings by name.
struct preset {
  std::string_view name;
  std::string_view summary;
  std::string_view patch;
};
std::vector<preset> presets();
preset find_preset(std::string_view name);
study_settings preset_settings(std::string_view name);

/// An intervention: a change of settings from one step on.
struct intervention {
  std::string_view name;
  std::string_view summary;
  std::string_view patch;
  double rate = 1;  ///< what the learning rate is multiplied by
};
std::vector<intervention> interventions();
intervention find_intervention(std::string_view name);

}  // namespace instability
