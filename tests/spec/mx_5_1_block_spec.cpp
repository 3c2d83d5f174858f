// SPDX-License-Identifier: Apache-2.0
// OCP MX 1.0, 5.1 and 5.2: whole blocks. One meaning in every layout, and the concrete formats.
// What a scale and one element mean together is in mx_5_1_value_spec.cpp.
#include <array>
#include <cstddef>
#include <type_traits>
#include <vector>

#include "mxref/block.hpp"
#include "mxref/matrix.hpp"
#include "mxref/packing.hpp"
#include "mxref/quantize.hpp"
#include "spec.hpp"

using namespace mxref;

namespace {

// Codes 3, 16, 29, ... of a format, in a row of two blocks with the scales 2^-2 and 2^5.
template <class E>
std::uint8_t code_at(index_t k) {
  return static_cast<std::uint8_t>((3 + 13 * k) % (1 << E::desc.total_bits()));
}
constexpr std::array<std::uint8_t, 2> scale_codes{125, 132};
constexpr std::array<double, 2> scale_values{0.25, 32.0};

bool same(double got, double want) { return got == want || (is_nan(got) && is_nan(want)); }

// Scale and codes in one piece, in two pieces, and packed: the same 64 numbers.
template <class E>
void check_layouts() {
  constexpr int bits = E::desc.total_bits();
  mx_matrix<E, 32> separate(1, 64);
  std::array<mx_block<E, 32>, 2> together;
  std::vector<std::uint8_t> dense(packed_size(bits, 64));
  for (index_t k = 0; k < 64; ++k) {
    const E e{code_at<E>(k)};
    separate.set_element(0, k, e);
    together[static_cast<std::size_t>(k / 32)].set_element(static_cast<int>(k % 32), e);
    set_packed(dense.data(), bits, static_cast<std::size_t>(k), e.code);
  }
  for (index_t b = 0; b < 2; ++b) {
    const E8M0 scale{scale_codes[static_cast<std::size_t>(b)]};
    separate.set_scale(0, b, scale);
    together[static_cast<std::size_t>(b)].set_scale(scale);
  }
  operand_view packed = separate.operand();
  packed.storage = code_storage::dense;
  packed.codes = dense.data();
  packed.row_bytes = static_cast<index_t>(dense.size());

  std::array<double, 64> from_matrix{};
  std::array<double, 64> from_dense{};
  REQUIRE(dequantize(separate.operand(), view(from_matrix.data(), 1, 64)));
  REQUIRE(dequantize(packed, view(from_dense.data(), 1, 64)));
  for (index_t k = 0; k < 64; ++k) {
    CAPTURE(k);
    const auto at = static_cast<std::size_t>(k);
    const double want = decode<double>(E{code_at<E>(k)}) * scale_values[at / 32];
    CHECK(same(together[at / 32].template value<double>(static_cast<int>(k % 32)), want));
    CHECK(same(separate.template value<double>(0, k), want));
    CHECK(same(from_matrix[at], want));
    CHECK(same(from_dense[at], want));
  }
}

}  // namespace

// The arrangement in memory is free (contiguous or separate, any packing) and changes no value.
TEST_CASE("mx-5.1-layout-open: every layout holds the same block",
          "[ocp-mx-1.0][5.1][mx-5.1-layout-open][mx-5.1-value]") {
  check_layouts<E5M2>();
  check_layouts<E4M3>();
  check_layouts<E3M2>();
  check_layouts<E2M3>();
  check_layouts<E2M1>();
  check_layouts<INT8>();
}

// One scale serves the k values of its block and no other.
TEST_CASE("mx-5.1-value: a scale reaches its own block only", "[ocp-mx-1.0][5.1][mx-5.1-value]") {
  mx_matrix<E2M1, 32> m(2, 70);  // the last block of a row is short
  for (index_t row = 0; row < 2; ++row) {
    for (index_t k = 0; k < 70; ++k) m.set_element(row, k, E2M1{2});
    for (index_t b = 0; b < 3; ++b) m.set_scale(row, b, E8M0{127});
  }
  m.set_scale(0, 2, E8M0{130});
  m.set_scale(1, 0, E8M0{0xFF});
  for (index_t k = 0; k < 70; ++k) {
    CAPTURE(k);
    CHECK(is_exactly(m.value(0, k), k < 64 ? 1.0 : 8.0));
    if (k < 32) {
      CHECK(is_nan(m.value(1, k)));
    } else {
      CHECK(is_exactly(m.value(1, k), 1.0));
    }
  }
}

// Table 1: MXFP8 (E5M2, E4M3), MXFP6 (E3M2, E2M3), MXFP4 (E2M1), MXINT8: k = 32, E8M0 scales.
TEST_CASE("mx-5.2-concrete: the concrete formats", "[ocp-mx-1.0][5.2][mx-5.2-concrete]") {
  STATIC_REQUIRE(std::is_same_v<mxfp8_e5m2, mx_block<E5M2, 32, E8M0>>);
  STATIC_REQUIRE(std::is_same_v<mxfp8_e4m3, mx_block<E4M3, 32, E8M0>>);
  STATIC_REQUIRE(std::is_same_v<mxfp6_e3m2, mx_block<E3M2, 32, E8M0>>);
  STATIC_REQUIRE(std::is_same_v<mxfp6_e2m3, mx_block<E2M3, 32, E8M0>>);
  STATIC_REQUIRE(std::is_same_v<mxfp4, mx_block<E2M1, 32, E8M0>>);
  STATIC_REQUIRE(std::is_same_v<mxint8, mx_block<INT8, 32, E8M0>>);
  STATIC_REQUIRE(mxfp8_e5m2::size == 32 && mxfp8_e5m2::bits == 8);
  STATIC_REQUIRE(mxfp8_e4m3::size == 32 && mxfp8_e4m3::bits == 8);
  STATIC_REQUIRE(mxfp6_e3m2::size == 32 && mxfp6_e3m2::bits == 6);
  STATIC_REQUIRE(mxfp6_e2m3::size == 32 && mxfp6_e2m3::bits == 6);
  STATIC_REQUIRE(mxfp4::size == 32 && mxfp4::bits == 4);
  STATIC_REQUIRE(mxint8::size == 32 && mxint8::bits == 8);
}

// Supporting one format obliges nobody to support another, so each must work by itself.
TEST_CASE("mx-5.2-claims: each format stands alone", "[ocp-mx-1.0][5.2][mx-5.2-claims]") {
  std::array<float, 32> x{};
  x[0] = 1.5F;
  x[31] = -0.75F;
  const auto check = [&](auto block) {
    CHECK(is_exactly(block.value(0), 1.5));
    CHECK(is_exactly(block.value(30), 0.0));
    CHECK(is_exactly(block.value(31), -0.75));
  };
  check(quantize<mxfp8_e5m2>(x.data()));
  check(quantize<mxfp8_e4m3>(x.data()));
  check(quantize<mxfp6_e3m2>(x.data()));
  check(quantize<mxfp6_e2m3>(x.data()));
  check(quantize<mxfp4>(x.data()));
  check(quantize<mxint8>(x.data()));
}
