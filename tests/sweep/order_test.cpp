// SPDX-License-Identifier: Apache-2.0
// Order, hash and print of elements: over all codes, against double.
#include "mxref/order.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <compare>
#include <sstream>
#include <string>
#include <unordered_set>

#include "format_list.hpp"
#include "mxref/hash.hpp"
#include "mxref/print.hpp"
#include "mxref/quantize.hpp"

namespace {

using mxref::decode;

template <class E>
class Order : public testing::Test {};
using formats =
    testing::Types<mxref::E5M2, mxref::E4M3, mxref::E3M2, mxref::E2M3, mxref::E2M1, mxref::INT8,
                   mxref::E8M0, mxref::UE4M3, mxref::E4M3FNUZ, mxref::E4M3IEEE, mxref::E3M4>;
TYPED_TEST_SUITE(Order, formats, sweep::format_names);

TYPED_TEST(Order, IsThatOfTheValues) {
  using E = TypeParam;
  const std::uint32_t count = sweep::oracle_of<E>().code_count();
  for (std::uint32_t i = 0; i < count; ++i) {
    for (std::uint32_t j = 0; j < count; ++j) {
      const E a{static_cast<std::uint8_t>(i)};
      const E b{static_cast<std::uint8_t>(j)};
      const double x = decode<double>(a);
      const double y = decode<double>(b);
      EXPECT_EQ(mxref::compare(a, b), x <=> y) << x << ' ' << y;
      // Another format on the other side.
      EXPECT_EQ(mxref::compare(a, mxref::encode<mxref::binary32>(y, mxref::rounding::nearest_even{},
                                                                 mxref::overflow::nonsaturating{})),
                x <=> y);

      const auto order = mxref::total_order(a, b);
      EXPECT_EQ(order == std::strong_ordering::equal, i == j);
      EXPECT_EQ(order<0, mxref::total_order(b, a)> 0);
      const bool zeros_in_order = x == 0 && y == 0 && std::signbit(x) && !std::signbit(y);
      EXPECT_TRUE(order < 0 || !(x < y || zeros_in_order)) << x << ' ' << y;
      // A NaN stands beyond every number, on the side of its sign.
      if (std::isnan(x) && !std::isnan(y)) {
        const bool first = E::desc.special != mxref::specials::nan_for_minus0 &&
                           E::desc.has_sign() && (i & E::desc.sign_code()) != 0;
        EXPECT_EQ(order < 0, first) << i << ' ' << j;
      }
    }
  }
}

TYPED_TEST(Order, HashAndPrint) {
  using E = TypeParam;
  std::unordered_set<E> seen;
  const std::uint32_t count = sweep::oracle_of<E>().code_count();
  for (std::uint32_t i = 0; i < count; ++i) {
    const E e{static_cast<std::uint8_t>(i)};
    EXPECT_TRUE(seen.insert(e).second);
    EXPECT_FALSE(seen.insert(e).second);
    std::ostringstream out;
    out << e;
    const double v = decode<double>(e);
    if (std::isnan(v)) {
      EXPECT_EQ(out.str(), "nan");
    } else {
      EXPECT_EQ(std::stod(out.str()), v);
      EXPECT_EQ(out.str()[0] == '-', std::signbit(v)) << out.str();
    }
  }
  EXPECT_EQ(seen.size(), count);
}

TEST(BlockPrint, ScaleAndElements) {
  const float x[4] = {1.0F, -0.0F, 3.0F, 6.0F};
  const auto b = mxref::quantize<mxref::mx_block<mxref::E2M1, 4>>(x);
  std::ostringstream out;
  out << b;
  EXPECT_EQ(out.str(), "2^0 x [1 -0 3 6]");
  const float nan[4] = {NAN};
  std::ostringstream poisoned;
  poisoned << mxref::quantize<mxref::mx_block<mxref::E2M1, 4>>(nan);
  EXPECT_EQ(poisoned.str(), "nan x [0 0 0 0]");
  const std::hash<mxref::mx_block<mxref::E2M1, 4>> hash;
  auto other = b;
  EXPECT_EQ(hash(b), hash(other));
  other.set_element(3, mxref::E2M1{1});
  EXPECT_NE(hash(b), hash(other));
}

}  // namespace
