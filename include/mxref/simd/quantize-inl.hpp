// SPDX-License-Identifier: Apache-2.0
// Level 5, per target. Blocks of binary32 numbers to codes and scales, or to the numbers that these
// stand for. Checked against the scalar core, for every target: tests/target/convert_test.cpp

#if defined(MXREF_SIMD_QUANTIZE_INL_) == defined(HWY_TARGET_TOGGLE)
#ifdef MXREF_SIMD_QUANTIZE_INL_
#undef MXREF_SIMD_QUANTIZE_INL_
#else
#define MXREF_SIMD_QUANTIZE_INL_
#endif

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "mxref/quantize.hpp"
#include "mxref/simd/decode-inl.hpp"
#include "mxref/simd/encode-inl.hpp"
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

/// Calls f(at) for every whole vector, then moves the rest through a buffer.
template <class Full, class Rest>
HWY_INLINE void for_vectors(index_t count, const Full& full, const Rest& rest) {
  const auto lanes = static_cast<index_t>(hn::Lanes(f32_tag()));
  index_t i = 0;
  for (; i + lanes <= count; i += lanes) full(i);
  if (i < count) rest(i, count - i);
}

HWY_INLINE f32_vec load_some(const float* in, index_t count) {
  HWY_ALIGN float numbers[HWY_MAX_BYTES / sizeof(float)] = {};
  std::memcpy(numbers, in, static_cast<std::size_t>(count) * sizeof(float));
  return hn::Load(f32_tag(), numbers);
}

HWY_INLINE void store_some(f32_vec v, float* out, index_t count) {
  HWY_ALIGN float numbers[HWY_MAX_BYTES / sizeof(float)];
  hn::Store(v, f32_tag(), numbers);
  std::memcpy(out, numbers, static_cast<std::size_t>(count) * sizeof(float));
}

HWY_INLINE void store_bytes(u32_vec codes, std::uint8_t* out) {
  hn::StoreU(hn::U8FromU32(codes), hn::Rebind<std::uint8_t, u32_tag>(), out);
}

HWY_INLINE void store_some_bytes(u32_vec codes, std::uint8_t* out, index_t count) {
  std::uint8_t bytes[HWY_MAX_BYTES / sizeof(float)];
  store_bytes(codes, bytes);
  std::memcpy(out, bytes, static_cast<std::size_t>(count));
}

/// The binary32 pattern of the largest magnitude; any NaN counts above Inf, any Inf above numbers.
HWY_INLINE std::uint32_t max_magnitude_bits(const float* in, index_t count) {
  const f32_tag df;
  const u32_tag du;
  const u32_vec mask = hn::Set(du, 0x7FFFFFFFU);
  u32_vec top = hn::Zero(du);
  for_vectors(
      count,
      [&](index_t i)
          HWY_ATTR { top = hn::Max(top, hn::And(hn::BitCast(du, hn::LoadU(df, in + i)), mask)); },
      [&](index_t i, index_t n)
          HWY_ATTR { top = hn::Max(top, hn::And(hn::BitCast(du, load_some(in + i, n)), mask)); });
  return hn::GetLane(hn::MaxOfLanes(du, top));
}

inline quantizer<scale::floor, rounding::dynamic, overflow::dynamic, nan::dynamic> core_quantizer(
    const simd::convert_policy& p) noexcept {
  return {{}, {p.rounding}, {p.overflow}, {p.on_nan}};
}

inline constexpr std::uint32_t inf_bits = 0x7F800000U;

/// Scales of blocks from the patterns of their amax, a vector of blocks at a time.
class floor_scales {
 public:
  explicit floor_scales(format_desc f) noexcept : emax_(f.emax()) {}

  /// Scale codes 127 + s, and the factors 2^-s; anything where amax is NaN or Inf.
  HWY_INLINE u32_vec operator()(u32_vec amax, f32_vec& factor) const {
    const u32_tag du;
    const i32_tag di;
    const f32_tag df;
    const auto subnormal = hn::Lt(amax, hn::Set(du, 0x00800000U));
    const u32_vec lifted = hn::BitCast(du, hn::Mul(hn::BitCast(df, amax), hn::Set(df, 0x1p32F)));
    const u32_vec normal = hn::IfThenElse(subnormal, lifted, amax);
    const u32_vec lift = hn::IfThenElseZero(subnormal, hn::Set(du, 32U));
    const i32_vec exponent = hn::Sub(hn::BitCast(di, hn::ShiftRight<23>(normal)),
                                     hn::Add(hn::BitCast(di, lift), hn::Set(di, emax_)));
    // 0 .. 254; an all-zero block has the exponent -32 - emax here.
    const u32_vec code =
        hn::BitCast(du, hn::Min(hn::Max(exponent, hn::Zero(di)), hn::Set(di, 254)));
    const u32_vec field = hn::Sub(hn::Set(du, 254U), code);
    factor = hn::BitCast(df, hn::Max(hn::ShiftLeft<23>(field), hn::Set(du, 0x00400000U)));
    return code;
  }

 private:
  std::int32_t emax_;
};

/// Blocks are taken in runs, so that the steps of a run overlap: all amax, all scales, all codes.
inline constexpr index_t run_blocks = 64;

struct block_run {
  HWY_ALIGN std::uint32_t amax[run_blocks];
  HWY_ALIGN float factor[run_blocks];
  HWY_ALIGN std::uint32_t code[run_blocks];
};

HWY_INLINE void find_scales(const floor_scales& rule, index_t blocks, block_run& run) {
  const f32_tag df;
  const u32_tag du;
  for (index_t b = 0; b < blocks; b += static_cast<index_t>(hn::Lanes(du))) {
    f32_vec factor;
    hn::Store(rule(hn::Load(du, run.amax + b), factor), du, run.code + b);
    hn::Store(factor, df, run.factor + b);
  }
}

/// One row by nearest_rounder; blocks with NaN or Inf are left to the scalar core.
inline void quantize_row_nearest(const float* in, index_t count, format_desc f, index_t block,
                                 const simd::convert_policy& p, std::uint8_t* codes,
                                 std::uint8_t* scales) {
  const f32_tag df;
  const nearest_rounder round_to(f, p);
  const floor_scales rule(f);
  block_run run;
  while (count > 0) {
    const index_t wanted = (count + block - 1) / block;
    const index_t blocks = wanted < run_blocks ? wanted : run_blocks;
    const index_t numbers = blocks * block < count ? blocks * block : count;
    for (index_t b = 0; b < blocks; ++b) {
      const index_t left = numbers - b * block;
      run.amax[b] = max_magnitude_bits(in + b * block, left < block ? left : block);
    }
    find_scales(rule, blocks, run);
    for (index_t b = 0; b < blocks; ++b) {
      const float* x = in + b * block;
      std::uint8_t* to = codes + b * block;
      const index_t left = numbers - b * block;
      const index_t n = left < block ? left : block;
      scales[b] = static_cast<std::uint8_t>(run.code[b]);
      if (run.amax[b] >= inf_bits) {
        E8M0 scale;
        quantize_block(x, 1, static_cast<int>(n), f, core_quantizer(p), scale, to);
        scales[b] = scale.code;
        continue;
      }
      const f32_vec factor = hn::Set(df, run.factor[b]);
      for_vectors(
          n,
          [&](index_t i)
              HWY_ATTR { store_bytes(round_to.codes(hn::LoadU(df, x + i), factor), to + i); },
          [&](index_t i, index_t rest) HWY_ATTR {
            store_some_bytes(round_to.codes(load_some(x + i, rest), factor), to + i, rest);
          });
    }
    in += numbers;
    codes += numbers;
    scales += blocks;
    count -= numbers;
  }
}

template <rounding_mode Mode>
HWY_INLINE void quantize_row(const float* in, index_t count, format_desc f, int block,
                             const simd::convert_policy& p, std::uint8_t* codes,
                             std::uint8_t* scales) {
  const encoder<Mode> to_codes(f, p);
  for (index_t k = 0; k < count; k += block) {
    const index_t n = count - k < block ? count - k : block;
    const std::uint32_t top = max_magnitude_bits(in + k, n);
    E8M0 scale;
    if (top >= inf_bits) {
      quantize_block(in + k, 1, static_cast<int>(n), f, core_quantizer(p), scale, codes + k);
    } else {
      scale = scale::floor{}(to_number(binary32_desc, top), f);
      encode_run(to_codes, in + k, n, scale.to_number().exp, 1, codes + k);
    }
    scales[k / block] = scale.code;
  }
}

inline void quantize_kernel(const float* in, index_t count, format_desc f, int block,
                            const simd::convert_policy& p, std::uint8_t* codes,
                            std::uint8_t* scales) {
  if (nearest_rounder::takes(f, p)) {
    return quantize_row_nearest(in, count, f, block, p, codes, scales);
  }
  with_rounding(p.rounding, [&]<rounding_mode Mode>() HWY_ATTR {
    quantize_row<Mode>(in, count, f, block, p, codes, scales);
  });
}

}  // namespace HWY_NAMESPACE
MXREF_END_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
