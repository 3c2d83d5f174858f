// SPDX-License-Identifier: Apache-2.0
#include "block_options.hpp"

#include <fmt/format.h>

#include "commands.hpp"

namespace mxtool {

void add_block_options(CLI::App& cmd, block_options& o) {
  cmd.add_option(
         "--format", o.format,
         "e4m3 e5m2 e3m2 e2m3 e2m1 int8 and others of at most 8 bits; nvfp4: e2m1, block 16, "
         "scale format e4m3")
      ->required();
  cmd.add_option("--block", o.block, "Elements that share a scale")->capture_default_str();
  cmd.add_option("--scale-format", o.scale_format, "e8m0 or e4m3 (NVFP4's)")->capture_default_str();
  cmd.add_option("--axis", o.axis,
                 "-1: blocks run along rows. 0: down the columns, and the codes of (R, C) are "
                 "stored K-major as (C, R)")
      ->check(CLI::IsMember({-1, 0}))
      ->capture_default_str();
  add_packing_option(cmd, "--packing", o.packing);
  add_scale_layout_option(cmd, "--scale-layout", o.scale_layout);
  add_engine_options(cmd, o.engine);
  cmd.footer(std::string(streaming_footer) +
             " --axis 0 reads at offsets: a pipe or a compressed input is then held in memory. "
             "Scales in another layout than linear are held in memory. A batch (more than two "
             "axes) of such scales is padded per matrix.");
}

void expand_short_names(block_options& o) {
  if (normalized(o.format) != "nvfp4") return;
  o.format = "e2m1";
  o.block = 16;
  o.scale_format = "e4m3";
}

const format_entry& block_format(const block_options& o) {
  const format_entry& format = find_format(o.format, false);
  if (format.desc.total_bits() > 8) {
    throw usage_error(fmt::format("--format {}: block elements have at most 8 bits", format.name));
  }
  check_block(o.block);
  find_scale_format(o.scale_format);
  return format;
}

mxref::layout::dynamic_codes block_packing(const block_options& o, const format_entry& format) {
  return find_packing(o.packing, "--packing", format, o.block);
}

mxref::layout::dynamic_scales block_scale_layout(const block_options& o) {
  return find_scale_layout(o.scale_layout, "--scale-layout", find_scale_format(o.scale_format));
}

void require_two_axes(const shape_type& shape, const std::string& spec) {
  if (shape.size() == 2) return;
  throw input_error(
      fmt::format("{}: --axis 0 needs an array of two axes, this one has {}", spec, shape.size()));
}

}  // namespace mxtool
