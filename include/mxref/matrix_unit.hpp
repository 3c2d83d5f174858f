// SPDX-License-Identifier: Apache-2.0
// Level 4. Models of the matrix units of hardware, and the list of them.
#ifndef MXREF_MATRIX_UNIT_HPP_
#define MXREF_MATRIX_UNIT_HPP_

#include <cstddef>

#include "mxref/amd.hpp"
#include "mxref/config.hpp"
#include "mxref/nvidia.hpp"
#include "mxref/status.hpp"
#include "mxref/unit_desc.hpp"
#include "mxref/unit_model.hpp"

MXREF_BEGIN_NAMESPACE

namespace detail {

/// A short name: the one kind that takes the operands as its instruction has them, scaled or not;
/// else the one that takes them with scale 1.
template <class... Kinds>
struct any_kind {
  static constexpr unit_choice resolve(const operand_kind& a, const operand_kind& b,
                                       format_desc out) noexcept {
    const unit_choice choices[] = {Kinds::resolve(a, b, out)...};
    const bool has_scales[] = {(Kinds::modes[0].block != 0)...};
    const bool wants_scales = a.block != 0 || b.block != 0;
    for (const bool is_strict : {true, false}) {
      int taken = 0;
      unit_choice choice;
      for (std::size_t i = 0; i < sizeof...(Kinds); ++i) {
        if (!choices[i] || (is_strict && has_scales[i] != wants_scales)) continue;
        choice = choices[i];
        ++taken;
      }
      if (taken > 1) choice.code = errc::ambiguous_unit;
      if (taken > 0) return choice;
    }
    return {};
  }
};

}  // namespace detail

namespace accumulate {

/// tcgen05.mma of Blackwell (sm_100) of any kind; E2M1 with E8M0 scales of 32 leaves several, and
/// is refused.
struct nvidia_blackwell_tcgen05
    : detail::any_kind<nvidia_blackwell_tcgen05_f16, nvidia_blackwell_tcgen05_tf32,
                       nvidia_blackwell_tcgen05_f8f6f4, nvidia_blackwell_tcgen05_mxf8f6f4,
                       nvidia_blackwell_tcgen05_mxf4, nvidia_blackwell_tcgen05_mxf4nvf4> {
  static constexpr const char* name = "nvidia-blackwell-tcgen05";
};

}  // namespace accumulate

/// A model by its run-time name.
struct unit_model {
  const char* name;
  const char* instruction;
  const unit_mode* modes;
  int mode_count;

  constexpr unit_choice resolve(const operand_kind& a, const operand_kind& b,
                                format_desc out) const noexcept {
    return choose_unit(modes, mode_count, a, b, out);
  }
};

namespace detail {

template <class Model>
constexpr unit_model model_of() noexcept {
  return {Model::name, Model::instruction, Model::modes,
          static_cast<int>(sizeof(Model::modes) / sizeof(unit_mode))};
}

}  // namespace detail

/// Every model of hardware.
inline constexpr unit_model matrix_units[] = {
    detail::model_of<accumulate::nvidia_volta_mma>(),
    detail::model_of<accumulate::nvidia_turing_mma>(),
    detail::model_of<accumulate::nvidia_ampere_mma>(),
    detail::model_of<accumulate::nvidia_ada_mma>(),
    detail::model_of<accumulate::nvidia_hopper_mma>(),
    detail::model_of<accumulate::nvidia_hopper_wgmma>(),
    detail::model_of<accumulate::nvidia_blackwell_mma>(),
    detail::model_of<accumulate::nvidia_rtx_blackwell_mma>(),
    detail::model_of<accumulate::nvidia_rtx_blackwell_mma_f8f6f4>(),
    detail::model_of<accumulate::nvidia_rtx_blackwell_mma_mxf8f6f4>(),
    detail::model_of<accumulate::nvidia_rtx_blackwell_mma_mxf4>(),
    detail::model_of<accumulate::nvidia_rtx_blackwell_mma_mxf4nvf4>(),
    detail::model_of<accumulate::nvidia_blackwell_tcgen05_f16>(),
    detail::model_of<accumulate::nvidia_blackwell_tcgen05_tf32>(),
    detail::model_of<accumulate::nvidia_blackwell_tcgen05_f8f6f4>(),
    detail::model_of<accumulate::nvidia_blackwell_tcgen05_mxf8f6f4>(),
    detail::model_of<accumulate::nvidia_blackwell_tcgen05_mxf4>(),
    detail::model_of<accumulate::nvidia_blackwell_tcgen05_mxf4nvf4>(),
    detail::model_of<accumulate::amd_cdna1_mfma>(),
    detail::model_of<accumulate::amd_cdna2_mfma>(),
    detail::model_of<accumulate::amd_cdna2_mfma_1k>(),
    detail::model_of<accumulate::amd_cdna3_mfma>(),
    detail::model_of<accumulate::amd_cdna4_mfma_scale>(),
};

MXREF_END_NAMESPACE

#endif  // MXREF_MATRIX_UNIT_HPP_
