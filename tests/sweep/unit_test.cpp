// SPDX-License-Identifier: Apache-2.0
// Every model of a matrix unit against its description in rational numbers: all format pairs,
// outputs and scales that it takes, special values enumerated, rows made for each part of the
// description, and wrong parameters, which must be told from the description.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <sstream>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "dot_cases.hpp"
#include "mxref/gemm.hpp"
#include "mxref/matrix_unit.hpp"
#include "oracle/unit_oracle.hpp"
#include "unit_mutations.hpp"

namespace {

using mxref::errc;
using mxref::index_t;
using mxref::accumulate::matrix_unit;
using sweep::named_format;
using sweep::numbers;
using sweep::random_source;
using sweep::scale_codes;
using sweep::test_operand;
using sweep::test_problem;

constexpr std::array unit_elements{sweep::f16,      sweep::bf16,    sweep::tf32, sweep::e4m3,
                                   sweep::e5m2,     sweep::e3m2,    sweep::e2m3, sweep::e2m1,
                                   sweep::e4m3fnuz, sweep::e5m2fnuz};

struct scaling {
  int block;
  named_format format;
};
constexpr std::array all_scalings{scaling{0, sweep::e8m0}, scaling{32, sweep::e8m0},
                                  scaling{16, sweep::e8m0}, scaling{16, sweep::ue4m3},
                                  scaling{32, sweep::ue4m3}};

/// One instruction of a model: operands, scales and output.
struct instruction {
  const mxref::unit_model* model;
  named_format a;
  named_format b;
  scaling scales;
  named_format out;
  matrix_unit unit;
  oracle::unit description;

  std::string text() const {
    std::ostringstream t;
    t << model->name << ", " << a.table().name << " x " << b.table().name << " -> "
      << out.table().name << ", block " << scales.block << ' ' << scales.format.table().name;
    return t.str();
  }
};

mxref::operand_kind kind_of(const named_format& f, const scaling& s) {
  return {f.desc, s.block == 0 ? mxref::format_desc{} : s.format.desc, s.block};
}

/// All of them. Block-scaled instructions also take unscaled operands, which is not listed.
const std::vector<instruction>& instructions() {
  static const std::vector<instruction> list = [] {
    std::vector<instruction> all;
    for (const mxref::unit_model& m : mxref::matrix_units) {
      for (const named_format& a : unit_elements) {
        for (const named_format& b : unit_elements) {
          for (const scaling& s : all_scalings) {
            for (const named_format& out : {sweep::f32, sweep::f16}) {
              const auto choice = m.resolve(kind_of(a, s), kind_of(b, s), out.desc);
              const bool is_scaled_kind = m.modes[0].block != 0;
              if (!choice || (s.block != 0) != is_scaled_kind) continue;
              all.push_back({&m, a, b, s, out, choice.unit,
                             oracle::describe_unit(m.name, a.id, b.id, out.id)});
            }
          }
        }
      }
    }
    return all;
  }();
  return list;
}

std::uint32_t run(test_problem& p, const matrix_unit& unit, const named_format& out) {
  random_source random(7);
  p.lay_out(random);
  sweep::test_output d(out, 1, 1);
  const mxref::status s = gemm(p.a.view(), p.b.view(), d.view(), unit, p.options());
  EXPECT_TRUE(s.ok()) << message(s);
  return d.code(0, 0);
}

/// A code of about this magnitude, or as near as the format goes.
std::uint32_t code_near(const named_format& f, int exponent, random_source& random) {
  const oracle::format& t = f.table();
  const auto find = [&t](double x) {
    const auto above = std::upper_bound(t.magnitudes.begin(), t.magnitudes.end(), x);
    return std::min(t.largest_code, static_cast<std::uint32_t>(above - t.magnitudes.begin()) - 1);
  };
  const std::uint32_t first = std::max(1U, find(std::ldexp(1.0, exponent)));
  const std::uint32_t last = std::max(first, find(std::ldexp(1.0, exponent + 1)));
  const std::uint32_t step = random.one_in(3) ? 0 : random.below(last - first + 1);
  return t.signed_code(first + step, random.one_in(2));
}

int least_exponent(const named_format& f) { return std::ilogb(f.table().magnitude(1)); }
int largest_exponent(const named_format& f) { return std::ilogb(f.table().largest); }

void set_c(test_problem& p, const named_format& f, std::uint32_t code) {
  p.c = test_operand(f, 1, 1);
  p.c->code(0, 0) = code;
}
/// A C of about this magnitude, in the output format.
void set_c_near(test_problem& p, const named_format& out, int exponent, random_source& random) {
  if (out.id == oracle::format_id::f16) return set_c(p, out, code_near(out, exponent, random));
  const auto x = static_cast<float>(std::ldexp(1.0 + random.below(1U << 23) * 0x1p-23, exponent));
  const std::uint32_t fraction = random.one_in(4) ? 0x7FFFFFU : random.one_in(3) ? 0xFFFU : 0U;
  set_c(p, out, (std::bit_cast<std::uint32_t>(x) | fraction) | random.below(2) << 31);
}

enum class category { uniform, band, pairs, tiny, huge, sparse, cancel, specials, ends, probe };
constexpr std::array all_categories{
    category::uniform, category::band,   category::pairs,    category::tiny, category::huge,
    category::sparse,  category::cancel, category::specials, category::ends, category::probe};
constexpr std::array category_names{"Uniform", "Band",   "Pairs",    "Tiny", "Huge",
                                    "Sparse",  "Cancel", "Specials", "Ends", "Probe"};

/// A row of single powers of two, all others zero: bits at the very places where a description says
/// that they are kept or lost.
class probe_row {
 public:
  probe_row(const instruction& i, random_source& random) : i_(i), random_(random) {
    const index_t step = i.unit.desc.step();
    p_.a = test_operand(i.a, 1, step);
    p_.b = test_operand(i.b, 1, step);
    p_.b.fill(numbers::finite, random);
    if (i.scales.block == 0) return;
    p_.a.add_scales(i.scales.format, i.scales.block, scale_codes::one, random);
    p_.b.add_scales(i.scales.format, i.scales.block, scale_codes::one, random);
    moved_.resize(static_cast<std::size_t>(p_.a.scale_count()));
  }

  /// Product k becomes +-2^exponent, if elements and scales reach it.
  void put(index_t k, int exponent, bool negative) {
    if (k >= p_.a.depth()) return;
    int here = exponent;
    if (i_.scales.block != 0 && i_.scales.format.id == oracle::format_id::e8m0) {
      std::optional<int>& moved = moved_[static_cast<std::size_t>(k / i_.scales.block)];
      if (!moved) {
        moved = exponent - random_.between(least(), largest());
        if (std::abs(*moved) > 250) return;
        const int first = *moved / 2;
        p_.a.scale(0, k / i_.scales.block) = static_cast<std::uint8_t>(127 + first);
        p_.b.scale(0, k / i_.scales.block) = static_cast<std::uint8_t>(127 + *moved - first);
      }
      here = exponent - *moved;
    }
    const int low = std::max(least_exponent(i_.a), here - largest_exponent(i_.b));
    const int high = std::min(largest_exponent(i_.a), here - least_exponent(i_.b));
    if (low > high) return;
    const int ea = random_.between(low, high);
    p_.a.code(0, k) = power(i_.a, ea) | (negative ? i_.a.table().sign_code() : 0);
    p_.b.code(0, k) = power(i_.b, here - ea);
  }

  test_problem draw() {
    const mxref::unit_desc& u = i_.unit.desc;
    const bool is_f16 = i_.out.id == oracle::format_id::f16;
    const bool negative = random_.one_in(2);
    const index_t last = p_.a.depth() - 1;
    const int kind = static_cast<int>(random_.below(4));
    if (kind == 0 && u.sum == mxref::unit_sum::window) {
      // The least number that the output has, or half of it to nearest, and a bit at the floor.
      put(0, is_f16 ? -25 : -149, negative);
      const bool towards = is_f16 && random_.one_in(2);
      put(last, u.exponent_floor - u.fraction_bits + random_.between(-1, 1),
          towards ? negative : !negative);
      return p_;
    }
    if (kind == 3) {
      // The least subnormal times the largest power, and a bit at the end of their sum.
      const bool is_a = random_.one_in(2);
      p_.a.code(0, 0) = power(i_.a, is_a ? least_exponent(i_.a) : largest_exponent(i_.a));
      p_.b.code(0, 0) = power(i_.b, is_a ? largest_exponent(i_.b) : least_exponent(i_.b));
      const int top = is_a ? least_exponent(i_.a) + largest_exponent(i_.b)
                           : largest_exponent(i_.a) + least_exponent(i_.b);
      put(1, top - (is_f16 ? 10 : 23), false);
      return p_;
    }
    const int scaled = i_.scales.block != 0 ? random_.between(-60, 60) : 0;
    const int exponent = random_.between(least(), largest()) + scaled;
    const int emin = is_f16 ? -14 : -126;
    const int emax = is_f16 ? 15 : 127;
    if (kind == 1 || is_f16) {
      // A power of two, from which one or two halves of the last kept bit are taken.
      const int c = exponent + u.fraction_bits + random_.between(-1, 2);
      if (c < emin || c > emax) return p_;
      set_c(p_, i_.out, power(i_.out, c) | (negative ? i_.out.table().sign_code() : 0));
      put(0, exponent, !negative);
      if (random_.one_in(2))
        put(std::min<index_t>(last, random_.one_in(2) ? 8 : 16), exponent, !negative);
      return p_;
    }
    // All ones, a carry, and a bit below.
    const int c = exponent + 22;
    if (c < emin || c > emax) return p_;
    set_c(p_, i_.out, (power(i_.out, c) | 0x7FFFFFU) | (negative ? 0x80000000U : 0));
    put(0, exponent, negative);
    put(std::min<index_t>(last, 1 + random_.below(2)), c - random_.between(29, 33), negative);
    return p_;
  }

 private:
  int least() const { return least_exponent(i_.a) + least_exponent(i_.b); }
  int largest() const { return largest_exponent(i_.a) + largest_exponent(i_.b); }
  static std::uint32_t power(const named_format& f, int exponent) {
    if (f.id == oracle::format_id::f32)
      return std::bit_cast<std::uint32_t>(std::ldexp(1.0F, exponent));
    const std::vector<double>& m = f.table().magnitudes;
    const auto at = std::lower_bound(m.begin(), m.end(), std::ldexp(1.0, exponent));
    return static_cast<std::uint32_t>(at - m.begin());
  }

  const instruction& i_;
  random_source& random_;
  test_problem p_;
  std::vector<std::optional<int>> moved_;
};

test_problem draw_row(const instruction& i, category kind, random_source& random) {
  if (kind == category::probe) return probe_row(i, random).draw();
  const index_t step = i.unit.desc.step();
  const std::array<index_t, 6> depths{step,         step,    2 * step, 2 * step + step / 2,
                                      step / 2 + 1, 3 * step};
  const index_t depth = depths[random.below(depths.size())];
  test_problem p;
  p.a = test_operand(i.a, 1, depth);
  p.b = test_operand(i.b, 1, depth);
  numbers values = numbers::finite;
  if (kind == category::sparse) values = numbers::sparse;
  if (kind == category::cancel) values = numbers::cancelling;
  if (kind == category::specials) values = numbers::specials;
  if (kind == category::ends) values = numbers::extremes;
  if (kind == category::uniform && random.one_in(3)) values = numbers::any_code;
  p.a.fill(values, random);
  p.b.fill(values, random);

  const int least = least_exponent(i.a) + least_exponent(i.b);
  const int largest = largest_exponent(i.a) + largest_exponent(i.b);
  int low = least;
  int high = largest;
  if (kind == category::band || kind == category::pairs) {
    const int center = random.between(least, largest);
    low = std::max(least, center - random.between(0, 30));
    high = center;
  }
  // The products that decide about floors: around the least that the output can hold.
  if (kind == category::tiny) {
    const int end = i.out.id == oracle::format_id::f16 ? -25 : -140;
    low = std::clamp(end - 26, least, largest);
    high = std::clamp(end + random.between(-6, 8), least, largest);
  }
  if (kind == category::huge) {
    low = std::clamp(i.out.id == oracle::format_id::f16 ? 10 : 118, least, largest);
    high = std::clamp(i.out.id == oracle::format_id::f16 ? 18 : 132, least, largest);
  }
  if (kind == category::band || kind == category::pairs || kind == category::tiny ||
      kind == category::huge) {
    const bool is_sparse = kind == category::pairs || random.one_in(2);
    for (index_t k = 0; k < depth; ++k) {
      if (is_sparse && !random.one_in(static_cast<std::uint32_t>(std::max<index_t>(1, step / 3)))) {
        p.a.code(0, k) = 0;
        continue;
      }
      const int e = random.between(low, high);
      const int ea_low = std::max(least_exponent(i.a), e - largest_exponent(i.b));
      const int ea_high = std::min(largest_exponent(i.a), e - least_exponent(i.b));
      const int ea = random.between(ea_low, std::max(ea_low, ea_high));
      p.a.code(0, k) = code_near(i.a, ea, random);
      p.b.code(0, k) = code_near(i.b, e - ea, random);
    }
  }
  if (kind == category::cancel) p.cancel(random);

  int moved = 0;
  if (i.scales.block != 0) {
    scale_codes codes = scale_codes::close;
    if (kind == category::uniform && random.one_in(2)) codes = scale_codes::any;
    if (kind == category::ends) codes = scale_codes::ends;
    if (kind == category::specials) codes = scale_codes::with_nan;
    p.a.add_scales(i.scales.format, i.scales.block, codes, random);
    p.b.add_scales(i.scales.format, i.scales.block, codes, random);
    if (i.scales.format.id == oracle::format_id::e8m0 &&
        (kind == category::tiny || kind == category::huge)) {
      moved = (kind == category::tiny ? -141 : 126) - high + random.between(-6, 6);
      for (index_t b = 0; b < p.a.scale_count(); ++b) {
        const int here = moved + random.between(-1, 1);
        const int first = here / 2 + random.between(-4, 4);
        p.a.scale(0, b) = static_cast<std::uint8_t>(std::clamp(127 + first, 0, 254));
        p.b.scale(0, b) = static_cast<std::uint8_t>(std::clamp(127 + here - first, 0, 254));
      }
    }
  }
  switch (random.below(6)) {
    case 0:
    case 1:
      break;
    case 2:
      set_c(p, i.out, random.one_in(2) ? i.out.table().sign_code() : 0);
      break;
    case 3:
      set_c_near(p, i.out, std::clamp(high + moved + random.between(-3, 12), -149, 127), random);
      break;
    case 4:
      set_c_near(p, i.out, std::clamp(high + moved - random.between(0, 40), -149, 127), random);
      break;
    case 5:
      if (kind == category::tiny) {
        set_c(p, i.out, random.below(64) | (random.one_in(2) ? i.out.table().sign_code() : 0));
      } else if (kind == category::specials || random.one_in(4)) {
        set_c(p, i.out, sweep::draw_code(i.out.table(), numbers::any_code, random));
      } else if (i.unit.desc.accumulator == mxref::binary32_desc) {
        set_c(p, sweep::f16, random.below(0x7C00));
      }
      break;
  }
  return p;
}

// The oracle has a description of what the library takes, and of nothing else.
TEST(Units, TakeWhatTheyAreDescribedToTake) {
  EXPECT_EQ(instructions().size(), 259U);
  for (const mxref::unit_model& m : mxref::matrix_units) {
    const bool is_scaled_kind = m.modes[0].block != 0;
    for (const named_format& a : unit_elements) {
      for (const named_format& b : unit_elements) {
        for (const named_format& out : {sweep::f32, sweep::f16, sweep::bf16}) {
          bool is_described = out.id != oracle::format_id::bf16;
          try {
            oracle::describe_unit(m.name, a.id, b.id, out.id);
          } catch (const std::invalid_argument&) {
            is_described = false;
          }
          EXPECT_EQ(m.resolve({a.desc}, {b.desc}, out.desc).code == errc::ok, is_described)
              << m.name << ' ' << a.table().name << ' ' << b.table().name << ' '
              << out.table().name;
          if (!is_scaled_kind) {
            EXPECT_EQ(m.resolve(kind_of(a, {32, sweep::e8m0}), {b.desc}, out.desc).code == errc::ok,
                      false)
                << m.name;
          }
        }
      }
    }
  }
}

// Every line of every table is a unit that the family takes with these operands.
TEST(Units, AreInstancesOfTheFamily) {
  for (const instruction& i : instructions()) {
    EXPECT_TRUE(is_valid(i.unit.desc)) << i.text();
    EXPECT_EQ(i.unit.check(kind_of(i.a, i.scales), kind_of(i.b, i.scales), i.out.desc), errc::ok)
        << i.text();
  }
}

// A short name stands for the one kind that takes the operands.
TEST(Units, ShortNames) {
  using any = mxref::accumulate::nvidia_blackwell_tcgen05;
  const std::string prefix = std::string(any::name) + '-';
  for (const named_format& f : unit_elements) {
    for (const scaling& s : all_scalings) {
      for (const named_format& out : {sweep::f32, sweep::f16}) {
        int kinds = 0;
        matrix_unit unit;
        for (const instruction& i : instructions()) {
          const bool is_this = i.a.id == f.id && i.b.id == f.id && i.scales.block == s.block &&
                               i.scales.format.id == s.format.id && i.out.id == out.id &&
                               std::string(i.model->name).starts_with(prefix);
          if (!is_this) continue;
          ++kinds;
          unit = i.unit;
        }
        const auto choice = any::resolve(kind_of(f, s), kind_of(f, s), out.desc);
        EXPECT_EQ(choice.code, kinds == 1   ? errc::ok
                               : kinds == 0 ? errc::unsupported_format
                                            : errc::ambiguous_unit)
            << f.table().name << ' ' << s.block;
        if (kinds == 1) {
          EXPECT_EQ(choice.unit.desc, unit.desc);
        }
      }
    }
  }
  // One side unscaled.
  EXPECT_TRUE(any::resolve({mxref::E4M3::desc}, kind_of(sweep::e2m3, {32, sweep::e8m0}),
                           mxref::binary32_desc));
}

class UnitRows : public testing::TestWithParam<category> {};

TEST_P(UnitRows, EqualTheDescription) {
  random_source random(300 + static_cast<std::uint64_t>(GetParam()));
  for (const instruction& i : instructions()) {
    for (int row = 0; row < 10; ++row) {
      test_problem p = draw_row(i, GetParam(), random);
      const std::uint32_t got = run(p, i.unit, i.out);
      const std::uint32_t want = oracle::dot(p.element(0, 0), i.description);
      ASSERT_EQ(got, want) << i.text() << ", K " << p.a.depth() << ", row " << row << std::hex
                           << ": 0x" << got << ", expected 0x" << want;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Categories, UnitRows, testing::ValuesIn(all_categories),
                         [](const auto& test) {
                           return category_names[static_cast<std::size_t>(test.param)];
                         });

/// Codes of NaN, both infinities and zeros (where the format has them), the ends and ones.
std::vector<std::uint32_t> special_codes(const named_format& f) {
  const oracle::format& t = f.table();
  std::vector<std::uint32_t> codes;
  for (const bool negative : {false, true}) {
    codes.push_back(t.signed_code(1, negative));
    codes.push_back(t.signed_code(t.largest_code, negative));
    const auto one = static_cast<std::uint32_t>(
        mxref::to_code(f.desc, mxref::to_number(1.0F), mxref::rounding::nearest_even{}));
    codes.push_back(negative ? one | t.sign_code() : one);
    if (t.infinity) codes.push_back(negative ? *t.infinity | t.sign_code() : *t.infinity);
    const std::uint32_t zero = negative ? t.sign_code() : 0;  // or the NaN of fnuz
    codes.push_back(zero);
    const std::uint32_t top = t.sign_code() - 1;
    if (oracle::decode(t, top).cls == oracle::value_class::nan) {
      codes.push_back(negative ? top | t.sign_code() : top);
    }
  }
  return codes;
}

// Every combination of special values in one product, a second product, and C.
TEST(UnitSpecials, Enumerated) {
  long combinations = 0;
  std::vector<const instruction*> seen;
  for (const instruction& i : instructions()) {
    const bool is_mixed_fp8 =
        i.a.id == oracle::format_id::e5m2 && i.b.id == oracle::format_id::e4m3;
    if (i.a.id != i.b.id && !is_mixed_fp8) continue;
    // Many models share a unit.
    const auto is_same = [&i](const instruction* other) {
      return other->unit.desc == i.unit.desc && other->a.id == i.a.id && other->b.id == i.b.id &&
             other->scales.block == i.scales.block && other->scales.format.id == i.scales.format.id;
    };
    if (std::any_of(seen.begin(), seen.end(), is_same)) continue;
    seen.push_back(&i);
    const auto as = special_codes(i.a);
    const auto bs = special_codes(i.b);
    const auto cs = special_codes(i.out);
    const std::uint32_t one = bs[2];
    test_problem p;
    p.a = test_operand(i.a, 1, 2);
    p.b = test_operand(i.b, 1, 2);
    if (i.scales.block != 0) {
      random_source random(1);
      p.a.add_scales(i.scales.format, i.scales.block, scale_codes::one, random);
      p.b.add_scales(i.scales.format, i.scales.block, scale_codes::one, random);
    }
    for (const std::uint32_t a : as) {
      for (const std::uint32_t b : bs) {
        for (const std::uint32_t second : as) {
          p.a.code(0, 0) = a;
          p.b.code(0, 0) = b;
          p.a.code(0, 1) = second;
          p.b.code(0, 1) = one;
          for (const std::uint32_t c : cs) {
            set_c(p, i.out, c);
            ++combinations;
            const std::uint32_t got = run(p, i.unit, i.out);
            const std::uint32_t want = oracle::dot(p.element(0, 0), i.description);
            ASSERT_EQ(got, want) << i.text() << std::hex << ": a 0x" << a << ", b 0x" << b
                                 << ", second 0x" << second << ", c 0x" << c << ": 0x" << got
                                 << ", expected 0x" << want;
          }
        }
      }
    }
    if (i.scales.block == 0) continue;
    // NaN scales win over everything; a zero scale (unsigned E4M3) makes zeros.
    for (const int code : {0, 127, 255}) {
      for (const std::uint32_t a : as) {
        for (const std::uint32_t c : cs) {
          p.a.code(0, 0) = a;
          p.a.scale(0, 0) = static_cast<std::uint8_t>(
              i.scales.format.id == oracle::format_id::ue4m3 ? code & 0x7F : code);
          set_c(p, i.out, c);
          ++combinations;
          ASSERT_EQ(run(p, i.unit, i.out), oracle::dot(p.element(0, 0), i.description))
              << i.text() << " scale " << code;
        }
      }
    }
  }
  EXPECT_GT(combinations, 100000);
}

// With one thing wrong, a model is told from its description by these rows.
TEST(UnitMutations, AreAllFound) {
  std::map<std::string, std::map<std::string, int>> found;
  random_source random(500);
  for (const instruction& i : instructions()) {
    std::vector<std::pair<const sweep::unit_mutation*, matrix_unit>> wrong;
    for (const sweep::unit_mutation& m : sweep::unit_mutations()) {
      if (!m.applies(i.unit.desc)) continue;
      matrix_unit unit = i.unit;
      m.apply(unit.desc);
      if (unit.check(kind_of(i.a, i.scales), kind_of(i.b, i.scales), i.out.desc) != errc::ok) {
        continue;
      }
      found[m.name][i.model->name] += 0;
      wrong.emplace_back(&m, unit);
    }
    for (const category kind : all_categories) {
      const bool is_special = kind == category::specials || kind == category::huge;
      for (int row = 0; row < (is_special                ? 5
                               : kind == category::probe ? 400
                                                         : 80) &&
                        !wrong.empty();
           ++row) {
        test_problem p = draw_row(i, kind, random);
        const std::uint32_t want = run(p, i.unit, i.out);
        std::erase_if(wrong, [&](const auto& w) {
          const bool differs = run(p, w.second, i.out) != want;
          found[w.first->name][i.model->name] += differs ? 1 : 0;
          return differs;
        });
      }
    }
  }
  for (const sweep::unit_mutation& m : sweep::unit_mutations()) {
    EXPECT_FALSE(found[m.name].empty()) << m.name;
    for (const auto& [model, count] : found[m.name]) {
      EXPECT_EQ(count != 0, !m.unseeable.contains(model)) << m.name << ", " << model;
    }
  }
}

// Parameters whose sums 63 bits may not hold, or that contradict each other, are refused; what is
// taken at the edge is right.
TEST(OwnUnits, AreCheckedAndTotal) {
  const auto check = [](const mxref::unit_desc& u, const named_format& f, const scaling& s) {
    return matrix_unit{u}.check(kind_of(f, s), kind_of(f, s), u.accumulator);
  };
  const scaling none{0, sweep::e8m0};
  const auto with = [](auto change) {
    mxref::unit_desc u;
    u.exponent_floor = -133;
    change(u);
    return u;
  };
  using desc = mxref::unit_desc;
  EXPECT_EQ(check(with([](desc&) {}), sweep::e4m3, none), errc::ok);
  for (const desc& u :
       {with([](desc& x) { x.length = 0; }), with([](desc& x) { x.length = -4; }),
        with([](desc& x) { x.group = 0; }), with([](desc& x) { x.group = 3; }),
        with([](desc& x) { x.fraction_bits = 56; }), with([](desc& x) { x.fraction_bits = 0; }),
        with([](desc& x) { x.output_bits = 24; }), with([](desc& x) { x.output_bits = 0; }),
        with([](desc& x) { x.output = mxref::rounding_mode::up; }),
        with([](desc& x) { x.accumulator = mxref::E4M3::desc; }),
        with([](desc& x) { x.restart = -1; }),
        with([](desc& x) { x.order = mxref::unit_order::even_odd; }), with([](desc& x) {
          x.restart = 128;
          x.order = mxref::unit_order::pairs_of_pairs;
        }),
        with([](desc& x) {
          x.sum = mxref::unit_sum::flushed;
          x.accumulator = mxref::binary16::desc;
          x.output_bits = 10;
        }),
        with([](desc& x) {
          x.sum = mxref::unit_sum::two_windows;
          x.second_fraction_bits = 20;
        })}) {
    EXPECT_EQ(check(u, sweep::e4m3, none), errc::unsupported_unit);
  }
  EXPECT_EQ(check({}, sweep::int8, none), errc::unsupported_format);
  EXPECT_EQ(check({}, sweep::e4m3, {24, sweep::e8m0}), errc::block_mismatch);
  EXPECT_EQ(check({}, sweep::e4m3, {8, sweep::e8m0}), errc::ok);
  EXPECT_EQ(check(with([](desc& x) { x.restart = 32; }), sweep::e4m3, {32, sweep::e8m0}),
            errc::unsupported_format);
  // Groups of elements whose sums do not fit.
  EXPECT_EQ(check(with([](desc& x) { x.group = 16; }), sweep::bf16, none),
            errc::unsupported_format);

  // Windows, lengths and formats that no hardware has, against the description.
  random_source random(900);
  int taken = 0;
  for (int round = 0; round < 3000; ++round) {
    const named_format a = unit_elements[random.below(unit_elements.size())];
    const named_format b = unit_elements[random.below(unit_elements.size())];
    const scaling s = all_scalings[random.below(all_scalings.size())];
    desc u;
    u.length = 1 << random.below(7);
    u.fraction_bits = random.between(1, 58);
    if (random.one_in(2)) u.exponent_floor = random.between(-160, 0);
    u.group = random.one_in(3) ? 1 << random.below(5) : 1;
    const bool is_f16 = random.one_in(4);
    const bool truncates = random.one_in(2);
    u.accumulator = is_f16 ? mxref::binary16::desc : mxref::binary32_desc;
    u.output = truncates ? mxref::rounding_mode::toward_zero : mxref::rounding_mode::nearest_even;
    u.output_bits = u.accumulator.man_bits;
    if (matrix_unit{u}.check(kind_of(a, s), kind_of(b, s), u.accumulator) != errc::ok) continue;
    ++taken;
    instruction i{&mxref::matrix_units[0], a, b, s, is_f16 ? sweep::f16 : sweep::f32, {u}, {}};
    oracle::fused_sum& sum = i.description.sum;
    sum.length = static_cast<std::size_t>(u.length);
    sum.fraction_bits = u.fraction_bits;
    sum.exponent_floor.reset();
    if (u.exponent_floor != desc::no_floor) sum.exponent_floor = u.exponent_floor;
    sum.group = u.group == 1 ? 0 : static_cast<std::size_t>(u.group);
    sum.accumulator = i.out.id;
    sum.truncates_output = truncates;
    test_problem p = draw_row(i, all_categories[random.below(all_categories.size())], random);
    ASSERT_EQ(run(p, i.unit, i.out), oracle::dot(p.element(0, 0), i.description))
        << i.text() << ", L " << u.length << ", F " << u.fraction_bits << ", G " << u.group
        << ", floor " << u.exponent_floor;
  }
  EXPECT_GT(taken, 1000);
}

// The parameters of CDNA4 are the user's: they are examined like those of any unit.
TEST(AssumedUnit, IsRefusedWhereItIsNone) {
  const std::vector<std::uint8_t> codes(64, 0x38);
  mxref::operand_view v;
  v.format = mxref::E4M3::desc;
  v.codes = codes.data();
  v.rows = 1;
  v.depth = 64;
  v.row_bytes = 64;
  float d = 5;
  mxref::accumulate::amd_cdna4_mfma_scale model;
  EXPECT_TRUE(mxref::gemm(v, v, mxref::view(&d, 1, 1), model));
  EXPECT_EQ(d, 64.0F);
  model.assumed.length = 0;
  EXPECT_EQ(mxref::gemm(v, v, mxref::view(&d, 1, 1), model).code, mxref::errc::unsupported_unit);
  EXPECT_EQ(d, 64.0F);
}

}  // namespace
