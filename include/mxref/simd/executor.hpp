// SPDX-License-Identifier: Apache-2.0
// Level 5. How the tiles of a product are spread over threads. The tiles, and the thread that owns
// each bit, follow from the shape alone: the result never depends on the executor.
#ifndef MXREF_SIMD_EXECUTOR_HPP_
#define MXREF_SIMD_EXECUTOR_HPP_

#include <concepts>

#include "mxref/config.hpp"
#include "mxref/view.hpp"

MXREF_BEGIN_NAMESPACE

namespace simd {

/// An executor E runs task(i, worker) for every i in 0 .. count - 1 and returns when all are done;
/// e.size() is the number of workers, worker is in 0 .. size() - 1, and no two tasks that run at
/// the same time have the same worker. Tasks do not throw.
template <class E>
concept executor = requires(E e, void (*task)(index_t, index_t)) {
  { e.size() } -> std::convertible_to<index_t>;
  e.run(index_t{1}, task);
};

/// Everything on the calling thread.
struct serial {
  static constexpr index_t size() noexcept { return 1; }
  template <class Task>
  void run(index_t count, Task&& task) const {
    for (index_t i = 0; i < count; ++i) task(i, index_t{0});
  }
};

}  // namespace simd

MXREF_END_NAMESPACE

#endif  // MXREF_SIMD_EXECUTOR_HPP_
