// SPDX-License-Identifier: Apache-2.0
// The model of tcgen05 kind::mxf8f6f4 against the description in rational numbers. Rows come in
// categories, each made for one part of the description; wrong descriptions must fail on them.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <sstream>
#include <string>
#include <vector>

#include "dot_cases.hpp"
#include "mxref/gemm.hpp"
#include "mxref/matrix_unit.hpp"

namespace {

using tcgen05 = mxref::accumulate::nvidia_blackwell_tcgen05_mxf8f6f4;
using mxref::index_t;
using sweep::named_format;
using sweep::numbers;
using sweep::random_source;
using sweep::scale_codes;
using sweep::test_operand;
using sweep::test_problem;

enum class category {
  near_floor,    // sums of terms cut off at the floor, with and without C
  zeros,         // zero elements beside huge and tiny scales
  underflow,     // negative sums below 2^-149
  overflow,      // results around 2^128, and products far above it
  large_c,       // C above the products
  small_c,       // C below the products
  one_block,     // few products, so that single bits show
  subnormal_in,  // subnormal elements, whose exponents are not those of their leading bits
  cancel,        // products of every size leave nothing, or a remainder of cut-off parts
  wide,          // exponents far apart; tails and chains of steps
  uniform,       // any code, scales near one
  subnormal,     // results below 2^-126
  specials,      // NaN, Inf, Inf times zero, NaN scales, NaN and Inf in C
};
constexpr std::array all_categories{
    category::near_floor, category::zeros,   category::underflow, category::overflow,
    category::large_c,    category::small_c, category::one_block, category::subnormal_in,
    category::cancel,     category::wide,    category::uniform,   category::subnormal,
    category::specials};
constexpr std::array category_names{
    "NearFloor",         "Zeros",  "Underflow", "Overflow", "LargeC",    "SmallC",  "OneBlock",
    "SubnormalElements", "Cancel", "Wide",      "Uniform",  "Subnormal", "Specials"};

std::uint32_t binary32_code(int exponent, random_source& random) {
  const float x =
      std::ldexp(1.0F + static_cast<float>(random.below(1U << 23)) * 0x1p-23F, exponent);
  return std::bit_cast<std::uint32_t>(random.one_in(2) ? x : -x);
}

// Exponent of the largest product with both scales one.
int top_exponent(const test_problem& p) {
  return std::ilogb(p.a.format().table().largest) + std::ilogb(p.b.format().table().largest);
}

void set_scales(test_operand& x, int code) {
  for (index_t b = 0; b < x.scale_count(); ++b) {
    x.scale(0, b) = static_cast<std::uint8_t>(std::min(254, std::max(0, code)));
  }
}
// Both scales, so that the largest product has about this exponent.
void move_products_to(test_problem& p, int exponent, random_source& random) {
  const int sum = exponent - top_exponent(p) + 2 * 127;
  const int first = sum / 2 + random.between(-5, 5);
  set_scales(p.a, first);
  set_scales(p.b, sum - first);
}
void set_c(test_problem& p, std::uint32_t code) {
  p.c = test_operand(sweep::f32, 1, 1);
  p.c->code(0, 0) = code;
}

test_problem draw_row(const named_format& fa, const named_format& fb, category kind,
                      random_source& random) {
  constexpr std::array<index_t, 8> depths{32, 32, 32, 64, 17, 33, 80, 96};
  test_problem p;
  index_t depth = depths[random.below(depths.size())];
  if (kind == category::one_block) depth = 1 + random.below(4);
  if (kind == category::near_floor || kind == category::underflow) depth = 32;
  p.a = test_operand(fa, 1, depth);
  p.b = test_operand(fb, 1, depth);
  numbers values = numbers::finite;
  if (kind == category::uniform) values = numbers::any_code;
  if (kind == category::cancel) values = numbers::cancelling;
  if (kind == category::zeros) values = numbers::sparse;
  if (kind == category::specials) values = numbers::specials;
  p.a.fill(values, random);
  p.b.fill(values, random);
  p.a.add_scales(sweep::e8m0, 32, scale_codes::close, random);
  p.b.add_scales(sweep::e8m0, 32, scale_codes::close, random);
  switch (kind) {
    case category::uniform:
      if (random.one_in(2)) set_c(p, binary32_code(random.between(-20, 20), random));
      break;
    case category::one_block:
      set_c(p, binary32_code(random.between(-15, 30), random));
      break;
    case category::cancel:
      p.cancel(random);
      if (random.one_in(2)) set_c(p, binary32_code(random.between(-15, 15), random));
      if (random.one_in(3)) move_products_to(p, random.between(-260, 260), random);
      break;
    case category::wide:
      p.a.add_scales(sweep::e8m0, 32, scale_codes::any, random);
      p.b.add_scales(sweep::e8m0, 32, scale_codes::any, random);
      if (random.one_in(2)) set_c(p, random.word());
      break;
    case category::large_c:
      set_c(p, binary32_code(top_exponent(p) + random.between(0, 30), random));
      break;
    case category::small_c:
      set_c(p, binary32_code(top_exponent(p) - random.between(0, 40), random));
      break;
    case category::near_floor:
      move_products_to(p, random.between(-152, -138), random);
      if (random.one_in(2)) set_c(p, random.below(32) | (random.one_in(2) ? 0x80000000U : 0));
      break;
    case category::subnormal:
      move_products_to(p, random.between(-140, -120), random);
      if (random.one_in(2)) set_c(p, random.below(1U << 24));
      break;
    case category::underflow:
      move_products_to(p, random.between(-170, -150), random);
      break;
    case category::overflow:
      move_products_to(p, random.between(122, 132), random);
      if (random.one_in(4)) move_products_to(p, 200, random);
      if (random.one_in(2)) set_c(p, binary32_code(random.between(120, 127), random));
      break;
    case category::zeros:
      p.a.add_scales(sweep::e8m0, 32, scale_codes::ends, random);
      p.b.add_scales(sweep::e8m0, 32, scale_codes::ends, random);
      set_c(p, random.one_in(4) ? random.below(2) << 31
                                : binary32_code(random.between(-140, 100), random));
      break;
    case category::subnormal_in:
      // The lowest codes of A, the highest of B: exponents of subnormals decide the alignment.
      for (index_t k = 0; k < depth; ++k) {
        const oracle::format& f = fa.table();
        const std::uint32_t normal = 1U << fa.desc.man_bits;
        p.a.code(0, k) = f.signed_code(random.below(normal), random.one_in(2));
      }
      if (random.one_in(2)) set_c(p, binary32_code(random.between(-10, 10), random));
      break;
    case category::specials:
      if (random.one_in(8)) p.a.scale(0, 0) = 0xFF;
      if (random.one_in(8)) p.b.scale(0, 0) = 0xFF;
      if (random.one_in(3)) {
        constexpr std::array<std::uint32_t, 5> codes{0x7F800000, 0xFF800000, 0x7FC00000, 0x80000000,
                                                     0x3F800000};
        set_c(p, codes[random.below(5)]);
      }
      break;
  }
  // A side without scales has scale one.
  if (kind != category::specials && random.one_in(16)) {
    test_operand plain(fa, 1, depth);
    for (index_t k = 0; k < depth; ++k) plain.code(0, k) = p.a.code(0, k);
    p.a = plain;
  }
  return p;
}

std::uint32_t model(test_problem& p, random_source& random) {
  p.lay_out(random);
  sweep::test_output d(sweep::f32, 1, 1);
  EXPECT_TRUE(gemm(p.a.view(), p.b.view(), d.view(), tcgen05{}, p.options()).ok());
  return d.code(0, 0);
}

std::string describe(const test_problem& p) {
  std::ostringstream text;
  text << p.a.format().table().name << " x " << p.b.format().table().name << ", K " << p.a.depth();
  return text.str();
}

// A description with one thing wrong.
struct mutant {
  const char* name;
  oracle::fused_sum unit;
};
std::vector<mutant> mutants() {
  std::vector<mutant> list;
  const auto add = [&list](const char* name, auto change) {
    mutant m{name, {}};
    change(m.unit);
    list.push_back(m);
  };
  using unit = oracle::fused_sum;
  add("F = 24", [](unit& u) { u.fraction_bits = 24; });
  add("F = 26", [](unit& u) { u.fraction_bits = 26; });
  add("floor -132", [](unit& u) { u.exponent_floor = -132; });
  add("floor -134", [](unit& u) { u.exponent_floor = -134; });
  add("no floor", [](unit& u) { u.exponent_floor.reset(); });
  add("terms to nearest", [](unit& u) { u.truncates_terms = false; });
  add("output to nearest", [](unit& u) { u.truncates_output = false; });
  add("products normalised", [](unit& u) { u.normalizes_products = true; });
  add("subnormal elements normalised", [](unit& u) { u.normalizes_subnormals = true; });
  add("zero products align", [](unit& u) { u.zero_products_align = true; });
  add("underflow loses the sign", [](unit& u) { u.keeps_negative_underflow = false; });
  add("overflow to the largest", [](unit& u) { u.overflows_to_largest = true; });
  return list;
}

constexpr int rows_per_pair = 30;
constexpr std::uint64_t row_seed(category kind) { return 100 + static_cast<std::uint64_t>(kind); }

class Tcgen05Rows : public testing::TestWithParam<category> {};

// All 25 pairs of formats.
TEST_P(Tcgen05Rows, EqualTheDescription) {
  random_source random(row_seed(GetParam()));
  for (const named_format& fa : sweep::f8f6f4_elements) {
    for (const named_format& fb : sweep::f8f6f4_elements) {
      for (int row = 0; row < rows_per_pair; ++row) {
        test_problem p = draw_row(fa, fb, GetParam(), random);
        const std::uint32_t got = model(p, random);
        const std::uint32_t want =
            oracle::dot(p.element(0, 0), oracle::fused_sum{}, sweep::f32.table());
        ASSERT_EQ(got, want) << describe(p) << ", row " << row << std::hex << ": 0x" << got
                             << ", expected 0x" << want;
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Categories, Tcgen05Rows, testing::ValuesIn(all_categories),
                         [](const auto& test) {
                           return category_names[static_cast<std::size_t>(test.param)];
                         });

// T23: products 256 and 2^-6. A window of 13 bits, as of older units, loses the small one.
TEST(Tcgen05, WindowOfTwentyFiveBits) {
  test_problem p;
  p.a = test_operand(sweep::e5m2, 1, 2);
  p.b = test_operand(sweep::e5m2, 1, 2);
  random_source random(1);
  const auto e5m2 = [](float x) { return std::uint32_t{mxref::encode<mxref::E5M2>(x).code}; };
  p.a.code(0, 0) = p.b.code(0, 0) = e5m2(16.0F);
  p.a.code(0, 1) = p.b.code(0, 1) = e5m2(0.125F);
  oracle::fused_sum older;
  older.fraction_bits = 13;
  const auto bits = [](float x) { return std::bit_cast<std::uint32_t>(x); };
  EXPECT_EQ(oracle::dot(p.element(0, 0), older, sweep::f32.table()), bits(256.0F));
  EXPECT_EQ(oracle::dot(p.element(0, 0), {}, sweep::f32.table()), bits(256.015625F));
  EXPECT_EQ(model(p, random), bits(256.015625F));
}

// The lowest kept bit is 2^-25 of the largest exponent, 2^-17 beside 256: four of them make one
// unit in the last place of the result, and eight of half the size are nothing.
TEST(Tcgen05, CutOffBitsAreGone) {
  const auto run = [](int count, int exponent) {
    test_problem p;
    p.a = test_operand(sweep::e5m2, 1, 32);
    p.b = test_operand(sweep::e5m2, 1, 32);
    random_source random(2);
    p.a.code(0, 0) = p.b.code(0, 0) = mxref::encode<mxref::E5M2>(16.0F).code;
    for (index_t k = 1; k <= count; ++k) {
      p.a.code(0, k) = mxref::encode<mxref::E5M2>(std::ldexp(1.0F, exponent + 4)).code;
      p.b.code(0, k) = mxref::encode<mxref::E5M2>(0x1p-4F).code;
    }
    return std::bit_cast<float>(model(p, random));
  };
  EXPECT_EQ(run(4, -17), 0x1.000002p8F);
  EXPECT_EQ(run(3, -17), 256.0F);
  EXPECT_EQ(run(31, -18), 256.0F);
}

// The rows above can tell: with one thing wrong the description differs from the model.
TEST(Tcgen05Mutants, AreAllFound) {
  constexpr int enough = 6;
  const std::vector<mutant> wrong = mutants();
  std::vector<int> differences(wrong.size(), 0);
  for (const category kind : all_categories) {
    random_source random(row_seed(kind));
    for (const named_format& fa : sweep::f8f6f4_elements) {
      for (const named_format& fb : sweep::f8f6f4_elements) {
        if (std::count(differences.begin(), differences.end(), enough) ==
            static_cast<std::ptrdiff_t>(wrong.size())) {
          return;
        }
        for (int row = 0; row < rows_per_pair; ++row) {
          test_problem p = draw_row(fa, fb, kind, random);
          const std::uint32_t got = model(p, random);
          const oracle::dot_problem element = p.element(0, 0);
          for (std::size_t i = 0; i < wrong.size(); ++i) {
            if (differences[i] == enough) continue;
            if (oracle::dot(element, wrong[i].unit, sweep::f32.table()) != got) ++differences[i];
          }
        }
      }
    }
  }
  for (std::size_t i = 0; i < wrong.size(); ++i) {
    EXPECT_EQ(differences[i], enough) << wrong[i].name << " is hard to tell from the model";
  }
}

}  // namespace
