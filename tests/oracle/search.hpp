// SPDX-License-Identifier: Apache-2.0
// The conversion of one binary64 number, by the definition: the two neighbours in the target format
// are found and compared with the number in exact rational arithmetic. Slow.
#ifndef MXREF_TESTS_ORACLE_SEARCH_HPP_
#define MXREF_TESTS_ORACLE_SEARCH_HPP_

#include <cstdint>

#include "tables.hpp"

namespace oracle {

/// Where a number lies in a format. Kept apart from the rounding, so that a test can ask for one
/// input under all policies.
struct position {
  value_class cls = value_class::finite;
  bool negative = false;
  bool zero = false;
  bool out_of_range = false;  ///< magnitude is at least format::beyond
  std::uint32_t low = 0;      ///< code of the greatest magnitude that is not above the number
  bool exact = false;         ///< the number is that magnitude
  int against_middle = 0;     ///< -1, 0, 1: below, at, above the mean of both neighbours
  bool low_is_odd = false;    ///< low, counted in units of the distance to the next magnitude
};

position locate(const format& f, double x);
/// The same for (-1)^negative * sig * 2^exp, which binary64 need not hold.
position locate(const format& f, bool negative, std::uint64_t sig, int exp);

std::uint32_t encode(const format& f, const position& p, rounding r, overflow o,
                     negative n = negative::to_nan);

inline std::uint32_t encode(const format& f, double x, rounding r, overflow o,
                            negative n = negative::to_nan) {
  return encode(f, locate(f, x), r, o, n);
}

}  // namespace oracle

#endif  // MXREF_TESTS_ORACLE_SEARCH_HPP_
