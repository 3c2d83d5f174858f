// SPDX-License-Identifier: Apache-2.0
#include "progress.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>

namespace mxtool {

progress::progress(const char* what, std::int64_t total)
    : what_(what),
      total_(total),
      terminal_(isatty(STDERR_FILENO) != 0),
      start_(std::chrono::steady_clock::now()),
      last_(start_) {}

progress::~progress() {
  if (shown_) fmt::print(stderr, "\r\x1b[K");
}

void progress::add(std::int64_t done) {
  done_ += done;
  if (!terminal_ || total_ <= 0) return;
  const auto now = std::chrono::steady_clock::now();
  const double elapsed = std::chrono::duration<double>(now - start_).count();
  if (elapsed < 2.0 || now - last_ < std::chrono::milliseconds(200)) return;
  last_ = now;
  shown_ = true;
  const double share = static_cast<double>(done_) / static_cast<double>(total_);
  const int filled = static_cast<int>(share * 30);
  fmt::print(stderr, "\r{} [{:#<{}}{:.<{}}] {:3.0f} %, {:.0f} s left \x1b[K", what_, "", filled, "",
             30 - filled, 100 * share, elapsed / share * (1 - share));
  std::fflush(stderr);
}

}  // namespace mxtool
