// SPDX-License-Identifier: Apache-2.0
#include "operands.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <zlib.h>

#include <cstring>

namespace mxtool {

namespace {

using mxref::code_storage;
using mxref::index_t;

std::string bits_text(mxref::format_desc f) {
  return fmt::format("{} bit{}", f.total_bits(), f.total_bits() == 1 ? "" : "s");
}

template <class T>
void check_range(const array& a, const std::string& spec, const format_entry& format) {
  const auto codes = a.as<T>();
  const std::uint64_t mask = mxref::low_mask(format.desc.total_bits());
  for (std::size_t i = 0; i < codes.size(); ++i) {
    if ((codes[i] & ~mask) != 0) {
      throw input_error(fmt::format(
          "{}: element {} is {:#x}, but {} codes have {}: unpack the codes, one in each element, "
          "or give another format or --packing dense",
          spec, i, codes[i], format.name, bits_text(format.desc)));
    }
  }
}

}  // namespace

matrix_shape as_matrix(const array& a, const std::string& spec) {
  if (a.shape.empty()) {
    throw input_error(fmt::format("{}: the array is a scalar; it needs at least one axis", spec));
  }
  matrix_shape s{1, static_cast<index_t>(a.shape.back())};
  for (std::size_t i = 0; i + 1 < a.shape.size(); ++i) s.rows *= static_cast<index_t>(a.shape[i]);
  return s;
}

code_storage parse_packing(const std::string& text) {
  static constexpr named<code_storage> table[] = {
      {"none", code_storage::containers, ""},
      {"dense", code_storage::dense, ""},
  };
  return find_named<code_storage>("packing", text, table);
}

void check_scale_options(const std::string& scale_format, const std::string& scale_layout) {
  static constexpr named<int> formats[] = {{"e8m0", 0, ""}};
  static constexpr named<int> layouts[] = {{"linear", 0, ""}};
  find_named<int>("scale format", scale_format, formats);
  find_named<int>("scale layout", scale_layout, layouts);
}

array load_codes(const std::string& spec, const std::string& option, const format_entry& format,
                 code_storage storage, const raw_options& raw) {
  array a = load_array(spec, raw);
  const dtype want = storage == code_storage::dense ? dtype::u8 : container(format.desc);
  const bool is_f32 = format.desc == mxref::binary32_desc;
  const bool is_tf32 = format.desc == mxref::TF32::desc;
  const bool accepted = a.type == want || (want == dtype::u8 && a.type == dtype::i8) ||
                        (format.desc == mxref::binary16::desc && a.type == dtype::f16) ||
                        ((is_f32 || is_tf32) && a.type == dtype::f32);
  if (!accepted) {
    throw input_error(fmt::format("{}: {} holds {} codes and must be {}{}, not {}", spec, option,
                                  format.name, name(want), is_f32 || is_tf32 ? " or float32" : "",
                                  name(a.type)));
  }
  a.type = want;
  if (storage == code_storage::dense) return a;
  if (is_tf32) {
    for (std::uint32_t& code : a.as<std::uint32_t>()) code >>= 13;
  } else if (want == dtype::u8) {
    check_range<std::uint8_t>(a, spec, format);
  }
  return a;
}

operand load_operand(const operand_spec& spec, int block, std::optional<matrix_shape> raw_shape,
                     std::optional<index_t> depth) {
  operand o;
  o.format = &find_format(spec.format, false);
  o.source = spec.file;
  const code_storage storage = parse_packing(spec.packing);
  const int bits = o.format->desc.total_bits();
  if (storage == code_storage::dense && bits > 8) {
    throw usage_error(fmt::format("--{}-packing dense is for codes of at most 8 bits, {} has {}",
                                  spec.name, o.format->name, bits));
  }
  raw_options raw;
  if (raw_shape) {
    const auto rows = static_cast<std::size_t>(raw_shape->rows);
    const auto cols = static_cast<std::size_t>(raw_shape->cols);
    raw.shape = {rows, storage == code_storage::dense ? mxref::packed_size(bits, cols) : cols};
    raw.type = storage == code_storage::dense ? dtype::u8 : container(o.format->desc);
  }
  o.codes = load_codes(spec.file, "--" + spec.name, *o.format, storage, raw);
  const matrix_shape shape = as_matrix(o.codes, spec.file);

  o.view.format = o.format->desc;
  o.view.storage = storage;
  o.view.codes = o.codes.bytes.data();
  o.view.rows = shape.rows;
  o.view.depth = shape.cols;
  o.view.col_bytes = static_cast<index_t>(size_of(o.codes.type));
  o.view.row_bytes = shape.cols * o.view.col_bytes;
  if (storage == code_storage::dense) {
    o.view.depth = shape.cols * 8 / bits;
    if (depth) {
      if (static_cast<index_t>(mxref::packed_size(bits, static_cast<std::size_t>(*depth))) !=
          shape.cols) {
        throw input_error(fmt::format(
            "{}: rows have {} bytes, but {} packed {} codes take {} bytes: check --depth and the "
            "other operand",
            spec.file, shape.cols, *depth, o.format->name,
            mxref::packed_size(bits, static_cast<std::size_t>(*depth))));
      }
      o.view.depth = *depth;
    }
  }
  if (!spec.scales.empty()) {
    attach_scales(o, spec.scales, "--" + spec.name + "-scales", block, raw_shape.has_value());
  }
  return o;
}

void attach_scales(operand& o, const std::string& spec, const std::string& option, int block,
                   bool raw) {
  if (block < 1)
    throw usage_error(fmt::format("--block {}: a block has at least 1 element", block));
  o.view.block = block;
  const index_t blocks = o.view.block_count();
  raw_options options;
  if (raw) {
    options.shape = {static_cast<std::size_t>(o.view.rows), static_cast<std::size_t>(blocks)};
    options.type = dtype::u8;
  }
  o.scale_source = spec;
  o.scales = load_array(spec, options);
  if (o.scales->type != dtype::u8) {
    throw input_error(fmt::format("{}: {} holds E8M0 scale codes and must be uint8, not {}", spec,
                                  option, name(o.scales->type)));
  }
  const matrix_shape shape = as_matrix(*o.scales, spec);
  if (shape.rows != o.view.rows || shape.cols != blocks) {
    throw input_error(fmt::format(
        "{}: {} is {} x {}, but codes of {} x {} with --block {} need {} x {} scales", spec, option,
        shape.rows, shape.cols, o.view.rows, o.view.depth, block, o.view.rows, blocks));
  }
  o.view.scale_format = mxref::E8M0::desc;
  o.view.scales = o.scales->as<std::uint8_t>().data();
  o.view.scale_row_bytes = blocks;
}

operand load_result(const std::string& spec, const std::string& option, const format_entry& format,
                    matrix_shape shape) {
  operand o;
  o.format = &format;
  o.source = spec;
  raw_options raw;
  raw.shape = {static_cast<std::size_t>(shape.rows), static_cast<std::size_t>(shape.cols)};
  raw.type = container(format.desc);
  o.codes = load_codes(spec, option, format, code_storage::containers, raw);
  const matrix_shape found = as_matrix(o.codes, spec);
  if (found.rows != shape.rows || found.cols != shape.cols) {
    throw input_error(fmt::format("{}: {} is {} x {}, but the product of A and B is {} x {}", spec,
                                  option, found.rows, found.cols, shape.rows, shape.cols));
  }
  o.view.format = format.desc;
  o.view.codes = o.codes.bytes.data();
  o.view.rows = shape.rows;
  o.view.depth = shape.cols;
  o.view.col_bytes = static_cast<index_t>(size_of(o.codes.type));
  o.view.row_bytes = shape.cols * o.view.col_bytes;
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

std::uint32_t checksum(const array& a) {
  uLong crc = crc32(0, nullptr, 0);
  std::size_t done = 0;
  while (done < a.bytes.size()) {
    const std::size_t piece = std::min<std::size_t>(a.bytes.size() - done, 1U << 30);
    crc =
        crc32(crc, reinterpret_cast<const Bytef*>(a.bytes.data() + done), static_cast<uInt>(piece));
    done += piece;
  }
  return static_cast<std::uint32_t>(crc);
}

}  // namespace mxtool
