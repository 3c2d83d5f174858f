// SPDX-License-Identifier: Apache-2.0
// OCP MX 1.0, 5.3: the element types and the rounding into them. FP8 in detail: ofp8_spec.cpp.
#include <array>

#include "mxref/formats.hpp"
#include "ofp8_values.hpp"
#include "spec.hpp"

using namespace mxref;

namespace {

// 5.3.2, tables 3 and 4; 5.3.3, table 5: positive numbers in code order.
constexpr std::array e2m3_values{
    0.0, 0.125, 0.25, 0.375, 0.5, 0.625, 0.75, 0.875,  // zero and subnormals
    1.0, 1.125, 1.25, 1.375, 1.5, 1.625, 1.75, 1.875,  //
    2.0, 2.25,  2.5,  2.75,  3.0, 3.25,  3.5,  3.75,   //
    4.0, 4.5,   5.0,  5.5,   6.0, 6.5,   7.0,  7.5};
constexpr std::array e3m2_values{0.0,  0.0625, 0.125, 0.1875,  // zero and subnormals
                                 0.25, 0.3125, 0.375, 0.4375,  //
                                 0.5,  0.625,  0.75,  0.875,   //
                                 1.0,  1.25,   1.5,   1.75,    //
                                 2.0,  2.5,    3.0,   3.5,     //
                                 4.0,  5.0,    6.0,   7.0,     //
                                 8.0,  10.0,   12.0,  14.0,    //
                                 16.0, 20.0,   24.0,  28.0};
constexpr std::array e2m1_values{0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0};

// Every code of a format with a sign bit and no special values, there and back.
template <class E, std::size_t N>
void check_table(const std::array<double, N>& values) {
  const int sign = static_cast<int>(N);
  for (int code = 0; code < sign; ++code) {
    CAPTURE(code);
    const double value = values[static_cast<std::size_t>(code)];
    CHECK(is_exactly(decode(E{static_cast<std::uint8_t>(code)}), value));
    CHECK(is_exactly(decode(E{static_cast<std::uint8_t>(code | sign)}), -value));
    CHECK(encode<E>(value).code == code);
    CHECK(encode<E>(-value).code == (code | sign));
  }
}

// Ties between neighbours go to the even code; a binary64 ulp away they do not.
template <class E, std::size_t N>
void check_nearest_even(const std::array<double, N>& values) {
  const int sign = static_cast<int>(N);
  for (int code = 0; code + 1 < sign; ++code) {
    CAPTURE(code);
    const auto i = static_cast<std::size_t>(code);
    const double middle = (values[i] + values[i + 1]) / 2;
    CHECK(encode<E>(middle).code == code + code % 2);
    CHECK(encode<E>(-middle).code == (sign | (code + code % 2)));
    CHECK(encode<E>(middle * (1 - 0x1p-52)).code == code);
    CHECK(encode<E>(middle * (1 + 0x1p-52)).code == code + 1);
    CHECK(encode<E>(-middle * (1 - 0x1p-52)).code == (sign | code));
    CHECK(encode<E>(-middle * (1 + 0x1p-52)).code == (sign | (code + 1)));
  }
}

// No code is Inf or NaN, and the result of every overflow and of Inf is the largest number.
template <class E>
void check_finite_only(float largest, int largest_code, int negative_largest_code) {
  for (int code = 0; code < 1 << E::desc.total_bits(); ++code) {
    CHECK(E{static_cast<std::uint8_t>(code)}.to_number().is_finite());
  }
  for (const float x : {largest * 1.0625F, largest * 2, 1e30F, infinity}) {
    CAPTURE(x);
    CHECK(encode<E>(x).code == largest_code);
    CHECK(encode<E>(-x).code == negative_largest_code);
    CHECK(encode<E>(x, rounding::nearest_even{}, overflow::nonsaturating{}).code == largest_code);
    CHECK(encode<E>(-x, rounding::nearest_even{}, overflow::nonsaturating{}).code ==
          negative_largest_code);
  }
}

}  // namespace

// Conversion must offer round to nearest, ties to even. It is the default.
TEST_CASE("mx-5.3-rne: nearest even into every element type", "[ocp-mx-1.0][5.3][mx-5.3-rne]") {
  check_nearest_even<E2M3>(e2m3_values);
  check_nearest_even<E3M2>(e3m2_values);
  check_nearest_even<E2M1>(e2m1_values);
  // FP8: from 16 on E4M3 has steps of 2, E5M2 of 4. All midpoints: ofp8_spec.cpp.
  CHECK(encode<E4M3>(17.0F).code == encode<E4M3>(16.0F).code);
  CHECK(encode<E4M3>(19.0F).code == encode<E4M3>(20.0F).code);
  CHECK(encode<E5M2>(18.0F).code == encode<E5M2>(16.0F).code);
  CHECK(encode<E5M2>(22.0F).code == encode<E5M2>(24.0F).code);
  // INT8: ties between multiples of 1/64, both signs.
  for (int n = 0; n < 127; ++n) {
    CAPTURE(n);
    const int even = n + n % 2;
    CHECK(encode<INT8>((n + 0.5) / 64).code == even);
    CHECK(encode<INT8>(-(n + 0.5) / 64).code == ((256 - even) & 0xFF));
  }
}

// The default really is nearest even: named, it gives the same; the other modes differ from it.
TEST_CASE("mx-5.3-rne: other modes are extra", "[ocp-mx-1.0][5.3][mx-5.3-rne]") {
  CHECK(encode<E2M1>(2.5F) == encode<E2M1>(2.5F, rounding::nearest_even{}));
  CHECK(decode(encode<E2M1>(2.5F)) == 2.0F);
  CHECK(decode(encode<E2M1>(2.5F, rounding::nearest_away{})) == 3.0F);
  CHECK(decode(encode<E2M1>(2.9F, rounding::toward_zero{})) == 2.0F);
  CHECK(decode(encode<E2M1>(2.1F, rounding::up{})) == 3.0F);
  CHECK(decode(encode<E2M1>(-2.1F, rounding::up{})) == -2.0F);
  CHECK(decode(encode<E2M1>(-2.1F, rounding::down{})) == -3.0F);
  CHECK(decode(encode<E2M1>(2.1F, rounding::to_odd{})) == 3.0F);
  CHECK(decode(encode<E2M1>(3.9F, rounding::to_odd{})) == 3.0F);
}

// FP8 elements are OFP8 E4M3 and E5M2.
TEST_CASE("mx-5.3.1-fp8: the elements are those of OFP8", "[ocp-mx-1.0][5.3.1][mx-5.3.1-fp8]") {
  for (int code = 0; code < 127; ++code) {
    CAPTURE(code);
    CHECK(is_exactly(decode(E4M3{static_cast<std::uint8_t>(code)}), e4m3_values[code]));
  }
  for (int code = 0; code < 124; ++code) {
    CAPTURE(code);
    CHECK(is_exactly(decode(E5M2{static_cast<std::uint8_t>(code)}), e5m2_values[code]));
  }
  // Table 2.
  CHECK(decode(E4M3{0x7E}) == 448.0F);
  CHECK(decode(E5M2{0x7B}) == 57344.0F);
  CHECK(decode(E5M2{0x7C}) == infinity);
  CHECK(is_nan(decode(E4M3{0x7F})));
  CHECK(is_nan(decode(E5M2{0x7F})));
}

TEST_CASE("mx-5.3.2-fp6: the tables of E2M3 and E3M2", "[ocp-mx-1.0][5.3.2][mx-5.3.2-fp6]") {
  check_table<E2M3>(e2m3_values);
  check_table<E3M2>(e3m2_values);
}

TEST_CASE("mx-5.3.2-fp6: both zeros exist", "[ocp-mx-1.0][5.3.2][mx-5.3.2-fp6]") {
  CHECK(is_exactly(decode(E2M3{0x00}), 0.0));
  CHECK(is_exactly(decode(E2M3{0x20}), -0.0));
  CHECK(is_exactly(decode(E3M2{0x00}), 0.0));
  CHECK(is_exactly(decode(E3M2{0x20}), -0.0));
  CHECK(encode<E3M2>(-0.0F).code == 0x20);
  CHECK(encode<E2M3>(-1e-30F).code == 0x20);
}

TEST_CASE("mx-5.3.2-fp6: no infinity and no NaN", "[ocp-mx-1.0][5.3.2][mx-5.3.2-fp6]") {
  check_finite_only<E2M3>(7.5F, 0x1F, 0x3F);
  check_finite_only<E3M2>(28.0F, 0x1F, 0x3F);
}

// A NaN input is left to the implementation: here the largest positive number.
TEST_CASE("mx-5.3.2-fp6: NaN input", "[ocp-mx-1.0][5.3.2][mx-5.3.2-fp6][open]") {
  for (const float x : {quiet_nan, -quiet_nan}) {
    CHECK(encode<E2M3>(x).code == 0x1F);
    CHECK(encode<E3M2>(x).code == 0x1F);
  }
}

TEST_CASE("mx-5.3.3-fp4: the sixteen values of table 5", "[ocp-mx-1.0][5.3.3][mx-5.3.3-fp4]") {
  check_table<E2M1>(e2m1_values);
}

TEST_CASE("mx-5.3.3-fp4: no infinity and no NaN", "[ocp-mx-1.0][5.3.3][mx-5.3.3-fp4]") {
  check_finite_only<E2M1>(6.0F, 0x7, 0xF);
}

// A NaN input is left to the implementation: here the largest positive number.
TEST_CASE("mx-5.3.3-fp4: NaN input", "[ocp-mx-1.0][5.3.3][mx-5.3.3-fp4][open]") {
  CHECK(encode<E2M1>(quiet_nan).code == 0x7);
  CHECK(encode<E2M1>(-quiet_nan).code == 0x7);
}

// Two's complement with an implied factor 2^-6.
TEST_CASE("mx-5.3.4-int8: every code is its integer over 64",
          "[ocp-mx-1.0][5.3.4][mx-5.3.4-int8]") {
  for (int n = -128; n < 128; ++n) {
    CAPTURE(n);
    const auto code = static_cast<std::uint8_t>(n & 0xFF);
    CHECK(is_exactly(decode(INT8{code}), n / 64.0));
    if (n > -128) CHECK(encode<INT8>(n / 64.0).code == code);
  }
  CHECK(decode(INT8{0x7F}) == 1.984375F);  // 1 63/64
  CHECK(decode(INT8{0x01}) == 0.015625F);
  CHECK(decode(INT8{0xFF}) == -0.015625F);
  CHECK(decode(INT8{0x40}) == 1.0F);
}

TEST_CASE("mx-5.3.4-int8: no infinity, no NaN, one zero", "[ocp-mx-1.0][5.3.4][mx-5.3.4-int8]") {
  check_finite_only<INT8>(1.984375F, 0x7F, 0x81);
  CHECK(encode<INT8>(-0.0F).code == 0);
  CHECK(encode<INT8>(-0x1p-8F).code == 0);
  CHECK(is_exactly(decode(INT8{0}), 0.0));
}

// A NaN input is left to the implementation: here zero.
TEST_CASE("mx-5.3.4-int8: NaN input", "[ocp-mx-1.0][5.3.4][mx-5.3.4-int8][open]") {
  CHECK(encode<INT8>(quiet_nan).code == 0);
  CHECK(encode<INT8>(-quiet_nan).code == 0);
}

// The code of -2 may be left unused. It is by default; saturate_full uses it.
TEST_CASE("mx-5.3.4-minus2-open: the code of -2", "[ocp-mx-1.0][5.3.4][mx-5.3.4-minus2-open]") {
  const rounding::nearest_even rne;
  CHECK(decode(INT8{0x80}) == -2.0F);
  CHECK(encode<INT8>(-2.0F).code == 0x81);
  CHECK(encode<INT8>(-2.0F, rne, overflow::saturate_full{}).code == 0x80);
  CHECK(encode<INT8>(-1e9F, rne, overflow::saturate_full{}).code == 0x80);
  CHECK(encode<INT8>(-infinity, rne, overflow::saturate_full{}).code == 0x80);
  CHECK(encode<INT8>(2.0F, rne, overflow::saturate_full{}).code == 0x7F);
  // -127.5/64 is a tie between -127 and -128.
  CHECK(encode<INT8>(-127.5F / 64, rne, overflow::saturate_full{}).code == 0x80);
  CHECK(encode<INT8>(-127.25F / 64, rne, overflow::saturate_full{}).code == 0x81);
}
