// SPDX-License-Identifier: Apache-2.0
// A progress line on stderr for work of over two seconds, only on a terminal.
#pragma once

#include <chrono>
#include <cstdint>

namespace mxtool {

class progress {
 public:
  progress(const char* what, std::int64_t total);
  progress(const progress&) = delete;
  progress& operator=(const progress&) = delete;
  ~progress();

  void add(std::int64_t done);

 private:
  const char* what_;
  std::int64_t total_;
  std::int64_t done_ = 0;
  bool terminal_;
  bool shown_ = false;
  std::chrono::steady_clock::time_point start_;
  std::chrono::steady_clock::time_point last_;
};

}  // namespace mxtool
