// SPDX-License-Identifier: Apache-2.0
// What quantize and dequantize share.
#pragma once

#include <CLI/CLI.hpp>

#include <string>

#include "engine.hpp"
#include "operands.hpp"

namespace mxtool {

struct block_options {
  std::string format;
  int block = 32;
  std::string scale_format = "e8m0";
  int axis = -1;
  std::string packing = "none";
  std::string scale_layout = "linear";
  bool poison = false;
  std::string shape;
  std::string values;  // the plain numbers: input of quantize, output of dequantize
  std::string codes;
  std::string scales;
  std::string tensor_scale;  // a file with one number; empty: none
  engine_options engine;
};

void add_block_options(CLI::App& cmd, block_options& o);

/// --format nvfp4 stands for three options.
void expand_short_names(block_options& o);

/// The checked element format; block and scale format are checked too.
const format_entry& block_format(const block_options& o);

mxref::layout::dynamic_codes block_packing(const block_options& o, const format_entry& format);
mxref::layout::dynamic_scales block_scale_layout(const block_options& o);

/// Refuses --axis 0 for any array but a matrix.
void require_two_axes(const shape_type& shape, const std::string& spec);

}  // namespace mxtool
