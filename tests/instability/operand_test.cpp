// SPDX-License-Identifier: Apache-2.0
// Operands, clamp counts and comparisons of gradients against plain ones.
#include <cmath>

#include "fixture.hpp"
#include "measure.hpp"
#include "plain.hpp"

namespace {

using namespace instability;
using instability_test::expect_same_bits;
using instability_test::normal_numbers;

TEST(Operand, EqualsTheScalarCoreAlongBothAxes) {
  const engine e(3);
  for (const auto& f : element_names) {
    for (const auto& s : scale_names) {
      if (s.value == scale_choice::column_bump) continue;
      for (const auto& r : rounding_names) {
        const role_precision role{f.value, s.value, r.value, 32};
        // More rows and columns than a part has, and short blocks at the ends.
        const index_t rows = 72;
        const index_t width = 80;
        const plain::matrix x(normal_numbers(static_cast<std::size_t>(rows * width), 5).data(),
                              rows, width);
        const tensor t{x.values.data(), rows, width};
        const std::string name =
            std::string(f.name) + " " + std::string(s.name) + " " + std::string(r.name);
        std::vector<float> out(x.values.size());
        const float* got = prepare(e, role, vector_rounding::nearest_away, 20, t, axis::along_rows,
                                   99, out.data());
        const plain::matrix along =
            plain::quantized(x, role, vector_rounding::nearest_away, 99, 20, false);
        expect_same_bits({got, got + out.size()}, along.values, name + " along rows");
        got = prepare(e, role, vector_rounding::nearest_away, 20, t, axis::down_columns, 99,
                      out.data());
        const plain::matrix down =
            plain::quantized(x.transposed(), role, vector_rounding::nearest_away, 99, 20, true);
        expect_same_bits({got, got + out.size()}, down.transposed().values, name + " down columns");
      }
    }
  }
}

TEST(Operand, LargeTensorsAreCutWithoutATrace) {
  const engine e(2);
  const index_t rows = 1100;
  const index_t width = 64;
  const std::vector<float> x = normal_numbers(static_cast<std::size_t>(rows * width), 6);
  const role_precision role{element::e4m3, scale_choice::floor, mxref::rounding_mode::stochastic,
                            32};
  for (const axis a : {axis::along_rows, axis::down_columns}) {
    std::vector<float> got(x.size());
    prepare(e, role, vector_rounding::off, 32, {x.data(), rows, width}, a, 7, got.data());
    std::vector<float> want(x.size());
    const mxref::quantizer<mxref::scale::floor, mxref::rounding::philox> q{{}, {7, 32}};
    ASSERT_TRUE(mxref::fake_quantize(mxref::view(x.data(), rows, width),
                                     mxref::view(want.data(), rows, width), mxref::E4M3::desc, 32,
                                     q, {a == axis::along_rows ? -1 : 0}));
    expect_same_bits(got, want, "stochastic");
  }
}

TEST(Operand, Fp32RolesGiveTheTensorItself) {
  const engine e(1);
  const std::vector<float> x(32, 1.1F);
  role_precision role;
  role.format = element::fp32;
  EXPECT_EQ(prepare(e, role, vector_rounding::nearest_away, 32, {x.data(), 1, 32}, axis::along_rows,
                    0, nullptr),
            x.data());
}

TEST(Operand, ColumnBumpMovesOnePositionOfEveryBlock) {
  // The largest number at position 5 is 1.9, above T = 1.75. Block 1 has scale 2^-8, so that its
  // smallest numbers are multiples of 2^-17. At position 5 they are multiples of 2^-16.
  std::vector<float> x(64, 0.0F);
  x[0] = 1.0F;
  x[5] = 1.9F;
  x[32] = 1.0F;
  x[32 + 5] = 3 * 0x1p-17F;
  x[32 + 6] = 3 * 0x1p-17F;
  std::vector<float> got(64);
  const role_precision role{element::e4m3, scale_choice::column_bump};
  const engine e(1);
  prepare(e, role, vector_rounding::off, 32, {x.data(), 1, 64}, axis::along_rows, 0, got.data());
  EXPECT_EQ(got[5], 1.875F);
  EXPECT_EQ(got[32 + 5], 4 * 0x1p-17F);  // a tie, away
  EXPECT_EQ(got[32 + 6], 3 * 0x1p-17F);
  // As two rows they do not see each other.
  prepare(e, role, vector_rounding::off, 32, {x.data(), 2, 32}, axis::along_rows, 0, got.data());
  EXPECT_EQ(got[5], 1.875F);
  EXPECT_EQ(got[32 + 5], 3 * 0x1p-17F);
  // A number that saturates stays clamped where a larger one at its position does not.
  std::vector<float> y(64, 0.0F);
  y[7] = 1.9F;
  y[32 + 7] = 2.0F;
  prepare(e, role, vector_rounding::off, 32, {y.data(), 1, 64}, axis::along_rows, 0, got.data());
  EXPECT_EQ(got[7], 1.75F);
  prepare(e, role, vector_rounding::off, 32, {y.data(), 2, 32}, axis::along_rows, 0, got.data());
  EXPECT_EQ(got[7], 1.875F);
  // Down the columns of the transpose, the same.
  prepare(e, role, vector_rounding::off, 32, {x.data(), 64, 1}, axis::down_columns, 0, got.data());
  EXPECT_EQ(got[32 + 5], 4 * 0x1p-17F);
}

TEST(Measure, ClampCountsEqualTheDefinition) {
  const engine e(2);
  const index_t rows = 40;
  const index_t width = 80;
  std::vector<float> x = normal_numbers(static_cast<std::size_t>(rows * width), 8, 0.03F, 0.93F);
  for (std::size_t i = 0; i < 32; ++i) x[i] = 0;  // a block of zeros
  const tensor all{x.data(), rows, width};
  const clamp_counts got = count_clamped(e, all, 32, vector_rounding::nearest_even);
  clamp_rules quirk;
  quirk.e2m1 = 0.75F;
  const clamp_counts by_quirk = count_clamped(e, all, 32, vector_rounding::nearest_even, quirk);
  std::array<std::uint64_t, threshold_count> want{};
  std::uint64_t want_by_quirk = 0;
  for (index_t row = 0; row < rows; ++row) {
    for (index_t k = 0; k < width; k += 32) {
      const index_t n = std::min<index_t>(32, width - k);
      const auto value = [&](index_t i) {
        return std::fabs(plain::to_bfloat16(vector_rounding::nearest_even,
                                            x[static_cast<std::size_t>(row * width + k + i)]));
      };
      float top = 0;
      for (index_t i = 0; i < n; ++i) top = std::max(top, value(i));
      if (top == 0) continue;
      for (index_t i = 0; i < n; ++i) {
        for (std::size_t t = 0; t < want.size(); ++t) {
          const float limit = std::ldexp(thresholds[t].significand, std::ilogb(top));
          want[t] += value(i) > limit ? 1 : 0;
        }
        want_by_quirk += value(i) > std::ldexp(0.75F, std::ilogb(top)) ? 1 : 0;
      }
    }
  }
  EXPECT_EQ(got.numbers, static_cast<std::uint64_t>(rows * width));
  EXPECT_EQ(got.above, want);
  EXPECT_GT(want[1], 1000U);
  EXPECT_EQ(by_quirk.above, (std::array{want_by_quirk, want[1], want[2]}));
  EXPECT_GT(want_by_quirk, want[0]);
}

TEST(Measure, ThresholdsAreThoseOfTheFormats) {
  EXPECT_EQ(clamp_threshold(mxref::E4M3::desc), 1.75F);
  EXPECT_EQ(clamp_threshold(mxref::E5M2::desc), 1.75F);
  EXPECT_EQ(clamp_threshold(mxref::E3M2::desc), 1.75F);
  EXPECT_EQ(clamp_threshold(mxref::E2M3::desc), 1.875F);
  EXPECT_EQ(clamp_threshold(mxref::E2M1::desc), 1.5F);
  EXPECT_EQ(thresholds[0].significand, 1.5F);
  EXPECT_EQ(thresholds[1].significand, 1.75F);
  EXPECT_EQ(thresholds[2].significand, 1.875F);
}

TEST(Measure, GradientErrorByItsDefinition) {
  study_settings s;
  s.model = {32, 3, activation_kind::gelu, true};
  const student network(s.model, 16);
  const engine e(2);
  const auto count = static_cast<std::size_t>(network.parameter_count());
  const std::vector<float> x = normal_numbers(count, 1);
  std::vector<float> y = x;
  for (std::size_t i = 0; i < count; ++i)
    y[i] += 0.3F * normal_numbers(1, static_cast<unsigned>(i))[0];
  std::size_t seen = 0;
  for (int g = 0; g < 3; ++g) {
    long double xy = 0;
    long double xx = 0;
    long double yy = 0;
    long double dd = 0;
    long double difference = 0;
    index_t n = 0;
    for (const auto& [first, last] : network.parts_of(static_cast<group>(g))) {
      for (index_t i = first; i < last; ++i) {
        const long double a = x[static_cast<std::size_t>(i)];
        const long double b = y[static_cast<std::size_t>(i)];
        xy += a * b;
        xx += a * a;
        yy += b * b;
        dd += (a - b) * (a - b);
        difference += a - b;
        ++n;
      }
    }
    seen += static_cast<std::size_t>(n);
    const gradient_error got =
        compare(group_moments(e, network, static_cast<group>(g), x.data(), y.data()), n);
    EXPECT_NEAR(got.ratio, static_cast<double>(std::sqrt(dd / yy)), 1e-10);
    EXPECT_NEAR(got.cosine, static_cast<double>(xy / std::sqrt(xx * yy)), 1e-12);
    EXPECT_NEAR(got.bias, static_cast<double>(xy / yy - 1), 1e-12);
    EXPECT_NEAR(got.mean_difference, static_cast<double>(difference / n), 1e-12);
  }
  EXPECT_EQ(seen, count);
}

}  // namespace
