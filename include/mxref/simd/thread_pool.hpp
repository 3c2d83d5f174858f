// SPDX-License-Identifier: Apache-2.0
// Level 5, optional. threads{n}: an executor of std::jthread workers.
#ifndef MXREF_SIMD_THREAD_POOL_HPP_
#define MXREF_SIMD_THREAD_POOL_HPP_

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "mxref/config.hpp"
#include "mxref/simd/executor.hpp"
#include "mxref/view.hpp"

MXREF_BEGIN_NAMESPACE

namespace simd {

/// n threads, the caller among them, that wait between calls. Copies share the threads. One run at
/// a time: calls from several threads need an executor each.
class threads {
 public:
  /// n < 1: as many as the machine has.
  explicit threads(int n = 0) : pool_(std::make_shared<pool>(wanted(n))) {}

  index_t size() const noexcept { return pool_->size(); }

  template <class Task>
  void run(index_t count, Task&& task) const {
    pool_->run(
        count,
        [](void* t, index_t i, index_t worker) {
          (*static_cast<std::remove_reference_t<Task>*>(t))(i, worker);
        },
        const_cast<void*>(static_cast<const void*>(std::addressof(task))));
  }

 private:
  using call = void (*)(void*, index_t, index_t);

  static index_t wanted(int n) {
    if (n >= 1) return n;
    const unsigned cores = std::thread::hardware_concurrency();
    return cores < 1 ? 1 : static_cast<index_t>(cores);
  }

  class pool {
   public:
    explicit pool(index_t size)
        : size_(size),
          may_spin_(size <= static_cast<index_t>(std::thread::hardware_concurrency())) {
      for (index_t worker = 1; worker < size; ++worker) {
        workers_.emplace_back([this, worker](const std::stop_token& stop) { serve(stop, worker); });
      }
    }
    pool(const pool&) = delete;
    pool& operator=(const pool&) = delete;

    index_t size() const noexcept { return size_; }

    void run(index_t count, call f, void* context) {
      {
        const std::lock_guard lock(mutex_);
        call_ = f;
        context_ = context;
        count_ = count;
        next_ = 0;
        busy_ = static_cast<index_t>(workers_.size());
        ++generation_;
      }
      wake_.notify_all();
      work(0);
      if (spin([this] { return busy_ == 0; })) return;
      std::unique_lock lock(mutex_);
      done_.wait(lock, [this] { return busy_ == 0; });
    }

   private:
    /// Looks for a while before a thread goes to sleep: waking it costs as much as a small product.
    /// Not where threads outnumber the cores. True if the condition came.
    template <class Condition>
    bool spin(const Condition& condition) const {
      constexpr auto patience = std::chrono::microseconds(100);
      const auto start = std::chrono::steady_clock::now();
      for (int i = 0;; ++i) {
        if (condition()) return true;
        if (!may_spin_ || (i % 64 == 0 && std::chrono::steady_clock::now() - start > patience)) {
          return false;
        }
      }
    }

    void work(index_t worker) {
      for (index_t i = next_++; i < count_; i = next_++) call_(context_, i, worker);
    }

    void serve(const std::stop_token& stop, index_t worker) {
      unsigned long seen = 0;
      for (;;) {
        spin([&] { return generation_ != seen || stop.stop_requested(); });
        {
          std::unique_lock lock(mutex_);
          if (!wake_.wait(lock, stop, [&] { return generation_ != seen; })) return;
          seen = generation_;
        }
        work(worker);
        const std::lock_guard lock(mutex_);
        if (--busy_ == 0) done_.notify_one();
      }
    }

    index_t size_;
    bool may_spin_;
    std::mutex mutex_;
    std::condition_variable_any wake_;  // also woken by the stop that the end of a jthread requests
    std::condition_variable done_;
    call call_ = nullptr;
    void* context_ = nullptr;
    index_t count_ = 0;
    std::atomic<index_t> next_{0};
    std::atomic<index_t> busy_{0};
    std::atomic<unsigned long> generation_{0};
    std::vector<std::jthread> workers_;  // last: joined first
  };

  std::shared_ptr<pool> pool_;
};

}  // namespace simd

MXREF_END_NAMESPACE

#endif  // MXREF_SIMD_THREAD_POOL_HPP_
