// SPDX-License-Identifier: Apache-2.0
// A progress line on stderr for work of over two seconds, only on a terminal.
#pragma once

#include <chrono>
#include <string>
#include <string_view>

namespace mxtool {

/// `quantize [#####.....]  50 %  1.2 GB/s  0:07 left`
std::string progress_line(std::string_view what, double done, double total, double seconds,
                          std::string_view unit);

class progress {
 public:
  /// `total` counts units such as "B" (bytes).
  progress(std::string_view what, double total, std::string_view unit);
  progress(const progress&) = delete;
  progress& operator=(const progress&) = delete;
  ~progress();

  void add(double done);

 private:
  using clock = std::chrono::steady_clock;

  std::string_view what_;
  std::string_view unit_;
  double total_;
  double done_ = 0;
  bool terminal_;
  bool shown_ = false;
  clock::time_point start_;
  clock::time_point last_;
};

}  // namespace mxtool
