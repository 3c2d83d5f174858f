// SPDX-License-Identifier: Apache-2.0
// gemm and verify as a kernel engineer calls them.
#include "tool.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

namespace {

using mxtool::dtype;
using tool_test::tool;
using bytes = std::vector<std::uint8_t>;

const std::string data = "'" MXREF_EXAMPLE_DATA "'";  // quoted for the shell
const std::string dump = data + "/gemm.npz";
const std::string model = " --accumulate nvidia-blackwell-tcgen05-mxf8f6f4";

std::string operands(const std::string& a_format = "e4m3") {
  return " --a " + dump + ":a --a-format " + a_format + " --a-scales " + dump + ":a_scales --b " +
         dump + ":b --b-format e4m3 --b-scales " + dump + ":b_scales";
}

class Verify : public tool {};

TEST_F(Verify, ThePublicDumpMatches) {
  const auto r = run("verify" + operands() + model + " --d " + dump + ":d");
  EXPECT_EQ(r.exit_code, 0) << r.err;
  EXPECT_EQ(r.out.substr(0, r.out.find('\n')), "MATCH 256/256 bit-exact");
  EXPECT_NE(r.out.find("public model, not measured silicon"), std::string::npos);
  EXPECT_NE(r.out.find("M 16  N 16  K 256"), std::string::npos);
}

TEST_F(Verify, TheShortModelNameStandsForItsOnlyKind) {
  EXPECT_EQ(
      run("verify" + operands() + " --model nvidia_blackwell_tcgen05 --d " + dump + ":d").exit_code,
      0);
}

TEST_F(Verify, TheDamagedDumpIsExplained) {
  const auto r = run("verify" + operands() + model + " --d " + data + "/gemm_damaged.npz:d");
  EXPECT_EQ(r.exit_code, 1);
  EXPECT_TRUE(r.out.starts_with("MISMATCH 31/256 outputs differ")) << r.out;
  for (const char* part :
       {"First mismatches (of 31)", "0x4a0966aa", "0x4a0966ab", "How far apart",
        "in 3 of 16 columns: 14 (15/16) 15 (15/16) 3 (1/16)", "...#..........##"}) {
    EXPECT_NE(r.out.find(part), std::string::npos) << part << "\n" << r.out;
  }
}

TEST_F(Verify, JsonHasTheFixedKeys) {
  const auto r = run("verify --json" + operands() + model + " --d " + data + "/gemm_damaged.npz:d");
  EXPECT_EQ(r.exit_code, 1);
  const auto json = nlohmann::json::parse(r.out);
  EXPECT_EQ(json["verdict"], "MISMATCH");
  EXPECT_EQ(json["total"], 256);
  EXPECT_EQ(json["mismatches"], 31);
  EXPECT_EQ(json["nan_payload_differences"], 0);
  EXPECT_EQ(json["model"], "nvidia-blackwell-tcgen05-mxf8f6f4");
  EXPECT_EQ(json["evidence"], "public model, not measured silicon");
  EXPECT_EQ(json["first"].size(), 10U);
  EXPECT_EQ(json["first"][0]["row"], 0);
  EXPECT_EQ(json["first"][0]["col"], 14);
  EXPECT_EQ(json["first"][0]["got_bits"], "0x4a0966aa");
  EXPECT_EQ(json["first"][0]["want_bits"], "0x4a0966ab");
  EXPECT_EQ(json["first"][0]["ulp"], 1);
}

TEST_F(Verify, PartsAndSamplesLookWhereTheyAreTold) {
  const std::string damaged = " --d " + data + "/gemm_damaged.npz:d";
  const auto whole = "verify" + operands() + model + damaged;
  EXPECT_TRUE(run(whole + " --cols 0:14").out.starts_with("MISMATCH 1/224"));
  EXPECT_TRUE(run(whole + " --cols 0:14 --rows 8:").out.starts_with("MATCH 112/112"));
  EXPECT_TRUE(run(whole + " --cols 4:14 --sample 50 --seed 7").out.starts_with("MATCH 50/50"));
  const auto once = run(whole + " --sample 100 --seed 3");
  EXPECT_EQ(once.exit_code, 1);
  EXPECT_EQ(once.out, run(whole + " --sample 100 --seed 3").out);
  expect_refused(whole + " --rows 5:2", {"--rows 5:2", "16"});
  expect_refused(whole + " --cols 0:17", {"--cols 0:17"});
}

TEST_F(Verify, OtherModelsDifferFromTheTensorCore) {
  // Truncation is not what any of the mathematical policies does.
  for (const char* other : {"exact", "block-exact-fp32", "block-fused-fp32", "fp32-chain"}) {
    const auto r = run("verify" + operands() + " --accumulate " + other + " --d " + dump + ":d");
    EXPECT_EQ(r.exit_code, 1) << other;
    EXPECT_NE(r.out.find("evidence  definition"), std::string::npos);
  }
}

TEST_F(Verify, GemmMakesWhatVerifyAccepts) {
  for (const char* policy : {"exact", "block-exact-fp32", "block-fused-fp32", "fp32-chain",
                             "nvidia-blackwell-tcgen05-mxf8f6f4"}) {
    for (const char* store : {"f32", "f16", "bf16"}) {
      const std::string what = operands() + " --accumulate " + policy + " --store-type " + store;
      ASSERT_EQ(run("gemm" + what + " --out " + path("d.npy")).exit_code, 0) << what;
      EXPECT_EQ(run("verify" + what + " --d " + path("d.npy")).exit_code, 0) << what;
    }
  }
  ASSERT_EQ(run("gemm" + operands() + " --accumulate exact --out-type bf16 --out " + path("d.npy"))
                .exit_code,
            0);
  EXPECT_EQ(shape_of("d.npy"), (mxtool::shape_type{16, 16}));
  EXPECT_EQ(mxtool::load_array(path("d.npy")).type, dtype::u16);
}

TEST_F(Verify, CAndTheEpilogueAreUsed) {
  save<std::uint8_t>("a.npy", dtype::u8, {1, 2}, {0x38, 0x40});  // E4M3 1, 2
  save<std::uint8_t>("b.npy", dtype::u8, {2, 2}, {0x38, 0x38, 0x40, 0x40});
  save<float>("c.npy", dtype::f32, {1, 2}, {10.0F, 20.0F});
  const std::string plain = " --a " + path("a.npy") + " --a-format e4m3 --b " + path("b.npy") +
                            " --b-format e4m3 --accumulate exact --out " + path("d.npy");
  ASSERT_EQ(run("gemm" + plain).exit_code, 0);
  EXPECT_EQ(load<float>("d.npy"), (std::vector<float>{3.0F, 6.0F}));
  ASSERT_EQ(run("gemm" + plain + " --c " + path("c.npy")).exit_code, 0);
  EXPECT_EQ(load<float>("d.npy"), (std::vector<float>{13.0F, 26.0F}));
  ASSERT_EQ(run("gemm" + plain + " --alpha 2 --beta -1 --c " + path("c.npy")).exit_code, 0);
  EXPECT_EQ(load<float>("d.npy"), (std::vector<float>{-4.0F, -8.0F}));
  expect_refused("gemm" + plain + " --beta 2", {"--beta", "--c"});
}

TEST_F(Verify, RawFilesNeedTheirShape) {
  ASSERT_EQ(run("gemm" + operands() + model + " --out " + path("d.bin")).exit_code, 0);
  const std::string tail = operands() + model + " --d " + path("d.bin");
  EXPECT_EQ(run("verify" + tail).exit_code, 0) << "D takes its shape from A and B";
  save<std::uint8_t>("a.bin", dtype::u8, {2, 32}, bytes(64, 0x38));
  save<std::uint8_t>("sa.bin", dtype::u8, {2, 1}, bytes(2, 127));
  save<std::uint8_t>("b.bin", dtype::u8, {3, 32}, bytes(96, 0x38));
  const std::string raw = " --a " + path("a.bin") + " --a-format e4m3 --a-scales " +
                          path("sa.bin") + " --b " + path("b.bin") +
                          " --b-format e4m3 --accumulate exact --out " + path("d.npy");
  ASSERT_EQ(run("gemm --shape 2,3,32" + raw).exit_code, 0);
  EXPECT_EQ(load<float>("d.npy"), std::vector<float>(6, 32.0F));
  expect_refused("gemm" + raw, {"a.bin"});
  expect_refused("gemm --shape 2,3,33" + raw, {"a.bin"});
}

TEST_F(Verify, PackedOperandsTakeKFromTheOtherSide) {
  save<std::uint8_t>("a.npy", dtype::u8, {1, 2}, {0x22, 0x02});  // E2M1: 1 1 1, K = 3
  save<std::uint8_t>("b.npy", dtype::u8, {1, 3}, {0x38, 0x38, 0x38});
  ASSERT_EQ(run("gemm --a " + path("a.npy") + " --a-format e2m1 --a-packing dense --b " +
                path("b.npy") + " --b-format e4m3 --accumulate exact --out " + path("d.npy"))
                .exit_code,
            0);
  EXPECT_EQ(load<float>("d.npy"), (std::vector<float>{3.0F}));
}

TEST_F(Verify, ChecksumsAreThoseOfTheFiles) {
  // The low 13 bits of tf32 do not count for the product, but they are in the file.
  save<float>("a.npy", dtype::f32, {1, 2}, {1.0F, 3.1415927F});
  save<float>("d.npy", dtype::f32, {1, 1}, {1.0F});
  const auto json = nlohmann::json::parse(
      run("verify --json --a " + path("a.npy") + " --a-format tf32 --b " + path("a.npy") +
          " --b-format tf32 --accumulate exact --d " + path("d.npy"))
          .out);
  const auto info = nlohmann::json::parse(run("info --json " + path("a.npy")).out);
  EXPECT_EQ(json["inputs"][0]["crc32"], info["files"][0]["crc32"]);
  EXPECT_EQ(info["files"][0]["crc32"], "f58d289f") << "zlib.crc32(a.tobytes()) in Python";
}

TEST_F(Verify, NanPayloadsAreCountedApart) {
  save<std::uint8_t>("a.npy", dtype::u8, {1, 32}, bytes(32, 0x7F));
  save<std::uint8_t>("b.npy", dtype::u8, {2, 32}, bytes(64, 0x38));
  save<std::uint32_t>("d.npy", dtype::u32, {1, 2}, {0x7FC00000, 0x7FFFFFFF});
  const std::string what = "verify --a " + path("a.npy") + " --a-format e4m3 --b " + path("b.npy") +
                           " --b-format e4m3 " + model + " --d " + path("d.npy");
  const auto by_class = run(what);
  EXPECT_EQ(by_class.exit_code, 0);
  EXPECT_NE(by_class.out.find("NaN payloads: 1 outputs"), std::string::npos) << by_class.out;
  EXPECT_EQ(run(what + " --nan-compare bits").exit_code, 1);
}

TEST_F(Verify, SignOfZeroIsAMismatchAtDistanceZero) {
  save<std::uint8_t>("a.npy", dtype::u8, {1, 32}, bytes(32, 0));
  save<std::uint8_t>("b.npy", dtype::u8, {1, 32}, bytes(32, 0x38));
  save<float>("d.npy", dtype::f32, {1, 1}, {-0.0F});
  const auto r = run("verify --json --a " + path("a.npy") + " --a-format e4m3 --b " +
                     path("b.npy") + " --b-format e4m3 --accumulate exact --d " + path("d.npy"));
  EXPECT_EQ(r.exit_code, 1);
  EXPECT_EQ(nlohmann::json::parse(r.out)["first"][0]["ulp"], 0);
}

TEST_F(Verify, RefusesProductsThatDoNotFit) {
  const std::string d = " --d " + dump + ":d";
  expect_refused("verify" + operands("e4m4") + model + d, {"e4m4", "e4m3"});
  expect_refused("verify" + operands() + " --accumulate nvidia-blackwel-tcgen05-mxf8f6f4" + d,
                 {"unknown model", "did you mean 'nvidia-blackwell-tcgen05-mxf8f6f4'?"});
  expect_refused("verify" + operands() + " --accumulate tcgen05" + d,
                 {"unknown model", "did you mean 'nvidia-blackwell-tcgen05-f16'?"});
  expect_refused("verify" + operands() + model + " --block 16" + d,
                 {"a_scales", "16 x 8", "16 x 16"});
  expect_refused("verify" + operands() + model + " --out-type f16" + d, {"output", "f16"});
  expect_refused("verify" + operands("int8") + model + d, {"does not take", "int8"});
  expect_refused("verify" + operands("bf16") + model + d, {"gemm.npz:a", "uint16"});
  expect_refused("verify" + operands() + model + d + " --store-type e8m0", {"format", "e8m0"});
  expect_refused("verify" + operands() + model + d + " --store-type e4m3", {"--d", "uint8"});
  expect_refused("verify" + operands() + model + " --d " + dump + ":dd", {"dd"});
  expect_refused("verify" + operands() + model + " --d " + dump + ":a", {"uint8", "float32"});
  save<float>("wide.npy", dtype::f32, {16, 17}, std::vector<float>(272));
  expect_refused("verify" + operands() + model + " --d " + path("wide.npy"),
                 {"wide.npy", "16 x 17", "16 x 16"});
  save<std::uint8_t>("b.npy", dtype::u8, {16, 255}, bytes(16 * 255));
  expect_refused("verify --a " + dump + ":a --a-format e4m3 --b " + path("b.npy") +
                     " --b-format e4m3 --accumulate exact" + d,
                 {"16 x 256", "16 x 255", "b.npy"});
}

}  // namespace
