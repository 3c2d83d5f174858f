// SPDX-License-Identifier: Apache-2.0
// encode: numbers to codes of a format, without a shared scale.
#include <fmt/format.h>

#include <memory>
#include <string>

#include "commands.hpp"
#include "engine.hpp"
#include "mxref/simd/convert.hpp"
#include "mxref/simd/scalar.hpp"
#include "operands.hpp"
#include "policy_options.hpp"
#include "progress.hpp"

namespace mxtool {

namespace {

using mxref::index_t;
namespace simd = mxref::simd;

struct encode_options {
  std::string format;
  policy_options policy;
  std::string negative = "to-nan";
  std::string shape;
  std::string dtype_name;
  std::string in;
  std::string out;
  engine_options engine;
};

/// How numbers become codes. A convention other than mxref's own has no vector kernels.
struct encode_policy {
  simd::convert_policy kernel;
  mxref::element_convention elements;

  bool is_standard() const { return elements == mxref::element_convention{}; }
};

encode_policy policy_of(const encode_options& o) {
  const mxref::preset_desc preset = chosen_preset(o.policy);
  const mxref::rounding::dynamic rounding = chosen_rounding(o.policy, preset);
  encode_policy p;
  p.kernel.rounding = rounding.mode;
  p.kernel.seed = rounding.seed;
  p.kernel.random_bits = rounding.bits;
  p.kernel.overflow = preset.overflow;
  p.kernel.negative = find_named("policy for negative numbers", o.negative, negative_policies());
  p.elements = preset.elements;
  return p;
}

/// By the scalar core: binary64 numbers, and conventions.
template <class T>
mxref::status encode_by_core(const T* in, index_t count, mxref::format_desc f,
                             const encode_policy& p, std::byte* codes) {
  const index_t bytes = mxref::container_bytes(f);
  const mxref::rounding::dynamic rounding{p.kernel.rounding, p.kernel.seed, p.kernel.random_bits};
  const mxref::overflow::dynamic overflow{p.kernel.overflow};
  for (index_t i = 0; i < count; ++i) {
    const mxref::number x = mxref::to_number(in[i]);
    const auto r = rounding.at(p.kernel.first + static_cast<std::uint64_t>(i));
    const std::uint64_t code =
        p.is_standard()
            ? mxref::to_code(f, x, r, overflow, mxref::negative::dynamic{p.kernel.negative})
            : mxref::to_code_by(f, x, r, overflow, p.elements);
    mxref::store_code(codes + i * bytes, bytes, static_cast<std::uint32_t>(code));
  }
  return {};
}

mxref::status encode_part(const simd::kernel_table& kernels, const float* in, index_t count,
                          mxref::format_desc f, const encode_policy& p, std::byte* codes) {
  if (!p.is_standard()) return encode_by_core(in, count, f, p, codes);
  constexpr int widest = 19;  // that vector kernels take
  const bool narrow = f.total_bits() <= widest;
  return simd::encode_with(narrow ? kernels : simd::scalar_target::kernels(), in, count, f,
                           p.kernel, codes, simd::serial{});
}

mxref::status encode_part(const simd::kernel_table&, const double* in, index_t count,
                          mxref::format_desc f, const encode_policy& p, std::byte* codes) {
  return encode_by_core(in, count, f, p, codes);
}

/// tf32 codes are the upper bits of binary32 patterns, and stored as such.
void to_file_order(std::span<std::byte> codes, mxref::format_desc f) {
  if (f != mxref::TF32::desc) return;
  for (; !codes.empty(); codes = codes.subspan(4)) {
    std::uint32_t code = 0;
    std::memcpy(&code, codes.data(), 4);
    code <<= 13;
    std::memcpy(codes.data(), &code, 4);
  }
}

template <class T>
void encode_stream(const engine& e, npy_reader& in, mxref::format_desc f,
                   const encode_policy& policy, output_streams& out) {
  const auto count = static_cast<index_t>(in.remaining() / sizeof(T));
  const matrix_pieces chunks({1, count}, chunk_elements, 1);
  std::vector<T> numbers;
  std::vector<std::byte> codes;
  progress bar("encode", static_cast<double>(in.remaining()), "B");
  for (index_t i = 0; i < chunks.count(); ++i) {
    const rectangle chunk = chunks[i];
    numbers.resize(static_cast<std::size_t>(chunk.cols));
    codes.resize(numbers.size() * size_of(container(f)));
    in.read(std::as_writable_bytes(std::span(numbers)));
    const mxref::status s = e.for_parts(chunk, 1, [&](const rectangle& part) {
      encode_policy p = policy;
      p.kernel.first = static_cast<std::uint64_t>(chunk.col + part.col);
      return encode_part(e.kernels(), numbers.data() + part.col, part.cols, f, p,
                         codes.data() + part.col * mxref::container_bytes(f));
    });
    if (!s) throw usage_error(mxref::message(s));
    to_file_order(codes, f);
    out.write(0, codes);
    bar.add(static_cast<double>(numbers.size() * sizeof(T)));
  }
}

void encode(const encode_options& o) {
  const format_entry& format = find_format(o.format, true);
  const encode_policy policy = policy_of(o);
  if (format.scalar_only && !policy.is_standard()) {
    throw usage_error(fmt::format("--preset {}: presets are of elements, {} is a scale format",
                                  o.policy.preset, format.name));
  }
  const engine e(o.engine);
  check_writable(o.out);
  npy_reader in(o.in, raw_input(o.shape, o.dtype_name));
  if (in.type() != dtype::f32 && in.type() != dtype::f64) {
    throw input_error(
        fmt::format("{}: encode takes float32 or float64 numbers, not {}", o.in, name(in.type())));
  }
  const output_plan plan{o.out, container(format.desc), in.shape()};
  output_streams out({&plan, 1});
  if (in.type() == dtype::f32) {
    encode_stream<float>(e, in, format.desc, policy, out);
  } else {
    encode_stream<double>(e, in, format.desc, policy, out);
  }
  out.commit();
}

}  // namespace

void add_encode(CLI::App& app) {
  auto o = std::make_shared<encode_options>();
  CLI::App* cmd = app.add_subcommand(
      "encode", "Round float32 or float64 numbers to codes of a format, without a block scale");
  cmd->add_option("--format", o->format, "Element or scale format (see mxref info --formats)")
      ->required();
  add_policy_options(*cmd, o->policy);
  cmd->add_option("--negative", o->negative, "to-nan or abs, for e8m0 and ue4m3")
      ->capture_default_str();
  add_raw_input(*cmd, o->shape, o->dtype_name, "f32 or f64");
  add_engine_options(*cmd, o->engine);
  cmd->add_option("IN", o->in, "Numbers, float32 or float64")->required();
  cmd->add_option("OUT", o->out, "Codes: uint8, uint16 (bf16, f16) or uint32 (tf32, f32)")
      ->required();
  cmd->footer(streaming_footer);
  cmd->callback([o] { encode(*o); });
}

}  // namespace mxtool
