// SPDX-License-Identifier: Apache-2.0
// Level 2. The named formats. Numbers that matter are checked under each declaration.
#ifndef MXREF_FORMATS_HPP_
#define MXREF_FORMATS_HPP_

#include "mxref/config.hpp"
#include "mxref/element.hpp"
#include "mxref/format.hpp"

MXREF_BEGIN_NAMESPACE

// The six element types of OCP MX 1.0. FP8 is OFP8 (MX 5.3.1), FP6 is 5.3.2, FP4 is 5.3.3.

/// exp 5, man 2, bias 15; Inf 0x7C, NaN 0x7D..0x7F; largest 57344.
using E5M2 = element<format_desc{5, 2, 15, specials::ieee}>;
/// exp 4, man 3, bias 7; no Inf, NaN 0x7F in both signs; largest 448.
using E4M3 = element<format_desc{4, 3, 7, specials::nan_only}>;
/// exp 3, man 2, bias 3; finite only; largest 28.
using E3M2 = element<format_desc{3, 2, 3}>;
/// exp 2, man 3, bias 1; finite only; largest 7.5.
using E2M3 = element<format_desc{2, 3, 1}>;
/// exp 2, man 1, bias 1; finite only: 0 .5 1 1.5 2 3 4 6.
using E2M1 = element<format_desc{2, 1, 1}>;
/// Two's complement code * 2^-6 (MX 5.3.4); -127/64 .. 127/64, and -2 under saturate_full.
using INT8 = element<format_desc{0, 7, 0, specials::none, encoding::twos_complement}>;

static_assert(E5M2::desc.max_magnitude() == 0x7B && decode(E5M2{0x7B}) == 57344.0F);
static_assert(E4M3::desc.max_magnitude() == 0x7E && decode(E4M3{0x7E}) == 448.0F);
static_assert(E3M2::desc.max_magnitude() == 0x1F && decode(E3M2{0x1F}) == 28.0F);
static_assert(E2M3::desc.max_magnitude() == 0x1F && decode(E2M3{0x1F}) == 7.5F);
static_assert(E2M1::desc.max_magnitude() == 0x07 && decode(E2M1{0x07}) == 6.0F);
static_assert(INT8::desc.max_magnitude() == 127 && decode(INT8{0x80}) == -2.0F);
static_assert(E5M2::desc.emax() == 15 && E4M3::desc.emax() == 8 && E3M2::desc.emax() == 4);
static_assert(E2M3::desc.emax() == 2 && E2M1::desc.emax() == 2 && INT8::desc.emax() == 0);
static_assert(decode(E5M2{1}) == 0x1p-16F && decode(E4M3{1}) == 0x1p-9F);
static_assert(decode(E3M2{1}) == 0x1p-4F && decode(E2M3{1}) == 0x1p-3F);
static_assert(decode(E2M1{1}) == 0.5F && decode(INT8{1}) == 0x1p-6F);

// The 8-bit types of others. "fnuz" (finite, NaN at the code of -0, unsigned zero) is what AMD's
// CDNA3 and Graphcore use; the IEEE-style ones and E4M3B11FNUZ are those of ml_dtypes and LLVM.

/// exp 4, man 3, bias 8; NaN 0x80, no -0; largest 240.
using E4M3FNUZ = element<format_desc{4, 3, 8, specials::nan_for_minus0}>;
/// exp 5, man 2, bias 16; NaN 0x80, no -0; largest 57344.
using E5M2FNUZ = element<format_desc{5, 2, 16, specials::nan_for_minus0}>;
/// exp 4, man 3, bias 11; NaN 0x80, no -0; largest 30.
using E4M3B11FNUZ = element<format_desc{4, 3, 11, specials::nan_for_minus0}>;
/// exp 4, man 3, bias 7; Inf 0x78, NaN above it; largest 240.
using E4M3IEEE = element<format_desc{4, 3, 7, specials::ieee}>;
/// exp 3, man 4, bias 3; Inf 0x70, NaN above it; largest 15.5.
using E3M4 = element<format_desc{3, 4, 3, specials::ieee}>;

static_assert(E4M3FNUZ::desc.max_magnitude() == 0x7F && decode(E4M3FNUZ{0x7F}) == 240.0F);
static_assert(E5M2FNUZ::desc.max_magnitude() == 0x7F && decode(E5M2FNUZ{0x7F}) == 57344.0F);
static_assert(E4M3B11FNUZ::desc.max_magnitude() == 0x7F && decode(E4M3B11FNUZ{0x7F}) == 30.0F);
static_assert(E4M3IEEE::desc.max_magnitude() == 0x77 && decode(E4M3IEEE{0x77}) == 240.0F);
static_assert(E3M4::desc.max_magnitude() == 0x6F && decode(E3M4{0x6F}) == 15.5F);
static_assert(E4M3FNUZ{0x80}.to_number().is_nan() && E4M3IEEE{0x78}.to_number().is_inf());
static_assert(E3M4{0x70}.to_number().is_inf() && decode(E4M3FNUZ{1}) == 0x1p-10F);
static_assert(E4M3FNUZ::desc.nan_code() == 0x80 && decode(E5M2FNUZ{1}) == 0x1p-17F);

// Scale types.

/// The shared scale of MX (5.4.1): 2^(code - 127), NaN 0xFF; no sign, no zero, no Inf.
using E8M0 = element<format_desc{8, 0, 127, specials::nan_only, encoding::exponent_only}>;
/// E4M3 without its sign, the block scale of NVFP4; NaN 0x7F.
using UE4M3 = element<format_desc{4, 3, 7, specials::nan_only, encoding::unsigned_value}>;

static_assert(E8M0::desc.total_bits() == 8 && E8M0::desc.nan_code() == 0xFF);
static_assert(decode<double>(E8M0{0}) == 0x1p-127 && decode(E8M0{254}) == 0x1p127F);
static_assert(UE4M3::desc.total_bits() == 7 && UE4M3::desc.nan_code() == 0x7F);

// Inputs and outputs of matrix units.

using bfloat16 = element<format_desc{8, 7, 127, specials::ieee}>;
using binary16 = element<format_desc{5, 10, 15, specials::ieee}>;
/// NVIDIA's TF32 as a 19-bit code: the upper 19 bits of a binary32 pattern.
using TF32 = element<format_desc{8, 10, 127, specials::ieee}>;
using binary32 = element<binary32_desc>;

static_assert(bfloat16::desc.nan_code() == 0x7FC0 && binary16::desc.nan_code() == 0x7E00);
static_assert(binary32::desc.nan_code() == 0x7FC00000 && TF32::desc.total_bits() == 19);

MXREF_END_NAMESPACE

#endif  // MXREF_FORMATS_HPP_
