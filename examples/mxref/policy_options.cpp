// SPDX-License-Identifier: Apache-2.0
#include "policy_options.hpp"

#include "names.hpp"

namespace mxtool {

void add_policy_options(CLI::App& cmd, policy_options& o) {
  cmd.add_option("--rounding", o.rounding,
                 "nearest-even nearest-away nearest-toward-zero toward-zero up down to-odd "
                 "stochastic [nearest-even, or the preset's]");
  cmd.add_option("--overflow", o.overflow,
                 "saturate nonsaturating saturate-full [saturate, or the preset's]");
  cmd.add_option("--seed", o.seed,
                 "Of --rounding stochastic: element i, in C order of IN, takes word i of "
                 "Philox4x32-10 [0]");
  cmd.add_option("--sr-bits", o.random_bits, "Random bits that --rounding stochastic uses [32]")
      ->check(CLI::Range(1, 32));
  cmd.add_option("--preset", o.preset,
                 "What a library writes, NaN codes and zero signs included: see mxref info --rules")
      ->capture_default_str();
}

mxref::preset_desc chosen_preset(const policy_options& o) {
  mxref::preset_desc p = find_preset(o.preset);
  if (o.rounding) p.rounding = find_named("rounding", *o.rounding, roundings());
  if (o.overflow) p.overflow = find_named("overflow policy", *o.overflow, overflows());
  return p;
}

mxref::rounding::dynamic chosen_rounding(const policy_options& o, const mxref::preset_desc& p) {
  const bool is_stochastic = p.rounding == mxref::rounding_mode::stochastic;
  if (!is_stochastic && (o.seed || o.random_bits)) {
    throw usage_error("--seed and --sr-bits go with --rounding stochastic");
  }
  return {p.rounding, o.seed.value_or(0), o.random_bits.value_or(32)};
}

}  // namespace mxtool
