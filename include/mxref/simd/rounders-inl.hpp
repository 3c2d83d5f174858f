// SPDX-License-Identifier: Apache-2.0
// Level 5, per target. The fast roundings of quantize, on four vectors at a time. Checked against
// the scalar core, for every target: tests/target/convert_test.cpp

#if defined(MXREF_SIMD_ROUNDERS_INL_) == defined(HWY_TARGET_TOGGLE)
#ifdef MXREF_SIMD_ROUNDERS_INL_
#undef MXREF_SIMD_ROUNDERS_INL_
#else
#define MXREF_SIMD_ROUNDERS_INL_
#endif

#include <cstdint>

#include "mxref/convert.hpp"
#include "mxref/simd/decode-inl.hpp"
#include "mxref/simd/highway.hpp"
#include "mxref/simd/kernels.hpp"
#include "mxref/simd/philox-inl.hpp"
#include "mxref/simd/scales-inl.hpp"

#if HWY_TARGET != HWY_SCALAR
HWY_BEFORE_NAMESPACE();
MXREF_BEGIN_NAMESPACE
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using u8_tag = hn::Repartition<std::uint8_t, u32_tag>;
using u8_vec = hn::Vec<u8_tag>;
using u16_tag = hn::Repartition<std::uint16_t, u32_tag>;
using u16_vec = hn::Vec<u16_tag>;

/// What the rounders share. A number is rounded to `steps`, whose low byte is its magnitude in ulps
/// of its own exponent, the leading digit included, and a `place`, a binary32 of its sign and
/// exponent, not below emin, without fraction. With the exponent's field in front of the fraction
/// the sum of the two is the code; all of it fits a byte, see scale_finder.
class rounder_base {
 public:
  /// Codes of four vectors in order.
  HWY_INLINE u8_vec codes(u32_vec steps0, u32_vec steps1, u32_vec steps2, u32_vec steps3,
                          u32_vec place0, u32_vec place1, u32_vec place2, u32_vec place3) const {
    const u8_tag d8;
    const auto bytes = [&](u16_vec low, u16_vec high) HWY_ATTR {
      return hn::ConcatEven(d8, hn::BitCast(d8, high), hn::BitCast(d8, low));
    };
    const u8_vec steps = bytes(low_words(steps0, steps1), low_words(steps2, steps3));
    const u16_vec low = high_words(place0, place1);
    const u16_vec high = high_words(place2, place3);
    const u8_vec field =
        bytes(hn::ShiftRightSame(low, field_shift_), hn::ShiftRightSame(high, field_shift_));
    const u8_vec sum = hn::Sub(hn::Add(steps, field), hn::Set(d8, base_));
    const u8_vec mag =
        hn::Min(sum, hn::Set(d8, over_));  // the largest code, or Inf or NaN after it
    const hn::Repartition<std::int8_t, u32_tag> ds;
    const u8_vec top = hn::ConcatOdd(d8, hn::BitCast(d8, high), hn::BitCast(d8, low));
    const u8_vec negative = hn::BitCast(d8, hn::BroadcastSignBit(hn::BitCast(ds, top)));
    if (twos_complement_) {
      return hn::And(hn::Sub(hn::Xor(mag, negative), negative), hn::Set(d8, sign_));
    }
    return hn::OrAnd(mag, negative, hn::Set(d8, sign_));
  }

 protected:
  rounder_base(format_desc f, const simd::convert_policy& p) noexcept
      : lowest_(static_cast<std::uint32_t>(f.emin() + 127) << 23),
        max_value_(decode_code(f, f.max_magnitude())),
        over_value_(decode_code(f, overflow_of(f, p))),
        field_shift_(7 - f.man_bits),
        saturates_(overflow_of(f, p) == f.max_magnitude()),
        over_(static_cast<std::uint8_t>(overflow_of(f, p))),
        base_(static_cast<std::uint8_t>((f.emin() + 127) << f.man_bits)),
        twos_complement_(f.code == encoding::twos_complement),
        sign_(static_cast<std::uint8_t>(twos_complement_ ? low_mask(f.total_bits())
                                                         : f.sign_code())) {}

  /// All of OCP MX, and others of a similar range.
  static bool takes_format(format_desc f, const simd::convert_policy& p) noexcept {
    return f.has_sign() && f.special != specials::nan_for_minus0 && f.total_bits() <= 8 &&
           f.emin() >= -50 && f.emax() >= 0 && f.emax() <= 50 &&
           !(f.code == encoding::twos_complement && p.overflow == overflow_mode::saturate_full);
  }

  /// A number's exponent, not below emin: a power of two.
  HWY_INLINE u32_vec exponent_of(f32_vec y) const {
    const u32_tag du;
    return hn::Max(hn::And(hn::BitCast(du, y), hn::Set(du, inf_bits)), hn::Set(du, lowest_));
  }

  static HWY_INLINE u32_vec with_sign_of(f32_vec y, u32_vec mag) {
    const u32_tag du;
    return hn::OrAnd(mag, hn::BitCast(du, y), hn::Set(du, 0x80000000U));
  }

  /// |y|, which may saturate before it is rounded: the largest number stays what it is.
  HWY_INLINE f32_vec magnitude(f32_vec y) const {
    const f32_vec mag = hn::Abs(y);
    return saturates_ ? hn::BitCast(f32_tag(),
                                    hn::Min(hn::BitCast(u32_tag(), mag),
                                            hn::BitCast(u32_tag(), hn::Set(f32_tag(), max_value_))))
                      : mag;
  }

  /// A rounded magnitude times 2^s, with the sign of y.
  HWY_INLINE f32_vec finish_value(f32_vec value, f32_vec y, f32_vec back) const {
    const f32_tag df;
    if (!saturates_) {
      value =
          hn::IfThenElse(hn::Gt(value, hn::Set(df, max_value_)), hn::Set(df, over_value_), value);
    }
    value = hn::BitCast(df, with_sign_of(y, hn::BitCast(u32_tag(), hn::Mul(value, back))));
    if (twos_complement_) value = hn::Add(value, hn::Zero(df));  // there is no -0
    return saturates_ ? value : canonical(value);
  }

  std::uint32_t lowest_;

 private:
  static float decode_code(format_desc f, std::uint64_t code) noexcept {
    return from_number<float>(to_number(f, code));
  }
  static std::uint64_t overflow_of(format_desc f, const simd::convert_policy& p) noexcept {
    return detail::overflow_code(f, false, false, p.rounding, p.overflow);
  }
  static HWY_INLINE u16_vec low_words(u32_vec low, u32_vec high) {
    const u16_tag d16;
    return hn::ConcatEven(d16, hn::BitCast(d16, high), hn::BitCast(d16, low));
  }
  static HWY_INLINE u16_vec high_words(u32_vec low, u32_vec high) {
    const u16_tag d16;
    return hn::ConcatOdd(d16, hn::BitCast(d16, high), hn::BitCast(d16, low));
  }

  float max_value_, over_value_;
  int field_shift_;
  bool saturates_;
  std::uint8_t over_, base_;
  bool twos_complement_;
  std::uint8_t sign_;  ///< the sign's bit; of two's complement all bits
};

/// Rounding to nearest by one addition. 2^(e + 23 - man_bits) with the exponent of a number but not
/// below emin is so large that the sum keeps the format's bits and the processor rounds them, ties
/// to even. For ties away the last bit of binary32 is set before: a tie moves above itself, and
/// nothing else crosses one. The block scale is multiplied in first. That is exact unless the
/// product is below 2^-126, far below half a quantum of any format here, where either result is a
/// zero of the same sign.
template <rounding_mode Mode>
class nearest_rounder : public rounder_base {
 public:
  static bool takes(format_desc f, const simd::convert_policy& p) noexcept {
    return takes_format(f, p) && p.rounding == Mode;
  }

  nearest_rounder(format_desc f, const simd::convert_policy& p) noexcept
      : rounder_base(f, p), lift_(power_of_two(23 - f.man_bits)) {}

  /// Of x * factor; all finite. The other arguments are for other rounders.
  HWY_INLINE u32_vec steps(f32_vec x, f32_vec factor, u32_vec, u32_vec& place, u32_vec&) const {
    const f32_vec y = hn::Mul(x, factor);
    place = with_sign_of(y, exponent_of(y));
    return hn::BitCast(u32_tag(), lifted(y, place));
  }

  /// The numbers that these codes and the scale stand for; back undoes factor.
  HWY_INLINE f32_vec values(f32_vec x, f32_vec factor, f32_vec back, u32_vec) const {
    const f32_tag df;
    const f32_vec y = hn::Mul(x, factor);
    const f32_vec mag = magnitude(y);
    const u32_vec exponent = exponent_of(mag);
    const f32_vec sum = lifted(mag, exponent);
    const f32_vec value = hn::NegMulAdd(hn::BitCast(df, exponent), hn::Set(df, lift_), sum);
    return finish_value(value, y, back);
  }

 private:
  HWY_INLINE f32_vec lifted(f32_vec y, u32_vec place) const {
    const u32_tag du;
    const f32_tag df;
    if constexpr (Mode == rounding_mode::nearest_away) {
      y = hn::BitCast(df, hn::Or(hn::BitCast(du, y), hn::Set(du, 1U)));
    }
    return hn::MulAdd(hn::BitCast(df, place), hn::Set(df, lift_), y);
  }

  float lift_;
};

/// Stochastic rounding, see rounding::stochastic: the discarded fraction of an ulp to 32 bits, cut
/// to random_bits, plus the random word cut likewise; the carry rounds away. Words are cut already,
/// and then what is cut from the fraction does not carry. The scale is multiplied in first: what
/// that loses below 2^-126 is below 2^-32 of any quantum here and never rounds away.
class stochastic_rounder : public rounder_base {
 public:
  static bool takes(format_desc f, const simd::convert_policy& p) noexcept {
    return takes_format(f, p) && p.rounding == rounding_mode::stochastic;
  }

  stochastic_rounder(format_desc f, const simd::convert_policy& p) noexcept
      : rounder_base(f, p), man_bits_(f.man_bits) {}

  /// farthest: the largest shift so far. Steps are right unless that is far.
  HWY_INLINE u32_vec steps(f32_vec x, f32_vec factor, u32_vec words, u32_vec& place,
                           u32_vec& farthest) const {
    const f32_vec y = hn::Mul(x, factor);
    const u32_vec exponent = exponent_of(y);
    place = with_sign_of(y, exponent);
    const u32_vec shift = shift_of(y, exponent);
    farthest = hn::Max(farthest, shift);
    return near_steps(y, shift, words);
  }

  /// Far below an ulp no digit is kept, and 32 bits hold the fraction, but not its sum with a word.
  static HWY_INLINE bool is_far(u32_vec shift) {
    const u32_tag du;
    return !hn::AllFalse(du, hn::Gt(shift, hn::Set(du, most_near)));
  }

  /// The same however far.
  HWY_INLINE u32_vec far_steps(f32_vec x, f32_vec factor, u32_vec words) const {
    const f32_vec y = hn::Mul(x, factor);
    return far_steps(y, shift_of(y, exponent_of(y)), words);
  }

  HWY_INLINE f32_vec values(f32_vec x, f32_vec factor, f32_vec back, u32_vec words) const {
    const f32_tag df;
    const u32_tag du;
    const f32_vec y = hn::Mul(x, factor);
    const f32_vec mag = magnitude(y);
    const u32_vec exponent = exponent_of(mag);
    const u32_vec shift = shift_of(mag, exponent);
    const u32_vec rounded =
        is_far(shift) ? far_steps(mag, shift, words) : near_steps(mag, shift, words);
    const f32_vec steps = hn::ConvertTo(df, hn::BitCast(i32_tag(), rounded));
    const u32_vec ulp = hn::Sub(exponent, hn::Set(du, static_cast<std::uint32_t>(man_bits_) << 23));
    return finish_value(hn::Mul(steps, hn::BitCast(df, ulp)), y, back);
  }

 private:
  static constexpr std::uint32_t most_near = 31;

  static HWY_INLINE u32_vec significand(f32_vec y) {
    const u32_tag du;
    return hn::OrAnd(hn::Set(du, 0x00800000U), hn::BitCast(du, y), hn::Set(du, 0x007FFFFFU));
  }

  /// How far the significand's last bit is below the ulp.
  HWY_INLINE u32_vec shift_of(f32_vec y, u32_vec exponent) const {
    const u32_tag du;
    const u32_vec field = hn::And(hn::BitCast(du, y), hn::Set(du, inf_bits));
    return hn::Add(hn::ShiftRight<23>(hn::Sub(exponent, field)),
                   hn::Set(du, static_cast<std::uint32_t>(23 - man_bits_)));
  }

  /// |y| in ulps, rounded, where it is near. The word is added where the fraction is: its lower
  /// bits stand against zeros.
  static HWY_INLINE u32_vec near_steps(f32_vec y, u32_vec shift, u32_vec word) {
    const u32_tag du;
    const u32_vec bits = hn::Min(shift, hn::Set(du, most_near));
    const u32_vec added = hn::Shr(word, hn::Sub(hn::Set(du, 32U), bits));
    return hn::Shr(hn::Add(significand(y), added), bits);
  }

  /// The same near or far. Binary32 numbers below 2^-126 count as zero, and nothing is left of
  /// their leading digit: takes_format bounds the shift.
  static HWY_INLINE u32_vec far_steps(f32_vec y, u32_vec shift, u32_vec word) {
    const u32_tag du;
    const u32_vec most = hn::Set(du, most_near);
    const u32_vec bits = hn::Min(hn::Sub(shift, hn::Set(du, 32U)), most);
    const u32_vec fraction = hn::Shr(significand(y), bits);
    const auto carry = hn::Lt(hn::Add(fraction, word), word);
    return hn::IfThenElse(hn::Gt(shift, most), hn::IfThenElseZero(carry, hn::Set(du, 1U)),
                          near_steps(y, shift, word));
  }

  int man_bits_;
};

/// Random words for consecutive numbers, four vectors at a time; nothing for rounders that need
/// none.
template <class Rounder>
class word_source {
 public:
  explicit word_source(const simd::convert_policy&) noexcept {}
  HWY_INLINE void move_to(std::uint64_t, index_t) {}
  HWY_INLINE u32_vec at(index_t) const { return hn::Zero(u32_tag()); }
};

template <>
class word_source<stochastic_rounder> {
 public:
  explicit word_source(const simd::convert_policy& p) noexcept
      : lanes_(p.seed), mask_(~static_cast<std::uint32_t>(low_mask(32 - p.random_bits))) {}

  /// at(i) is for the numbers from position + i on, up to four vectors; `count` numbers follow.
  HWY_INLINE void move_to(std::uint64_t position, index_t count) {
    const auto needed = static_cast<index_t>(4 * hn::Lanes(u32_tag()));
    const std::uint64_t end = position + static_cast<std::uint64_t>(min_of(count, needed));
    if (position < first_ || end > end_) {
      const index_t some = min_of(count, most);
      end_ = position + static_cast<std::uint64_t>(some);
      const index_t before = lanes_.fill(position, some, words_);
      first_ = position - static_cast<std::uint64_t>(before);
      for (index_t i = 0; mask_ != ~0U && i < before + some; ++i) words_[i] &= mask_;
    }
    at_ = words_ + (position - first_);
  }
  HWY_INLINE u32_vec at(index_t i) const { return hn::LoadU(u32_tag(), at_ + i); }

 private:
  static constexpr index_t most = 4 * HWY_MAX_BYTES;  // many at once: their rounds overlap
  philox_lanes lanes_;
  std::uint32_t mask_;       ///< of random_bits
  std::uint64_t first_ = 0;  ///< the words that are there, first_ .. end_ - 1
  std::uint64_t end_ = 0;
  const std::uint32_t* at_ = nullptr;
  HWY_ALIGN std::uint32_t words_[most + 2 * HWY_MAX_BYTES];  // filled, and read, up to whole chunks
};

}  // namespace HWY_NAMESPACE
MXREF_END_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
#endif
