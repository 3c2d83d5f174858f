// SPDX-License-Identifier: Apache-2.0
// Level 0. Bit access for host, device and constant evaluation; no standard function is called,
// because those are not device functions.
#ifndef MXREF_BITS_HPP_
#define MXREF_BITS_HPP_

#include <cstdint>

#include "mxref/config.hpp"

MXREF_BEGIN_NAMESPACE

/// Reinterprets the bytes of one trivially copyable type as another of the same size.
template <class To, class From>
MXREF_HD constexpr To bit_cast(const From& from) noexcept {
  static_assert(sizeof(To) == sizeof(From), "bit_cast needs types of one size");
  return __builtin_bit_cast(To, from);
}

/// Number of significant bits of x: floor(log2 x) + 1, and 0 for x = 0.
MXREF_HD constexpr int bit_width(std::uint64_t x) noexcept {
#if defined(__GNUC__) && !defined(__CUDA_ARCH__)
  return x == 0 ? 0 : 64 - __builtin_clzll(x);
#else
  int width = 0;
  for (int step = 32; step > 0; step /= 2) {
    if ((x >> step) != 0) {
      x >>= step;
      width += step;
    }
  }
  return width + static_cast<int>(x);
#endif
}

/// The low n bits set, 0 <= n <= 64.
MXREF_HD constexpr std::uint64_t low_mask(int n) noexcept {
  return n >= 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << n) - 1;
}

/// Magnitude of x; correct for the most negative value too.
MXREF_HD constexpr std::uint64_t magnitude(std::int64_t x) noexcept {
  const auto u = static_cast<std::uint64_t>(x);
  return x < 0 ? ~u + 1 : u;
}

MXREF_HD constexpr int max_of(int a, int b) noexcept { return a < b ? b : a; }
template <class T>
MXREF_HD constexpr T min_of(T a, T b) noexcept {
  return b < a ? b : a;
}

MXREF_END_NAMESPACE

#endif  // MXREF_BITS_HPP_
