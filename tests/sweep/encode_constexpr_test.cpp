// SPDX-License-Identifier: Apache-2.0
// encode and decode as constant expressions: typed results hold there, and constant evaluation and
// run time give the same codes.
#include <gtest/gtest.h>

#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

#include "format_list.hpp"
#include "mxref/element.hpp"
#include "mxref/formats.hpp"
#include "oracle/search.hpp"
#include "policies.hpp"

namespace {

using namespace mxref;

constexpr double inf = std::numeric_limits<double>::infinity();
constexpr double not_a_number = std::numeric_limits<double>::quiet_NaN();

// Short names for the columns below.
constexpr auto rne = rounding_mode::nearest_even;
constexpr auto rna = rounding_mode::nearest_away;
constexpr auto rtz = rounding_mode::toward_zero;
constexpr auto rup = rounding_mode::up;
constexpr auto rdn = rounding_mode::down;
constexpr auto odd = rounding_mode::to_odd;
constexpr auto sat = overflow_mode::saturate;
constexpr auto nosat = overflow_mode::nonsaturating;
constexpr auto full = overflow_mode::saturate_full;

struct fact {
  double input;
  rounding_mode r;
  overflow_mode o;
  std::uint32_t code;
};

constexpr std::array e4m3_facts{
    fact{0.9, rne, sat, 0x36},       fact{0.9, rup, sat, 0x37},
    fact{-0.9, rup, sat, 0xB6},      fact{-0.9, rdn, sat, 0xB7},
    fact{1.0625, rne, sat, 0x38},    fact{1.0625, rna, sat, 0x39},
    fact{1.1875, rne, sat, 0x3A},    fact{1.0625, odd, sat, 0x39},
    fact{1.1875, odd, sat, 0x39},    fact{0x1p-10, rne, sat, 0x00},
    fact{-0x1p-10, rne, sat, 0x80},  fact{0x1p-10, rna, sat, 0x01},
    fact{0x1p-1074, rup, sat, 0x01}, fact{464, rne, nosat, 0x7E},
    fact{464.5, rne, nosat, 0x7F},   fact{-464.5, rne, nosat, 0xFF},
    fact{464, rna, nosat, 0x7F},     fact{464.5, rtz, nosat, 0x7E},
    fact{449, odd, nosat, 0x7F},     fact{449, odd, sat, 0x7E},
    fact{-1e300, rup, nosat, 0xFE},  fact{inf, rtz, nosat, 0x7F},
    fact{-inf, rne, sat, 0xFE},      fact{not_a_number, rne, sat, 0x7F},
    fact{-0.0, rne, sat, 0x80},      fact{0x1.FFFFFFp-7, rne, sat, 0x08}};
constexpr std::array e5m2_facts{fact{9, rne, sat, 0x48},
                                fact{9, rna, sat, 0x49},
                                fact{11, rne, sat, 0x4A},
                                fact{0x1p-17, rne, sat, 0x00},
                                fact{0x1.8p-16, rne, sat, 0x02},
                                fact{61440, rne, sat, 0x7B},
                                fact{61440, rne, nosat, 0x7C},
                                fact{61439, rne, nosat, 0x7B},
                                fact{65535, odd, nosat, 0x7B},
                                fact{65536, odd, nosat, 0x7C},
                                fact{-inf, rup, nosat, 0xFC},
                                fact{inf, rne, sat, 0x7B},
                                fact{not_a_number, rdn, nosat, 0x7F}};
constexpr std::array e3m2_facts{fact{27.9, rtz, sat, 0x1E},    fact{29.9, rne, nosat, 0x1F},
                                fact{1e9, rne, nosat, 0x1F},   fact{-inf, rne, nosat, 0x3F},
                                fact{0.03125, rne, sat, 0x00}, fact{0.09375, rne, sat, 0x02},
                                fact{0.21875, rne, sat, 0x04}, fact{not_a_number, rne, sat, 0x1F}};
constexpr std::array e2m3_facts{fact{0.9375, rne, sat, 0x08},  fact{0.9375, rtz, sat, 0x07},
                                fact{7.25, rne, sat, 0x1E},    fact{7.75, rne, nosat, 0x1F},
                                fact{-0.0625, rne, sat, 0x20}, fact{-0.0625, rdn, sat, 0x21}};
constexpr std::array e2m1_facts{
    fact{-5.3, rtz, sat, 0xE}, fact{0.25, rne, sat, 0x0}, fact{0.75, rne, sat, 0x2},
    fact{1.75, rne, sat, 0x4}, fact{2.5, rne, sat, 0x4},  fact{5, rne, sat, 0x6},
    fact{5, rna, sat, 0x7},    fact{7, rne, nosat, 0x7},  fact{-inf, rne, nosat, 0xF},
    fact{4.5, odd, sat, 0x7},  fact{-0.1, rne, sat, 0x8}, fact{not_a_number, rne, sat, 0x7}};
constexpr std::array int8_facts{fact{1.0, rne, sat, 0x40},
                                fact{-1.0, rne, sat, 0xC0},
                                fact{2, rne, sat, 0x7F},
                                fact{-2, rne, sat, 0x81},
                                fact{-2, rne, full, 0x80},
                                fact{2, rne, full, 0x7F},
                                fact{-127.5 / 64, rne, full, 0x80},
                                fact{-127.5 / 64, rtz, full, 0x81},
                                fact{-127.5 / 64, rne, sat, 0x81},
                                fact{-inf, rne, full, 0x80},
                                fact{0.5 / 64, rne, sat, 0x00},
                                fact{1.5 / 64, rne, sat, 0x02},
                                fact{-0.5 / 64, rna, sat, 0xFF},
                                fact{-0.0, rne, sat, 0x00},
                                fact{not_a_number, rne, full, 0x00},
                                fact{-1e30, rtz, full, 0x80}};
constexpr std::array e8m0_facts{fact{0, rup, sat, 0x00},
                                fact{1, rne, sat, 0x7F},
                                fact{1.5, rne, sat, 0x80},
                                fact{1.5, rtz, sat, 0x7F},
                                fact{0x1p-200, rup, sat, 0x00},
                                fact{0x1p127, rne, sat, 0xFE},
                                fact{0x1.8p127, rne, sat, 0xFE},
                                fact{0x1.8p127, rne, nosat, 0xFF},
                                fact{0x1p500, rtz, nosat, 0xFE},
                                fact{-1, rne, sat, 0xFF},
                                fact{not_a_number, rne, sat, 0xFF},
                                fact{inf, rne, nosat, 0xFF}};
constexpr std::array ue4m3_facts{fact{448, rne, sat, 0x7E},    fact{465, rne, nosat, 0x7F},
                                 fact{-1, rne, sat, 0x7F},     fact{-0.0, rne, sat, 0x00},
                                 fact{0x1p-9, rne, sat, 0x01}, fact{inf, rne, sat, 0x7E}};
constexpr std::array bf16_facts{
    fact{1.00390625, rne, sat, 0x3F80},   fact{1.01171875, rne, sat, 0x3F82},
    fact{0x1.FFp127, rne, nosat, 0x7F80}, fact{0x1.FEFFFFp127, rne, nosat, 0x7F7F},
    fact{0x1p-134, rne, sat, 0x0000},     fact{0x1.8p-133, rne, sat, 0x0002},
    fact{not_a_number, rne, sat, 0x7FC0}};
constexpr std::array f16_facts{
    fact{65520, rne, nosat, 0x7C00},        fact{65519.9, rne, nosat, 0x7BFF},
    fact{65520, rne, sat, 0x7BFF},          fact{0x1p-25, rne, sat, 0x0000},
    fact{0x1.000001p-25, rne, sat, 0x0001}, fact{not_a_number, rne, sat, 0x7E00}};

template <class E>
constexpr std::uint32_t encode_fact(double x, const fact& f) {
  return encode<E>(x, rounding::dynamic{f.r}, overflow::dynamic{f.o}).code;
}

template <class E, std::size_t N>
constexpr bool hold(const std::array<fact, N>& facts) {
  for (const fact& f : facts) {
    if (encode_fact<E>(f.input, f) != f.code) return false;
  }
  return true;
}
static_assert(hold<E4M3>(e4m3_facts));
static_assert(hold<E5M2>(e5m2_facts));
static_assert(hold<E3M2>(e3m2_facts));
static_assert(hold<E2M3>(e2m3_facts));
static_assert(hold<E2M1>(e2m1_facts));
static_assert(hold<INT8>(int8_facts));
static_assert(hold<E8M0>(e8m0_facts));
static_assert(hold<UE4M3>(ue4m3_facts));
static_assert(hold<bfloat16>(bf16_facts));
static_assert(hold<binary16>(f16_facts));

template <class E, std::size_t N>
void hold_at_run_time(const std::array<fact, N>& facts) {
  for (const fact& f : facts) {
    const volatile double input = f.input;
    EXPECT_EQ(encode_fact<E>(input, f), f.code) << sweep::oracle_of<E>().name << ' ' << f.input;
  }
}

TEST(EncodeFacts, HoldAtRunTime) {
  hold_at_run_time<E4M3>(e4m3_facts);
  hold_at_run_time<E5M2>(e5m2_facts);
  hold_at_run_time<E3M2>(e3m2_facts);
  hold_at_run_time<E2M3>(e2m3_facts);
  hold_at_run_time<E2M1>(e2m1_facts);
  hold_at_run_time<INT8>(int8_facts);
  hold_at_run_time<E8M0>(e8m0_facts);
  hold_at_run_time<UE4M3>(ue4m3_facts);
  hold_at_run_time<bfloat16>(bf16_facts);
  hold_at_run_time<binary16>(f16_facts);
}

// Zeros, ties, thresholds and limits of all formats; all policies, at compile time.
constexpr std::array inputs{
    0.0,      -0.0,     1.0,      -1.0,       0.3,         -0.3,       1.0625,     1.1875,
    2.5,      -2.5,     3.5,      5.0,        6.0,         7.0,        7.5,        7.75,
    8.0,      15.5,     15.75,    28.0,       30.0,        31.0,       32.0,       240.0,
    248.0,    256.0,    448.0,    464.0,      464.00001,   -480.0,     57344.0,    61440.0,
    65504.0,  65520.0,  -65536.,  1.984375,   1.9921875,   -1.9921875, -2.0,       0.0078125,
    0x1p-4,   0x1p-5,   0x1p-7,   0x1p-10,    0x1p-11,     0x1p-14,    0x1p-17,    0x1p-18,
    0x1p-24,  0x1p-25,  0x1p-126, 0x1p-127,   0x1.8p-127,  0x1p-128,   0x1p-133,   0x1p-134,
    0x1p-137, 0x1p-149, 0x1p-150, -0x1p-1074, 0x1p127,     0x1.8p127,  0x1.FFp127, 0x1.FFFFFFp127,
    0x1p128,  0x1p1000, inf,      -inf,       not_a_number};

using code_row = std::array<std::uint32_t, 21>;

template <class E, class R>
constexpr void add_codes(double x, code_row& row, std::size_t at) {
  row[at] = encode<E>(x, R{}, overflow::saturate{}).code;
  row[at + 1] = encode<E>(x, R{}, overflow::nonsaturating{}).code;
  row[at + 2] = encode<E>(x, R{}, overflow::saturate_full{}).code;
}

template <class E>
constexpr std::array<code_row, inputs.size()> constant_codes() {
  std::array<code_row, inputs.size()> codes{};
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    add_codes<E, rounding::nearest_even>(inputs[i], codes[i], 0);
    add_codes<E, rounding::nearest_away>(inputs[i], codes[i], 3);
    add_codes<E, rounding::nearest_toward_zero>(inputs[i], codes[i], 6);
    add_codes<E, rounding::toward_zero>(inputs[i], codes[i], 9);
    add_codes<E, rounding::up>(inputs[i], codes[i], 12);
    add_codes<E, rounding::down>(inputs[i], codes[i], 15);
    add_codes<E, rounding::to_odd>(inputs[i], codes[i], 18);
  }
  return codes;
}

template <class E>
class ConstantEvaluation : public testing::Test {
 protected:
  static constexpr std::array<code_row, inputs.size()> codes = constant_codes<E>();
};
TYPED_TEST_SUITE(ConstantEvaluation, sweep::all_formats, sweep::format_names);

TYPED_TEST(ConstantEvaluation, EncodesAsAtRunTimeAndAsTheOracle) {
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const volatile double hidden = inputs[i];
    const double x = hidden;
    std::size_t column = 0;
    for (const auto r : oracle::all_roundings) {
      for (const auto o : oracle::all_overflows) {
        const std::uint32_t constant = this->codes[i][column++];
        const std::uint32_t want = oracle::encode(sweep::oracle_of<TypeParam>(), x, r, o);
        EXPECT_EQ((sweep::encoder_for<TypeParam, double>(r, o)(x)).code, constant)
            << name(r) << ' ' << name(o) << ' ' << x;
        EXPECT_EQ(constant, want) << name(r) << ' ' << name(o) << ' ' << x;
        if (const auto f = static_cast<float>(x); double{f} == x) {
          EXPECT_EQ((sweep::encoder_for<TypeParam, float>(r, o)(f)).code, constant)
              << name(r) << ' ' << name(o) << ' ' << f;
        }
      }
    }
  }
}

// A few dozen codes of each format, decoded at compile time: low, high and around the middle.
constexpr std::size_t decoded = 48;

template <class E>
constexpr E nth_code(std::size_t i) {
  const auto top = static_cast<std::uint32_t>(low_mask(E::desc.total_bits()));
  const auto n = static_cast<std::uint32_t>(i / 3);
  const std::uint32_t code = i % 3 == 0 ? n : i % 3 == 1 ? top - n : top / 2 + 8 - n;
  return E{static_cast<typename E::code_type>(code & top)};
}

template <class E>
constexpr auto constant_values() {
  std::array<std::uint64_t, decoded> bits{};
  for (std::size_t i = 0; i < decoded; ++i) {
    bits[i] = std::bit_cast<std::uint64_t>(decode<double>(nth_code<E>(i)));
  }
  return bits;
}

TYPED_TEST(ConstantEvaluation, DecodesAsAtRunTimeAndAsTheOracle) {
  constexpr auto constant = constant_values<TypeParam>();
  for (std::size_t i = 0; i < decoded; ++i) {
    const volatile auto hidden = nth_code<TypeParam>(i).code;
    const TypeParam e{hidden};
    EXPECT_EQ(std::bit_cast<std::uint64_t>(decode<double>(e)), constant[i]) << +e.code;
    const oracle::value v = oracle::decode(sweep::oracle_of<TypeParam>(), e.code);
    if (v.cls == oracle::value_class::finite) {
      EXPECT_EQ(std::bit_cast<double>(constant[i]), v.signed_value()) << +e.code;
    } else {
      EXPECT_FALSE(std::isfinite(std::bit_cast<double>(constant[i]))) << +e.code;
    }
  }
}

}  // namespace
