// SPDX-License-Identifier: Apache-2.0
// Random numbers that depend on (seed, stream, two indices, position) alone, so that they are the
// same in every phase, on any number of threads, and after a resume.
#pragma once

#include <cstdint>

#include "mxref/philox.hpp"

namespace instability {

/// What random numbers are for.
enum class stream : std::uint32_t {
  student = 1,
  teacher,
  inputs,
  noise,
  validation,
  rounding,
  gains,
};

/// The seed of a sequence of words, philox_word(seed, i): one block of Philox of the names.
constexpr std::uint64_t stream_seed(std::uint64_t seed, stream s, std::uint64_t first,
                                    std::uint32_t second = 0) noexcept {
  const mxref::philox_block b = mxref::philox_words(
      {{static_cast<std::uint32_t>(first), static_cast<std::uint32_t>(first >> 32), second,
        static_cast<std::uint32_t>(s)}},
      static_cast<std::uint32_t>(seed), static_cast<std::uint32_t>(seed >> 32));
  return std::uint64_t{b.word[1]} << 32 | b.word[0];
}

}  // namespace instability
