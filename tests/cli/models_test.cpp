// SPDX-License-Identifier: Apache-2.0
// Models of matrix units by name: what info says of them, how a short name is resolved, what is
// refused, and products with each.
#include <algorithm>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "mxref/mxref.hpp"
#include "tool.hpp"

namespace {

using mxtool::dtype;
using tool_test::tool;

/// Operands of every format that a unit takes, as files; depth 128.
class Models : public tool {
 protected:
  void SetUp() override {
    tool::SetUp();
    save_codes<std::uint16_t>("f16.npy", dtype::u16, 0x3C00);
    save_codes<std::uint16_t>("bf16.npy", dtype::u16, 0x3F80);
    save_codes<std::uint32_t>("tf32.npy", dtype::u32, 0x3F800000);
    save_codes<std::uint32_t>("f32.npy", dtype::u32, 0x3F800000);
    save_codes<std::uint8_t>("e4m3.npy", dtype::u8, 0x38);
    save_codes<std::uint8_t>("e5m2.npy", dtype::u8, 0x3C);
    save_codes<std::uint8_t>("e2m3.npy", dtype::u8, 0x08);
    save_codes<std::uint8_t>("e3m2.npy", dtype::u8, 0x0C);
    save_codes<std::uint8_t>("e2m1.npy", dtype::u8, 0x02);
    save_codes<std::uint8_t>("int8.npy", dtype::u8, 0x40);
    save_codes<std::uint8_t>("e4m3fnuz.npy", dtype::u8, 0x40);
    save_codes<std::uint8_t>("e5m2fnuz.npy", dtype::u8, 0x40);
    save<std::uint8_t>("e8m0_32.npy", dtype::u8, {2, 4}, std::vector<std::uint8_t>(8, 127));
    save<std::uint8_t>("e8m0_16.npy", dtype::u8, {2, 8}, std::vector<std::uint8_t>(16, 127));
    save<std::uint8_t>("e4m3_16.npy", dtype::u8, {2, 8}, std::vector<std::uint8_t>(16, 0x38));
  }

  /// --a, --b and what belongs to them; scales such as "e8m0_32", or none.
  std::string operands(const std::string& format, const std::string& scales = "") {
    std::string text;
    for (const char* side : {"a", "b"}) {
      const std::string option = std::string(" --") + side;
      text += option + ' ' + path(format + ".npy") + option + "-format " + format;
      if (!scales.empty()) text += option + "-scales " + path(scales + ".npy");
    }
    if (scales.empty()) return text;
    const auto dash = scales.find('_');
    return text + " --scale-format " + scales.substr(0, dash) + " --block " +
           scales.substr(dash + 1);
  }

  std::string gemm(const std::string& model, const std::string& what) {
    return "gemm --model " + model + what + " --out " + path("d.npy");
  }

  /// The full name that verify prints for a short one; the product of ones is a match.
  std::string resolved(const std::string& model, const std::string& what) {
    const auto made = run(gemm(model, what));
    EXPECT_EQ(made.exit_code, 0) << made.err;
    const auto r = run("verify --json --model " + model + what + " --d " + path("d.npy"));
    EXPECT_EQ(r.exit_code, 0) << r.err;
    return nlohmann::json::parse(r.out)["model"].get<std::string>();
  }

 private:
  template <class T>
  void save_codes(const std::string& name, dtype type, std::uint32_t one) {
    save<T>(name, type, {2, 128}, std::vector<T>(256, static_cast<T>(one)));
  }
};

TEST_F(Models, InfoHasEvidenceAndSourceForEachLine) {
  const auto json = nlohmann::json::parse(run("info --models --json").out)["models"];
  std::set<std::string> evidence;
  std::size_t units = 0;
  for (const auto& model : json) {
    if (!model.contains("modes")) {
      EXPECT_EQ(model["evidence"], "definition");
      continue;
    }
    ++units;
    EXPECT_FALSE(model["modes"].empty()) << model["name"];
    for (const auto& mode : model["modes"]) {
      EXPECT_FALSE(mode["a"].get<std::string>().empty());
      EXPECT_FALSE(mode["source"].get<std::string>().empty());
      EXPECT_GT(mode["length"], 0);
      evidence.insert(mode["evidence"].get<std::string>());
    }
  }
  EXPECT_EQ(units, std::size(mxref::matrix_units));
  EXPECT_EQ(json.size(), units + 4);
  EXPECT_EQ(evidence.size(), 3U) << "measured, public model, guess";
  const std::string text = run("info --models").out;
  for (const mxref::unit_model& m : mxref::matrix_units) {
    EXPECT_NE(text.find(m.name), std::string::npos);
  }
  EXPECT_NE(text.find("measured on hardware"), std::string::npos);
}

TEST_F(Models, ShortNamesStandForTheOneKindThatTakesTheOperands) {
  const std::string tcgen05 = "nvidia-blackwell-tcgen05";
  EXPECT_EQ(resolved(tcgen05, operands("f16")), tcgen05 + "-f16");
  EXPECT_EQ(resolved(tcgen05, operands("bf16")), tcgen05 + "-f16");
  EXPECT_EQ(resolved(tcgen05, operands("tf32")), tcgen05 + "-tf32");
  EXPECT_EQ(resolved(tcgen05, operands("e4m3")), tcgen05 + "-f8f6f4");
  EXPECT_EQ(resolved(tcgen05, operands("e2m1")), tcgen05 + "-f8f6f4");
  EXPECT_EQ(resolved(tcgen05, operands("e4m3", "e8m0_32")), tcgen05 + "-mxf8f6f4");
  EXPECT_EQ(resolved(tcgen05, operands("e2m1", "e4m3_16")), tcgen05 + "-mxf4nvf4");
  EXPECT_EQ(resolved("NVIDIA_Blackwell_tcgen05", operands("e2m1", "e8m0_16")),
            tcgen05 + "-mxf4nvf4");
  std::string nvfp4 = operands("e2m1", "e4m3_16");
  nvfp4.resize(nvfp4.find(" --scale-format"));
  for (auto at = nvfp4.find("-format e2m1"); at != std::string::npos;
       at = nvfp4.find("-format e2m1")) {
    nvfp4.replace(at, 12, "-format nvfp4");
  }
  EXPECT_EQ(resolved(tcgen05, nvfp4), tcgen05 + "-mxf4nvf4");
  // A full name that is a short one too.
  const std::string rtx = "nvidia-rtx-blackwell-mma";
  EXPECT_EQ(resolved(rtx, operands("f16")), rtx);
  EXPECT_EQ(resolved(rtx, operands("e4m3")), rtx + "-f8f6f4");
  EXPECT_EQ(resolved("nvidia-rtx-blackwell", operands("bf16")), rtx);
  EXPECT_EQ(resolved("amd-cdna2-mfma", operands("bf16")), "amd-cdna2-mfma");
  EXPECT_EQ(resolved("amd-cdna2-mfma-1k", operands("bf16")), "amd-cdna2-mfma-1k");
}

TEST_F(Models, AmbiguousAndImpossibleCombinationsAreListed) {
  const std::string tcgen05 = "nvidia-blackwell-tcgen05";
  expect_refused(
      gemm(tcgen05, operands("e2m1", "e8m0_32")),
      {"choose one of", tcgen05 + "-mxf8f6f4", tcgen05 + "-mxf4", tcgen05 + "-mxf4nvf4"});
  expect_refused(gemm(tcgen05, operands("int8")), {"none takes these operands", tcgen05 + "-f16"});
  expect_refused(gemm(tcgen05, operands("tf32") + " --out-type f16"), {"none takes"});
  expect_refused(gemm("nvidia-turing-mma", operands("bf16")), {"does not take", "bf16"});
  expect_refused(gemm("nvidia-hopper-wgmma", operands("e4m3", "e8m0_32")), {"does not take"});
  expect_refused(gemm("nvidia-ampere-mma", operands("tf32") + " --out-type f16"),
                 {"does not take", "f16"});
  expect_refused(gemm(tcgen05 + "-mxf4", operands("e2m1", "e8m0_16")), {"does not take", "block"});
  expect_refused(gemm("amd-cdna3-mfma", operands("e4m3")), {"does not take"});
  expect_refused(gemm("nvidia-volta", operands("f16")), {"unknown model", "nvidia-volta-mma"});
  expect_refused(gemm("nvidia-hopper-wgmma", operands("e4m3") + " --promote 48"),
                 {"does not take"});
  expect_refused(gemm("exact", operands("e4m3") + " --scale-format e5m3"),
                 {"scale format", "e8m0"});
}

// The product of ones is K in every line of every model.
TEST_F(Models, EachMultipliesOnes) {
  const std::pair<std::string, mxref::element_set> formats[] = {
      {"f16", mxref::set_f16},   {"bf16", mxref::set_bf16}, {"tf32", mxref::set_tf32},
      {"e4m3", mxref::set_e4m3}, {"e2m1", mxref::set_e2m1}, {"e4m3fnuz", mxref::set_e4m3fnuz}};
  for (const mxref::unit_model& m : mxref::matrix_units) {
    for (int i = 0; i < m.mode_count; ++i) {
      const mxref::unit_mode& mode = m.modes[i];
      if (mode.unit.accumulator != mxref::binary32_desc) continue;
      std::string scales;
      if (mode.block != 0) {
        scales = mode.scale_format == mxref::E8M0::desc ? "e8m0_" : "e4m3_";
        scales += std::to_string(mode.block);
      }
      for (const auto& [format, set] : formats) {
        if ((mode.a & set) == 0) continue;
        const std::string what = operands(format, scales) + " --threads 1";
        const auto r = run(gemm(m.name, what));
        ASSERT_EQ(r.exit_code, 0) << r.err;
        EXPECT_EQ(load<float>("d.npy"), std::vector<float>(4, 128.0F)) << m.name << what;
      }
    }
  }
}

TEST_F(Models, ReportsPrintEvidenceAndSource) {
  const auto check = [&](const std::string& model, const std::string& what,
                         const std::string& evidence, const std::string& source) {
    ASSERT_EQ(run(gemm(model, what)).exit_code, 0);
    const std::string verify = "verify --model " + model + what + " --d " + path("d.npy");
    const auto r = run(verify);
    EXPECT_NE(r.out.find("evidence  " + evidence), std::string::npos) << r.out;
    EXPECT_NE(r.out.find(source), std::string::npos) << r.out;
    const auto json = nlohmann::json::parse(run(verify + " --json").out);
    EXPECT_EQ(json["evidence"].get<std::string>().substr(0, 5), evidence.substr(0, 5));
    EXPECT_NE(json["source"].get<std::string>().find(source), std::string::npos);
  };
  check("nvidia-ampere-mma", operands("f16"), "measured on hardware", "MATLAB-tensor-core");
  check("nvidia-turing-mma", operands("f16"), "public model", "MMA-Sim v2");
  check("nvidia-blackwell-tcgen05-f8f6f4", operands("e2m3"), "guess", "extended");
  check("amd-cdna4-mfma-scale", operands("e2m1", "e8m0_32"), "guess", "unverified");
}

TEST_F(Models, OrdersOfLibraries) {
  // 128 ones; the first product is 2^14, and 13 fraction bits lose each of the others.
  std::vector<std::uint8_t> codes(256, 0x30);  // 0.5
  codes[0] = codes[128] = 0x70;                // 128
  std::vector<std::uint8_t> ones(256, 0x38);
  ones[0] = ones[128] = 0x70;
  save<std::uint8_t>("x.npy", dtype::u8, {2, 128}, codes);
  save<std::uint8_t>("y.npy", dtype::u8, {2, 128}, ones);
  const std::string what =
      " --a " + path("x.npy") + " --a-format e4m3 --b " + path("y.npy") + " --b-format e4m3";
  const auto first = [&](const std::string& options) {
    const auto r = run(gemm("nvidia-hopper-wgmma", what + options));
    EXPECT_EQ(r.exit_code, 0) << r.err;
    return load<float>("d.npy")[0];
  };
  EXPECT_EQ(first(""), 16384.0F);
  EXPECT_EQ(first(" --promote 32"), 16384.0F + 48);
  EXPECT_EQ(first(" --split-k 2"), 16384.0F + 32);
  EXPECT_EQ(first(" --tensor-scale 0.25"), 4096.0F);
  EXPECT_EQ(first(" --tensor-scale 0.25 --alpha 2"), 8192.0F);
  const auto r =
      run("verify --model nvidia-hopper-wgmma --promote 32" + what + " --d " + path("d.npy"));
  EXPECT_EQ(r.exit_code, 1);
  EXPECT_NE(r.out.find("promotion every 32 k"), std::string::npos) << r.out;

  ASSERT_EQ(run(gemm("nvidia-hopper-wgmma", what + " --store-type e5m2")).exit_code, 0);
  EXPECT_EQ(load<std::uint8_t>("d.npy"), std::vector<std::uint8_t>(4, 0x74));
  EXPECT_EQ(
      run("verify --model nvidia-hopper-wgmma --store-type e5m2" + what + " --d " + path("d.npy"))
          .exit_code,
      0);
}

}  // namespace
