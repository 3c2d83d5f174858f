// SPDX-License-Identifier: Apache-2.0
// What libraries do around a matrix unit: promotion, split-K, tensor scales, output conversions.
// Expected results are put together from plain products of column ranges and binary32 additions of
// the oracle.
#include <gtest/gtest.h>

#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "dot_cases.hpp"
#include "mxref/gemm.hpp"
#include "mxref/gemm_quantized.hpp"
#include "mxref/matrix.hpp"
#include "mxref/matrix_unit.hpp"
#include "mxref/simd/gemm.hpp"
#include "mxref/simd/scalar.hpp"
#include "mxref/simd/thread_pool.hpp"

namespace {

namespace accumulate = mxref::accumulate;
using mxref::errc;
using mxref::gemm_options;
using mxref::index_t;
using mxref::operand_view;
using sweep::numbers;
using sweep::random_source;
using sweep::scale_codes;
using sweep::test_operand;

constexpr index_t rows = 3;
constexpr index_t cols = 4;

struct operands {
  operands(const sweep::named_format& f, index_t depth, std::uint64_t seed, numbers kind)
      : random(seed), a(f, rows, depth), b(f, cols, depth), c(sweep::f32, rows, cols) {
    a.fill(kind, random);
    b.fill(kind, random);
    c.fill(numbers::near_one, random);
  }
  void lay_out() {
    a.lay_out(sweep::storage::compact, random);
    b.lay_out(sweep::storage::compact, random);
    c.lay_out(sweep::storage::strided, random);
  }

  random_source random;
  test_operand a;
  test_operand b;
  test_operand c;
};

/// Columns first..end-1 of an operand of bytes; first is a multiple of the block.
operand_view columns(operand_view v, index_t first, index_t end) {
  v.codes = static_cast<const std::uint8_t*>(v.codes) + first * v.col_bytes;
  v.depth = end - first;
  if (v.scaled()) v.scales += first / v.block;
  return v;
}

std::vector<float> multiply(const operand_view& a, const operand_view& b, const auto& policy,
                            const gemm_options& o = {}) {
  std::vector<float> d(rows * cols);
  EXPECT_TRUE(mxref::gemm(a, b, mxref::view(d.data(), rows, cols), policy, o));
  // Threads and vector kernels give the same bits.
  std::vector<float> fast(rows * cols);
  EXPECT_TRUE(mxref::simd::gemm_with(mxref::simd::scalar_target::kernels(), a, b,
                                     mxref::view(fast.data(), rows, cols), policy,
                                     mxref::simd::threads{2}, o));
  for (std::size_t i = 0; i < d.size(); ++i) {
    EXPECT_EQ(std::bit_cast<std::uint32_t>(d[i]), std::bit_cast<std::uint32_t>(fast[i]));
  }
  return d;
}

/// One rounding to nearest even, by the oracle.
float add(float x, float y) {
  const oracle::format& f32 = oracle::get(oracle::format_id::f32);
  return std::bit_cast<float>(oracle::nearest_code(
      f32, oracle::add(oracle::make_real(double{x}), oracle::make_real(double{y}))));
}

std::vector<float> add(std::vector<float> x, const std::vector<float>& y) {
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = add(x[i], y[i]);
  return x;
}

std::vector<float> c_values(operands& o) {
  std::vector<float> c;
  for (index_t m = 0; m < rows; ++m) {
    for (index_t n = 0; n < cols; ++n) c.push_back(std::bit_cast<float>(o.c.code(m, n)));
  }
  return c;
}

void expect_same_bits(const std::vector<float>& got, const std::vector<float>& want) {
  ASSERT_EQ(got.size(), want.size());
  for (std::size_t i = 0; i < got.size(); ++i) {
    EXPECT_EQ(std::bit_cast<std::uint32_t>(got[i]), std::bit_cast<std::uint32_t>(want[i])) << i;
  }
}

TEST(Promotion, AddsPartialProductsInBinary32) {
  const accumulate::nvidia_hopper_wgmma unit;
  operands o(sweep::e4m3, 300, 1, numbers::finite);
  o.lay_out();
  for (const bool has_c : {false, true}) {
    gemm_options options;
    options.promotion = 128;
    if (has_c) options.c = o.c.view();
    std::vector<float> want = has_c ? c_values(o) : std::vector<float>(rows * cols);
    for (const auto& [first, end] : {std::pair<index_t, index_t>{0, 128}, {128, 256}, {256, 300}}) {
      want = add(want,
                 multiply(columns(o.a.view(), first, end), columns(o.b.view(), first, end), unit));
    }
    expect_same_bits(multiply(o.a.view(), o.b.view(), unit, options), want);
  }
}

// What it is for: 13 fraction bits lose products that are 2^-15 of the sum.
TEST(Promotion, KeepsWhatTheAccumulatorLoses) {
  const accumulate::nvidia_hopper_wgmma unit;
  operands o(sweep::e4m3, 1024, 2, numbers::sparse);
  const std::uint32_t one = mxref::encode<mxref::E4M3>(1.0F).code;
  for (index_t k = 0; k < 1024; ++k) {
    for (index_t m = 0; m < rows; ++m) o.a.code(m, k) = mxref::encode<mxref::E4M3>(0.5F).code;
    for (index_t n = 0; n < cols; ++n) o.b.code(n, k) = one;
  }
  for (index_t m = 0; m < rows; ++m) o.a.code(m, 0) = mxref::encode<mxref::E4M3>(128.0F).code;
  for (index_t n = 0; n < cols; ++n) o.b.code(n, 0) = mxref::encode<mxref::E4M3>(128.0F).code;
  o.lay_out();
  gemm_options options;
  EXPECT_EQ(multiply(o.a.view(), o.b.view(), unit, options)[0], 16384.0F);
  options.promotion = 128;
  EXPECT_EQ(multiply(o.a.view(), o.b.view(), unit, options)[0], 16384.0F + 7 * 64);
}

TEST(SplitK, AddsRangesInOrder) {
  operands o(sweep::e2m1, 448, 3, numbers::finite);
  o.a.add_scales(sweep::ue4m3, 16, scale_codes::close, o.random);
  o.b.add_scales(sweep::ue4m3, 16, scale_codes::close, o.random);
  o.lay_out();
  const accumulate::nvidia_blackwell_tcgen05_mxf4nvf4 unit;
  gemm_options options;
  options.c = o.c.view();
  options.split_k = 3;  // ceil(448 / 3) = 150, three steps of 64
  gemm_options first;
  first.c = options.c;
  std::vector<float> want =
      multiply(columns(o.a.view(), 0, 192), columns(o.b.view(), 0, 192), unit, first);
  want = add(want, multiply(columns(o.a.view(), 192, 384), columns(o.b.view(), 192, 384), unit));
  want = add(want, multiply(columns(o.a.view(), 384, 448), columns(o.b.view(), 384, 448), unit));
  expect_same_bits(multiply(o.a.view(), o.b.view(), unit, options), want);

  options.split_k = 100;  // more ranges than steps: each step a range
  want = multiply(columns(o.a.view(), 0, 64), columns(o.b.view(), 0, 64), unit, first);
  for (index_t k = 64; k < 448; k += 64) {
    want =
        add(want, multiply(columns(o.a.view(), k, k + 64), columns(o.b.view(), k, k + 64), unit));
  }
  expect_same_bits(multiply(o.a.view(), o.b.view(), unit, options), want);
}

TEST(SplitK, WithPromotionInside) {
  const accumulate::nvidia_hopper_wgmma unit;
  operands o(sweep::e5m2, 320, 4, numbers::near_one);
  o.lay_out();
  gemm_options options;
  options.c = o.c.view();
  options.split_k = 2;
  options.promotion = 64;
  const auto part = [&](index_t first, index_t end) {
    return multiply(columns(o.a.view(), first, end), columns(o.b.view(), first, end), unit);
  };
  std::vector<float> want = add(add(add(c_values(o), part(0, 64)), part(64, 128)), part(128, 160));
  want = add(want, add(add(add(std::vector<float>(rows * cols), part(160, 224)), part(224, 288)),
                       part(288, 320)));
  expect_same_bits(multiply(o.a.view(), o.b.view(), unit, options), want);
}

TEST(SplitK, MathematicalPoliciesToo) {
  operands o(sweep::bf16, 96, 5, numbers::near_one);
  o.lay_out();
  gemm_options options;
  options.split_k = 3;
  const auto part = [&](index_t first) {
    return multiply(columns(o.a.view(), first, first + 32), columns(o.b.view(), first, first + 32),
                    accumulate::fp32_chain{});
  };
  expect_same_bits(multiply(o.a.view(), o.b.view(), accumulate::fp32_chain{}, options),
                   add(add(part(0), part(32)), part(64)));
}

TEST(LibraryOrders, RefuseWhatIsNoWholeStep) {
  operands o(sweep::e4m3, 128, 6, numbers::finite);
  o.lay_out();
  std::vector<float> d(rows * cols, 7.0F);
  gemm_options options;
  const auto code = [&] {
    return gemm(o.a.view(), o.b.view(), mxref::view(d.data(), rows, cols),
                accumulate::nvidia_hopper_wgmma{}, options)
        .code;
  };
  options.promotion = 48;
  EXPECT_EQ(code(), errc::block_mismatch);
  options.promotion = -32;
  EXPECT_EQ(code(), errc::block_mismatch);
  options.promotion = 0;
  options.split_k = 0;
  EXPECT_EQ(code(), errc::block_mismatch);
  options.split_k = 1;
  options.made = mxref::bfloat16::desc;
  EXPECT_EQ(code(), errc::unsupported_output);
  EXPECT_EQ(d, std::vector<float>(rows * cols, 7.0F));
}

TEST(TensorScale, IsMultipliedIntoAlpha) {
  operands o(sweep::e4m3, 64, 7, numbers::near_one);
  o.lay_out();
  for (const bool has_c : {false, true}) {
    gemm_options options;
    if (has_c) options.c = o.c.view();
    options.alpha = 1.1F;
    options.beta = 0.3F;
    options.epilogue = true;
    gemm_options scaled = options;
    scaled.tensor_scale = 0x1.234p-7F;
    const oracle::real alpha = oracle::nearest_binary32(
        oracle::multiply(oracle::make_real(double{1.1F}), oracle::make_real(0x1.234p-7)));
    options.alpha = static_cast<float>(alpha.value.get_d());
    const accumulate::nvidia_blackwell_tcgen05_f8f6f4 unit;
    expect_same_bits(multiply(o.a.view(), o.b.view(), unit, scaled),
                     multiply(o.a.view(), o.b.view(), unit, options));
  }
  // Alone it makes an epilogue: C is added at the end.
  gemm_options scaled;
  scaled.c = o.c.view();
  scaled.tensor_scale = 2.0F;
  gemm_options options;
  options.c = o.c.view();
  options.epilogue = true;
  options.alpha = 2.0F;
  const accumulate::nvidia_ampere_mma unit;
  operands h(sweep::f16, 64, 8, numbers::near_one);
  h.lay_out();
  expect_same_bits(multiply(h.a.view(), h.b.view(), unit, scaled),
                   multiply(h.a.view(), h.b.view(), unit, options));
}

TEST(Output, IsConvertedToAnyFormat) {
  operands o(sweep::f16, 64, 9, numbers::near_one);
  o.lay_out();
  const accumulate::nvidia_hopper_mma unit;
  std::vector<mxref::binary16> made(rows * cols);
  ASSERT_TRUE(gemm(o.a.view(), o.b.view(), mxref::view(made.data(), rows, cols), unit));
  gemm_options options;
  options.made = mxref::binary16::desc;
  for (const auto mode : {mxref::overflow_mode::nonsaturating, mxref::overflow_mode::saturate}) {
    options.overflow = mode;
    std::vector<mxref::E2M3> d(rows * cols);
    ASSERT_TRUE(gemm(o.a.view(), o.b.view(), mxref::view(d.data(), rows, cols), unit, options));
    std::vector<mxref::E4M3> e(rows * cols);
    ASSERT_TRUE(gemm(o.a.view(), o.b.view(), mxref::view(e.data(), rows, cols), unit, options));
    for (std::size_t i = 0; i < d.size(); ++i) {
      const oracle::real x = oracle::code_value(oracle::get(oracle::format_id::f16), made[i].code);
      EXPECT_EQ(d[i].code, oracle::nearest_code(oracle::get(oracle::format_id::e2m3), x));
      EXPECT_EQ(e[i].code, oracle::nearest_code(oracle::get(oracle::format_id::e4m3), x));
    }
  }
  // Saturation is a choice.
  o.a.code(0, 0) = o.b.code(0, 0) = mxref::encode<mxref::binary16>(200.0F).code;
  o.lay_out();
  mxref::E4M3 one{};
  const auto first = [](operand_view v) {
    v.rows = 1;
    return v;
  };
  ASSERT_TRUE(gemm(first(o.a.view()), first(o.b.view()), mxref::view(&one, 1, 1), unit, options));
  EXPECT_EQ(one.code, 0x7E);
  options.overflow = mxref::overflow_mode::nonsaturating;
  ASSERT_TRUE(gemm(first(o.a.view()), first(o.b.view()), mxref::view(&one, 1, 1), unit, options));
  EXPECT_EQ(one.code, 0x7F);
}

TEST(Output, IsQuantized) {
  operands o(sweep::e4m3, 64, 10, numbers::near_one);
  o.lay_out();
  const accumulate::nvidia_hopper_wgmma unit;
  const std::vector<float> plain = multiply(o.a.view(), o.b.view(), unit);
  for (const int axis : {-1, 0}) {
    const index_t out_rows = axis == 0 ? cols : rows;
    const index_t depth = axis == 0 ? rows : cols;
    std::vector<std::uint8_t> codes(rows * cols);
    std::vector<std::uint8_t> scales(static_cast<std::size_t>(out_rows * ((depth + 1) / 2)));
    std::vector<std::uint8_t> want_codes(codes.size());
    std::vector<std::uint8_t> want_scales(scales.size());
    const auto out = [&](std::vector<std::uint8_t>& c, std::vector<std::uint8_t>& s) {
      return mxref::quantized_view{mxref::E2M1::desc, 2, c.data(), depth, s.data(),
                                   (depth + 1) / 2};
    };
    const mxref::quantizer<mxref::scale::rceil> q{};
    ASSERT_TRUE(gemm(o.a.view(), o.b.view(), out(codes, scales), q, unit, {}, {axis, false}));
    ASSERT_TRUE(quantize(mxref::view(plain.data(), rows, cols), out(want_codes, want_scales), q,
                         {axis, false}));
    EXPECT_EQ(codes, want_codes);
    EXPECT_EQ(scales, want_scales);
    EXPECT_EQ(gemm(o.a.view(), o.b.view(), out(codes, scales), q, unit, {}, {axis, true}).code,
              axis == 0 ? errc::partial_block : errc::ok);
  }
}

}  // namespace
