// SPDX-License-Identifier: Apache-2.0
// Level 5, per target. The fast rounding to nearest of quantize. Checked against the scalar core,
// for every target: tests/target/convert_test.cpp

#if defined(MXREF_SIMD_ROUNDERS_INL_) == defined(HWY_TARGET_TOGGLE)
#ifdef MXREF_SIMD_ROUNDERS_INL_
#undef MXREF_SIMD_ROUNDERS_INL_
#else
#define MXREF_SIMD_ROUNDERS_INL_
#endif

#include <cstdint>

#include "mxref/convert.hpp"
#include "mxref/philox.hpp"
#include "mxref/simd/decode-inl.hpp"
#include "mxref/simd/highway.hpp"
#include "mxref/simd/kernels.hpp"

HWY_BEFORE_NAMESPACE();
MXREF_BEGIN_NAMESPACE
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

/// What the fast rounders share: the sign, and what happens beyond the largest number.
class rounder_base {
 public:
  /// Codes from rounded magnitudes, of which those above the largest are not codes yet.
  HWY_INLINE u32_vec finish_codes(u32_vec mag, u32_vec y) const {
    const u32_tag du;
    mag = max_ == over_ ? hn::Min(mag, hn::Set(du, max_))
                        : hn::IfThenElse(hn::Gt(mag, hn::Set(du, max_)), hn::Set(du, over_), mag);
    if (twos_complement_) {
      const u32_vec sign = hn::BitCast(du, hn::ShiftRight<31>(hn::BitCast(i32_tag(), y)));
      return hn::And(hn::Sub(hn::Xor(mag, sign), sign), hn::Set(du, 0xFFU));
    }
    return hn::Or(mag, hn::And(hn::ShiftRightSame(y, sign_shift_), hn::Set(du, sign_code_)));
  }

  /// Numbers from rounded magnitudes; back undoes the factor.
  HWY_INLINE f32_vec finish_values(f32_vec value, u32_vec y, f32_vec back) const {
    const u32_tag du;
    const f32_tag df;
    const f32_vec most = hn::Set(df, max_value_);
    value = max_ == over_ ? hn::Min(value, most)
                          : hn::IfThenElse(hn::Gt(value, most), hn::Set(df, over_value_), value);
    const f32_vec sign = hn::BitCast(df, hn::And(y, hn::Set(du, 0x80000000U)));
    const auto zero = hn::Eq(value, hn::Zero(df));
    // INT8 has no -0.
    const f32_vec with_sign =
        twos_complement_ ? hn::Or(value, hn::IfThenZeroElse(zero, sign)) : hn::Or(value, sign);
    return canonical(hn::Mul(with_sign, back));
  }

 protected:
  rounder_base(format_desc f, const simd::convert_policy& p) noexcept
      : max_(static_cast<std::uint32_t>(f.max_magnitude())),
        over_(static_cast<std::uint32_t>(
            detail::overflow_code(f, false, false, p.rounding, p.overflow))),
        over_value_(decode_code(f, over_)),
        max_value_(decode_code(f, max_)),
        sign_code_(static_cast<std::uint32_t>(f.sign_code())),
        sign_shift_(31 - f.magnitude_bits()),
        twos_complement_(f.code == encoding::twos_complement) {}

  /// All of OCP MX, and others of a similar range.
  static bool takes_format(format_desc f, const simd::convert_policy& p) noexcept {
    return f.has_sign() && f.special != specials::nan_for_minus0 && f.total_bits() <= 8 &&
           f.emin() >= -50 && f.emax() <= 50 &&
           !(f.code == encoding::twos_complement && p.overflow == overflow_mode::saturate_full);
  }

 private:
  static float decode_code(format_desc f, std::uint32_t code) noexcept {
    return from_number<float>(to_number(f, code));
  }

  std::uint32_t max_, over_;
  float over_value_, max_value_;
  std::uint32_t sign_code_;
  int sign_shift_;
  bool twos_complement_;
};

/// Rounding to nearest by one addition. With the exponent of a number but not below emin, 2^(e + 23
/// - man_bits) is so large that the sum keeps the format's bits and the processor rounds them, ties
/// to even. For ties away the last bit of binary32 is set before: a tie moves above itself, and
/// nothing else crosses one. The block scale is multiplied in first. That is exact unless the
/// product is below 2^-126, far below half a quantum of any format here, where either result is a
/// zero of the same sign.
class nearest_rounder : public rounder_base {
 public:
  static bool takes(format_desc f, const simd::convert_policy& p) noexcept {
    return takes_format(f, p) &&
           (p.rounding == rounding_mode::nearest_even || p.rounding == rounding_mode::nearest_away);
  }

  nearest_rounder(format_desc f, const simd::convert_policy& p) noexcept
      : rounder_base(f, p),
        lift_(static_cast<std::uint32_t>(23 - f.man_bits) << 23),
        lowest_(static_cast<std::uint32_t>(f.emin() + 127) << 23),
        tie_(p.rounding == rounding_mode::nearest_away ? 1U : 0U),
        base_(static_cast<std::uint32_t>(f.emin() + 127) << f.man_bits),
        field_shift_(23 - f.man_bits) {}

  /// Codes of x * factor; all finite. The random words are for other rounders.
  HWY_INLINE u32_vec codes(f32_vec x, f32_vec factor, u32_vec) const {
    const u32_tag du;
    const u32_vec y = hn::BitCast(du, hn::Mul(x, factor));
    u32_vec exponent = y;
    u32_vec unit = y;
    const f32_vec sum = add_unit(y, exponent, unit);
    const u32_vec steps = hn::Sub(hn::BitCast(du, sum), unit);
    const u32_vec field = hn::ShiftRightSame(exponent, field_shift_);
    return finish_codes(hn::Add(steps, hn::Sub(field, hn::Set(du, base_))), y);
  }

  /// The numbers that these codes and the scale stand for; back undoes factor.
  HWY_INLINE f32_vec values(f32_vec x, f32_vec factor, f32_vec back, u32_vec) const {
    const u32_vec y = hn::BitCast(u32_tag(), hn::Mul(x, factor));
    u32_vec exponent = y;
    u32_vec unit = y;
    const f32_vec sum = add_unit(y, exponent, unit);
    return finish_values(hn::Sub(sum, hn::BitCast(f32_tag(), unit)), y, back);
  }

 private:
  /// |y| + unit. exponent: of the number, in its place, not below emin; unit: the pattern of the
  /// power of two that is added. (References: vectors of some targets fit in no structure.)
  HWY_INLINE f32_vec add_unit(u32_vec y, u32_vec& exponent, u32_vec& unit) const {
    const u32_tag du;
    const f32_tag df;
    const u32_vec mag = hn::Or(hn::And(y, hn::Set(du, 0x7FFFFFFFU)), hn::Set(du, tie_));
    exponent = hn::Max(hn::And(mag, hn::Set(du, 0x7F800000U)), hn::Set(du, lowest_));
    unit = hn::Add(exponent, hn::Set(du, lift_));
    return hn::Add(hn::BitCast(df, mag), hn::BitCast(df, unit));
  }

  std::uint32_t lift_, lowest_, tie_, base_;
  int field_shift_;
};

/// Stochastic rounding, see rounding::stochastic: the discarded fraction of an ulp to 32 bits, cut
/// to random_bits, plus the random word cut likewise; the carry rounds away. The scale is
/// multiplied in first: what that loses below 2^-126 is below 2^-32 of any quantum here and never
/// rounds away.
class stochastic_rounder : public rounder_base {
 public:
  static bool takes(format_desc f, const simd::convert_policy& p) noexcept {
    return takes_format(f, p) && p.rounding == rounding_mode::stochastic;
  }

  stochastic_rounder(format_desc f, const simd::convert_policy& p) noexcept
      : rounder_base(f, p),
        lowest_(static_cast<std::uint32_t>(f.emin() + 127)),
        mask_(~static_cast<std::uint32_t>(low_mask(32 - p.random_bits))),
        man_bits_(f.man_bits) {}

  HWY_INLINE u32_vec codes(f32_vec x, f32_vec factor, u32_vec words) const {
    const u32_tag du;
    const u32_vec y = hn::BitCast(du, hn::Mul(x, factor));
    u32_vec exponent = y;
    const u32_vec steps = rounded(y, words, exponent);
    const u32_vec field = hn::Sub(exponent, hn::Set(du, lowest_));
    return finish_codes(hn::Add(steps, hn::ShiftLeftSame(field, man_bits_)), y);
  }

  HWY_INLINE f32_vec values(f32_vec x, f32_vec factor, f32_vec back, u32_vec words) const {
    const u32_tag du;
    const f32_tag df;
    const u32_vec y = hn::BitCast(du, hn::Mul(x, factor));
    u32_vec exponent = y;
    const f32_vec steps = hn::ConvertTo(df, hn::BitCast(i32_tag(), rounded(y, words, exponent)));
    const u32_vec quantum = hn::Sub(exponent, hn::Set(du, static_cast<std::uint32_t>(man_bits_)));
    return finish_values(hn::Mul(steps, hn::BitCast(df, hn::ShiftLeft<23>(quantum))), y, back);
  }

 private:
  /// |y| in units of its ulp, rounded; exponent: field of its exponent, not below emin's.
  HWY_INLINE u32_vec rounded(u32_vec y, u32_vec words, u32_vec& exponent) const {
    const u32_tag du;
    const u32_vec mag = hn::And(y, hn::Set(du, 0x7FFFFFFFU));
    const u32_vec field = hn::ShiftRight<23>(mag);
    const u32_vec fraction = hn::And(mag, hn::Set(du, 0x007FFFFFU));
    // Below 2^-126 everything counts as zero.
    const u32_vec sig =
        hn::IfThenElseZero(hn::Ne(field, hn::Zero(du)), hn::Or(fraction, hn::Set(du, 0x00800000U)));
    exponent = hn::Max(field, hn::Set(du, lowest_));
    // sig * 2^-shift with shift at least 16: the fraction is below or above the word's top.
    const u32_vec shift =
        hn::Add(hn::Sub(exponent, field), hn::Set(du, static_cast<std::uint32_t>(23 - man_bits_)));
    const u32_vec most = hn::Set(du, 31U);
    const u32_vec near_shift = hn::Min(shift, most);
    const u32_vec kept = hn::Shr(sig, near_shift);
    const u32_vec far_shift = hn::Min(hn::Sub(shift, hn::Set(du, 32U)), most);
    const u32_vec delta = hn::IfThenElse(hn::Gt(shift, most), hn::Shr(sig, far_shift),
                                         hn::Shl(sig, hn::Sub(hn::Set(du, 32U), near_shift)));
    const u32_vec mask = hn::Set(du, mask_);
    const u32_vec random = hn::And(words, mask);
    const u32_vec sum = hn::Add(hn::And(delta, mask), random);
    const u32_vec carry = hn::IfThenElseZero(hn::Lt(sum, random), hn::Set(du, 1U));
    // At shift 31 the kept part is 0, as it must be: sig is below 2^24.
    return hn::Add(kept, carry);
  }

  std::uint32_t lowest_, mask_;
  int man_bits_;
};

/// Random words of a seed on lanes, see philox_word. A counter in each 64-bit lane, of which the
/// multiplications read the low half: what other operations leave in the high halves does not
/// matter.
class philox_lanes {
 public:
  explicit philox_lanes(std::uint64_t seed) noexcept : seed_(seed) {
    auto key0 = static_cast<std::uint32_t>(seed);
    auto key1 = static_cast<std::uint32_t>(seed >> 32);
    for (int i = 0; i < philox_constants::rounds; ++i) {
      keys_[2 * i] = key0;
      keys_[2 * i + 1] = key1;
      key0 += philox_constants::key_step0;
      key1 += philox_constants::key_step1;
    }
    // The order of counters that makes the interleaving at the end put words in order.
    const auto lanes = static_cast<index_t>(hn::Lanes(hn::ScalableTag<std::uint64_t>()));
    for (index_t i = 0; i < lanes; ++i) {
      order_[i] = static_cast<std::uint64_t>(i % 2 == 0 ? i / 2 : lanes / 2 + i / 2);
    }
  }

  /// Words first .. first + count - 1, somewhere in out: their place is returned. Room: count + 3,
  /// filled up to a multiple of two vectors.
  HWY_INLINE index_t fill(std::uint64_t first, index_t count,
                          std::uint32_t* HWY_RESTRICT out) const {
    const std::uint64_t counter = first / 4;
    const auto offset = static_cast<index_t>(first % 4);
#if HWY_TARGET == HWY_SCALAR
    for (index_t i = 0; i < offset + count; ++i) {
      out[i] = philox_word(seed_, 4 * counter + static_cast<std::uint64_t>(i));
    }
#else
    const u32_tag du;
    const hn::Repartition<std::uint64_t, u32_tag> dw;
    const auto lanes = static_cast<index_t>(hn::Lanes(dw));
    const auto m0 = hn::Set(du, philox_constants::multiplier0);
    const auto m1 = hn::Set(du, philox_constants::multiplier1);
    for (index_t done = 0; done < offset + count; done += 4 * lanes) {
      const auto base = counter + static_cast<std::uint64_t>(done / 4);
      auto x0 = hn::Add(hn::Load(dw, order_), hn::Set(dw, base));
      auto x1 = hn::ShiftRight<32>(x0);
      auto x2 = hn::Zero(dw);
      auto x3 = hn::Zero(dw);
      for (int i = 0; i < 2 * philox_constants::rounds; i += 2) {
        const auto p0 = hn::MulEven(hn::BitCast(du, x0), m0);
        const auto p1 = hn::MulEven(hn::BitCast(du, x2), m1);
        x0 = hn::Xor3(hn::ShiftRight<32>(p1), x1, hn::Set(dw, keys_[i]));
        x1 = p1;
        x2 = hn::Xor3(hn::ShiftRight<32>(p0), x3, hn::Set(dw, keys_[i + 1]));
        x3 = p0;
      }
      const auto pair = [&](auto low, auto high) HWY_ATTR {
        return hn::BitCast(
            dw, hn::OddEven(hn::BitCast(du, hn::ShiftLeft<32>(high)), hn::BitCast(du, low)));
      };
      const auto p01 = pair(x0, x1);
      const auto p23 = pair(x2, x3);
      hn::StoreU(hn::BitCast(du, hn::InterleaveLower(dw, p01, p23)), du, out + done);
      hn::StoreU(hn::BitCast(du, hn::InterleaveUpper(dw, p01, p23)), du, out + done + 2 * lanes);
    }
#endif
    return offset;
  }

 private:
  [[maybe_unused]] std::uint64_t seed_;  // where there are no lanes
  std::uint64_t keys_[2 * philox_constants::rounds];
  HWY_ALIGN std::uint64_t order_[HWY_MAX_BYTES / sizeof(std::uint64_t)];
};

}  // namespace HWY_NAMESPACE
MXREF_END_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
