// SPDX-License-Identifier: Apache-2.0
// Numbers printed in the standards, typed from them, as constant expressions: compiling is the
// test.
#include "mxref/mxref.hpp"

namespace {

using namespace mxref;

constexpr float inf = bit_cast<float>(0x7F800000U);
template <class E>
constexpr bool is_nan(unsigned code) {
  return E{static_cast<typename E::code_type>(code)}.to_number().is_nan();
}
template <class E>
constexpr float value(unsigned code) {
  return decode(E{static_cast<typename E::code_type>(code)});
}

// OFP8 1.0, tables 1 and 2 (OCP MX 1.0, table 2). E4M3: bias 7, no infinities, NaN S.1111.111.
static_assert(E4M3::desc.bias == 7 && E4M3::desc.emin() == -6 && E4M3::desc.emax() == 8);
static_assert(value<E4M3>(0b0'1111'110) == 448 && value<E4M3>(0b1'1111'110) == -448);
static_assert(value<E4M3>(0b0'0001'000) == 0x1p-6F);           // smallest normal
static_assert(value<E4M3>(0b0'0000'111) == 0.875F * 0x1p-6F);  // largest subnormal
static_assert(value<E4M3>(0b0'0000'001) == 0x1p-9F);           // smallest subnormal
static_assert(is_nan<E4M3>(0b0'1111'111) && is_nan<E4M3>(0b1'1111'111));
static_assert(!is_nan<E4M3>(0b0'1111'000) && value<E4M3>(0b0'1111'000) == 256);

// E5M2: bias 15, infinities S.11111.00, NaN S.11111.{01, 10, 11}.
static_assert(E5M2::desc.bias == 15 && E5M2::desc.emin() == -14 && E5M2::desc.emax() == 15);
static_assert(value<E5M2>(0b0'11110'11) == 57344 && value<E5M2>(0b1'11110'11) == -57344);
static_assert(value<E5M2>(0b0'00001'00) == 0x1p-14F);
static_assert(value<E5M2>(0b0'00000'11) == 0.75F * 0x1p-14F);
static_assert(value<E5M2>(0b0'00000'01) == 0x1p-16F);
static_assert(value<E5M2>(0b0'11111'00) == inf && value<E5M2>(0b1'11111'00) == -inf);
static_assert(is_nan<E5M2>(0b0'11111'01) && is_nan<E5M2>(0b0'11111'10) &&
              is_nan<E5M2>(0b1'11111'11));

// OCP MX 1.0, tables 3 and 4. E3M2: bias 3; E2M3: bias 1; neither has infinities or NaN.
static_assert(E3M2::desc.bias == 3 && E3M2::desc.emin() == -2 && E3M2::desc.emax() == 4);
static_assert(value<E3M2>(0b0'111'11) == 28 && value<E3M2>(0b1'111'11) == -28);
static_assert(value<E3M2>(0b0'001'00) == 0.25F && value<E3M2>(0b0'000'11) == 0.1875F);
static_assert(value<E3M2>(0b0'000'01) == 0.0625F);
static_assert(E2M3::desc.bias == 1 && E2M3::desc.emin() == 0 && E2M3::desc.emax() == 2);
static_assert(value<E2M3>(0b0'11'111) == 7.5F && value<E2M3>(0b1'11'111) == -7.5F);
static_assert(value<E2M3>(0b0'01'000) == 1 && value<E2M3>(0b0'00'111) == 0.875F);
static_assert(value<E2M3>(0b0'00'001) == 0.125F);

// Table 5. E2M1: bias 1.
static_assert(E2M1::desc.bias == 1 && E2M1::desc.emin() == 0 && E2M1::desc.emax() == 2);
static_assert(value<E2M1>(0b0'11'1) == 6 && value<E2M1>(0b1'11'1) == -6);
static_assert(value<E2M1>(0b0'01'0) == 1 && value<E2M1>(0b0'00'1) == 0.5F);
static_assert(!E3M2::desc.has_nan() && !E2M3::desc.has_nan() && !E2M1::desc.has_nan());
static_assert(!E3M2::desc.has_inf() && !E2M3::desc.has_inf() && !E2M1::desc.has_inf());

// 5.3.4, table 6. INT8: two's complement with an implied scale of 2^-6.
static_assert(value<INT8>(0x7F) == 1.984375F && value<INT8>(0x81) == -1.984375F);
static_assert(value<INT8>(0x01) == 0x1p-6F && value<INT8>(0xFF) == -0x1p-6F);
static_assert(value<INT8>(0x40) == 1 && value<INT8>(0x80) == -2);

// 5.4.1, table 7. E8M0: 2^(code - 127), NaN 11111111, no zero, no infinities.
static_assert(E8M0::desc.bias == 127 && E8M0::desc.emin() == -127 && E8M0::desc.emax() == 127);
static_assert(value<E8M0>(127) == 1 && value<E8M0>(0) == 0x1p-127F && value<E8M0>(254) == 0x1p127F);
static_assert(is_nan<E8M0>(0xFF) && !is_nan<E8M0>(0xFE) && !E8M0::desc.has_inf());

// 5.2, table 1: bits of an element, size of a block, scale.
static_assert(E5M2::desc.total_bits() == 8 && E4M3::desc.total_bits() == 8);
static_assert(E3M2::desc.total_bits() == 6 && E2M3::desc.total_bits() == 6);
static_assert(E2M1::desc.total_bits() == 4 && INT8::desc.total_bits() == 8);
static_assert(mxfp8_e5m2::size == 32 && mxfp6_e3m2::size == 32 && mxfp4::size == 32 &&
              mxint8::size == 32);
static_assert(mxfp4::scale_type::desc == E8M0::desc);

// 6.3: the largest power of two of each type is what the shared scale divides by.
static_assert(scale::floor{}(to_number(1.0F), E4M3::desc) == E8M0{127 - 8});
static_assert(scale::floor{}(to_number(1.0F), E5M2::desc) == E8M0{127 - 15});
static_assert(scale::floor{}(to_number(1.0F), E3M2::desc) == E8M0{127 - 4});
static_assert(scale::floor{}(to_number(1.0F), E2M3::desc) == E8M0{127 - 2});
static_assert(scale::floor{}(to_number(1.0F), E2M1::desc) == E8M0{127 - 2});
static_assert(scale::floor{}(to_number(1.0F), INT8::desc) == E8M0{127});

// IEEE 754, table 3.5, and the wide formats derived from it.
static_assert(value<binary16>(0x7BFF) == 65504 && value<binary16>(0x0001) == 0x1p-24F);
static_assert(value<binary16>(0x0400) == 0x1p-14F && value<binary16>(0x7C00) == inf);
static_assert(value<bfloat16>(0x7F7F) == 0x1.FEp127F && value<bfloat16>(0x0001) == 0x1p-133F);
static_assert(value<TF32>(0x3FBFF) == 0x1.FFCp127F && value<TF32>(0x00001) == 0x1p-136F);
static_assert(value<binary32>(0x7F7FFFFF) == 0x1.FFFFFEp127F);
static_assert(value<binary32>(0x00000001) == 0x1p-149F && value<binary32>(0x00800000) == 0x1p-126F);
static_assert(binary32_nan == 0x7FC00000 && binary32_one == 0x3F800000);

// The exact accumulator holds the largest and the smallest product of any two valid formats.
static_assert(exact_sum::lsb_exp <= 4 * binary32::desc.quantum_exp());
static_assert(exact_sum::lsb_exp + 32 * exact_sum::limb_count - 1 >= 4 * (127 + 1) + 31);

// tcgen05 kind::mxf8f6f4: 32 products a step, 25 fraction bits, exponents from -133.
using tcgen05 = accumulate::nvidia_blackwell_tcgen05_mxf8f6f4;
static_assert(tcgen05::desc.length == 32 && tcgen05::desc.fraction_bits == 25 &&
              tcgen05::desc.exponent_floor == -133);

}  // namespace
