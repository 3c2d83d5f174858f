// SPDX-License-Identifier: Apache-2.0
// encode, decode, quantize, dequantize and info as a user calls them; bad input.
#include "tool.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <nlohmann/json.hpp>

#include "mxref/mxref.hpp"

namespace {

using mxtool::dtype;
using tool_test::tool;
using bytes = std::vector<std::uint8_t>;

class Tool : public tool {
 protected:
  void SetUp() override {
    tool::SetUp();
    save<float>("t1.npy", dtype::f32, {4}, {957.0F, 960.0F, -959.5632F, 57.7898F});
    std::vector<float> ramp(3 * 40);
    for (std::size_t i = 0; i < ramp.size(); ++i) ramp[i] = static_cast<float>(i) - 60.5F;
    save<float>("ramp.npy", dtype::f32, {3, 40}, ramp);
  }
};

TEST_F(Tool, HelpOfEveryCommandExitsZero) {
  for (const char* command :
       {"", "encode", "decode", "quantize", "dequantize", "gemm", "verify", "info"}) {
    const auto r = run(std::string(command) + " --help");
    EXPECT_EQ(r.exit_code, 0) << command;
    EXPECT_NE(r.out.find("--help"), std::string::npos) << command;
    EXPECT_EQ(r.err, "");
  }
  EXPECT_EQ(run("--version").out, "mxref 0.1.0\n");
}

TEST_F(Tool, EncodesWithEachPolicy) {
  save<float>("x.npy", dtype::f32, {3}, {464.0F, 465.0F, -0.25F});
  ASSERT_EQ(run("encode --format e4m3 " + path("x.npy") + " " + path("c.npy")).exit_code, 0);
  EXPECT_EQ(load<std::uint8_t>("c.npy"), (bytes{0x7E, 0x7E, 0xA8}));
  ASSERT_EQ(
      run("encode --format e4m3 --overflow nonsaturating " + path("x.npy") + " " + path("c.npy"))
          .exit_code,
      0);
  EXPECT_EQ(load<std::uint8_t>("c.npy"), (bytes{0x7E, 0x7F, 0xA8}));
  ASSERT_EQ(
      run("encode --format E2M1 --rounding down " + path("x.npy") + " " + path("c.npy")).exit_code,
      0);
  EXPECT_EQ(load<std::uint8_t>("c.npy"), (bytes{0x7, 0x7, 0x9}));
  ASSERT_EQ(run("encode --format e8m0 --negative abs --rounding up " + path("x.npy") + " " +
                path("c.npy"))
                .exit_code,
            0);
  EXPECT_EQ(load<std::uint8_t>("c.npy"), (bytes{136, 136, 125}));
}

TEST_F(Tool, EncodesDoublesWithoutDoubleRounding) {
  save<double>("x.npy", dtype::f64, {1}, {232.00000000000006});
  ASSERT_EQ(run("encode --format e4m3 " + path("x.npy") + " " + path("c.npy")).exit_code, 0);
  EXPECT_EQ(load<std::uint8_t>("c.npy"), (bytes{0x77}));
}

TEST_F(Tool, DecodesContainersAndPackedRows) {
  save<std::uint8_t>("c.npy", dtype::u8, {2, 1}, {0x21, 0xF0});
  ASSERT_EQ(
      run("decode --format e2m1 --packing dense " + path("c.npy") + " " + path("x.npy")).exit_code,
      0);
  EXPECT_EQ(shape_of("x.npy"), (mxtool::shape_type{2, 2}));
  EXPECT_EQ(load<float>("x.npy"), (std::vector<float>{0.5F, 1.0F, 0.0F, -6.0F}));
  ASSERT_EQ(
      run("decode --format e2m1 --packing dense --depth 1 " + path("c.npy") + " " + path("x.npy"))
          .exit_code,
      0);
  EXPECT_EQ(load<float>("x.npy"), (std::vector<float>{0.5F, 0.0F}));
  save<std::uint16_t>("h.npy", dtype::u16, {2}, {0x3C00, 0x7BFF});
  ASSERT_EQ(run("decode --format f16 " + path("h.npy") + " " + path("x.npy")).exit_code, 0);
  EXPECT_EQ(load<float>("x.npy"), (std::vector<float>{1.0F, 65504.0F}));
}

TEST_F(Tool, Tf32CodesAreBinary32Patterns) {
  save<float>("x.npy", dtype::f32, {3}, {1.0F, -3.1415927F, 1e-40F});
  ASSERT_EQ(run("encode --format tf32 " + path("x.npy") + " " + path("c.npy")).exit_code, 0);
  EXPECT_EQ(load<std::uint32_t>("c.npy"),
            (std::vector<std::uint32_t>{0x3F800000, 0xC0490000, 0x00012000}));
  ASSERT_EQ(run("decode --format tf32 " + path("c.npy") + " " + path("y.npy")).exit_code, 0);
  EXPECT_EQ(load<std::uint32_t>("y.npy"), load<std::uint32_t>("c.npy"));
}

TEST_F(Tool, QuantizesTheCaseThatUsersReport) {
  ASSERT_EQ(run("quantize --format e4m3 " + path("t1.npy") + " --codes " + path("c.npy") +
                " --scales " + path("s.npy"))
                .exit_code,
            0);
  EXPECT_EQ(load<std::uint8_t>("c.npy"), (bytes{0x7E, 0x7E, 0xFE, 0x5E}));
  EXPECT_EQ(load<std::uint8_t>("s.npy"), (bytes{128}));
  ASSERT_EQ(run("dequantize --format e4m3 --codes " + path("c.npy") + " --scales " + path("s.npy") +
                " " + path("x.npy"))
                .exit_code,
            0);
  EXPECT_EQ(load<float>("x.npy"), (std::vector<float>{896.0F, 896.0F, -896.0F, 56.0F}));
}

TEST_F(Tool, EveryPackingAndAxisRoundTrips) {
  for (const char* format : {"e4m3", "e5m2", "e3m2", "e2m3", "e2m1", "int8"}) {
    const std::string base = std::string("quantize --format ") + format + " " + path("ramp.npy");
    ASSERT_EQ(run(base + " --codes " + path("c.npy") + " --scales " + path("s.npy")).exit_code, 0);
    ASSERT_EQ(run(std::string("dequantize --format ") + format + " --codes " + path("c.npy") +
                  " --scales " + path("s.npy") + " " + path("plain.npy"))
                  .exit_code,
              0);
    ASSERT_EQ(
        run(base + " --packing dense --codes " + path("pc.npy") + " --scales " + path("ps.npy"))
            .exit_code,
        0);
    ASSERT_EQ(
        run(std::string("dequantize --packing dense --depth 40 --format ") + format + " --codes " +
            path("pc.npy") + " --scales " + path("ps.npy") + " " + path("packed.npy"))
            .exit_code,
        0);
    EXPECT_EQ(load<float>("plain.npy"), load<float>("packed.npy")) << format;
    EXPECT_EQ(shape_of("plain.npy"), (mxtool::shape_type{3, 40}));
    EXPECT_EQ(shape_of("s.npy"), (mxtool::shape_type{3, 2}));

    ASSERT_EQ(
        run(base + " --axis 0 --codes " + path("c0.npy") + " --scales " + path("s0.npy")).exit_code,
        0);
    EXPECT_EQ(shape_of("c0.npy"), (mxtool::shape_type{40, 3}));
    EXPECT_EQ(shape_of("s0.npy"), (mxtool::shape_type{40, 1}));
    ASSERT_EQ(run(std::string("dequantize --axis 0 --format ") + format + " --codes " +
                  path("c0.npy") + " --scales " + path("s0.npy") + " " + path("axis0.npy"))
                  .exit_code,
              0);
    EXPECT_EQ(shape_of("axis0.npy"), (mxtool::shape_type{3, 40}));
  }
}

TEST_F(Tool, InfoListsWhatThereIs) {
  const auto json =
      nlohmann::json::parse(run("info --formats --models --rules --targets --json").out);
  EXPECT_EQ(json["formats"].size(), 17U);
  EXPECT_EQ(json["formats"][0]["largest"], 448.0);
  EXPECT_EQ(json["models"].size(), 4 + std::size(mxref::matrix_units));
  EXPECT_EQ(json["rules"]["rounding"].size(), 8U);
  EXPECT_EQ(json["rules"]["packing"].size(), 6U);
  EXPECT_EQ(json["rules"]["scale-layout"].size(), 6U);
  const auto file = nlohmann::json::parse(run("info --json " + path("ramp.npy")).out);
  EXPECT_EQ(file["files"][0]["shape"], (std::vector<int>{3, 40}));
  EXPECT_EQ(run("info " + path("ramp.npy")).exit_code, 0);
}

TEST_F(Tool, RefusesUnknownNamesWithASuggestion) {
  const std::string files = " " + path("ramp.npy") + " " + path("out.npy");
  expect_refused("encode --format e4m4" + files, {"unknown format 'e4m4'", "did you mean 'e4m3'?"});
  expect_refused("encode --format e4m3 --rounding nearest-evn" + files,
                 {"rounding", "nearest-even"});
  expect_refused("encode --format e4m3 --overflow sat" + files, {"overflow", "saturate"});
  expect_refused("encode --format e8m0 --negative drop" + files, {"negative", "abs"});
  const std::string blocks =
      " " + path("ramp.npy") + " --codes " + path("c.npy") + " --scales " + path("s.npy");
  expect_refused("quantize --format e4m3 --scale flor" + blocks, {"scale rule", "'floor'"});
  expect_refused("quantize --format e4m3 --nan posion" + blocks, {"NaN policy", "'poison'"});
  expect_refused("quantize --format e4m3 --packing dens" + blocks, {"packing", "'dense'"});
  expect_refused("quantize --format e4m3 --scale-format e5m3" + blocks, {"scale format", "e8m0"});
  expect_refused("quantize --format bf16" + blocks, {"--format bf16", "at most 8 bits"});
  expect_refused("quantise --format e4m3" + blocks, {""});
  expect_refused("quantize --format e4m3 --block 0" + blocks, {"--block 0"});
  expect_refused("quantize --format e4m3 --axis 2" + blocks, {"--axis"});
  expect_refused("", {""});
}

TEST_F(Tool, RefusesBadFiles) {
  const std::string out = " " + path("out.npy");
  expect_refused("encode --format e4m3 " + path("absent.npy") + out, {"absent.npy"});
  {
    std::ofstream(path("foreign.npy")) << "this is text\n";
    std::string whole = read_text(path("ramp.npy"));
    std::ofstream(path("cut.npy"), std::ios::binary) << whole.substr(0, whole.size() - 7);
  }
  expect_refused("encode --format e4m3 " + path("foreign.npy") + out, {"foreign.npy"});
  expect_refused("encode --format e4m3 " + path("cut.npy") + out, {"cut.npy"});
  save<std::uint8_t>("codes.npy", dtype::u8, {2, 4}, {0, 1, 2, 3, 4, 5, 6, 200});
  expect_refused("encode --format e4m3 " + path("codes.npy") + out,
                 {"codes.npy", "uint8", "float32"});
  expect_refused("decode --format e2m1 " + path("codes.npy") + out,
                 {"codes.npy", "element 7", "0xc8", "4 bits"});
  expect_refused("decode --format bf16 " + path("codes.npy") + out, {"codes.npy", "uint16"});
  expect_refused("decode --format e2m1 --packing dense --depth 9 " + path("codes.npy") + out,
                 {"codes.npy", "9 packed", "--depth"});
  expect_refused("encode --format e4m3 " + path("ramp.npy") + " " + path("no/such/out.npy"),
                 {"no/such"});
  expect_refused("encode --format e4m3 " + path("ramp.npy") + " " + path("ramp.npy/out.npy"),
                 {"ramp.npy/out.npy"});
  expect_refused("encode --format e4m3 " + path("ramp.npy") + " " + path("out.txt"), {"out.txt"});
}

TEST_F(Tool, RefusesBlocksThatDoNotFit) {
  save<std::uint8_t>("c.npy", dtype::u8, {2, 64}, bytes(128));
  save<std::uint8_t>("s.npy", dtype::u8, {2, 3}, bytes(6));
  save<float>("sf.npy", dtype::f32, {2, 2}, std::vector<float>(4));
  const std::string out = " " + path("out.npy");
  expect_refused(
      "dequantize --format e4m3 --codes " + path("c.npy") + " --scales " + path("s.npy") + out,
      {"s.npy", "2 x 3", "2 x 2"});
  expect_refused(
      "dequantize --format e4m3 --codes " + path("c.npy") + " --scales " + path("sf.npy") + out,
      {"sf.npy", "uint8", "float32"});
  expect_refused("dequantize --format e4m3 --codes - --scales -" + out,
                 {"--codes", "--scales", "standard input"});
  const std::string outputs = " --codes " + path("oc.npy") + " --scales " + path("os.npy");
  expect_refused("quantize --strict --format e4m3 " + path("ramp.npy") + outputs,
                 {"ramp.npy", "multiple of the block"});
  expect_refused("quantize --format e4m3 " + path("ramp.npy") + " --codes " + path("same.npy") +
                     " --scales " + path("same.npy"),
                 {"same.npy"});
  save<float>("nan.npy", dtype::f32, {1, 2}, {1.0F, std::numeric_limits<float>::quiet_NaN()});
  expect_refused("quantize --nan finite --format e2m1 " + path("nan.npy") + outputs,
                 {"nan.npy", "NaN"});
  save<float>("cube.npy", dtype::f32, {2, 2, 2}, std::vector<float>(8));
  expect_refused("quantize --axis 0 --format e4m3 " + path("cube.npy") + outputs,
                 {"cube.npy", "two axes"});
}

}  // namespace
