// SPDX-License-Identifier: Apache-2.0
// Blocks of 1 to 128 numbers, tiles that share a scale over rows, and binary32 scales, against
// loops that spell out what they are.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <random>
#include <vector>

#include "golden_formats.hpp"
#include "golden_reference.hpp"
#include "mxref/mxref.hpp"

namespace {

using mxref::binary32;
using mxref::E2M1;
using mxref::E4M3;
using mxref::errc;
using mxref::index_t;
using mxref::rounding_mode;

std::vector<float> random_numbers(index_t count, unsigned seed) {
  std::mt19937 r(seed);
  std::normal_distribution<float> normal;
  std::vector<float> x(static_cast<std::size_t>(count));
  for (float& v : x) v = normal(r) * std::ldexp(1.0F, static_cast<int>(r() % 9) - 4);
  return x;
}

/// The largest magnitude of a part of a matrix.
double amax_of(const std::vector<float>& x, index_t cols, index_t row, index_t end_row, index_t k,
               index_t end_k) {
  double amax = 0;
  for (index_t r = row; r < end_row; ++r) {
    for (index_t c = k; c < end_k; ++c) {
      amax = std::max(amax, std::fabs(double{x[static_cast<std::size_t>(r * cols + c)]}));
    }
  }
  return amax;
}

TEST(Blocks, OfEverySizeTo128) {
  constexpr index_t rows = 3;
  constexpr index_t cols = 131;
  const std::vector<float> x = random_numbers(rows * cols, 1);
  const golden::constants& f = golden::of<E4M3>;
  for (int block = 1; block <= 128; ++block) {
    const index_t blocks = (cols + block - 1) / block;
    std::vector<std::uint8_t> codes(x.size());
    std::vector<std::uint8_t> scales(static_cast<std::size_t>(rows * blocks));
    const mxref::quantized_view out{E4M3::desc, block, codes.data(), cols, scales.data(), blocks};
    ASSERT_TRUE(mxref::quantize(mxref::view(x.data(), rows, cols), out));
    for (index_t r = 0; r < rows; ++r) {
      for (index_t k = 0; k < cols; ++k) {
        const index_t first = k / block * block;
        const double amax =
            amax_of(x, cols, r, r + 1, first, std::min<index_t>(first + block, cols));
        const int exp = golden::exact_scale_exp(amax, f);
        const auto i = static_cast<std::size_t>(r * cols + k);
        ASSERT_EQ(scales[static_cast<std::size_t>(r * blocks + k / block)], exp + 127) << block;
        const double want =
            golden::exact_element(std::ldexp(double{x[i]}, -exp), f, rounding_mode::nearest_even);
        ASSERT_EQ(decode<double>(E4M3{codes[i]}), want) << block << ' ' << r << ' ' << k;
      }
    }
  }
}

// mx_block: a block fills whole bytes. 4 bits: even sizes; 6 bits: multiples of 4.
TEST(Blocks, OfOneByteAndMore) {
  static_assert(sizeof(mxref::mx_block<E4M3, 1>) == 2);
  static_assert(sizeof(mxref::mx_block<E2M1, 2>) == 2);
  static_assert(sizeof(mxref::mx_block<mxref::E3M2, 4>) == 4);
  static_assert(sizeof(mxref::mx_block<E2M1, 16, mxref::UE4M3>) == 9);
  static_assert(sizeof(mxref::mx_block<E4M3, 128>) == 129);
  static_assert(sizeof(mxref::mx_block<E4M3, 128, binary32>) == 132);
  const std::vector<float> x = random_numbers(128, 2);
  const auto b = mxref::quantize<mxref::mx_block<E4M3, 128, binary32>>(
      x.data(), mxref::scale::amax_over_max{});
  const auto amax = static_cast<float>(amax_of(x, 128, 0, 1, 0, 128));
  const volatile float scale = amax / 448.0F;
  EXPECT_EQ(mxref::decode(b.scale()), scale);
  for (int i = 0; i < 128; ++i) {
    const volatile float quotient = x[static_cast<std::size_t>(i)] / scale;
    EXPECT_EQ(b.element(i), mxref::encode<E4M3>(static_cast<float>(quotient)));
    const volatile float value = mxref::decode(b.element(i)) * scale;
    EXPECT_EQ(b.value(i), value);
  }
}

/// What quantize makes of tiles of block_rows x block numbers with binary32 scales.
struct tiled {
  index_t rows, cols;
  int block_rows, block;
  std::vector<std::uint8_t> codes;
  std::vector<float> scales;

  tiled(const std::vector<float>& x, index_t r, index_t c, int br, int b)
      : rows(r),
        cols(c),
        block_rows(br),
        block(b),
        codes(x.size()),
        scales(static_cast<std::size_t>((r + br - 1) / br * blocks())) {
    EXPECT_TRUE(mxref::quantize(mxref::view(x.data(), rows, cols), view(),
                                mxref::quantizer<mxref::scale::amax_over_max>{}));
  }
  index_t blocks() const { return (cols + block - 1) / block; }
  mxref::quantized_view view() {
    mxref::quantized_view v{
        E4M3::desc,  block, codes.data(), cols, reinterpret_cast<std::uint8_t*>(scales.data()),
        4 * blocks()};
    v.scale_format = mxref::binary32_desc;
    v.block_rows = block_rows;
    return v;
  }
  float value(index_t r, index_t k) const {
    const volatile float v =
        mxref::decode(E4M3{codes[static_cast<std::size_t>(r * cols + k)]}) *
        scales[static_cast<std::size_t>(r / block_rows * blocks() + k / block)];
    return v;
  }
};

TEST(Tiles, ShareTheirScale) {
  constexpr index_t rows = 150;
  constexpr index_t cols = 300;
  const std::vector<float> x = random_numbers(rows * cols, 3);
  for (const auto& [block_rows, block] :
       {std::pair{128, 128}, std::pair{1, 128}, std::pair{7, 10}}) {
    tiled t(x, rows, cols, block_rows, block);
    for (index_t r = 0; r < rows; ++r) {
      for (index_t k = 0; k < cols; ++k) {
        const index_t top = r / block_rows * block_rows;
        const index_t left = k / block * block;
        const double amax = amax_of(x, cols, top, std::min<index_t>(top + block_rows, rows), left,
                                    std::min<index_t>(left + block, cols));
        const volatile float scale = static_cast<float>(amax) / 448.0F;
        ASSERT_EQ(t.scales[static_cast<std::size_t>(r / block_rows * t.blocks() + k / block)],
                  scale);
        const volatile float quotient = x[static_cast<std::size_t>(r * cols + k)] / scale;
        ASSERT_EQ(t.codes[static_cast<std::size_t>(r * cols + k)],
                  mxref::encode<E4M3>(static_cast<float>(quotient)).code);
      }
    }
    std::vector<float> back(x.size());
    ASSERT_TRUE(
        mxref::dequantize(t.view().operand(rows, cols), mxref::view(back.data(), rows, cols)));
    for (index_t r = 0; r < rows; ++r) {
      for (index_t k = 0; k < cols; ++k) {
        ASSERT_EQ(back[static_cast<std::size_t>(r * cols + k)], t.value(r, k));
      }
    }
  }
}

// A product of 1 x 128 activations and 128 x 128 weights. Scales are powers of two times small
// integers here, so that binary64 sums are exact; one is negative.
TEST(Tiles, Multiply) {
  constexpr index_t depth = 256;
  const std::vector<float> x = random_numbers(5 * depth, 4);
  const std::vector<float> w = random_numbers(130 * depth, 5);
  tiled a(x, 5, depth, 1, 128);
  tiled b(w, 130, depth, 128, 128);
  for (std::size_t i = 0; i < a.scales.size(); ++i) {
    a.scales[i] = std::ldexp(static_cast<float>(3 + i), static_cast<int>(i % 3) - 4);
  }
  for (std::size_t i = 0; i < b.scales.size(); ++i) {
    b.scales[i] = std::ldexp(static_cast<float>(5 + i), -3) * (i == 1 ? -1.0F : 1.0F);
  }
  std::vector<float> d(5 * 130);
  ASSERT_TRUE(mxref::gemm(a.view().operand(5, depth), b.view().operand(130, depth),
                          mxref::view(d.data(), 5, 130)));
  for (index_t m = 0; m < 5; ++m) {
    for (index_t n = 0; n < 130; ++n) {
      double sum = 0;
      for (index_t k = 0; k < depth; ++k) sum += double{a.value(m, k)} * double{b.value(n, k)};
      ASSERT_EQ(d[static_cast<std::size_t>(m * 130 + n)], static_cast<float>(sum)) << m << ' ' << n;
    }
  }
}

TEST(Tiles, RefuseWhatTheyCannotBe) {
  const std::vector<float> x = random_numbers(64, 6);
  tiled t(x, 2, 32, 1, 32);
  mxref::quantized_view v = t.view();
  const auto in = mxref::view(x.data(), 2, 32);
  v.scale_format = mxref::E8M0::desc;
  EXPECT_EQ(mxref::quantize(in, v, mxref::quantizer<mxref::scale::amax_over_max>{}).code,
            errc::unsupported_format);
  v = t.view();
  EXPECT_EQ(mxref::quantize(in, v).code, errc::unsupported_format);  // floor gives E8M0
  v.block_rows = 0;
  EXPECT_EQ(mxref::quantize(in, v, mxref::quantizer<mxref::scale::amax_over_max>{}).code,
            errc::shape_mismatch);
  // Units take scales without a sign.
  std::vector<float> d(4);
  const mxref::operand_view a = t.view().operand(2, 32);
  EXPECT_EQ(mxref::gemm(a, a, mxref::view(d.data(), 2, 2), mxref::accumulate::matrix_unit{}).code,
            errc::unsupported_format);
  EXPECT_TRUE(mxref::gemm(a, a, mxref::view(d.data(), 2, 2), mxref::accumulate::exact{}));
  // Exact products of wide elements and such scales would not fit 64 bits.
  const std::vector<mxref::bfloat16> wide(2 * 32);
  mxref::operand_view b = mxref::unscaled(mxref::view(wide.data(), 2, 32));
  EXPECT_TRUE(mxref::gemm(a, b, mxref::view(d.data(), 2, 2), mxref::accumulate::exact{}));
  b.block = a.block;
  b.scale_format = a.scale_format;
  b.scales = a.scales;
  b.scale_row_bytes = a.scale_row_bytes;
  EXPECT_EQ(mxref::gemm(a, b, mxref::view(d.data(), 2, 2), mxref::accumulate::exact{}).code,
            errc::unsupported_format);
  // Layouts of scales move bytes.
  static_assert(!mxref::layout::swizzled_128x4::takes(binary32::desc));
  static_assert(!mxref::layout::dynamic_scales{}.takes(binary32::desc));
  // Four over six looks at the numbers of a block.
  v.scale_format = mxref::UE4M3::desc;
  v.block_rows = 2;
  EXPECT_EQ(mxref::quantize(in, v, mxref::quantizer<mxref::scale::nvfp4_four_over_six>{}).code,
            errc::unsupported_format);
}

}  // namespace
