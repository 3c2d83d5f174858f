// SPDX-License-Identifier: Apache-2.0
// One element of a matrix product as the matrix units of hardware are described, in exact rational
// arithmetic. The descriptions are written down here from the public models, not from the library.
#ifndef MXREF_TESTS_ORACLE_UNIT_ORACLE_HPP_
#define MXREF_TESTS_ORACLE_UNIT_ORACLE_HPP_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "dot_oracle.hpp"
#include "tables.hpp"

namespace oracle {

/// A fused truncated sum of products and an accumulator. The members name what the description
/// says; a test can turn one of them wrong. As constructed: 32 products, binary32, tcgen05
/// kind::mxf8f6f4.
struct fused_sum {
  std::size_t length = 32;
  long fraction_bits = 25;
  std::optional<long> exponent_floor = -133;
  std::size_t group = 0;  ///< products summed exactly before alignment; 0: none
  format_id accumulator = format_id::f32;
  bool truncates_output = true;        ///< else the sum is rounded to nearest even
  int dropped_digits = 0;              ///< mantissa digits of the accumulator that stay zero
  bool converts_to_f16 = false;        ///< elements have the exponents of binary16 numbers
  bool truncates_terms = true;         ///< else each term is rounded to nearest even
  bool normalizes_products = false;    ///< a product's exponent is that of its leading bit
  bool normalizes_subnormals = false;  ///< a subnormal element has the exponent of its leading bit
  bool zero_products_align = false;    ///< a zero product has an exponent too: emin and scales
  bool keeps_negative_underflow = true;  ///< a negative sum that underflows is -0
  bool overflows_to_largest = false;     ///< else to Inf
};

/// The code after all steps, in binary32 unless `scaling` makes `out`.
std::uint32_t dot(const dot_problem& p, const fused_sum& unit, const format& out);

/// What else hardware does with the steps of a row.
enum class unit_kind {
  chain,         ///< steps of `length`, each result the next accumulator
  emulated_fp8,  ///< 32 products: from +0 a step of those with k mod 4 in {0, 1}, a step of the
                 ///< others, then C is added to nearest
  cdna1,         ///< exact sums of products and accumulator, to nearest
  cdna2,         ///< binary32 operations that flush subnormals
  cdna3,         ///< products in a window of their own, toward minus infinity afterwards
  cdna3_fp8,     ///< the same, even and odd products apart
};

struct unit {
  unit_kind kind = unit_kind::chain;
  fused_sum sum{};  ///< of cdna1 to cdna3 only the length
};

/// The unit of a model (its run-time name) for operands of these formats. Throws for combinations
/// that the model does not have.
unit describe_unit(const std::string& model, format_id a, format_id b, format_id out);

/// The code of the result in the accumulator format. AMD's NaN is the format's own.
std::uint32_t dot(const dot_problem& p, const unit& u);

}  // namespace oracle

#endif  // MXREF_TESTS_ORACLE_UNIT_ORACLE_HPP_
