// SPDX-License-Identifier: Apache-2.0
#include "support/golden.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <numeric>
#include <set>
#include <stdexcept>
#include <tuple>
#include <utility>

#include "array_io.hpp"

#ifndef MXREF_TEST_DATA_DIR
#error "define MXREF_TEST_DATA_DIR as the folder tests/data"
#endif

namespace golden {
namespace {

constexpr std::size_t shown_failures = 5;

std::string data_path(const std::string& file) {
  return std::string(MXREF_TEST_DATA_DIR) + "/" + file;
}

nlohmann::json read_json(const std::string& file) {
  std::ifstream in(data_path(file));
  if (!in) throw std::runtime_error(data_path(file) + " cannot be opened");
  return nlohmann::json::parse(in);
}

const nlohmann::json& conversions() {
  static const nlohmann::json json = read_json("conversions.json");
  return json;
}

const nlohmann::json& tensor_cores() {
  static const nlohmann::json json = read_json("tensor_cores.json");
  return json;
}

const std::map<std::string, array_info>& arrays() {
  static const std::map<std::string, array_info> all = [] {
    std::map<std::string, array_info> result;
    for (const nlohmann::json* manifest : {&conversions(), &tensor_cores()}) {
      for (const auto& [name, row] : manifest->at("arrays").items()) {
        array_info& a = result[name];
        a.name = name;
        a.archive = row.at("archive").get<std::string>();
        a.shape = row.at("shape").get<std::vector<std::size_t>>();
        if (row.contains("modes")) a.modes = row.at("modes").get<std::vector<std::string>>();
        a.input = row.value("input", false);
      }
    }
    return result;
  }();
  return all;
}

std::string title(const std::string& array, const std::string& mode) {
  return mode.empty() ? array : array + "[" + mode + "]";
}

std::string hex(std::uint64_t x) {
  char text[24];
  std::snprintf(text, sizeof text, "0x%llx", static_cast<unsigned long long>(x));
  return text;
}

/// What was compared, and with which excuse.
class ledger {
 public:
  static ledger& instance() {
    static ledger one;
    return one;
  }

  void opened(const std::string& array) { opened_.insert(array); }
  void compared(const std::string& array, const std::string& mode, std::size_t entries) {
    compared_[{array, mode}] += entries;
  }
  void excused(const std::string& id, const std::string& array, const std::string& mode) {
    ++excused_[{id, array, mode}];
  }

  void check() const {
    check_arrays();
    check_divergences();
  }

 private:
  using mode_key = std::pair<std::string, std::string>;
  using excuse_key = std::tuple<std::string, std::string, std::string>;

  std::size_t compared(const std::string& array, const std::string& mode) const {
    const auto found = compared_.find(mode_key(array, mode));
    return found == compared_.end() ? 0 : found->second;
  }

  void check_arrays() const {
    for (const auto& [name, a] : arrays()) {
      for (std::size_t m = 0; m < a.mode_count() && !a.input; ++m) {
        const std::string mode = a.modes.empty() ? "" : a.modes[m];
        EXPECT_EQ(compared(name, mode), a.entry_count())
            << title(name, mode) << ": entries compared";
      }
      EXPECT_TRUE(opened_.contains(name)) << name << " was never opened";
    }
    for (const auto& [key, entries] : compared_) {
      EXPECT_TRUE(arrays().contains(key.first))
          << key.first << ": " << entries << " unknown entries";
    }
  }

  void check_divergences() const {
    std::map<excuse_key, std::size_t> expected;
    const nlohmann::json file = read_json("divergences.json");
    for (const auto& d : file.at("divergences")) {
      for (const auto& [array, modes] : d.at("excused").items()) {
        for (const auto& [mode, count] : modes.items()) {
          expected[excuse_key(d.at("id").get<std::string>(), array, mode)] =
              count.get<std::size_t>();
        }
      }
    }
    for (const auto& [key, count] : expected) {
      if (!excused_.contains(key)) {
        ADD_FAILURE() << std::get<0>(key) << ": " << title(std::get<1>(key), std::get<2>(key))
                      << " was not excused, divergences.json says " << count;
      }
    }
    for (const auto& [key, count] : excused_) {
      const auto found = expected.find(key);
      EXPECT_EQ(count, found == expected.end() ? 0 : found->second)
          << std::get<0>(key) << ": " << title(std::get<1>(key), std::get<2>(key))
          << ": entries excused, and what divergences.json says";
    }
  }

  std::set<std::string> opened_;
  std::map<mode_key, std::size_t> compared_;
  std::map<excuse_key, std::size_t> excused_;
};

/// Runs after the last test. A filtered run, or one test per process, cannot be complete.
class ledger_environment : public ::testing::Environment {
 public:
  void TearDown() override {
    const ::testing::UnitTest& unit = *::testing::UnitTest::GetInstance();
    for (int i = 0; i < unit.total_test_suite_count(); ++i) {
      const ::testing::TestSuite& suite = *unit.GetTestSuite(i);
      // Typed and parameterized suites have a prefix or a suffix after a slash.
      if (std::string_view(suite.name()).find("Golden") == std::string_view::npos) continue;
      if (suite.test_to_run_count() != suite.total_test_count()) {
        std::printf("golden ledger: not checked, because %s did not run whole\n", suite.name());
        return;
      }
    }
    ledger::instance().check();
    std::printf("golden ledger: checked\n");
  }
};

[[maybe_unused]] const ::testing::Environment* const registered =
    ::testing::AddGlobalTestEnvironment(new ledger_environment);

}  // namespace

std::size_t array_info::entry_count() const {
  const auto first = shape.begin() + (modes.empty() ? 0 : 1);
  return std::accumulate(first, shape.end(), std::size_t{1}, std::multiplies<>());
}

const array_info& info(const std::string& name) {
  const auto found = arrays().find(name);
  if (found == arrays().end()) throw std::invalid_argument("no golden array " + name);
  return found->second;
}

std::vector<std::uint64_t> load(const std::string& name) {
  const array_info& a = info(name);
  const mxtool::array file = mxtool::load_array(data_path(a.archive) + ":" + name);
  if (file.shape != a.shape)
    throw std::runtime_error(name + " has another shape than its manifest");
  ledger::instance().opened(name);
  std::vector<std::uint64_t> bits(file.count());
  const std::size_t width = mxtool::size_of(file.type);
  for (std::size_t i = 0; i < bits.size(); ++i) {
    for (std::size_t b = width; b-- > 0;) {
      bits[i] = bits[i] << 8 | std::to_integer<std::uint64_t>(file.bytes[i * width + b]);
    }
  }
  return bits;
}

std::vector<std::uint64_t> entries(const std::string& array, const std::string& mode) {
  const array_info& a = info(array);
  const std::vector<std::uint64_t> all = load(array);
  std::size_t m = 0;
  if (!a.modes.empty()) {
    const auto found = std::ranges::find(a.modes, mode);
    if (found == a.modes.end()) throw std::invalid_argument("no mode " + title(array, mode));
    m = static_cast<std::size_t>(found - a.modes.begin());
  } else if (!mode.empty()) {
    throw std::invalid_argument(array + " has no modes");
  }
  const auto first = all.begin() + static_cast<std::ptrdiff_t>(m * a.entry_count());
  return {first, first + static_cast<std::ptrdiff_t>(a.entry_count())};
}

comparison::comparison(const std::string& array, const std::string& mode)
    : array_(array), mode_(mode), oracle_(entries(array, mode)) {
  states_.assign(oracle_.size(), state::open);
}

comparison::~comparison() {
  if (failures_ != 0) {
    std::string text;
    for (const std::string& m : messages_) text += "\n  " + m;
    ADD_FAILURE() << title(array_, mode_) << ": " << failures_ << " of " << size()
                  << " entries fail, the first being" << text;
  }
  const auto open = std::ranges::count(states_, state::open);
  EXPECT_EQ(open, 0) << title(array_, mode_) << ": entries never compared";
  ledger::instance().compared(array_, mode_, size() - static_cast<std::size_t>(open));
}

void comparison::visit(std::size_t i, state s) {
  if (states_.at(i) != state::open) fail(i, "compared twice");
  states_[i] = s;
}

void comparison::fail(std::size_t i, const std::string& what) {
  if (++failures_ <= shown_failures)
    messages_.push_back("entry " + std::to_string(i) + ": " + what);
}

void comparison::equal(std::size_t i, std::uint64_t got) {
  visit(i, state::compared);
  if (got != oracle_.at(i)) fail(i, "got " + hex(got) + ", the oracle has " + hex(oracle_[i]));
}

void comparison::diverges(std::size_t i, std::string_view id, std::uint64_t got,
                          std::uint64_t documented, std::optional<std::uint64_t> oracle) {
  visit(i, state::excused);
  ledger::instance().excused(std::string(id), array_, mode_);
  const std::string name = std::string(id) + ": ";
  if (got != documented) fail(i, name + "got " + hex(got) + ", documented is " + hex(documented));
  if (oracle && *oracle != oracle_.at(i)) {
    fail(i, name + "the oracle should have " + hex(*oracle) + ", it has " + hex(oracle_[i]));
  }
  if (got == oracle_.at(i)) fail(i, name + "no divergence, both have " + hex(got));
}

std::vector<tensor_core_config> tensor_core_configs() {
  std::vector<tensor_core_config> result;
  for (const auto& entry : tensor_cores().at("configs").items()) {  // clang 14 captures no binding
    const auto& c = entry.value();
    tensor_core_config config;
    config.name = entry.key();
    const auto text = [&c](const char* key) { return c.value(key, std::string()); };
    config.gpu = text("gpu");
    config.model = text("model");
    config.note = text("note");
    config.format_a = c.at("fmt_a").get<std::string>();
    config.format_b = c.at("fmt_b").get<std::string>();
    config.format_c = c.value("fmt_c", "f32");  // chained GEMMs do not say it
    config.format_d = c.value("fmt_d", "f32");
    config.scale_format = text("scale_fmt");
    config.depth = c.at("K").get<int>();
    config.step = c.at("step").get<int>();
    config.block = c.value("block", 0);
    config.fraction_bits = c.value("F", 0);
    config.second_fraction_bits = c.value("F2", 0);
    config.exponent_floor = c.value("e_zero", 0);
    config.out_rounding = text("out_rounding");
    config.rows = c.value("rows", 0);
    config.m = c.value("M", 0);
    config.n = c.value("N", 0);
    result.push_back(config);
  }
  return result;
}

}  // namespace golden
