// SPDX-License-Identifier: Apache-2.0
// Level 3. An array that says when there is no memory, instead of throwing. (std::unique_ptr would
// do, but <memory> reaches <ostream> in libstdc++.)
#ifndef MXREF_BUFFER_HPP_
#define MXREF_BUFFER_HPP_

#include <cstddef>
#include <cstdint>
#include <new>

#include "mxref/config.hpp"
#include "mxref/view.hpp"

MXREF_BEGIN_NAMESPACE

/// Owns default-initialised elements of type T; neither copied nor moved.
template <class T>
class buffer {
 public:
  buffer() = default;
  buffer(const buffer&) = delete;
  buffer& operator=(const buffer&) = delete;
  ~buffer() { delete[] data_; }

  /// Replaces the contents by count elements (at least one); false: no memory, and empty.
  [[nodiscard]] bool allocate(index_t count) noexcept {
    delete[] data_;
    data_ = new (std::nothrow) T[static_cast<std::size_t>(count < 1 ? 1 : count)];
    return data_ != nullptr;
  }

  T* data() noexcept { return data_; }
  const T* data() const noexcept { return data_; }
  T& operator[](index_t i) noexcept { return data_[i]; }
  const T& operator[](index_t i) const noexcept { return data_[i]; }

 private:
  T* data_ = nullptr;
};

/// One allocation for many arrays. A plan asks for all of them twice: the first time the pool only
/// counts, then, after allocate, the same calls in the same order get the memory.
class memory_pool {
 public:
  /// An uninitialised array that starts on a cache line; null while counting.
  template <class T>
  T* take(index_t count) noexcept {
    const std::size_t at = used_;
    used_ += (static_cast<std::size_t>(count) * sizeof(T) + line - 1) / line * line;
    return base_ == nullptr ? nullptr : reinterpret_cast<T*>(base_ + at);
  }

  /// false: no memory.
  [[nodiscard]] bool allocate() noexcept {
    if (!bytes_.allocate(static_cast<index_t>(used_ + line))) return false;
    const std::size_t past_line = reinterpret_cast<std::uintptr_t>(bytes_.data()) % line;
    base_ = bytes_.data() + (line - past_line) % line;
    used_ = 0;
    return true;
  }

 private:
  static constexpr std::size_t line = 64;
  buffer<unsigned char> bytes_;
  unsigned char* base_ = nullptr;
  std::size_t used_ = 0;
};

MXREF_END_NAMESPACE

#endif  // MXREF_BUFFER_HPP_
