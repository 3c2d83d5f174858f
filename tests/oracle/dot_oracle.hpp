// SPDX-License-Identifier: Apache-2.0
// One element of a matrix product, by the definition of every accumulation policy, in exact
// rational arithmetic. Values come from the tables; a sum is a rational number; each rounding finds
// the two neighbours in the target format and compares. Slow.
#ifndef MXREF_TESTS_ORACLE_DOT_ORACLE_HPP_
#define MXREF_TESTS_ORACLE_DOT_ORACLE_HPP_

#include <gmpxx.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "tables.hpp"

namespace oracle {

/// What IEEE 754 arithmetic works on: a number with a sign that zeros have too, an infinity, a NaN.
struct real {
  value_class cls = value_class::finite;
  bool negative = false;
  mpq_class value{};  ///< signed; 0 unless finite

  bool is_nan() const { return cls == value_class::nan; }
  bool is_inf() const { return cls == value_class::infinite; }
  bool is_zero() const { return cls == value_class::finite && value == 0; }
};

real make_real(double x);
real code_value(const format& f, std::uint32_t code);

/// 2^exponent.
mpq_class power_of_two(long exponent);
/// The greatest integer e with 2^e <= |x|; x is not 0.
long floor_log2(const mpq_class& x);

// Exact results with the zero signs of IEEE 754 6.3: x + (-x) is +0, and only -0 + -0 is -0.
real multiply(const real& a, const real& b);
real add(const real& a, const real& b);

/// Nearest, ties to even, to a signed floating-point format: gradual underflow; beyond the range
/// Inf or what the format has in its place. NaN gives the format's NaN code.
std::uint32_t nearest_code(const format& f, const real& x);
/// The magnitude's code cut off; beyond the range nothing is said but that.
struct toward_zero_result {
  std::uint32_t code = 0;
  bool beyond = false;
};
toward_zero_result toward_zero(const format& f, const mpq_class& x);
/// nearest_code in binary32, as a number again.
real nearest_binary32(const real& x);

/// A row of an operand: codes, and a scale code for each `block` of them.
struct operand_row {
  const format* elements = nullptr;
  std::vector<std::uint32_t> codes;
  const format* scale_format = nullptr;  ///< null: unscaled
  std::vector<std::uint32_t> scales;
  int block = 0;

  real element(std::size_t k) const { return code_value(*elements, codes[k]); }
  real scale(std::size_t k) const;
  real scaled(std::size_t k) const { return multiply(element(k), scale(k)); }
};

struct epilogue {
  float alpha = 1;
  float beta = 1;
};

struct dot_problem {
  operand_row a;
  operand_row b;
  std::optional<real> c;
  std::size_t block = 32;  ///< the k that are rounded together by the policies that round by block
  std::optional<epilogue> scaling;
};

enum class accumulation { exact, block_exact_fp32, block_fused_fp32, fp32_chain };
inline constexpr std::array all_accumulations{accumulation::exact, accumulation::block_exact_fp32,
                                              accumulation::block_fused_fp32,
                                              accumulation::fp32_chain};
constexpr const char* name(accumulation a) {
  constexpr std::array names{"exact", "block-exact-fp32", "block-fused-fp32", "fp32-chain"};
  return names[static_cast<unsigned>(a)];
}

/// The code of the result in the format `out`; without `scaling` only `exact` has a choice of it.
std::uint32_t dot(const dot_problem& p, accumulation policy, const format& out);

/// D = fma(alpha, acc, RN(beta * C)); without C there is nothing to add.
std::uint32_t scale_result(const dot_problem& p, const real& acc, const format& out);

}  // namespace oracle

#endif  // MXREF_TESTS_ORACLE_DOT_ORACLE_HPP_
