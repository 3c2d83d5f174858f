// SPDX-License-Identifier: Apache-2.0
// OCP MX 1.0, 6.3: conversion of a vector of binary32 to a block, the one that must exist.
// The T-cases are inputs of public reports; their expected values are typed, not computed.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <initializer_list>
#include <utility>
#include <vector>

#include "mxref/quantize.hpp"
#include "spec.hpp"

using namespace mxref;

namespace {

constexpr float from_bits(std::uint32_t bits) { return std::bit_cast<float>(bits); }

// A block of 32 that starts with these numbers and goes on with zeros.
std::array<float, 32> block_input(std::initializer_list<float> first) {
  std::array<float, 32> x{};
  std::copy(first.begin(), first.end(), x.begin());
  return x;
}

template <class E, class... Policies>
mx_block<E, 32> convert(std::initializer_list<float> first, Policies... policies) {
  return quantize<mx_block<E, 32>>(block_input(first).data(), policies...);
}

template <class E>
int scale_of(float amax) {
  const int positive = convert<E>({0.0F, amax}).scale().code;
  CHECK(int{convert<E>({-amax, amax / 2}).scale().code} == positive);
  return positive;
}

template <class E>
void check_codes(const mx_block<E, 32>& b, std::initializer_list<int> codes) {
  int i = 0;
  for (const int code : codes) {
    CAPTURE(i);
    CHECK(int{b.element(i).code} == code);
    ++i;
  }
  for (; i < 32; ++i) CHECK(int{b.element(i).code} == 0);
}

template <class E>
void check_values(const mx_block<E, 32>& b, std::initializer_list<double> values) {
  int i = 0;
  for (const double value : values) {
    CAPTURE(i);
    CHECK(is_exactly(b.value(i), value));
    ++i;
  }
}

// 2^k is floor(log2) of everything from itself to the last number before 2^(k+1).
template <class E>
void check_every_binade(int emax) {
  for (int k = -126; k <= 127; ++k) {
    CAPTURE(k);
    const int code = std::max(0, k - emax + 127);
    const float first = std::ldexp(1.0F, k);
    CHECK(int{convert<E>({first}).scale().code} == code);
    CHECK(int{convert<E>({std::nextafter(first, infinity)}).scale().code} == code);
    const float last = from_bits(std::bit_cast<std::uint32_t>(first) | 0x007FFFFF);
    CHECK(int{convert<E>({-last}).scale().code} == code);
  }
}

}  // namespace

// X is the largest power of two not above max |V|, over the largest power of two of the element
// type.
TEST_CASE("mx-6.3-scale: the largest powers of two", "[ocp-mx-1.0][6.3][mx-6.3-scale]") {
  CHECK(scale_of<E5M2>(1.0F) == 127 - 15);
  CHECK(scale_of<E4M3>(1.0F) == 127 - 8);
  CHECK(scale_of<E3M2>(1.0F) == 127 - 4);
  CHECK(scale_of<E2M3>(1.0F) == 127 - 2);
  CHECK(scale_of<E2M1>(1.0F) == 127 - 2);
  CHECK(scale_of<INT8>(1.0F) == 127);
  CHECK(scale_of<E2M1>(6.0F) == 127);
  CHECK(scale_of<E4M3>(448.0F) == 127);
  CHECK(scale_of<INT8>(1.984375F) == 127);

  SECTION("the exponent is exact, everywhere") {
    check_every_binade<E5M2>(15);
    check_every_binade<E4M3>(8);
    check_every_binade<E3M2>(4);
    check_every_binade<E2M3>(2);
    check_every_binade<E2M1>(2);
    check_every_binade<INT8>(0);
  }
  SECTION("just below a power of two, where log2 in binary32 would round up") {
    CHECK(scale_of<E4M3>(from_bits(0x5A7FFFFF)) == 172);
    CHECK(scale_of<E4M3>(from_bits(0x7F7FFFFF)) == 246);
    CHECK(scale_of<INT8>(from_bits(0x7F7FFFFF)) == 254);
  }
  SECTION("it depends on the largest magnitude alone, wherever it stands") {
    for (std::size_t at = 0; at < 32; ++at) {
      std::array<float, 32> x{};
      x.fill(0.3F);
      x[at] = -100.0F;
      CHECK(int{quantize<mx_block<E2M1, 32>>(x.data()).scale().code} == 131);
    }
  }
}

// P_i is V_i / X, rounded to the element type; to nearest even must be there.
TEST_CASE("mx-6.3-elements: V/X rounded to nearest even", "[ocp-mx-1.0][6.3][mx-6.3-elements]") {
  // amax in [4, 8) makes X = 1 for E2M1, [8, 16) makes X = 2.
  check_codes(convert<E2M1>({0.25F, 0.75F, 1.25F, 1.75F, 2.5F, 3.5F, 5.0F}), {0, 2, 2, 4, 4, 6, 6});
  check_codes(convert<E2M1>({8.0F, 0.5F, 1.5F, 2.5F, 3.5F, 5.0F, 7.0F, 10.0F}),
              {6, 0, 2, 2, 4, 4, 6, 6});
  check_codes(convert<E2M1>({5.0F, 0.25000003F, -0.25F, -0.75F, -5.0F}), {6, 1, 8, 10, 14});
  // amax in [256, 512) makes X = 1 for E4M3: ties at 17, 19, 232 and in the subnormals.
  check_codes(convert<E4M3>({256.0F, 17.0F, 19.0F, 232.0F, 0x1p-10F, 0x1.8p-9F, -0x1p-10F}),
              {0x78, 0x58, 0x5A, 0x76, 0x00, 0x02, 0x80});
  // INT8: the quantum is X / 64.
  check_codes(convert<INT8>({1.0F, 0.5F / 64, 1.5F / 64, -0.5F / 64, -2.5F / 64}),
              {64, 0, 2, 0, 0xFE});
  // Elements far below the scale vanish and keep their sign.
  check_codes(convert<E5M2>({0x1p100F, 0x1p-20F, -0x1p-20F}), {0x78, 0x00, 0x80});
}

// Normals beyond the largest value are clamped to it, with their sign: always saturating.
TEST_CASE("mx-6.3-clamp: beyond the largest value", "[ocp-mx-1.0][6.3][mx-6.3-clamp]") {
  check_codes(convert<E4M3>({511.9F, -511.9F, 448.0F, 449.0F, 464.0F, 465.0F, -480.0F}),
              {0x7E, 0xFE, 0x7E, 0x7E, 0x7E, 0x7E, 0xFE});
  check_codes(convert<E5M2>({65535.0F, -65535.0F, 57345.0F, 61440.0F}), {0x7B, 0xFB, 0x7B, 0x7B});
  check_codes(convert<E3M2>({31.9F, -31.9F, 28.1F, 30.0F}), {0x1F, 0x3F, 0x1F, 0x1F});
  check_codes(convert<E2M3>({7.99F, -7.99F, 7.6F, 7.75F}), {0x1F, 0x3F, 0x1F, 0x1F});
  check_codes(convert<E2M1>({7.99F, -7.99F, 6.1F, 7.0F}), {0x7, 0xF, 0x7, 0x7});
  check_codes(convert<INT8>({1.999F, -1.999F, 1.9921875F}), {0x7F, 0x81, 0x7F});
}

// Other conversions may be offered besides; the default is this one.
TEST_CASE("mx-6.3-more: other roundings and rules are extra", "[ocp-mx-1.0][6.3][mx-6.3-more]") {
  const std::initializer_list<float> x{5.0F, 2.5F, -2.5F, 1.1F};
  check_codes(convert<E2M1>(x), {6, 4, 12, 2});
  check_codes(convert<E2M1>(x, scale::floor{}, rounding::nearest_even{}), {6, 4, 12, 2});
  check_codes(convert<E2M1>(x, scale::floor{}, rounding::nearest_away{}), {7, 5, 13, 2});
  check_codes(convert<E2M1>(x, scale::floor{}, rounding::toward_zero{}), {6, 4, 12, 2});
  check_codes(convert<E2M1>(x, scale::floor{}, rounding::up{}), {7, 5, 12, 3});
  check_codes(convert<E2M1>(x, scale::floor{}, rounding::down{}), {6, 4, 13, 2});
  check_codes(convert<E2M1>(x, scale::floor{}, rounding::to_odd{}), {7, 5, 13, 3});
  // Non-saturating elements, and the code for -2, are extra too.
  check_codes(convert<E4M3>({500.0F, -500.0F}, scale::floor{}, rounding::nearest_even{},
                            overflow::nonsaturating{}),
              {0x7F, 0xFF});
  check_codes(convert<INT8>({1.999F, -1.999F}, scale::floor{}, rounding::nearest_even{},
                            overflow::saturate_full{}),
              {0x7F, 0x80});
}

// ---- What the text leaves open, as the library decides it by default.

// s outside -127..127 is clamped.
TEST_CASE("mx-6.3-scale: the scale is clamped", "[ocp-mx-1.0][6.3][mx-6.3-scale][open]") {
  CHECK(scale_of<E4M3>(0x1p-119F) == 0);
  CHECK(scale_of<E4M3>(0x1p-118F) == 1);
  CHECK(scale_of<E4M3>(from_bits(1)) == 0);
  CHECK(scale_of<E5M2>(0x1p-112F) == 0);
  CHECK(scale_of<E5M2>(0x1p-111F) == 1);
  CHECK(scale_of<INT8>(0x1p-127F) == 0);
  const std::array<double, 2> huge{0x1p300, 1.0};  // binary64 reaches further
  CHECK(int{quantize<mx_block<E4M3, 2>>(huge.data()).scale().code} == 254);
  CHECK(int{quantize<mx_block<E4M3, 2>>(huge.data()).element(0).code} == 0x7E);
}

TEST_CASE("mx-6.3-elements: -2 in MXINT8 is left unused",
          "[ocp-mx-1.0][6.3][mx-6.3-elements][open]") {
  check_codes(convert<INT8>({-1.9921875F, 1.0F}), {0x81, 0x40});
  check_codes(convert<INT8>({-2.0F, 1.0F}), {0xC0, 0x20});
}

TEST_CASE("mx-6.3: Inf poisons its block", "[ocp-mx-1.0][6.3][open]") {
  for (const float inf : {infinity, -infinity}) {
    const auto b = convert<E5M2>({1.0F, inf});
    CHECK(int{b.scale().code} == 0xFF);
    check_codes(b, {});
    for (int i = 0; i < 32; ++i) CHECK(is_nan(b.value(i)));
    // Under nan::finite it saturates in a block with an ordinary scale.
    const auto f = convert<E5M2>({1.0F, inf}, scale::floor{}, rounding::nearest_even{},
                                 overflow::saturate{}, nan::finite{});
    CHECK(int{f.scale().code} == 112);
    check_codes(f, {0x78, inf > 0 ? 0x7B : 0xFB});
    // As gfloat: scale 254.
    const auto g = convert<E5M2>({1.0F, inf}, scale::floor{}, rounding::nearest_even{},
                                 overflow::saturate{}, nan::gfloat_inf{});
    CHECK(int{g.scale().code} == 254);
    check_codes(g, {0, inf > 0 ? 0x7B : 0xFB});
  }
}

TEST_CASE("mx-6.3: the elements behind a tail are absent", "[ocp-mx-1.0][6.3][open]") {
  const std::array<float, 3> x{1.0F, -3.0F, 1000.0F};
  const auto b = quantize<mx_block<E2M1, 32>>(x.data(), 2);
  CHECK(int{b.scale().code} == 126);
  check_codes(b, {4, 0xF});
}

// ---- Public reports.

// The floor rule saturates the upper part of the last bin: 957 comes back as 896.
TEST_CASE("T1: E4M3 saturates above 1.75 * 2^k", "[ocp-mx-1.0][6.3][mx-6.3-clamp][T1]") {
  const auto b = convert<E4M3>({957.0F, 960.0F, -959.5632F, 57.7898F});
  CHECK(int{b.scale().code} == 128);
  check_codes(b, {0x7E, 0x7E, 0xFE, 0x5E});
  check_values(b, {896, 896, -896, 56});
}

TEST_CASE("T2: E5M2 just below a power of two", "[ocp-mx-1.0][6.3][mx-6.3-scale][T2]") {
  const auto b = convert<E5M2>({1.0F, 31.0F, from_bits(0x42FFFFFF)});
  CHECK(int{b.scale().code} == 118);
  check_codes(b, {0x60, 0x74, 0x7B});
  check_values(b, {1, 32, 112});
}

TEST_CASE("T4: an MXFP4 block and its bytes", "[ocp-mx-1.0][6.3][mx-6.3-elements][T4]") {
  const auto b =
      convert<E2M1>({.3463F,  -.0499F,  .3794F,  -2.3764F, .3960F,  .5989F,   -.6250F, -.4239F,
                     -.6192F, .2761F,   -.3746F, .1462F,   .5216F,  -.5194F,  -.8497F, -.8237F,
                     .5145F,  .3508F,   .0298F,  -.3462F,  .3917F,  .1096F,   1.4494F, 1.7009F,
                     -.5473F, -2.0851F, 1.8099F, .3587F,   1.4622F, -2.3143F, .3412F,  -.8931F});
  CHECK(int{b.scale().code} == 126);
  const std::array<int, 16> bytes{129, 226, 34, 170, 26,  25, 162, 187,
                                  18,  144, 2,  85,  234, 22, 229, 193};
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    CAPTURE(i);
    CHECK(int{b.codes()[i]} == bytes[i]);
  }
  // Under scale 128 the tie is at 0.5; anything above it is not zero.
  const auto tie =
      convert<E2M1>({8.0F, from_bits(0x3F000000), from_bits(0x3F000001), from_bits(0x3F000003)});
  CHECK(int{tie.scale().code} == 128);
  check_codes(tie, {6, 0, 1, 1});
}

TEST_CASE("T8: the smallest scale survives the round trip", "[ocp-mx-1.0][6.3][mx-6.3-scale][T8]") {
  const auto b = convert<E4M3>({0x1p-119F});
  CHECK(int{b.scale().code} == 0);
  check_codes(b, {0x78});
  check_values(b, {0x1p-119, 0});
}

TEST_CASE("T10: a NaN in a block", "[ocp-mx-1.0][6.3][open][T10]") {
  const auto strict = convert<E4M3>({1.0F, quiet_nan, 2.0F});
  CHECK(int{strict.scale().code} == 255);
  check_codes(strict, {});
  for (int i = 0; i < 32; ++i) CHECK(is_nan(strict.value(i)));

  const auto alone = convert<E4M3>({1.0F, quiet_nan, 2.0F}, scale::floor{},
                                   rounding::nearest_even{}, overflow::saturate{}, nan::finite{});
  CHECK(int{alone.scale().code} == 120);
  check_codes(alone, {0x70, 0x7F, 0x78});
  CHECK(is_exactly(alone.value(0), 1));
  CHECK(is_nan(alone.value(1)));
  CHECK(is_exactly(alone.value(2), 2));
  CHECK(is_exactly(alone.value(3), 0));

  // E2M1 has no NaN: the block can only be poisoned.
  CHECK(int{convert<E2M1>({1.0F, quiet_nan, 2.0F}).scale().code} == 255);
  const std::array<float, 32> x = block_input({1.0F, quiet_nan});
  std::array<std::uint8_t, 32> codes{};
  std::array<std::uint8_t, 1> scales{};
  const quantized_view out{E2M1::desc, 32, codes.data(), 32, scales.data(), 1};
  const quantizer<scale::floor, rounding::nearest_even, overflow::saturate, nan::finite> q{};
  CHECK(quantize(view(x.data(), 1, 32), out, q).code == errc::unrepresentable_nan);
}

TEST_CASE("T11: a block of zeros keeps their signs", "[ocp-mx-1.0][6.3][open][T11]") {
  const auto b = convert<E4M3>({0.0F, -0.0F, -0.0F, 0.0F});
  CHECK(int{b.scale().code} == 0);
  check_codes(b, {0x00, 0x80, 0x80, 0x00});
  check_values(b, {0.0, -0.0, -0.0, 0.0});
  check_codes(convert<E2M1>({-0.0F, 0.0F}), {8, 0});
  check_codes(convert<INT8>({-0.0F, 0.0F}), {0, 0});
}

TEST_CASE("T12: the smallest normal and a subnormal", "[ocp-mx-1.0][6.3][mx-6.3-scale][T12]") {
  const auto normal = convert<E4M3>({0x1p-126F});
  CHECK(int{normal.scale().code} == 0);
  check_codes(normal, {0x40});
  check_values(normal, {0x1p-126});
  const auto subnormal = convert<E4M3>({0x1p-140F});
  CHECK(int{subnormal.scale().code} == 0);
  check_codes(subnormal, {0x00});
  check_values(subnormal, {0});
}

TEST_CASE("T14: middle values survive the floor rule", "[ocp-mx-1.0][6.3][mx-6.3-elements][T14]") {
  const auto b = convert<E2M1>({-180.8454F, 276.3368F, 892.1324F, 1101.1176F, -502.5216F,
                                -302.0942F, 2268.5430F, -5960.6919F});
  CHECK(int{b.scale().code} == 137);
  check_codes(b, {8, 1, 2, 2, 9, 9, 4, 0xF});
  check_values(b, {-0.0, 512, 1024, 1024, -512, -512, 2048, -6144});
}

// The same conversion in a constant expression.
namespace {
constexpr std::array<float, 32> constant_input{957.0F, 960.0F, -959.5632F, 57.7898F};
constexpr mxfp8_e4m3 constant_block = quantize<mxfp8_e4m3>(constant_input.data());
static_assert(constant_block.scale() == E8M0{128});
static_assert(constant_block.element(0) == E4M3{0x7E} && constant_block.element(2) == E4M3{0xFE});
static_assert(constant_block.value(3) == 56.0F && constant_block.value(31) == 0.0F);
}  // namespace
