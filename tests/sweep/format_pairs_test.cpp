// SPDX-License-Identifier: Apache-2.0
// encode<F>(element of G) for all pairs of formats: every code of G up to 16 bits, a sample of the
// two wide ones, under every policy.
#include <gtest/gtest.h>

#include <bit>
#include <cstdint>
#include <vector>

#include "format_list.hpp"
#include "mxref/element.hpp"
#include "oracle/tables.hpp"
#include "oracle/thresholds.hpp"
#include "policies.hpp"

namespace {

// The codes of G, their values as binary32 patterns (every value of every format is one), and what
// they are. NaNs are any NaN.
struct source {
  std::vector<std::uint32_t> codes;
  std::vector<std::uint32_t> as_binary32;
};

source all_codes(const oracle::format& g) {
  source s;
  const std::uint64_t stride = g.bits == 32 ? 510007 : g.bits > 16 ? 61 : 1;
  for (std::uint64_t c = 0; c >> g.bits == 0; c += stride) {
    const auto code = static_cast<std::uint32_t>(c);
    const oracle::value v = oracle::decode(g, code);
    const std::uint32_t sign = v.negative ? 0x80000000U : 0;
    s.codes.push_back(code);
    switch (v.cls) {
      case oracle::value_class::finite:
        s.as_binary32.push_back(sign |
                                std::bit_cast<std::uint32_t>(static_cast<float>(v.magnitude)));
        break;
      case oracle::value_class::infinite:
        s.as_binary32.push_back(sign | 0x7F800000U);
        break;
      case oracle::value_class::nan:
        s.as_binary32.push_back(sign | 0x7FC00000U);
        break;
    }
  }
  return s;
}

// A value of G is a value of binary32: nothing is rounded, but Inf may saturate.
std::uint32_t expected_binary32(std::uint32_t bits, oracle::overflow o) {
  if ((bits & 0x7FFFFFFFU) > 0x7F800000U) return 0x7FC00000U;
  const bool infinite = (bits & 0x7FFFFFFFU) == 0x7F800000U;
  return infinite && o != oracle::overflow::nonsaturating ? bits - 1 : bits;
}

template <class F>
class FormatPairs : public testing::Test {
 protected:
  // Wide sources meet the saturating policies with every ninth code, which reaches overflow in both
  // signs; everything else with every code.
  template <class G>
  void from(oracle::rounding r, oracle::overflow o, const std::vector<oracle::run>& runs) {
    const oracle::format& g = sweep::oracle_of<G>();
    static const source s = all_codes(g);
    const std::size_t stride = g.bits > 8 && o != oracle::overflow::nonsaturating ? 9 : 1;
    int mismatches = 0;
    for (std::size_t i = 0; i < s.codes.size(); i += stride) {
      const std::uint32_t want = runs.empty() ? expected_binary32(s.as_binary32[i], o)
                                              : oracle::expected_code(runs, s.as_binary32[i]);
      const G e{static_cast<typename G::code_type>(s.codes[i])};
      const std::uint32_t got = mxref::encode<F>(e, sweep::dynamic(r), sweep::dynamic(o)).code;
      if (got != want && ++mismatches < 4) {
        ADD_FAILURE() << "from " << g.name << " code 0x" << std::hex << s.codes[i] << ": "
                      << sweep::describe(r, o, oracle::decode(g, s.codes[i]).signed_value(), got,
                                         want);
      }
      ++compared_;
    }
  }

  template <class... G>
  void from_each(testing::Types<G...>, oracle::rounding r, oracle::overflow o) {
    const oracle::format& f = sweep::oracle_of<F>();
    std::vector<oracle::run> runs;
    if (f.bits < 32) runs = oracle::threshold_runs(f, r, o);
    (from<G>(r, o, runs), ...);
  }

  std::size_t compared_ = 0;
};
TYPED_TEST_SUITE(FormatPairs, sweep::all_formats, sweep::format_names);

TYPED_TEST(FormatPairs, EveryCodeOfEveryFormat) {
  for (const auto r : oracle::all_roundings) {
    for (const auto o : oracle::all_overflows) this->from_each(sweep::all_formats{}, r, o);
  }
  EXPECT_GT(this->compared_, 6U * 2 * 65536);
}

}  // namespace
