// SPDX-License-Identifier: Apache-2.0
// Level 5, per target. Binary32 to codes on lanes, restating the scalar core with integer lanes.
// Checked against it, for every target: tests/target/convert_test.cpp

#if defined(MXREF_SIMD_ENCODE_INL_) == defined(HWY_TARGET_TOGGLE)
#ifdef MXREF_SIMD_ENCODE_INL_
#undef MXREF_SIMD_ENCODE_INL_
#else
#define MXREF_SIMD_ENCODE_INL_
#endif

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "mxref/quantize.hpp"
#include "mxref/simd/decode-inl.hpp"
#include "mxref/simd/highway.hpp"
#include "mxref/simd/kernels.hpp"
#include "mxref/simd/scalar.hpp"

HWY_BEFORE_NAMESPACE();
MXREF_BEGIN_NAMESPACE
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

/// A format and its policies spread over lanes; made once for a row.
template <rounding_mode Mode>
class encoder {
 public:
  encoder(format_desc f, const simd::convert_policy& p) noexcept
      : format_(f),
        policy_(p),
        emin_(f.emin()),
        emax_(f.emax()),
        saturated_(static_cast<std::uint32_t>(f.max_magnitude())) {
    const auto code = [&](bool negative, bool from_inf) {
      return static_cast<std::uint32_t>(
          detail::overflow_code(f, negative, from_inf, p.rounding, p.overflow));
    };
    over_positive_ = code(false, false);
    over_negative_ = code(true, false);
    inf_positive_ = code(false, true);
    inf_negative_ = code(true, true);
    nan_ = static_cast<std::uint32_t>(f.nan_code());
  }

  /// Codes of x * 2^-scale_exp. NaN and Inf are encoded alone.
  HWY_INLINE u32_vec operator()(f32_vec x, std::int32_t scale_exp) const {
    const u32_tag du;
    const i32_tag di;
    const f32_tag df;
    const u32_vec bits = hn::BitCast(du, x);
    const u32_vec mag_bits = hn::And(bits, hn::Set(du, 0x7FFFFFFFU));
    const u32_vec sign = hn::ShiftRight<31>(bits);

    // A subnormal is normalised by an exact multiplication.
    const auto subnormal = hn::Lt(mag_bits, hn::Set(du, 0x00800000U));
    const u32_vec lifted =
        hn::BitCast(du, hn::Mul(hn::BitCast(df, mag_bits), hn::Set(df, 0x1p32F)));
    const u32_vec m = hn::IfThenElse(subnormal, lifted, mag_bits);
    const i32_vec lift = hn::BitCast(di, hn::IfThenElseZero(subnormal, hn::Set(du, 32U)));
    const u32_vec sig = hn::Or(hn::And(m, hn::Set(du, 0x007FFFFFU)), hn::Set(du, 0x00800000U));
    const i32_vec exp = hn::Sub(hn::Sub(hn::BitCast(di, hn::ShiftRight<23>(m)), lift),
                                hn::Set(di, 127 + scale_exp));

    // e, r and the code as in to_code. 25 bits of shift leave no kept bit and less than a half.
    const i32_vec e = hn::Max(exp, hn::Set(di, emin_));
    const u32_vec shift = hn::BitCast(
        du, hn::Min(hn::Add(hn::Sub(e, exp), hn::Set(di, 23 - format_.man_bits)), hn::Set(di, 25)));
    const i32_vec e_capped = hn::Min(e, hn::Set(di, emax_ + 1));
    const u32_vec base = hn::Shl(hn::BitCast(du, hn::Sub(e_capped, hn::Set(di, emin_))),
                                 hn::Set(du, static_cast<std::uint32_t>(format_.man_bits)));
    u32_vec mag = hn::Add(rounded(sig, shift, format_.has_sign() ? sign : hn::Zero(du)), base);
    const auto zero = hn::Eq(mag_bits, hn::Zero(du));
    mag = hn::IfThenZeroElse(zero, mag);
    if (format_.code == encoding::exponent_only) {
      mag = hn::Sub(mag, hn::Min(mag, hn::Set(du, 1U)));
    }
    return finish(mag, mag_bits, sign);
  }

 private:
  HWY_INLINE static u32_vec rounded(u32_vec sig, u32_vec shift, u32_vec sign) {
    const u32_tag du;
    const u32_vec one = hn::Set(du, 1U);
    const u32_vec unit = hn::Shl(one, shift);
    const u32_vec half = hn::ShiftRight<1>(unit);
    if constexpr (Mode == rounding_mode::nearest_even) {
      const u32_vec odd = hn::And(hn::Shr(sig, shift), one);
      // A shift of 0 (binary32 to a format as wide) has no half: nothing to round.
      const u32_vec add = hn::Sub(hn::Add(half, odd), hn::Min(half, one));
      return hn::Shr(hn::Add(sig, hn::IfThenElseZero(hn::Ne(half, hn::Zero(du)), add)), shift);
    } else if constexpr (Mode == rounding_mode::nearest_away) {
      return hn::Shr(hn::Add(sig, half), shift);
    } else if constexpr (Mode == rounding_mode::nearest_toward_zero) {
      return hn::Shr(hn::Add(sig, hn::Sub(half, hn::Min(half, one))), shift);
    } else if constexpr (Mode == rounding_mode::toward_zero) {
      return hn::Shr(sig, shift);
    } else if constexpr (Mode == rounding_mode::to_odd) {
      const u32_vec kept = hn::Shr(sig, shift);
      const u32_vec rest = hn::Sub(sig, hn::Shl(kept, shift));
      return hn::Or(kept, hn::Min(rest, one));
    } else {
      const u32_vec away = Mode == rounding_mode::down ? sign : hn::Xor(sign, one);
      const u32_vec add = hn::Sub(unit, one);
      return hn::Shr(hn::Add(sig, hn::IfThenElseZero(hn::Ne(away, hn::Zero(du)), add)), shift);
    }
  }

  HWY_INLINE u32_vec finish(u32_vec mag, u32_vec mag_bits, u32_vec sign) const {
    const u32_tag du;
    const auto negative = hn::Ne(sign, hn::Zero(du));
    u32_vec code = mag;
    if (format_.code == encoding::twos_complement) {
      const u32_vec mask = hn::Set(du, static_cast<std::uint32_t>(low_mask(format_.total_bits())));
      code = hn::And(hn::IfThenElse(negative, hn::Sub(hn::Zero(du), mag), mag), mask);
    } else if (format_.has_sign()) {
      u32_vec sign_bit = hn::IfThenElseZero(
          negative, hn::Set(du, static_cast<std::uint32_t>(format_.sign_code())));
      if (format_.special == specials::nan_for_minus0) {
        sign_bit = hn::IfThenZeroElse(hn::Eq(mag, hn::Zero(du)), sign_bit);
      }
      code = hn::Or(mag, sign_bit);
    }
    const bool drop_sign = !format_.has_sign();
    const auto select = [&](std::uint32_t positive, std::uint32_t other) HWY_ATTR {
      return hn::IfThenElse(negative, hn::Set(du, drop_sign ? positive : other),
                            hn::Set(du, positive));
    };
    const u32_vec inf = hn::Set(du, 0x7F800000U);
    code = hn::IfThenElse(hn::Gt(mag, hn::Set(du, saturated_)),
                          select(over_positive_, over_negative_), code);
    code = hn::IfThenElse(hn::Eq(mag_bits, inf), select(inf_positive_, inf_negative_), code);
    auto is_nan = hn::Gt(mag_bits, inf);
    if (drop_sign && policy_.negative == negative_mode::to_nan) {
      is_nan = hn::Or(is_nan, hn::And(negative, hn::Ne(mag_bits, hn::Zero(du))));
    }
    return hn::IfThenElse(is_nan, hn::Set(du, nan_), code);
  }

  format_desc format_;
  simd::convert_policy policy_;
  std::int32_t emin_, emax_;
  std::uint32_t saturated_;
  std::uint32_t over_positive_, over_negative_, inf_positive_, inf_negative_, nan_;
};

/// Stores lanes as containers of 1, 2 or 4 bytes. The codes fit, so the saturation of DemoteTo does
/// nothing; TruncateTo is wrong on one target of Highway 1.0.3 (AVX3_DL, to bytes).
HWY_INLINE void store_codes(u32_vec codes, int bytes, void* out, index_t at) {
  const hn::Rebind<std::uint8_t, u32_tag> d8;
  const hn::Rebind<std::uint16_t, u32_tag> d16;
  const u32_tag d32;
  const i32_vec positive = hn::BitCast(i32_tag(), codes);
  switch (bytes) {
    case 1:
      return hn::StoreU(hn::DemoteTo(d8, positive), d8, static_cast<std::uint8_t*>(out) + at);
    case 2:
      return hn::StoreU(hn::DemoteTo(d16, positive), d16, static_cast<std::uint16_t*>(out) + at);
    default:
      return hn::StoreU(codes, d32, static_cast<std::uint32_t*>(out) + at);
  }
}

/// Encodes count numbers; a tail goes through a buffer, so nothing beyond count is touched.
template <rounding_mode Mode>
HWY_INLINE void encode_run(const encoder<Mode>& rounder, const float* in, index_t count,
                           std::int32_t scale_exp, int bytes, void* out) {
  const f32_tag df;
  const encoder<Mode> to_codes = rounder;  // a copy that stores of codes cannot reach
  const auto lanes = static_cast<index_t>(hn::Lanes(df));
  index_t i = 0;
  for (; i + lanes <= count; i += lanes) {
    store_codes(to_codes(hn::LoadU(df, in + i), scale_exp), bytes, out, i);
  }
  if (i >= count) return;
  HWY_ALIGN float numbers[HWY_MAX_BYTES / sizeof(float)] = {};
  HWY_ALIGN std::uint32_t codes[HWY_MAX_BYTES / sizeof(float)];
  std::memcpy(numbers, in + i, static_cast<std::size_t>(count - i) * sizeof(float));
  store_codes(to_codes(hn::Load(df, numbers), scale_exp), bytes, codes, 0);
  std::memcpy(static_cast<std::uint8_t*>(out) + i * bytes, codes,
              static_cast<std::size_t>((count - i) * bytes));
}

/// Calls f.operator()<Mode>() for the mode at hand.
template <class F>
HWY_INLINE void with_rounding(rounding_mode mode, F&& f) {
  switch (mode) {
    case rounding_mode::nearest_even:
      return f.template operator()<rounding_mode::nearest_even>();
    case rounding_mode::nearest_away:
      return f.template operator()<rounding_mode::nearest_away>();
    case rounding_mode::nearest_toward_zero:
      return f.template operator()<rounding_mode::nearest_toward_zero>();
    case rounding_mode::toward_zero:
      return f.template operator()<rounding_mode::toward_zero>();
    case rounding_mode::up:
      return f.template operator()<rounding_mode::up>();
    case rounding_mode::down:
      return f.template operator()<rounding_mode::down>();
    case rounding_mode::to_odd:
      return f.template operator()<rounding_mode::to_odd>();
    case rounding_mode::stochastic:
      return;  // has no encoder
  }
}

inline void encode_kernel(const float* in, index_t count, format_desc f,
                          const simd::convert_policy& p, void* codes) {
  if (p.rounding == rounding_mode::stochastic) return simd::encode_core(in, count, f, p, codes);
  with_rounding(p.rounding, [&]<rounding_mode Mode>() HWY_ATTR {
    encode_run(encoder<Mode>(f, p), in, count, 0, static_cast<int>(container_bytes(f)), codes);
  });
}

inline void transpose_codes_scalar(const std::uint8_t* in, index_t in_stride, index_t rows,
                                   index_t cols, std::uint8_t* out, index_t out_stride) {
  for (index_t c = 0; c < cols; ++c) {
    for (index_t r = 0; r < rows; ++r) out[c * out_stride + r] = in[r * in_stride + c];
  }
}

/// Squares of 16 x 16 bytes: four rounds of interleaving row i with row i + 8 transpose them.
inline void transpose_codes_kernel(const std::uint8_t* in, index_t in_stride, index_t rows,
                                   index_t cols, std::uint8_t* out, index_t out_stride) {
  index_t whole_rows = 0;
#if HWY_TARGET != HWY_SCALAR && !HWY_HAVE_SCALABLE
  const hn::FixedTag<std::uint8_t, 16> d;
  const index_t whole_cols = cols - cols % 16;
  for (; whole_rows + 16 <= rows; whole_rows += 16) {
    for (index_t c = 0; c < whole_cols; c += 16) {
      hn::Vec<decltype(d)> a[16];
      hn::Vec<decltype(d)> b[16];
      for (int i = 0; i < 16; ++i) a[i] = hn::LoadU(d, in + (whole_rows + i) * in_stride + c);
      HWY_UNROLL(4)
      for (int round_number = 0; round_number < 4; ++round_number) {
        HWY_UNROLL(8)
        for (int i = 0; i < 8; ++i) {
          b[2 * i] = hn::InterleaveLower(d, a[i], a[i + 8]);
          b[2 * i + 1] = hn::InterleaveUpper(d, a[i], a[i + 8]);
        }
        HWY_UNROLL(16)
        for (int i = 0; i < 16; ++i) a[i] = b[i];
      }
      for (int i = 0; i < 16; ++i) hn::StoreU(a[i], d, out + (c + i) * out_stride + whole_rows);
    }
    transpose_codes_scalar(in + whole_rows * in_stride + whole_cols, in_stride, 16,
                           cols - whole_cols, out + whole_cols * out_stride + whole_rows,
                           out_stride);
  }
#endif
  transpose_codes_scalar(in + whole_rows * in_stride, in_stride, rows - whole_rows, cols,
                         out + whole_rows, out_stride);
}

}  // namespace HWY_NAMESPACE
MXREF_END_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
