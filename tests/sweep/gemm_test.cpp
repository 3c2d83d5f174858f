// SPDX-License-Identifier: Apache-2.0
// gemm against the oracle: every accumulation policy, pair of formats, scaling, shape and layout.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <sstream>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "dot_cases.hpp"
#include "mxref/gemm.hpp"
#include "mxref/matrix.hpp"
#include "mxref/quantize.hpp"

namespace {

namespace accumulate = mxref::accumulate;
using accumulate::block_exact_fp32;
using accumulate::block_fused_fp32;
using accumulate::exact;
using accumulate::fp32_chain;
using tcgen05 = accumulate::nvidia_blackwell_tcgen05_mxf8f6f4;
using mxref::errc;
using mxref::index_t;
using sweep::named_format;
using sweep::numbers;
using sweep::random_source;
using sweep::scale_codes;
using sweep::test_operand;
using sweep::test_output;
using sweep::test_problem;

// Runs gemm and compares every element and every byte around them.
template <class P>
void expect_oracle(test_problem& p, random_source& random) {
  p.lay_out(random);
  const index_t gap = random.between(0, 3);
  test_output d(p.out, p.a.rows(), p.b.rows(), gap);
  const mxref::status st = gemm(p.a.view(), p.b.view(), d.view(), P{}, p.options());
  ASSERT_TRUE(st.ok()) << P::name << ": " << message(st) << '\n' << p.text;
  std::ptrdiff_t written = 0;
  for (index_t m = 0; m < p.a.rows(); ++m) {
    for (index_t n = 0; n < p.b.rows(); ++n) {
      const std::uint32_t got = d.code(m, n);
      const std::uint32_t want = sweep::oracle_policy<P>::dot(p.element(m, n), p.out.table());
      ASSERT_EQ(got, want) << P::name << ", D[" << m << "][" << n << "] = 0x" << std::hex << got
                           << ", expected 0x" << want << std::dec << '\n'
                           << p.text;
      for (index_t i = 0; i < mxref::container_bytes(p.out.desc); ++i) {
        if ((got >> (8 * i) & 0xFFU) != test_output::untouched) ++written;
      }
    }
  }
  ASSERT_EQ(d.untouched_bytes(), static_cast<std::ptrdiff_t>(d.size()) - written)
      << "bytes outside D changed\n"
      << p.text;
}

enum class scaled_sides { both, first, second, none };
constexpr std::array all_scaled_sides{scaled_sides::both, scaled_sides::first, scaled_sides::second,
                                      scaled_sides::none};

struct shape {
  index_t rows;
  index_t cols;
  index_t depth;
};

test_problem draw_problem(const named_format& fa, const named_format& fb, const shape& s,
                          scaled_sides sides, int block, numbers kind, scale_codes scales,
                          random_source& random) {
  test_problem p;
  p.a = test_operand(fa, s.rows, s.depth);
  p.b = test_operand(fb, s.cols, s.depth);
  p.a.fill(kind, random);
  p.b.fill(kind, random);
  if (kind == numbers::cancelling) p.cancel(random);
  if (sides == scaled_sides::both || sides == scaled_sides::first) {
    p.a.add_scales(sweep::e8m0, block, scales, random);
  }
  if (sides == scaled_sides::both || sides == scaled_sides::second) {
    p.b.add_scales(sweep::e8m0, block, scales, random);
  }
  if (sides == scaled_sides::none) p.unscaled_block = block;
  if (random.one_in(2)) {
    constexpr std::array c_formats{sweep::f32, sweep::f16, sweep::bf16, sweep::e5m2};
    p.c = test_operand(c_formats[random.below(4)], s.rows, s.cols);
    p.c->fill(random.one_in(2) ? numbers::near_one : kind, random);
  }
  std::ostringstream text;
  text << fa.table().name << " x " << fb.table().name << ", " << s.rows << " x " << s.cols << " x "
       << s.depth << ", block " << block << ", scaled " << p.a.scaled() << p.b.scaled() << ", "
       << name(kind) << ", " << name(scales) << ", C "
       << (p.c ? p.c->format().table().name : std::string("none"));
  p.text = text.str();
  return p;
}

shape draw_shape(random_source& random) {
  constexpr std::array<index_t, 14> depths{1, 2, 5, 8, 16, 31, 32, 33, 40, 63, 64, 65, 70, 97};
  return {random.between(1, 3), random.between(1, 3), depths[random.below(depths.size())]};
}

template <class P>
class GemmSweep : public testing::Test {};
using mathematical_policies = testing::Types<exact, block_exact_fp32, block_fused_fp32, fp32_chain>;
TYPED_TEST_SUITE(GemmSweep, mathematical_policies, sweep::policy_names);

// The six MX types and the four wide ones, each with each.
TYPED_TEST(GemmSweep, EveryPairOfFormats) {
  random_source random(21);
  constexpr std::array outputs{sweep::f32, sweep::f16, sweep::bf16};
  for (const named_format& fa : sweep::all_elements) {
    for (const named_format& fb : sweep::all_elements) {
      for (const scaled_sides sides : all_scaled_sides) {
        for (const numbers kind : sweep::all_numbers) {
          const auto scales = sweep::all_scale_codes[random.below(5)];
          const int block = random.one_in(3) ? 8 : 32;
          test_problem p =
              draw_problem(fa, fb, draw_shape(random), sides, block, kind, scales, random);
          if (std::is_same_v<TypeParam, exact>) p.out = outputs[random.below(3)];
          expect_oracle<TypeParam>(p, random);
          if (this->HasFatalFailure()) return;
        }
      }
    }
  }
}

// Scales that move sums far beyond binary32 and below it, and back.
TYPED_TEST(GemmSweep, ScalesAtTheEndsOfTheirRange) {
  random_source random(22);
  for (int round = 0; round < 400; ++round) {
    const named_format fa = sweep::all_elements[random.below(10)];
    const named_format fb = sweep::all_elements[random.below(10)];
    for (const scale_codes scales : {scale_codes::any, scale_codes::ends}) {
      test_problem p =
          draw_problem(fa, fb, draw_shape(random), scaled_sides::both, 4,
                       round % 2 == 0 ? numbers::near_one : numbers::cancelling, scales, random);
      expect_oracle<TypeParam>(p, random);
      if (this->HasFatalFailure()) return;
    }
  }
}

// Unsigned E4M3 scales of NVFP4: significands other than one, zeros and subnormals.
TYPED_TEST(GemmSweep, UnsignedE4M3Scales) {
  random_source random(23);
  for (int round = 0; round < 300; ++round) {
    const named_format fa = sweep::all_elements[random.below(10)];
    const named_format fb = round % 2 == 0 ? sweep::e2m1 : sweep::all_elements[random.below(10)];
    const numbers kind = sweep::all_numbers[random.below(7)];
    test_problem p = draw_problem(fa, fb, draw_shape(random), scaled_sides::none, 16, kind,
                                  scale_codes::one, random);
    const auto scales = sweep::all_scale_codes[random.below(5)];
    p.a.add_scales(round % 5 == 0 ? sweep::e8m0 : sweep::ue4m3, 16, scales, random);
    if (round % 3 != 0) p.b.add_scales(sweep::ue4m3, 16, scales, random);
    p.text += ", UE4M3 scales";
    expect_oracle<TypeParam>(p, random);
    if (this->HasFatalFailure()) return;
  }
}

// Blocks of one, odd blocks, blocks longer than K.
TYPED_TEST(GemmSweep, EveryBlockLength) {
  random_source random(24);
  for (const int block : {1, 2, 3, 5, 7, 16, 31, 33, 64, 1000}) {
    for (const index_t depth : {1, 2, 3, 6, 31, 32, 33, 66}) {
      for (const scaled_sides sides : all_scaled_sides) {
        test_problem p = draw_problem(sweep::e5m2, sweep::e3m2, {2, 2, depth}, sides, block,
                                      numbers::finite, scale_codes::close, random);
        expect_oracle<TypeParam>(p, random);
        if (this->HasFatalFailure()) return;
      }
    }
  }
}

// Rounding of block sums: long rows of values whose partial sums need more than 24 bits.
TYPED_TEST(GemmSweep, LongRowsOfWideExponents) {
  random_source random(25);
  for (int round = 0; round < 60; ++round) {
    test_problem p =
        draw_problem(sweep::e5m2, sweep::bf16, {1, 2, 200 + random.between(0, 60)},
                     scaled_sides::first, 32, numbers::finite, scale_codes::close, random);
    for (index_t n = 0; n < 2; ++n) {
      for (index_t k = 0; k < p.b.depth(); ++k) {
        p.b.code(n, k) =
            (p.b.code(n, k) & 0x807FU) | static_cast<std::uint32_t>(random.between(110, 140)) << 7;
      }
    }
    expect_oracle<TypeParam>(p, random);
    if (this->HasFatalFailure()) return;
  }
}

// Every policy, tcgen05 too.
template <class P>
class Gemm : public testing::Test {};
using all_policies = testing::Types<exact, block_exact_fp32, block_fused_fp32, fp32_chain, tcgen05>;
TYPED_TEST_SUITE(Gemm, all_policies, sweep::policy_names);

// The formats that every policy takes.
test_problem draw_f8f6f4(const shape& s, numbers kind, scale_codes scales, random_source& random) {
  return draw_problem(sweep::f8f6f4_elements[random.below(5)],
                      sweep::f8f6f4_elements[random.below(5)], s, all_scaled_sides[random.below(4)],
                      32, kind, scales, random);
}

TYPED_TEST(Gemm, RandomProblems) {
  random_source random(30);
  for (const numbers kind : sweep::all_numbers) {
    for (const scale_codes scales : sweep::all_scale_codes) {
      for (int round = 0; round < 15; ++round) {
        test_problem p = draw_f8f6f4(draw_shape(random), kind, scales, random);
        expect_oracle<TypeParam>(p, random);
        if (this->HasFatalFailure()) return;
      }
    }
  }
}

TYPED_TEST(Gemm, EmptyShapes) {
  random_source random(31);
  for (const shape& s : {shape{0, 0, 0}, shape{0, 3, 40}, shape{3, 0, 40}, shape{2, 3, 0}}) {
    for (int round = 0; round < 20; ++round) {
      test_problem p = draw_f8f6f4(s, numbers::finite, scale_codes::close, random);
      if (round % 2 == 0) p.scaling = {2.0F, -3.0F};
      expect_oracle<TypeParam>(p, random);
      if (this->HasFatalFailure()) return;
    }
  }
}

// Every special value of C reaches D when there are no products; the NaN is the library's own.
TYPED_TEST(Gemm, WithoutProductsDIsC) {
  test_problem p;
  p.a = test_operand(sweep::e4m3, 1, 0);
  p.b = test_operand(sweep::e4m3, 1, 0);
  p.c = test_operand(sweep::f32, 1, 1);
  random_source random(32);
  for (const auto& [c, d] : {std::pair{0x3F800000U, 0x3F800000U},
                             {0x00000001U, 0x00000001U},
                             {0x7F800000U, 0x7F800000U},
                             {0xFF800000U, 0xFF800000U},
                             {0xFF800001U, 0x7FC00000U},
                             {0x00000000U, 0x00000000U},
                             {0x80000000U, std::is_same_v<TypeParam, exact> ? 0U : 0x80000000U}}) {
    p.c->code(0, 0) = c;
    p.lay_out(random);
    test_output out(sweep::f32, 1, 1);
    ASSERT_TRUE(gemm(p.a.view(), p.b.view(), out.view(), TypeParam{}, p.options()).ok());
    EXPECT_EQ(out.code(0, 0), d) << std::hex << c;
  }
}

// A product has no order: (A, B) and (B, A) give transposed results.
TYPED_TEST(Gemm, OperandsMayBeSwapped) {
  random_source random(33);
  for (int round = 0; round < 200; ++round) {
    test_problem p = draw_f8f6f4(draw_shape(random), sweep::all_numbers[random.below(7)],
                                 sweep::all_scale_codes[random.below(5)], random);
    p.c.reset();
    p.lay_out(random);
    test_output d(sweep::f32, p.a.rows(), p.b.rows());
    test_output t(sweep::f32, p.b.rows(), p.a.rows());
    ASSERT_TRUE(gemm(p.a.view(), p.b.view(), d.view(), TypeParam{}, p.options()).ok());
    ASSERT_TRUE(gemm(p.b.view(), p.a.view(), t.view(), TypeParam{}, p.options()).ok());
    for (index_t m = 0; m < p.a.rows(); ++m) {
      for (index_t n = 0; n < p.b.rows(); ++n) ASSERT_EQ(d.code(m, n), t.code(n, m)) << p.text;
    }
  }
}

// One special value at each place of each input, among ones: the class of the result follows
// IEEE 754 7.2, and is the same at every place.
TYPED_TEST(Gemm, OneSpecialValueAnywhere) {
  random_source random(34);
  constexpr index_t depth = 70;
  const auto run = [&random](test_problem& p) {
    expect_oracle<TypeParam>(p, random);
    test_output d(sweep::f32, 1, 1);
    EXPECT_TRUE(gemm(p.a.view(), p.b.view(), d.view(), TypeParam{}, p.options()).ok());
    return std::bit_cast<float>(d.code(0, 0));
  };
  for (index_t place = 0; place < depth; ++place) {
    test_problem ones;
    ones.a = test_operand(sweep::e5m2, 1, depth);
    ones.b = test_operand(sweep::e5m2, 1, depth);
    ones.a.add_scales(sweep::e8m0, 32, scale_codes::one, random);
    ones.b.add_scales(sweep::e8m0, 32, scale_codes::one, random);
    ones.c = test_operand(sweep::f32, 1, 1);
    for (index_t k = 0; k < depth; ++k) ones.a.code(0, k) = ones.b.code(0, k) = 0x3C;
    for (const bool second : {false, true}) {
      test_problem p = ones;
      test_operand& x = second ? p.b : p.a;
      test_operand& y = second ? p.a : p.b;
      x.code(0, place) = 0x7E;  // a NaN
      EXPECT_TRUE(std::isnan(run(p)));
      x.code(0, place) = 0x7C;
      EXPECT_EQ(run(p), std::numeric_limits<float>::infinity());
      y.code(0, place) = 0xBC;
      EXPECT_EQ(run(p), -std::numeric_limits<float>::infinity());
      p.c->code(0, 0) = 0x7F800000;
      EXPECT_TRUE(std::isnan(run(p))) << "Inf - Inf";
      p.c->code(0, 0) = 0;
      y.code(0, place) = 0x80;
      EXPECT_TRUE(std::isnan(run(p))) << "Inf * -0";
      y.code(0, place) = 0xFC;
      EXPECT_EQ(run(p), -std::numeric_limits<float>::infinity()) << "Inf * -Inf";
      x.code(0, (place + 1) % depth) = 0x7C;
      EXPECT_TRUE(std::isnan(run(p))) << "-Inf + Inf";
      p = ones;
      (second ? p.b : p.a).scale(0, place / 32) = 0xFF;
      for (index_t k = 0; k < depth; ++k) (second ? p.b : p.a).code(0, k) = 0;
      EXPECT_TRUE(std::isnan(run(p))) << "a NaN scale makes NaN of zeros";
      if (this->HasFatalFailure()) return;
    }
  }
}

// A NaN scale belongs to its own block of its own row.
TYPED_TEST(Gemm, NanScaleStaysInItsRow) {
  random_source random(35);
  test_problem p = draw_problem(sweep::e4m3, sweep::e2m1, {3, 3, 96}, scaled_sides::both, 32,
                                numbers::near_one, scale_codes::one, random);
  p.c.reset();
  p.a.scale(1, 2) = 0xFF;
  expect_oracle<TypeParam>(p, random);
  test_output d(sweep::f32, 3, 3);
  ASSERT_TRUE(gemm(p.a.view(), p.b.view(), d.view(), TypeParam{}, p.options()).ok());
  for (index_t m = 0; m < 3; ++m) {
    for (index_t n = 0; n < 3; ++n) {
      EXPECT_EQ(std::isnan(std::bit_cast<float>(d.code(m, n))), m == 1) << m << ' ' << n;
    }
  }
}

TYPED_TEST(Gemm, Epilogue) {
  random_source random(36);
  constexpr std::array outputs{sweep::f32, sweep::f16, sweep::bf16};
  const std::vector<float> factors{0.0F,
                                   -0.0F,
                                   1.0F,
                                   -1.0F,
                                   3.0F,
                                   0.1F,
                                   -7.3F,
                                   0x1p-140F,
                                   0x1p-126F,
                                   0x1.FFFFFEp127F,
                                   std::numeric_limits<float>::infinity(),
                                   std::numeric_limits<float>::quiet_NaN()};
  for (int round = 0; round < 900; ++round) {
    const numbers kind = round % 3 == 0 ? sweep::all_numbers[random.below(7)] : numbers::near_one;
    test_problem p = draw_f8f6f4({1, 2, random.between(1, 40)}, kind,
                                 round % 4 == 0 ? scale_codes::any : scale_codes::close, random);
    const auto factor = [&factors, &random] {
      if (random.one_in(2)) return random.of(factors);
      return std::bit_cast<float>(0x3F000000U + random.below(0x01000000U));
    };
    p.scaling = {factor(), factor()};
    p.out = outputs[random.below(3)];
    std::ostringstream text;
    text << p.text << ", alpha " << std::hexfloat << p.scaling->alpha << ", beta "
         << p.scaling->beta;
    p.text = text.str();
    expect_oracle<TypeParam>(p, random);
    if (this->HasFatalFailure()) return;
  }
}

// T17 of the public faults: sums of ones count their terms, whatever the depth.
TYPED_TEST(Gemm, SumsOfOnesCountTheirTerms) {
  random_source random(37);
  for (const index_t depth : {288, 1024, 1056, 1152, 1280, 1312, 2048, 2176}) {
    test_problem p;
    p.a = test_operand(sweep::e2m1, 3, depth);
    p.b = test_operand(sweep::e2m1, 2, depth);
    for (test_operand* x : {&p.a, &p.b}) {
      for (index_t row = 0; row < x->rows(); ++row) {
        for (index_t k = 0; k < depth; ++k) x->code(row, k) = 2;
      }
      x->add_scales(sweep::e8m0, 32, scale_codes::one, random);
    }
    for (const sweep::storage how : {sweep::storage::compact, sweep::storage::dense}) {
      p.a.lay_out(how, random);
      p.b.lay_out(how, random);
      test_output d(sweep::f32, 3, 2);
      ASSERT_TRUE(gemm(p.a.view(), p.b.view(), d.view(), TypeParam{}).ok());
      for (index_t m = 0; m < 3; ++m) {
        for (index_t n = 0; n < 2; ++n) {
          ASSERT_EQ(std::bit_cast<float>(d.code(m, n)), static_cast<float>(depth));
        }
      }
    }
  }
}

// T6: scale code 0 is 2^-127, a subnormal of binary32; 0xFF makes NaN whatever the element.
TYPED_TEST(Gemm, ScaleCodesZeroAndNan) {
  random_source random(38);
  test_problem p;
  p.a = test_operand(sweep::e4m3, 1, 1);
  p.b = test_operand(sweep::e4m3, 1, 1);
  p.a.code(0, 0) = p.b.code(0, 0) = 0x38;
  p.a.add_scales(sweep::e8m0, 32, scale_codes::one, random);
  const auto run = [&] {
    p.lay_out(random);
    test_output d(sweep::f32, 1, 1);
    EXPECT_TRUE(gemm(p.a.view(), p.b.view(), d.view(), TypeParam{}).ok());
    return d.code(0, 0);
  };
  p.a.scale(0, 0) = 0;
  EXPECT_EQ(run(), 0x00400000U);
  p.a.scale(0, 0) = 254;
  EXPECT_EQ(run(), 0x7F000000U);
  p.a.scale(0, 0) = 0xFF;
  const std::uint32_t nan = std::is_same_v<TypeParam, tcgen05> ? 0x7FFFFFFF : 0x7FC00000;
  EXPECT_EQ(run(), nan);
  p.a.code(0, 0) = 0;
  EXPECT_EQ(run(), nan);
}

// Exactly zero results. C = -0 survives where an IEEE addition is last, and only there.
TYPED_TEST(Gemm, ZeroSigns) {
  random_source random(39);
  const auto run = [&random](std::uint32_t a, std::uint32_t b, std::uint32_t c) {
    test_problem p;
    p.a = test_operand(sweep::e4m3, 1, 2);
    p.b = test_operand(sweep::e4m3, 1, 2);
    p.c = test_operand(sweep::f32, 1, 1);
    p.a.code(0, 0) = p.a.code(0, 1) = a;
    p.b.code(0, 0) = p.b.code(0, 1) = b;
    p.c->code(0, 0) = c;
    expect_oracle<TypeParam>(p, random);
    test_output d(sweep::f32, 1, 1);
    EXPECT_TRUE(gemm(p.a.view(), p.b.view(), d.view(), TypeParam{}, p.options()).ok());
    return d.code(0, 0);
  };
  constexpr std::uint32_t minus0 = 0x80000000;
  const bool ieee = std::is_same_v<TypeParam, fp32_chain>;
  EXPECT_EQ(run(0x80, 0x38, minus0), ieee ? minus0 : 0) << "-0 * 1 + -0";
  EXPECT_EQ(run(0x00, 0x38, minus0), 0U) << "+0 * 1 + -0";
  EXPECT_EQ(run(0x80, 0x38, 0), 0U) << "-0 * 1 + +0";
  EXPECT_EQ(run(0x38, 0x38, 0xC0000000), 0U) << "1 + 1 - 2";
  EXPECT_EQ(run(0xB8, 0x38, 0x40000000), 0U) << "-1 - 1 + 2";
}

// exact: one rounding, to each output format, from sums that are ties or next to ties.
TEST(GemmExact, RoundsOnceToEveryOutput) {
  random_source random(41);
  const std::vector<named_format> outputs{sweep::f32,  sweep::f16,  sweep::bf16, sweep::tf32,
                                          sweep::e5m2, sweep::e4m3, sweep::e3m2, sweep::e2m3,
                                          sweep::e2m1, sweep::int8};
  for (int round = 0; round < 3000; ++round) {
    const numbers kind = sweep::all_numbers[random.below(7)];
    const bool far = random.one_in(4);
    test_problem p =
        draw_problem(sweep::all_elements[random.below(10)], sweep::all_elements[random.below(10)],
                     {1, 1, random.between(1, 5)}, scaled_sides::both, 1, kind,
                     far ? scale_codes::any : scale_codes::close, random);
    p.out = random.of(outputs);
    p.text += ", output " + p.out.table().name;
    expect_oracle<exact>(p, random);
    if (HasFatalFailure()) return;
  }
}

// 2^24 + 1 is a tie in binary32; any bit far below decides it. A sum in binary32 steps, or a lost
// sticky bit, goes to even.
TEST(GemmExact, ABitFarBelowDecidesATie) {
  using mxref::E5M2;
  for (int low_scale = 0; low_scale <= 253; ++low_scale) {  // 2^-254 to 2^-1
    for (const int sign : {1, -1}) {
      mxref::mx_matrix<E5M2, 1> a(1, 3);
      mxref::mx_matrix<E5M2, 1> b(1, 3);
      for (index_t k = 0; k < 3; ++k) {
        a.set_element(0, k, mxref::encode<E5M2>(1.0F));
        b.set_element(0, k, mxref::encode<E5M2>(1.0F));
        a.set_scale(0, k, mxref::E8M0{127});
        b.set_scale(0, k, mxref::E8M0{127});
      }
      a.set_scale(0, 0, mxref::E8M0{127 + 24});
      a.set_scale(0, 2, mxref::E8M0{static_cast<std::uint8_t>(low_scale)});
      b.set_scale(0, 2, mxref::E8M0{0});
      if (sign < 0) a.set_element(0, 2, mxref::encode<E5M2>(-1.0F));
      float d = 0;
      ASSERT_TRUE(gemm(a, b, mxref::view(&d, 1, 1), exact{}).ok());
      EXPECT_EQ(d, sign > 0 ? 0x1.000002p24F : 0x1p24F) << low_scale;
    }
  }
}

// Elements of a block, and whole blocks with their scales, may be reordered.
TEST(GemmExact, OrderOfKDoesNotMatter) {
  random_source random(42);
  for (int round = 0; round < 300; ++round) {
    test_problem p =
        draw_problem(sweep::all_elements[random.below(10)], sweep::all_elements[random.below(10)],
                     {2, 2, 64}, scaled_sides::both, 8, sweep::all_numbers[random.below(7)],
                     sweep::all_scale_codes[random.below(5)], random);
    test_problem q = p;
    std::array<index_t, 64> order{};
    for (index_t k = 0; k < 64; ++k) order[static_cast<std::size_t>(k)] = k;
    for (index_t i = 7; i > 0; --i) {  // whole blocks
      const index_t j = random.between(0, static_cast<int>(i));
      std::swap_ranges(order.begin() + 8 * i, order.begin() + 8 * i + 8, order.begin() + 8 * j);
    }
    for (index_t k = 0; k < 64; ++k) {  // within a block
      const index_t other = k / 8 * 8 + random.between(0, 7);
      std::swap(order[static_cast<std::size_t>(k)], order[static_cast<std::size_t>(other)]);
    }
    for (auto [from, to] : {std::pair{&p.a, &q.a}, {&p.b, &q.b}}) {
      for (index_t row = 0; row < 2; ++row) {
        for (index_t k = 0; k < 64; ++k) {
          const index_t source = order[static_cast<std::size_t>(k)];
          to->code(row, k) = from->code(row, source);
          to->scale(row, k / 8) = from->scale(row, source / 8);
        }
      }
    }
    p.lay_out(random);
    q.lay_out(random);
    test_output d(sweep::f32, 2, 2);
    test_output e(sweep::f32, 2, 2);
    ASSERT_TRUE(gemm(p.a.view(), p.b.view(), d.view(), exact{}, p.options()).ok());
    ASSERT_TRUE(gemm(q.a.view(), q.b.view(), e.view(), exact{}, q.options()).ok());
    for (index_t m = 0; m < 2; ++m) {
      for (index_t n = 0; n < 2; ++n) ASSERT_EQ(d.code(m, n), e.code(m, n)) << p.text;
    }
  }
}

// D may be C.
TYPED_TEST(Gemm, AccumulatesInPlace) {
  random_source random(40);
  test_problem p = draw_problem(sweep::e4m3, sweep::e2m1, {3, 2, 70}, scaled_sides::both, 32,
                                numbers::near_one, scale_codes::close, random);
  p.c = test_operand(sweep::f32, 3, 2);
  p.c->fill(numbers::near_one, random);
  p.lay_out(random);
  test_output d(sweep::f32, 3, 2);
  ASSERT_TRUE(gemm(p.a.view(), p.b.view(), d.view(), TypeParam{}, p.options()).ok());
  std::array<float, 6> in_place{};
  for (index_t m = 0; m < 3; ++m) {
    for (index_t n = 0; n < 2; ++n) {
      in_place[static_cast<std::size_t>(2 * m + n)] = std::bit_cast<float>(p.c->code(m, n));
    }
  }
  mxref::gemm_options options;
  options.c = p.c->view();
  options.c.codes = in_place.data();
  options.c.row_bytes = 2 * sizeof(float);
  options.c.col_bytes = sizeof(float);
  ASSERT_TRUE(
      gemm(p.a.view(), p.b.view(), mxref::view(in_place.data(), 3, 2), TypeParam{}, options).ok());
  for (index_t m = 0; m < 3; ++m) {
    for (index_t n = 0; n < 2; ++n) {
      EXPECT_EQ(std::bit_cast<std::uint32_t>(in_place[static_cast<std::size_t>(2 * m + n)]),
                d.code(m, n));
    }
  }
}

// The views a user has: float and 16-bit elements, transposed and with a row distance.
TEST(GemmExact, WritesToViewsOfElements) {
  const std::array<float, 6> x{1.0F, 2.0F, 3.0F, 4.0F, 5.0F, 6.0F};
  const std::array<float, 4> y{1.0F, 0.5F, -1.0F, 3.0F};
  using block = mxref::mx_block<mxref::E4M3, 32>;
  const auto a = mxref::quantize<block>(mxref::view(x.data(), 3, 2));
  const auto b = mxref::quantize<block>(mxref::view(y.data(), 2, 2));
  const std::array<float, 6> product{2.0F, 5.0F, 5.0F, 9.0F, 8.0F, 13.0F};  // 3 x 2
  std::array<float, 8> d{};
  d.fill(-7.0F);
  ASSERT_TRUE(gemm(a, b, transposed(mxref::view(d.data(), 2, 3, 4)), exact{}).ok());
  for (std::size_t m = 0; m < 3; ++m) {
    for (std::size_t n = 0; n < 2; ++n) EXPECT_EQ(d[n * 4 + m], product[m * 2 + n]);
  }
  EXPECT_EQ(d[3], -7.0F);
  EXPECT_EQ(d[7], -7.0F);
  std::array<mxref::bfloat16, 6> e{};
  ASSERT_TRUE(gemm(a, b, mxref::view(e.data(), 3, 2), exact{}).ok());
  std::array<mxref::binary16, 6> f{};
  ASSERT_TRUE(gemm(a, b, mxref::view(f.data(), 3, 2), exact{}).ok());
  for (std::size_t i = 0; i < 6; ++i) {
    EXPECT_EQ(mxref::decode(e[i]), product[i]);
    EXPECT_EQ(mxref::decode(f[i]), product[i]);
  }
}

// What a refused call may not do: write.
struct refusal {
  const char* what;
  errc want;
  mxref::operand_view a;
  mxref::operand_view b;
  mxref::gemm_options options;
  named_format out = sweep::f32;
  index_t rows = 2;
  index_t cols = 3;
};

template <class P>
void expect_refused(refusal r) {
  test_output d(r.out, r.rows, r.cols);
  EXPECT_EQ(gemm(r.a, r.b, d.view(), P{}, r.options).code, r.want) << P::name << ": " << r.what;
  EXPECT_EQ(d.untouched_bytes(), static_cast<std::ptrdiff_t>(d.size()))
      << P::name << ": " << r.what << " wrote to D";
}

TYPED_TEST(Gemm, RefusalsLeaveDUntouched) {
  random_source random(51);
  test_problem p = draw_problem(sweep::e4m3, sweep::e2m1, {2, 3, 40}, scaled_sides::both, 32,
                                numbers::near_one, scale_codes::one, random);
  p.c = test_operand(sweep::f32, 2, 3);
  p.lay_out(random);
  const refusal fine{"nothing wrong", errc::ok, p.a.view(), p.b.view(), p.options()};
  {
    test_output d(sweep::f32, 2, 3);
    ASSERT_TRUE(gemm(fine.a, fine.b, d.view(), TypeParam{}, fine.options).ok());
    ASSERT_NE(d.untouched_bytes(), static_cast<std::ptrdiff_t>(d.size()));
  }
  const auto refused = [&fine](const char* what, errc want, auto change) {
    refusal r = fine;
    r.what = what;
    r.want = want;
    change(r);
    expect_refused<TypeParam>(r);
  };
  const auto shape = errc::shape_mismatch;
  refused("depths differ", shape, [](refusal& r) { r.a.depth = 39; });
  refused("negative depth", shape, [](refusal& r) { r.a.depth = r.b.depth = -1; });
  refused("negative rows of A", shape, [](refusal& r) { r.a.rows = -2; });
  refused("negative rows of B", shape, [](refusal& r) { r.b.rows = -3; });
  refused("D has more rows", shape, [](refusal& r) { r.rows = 3; });
  refused("D has fewer columns", shape, [](refusal& r) { r.cols = 2; });
  refused("C has fewer rows", shape, [](refusal& r) { r.options.c.rows = 1; });
  refused("C has more columns", shape, [](refusal& r) { r.options.c.depth = 4; });
  const auto block = errc::block_mismatch;
  refused("blocks differ", block, [](refusal& r) { r.b.block = 16; });
  refused("negative block", block, [](refusal& r) { r.a.block = -32; });
  refused("no block for unscaled operands", block, [](refusal& r) { r.options.block = 0; });
  const auto format = errc::unsupported_format;
  const auto invalid = mxref::format_desc{9, 3, 255, mxref::specials::ieee};
  refused("invalid format of A", format, [&](refusal& r) { r.a.format = invalid; });
  refused("invalid format of B", format, [&](refusal& r) { r.b.format = invalid; });
  refused("invalid scale format", format, [&](refusal& r) { r.b.scale_format = invalid; });
  refused("16-bit scales", format, [](refusal& r) { r.a.scale_format = mxref::binary16::desc; });
  refused("invalid format of C", format, [&](refusal& r) { r.options.c.format = invalid; });
  refused("scaled C", format, [](refusal& r) {
    r.options.c.block = 32;
    r.options.c.scale_format = mxref::E8M0::desc;
  });
  if (!std::is_same_v<TypeParam, exact>) {
    refused("output other than binary32", errc::unsupported_output,
            [](refusal& r) { r.out = sweep::bf16; });
  }
  if (std::is_same_v<TypeParam, tcgen05>) {
    refused("INT8", format, [](refusal& r) { r.a.format = mxref::INT8::desc; });
    refused("bfloat16", format, [](refusal& r) { r.b.format = mxref::bfloat16::desc; });
    refused("E4M3 scales", format, [](refusal& r) { r.b.scale_format = mxref::UE4M3::desc; });
    refused("blocks of 16", block, [](refusal& r) { r.a.block = r.b.block = 16; });
    refused("one side, blocks of 16", block, [](refusal& r) {
      r.a.block = 16;
      r.b.block = 0;
    });
  }
}

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#if !defined(__has_feature)
#define MXREF_TEST_ALLOCATION 1
#elif !__has_feature(address_sanitizer) && !__has_feature(thread_sanitizer)
#define MXREF_TEST_ALLOCATION 1
#endif
#endif
#ifdef MXREF_TEST_ALLOCATION
// More elements than there are addresses. (Sanitizers end the program at such a request.)
TYPED_TEST(Gemm, OutOfMemoryLeavesDUntouched) {
  mxref::operand_view a;
  a.format = mxref::E4M3::desc;
  a.rows = 1;
  a.depth = index_t{1} << 58;
  mxref::operand_view b = a;
  expect_refused<TypeParam>({"2^58 elements", errc::out_of_memory, a, b, {}, sweep::f32, 1, 1});
}
#endif

}  // namespace
