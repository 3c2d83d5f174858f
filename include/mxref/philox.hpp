// SPDX-License-Identifier: Apache-2.0
// Level 1. Random words that depend on a seed and a position alone.
#ifndef MXREF_PHILOX_HPP_
#define MXREF_PHILOX_HPP_

#include <cstdint>

#include "mxref/config.hpp"

MXREF_BEGIN_NAMESPACE

/// The constants of Philox4x32 with 10 rounds (Salmon, Moraes, Dror, Shaw, "Parallel random
/// numbers: as easy as 1, 2, 3", SC 2011).
struct philox_constants {
  static constexpr int rounds = 10;
  static constexpr std::uint32_t multiplier0 = 0xD2511F53;
  static constexpr std::uint32_t multiplier1 = 0xCD9E8D57;
  static constexpr std::uint32_t key_step0 = 0x9E3779B9;
  static constexpr std::uint32_t key_step1 = 0xBB67AE85;
};

/// Four words of Philox.
struct philox_block {
  std::uint32_t word[4];
};

/// Philox4x32-10 of a counter and a key. (Random123 has a macro philox4x32.) Checked:
/// tests/sweep/philox_test.cpp, against Random123.
MXREF_HD constexpr philox_block philox_words(philox_block counter, std::uint32_t key0,
                                             std::uint32_t key1) noexcept {
  philox_block x = counter;
  for (int round = 0; round < philox_constants::rounds; ++round) {
    const std::uint64_t p0 = std::uint64_t{philox_constants::multiplier0} * x.word[0];
    const std::uint64_t p1 = std::uint64_t{philox_constants::multiplier1} * x.word[2];
    x = {{static_cast<std::uint32_t>(p1 >> 32) ^ x.word[1] ^ key0, static_cast<std::uint32_t>(p1),
          static_cast<std::uint32_t>(p0 >> 32) ^ x.word[3] ^ key1, static_cast<std::uint32_t>(p0)}};
    key0 += philox_constants::key_step0;
    key1 += philox_constants::key_step1;
  }
  return x;
}

/// Word i of a seed: word i mod 4 of the counter (floor(i / 4) low, high, 0, 0) under the key (seed
/// low, high).
MXREF_HD constexpr std::uint32_t philox_word(std::uint64_t seed, std::uint64_t i) noexcept {
  const std::uint64_t counter = i / 4;
  const philox_block x = philox_words(
      {{static_cast<std::uint32_t>(counter), static_cast<std::uint32_t>(counter >> 32), 0, 0}},
      static_cast<std::uint32_t>(seed), static_cast<std::uint32_t>(seed >> 32));
  return x.word[i % 4];
}

MXREF_END_NAMESPACE

#endif  // MXREF_PHILOX_HPP_
