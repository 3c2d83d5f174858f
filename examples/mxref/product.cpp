// SPDX-License-Identifier: Apache-2.0
#include "product.hpp"

#include <fmt/format.h>

#include <algorithm>

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

/// Where results of a format wait as one code each.
template <class T>
mxref::status run_gemm(const product& p, const mxref::operand_view& a, const mxref::operand_view& b,
                       const mxref::gemm_options& options, std::vector<std::uint32_t>& codes) {
  std::vector<T> d(codes.size());
  const auto out = mxref::view(d.data(), a.rows, b.rows);
  const mxref::status s =
      with_model(p.model, [&](auto policy) { return mxref::gemm(a, b, out, policy, options); });
  for (std::size_t i = 0; i < d.size(); ++i) codes[i] = d[i].code;
  return s;
}

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
                   "e4m3 e5m2 e3m2 e2m3 e2m1 int8 bf16 f16 tf32 f32")
        ->required();
    cmd.add_option(flag + "-scales", side->scales, "Its scale codes; without them it is unscaled");
    cmd.add_option(flag + "-packing", side->packing, "none or dense")->capture_default_str();
    cmd.add_option(flag + "-scale-layout", side->name == "a" ? o.a_scale_layout : o.b_scale_layout,
                   "linear")
        ->capture_default_str();
  }
  cmd.add_option("--block", o.block, "Elements that share a scale")->capture_default_str();
  cmd.add_option("--scale-format", o.scale_format, "e8m0")->capture_default_str();
  cmd.add_option("--c", o.c, "C, (M, N): where the accumulators start [+0]");
  cmd.add_option("--c-type", o.c_type, "f32 f16 bf16 [the --out-type]");
  cmd.add_option("--alpha", o.alpha, "D = alpha * A B + beta * C, see the README");
  cmd.add_option("--beta", o.beta, "");
  cmd.add_option("--accumulate,--model", o.model,
                 "Accumulation policy or matrix unit (see mxref info --models)")
      ->required();
  cmd.add_option("--out-type", o.out_type, "What the model makes: f32 f16 bf16")
      ->capture_default_str();
  cmd.add_option("--store-type", o.store_type,
                 "Converted to after the last step: f32 f16 bf16 [the --out-type]");
  cmd.add_option("--depth", o.depth, "K of packed codes [all that fit]")
      ->check(CLI::PositiveNumber);
  cmd.add_option("--shape", o.shape, "M,N,K when files are raw .bin");
}

product load_product(const product_options& o) {
  product p;
  p.model = resolve_model(o.model);
  check_scale_options(o.scale_format, o.a_scale_layout);
  check_scale_options(o.scale_format, o.b_scale_layout);
  p.out = &result_format(o.out_type, "--out-type");
  p.store = &result_format(o.store_type.empty() ? o.out_type : o.store_type, "--store-type");
  if (o.block < 1) {
    throw usage_error(fmt::format("--block {}: a block has at least 1 element", o.block));
  }
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
  const bool a_first = o.a.packing == "none";
  operand& first = a_first ? p.a : p.b;
  operand& second = a_first ? p.b : p.a;
  first = load_operand(a_first ? o.a : o.b, o.block, a_first ? raw_a : raw_b, depth);
  if (!depth && first.view.storage == mxref::code_storage::containers) depth = first.view.depth;
  second = load_operand(a_first ? o.b : o.a, o.block, a_first ? raw_b : raw_a, depth);
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
  p.options.epilogue = o.alpha || o.beta;
  p.options.alpha = o.alpha.value_or(1.0F);
  p.options.beta = o.beta.value_or(1.0F);

  // Ask once, with no outputs, whether the model takes this product at all.
  std::vector<std::uint32_t> none;
  const mxref::status s = [&] {
    mxref::gemm_options options = p.options;
    const auto a = rows_of(p.a.view, 0, 0);
    const auto b = rows_of(p.b.view, 0, 0);
    if (p.out->desc == mxref::binary16::desc) {
      return run_gemm<mxref::binary16>(p, a, b, options, none);
    }
    if (p.out->desc == mxref::bfloat16::desc) {
      return run_gemm<mxref::bfloat16>(p, a, b, options, none);
    }
    return run_gemm<mxref::binary32>(p, a, b, options, none);
  }();
  if (!s) throw usage_error(refusal(p, s));
  return p;
}

std::vector<std::uint32_t> compute(const product& p, const rectangle& part) {
  std::vector<std::uint32_t> codes(static_cast<std::size_t>(part.rows * part.cols));
  const auto a = rows_of(p.a.view, part.row, part.rows);
  const auto b = rows_of(p.b.view, part.col, part.cols);
  mxref::gemm_options options = p.options;
  if (p.c) {
    options.c = rows_of(p.c->view, part.row, part.rows);
    options.c.codes =
        static_cast<const std::uint8_t*>(options.c.codes) + part.col * options.c.col_bytes;
    options.c.depth = part.cols;
  }
  mxref::status s;
  if (p.out->desc == mxref::binary16::desc) {
    s = run_gemm<mxref::binary16>(p, a, b, options, codes);
  } else if (p.out->desc == mxref::bfloat16::desc) {
    s = run_gemm<mxref::bfloat16>(p, a, b, options, codes);
  } else {
    s = run_gemm<mxref::binary32>(p, a, b, options, codes);
  }
  if (!s) throw usage_error(refusal(p, s));
  if (p.store != p.out) {
    for (std::uint32_t& code : codes) {
      code = static_cast<std::uint32_t>(
          mxref::to_code(p.store->desc, mxref::to_number(p.out->desc, code),
                         mxref::rounding::nearest_even{}, mxref::overflow::nonsaturating{}));
    }
  }
  return codes;
}

std::vector<std::uint32_t> compute_with_progress(const product& p, const rectangle& part,
                                                 const char* what) {
  // Each call decodes B anew, which 64 rows of A outweigh.
  const index_t rows_at_once = std::max<index_t>(64, part.rows / 64);
  std::vector<std::uint32_t> result;
  progress bar(what, part.rows);
  for (index_t r = 0; r < part.rows; r += rows_at_once) {
    const index_t rows = std::min(rows_at_once, part.rows - r);
    const auto piece = compute(p, {part.row + r, part.col, rows, part.cols});
    result.insert(result.end(), piece.begin(), piece.end());
    bar.add(rows);
  }
  return result;
}

}  // namespace mxtool
