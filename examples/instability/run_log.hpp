// SPDX-License-Identifier: Apache-2.0
// The log of a run: rows of named numbers, written as CSV and as JSON lines. The same run gives the
// same text.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <utility>
#include <vector>

namespace instability {

/// Columns in order. A number that was not measured at a step is NaN: left out of the JSON, empty
/// in the CSV. Numbers that are not finite are strings in the JSON ("inf", "nan" after a
/// divergence).
class log_row {
 public:
  static constexpr double missing = std::numeric_limits<double>::quiet_NaN();

  void put(std::string name, double value) { values_.push_back({std::move(name), value, true}); }
  void skip(std::string name) { values_.push_back({std::move(name), missing, false}); }

  std::string csv_header() const;
  std::string csv() const;
  std::string json_line() const;

 private:
  struct entry {
    std::string name;
    double value;
    bool measured;
  };
  std::vector<entry> values_;
};

/// A log as columns again, for reports.
class log_table {
 public:
  /// Reads what json_line has written.
  explicit log_table(const std::string& path);

  /// (step, value) where the column was measured.
  std::vector<std::pair<double, double>> series(const std::string& column) const;
  bool has(const std::string& column) const { return !series(column).empty(); }

 private:
  std::vector<std::vector<std::pair<std::string, double>>> rows_;
};

/// When a loss has left its course: above 10 times its smallest value for 200 steps in a row, or
/// not finite. Above it for less is a spike.
struct loss_watch {
  double smallest = std::numeric_limits<double>::infinity();
  std::int64_t above_for = 0;
  std::int64_t spikes = 0;
  std::int64_t failed_at = -1;  ///< first step of the failure

  static constexpr std::int64_t patience = 200;
  static constexpr double factor = 10;

  void see(std::int64_t step, double loss) noexcept {
    if (failed_at >= 0) return;
    if (!std::isfinite(loss)) {
      failed_at = step - above_for;
      return;
    }
    if (loss > factor * smallest) {
      if (++above_for == patience) failed_at = step + 1 - patience;
      return;
    }
    if (above_for > 0) ++spikes;
    above_for = 0;
    if (loss < smallest) smallest = loss;
  }
};

}  // namespace instability
