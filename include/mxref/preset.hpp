// SPDX-License-Identifier: Apache-2.0
// Level 3. What known libraries do, as data: every choice that encode and quantize leave open.
#ifndef MXREF_PRESET_HPP_
#define MXREF_PRESET_HPP_

#include "mxref/config.hpp"
#include "mxref/convention.hpp"
#include "mxref/convert.hpp"
#include "mxref/overflow.hpp"
#include "mxref/quantize.hpp"
#include "mxref/rounding.hpp"
#include "mxref/scale.hpp"
#include "mxref/scale_log2.hpp"

MXREF_BEGIN_NAMESPACE

/// The choices of one library. Change a copy where the library offers more than its default:
///   auto p = preset::ml_dtypes;  p.overflow = overflow_mode::saturate;
struct preset_desc {
  const char* name;
  const char* source;  ///< what it reproduces, with its version
  rounding_mode rounding = rounding_mode::nearest_even;
  overflow_mode overflow = overflow_mode::saturate;
  element_convention elements{};
  bool has_blocks = false;  ///< it quantizes blocks: the rest counts
  scale_rule scale = scale_rule::floor;
  nan_mode on_nan = nan_mode::poison;

  /// For quantize and fake_quantize of matrices and blocks.
  constexpr auto quantizer() const noexcept {
    return mxref::quantizer<scale::dynamic, rounding::dynamic, overflow::dynamic, nan::dynamic,
                            element_convention>{
        {scale}, {rounding}, {overflow}, {on_nan}, elements};
  }
};

/// encode<E4M3>(x, preset::ml_dtypes): the code that a library writes.
/// Checked: tests/sweep/golden_preset_test.cpp
template <element_format E, native_float T>
constexpr E encode(T x, const preset_desc& p) noexcept {
  constexpr format_desc f = detail::desc_of<E>::get();
  return E{static_cast<typename E::code_type>(to_code_by(
      f, to_number(x), rounding::dynamic{p.rounding}, overflow::dynamic{p.overflow}, p.elements))};
}

namespace preset {

namespace detail {
constexpr element_convention written(nan_result nan, zero_result zero,
                                     inf_result inf = inf_result::by_overflow,
                                     overflow_edge edge = overflow_edge::rounded) noexcept {
  element_convention c;
  c.nan = nan;
  c.zero = zero;
  c.inf = inf;
  c.edge = edge;
  return c;
}
constexpr element_convention microxcaling_elements() noexcept {
  element_convention c = written(nan_result::with_sign, zero_result::minus_zero_lost);
  c.arithmetic = element_arithmetic::microxcaling;
  return c;
}
}  // namespace detail

/// The conversions of CUDA's headers, which are mxref's own defaults. Nonsaturating: __NV_NOSAT.
inline constexpr preset_desc cuda{"cuda",
                                  "cuda_fp8.h, cuda_fp6.h, cuda_fp4.h of CUDA 13.0, host path"};

/// Inf never saturates, a NaN keeps its sign, and becomes a zero in formats without NaN; kTruncate
/// (rounding toward zero) overflows. Saturating: kSaturate.
inline constexpr preset_desc ml_dtypes{
    "ml-dtypes", "ml_dtypes 0.6", rounding_mode::nearest_even, overflow_mode::nonsaturating,
    detail::written(nan_result::flipped_zero, zero_result::keeps_sign, inf_result::special,
                    overflow_edge::magnitude)};

/// IEEE arithmetic; Inf becomes a zero in formats that have neither Inf nor NaN. The payload of a
/// NaN, which APFloat keeps, is not.
inline constexpr preset_desc llvm{
    "llvm", "LLVM APFloat 22", rounding_mode::nearest_even, overflow_mode::nonsaturating,
    detail::written(nan_result::with_sign, zero_result::keeps_sign, inf_result::zero)};

/// -0 loses its sign, and in E4M3 the tie at 464 overflows when nonsaturating.
inline constexpr preset_desc amd{"amd", "ROCm mxDataGenerator, commit a71a9c8",
                                 rounding_mode::nearest_even, overflow_mode::saturate,
                                 detail::written(nan_result::largest, zero_result::minus_zero_lost,
                                                 inf_result::by_overflow, overflow_edge::tie)};

/// NaN is all ones. Blocks: an Inf gives the largest scale, a NaN poisons; MXINT8 uses -128 with
/// overflow_mode::saturate_full.
inline constexpr preset_desc gfloat{"gfloat",
                                    "gfloat 0.5.2",
                                    rounding_mode::nearest_even,
                                    overflow_mode::saturate,
                                    detail::written(nan_result::all_ones, zero_result::keeps_sign),
                                    true,
                                    scale_rule::gfloat_amax,
                                    nan_mode::gfloat_inf};

/// The Cast operator; nonsaturating (saturate = 0) has two defects, see overflow_edge. Compared as
/// values: which NaN code it writes is not known.
inline constexpr preset_desc onnx{
    "onnx", "ONNX Runtime 1.30, Cast", rounding_mode::nearest_even, overflow_mode::saturate,
    detail::written(nan_result::with_sign, zero_result::keeps_sign, inf_result::by_overflow,
                    overflow_edge::onnxruntime)};

/// to_mx with FLOOR; its other rules are scale_rule::ceil, even and rceil.
inline constexpr preset_desc torchao{"torchao",
                                     "torchao mx_formats, commit 36027d8",
                                     rounding_mode::nearest_even,
                                     overflow_mode::saturate,
                                     {},
                                     true,
                                     scale_rule::floor,
                                     nan_mode::poison};

/// MXFP8: a NaN is lost to amax, an Inf gives the largest scale. Its scale conversion is compared,
/// whole blocks of it are not: there are no vectors.
inline constexpr preset_desc transformer_engine{"transformer-engine",
                                                "TransformerEngine 2.20, MXFP8",
                                                rounding_mode::nearest_even,
                                                overflow_mode::saturate,
                                                {},
                                                true,
                                                scale_rule::rceil,
                                                nan_mode::ignore};

/// MXFP4 by its Python reference with pow_2_scales: NaN is +0, -0 loses its sign.
inline constexpr preset_desc transformer_engine_mxfp4{
    "transformer-engine-mxfp4",
    "TransformerEngine 2.20, reference_nvfp4.py, pow_2_scales",
    rounding_mode::nearest_even,
    overflow_mode::saturate,
    detail::written(nan_result::zero, zero_result::minus_zero_lost),
    true,
    scale_rule::te_pow2,
    nan_mode::ignore};

/// The Python path with its default round="nearest", ties away; "floor" and "even" are
/// rounding_mode::toward_zero and nearest_even; flush_fp32_subnorms is elements.flush =
/// block_flush::rounded.
inline constexpr preset_desc microxcaling{"microxcaling",
                                          "microxcaling, commit 7bc4195, custom_cuda=False",
                                          rounding_mode::nearest_away,
                                          overflow_mode::saturate,
                                          detail::microxcaling_elements(),
                                          true,
                                          scale_rule::microx,
                                          nan_mode::poison};

/// The C++ and CUDA path: exact exponents, no -0; flush_fp32_subnorms is block_flush::subnormal.
inline constexpr preset_desc microxcaling_cpp{
    "microxcaling-cpp",
    "microxcaling, commit 7bc4195, shared_exp.cuh and quantize.cuh",
    rounding_mode::nearest_away,
    overflow_mode::saturate,
    detail::written(nan_result::canonical, zero_result::positive),
    true,
    scale_rule::floor,
    nan_mode::poison};

/// MXFP4: ties toward zero, no -0, NaN is 0 and ignored; tiny blocks wrap to huge scales.
inline constexpr preset_desc ggml{"ggml",
                                  "ggml of llama.cpp v0.5.0, block_mxfp4",
                                  rounding_mode::nearest_toward_zero,
                                  overflow_mode::saturate,
                                  detail::written(nan_result::zero, zero_result::positive),
                                  true,
                                  scale_rule::ggml,
                                  nan_mode::ignore};

/// MX4 with rounding_mode "nearest" of the exponent; the others are scale_rule::fbgemm_floor,
/// fbgemm_even and fbgemm_ceil.
inline constexpr preset_desc fbgemm{"fbgemm",
                                    "FBGEMM py_quantize_mx4, commit 71d6f8b",
                                    rounding_mode::nearest_away,
                                    overflow_mode::saturate,
                                    {},
                                    true,
                                    scale_rule::fbgemm_nearest,
                                    nan_mode::gfloat_inf};

/// E2M1 with UE8M0 scales: ties toward zero, no -0, NaN is 0. (Its FP8 conversion is preset::cuda's
/// with scale_rule::deepgemm.)
inline constexpr preset_desc deepgemm{"deepgemm",
                                      "DeepGEMM, commit 54e2261, per_token_cast_to_fp4",
                                      rounding_mode::nearest_toward_zero,
                                      overflow_mode::saturate,
                                      detail::written(nan_result::zero, zero_result::positive),
                                      true,
                                      scale_rule::deepgemm,
                                      nan_mode::ignore};

}  // namespace preset

/// All of them, for tools.
inline constexpr const preset_desc* presets[] = {&preset::cuda,
                                                 &preset::ml_dtypes,
                                                 &preset::llvm,
                                                 &preset::amd,
                                                 &preset::gfloat,
                                                 &preset::onnx,
                                                 &preset::torchao,
                                                 &preset::transformer_engine,
                                                 &preset::transformer_engine_mxfp4,
                                                 &preset::microxcaling,
                                                 &preset::microxcaling_cpp,
                                                 &preset::ggml,
                                                 &preset::fbgemm,
                                                 &preset::deepgemm};

MXREF_END_NAMESPACE

#endif  // MXREF_PRESET_HPP_
