// SPDX-License-Identifier: Apache-2.0
// quantize: numbers to blocks with shared scales.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <optional>
#include <string>

#include "block_options.hpp"
#include "commands.hpp"
#include "mxref/simd/convert.hpp"
#include "policy_options.hpp"
#include "progress.hpp"
#include "rules.hpp"
#include "transposed_reader.hpp"

namespace mxtool {

namespace {

using mxref::index_t;
namespace simd = mxref::simd;

struct quantize_options {
  block_options block;
  policy_options policy;
  std::optional<std::string> scale;
  std::optional<std::string> nan;
  bool strict = false;
  std::string dtype_name;
};

/// Calls f with the quantizer that the options ask for. amax: of the tensor, where its scale is
/// wanted.
template <class F>
void with_quantizer(const quantize_options& o, std::optional<float> amax, F&& f) {
  namespace scale = mxref::scale;
  mxref::preset_desc p = chosen_preset(o.policy);
  const mxref::rounding::dynamic rounding = chosen_rounding(o.policy, p);
  if (o.nan) p.on_nan = find_named("NaN policy", *o.nan, nan_policies());
  const mxref::overflow::dynamic overflow{p.overflow};
  const mxref::nan::dynamic on_nan{p.on_nan};
  const mxref::format_desc scale_format = find_scale_format(o.block.scale_format);
  const bool is_standard = p.elements == mxref::element_convention{};
  if (scale_format == mxref::E8M0::desc) {
    if (o.scale) p.scale = find_rule(*o.scale, scale_format).rule;
    const scale::dynamic rule{p.scale};
    if (is_standard) {
      return f(mxref::quantizer<scale::dynamic, mxref::rounding::dynamic, mxref::overflow::dynamic,
                                mxref::nan::dynamic>{rule, rounding, overflow, on_nan});
    }
    return f(mxref::quantizer<scale::dynamic, mxref::rounding::dynamic, mxref::overflow::dynamic,
                              mxref::nan::dynamic, mxref::element_convention>{
        rule, rounding, overflow, on_nan, p.elements});
  }
  const auto nvfp4 = [&]<class Rule>(const Rule& rule) {
    f(mxref::quantizer<Rule, mxref::rounding::dynamic, mxref::overflow::dynamic,
                       mxref::nan::dynamic, mxref::element_convention>{rule, rounding, overflow,
                                                                       on_nan, p.elements});
  };
  const std::string_view name = find_rule(o.scale.value_or("nvfp4-torchao"), scale_format).name;
  if (name == "nvfp4-torchao") {
    nvfp4(scale::nvfp4_torchao{amax ? scale::nvfp4_torchao::tensor_scale_of(*amax) : 1.0F});
  } else if (name == "nvfp4-te") {
    nvfp4(scale::nvfp4_te{amax ? scale::nvfp4_te::encode_scale_of(*amax) : 1.0F});
  } else if (name == "nvfp4-four-over-six") {
    if (!amax) throw usage_error("--scale nvfp4-four-over-six needs --tensor-scale OUT");
    nvfp4(scale::nvfp4_four_over_six::of(*amax, 448.0F, scale::block_error::absolute));
  } else {
    if (amax) throw usage_error("--scale nvfp4-ggml has one level: no --tensor-scale");
    nvfp4(scale::nvfp4_ggml{});
  }
}

/// What the tensor is multiplied by when it is decoded; 1 for rules with one level.
template <class... Policies>
float tensor_scale_of(const mxref::quantizer<Policies...>& q) {
  if constexpr (requires { q.scale.encode_scale; }) {
    return q.scale.tensor_scale();
  } else if constexpr (requires { q.scale.tensor_scale; }) {
    return q.scale.tensor_scale;
  } else {
    return 1.0F;
  }
}

/// The largest finite magnitude of an array, which is read for it.
template <class T>
float amax_of(npy_reader& in) {
  std::vector<T> numbers;
  float amax = 0;
  progress bar("reading amax", static_cast<double>(in.remaining()), "B");
  while (in.remaining() != 0) {
    const std::size_t left = in.remaining() / sizeof(T);
    numbers.resize(std::min<std::size_t>(left, static_cast<std::size_t>(chunk_elements)));
    in.read(std::as_writable_bytes(std::span(numbers)));
    for (const T x : numbers) {
      const float magnitude = std::fabs(static_cast<float>(x));
      if (magnitude <= std::numeric_limits<float>::max()) amax = std::max(amax, magnitude);
    }
    bar.add(static_cast<double>(numbers.size() * sizeof(T)));
  }
  return amax;
}

std::optional<float> wanted_amax(const quantize_options& o) {
  const block_options& b = o.block;
  if (b.tensor_scale.empty()) return {};
  if (find_scale_format(b.scale_format) == mxref::E8M0::desc) {
    throw usage_error("--tensor-scale goes with --scale-format e4m3");
  }
  if (b.values == "-") {
    throw usage_error("--tensor-scale reads IN twice: give it as a file, not as standard input");
  }
  npy_reader in(b.values, raw_input(b.shape, o.dtype_name));
  if (in.type() == dtype::f64) return amax_of<double>(in);
  if (in.type() == dtype::f32) return amax_of<float>(in);
  return 0.0F;  // refused below
}

/// The numbers of quantize, K-major, and what becomes of them.
template <class Quantizer>
struct quantize_job {
  const format_entry& format;
  code_file codes;
  int block;
  Quantizer q;
  matrix_shape shape;
  bool down;  // blocks run down the columns of the source
  const std::string& source;
  mxref::padding fill;

  index_t blocks(index_t cols) const { return (cols + block - 1) / block; }

  /// Where the numbers of a part stand in the source.
  mxref::source_order order_of(index_t row, index_t col) const {
    const auto cols = static_cast<std::uint64_t>(down ? shape.rows : shape.cols);
    const mxref::source_order whole =
        down ? mxref::source_order{0, 1, cols} : mxref::source_order{0, cols, 1};
    return {whole.at(row, col).first, whole.row_step, whole.step};
  }
};

/// `read` fills a span with the next numbers.
template <class T, class Quantizer, class Read>
void quantize_stream(const engine& e, const quantize_job<Quantizer>& job, Read read,
                     output_streams& out, scale_writer& scales_out) {
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
      mxref::quantized_view to{job.format.desc,
                               job.block,
                               codes.data() + first,
                               chunk.cols,
                               scales.data() + part.row * blocks + part.col / job.block,
                               blocks};
      to.scale_format = Quantizer::scale_type::desc;
      const mxref::source_order order = job.order_of(chunk.row + part.row, chunk.col + part.col);
      return simd::quantize_with(e.kernels(), in, to, job.q, {-1, false, &order}, simd::serial{});
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

/// With the quantizer chosen.
template <class Quantizer>
void quantize_as(const quantize_options& o, const format_entry& format, const Quantizer& q) {
  const block_options& b = o.block;
  const code_file codes{b.codes, "--codes", &format, block_packing(b, format)};
  const scale_file scales{b.scales, "--scales", block_scale_layout(b)};
  const engine e(b.engine);
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
  const quantize_job<Quantizer> job{format,
                                    codes,
                                    b.block,
                                    q,
                                    as_matrix(shape, b.values),
                                    b.axis == 0,
                                    b.values,
                                    padding_of(b.poison)};
  if (o.strict && job.shape.cols % b.block != 0) {
    throw input_error(
        fmt::format("{}: {}", b.values, mxref::message({mxref::errc::partial_block})));
  }
  shape_type code_shape = shape;
  code_shape.back() = static_cast<std::size_t>(codes.row_bytes(job.shape.cols));
  const scale_shape scale_extents(shape, job.blocks(job.shape.cols));
  std::vector<output_plan> plans{{b.codes, dtype::u8, code_shape}, scales.plan(scale_extents)};
  if (!b.tensor_scale.empty()) plans.push_back({b.tensor_scale, dtype::f32, {1}});
  output_streams out(plans);
  scale_writer scales_out(out, 1, scales, scale_extents, job.fill);
  if (!b.tensor_scale.empty()) {
    const float scale[] = {tensor_scale_of(q)};
    out.write(2, std::as_bytes(std::span(scale)));
  }
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

void quantize(quantize_options o) {
  expand_short_names(o.block);
  const format_entry& format = block_format(o.block);
  std::vector<std::string> outputs{o.block.codes, o.block.scales};
  if (!o.block.tensor_scale.empty()) outputs.push_back(o.block.tensor_scale);
  check_writable(outputs);
  with_quantizer(o, wanted_amax(o), [&](const auto& q) { quantize_as(o, format, q); });
}

}  // namespace

void add_quantize(CLI::App& app) {
  auto o = std::make_shared<quantize_options>();
  CLI::App* cmd = app.add_subcommand(
      "quantize", "Turn float32 or float64 numbers into MX blocks: element codes and scale codes");
  add_block_options(*cmd, o->block);
  cmd->add_option("--scale", o->scale,
                  "Scale rule, see mxref info --rules [floor (OCP MX 6.3), with e4m3 scales "
                  "nvfp4-torchao, or the preset's]");
  add_policy_options(*cmd, o->policy);
  cmd->add_option("--nan", o->nan, "poison finite gfloat-inf ignore [poison, or the preset's]");
  cmd->add_option(
      "--tensor-scale", o->block.tensor_scale,
      "Output: the binary32 scale of the whole array (NVFP4 with two levels); IN is then "
      "read twice");
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
