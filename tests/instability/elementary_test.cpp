// SPDX-License-Identifier: Apache-2.0
// Functions and random numbers of every target against MPFR and long double.
#include <cmath>
#include <limits>

#include "elementary.hpp"
#include "fixture.hpp"
#include "mxref/simd/control_register.hpp"
#include "plain.hpp"
#include "streams.hpp"

namespace {

using namespace instability;
using instability_test::bits;
using instability_test::expect_same_bits;
using instability_test::vector_targets;

constexpr vector_rounding off = vector_rounding::off;

/// Numbers of all magnitudes that matter to GELU and SiLU, both signs.
std::vector<float> arguments(std::size_t count) {
  std::mt19937 random(3);
  std::vector<float> x = {0.0F,   -0.0F,   5e-44F, -5e-44F, 1e-30F, -1e-30F, 1.0F,  -1.0F,
                          37.5F,  -37.5F,  38.0F,  -38.0F,  1e30F,  -1e30F,  13.9F, -13.9F,
                          -14.2F, -103.9F, 103.9F, -88.7F,  3e38F,  -3e38F,  0.5F,  -0.5F};
  while (x.size() < count) {
    const auto exponent = static_cast<int>(random() % 26) - 18;
    const float v =
        std::ldexp(1.0F + static_cast<float>(random() % (1U << 23)) * 0x1p-23F, exponent);
    x.push_back(random() % 2 == 0 ? v : -v);
  }
  return x;
}

class Elementary : public testing::TestWithParam<int> {
 protected:
  const vector_kernels& k = *vector_targets()[static_cast<std::size_t>(GetParam())];
  mxref::simd::control_register_guard guard_;
};

void expect_function(const vector_kernels& k, function f, float (*value)(float),
                     float (*slope)(float)) {
  const std::vector<float> x = arguments(4096);
  std::vector<float> got(x.size());
  std::vector<float> got_slope(x.size());
  k.apply(f, off, off, x.data(), static_cast<index_t>(x.size()), got.data(), got_slope.data());
  std::vector<float> want;
  std::vector<float> want_slope;
  for (const float v : x) {
    want.push_back(value(v));
    want_slope.push_back(slope(v));
  }
  expect_same_bits(got, want, "value");
  expect_same_bits(got_slope, want_slope, "slope");
}

TEST_P(Elementary, GeluIsRoundedOnce) {
  expect_function(k, function::gelu, plain::gelu, plain::gelu_slope);
}

TEST_P(Elementary, SiluIsRoundedOnce) {
  expect_function(k, function::silu, plain::silu, plain::silu_slope);
}

TEST_P(Elementary, InfinityAndNaN) {
  constexpr float inf = std::numeric_limits<float>::infinity();
  std::vector<float> x(16, 1.0F);
  x[0] = inf;
  x[1] = -inf;
  x[2] = std::numeric_limits<float>::quiet_NaN();
  for (const function f : {function::gelu, function::silu, function::relu}) {
    std::vector<float> y(16);
    std::vector<float> slope(16);
    k.apply(f, off, off, x.data(), 16, y.data(), slope.data());
    EXPECT_EQ(y[0], inf);
    EXPECT_EQ(y[1], 0.0F);
    EXPECT_TRUE(std::isnan(y[2]));
    EXPECT_EQ(slope[0], 1.0F);
    EXPECT_EQ(slope[1], 0.0F);
  }
}

TEST_P(Elementary, EmulatedFunctionsUseTheExponentialRoundedOnce) {
  // x = -1: every step of the rounded SiLU but the exponential is exact to check by hand.
  const std::vector<float> x = arguments(2048);
  std::vector<float> got(x.size());
  std::vector<float> slope(x.size());
  k.apply(function::silu_emulated, off, off, x.data(), static_cast<index_t>(x.size()), got.data(),
          slope.data());
  for (std::size_t i = 0; i < x.size(); ++i) {
    if (std::fabs(x[i]) > 80) continue;  // beyond, the exponential leaves binary32
    const float s = 1.0F / (plain::exponential(-x[i]) + 1.0F);
    EXPECT_EQ(bits(got[i]), bits(x[i] * s)) << x[i];
  }
}

TEST_P(Elementary, NormalsAreBoxMuller) {
  constexpr index_t count = 4096;
  const std::uint64_t seed = stream_seed(5, stream::inputs, 9);
  std::vector<float> got(count);
  k.normals(seed, 0, count, 1.0F, nullptr, got.data());
  std::vector<float> want;
  for (std::uint64_t i = 0; i < count; i += 2) {
    const long double u = (static_cast<long double>(mxref::philox_word(seed, i)) + 0.5L) * 0x1p-32L;
    const long double angle = static_cast<long double>(mxref::philox_word(seed, i + 1)) *
                              3.14159265358979323846264338327950288L * 0x1p-31L;
    const long double radius = std::sqrt(-2 * std::log(u));
    want.push_back(static_cast<float>(radius * std::cos(angle)));
    want.push_back(static_cast<float>(radius * std::sin(angle)));
  }
  expect_same_bits(got, want, "normals");

  // A part, scaled, onto a base.
  std::vector<float> base(64, 2.0F);
  std::vector<float> part(64);
  k.normals(seed, 512, 64, 0.25F, base.data(), part.data());
  for (std::size_t i = 0; i < part.size(); ++i) EXPECT_EQ(part[i], 2.0F + 0.25F * got[512 + i]);
}

TEST_P(Elementary, UniformsAreWordsInTheOpenInterval) {
  std::vector<float> got(256);
  k.uniforms(77, 256, 0.125, got.data());
  for (std::uint64_t i = 0; i < 256; ++i) {
    const double u = (static_cast<double>(mxref::philox_word(77, i)) + 0.5) * 0x1p-32;
    EXPECT_EQ(got[i], static_cast<float>((2 * u - 1) * 0.125));
  }
}

INSTANTIATE_TEST_SUITE_P(, Elementary, testing::Range(0, static_cast<int>(vector_targets().size())),
                         [](const auto& test) {
                           return std::string(
                               vector_targets()[static_cast<std::size_t>(test.param)]->target);
                         });

TEST(Streams, DifferInEveryName) {
  const std::uint64_t s = stream_seed(1, stream::inputs, 2, 3);
  EXPECT_NE(s, stream_seed(2, stream::inputs, 2, 3));
  EXPECT_NE(s, stream_seed(1, stream::noise, 2, 3));
  EXPECT_NE(s, stream_seed(1, stream::inputs, 3, 3));
  EXPECT_NE(s, stream_seed(1, stream::inputs, 2, 4));
  EXPECT_NE(s, stream_seed(1, stream::inputs, (std::uint64_t{1} << 32) + 2, 3));
}

}  // namespace
