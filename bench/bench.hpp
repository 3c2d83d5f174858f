// SPDX-License-Identifier: Apache-2.0
// What the benchmarks share: the description of the run, and data.
#pragma once

#include <benchmark/benchmark.h>

#include <cstddef>
#include <cstdint>
#include <fstream>
#include <string>
#include <vector>

namespace bench {

inline std::string cpu_name() {
  std::ifstream in("/proc/cpuinfo");
  for (std::string line; std::getline(in, line);) {
    if (line.starts_with("model name")) return line.substr(line.find(':') + 2);
  }
  return "unknown";
}

/// Adds target, compiler, flags and processor to the head of every report, text and JSON.
inline void describe_run(const std::string& target) {
  benchmark::AddCustomContext("target", target);
  benchmark::AddCustomContext("compiler", MXREF_BENCH_COMPILER);
  benchmark::AddCustomContext("flags", MXREF_BENCH_FLAGS);
  benchmark::AddCustomContext("cpu", cpu_name());
}

/// Roughly normal numbers (a sum of four uniform ones), the same in every run.
inline std::vector<float> normal_data(std::size_t count, std::uint32_t seed) {
  std::vector<float> x(count);
  std::uint32_t state = seed;
  for (float& v : x) {
    std::int32_t sum = 0;
    for (int i = 0; i < 4; ++i) {
      state = state * 1664525U + 1013904223U;
      sum += static_cast<std::int32_t>(state >> 12) - (1 << 19);
    }
    v = static_cast<float>(sum) * 0x1p-19F;
  }
  return x;
}

}  // namespace bench
