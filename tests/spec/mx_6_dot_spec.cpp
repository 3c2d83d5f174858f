// SPDX-License-Identifier: Apache-2.0
// OCP MX 1.0, 6.1 and 6.2: dot products of blocks and of longer vectors.
#include <array>
#include <cstddef>
#include <vector>

#include "mxref/accumulate.hpp"
#include "mxref/dot.hpp"
#include "mxref/gemm.hpp"
#include "mxref/quantize.hpp"
#include "spec.hpp"

using namespace mxref;

namespace {

// A block with these codes, the rest zeros.
template <class E>
mx_block<E, 32> block_of(int scale, std::initializer_list<int> codes) {
  mx_block<E, 32> b;
  b.set_scale(E8M0{static_cast<std::uint8_t>(scale)});
  int i = 0;
  for (const int code : codes) b.set_element(i++, E{static_cast<std::uint8_t>(code)});
  return b;
}

// A matrix that holds one code everywhere, with one scale.
template <class E>
mx_matrix<E, 32> filled(index_t rows, index_t depth, int code, int scale) {
  mx_matrix<E, 32> m(rows, depth);
  for (index_t r = 0; r < rows; ++r) {
    for (index_t k = 0; k < depth; ++k) m.set_element(r, k, E{static_cast<std::uint8_t>(code)});
    for (index_t b = 0; b < m.block_count(); ++b) {
      m.set_scale(r, b, E8M0{static_cast<std::uint8_t>(scale)});
    }
  }
  return m;
}

}  // namespace

// Dot(A, B) = X_A * X_B * sum of P_A,i * P_B,i.
TEST_CASE("mx-6.1-dot: scales times the sum of products", "[ocp-mx-1.0][6.1][mx-6.1-dot]") {
  // (1 * 2 - 3 * 0.5 + 6 * 6 + 0.5 * -4) = 34.5; scales 2^3 and 2^-1.
  const auto a = block_of<E2M1>(130, {0x2, 0xD, 0x7, 0x1});
  const auto b = block_of<E2M1>(126, {0x4, 0x1, 0x7, 0xE});
  CHECK(is_exactly(dot(a, b), 34.5 * 4));
  CHECK(is_exactly(dot(b, a), 34.5 * 4));
  CHECK(is_exactly(dot(a, b, accumulate::exact{}, -138.0F), 0.0));
  CHECK(is_exactly(dot(a, b, accumulate::exact{}, 0.5F), 138.5));

  SECTION("different element types in one product") {
    // 448 * -6 and 2^-9 * 0.5.
    CHECK(is_exactly(dot(block_of<E4M3>(127, {0x7E}), block_of<E2M1>(127, {0xF})), -2688.0));
    CHECK(is_exactly(dot(block_of<E4M3>(127, {0x01}), block_of<E2M1>(127, {0x1})), 0x1p-10));
    CHECK(is_exactly(dot(block_of<E5M2>(127, {0x7B}), block_of<INT8>(127, {0x81})),
                     -57344.0 * 127 / 64));
    CHECK(is_exactly(dot(block_of<E3M2>(120, {0x1F}), block_of<E2M3>(134, {0x1F})), 210.0));
  }
  SECTION("all 32 elements count, each once") {
    for (int i = 0; i < 32; ++i) {
      mx_block<E3M2, 32> one;
      one.set_scale(E8M0{127});
      one.set_element(i, E3M2{0x0C});  // 1
      mx_block<E3M2, 32> all;
      all.set_scale(E8M0{127});
      for (int j = 0; j < 32; ++j) all.set_element(j, E3M2{static_cast<std::uint8_t>(j)});
      CAPTURE(i);
      CHECK(is_exactly(dot(one, all), decode<double>(E3M2{static_cast<std::uint8_t>(i)})));
    }
  }
  SECTION("scales multiply beyond binary32") {
    // 2^127 * 2^-127, and 2^-254 of 2^254.
    CHECK(is_exactly(dot(block_of<E4M3>(254, {0x38}), block_of<E4M3>(0, {0x38})), 1.0));
    CHECK(dot(block_of<E4M3>(254, {0x38}), block_of<E4M3>(254, {0x38})) == infinity);
    CHECK(is_exactly(dot(block_of<E4M3>(0, {0x38}), block_of<E4M3>(0, {0x38})), 0.0));
  }
}

// 5.1 seen from the dot product: a NaN scale or element is a NaN.
TEST_CASE("mx-6.1-dot: NaN and Inf", "[ocp-mx-1.0][6.1][mx-6.1-dot][mx-5.1-nan-scale]") {
  const auto one = block_of<E5M2>(127, {0x3C});
  CHECK(is_nan(dot(block_of<E5M2>(0xFF, {0x3C}), one)));
  CHECK(is_nan(dot(one, block_of<E5M2>(0xFF, {}))));
  CHECK(is_nan(dot(block_of<E5M2>(127, {0x7D}), one)));
  CHECK(dot(block_of<E5M2>(127, {0x7C}), one) == infinity);
  CHECK(dot(block_of<E5M2>(127, {0xFC}), one) == -infinity);
  CHECK(is_nan(dot(block_of<E5M2>(127, {0x00, 0x7C}), one)));  // Inf * 0
  CHECK(std::bit_cast<std::uint32_t>(dot(block_of<E5M2>(0xFF, {}), one)) == 0x7FC00000);
}

// Internal precision and order are left open: each choice is a named policy with its own result.
TEST_CASE("mx-6.1-internal-open: precision and order are policies",
          "[ocp-mx-1.0][6.1][mx-6.1-internal-open]") {
  // 2^15 * 2^15 + 2^-16 * 2^-14 - 2^15 * 2^15 = 2^-30.
  const auto a = block_of<E5M2>(127, {0x78, 0x01, 0xF8});
  const auto b = block_of<E5M2>(127, {0x78, 0x04, 0x78});
  CHECK(is_exactly(dot(a, b, accumulate::exact{}), 0x1p-30));
  CHECK(is_exactly(dot(a, b, accumulate::block_exact_fp32{}), 0x1p-30));
  CHECK(is_exactly(dot(a, b, accumulate::block_fused_fp32{}), 0x1p-30));
  CHECK(is_exactly(dot(a, b, accumulate::fp32_chain{}), 0.0));
  CHECK(is_exactly(dot(a, b, accumulate::nvidia_blackwell_tcgen05_mxf8f6f4{}), 0.0));
}

// 25 fractional bits below the largest exponent, cut off.
TEST_CASE("T23: the fused window of a matrix unit",
          "[ocp-mx-1.0][6.1][mx-6.1-internal-open][T23]") {
  constexpr accumulate::nvidia_blackwell_tcgen05_mxf8f6f4 tcgen05{};
  const auto a = block_of<E4M3>(127, {0x58, 0x20});  // 16, 2^-3
  const auto b = block_of<E4M3>(127, {0x58, 0x20});
  CHECK(is_exactly(dot(a, b, tcgen05), 256.015625));
  // 2^8 - 2^8 leaves the third product, if the window reaches it: 2^-17 is its last bit.
  const auto plus = block_of<E4M3>(127, {0x58, 0x58, 0x02});   // 16, 16, 2^-8
  const auto minus = block_of<E4M3>(127, {0x58, 0xD8, 0x01});  // 16, -16, 2^-9
  CHECK(is_exactly(dot(plus, minus, tcgen05), 0x1p-17));
  const auto below = block_of<E4M3>(127, {0x58, 0x58, 0x01});  // 16, 16, 2^-9
  CHECK(is_exactly(dot(below, minus, tcgen05), 0.0));
  CHECK(is_exactly(dot(below, minus, accumulate::exact{}), 0x1p-18));
}

// DotGeneral is the sum over blocks of Dot; the result is binary32.
TEST_CASE("mx-6.2-general: the sum over blocks", "[ocp-mx-1.0][6.2][mx-6.2-general]") {
  mx_matrix<E2M1, 32> A = filled<E2M1>(1, 96, 0x2, 127);
  mx_matrix<E4M3, 32> B = filled<E4M3>(2, 96, 0x38, 127);
  // Block b of A has scale 2^b, of row 1 of B 2^-b and sign -.
  for (index_t b = 0; b < 3; ++b) {
    A.set_scale(0, b, E8M0{static_cast<std::uint8_t>(127 + b)});
    B.set_scale(1, b, E8M0{static_cast<std::uint8_t>(127 - b)});
  }
  for (index_t k = 0; k < 96; ++k) B.set_element(1, k, E4M3{0xB8});
  std::array<float, 2> d{};
  REQUIRE(gemm(A, B, view(d.data(), 1, 2), accumulate::exact{}));
  CHECK(is_exactly(d[0], 32.0 * (1 + 2 + 4)));
  CHECK(is_exactly(d[1], -96.0));

  SECTION("a short last block stands for itself: padding changes nothing") {
    const auto a = filled<E2M1>(2, 40, 0x2, 127);
    const auto b = filled<E2M1>(3, 40, 0x2, 127);
    auto a_padded = filled<E2M1>(2, 64, 0x2, 127);
    auto b_padded = filled<E2M1>(3, 64, 0x2, 127);
    for (index_t k = 40; k < 64; ++k) {
      for (index_t r = 0; r < 2; ++r) a_padded.set_element(r, k, E2M1{0});
      for (index_t r = 0; r < 3; ++r) b_padded.set_element(r, k, E2M1{0});
    }
    std::array<float, 6> plain{};
    std::array<float, 6> padded{};
    REQUIRE(gemm(a, b, view(plain.data(), 2, 3), accumulate::exact{}));
    REQUIRE(gemm(a_padded, b_padded, view(padded.data(), 2, 3), accumulate::exact{}));
    for (std::size_t i = 0; i < 6; ++i) {
      CHECK(is_exactly(plain[i], 40.0));
      CHECK(is_exactly(padded[i], 40.0));
    }
  }
  SECTION("both operands have one block size and one block count") {
    std::array<float, 1> out{7.0F};
    const auto depth_33 = filled<E2M1>(1, 33, 0x2, 127);
    const auto depth_64 = filled<E2M1>(1, 64, 0x2, 127);
    CHECK(gemm(depth_33, depth_64, view(out.data(), 1, 1), accumulate::exact{}).code ==
          errc::shape_mismatch);
    mx_matrix<E2M1, 16> block_16(1, 64);
    CHECK(gemm(depth_64, block_16, view(out.data(), 1, 1), accumulate::exact{}).code ==
          errc::block_mismatch);
    CHECK(out[0] == 7.0F);
  }
  SECTION("order and precision of the outer sum are policies too") {
    // Blocks 2^24, 1, 1: exact keeps the ones, binary32 after every block does not.
    auto a = filled<E2M1>(1, 96, 0x0, 127);
    auto b = filled<E2M1>(1, 96, 0x2, 127);
    for (index_t k = 0; k < 96; k += 32) a.set_element(0, k, E2M1{0x2});
    a.set_scale(0, 0, E8M0{127 + 24});
    std::array<float, 1> out{};
    REQUIRE(gemm(a, b, view(out.data(), 1, 1), accumulate::exact{}));
    CHECK(is_exactly(out[0], 16777218.0));
    REQUIRE(gemm(a, b, view(out.data(), 1, 1), accumulate::block_exact_fp32{}));
    CHECK(is_exactly(out[0], 16777216.0));
    REQUIRE(gemm(a, b, view(out.data(), 1, 1), accumulate::block_fused_fp32{}));
    CHECK(is_exactly(out[0], 16777216.0));
    REQUIRE(gemm(a, b, view(out.data(), 1, 1), accumulate::fp32_chain{}));
    CHECK(is_exactly(out[0], 16777216.0));
  }
}

// All ones: every output is K, whatever K is. Kernels have dropped its tail.
TEST_CASE("T17: K of any length", "[ocp-mx-1.0][6.2][mx-6.2-general][T17]") {
  for (const index_t k : {1, 31, 33, 288, 1024, 1056, 1152, 1280, 1312, 2048, 2176}) {
    CAPTURE(k);
    const auto a = filled<E2M1>(2, k, 0x2, 127);
    const auto b = filled<E2M1>(3, k, 0x2, 127);
    std::array<float, 6> d{};
    const auto check = [&](auto policy) {
      d.fill(-1.0F);
      REQUIRE(gemm(a, b, view(d.data(), 2, 3), policy));
      for (const float x : d) CHECK(is_exactly(x, static_cast<double>(k)));
    };
    check(accumulate::exact{});
    check(accumulate::block_exact_fp32{});
    check(accumulate::block_fused_fp32{});
    check(accumulate::fp32_chain{});
    check(accumulate::nvidia_blackwell_tcgen05_mxf8f6f4{});
  }
}
