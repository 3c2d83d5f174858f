// SPDX-License-Identifier: Apache-2.0
// Arrays that begin on a cache line, as those of tensor libraries do.
#pragma once

#include <cstddef>
#include <new>
#include <vector>

namespace bench {

template <class T>
struct cache_line_allocator {
  using value_type = T;
  static constexpr std::align_val_t alignment{64};

  cache_line_allocator() = default;
  template <class U>
  cache_line_allocator(const cache_line_allocator<U>&) {}

  T* allocate(std::size_t count) {
    return static_cast<T*>(::operator new(count * sizeof(T), alignment));
  }
  void deallocate(T* p, std::size_t) { ::operator delete(p, alignment); }

  friend bool operator==(const cache_line_allocator&, const cache_line_allocator&) { return true; }
};

template <class T>
using array = std::vector<T, cache_line_allocator<T>>;

}  // namespace bench
