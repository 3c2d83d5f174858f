// SPDX-License-Identifier: Apache-2.0
// Level 4. Models of the matrix units of hardware, and the list of them.
#ifndef MXREF_MATRIX_UNIT_HPP_
#define MXREF_MATRIX_UNIT_HPP_

#include "mxref/amd.hpp"
#include "mxref/config.hpp"
#include "mxref/nvidia.hpp"
#include "mxref/unit_model.hpp"

MXREF_BEGIN_NAMESPACE

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
  constexpr errc check(const operand_kind& a, const operand_kind& b,
                       format_desc out) const noexcept {
    return resolve(a, b, out).code;
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
