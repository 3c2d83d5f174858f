// SPDX-License-Identifier: Apache-2.0
// Level 5, per target. The fast rounding to nearest of quantize. Checked against the scalar core,
// for every target: tests/target/convert_test.cpp

#if defined(MXREF_SIMD_NEAREST_INL_) == defined(HWY_TARGET_TOGGLE)
#ifdef MXREF_SIMD_NEAREST_INL_
#undef MXREF_SIMD_NEAREST_INL_
#else
#define MXREF_SIMD_NEAREST_INL_
#endif

#include <cstdint>

#include "mxref/convert.hpp"
#include "mxref/simd/decode-inl.hpp"
#include "mxref/simd/highway.hpp"
#include "mxref/simd/kernels.hpp"

HWY_BEFORE_NAMESPACE();
MXREF_BEGIN_NAMESPACE
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

/// Rounding to nearest by one addition. With the exponent of a number but not below emin, 2^(e + 23
/// - man_bits) is so large that the sum keeps the format's bits and the processor rounds them, ties
/// to even. For ties away the last bit of binary32 is set before: a tie moves above itself, and
/// nothing else crosses one. The block scale is multiplied in first. That is exact unless the
/// product is below 2^-126, far below half a quantum of any format here, where either result is a
/// zero of the same sign.
class nearest_rounder {
 public:
  /// What the method takes: all of OCP MX, and others of a similar range.
  static bool takes(format_desc f, const simd::convert_policy& p) noexcept {
    const bool nearest =
        p.rounding == rounding_mode::nearest_even || p.rounding == rounding_mode::nearest_away;
    return nearest && f.has_sign() && f.special != specials::nan_for_minus0 &&
           f.total_bits() <= 8 && f.emin() >= -100 && f.emax() <= 100 &&
           !(f.code == encoding::twos_complement && p.overflow == overflow_mode::saturate_full);
  }

  nearest_rounder(format_desc f, const simd::convert_policy& p) noexcept
      : lift_(static_cast<std::uint32_t>(23 - f.man_bits) << 23),
        lowest_(static_cast<std::uint32_t>(f.emin() + 127) << 23),
        tie_(p.rounding == rounding_mode::nearest_away ? 1U : 0U),
        max_(static_cast<std::uint32_t>(f.max_magnitude())),
        over_(static_cast<std::uint32_t>(
            detail::overflow_code(f, false, false, p.rounding, p.overflow))),
        base_(static_cast<std::uint32_t>(f.emin() + 127) << f.man_bits),
        over_value_(decode_code(f, over_)),
        max_value_(decode_code(f, max_)),
        sign_code_(static_cast<std::uint32_t>(f.sign_code())),
        field_shift_(23 - f.man_bits),
        sign_shift_(31 - f.magnitude_bits()),
        twos_complement_(f.code == encoding::twos_complement) {}

  /// Codes of x * factor; all finite.
  HWY_INLINE u32_vec codes(f32_vec x, f32_vec factor) const {
    const u32_tag du;
    const u32_vec y = hn::BitCast(du, hn::Mul(x, factor));
    const parts p = split(y);
    const u32_vec steps = hn::Sub(hn::BitCast(du, p.sum), p.unit);
    const u32_vec field = hn::ShiftRightSame(p.exponent, field_shift_);
    u32_vec mag = hn::Add(steps, hn::Sub(field, hn::Set(du, base_)));
    mag = max_ == over_ ? hn::Min(mag, hn::Set(du, max_))
                        : hn::IfThenElse(hn::Gt(mag, hn::Set(du, max_)), hn::Set(du, over_), mag);
    if (twos_complement_) {
      const u32_vec sign = hn::BitCast(du, hn::ShiftRight<31>(hn::BitCast(i32_tag(), y)));
      return hn::And(hn::Sub(hn::Xor(mag, sign), sign), hn::Set(du, 0xFFU));
    }
    return hn::Or(mag, hn::And(hn::ShiftRightSame(y, sign_shift_), hn::Set(du, sign_code_)));
  }

  /// The numbers that these codes and the scale stand for; back undoes factor.
  HWY_INLINE f32_vec values(f32_vec x, f32_vec factor, f32_vec back) const {
    const u32_tag du;
    const f32_tag df;
    const u32_vec y = hn::BitCast(du, hn::Mul(x, factor));
    const parts p = split(y);
    f32_vec value = hn::Sub(p.sum, hn::BitCast(df, p.unit));
    const f32_vec most = hn::Set(df, max_value_);
    value = max_ == over_ ? hn::Min(value, most)
                          : hn::IfThenElse(hn::Gt(value, most), hn::Set(df, over_value_), value);
    // INT8 has no -0.
    const auto minus_zero = hn::Eq(value, hn::Zero(df));
    const f32_vec sign = hn::BitCast(df, hn::And(y, hn::Set(du, 0x80000000U)));
    const f32_vec signed_value = twos_complement_
                                     ? hn::Or(value, hn::IfThenZeroElse(minus_zero, sign))
                                     : hn::Or(value, sign);
    return canonical(hn::Mul(signed_value, back));
  }

 private:
  struct parts {
    u32_vec exponent;  ///< of the number, in place, not below emin
    u32_vec unit;      ///< the pattern of the power of two that was added
    f32_vec sum;
  };

  HWY_INLINE parts split(u32_vec y) const {
    const u32_tag du;
    const f32_tag df;
    const u32_vec mag = hn::Or(hn::And(y, hn::Set(du, 0x7FFFFFFFU)), hn::Set(du, tie_));
    const u32_vec exponent = hn::Max(hn::And(mag, hn::Set(du, 0x7F800000U)), hn::Set(du, lowest_));
    const u32_vec unit = hn::Add(exponent, hn::Set(du, lift_));
    return {exponent, unit, hn::Add(hn::BitCast(df, mag), hn::BitCast(df, unit))};
  }

  static float decode_code(format_desc f, std::uint32_t code) noexcept {
    return from_number<float>(to_number(f, code));
  }

  std::uint32_t lift_, lowest_, tie_, max_, over_, base_;
  float over_value_, max_value_;
  std::uint32_t sign_code_;
  int field_shift_, sign_shift_;
  bool twos_complement_;
};

}  // namespace HWY_NAMESPACE
MXREF_END_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
