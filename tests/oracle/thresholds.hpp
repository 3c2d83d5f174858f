// SPDX-License-Identifier: Apache-2.0
// The conversion from binary32 as a list of runs: all inputs between two thresholds get one code.
// A walk over all 2^32 bit patterns then needs one comparison per input.
#ifndef MXREF_TESTS_ORACLE_THRESHOLDS_HPP_
#define MXREF_TESTS_ORACLE_THRESHOLDS_HPP_

#include <cstdint>
#include <vector>

#include "tables.hpp"

namespace oracle {

/// Inputs from the bit pattern `first` up to the next run's get `code`.
struct run {
  std::uint32_t first = 0;
  std::uint32_t code = 0;
};

/// Runs in the order of bit patterns: 0 ... +Inf, NaN, then -0 ... -Inf, NaN. Neighbouring runs
/// have different codes, except at the change of sign. Not for binary32 as a target.
std::vector<run> threshold_runs(const format& f, rounding r, overflow o,
                                negative n = negative::to_nan);

/// The code that the runs give to one input.
std::uint32_t expected_code(const std::vector<run>& runs, std::uint32_t input_bits);

}  // namespace oracle

#endif  // MXREF_TESTS_ORACLE_THRESHOLDS_HPP_
