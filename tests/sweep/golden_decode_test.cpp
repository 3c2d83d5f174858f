// SPDX-License-Identifier: Apache-2.0
// Every code of every format, and codes with scales, against the decoders of public libraries.
#include <gtest/gtest.h>

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <string>

#include "golden_formats.hpp"
#include "golden_reference.hpp"
#include "mxref/block.hpp"
#include "mxref/formats.hpp"
#include "mxref/scale.hpp"
#include "support/golden.hpp"

namespace {

using golden::of;
using mxref::E2M1;
using mxref::E8M0;
using mxref::UE4M3;

std::uint64_t bits(float x) { return std::bit_cast<std::uint32_t>(x); }

/// All codes, decoded by the compiler.
template <class E, int N>
constexpr std::array<float, N> decoded_table() {
  std::array<float, N> table{};
  for (int i = 0; i < N; ++i) {
    table[static_cast<std::size_t>(i)] = decode(E{static_cast<std::uint8_t>(i)});
  }
  return table;
}

template <class E, int N>
void compare_codes(const std::string& array) {
  constexpr std::array<float, N> at_compile_time = decoded_table<E, N>();
  golden::comparison row(array);
  ASSERT_EQ(row.size(), static_cast<std::size_t>(N));
  for (std::size_t i = 0; i < row.size(); ++i) {
    const E e{static_cast<std::uint8_t>(i)};
    row.equal(i, bits(decode(e)));
    EXPECT_EQ(bits(at_compile_time[i]), row.oracle(i)) << "constant expression, code " << i;
    EXPECT_EQ(bits(static_cast<float>(decode<double>(e))), row.oracle(i)) << "binary64, code " << i;
  }
}

template <class E>
class GoldenDecode : public testing::Test {};
TYPED_TEST_SUITE(GoldenDecode, golden::float_formats, golden::format_names);

TYPED_TEST(GoldenDecode, EveryCode) {
  constexpr int codes = golden::format_constants<TypeParam>::value.code_count;
  compare_codes<TypeParam, codes>(std::string("decode_") + of<TypeParam>.name);
}

TEST(GoldenDecodeScale, E8m0) { compare_codes<E8M0, 256>("decode_e8m0"); }

TEST(GoldenDecodeInteger, Int8) { compare_codes<mxref::INT8, 256>("decode_int8"); }

float scaled_value(std::uint64_t code, std::uint64_t scale) {
  mxref::mx_block<E2M1, 32> block;
  block.set_scale(E8M0{static_cast<std::uint8_t>(scale)});
  block.set_element(5, E2M1{static_cast<std::uint8_t>(code)});
  return block.value(5);
}

TEST(GoldenDecodeBlock, MxDataGenerator) {
  golden::comparison row("decode_amd_mxfp4_scaled");
  for (std::size_t i = 0; i < row.size(); ++i) {
    const std::size_t scale = i / 16;
    const std::size_t code = i % 16;
    const std::uint64_t got = bits(scaled_value(code, scale));
    if (code == 8 && scale != 255) {
      row.diverges(i, "amd_e8m0_scale_and_zero", got, 0x80000000, 0);
    } else {
      row.equal(i, got);
    }
  }
}

TEST(GoldenDecodeBlock, GgmlMxfp4) {
  constexpr double magnitudes[] = {0, 0.5, 1, 1.5, 2, 3, 4, 6};
  golden::comparison row("decode_ggml_mxfp4");
  for (std::size_t i = 0; i < row.size(); ++i) {
    const std::size_t scale = i / 32;
    const std::size_t j = i % 32;
    const std::size_t code = j < 16 ? j : 31 - j;
    const std::uint64_t got = bits(scaled_value(code, scale));
    const double value = code < 8 ? magnitudes[code] : 0 - magnitudes[code - 8];  // its zeros: +0
    if (scale == 255) {
      row.diverges(i, "ggml_scale_255", got, 0x7FC00000, golden::float_bits(value * 0x1p128));
    } else if (code == 8) {
      row.diverges(i, "ggml_decode_zero", got, 0x80000000, 0);
    } else {
      row.equal(i, got);
    }
  }
}

TEST(GoldenDecodeBlock, GgmlNvfp4) {
  constexpr double magnitudes[] = {0, 0.5, 1, 1.5, 2, 3, 4, 6};
  golden::comparison row("decode_ggml_nvfp4");
  for (std::size_t i = 0; i < row.size(); ++i) {
    const auto scale = static_cast<std::uint8_t>(i / 64);  // bit 7 is not part of the format
    const std::size_t code = i % 16;
    const mxref::number value =
        mxref::scaled(E2M1{static_cast<std::uint8_t>(code)}.to_number(), UE4M3{scale}.to_number());
    const std::uint64_t got = bits(mxref::from_number<float>(value));
    const double element = code < 8 ? magnitudes[code] : 0 - magnitudes[code - 8];
    if (scale == 0x7F) {
      row.diverges(i, "ggml_scale_nan", got, 0x7FC00000, golden::float_bits(element * 0.0));
    } else if (scale == 0xFF) {
      row.diverges(i, "ggml_scale_nan", got, 0x7FC00000, golden::float_bits(element * 480));
    } else if (code == 8) {
      row.diverges(i, "ggml_decode_zero", got, 0x80000000, 0);
    } else {
      row.equal(i, got);
    }
  }
}

}  // namespace
