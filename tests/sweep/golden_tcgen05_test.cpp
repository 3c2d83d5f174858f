// SPDX-License-Identifier: Apache-2.0
// tcgen05.mma kind::mxf8f6f4 against every row of the public model's vectors: dot products of one
// instruction for the 25 format pairs, and chained GEMMs with the accumulator after every step.
#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "golden_reference.hpp"
#include "mxref/formats.hpp"
#include "mxref/gemm.hpp"
#include "mxref/matrix_unit.hpp"
#include "support/golden.hpp"

namespace {

using model = mxref::accumulate::nvidia_blackwell_tcgen05_mxf8f6f4;
using mxref::index_t;

// Bits of `flags`; tensor_cores.json says what they mean.
constexpr unsigned flag_zero_sign = 4;
constexpr unsigned flag_nan = 32;

const std::map<std::string, mxref::format_desc> formats{{"e4m3", mxref::E4M3::desc},
                                                        {"e5m2", mxref::E5M2::desc},
                                                        {"e3m2", mxref::E3M2::desc},
                                                        {"e2m3", mxref::E2M3::desc},
                                                        {"e2m1", mxref::E2M1::desc}};

std::vector<std::uint8_t> load_bytes(const std::string& name) {
  std::vector<std::uint8_t> bytes;
  for (const std::uint64_t x : golden::load(name)) bytes.push_back(static_cast<std::uint8_t>(x));
  return bytes;
}

/// Codes and scales of one side of a configuration.
struct operand {
  operand(const golden::tensor_core_config& config, const std::string& side,
          const std::string& format_name)
      : format(formats.at(format_name)),
        depth(config.depth),
        block(config.block),
        codes(load_bytes(config.name + '/' + side + "_codes")),
        scales(load_bytes(config.name + "/scale_" + side)) {}

  /// Rows first..first+rows-1, the first k columns.
  mxref::operand_view view(index_t first, index_t rows, index_t k) const {
    mxref::operand_view v;
    v.format = format;
    v.codes = codes.data() + first * depth;
    v.rows = rows;
    v.depth = k;
    v.row_bytes = depth;
    v.block = block;
    v.scale_format = mxref::E8M0::desc;
    v.scales = scales.data() + first * (depth / block);
    v.scale_row_bytes = depth / block;
    return v;
  }

  mxref::format_desc format;
  int depth;
  int block;
  std::vector<std::uint8_t> codes;
  std::vector<std::uint8_t> scales;
};

/// The vectors must be those of the model that is tested.
void check_parameters(const golden::tensor_core_config& config) {
  EXPECT_EQ(config.scale_format, "ue8m0") << config.name;
  EXPECT_EQ(config.out_rounding, "RZ-FP32") << config.name;
  EXPECT_EQ(config.step, model::desc.length) << config.name;
  EXPECT_EQ(config.block, 32) << config.name;
  EXPECT_EQ(config.fraction_bits, model::desc.fraction_bits) << config.name;
  EXPECT_EQ(config.exponent_floor, model::desc.exponent_floor) << config.name;
}

TEST(GoldenTcgen05, EveryRowOfEveryFormatPair) {
  int configs = 0;
  std::set<std::uint64_t> categories;
  unsigned seen_flags = 0;
  int minus_zeros = 0;
  for (const golden::tensor_core_config& config : golden::tensor_core_configs()) {
    if (config.rows == 0) continue;
    SCOPED_TRACE(config.name);
    ++configs;
    check_parameters(config);
    ASSERT_EQ(config.depth, 32);
    const operand a(config, "a", config.format_a);
    const operand b(config, "b", config.format_b);
    const std::vector<std::uint64_t> c = golden::load(config.name + "/c_bits");
    const std::vector<std::uint64_t> flags = golden::load(config.name + "/flags");
    for (const std::uint64_t x : golden::load(config.name + "/cat")) categories.insert(x);

    golden::comparison row(config.name + "/d_bits");
    ASSERT_EQ(row.size(), static_cast<std::size_t>(config.rows));
    ASSERT_EQ(c.size(), row.size());
    ASSERT_EQ(flags.size(), row.size());
    for (std::size_t i = 0; i < row.size(); ++i) {
      const mxref::binary32 start{static_cast<std::uint32_t>(c[i])};
      mxref::binary32 d{};
      mxref::gemm_options options;
      options.c = mxref::unscaled(mxref::view(&start, 1, 1));
      const auto at = static_cast<index_t>(i);
      ASSERT_TRUE(mxref::gemm(a.view(at, 1, 32), b.view(at, 1, 32), mxref::view(&d, 1, 1), model{},
                              options));
      row.equal(i, d.code);

      const auto flag = static_cast<unsigned>(flags[i]);
      seen_flags |= flag;
      EXPECT_EQ(std::isnan(golden::to_float(d.code)), (flag & flag_nan) != 0) << "row " << i;
      // A negative sum that underflows gives -0; only flagged rows may hold one.
      if ((flag & flag_zero_sign) != 0) {
        EXPECT_EQ(d.code & 0x7FFFFFFFU, 0U) << "row " << i;
        minus_zeros += d.code == 0x80000000U ? 1 : 0;
      } else {
        EXPECT_NE(d.code, 0x80000000U) << "row " << i;
      }
    }
  }
  EXPECT_EQ(configs, 25);
  EXPECT_EQ(categories.size(), 16U) << "every category of row is there";
  EXPECT_EQ(minus_zeros, 16);
  // v1 differences, zero sign, exponent floor, NaN, FP4/FP6 subnormals.
  EXPECT_EQ(seen_flags, 1U | 4U | 8U | 32U | 128U);
}

TEST(GoldenTcgen05, ChainedGemms) {
  int configs = 0;
  for (const golden::tensor_core_config& config : golden::tensor_core_configs()) {
    if (config.rows != 0) continue;
    SCOPED_TRACE(config.name);
    ++configs;
    check_parameters(config);
    const operand a(config, "a", config.format_a);
    const operand b(config, "b", config.format_b);
    const auto outputs = static_cast<std::size_t>(config.m * config.n);
    std::vector<float> d(outputs);

    // The accumulator after step s is the GEMM of the first s * 32 columns.
    golden::comparison steps(config.name + "/d_steps");
    const std::size_t step_count = steps.size() / outputs;
    ASSERT_EQ(step_count, static_cast<std::size_t>(config.depth / config.step));
    for (std::size_t s = 0; s < step_count; ++s) {
      const index_t k = static_cast<index_t>(s + 1) * config.step;
      ASSERT_TRUE(mxref::gemm(a.view(0, config.m, k), b.view(0, config.n, k),
                              mxref::view(d.data(), config.m, config.n), model{}));
      for (std::size_t i = 0; i < outputs; ++i) {
        steps.equal(s * outputs + i, std::bit_cast<std::uint32_t>(d[i]));
      }
    }
    golden::comparison last(config.name + "/d_bits");
    for (std::size_t i = 0; i < outputs; ++i) last.equal(i, std::bit_cast<std::uint32_t>(d[i]));
  }
  EXPECT_EQ(configs, 4);
}

}  // namespace
