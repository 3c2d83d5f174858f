// SPDX-License-Identifier: Apache-2.0
// The progress line: what it says, and when it is there at all.
#include "progress.hpp"

#include <pty.h>
#include <unistd.h>

#include <chrono>
#include <thread>

#include "child.hpp"
#include "tool.hpp"

namespace {

using tool_test::child;
using tool_test::tool;

TEST(ProgressLine, SaysShareRateAndTimeLeft) {
  EXPECT_EQ(mxtool::progress_line("encode", 3e9, 12e9, 4, "B"),
            "encode [#######.......................]  25 %  750 MB/s  0:12 left");
  EXPECT_EQ(mxtool::progress_line("gemm", 1.5e12, 2e12, 900, "MAC"),
            "gemm [######################........]  75 %  1.67 GMAC/s  5:00 left");
  EXPECT_EQ(mxtool::progress_line("verify", 10, 1000, 100, "outputs"),
            "verify [..............................]   1 %  0.1 outputs/s  2:45:00 left");
  EXPECT_EQ(mxtool::progress_line("encode", 8, 8, 4, "B"),
            "encode [##############################] 100 %  2 B/s  0:00 left");
}

class Progress : public tool {
 protected:
  /// Encodes three chunks of standard input, the last two of which come `seconds` later.
  std::string errors_of_slow_run(bool terminal, double seconds) const {
    const std::string chunk(std::size_t{8} << 20, '\x3f');
    child c({"encode", "--format", "e4m3", "--shape", "6291456", "--dtype", "f32", "-",
             path(terminal ? "t.npy" : "p.npy")},
            terminal);
    c.feed(chunk);
    std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
    c.feed(chunk);
    c.feed(chunk);
    EXPECT_EQ(c.wait(), 0);
    return c.errors();
  }
};

TEST_F(Progress, ShowsOnATerminalAfterTwoSecondsOnly) {
  int terminal[2];
  if (::openpty(&terminal[0], &terminal[1], nullptr, nullptr, nullptr) != 0) {
    GTEST_SKIP() << "this system gives no terminal";
  }
  ::close(terminal[0]);
  ::close(terminal[1]);
  std::string on_pipe;
  std::thread elsewhere([&] { on_pipe = errors_of_slow_run(false, 2.3); });
  const std::string on_terminal = errors_of_slow_run(true, 2.3);
  elsewhere.join();
  EXPECT_EQ(on_pipe, "");
  EXPECT_NE(on_terminal.find("encode [####################..........]  67 %"), std::string::npos)
      << on_terminal;
  EXPECT_NE(on_terminal.find("MB/s  0:0"), std::string::npos) << on_terminal;
  EXPECT_NE(on_terminal.find(" left"), std::string::npos) << on_terminal;
  EXPECT_TRUE(on_terminal.ends_with("\r\x1b[K")) << "the line is wiped";
  EXPECT_EQ(errors_of_slow_run(true, 0.5), "");
}

}  // namespace
