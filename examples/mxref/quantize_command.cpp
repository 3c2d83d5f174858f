// SPDX-License-Identifier: Apache-2.0
// quantize: numbers to blocks with shared scales.
#include <fmt/format.h>

#include <memory>
#include <optional>
#include <string>

#include "block_options.hpp"
#include "commands.hpp"
#include "mxref/simd/convert.hpp"
#include "progress.hpp"
#include "transposed_reader.hpp"

namespace mxtool {

namespace {

using mxref::index_t;
namespace simd = mxref::simd;

using dynamic_quantizer = mxref::quantizer<mxref::scale::dynamic, mxref::rounding::dynamic,
                                           mxref::overflow::dynamic, mxref::nan::dynamic>;

struct quantize_options {
  block_options block;
  std::string scale = "floor";
  std::string rounding = "nearest-even";
  std::string overflow = "saturate";
  std::string nan = "poison";
  bool strict = false;
  std::string dtype_name;
};

dynamic_quantizer quantizer_of(const quantize_options& o) {
  return {{find_named("scale rule", o.scale, scale_rules())},
          {find_named("rounding", o.rounding, roundings())},
          {find_named("overflow policy", o.overflow, overflows())},
          {find_named("NaN policy", o.nan, nan_policies())}};
}

/// The numbers of quantize, K-major, and what becomes of them.
struct quantize_job {
  const format_entry& format;
  code_file codes;
  int block;
  dynamic_quantizer q;
  matrix_shape shape;
  const std::string& source;
  mxref::padding fill;

  index_t blocks(index_t cols) const { return (cols + block - 1) / block; }
};

/// `read` fills a span with the next numbers.
template <class T, class Read>
void quantize_stream(const engine& e, const quantize_job& job, Read read, output_streams& out,
                     scale_writer& scales_out) {
  const index_t unit = cut_unit(job.block, job.codes.cut());
  const matrix_pieces chunks(job.shape, chunk_elements, unit);
  std::vector<T> numbers;
  std::vector<std::uint8_t> codes;
  std::vector<std::byte> packed;
  std::vector<std::uint8_t> scales;
  const auto size = static_cast<double>(job.shape.rows) * static_cast<double>(job.shape.cols);
  progress bar("quantize", size * sizeof(T), "B");
  for (index_t i = 0; i < chunks.count(); ++i) {
    const rectangle chunk = chunks[i];
    const index_t blocks = job.blocks(chunk.cols);
    numbers.resize(static_cast<std::size_t>(chunk.rows * chunk.cols));
    codes.resize(numbers.size());
    scales.resize(static_cast<std::size_t>(chunk.rows * blocks));
    read(std::as_writable_bytes(std::span(numbers)));
    const mxref::status s = e.for_parts(chunk, unit, [&](const rectangle& part) {
      const index_t first = part.row * chunk.cols + part.col;
      const auto in = mxref::view(numbers.data() + first, part.rows, part.cols, chunk.cols);
      const mxref::quantized_view to{job.format.desc,
                                     job.block,
                                     codes.data() + first,
                                     chunk.cols,
                                     scales.data() + part.row * blocks + part.col / job.block,
                                     blocks};
      return simd::quantize_with(e.kernels(), in, to, job.q, {}, simd::serial{});
    });
    if (!s) throw input_error(fmt::format("{}: {}", job.source, mxref::message(s)));
    std::span<const std::byte> stored = std::as_bytes(std::span(codes));
    if (job.codes.is_packed()) {
      packed.resize(static_cast<std::size_t>(chunk.rows * job.codes.row_bytes(chunk.cols)));
      repack(e, {chunk.rows, chunk.cols}, stored,
             mxref::layout::bytes::codes(job.format.desc.total_bits()), packed, job.codes.layout(),
             job.fill);
      stored = packed;
    }
    out.write(0, stored);
    scales_out.write(scales);
    bar.add(static_cast<double>(numbers.size() * sizeof(T)));
  }
  scales_out.finish();
}

void quantize(const quantize_options& o) {
  const block_options& b = o.block;
  const format_entry& format = block_format(b);
  const code_file codes{b.codes, "--codes", &format, block_packing(b, format)};
  const scale_file scales{b.scales, "--scales", block_scale_layout(b)};
  const dynamic_quantizer q = quantizer_of(o);
  const engine e(b.engine);
  const std::string outputs_wanted[] = {b.codes, b.scales};
  check_writable(outputs_wanted);
  npy_reader in(b.values, raw_input(b.shape, o.dtype_name));
  if (in.type() != dtype::f32 && in.type() != dtype::f64) {
    throw input_error(fmt::format("{}: quantize takes float32 or float64 numbers, not {}", b.values,
                                  name(in.type())));
  }
  shape_type shape = in.shape();
  std::optional<transposed_reader> transposed;
  if (b.axis == 0) {
    require_two_axes(shape, b.values);
    std::swap(shape[0], shape[1]);
    transposed.emplace(in);
  }
  const quantize_job job{
      format, codes, b.block, q, as_matrix(shape, b.values), b.values, padding_of(b.poison)};
  if (o.strict && job.shape.cols % b.block != 0) {
    throw input_error(
        fmt::format("{}: {}", b.values, mxref::message({mxref::errc::partial_block})));
  }
  shape_type code_shape = shape;
  code_shape.back() = static_cast<std::size_t>(codes.row_bytes(job.shape.cols));
  const scale_shape scale_extents(shape, job.blocks(job.shape.cols));
  const output_plan plans[] = {{b.codes, dtype::u8, code_shape}, scales.plan(scale_extents)};
  output_streams out(plans);
  scale_writer scales_out(out, 1, scales, scale_extents, job.fill);
  const auto read = [&](std::span<std::byte> numbers) {
    if (transposed) {
      transposed->read(numbers);
    } else {
      in.read(numbers);
    }
  };
  if (in.type() == dtype::f32) {
    quantize_stream<float>(e, job, read, out, scales_out);
  } else {
    quantize_stream<double>(e, job, read, out, scales_out);
  }
  out.commit();
}

}  // namespace

void add_quantize(CLI::App& app) {
  auto o = std::make_shared<quantize_options>();
  CLI::App* cmd = app.add_subcommand(
      "quantize", "Turn float32 or float64 numbers into MX blocks: element codes and scale codes");
  add_block_options(*cmd, o->block);
  cmd->add_option("--scale", o->scale, "Scale rule: floor (OCP MX 6.3) ceil even rceil")
      ->capture_default_str();
  cmd->add_option("--rounding", o->rounding, "nearest-even nearest-away toward-zero up down to-odd")
      ->capture_default_str();
  cmd->add_option("--overflow", o->overflow, "saturate nonsaturating saturate-full")
      ->capture_default_str();
  cmd->add_option("--nan", o->nan, "poison finite gfloat-inf")->capture_default_str();
  add_poison_flag(*cmd, o->block.poison);
  cmd->add_flag("--strict", o->strict, "Refuse a length that is not a multiple of the block");
  add_raw_input(*cmd, o->block.shape, o->dtype_name, "f32 or f64");
  cmd->add_option("IN", o->block.values, "Numbers; the last axis is K, all others are rows")
      ->required();
  cmd->add_option("--codes", o->block.codes, "Output: element codes, uint8")->required();
  cmd->add_option("--scales", o->block.scales,
                  "Output: scale codes, uint8; may be another NAME of the same FILE.npz")
      ->required();
  cmd->callback([o] { quantize(*o); });
}

}  // namespace mxtool
