// SPDX-License-Identifier: Apache-2.0
// --target and --threads: they choose the speed, never a bit.
#include <algorithm>
#include <nlohmann/json.hpp>
#include <random>
#include <thread>

#include "engine.hpp"
#include "tool.hpp"

namespace {

using mxtool::dtype;
using tool_test::tool;

/// The names in `info --targets --json`.
std::vector<std::string> all_targets(const std::string& json) {
  std::vector<std::string> names;
  const auto info = nlohmann::json::parse(json);
  for (const auto& t : info["targets"]) names.push_back(t["name"]);
  return names;
}

class Target : public tool {
 protected:
  static constexpr std::size_t rows = 70;
  static constexpr std::size_t cols = 997;  // tails of blocks, of lanes and of packed bytes

  void SetUp() override {
    tool::SetUp();
    // Every binary32 is as likely as any other: NaN, Inf and subnormals are among them.
    std::mt19937 random(2024);
    std::vector<float> wild(rows * cols);
    for (float& x : wild) x = std::bit_cast<float>(static_cast<std::uint32_t>(random()));
    std::vector<double> wide(wild.begin(), wild.end());
    std::normal_distribution<float> normal;
    std::vector<float> tame(rows * cols);
    for (float& x : tame) x = normal(random);
    save<float>("wild.npy", dtype::f32, {rows, cols}, wild);
    save<float>("tame.npy", dtype::f32, {rows, cols}, tame);
    save<double>("wide.npy", dtype::f64, {rows, cols}, wide);
    std::vector<std::uint32_t> codes(rows * cols);
    for (std::uint32_t& code : codes) code = static_cast<std::uint32_t>(random());
    save<std::uint32_t>("codes32.npy", dtype::u32, {rows, cols}, codes);
    save<std::uint16_t>("codes16.npy", dtype::u16, {rows, cols}, {codes.begin(), codes.end()});
    save<std::uint8_t>("codes8.npy", dtype::u8, {rows, cols}, {codes.begin(), codes.end()});
    save<std::uint8_t>("scales8.npy", dtype::u8, {rows, 32}, {codes.begin(), codes.begin() + 2240});
    targets_ = all_targets(run("info --targets --json").out);
    ASSERT_FALSE(targets_.empty());
    ASSERT_EQ(targets_.back(), "scalar");
  }

  std::string slow() const { return " --target scalar --threads 1 "; }

  /// `command` writes out.npy (and out2.npy): the same bytes for every target and 1 and 3 threads.
  void expect_same_files(const std::string& command, const std::vector<std::string>& outputs) {
    const auto output_bytes = [&] {
      std::string all;
      for (const std::string& name : outputs) all += read_text(path(name));
      return all;
    };
    const auto reference = run(command + slow());
    ASSERT_EQ(reference.exit_code, 0) << command << reference.err;
    const std::string want = output_bytes();
    ASSERT_FALSE(want.empty());
    for (const std::string& target : targets_) {
      for (const char* threads : {" --threads 1", " --threads 3"}) {
        for (const std::string& name : outputs) std::filesystem::remove(path(name));
        const auto r = run(command + " --target " + target + threads);
        ASSERT_EQ(r.exit_code, 0) << command << r.err;
        EXPECT_EQ(r.out, reference.out);
        EXPECT_TRUE(output_bytes() == want) << command << " --target " << target << threads;
      }
    }
  }

  std::vector<std::string> targets_;
};

TEST_F(Target, Encode) {
  const std::string to = " " + path("out.npy");
  for (const char* format : {"e4m3", "e5m2", "e3m2", "e2m3", "e2m1", "int8", "bf16", "f16", "tf32",
                             "f32", "e8m0", "ue4m3"}) {
    expect_same_files(std::string("encode --format ") + format + " " + path("wild.npy") + to,
                      {"out.npy"});
  }
  for (const char* policy :
       {"--rounding up", "--rounding to-odd", "--overflow nonsaturating", "--negative abs"}) {
    expect_same_files(std::string("encode --format ue4m3 ") + policy + " " + path("wide.npy") + to,
                      {"out.npy"});
    expect_same_files(std::string("encode --format e5m2 ") + policy + " " + path("wild.npy") + to,
                      {"out.npy"});
  }
}

TEST_F(Target, Decode) {
  const std::string to = " " + path("out.npy");
  for (const char* format : {"e4m3", "e5m2", "int8", "e8m0"}) {
    expect_same_files(std::string("decode --format ") + format + " " + path("codes8.npy") + to,
                      {"out.npy"});
  }
  for (const char* format : {"bf16", "f16"}) {
    expect_same_files(std::string("decode --format ") + format + " " + path("codes16.npy") + to,
                      {"out.npy"});
  }
  for (const char* format : {"tf32", "f32"}) {
    expect_same_files(std::string("decode --format ") + format + " " + path("codes32.npy") + to,
                      {"out.npy"});
  }
  for (const char* format : {"e2m1", "e3m2"}) {
    expect_same_files(
        std::string("decode --packing dense --format ") + format + " " + path("codes8.npy") + to,
        {"out.npy"});
  }
}

TEST_F(Target, Quantize) {
  const std::string to = " --codes " + path("out.npy") + " --scales " + path("out2.npy");
  for (const char* options :
       {"--format e4m3", "--format e2m1 --packing dense", "--format e2m3 --packing dense --axis 0",
        "--format int8 --axis 0 --block 20 --overflow saturate-full",
        "--format e5m2 --nan finite --rounding down", "--format e3m2 --nan gfloat-inf --block 7"}) {
    for (const char* in : {"wild.npy", "tame.npy", "wide.npy"}) {
      expect_same_files(std::string("quantize ") + options + " " + path(in) + to,
                        {"out.npy", "out2.npy"});
    }
  }
}

TEST_F(Target, Dequantize) {
  const std::string from =
      " --codes " + path("codes8.npy") + " --scales " + path("scales8.npy") + " " + path("out.npy");
  for (const char* options : {"--format e4m3", "--format int8 --axis 0", "--format e5m2"}) {
    expect_same_files(std::string("dequantize ") + options + from, {"out.npy"});
  }
  for (const char* axis : {"", " --axis 0"}) {
    ASSERT_EQ(run("quantize --format e3m2 --packing dense" + std::string(axis) + " " +
                  path("tame.npy") + " --codes " + path("c.npy") + " --scales " + path("s.npy"))
                  .exit_code,
              0);
    expect_same_files("dequantize --format e3m2 --packing dense --codes " + path("c.npy") +
                          " --scales " + path("s.npy") + " " + path("out.npy") + axis +
                          (*axis == '\0' ? " --depth 997" : " --depth 70"),
                      {"out.npy"});
  }
}

TEST_F(Target, GemmAndVerify) {
  std::string operands;
  for (const auto& [side, format] : {std::pair{"a", "e4m3"}, std::pair{"b", "e5m2"}}) {
    const std::string codes = path(std::string(side) + ".npy");
    const std::string scales = path(std::string(side) + "_scales.npy");
    ASSERT_EQ(run(std::string("quantize --format ") + format + " " + path("tame.npy") +
                  " --codes " + codes + " --scales " + scales)
                  .exit_code,
              0);
    operands += std::string(" --") + side + " " + codes + " --" + side + "-format " + format +
                " --" + side + "-scales " + scales;
  }
  expect_same_files("gemm --accumulate exact --a-format e4m3 --b-format int8 --a " +
                        path("codes8.npy") + " --b " + path("codes8.npy") + " --out " +
                        path("out.npy"),
                    {"out.npy"});
  for (const char* policy :
       {"exact", "block-exact-fp32", "block-fused-fp32", "nvidia-blackwell-tcgen05-mxf8f6f4",
        "exact --out-type bf16", "exact --store-type f16", "fp32-chain"}) {
    expect_same_files("gemm" + operands + " --accumulate " + policy + " --out " + path("out.npy"),
                      {"out.npy"});
  }
  // The report is the same too, for a match and for mismatches.
  for (const char* other : {"fp32-chain", "exact", "exact --rows 3:9 --cols 60:",
                            "block-exact-fp32 --sample 300", "exact --json"}) {
    const std::string command =
        "verify" + operands + " --d " + path("out.npy") + " --accumulate " + other;
    const auto want = run(command + slow());
    ASSERT_EQ(want.exit_code, other == std::string("fp32-chain") ? 0 : 1) << want.err;
    for (const std::string& target : targets_) {
      for (const char* threads : {" --threads 1", " --threads 3"}) {
        const auto r = run(command + threads + " --target " + target);
        EXPECT_EQ(r.exit_code, want.exit_code) << command;
        EXPECT_EQ(r.out, want.out) << command << " --target " << target << threads;
      }
    }
  }
}

TEST_F(Target, NamesAreForgivingAndListed) {
  const std::string command = " --format e4m3 " + path("tame.npy") + " " + path("out.npy");
  for (std::string name : targets_) {
    for (char& c : name) c = c == '-' ? '_' : static_cast<char>(std::toupper(c));
    EXPECT_EQ(run("encode --target " + name + command).exit_code, 0) << name;
  }
  const std::string text = run("info --targets").out;
  EXPECT_TRUE(text.starts_with(targets_.front())) << text;
  EXPECT_EQ(text.find("(default)"), text.find('\n') - 9) << "the first one is the default";
  const auto json = nlohmann::json::parse(run("info --targets --json").out);
  EXPECT_EQ(json["targets"][0]["default"], true);
  EXPECT_EQ(json["vector_kernels"], MXREF_HAS_VECTOR_KERNELS != 0);
  EXPECT_EQ(text.find("built without vector kernels") == std::string::npos,
            MXREF_HAS_VECTOR_KERNELS != 0);
}

TEST(Engine, TakesTheKernelsAndThreadsOfTheCommandLine) {
  const auto tables = mxtool::targets();
  for (const auto* table : tables) {
    const mxtool::engine e({mxtool::target_name(*table), 3});
    EXPECT_EQ(&e.kernels(), table);
    EXPECT_EQ(e.all_threads().size(), 3);
  }
  const mxtool::engine e({});
  EXPECT_EQ(&e.kernels(), tables.front());
  EXPECT_EQ(e.all_threads().size(), std::max(1U, std::thread::hardware_concurrency()));
}

TEST(Engine, ReportsAFailureOfAnyCall) {
  const mxtool::engine e({"", 3});
  std::vector<int> calls(1000);
  const auto run = [&](mxref::index_t bad) {
    return e.for_each(1000, [&](mxref::index_t i) -> mxref::status {
      ++calls[static_cast<std::size_t>(i)];
      return {i == bad ? mxref::errc::out_of_memory : mxref::errc::ok};
    });
  };
  EXPECT_TRUE(run(-1).ok());
  EXPECT_EQ(run(517).code, mxref::errc::out_of_memory);
  EXPECT_EQ(calls, std::vector<int>(1000, 2));
}

TEST_F(Target, MoreThreadsThanTheSystemStartsAreRefused) {
  if (*MXREF_LIMIT == '\0') GTEST_SKIP() << "memory is not limited under this sanitizer";
  const std::string line = MXREF_LIMIT "timeout 60 '" MXREF_TOOL "' encode --format e4m3 " +
                           path("tame.npy") + " " + path("out.npy") + " --threads 1000 2>" +
                           path("errors");
  const int status = std::system(line.c_str());
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 2) << status;
  EXPECT_TRUE(
      read_text(path("errors")).starts_with("mxref: error: 1000 threads do not start (Resource"));
}

TEST_F(Target, RefusesWhatThereIsNot) {
  const std::string codes = " --format e4m3 " + path("tame.npy") + " " + path("out.npy");
  const std::string blocks = " --format e4m3 " + path("tame.npy") + " --codes " + path("out.npy") +
                             " --scales " + path("out2.npy");
  const std::string numbers = " --format e4m3 --codes " + path("codes8.npy") + " --scales " +
                              path("scales8.npy") + " " + path("out.npy");
  const std::string product = " --accumulate exact --a-format e4m3 --b-format e4m3 --a " +
                              path("codes8.npy") + " --b " + path("codes8.npy");
  for (const std::string& command :
       {"encode" + codes, "decode --format e4m3 " + path("codes8.npy") + " " + path("out.npy"),
        "quantize" + blocks, "dequantize" + numbers, "gemm --out " + path("out.npy") + product,
        "verify --d " + path("tame.npy") + product}) {
    expect_refused(command + " --target skalar",
                   {"unknown target 'skalar'", "did you mean 'scalar'?", targets_.front()});
    for (const char* threads : {"0", "-1", "1025"}) {
      expect_refused(command + " --threads " + threads,
                     {std::string("--threads ") + threads, "1 to 1024"});
    }
    expect_refused(command + " --threads many", {"--threads"});
  }
}

}  // namespace
