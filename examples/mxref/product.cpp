// SPDX-License-Identifier: Apache-2.0
#include "product.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "mxref/simd/gemm.hpp"
#include "mxref/simd/scalar.hpp"
#include "progress.hpp"

namespace mxtool {

namespace {

using mxref::index_t;

mxref::operand_view rows_of(mxref::operand_view v, index_t first, index_t count) {
  v.codes = static_cast<const std::uint8_t*>(v.codes) + first * v.row_bytes;
  if (v.scaled()) v.scales += first * v.scale_row_bytes;
  v.rows = count;
  return v;
}

/// Results where they are stored: containers of the format that the model makes.
struct result_buffer {
  result_buffer(mxref::format_desc format, matrix_shape shape)
      : bytes(static_cast<std::size_t>(shape.rows * shape.cols * mxref::container_bytes(format))) {
    view.format = format;
    view.data = bytes.data();
    view.rows = shape.rows;
    view.cols = shape.cols;
    view.col_bytes = mxref::container_bytes(format);
    view.row_bytes = shape.cols * view.col_bytes;
  }

  std::uint32_t code(index_t i) const {
    std::uint32_t code = 0;
    std::memcpy(&code, bytes.data() + i * view.col_bytes, static_cast<std::size_t>(view.col_bytes));
    return code;
  }

  std::vector<std::byte> bytes;
  mxref::output_view view;
};

/// The part of the result that starts at (row, col), into d, whose size it has.
mxref::status multiply(const product& p, const mxref::simd::kernel_table& kernels, const team& who,
                       index_t row, index_t col, const mxref::output_view& d) {
  mxref::gemm_options options = p.options;
  if (p.c) {
    options.c = rows_of(p.c->view, row, d.rows);
    options.c.codes = static_cast<const std::uint8_t*>(options.c.codes) + col * options.c.col_bytes;
    options.c.depth = d.cols;
  }
  return with_model(p.model, [&](auto policy) {
    return mxref::simd::gemm_with(kernels, rows_of(p.a.view, row, d.rows),
                                  rows_of(p.b.view, col, d.cols), d, policy, who, options);
  });
}

/// The same on all threads. Without tile kernels, tiles of the scalar core are spread over them.
mxref::status multiply(const product& p, const engine& e, index_t row, index_t col,
                       const mxref::output_view& d) {
  if (e.kernels().chain != nullptr) return multiply(p, e.kernels(), e.all_threads(), row, col, d);
  constexpr index_t tile = 64;
  const index_t across = (d.cols + tile - 1) / tile;
  return e.for_each((d.rows + tile - 1) / tile * across, [&](index_t i) {
    const index_t r = i / across * tile;
    const index_t c = i % across * tile;
    mxref::output_view part = d;
    part.data = static_cast<std::byte*>(d.data) + r * d.row_bytes + c * d.col_bytes;
    part.rows = std::min(tile, d.rows - r);
    part.cols = std::min(tile, d.cols - c);
    return multiply(p, e.kernels(), team(), row + r, col + c, part);
  });
}

/// The codes that are stored for what the model made.
std::uint32_t stored_code(const product& p, std::uint32_t made) {
  if (p.store == p.out) return made;
  return static_cast<std::uint32_t>(
      mxref::to_code(p.store->desc, mxref::to_number(p.out->desc, made),
                     mxref::rounding::nearest_even{}, mxref::overflow::nonsaturating{}));
}

/// The types of matrices that models make, and of C.
const format_entry& result_format(const std::string& text, const char* option) {
  const format_entry& f = find_format(text, false);
  const bool ok = f.desc == mxref::binary32_desc || f.desc == mxref::binary16::desc ||
                  f.desc == mxref::bfloat16::desc;
  if (!ok) throw usage_error(fmt::format("{} {}: choose f32, f16 or bf16", option, f.name));
  return f;
}

/// Says what a model would have taken.
std::string refusal(const product& p, mxref::status s) {
  return fmt::format(
      "--accumulate {} does not take this product ({} block {} x {} block {}, output {}): {}",
      p.model, p.a.format->name, p.a.view.block, p.b.format->name, p.b.view.block, p.out->name,
      mxref::message(s));
}

}  // namespace

void add_product_options(CLI::App& cmd, product_options& o) {
  for (operand_spec* side : {&o.a, &o.b}) {
    const std::string flag = "--" + side->name;
    const char* shape = side->name == "a" ? "(M, K)" : "(N, K)";
    cmd.add_option(flag, side->file, fmt::format("Codes of {}, {}", side->name, shape))->required();
    cmd.add_option(flag + "-format", side->format,
                   "e4m3 e5m2 e3m2 e2m3 e2m1 int8 bf16 f16 tf32 f32 e4m3fnuz e5m2fnuz; nvfp4: "
                   "e2m1, block 16, scale format e4m3")
        ->required();
    cmd.add_option(flag + "-scales", side->scales, "Its scale codes; without them it is unscaled");
    add_packing_option(cmd, flag + "-packing", side->packing);
    add_scale_layout_option(cmd, flag + "-scale-layout", side->scale_layout);
  }
  cmd.add_option("--block", o.block, "Elements that share a scale")->capture_default_str();
  cmd.add_option("--scale-format", o.scale_format, "e8m0 or e4m3 (unsigned, NVFP4)")
      ->capture_default_str();
  cmd.add_option("--c", o.c, "C, (M, N): where the accumulators start [+0]");
  cmd.add_option("--c-type", o.c_type, "f32 f16 bf16 [the --out-type]");
  cmd.add_option("--alpha", o.alpha, "D = alpha * A B + beta * C, see the README");
  cmd.add_option("--beta", o.beta, "");
  cmd.add_option("--tensor-scale", o.tensor_scale,
                 "Scale of both whole tensors (NVFP4), multiplied into alpha");
  cmd.add_option("--promote", o.promote,
                 "Every so many k the accumulator is added in binary32 and starts anew [never]");
  cmd.add_option("--split-k", o.split_k, "Ranges of K that are added in binary32, in order")
      ->capture_default_str();
  cmd.add_option("--accumulate,--model", o.model,
                 "Accumulation policy or matrix unit (see mxref info --models)")
      ->required();
  cmd.add_option("--out-type", o.out_type, "What the model makes: f32 f16 bf16")
      ->capture_default_str();
  cmd.add_option("--store-type", o.store_type,
                 "Converted to after the last step: any element format [the --out-type]");
  cmd.add_option("--depth", o.depth, "K of packed codes [all that fit]")
      ->check(CLI::PositiveNumber);
  cmd.add_option("--shape", o.shape, "M,N,K when files are raw .bin");
  add_engine_options(cmd, o.engine);
}

model_use product::use() const {
  return {mxref::detail::kind_of(a.view), mxref::detail::kind_of(b.view),
          mxref::detail::made_format(options, out->desc)};
}

product load_product(const engine& e, const product_options& given) {
  product_options o = given;
  for (operand_spec* side : {&o.a, &o.b}) {
    if (normalized(side->format) != "nvfp4") continue;
    side->format = "e2m1";
    o.block = 16;
    o.scale_format = "e4m3";
  }
  product p;
  check_model(o.model);
  const mxref::format_desc scale_format = find_scale_format(o.scale_format);
  p.out = &result_format(o.out_type, "--out-type");
  p.store = o.store_type.empty() ? p.out : &find_format(o.store_type, false);
  check_block(o.block);
  std::optional<matrix_shape> raw_a;
  std::optional<matrix_shape> raw_b;
  std::optional<index_t> depth;
  if (o.depth > 0) depth = o.depth;
  if (!o.shape.empty()) {
    const shape_type mnk = parse_shape(o.shape);
    if (mnk.size() != 3) throw usage_error("--shape is M,N,K, the extents of the product");
    const auto k = static_cast<index_t>(mnk[2]);
    raw_a = {static_cast<index_t>(mnk[0]), k};
    raw_b = {static_cast<index_t>(mnk[1]), k};
    depth = k;
  }
  // A side with one code an element fixes K for a packed one.
  const bool a_first = normalized(o.a.packing) == "none";
  operand& first = a_first ? p.a : p.b;
  operand& second = a_first ? p.b : p.a;
  first =
      load_operand(e, a_first ? o.a : o.b, o.block, scale_format, a_first ? raw_a : raw_b, depth);
  const std::string& first_packing = a_first ? o.a.packing : o.b.packing;
  if (!depth && normalized(first_packing) == "none") depth = first.view.depth;
  second =
      load_operand(e, a_first ? o.b : o.a, o.block, scale_format, a_first ? raw_b : raw_a, depth);
  if (p.a.view.depth != p.b.view.depth) {
    throw input_error(fmt::format(
        "{} is {} x {} and {} is {} x {}: A must be (M, K) and B (N, K), with one K; transpose the "
        "one that is not K-major",
        o.a.file, p.a.view.rows, p.a.view.depth, o.b.file, p.b.view.rows, p.b.view.depth));
  }
  if (!o.c.empty()) {
    const format_entry& type = result_format(o.c_type.empty() ? o.out_type : o.c_type, "--c-type");
    p.c = load_result(o.c, "--c", type, {p.rows(), p.cols()});
  } else if (o.beta) {
    throw usage_error("--beta needs --c");
  }
  p.options.block = o.block;
  p.options.epilogue = o.alpha || o.beta || o.tensor_scale;
  p.options.alpha = o.alpha.value_or(1.0F);
  p.options.beta = o.beta.value_or(1.0F);
  p.options.tensor_scale = o.tensor_scale.value_or(1.0F);
  p.options.promotion = o.promote;
  p.options.split_k = o.split_k;
  p.model = resolve_model(o.model, p.use());

  // Ask once, with no outputs, whether the model takes this product at all.
  mxref::output_view none;
  none.format = p.out->desc;
  const mxref::status s = multiply(p, mxref::simd::scalar_target::kernels(), team(), 0, 0, none);
  if (!s) throw usage_error(refusal(p, s));
  return p;
}

std::vector<std::uint32_t> compute(const product& p, const engine& e, const rectangle& part,
                                   const char* what) {
  // Kernels pack B anew for each band, which many rows of A outweigh.
  constexpr double much = 1 << 30;
  const double row_work = static_cast<double>(part.cols) * static_cast<double>(p.depth());
  const bool has_kernels = e.kernels().chain != nullptr;
  const auto enough = static_cast<index_t>(has_kernels ? much / std::max(1.0, row_work) : 0);
  const index_t band =
      std::min<index_t>(std::max<index_t>(enough, has_kernels ? 1024 : 256), part.rows);
  std::vector<std::uint32_t> codes;
  codes.reserve(static_cast<std::size_t>(part.rows * part.cols));
  progress bar(what, static_cast<double>(part.rows) * row_work, "MAC");
  for (index_t r = 0; r < part.rows; r += band) {
    const result_buffer made(p.out->desc, {std::min(band, part.rows - r), part.cols});
    const mxref::status s = multiply(p, e, part.row + r, part.col, made.view);
    if (!s) throw usage_error(refusal(p, s));
    for (index_t i = 0; i < made.view.rows * made.view.cols; ++i) {
      codes.push_back(stored_code(p, made.code(i)));
    }
    bar.add(static_cast<double>(made.view.rows) * row_work);
  }
  return codes;
}

mxref::status compute_one(const product& p, const engine& e, index_t row, index_t col,
                          std::uint32_t& code) {
  const result_buffer made(p.out->desc, {1, 1});
  const mxref::status s = multiply(p, e.kernels(), team(), row, col, made.view);
  code = stored_code(p, made.code(0));
  return s;
}

}  // namespace mxtool
