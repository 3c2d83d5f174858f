// SPDX-License-Identifier: Apache-2.0
// encode and decode, every format under every rounding and overflow policy, from binary32 and
// binary64, against the oracle.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "format_list.hpp"
#include "mxref/element.hpp"
#include "oracle/search.hpp"
#include "oracle/tables.hpp"
#include "oracle/thresholds.hpp"
#include "policies.hpp"

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

float float_from_bits(std::uint32_t bits) { return std::bit_cast<float>(bits); }
double double_from_bits(std::uint64_t bits) { return std::bit_cast<double>(bits); }

template <class E>
class EncodeSweep : public testing::Test {
 protected:
  static const oracle::format& format() { return sweep::oracle_of<E>(); }

  // Compares one input under all policies; from binary32 too when it is a binary32 number.
  void check(double x) {
    const oracle::position p = oracle::locate(format(), x);
    const auto as_float = static_cast<float>(x);
    const bool is_float = double{as_float} == x;
    for (const auto r : oracle::all_roundings) {
      for (const auto o : oracle::all_overflows) {
        const std::uint32_t want = oracle::encode(format(), p, r, o);
        expect(r, o, x, sweep::encoder_for<E, double>(r, o)(x), want);
        if (is_float) expect(r, o, x, sweep::encoder_for<E, float>(r, o)(as_float), want);
      }
    }
    ++inputs_;
  }

  // The number, and its neighbours in binary64 and in binary32; all of these with both signs.
  void check_around(double x) {
    const auto f = static_cast<float>(x);
    for (const double y : {x, std::nextafter(x, infinity), std::nextafter(x, -infinity), double{f},
                           double{std::nextafter(f, std::numeric_limits<float>::infinity())},
                           double{std::nextafter(f, -std::numeric_limits<float>::infinity())}}) {
      check(y);
      check(-y);
    }
  }

  void expect(oracle::rounding r, oracle::overflow o, double x, E got, std::uint32_t want) {
    if (got.code == want || ++mismatches_ > 10) return;
    ADD_FAILURE() << sweep::describe(r, o, x, got.code, want);
  }

  void TearDown() override {
    EXPECT_EQ(mismatches_, 0);
    EXPECT_GT(inputs_, 0);
  }

  int mismatches_ = 0;
  int inputs_ = 0;
};
TYPED_TEST_SUITE(EncodeSweep, sweep::all_formats, sweep::format_names);

// Pairs (i, i + 1) of neighbouring magnitudes: all of them in formats of up to eight bits,
// otherwise both ends, every change of exponent, and a stride that is no multiple of two.
std::vector<std::uint32_t> neighbour_pairs(const oracle::format& f) {
  std::vector<std::uint32_t> pairs;
  const std::uint32_t stride = f.bits <= 8 ? 1 : 83 + (f.largest_code >> 9);
  for (std::uint32_t i = 0; i < f.largest_code; i += stride | 1) pairs.push_back(i);
  if (f.bits > 8) {
    for (std::uint32_t i = 1; i < 40; ++i) pairs.push_back(i);
    for (std::uint32_t i = 1; i < 40; ++i) pairs.push_back(f.largest_code - i);
    for (int e = -149; e < 128; ++e) {
      const double power = std::ldexp(1.0, e);
      if (power < f.magnitude(1) || power > f.largest) continue;
      const std::uint32_t at = oracle::locate(f, power).low;
      pairs.push_back(at - 1);
      pairs.push_back(at);
    }
  }
  return pairs;
}

TYPED_TEST(EncodeSweep, NeighboursAndMidpoints) {
  const oracle::format& f = this->format();
  for (const std::uint32_t i : neighbour_pairs(f)) {
    const double low = f.magnitude(i);
    const double high = f.magnitude(i + 1);
    this->check_around(low);
    this->check_around(low + (high - low) / 2);
    this->check_around(low + (high - low) / 4);
    this->check_around(low + (high - low) * 3 / 4);
  }
}

TYPED_TEST(EncodeSweep, LargestFiniteAndBeyond) {
  const oracle::format& f = this->format();
  const double half_step = (f.beyond - f.largest) / 2;
  for (const double x :
       {f.largest, f.largest + half_step / 2, f.largest + half_step, f.largest + half_step * 1.5,
        f.beyond, f.beyond + half_step, f.beyond * 1.25, f.beyond * 1.5, f.beyond * 2, f.beyond * 3,
        f.beyond * 4, f.beyond * 1024, double{std::numeric_limits<float>::max()},
        std::numeric_limits<double>::max()}) {
    this->check_around(x);
  }
}

TYPED_TEST(EncodeSweep, InfinitiesZerosAndSubnormalInputs) {
  this->check(infinity);
  this->check(-infinity);
  this->check_around(0.0);
  this->check(-0.0);
  for (const double x :
       {std::numeric_limits<double>::denorm_min(), std::numeric_limits<double>::min(),
        std::numeric_limits<double>::min() / 3, double{std::numeric_limits<float>::denorm_min()},
        double{std::numeric_limits<float>::min()}}) {
    this->check_around(x);
    this->check_around(x / 2);
    this->check_around(x * 1.5);
    this->check_around(x * 3);
  }
  for (int e = -1074; e < 1024; ++e) {
    this->check(std::ldexp(1.0, e));
    this->check(-std::ldexp(1.0, e));
  }
}

TYPED_TEST(EncodeSweep, EveryNanGivesTheFormatsCode) {
  const std::uint32_t want = this->format().nan;
  for (const auto r : oracle::all_roundings) {
    for (const auto o : oracle::all_overflows) {
      for (const std::uint32_t bits : {0x7FC00000U, 0xFFC00000U, 0x7F800001U, 0xFF800001U,
                                       0x7FFFFFFFU, 0xFFFFFFFFU, 0x7FA5A5A5U, 0xFFD00000U}) {
        const float x = float_from_bits(bits);
        this->expect(r, o, x, sweep::encoder_for<TypeParam, float>(r, o)(x), want);
      }
      for (const std::uint64_t bits :
           {0x7FF8000000000000U, 0xFFF8000000000000U, 0x7FF0000000000001U, 0xFFF0000000000001U,
            0x7FF0000010000000U, 0xFFFFFFFFFFFFFFFFU, 0x7FF4000000000000U}) {
        const double x = double_from_bits(bits);
        this->expect(r, o, x, sweep::encoder_for<TypeParam, double>(r, o)(x), want);
      }
      ++this->inputs_;
    }
  }
}

// Numbers without any pattern: over all of binary64, and over the range of the format.
TYPED_TEST(EncodeSweep, ArbitraryDoubles) {
  const oracle::format& f = this->format();
  const double least = f.magnitude(f.has_zero ? 1 : 0);
  std::uint64_t state = 20240229;
  const auto next = [&state] {
    state ^= state << 13;
    state ^= state >> 7;
    return state ^= state << 17;
  };
  const int binades = static_cast<int>(std::log2(f.largest / least)) + 6;
  for (int i = 0; i < 1500; ++i) {
    const double anything = double_from_bits(next());
    if (!std::isnan(anything)) this->check(anything);
    const std::uint64_t mantissa = next() & 0x800FFFFFFFFFFFFFU;
    const double unit = double_from_bits(mantissa | 0x3FF0000000000000U);
    const int e = static_cast<int>(next() % static_cast<std::uint64_t>(binades)) - 3;
    this->check(std::ldexp(unit * least, e));
  }
}

// What sums and products hand to to_code: significands of up to 64 bits, not normalised. Each lies
// on, next to or far from a midpoint of the format, with its last bits far below the format's.
TYPED_TEST(EncodeSweep, WideSignificands) {
  const oracle::format& f = this->format();
  std::uint64_t state = 64;
  const auto next = [&state] {
    return state = state * 6364136223846793005U + 1442695040888963407U;
  };
  for (int i = 0; i < 1200; ++i) {
    const auto index =
        static_cast<std::uint32_t>((next() >> 20) % (f.largest_code + std::uint64_t{1}));
    const double low = f.magnitude(index);
    const double middle = low + (f.magnitude(index + 1) - low) / 2;
    // middle = m * 2^(e - 53); m has trailing zeros, which are room for a last bit.
    int e = 0;
    auto sig = static_cast<std::uint64_t>(std::ldexp(std::frexp(middle, &e), 53)) << 11;
    int exp = e - 64;
    const auto variant = i % 6;
    if (variant == 1) sig += 1;
    if (variant == 2) sig -= 1;
    if (variant == 3) sig = next() | 1;
    if (variant == 4) {  // a short significand with a large exponent
      while (sig % 2 == 0) {
        sig /= 2;
        ++exp;
      }
    }
    if (variant == 5) exp -= static_cast<int>(next() >> 56);  // far below
    for (const bool negative : {false, true}) {
      const oracle::position p = oracle::locate(f, negative, sig, exp);
      const mxref::number n{sig, exp, negative, mxref::number_class::finite};
      for (const auto r : oracle::all_roundings) {
        for (const auto o : oracle::all_overflows) {
          const std::uint64_t got =
              mxref::to_code(TypeParam::desc, n, sweep::dynamic(r), sweep::dynamic(o));
          const std::uint32_t want = oracle::encode(f, p, r, o);
          ASSERT_EQ(got, want) << sweep::describe(r, o, std::ldexp(static_cast<double>(sig), exp),
                                                  got, want)
                               << ", exactly " << sig << " * 2^" << exp;
        }
      }
    }
    ++this->inputs_;
  }
}

// The policies chosen at run time are the same policies.
TYPED_TEST(EncodeSweep, DynamicPoliciesEqualStaticOnes) {
  const oracle::format& f = this->format();
  std::vector<double> inputs{
      0.0,          -0.0,          infinity, -infinity, f.largest * 1.01, -f.largest * 1.01,
      f.beyond * 2, -f.beyond * 2, 0x1p-1000};
  for (const std::uint32_t i : neighbour_pairs(f)) {
    const double middle = f.magnitude(i) + (f.magnitude(i + 1) - f.magnitude(i)) / 2;
    inputs.insert(inputs.end(), {middle, -middle, std::nextafter(middle, 0), f.magnitude(i)});
  }
  for (const double x : inputs) {
    ++this->inputs_;
    for (const auto r : oracle::all_roundings) {
      for (const auto o : oracle::all_overflows) {
        const auto want = sweep::encoder_for<TypeParam, double>(r, o)(x).code;
        this->expect(r, o, x, mxref::encode<TypeParam>(x, sweep::dynamic(r), sweep::dynamic(o)),
                     want);
      }
    }
  }
  // Left out, the policies are nearest even, saturate, to_nan.
  for (const double x : inputs) {
    this->expect(oracle::rounding::nearest_even, oracle::overflow::saturate, x,
                 mxref::encode<TypeParam>(x),
                 oracle::encode(f, x, oracle::rounding::nearest_even, oracle::overflow::saturate));
  }
}

template <class E>
class CodeSweep : public testing::Test {
 protected:
  static const oracle::format& format() { return sweep::oracle_of<E>(); }

  // Every code; a stride of the wide ones.
  template <class F>
  static void for_each_code(F function) {
    const std::uint64_t count = std::uint64_t{1} << format().bits;
    const std::uint64_t stride = format().bits == 32 ? 100003 : format().bits > 16 ? 7 : 1;
    for (std::uint64_t code = 0; code < count; code += stride) {
      function(E{static_cast<typename E::code_type>(code)});
      if (testing::Test::HasFatalFailure()) return;
    }
  }
};
TYPED_TEST_SUITE(CodeSweep, sweep::all_formats, sweep::format_names);

TYPED_TEST(CodeSweep, WidthAndLimitsAreThoseOfTheTable) {
  constexpr mxref::format_desc d = TypeParam::desc;
  const oracle::format& f = this->format();
  EXPECT_EQ(d.total_bits(), f.bits);
  EXPECT_EQ(d.has_sign(), f.has_sign());
  EXPECT_EQ(d.has_inf(), f.infinity.has_value());
  EXPECT_EQ(d.max_magnitude(), f.largest_code);
  EXPECT_EQ(d.nan_code(), f.nan);
  EXPECT_EQ(d.emax(), std::ilogb(f.largest));
  EXPECT_EQ(d.quantum_exp(), std::ilogb(f.magnitude(f.has_zero ? 1 : 0)));
  EXPECT_EQ(sizeof(TypeParam), f.bits <= 8 ? 1U : f.bits <= 16 ? 2U : 4U);
}

TYPED_TEST(CodeSweep, DecodesToTheTable) {
  this->for_each_code([&](TypeParam e) {
    const oracle::value want = oracle::decode(this->format(), e.code);
    const auto single = mxref::decode<float>(e);
    const auto wide = mxref::decode<double>(e);
    const mxref::number n = e.to_number();
    ASSERT_EQ(std::bit_cast<std::uint32_t>(static_cast<float>(e)),
              std::bit_cast<std::uint32_t>(single));
    ASSERT_EQ(std::bit_cast<std::uint64_t>(static_cast<double>(e)),
              std::bit_cast<std::uint64_t>(wide));
    // Decoding looks at no bit above the format's width.
    const mxref::number padded = mxref::to_number(
        TypeParam::desc, ~std::uint64_t{0} << TypeParam::desc.total_bits() | e.code);
    ASSERT_TRUE(padded.sig == n.sig && padded.exp == n.exp && padded.negative == n.negative &&
                padded.cls == n.cls);
    switch (want.cls) {
      case oracle::value_class::nan:
        ASSERT_TRUE(n.is_nan());
        ASSERT_EQ(std::bit_cast<std::uint32_t>(single), 0x7FC00000U);
        ASSERT_EQ(std::bit_cast<std::uint64_t>(wide), 0x7FF8000000000000U);
        break;
      case oracle::value_class::infinite:
        ASSERT_TRUE(n.is_inf() && n.negative == want.negative);
        ASSERT_EQ(wide, want.negative ? -infinity : infinity);
        ASSERT_EQ(double{single}, wide);
        break;
      case oracle::value_class::finite:
        ASSERT_TRUE(n.is_finite() && n.negative == want.negative);
        ASSERT_EQ(n.is_zero(), want.magnitude == 0);
        ASSERT_EQ(std::ldexp(static_cast<double>(n.sig), n.exp), want.magnitude);
        ASSERT_EQ(std::bit_cast<std::uint64_t>(wide),
                  std::bit_cast<std::uint64_t>(want.signed_value()));
        ASSERT_EQ(std::bit_cast<std::uint64_t>(double{single}), std::bit_cast<std::uint64_t>(wide));
        break;
    }
  });
}

TYPED_TEST(CodeSweep, RoundTripsUnderEveryPolicy) {
  const oracle::format& f = this->format();
  const bool wide = f.bits > 8;
  int compared = 0;
  this->for_each_code([&](TypeParam e) {
    const oracle::value v = oracle::decode(f, e.code);
    const auto single = mxref::decode<float>(e);
    const auto twice = mxref::decode<double>(e);
    for (const auto r : oracle::all_roundings) {
      for (const auto o : oracle::all_overflows) {
        if (wide && o != oracle::overflow::nonsaturating) continue;  // no format has an exception
        std::uint32_t want = e.code;
        if (v.cls == oracle::value_class::nan) want = f.nan;
        if (v.cls == oracle::value_class::infinite) {
          want = o == oracle::overflow::nonsaturating ? e.code : f.saturated[v.negative ? 1 : 0];
        }
        if (f.sign == oracle::signs::twos_complement && e.code == f.sign_code() &&
            o != oracle::overflow::saturate_full) {
          want = e.code + 1U;  // -2 is beyond the symmetric range
        }
        ASSERT_EQ((sweep::encoder_for<TypeParam, float>(r, o)(single)).code, want)
            << name(r) << ' ' << name(o);
        ASSERT_EQ((sweep::encoder_for<TypeParam, double>(r, o)(twice)).code, want)
            << name(r) << ' ' << name(o);
        ++compared;
      }
    }
  });
  EXPECT_GE(compared, 16 * 18);
}

template <class E>
class ThresholdSweep : public testing::Test {
 protected:
  // Calls check(bits) for every input, with the run list of each policy; stops at ten mismatches.
  template <class Inputs>
  static void compare(Inputs inputs) {
    const oracle::format& f = sweep::oracle_of<E>();
    int mismatches = 0;
    for (const auto r : oracle::all_roundings) {
      for (const auto o : oracle::all_overflows) {
        const std::vector<oracle::run> runs = oracle::threshold_runs(f, r, o);
        const auto encode = sweep::encoder_for<E, float>(r, o);
        inputs(runs, [&](std::uint32_t bits, std::uint32_t want) {
          const float x = float_from_bits(bits);
          const std::uint32_t got = encode(x).code;
          if (got != want && ++mismatches <= 10) {
            ADD_FAILURE() << sweep::describe(r, o, x, got, want) << " (0x" << std::hex << bits
                          << ')';
          }
        });
      }
    }
    EXPECT_EQ(mismatches, 0);
  }
};
TYPED_TEST_SUITE(ThresholdSweep, sweep::narrow_formats, sweep::format_names);

// A stride through all 2^32 bit patterns of binary32, in one walk along the runs.
TYPED_TEST(ThresholdSweep, StrideThroughEveryBinary32) {
  constexpr std::uint64_t stride = 65521;
  this->compare([](const std::vector<oracle::run>& runs, auto check) {
    std::size_t at = 0;
    for (std::uint64_t bits = 0; bits <= 0xFFFFFFFFU; bits += stride) {
      while (at + 1 < runs.size() && runs[at + 1].first <= bits) ++at;
      check(static_cast<std::uint32_t>(bits), runs[at].code);
    }
  });
}

// Three binary32 numbers on either side of every threshold (TF32: of every 31st).
TYPED_TEST(ThresholdSweep, BothSidesOfEveryThreshold) {
  const std::size_t step = sweep::oracle_of<TypeParam>().bits > 16 ? 31 : 1;
  this->compare([step](const std::vector<oracle::run>& runs, auto check) {
    for (std::size_t i = 1; i < runs.size(); i += step) {
      const std::int64_t here = runs[i].first;
      const std::int64_t below = runs[i - 1].first;
      const std::int64_t above = i + 1 < runs.size() ? runs[i + 1].first : 0x100000000;
      for (std::int64_t bits = std::max(below, here - 3); bits < std::min(above, here + 3);
           ++bits) {
        check(static_cast<std::uint32_t>(bits), runs[i - (bits < here ? 1 : 0)].code);
      }
    }
  });
}

}  // namespace
