// SPDX-License-Identifier: Apache-2.0
// OFP8 1.0 (June 2023): the two 8-bit element types and the conversion into them.
#include "mxref/formats.hpp"
#include "ofp8_values.hpp"
#include "spec.hpp"

using namespace mxref;

namespace {

constexpr rounding::nearest_even rne;
constexpr overflow::saturate sat;
constexpr overflow::nonsaturating nosat;

E4M3 e4m3(int code) { return E4M3{static_cast<std::uint8_t>(code)}; }
E5M2 e5m2(int code) { return E5M2{static_cast<std::uint8_t>(code)}; }

template <class E>
concept has_arithmetic = requires(E a, E b) {
  a + b;
}
|| requires(E a, E b) { a* b; }
|| requires(E a) { -a; }
|| requires(E a, E b) { a < b; };

}  // namespace

// Tables 1 and 2: every finite code of both formats, with both signs.
TEST_CASE("ofp8-tables: every code has the value of the tables", "[ofp8-1.0][ofp8-tables]") {
  for (int code = 0; code < 127; ++code) {
    CAPTURE(code);
    CHECK(is_exactly(decode(e4m3(code)), e4m3_values[code]));
    CHECK(is_exactly(decode(e4m3(code | 0x80)), -e4m3_values[code]));
  }
  for (int code = 0; code < 124; ++code) {
    CAPTURE(code);
    CHECK(is_exactly(decode(e5m2(code)), e5m2_values[code]));
    CHECK(is_exactly(decode(e5m2(code | 0x80)), -e5m2_values[code]));
  }
}

TEST_CASE("ofp8-tables: every value is encoded as its code", "[ofp8-1.0][ofp8-tables]") {
  for (int code = 0; code < 127; ++code) {
    CAPTURE(code);
    CHECK(encode<E4M3>(e4m3_values[code]).code == code);
    CHECK(encode<E4M3>(-e4m3_values[code]).code == (code | 0x80));
  }
  for (int code = 0; code < 124; ++code) {
    CAPTURE(code);
    CHECK(encode<E5M2>(e5m2_values[code]).code == code);
    CHECK(encode<E5M2>(-e5m2_values[code]).code == (code | 0x80));
  }
}

// Largest and smallest numbers, as the tables list them.
TEST_CASE("ofp8-tables: limits", "[ofp8-1.0][ofp8-tables]") {
  CHECK(decode(E4M3{0x7E}) == 448.0F);      // S.1111.110
  CHECK(decode(E4M3{0x08}) == 0x1p-6F);     // S.0001.000
  CHECK(decode(E4M3{0x07}) == 0x1.Cp-7F);   // S.0000.111
  CHECK(decode(E4M3{0x01}) == 0x1p-9F);     // S.0000.001
  CHECK(decode(E5M2{0x7B}) == 57344.0F);    // S.11110.11
  CHECK(decode(E5M2{0x04}) == 0x1p-14F);    // S.00001.00
  CHECK(decode(E5M2{0x03}) == 0x1.8p-15F);  // S.00000.11
  CHECK(decode(E5M2{0x01}) == 0x1p-16F);    // S.00000.01
}

// Bias 7 for E4M3 and 15 for E5M2; the abbreviation list of 4.2 has them the wrong way round.
TEST_CASE("ofp8-erratum: the biases are those of the tables", "[ofp8-1.0][ofp8-erratum]") {
  CHECK(encode<E4M3>(1.0F).code == 7 << 3);
  CHECK(encode<E5M2>(1.0F).code == 15 << 2);
}

// One NaN magnitude, in both signs; no Inf; the top exponent otherwise holds numbers up to 448.
TEST_CASE("ofp8-e4m3-nan: one NaN and no infinity", "[ofp8-1.0][5.1][ofp8-e4m3-nan]") {
  for (int code = 0; code < 256; ++code) {
    CAPTURE(code);
    const number n = e4m3(code).to_number();
    CHECK(n.is_nan() == ((code & 0x7F) == 0x7F));
    CHECK_FALSE(n.is_inf());
  }
  CHECK(is_nan(decode(E4M3{0x7F})));
  CHECK(is_nan(decode(E4M3{0xFF})));
  CHECK(decode(E4M3{0x78}) == 256.0F);
}

// As IEEE 754: Inf is 0x7C, NaN every other mantissa in the top exponent.
TEST_CASE("ofp8-e5m2-ieee: infinities and NaNs", "[ofp8-1.0][5.1][ofp8-e5m2-ieee]") {
  CHECK(decode(E5M2{0x7C}) == infinity);
  CHECK(decode(E5M2{0xFC}) == -infinity);
  for (int code = 0; code < 256; ++code) {
    CAPTURE(code);
    const number n = e5m2(code).to_number();
    CHECK(n.is_inf() == ((code & 0x7F) == 0x7C));
    CHECK(n.is_nan() == ((code & 0x7F) > 0x7C));
  }
}

// An interchange format: it is stored and converted; there is no arithmetic and no order on codes.
TEST_CASE("ofp8-scope: interchange only", "[ofp8-1.0][ofp8-scope]") {
  STATIC_REQUIRE_FALSE(has_arithmetic<E4M3>);
  STATIC_REQUIRE_FALSE(has_arithmetic<E5M2>);
  STATIC_REQUIRE(sizeof(E4M3) == 1);
  STATIC_REQUIRE(sizeof(E5M2) == 1);
}

// Halfway cases go to the even code, everything else to the nearer number.
TEST_CASE("ofp8-conv-rne: conversion rounds to nearest even", "[ofp8-1.0][5.2][ofp8-conv-rne]") {
  // Between every two neighbours: the midpoint, and binary64 numbers next to it.
  for (int code = 0; code < 126; ++code) {
    CAPTURE(code);
    const double middle = (e4m3_values[code] + e4m3_values[code + 1]) / 2;
    const int even = code + code % 2;
    CHECK(encode<E4M3>(middle).code == even);
    CHECK(encode<E4M3>(-middle).code == (even | 0x80));
    CHECK(encode<E4M3>(middle * (1 - 0x1p-52)).code == code);
    CHECK(encode<E4M3>(middle * (1 + 0x1p-52)).code == code + 1);
    CHECK(encode<E4M3>(static_cast<float>(middle * (1 - 0x1p-23))).code == code);
    CHECK(encode<E4M3>(static_cast<float>(middle * (1 + 0x1p-23))).code == code + 1);
  }
  for (int code = 0; code < 123; ++code) {
    CAPTURE(code);
    const double middle = (e5m2_values[code] + e5m2_values[code + 1]) / 2;
    const int even = code + code % 2;
    CHECK(encode<E5M2>(middle).code == even);
    CHECK(encode<E5M2>(-middle).code == (even | 0x80));
    CHECK(encode<E5M2>(middle * (1 - 0x1p-52)).code == code);
    CHECK(encode<E5M2>(middle * (1 + 0x1p-52)).code == code + 1);
  }
}

// Table 3, saturating: overflow after rounding and both infinities give the largest number.
TEST_CASE("ofp8-conv-sat: saturating conversion", "[ofp8-1.0][5.2][ofp8-conv-sat]") {
  for (const float x : {449.0F, 464.0F, 465.0F, 480.0F, 1e30F, 3.4028235e38F, infinity}) {
    CAPTURE(x);
    CHECK(encode<E4M3>(x, rne, sat).code == 0x7E);
    CHECK(encode<E4M3>(-x, rne, sat).code == 0xFE);
  }
  for (const float x : {57345.0F, 61440.0F, 65536.0F, 1e30F, 3.4028235e38F, infinity}) {
    CAPTURE(x);
    CHECK(encode<E5M2>(x, rne, sat).code == 0x7B);
    CHECK(encode<E5M2>(-x, rne, sat).code == 0xFB);
  }
  CHECK(is_nan(decode(encode<E4M3>(quiet_nan, rne, sat))));
  CHECK(is_nan(decode(encode<E5M2>(quiet_nan, rne, sat))));
  CHECK(is_nan(decode(encode<E4M3>(-quiet_nan, rne, sat))));
  CHECK(is_nan(decode(encode<E5M2>(-quiet_nan, rne, sat))));
}

// Table 3, non-saturating: NaN in E4M3, Inf in E5M2. 464 is a tie and 448 is even; 61440 is a tie
// and 57344 is odd.
TEST_CASE("ofp8-conv-nosat: non-saturating conversion", "[ofp8-1.0][5.2][ofp8-conv-nosat]") {
  CHECK(encode<E4M3>(464.0F, rne, nosat).code == 0x7E);
  CHECK(encode<E4M3>(-464.0F, rne, nosat).code == 0xFE);
  for (const float x : {464.00003F, 480.0F, 1e30F, infinity}) {
    CAPTURE(x);
    CHECK(encode<E4M3>(x, rne, nosat).code == 0x7F);
    CHECK(encode<E4M3>(-x, rne, nosat).code == 0xFF);
  }
  CHECK(encode<E5M2>(61439.996F, rne, nosat).code == 0x7B);
  CHECK(encode<E5M2>(-61439.996F, rne, nosat).code == 0xFB);
  for (const float x : {61440.0F, 65536.0F, 1e30F, infinity}) {
    CAPTURE(x);
    CHECK(encode<E5M2>(x, rne, nosat).code == 0x7C);
    CHECK(encode<E5M2>(-x, rne, nosat).code == 0xFC);
  }
  CHECK(is_nan(decode(encode<E4M3>(quiet_nan, rne, nosat))));
  CHECK(is_nan(decode(encode<E5M2>(quiet_nan, rne, nosat))));
}

// Both modes for both formats; below the overflow threshold they are the same.
TEST_CASE("ofp8-both-modes: the modes differ only in overflow",
          "[ofp8-1.0][5.2][ofp8-both-modes]") {
  for (float x = 0x1p-20F; x < 464.0F; x *= 1.0009765625F) {
    CAPTURE(x);
    CHECK(encode<E4M3>(x, rne, sat) == encode<E4M3>(x, rne, nosat));
    CHECK(encode<E5M2>(-x, rne, sat) == encode<E5M2>(-x, rne, nosat));
  }
  CHECK(encode<E4M3>(500.0F, rne, sat) != encode<E4M3>(500.0F, rne, nosat));
  CHECK(encode<E5M2>(1e6F, rne, sat) != encode<E5M2>(1e6F, rne, nosat));
}
