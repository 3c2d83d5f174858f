// SPDX-License-Identifier: Apache-2.0
#include "operands.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <zlib.h>

#include <algorithm>
#include <cstring>

namespace mxtool {

using mxref::index_t;

void add_raw_input(CLI::App& cmd, std::string& shape, std::string& type, const std::string& types) {
  cmd.add_option("--shape", shape, "Shape of a raw .bin input, such as 128,256");
  cmd.add_option("--dtype", type, "dtype of a raw .bin input, such as " + types);
}

raw_options raw_input(const std::string& shape, const std::string& type) {
  raw_options raw;
  if (!shape.empty()) raw.shape = parse_shape(shape);
  if (!type.empty()) raw.type = parse_dtype(type);
  return raw;
}

matrix_shape as_matrix(const shape_type& shape, const std::string& spec) {
  if (shape.empty()) {
    throw input_error(fmt::format("{}: the array is a scalar; it needs at least one axis", spec));
  }
  matrix_shape s{1, static_cast<index_t>(shape.back())};
  for (std::size_t i = 0; i + 1 < shape.size(); ++i) s.rows *= static_cast<index_t>(shape[i]);
  return s;
}

mxref::format_desc find_scale_format(const std::string& text) {
  static constexpr named<mxref::format_desc> table[] = {
      {"e8m0", mxref::E8M0::desc, ""},
      {"e4m3", mxref::UE4M3::desc, ""},
  };
  return find_named<mxref::format_desc>("scale format", text, table);
}

void check_block(int block) {
  if (block < 1) {
    throw usage_error(fmt::format("--block {}: a block has at least 1 element", block));
  }
}

index_t code_file::row_bytes(index_t depth) const {
  return is_packed() ? static_cast<index_t>(layout().row_bytes(static_cast<std::size_t>(depth)))
                     : depth * mxref::container_bytes(format->desc);
}

void code_file::check_type(dtype type) const {
  const dtype want = is_packed() ? dtype::u8 : container(format->desc);
  const bool is_wide = want == dtype::u32;  // f32 and tf32
  const bool accepted = type == want || (want == dtype::u8 && type == dtype::i8) ||
                        (format->desc == mxref::binary16::desc && type == dtype::f16) ||
                        (is_wide && type == dtype::f32);
  if (!accepted) {
    throw input_error(fmt::format("{}: {} holds {} codes and must be {}{}, not {}", spec, option,
                                  format->name, name(want), is_wide ? " or float32" : "",
                                  name(type)));
  }
}

void code_file::accept(std::span<std::byte> codes, index_t first) const {
  if (is_packed()) return;
  if (format->desc == mxref::TF32::desc) {
    for (; !codes.empty(); codes = codes.subspan(4)) {
      std::uint32_t pattern = 0;
      std::memcpy(&pattern, codes.data(), 4);
      pattern >>= 13;
      std::memcpy(codes.data(), &pattern, 4);
    }
  }
  const int bits = format->desc.total_bits();
  if (bits >= 8) return;
  std::byte seen{};
  for (const std::byte code : codes) seen |= code;
  const auto is_beyond = [&](std::byte code) { return (code >> bits) != std::byte{}; };
  if (!is_beyond(seen)) return;
  const auto beyond = std::ranges::find_if(codes, is_beyond);
  throw input_error(
      fmt::format("{}: element {} is {:#x}, but {} codes have {} bits: unpack the codes, one in "
                  "each element, or give another format or a --packing",
                  spec, first + (beyond - codes.begin()), std::to_integer<unsigned>(*beyond),
                  format->name, bits));
}

mxref::operand_view code_file::view(const shape_type& shape, std::optional<index_t> depth) const {
  const matrix_shape matrix = as_matrix(shape, spec);
  mxref::operand_view v;
  v.format = format->desc;
  v.rows = matrix.rows;
  v.depth = matrix.cols;
  v.col_bytes = mxref::container_bytes(format->desc);
  v.row_bytes = matrix.cols * v.col_bytes;
  if (is_packed()) {
    const auto all = layout().depth_of(static_cast<std::size_t>(matrix.cols));
    v.depth = depth.value_or(static_cast<index_t>(all));
    if (row_bytes(v.depth) != matrix.cols) {
      throw input_error(
          fmt::format("{}: rows have {} bytes, but {} packed {} codes take {} bytes: check "
                      "--depth, the packing "
                      "and the other files",
                      spec, matrix.cols, v.depth, format->name, row_bytes(v.depth)));
    }
    v.row_bytes = needs_unpacking() ? v.depth : matrix.cols;
  }
  if (packing.mode == mxref::packing_mode::dense) v.storage = mxref::code_storage::dense;
  return v;
}

raw_options code_file::raw(matrix_shape shape) const {
  const auto rows = static_cast<std::size_t>(shape.rows);
  if (!is_packed()) {
    return {{{rows, static_cast<std::size_t>(shape.cols)}}, container(format->desc)};
  }
  return {{{rows, static_cast<std::size_t>(row_bytes(shape.cols))}}, dtype::u8};
}

namespace {

void load_codes(operand& o, const code_file& file, const raw_options& raw) {
  o.codes = load_array(file.spec, raw);
  file.check_type(o.codes.type);
  o.codes_crc = checksum(o.codes);
  file.accept(o.codes.bytes, 0);
}

}  // namespace

operand load_operand(const engine& e, const operand_spec& spec, int block,
                     mxref::format_desc scale_format, std::optional<matrix_shape> raw_shape,
                     std::optional<index_t> depth) {
  operand o;
  o.format = &find_format(spec.format, false);
  o.source = spec.file;
  const std::string flag = "--" + spec.name;
  const code_file file{spec.file, flag, o.format,
                       find_packing(spec.packing, flag + "-packing", *o.format, block)};
  load_codes(o, file, raw_shape ? file.raw(*raw_shape) : raw_options{});
  o.view = file.view(o.codes.shape, depth);
  o.view.codes = o.codes.bytes.data();
  if (file.needs_unpacking()) {
    const matrix_shape shape{o.view.rows, o.view.depth};
    o.unpacked.resize(static_cast<std::size_t>(shape.rows * shape.cols));
    repack(e, shape, o.codes.bytes, file.layout(), o.unpacked,
           mxref::layout::bytes::codes(o.format->desc.total_bits()), mxref::padding::zero);
    o.view.codes = o.unpacked.data();
  }
  const scale_file scales{
      spec.scales, flag + "-scales",
      find_scale_layout(spec.scale_layout, flag + "-scale-layout", scale_format)};
  if (spec.scales.empty()) return o;
  check_block(block);
  o.view.block = block;
  o.scale_source = spec.scales;
  const scale_shape shape(o.codes.shape, o.view.block_count());
  o.scales = load_array(spec.scales, raw_shape ? scales.raw(shape) : raw_options{});
  scales.check(shape, o.scales->type, o.scales->shape);
  o.view.scale_format = scale_format;
  o.view.scale_row_bytes = o.view.block_count();
  if (scales.is_linear()) {
    o.view.scales = o.scales->as<std::uint8_t>().data();
  } else {
    o.linear_scales = scales.to_linear(shape, o.scales->bytes);
    o.view.scales = o.linear_scales.data();
  }
  return o;
}

operand load_result(const std::string& spec, const std::string& option, const format_entry& format,
                    matrix_shape shape) {
  operand o;
  o.format = &format;
  o.source = spec;
  const code_file file{spec, option, &format};
  load_codes(o, file, file.raw(shape));
  const matrix_shape found = as_matrix(o.codes.shape, spec);
  if (found.rows != shape.rows || found.cols != shape.cols) {
    throw input_error(fmt::format("{}: {} is {} x {}, but the product of A and B is {} x {}", spec,
                                  option, found.rows, found.cols, shape.rows, shape.cols));
  }
  o.view = file.view(o.codes.shape, {});
  o.view.codes = o.codes.bytes.data();
  return o;
}

array result_array(const std::vector<std::uint32_t>& codes, mxref::format_desc format,
                   shape_type shape) {
  const bool is_f32 = format == mxref::binary32_desc;
  array a = make_array(is_f32 ? dtype::f32 : container(format), std::move(shape));
  const std::size_t width = size_of(a.type);
  for (std::size_t i = 0; i < codes.size(); ++i) {
    std::memcpy(a.bytes.data() + i * width, &codes[i], width);  // little-endian: the low bytes
  }
  return a;
}

namespace {

std::uint32_t add_to_crc(std::uint32_t crc, std::span<const std::byte> bytes) {
  if (bytes.empty()) return crc;  // zlib takes the null pointer for a request
  return static_cast<std::uint32_t>(
      ::crc32_z(crc, reinterpret_cast<const Bytef*>(bytes.data()), bytes.size()));
}

}  // namespace

std::uint32_t checksum(const array& a) { return add_to_crc(0, a.bytes); }

std::uint32_t checksum(npy_reader& in) {
  std::uint32_t crc = 0;
  std::vector<std::byte> piece(std::size_t{1} << 22);
  while (const std::size_t got = in.read(piece)) crc = add_to_crc(crc, std::span(piece).first(got));
  return crc;
}

}  // namespace mxtool
