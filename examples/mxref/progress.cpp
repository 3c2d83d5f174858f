// SPDX-License-Identifier: Apache-2.0
#include "progress.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>

namespace mxtool {

namespace {

/// Three digits and a prefix of SI: `1.23 G`.
std::string with_prefix(double value) {
  constexpr std::string_view prefixes = " kMGTPE";
  std::size_t i = 0;
  for (; value >= 999.5 && i + 1 < prefixes.size(); ++i) value /= 1000;
  return i == 0 ? fmt::format("{:.3g} ", value) : fmt::format("{:.3g} {}", value, prefixes[i]);
}

std::string clock_text(double seconds) {
  const long whole = std::lround(std::min(seconds, 1e9));
  const long minutes = whole / 60;
  if (minutes < 60) return fmt::format("{}:{:02}", minutes, whole % 60);
  return fmt::format("{}:{:02}:{:02}", minutes / 60, minutes % 60, whole % 60);
}

}  // namespace

std::string progress_line(std::string_view what, double done, double total, double seconds,
                          std::string_view unit) {
  constexpr int width = 30;
  const double share = done / total;
  const int filled = static_cast<int>(share * width);
  return fmt::format("{} [{:#<{}}{:.<{}}] {:3.0f} %  {}{}/s  {} left", what, "", filled, "",
                     width - filled, 100 * share, with_prefix(done / seconds), unit,
                     clock_text(seconds / share * (1 - share)));
}

progress::progress(std::string_view what, double total, std::string_view unit)
    : what_(what),
      unit_(unit),
      total_(total),
      terminal_(isatty(STDERR_FILENO) != 0),
      start_(clock::now()),
      last_(start_) {}

progress::~progress() {
  if (shown_) fmt::print(stderr, "\r\x1b[K");
}

void progress::add(double done) {
  done_ += done;
  if (!terminal_ || done_ <= 0) return;
  const auto now = clock::now();
  const double elapsed = std::chrono::duration<double>(now - start_).count();
  if (elapsed < 2.0 || now - last_ < std::chrono::milliseconds(200)) return;
  last_ = now;
  shown_ = true;
  fmt::print(stderr, "\r{}\x1b[K", progress_line(what_, done_, total_, elapsed, unit_));
  std::fflush(stderr);
}

}  // namespace mxtool
