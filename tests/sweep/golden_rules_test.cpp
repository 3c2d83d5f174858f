// SPDX-License-Identifier: Apache-2.0
// Whole blocks by the scale rules and conventions of ggml, FBGEMM, DeepGEMM and TransformerEngine's
// MXFP4, by their presets, against what these libraries wrote.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "golden_reference.hpp"
#include "mxref/mxref.hpp"
#include "support/golden.hpp"

namespace {

using mxref::E2M1;
using mxref::E4M3;
using mxref::index_t;

std::vector<float> load_floats(const std::string& name) {
  std::vector<float> x;
  for (const std::uint64_t bits : golden::load(name)) x.push_back(golden::to_float(bits));
  return x;
}

/// Codes and scale codes of a matrix of rows x depth numbers.
struct quantized {
  std::vector<std::uint8_t> codes;
  std::vector<std::uint8_t> scales;
};

quantized quantize_as(const mxref::preset_desc& p, mxref::format_desc format,
                      const std::vector<float>& x, index_t rows, int block) {
  const index_t depth = static_cast<index_t>(x.size()) / rows;
  quantized q{std::vector<std::uint8_t>(x.size()),
              std::vector<std::uint8_t>(static_cast<std::size_t>(rows * (depth / block)))};
  const mxref::quantized_view out{format, block,           q.codes.data(),
                                  depth,  q.scales.data(), depth / block};
  EXPECT_TRUE(mxref::quantize(mxref::view(x.data(), rows, depth), out, p.quantizer()));
  return q;
}

void compare_blocks(const quantized& q, const std::string& scale_name,
                    const std::string& codes_name) {
  golden::comparison scale(scale_name);
  golden::comparison codes(codes_name);
  for (std::size_t b = 0; b < scale.size(); ++b) scale.equal(b, q.scales[b]);
  for (std::size_t i = 0; i < codes.size(); ++i) codes.equal(i, q.codes[i]);
}

std::uint64_t bits(double x) { return std::bit_cast<std::uint32_t>(static_cast<float>(x)); }

double e2m1_value(unsigned code) {
  static constexpr double magnitudes[] = {0, 0.5, 1, 1.5, 2, 3, 4, 6};
  return std::copysign(magnitudes[code & 7], (code & 8) != 0 ? -1.0 : 1.0);
}

// Scale byte, then element j in the low and j + 16 in the high nibble of byte j.
TEST(GoldenRules, Ggml) {
  const std::vector<float> x = load_floats("blk_e2m1_in");
  const quantized q = quantize_as(mxref::preset::ggml, E2M1::desc, x, 200, 32);
  golden::comparison row("blk_e2m1_ggml_bytes");
  golden::comparison out("blk_e2m1_ggml_out");
  for (std::size_t b = 0; b < 200; ++b) {
    row.equal(b * 17, q.scales[b]);
    for (std::size_t j = 0; j < 16; ++j) {
      row.equal(b * 17 + 1 + j, q.codes[b * 32 + j] | unsigned{q.codes[b * 32 + j + 16]} << 4);
    }
    // Its decoder takes byte 255 for 2^128.
    for (std::size_t i = 0; i < 32; ++i) {
      out.equal(b * 32 + i, bits(std::ldexp(e2m1_value(q.codes[b * 32 + i]), q.scales[b] - 127)));
    }
  }
}

TEST(GoldenRules, Fbgemm) {
  const std::vector<float> x = load_floats("blk_e2m1_in");
  const struct {
    const char* mode;
    mxref::scale_rule rule;
  } modes[] = {{"nearest", mxref::scale_rule::fbgemm_nearest},
               {"floor", mxref::scale_rule::fbgemm_floor},
               {"even", mxref::scale_rule::fbgemm_even},
               {"ceil", mxref::scale_rule::fbgemm_ceil}};
  for (const auto& m : modes) {
    mxref::preset_desc p = mxref::preset::fbgemm;
    p.scale = m.rule;
    const quantized q = quantize_as(p, E2M1::desc, x, 200, 32);
    golden::comparison row("blk_e2m1_fbgemm_bytes", m.mode);
    golden::comparison out("blk_e2m1_fbgemm_out", m.mode);
    for (std::size_t b = 0; b < 200; ++b) {
      // Where the scale is NaN it writes byte 0 and codes without meaning; so does `even` for an
      // Inf, which in other modes has such a code alone.
      const bool is_nan = q.scales[b] == 0xFF;
      bool has_inf = false;
      for (std::size_t i = 0; i < 32; ++i) has_inf |= std::isinf(x[b * 32 + i]);
      const auto compare = [&](golden::comparison& c, std::size_t i, std::uint64_t got,
                               std::uint64_t documented) {
        if (is_nan) {
          c.diverges(i, "fbgemm_nan_scale", got, documented, std::nullopt);
        } else if (has_inf && got != c.oracle(i)) {
          c.diverges(i, "fbgemm_inf", got, got, std::nullopt);
        } else {
          c.equal(i, got);
        }
      };
      for (std::size_t j = 0; j < 16; ++j) {
        const unsigned low = q.codes[b * 32 + 2 * j];
        const unsigned high = q.codes[b * 32 + 2 * j + 1];
        compare(row, b * 17 + j, low | high << 4, 0);
      }
      compare(row, b * 17 + 16, q.scales[b], 0xFF);
      for (std::size_t i = 0; i < 32; ++i) {
        const double value = std::ldexp(e2m1_value(q.codes[b * 32 + i]), q.scales[b] - 127);
        // Its decoder has no -0.
        compare(out, b * 32 + i, is_nan ? 0x7FC00000 : value == 0 ? 0 : bits(value), 0x7FC00000);
      }
    }
  }
}

TEST(GoldenRules, DeepGemm) {
  std::vector<float> x = load_floats("blk_e2m1_in");
  for (float& v : x) v = std::isfinite(v) ? v : 0.0F;  // as the vectors were made
  const quantized q = quantize_as(mxref::preset::deepgemm, E2M1::desc, x, 200, 32);
  compare_blocks(q, "blk_e2m1_deepgemm_scale", "blk_e2m1_deepgemm_codes");
}

TEST(GoldenRules, DeepGemmFp8InBlocksOf128) {
  const std::vector<float> x = load_floats("deepgemm_e4m3_b128_in");
  mxref::preset_desc p = mxref::preset::cuda;
  p.scale = mxref::scale_rule::deepgemm;
  const quantized q = quantize_as(p, E4M3::desc, x, 50, 128);
  compare_blocks(q, "deepgemm_e4m3_b128_scale", "deepgemm_e4m3_b128_codes");
}

TEST(GoldenRules, TransformerEnginePow2) {
  const std::vector<float> x = load_floats("nvfp4_in");
  const quantized q = quantize_as(mxref::preset::transformer_engine_mxfp4, E2M1::desc, x, 32, 32);
  golden::comparison scale("mxfp4_te_pow2_scale");
  golden::comparison codes("mxfp4_te_pow2_codes");
  for (std::size_t b = 0; b < scale.size(); ++b) {
    scale.equal(b, bits(std::ldexp(1.0, q.scales[b] - 127)));
  }
  for (std::size_t i = 0; i < codes.size(); ++i) codes.equal(i, q.codes[i]);
}

}  // namespace
