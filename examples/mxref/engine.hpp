// SPDX-License-Identifier: Apache-2.0
// What a command computes with: the kernels of a target and a number of threads. No bit of any
// result depends on either.
#pragma once

#include <CLI/CLI.hpp>

#include <atomic>
#include <optional>
#include <string>
#include <vector>

#include "mxref/mxref.hpp"
#include "mxref/simd/executor.hpp"
#include "mxref/simd/kernels.hpp"
#include "mxref/simd/thread_pool.hpp"
#include "pieces.hpp"

namespace mxtool {

/// The targets that this processor has, best first; the scalar core is the last.
std::vector<const mxref::simd::kernel_table*> targets();

/// As --target takes it: avx3-dl.
std::string target_name(const mxref::simd::kernel_table& kernels);

struct engine_options {
  std::string target;
  std::optional<long> threads;
};

void add_engine_options(CLI::App& cmd, engine_options& o);

/// All threads of an engine, or the calling one: one type of executor for both.
class team {
 public:
  explicit team(const mxref::simd::threads* pool = nullptr) : pool_(pool) {}

  mxref::index_t size() const noexcept { return pool_ != nullptr ? pool_->size() : 1; }

  template <class Task>
  void run(mxref::index_t count, Task&& task) const {
    if (pool_ != nullptr) {
      pool_->run(count, task);
    } else {
      mxref::simd::serial{}.run(count, task);
    }
  }

 private:
  const mxref::simd::threads* pool_;
};

class engine {
 public:
  explicit engine(const engine_options& o);

  const mxref::simd::kernel_table& kernels() const { return *kernels_; }
  team all_threads() const { return team(&threads_); }

  /// Calls f(i) for every i below count on all threads; returns a failure if any call failed.
  template <class F>
  mxref::status for_each(mxref::index_t count, F&& f) const {
    std::atomic<mxref::errc> failure{mxref::errc::ok};
    all_threads().run(count, [&](mxref::index_t i, mxref::index_t) {
      const mxref::status s = f(i);
      if (!s) failure = s.code;
    });
    return {failure};
  }

  /// The same for the parts of a chunk, each small enough for one thread.
  template <class F>
  mxref::status for_parts(const rectangle& chunk, mxref::index_t unit, F&& f) const {
    const matrix_pieces parts({chunk.rows, chunk.cols}, task_elements, unit);
    return for_each(parts.count(), [&](mxref::index_t i) { return f(parts[i]); });
  }

 private:
  const mxref::simd::kernel_table* kernels_;
  mxref::simd::threads threads_;
};

}  // namespace mxtool
