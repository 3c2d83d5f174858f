// SPDX-License-Identifier: Apache-2.0
// Compiled with -O0.
#include "mixed_flags.hpp"

std::vector<std::uint32_t> results_of_plain_unit(std::uint32_t seed) {
  return compute_results(seed);
}
