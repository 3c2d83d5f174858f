// SPDX-License-Identifier: Apache-2.0
// Level 4. AMD's matrix units, CDNA1 to CDNA4, as tables.
// Source: MMA-Sim v2 (arXiv 2511.10909v2); CDNA1 with an exact sum where its code adds in binary64.
// Which NaN these units write is not specified.
// Checked: tests/sweep/golden_units_test.cpp, every public row; tests/sweep/unit_test.cpp
#ifndef MXREF_AMD_HPP_
#define MXREF_AMD_HPP_

#include "mxref/config.hpp"
#include "mxref/formats.hpp"
#include "mxref/nvidia.hpp"
#include "mxref/unit_desc.hpp"
#include "mxref/unit_model.hpp"

MXREF_BEGIN_NAMESPACE

namespace detail {

constexpr unit_desc amd_unit(unit_sum sum, int length) noexcept {
  unit_desc u;
  u.sum = sum;
  u.length = length;
  u.output = rounding_mode::nearest_even;
  u.nan = unit_nan::quiet;
  return u;
}
/// CDNA1: exact.
constexpr unit_desc cdna1(int length) noexcept { return amd_unit(unit_sum::exact, length); }
/// CDNA2: binary32 operations that flush.
constexpr unit_desc cdna2(int length) noexcept { return amd_unit(unit_sum::flushed, length); }
/// CDNA3: two windows; FP8 with even and odd products apart.
constexpr unit_desc cdna3(int length, unit_order order) noexcept {
  unit_desc u = amd_unit(unit_sum::two_windows, length);
  u.fraction_bits = 24;
  u.second_fraction_bits = 31;
  u.order = order;
  return u;
}

}  // namespace detail

namespace accumulate {

/// MFMA of CDNA1 (MI100): exact sums of 4 (binary16) or 2 (bfloat16) products and C, rounded once.
struct amd_cdna1_mfma : detail::model_base<amd_cdna1_mfma> {
  static constexpr const char* name = "amd-cdna1-mfma";
  static constexpr const char* instruction = "v_mfma_f32_*f16, *bf16 (gfx908)";
  static constexpr unit_mode modes[] = {
      detail::sim(set_f16, detail::cdna1(4)),
      detail::sim(set_bf16, detail::cdna1(2)),
  };
};

/// MFMA of CDNA2 (MI200): binary32 products and additions that flush subnormals; 4 products a step
/// (binary16) or 2 (bfloat16).
struct amd_cdna2_mfma : detail::model_base<amd_cdna2_mfma> {
  static constexpr const char* name = "amd-cdna2-mfma";
  static constexpr const char* instruction = "v_mfma_f32_*f16, *bf16 (gfx90a)";
  static constexpr unit_mode modes[] = {
      detail::sim(set_f16, detail::cdna2(4)),
      detail::sim(set_bf16, detail::cdna2(2)),
  };
};

/// MFMA bf16_1k of CDNA2 (MI200): as amd_cdna2_mfma, 4 products a step.
struct amd_cdna2_mfma_1k : detail::model_base<amd_cdna2_mfma_1k> {
  static constexpr const char* name = "amd-cdna2-mfma-1k";
  static constexpr const char* instruction = "v_mfma_f32_*bf16_1k (gfx90a)";
  static constexpr unit_mode modes[] = {
      detail::sim(set_bf16, detail::cdna2(4)),
  };
};

/// MFMA of CDNA3 (MI300): steps of 8 (binary16, bfloat16), 4 (xf32) or 16 (FP8, fnuz codes).
struct amd_cdna3_mfma : detail::model_base<amd_cdna3_mfma> {
  static constexpr const char* name = "amd-cdna3-mfma";
  static constexpr const char* instruction = "v_mfma_f32_*f16, *bf16, *xf32, *fp8, *bf8 (gfx942)";
  static constexpr unit_mode modes[] = {
      detail::sim(set_f16, detail::cdna3(8, unit_order::together)),
      detail::sim(set_bf16, detail::cdna3(8, unit_order::together)),
      detail::sim(set_tf32, detail::cdna3(4, unit_order::together)),
      detail::sim(set_fp8fnuz, detail::cdna3(16, unit_order::even_odd)),
  };
};

/// v_mfma_scale_f32_*_f8f6f4 of CDNA4 (MI350). Unverified: no public model of its arithmetic
/// exists. Only that scaling acts on the dot product of a block of 32 before accumulation is
/// published; that this product is exact and is added to C with one rounding to nearest even is an
/// assumption, and another one can be put in its place:
///
///     accumulate::amd_cdna4_mfma_scale unit;
///     unit.assumed.output = rounding_mode::toward_zero;
struct amd_cdna4_mfma_scale {
  static constexpr const char* name = "amd-cdna4-mfma-scale";
  static constexpr const char* instruction = "v_mfma_scale_f32_*_f8f6f4 (gfx950)";
  static constexpr unit_mode modes[] = {
      detail::scaled_mode(set_f8f6f4, 32, E8M0::desc, detail::cdna1(32), evidence::guess,
                          "unverified: no public model; exact block dots are assumed")};

  unit_desc assumed = detail::cdna1(32);

  constexpr unit_choice resolve(const operand_kind& a, const operand_kind& b,
                                format_desc out) const noexcept {
    unit_mode here = modes[0];
    here.unit = assumed;
    return choose_unit(&here, 1, a, b, out);
  }
};

}  // namespace accumulate

MXREF_END_NAMESPACE

#endif  // MXREF_AMD_HPP_
