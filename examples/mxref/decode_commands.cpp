// SPDX-License-Identifier: Apache-2.0
// decode and dequantize: codes, without and with shared scales, to float32.
#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <string>

#include "block_options.hpp"
#include "commands.hpp"
#include "mxref/simd/convert.hpp"
#include "progress.hpp"

namespace mxtool {

namespace {

using mxref::index_t;
namespace simd = mxref::simd;

struct decode_options {
  std::string format;
  std::string packing = "none";
  int block = 32;
  long depth = 0;
  std::string shape;
  std::string dtype_name;
  std::string in;
  std::string out;
  engine_options engine;
};

struct dequantize_options {
  block_options block;
  long depth = 0;
};

std::optional<index_t> depth_of(long option) {
  return option > 0 ? std::optional<index_t>(option) : std::nullopt;
}

/// Codes on their way to numbers. `whole` describes the operand, without its data.
struct decode_job {
  const code_file& file;
  npy_reader& codes;
  scale_reader* scales;  // null where whole is unscaled
  mxref::operand_view whole;
  float tensor_scale = 1.0F;

  /// Of a chunk in memory.
  index_t row_bytes(index_t cols) const {
    return file.needs_unpacking() ? cols : file.row_bytes(cols);
  }

  index_t blocks(index_t cols) const {
    return whole.scaled() ? (cols + whole.block - 1) / whole.block : 0;
  }

  index_t unit() const { return cut_unit(std::max(1, whole.block), file.cut()); }

  /// Codes of a chunk as the file has them become what the library takes.
  void unpack(const engine& e, matrix_shape chunk, std::vector<std::byte>& bytes) const {
    if (!file.needs_unpacking()) return;
    std::vector<std::byte> unpacked(static_cast<std::size_t>(chunk.rows * chunk.cols));
    repack(e, chunk, bytes, file.layout(), unpacked,
           mxref::layout::bytes::codes(whole.format.total_bits()), mxref::padding::zero);
    bytes = std::move(unpacked);
  }

  /// The operand of a chunk in memory.
  mxref::operand_view view(index_t rows, index_t cols, const std::vector<std::byte>& code_bytes,
                           const std::vector<std::uint8_t>& scale_bytes) const {
    mxref::operand_view v = whole;
    v.rows = rows;
    v.depth = cols;
    v.row_bytes = row_bytes(cols);
    v.codes = code_bytes.data();
    v.scales = scale_bytes.data();
    v.scale_row_bytes = blocks(cols);
    return v;
  }
};

/// A part of an operand that starts at a multiple of the unit.
mxref::operand_view part_of(mxref::operand_view v, const decode_job& job, const rectangle& part) {
  v.codes =
      static_cast<const std::byte*>(v.codes) + part.row * v.row_bytes + job.row_bytes(part.col);
  if (v.scaled()) v.scales += part.row * v.scale_row_bytes + part.col / v.block;
  v.rows = part.rows;
  v.depth = part.cols;
  return v;
}

/// A whole operand to numbers, row by row.
mxref::status decode_chunk(const engine& e, const decode_job& job, const mxref::operand_view& v,
                           float* numbers) {
  return e.for_parts({0, 0, v.rows, v.depth}, job.unit(), [&](const rectangle& part) {
    const auto to =
        mxref::view(numbers + part.row * v.depth + part.col, part.rows, part.cols, v.depth);
    const mxref::status s =
        simd::dequantize_with(e.kernels(), part_of(v, job, part), to, -1, simd::serial{});
    if (!s || job.tensor_scale == 1.0F) return s;
    // Element times block scale is exact here, so this is the one rounding.
    for (index_t row = 0; row < part.rows; ++row) {
      for (index_t k = 0; k < part.cols; ++k) to(row, k) *= job.tensor_scale;
    }
    return s;
  });
}

/// Rows x cols numbers to cols x rows, a cache line at a time: strides are often powers of two.
void transpose(const engine& e, matrix_shape shape, const float* in, float* out) {
  constexpr index_t line = 16;
  e.all_threads().run((shape.rows + line - 1) / line, [&](index_t i, index_t) {
    const index_t end = std::min(shape.rows, (i + 1) * line);
    for (index_t col = 0; col < shape.cols; ++col) {
      for (index_t row = i * line; row < end; ++row) {
        out[col * shape.rows + row] = in[row * shape.cols + col];
      }
    }
  });
}

void decode_rows(const engine& e, const decode_job& job, output_streams& out, const char* what) {
  const matrix_pieces chunks({job.whole.rows, job.whole.depth}, chunk_elements, job.unit());
  std::vector<std::byte> codes;
  std::vector<std::uint8_t> scales;
  std::vector<float> numbers;
  index_t codes_read = 0;
  progress bar(what, static_cast<double>(job.codes.remaining()), "B");
  for (index_t i = 0; i < chunks.count(); ++i) {
    const rectangle chunk = chunks[i];
    codes.resize(static_cast<std::size_t>(chunk.rows * job.file.row_bytes(chunk.cols)));
    job.codes.read(codes);
    const auto bytes_read = static_cast<double>(codes.size());
    job.file.accept(codes, codes_read);
    job.unpack(e, {chunk.rows, chunk.cols}, codes);
    codes_read += chunk.rows * chunk.cols;
    scales.resize(static_cast<std::size_t>(chunk.rows * job.blocks(chunk.cols)));
    if (job.scales != nullptr) job.scales->read(scales);
    numbers.resize(static_cast<std::size_t>(chunk.rows * chunk.cols));
    const mxref::status s =
        decode_chunk(e, job, job.view(chunk.rows, chunk.cols, codes, scales), numbers.data());
    if (!s) throw usage_error(mxref::message(s));
    out.write(0, std::as_bytes(std::span(numbers)));
    bar.add(bytes_read);
  }
}

/// Blocks down the columns: a band of rows of the result is a band of columns of the codes.
void decode_columns(const engine& e, const decode_job& job, output_streams& out) {
  const mxref::operand_view& whole = job.whole;
  constexpr index_t band_elements = 2 * chunk_elements;  // the wider, the fewer reads
  const index_t fits = band_elements / std::max<index_t>(1, whole.rows);
  const index_t unit = job.unit();
  const index_t width = std::max(unit, fits / unit * unit);
  std::vector<std::byte> codes;
  std::vector<std::uint8_t> scales;
  std::vector<float> columns;
  std::vector<float> numbers;
  progress bar("dequantize", static_cast<double>(whole.depth), "rows");
  for (index_t k = 0; k < whole.depth; k += width) {
    const index_t count = std::min(width, whole.depth - k);
    const index_t code_bytes = job.file.row_bytes(count);
    const index_t blocks = job.blocks(count);
    codes.resize(static_cast<std::size_t>(whole.rows * code_bytes));
    scales.resize(static_cast<std::size_t>(whole.rows * blocks));
    columns.resize(static_cast<std::size_t>(whole.rows * count));
    numbers.resize(columns.size());
    for (index_t row = 0; row < whole.rows; ++row) {
      const std::span to = std::span(codes).subspan(static_cast<std::size_t>(row * code_bytes),
                                                    static_cast<std::size_t>(code_bytes));
      const index_t at = row * job.file.row_bytes(whole.depth) + job.file.row_bytes(k);
      job.codes.read_at(static_cast<std::size_t>(at), to);
      job.file.accept(to, row * whole.depth + k);
      job.scales->read_at(static_cast<std::size_t>(row * whole.block_count() + k / whole.block),
                          std::span(scales).subspan(static_cast<std::size_t>(row * blocks),
                                                    static_cast<std::size_t>(blocks)));
    }
    job.unpack(e, {whole.rows, count}, codes);
    const mxref::status s =
        decode_chunk(e, job, job.view(whole.rows, count, codes, scales), columns.data());
    if (!s) throw usage_error(mxref::message(s));
    transpose(e, {whole.rows, count}, columns.data(), numbers.data());
    out.write(0, std::as_bytes(std::span(numbers)));
    bar.add(static_cast<double>(count));
  }
}

void decode(const decode_options& o) {
  const format_entry& format = find_format(o.format, true);
  check_block(o.block);
  const code_file file{o.in, "the input", &format,
                       find_packing(o.packing, "--packing", format, o.block)};
  const engine e(o.engine);
  check_writable(o.out);
  npy_reader in(o.in, raw_input(o.shape, o.dtype_name));
  file.check_type(in.type());
  shape_type shape = in.shape();
  const decode_job job{file, in, nullptr, file.view(shape, depth_of(o.depth))};
  shape.back() = static_cast<std::size_t>(job.whole.depth);
  const output_plan plan{o.out, dtype::f32, shape};
  output_streams out({&plan, 1});
  decode_rows(e, job, out, "decode");
  out.commit();
}

/// The one number of a --tensor-scale file.
float read_tensor_scale(const std::string& spec) {
  npy_reader in(spec, {});
  if (in.type() != dtype::f32 || in.remaining() != sizeof(float)) {
    throw input_error(fmt::format("{}: a tensor scale is one float32 number", spec));
  }
  float scale = 0;
  in.read(std::as_writable_bytes(std::span(&scale, 1)));
  return scale;
}

void dequantize(dequantize_options o) {
  expand_short_names(o.block);
  const block_options& b = o.block;
  const format_entry& format = block_format(b);
  const code_file file{b.codes, "--codes", &format, block_packing(b, format)};
  const scale_file scale_input{b.scales, "--scales", block_scale_layout(b)};
  const engine e(b.engine);
  check_writable(b.values);
  if (b.codes == "-" && b.scales == "-") {
    throw usage_error("--codes and --scales cannot both be standard input; give one as a file");
  }
  std::optional<index_t> depth = depth_of(o.depth);
  raw_options raw;
  if (!b.shape.empty()) {
    const shape_type shape = parse_shape(b.shape);
    if (shape.size() != 2) throw usage_error("--shape of dequantize is ROWS,DEPTH of the codes");
    const matrix_shape matrix = as_matrix(shape, "--shape");
    if (!depth) depth = matrix.cols;
    raw = file.raw(matrix);
  }
  npy_reader codes(b.codes, raw);
  file.check_type(codes.type());
  mxref::operand_view whole = file.view(codes.shape(), depth);
  whole.block = b.block;
  whole.scale_format = find_scale_format(b.scale_format);
  const scale_shape scale_extents(codes.shape(), whole.block_count());
  npy_reader scale_array(b.scales,
                         b.shape.empty() ? raw_options{} : scale_input.raw(scale_extents));
  scale_input.check(scale_extents, scale_array.type(), scale_array.shape());
  scale_reader scales(scale_array, scale_input, scale_extents);

  shape_type shape = codes.shape();
  shape.back() = static_cast<std::size_t>(whole.depth);
  if (b.axis == 0) {
    require_two_axes(shape, b.codes);
    std::swap(shape[0], shape[1]);
  }
  const output_plan plan{b.values, dtype::f32, shape};
  output_streams out({&plan, 1});
  decode_job job{file, codes, &scales, whole};
  if (!b.tensor_scale.empty()) job.tensor_scale = read_tensor_scale(b.tensor_scale);
  if (b.axis == 0) {
    decode_columns(e, job, out);
  } else {
    decode_rows(e, job, out, "dequantize");
  }
  out.commit();
}

}  // namespace

void add_decode(CLI::App& app) {
  auto o = std::make_shared<decode_options>();
  CLI::App* cmd = app.add_subcommand("decode", "Turn codes of a format into float32 numbers");
  cmd->add_option("--format", o->format, "Element or scale format (see mxref info --formats)")
      ->required();
  add_packing_option(*cmd, "--packing", o->packing);
  cmd->add_option("--block", o->block, "Codes of a block of ggml-split-half")
      ->capture_default_str();
  cmd->add_option("--depth", o->depth, "Codes in a row of packed input [all that fit]")
      ->check(CLI::PositiveNumber);
  add_raw_input(*cmd, o->shape, o->dtype_name, "u8");
  add_engine_options(*cmd, o->engine);
  cmd->add_option("IN", o->in, "Codes")->required();
  cmd->add_option("OUT", o->out, "Numbers, float32; NaN is the quiet NaN 7fc00000")->required();
  cmd->footer(streaming_footer);
  cmd->callback([o] { decode(*o); });
}

void add_dequantize(CLI::App& app) {
  auto o = std::make_shared<dequantize_options>();
  CLI::App* cmd =
      app.add_subcommand("dequantize", "Turn MX blocks back into float32 numbers, exactly");
  add_block_options(*cmd, o->block);
  cmd->add_option("--depth", o->depth, "Codes in a row of packed input [all that fit]")
      ->check(CLI::PositiveNumber);
  cmd->add_option("--shape", o->block.shape, "ROWS,DEPTH of raw .bin inputs");
  cmd->add_option("--codes", o->block.codes, "Element codes, uint8")->required();
  cmd->add_option("--scales", o->block.scales,
                  "Scale codes, uint8, (rows, ceil(depth / block)), or any shape of "
                  "another --scale-layout's bytes")
      ->required();
  cmd->add_option("OUT", o->block.values, "Output: float32 numbers")->required();
  cmd->add_option("--tensor-scale", o->block.tensor_scale,
                  "The scale of the whole array, as quantize wrote it (NVFP4 with two levels)");
  cmd->callback([o] { dequantize(*o); });
}

}  // namespace mxtool
