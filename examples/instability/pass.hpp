// SPDX-License-Identifier: Apache-2.0
// What a forward and backward pass is told: kernels, precision, the names of its random numbers,
// and who looks at its tensors.
#pragma once

#include <cstdint>
#include <new>

#include "engine.hpp"
#include "operand.hpp"
#include "precision.hpp"
#include "streams.hpp"

namespace instability {

/// Tensors whose shares of clamped numbers are counted.
enum class tensor_kind : std::uint8_t { gain, weight, post_norm, hidden, gradient };
inline constexpr int tensor_kind_count = 5;

/// Is shown tensors as they enter a product along their rows, before they are quantized.
class tensor_observer {
 public:
  virtual ~tensor_observer() = default;
  virtual void see(tensor_kind kind, const tensor& t, vector_rounding r) = 0;
};

struct pass {
  const engine& kernels;
  const instability::precision& precision;
  std::uint64_t seed = 0;  ///< of stochastic rounding
  std::uint64_t step = 0;
  bool keeps = true;  ///< a backward pass follows
  tensor_observer* observer = nullptr;

  /// Rounding of vector operations on the way forward and back.
  vector_rounding forward() const noexcept { return precision.vector; }
  vector_rounding backward() const noexcept {
    return precision.backward ? precision.vector : vector_rounding::off;
  }

  /// The operand of a role; `site` is different for every tensor of a step.
  const float* operand(role r, const tensor& x, axis blocks, std::uint32_t site, float* out) const {
    const std::uint32_t place = site * role_count + static_cast<std::uint32_t>(r);
    const std::uint64_t words = stream_seed(seed, stream::rounding, step, place);
    return prepare(kernels, precision[r], precision.vector, precision.random_bits, x, blocks, words,
                   out);
  }

  /// out = a b^T; throws std::bad_alloc.
  void multiply(const factor& a, const factor& b, float* out) const {
    if (!product(kernels, precision.sums, a, b, out)) throw std::bad_alloc();
  }

  void round(vector_rounding r, float* x, index_t count) const {
    if (r == vector_rounding::off) return;
    kernels.for_numbers(count, [&](index_t first, index_t n) {
      kernels.vectors().round(r, x + first, n, x + first);
    });
  }

  void show(tensor_kind kind, const tensor& x) const {
    if (observer != nullptr) observer->see(kind, x, forward());
  }
};

}  // namespace instability
