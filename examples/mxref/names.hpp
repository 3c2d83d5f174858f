// SPDX-License-Identifier: Apache-2.0
// The run-time spellings of formats, policies and models, and what is said about each.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "array_io.hpp"
#include "mxref/mxref.hpp"

namespace mxtool {

/// A wrong option or an impossible combination: one line for the user, exit code 2.
class usage_error : public std::runtime_error {
  using std::runtime_error::runtime_error;
};

template <class Value>
struct named {
  std::string_view name;
  Value value;
  std::string_view summary;
};

struct format_entry {
  std::string_view name;
  mxref::format_desc desc;
  bool scalar_only;  // a scale type: encode and decode only
  std::string_view summary;
};

std::span<const format_entry> formats();
std::span<const named<mxref::rounding_mode>> roundings();
std::span<const named<mxref::overflow_mode>> overflows();
std::span<const named<mxref::nan_mode>> nan_policies();
std::span<const named<mxref::negative_mode>> negative_policies();

/// A preset of the library by its name.
const mxref::preset_desc& find_preset(std::string_view text);
std::span<const named<mxref::packing_mode>> packings();
std::span<const named<mxref::scale_layout_mode>> scale_layouts();

/// `_` for `-` and capitals are accepted.
std::string normalized(std::string_view text);

/// Throws: unknown NAME 'text', the nearest known name, all known names.
[[noreturn]] void throw_unknown(std::string_view what, std::string_view text,
                                std::span<const std::string_view> known);

const format_entry& find_format(std::string_view text, bool scalars_allowed);

template <class Value>
Value find_named(std::string_view what, std::string_view text,
                 std::span<const named<Value>> table) {
  const std::string wanted = normalized(text);
  std::vector<std::string_view> known;
  for (const auto& entry : table) {
    if (entry.name == wanted) return entry.value;
    known.push_back(entry.name);
  }
  throw_unknown(what, text, known);
}

/// The name of a value of a table.
template <class Value>
std::string_view name_of(Value value, std::span<const named<Value>> table) {
  for (const auto& entry : table) {
    if (entry.value == value) return entry.name;
  }
  return "?";
}

/// The name of a format, or its parameters when it has none.
std::string format_name(mxref::format_desc f);

/// The dtype that holds the codes of a format.
dtype container(mxref::format_desc f);

/// An accumulation policy, or a model of a matrix unit.
struct model_entry {
  std::string_view name;
  std::string_view summary;
  const mxref::unit_model* unit = nullptr;  // null: a mathematical definition
};

std::span<const model_entry> models();

/// The operands and the output that a model is asked for.
struct model_use {
  mxref::operand_kind a;
  mxref::operand_kind b;
  mxref::format_desc out;
};

/// Throws unless a text is the name of a model or the short name of several.
void check_model(std::string_view text);

/// The full name of a model. A short hardware name stands for the one kind that takes the operands.
std::string resolve_model(std::string_view text, const model_use& use);

/// Calls f with the policy of a resolved model name.
template <class F>
auto with_model(std::string_view name, F&& f) {
  namespace accumulate = mxref::accumulate;
  for (const mxref::unit_model& m : mxref::matrix_units) {
    if (name == m.name) return f(m);
  }
  if (name == accumulate::block_exact_fp32::name) return f(accumulate::block_exact_fp32{});
  if (name == accumulate::block_fused_fp32::name) return f(accumulate::block_fused_fp32{});
  if (name == accumulate::fp32_chain::name) return f(accumulate::fp32_chain{});
  return f(accumulate::exact{});
}

/// What is known of a model for given operands, and from where.
struct model_evidence {
  mxref::evidence known = mxref::evidence::definition;
  std::string_view source = "definition";
};
model_evidence evidence_of(std::string_view name, const model_use& use);

}  // namespace mxtool
