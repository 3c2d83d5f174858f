// SPDX-License-Identifier: Apache-2.0
// What the tests of the emulator share.
#pragma once

#include <gtest/gtest.h>

#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "trainer.hpp"

namespace instability_test {

using instability::index_t;

inline std::vector<const instability::vector_kernels*> vector_targets() {
  std::vector<const instability::vector_kernels*> list;
  for (auto t = instability::available_vector_kernels(); *t != nullptr; ++t) list.push_back(*t);
  return list;
}

/// The library's kernels for a target of the same name, else the best: the bits are the same.
inline const mxref::simd::kernel_table& library_kernels(const std::string& target) {
  for (auto t = mxref::simd::available_kernels(); *t != nullptr; ++t) {
    if (target == (*t)->target) return **t;
  }
  return mxref::simd::best_kernels();
}

inline std::uint32_t bits(float x) { return mxref::bit_cast<std::uint32_t>(x); }

/// Normal numbers, some of them zeros.
inline std::vector<float> normal_numbers(std::size_t count, unsigned seed, float deviation = 1,
                                         float mean = 0) {
  std::mt19937 random(seed);
  std::vector<float> x(count);
  for (float& v : x) {
    double sum = 0;
    for (int i = 0; i < 6; ++i) sum += static_cast<double>(random()) * 0x1p-32 - 0.5;
    v = random() % 64 == 0 ? 0.0F : mean + deviation * static_cast<float>(sum * 1.41);
  }
  return x;
}

/// Fails with the first numbers that differ in a bit.
inline void expect_same_bits(const std::vector<float>& got, const std::vector<float>& want,
                             const std::string& what) {
  ASSERT_EQ(got.size(), want.size()) << what;
  std::size_t differ = 0;
  for (std::size_t i = 0; i < got.size(); ++i) {
    if (bits(got[i]) == bits(want[i])) continue;
    if (++differ <= 3) ADD_FAILURE() << what << "[" << i << "]: " << got[i] << ", not " << want[i];
  }
  EXPECT_EQ(differ, 0U) << what << " of " << got.size();
}

}  // namespace instability_test
