// SPDX-License-Identifier: Apache-2.0
// Every model of a matrix unit against every row of its configurations: rows of a public model,
// rows measured on hardware, and chained GEMMs with the accumulator after every step. Then the same
// rows under other parameters: settings that nobody has settled must change the rows that are
// flagged for them and no others, and a wrong parameter must be seen on the rows made to show it.
#include <gtest/gtest.h>

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "golden_units.hpp"
#include "mxref/gemm.hpp"
#include "mxref/matrix_unit.hpp"
#include "support/golden.hpp"
#include "unit_mutations.hpp"

namespace {

using golden::unit_operand;
using golden::unit_rows;
using mxref::index_t;
using mxref::unit_desc;
using mxref::unit_sum;
using mxref::accumulate::matrix_unit;

/// The vectors must be those of the model that is tested.
void check_parameters(const golden::tensor_core_config& c, const unit_desc& u) {
  EXPECT_EQ(u.length, c.step);
  EXPECT_EQ(u.accumulator, golden::unit_format(c.format_d));
  const bool truncates = u.output == mxref::rounding_mode::toward_zero;
  EXPECT_EQ(truncates, c.out_rounding.starts_with("RZ"));
  EXPECT_EQ(u.output_bits, c.out_rounding == "RZ-E8M13" ? 13 : u.accumulator.man_bits);
  const std::map<std::string, unit_sum> sums{
      {"T-FDPA", unit_sum::window},        {"ST-FDPA", unit_sum::window},
      {"GST-FDPA", unit_sum::window},      {"TR-FDPA", unit_sum::two_windows},
      {"GTR-FDPA", unit_sum::two_windows}, {"E-FDPA", unit_sum::exact},
      {"FTZ-MulAdd", unit_sum::flushed}};
  const auto sum = sums.find(c.model);
  EXPECT_EQ(u.sum, sum == sums.end() ? unit_sum::window : sum->second) << c.model;
  EXPECT_EQ(u.restart, c.model.starts_with("emulated FP8") ? 32 : 0);
  if (c.fraction_bits != 0) {
    EXPECT_EQ(u.fraction_bits, c.fraction_bits);
  }
  if (c.second_fraction_bits != 0) {
    EXPECT_EQ(u.second_fraction_bits, c.second_fraction_bits);
  }
  if (c.exponent_floor != 0) {
    EXPECT_EQ(u.exponent_floor, c.exponent_floor);
  }
}

std::vector<golden::tensor_core_config> configs_with_rows() {
  std::vector<golden::tensor_core_config> list;
  for (const auto& c : golden::tensor_core_configs()) {
    if (c.rows != 0) list.push_back(c);
  }
  return list;
}

TEST(GoldenUnits, EveryRowOfEveryConfiguration) {
  std::map<std::string, int> rows_of_model;
  std::set<unsigned> categories;
  unsigned seen_flags = 0;
  int public_configs = 0;
  int public_rows = 0;
  int measured_configs = 0;
  int measured_rows = 0;
  for (const golden::tensor_core_config& config : configs_with_rows()) {
    SCOPED_TRACE(config.name);
    const bool is_measured = !config.gpu.empty();
    const unit_rows rows(config);
    const mxref::unit_model& model = golden::unit_of(config);
    const mxref::unit_choice choice = rows.choice();
    ASSERT_TRUE(choice) << model.name;
    check_parameters(config, choice.unit.desc);
    if (is_measured) {
      EXPECT_EQ(choice.known, mxref::evidence::measured) << model.name;
    }

    golden::comparison row(config.name + "/d_bits");
    ASSERT_EQ(row.size(), static_cast<std::size_t>(config.rows));
    ASSERT_EQ(rows.size(), row.size());
    for (std::size_t i = 0; i < row.size(); ++i) {
      const std::uint32_t d = rows.run(model, i);
      const unsigned flags = rows.flags(i);
      const bool is_nan = rows.is_nan(d);
      // The payload of these NaN is nobody's promise.
      const bool by_class =
          (flags & golden::flag_amd_nan) != 0 && is_nan && rows.is_nan(row.oracle(i));
      row.equal(i, by_class ? row.oracle(i) : d);
      EXPECT_EQ(is_nan,
                (flags & golden::flag_nan) != 0 || (is_measured && rows.is_nan(row.oracle(i))))
          << "row " << i;
      seen_flags |= flags;
      if (!is_measured) categories.insert(rows.category(i));
    }
    rows_of_model[model.name] += config.rows;
    (is_measured ? measured_configs : public_configs) += 1;
    (is_measured ? measured_rows : public_rows) += config.rows;
  }
  EXPECT_EQ(public_configs, 105);
  EXPECT_EQ(public_rows, 22400);
  EXPECT_EQ(measured_configs, 35);
  EXPECT_EQ(measured_rows, 34 * 120 + 1);
  EXPECT_EQ(categories.size(), 16U) << "every category of row is there";
  EXPECT_EQ(seen_flags, 0xFFU);
  for (const mxref::unit_model& m : mxref::matrix_units) {
    const bool has_rows = std::string(m.name) != "amd-cdna4-mfma-scale";
    EXPECT_EQ(rows_of_model[m.name] != 0, has_rows) << m.name;
    std::printf("%-36s %5d rows\n", m.name, rows_of_model[m.name]);
  }
}

TEST(GoldenUnits, ChainedGemms) {
  int configs = 0;
  for (const golden::tensor_core_config& config : golden::tensor_core_configs()) {
    if (config.rows != 0) continue;
    SCOPED_TRACE(config.name);
    ++configs;
    const unit_rows rows(config);
    const mxref::unit_model& model = golden::unit_of(config);
    ASSERT_TRUE(rows.choice()) << model.name;
    check_parameters(config, rows.choice().unit.desc);
    const auto outputs = static_cast<std::size_t>(config.m * config.n);
    std::vector<float> d(outputs);

    // The accumulator after step s is the GEMM of the first s * step columns.
    golden::comparison steps(config.name + "/d_steps");
    const std::size_t step_count = steps.size() / outputs;
    ASSERT_EQ(step_count, static_cast<std::size_t>(config.depth / config.step));
    for (std::size_t s = 0; s < step_count; ++s) {
      const index_t k = static_cast<index_t>(s + 1) * config.step;
      ASSERT_TRUE(mxref::gemm(rows.a().view(0, config.m, k), rows.b().view(0, config.n, k),
                              mxref::view(d.data(), config.m, config.n), model));
      for (std::size_t i = 0; i < outputs; ++i) {
        steps.equal(s * outputs + i, std::bit_cast<std::uint32_t>(d[i]));
      }
    }
    golden::comparison last(config.name + "/d_bits");
    for (std::size_t i = 0; i < outputs; ++i) last.equal(i, std::bit_cast<std::uint32_t>(d[i]));
  }
  EXPECT_EQ(configs, 8);
}

using change = std::function<void(unit_desc&)>;

/// Runs every row under the model's parameters and under changed ones, and calls
/// see(config, rows, row, d, other).
template <class F>
void for_each_changed_row(const change& c, F see) {
  for (const golden::tensor_core_config& config : configs_with_rows()) {
    const unit_rows rows(config);
    const matrix_unit unit = rows.choice().unit;
    matrix_unit other = unit;
    c(other.desc);
    if (other.desc == unit.desc) continue;
    for (std::size_t i = 0; i < rows.size(); ++i) {
      see(config, rows, i, rows.run(unit, i), rows.run(other, i));
    }
  }
}

/// A setting that no measurement has settled: of the public model's rows, exactly those with the
/// flag depend on it.
void expect_flagged_rows_alone(unsigned flag, const change& c) {
  int flagged = 0;
  for_each_changed_row(c, [&](const golden::tensor_core_config& config, const unit_rows& rows,
                              std::size_t i, std::uint32_t d, std::uint32_t other) {
    if (!config.gpu.empty()) return;
    const bool has_flag = (rows.flags(i) & flag) != 0;
    const bool both_zero = rows.is_zero(d) && rows.is_zero(other);  // has a flag of its own
    flagged += has_flag ? 1 : 0;
    EXPECT_EQ(d != other && !both_zero, has_flag)
        << config.name << " row " << i << std::hex << ": 0x" << d << ", under the other setting 0x"
        << other;
  });
  EXPECT_GT(flagged, 10);
}

TEST(GoldenUnitSettings, SignOfUnderflow) {
  int minus_zeros = 0;
  const auto drop_sign = [](unit_desc& u) {
    if (u.sum == unit_sum::window) u.underflow = mxref::underflow_sign::dropped;
  };
  for_each_changed_row(
      drop_sign, [&](const golden::tensor_core_config& config, const unit_rows& rows, std::size_t i,
                     std::uint32_t d, std::uint32_t other) {
        const bool is_minus_zero = rows.is_zero(d) && d != 0;
        minus_zeros += is_minus_zero ? 1 : 0;
        EXPECT_EQ(other, is_minus_zero ? 0 : d) << config.name << " row " << i;
        if (is_minus_zero) {
          EXPECT_NE(rows.flags(i) & golden::flag_zero_sign, 0U) << config.name << " row " << i;
        }
      });
  EXPECT_EQ(minus_zeros, 30);
}

TEST(GoldenUnitSettings, FloorOfBinary16Accumulators) {
  expect_flagged_rows_alone(golden::flag_f16_floor, [](unit_desc& u) {
    if (u.accumulator == mxref::binary16::desc && u.exponent_floor > -100) ++u.exponent_floor;
  });
}

TEST(GoldenUnitSettings, NoFloor) {
  expect_flagged_rows_alone(golden::flag_floor, [](unit_desc& u) {
    if (u.sum == unit_sum::window) u.exponent_floor = unit_desc::no_floor;
  });
}

// FP4 and FP6 as numbers of E4M3, whose emin is below all of theirs.
TEST(GoldenUnitSettings, SubnormalElementsNormalised) {
  expect_flagged_rows_alone(golden::flag_subnormals, [](unit_desc& u) {
    if (u.sum == unit_sum::window && u.group == 1 && u.restart == 0) {
      u.element_emin = mxref::E4M3::desc.emin();
    }
  });
}

// Of all floors from -1000 to -126, only -133 gives what was measured on Hopper.
TEST(GoldenUnitSettings, TheMeasuredFloor) {
  for (const golden::tensor_core_config& config : configs_with_rows()) {
    if (config.name != "hw_H100_bf16_zero_floor") continue;
    const unit_rows rows(config);
    matrix_unit unit = rows.choice().unit;
    for (int floor = -1000; floor <= -126; ++floor) {
      unit.desc.exponent_floor = floor;
      EXPECT_EQ(rows.run(unit, 0) == 0x0000000B, floor == -133) << floor;
    }
    return;
  }
  FAIL() << "the row is not there";
}

/// How many rows of a model a mutation changes.
struct changed_rows {
  int all = 0;
  int in_categories = 0;  ///< floor and hard, which are made to show such things
  int category_size = 0;
};

TEST(GoldenUnitMutations, AreSeenOnTheRowsMadeForThem) {
  std::map<std::string, std::map<std::string, changed_rows>> seen;
  for (const golden::tensor_core_config& config : configs_with_rows()) {
    const unit_rows rows(config);
    const matrix_unit unit = rows.choice().unit;
    for (const sweep::unit_mutation& m : sweep::unit_mutations()) {
      if (!m.applies(unit.desc)) continue;
      matrix_unit wrong = unit;
      m.apply(wrong.desc);
      if (wrong.check(rows.a().kind(), rows.b().kind(), rows.out()) != mxref::errc::ok) continue;
      changed_rows& counts = seen[m.name][golden::unit_of(config).name];
      for (std::size_t i = 0; i < rows.size(); ++i) {
        const bool is_made_for_it =
            rows.category(i) == golden::category_floor || rows.category(i) == golden::category_hard;
        const bool differs = rows.run(wrong, i) != rows.run(unit, i);
        counts.all += differs ? 1 : 0;
        counts.category_size += is_made_for_it ? 1 : 0;
        counts.in_categories += is_made_for_it && differs ? 1 : 0;
      }
    }
  }
  for (const sweep::unit_mutation& m : sweep::unit_mutations()) {
    EXPECT_FALSE(seen[m.name].empty()) << m.name;
    for (const auto& [model, counts] : seen[m.name]) {
      if (m.unseen.contains(model)) {
        EXPECT_EQ(counts.all, 0) << m.name << ", " << model << ": is seen";
      } else if (counts.category_size != 0) {
        EXPECT_GT(counts.in_categories, 0) << m.name << ", " << model;
      } else {
        EXPECT_GT(counts.all, 0) << m.name << ", " << model;
      }
    }
    for (const std::string& model : m.unseen) {
      EXPECT_TRUE(seen[m.name].contains(model)) << m.name << " does not apply to " << model;
    }
  }
}

}  // namespace
