// SPDX-License-Identifier: Apache-2.0
// The comparison behind verify: bits against bits, and what the mismatches have in common.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "mxref/mxref.hpp"
#include "operands.hpp"

namespace mxtool {

enum class nan_compare { by_class, bits };

/// Collects outputs one by one; got is the dump under test, want the model's result.
class comparison {
 public:
  using index_t = mxref::index_t;

  /// Outputs of `part` will be compared, all or some of them.
  comparison(mxref::format_desc format, nan_compare nans, const rectangle& part);

  void add(index_t row, index_t col, std::uint32_t got, std::uint32_t want);

  bool match() const { return mismatches_ == 0; }

  /// `MATCH 256/256 bit-exact` or `MISMATCH 17/256 outputs differ`.
  std::string verdict_line() const;

  /// Everything after the verdict and the description of the inputs: first mismatches, ULP
  /// histogram, rows and columns, map. Empty for a match without NaN payload differences.
  std::string details() const;

  /// verdict, total, mismatches, nan_payload_differences, first[], histogram, rows, columns.
  void to_json(nlohmann::ordered_json& json) const;

 private:
  struct tally {
    index_t compared = 0;
    index_t wrong = 0;
  };
  struct mismatch {
    index_t row;
    index_t col;
    std::uint32_t got;
    std::uint32_t want;
  };

  std::optional<std::uint64_t> distance(std::uint32_t got, std::uint32_t want) const;
  std::string value_text(std::uint32_t code) const;
  std::string bits_text(std::uint32_t code) const;
  std::string histogram_text() const;
  static std::string axis_text(const char* name, const std::vector<tally>& tallies, index_t first);
  std::string map_text() const;

  static constexpr std::size_t first_count = 10;
  static constexpr index_t map_rows = 32;
  static constexpr index_t map_cols = 64;

  mxref::format_desc format_;
  nan_compare nans_;
  rectangle part_;
  index_t total_ = 0;
  index_t mismatches_ = 0;
  index_t nan_payload_differences_ = 0;
  std::vector<mismatch> first_;
  std::map<int, index_t> histogram_;  // bit width of the distance; -1: NaN against a number
  std::vector<tally> by_row_;
  std::vector<tally> by_col_;
  index_t cell_rows_;  // outputs that one character of the map stands for
  index_t cell_cols_;
  std::vector<std::string> map_;
};

}  // namespace mxtool
