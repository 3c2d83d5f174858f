// SPDX-License-Identifier: Apache-2.0
#include "run_log.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <sstream>

#include "files.hpp"
#include "settings_json.hpp"

namespace instability {

namespace {

/// The shortest text that reads back as the same number.
std::string text_of(double x) { return fmt::format("{}", x); }

}  // namespace

std::string log_row::csv_header() const {
  std::string line;
  for (const entry& e : values_) line += (line.empty() ? "" : ",") + e.name;
  return line;
}

std::string log_row::csv() const {
  std::string line;
  for (std::size_t i = 0; i < values_.size(); ++i) {
    if (i != 0) line += ',';
    if (values_[i].measured) line += text_of(values_[i].value);
  }
  return line;
}

std::string log_row::json_line() const {
  std::string line;
  for (const entry& e : values_) {
    if (!e.measured) continue;
    const std::string value =
        std::isfinite(e.value) ? text_of(e.value) : '"' + text_of(e.value) + '"';
    line += fmt::format("{}\"{}\": {}", line.empty() ? "{" : ", ", e.name, value);
  }
  return line + "}";
}

log_table::log_table(const std::string& path) {
  std::istringstream lines(read_file(path));
  int number = 0;
  for (std::string line; std::getline(lines, line);) {
    ++number;
    const json row = parse_json(line, fmt::format("{}:{}", path, number));
    if (!row.is_object()) throw settings_error(fmt::format("{}:{}: no object", path, number));
    auto& values = rows_.emplace_back();
    for (const auto& item : row.items()) {
      if (item.value().is_number()) values.emplace_back(item.key(), item.value().get<double>());
    }
  }
}

std::vector<std::pair<double, double>> log_table::series(const std::string& column) const {
  std::vector<std::pair<double, double>> points;
  for (const auto& row : rows_) {
    double step = 0;
    for (const auto& [name, value] : row) {
      if (name == "step") step = value;
      if (name == column) points.emplace_back(step, value);
    }
  }
  return points;
}

}  // namespace instability
