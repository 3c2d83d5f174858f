// SPDX-License-Identifier: Apache-2.0
// info: what is in a file, and what the tool knows.
#include <fmt/format.h>

#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "commands.hpp"
#include "engine.hpp"
#include "operands.hpp"
#include "rules.hpp"

namespace mxtool {

namespace {

using nlohmann::ordered_json;

struct info_options {
  std::vector<std::string> files;
  bool models = false;
  bool rules = false;
  bool formats = false;
  bool targets = false;
  bool json = false;
};

double value_of(mxref::format_desc f, std::uint64_t code) {
  return mxref::from_number<double>(mxref::to_number(f, code));
}

ordered_json formats_json() {
  ordered_json list = ordered_json::array();
  for (const format_entry& e : formats()) {
    const mxref::format_desc f = e.desc;
    const bool fixed_point = f.code == mxref::encoding::twos_complement;
    const std::uint64_t smallest_normal =
        f.code == mxref::encoding::exponent_only ? 0 : std::uint64_t{1} << f.man_bits;
    list.push_back(
        {{"name", e.name},
         {"bits", f.total_bits()},
         {"exponent_bits", f.exp_bits},
         {"mantissa_bits", f.man_bits},
         {"bias", f.bias},
         {"emax", f.emax()},
         {"largest", value_of(f, f.max_magnitude())},
         {"largest_code", fmt::format("{:#x}", f.max_magnitude())},
         {"smallest_normal", value_of(f, fixed_point ? std::uint64_t{1} : smallest_normal)},
         {"smallest", value_of(f, f.code == mxref::encoding::exponent_only ? 0 : 1)},
         {"inf", f.has_inf()},
         {"nan", f.has_nan()},
         {"summary", e.summary}});
  }
  return list;
}

void print_formats() {
  fmt::print("{:<11} {:>4} {:>3} {:>3} {:>4} {:>5} {:>12} {:>12} {:>12}  {}\n", "format", "bits",
             "exp", "man", "bias", "emax", "largest", "min normal", "smallest", "");
  for (const ordered_json& f : formats_json()) {
    fmt::print("{:<11} {:>4} {:>3} {:>3} {:>4} {:>5} {:>12.6g} {:>12.6g} {:>12.6g}  {}\n",
               f["name"].get<std::string>(), f["bits"].get<int>(), f["exponent_bits"].get<int>(),
               f["mantissa_bits"].get<int>(), f["bias"].get<int>(), f["emax"].get<int>(),
               f["largest"].get<double>(), f["smallest_normal"].get<double>(),
               f["smallest"].get<double>(), f["summary"].get<std::string>());
  }
}

std::string set_text(mxref::element_set set) {
  std::string text;
  for (const format_entry& f : formats()) {
    if ((mxref::set_of(f.desc) & set) == 0) continue;
    if (!text.empty()) text += ' ';
    text += f.name;
  }
  return text;
}

/// A line of a model's table: what it takes, its parameters, and how it is known.
ordered_json mode_json(const mxref::unit_mode& m) {
  static constexpr const char* sums[] = {"window", "two-windows", "exact", "flushed"};
  static constexpr const char* orders[] = {"together", "even-odd", "pairs-of-pairs"};
  const mxref::unit_desc& u = m.unit;
  ordered_json json{{"a", set_text(m.a)}, {"b", set_text(m.b)}};
  if (m.block != 0) {
    json["block"] = m.block;
    json["scale_format"] = m.scale_format == mxref::E8M0::desc ? "e8m0" : "e4m3";
  }
  json["out"] = format_name(u.accumulator);
  json["evidence"] = mxref::to_string(m.known);
  json["source"] = m.source;
  json["sum"] = sums[static_cast<unsigned>(u.sum)];
  json["length"] = u.length;
  if (u.group != 1) json["group"] = u.group;
  if (u.restart != 0) json["restart"] = u.restart;
  if (u.order != mxref::unit_order::together)
    json["order"] = orders[static_cast<unsigned>(u.order)];
  const bool is_aligned = u.sum == mxref::unit_sum::window || u.sum == mxref::unit_sum::two_windows;
  if (is_aligned) json["fraction_bits"] = u.fraction_bits;
  if (u.sum == mxref::unit_sum::two_windows) json["second_fraction_bits"] = u.second_fraction_bits;
  if (u.exponent_floor != mxref::unit_desc::no_floor) json["exponent_floor"] = u.exponent_floor;
  json["output_rounding"] =
      u.output == mxref::rounding_mode::toward_zero ? "toward-zero" : "nearest-even";
  json["output_bits"] = u.output_bits;
  return json;
}

ordered_json models_json() {
  ordered_json list = ordered_json::array();
  for (const model_entry& m : models()) {
    ordered_json entry{{"name", m.name}, {"summary", m.summary}};
    if (m.unit == nullptr) {
      entry["evidence"] = mxref::to_string(mxref::evidence::definition);
      entry["source"] = "definition";
    } else {
      entry["modes"] = ordered_json::array();
      for (int i = 0; i < m.unit->mode_count; ++i) {
        entry["modes"].push_back(mode_json(m.unit->modes[i]));
      }
    }
    list.push_back(std::move(entry));
  }
  return list;
}

void print_models() {
  for (const ordered_json& m : models_json()) {
    fmt::print("{}\n    {}\n", m["name"].get<std::string>(), m["summary"].get<std::string>());
    if (!m.contains("modes")) {
      fmt::print("    evidence: {}\n", m["evidence"].get<std::string>());
      continue;
    }
    for (const ordered_json& mode : m["modes"]) {
      std::string takes = mode["a"].get<std::string>();
      if (mode.contains("block")) {
        takes += fmt::format(", {} scales of {}", mode["scale_format"].get<std::string>(),
                             mode["block"].get<int>());
      }
      fmt::print("    {} -> {}: {} ({})\n", takes, mode["out"].get<std::string>(),
                 mode["evidence"].get<std::string>(), mode["source"].get<std::string>());
    }
  }
}

template <class Table>
ordered_json table_json(const Table& table) {
  ordered_json list = ordered_json::array();
  for (const auto& e : table) list.push_back({{"name", e.name}, {"summary", e.summary}});
  return list;
}

/// 1 <= m < 2 from which on the scale is one above floor's: "1.75", "> 1.75", "never".
std::string threshold_text(mxref::scale_rule rule, mxref::format_desc f) {
  const threshold t = threshold_of(rule, f);
  return t.m < 1 ? "never" : fmt::format("{}{:.6g}", t.above ? "> " : "", t.m);
}

constexpr std::string_view threshold_formats[] = {"e4m3", "e5m2", "e2m1", "e2m3", "e3m2"};

ordered_json scale_rules_json() {
  ordered_json list = ordered_json::array();
  for (const rule_entry& r : rules()) {
    ordered_json entry{{"name", r.name},
                       {"scale_format", r.is_nvfp4 ? "e4m3" : "e8m0"},
                       {"formula", r.formula},
                       {"used_by", r.used_by},
                       {"differs", r.differs}};
    for (const std::string_view f : threshold_formats) {
      if (r.is_nvfp4) break;
      entry["moves_from"][std::string(f)] = threshold_text(r.rule, find_format(f, false).desc);
    }
    list.push_back(std::move(entry));
  }
  return list;
}

ordered_json presets_json() {
  ordered_json list = ordered_json::array();
  for (const mxref::preset_desc* p : mxref::presets) {
    ordered_json entry{{"name", p->name}, {"summary", p->source}};
    if (p->has_blocks) {
      for (const rule_entry& r : rules()) {
        if (!r.is_nvfp4 && r.rule == p->scale && !entry.contains("scale")) entry["scale"] = r.name;
      }
    }
    list.push_back(std::move(entry));
  }
  return list;
}

ordered_json rules_json() {
  return {{"scale", scale_rules_json()},         {"preset", presets_json()},
          {"rounding", table_json(roundings())}, {"overflow", table_json(overflows())},
          {"nan", table_json(nan_policies())},   {"negative", table_json(negative_policies())},
          {"packing", table_json(packings())},   {"scale-layout", table_json(scale_layouts())}};
}

void print_rules() {
  fmt::print("--scale\n");
  for (const rule_entry& r : rules()) {
    fmt::print("    {:<20} {}\n    {:<20} used by {}; {}\n", r.name, r.formula, "", r.used_by,
               r.differs);
  }
  fmt::print(
      "    RN: one rounding to nearest even in binary32. M: the largest element. emax: its "
      "exponent.\n"
      "    amax = m * 2^k, 1 <= m < 2. The scale is one above floor's from this m on:\n"
      "    {:<20}",
      "");
  for (const std::string_view f : threshold_formats) fmt::print(" {:>10}", f);
  fmt::print("\n");
  for (const rule_entry& r : rules()) {
    if (r.is_nvfp4) continue;
    fmt::print("    {:<20}", r.name);
    for (const std::string_view f : threshold_formats) {
      fmt::print(" {:>10}", threshold_text(r.rule, find_format(f, false).desc));
    }
    fmt::print("\n");
  }
  const ordered_json all = rules_json();
  for (const auto& [group, entries] : all.items()) {
    if (group == "scale") continue;
    fmt::print("--{}\n", group);
    for (const ordered_json& e : entries) {
      fmt::print("    {:<24} {}\n", e["name"].get<std::string>(), e["summary"].get<std::string>());
    }
  }
}

ordered_json targets_json() {
  const auto list = targets();
  ordered_json json = ordered_json::array();
  for (const auto* t : list) {
    json.push_back(
        {{"name", target_name(*t)},
         {"default", t == list.front()},
         {"summary", t == list.back() ? "integers only, any processor" : "vector kernels"}});
  }
  return json;
}

void print_targets() {
  for (const ordered_json& t : targets_json()) {
    fmt::print("{:<12} {}{}\n", t["name"].get<std::string>(), t["summary"].get<std::string>(),
               t["default"].get<bool>() ? " (default)" : "");
  }
  if (targets().size() == 1) fmt::print("This tool was built without vector kernels.\n");
}

ordered_json file_json(const std::string& file) {
  ordered_json list = ordered_json::array();
  std::vector<std::string> specs;
  const bool names_member =
      file.find(".npz:") != std::string::npos || file.find(".safetensors:") != std::string::npos;
  if (!names_member) {
    for (const std::string& member : list_members(file)) specs.push_back(file + ":" + member);
  }
  if (specs.empty()) specs.push_back(file);
  for (const std::string& spec : specs) {
    npy_reader in(spec);
    const std::size_t bytes = in.remaining();
    list.push_back({{"file", spec},
                    {"dtype", name(in.type())},
                    {"shape", in.shape()},
                    {"bytes", bytes},
                    {"crc32", fmt::format("{:08x}", checksum(in))}});
  }
  return list;
}

void print_files(const ordered_json& files) {
  fmt::print("{:<8} {:<16} {:>12}  {:<8}  {}\n", "dtype", "shape", "bytes", "crc32", "file");
  for (const ordered_json& f : files) {
    fmt::print("{:<8} {:<16} {:>12}  {:<8}  {}\n", f["dtype"].get<std::string>(),
               shape_text(f["shape"].get<shape_type>()), f["bytes"].get<std::size_t>(),
               f["crc32"].get<std::string>(), f["file"].get<std::string>());
  }
}

void info(const info_options& o) {
  ordered_json files = ordered_json::array();
  for (const std::string& file : o.files) {
    for (ordered_json& f : file_json(file)) files.push_back(std::move(f));
  }
  if (!o.models && !o.rules && !o.formats && !o.targets && o.files.empty()) {
    throw usage_error("info: give a FILE, or one of --formats --models --rules --targets");
  }
  if (o.json) {
    ordered_json json;
    if (!o.files.empty()) json["files"] = files;
    if (o.formats) json["formats"] = formats_json();
    if (o.models) json["models"] = models_json();
    if (o.rules) json["rules"] = rules_json();
    if (o.targets) {
      json["targets"] = targets_json();
      json["vector_kernels"] = targets().size() > 1;
    }
    fmt::print("{}\n", json.dump(2));
    return;
  }
  if (!o.files.empty()) print_files(files);
  if (o.formats) print_formats();
  if (o.models) print_models();
  if (o.rules) print_rules();
  if (o.targets) print_targets();
}

}  // namespace

void add_info(CLI::App& app) {
  auto o = std::make_shared<info_options>();
  CLI::App* cmd =
      app.add_subcommand("info", "Describe array files, or list formats, models, rules, targets");
  cmd->add_option("FILE", o->files, "Array files; all members of an archive are listed");
  cmd->add_flag("--formats", o->formats, "Number formats");
  cmd->add_flag("--models", o->models, "Accumulation policies and matrix units, with evidence");
  cmd->add_flag("--rules", o->rules, "Scale rules, rounding, overflow and NaN policies, layouts");
  cmd->add_flag("--targets", o->targets,
                "Instruction sets that are compiled in and that this processor has, best first");
  cmd->add_flag("--json", o->json, "Print JSON");
  cmd->callback([o] { info(*o); });
}

}  // namespace mxtool
