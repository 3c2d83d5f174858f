// SPDX-License-Identifier: Apache-2.0
#include <cstdio>

#include "mixed_flags.hpp"

int main() {
  for (std::uint32_t seed = 1; seed <= 20; ++seed) {
    const std::vector<std::uint32_t> here = compute_results(seed);
    const std::vector<std::uint32_t> plain = results_of_plain_unit(seed);
    const std::vector<std::uint32_t> native = results_of_native_unit(seed);
    if (here.size() != 4 * 280 + 5 * 17 + 1 || plain != here || native != here) {
      std::fprintf(stderr, "the units differ, seed %u\n", static_cast<unsigned>(seed));
      return 1;
    }
  }
  return 0;
}
