// SPDX-License-Identifier: Apache-2.0
// The library's static policies, chosen by their run-time names.
#ifndef MXREF_TESTS_SWEEP_GOLDEN_POLICIES_HPP_
#define MXREF_TESTS_SWEEP_GOLDEN_POLICIES_HPP_

#include <gtest/gtest.h>

#include <cstdint>

#include "mxref/element.hpp"
#include "mxref/overflow.hpp"
#include "mxref/rounding.hpp"

namespace golden {

template <class F>
auto with_rounding(mxref::rounding_mode mode, F f) {
  switch (mode) {
    case mxref::rounding_mode::nearest_away:
      return f(mxref::rounding::nearest_away{});
    case mxref::rounding_mode::nearest_toward_zero:
      return f(mxref::rounding::nearest_toward_zero{});
    case mxref::rounding_mode::toward_zero:
      return f(mxref::rounding::toward_zero{});
    case mxref::rounding_mode::up:
      return f(mxref::rounding::up{});
    case mxref::rounding_mode::down:
      return f(mxref::rounding::down{});
    case mxref::rounding_mode::to_odd:
      return f(mxref::rounding::to_odd{});
    default:
      return f(mxref::rounding::nearest_even{});
  }
}

template <class F>
auto with_overflow(mxref::overflow_mode mode, F f) {
  switch (mode) {
    case mxref::overflow_mode::nonsaturating:
      return f(mxref::overflow::nonsaturating{});
    case mxref::overflow_mode::saturate_full:
      return f(mxref::overflow::saturate_full{});
    default:
      return f(mxref::overflow::saturate{});
  }
}

/// encode<E>(x) by the static policies, which must agree with the run-time ones.
template <class E, class T, mxref::negative_policy N = mxref::negative::to_nan>
std::uint64_t encode_with(T x, mxref::rounding_mode r, mxref::overflow_mode o, N n = {}) {
  const E code = with_rounding(r, [&](auto rounding) {
    return with_overflow(o,
                         [&](auto overflow) { return mxref::encode<E>(x, rounding, overflow, n); });
  });
  const E dynamic =
      mxref::encode<E>(x, mxref::rounding::dynamic{r}, mxref::overflow::dynamic{o}, n);
  EXPECT_EQ(code.code, dynamic.code) << "static and run-time policies differ on " << x;
  return code.code;
}

}  // namespace golden

#endif  // MXREF_TESTS_SWEEP_GOLDEN_POLICIES_HPP_
