// SPDX-License-Identifier: Apache-2.0
// encode and decode: elements without a shared scale.
#include <fmt/format.h>

#include <memory>
#include <string>

#include "commands.hpp"
#include "operands.hpp"

namespace mxtool {

namespace {

struct element_options {
  std::string format;
  std::string rounding = "nearest-even";
  std::string overflow = "saturate";
  std::string negative = "to-nan";
  std::string packing = "none";
  long depth = 0;
  std::string shape;
  std::string dtype_name;
  std::string in;
  std::string out;
};

void add_raw(CLI::App& cmd, element_options& o) {
  cmd.add_option("--shape", o.shape, "Shape of a raw .bin input, such as 128,256");
  cmd.add_option("--dtype", o.dtype_name, "dtype of a raw .bin input, such as f32");
}

raw_options raw_of(const element_options& o) {
  raw_options raw;
  if (!o.shape.empty()) raw.shape = parse_shape(o.shape);
  if (!o.dtype_name.empty()) raw.type = parse_dtype(o.dtype_name);
  return raw;
}

template <class T, class Code>
void encode_all(const array& in, array& out, mxref::format_desc f, const element_options& o) {
  const mxref::rounding::dynamic r{find_named("rounding", o.rounding, roundings())};
  const mxref::overflow::dynamic ov{find_named("overflow policy", o.overflow, overflows())};
  const mxref::negative::dynamic n{
      find_named("policy for negative numbers", o.negative, negative_policies())};
  const auto x = in.as<T>();
  const auto codes = out.as<Code>();
  for (std::size_t i = 0; i < x.size(); ++i) {
    codes[i] = static_cast<Code>(mxref::to_code(f, mxref::to_number(x[i]), r, ov, n));
  }
}

template <class T>
void encode_as(const array& in, array& out, mxref::format_desc f, const element_options& o) {
  switch (out.type) {
    case dtype::u8:
      return encode_all<T, std::uint8_t>(in, out, f, o);
    case dtype::u16:
      return encode_all<T, std::uint16_t>(in, out, f, o);
    default:
      return encode_all<T, std::uint32_t>(in, out, f, o);
  }
}

void encode(const element_options& o) {
  const format_entry& format = find_format(o.format, true);
  check_writable(o.out);
  const array in = load_array(o.in, raw_of(o));
  array out = make_array(container(format.desc), in.shape);
  if (in.type == dtype::f32) {
    encode_as<float>(in, out, format.desc, o);
  } else if (in.type == dtype::f64) {
    encode_as<double>(in, out, format.desc, o);
  } else {
    throw input_error(
        fmt::format("{}: encode takes float32 or float64 numbers, not {}", o.in, name(in.type)));
  }
  output_set outputs;
  outputs.add(o.out, std::move(out));
  outputs.commit();
}

void decode(const element_options& o) {
  const format_entry& format = find_format(o.format, true);
  const mxref::code_storage storage = parse_packing(o.packing);
  const int bits = format.desc.total_bits();
  check_writable(o.out);
  if (storage == mxref::code_storage::dense && bits > 8) {
    throw usage_error(fmt::format("--packing dense is for codes of at most 8 bits, {} has {}",
                                  format.name, bits));
  }
  const array in = load_codes(o.in, "the input", format, storage, raw_of(o));
  mxref::operand_view v;
  const matrix_shape shape = as_matrix(in, o.in);
  v.format = format.desc;
  v.storage = storage;
  v.codes = in.bytes.data();
  v.rows = shape.rows;
  v.depth = shape.cols;
  v.col_bytes = static_cast<mxref::index_t>(size_of(in.type));
  v.row_bytes = shape.cols * v.col_bytes;
  shape_type out_shape = in.shape;
  if (storage == mxref::code_storage::dense) {
    v.depth = o.depth > 0 ? o.depth : shape.cols * 8 / bits;
    if (static_cast<mxref::index_t>(mxref::packed_size(bits, static_cast<std::size_t>(v.depth))) !=
        shape.cols) {
      throw input_error(fmt::format("{}: rows have {} bytes, which do not hold exactly --depth {}",
                                    o.in, shape.cols, v.depth));
    }
    out_shape.back() = static_cast<std::size_t>(v.depth);
  }
  array out = make_array(dtype::f32, out_shape);
  const mxref::status s =
      mxref::dequantize(v, mxref::view(out.as<float>().data(), v.rows, v.depth));
  if (!s) throw usage_error(mxref::message(s));
  output_set outputs;
  outputs.add(o.out, std::move(out));
  outputs.commit();
}

}  // namespace

void add_encode(CLI::App& app) {
  auto o = std::make_shared<element_options>();
  CLI::App* cmd = app.add_subcommand(
      "encode", "Round float32 or float64 numbers to codes of a format, without a block scale");
  cmd->add_option("--format", o->format, "Element or scale format (see mxref info --formats)")
      ->required();
  cmd->add_option("--rounding", o->rounding, "nearest-even nearest-away toward-zero up down to-odd")
      ->capture_default_str();
  cmd->add_option("--overflow", o->overflow, "saturate nonsaturating saturate-full")
      ->capture_default_str();
  cmd->add_option("--negative", o->negative, "to-nan or abs, for e8m0 and ue4m3")
      ->capture_default_str();
  add_raw(*cmd, *o);
  cmd->add_option("IN", o->in, "Numbers, float32 or float64")->required();
  cmd->add_option("OUT", o->out, "Codes: uint8, uint16 (bf16, f16) or uint32 (tf32, f32)")
      ->required();
  cmd->callback([o] { encode(*o); });
}

void add_decode(CLI::App& app) {
  auto o = std::make_shared<element_options>();
  CLI::App* cmd = app.add_subcommand("decode", "Turn codes of a format into float32 numbers");
  cmd->add_option("--format", o->format, "Element or scale format (see mxref info --formats)")
      ->required();
  cmd->add_option("--packing", o->packing, "none (a code a byte) or dense (packed bits)")
      ->capture_default_str();
  cmd->add_option("--depth", o->depth, "Codes in a row of packed input [all that fit]")
      ->check(CLI::PositiveNumber);
  add_raw(*cmd, *o);
  cmd->add_option("IN", o->in, "Codes")->required();
  cmd->add_option("OUT", o->out, "Numbers, float32; NaN is the quiet NaN 7fc00000")->required();
  cmd->callback([o] { decode(*o); });
}

}  // namespace mxtool
