// SPDX-License-Identifier: Apache-2.0
// Scale rules, presets, NVFP4 and random rounding in the tool, against the library.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <random>
#include <string>
#include <vector>

#include "mxref/mxref.hpp"
#include "tool.hpp"

namespace {

using mxref::index_t;
using mxtool::dtype;
using tool_test::tool;

constexpr index_t rows = 5;
constexpr index_t cols = 70;

class Rules : public tool {
 protected:
  void SetUp() override {
    tool::SetUp();
    std::mt19937 r(1);
    std::normal_distribution<float> normal;
    x.resize(rows * cols);
    for (float& v : x) v = normal(r);
    x[3] = -0.0F;
    x[4] = std::numeric_limits<float>::quiet_NaN();
    save<float>("x.npy", dtype::f32, {rows, cols}, x);
    const std::vector<double> wide(x.begin(), x.end());
    save<double>("x64.npy", dtype::f64, {rows, cols}, wide);
    std::vector<float> finite = x;
    finite[4] = 1.0F;
    save<float>("finite.npy", dtype::f32, {rows, cols}, finite);
    x_finite = finite;
  }
  std::string quantize(const std::string& options, const std::string& in = "x.npy") {
    return "quantize " + options + ' ' + path(in) + " --codes " + path("c.npy") + " --scales " +
           path("s.npy");
  }
  std::vector<std::uint8_t> bytes(const std::string& name) {
    const mxtool::array a = mxtool::load_array(path(name));
    std::vector<std::uint8_t> b;
    for (const std::byte v : a.bytes) b.push_back(std::to_integer<std::uint8_t>(v));
    return b;
  }

  std::vector<float> x;
  std::vector<float> x_finite;
};

// The smallest m at which each rule's scale is one above floor's; typed, not computed.
TEST_F(Rules, ThresholdsAreThoseOfTheTable) {
  const auto r = run("info --rules --json");
  ASSERT_EQ(r.exit_code, 0) << r.err;
  const auto json = nlohmann::json::parse(r.out);
  using row = std::map<std::string, std::string>;
  const std::map<std::string, row> table{
      {"floor",
       {{"e4m3", "never"},
        {"e5m2", "never"},
        {"e2m1", "never"},
        {"e2m3", "never"},
        {"e3m2", "never"}}},
      {"even",
       {{"e4m3", "1.9375"},
        {"e5m2", "1.875"},
        {"e2m1", "1.75"},
        {"e2m3", "1.9375"},
        {"e3m2", "1.875"}}},
      {"rceil",
       {{"e4m3", "> 1.75"},
        {"e5m2", "> 1.75"},
        {"e2m1", "> 1.5"},
        {"e2m3", "> 1.875"},
        {"e3m2", "> 1.75"}}},
      {"ceil",
       {{"e4m3", "> 1"}, {"e5m2", "> 1"}, {"e2m1", "> 1"}, {"e2m3", "> 1"}, {"e3m2", "> 1"}}}};
  std::size_t found = 0;
  for (const auto& rule : json.at("rules").at("scale")) {
    for (const char* key : {"formula", "used_by", "differs", "scale_format"}) {
      EXPECT_FALSE(rule.at(key).get<std::string>().empty()) << rule;
    }
    const auto want = table.find(rule.at("name").get<std::string>());
    if (want == table.end()) continue;
    ++found;
    EXPECT_EQ(rule.at("moves_from").get<row>(), want->second) << rule.at("name");
  }
  EXPECT_EQ(found, table.size());
}

TEST_F(Rules, EveryRuleHasANameThatTheToolTakes) {
  const auto json = nlohmann::json::parse(run("info --rules --json").out);
  for (const auto& rule : json.at("rules").at("scale")) {
    const auto name = rule.at("name").get<std::string>();
    const bool nvfp4 = rule.at("scale_format") == "e4m3";
    const bool two_levels = nvfp4 && name != "nvfp4-ggml";
    const std::string options = std::string(nvfp4 ? "--format nvfp4" : "--format e2m1") +
                                (two_levels ? " --tensor-scale " + path("t.npy") : "");
    const auto r = run(quantize(options + " --scale " + name, "finite.npy"));
    EXPECT_EQ(r.exit_code, 0) << name << r.err;
  }
}

TEST_F(Rules, PresetsAreThoseOfTheLibrary) {
  for (const mxref::preset_desc* p : mxref::presets) {
    for (const char* in : {"x.npy", "x64.npy"}) {
      const auto e = run("encode --format e4m3 --preset " + std::string(p->name) + ' ' + path(in) +
                         ' ' + path("e.npy"));
      ASSERT_EQ(e.exit_code, 0) << e.err;
      const auto codes = bytes("e.npy");
      for (std::size_t i = 0; i < x.size(); ++i) {
        EXPECT_EQ(codes[i], mxref::encode<mxref::E4M3>(x[i], *p).code) << p->name << ' ' << x[i];
      }
    }
    if (!p->has_blocks) continue;
    const auto q = run(quantize("--format e2m1 --preset " + std::string(p->name)));
    ASSERT_EQ(q.exit_code, 0) << q.err;
    std::vector<std::uint8_t> codes(x.size());
    std::vector<std::uint8_t> scales(rows * 3);
    const mxref::quantized_view want{mxref::E2M1::desc, 32, codes.data(), cols, scales.data(), 3};
    ASSERT_TRUE(mxref::quantize(mxref::view(x.data(), rows, cols), want, p->quantizer()));
    EXPECT_EQ(bytes("c.npy"), codes) << p->name;
    EXPECT_EQ(bytes("s.npy"), scales) << p->name;
  }
}

TEST_F(Rules, StochasticRoundingDependsOnPositionsAlone) {
  std::vector<std::uint8_t> codes(x.size());
  for (const int axis : {-1, 0}) {
    std::vector<std::uint8_t> scales(static_cast<std::size_t>(axis == 0 ? cols : rows * 3));
    const mxref::quantized_view want{mxref::E4M3::desc, 32,
                                     codes.data(),      axis == 0 ? rows : cols,
                                     scales.data(),     axis == 0 ? 1 : 3};
    const mxref::quantizer<mxref::scale::floor, mxref::rounding::philox> q{{}, {11, 9}, {}, {}};
    ASSERT_TRUE(mxref::quantize(mxref::view(x_finite.data(), rows, cols), want, q, {axis, false}));
    for (const char* engine : {"", " --threads 1", " --target scalar"}) {
      ASSERT_EQ(run(quantize("--format e4m3 --rounding stochastic --seed 11 --sr-bits 9 --axis " +
                                 std::to_string(axis) + engine,
                             "finite.npy"))
                    .exit_code,
                0);
      EXPECT_EQ(bytes("c.npy"), codes) << axis << engine;
    }
  }
  ASSERT_EQ(run("encode --format e2m3 --rounding stochastic --seed 5 " + path("finite.npy") + ' ' +
                path("e.npy"))
                .exit_code,
            0);
  const auto encoded = bytes("e.npy");
  for (std::size_t i = 0; i < x.size(); ++i) {
    EXPECT_EQ(encoded[i],
              mxref::encode<mxref::E2M3>(x_finite[i], mxref::rounding::philox{5}.at(i)).code);
  }
}

TEST_F(Rules, Nvfp4ThereAndBack) {
  float amax = 0;
  for (const float v : x_finite) amax = std::fmax(amax, std::fabs(v));
  ASSERT_EQ(run(quantize("--format nvfp4 --tensor-scale " + path("t.npy"), "finite.npy")).exit_code,
            0);
  const mxref::scale::nvfp4_torchao rule{mxref::scale::nvfp4_torchao::tensor_scale_of(amax)};
  const auto want = mxref::quantize<mxref::mx_block<mxref::E2M1, 16, mxref::UE4M3>>(
      mxref::view(x_finite.data(), rows, cols), rule);
  const auto codes = bytes("c.npy");
  const auto scales = bytes("s.npy");
  EXPECT_TRUE(std::equal(codes.begin(), codes.end(), want.codes()));
  EXPECT_TRUE(std::equal(scales.begin(), scales.end(), want.scales()));
  ASSERT_EQ(run("dequantize --format nvfp4 --codes " + path("c.npy") + " --scales " +
                path("s.npy") + " --tensor-scale " + path("t.npy") + ' ' + path("y.npy"))
                .exit_code,
            0);
  const mxtool::array y = mxtool::load_array(path("y.npy"));
  for (index_t r = 0; r < rows; ++r) {
    for (index_t k = 0; k < cols; ++k) {
      float got = 0;
      std::memcpy(&got, y.bytes.data() + (r * cols + k) * 4, 4);
      const volatile float value = want.value(r, k) * rule.tensor_scale;
      EXPECT_EQ(got, value);
    }
  }
}

TEST_F(Rules, RefuseWhatDoesNotGoTogether) {
  expect_refused(quantize("--format e2m1 --scale nvfp4-te"), {"nvfp4-te", "--scale-format e4m3"});
  expect_refused(quantize("--format nvfp4 --scale rceil"), {"rceil", "--scale-format e8m0"});
  expect_refused(quantize("--format e2m1 --scale rcel"), {"rcel", "did you mean 'rceil'"});
  expect_refused(quantize("--format nvfp4 --scale nvfp4-four-over-six"), {"--tensor-scale"});
  expect_refused(quantize("--format nvfp4 --scale nvfp4-ggml --tensor-scale " + path("t.npy")),
                 {"nvfp4-ggml", "one level"});
  expect_refused(quantize("--format e4m3 --tensor-scale " + path("t.npy")),
                 {"--scale-format e4m3"});
  expect_refused(quantize("--format e4m3 --seed 3"), {"--rounding stochastic"});
  expect_refused(quantize("--format e4m3 --preset cudda"), {"cudda", "did you mean 'cuda'"});
  expect_refused("encode --format e8m0 --preset ggml " + path("x.npy") + ' ' + path("e.npy"),
                 {"ggml", "e8m0"});
  expect_refused("dequantize --format nvfp4 --codes " + path("x.npy") + " --scales " +
                     path("x.npy") + ' ' + path("y.npy"),
                 {"x.npy"});
}

}  // namespace
