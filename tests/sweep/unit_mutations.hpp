// SPDX-License-Identifier: Apache-2.0
// What can be wrong with a model of a matrix unit: each parameter moved by one, roundings,
// groupings and chains exchanged. Tests show that their rows can tell.
#ifndef MXREF_TESTS_SWEEP_UNIT_MUTATIONS_HPP_
#define MXREF_TESTS_SWEEP_UNIT_MUTATIONS_HPP_

#include <set>
#include <string>
#include <vector>

#include "mxref/unit_desc.hpp"

namespace sweep {

/// One thing wrong with a unit.
struct unit_mutation {
  std::string name;
  bool (*applies)(const mxref::unit_desc&);
  void (*apply)(mxref::unit_desc&);
  /// Models whose public rows do not show it; the rows of unit_test.cpp do, but for `unseeable`.
  std::set<std::string> unseen{};
  /// Models on which no input can show it.
  std::set<std::string> unseeable{};
};

constexpr bool is_window(const mxref::unit_desc& u) { return u.sum == mxref::unit_sum::window; }
constexpr bool is_two_windows(const mxref::unit_desc& u) {
  return u.sum == mxref::unit_sum::two_windows;
}
constexpr bool is_aligned(const mxref::unit_desc& u) { return is_window(u) || is_two_windows(u); }
constexpr bool has_output(const mxref::unit_desc& u) { return u.sum != mxref::unit_sum::flushed; }
constexpr bool has_groups(const mxref::unit_desc& u) { return u.group > 1; }
constexpr bool has_no_groups(const mxref::unit_desc& u) { return u.group == 1; }
constexpr bool restarts(const mxref::unit_desc& u) { return u.restart != 0; }
constexpr bool is_plain(const mxref::unit_desc& u) {
  return u.restart == 0 && u.order == mxref::unit_order::together;
}
constexpr bool is_not_exact(const mxref::unit_desc& u) {
  return u.sum != mxref::unit_sum::exact && u.restart == 0;
}
constexpr bool is_exact(const mxref::unit_desc& u) { return u.sum == mxref::unit_sum::exact; }
constexpr bool has_f32_floor(const mxref::unit_desc& u) {
  return is_window(u) && u.exponent_floor < -100;
}
constexpr bool has_f16_floor(const mxref::unit_desc& u) {
  return is_window(u) && u.exponent_floor > -100;
}
constexpr bool has_order(const mxref::unit_desc& u) { return is_two_windows(u) || restarts(u); }

inline const std::vector<unit_mutation>& unit_mutations() {
  using mxref::rounding_mode;
  using mxref::unit_desc;
  using mxref::unit_order;
  // Products of binary16, FP8, FP6 and FP4 end above the last bit that a binary32 floor leaves.
  const std::set<std::string> floor_out_of_reach{"nvidia-volta-mma", "nvidia-turing-mma",
                                                 "nvidia-rtx-blackwell-mma-f8f6f4",
                                                 "nvidia-blackwell-tcgen05-f8f6f4"};
  // The rows of this one are of binary16, or normal.
  const std::set<std::string> no_floor_row{
      "nvidia-volta-mma", "nvidia-turing-mma", "nvidia-rtx-blackwell-mma-f8f6f4",
      "nvidia-blackwell-tcgen05-f8f6f4", "nvidia-blackwell-mma"};
  const std::set<std::string> f16_floor_out_of_reach{"nvidia-rtx-blackwell-mma-f8f6f4"};
  // Their rows are one step long.
  const std::set<std::string> one_step{"nvidia-volta-mma",
                                       "nvidia-turing-mma",
                                       "nvidia-hopper-mma",
                                       "nvidia-hopper-wgmma",
                                       "nvidia-blackwell-mma",
                                       "nvidia-rtx-blackwell-mma",
                                       "nvidia-rtx-blackwell-mma-f8f6f4",
                                       "nvidia-rtx-blackwell-mma-mxf8f6f4",
                                       "nvidia-rtx-blackwell-mma-mxf4",
                                       "nvidia-rtx-blackwell-mma-mxf4nvf4",
                                       "nvidia-blackwell-tcgen05-f16",
                                       "nvidia-blackwell-tcgen05-tf32",
                                       "nvidia-blackwell-tcgen05-f8f6f4",
                                       "nvidia-blackwell-tcgen05-mxf8f6f4",
                                       "nvidia-blackwell-tcgen05-mxf4",
                                       "nvidia-blackwell-tcgen05-mxf4nvf4"};
  static const std::vector<unit_mutation> list{
      {"F less one", is_aligned, [](mxref::unit_desc& u) { --u.fraction_bits; }},
      {"F and one", is_aligned, [](mxref::unit_desc& u) { ++u.fraction_bits; }},
      {"F2 less one", is_two_windows, [](mxref::unit_desc& u) { --u.second_fraction_bits; }},
      {"F2 and one", is_two_windows, [](mxref::unit_desc& u) { ++u.second_fraction_bits; }},
      {"floor less one", has_f32_floor, [](mxref::unit_desc& u) { --u.exponent_floor; },
       no_floor_row, floor_out_of_reach},
      {"floor and one", has_f32_floor, [](mxref::unit_desc& u) { ++u.exponent_floor; },
       no_floor_row, floor_out_of_reach},
      {"binary16 floor less one",
       has_f16_floor,
       [](mxref::unit_desc& u) { --u.exponent_floor; },
       {"nvidia-hopper-mma", "nvidia-blackwell-mma", "nvidia-rtx-blackwell-mma",
        "nvidia-rtx-blackwell-mma-f8f6f4"},
       f16_floor_out_of_reach},
      {"binary16 floor and one",
       has_f16_floor,
       [](mxref::unit_desc& u) { ++u.exponent_floor; },
       {"nvidia-blackwell-mma", "nvidia-rtx-blackwell-mma-f8f6f4"},
       f16_floor_out_of_reach},
      {"the other output rounding", has_output,
       [](mxref::unit_desc& u) {
         const bool truncates = u.output == rounding_mode::toward_zero;
         u.output = truncates ? rounding_mode::nearest_even : rounding_mode::toward_zero;
       }},
      {"an output bit less", has_output, [](mxref::unit_desc& u) { --u.output_bits; }},
      {"steps of half the length", has_no_groups, [](mxref::unit_desc& u) { u.length /= 2; }},
      {"steps of twice the length", is_plain, [](mxref::unit_desc& u) { u.length *= 2; }, one_step},
      {"groups of half the size", has_groups, [](mxref::unit_desc& u) { u.group /= 2; }},
      {"groups of twice the size", has_groups, [](mxref::unit_desc& u) { u.group *= 2; }},
      {"no groups", has_groups, [](mxref::unit_desc& u) { u.group = 1; }},
      {"the other order", has_order,
       [](mxref::unit_desc& u) {
         const unit_order apart = restarts(u) ? unit_order::pairs_of_pairs : unit_order::even_odd;
         u.order = u.order == unit_order::together ? apart : unit_order::together;
       }},
      {"no restart", restarts,
       [](mxref::unit_desc& u) {
         u.restart = 0;
         u.order = unit_order::together;
       }},
      {"elements at their own emin",
       restarts,
       [](mxref::unit_desc& u) { u.element_emin = mxref::unit_desc::own_emin; },
       {"nvidia-hopper-mma", "nvidia-blackwell-mma"}},  // all measured inputs are normal
      {"exact sums", is_not_exact,
       [](mxref::unit_desc& u) {
         u.sum = mxref::unit_sum::exact;
         u.group = 1;
         u.order = unit_order::together;
       }},
      {"sums that flush", is_exact, [](mxref::unit_desc& u) { u.sum = mxref::unit_sum::flushed; }},
  };
  return list;
}

}  // namespace sweep

#endif  // MXREF_TESTS_SWEEP_UNIT_MUTATIONS_HPP_
