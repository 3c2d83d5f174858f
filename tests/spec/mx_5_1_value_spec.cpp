// SPDX-License-Identifier: Apache-2.0
// OCP MX 1.0, 5.1: what a scale and an element mean together.
#include <type_traits>

#include "mxref/block.hpp"
#include "mxref/formats.hpp"
#include "spec.hpp"

using namespace mxref;

namespace {

// A block with one scale and one element that matters, in the middle.
template <class E>
auto block_of(int scale_code, int element_code) {
  mx_block<E, 32> b;
  b.set_scale(E8M0{static_cast<std::uint8_t>(scale_code)});
  b.set_element(17, E{static_cast<std::uint8_t>(element_code)});
  return b;
}

template <class E>
float value_of(int scale_code, int element_code) {
  return block_of<E>(scale_code, element_code).value(17);
}
template <class E>
double wide_value_of(int scale_code, int element_code) {
  return block_of<E>(scale_code, element_code).template value<double>(17);
}

template <class E>
void nan_scale_makes_nan() {
  for (int code = 0; code < 1 << E::desc.total_bits(); ++code) {
    CAPTURE(code);
    CHECK(is_nan(value_of<E>(0xFF, code)));
    CHECK(is_nan(wide_value_of<E>(0xFF, code)));
  }
}

}  // namespace

// Scale type, element type and block size are chosen apart from each other.
TEST_CASE("mx-5.1-triple: three independent choices", "[ocp-mx-1.0][5.1][mx-5.1-triple]") {
  using odd_one = mx_block<E2M1, 16, UE4M3>;
  STATIC_REQUIRE(std::is_same_v<odd_one::element_type, E2M1>);
  STATIC_REQUIRE(std::is_same_v<odd_one::scale_type, UE4M3>);
  STATIC_REQUIRE(odd_one::size == 16);
  STATIC_REQUIRE(std::is_same_v<mx_block<INT8, 64>::scale_type, E8M0>);

  // Setting one leaves the others as they were.
  auto b = block_of<E4M3>(130, 0x3A);
  b.set_element(3, E4M3{0x7E});
  CHECK(b.scale().code == 130);
  CHECK(b.element(17).code == 0x3A);
  b.set_scale(E8M0{5});
  CHECK(b.element(3).code == 0x7E);
  CHECK(b.element(17).code == 0x3A);
}

// X = NaN: all k values are NaN, whatever the elements hold.
TEST_CASE("mx-5.1-nan-scale: a NaN scale makes every value NaN",
          "[ocp-mx-1.0][5.1][mx-5.1-nan-scale]") {
  nan_scale_makes_nan<E5M2>();
  nan_scale_makes_nan<E4M3>();
  nan_scale_makes_nan<E3M2>();
  nan_scale_makes_nan<E2M3>();
  nan_scale_makes_nan<E2M1>();
  nan_scale_makes_nan<INT8>();
  const auto b = block_of<E2M1>(0xFF, 0);
  for (int i = 0; i < 32; ++i) CHECK(is_nan(b.value(i)));
}

// X not NaN, P Inf or NaN: the value is P itself.
TEST_CASE("mx-5.1-elem-special: Inf and NaN elements are not scaled",
          "[ocp-mx-1.0][5.1][mx-5.1-elem-special]") {
  for (int scale = 0; scale < 255; ++scale) {
    CAPTURE(scale);
    CHECK(value_of<E5M2>(scale, 0x7C) == infinity);
    CHECK(value_of<E5M2>(scale, 0xFC) == -infinity);
    CHECK(is_nan(value_of<E5M2>(scale, 0x7D)));
    CHECK(is_nan(value_of<E5M2>(scale, 0xFF)));
    CHECK(is_nan(value_of<E4M3>(scale, 0x7F)));
    CHECK(is_nan(value_of<E4M3>(scale, 0xFF)));
  }
}

// Otherwise the value is exactly X * P.
TEST_CASE("mx-5.1-value: the value is the exact product", "[ocp-mx-1.0][5.1][mx-5.1-value]") {
  CHECK(is_exactly(value_of<E4M3>(127, 0x38), 1.0));
  CHECK(is_exactly(value_of<E4M3>(128, 0x7E), 896.0));
  CHECK(is_exactly(value_of<E4M3>(129, 0xF7), -960.0));
  CHECK(is_exactly(value_of<E5M2>(118, 0x7B), 112.0));
  CHECK(is_exactly(value_of<E3M2>(120, 0x1F), 28.0 / 128));
  CHECK(is_exactly(value_of<E2M3>(126, 0x3F), -3.75));
  CHECK(is_exactly(value_of<E2M1>(137, 0xF), -6144.0));
  CHECK(is_exactly(value_of<INT8>(129, 0x81), -127.0 / 16));
  CHECK(is_exactly(value_of<INT8>(127, 0x80), -2.0));
  // Signed zeros stay, at every scale.
  CHECK(is_exactly(value_of<E2M1>(254, 0x8), -0.0));
  CHECK(is_exactly(value_of<E4M3>(0, 0x00), 0.0));
  // The smallest scale: 2^-127 is a binary32 subnormal and not zero.
  CHECK(is_exactly(value_of<E4M3>(0, 0x38), 0x1p-127));
  CHECK(is_exactly(value_of<E4M3>(0, 0x78), 0x1p-119));
  CHECK(is_exactly(value_of<E4M3>(0, 0x01), 0x1p-136));
  CHECK(is_exactly(value_of<E5M2>(0, 0x01), 0x1p-143));
  CHECK(is_exactly(value_of<INT8>(0, 0x03), 0x1.8p-132));
  // The largest scale.
  CHECK(is_exactly(value_of<E2M1>(254, 0x2), 0x1p127));
  CHECK(is_exactly(value_of<E2M1>(254, 0x3), 0x1.8p127));
}

// Beyond binary32 the result is left open: here it is Inf as binary32, and exact as binary64.
TEST_CASE("mx-5.1-f32-overflow-open: products beyond binary32",
          "[ocp-mx-1.0][5.1][mx-5.1-f32-overflow-open]") {
  CHECK(value_of<E4M3>(254, 0x7E) == infinity);
  CHECK(value_of<E4M3>(254, 0xFE) == -infinity);
  CHECK(wide_value_of<E4M3>(254, 0x7E) == 448 * 0x1p127);
  CHECK(value_of<E2M1>(254, 0x4) == infinity);
  CHECK(wide_value_of<E2M1>(254, 0x4) == 0x1p128);
  CHECK(wide_value_of<INT8>(254, 0x80) == -0x1p128);
  CHECK(wide_value_of<E5M2>(254, 0x7B) == 57344 * 0x1p127);
}

// The arrangement in memory is free. Here: the scale byte, then the codes, packed.
TEST_CASE("mx-5.1-layout-open: the layout of mx_block", "[ocp-mx-1.0][5.1][mx-5.1-layout-open]") {
  STATIC_REQUIRE(sizeof(mx_block<E4M3, 32>) == 33);
  STATIC_REQUIRE(sizeof(mx_block<E3M2, 32>) == 25);
  STATIC_REQUIRE(sizeof(mx_block<E2M1, 32>) == 17);
  for (int i = 0; i < 32; ++i) {
    mx_block<E3M2, 32> b;
    b.set_element(i, E3M2{0x2B});
    for (int j = 0; j < 32; ++j) CHECK(b.element(j).code == (i == j ? 0x2B : 0));
    CHECK(b.scale().code == 0);
  }
}
