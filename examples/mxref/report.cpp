// SPDX-License-Identifier: Apache-2.0
#include "report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <nlohmann/json.hpp>

namespace mxtool {

namespace {

using mxref::index_t;

/// Position of a code on the number line, with both zeros at 0.
std::int64_t ordinal(mxref::format_desc f, std::uint32_t code) {
  const auto mag = static_cast<std::int64_t>(code & mxref::low_mask(f.magnitude_bits()));
  return (code & f.sign_code()) != 0 ? -mag : mag;
}

std::string range_text(int width) {
  if (width < 0) return "NaN / number";
  if (width == 0) return "0 (sign of zero)";
  const std::uint64_t low = std::uint64_t{1} << (width - 1);
  return width == 1 ? "1" : fmt::format("{}..{}", low, 2 * low - 1);
}

}  // namespace

comparison::comparison(mxref::format_desc format, nan_compare nans, const rectangle& part)
    : format_(format),
      nans_(nans),
      part_(part),
      by_row_(static_cast<std::size_t>(part.rows)),
      by_col_(static_cast<std::size_t>(part.cols)),
      cell_rows_((part.rows + map_rows - 1) / map_rows),
      cell_cols_((part.cols + map_cols - 1) / map_cols) {
  const auto lines = static_cast<std::size_t>((part.rows + cell_rows_ - 1) / cell_rows_);
  const auto width = static_cast<std::size_t>((part.cols + cell_cols_ - 1) / cell_cols_);
  map_.assign(lines, std::string(width, '.'));
}

void comparison::add(index_t row, index_t col, std::uint32_t got, std::uint32_t want) {
  ++total_;
  const index_t i = row - part_.row;
  const index_t j = col - part_.col;
  tally& in_row = by_row_[static_cast<std::size_t>(i)];
  tally& in_col = by_col_[static_cast<std::size_t>(j)];
  ++in_row.compared;
  ++in_col.compared;
  if (got == want) return;
  if (mxref::to_number(format_, got).is_nan() && mxref::to_number(format_, want).is_nan()) {
    ++nan_payload_differences_;
    if (nans_ == nan_compare::by_class) return;
  }
  ++mismatches_;
  if (first_.size() < first_count) first_.push_back({row, col, got, want});
  const auto d = distance(got, want);
  ++histogram_[d ? mxref::bit_width(*d) : -1];
  ++in_row.wrong;
  ++in_col.wrong;
  map_[static_cast<std::size_t>(i / cell_rows_)][static_cast<std::size_t>(j / cell_cols_)] = '#';
}

std::optional<std::uint64_t> comparison::distance(std::uint32_t got, std::uint32_t want) const {
  if (mxref::to_number(format_, got).is_nan() || mxref::to_number(format_, want).is_nan())
    return {};
  return mxref::magnitude(ordinal(format_, got) - ordinal(format_, want));
}

std::string comparison::value_text(std::uint32_t code) const {
  return fmt::format("{:.9g}", mxref::from_number<float>(mxref::to_number(format_, code)));
}

std::string comparison::bits_text(std::uint32_t code) const {
  return fmt::format("0x{:0{}x}", code, format_.total_bits() / 4);
}

std::string comparison::verdict_line() const {
  if (match()) return fmt::format("MATCH {}/{} bit-exact", total_, total_);
  return fmt::format("MISMATCH {}/{} outputs differ ({:.3g} %)", mismatches_, total_,
                     100.0 * static_cast<double>(mismatches_) / static_cast<double>(total_));
}

std::string comparison::histogram_text() const {
  std::string text = "\nHow far apart (ulp of the output type)\n";
  for (const auto& [width, count] : histogram_) {
    const auto bar = static_cast<std::size_t>((40 * count + mismatches_ - 1) / mismatches_);
    text += fmt::format("  {:>22}  {:>8}  {:#<{}}\n", range_text(width), count, "", bar);
  }
  return text;
}

std::string comparison::axis_text(const char* name, const std::vector<tally>& tallies,
                                  index_t first) {
  std::vector<index_t> wrong;
  index_t compared = 0;
  for (std::size_t i = 0; i < tallies.size(); ++i) {
    if (tallies[i].wrong != 0) wrong.push_back(static_cast<index_t>(i));
    compared += tallies[i].compared != 0 ? 1 : 0;
  }
  const auto at = [&](index_t i) { return tallies[static_cast<std::size_t>(i)]; };
  std::stable_sort(wrong.begin(), wrong.end(),
                   [&](index_t a, index_t b) { return at(a).wrong > at(b).wrong; });
  std::string text = fmt::format("  in {} of {} {}s:", wrong.size(), compared, name);
  for (std::size_t i = 0; i < std::min<std::size_t>(wrong.size(), 8); ++i) {
    text += fmt::format(" {} ({}/{})", first + wrong[i], at(wrong[i]).wrong, at(wrong[i]).compared);
  }
  return text + (wrong.size() > 8 ? " ...\n" : "\n");
}

std::string comparison::map_text() const {
  std::string text =
      cell_rows_ == 1 && cell_cols_ == 1
          ? "\nMap (row by row, # differs)\n"
          : fmt::format("\nMap (each character {} x {} outputs, # holds a mismatch)\n", cell_rows_,
                        cell_cols_);
  for (const std::string& line : map_) text += "  " + line + "\n";
  return text;
}

std::string comparison::details() const {
  std::string text;
  if (nan_payload_differences_ != 0) {
    text += fmt::format("\nNaN payloads: {} outputs are NaN on both sides with other bits ({})\n",
                        nan_payload_differences_,
                        nans_ == nan_compare::by_class
                            ? "a match by class; --nan-compare bits is strict"
                            : "counted as mismatches");
  }
  if (match()) return text;
  text +=
      fmt::format("\nFirst mismatches (of {})\n  {:>6} {:>6}  {:>15} {:<10}  {:>15} {:<10}  {}\n",
                  mismatches_, "row", "col", "got", "bits", "want", "bits", "ulp");
  for (const mismatch& m : first_) {
    const auto d = distance(m.got, m.want);
    text += fmt::format("  {:>6} {:>6}  {:>15} {:<10}  {:>15} {:<10}  {}\n", m.row, m.col,
                        value_text(m.got), bits_text(m.got), value_text(m.want), bits_text(m.want),
                        d ? fmt::to_string(*d) : "-");
  }
  text += histogram_text();
  text += "\nWhere\n";
  text += axis_text("row", by_row_, part_.row);
  text += axis_text("column", by_col_, part_.col);
  return text + map_text();
}

void comparison::to_json(nlohmann::ordered_json& json) const {
  json["verdict"] = match() ? "MATCH" : "MISMATCH";
  json["total"] = total_;
  json["mismatches"] = mismatches_;
  json["nan_payload_differences"] = nan_payload_differences_;
  json["first"] = nlohmann::ordered_json::array();
  for (const mismatch& m : first_) {
    nlohmann::ordered_json entry{{"row", m.row},
                                 {"col", m.col},
                                 {"got_bits", bits_text(m.got)},
                                 {"want_bits", bits_text(m.want)},
                                 {"got", value_text(m.got)},
                                 {"want", value_text(m.want)},
                                 {"ulp", nullptr}};
    if (const auto d = distance(m.got, m.want)) entry["ulp"] = *d;
    json["first"].push_back(std::move(entry));
  }
  json["ulp_histogram"] = nlohmann::ordered_json::array();
  for (const auto& [width, count] : histogram_) {
    json["ulp_histogram"].push_back({{"ulp", range_text(width)}, {"count", count}});
  }
  const auto list = [](const std::vector<tally>& tallies, index_t first) {
    auto entries = nlohmann::ordered_json::array();
    for (std::size_t i = 0; i < tallies.size(); ++i) {
      if (tallies[i].wrong == 0) continue;
      entries.push_back(
          {{"index", first + static_cast<index_t>(i)}, {"mismatches", tallies[i].wrong}});
    }
    return entries;
  };
  json["rows"] = list(by_row_, part_.row);
  json["columns"] = list(by_col_, part_.col);
}

}  // namespace mxtool
