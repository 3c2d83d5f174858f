// SPDX-License-Identifier: Apache-2.0
// The oracle's own names of the questions a conversion has to answer.
#ifndef MXREF_TESTS_ORACLE_POLICIES_HPP_
#define MXREF_TESTS_ORACLE_POLICIES_HPP_

#include <array>

namespace oracle {

enum class rounding {
  nearest_even,
  nearest_away,
  nearest_toward_zero,
  toward_zero,
  up,
  down,
  to_odd
};
enum class overflow { saturate, nonsaturating, saturate_full };
enum class negative { to_nan, abs };

inline constexpr std::array all_roundings{
    rounding::nearest_even, rounding::nearest_away, rounding::nearest_toward_zero,
    rounding::toward_zero,  rounding::up,           rounding::down,
    rounding::to_odd};
inline constexpr std::array all_overflows{overflow::saturate, overflow::nonsaturating,
                                          overflow::saturate_full};
inline constexpr std::array all_negatives{negative::to_nan, negative::abs};

constexpr const char* name(rounding r) {
  constexpr std::array names{
      "nearest-even", "nearest-away", "nearest-toward-zero", "toward-zero", "up", "down", "to-odd"};
  return names[static_cast<unsigned>(r)];
}
constexpr const char* name(overflow o) {
  constexpr std::array names{"saturate", "nonsaturating", "saturate-full"};
  return names[static_cast<unsigned>(o)];
}
constexpr const char* name(negative n) { return n == negative::abs ? "abs" : "to-nan"; }

}  // namespace oracle

#endif  // MXREF_TESTS_ORACLE_POLICIES_HPP_
