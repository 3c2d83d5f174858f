// SPDX-License-Identifier: Apache-2.0
// The presets write what their libraries wrote, for every input of every oracle row. (The other
// Golden suites show what the library's own conventions give where these differ, by the name of
// the divergence.) Left out, and counted: NaN codes whose payload the preset does not follow.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "golden_formats.hpp"
#include "golden_reference.hpp"
#include "mxref/mxref.hpp"
#include "support/golden.hpp"

namespace {

using golden::of;
using mxref::preset_desc;
using mxref::rounding_mode;
namespace preset = mxref::preset;

/// A mode of an encoding oracle as a preset: "gfloat_nosat_rna".
preset_desc preset_of(const std::string& mode) {
  const auto with = [&](const char* part) { return mode.find(part) != std::string::npos; };
  preset_desc p = with("cuda")       ? preset::cuda
                  : with("mld")      ? preset::ml_dtypes
                  : with("llvm")     ? preset::llvm
                  : with("amd")      ? preset::amd
                  : with("gfloat")   ? preset::gfloat
                  : with("deepgemm") ? preset::deepgemm
                  : with("te_ref")   ? preset::transformer_engine_mxfp4
                                     : preset::torchao;
  if (with("_sat")) p.overflow = mxref::overflow_mode::saturate;
  if (with("_nosat")) p.overflow = mxref::overflow_mode::nonsaturating;
  const std::string r = mode.substr(mode.rfind('_') + 1);
  if (r == "rna") p.rounding = rounding_mode::nearest_away;
  if (r == "rz" || r == "trunc") p.rounding = rounding_mode::toward_zero;
  if (r == "rp") p.rounding = rounding_mode::up;
  if (r == "rn") p.rounding = rounding_mode::down;
  if (r == "rto") p.rounding = rounding_mode::to_odd;
  return p;
}

struct count {
  std::size_t equal = 0;
  std::size_t different = 0;
  std::size_t left_out = 0;
};

template <class E, class T>
void compare_mode(const std::string& array, const std::string& mode,
                  const std::vector<std::uint64_t>& in, count& total) {
  const preset_desc p = preset_of(mode);
  const std::vector<std::uint64_t> oracle = golden::entries(array, mode);
  ASSERT_EQ(oracle.size(), in.size());
  const std::string library = p.name;
  for (std::size_t i = 0; i < in.size(); ++i) {
    T x;
    if constexpr (sizeof(T) == 8) {
      x = std::bit_cast<double>(in[i]);
    } else {
      x = golden::to_float(in[i]);
    }
    // Payloads: LLVM's, CUDA's of binary64 into E5M2; torchao's casts; gfloat raises.
    const bool left_out = std::isnan(x) && (library == "llvm" || library == "torchao" ||
                                            (library == "gfloat" && !E::desc.has_nan()) ||
                                            (library == "cuda" && sizeof(T) == 8));
    if (left_out) {
      ++total.left_out;
      continue;
    }
    const auto got = static_cast<std::uint64_t>(mxref::encode<E>(x, p).code);
    ++(got == oracle[i] ? total.equal : total.different);
    if (got != oracle[i] && total.different < 6) {
      ADD_FAILURE() << array << '[' << mode << "] entry " << i << ": " << x << " gives " << got
                    << ", the oracle has " << oracle[i];
    }
  }
}

template <class E>
class GoldenPreset : public testing::Test {};
TYPED_TEST_SUITE(GoldenPreset, golden::float_formats, golden::format_names);

TYPED_TEST(GoldenPreset, EncodesAsItsLibrary) {
  const std::string name = std::string("enc_") + of<TypeParam>.name;
  const std::vector<std::uint64_t> in = golden::load(name + "_in");
  count total;
  for (const std::string& mode : golden::info(name + "_codes").modes) {
    compare_mode<TypeParam, float>(name + "_codes", mode, in, total);
  }
  EXPECT_EQ(total.different, 0U);
  EXPECT_GT(total.equal, 100 * total.left_out);
}

template <class E>
class GoldenPresetDouble : public testing::Test {};
TYPED_TEST_SUITE(GoldenPresetDouble, golden::ocp_float_formats, golden::format_names);

TYPED_TEST(GoldenPresetDouble, EncodesAsItsLibrary) {
  const std::string name = std::string("encf64_") + of<TypeParam>.name;
  const std::vector<std::uint64_t> in = golden::load(name + "_in");
  count total;
  for (const std::string& mode : golden::info(name + "_codes").modes) {
    if (!mode.starts_with("TRAP")) {
      compare_mode<TypeParam, double>(name + "_codes", mode, in, total);
    }
  }
  EXPECT_EQ(total.different, 0U);
  EXPECT_GT(total.equal, 100 * total.left_out);
}

// The trap row went through binary32 first: `via` does so on purpose.
TYPED_TEST(GoldenPresetDouble, ViaBinary32IsTheTrap) {
  const std::string name = std::string("encf64_") + of<TypeParam>.name;
  const std::vector<std::uint64_t> in = golden::load(name + "_in");
  const auto oracle = golden::entries(name + "_codes", "TRAP_f64_to_f32_then_cuda_sat_rne");
  preset_desc p = preset::cuda;
  p.elements = mxref::convention::via(mxref::binary32_desc);
  for (std::size_t i = 0; i < in.size(); ++i) {
    const auto x = std::bit_cast<double>(in[i]);
    ASSERT_EQ(mxref::encode<TypeParam>(x, p).code, oracle[i]) << x;
  }
}

std::uint64_t value_bits(double x) {
  return std::isnan(x) ? 0x7FC00000 : std::bit_cast<std::uint32_t>(static_cast<float>(x));
}

// ONNX Runtime casts there and back: values.
template <class E>
class GoldenPresetOnnx : public testing::Test {};
using onnx_formats = testing::Types<mxref::E4M3, mxref::E5M2, golden::E4M3FNUZ, golden::E5M2FNUZ>;
TYPED_TEST_SUITE(GoldenPresetOnnx, onnx_formats, golden::format_names);

TYPED_TEST(GoldenPresetOnnx, CastsAsOnnxRuntime) {
  const std::string name = std::string("enc_") + of<TypeParam>.name;
  const std::vector<std::uint64_t> in = golden::load(name + "_in");
  for (const bool saturate : {false, true}) {
    preset_desc p = preset::onnx;
    if (!saturate) p.overflow = mxref::overflow_mode::nonsaturating;
    const auto oracle = golden::entries(name + "_ort", saturate ? "saturate=1" : "saturate=0");
    for (std::size_t i = 0; i < in.size(); ++i) {
      const float x = golden::to_float(in[i]);
      ASSERT_EQ(value_bits(decode<double>(mxref::encode<TypeParam>(x, p))), oracle[i]) << x;
    }
  }
}

// microxcaling's Python path: elements alone and whole blocks, as values. Left out: an Inf passes
// through its element core, and MXINT8 gives the value -0, which no code holds.
template <class E>
class GoldenPresetMicroxcaling : public testing::Test {};
using microx_formats =
    testing::Types<mxref::E4M3, mxref::E5M2, mxref::E3M2, mxref::E2M3, mxref::E2M1, mxref::INT8>;
TYPED_TEST_SUITE(GoldenPresetMicroxcaling, microx_formats, golden::format_names);

struct microx_mode {
  const char* name;
  rounding_mode rounding;
};
constexpr microx_mode microx_modes[] = {{"nearest", rounding_mode::nearest_away},
                                        {"floor", rounding_mode::toward_zero},
                                        {"even", rounding_mode::nearest_even}};

TYPED_TEST(GoldenPresetMicroxcaling, Elements) {
  const std::string name = std::string("enc_") + of<TypeParam>.name;
  const std::vector<std::uint64_t> in = golden::load(name + "_in");
  for (const microx_mode& mode : microx_modes) {
    preset_desc p = preset::microxcaling;
    p.rounding = mode.rounding;
    const auto oracle = golden::entries(name + "_microx", mode.name);
    for (std::size_t i = 0; i < in.size(); ++i) {
      const float x = golden::to_float(in[i]);
      const bool is_nan = !TypeParam::desc.has_nan() && oracle[i] == 0x7FC00000;
      if (std::isinf(x) || is_nan || (TypeParam::desc.exp_bits == 0 && oracle[i] == 0x80000000)) {
        continue;
      }
      ASSERT_EQ(value_bits(decode<double>(mxref::encode<TypeParam>(x, p))), oracle[i])
          << mode.name << ' ' << x;
    }
  }
}

TYPED_TEST(GoldenPresetMicroxcaling, Blocks) {
  const std::string name = std::string("blk_") + of<TypeParam>.name;
  const std::vector<std::uint64_t> in = golden::load(name + "_in");
  std::vector<float> x;
  for (const std::uint64_t bits : in) x.push_back(golden::to_float(bits));
  const auto rows = static_cast<mxref::index_t>(x.size() / 32);
  for (const bool python : {true, false}) {
    for (const microx_mode& mode : microx_modes) {
      for (const bool flush : {false, true}) {
        preset_desc p = python ? preset::microxcaling : preset::microxcaling_cpp;
        p.rounding = mode.rounding;
        if (flush) {
          p.elements.flush = python ? mxref::block_flush::rounded : mxref::block_flush::subnormal;
        }
        std::vector<float> got(x.size());
        ASSERT_TRUE(mxref::fake_quantize(mxref::view(x.data(), rows, 32),
                                         mxref::view(got.data(), rows, 32), TypeParam::desc, 32,
                                         p.quantizer()));
        const auto oracle = golden::entries(
            name + (python ? "_microx_out" : "_mxcpp_out"),
            std::string("round=") + mode.name +
                (flush ? ",flush_fp32_subnorms=True" : ",flush_fp32_subnorms=False"));
        std::size_t wrong = 0;
        for (std::size_t i = 0; i < x.size(); ++i) {
          if (TypeParam::desc.exp_bits == 0 && oracle[i] == 0x80000000) continue;
          const std::uint64_t bits = value_bits(static_cast<double>(got[i]));
          if (bits != oracle[i] && ++wrong < 4) {
            ADD_FAILURE() << p.name << ' ' << mode.name << " entry " << i << ": " << x[i]
                          << " gives " << got[i] << ", the oracle " << golden::to_float(oracle[i]);
          }
        }
        EXPECT_EQ(wrong, 0U);
      }
    }
  }
}

// The 22 numbers below 2^-126 whose binary32 logarithm is -126 escape the Python path's flush; and
// other blocks keep their small elements.
TEST(GoldenPresetFlush, EdgesOfTheTwoPaths) {
  const auto flushed = [](std::uint32_t bits, mxref::block_flush flush) {
    preset_desc p = preset::microxcaling_cpp;
    p.elements.flush = flush;
    const float x[2] = {golden::to_float(bits), 0.0F};
    float got[2];
    EXPECT_TRUE(mxref::fake_quantize(mxref::view(x, 1, 2), mxref::view(got, 1, 2),
                                     mxref::E5M2::desc, 32, p.quantizer()));
    return got[0] == 0;
  };
  constexpr std::uint32_t least_normal = 0x00800000;
  EXPECT_FALSE(flushed(least_normal - 1, mxref::block_flush::none));
  EXPECT_TRUE(flushed(least_normal - 1, mxref::block_flush::subnormal));
  EXPECT_FALSE(flushed(least_normal, mxref::block_flush::subnormal));
  EXPECT_TRUE(flushed(least_normal - 23, mxref::block_flush::rounded));
  EXPECT_FALSE(flushed(least_normal - 22, mxref::block_flush::rounded));

  preset_desc p = preset::microxcaling_cpp;
  p.elements.flush = mxref::block_flush::subnormal;
  const float x[2] = {0x1p-126F, 0x1p-130F};
  float got[2];
  EXPECT_TRUE(mxref::fake_quantize(mxref::view(x, 1, 2), mxref::view(got, 1, 2), mxref::E5M2::desc,
                                   32, p.quantizer()));
  EXPECT_EQ(got[1], x[1]);
}

// torchao and gfloat blocks: scales and codes.
TYPED_TEST(GoldenPresetMicroxcaling, TorchaoAndGfloatScales) {
  const std::string name = std::string("blk_") + of<TypeParam>.name;
  const std::vector<std::uint64_t> in = golden::load(name + "_in");
  std::vector<float> x;
  for (const std::uint64_t bits : in) x.push_back(golden::to_float(bits));
  const auto rows = static_cast<mxref::index_t>(x.size() / 32);
  const auto scales_of = [&](const preset_desc& p) {
    std::vector<std::uint8_t> codes(x.size());
    std::vector<std::uint8_t> scales(x.size() / 32);
    EXPECT_TRUE(mxref::quantize(
        mxref::view(x.data(), rows, 32),
        mxref::quantized_view{TypeParam::desc, 32, codes.data(), 32, scales.data(), 1},
        p.quantizer()));
    return std::vector<std::uint64_t>(scales.begin(), scales.end());
  };
  EXPECT_EQ(scales_of(preset::gfloat), golden::entries(name + "_gfloat_scale", ""));
  if (of<TypeParam>.family == golden::kind::integer) return;
  EXPECT_EQ(scales_of(preset::torchao), golden::entries(name + "_torchao_scale", "FLOOR"));
}

}  // namespace
