// SPDX-License-Identifier: Apache-2.0
// Level 5, per target. The fused truncated sum of matrix_unit.hpp on lanes: aligning and cutting a
// product is one multiplication by a power of two and one conversion to an integer, both of which
// do exactly that. Checked: tests/target/gemm_test.cpp

#if defined(MXREF_SIMD_WINDOW_INL_) == defined(HWY_TARGET_TOGGLE)
#ifdef MXREF_SIMD_WINDOW_INL_
#undef MXREF_SIMD_WINDOW_INL_
#else
#define MXREF_SIMD_WINDOW_INL_
#endif

#include <cstddef>
#include <cstdint>

#include "mxref/simd/highway.hpp"
#include "mxref/simd/kernels.hpp"

HWY_BEFORE_NAMESPACE();
MXREF_BEGIN_NAMESPACE
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

#if MXREF_TILE_KERNELS

using window_f64 = hn::ScalableTag<double>;
using window_i64 = hn::RebindToSigned<window_f64>;
using window_u64 = hn::RebindToUnsigned<window_f64>;
using window_f32 = hn::ScalableTag<float>;
using window_i32 = hn::ScalableTag<std::int32_t>;
using window_u32 = hn::ScalableTag<std::uint32_t>;
using window_half_f32 = hn::Half<window_f32>;
using window_half_i32 = hn::Half<window_i32>;

inline constexpr int window_tile_rows = 4;

/// 2^x in binary64 for |x| < 1000.
HWY_INLINE hn::Vec<window_f64> power_of_two64(hn::Vec<window_i64> x) {
  const window_i64 d;
  return hn::BitCast(window_f64(), hn::ShiftLeft<52>(hn::Add(x, hn::Set(d, std::int64_t{1023}))));
}

/// Cuts toward zero to binary32; beyond its range Inf.
HWY_INLINE hn::Vec<window_half_f32> truncate_to_f32(hn::Vec<window_f64> x) {
  const window_f64 d;
  const window_u64 du;
  const auto magnitude = hn::Abs(x);
  const auto normal =
      hn::BitCast(d, hn::And(hn::BitCast(du, x), hn::Set(du, ~std::uint64_t{0x1FFFFFFF})));
  const auto subnormal = hn::Mul(hn::Trunc(hn::Mul(x, hn::Set(d, 0x1p149))), hn::Set(d, 0x1p-149));
  const auto inf = hn::CopySign(hn::Set(d, 0x1p200), x);
  auto r = hn::IfThenElse(hn::Lt(magnitude, hn::Set(d, 0x1p-126)), subnormal, normal);
  r = hn::IfThenElse(hn::Ge(magnitude, hn::Set(d, 0x1p128)), inf, r);
  return hn::DemoteTo(window_half_f32(), r);
}

/// One half of the lanes: the sum of the products, in units of 2^(top - fraction_bits), plus the
/// accumulator cut at the same place, as a new accumulator.
HWY_INLINE hn::Vec<window_half_f32> close_step(hn::Vec<window_half_i32> sum0,
                                               hn::Vec<window_half_i32> sum1,
                                               hn::Vec<window_half_f32> c,
                                               hn::Vec<window_half_i32> top, int fraction_bits) {
  const window_f64 d;
  const window_i64 di;
  const auto exp = hn::Sub(hn::PromoteTo(di, top), hn::Set(di, std::int64_t{fraction_bits}));
  const auto aligned_c =
      hn::Trunc(hn::Mul(hn::PromoteTo(d, c), power_of_two64(hn::Sub(hn::Zero(di), exp))));
  // 33 bits and 27 bits: the sums are exact. +0 first, so that an empty sum is +0.
  const auto products = hn::Add(hn::PromoteTo(d, sum0), hn::PromoteTo(d, sum1));
  return truncate_to_f32(hn::Mul(hn::Add(products, aligned_c), power_of_two64(exp)));
}

inline void window_kernel(const simd::window_operands& o, float* c) {
  const window_f32 df;
  const window_i32 di;
  const window_u32 du;
  const window_half_f32 hf;
  const window_half_i32 hi;
  constexpr int rows = window_tile_rows;
  const auto cols = static_cast<index_t>(hn::Lanes(df));
  const float* HWY_RESTRICT a = o.a;
  const float* HWY_RESTRICT b = o.b;
  const std::int32_t* HWY_RESTRICT exp_a = o.exp_a;
  const std::int32_t* HWY_RESTRICT exp_b = o.exp_b;
  const std::int32_t* HWY_RESTRICT scale_a = o.scale_a;
  const std::int32_t* HWY_RESTRICT scale_b = o.scale_b;
  for (index_t left = o.depth; left > 0; left -= o.length) {
    const index_t count = left < o.length ? left : o.length;
    const index_t half = count < 16 ? count : 16;
    for (int i = 0; i < rows; ++i) {
      auto top = hn::Set(di, 2 * term::zero_exp);
      for (index_t k = 0; k < count; ++k) {
        top = hn::Max(top,
                      hn::Add(hn::Set(di, exp_a[k * rows + i]), hn::LoadU(di, exp_b + k * cols)));
      }
      const auto scale = hn::Add(hn::Set(di, scale_a[i]), hn::LoadU(di, scale_b));
      top = hn::Max(hn::Add(top, scale), hn::Set(di, o.exponent_floor));
      const auto acc = hn::LoadU(df, c + i * cols);
      const auto acc_bits = hn::And(hn::BitCast(du, acc), hn::Set(du, 0x7FFFFFFFU));
      const auto acc_exp =
          hn::Sub(hn::BitCast(di, hn::Max(hn::ShiftRight<23>(acc_bits), hn::Set(du, 1U))),
                  hn::Set(di, 127));
      top = hn::IfThenElse(hn::Eq(hn::BitCast(di, acc_bits), hn::Zero(di)), top,
                           hn::Max(top, acc_exp));
      // Below 2^-126 every product is cut to zero anyway; above 2^127 every product is zero.
      const auto unit_exp = hn::Min(
          hn::Max(hn::Sub(hn::Add(scale, hn::Set(di, o.fraction_bits)), top), hn::Set(di, -126)),
          hn::Set(di, 127));
      const auto unit = hn::BitCast(df, hn::ShiftLeft<23>(hn::Add(unit_exp, hn::Set(di, 127))));
      const auto cut = [&](index_t k) HWY_ATTR {
        const auto product = hn::Mul(hn::Set(df, a[k * rows + i]), hn::LoadU(df, b + k * cols));
        return hn::ConvertTo(di, hn::Mul(product, unit));
      };
      // Sixteen products stay below 2^31.
      auto sum0 = hn::Zero(di);
      auto sum1 = hn::Zero(di);
      for (index_t k = 0; k < half; ++k) sum0 = hn::Add(sum0, cut(k));
      for (index_t k = half; k < count; ++k) sum1 = hn::Add(sum1, cut(k));
      const auto low = close_step(hn::LowerHalf(hi, sum0), hn::LowerHalf(hi, sum1),
                                  hn::LowerHalf(hf, acc), hn::LowerHalf(hi, top), o.fraction_bits);
      const auto high = close_step(hn::UpperHalf(hi, sum0), hn::UpperHalf(hi, sum1),
                                   hn::UpperHalf(hf, acc), hn::UpperHalf(hi, top), o.fraction_bits);
      hn::StoreU(hn::Combine(df, high, low), df, c + i * cols);
    }
    a += count * rows;
    b += count * cols;
    exp_a += count * rows;
    exp_b += count * cols;
    scale_a += rows;
    scale_b += cols;
  }
}

#endif  // MXREF_TILE_KERNELS

}  // namespace HWY_NAMESPACE
MXREF_END_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
