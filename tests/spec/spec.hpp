// SPDX-License-Identifier: Apache-2.0
// Catch2, version 2 or 3, and the few names that every clause needs.
#ifndef MXREF_TESTS_SPEC_SPEC_HPP_
#define MXREF_TESTS_SPEC_SPEC_HPP_

#if __has_include(<catch2/catch_test_macros.hpp>)
#include <catch2/catch_test_macros.hpp>
#else
#include <catch2/catch.hpp>
#endif

#include <bit>
#include <cstdint>
#include <limits>

inline constexpr float infinity = std::numeric_limits<float>::infinity();
inline constexpr float quiet_nan = std::numeric_limits<float>::quiet_NaN();

/// Equality with the sign of zero, and no NaN: what the specification means by "the value is".
inline bool is_exactly(float got, double want) {
  const double wide{got};
  return std::bit_cast<std::uint64_t>(wide) == std::bit_cast<std::uint64_t>(want);
}
inline bool is_nan(double x) { return x != x; }

#endif  // MXREF_TESTS_SPEC_SPEC_HPP_
