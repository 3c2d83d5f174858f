// SPDX-License-Identifier: Apache-2.0
// What the benchmarks share: the vector target, the description of the run, data, and timing in
// turn with a yardstick.
#pragma once

#include <benchmark/benchmark.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "array.hpp"
#include "fma_rate.hpp"
#include "mxref/simd/dispatch.hpp"
#include "mxref/simd/scalar.hpp"

namespace bench {

/// Ends the program: a wrong result must not be timed.
[[noreturn]] inline void fail(const std::string& what) {
  std::fprintf(stderr, "benchmark: %s\n", what.c_str());
  std::exit(1);
}

/// The kernels that are measured: those of the target that MXREF_BENCH_TARGET names, else the best.
struct chosen_target {
  static const mxref::simd::kernel_table& kernels() noexcept {
    static const mxref::simd::kernel_table& table = find();
    return table;
  }

 private:
  static const mxref::simd::kernel_table& find() {
    const char* wanted = std::getenv("MXREF_BENCH_TARGET");
    if (wanted == nullptr) return mxref::simd::best_kernels();
    for (auto* t = mxref::simd::available_kernels(); *t != nullptr; ++t) {
      if (std::string((*t)->target) == wanted) return **t;
    }
    fail(std::string("no such target: ") + wanted);
  }
};
using fast = mxref::simd::backend<chosen_target>;
using core = mxref::simd::backend<mxref::simd::scalar_target>;

inline std::string cpu_name() {
  std::ifstream in("/proc/cpuinfo");
  for (std::string line; std::getline(in, line);) {
    if (line.starts_with("model name")) return line.substr(line.find(':') + 2);
  }
  return "unknown";
}

/// Runs what is registered. Target, compiler, flags and processor head every report, text and JSON.
inline int run(int argc, char** argv) {
  benchmark::AddCustomContext("target", fast::target());
  benchmark::AddCustomContext("compiler", MXREF_BENCH_COMPILER);
  benchmark::AddCustomContext("flags", MXREF_BENCH_FLAGS);
  benchmark::AddCustomContext("cpu", cpu_name());
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 2;
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}

/// Roughly normal numbers (a sum of four uniform ones), the same in every run.
inline array<float> normal_data(std::size_t count, std::uint32_t seed) {
  array<float> x(count);
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

/// One of the things that are timed in turn.
template <class F>
class side {
 public:
  /// Calls f once to warm up and once to see how many calls make a sample: one that the clock
  /// resolves, and with threads one in which their first waking up does not count.
  side(const F& f, int threads) : f_(f), threads_(threads) {
    const double sample_seconds = threads == 1 ? 200e-6 : 20e-3;
    f_();
    calls_ = 1 + static_cast<int>(sample_seconds / timed_call());
  }

  /// Seconds of a sample.
  double sample() {
    // Threads that the other side left spinning go to sleep first.
    if (threads_ > 1) std::this_thread::sleep_for(std::chrono::milliseconds(10));
    const double start = now();
    for (int i = 0; i < calls_; ++i) f_();
    const double seconds = now() - start;
    times_.push_back(seconds / calls_);
    return seconds;
  }

  /// Median seconds of a call.
  double median() const {
    std::vector<double> sorted = times_;
    std::sort(sorted.begin(), sorted.end());
    return sorted[sorted.size() / 2];
  }

 private:
  /// One thread: its own time, which other programs do not lengthen. More: elapsed time.
  double now() const {
    timespec t{};
    clock_gettime(threads_ == 1 ? CLOCK_THREAD_CPUTIME_ID : CLOCK_MONOTONIC, &t);
    return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
  }

  double timed_call() {
    const double start = now();
    f_();
    return now() - start;
  }

  const F& f_;
  int threads_;
  int calls_ = 1;
  std::vector<double> times_;
};

/// Times kernel by itself. Counters: rate (work per second), fma_gflops (health of the machine).
template <class Kernel>
void alone(benchmark::State& state, int threads, double work, const Kernel& kernel) {
  side timed(kernel, threads);
  for (auto _ : state) state.SetIterationTime(timed.sample());
  state.counters["rate"] = work / timed.median();
  state.counters["fma_gflops"] = fma_gflops();
}

/// Times kernel and peer in turn. Counters as above, and peer (its work per second), ratio (rate
/// over peer).
template <class Kernel, class Peer>
void against(benchmark::State& state, int threads, double work, const Kernel& kernel,
             double peer_work, const Peer& peer) {
  side timed(kernel, threads);
  side yardstick(peer, threads);
  for (auto _ : state) {
    yardstick.sample();
    state.SetIterationTime(timed.sample());
  }
  const double rate = work / timed.median();
  const double peer_rate = peer_work / yardstick.median();
  state.counters["rate"] = rate;
  state.counters["peer"] = peer_rate;
  state.counters["ratio"] = rate / peer_rate;
  state.counters["fma_gflops"] = fma_gflops();
}

/// Registers f(state) under a name.
template <class F>
benchmark::internal::Benchmark* add(const std::string& name, F f) {
  return benchmark::RegisterBenchmark(name.c_str(), f)->UseManualTime();
}

}  // namespace bench
