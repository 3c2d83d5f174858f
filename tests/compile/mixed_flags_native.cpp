// SPDX-License-Identifier: Apache-2.0
// Compiled with -O3 -march=native -ffast-math.
#include "mixed_flags.hpp"

std::vector<std::uint32_t> results_of_native_unit(std::uint32_t seed) {
  return compute_results(seed);
}
