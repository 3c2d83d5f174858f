// SPDX-License-Identifier: Apache-2.0
// NVFP4 by the rules of torchao, TransformerEngine and ggml, against what these libraries wrote.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "golden_reference.hpp"
#include "mxref/mxref.hpp"
#include "support/golden.hpp"

namespace {

using mxref::E2M1;
using mxref::index_t;
using mxref::UE4M3;
namespace scale = mxref::scale;

constexpr index_t rows = 32;
constexpr index_t depth = 128;
constexpr int block = 16;
constexpr index_t blocks = depth / block;

std::vector<float> load_floats(const std::string& name) {
  std::vector<float> x;
  for (const std::uint64_t bits : golden::load(name)) x.push_back(golden::to_float(bits));
  return x;
}

float amax_of(const std::vector<float>& x) {
  float amax = 0;
  for (const float v : x) amax = std::max(amax, std::fabs(v));
  return amax;
}

template <class Rule>
void compare(const char* codes_name, const char* codes_mode, const char* scale_name,
             const char* scale_mode, const Rule& rule, int block_rows = 1) {
  const std::vector<float> x = load_floats("nvfp4_in");
  std::vector<std::uint8_t> codes(x.size());
  std::vector<std::uint8_t> scales(static_cast<std::size_t>(rows * blocks));
  mxref::quantized_view out{E2M1::desc, block, codes.data(), depth, scales.data(), blocks};
  out.scale_format = UE4M3::desc;
  out.block_rows = block_rows;
  mxref::element_convention elements;  // the reference conversions of E2M1
  if (std::string(codes_name).find("_te_") != std::string::npos) {
    elements = mxref::preset::transformer_engine_mxfp4.elements;
  }
  const mxref::quantizer<Rule, mxref::rounding::nearest_even, mxref::overflow::saturate,
                         mxref::nan::poison, mxref::element_convention>
      q{rule, {}, {}, {}, elements};
  ASSERT_TRUE(mxref::quantize(mxref::view(x.data(), rows, depth), out, q));

  golden::comparison code_row(codes_name, codes_mode);
  golden::comparison scale_row(scale_name, scale_mode);
  for (std::size_t i = 0; i < codes.size(); ++i) code_row.equal(i, codes[i]);
  const mxref::operand_view operand = out.operand(rows, depth);
  for (index_t r = 0; r < rows; ++r) {
    for (index_t b = 0; b < blocks; ++b) {
      scale_row.equal(static_cast<std::size_t>(r * blocks + b), operand.scale_code(r, b));
    }
  }
}

TEST(GoldenNvfp4, Torchao) {
  const float t = scale::nvfp4_torchao::tensor_scale_of(amax_of(load_floats("nvfp4_in")));
  compare("nvfp4_torchao_codes", "single_level", "nvfp4_torchao_scale", "single_level",
          scale::nvfp4_torchao{});
  compare("nvfp4_torchao_codes", "two_level per_tensor_scale=amax/(448*6)", "nvfp4_torchao_scale",
          "two_level", scale::nvfp4_torchao{t});
}

TEST(GoldenNvfp4, TransformerEngine) {
  const float amax = amax_of(load_floats("nvfp4_in"));
  golden::comparison global("nvfp4_te_global_amax");
  global.equal(0, std::bit_cast<std::uint32_t>(amax));
  const scale::nvfp4_te te{scale::nvfp4_te::encode_scale_of(amax)};
  compare("nvfp4_te_codes", "1d_16", "nvfp4_te_scale", "1d_16", te);
  compare("nvfp4_te_codes", "2d_16x16", "nvfp4_te_scale", "2d_16x16", te, 16);

  using scale::block_error;
  const struct {
    const char* mode;
    float largest_scale;
    block_error error;
  } modes[] = {{"4over6_mae_e4m3max448", 448.0F, block_error::absolute},
               {"4over6_mse_e4m3max448", 448.0F, block_error::squared},
               {"4over6_mae_e4m3max256", 256.0F, block_error::absolute}};
  for (const auto& m : modes) {
    compare("nvfp4_te_codes", m.mode, "nvfp4_te_scale", m.mode,
            scale::nvfp4_four_over_six::of(amax, m.largest_scale, m.error));
  }
}

/// Four scale bytes, then four sub-blocks of 8 bytes: element j in the low nibble of byte j,
/// element j + 8 in the high one.
void compare_ggml(const std::string& in, const std::string& bytes, const std::string& out) {
  const std::vector<float> x = load_floats(in);
  golden::comparison byte_row(bytes);
  golden::comparison value_row(out);
  const mxref::element_convention elements = mxref::preset::ggml.elements;
  const mxref::quantizer<scale::nvfp4_ggml, mxref::rounding::nearest_toward_zero,
                         mxref::overflow::saturate, mxref::nan::ignore, mxref::element_convention>
      q{{}, {}, {}, {}, elements};
  for (std::size_t b = 0; b < value_row.size() / 64; ++b) {
    for (std::size_t s = 0; s < 4; ++s) {
      UE4M3 code;
      std::uint8_t codes[16];
      mxref::quantize_block(&x[b * 64 + s * 16], 1, 16, E2M1::desc, q, code, codes);
      byte_row.equal(b * 36 + s, code.code);
      for (std::size_t j = 0; j < 8; ++j) {
        byte_row.equal(b * 36 + 4 + s * 8 + j, codes[j] | unsigned{codes[j + 8]} << 4);
      }
      for (std::size_t i = 0; i < 16; ++i) {
        const float v = decode(E2M1{codes[i]}) * decode(code);
        value_row.equal(b * 64 + s * 16 + i, std::bit_cast<std::uint32_t>(v));
      }
    }
  }
}

TEST(GoldenNvfp4, Ggml) {
  compare_ggml("nvfp4_in", "nvfp4_ggml_bytes", "nvfp4_ggml_out");
  compare_ggml("nvfp4_ggml2_in", "nvfp4_ggml2_bytes", "nvfp4_ggml2_out");
}

}  // namespace
