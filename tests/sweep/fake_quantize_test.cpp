// SPDX-License-Identifier: Apache-2.0
// fake_quantize is dequantize after quantize, in every format, policy, axis and shape; and the
// codes of an axis-0 quantization in the order of the source are those of the K-major one.
#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <limits>
#include <random>
#include <vector>

#include "golden_formats.hpp"
#include "mxref/mxref.hpp"

namespace {

using mxref::errc;
using mxref::index_t;

using dynamic_quantizer = mxref::quantizer<mxref::scale::floor, mxref::rounding::dynamic,
                                           mxref::overflow::dynamic, mxref::nan::dynamic>;

struct codes_of {
  std::vector<std::uint8_t> codes;
  std::vector<std::uint8_t> scales;
  mxref::operand_view operand;
};

struct shape {
  index_t rows, cols;
  int block, axis;

  index_t out_rows() const { return axis == 0 ? cols : rows; }
  index_t depth() const { return axis == 0 ? rows : cols; }
  index_t blocks() const { return (depth() + block - 1) / block; }
};

/// K-major, or for axis 0 in the order of the source.
codes_of quantized(mxref::matrix_view<const float> in, mxref::format_desc f, const shape& s,
                   const dynamic_quantizer& q, bool in_order) {
  codes_of r{std::vector<std::uint8_t>(static_cast<std::size_t>(s.rows * s.cols)),
             std::vector<std::uint8_t>(static_cast<std::size_t>(s.out_rows() * s.blocks())),
             {}};
  mxref::quantized_view out{f, s.block, r.codes.data(), s.depth(), r.scales.data(), s.blocks()};
  if (in_order) {
    out.code_row_bytes = 1;
    out.code_col_bytes = s.cols;
  }
  EXPECT_TRUE(mxref::quantize(in, out, q, {s.axis, false}));
  r.operand = out.operand(s.out_rows(), s.depth());
  return r;
}

template <class E>
class FakeQuantize : public testing::Test {};
using formats = testing::Types<mxref::E4M3, mxref::E5M2, mxref::E3M2, mxref::E2M3, mxref::E2M1,
                               mxref::INT8, golden::E4M3FNUZ, golden::E4M3IEEE, golden::E3M4>;
TYPED_TEST_SUITE(FakeQuantize, formats, golden::format_names);

TYPED_TEST(FakeQuantize, IsDequantizeAfterQuantize) {
  constexpr auto f = TypeParam::desc;
  std::mt19937 random(7);
  for (int round = 0; round < 300; ++round) {
    const shape s{static_cast<index_t>(1 + random() % 20), static_cast<index_t>(1 + random() % 20),
                  static_cast<int>(1 + random() % 9), random() % 2 != 0 ? 0 : -1};
    dynamic_quantizer q;
    q.rounding.mode = static_cast<mxref::rounding_mode>(random() % 6);
    q.overflow.mode = static_cast<mxref::overflow_mode>(random() % 3);
    q.on_nan.mode = static_cast<mxref::nan_mode>(random() % 3);
    std::vector<float> x(static_cast<std::size_t>(s.rows * s.cols));
    for (float& v : x) {
      // All exponents in some rounds, a few in others; NaN and Inf where the format allows them.
      auto bits = static_cast<std::uint32_t>(random());
      if (round % 2 != 0) bits = (bits & 0x87FFFFFFU) | 0x38000000U;
      v = mxref::bit_cast<float>(bits);
      if (mxref::to_number(v).is_nan() && !f.has_nan()) v = 1.0F;
    }
    const auto in = mxref::view(static_cast<const float*>(x.data()), s.rows, s.cols);
    const codes_of r = quantized(in, f, s, q, false);
    std::vector<float> want(x.size());
    ASSERT_TRUE(mxref::dequantize(r.operand, mxref::view(want.data(), s.rows, s.cols), s.axis));
    std::vector<float> got = x;  // in place
    const auto out = mxref::view(got.data(), s.rows, s.cols);
    ASSERT_TRUE(mxref::fake_quantize(out, out, f, s.block, q, {s.axis, false}));
    ASSERT_EQ(std::memcmp(got.data(), want.data(), got.size() * sizeof(float)), 0)
        << "round " << round << " block " << s.block << " axis " << s.axis;

    if (s.axis != 0) continue;
    const codes_of ordered = quantized(in, f, s, q, true);
    EXPECT_EQ(ordered.scales, r.scales);
    for (index_t i = 0; i < s.rows; ++i) {
      for (index_t j = 0; j < s.cols; ++j) {
        const auto code = r.codes[static_cast<std::size_t>(j * s.rows + i)];
        ASSERT_EQ(ordered.codes[static_cast<std::size_t>(i * s.cols + j)], code);
        ASSERT_EQ(ordered.operand.code(j, i), code);
      }
    }
  }
}

TEST(FakeQuantizeErrors, LeaveTheOutputAlone) {
  const std::vector<float> x(64, 1.0F);
  std::vector<float> out(64, 5.0F);
  const auto in = mxref::view(x.data(), 2, 32);
  const auto fails = [&](mxref::matrix_view<float> to, mxref::format_desc f, int block,
                         mxref::quantize_options o = {}) {
    const auto s = mxref::fake_quantize(in, to, f, block, mxref::quantizer<>{}, o);
    EXPECT_EQ(out, std::vector<float>(64, 5.0F));
    return s.code;
  };
  const auto fits = mxref::view(out.data(), 2, 32);
  EXPECT_EQ(fails(mxref::view(out.data(), 32, 2), mxref::E4M3::desc, 32), errc::shape_mismatch);
  EXPECT_EQ(fails(fits, mxref::E4M3::desc, 0), errc::shape_mismatch);
  EXPECT_EQ(fails(fits, mxref::E4M3::desc, 32, {2, false}), errc::shape_mismatch);
  EXPECT_EQ(fails(fits, mxref::bfloat16::desc, 32), errc::unsupported_format);
  EXPECT_EQ(fails(fits, mxref::E4M3::desc, 5, {-1, true}), errc::partial_block);
  const std::vector<float> nan(64, std::numeric_limits<float>::quiet_NaN());
  const mxref::quantizer<mxref::scale::floor, mxref::rounding::nearest_even,
                         mxref::overflow::saturate, mxref::nan::finite>
      keep;
  EXPECT_EQ(
      mxref::fake_quantize(mxref::view(nan.data(), 2, 32), fits, mxref::E2M1::desc, 32, keep).code,
      errc::unrepresentable_nan);
  EXPECT_EQ(out, std::vector<float>(64, 5.0F));
}

}  // namespace
