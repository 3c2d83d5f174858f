// SPDX-License-Identifier: Apache-2.0
// quantize and dequantize: blocks with shared scales.
#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <string>

#include "commands.hpp"
#include "operands.hpp"
#include "progress.hpp"

namespace mxtool {

namespace {

using mxref::index_t;

struct block_options {
  std::string format;
  int block = 32;
  std::string scale_format = "e8m0";
  std::string scale = "floor";
  std::string rounding = "nearest-even";
  std::string overflow = "saturate";
  std::string nan = "poison";
  int axis = -1;
  bool strict = false;
  std::string packing = "none";
  std::string scale_layout = "linear";
  long depth = 0;
  std::string shape;
  std::string dtype_name;
  std::string values;  // the plain numbers: input of quantize, output of dequantize
  std::string codes;
  std::string scales;
};

const format_entry& block_format(const block_options& o) {
  const format_entry& format = find_format(o.format, false);
  if (format.desc.total_bits() > 8) {
    throw usage_error(fmt::format("--format {}: block elements have at most 8 bits", format.name));
  }
  if (o.block < 1) {
    throw usage_error(fmt::format("--block {}: a block has at least 1 element", o.block));
  }
  check_scale_options(o.scale_format, o.scale_layout);
  find_named("scale rule", o.scale, scale_rules());
  return format;
}

/// Rows of one code a byte to packed rows.
array pack_rows(const array& codes, int bits, matrix_shape shape) {
  const std::size_t row_bytes = mxref::packed_size(bits, static_cast<std::size_t>(shape.cols));
  shape_type packed_shape = codes.shape;
  packed_shape.back() = row_bytes;
  array packed = make_array(dtype::u8, packed_shape);
  const auto in = codes.as<std::uint8_t>();
  const auto out = packed.as<std::uint8_t>();
  for (index_t r = 0; r < shape.rows; ++r) {
    const std::size_t row = static_cast<std::size_t>(r);
    const auto cols = static_cast<std::size_t>(shape.cols);
    for (std::size_t k = 0; k < cols; ++k) {
      mxref::set_packed(out.data() + row * row_bytes, bits, k, in[row * cols + k]);
    }
  }
  return packed;
}

template <class T>
void quantize_rows(const array& in, matrix_shape shape, const block_options& o,
                   const mxref::quantized_view& out) {
  using mxref::quantizer;
  const quantizer<mxref::scale::floor, mxref::rounding::dynamic, mxref::overflow::dynamic,
                  mxref::nan::dynamic>
      q{{},
        {find_named("rounding", o.rounding, roundings())},
        {find_named("overflow policy", o.overflow, overflows())},
        {find_named("NaN policy", o.nan, nan_policies())}};
  auto m = mxref::view(in.as<T>().data(), shape.rows, shape.cols);
  if (o.axis == 0) m = mxref::transposed(m);
  const index_t rows_at_once =
      std::max<index_t>(1, (index_t{1} << 20) / std::max<index_t>(1, m.cols));
  progress bar("quantize", m.rows);
  for (index_t r = 0; r < m.rows; r += rows_at_once) {
    auto part = m;
    part.data += r * m.row_stride;
    part.rows = std::min(rows_at_once, m.rows - r);
    mxref::quantized_view part_out = out;
    part_out.codes += r * out.code_row_bytes;
    part_out.scales += r * out.scale_row_bytes;
    const mxref::status s = mxref::quantize(part, part_out, q, {-1, o.strict});
    if (!s) throw input_error(fmt::format("{}: {}", o.values, mxref::message(s)));
    bar.add(part.rows);
  }
}

void quantize(const block_options& o) {
  const format_entry& format = block_format(o);
  const mxref::code_storage storage = parse_packing(o.packing);
  const std::string outputs_wanted[] = {o.codes, o.scales};
  check_writable(outputs_wanted);
  raw_options raw;
  if (!o.shape.empty()) raw.shape = parse_shape(o.shape);
  if (!o.dtype_name.empty()) raw.type = parse_dtype(o.dtype_name);
  const array in = load_array(o.values, raw);
  const matrix_shape shape = as_matrix(in, o.values);
  shape_type code_shape = in.shape;
  if (o.axis == 0) {
    if (in.shape.size() != 2) {
      throw input_error(fmt::format("{}: --axis 0 needs an array of two axes, this one has {}",
                                    o.values, in.shape.size()));
    }
    std::swap(code_shape[0], code_shape[1]);
  }
  const matrix_shape k_major =
      o.axis == 0 ? matrix_shape{shape.cols, shape.rows} : matrix_shape{shape.rows, shape.cols};
  const index_t blocks = (k_major.cols + o.block - 1) / o.block;
  shape_type scale_shape = code_shape;
  scale_shape.back() = static_cast<std::size_t>(blocks);
  array codes = make_array(dtype::u8, code_shape);
  array scales = make_array(dtype::u8, scale_shape);
  const mxref::quantized_view out{format.desc,
                                  o.block,
                                  codes.as<std::uint8_t>().data(),
                                  k_major.cols,
                                  scales.as<std::uint8_t>().data(),
                                  blocks};
  if (in.type == dtype::f32) {
    quantize_rows<float>(in, shape, o, out);
  } else if (in.type == dtype::f64) {
    quantize_rows<double>(in, shape, o, out);
  } else {
    throw input_error(fmt::format("{}: quantize takes float32 or float64 numbers, not {}", o.values,
                                  name(in.type)));
  }
  if (storage == mxref::code_storage::dense) {
    codes = pack_rows(codes, format.desc.total_bits(), k_major);
  }
  output_set outputs;
  outputs.add(o.codes, std::move(codes));
  outputs.add(o.scales, std::move(scales));
  outputs.commit();
}

void dequantize(const block_options& o) {
  const format_entry& format = block_format(o);
  check_writable(o.values);
  std::optional<matrix_shape> raw;
  if (!o.shape.empty()) {
    const shape_type shape = parse_shape(o.shape);
    if (shape.size() != 2) throw usage_error("--shape of dequantize is ROWS,DEPTH of the codes");
    raw = {static_cast<index_t>(shape[0]), static_cast<index_t>(shape[1])};
  }
  std::optional<index_t> depth;
  if (o.depth > 0) depth = o.depth;
  operand m =
      load_operand({"codes", o.codes, std::string(format.name), "", o.packing}, o.block, raw,
                   depth ? depth
                   : raw ? std::optional(raw->cols)
                         : std::nullopt);
  attach_scales(m, o.scales, "--scales", o.block, raw.has_value());
  shape_type out_shape = m.codes.shape;
  out_shape.back() = static_cast<std::size_t>(m.view.depth);
  if (o.axis == 0) {
    if (out_shape.size() != 2) {
      throw input_error(fmt::format("{}: --axis 0 needs codes of two axes, these have {}", o.codes,
                                    out_shape.size()));
    }
    std::swap(out_shape[0], out_shape[1]);
  }
  array out = make_array(dtype::f32, out_shape);
  const auto data = out.as<float>().data();
  const auto plain = o.axis == 0 ? mxref::view(data, m.view.depth, m.view.rows)
                                 : mxref::view(data, m.view.rows, m.view.depth);
  const mxref::status s = mxref::dequantize(m.view, plain, o.axis);
  if (!s) throw usage_error(mxref::message(s));
  output_set outputs;
  outputs.add(o.values, std::move(out));
  outputs.commit();
}

void add_common(CLI::App& cmd, block_options& o) {
  cmd.add_option("--format", o.format, "e4m3 e5m2 e3m2 e2m3 e2m1 int8")->required();
  cmd.add_option("--block", o.block, "Elements that share a scale")->capture_default_str();
  cmd.add_option("--scale-format", o.scale_format, "e8m0")->capture_default_str();
  cmd.add_option("--axis", o.axis,
                 "-1: blocks run along rows. 0: down the columns, and the codes of (R, C) are "
                 "stored K-major as (C, R)")
      ->check(CLI::IsMember({-1, 0}))
      ->capture_default_str();
  cmd.add_option("--packing", o.packing, "none (a code a byte) or dense (packed bits)")
      ->capture_default_str();
  cmd.add_option("--scale-layout", o.scale_layout, "linear")->capture_default_str();
}

}  // namespace

void add_quantize(CLI::App& app) {
  auto o = std::make_shared<block_options>();
  CLI::App* cmd = app.add_subcommand(
      "quantize", "Turn float32 or float64 numbers into MX blocks: element codes and scale codes");
  add_common(*cmd, *o);
  cmd->add_option("--scale", o->scale, "Scale rule: floor (OCP MX 6.3)")->capture_default_str();
  cmd->add_option("--rounding", o->rounding, "nearest-even nearest-away toward-zero up down to-odd")
      ->capture_default_str();
  cmd->add_option("--overflow", o->overflow, "saturate nonsaturating saturate-full")
      ->capture_default_str();
  cmd->add_option("--nan", o->nan, "poison finite gfloat-inf")->capture_default_str();
  cmd->add_flag("--strict", o->strict, "Refuse a length that is not a multiple of the block");
  cmd->add_option("--shape", o->shape, "Shape of a raw .bin input, such as 128,256");
  cmd->add_option("--dtype", o->dtype_name, "dtype of a raw .bin input: f32 or f64");
  cmd->add_option("IN", o->values, "Numbers; the last axis is K, all others are rows")->required();
  cmd->add_option("--codes", o->codes, "Output: element codes, uint8")->required();
  cmd->add_option("--scales", o->scales, "Output: scale codes, uint8")->required();
  cmd->callback([o] { quantize(*o); });
}

void add_dequantize(CLI::App& app) {
  auto o = std::make_shared<block_options>();
  CLI::App* cmd =
      app.add_subcommand("dequantize", "Turn MX blocks back into float32 numbers, exactly");
  add_common(*cmd, *o);
  cmd->add_option("--depth", o->depth, "Codes in a row of packed input [all that fit]")
      ->check(CLI::PositiveNumber);
  cmd->add_option("--shape", o->shape, "ROWS,DEPTH of raw .bin inputs");
  cmd->add_option("--codes", o->codes, "Element codes, uint8")->required();
  cmd->add_option("--scales", o->scales, "Scale codes, uint8, (rows, ceil(depth / block))")
      ->required();
  cmd->add_option("OUT", o->values, "Output: float32 numbers")->required();
  cmd->callback([o] { dequantize(*o); });
}

}  // namespace mxtool
