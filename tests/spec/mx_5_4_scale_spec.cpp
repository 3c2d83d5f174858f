// SPDX-License-Identifier: Apache-2.0
// OCP MX 1.0, 5.4: the scale type E8M0.
#include <cmath>

#include "mxref/formats.hpp"
#include "spec.hpp"

using namespace mxref;

namespace {

constexpr overflow::nonsaturating nosat;

E8M0 e8m0(int code) { return E8M0{static_cast<std::uint8_t>(code)}; }

// 2^n for -127 <= n <= 127 by doubling and halving.
double power_of_two(int n) {
  double x = 1;
  for (; n > 0; --n) x *= 2;
  for (; n < 0; ++n) x /= 2;
  return x;
}

}  // namespace

// Table 7: an unsigned exponent with bias 127.
TEST_CASE("mx-5.4.1-e8m0: every code but 255 is a power of two",
          "[ocp-mx-1.0][5.4.1][mx-5.4.1-e8m0]") {
  for (int code = 0; code < 255; ++code) {
    CAPTURE(code);
    const double value = power_of_two(code - 127);
    CHECK(is_exactly(decode(e8m0(code)), value));
    CHECK(decode<double>(e8m0(code)) == value);
    CHECK(encode<E8M0>(value).code == code);
    CHECK(encode<E8M0>(static_cast<float>(value)).code == code);
  }
  CHECK(decode(E8M0{127}) == 1.0F);
  CHECK(decode(E8M0{134}) == 128.0F);
}

// X = 2^-127 is code 0 (a binary32 subnormal), 2^127 is 0xFE.
TEST_CASE("mx-5.4.1-e8m0: the range is 2^-127 to 2^127", "[ocp-mx-1.0][5.4.1][mx-5.4.1-e8m0]") {
  CHECK(std::bit_cast<std::uint32_t>(decode(E8M0{0})) == 0x00400000U);
  CHECK(std::bit_cast<std::uint32_t>(decode(E8M0{1})) == 0x00800000U);
  CHECK(std::bit_cast<std::uint32_t>(decode(E8M0{0xFE})) == 0x7F000000U);
}

TEST_CASE("mx-5.4.1-e8m0: 0xFF is the only NaN and there is no infinity and no zero",
          "[ocp-mx-1.0][5.4.1][mx-5.4.1-e8m0]") {
  for (int code = 0; code < 256; ++code) {
    CAPTURE(code);
    const number n = e8m0(code).to_number();
    CHECK(n.is_nan() == (code == 0xFF));
    CHECK_FALSE(n.is_inf());
    CHECK_FALSE(n.is_zero());
    CHECK_FALSE(n.negative);
  }
  CHECK(is_nan(decode(E8M0{0xFF})));
  CHECK(is_nan(decode<double>(E8M0{0xFF})));
}

// What the text leaves open: numbers that are no power of two, and those that have no code.
TEST_CASE("mx-5.4.1-e8m0: rounding to a power of two", "[ocp-mx-1.0][5.4.1][mx-5.4.1-e8m0][open]") {
  CHECK(encode<E8M0>(1.25F).code == 127);
  CHECK(encode<E8M0>(1.5F).code == 128);  // ties go up
  CHECK(encode<E8M0>(3.0F).code == 129);
  CHECK(encode<E8M0>(1.4999999F).code == 127);
  CHECK(encode<E8M0>(1.0000001F, rounding::up{}).code == 128);
  CHECK(encode<E8M0>(1.9999999F, rounding::down{}).code == 127);
  CHECK(encode<E8M0>(1.9999999F, rounding::toward_zero{}).code == 127);
  CHECK(encode<E8M0>(0x1.4p-127F).code == 0);
  CHECK(encode<E8M0>(0x1.8p-127F).code == 1);
  CHECK(encode<E8M0>(0x1.4p-127F, rounding::up{}).code == 1);
}

TEST_CASE("mx-5.4.1-e8m0: inputs without a code", "[ocp-mx-1.0][5.4.1][mx-5.4.1-e8m0][open]") {
  const rounding::nearest_even rne;
  const overflow::saturate sat;
  CHECK(encode<E8M0>(0.0F).code == 0);
  CHECK(encode<E8M0>(-0.0F).code == 0);
  CHECK(encode<E8M0>(0x1p-149F, rounding::up{}).code == 0);
  CHECK(encode<E8M0>(0x1p-300).code == 0);
  CHECK(encode<E8M0>(infinity).code == 0xFE);
  CHECK(encode<E8M0>(infinity, rne, nosat).code == 0xFF);
  CHECK(encode<E8M0>(0x1.8p127F).code == 0xFE);
  CHECK(encode<E8M0>(0x1.8p127F, rne, nosat).code == 0xFF);
  CHECK(encode<E8M0>(0x1.7p127F, rne, nosat).code == 0xFE);
  CHECK(encode<E8M0>(0x1.8p127F, rounding::toward_zero{}, nosat).code == 0xFE);
  CHECK(encode<E8M0>(quiet_nan).code == 0xFF);
  CHECK(encode<E8M0>(-2.0F).code == 0xFF);
  CHECK(encode<E8M0>(-2.0F, rne, sat, negative::abs{}).code == 128);
  CHECK(encode<E8M0>(-infinity).code == 0xFF);
  CHECK(encode<E8M0>(-infinity, rne, sat, negative::abs{}).code == 0xFE);
}
