// SPDX-License-Identifier: Apache-2.0
// Level 3. An array that says when there is no memory, instead of throwing. (std::unique_ptr would
// do, but <memory> reaches <ostream> in libstdc++.)
#ifndef MXREF_BUFFER_HPP_
#define MXREF_BUFFER_HPP_

#include <cstddef>
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

MXREF_END_NAMESPACE

#endif  // MXREF_BUFFER_HPP_
