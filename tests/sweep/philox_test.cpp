// SPDX-License-Identifier: Apache-2.0
// Philox4x32-10 against the vectors of its authors, and against their library Random123 where it is
// installed (MXREF_HAS_RANDOM123).
#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <random>

#include "mxref/philox.hpp"
#ifdef MXREF_HAS_RANDOM123
#include <Random123/philox.h>
#endif

namespace {

using words = std::array<std::uint32_t, 4>;

constexpr words philox(const words& c, std::uint32_t k0, std::uint32_t k1) {
  const mxref::philox_block x = mxref::philox_words({{c[0], c[1], c[2], c[3]}}, k0, k1);
  return {x.word[0], x.word[1], x.word[2], x.word[3]};
}

// The known answers that Random123 ships (kat_vectors, philox4x32 10).
static_assert(philox({0, 0, 0, 0}, 0, 0) == words{0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8});
static_assert(philox({0xFFFFFFFF, 0xFFFFFFFF, 0xFFFFFFFF, 0xFFFFFFFF}, 0xFFFFFFFF, 0xFFFFFFFF) ==
              words{0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD});
static_assert(philox({0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344}, 0xA4093822, 0x299F31D0) ==
              words{0xD16CFE09, 0x94FDCCEB, 0x5001E420, 0x24126EA1});

TEST(Philox, WordIIsWordIMod4OfCounterIDiv4) {
  constexpr std::uint64_t seed = 0x299F31D0A4093822;
  for (const std::uint64_t counter : {std::uint64_t{0}, std::uint64_t{0xFFFFFFFF},
                                      std::uint64_t{0x100000000}, std::uint64_t{0x123456789ABC}}) {
    const words want = philox(
        {static_cast<std::uint32_t>(counter), static_cast<std::uint32_t>(counter >> 32), 0, 0},
        0xA4093822, 0x299F31D0);
    for (std::uint64_t i = 0; i < 4; ++i) {
      EXPECT_EQ(mxref::philox_word(seed, 4 * counter + i), want[i]);
    }
  }
}

#ifdef MXREF_HAS_RANDOM123
TEST(Philox, EqualsRandom123) {
  std::mt19937 random(1);
  for (int round = 0; round < 100000; ++round) {
    const auto word = [&] { return static_cast<std::uint32_t>(random()); };
    const r123::Philox4x32::ctr_type c{{word(), word(), word(), word()}};
    const r123::Philox4x32::key_type k{{word(), word()}};
    const auto want = r123::Philox4x32()(c, k);
    ASSERT_EQ(philox({c[0], c[1], c[2], c[3]}, k[0], k[1]),
              (words{want[0], want[1], want[2], want[3]}));
  }
}
#endif

}  // namespace
