// SPDX-License-Identifier: Apache-2.0
// The policies that encode and quantize share: rounding, overflow, presets.
#pragma once

#include <CLI/CLI.hpp>

#include <cstdint>
#include <optional>
#include <string>

#include "mxref/mxref.hpp"

namespace mxtool {

/// What is not given is the preset's, or mxref's default.
struct policy_options {
  std::string preset = "cuda";
  std::optional<std::string> rounding;
  std::optional<std::string> overflow;
  std::optional<std::uint64_t> seed;
  std::optional<int> random_bits;
};

void add_policy_options(CLI::App& cmd, policy_options& o);

/// The preset with what was given instead.
mxref::preset_desc chosen_preset(const policy_options& o);

/// Throws where --seed and --sr-bits have no stochastic rounding to serve.
mxref::rounding::dynamic chosen_rounding(const policy_options& o, const mxref::preset_desc& p);

}  // namespace mxtool
