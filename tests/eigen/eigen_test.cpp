// SPDX-License-Identifier: Apache-2.0
// Eigen's matrices in and out of mxref, for every storage order, stride and size; equal to the
// functions of mxref on plain arrays.
#include "mxref/eigen.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <random>
#include <sstream>
#include <type_traits>
#include <vector>

#include "mxref/print.hpp"

namespace {

using Eigen::Dynamic;
using Eigen::MatrixXf;
using mxref::E2M1;
using mxref::E4M3;
using mxref::errc;
using mxref::index_t;
using mxref::mx_block;
using mxref::mx_matrix;
namespace eigen = mxref::eigen;

using row_major = Eigen::Matrix<float, Dynamic, Dynamic, Eigen::RowMajor>;

constexpr index_t rows = 7;
constexpr index_t cols = 70;

/// The numbers of every test, in C order, and their blocks.
const std::vector<float>& numbers() {
  static const std::vector<float> x = [] {
    std::mt19937 r(1);
    std::normal_distribution<float> normal;
    std::vector<float> v(rows * cols);
    for (float& e : v) e = normal(r);
    return v;
  }();
  return x;
}

template <class M = MatrixXf>
M matrix() {
  M m(rows, cols);
  for (index_t i = 0; i < rows; ++i) {
    for (index_t k = 0; k < cols; ++k) {
      m(i, k) = numbers()[static_cast<std::size_t>(i * cols + k)];
    }
  }
  return m;
}

template <class E = E4M3>
mx_matrix<E, 32> expected() {
  return mxref::quantize<mx_block<E, 32>>(mxref::view(numbers().data(), rows, cols));
}

TEST(Eigen, QuantizesWhateverTheStorage) {
  EXPECT_EQ((eigen::quantize<mx_block<E4M3, 32>>(matrix<MatrixXf>())), expected());
  EXPECT_EQ((eigen::quantize<mx_block<E4M3, 32>>(matrix<row_major>())), expected());
  EXPECT_EQ((eigen::quantize<mx_block<E4M3, 32>>(
                matrix<Eigen::Matrix<float, rows, cols, Eigen::RowMajor>>())),
            expected());
  EXPECT_EQ((eigen::quantize<mx_block<E4M3, 32>>(matrix<Eigen::ArrayXXf>())), expected());
  // A transpose of a transpose, a block with strides, a map with strides.
  const MatrixXf t = matrix().transpose();
  EXPECT_EQ((eigen::quantize<mx_block<E4M3, 32>>(t.transpose())), expected());
  MatrixXf wide = MatrixXf::Constant(2 * rows, cols + 5, 1e9F);
  wide.block(rows, 3, rows, cols) = matrix();
  EXPECT_EQ((eigen::quantize<mx_block<E4M3, 32>>(wide.block(rows, 3, rows, cols))), expected());
  std::vector<float> spread(static_cast<std::size_t>(2 * rows * cols), 1e9F);
  Eigen::Map<row_major, 0, Eigen::Stride<Dynamic, Dynamic>> map(
      spread.data(), rows, cols, Eigen::Stride<Dynamic, Dynamic>(2 * cols, 2));
  map = matrix();
  EXPECT_EQ((eigen::quantize<mx_block<E4M3, 32>>(map)), expected());
}

TEST(Eigen, QuantizesExpressionsAndOtherTypes) {
  const MatrixXf m = matrix();
  EXPECT_EQ((eigen::quantize<mx_block<E4M3, 32>>(0.5F * m + 0.5F * m)), expected());
  EXPECT_EQ((eigen::quantize<mx_block<E4M3, 32>>(m.cast<double>())), expected());
  const auto rceil = eigen::quantize<mx_block<E2M1, 32>>(m, mxref::scale::rceil{});
  EXPECT_EQ(rceil, (mxref::quantize<mx_block<E2M1, 32>>(mxref::view(numbers().data(), rows, cols),
                                                        mxref::scale::rceil{})));
  EXPECT_NE(rceil, expected<E2M1>());
}

TEST(Eigen, QuantizesIntoViews) {
  std::vector<std::uint8_t> codes(rows * cols);
  std::vector<std::uint8_t> scales(cols);
  const mxref::quantized_view down{E4M3::desc, 32, codes.data(), rows, scales.data(), 1};
  ASSERT_TRUE(eigen::quantize(matrix(), down, mxref::quantizer<>{}, {0, false}));
  std::vector<std::uint8_t> codes2(rows * cols);
  std::vector<std::uint8_t> scales2(cols);
  const mxref::quantized_view want{E4M3::desc, 32, codes2.data(), rows, scales2.data(), 1};
  ASSERT_TRUE(mxref::quantize(mxref::view(numbers().data(), rows, cols), want, mxref::quantizer<>{},
                              {0, false}));
  EXPECT_EQ(codes, codes2);
  EXPECT_EQ(scales, scales2);
  EXPECT_EQ(eigen::quantize(2.0F * matrix(), down, mxref::quantizer<>{}, {0, true}).code,
            errc::partial_block);
}

TEST(Eigen, DequantizesInPlace) {
  const auto a = expected();
  std::vector<float> want(rows * cols);
  ASSERT_TRUE(mxref::dequantize(a.operand(), mxref::view(want.data(), rows, cols)));
  const Eigen::Map<const row_major> wanted(want.data(), rows, cols);

  MatrixXf m;  // gets the shape
  ASSERT_TRUE(eigen::dequantize(a, m));
  EXPECT_EQ(m, wanted);
  Eigen::Matrix<double, rows, cols, Eigen::RowMajor> fixed;
  ASSERT_TRUE(eigen::dequantize(a, fixed));
  EXPECT_EQ(fixed, wanted.cast<double>());
  MatrixXf wide = MatrixXf::Constant(rows + 2, cols + 2, -1.0F);
  ASSERT_TRUE(eigen::dequantize(a, wide.block(1, 1, rows, cols)));
  EXPECT_EQ(wide.block(1, 1, rows, cols), wanted);
  EXPECT_EQ(wide.row(0).minCoeff(), -1.0F);
  EXPECT_EQ(wide.row(0).maxCoeff(), -1.0F);
  MatrixXf t(cols, rows);
  ASSERT_TRUE(eigen::dequantize(a, t.transpose()));
  EXPECT_EQ(t.transpose(), wanted);

  // What cannot be resized must have the shape, and is not touched.
  MatrixXf small = MatrixXf::Constant(3, 3, 5.0F);
  EXPECT_EQ(eigen::dequantize(a, small.block(0, 0, 3, 3)).code, errc::shape_mismatch);
  Eigen::Matrix3f fixed3 = Eigen::Matrix3f::Constant(5.0F);
  EXPECT_EQ(eigen::dequantize(a, fixed3).code, errc::shape_mismatch);
  EXPECT_EQ(fixed3, Eigen::Matrix3f::Constant(5.0F));
}

TEST(Eigen, MultipliesInPlace) {
  const auto a = expected();
  const auto b = expected<E2M1>();
  std::vector<float> want(rows * rows);
  ASSERT_TRUE(mxref::gemm(a, b, mxref::view(want.data(), rows, rows)));
  const Eigen::Map<const row_major> wanted(want.data(), rows, rows);
  MatrixXf d;
  ASSERT_TRUE(eigen::gemm(a, b, d));
  EXPECT_EQ(d, wanted);
  std::vector<float> out(rows * rows);
  ASSERT_TRUE(eigen::gemm(a, b, Eigen::Map<row_major>(out.data(), rows, rows)));
  EXPECT_EQ(out, want);

  // Element outputs, unscaled operands, C.
  Eigen::Matrix<mxref::bfloat16, Dynamic, Dynamic> d16;
  ASSERT_TRUE(eigen::gemm(a, b, d16));
  std::vector<mxref::bfloat16> want16(rows * rows);
  ASSERT_TRUE(mxref::gemm(a, b, mxref::view(want16.data(), rows, rows)));
  for (index_t i = 0; i < rows; ++i) {
    for (index_t j = 0; j < rows; ++j) {
      EXPECT_EQ(d16(i, j), want16[static_cast<std::size_t>(i * rows + j)]);
    }
  }
  const MatrixXf weights = matrix();
  const MatrixXf c = MatrixXf::Constant(rows, rows, 3.0F);
  mxref::gemm_options options;
  options.c = eigen::operand(c);
  ASSERT_TRUE(eigen::gemm(a, eigen::operand(weights), d, mxref::accumulate::exact{}, options));
  mxref::operand_view plain;
  plain.format = mxref::binary32_desc;
  plain.codes = numbers().data();
  plain.rows = rows;
  plain.depth = cols;
  plain.row_bytes = cols * 4;
  plain.col_bytes = 4;
  MatrixXf d2(rows, rows);
  ASSERT_TRUE(mxref::gemm(a, plain, eigen::view(d2), mxref::accumulate::exact{}, options));
  EXPECT_EQ(d, d2);
}

TEST(Eigen, StoresMapsCastsAndPrintsElements) {
  Eigen::Matrix<E4M3, 2, 2, Eigen::RowMajor> m;
  m << mxref::encode<E4M3>(1.0F), mxref::encode<E4M3>(-0.875F), mxref::encode<E4M3>(448.0F),
      E4M3{0x7F};
  std::ostringstream text;
  text << m;
  EXPECT_EQ(text.str(), "     1 -0.875\n   448    nan");
  const Eigen::Matrix2f back = m.cast<float>();
  EXPECT_EQ(back(0, 1), -0.875F);
  EXPECT_TRUE(std::isnan(back(1, 1)));

  const Eigen::Vector3f x(0.9F, 1000.0F, -3.0F);
  const Eigen::Matrix<E4M3, 3, 1> codes = x.cast<E4M3>();
  EXPECT_EQ(codes(0), mxref::encode<E4M3>(0.9F));
  EXPECT_EQ(codes(1).code, 0x7E);
  const Eigen::Matrix<E2M1, 3, 1> narrow = codes.cast<E2M1>();
  EXPECT_EQ(narrow(2), mxref::encode<E2M1>(-3.0F));

  std::uint8_t bytes[4] = {0x38, 0x40, 0xB8, 0x00};
  Eigen::Map<Eigen::Matrix<E4M3, 2, 2>> map(reinterpret_cast<E4M3*>(bytes));
  EXPECT_EQ(map(0, 1), E4M3{0xB8});
  EXPECT_EQ(map.transpose().eval()(1, 0), E4M3{0xB8});
  map(0, 0) = E4M3{0x01};
  EXPECT_EQ(bytes[0], 0x01);
  EXPECT_EQ(Eigen::NumTraits<E4M3>::highest().code, 0x7E);
  EXPECT_EQ(Eigen::NumTraits<E2M1>::lowest().code, 0x0F);
}

}  // namespace
