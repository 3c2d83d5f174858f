// SPDX-License-Identifier: Apache-2.0
// A command that is stopped half-way, by a signal or by an error at the end of its input.
#include <chrono>
#include <thread>

#include "child.hpp"
#include "tool.hpp"

namespace {

using mxtool::dtype;
using tool_test::child;
using tool_test::tool;

class Interrupt : public tool {
 protected:
  /// 4M numbers from standard input, of which only the first 3M are ever sent.
  std::vector<std::string> command() const {
    return {"quantize", "--format", "e4m3",    "--shape",           "1024,4096", "--dtype",
            "f32",      "-",        "--codes", path("q.npz:codes"), "--scales",  path("s.npy")};
  }
  std::string numbers() const { return std::string(std::size_t{12} << 20, '\x3f'); }

  /// Waits until the outputs are under way.
  void expect_files(std::size_t count) const {
    using namespace std::chrono_literals;
    for (int i = 0; i != 1000 && files().size() != count; ++i) std::this_thread::sleep_for(10ms);
    ASSERT_EQ(files().size(), count);
  }
};

TEST_F(Interrupt, SignalsLeaveNothing) {
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
    child c(command(), false);
    c.feed(numbers());
    expect_files(2);
    c.signal(signal);
    const int status = c.wait();
    EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == signal) << signal;
    expect_files(0);
  }
}

TEST_F(Interrupt, AnIgnoredSignalStaysIgnored) {
  std::signal(SIGHUP, SIG_IGN);  // as nohup does
  child c(command(), false);
  std::signal(SIGHUP, SIG_DFL);
  c.feed(numbers());
  expect_files(2);
  c.signal(SIGHUP);
  c.feed(numbers().substr(0, std::size_t{4} << 20));
  EXPECT_EQ(c.wait(), 0) << c.errors();
  EXPECT_EQ(shape_of("s.npy"), (mxtool::shape_type{1024, 128}));
}

TEST_F(Interrupt, AClosedPipeLeavesNothing) {
  save<float>("x.npy", dtype::f32, {1024, 1024}, std::vector<float>(1 << 20, 1.5F));
  const auto before = files();
  const std::string line = "'" MXREF_TOOL "' quantize --format e4m3 " + path("x.npy") +
                           " --codes - --scales " + path("s.npy") + " | head -c 100 >/dev/null";
  ASSERT_EQ(std::system(line.c_str()), 0);
  EXPECT_EQ(files(), before);
}

TEST_F(Interrupt, AShortInputLeavesNothing) {
  child c(command(), false);
  c.feed(numbers());
  const int status = c.wait();
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 2);
  EXPECT_NE(c.errors().find("standard input: the data ends 4194304 bytes too early"),
            std::string::npos);
  EXPECT_TRUE(files().empty());
}

TEST_F(Interrupt, AnErrorFarIntoTheInputLeavesNothing) {
  constexpr std::size_t count = (std::size_t{5} << 20) + 7;  // more than two pieces
  std::vector<std::uint8_t> codes(count, 1);
  codes.back() = 0x10;
  save<std::uint8_t>("c.npy", dtype::u8, {count}, codes);
  expect_refused("decode --format e2m1 " + path("c.npy") + " " + path("x.npy"),
                 {"c.npy", "element 5242886 is 0x10"});
  std::vector<float> numbers(count, 1.0F);
  numbers.back() = std::bit_cast<float>(0x7FC00000U);
  save<float>("n.npy", dtype::f32, {count}, numbers);
  expect_refused("quantize --nan finite --format e2m1 " + path("n.npy") + " --codes " +
                     path("q.npz:c") + " --scales " + path("q.npz:s"),
                 {"n.npy", "NaN"});
  save<std::uint8_t>("cols.npy", dtype::u8, {1, count}, codes);
  save<std::uint8_t>("s.npy", dtype::u8, {1, (count + 31) / 32},
                     std::vector<std::uint8_t>((count + 31) / 32, 127));
  expect_refused("dequantize --axis 0 --format e2m1 --codes " + path("cols.npy") + " --scales " +
                     path("s.npy") + " " + path("x.npy"),
                 {"cols.npy", "element 5242886 is 0x10"});
}

}  // namespace
