// SPDX-License-Identifier: Apache-2.0
// Level 4. NVIDIA's matrix units, Volta to Blackwell, as tables.
// Source: parameters of MMA-Sim v2 (arXiv 2511.10909v2), and where they differ those that reproduce
// the measurements of the MATLAB-tensor-core data set (Khattak and Mikaitis 2025). NVIDIA
// documents none of this.
// Checked: tests/sweep/golden_units_test.cpp, every public row; tests/sweep/unit_test.cpp
#ifndef MXREF_NVIDIA_HPP_
#define MXREF_NVIDIA_HPP_

#include "mxref/config.hpp"
#include "mxref/formats.hpp"
#include "mxref/unit_desc.hpp"
#include "mxref/unit_model.hpp"

MXREF_BEGIN_NAMESPACE

namespace detail {

inline constexpr const char* source_data_set = "MATLAB-tensor-core data set, measured rows";
inline constexpr const char* source_mma_sim = "MMA-Sim v2, arXiv 2511.10909v2";
inline constexpr const char* source_extended = "MMA-Sim v2, its format table extended";

/// binary32 accumulator, cut off.
constexpr unit_desc to_f32(int length, int fraction_bits, int floor) noexcept {
  unit_desc u;
  u.length = length;
  u.fraction_bits = fraction_bits;
  u.exponent_floor = floor;
  return u;
}
/// binary32 accumulator of which 13 mantissa bits are used: FP8 on Ada and Hopper.
constexpr unit_desc to_e8m13(int length, int floor) noexcept {
  unit_desc u = to_f32(length, 13, floor);
  u.output_bits = 13;
  return u;
}
/// binary16 accumulator, to nearest even.
constexpr unit_desc to_f16(int length, int fraction_bits, int floor) noexcept {
  unit_desc u = to_f32(length, fraction_bits, floor);
  u.accumulator = binary16::desc;
  u.output = rounding_mode::nearest_even;
  u.output_bits = binary16::desc.man_bits;
  return u;
}
/// mma.sync with FP8 operands on Hopper and sm_100: elements become binary16 numbers (so that their
/// exponents are those of binary16), two steps of 16 from +0, then one addition to C.
/// Source: CUTLASS issue 1986; the recipe was found in measured rows (H100, H200, B200).
constexpr unit_desc emulated_fp8(unit_desc f16_unit) noexcept {
  f16_unit.restart = 32;
  f16_unit.order = unit_order::pairs_of_pairs;
  f16_unit.element_emin = binary16::desc.emin();
  return f16_unit;
}
/// kind::mxf4 and kind::mxf4nvf4: groups of 16 products.
constexpr unit_desc grouped_fp4() noexcept {
  unit_desc u = to_f32(64, 35, -139);
  u.group = 16;
  return u;
}

constexpr unit_mode mode(element_set ab, const unit_desc& u, evidence known,
                         const char* source) noexcept {
  return {ab, ab, 0, {}, u, known, source};
}
constexpr unit_mode scaled_mode(element_set ab, int block, format_desc scale_format,
                                const unit_desc& u, evidence known, const char* source) noexcept {
  return {ab, ab, block, scale_format, u, known, source};
}

constexpr unit_mode hw(element_set ab, const unit_desc& u) noexcept {
  return mode(ab, u, evidence::measured, source_data_set);
}
constexpr unit_mode sim(element_set ab, const unit_desc& u) noexcept {
  return mode(ab, u, evidence::public_model, source_mma_sim);
}
constexpr unit_mode extended(element_set ab, const unit_desc& u) noexcept {
  return mode(ab, u, evidence::guess, source_extended);
}
constexpr unit_mode sim_scaled(element_set ab, int block, format_desc scale_format,
                               const unit_desc& u) noexcept {
  return scaled_mode(ab, block, scale_format, u, evidence::public_model, source_mma_sim);
}

/// mma.sync of Hopper, sm_100 and RTX Blackwell.
inline constexpr unit_desc late_f32 = to_f32(16, 25, -133);
inline constexpr unit_desc late_tf32 = to_f32(8, 25, -133);
inline constexpr unit_desc late_f16 = to_f16(16, 25, -22);

inline constexpr const char* source_four_products =
    "MATLAB-tensor-core data set, measured rows of 4 products; 8: MMA-Sim v2";
inline constexpr const char* source_emulation =
    "recipe found in measured rows of H100, H200 and B200; CUTLASS issue 1986";
inline constexpr const char* source_mixed_emulation =
    "recipe measured for pairs of one FP8 type, extended to mixed pairs";

}  // namespace detail

namespace accumulate {

/// mma.sync m8n8k4 of Volta (sm_70). A binary16 C of a binary32 D is widened first.
/// Not settled: the exponent floor of a binary16 D is -20 in MMA-Sim, -19 in the MATLAB models.
struct nvidia_volta_mma : detail::model_base<nvidia_volta_mma> {
  static constexpr const char* name = "nvidia-volta-mma";
  static constexpr const char* instruction = "mma.sync.m8n8k4 (sm_70)";
  static constexpr unit_mode modes[] = {
      detail::hw(set_f16, detail::to_f32(4, 23, -131)),
      detail::hw(set_f16, detail::to_f16(4, 23, -20)),
  };
};

/// mma.sync m16n8k8 of Turing (sm_75).
/// Not settled: the exponent floor of a binary16 D is -21 in MMA-Sim, -20 in the MATLAB models.
struct nvidia_turing_mma : detail::model_base<nvidia_turing_mma> {
  static constexpr const char* name = "nvidia-turing-mma";
  static constexpr const char* instruction = "mma.sync.m16n8k8 (sm_75)";
  static constexpr unit_mode modes[] = {
      detail::sim(set_f16, detail::to_f32(8, 24, -132)),
      detail::sim(set_f16, detail::to_f16(8, 24, -21)),
  };
};

/// mma.sync of Ampere (sm_80, sm_86): a chain of steps of 8, or 4 for TF32, whatever the shape.
/// Not settled: the exponent floor of a binary16 D is -21 in MMA-Sim, -20 in the MATLAB models.
struct nvidia_ampere_mma : detail::model_base<nvidia_ampere_mma> {
  static constexpr const char* name = "nvidia-ampere-mma";
  static constexpr const char* instruction = "mma.sync (sm_80, sm_86)";
  static constexpr unit_mode modes[] = {
      detail::hw(set_f16, detail::to_f32(8, 24, -132)),
      detail::hw(set_bf16, detail::to_f32(8, 24, -132)),
      detail::hw(set_tf32, detail::to_f32(4, 24, -132)),
      detail::hw(set_f16, detail::to_f16(8, 24, -21)),
  };
};

/// mma.sync of Ada (sm_89): as Ampere; FP8 in steps of 16 with 13 fraction bits and, in a binary32
/// D, 13 mantissa bits. Measured for pairs of one FP8 type.
/// Not settled: the exponent floor of a binary16 D is -21 in MMA-Sim, -20 in the MATLAB models.
struct nvidia_ada_mma : detail::model_base<nvidia_ada_mma> {
  static constexpr const char* name = "nvidia-ada-mma";
  static constexpr const char* instruction = "mma.sync (sm_89)";
  static constexpr unit_mode modes[] = {
      detail::hw(set_f16, detail::to_f32(8, 24, -132)),
      detail::hw(set_bf16, detail::to_f32(8, 24, -132)),
      detail::hw(set_tf32, detail::to_f32(4, 24, -132)),
      detail::hw(set_f16, detail::to_f16(8, 24, -21)),
      detail::hw(set_e4m3, detail::to_e8m13(16, -132)),
      detail::hw(set_e5m2, detail::to_e8m13(16, -132)),
      detail::sim(set_fp8, detail::to_e8m13(16, -132)),
      detail::hw(set_e4m3, detail::to_f16(16, 13, -21)),
      detail::hw(set_e5m2, detail::to_f16(16, 13, -21)),
      detail::sim(set_fp8, detail::to_f16(16, 13, -21)),
  };
};

/// mma.sync of Hopper (sm_90). FP8 operands are emulated with binary16 steps.
/// Not settled: the exponent floor of a binary16 D is -22 in MMA-Sim, -21 in the MATLAB models.
struct nvidia_hopper_mma : detail::model_base<nvidia_hopper_mma> {
  static constexpr const char* name = "nvidia-hopper-mma";
  static constexpr const char* instruction = "mma.sync (sm_90)";
  static constexpr unit_mode modes[] = {
      detail::hw(set_f16, detail::late_f32),
      detail::hw(set_bf16, detail::late_f32),
      detail::mode(set_tf32, detail::late_tf32, evidence::measured, detail::source_four_products),
      detail::hw(set_f16, detail::late_f16),
      detail::mode(set_e4m3, detail::emulated_fp8(detail::late_f32), evidence::measured,
                   detail::source_emulation),
      detail::mode(set_e5m2, detail::emulated_fp8(detail::late_f32), evidence::measured,
                   detail::source_emulation),
      detail::mode(set_fp8, detail::emulated_fp8(detail::late_f32), evidence::guess,
                   detail::source_mixed_emulation),
      detail::mode(set_e4m3, detail::emulated_fp8(detail::late_f16), evidence::measured,
                   detail::source_emulation),
      detail::mode(set_e5m2, detail::emulated_fp8(detail::late_f16), evidence::measured,
                   detail::source_emulation),
      detail::mode(set_fp8, detail::emulated_fp8(detail::late_f16), evidence::guess,
                   detail::source_mixed_emulation),
  };
};

/// wgmma of Hopper (sm_90a). FP8 with a binary32 D was measured with C = 0.
struct nvidia_hopper_wgmma : detail::model_base<nvidia_hopper_wgmma> {
  static constexpr const char* name = "nvidia-hopper-wgmma";
  static constexpr const char* instruction = "wgmma.mma_async (sm_90a)";
  static constexpr unit_mode modes[] = {
      detail::sim(set_f16, detail::late_f32),
      detail::sim(set_bf16, detail::late_f32),
      detail::sim(set_tf32, detail::late_tf32),
      detail::sim(set_f16, detail::to_f16(16, 25, -133)),
      detail::hw(set_e4m3, detail::to_e8m13(32, -133)),
      detail::hw(set_e5m2, detail::to_e8m13(32, -133)),
      detail::sim(set_fp8, detail::to_e8m13(32, -133)),
      detail::sim(set_fp8, detail::to_f16(32, 13, -133)),
  };
};

/// mma.sync of Blackwell (sm_100): as Hopper, and measured like it.
/// Not settled: the exponent floor of a binary16 D is -22 in MMA-Sim, -21 in the MATLAB models.
struct nvidia_blackwell_mma : detail::model_base<nvidia_blackwell_mma> {
  static constexpr const char* name = "nvidia-blackwell-mma";
  static constexpr const char* instruction = "mma.sync (sm_100)";
  static constexpr const auto& modes = nvidia_hopper_mma::modes;
};

/// mma.sync of RTX Blackwell (sm_120) with 16-bit and TF32 operands.
/// Not settled: the exponent floor of a binary16 D is -22 in MMA-Sim, -21 in the MATLAB models.
struct nvidia_rtx_blackwell_mma : detail::model_base<nvidia_rtx_blackwell_mma> {
  static constexpr const char* name = "nvidia-rtx-blackwell-mma";
  static constexpr const char* instruction = "mma.sync (sm_120)";
  static constexpr unit_mode modes[] = {
      detail::sim(set_f16, detail::late_f32),
      detail::sim(set_bf16, detail::late_f32),
      detail::sim(set_tf32, detail::late_tf32),
      detail::sim(set_f16, detail::late_f16),
  };
};

/// mma.sync kind::f8f6f4 of RTX Blackwell (sm_120).
/// Not settled: the exponent floor of a binary16 D is -22 in MMA-Sim, -21 in the MATLAB models.
struct nvidia_rtx_blackwell_mma_f8f6f4 : detail::model_base<nvidia_rtx_blackwell_mma_f8f6f4> {
  static constexpr const char* name = "nvidia-rtx-blackwell-mma-f8f6f4";
  static constexpr const char* instruction = "mma.sync.kind::f8f6f4 (sm_120)";
  static constexpr unit_mode modes[] = {
      detail::sim(set_fp8, detail::to_f32(32, 25, -133)),
      detail::extended(set_f8f6f4, detail::to_f32(32, 25, -133)),
      detail::sim(set_fp8, detail::to_f16(32, 25, -22)),
      detail::extended(set_f8f6f4, detail::to_f16(32, 25, -22)),
  };
};

/// mma.sync of RTX Blackwell (sm_120), kind::mxf8f6f4: K = 32, one E8M0 scale per operand and step.
/// An unscaled side has scale 1. FP6 and FP4 operands, and whether their subnormals keep emin in
/// the alignment, were not compared with hardware.
struct nvidia_rtx_blackwell_mma_mxf8f6f4 : detail::model_base<nvidia_rtx_blackwell_mma_mxf8f6f4> {
  static constexpr const char* name = "nvidia-rtx-blackwell-mma-mxf8f6f4";
  static constexpr const char* instruction = "mma.sync.kind::mxf8f6f4.block_scale.scale_vec::1X";
  static constexpr unit_mode modes[] = {
      detail::sim_scaled(set_fp8, 32, E8M0::desc, detail::to_f32(32, 25, -133)),
      detail::scaled_mode(set_f8f6f4, 32, E8M0::desc, detail::to_f32(32, 25, -133), evidence::guess,
                          detail::source_extended),
  };
};

/// mma.sync of RTX Blackwell (sm_120), kind::mxf4: K = 64, E2M1, E8M0 scales of 32; groups of 16
/// stay separate terms.
struct nvidia_rtx_blackwell_mma_mxf4 : detail::model_base<nvidia_rtx_blackwell_mma_mxf4> {
  static constexpr const char* name = "nvidia-rtx-blackwell-mma-mxf4";
  static constexpr const char* instruction = "mma.sync.kind::mxf4.block_scale.scale_vec::2X";
  static constexpr unit_mode modes[] = {
      detail::sim_scaled(set_e2m1, 32, E8M0::desc, detail::grouped_fp4()),
  };
};

/// mma.sync of RTX Blackwell (sm_120), kind::mxf4nvf4: K = 64, E2M1; scale_vec::4X is a block of 16
/// with E8M0 or unsigned E4M3 scales, ::2X a block of 32 with E8M0 scales.
struct nvidia_rtx_blackwell_mma_mxf4nvf4 : detail::model_base<nvidia_rtx_blackwell_mma_mxf4nvf4> {
  static constexpr const char* name = "nvidia-rtx-blackwell-mma-mxf4nvf4";
  static constexpr const char* instruction =
      "mma.sync.kind::mxf4nvf4.block_scale.scale_vec::2X, ::4X";
  static constexpr unit_mode modes[] = {
      detail::sim_scaled(set_e2m1, 16, UE4M3::desc, detail::grouped_fp4()),
      detail::sim_scaled(set_e2m1, 16, E8M0::desc, detail::grouped_fp4()),
      detail::sim_scaled(set_e2m1, 32, E8M0::desc, detail::grouped_fp4()),
  };
};

/// tcgen05.mma of Blackwell (sm_100), kind::f16.
struct nvidia_blackwell_tcgen05_f16 : detail::model_base<nvidia_blackwell_tcgen05_f16> {
  static constexpr const char* name = "nvidia-blackwell-tcgen05-f16";
  static constexpr const char* instruction = "tcgen05.mma.kind::f16";
  static constexpr unit_mode modes[] = {
      detail::sim(set_f16, detail::late_f32),
      detail::sim(set_bf16, detail::late_f32),
      detail::sim(set_f16, detail::to_f16(16, 25, -133)),
  };
};

/// tcgen05.mma of Blackwell (sm_100), kind::tf32.
struct nvidia_blackwell_tcgen05_tf32 : detail::model_base<nvidia_blackwell_tcgen05_tf32> {
  static constexpr const char* name = "nvidia-blackwell-tcgen05-tf32";
  static constexpr const char* instruction = "tcgen05.mma.kind::tf32";
  static constexpr unit_mode modes[] = {
      detail::sim(set_tf32, detail::late_tf32),
  };
};

/// tcgen05.mma of Blackwell (sm_100), kind::f8f6f4.
struct nvidia_blackwell_tcgen05_f8f6f4 : detail::model_base<nvidia_blackwell_tcgen05_f8f6f4> {
  static constexpr const char* name = "nvidia-blackwell-tcgen05-f8f6f4";
  static constexpr const char* instruction = "tcgen05.mma.kind::f8f6f4";
  static constexpr unit_mode modes[] = {
      detail::sim(set_fp8, detail::to_f32(32, 25, -133)),
      detail::extended(set_f8f6f4, detail::to_f32(32, 25, -133)),
      detail::sim(set_fp8, detail::to_f16(32, 25, -133)),
      detail::extended(set_f8f6f4, detail::to_f16(32, 25, -133)),
  };
};

/// tcgen05.mma of Blackwell (sm_100), kind::mxf8f6f4: K = 32, one E8M0 scale per operand and step.
/// An unscaled side has scale 1. FP6 and FP4 operands, and whether their subnormals keep emin in
/// the alignment, were not compared with hardware.
struct nvidia_blackwell_tcgen05_mxf8f6f4 : detail::model_base<nvidia_blackwell_tcgen05_mxf8f6f4> {
  static constexpr unit_desc desc = detail::to_f32(32, 25, -133);
  static constexpr const char* name = "nvidia-blackwell-tcgen05-mxf8f6f4";
  static constexpr const char* instruction = "tcgen05.mma.kind::mxf8f6f4.block_scale.scale_vec::1X";
  static constexpr unit_mode modes[] = {
      detail::sim_scaled(set_fp8, 32, E8M0::desc, detail::to_f32(32, 25, -133)),
      detail::scaled_mode(set_f8f6f4, 32, E8M0::desc, detail::to_f32(32, 25, -133), evidence::guess,
                          detail::source_extended),
  };
};

/// tcgen05.mma of Blackwell (sm_100), kind::mxf4: K = 64, E2M1, E8M0 scales of 32; groups of 16
/// stay separate terms.
struct nvidia_blackwell_tcgen05_mxf4 : detail::model_base<nvidia_blackwell_tcgen05_mxf4> {
  static constexpr const char* name = "nvidia-blackwell-tcgen05-mxf4";
  static constexpr const char* instruction = "tcgen05.mma.kind::mxf4.block_scale.scale_vec::2X";
  static constexpr unit_mode modes[] = {
      detail::sim_scaled(set_e2m1, 32, E8M0::desc, detail::grouped_fp4()),
  };
};

/// tcgen05.mma of Blackwell (sm_100), kind::mxf4nvf4: K = 64, E2M1; scale_vec::4X is a block of 16
/// with E8M0 or unsigned E4M3 scales, ::2X a block of 32 with E8M0 scales.
struct nvidia_blackwell_tcgen05_mxf4nvf4 : detail::model_base<nvidia_blackwell_tcgen05_mxf4nvf4> {
  static constexpr const char* name = "nvidia-blackwell-tcgen05-mxf4nvf4";
  static constexpr const char* instruction =
      "tcgen05.mma.kind::mxf4nvf4.block_scale.scale_vec::2X, ::4X";
  static constexpr unit_mode modes[] = {
      detail::sim_scaled(set_e2m1, 16, UE4M3::desc, detail::grouped_fp4()),
      detail::sim_scaled(set_e2m1, 16, E8M0::desc, detail::grouped_fp4()),
      detail::sim_scaled(set_e2m1, 32, E8M0::desc, detail::grouped_fp4()),
  };
};

}  // namespace accumulate

MXREF_END_NAMESPACE

#endif  // MXREF_NVIDIA_HPP_
