// SPDX-License-Identifier: Apache-2.0
// The library's policies by the oracle's names, and how a mismatch is described.
#ifndef MXREF_TESTS_SWEEP_POLICIES_HPP_
#define MXREF_TESTS_SWEEP_POLICIES_HPP_

#include <array>
#include <cctype>
#include <cstddef>
#include <cstdint>
#include <ios>
#include <sstream>
#include <string>

#include "mxref/element.hpp"
#include "mxref/overflow.hpp"
#include "mxref/rounding.hpp"
#include "oracle/policies.hpp"

namespace sweep {

template <class E, class T>
using encoder = E (*)(T);

namespace detail {
template <class E, class T, class R, class O, class N>
E encode_as(T x) {
  return mxref::encode<E>(x, R{}, O{}, N{});
}
template <class E, class T, class N, class R>
inline constexpr std::array<encoder<E, T>, 3> encoders_of_rounding{
    &encode_as<E, T, R, mxref::overflow::saturate, N>,
    &encode_as<E, T, R, mxref::overflow::nonsaturating, N>,
    &encode_as<E, T, R, mxref::overflow::saturate_full, N>};
template <class E, class T, class N>
inline constexpr std::array encoders{
    encoders_of_rounding<E, T, N, mxref::rounding::nearest_even>,
    encoders_of_rounding<E, T, N, mxref::rounding::nearest_away>,
    encoders_of_rounding<E, T, N, mxref::rounding::nearest_toward_zero>,
    encoders_of_rounding<E, T, N, mxref::rounding::toward_zero>,
    encoders_of_rounding<E, T, N, mxref::rounding::up>,
    encoders_of_rounding<E, T, N, mxref::rounding::down>,
    encoders_of_rounding<E, T, N, mxref::rounding::to_odd>};
}  // namespace detail

/// encode<E>(T) with the static policies that the oracle's names stand for.
template <class E, class T, class N = mxref::negative::to_nan>
encoder<E, T> encoder_for(oracle::rounding r, oracle::overflow o) {
  return detail::encoders<E, T, N>[static_cast<std::size_t>(r)][static_cast<std::size_t>(o)];
}

constexpr mxref::rounding::dynamic dynamic(oracle::rounding r) {
  constexpr std::array modes{mxref::rounding_mode::nearest_even,
                             mxref::rounding_mode::nearest_away,
                             mxref::rounding_mode::nearest_toward_zero,
                             mxref::rounding_mode::toward_zero,
                             mxref::rounding_mode::up,
                             mxref::rounding_mode::down,
                             mxref::rounding_mode::to_odd};
  return {modes[static_cast<std::size_t>(r)]};
}
constexpr mxref::overflow::dynamic dynamic(oracle::overflow o) {
  constexpr std::array modes{mxref::overflow_mode::saturate, mxref::overflow_mode::nonsaturating,
                             mxref::overflow_mode::saturate_full};
  return {modes[static_cast<std::size_t>(o)]};
}

/// "nearest-even" as a part of a test's name: NearestEven.
inline std::string test_name(const std::string& words) {
  std::string result;
  bool capital = true;
  for (const char c : words) {
    if (c != '-') result += static_cast<char>(capital ? std::toupper(c) : c);
    capital = c == '-';
  }
  return result;
}

/// "nearest-even saturate: 0x1.dp+8 gives 0x7f, expected 0x7e"
inline std::string describe(oracle::rounding r, oracle::overflow o, double input, std::uint64_t got,
                            std::uint64_t want) {
  std::ostringstream text;
  text << name(r) << ' ' << name(o) << ": " << std::hexfloat << input << std::hex << " gives 0x"
       << got << ", expected 0x" << want;
  return text.str();
}

}  // namespace sweep

#endif  // MXREF_TESTS_SWEEP_POLICIES_HPP_
