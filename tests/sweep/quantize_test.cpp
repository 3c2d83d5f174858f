// SPDX-License-Identifier: Apache-2.0
// Properties of block quantization over all formats, roundings and NaN policies. Element values and
// scales are checked against plain binary64 arithmetic (golden_reference.hpp).
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "golden_formats.hpp"
#include "golden_policies.hpp"
#include "golden_reference.hpp"
#include "mxref/block.hpp"
#include "mxref/matrix.hpp"
#include "mxref/quantize.hpp"

namespace {

using golden::constants;
using golden::kind;
using golden::of;
using mxref::errc;
using mxref::index_t;
using mxref::nan_mode;
using mxref::overflow_mode;
using mxref::rounding_mode;

constexpr rounding_mode all_roundings[] = {
    rounding_mode::nearest_even, rounding_mode::nearest_away, rounding_mode::nearest_toward_zero,
    rounding_mode::toward_zero,  rounding_mode::up,           rounding_mode::down,
    rounding_mode::to_odd};
constexpr overflow_mode all_overflows[] = {overflow_mode::saturate, overflow_mode::nonsaturating,
                                           overflow_mode::saturate_full};
constexpr nan_mode all_nan_modes[] = {nan_mode::poison, nan_mode::finite, nan_mode::gfloat_inf,
                                      nan_mode::ignore};

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr double not_a_number = std::numeric_limits<double>::quiet_NaN();
constexpr std::uint8_t untouched = 0xCD;

using dynamic_quantizer = mxref::quantizer<mxref::scale::floor, mxref::rounding::dynamic,
                                           mxref::overflow::dynamic, mxref::nan::dynamic>;
dynamic_quantizer policies(rounding_mode r, overflow_mode o = overflow_mode::saturate,
                           nan_mode n = nan_mode::poison) {
  return {{}, {r}, {o}, {n}};
}

/// Deterministic random numbers (splitmix64).
class generator {
 public:
  explicit constexpr generator(std::uint64_t seed) : state_(seed) {}

  constexpr std::uint64_t bits() {
    std::uint64_t z = state_ += 0x9E3779B97F4A7C15;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EB;
    return z ^ (z >> 31);
  }
  constexpr int below(int n) { return static_cast<int>(bits() % static_cast<std::uint64_t>(n)); }
  /// A finite binary32 number with an exponent of -3..4 around the given one, zero now and then.
  constexpr float number(int exp) {
    if (below(16) == 0) return below(2) == 0 ? 0.0F : -0.0F;
    const int field = std::clamp(exp - 3 + below(8) + 127, 0, 254);
    const auto mantissa = static_cast<std::uint32_t>(bits()) & 0x807FFFFFU;
    // Short mantissas hit ties.
    const std::uint32_t mask = below(2) == 0 ? 0xFFFFFFFFU : 0xFFF80000U;
    return std::bit_cast<float>((mantissa | static_cast<std::uint32_t>(field) << 23) & mask);
  }

 private:
  std::uint64_t state_;
};

std::vector<float> random_matrix(index_t rows, index_t cols, std::uint64_t seed) {
  generator g(seed);
  std::vector<float> x;
  for (index_t row = 0; row < rows; ++row) {
    const int exp = g.below(5) == 0 ? g.below(256) - 128 : g.below(21) - 10;
    for (index_t k = 0; k < cols; ++k) x.push_back(g.number(exp));
  }
  return x;
}

/// Codes and scales with room around them, filled with a value that must survive.
struct output {
  output(mxref::format_desc f, int b, index_t r, index_t d, index_t code_padding = 0,
         index_t scale_padding = 0)
      : format(f), block(b), rows(r), depth(d) {
    code_row_bytes = depth + code_padding;
    scale_row_bytes = block_count() + scale_padding;
    codes.assign(static_cast<std::size_t>(rows * code_row_bytes), untouched);
    scales.assign(static_cast<std::size_t>(rows * scale_row_bytes), untouched);
  }

  index_t block_count() const { return (depth + block - 1) / block; }
  mxref::quantized_view view() {
    return {format, block, codes.data(), code_row_bytes, scales.data(), scale_row_bytes};
  }
  mxref::operand_view operand() const {
    mxref::operand_view v;
    v.format = format;
    v.codes = codes.data();
    v.rows = rows;
    v.depth = depth;
    v.row_bytes = code_row_bytes;
    v.block = block;
    v.scale_format = mxref::E8M0::desc;
    v.scales = scales.data();
    v.scale_row_bytes = scale_row_bytes;
    return v;
  }
  std::uint8_t code(index_t row, index_t k) const {
    return codes[static_cast<std::size_t>(row * code_row_bytes + k)];
  }
  std::uint8_t scale(index_t row, index_t b) const {
    return scales[static_cast<std::size_t>(row * scale_row_bytes + b)];
  }
  bool is_untouched() const {
    const auto intact = [](std::uint8_t x) { return x == untouched; };
    return std::ranges::all_of(codes, intact) && std::ranges::all_of(scales, intact);
  }
  friend bool operator==(const output& a, const output& b) {
    return a.codes == b.codes && a.scales == b.scales;
  }

  mxref::format_desc format;
  int block;
  index_t rows;
  index_t depth;
  index_t code_row_bytes;
  index_t scale_row_bytes;
  std::vector<std::uint8_t> codes;
  std::vector<std::uint8_t> scales;
};

template <class T>
output quantized(mxref::format_desc format, int block, const std::vector<T>& x, index_t rows,
                 index_t cols, const dynamic_quantizer& q) {
  output out(format, block, rows, cols);
  EXPECT_TRUE(mxref::quantize(mxref::view(x.data(), rows, cols), out.view(), q));
  return out;
}

template <class E>
class Quantize : public testing::Test {
 protected:
  static constexpr mxref::format_desc desc = E::desc;
  const constants& format = of<E>;

  /// Calls f(quantizer, mode) for every combination that the format takes.
  template <class F>
  void for_each_policy(F f) const {
    for (const rounding_mode r : all_roundings) {
      for (const overflow_mode o : all_overflows) {
        for (const nan_mode n : all_nan_modes) {
          if (n == nan_mode::finite && !desc.has_nan()) continue;
          SCOPED_TRACE("rounding " + std::to_string(static_cast<int>(r)) + " overflow " +
                       std::to_string(static_cast<int>(o)) + " nan " +
                       std::to_string(static_cast<int>(n)));
          f(policies(r, o, n), n);
        }
      }
    }
  }
  /// The code of an Inf that is encoded alone.
  std::uint64_t infinity_code(overflow_mode o, bool negative) const {
    if (format.family == kind::integer) {
      if (!negative) return 127;
      return o == overflow_mode::saturate_full ? 0x80 : 0x81;
    }
    if (o == overflow_mode::nonsaturating && format.family == kind::fnuz) return format.nan;
    const std::uint64_t mag = o == overflow_mode::nonsaturating ? format.infinity : format.largest;
    return mag | (negative ? format.sign : 0);
  }
};
using formats =
    testing::Types<mxref::E5M2, mxref::E4M3, mxref::E3M2, mxref::E2M3, mxref::E2M1, mxref::INT8,
                   golden::E4M3FNUZ, golden::E5M2FNUZ, golden::E4M3IEEE, golden::E3M4>;
TYPED_TEST_SUITE(Quantize, formats, golden::format_names);

// ---- Values: scale = floor(log2 amax) - emax, clamped; elements rounded once.

TYPED_TEST(Quantize, ScalesAndElementsAreExact) {
  const std::vector<float> x = random_matrix(64, 96, 1);
  for (const rounding_mode r : all_roundings) {
    const output out = quantized(this->desc, 32, x, 64, 96, policies(r));
    std::vector<double> values(x.size());
    ASSERT_TRUE(mxref::dequantize(out.operand(), mxref::view(values.data(), 64, 96)));
    for (std::size_t first = 0; first < x.size(); first += 32) {
      double amax = 0;
      for (std::size_t i = first; i < first + 32; ++i) {
        amax = std::max(amax, std::fabs(double{x[i]}));
      }
      const int exp = golden::exact_scale_exp(amax, this->format);
      const auto row = static_cast<index_t>(first / 96);
      ASSERT_EQ(out.scale(row, static_cast<index_t>(first % 96 / 32)), exp + 127);
      for (std::size_t i = first; i < first + 32; ++i) {
        const double want = golden::exact_block_element(x[i], exp, this->format, r);
        ASSERT_EQ(std::bit_cast<std::uint64_t>(values[i]), std::bit_cast<std::uint64_t>(want))
            << "rounding " << static_cast<int>(r) << " of " << std::hexfloat << x[i]
            << " scale exponent " << exp << " gives " << values[i] << ", expected " << want;
      }
    }
  }
}

TYPED_TEST(Quantize, ScaleIsClampedAtBothEnds) {
  // Binary64 reaches beyond what any E8M0 scale can follow.
  const double tiny = std::numeric_limits<double>::denorm_min();
  const double huge = std::numeric_limits<double>::max();
  for (const rounding_mode r : all_roundings) {
    const std::vector<double> x{tiny, -tiny, huge, -huge, 0x1p-149, -0x1p-149};
    const output out = quantized(this->desc, 2, x, 1, 6, policies(r));
    EXPECT_EQ(out.scale(0, 0), 0);
    EXPECT_EQ(out.scale(0, 1), 254);
    EXPECT_EQ(out.scale(0, 2), 0);
    for (index_t k = 0; k < 6; ++k) {
      const double X = std::ldexp(1.0, out.scale(0, k / 2) - 127);
      const double want =
          golden::exact_element(x[static_cast<std::size_t>(k)] / X, this->format, r);
      const auto got = static_cast<double>(TypeParam{out.code(0, k)});
      // The quotient of the smallest numbers is a subnormal binary64 or zero; only its direction
      // matters, so those two are checked by hand below.
      if (k >= 2) {
        EXPECT_EQ(got, want) << k;
      }
    }
    const double up = r == rounding_mode::up || r == rounding_mode::to_odd ? 1 : 0;
    const double down = r == rounding_mode::down || r == rounding_mode::to_odd ? 1 : 0;
    EXPECT_EQ(static_cast<double>(TypeParam{out.code(0, 0)}), up * this->format.quantum);
    EXPECT_EQ(static_cast<double>(TypeParam{out.code(0, 1)}), -down * this->format.quantum);
  }
}

TYPED_TEST(Quantize, ScaleAtTheEdgesOfBinary32) {
  const int emax = std::ilogb(this->format.largest_value);
  const float largest = std::numeric_limits<float>::max();
  const std::vector<float> x{
      largest, 0x1p127F, 0x1p-126F, 0x1p-127F, 0x1p-149F, 1.0F, std::nextafter(1.0F, 0.0F)};
  const output out = quantized(this->desc, 1, x, 1, 7, policies(rounding_mode::nearest_even));
  EXPECT_EQ(out.scale(0, 0), 254 - emax);
  EXPECT_EQ(out.scale(0, 1), 254 - emax);
  EXPECT_EQ(out.scale(0, 2), std::max(0, 1 - emax));
  EXPECT_EQ(out.scale(0, 3), 0);
  EXPECT_EQ(out.scale(0, 4), 0);
  EXPECT_EQ(out.scale(0, 5), 127 - emax);
  EXPECT_EQ(out.scale(0, 6), 126 - emax);
}

TYPED_TEST(Quantize, ZeroBlocksKeepSigns) {
  std::vector<float> x(32, 0.0F);
  for (std::size_t i = 0; i < 32; i += 3) x[i] = -0.0F;
  const bool one_zero = this->format.family == kind::integer || this->format.family == kind::fnuz;
  this->for_each_policy([&](const dynamic_quantizer& q, nan_mode) {
    const output out = quantized(this->desc, 32, x, 1, 32, q);
    EXPECT_EQ(out.scale(0, 0), 0);
    for (index_t i = 0; i < 32; ++i) {
      EXPECT_EQ(out.code(0, i), i % 3 == 0 && !one_zero ? this->format.sign : 0) << i;
    }
  });
}

TYPED_TEST(Quantize, EveryRoundingReachesTheElements) {
  // 1 sets the scale; the rest lie a quarter, a half and three quarters between two neighbours.
  const double step_at_half =
      std::ldexp(1.0, this->format.family == kind::integer ? -6 : -1 - this->format.mantissa_bits);
  std::vector<double> x{1.0};
  for (const double s : {1.0, -1.0}) {
    for (const double f : {0.25, 0.5, 0.75, 1.25, 1.5, 1.75}) {
      x.push_back(s * (0.5 + f * step_at_half));
    }
  }
  const auto n = static_cast<index_t>(x.size());
  std::vector<std::vector<std::uint8_t>> seen;
  for (const rounding_mode r : all_roundings) {
    const output out = quantized(this->desc, static_cast<int>(n), x, 1, n, policies(r));
    for (std::size_t i = 0; i < seen.size(); ++i) {
      EXPECT_NE(out.codes, seen[i]) << "roundings " << i << " and " << static_cast<int>(r);
    }
    seen.push_back(out.codes);
  }
}

// ---- Shapes: axis, strides, tails, block sizes.

TYPED_TEST(Quantize, AxisZeroIsTheTransposedInput) {
  constexpr index_t rows = 70;
  constexpr index_t cols = 9;
  const std::vector<float> x = random_matrix(rows, cols, 2);
  std::vector<float> transposed(x.size());
  for (index_t r = 0; r < rows; ++r) {
    for (index_t c = 0; c < cols; ++c) {
      transposed[static_cast<std::size_t>(c * rows + r)] =
          x[static_cast<std::size_t>(r * cols + c)];
    }
  }
  this->for_each_policy([&](const dynamic_quantizer& q, nan_mode) {
    const output want = quantized(this->desc, 32, transposed, cols, rows, q);
    output got(this->desc, 32, cols, rows);
    ASSERT_TRUE(mxref::quantize(mxref::view(x.data(), rows, cols), got.view(), q, {0, false}));
    EXPECT_TRUE(got == want);

    // Axis 1 is another name of -1.
    output named(this->desc, 32, rows, cols);
    ASSERT_TRUE(mxref::quantize(mxref::view(x.data(), rows, cols), named.view(), q, {1, false}));
    EXPECT_TRUE(named == quantized(this->desc, 32, x, rows, cols, q));

    // dequantize restores the shape along the same axis.
    std::vector<float> back(x.size());
    std::vector<float> k_major(x.size());
    ASSERT_TRUE(mxref::dequantize(got.operand(), mxref::view(back.data(), rows, cols), 0));
    ASSERT_TRUE(mxref::dequantize(got.operand(), mxref::view(k_major.data(), cols, rows)));
    for (index_t r = 0; r < rows; ++r) {
      for (index_t c = 0; c < cols; ++c) {
        ASSERT_EQ(std::bit_cast<std::uint32_t>(back[static_cast<std::size_t>(r * cols + c)]),
                  std::bit_cast<std::uint32_t>(k_major[static_cast<std::size_t>(c * rows + r)]));
      }
    }
  });
}

TYPED_TEST(Quantize, StridesAndPaddingBytes) {
  constexpr index_t rows = 5;
  constexpr index_t cols = 40;
  const std::vector<float> x = random_matrix(rows, cols, 3);
  const dynamic_quantizer q = policies(rounding_mode::nearest_even);
  const output want = quantized(this->desc, 32, x, rows, cols, q);

  // Input with gaps between columns and rows; the gaps hold NaN, which would poison.
  constexpr index_t col_stride = 3;
  constexpr index_t row_stride = cols * col_stride + 7;
  std::vector<float> spread(static_cast<std::size_t>(rows * row_stride),
                            std::numeric_limits<float>::quiet_NaN());
  for (index_t r = 0; r < rows; ++r) {
    for (index_t c = 0; c < cols; ++c) {
      spread[static_cast<std::size_t>(r * row_stride + c * col_stride)] =
          x[static_cast<std::size_t>(r * cols + c)];
    }
  }
  output got(this->desc, 32, rows, cols, 11, 4);
  const mxref::matrix_view<const float> gaps{spread.data(), rows, cols, row_stride, col_stride};
  ASSERT_TRUE(mxref::quantize(gaps, got.view(), q));

  // Rows in reverse order, by a negative stride.
  output reversed(this->desc, 32, rows, cols);
  const mxref::matrix_view<const float> backwards{x.data() + (rows - 1) * cols, rows, cols, -cols,
                                                  1};
  ASSERT_TRUE(mxref::quantize(backwards, reversed.view(), q));

  for (index_t r = 0; r < rows; ++r) {
    for (index_t k = 0; k < cols; ++k) {
      ASSERT_EQ(got.code(r, k), want.code(r, k)) << r << ' ' << k;
      ASSERT_EQ(reversed.code(rows - 1 - r, k), want.code(r, k)) << r << ' ' << k;
    }
    for (index_t k = cols; k < got.code_row_bytes; ++k) EXPECT_EQ(got.code(r, k), untouched);
    for (index_t b = 0; b < want.block_count(); ++b) {
      ASSERT_EQ(got.scale(r, b), want.scale(r, b));
      ASSERT_EQ(reversed.scale(rows - 1 - r, b), want.scale(r, b));
    }
    for (index_t b = want.block_count(); b < got.scale_row_bytes; ++b) {
      EXPECT_EQ(got.scale(r, b), untouched);
    }
  }

  // dequantize: strides of the output.
  std::vector<double> plain(x.size());
  std::vector<double> wide(static_cast<std::size_t>(rows * row_stride), -1.0);
  ASSERT_TRUE(mxref::dequantize(want.operand(), mxref::view(plain.data(), rows, cols)));
  const mxref::matrix_view<double> holes{wide.data(), rows, cols, row_stride, col_stride};
  ASSERT_TRUE(mxref::dequantize(got.operand(), holes));
  for (index_t r = 0; r < rows; ++r) {
    for (index_t c = 0; c < cols; ++c) {
      const double v = holes(r, c);
      ASSERT_EQ(v, plain[static_cast<std::size_t>(r * cols + c)]);
      holes(r, c) = -1.0;
    }
  }
  EXPECT_TRUE(std::ranges::all_of(wide, [](double v) { return v == -1.0; })) << "wrote into a gap";
}

// Every block stands alone: a row of blocks of any size is the blocks one by one.
TYPED_TEST(Quantize, BlocksAreIndependent) {
  constexpr index_t cols = 101;
  const std::vector<float> x = random_matrix(3, cols, 4);
  for (const int block : {1, 5, 16, 32, 64, 128}) {
    this->for_each_policy([&](const dynamic_quantizer& q, nan_mode) {
      const output all = quantized(this->desc, block, x, 3, cols, q);
      EXPECT_EQ(all.block_count(), (cols + block - 1) / block);
      for (index_t r = 0; r < 3; ++r) {
        for (index_t k = 0; k < cols; k += block) {
          const auto count = static_cast<int>(std::min<index_t>(block, cols - k));
          mxref::E8M0 scale;
          std::vector<std::uint8_t> codes(static_cast<std::size_t>(count), untouched);
          mxref::quantize_block(&x[static_cast<std::size_t>(r * cols + k)], 1, count, this->desc, q,
                                scale, codes.data());
          ASSERT_EQ(scale.code, all.scale(r, k / block)) << "block " << block << " at " << k;
          for (int i = 0; i < count; ++i) {
            ASSERT_EQ(codes[static_cast<std::size_t>(i)], all.code(r, k + i));
          }
        }
      }
    });
  }
}

// The missing elements of a tail are absent: they are as zeros to amax, and they are not read.
TYPED_TEST(Quantize, TailElementsAreAbsent) {
  using block = mxref::mx_block<TypeParam, 32>;
  const std::vector<float> x = random_matrix(1, 70, 5);
  const dynamic_quantizer q = policies(rounding_mode::nearest_even);
  const output tail = quantized(this->desc, 32, x, 1, 70, q);
  std::vector<float> padded = x;
  padded.resize(96, 0.0F);
  const output full = quantized(this->desc, 32, padded, 1, 96, q);
  ASSERT_EQ(tail.block_count(), 3);
  EXPECT_EQ(tail.scales, full.scales);
  for (index_t k = 0; k < 70; ++k) EXPECT_EQ(tail.code(0, k), full.code(0, k)) << k;

  // A single block: what lies behind the tail must not matter, and the codes there are 0.
  std::vector<float> dirty(x.begin() + 64, x.begin() + 70);
  dirty.resize(32, std::numeric_limits<float>::quiet_NaN());
  const auto b = mxref::quantize<block>(dirty.data(), 6);
  EXPECT_EQ(b.scale().code, tail.scale(0, 2));
  for (int i = 0; i < 32; ++i) {
    EXPECT_EQ(b.element(i).code, i < 6 ? tail.code(0, 64 + i) : 0) << i;
  }
  const auto nothing = mxref::quantize<block>(dirty.data(), 0);
  EXPECT_EQ(nothing, block{}) << "no elements: scale code 0, codes 0";
}

TYPED_TEST(Quantize, StrictRefusesTails) {
  // Lines of 70 along rows or down columns; the other extent is a multiple of the block.
  const std::vector<float> x = random_matrix(64, 70, 6);
  const dynamic_quantizer q = policies(rounding_mode::nearest_even);
  output rows(this->desc, 32, 64, 70);
  output columns(this->desc, 32, 70, 64);
  const auto wide = mxref::view(x.data(), 64, 70);
  const auto tall = mxref::view(x.data(), 70, 64);
  EXPECT_EQ(mxref::quantize(wide, rows.view(), q, {-1, true}).code, errc::partial_block);
  EXPECT_EQ(mxref::quantize(wide, rows.view(), q, {1, true}).code, errc::partial_block);
  EXPECT_EQ(mxref::quantize(tall, rows.view(), q, {0, true}).code, errc::partial_block);
  EXPECT_TRUE(rows.is_untouched());
  EXPECT_TRUE(mxref::quantize(wide, columns.view(), q, {0, true}));
  output same(this->desc, 32, 70, 64);
  EXPECT_TRUE(mxref::quantize(tall, same.view(), q, {-1, true}));
  EXPECT_TRUE(same == quantized(this->desc, 32, x, 70, 64, q));
  output exact(this->desc, 35, 64, 70);
  EXPECT_TRUE(mxref::quantize(wide, exact.view(), q, {-1, true}));
  EXPECT_TRUE(exact == quantized(this->desc, 35, x, 64, 70, q));
}

TYPED_TEST(Quantize, EmptyMatrices) {
  const dynamic_quantizer q = policies(rounding_mode::nearest_even);
  output out(this->desc, 32, 2, 70);
  EXPECT_TRUE(mxref::quantize(mxref::view<const float>(nullptr, 0, 64), out.view(), q));
  EXPECT_TRUE(mxref::quantize(mxref::view<const float>(nullptr, 64, 0), out.view(), q));
  EXPECT_TRUE(out.is_untouched());
}

// ---- One block, one matrix, one view: the same bytes.

TYPED_TEST(Quantize, BlockAndMatrixAgree) {
  constexpr index_t rows = 7;
  constexpr index_t cols = 96;
  const std::vector<float> x = random_matrix(rows, cols, 7);
  for (const rounding_mode mode : all_roundings) {
    golden::with_rounding(mode, [&](auto rounding) {
      const auto check = [&]<int B>(std::integral_constant<int, B>) {
        using block = mxref::mx_block<TypeParam, B>;
        const auto matrix = mxref::quantize<block>(mxref::view(x.data(), rows, cols),
                                                   mxref::scale::floor{}, rounding);
        const output want = quantized(this->desc, B, x, rows, cols, policies(mode));
        ASSERT_EQ(matrix.rows(), rows);
        ASSERT_EQ(matrix.depth(), cols);
        ASSERT_EQ(matrix.block_count(), cols / B);
        EXPECT_TRUE(std::ranges::equal(
            want.codes, std::vector<std::uint8_t>(matrix.codes(), matrix.codes() + rows * cols)));
        EXPECT_TRUE(std::ranges::equal(
            want.scales,
            std::vector<std::uint8_t>(matrix.scales(), matrix.scales() + rows * (cols / B))));
        std::vector<float> values(x.size());
        std::vector<double> wide(x.size());
        ASSERT_TRUE(mxref::dequantize(matrix.operand(), mxref::view(values.data(), rows, cols)));
        ASSERT_TRUE(mxref::dequantize(matrix.operand(), mxref::view(wide.data(), rows, cols)));
        for (index_t r = 0; r < rows; ++r) {
          for (index_t b = 0; b < cols / B; ++b) {
            const auto one = mxref::quantize<block>(&x[static_cast<std::size_t>(r * cols + b * B)],
                                                    mxref::scale::floor{}, rounding);
            ASSERT_EQ(one.scale(), matrix.scale(r, b));
            for (int i = 0; i < B; ++i) {
              const index_t k = b * B + i;
              const auto at = static_cast<std::size_t>(r * cols + k);
              ASSERT_EQ(one.element(i), matrix.element(r, k));
              ASSERT_EQ(std::bit_cast<std::uint32_t>(one.value(i)),
                        std::bit_cast<std::uint32_t>(values[at]));
              ASSERT_EQ(std::bit_cast<std::uint64_t>(one.template value<double>(i)),
                        std::bit_cast<std::uint64_t>(wide[at]));
              ASSERT_EQ(std::bit_cast<std::uint64_t>(matrix.template value<double>(r, k)),
                        std::bit_cast<std::uint64_t>(wide[at]));
            }
          }
        }
      };
      check(std::integral_constant<int, 16>{});
      check(std::integral_constant<int, 32>{});
    });
  }
}

// ---- binary64 input.

TYPED_TEST(Quantize, Binary64InputEqualsBinary32) {
  const std::vector<float> x = random_matrix(16, 64, 8);
  const std::vector<double> wide(x.begin(), x.end());
  this->for_each_policy([&](const dynamic_quantizer& q, nan_mode) {
    EXPECT_TRUE(quantized(this->desc, 32, x, 16, 64, q) ==
                quantized(this->desc, 32, wide, 16, 64, q));
  });
}

TYPED_TEST(Quantize, Binary64InputIsRoundedOnce) {
  // Just above a tie whose even neighbour lies below: in binary32 it would be the tie itself.
  const double ulp =
      std::ldexp(1.0, this->format.family == kind::integer ? -6 : -this->format.mantissa_bits);
  const double above = (1 + ulp / 2) * (1 + 0x1p-40);
  const std::vector<double> x{above, -above, above * (1 - 0x1p-39), 1.0};
  const output direct = quantized(this->desc, 4, x, 1, 4, policies(rounding_mode::nearest_even));
  const std::vector<float> narrow(x.begin(), x.end());
  const output twice =
      quantized(this->desc, 4, narrow, 1, 4, policies(rounding_mode::nearest_even));
  const int one = direct.code(0, 3);
  EXPECT_EQ(direct.code(0, 0), one + 1);
  EXPECT_EQ(direct.code(0, 2), one);
  EXPECT_EQ(twice.code(0, 0), one) << "through binary32 the trap must spring";
  EXPECT_EQ(direct.scales, twice.scales);
  const double X = std::ldexp(1.0, direct.scale(0, 0) - 127);
  EXPECT_EQ(static_cast<double>(TypeParam{direct.code(0, 1)}) * X, -(1 + ulp));
  // amax itself must not be rounded: just below 2 is still below 2.
  const std::vector<double> below_two{2 - 0x1p-52, 1.0};
  EXPECT_EQ(quantized(this->desc, 2, below_two, 1, 2, policies(rounding_mode::nearest_even)).scales,
            direct.scales);
}

// ---- NaN and Inf.

TYPED_TEST(Quantize, NanPolicies) {
  std::vector<float> clean = random_matrix(1, 96, 9);
  // 1.5 sets the scale of every block.
  for (std::size_t i = 0; i < 96; ++i) {
    clean[i] = i % 32 == 0 ? 1.5F : std::ldexp(static_cast<float>(i % 7) - 3.0F, -2);
  }
  const auto nan = static_cast<float>(not_a_number);
  const auto inf = static_cast<float>(infinity);
  std::vector<float> x = clean;
  x[5] = inf;  // block 0: Inf of both signs
  x[6] = -inf;
  x[37] = nan;  // block 1: NaN of both signs and Inf
  x[38] = -nan;
  x[39] = -inf;
  std::vector<float> zeroed = x;  // the same with zeros in place of what is not finite
  for (float& v : zeroed) v = std::isfinite(v) ? v : 0.0F;

  this->for_each_policy([&](const dynamic_quantizer& q, nan_mode mode) {
    const output out = quantized(this->desc, 32, x, 1, 96, q);
    const output plain = quantized(this->desc, 32, zeroed, 1, 96, q);
    const auto poisoned = [&](index_t b) {
      EXPECT_EQ(out.scale(0, b), 0xFF) << "block " << b;
      for (index_t i = 0; i < 32; ++i) EXPECT_EQ(out.code(0, 32 * b + i), 0) << b << ' ' << i;
    };
    const auto is_plain = [&](index_t k) { EXPECT_EQ(out.code(0, k), plain.code(0, k)) << k; };
    // Block 2 is clean under every policy.
    EXPECT_EQ(out.scale(0, 2), plain.scale(0, 2));
    for (index_t k = 64; k < 96; ++k) is_plain(k);

    switch (mode) {
      case nan_mode::poison:
        poisoned(0);
        poisoned(1);
        break;
      case nan_mode::finite:
        for (index_t b = 0; b < 2; ++b) EXPECT_EQ(out.scale(0, b), plain.scale(0, b));
        for (index_t k = 0; k < 64; ++k) {
          const float v = x[static_cast<std::size_t>(k)];
          if (std::isnan(v)) {
            EXPECT_EQ(out.code(0, k), this->format.nan);
          } else if (std::isinf(v)) {
            EXPECT_EQ(out.code(0, k), this->infinity_code(q.overflow.mode, v < 0)) << k;
          } else {
            is_plain(k);
          }
        }
        break;
      case nan_mode::gfloat_inf:
      case nan_mode::ignore: {
        // Both blocks hold an Inf; block 1 also NaN, which only gfloat_inf minds.
        if (mode == nan_mode::gfloat_inf) poisoned(1);
        const index_t end = mode == nan_mode::gfloat_inf ? 32 : 64;
        for (index_t b = 0; b < end / 32; ++b) EXPECT_EQ(out.scale(0, b), 254);
        for (index_t k = 0; k < end; ++k) {
          const float v = x[static_cast<std::size_t>(k)];
          if (std::isnan(v)) {
            EXPECT_EQ(out.code(0, k), this->format.nan);
          } else if (std::isinf(v)) {
            EXPECT_EQ(out.code(0, k), this->infinity_code(q.overflow.mode, v < 0)) << k;
          } else {
            const double want =
                golden::exact_element(std::ldexp(double{v}, -127), this->format, q.rounding.mode);
            EXPECT_EQ(static_cast<double>(TypeParam{out.code(0, k)}), want) << k;
          }
        }
        break;
      }
    }
  });
  // A poisoned block decodes to NaN everywhere.
  const output out = quantized(this->desc, 32, x, 1, 96, policies(rounding_mode::nearest_even));
  std::vector<float> values(96);
  ASSERT_TRUE(mxref::dequantize(out.operand(), mxref::view(values.data(), 1, 96)));
  for (std::size_t i = 0; i < 96; ++i) {
    if (i < 64) {
      EXPECT_EQ(std::bit_cast<std::uint32_t>(values[i]), 0x7FC00000U) << i;
    } else {
      EXPECT_TRUE(std::isfinite(values[i])) << i;
    }
  }
}

// A format without NaN refuses a NaN that would have to be stored, wherever it is, and only that.
TYPED_TEST(Quantize, UnrepresentableNan) {
  const dynamic_quantizer q =
      policies(rounding_mode::nearest_even, overflow_mode::saturate, nan_mode::finite);
  std::vector<float> x = random_matrix(3, 40, 10);
  x[1] = static_cast<float>(-infinity);
  output out(this->desc, 32, 3, 40);
  EXPECT_TRUE(mxref::quantize(mxref::view(x.data(), 3, 40), out.view(), q)) << "Inf saturates";
  EXPECT_EQ(out.code(0, 1), this->infinity_code(overflow_mode::saturate, true));
  for (const std::size_t at : {std::size_t{0}, x.size() - 1}) {
    std::vector<float> bad = x;
    bad[at] = static_cast<float>(not_a_number);
    output refused(this->desc, 32, 3, 40);
    const errc code = mxref::quantize(mxref::view(bad.data(), 3, 40), refused.view(), q).code;
    EXPECT_EQ(code, this->desc.has_nan() ? errc::ok : errc::unrepresentable_nan) << at;
    EXPECT_EQ(refused.is_untouched(), !this->desc.has_nan()) << at;
  }
}

// ---- Requantizing: floor gives the same bytes.

TYPED_TEST(Quantize, RequantizingGivesTheSameBytes) {
  std::vector<float> x = random_matrix(96, 64, 11);
  for (std::size_t i = 0; i < 64; ++i) x[i] = i % 2 == 0 ? 0.0F : -0.0F;  // zero blocks
  x[64] = static_cast<float>(not_a_number);                               // a poisoned block
  for (std::size_t i = 128; i < 192; ++i) x[i] = std::ldexp(x[i], -140);  // clamped scales
  for (const rounding_mode r : all_roundings) {
    for (const overflow_mode o : {overflow_mode::saturate, overflow_mode::saturate_full}) {
      if (o == overflow_mode::saturate_full && this->format.family == kind::integer) continue;
      const dynamic_quantizer q = policies(r, o);
      const output once = quantized(this->desc, 32, x, 96, 64, q);
      std::vector<double> values(x.size());
      ASSERT_TRUE(mxref::dequantize(once.operand(), mxref::view(values.data(), 96, 64)));
      for (const rounding_mode again : all_roundings) {
        const output twice = quantized(this->desc, 32, values, 96, 64, policies(again, o));
        EXPECT_TRUE(once == twice)
            << "roundings " << static_cast<int>(r) << ' ' << static_cast<int>(again);
      }
    }
  }
}

// The exception: code -128 is -2, which opens the next binade, so its block is scaled anew.
TEST(QuantizeInt8, RequantizingTheCodeForMinusTwo) {
  const dynamic_quantizer q = policies(rounding_mode::nearest_even, overflow_mode::saturate_full);
  const std::vector<double> x{-1.999, 0x1p-6};
  const output once = quantized(mxref::INT8::desc, 2, x, 1, 2, q);
  EXPECT_EQ(once.scale(0, 0), 127);
  EXPECT_EQ(once.codes, (std::vector<std::uint8_t>{0x80, 1}));
  std::vector<double> values(2);
  ASSERT_TRUE(mxref::dequantize(once.operand(), mxref::view(values.data(), 1, 2)));
  EXPECT_EQ(values, (std::vector<double>{-2.0, 0x1p-6}));
  const output twice = quantized(mxref::INT8::desc, 2, values, 1, 2, q);
  EXPECT_EQ(twice.scale(0, 0), 128);
  EXPECT_EQ(twice.codes, (std::vector<std::uint8_t>{0xC0, 0}));
}

// ---- Scale policies of a user.

/// Two powers of two above floor, and NaN for a large amax.
struct user_scale {
  mxref::format_desc* seen;

  mxref::E8M0 operator()(const mxref::number& amax, mxref::format_desc element) const {
    *seen = element;
    const mxref::E8M0 floor = mxref::scale::floor{}(amax, element);
    return mxref::E8M0{
        static_cast<std::uint8_t>(mxref::from_number<double>(amax) > 64 ? 0xFF : floor.code + 2)};
  }
};
static_assert(mxref::scale_policy<user_scale>);

TYPED_TEST(Quantize, UserScalePolicy) {
  mxref::format_desc seen{};
  const mxref::quantizer<user_scale> q{{&seen}, {}, {}, {}};
  std::vector<float> x(64, -3.0F);
  x[40] = 100.0F;
  output out(this->desc, 32, 1, 64);
  ASSERT_TRUE(mxref::quantize(mxref::view(x.data(), 1, 64), out.view(), q));
  EXPECT_EQ(seen, this->desc);
  const int emax = std::ilogb(this->format.largest_value);
  EXPECT_EQ(out.scale(0, 0), 1 - emax + 127 + 2);
  for (index_t i = 0; i < 32; ++i) {
    const double want =
        golden::exact_block_element(-3.0, 3 - emax, this->format, rounding_mode::nearest_even);
    EXPECT_EQ(std::ldexp(static_cast<double>(TypeParam{out.code(0, i)}), 3 - emax), want);
  }
  // A scale that overflows to NaN poisons its block.
  EXPECT_EQ(out.scale(0, 1), 0xFF);
  for (index_t i = 32; i < 64; ++i) EXPECT_EQ(out.code(0, i), 0);
}

// ---- Errors: the right code, and not a byte written.

TYPED_TEST(Quantize, ErrorsTouchNoOutput) {
  const std::vector<float> x = random_matrix(4, 64, 12);
  const dynamic_quantizer q = policies(rounding_mode::nearest_even);
  const auto in = mxref::view(x.data(), 4, 64);
  output out(this->desc, 32, 4, 64);
  for (const int axis : {-3, -2, 2, 3}) {
    EXPECT_EQ(mxref::quantize(in, out.view(), q, {axis, false}).code, errc::shape_mismatch);
  }
  for (const int block : {0, -1}) {
    mxref::quantized_view bad = out.view();
    bad.block = block;
    EXPECT_EQ(mxref::quantize(in, bad, q).code, errc::shape_mismatch);
  }
  for (const auto& [rows, cols] : {std::pair{-1, 64}, std::pair{4, -1}}) {
    EXPECT_EQ(mxref::quantize(mxref::view(x.data(), rows, cols), out.view(), q).code,
              errc::shape_mismatch);
  }
  mxref::quantized_view wide = out.view();
  wide.format = mxref::bfloat16::desc;
  EXPECT_EQ(mxref::quantize(in, wide, q).code, errc::unsupported_format);
  wide.format = mxref::format_desc{0, 0, 0};
  EXPECT_EQ(mxref::quantize(in, wide, q).code, errc::unsupported_format);
  EXPECT_TRUE(out.is_untouched());

  const output good = quantized(this->desc, 32, x, 4, 64, q);
  std::vector<float> values(4 * 64, 7.0F);
  const auto wrong_shape = [&](index_t rows, index_t cols, int axis) {
    EXPECT_EQ(mxref::dequantize(good.operand(), mxref::view(values.data(), rows, cols), axis).code,
              errc::shape_mismatch)
        << rows << ' ' << cols << ' ' << axis;
  };
  wrong_shape(4, 63, -1);
  wrong_shape(3, 64, -1);
  wrong_shape(64, 4, -1);
  wrong_shape(4, 64, 0);
  wrong_shape(4, 64, 2);
  wrong_shape(4, 64, -2);
  EXPECT_TRUE(std::ranges::all_of(values, [](float v) { return v == 7.0F; }));
}

// ---- Constant expressions.

constexpr std::array<float, 32> constant_input(std::uint64_t seed) {
  generator g(seed);
  std::array<float, 32> x{};
  for (float& v : x) v = g.number(2);
  return x;
}

template <class E, class R>
struct constant_block {
  static constexpr std::array<float, 32> input = constant_input(13);
  static constexpr mxref::mx_block<E, 32> value =
      mxref::quantize<mxref::mx_block<E, 32>>(input.data(), mxref::scale::floor{}, R{});
  static constexpr float last = value.value(31);
};

TYPED_TEST(Quantize, ConstantExpressionsAgree) {
  for (const rounding_mode mode : all_roundings) {
    golden::with_rounding(mode, [&]<class R>(R rounding) {
      using constant = constant_block<TypeParam, R>;
      const std::vector<float> x(constant::input.begin(), constant::input.end());
      using block = mxref::mx_block<TypeParam, 32>;
      const block at_run_time = mxref::quantize<block>(x.data(), mxref::scale::floor{}, rounding);
      EXPECT_EQ(constant::value, at_run_time);
      EXPECT_EQ(std::bit_cast<std::uint32_t>(constant::last),
                std::bit_cast<std::uint32_t>(at_run_time.value(31)));
      EXPECT_NE(constant::value, block{});
    });
  }
}

}  // namespace
