// SPDX-License-Identifier: Apache-2.0
// Tensors as operands of matrix products: rounded to bfloat16 and quantized to MX along the
// reduction axis.
#pragma once

#include <cstdint>

#include "engine.hpp"
#include "precision.hpp"

namespace instability {

/// A row-major binary32 matrix.
struct tensor {
  const float* data;
  index_t rows;
  index_t width;

  index_t count() const noexcept { return rows * width; }
};

/// The axis of a tensor that blocks run along.
enum class axis : std::uint8_t { along_rows, down_columns };

/// x as the operand of a role. Returns x itself where the role changes nothing, else out, which may
/// be x.data.
///
/// Rounds:  MX: each number to bfloat16 as vector operations are (r, not at all when off), then by
///          the role's block scale and rounding; bf16: once, by the role's rounding; fp32: never.
///          Stochastic rounding takes word i of the seed for the number at position i of x.
/// Source:  the order of operations is that of the microxcaling library's linear layer.
/// Checked: tests/instability/operand_test.cpp
const float* prepare(const engine& e, const role_precision& role, vector_rounding r,
                     int random_bits, const tensor& x, axis blocks, std::uint64_t seed, float* out);

}  // namespace instability
