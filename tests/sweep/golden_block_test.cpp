// SPDX-License-Identifier: Apache-2.0
// Whole blocks, tails and packing against every oracle whose scale rule the library has.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "golden_formats.hpp"
#include "golden_policies.hpp"
#include "golden_reference.hpp"
#include "mxref/packing.hpp"
#include "mxref/quantize.hpp"
#include "support/golden.hpp"

namespace {

using golden::constants;
using golden::kind;
using golden::of;
using mxref::index_t;
using mxref::rounding_mode;

constexpr int block_size = 32;

std::vector<float> load_floats(const std::string& name) {
  std::vector<float> x;
  for (const std::uint64_t bits : golden::load(name)) x.push_back(golden::to_float(bits));
  return x;
}

std::uint64_t bits(float x) { return std::bit_cast<std::uint32_t>(x); }

/// What matters of a block's input.
struct block_facts {
  bool has_nan = false;
  bool has_inf = false;
  double amax = 0;  ///< of the finite elements

  void add(float x) {
    has_nan |= std::isnan(x);
    has_inf |= std::isinf(x);
    if (std::isfinite(x)) amax = std::max(amax, std::fabs(double{x}));
  }
  bool special() const { return has_nan || has_inf; }
};

std::vector<block_facts> facts_of(const std::vector<float>& x) {
  std::vector<block_facts> facts(x.size() / block_size);
  for (std::size_t i = 0; i < x.size(); ++i) facts[i / block_size].add(x[i]);
  return facts;
}

/// The library's result for a matrix of one block per row.
struct quantized {
  std::vector<std::uint8_t> scales;
  std::vector<std::uint8_t> codes;
  std::vector<float> values;
};

template <class E, class R, class O, class P, class S = mxref::scale::floor>
quantized quantize_all(const std::vector<float>& x, R rounding, O overflow, P on_nan, S rule = {}) {
  using block = mxref::mx_block<E, block_size>;
  const index_t rows = static_cast<index_t>(x.size()) / block_size;
  const auto matrix = mxref::quantize<block>(mxref::view(x.data(), rows, block_size), rule,
                                             rounding, overflow, on_nan);
  quantized q;
  q.scales.assign(matrix.scales(), matrix.scales() + rows);
  q.codes.assign(matrix.codes(), matrix.codes() + x.size());
  q.values.resize(x.size());
  EXPECT_TRUE(mxref::dequantize(matrix.operand(), mxref::view(q.values.data(), rows, block_size)));
  // The single block must agree with the matrix, in codes and in values.
  for (index_t row = 0; row < rows; ++row) {
    const auto b = mxref::quantize<block>(&x[static_cast<std::size_t>(row * block_size)], rule,
                                          rounding, overflow, on_nan);
    EXPECT_EQ(b.scale(), matrix.scale(row, 0)) << "block " << row;
    for (int i = 0; i < block_size; ++i) {
      EXPECT_EQ(b.element(i), matrix.element(row, i)) << "block " << row << " element " << i;
      EXPECT_EQ(bits(b.value(i)), bits(q.values[static_cast<std::size_t>(row * block_size + i)]))
          << "block " << row << " element " << i;
    }
  }
  return q;
}

/// The documented value of an element (OCP MX 6.3, poison for NaN and Inf), and what an oracle that
/// is known to differ gives instead, under the name of the divergence.
struct prediction {
  std::uint64_t documented;
  std::uint64_t oracle;
  const char* id;
};

void apply(golden::comparison& row, std::size_t i, std::uint64_t got, const prediction& p) {
  if (p.documented == p.oracle) {
    row.equal(i, got);
  } else {
    row.diverges(i, p.id, got, p.documented, p.oracle);
  }
}

constexpr std::uint64_t quiet_nan = 0x7FC00000;
constexpr std::uint64_t minus_zero = 0x80000000;

std::uint64_t documented_value(float x, const block_facts& b, const constants& f, rounding_mode r) {
  if (b.special()) return quiet_nan;
  return golden::float_bits(
      golden::exact_block_element(x, golden::exact_scale_exp(b.amax, f), f, r));
}

/// microxcaling's C++ path: exact floor scale; zeros lose their sign; flushing is by the block.
prediction predict_mxcpp(float x, const block_facts& b, const constants& f, rounding_mode r,
                         bool flush) {
  prediction p{documented_value(x, b, f, r), 0, "mxcpp_zero_sign"};
  p.oracle = p.documented == minus_zero ? 0 : p.documented;
  if (flush && !b.special() && b.amax < 0x1p-126 && p.oracle != 0) {
    p.oracle = 0;
    p.id = "flush_fp32_subnorms";
  }
  return p;
}

/// microxcaling's Python path: floor of a binary32 log2, and the element core's own defects.
prediction predict_microx(float x, const block_facts& b, const constants& f, rounding_mode r,
                          bool flush) {
  if (b.special()) return {quiet_nan, quiet_nan, nullptr};
  prediction p{documented_value(x, b, f, r), 0, nullptr};
  const int exp = golden::microx_scale_exp(b.amax, f);
  const double scaled = std::ldexp(double{x}, -exp);
  const bool flushed = flush && b.amax > 0 && golden::microx_log2(b.amax) <= -127;
  if (exp > 127) {
    p.oracle = quiet_nan;
  } else if (!flushed) {
    p.oracle = golden::float_bits(std::ldexp(golden::microx_element(scaled, f, r), exp));
  }
  if (flushed) {
    p.id = "flush_fp32_subnorms";
  } else if (b.amax > 0 && exp != golden::exact_scale_exp(b.amax, f)) {
    p.id = "microx_log2_scale";
  } else if (x == 0) {
    p.id = "microx_negzero";
  } else if (f.family == kind::integer && p.oracle == minus_zero) {
    p.id = "int8_negative_zero";
  } else if (r != rounding_mode::toward_zero && std::fabs(scaled) == (0.5 - 0x1p-25) * f.quantum) {
    p.id = "microx_half_minus_ulp";
  } else if (r == rounding_mode::toward_zero && x != 0 &&
             golden::microx_log2(std::fabs(scaled)) != std::ilogb(scaled)) {
    p.id = "microx_floor_private_exp";
  } else {
    p.id = "(no named divergence)";
  }
  return p;
}

struct microx_mode {
  const char* name;
  rounding_mode rounding;
  bool flush;
};
constexpr microx_mode microx_modes[] = {
    {"round=nearest,flush_fp32_subnorms=False", rounding_mode::nearest_away, false},
    {"round=nearest,flush_fp32_subnorms=True", rounding_mode::nearest_away, true},
    {"round=floor,flush_fp32_subnorms=False", rounding_mode::toward_zero, false},
    {"round=floor,flush_fp32_subnorms=True", rounding_mode::toward_zero, true},
    {"round=even,flush_fp32_subnorms=False", rounding_mode::nearest_even, false},
    {"round=even,flush_fp32_subnorms=True", rounding_mode::nearest_even, true},
};

template <class E>
class GoldenBlocks : public testing::Test {
 protected:
  const constants& format = of<E>;
  const std::string name = std::string("blk_") + format.name + '_';
  const std::vector<float> x = load_floats(name + "in");
  const std::vector<block_facts> facts = facts_of(x);

  quantized poisoned(rounding_mode r) const {
    return golden::with_rounding(r, [&](auto rounding) {
      return quantize_all<E>(x, rounding, mxref::overflow::saturate{}, mxref::nan::poison{});
    });
  }
};
using block_formats =
    testing::Types<mxref::E4M3, mxref::E5M2, mxref::E3M2, mxref::E2M3, mxref::E2M1, mxref::INT8>;
TYPED_TEST_SUITE(GoldenBlocks, block_formats, golden::format_names);

template <class E, class S>
void compare_torchao(const std::string& name, const std::vector<float>& x,
                     const std::vector<block_facts>& facts, const char* mode, S rule) {
  const constants& format = of<E>;
  const quantized q = quantize_all<E>(x, mxref::rounding::nearest_even{},
                                      mxref::overflow::saturate{}, mxref::nan::poison{}, rule);
  golden::comparison scale(name + "torchao_scale", mode);
  for (std::size_t b = 0; b < scale.size(); ++b) scale.equal(b, q.scales[b]);

  // What its casts make of NaN; the library stores 0 under a NaN scale.
  const std::string type = format.name;
  const std::uint64_t nan_code = type == "e4m3"   ? 0x7F
                                 : type == "e5m2" ? 0x7E
                                 : type == "e3m2" ? 0x0E
                                 : type == "e2m3" ? 0x0C
                                                  : 0x03;
  golden::comparison codes(name + "torchao_codes", mode);
  for (std::size_t i = 0; i < codes.size(); ++i) {
    if (facts[i / block_size].special() || q.scales[i / block_size] == 0xFF) {
      codes.diverges(i, "special_blocks", q.codes[i], 0, nan_code);
    } else {
      codes.equal(i, q.codes[i]);
    }
  }
}

TYPED_TEST(GoldenBlocks, Torchao) {
  if constexpr (!std::is_same_v<TypeParam, mxref::INT8>) {  // torchao has no MXINT8
    const auto compare = [&](const char* mode, auto rule) {
      compare_torchao<TypeParam>(this->name, this->x, this->facts, mode, rule);
    };
    compare("FLOOR", mxref::scale::floor{});
    compare("CEIL", mxref::scale::ceil{});
    compare("EVEN", mxref::scale::even{});
    compare("RCEIL", mxref::scale::rceil{});
  }
}

TYPED_TEST(GoldenBlocks, MicroxcalingCpp) {
  const quantized even = this->poisoned(rounding_mode::nearest_even);
  golden::comparison scale(this->name + "mxcpp_scale");
  for (std::size_t b = 0; b < scale.size(); ++b) scale.equal(b, even.scales[b]);

  for (const microx_mode& mode : microx_modes) {
    const quantized q = this->poisoned(mode.rounding);
    EXPECT_EQ(q.scales, even.scales) << "rounding of elements must not touch the scale";
    golden::comparison row(this->name + "mxcpp_out", mode.name);
    for (std::size_t i = 0; i < row.size(); ++i) {
      apply(row, i, bits(q.values[i]),
            predict_mxcpp(this->x[i], this->facts[i / block_size], this->format, mode.rounding,
                          mode.flush));
    }
  }
}

TYPED_TEST(GoldenBlocks, MicroxcalingPython) {
  for (const microx_mode& mode : microx_modes) {
    const quantized q = this->poisoned(mode.rounding);
    golden::comparison row(this->name + "microx_out", mode.name);
    for (std::size_t i = 0; i < row.size(); ++i) {
      apply(row, i, bits(q.values[i]),
            predict_microx(this->x[i], this->facts[i / block_size], this->format, mode.rounding,
                           mode.flush));
    }
  }
}

// Its exponents, 32767 standing for NaN, and the mask that says where its log2 was right.
TYPED_TEST(GoldenBlocks, MicroxcalingScales) {
  const auto pattern = [](int exp) -> std::uint64_t {
    return static_cast<std::uint16_t>(exp > 127 ? 32767 : exp);
  };
  const quantized q = this->poisoned(rounding_mode::nearest_even);
  golden::comparison exponents(this->name + "microx_exp");
  golden::comparison log2_ok(this->name + "log2_ok");
  for (std::size_t b = 0; b < exponents.size(); ++b) {
    const block_facts& block = this->facts[b];
    const std::uint64_t got = pattern(q.scales[b] == 0xFF ? 128 : q.scales[b] - 127);
    std::uint64_t documented = pattern(golden::exact_scale_exp(block.amax, this->format));
    std::uint64_t oracle = pattern(golden::microx_scale_exp(block.amax, this->format));
    if (block.special()) documented = oracle = pattern(128);
    if (documented == oracle) {
      exponents.equal(b, got);
    } else {
      exponents.diverges(b, block.amax == 0 ? "special_blocks" : "microx_log2_scale", got,
                         documented, oracle);
    }
    log2_ok.equal(b, got == exponents.oracle(b) || block.amax == 0 ? 1 : 0);
  }
}

TYPED_TEST(GoldenBlocks, Gfloat) {
  using overflow = std::conditional_t<std::is_same_v<TypeParam, mxref::INT8>,
                                      mxref::overflow::saturate_full, mxref::overflow::saturate>;
  const quantized q = quantize_all<TypeParam>(this->x, mxref::rounding::nearest_even{}, overflow{},
                                              mxref::nan::gfloat_inf{});
  golden::comparison scale(this->name + "gfloat_scale");
  golden::comparison ok(this->name + "gfloat_ok");
  for (std::size_t b = 0; b < scale.size(); ++b) {
    scale.equal(b, q.scales[b]);
    // It raises where an element would have to hold a NaN; the library poisons such a block.
    const bool raises = this->facts[b].has_nan && !TypeParam::desc.has_nan();
    ok.equal(b, raises ? 0 : 1);
  }
  golden::comparison row(this->name + "gfloat_out");
  for (std::size_t i = 0; i < row.size(); ++i) row.equal(i, bits(q.values[i]));
}

/// A matrix whose length is not a multiple of the block. Its zero padding and the library's absent
/// elements must be the same; block 0 is the whole axis.
struct tail_mode {
  const char* name;
  const constants* format;
  mxref::format_desc desc;
  int axis;
  int block;
};

TEST(GoldenTails, Microxcaling) {
  constexpr index_t rows = 6;
  constexpr index_t cols = 70;
  const constants& e4m3 = of<mxref::E4M3>;
  const constants& e2m1 = of<mxref::E2M1>;
  const constants& int8 = of<mxref::INT8>;
  const tail_mode modes[] = {
      {"e4m3,axis=-1,block_size=32", &e4m3, mxref::E4M3::desc, -1, 32},
      {"e4m3,axis=0,block_size=32", &e4m3, mxref::E4M3::desc, 0, 32},
      {"e4m3,axis=-1,block_size=16", &e4m3, mxref::E4M3::desc, -1, 16},
      {"e4m3,axis=-1,block_size=0", &e4m3, mxref::E4M3::desc, -1, 70},
      {"e2m1,axis=-1,block_size=32", &e2m1, mxref::E2M1::desc, -1, 32},
      {"e2m1,axis=0,block_size=32", &e2m1, mxref::E2M1::desc, 0, 32},
      {"e2m1,axis=-1,block_size=16", &e2m1, mxref::E2M1::desc, -1, 16},
      {"e2m1,axis=-1,block_size=0", &e2m1, mxref::E2M1::desc, -1, 70},
      {"int8,axis=-1,block_size=32", &int8, mxref::INT8::desc, -1, 32},
      {"int8,axis=0,block_size=32", &int8, mxref::INT8::desc, 0, 32},
      {"int8,axis=-1,block_size=16", &int8, mxref::INT8::desc, -1, 16},
      {"int8,axis=-1,block_size=0", &int8, mxref::INT8::desc, -1, 70},
  };
  const std::vector<float> x = load_floats("tail_in");
  for (const tail_mode& mode : modes) {
    const index_t out_rows = mode.axis == 0 ? cols : rows;
    const index_t depth = mode.axis == 0 ? rows : cols;
    const index_t blocks = (depth + mode.block - 1) / mode.block;
    std::vector<std::uint8_t> codes(x.size());
    std::vector<std::uint8_t> scales(static_cast<std::size_t>(out_rows * blocks));
    const mxref::quantized_view out{mode.desc, mode.block,    codes.data(),
                                    depth,     scales.data(), blocks};
    ASSERT_TRUE(mxref::quantize(mxref::view(x.data(), rows, cols), out, mxref::quantizer<>{},
                                {mode.axis, false}));
    const mxref::operand_view stored = out.operand(out_rows, depth);
    std::vector<float> values(x.size());
    ASSERT_TRUE(mxref::dequantize(stored, mxref::view(values.data(), rows, cols), mode.axis));

    golden::comparison row("tail_microx_out", mode.name);
    ASSERT_EQ(row.size(), x.size());
    for (std::size_t i = 0; i < x.size(); ++i) {
      // The elements that share a scale with element i.
      const std::size_t line = mode.axis == 0 ? i % cols : i / cols;
      const std::size_t at = mode.axis == 0 ? i / cols : i % cols;
      const auto size = static_cast<std::size_t>(mode.block);
      const std::size_t first = at / size * size;
      const std::size_t end = std::min(first + size, static_cast<std::size_t>(depth));
      block_facts facts;
      for (std::size_t k = first; k < end; ++k) {
        facts.add(mode.axis == 0 ? x[k * cols + line] : x[line * cols + k]);
      }
      apply(row, i, bits(values[i]),
            predict_microx(x[i], facts, *mode.format, rounding_mode::nearest_even, false));
    }
  }
}

TEST(GoldenPacking, Fp4PairsOfCuda) {
  const std::vector<float> x = load_floats("pack_f4_in");
  golden::comparison row("pack_f4_cuda_bytes");
  std::vector<std::uint8_t> bytes(mxref::packed_size(4, x.size()));
  for (std::size_t i = 0; i < x.size(); ++i) {
    mxref::set_packed(bytes.data(), 4, i, mxref::encode<mxref::E2M1>(x[i]).code);
  }
  ASSERT_EQ(row.size(), bytes.size());
  for (std::size_t i = 0; i < bytes.size(); ++i) row.equal(i, bytes[i]);
}

TEST(GoldenPacking, Fp6StreamOfMxDataGenerator) {
  const std::vector<std::uint64_t> codes = golden::load("pack_f6_codes");
  golden::comparison row("pack_f6_bytes");
  std::vector<std::uint8_t> bytes(mxref::packed_size(6, codes.size()));
  ASSERT_EQ(row.size(), bytes.size());
  for (std::size_t i = 0; i < codes.size(); ++i) {
    mxref::set_packed(bytes.data(), 6, i, static_cast<std::uint8_t>(codes[i]));
  }
  for (std::size_t i = 0; i < bytes.size(); ++i) row.equal(i, bytes[i]);
  std::vector<std::uint8_t> from_oracle;
  for (std::size_t i = 0; i < row.size(); ++i) {
    from_oracle.push_back(static_cast<std::uint8_t>(row.oracle(i)));
  }
  for (std::size_t i = 0; i < codes.size(); ++i) {
    EXPECT_EQ(mxref::get_packed(from_oracle.data(), 6, i), codes[i]) << i;
  }
}

}  // namespace
