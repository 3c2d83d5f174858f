// SPDX-License-Identifier: Apache-2.0
// Level 5, per target. The scales of blocks, many at a time. Checked against the scalar core, for
// every target: tests/target/convert_test.cpp

#if defined(MXREF_SIMD_SCALES_INL_) == defined(HWY_TARGET_TOGGLE)
#ifdef MXREF_SIMD_SCALES_INL_
#undef MXREF_SIMD_SCALES_INL_
#else
#define MXREF_SIMD_SCALES_INL_
#endif

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "mxref/convert.hpp"
#include "mxref/scale.hpp"
#include "mxref/simd/decode-inl.hpp"
#include "mxref/simd/highway.hpp"

HWY_BEFORE_NAMESPACE();
MXREF_BEGIN_NAMESPACE
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

inline constexpr std::uint32_t inf_bits = 0x7F800000U;
inline constexpr std::uint32_t nan_scale = 255;

HWY_INLINE u32_vec magnitude_bits(f32_vec x) {
  const u32_tag du;
  return hn::And(hn::BitCast(du, x), hn::Set(du, 0x7FFFFFFFU));
}

/// The binary32 pattern of the largest magnitude; any NaN counts above Inf, any Inf above numbers.
HWY_INLINE std::uint32_t max_magnitude_bits(const float* in, index_t count) {
  const f32_tag df;
  const u32_tag du;
  const auto lanes = static_cast<index_t>(hn::Lanes(df));
  u32_vec top = hn::Zero(du);
  index_t i = 0;
  for (; i + lanes <= count; i += lanes) {
    top = hn::Max(top, magnitude_bits(hn::LoadU(df, in + i)));
  }
  if (i < count) {
    HWY_ALIGN float rest[HWY_MAX_BYTES / sizeof(float)] = {};
    std::memcpy(rest, in + i, static_cast<std::size_t>(count - i) * sizeof(float));
    top = hn::Max(top, magnitude_bits(hn::Load(df, rest)));
  }
  return hn::GetLane(hn::MaxOfLanes(du, top));
}

#if HWY_TARGET != HWY_SCALAR && !HWY_HAVE_SCALABLE
/// Largest magnitudes of consecutive blocks of whole vectors, each in as many neighbouring lanes as
/// there are lanes for a block.
template <index_t Blocks, class Size>
HWY_INLINE u32_vec block_maxima(const float* in, Size block) {
  if constexpr (Blocks == 1) {
    const f32_tag df;
    constexpr auto lanes = static_cast<index_t>(hn::MaxLanes(f32_tag()));
    u32_vec top = magnitude_bits(hn::LoadU(df, in));
    for (index_t i = lanes; i < block; i += lanes) {
      top = hn::Max(top, magnitude_bits(hn::LoadU(df, in + i)));
    }
    return top;
  } else {
    const u32_tag du;
    const u32_vec low = block_maxima<Blocks / 2>(in, block);
    const u32_vec high = block_maxima<Blocks / 2>(in + Blocks / 2 * block, block);
    return hn::Max(hn::ConcatEven(du, high, low), hn::ConcatOdd(du, high, low));
  }
}
#endif

/// Scales of blocks from the patterns of their amax, a vector of blocks at a time; see scale.hpp.
class scale_finder {
 public:
  scale_finder(format_desc f, scale_rule rule) noexcept
      : format_(f),
        rule_(rule),
        emax_(f.emax()),
        headroom_(min_of(4, (255 >> f.man_bits) - 1 - (f.emax() - f.emin()))),
        half_ulp_(std::uint32_t{1}
                  << (22 - f.man_bits + (f.code == encoding::twos_complement ? 1 : 0))),
        reciprocal_(from_number<float>(detail::reciprocal_of_max(f))) {}

  /// Scale codes, 255 where a rule gives NaN, and the factors 2^-s; anything where amax is NaN or
  /// Inf. Elsewhere amax * 2^-s is below 2^(emax + headroom), which keeps the codes of rounded
  /// numbers, before they saturate, below 256; floor, ceil, even and rceil stay below 2^(emax + 1).
  HWY_INLINE u32_vec operator()(u32_vec amax, f32_vec& factor) const {
    const u32_tag du;
    const u32_vec code = hn::Min(find(amax), hn::Set(du, 255U));
    const u32_vec field = hn::Sub(hn::Set(du, 254U), code);
    factor = hn::BitCast(f32_tag(), hn::Max(hn::ShiftLeft<23>(field), hn::Set(du, 0x00400000U)));
    return code;
  }

 private:
  /// A rule without lanes of its own. Where amax is far above the format's range, as some rules
  /// leave it, the block is one for the scalar core, as if its scale were NaN.
  u32_vec find_by_core(u32_vec amax) const {
    const u32_tag du;
    HWY_ALIGN std::uint32_t lanes[HWY_MAX_BYTES / sizeof(std::uint32_t)];
    hn::Store(amax, du, lanes);
    for (std::size_t i = 0; i < hn::Lanes(du); ++i) {
      const number x = to_number(binary32_desc, lanes[i]);
      lanes[i] = nan_scale;
      if (!x.is_finite()) continue;
      const int code = scale::dynamic{rule_}(x, format_).code;
      const bool fits = x.sig == 0 || detail::floor_log2(x) - (code - 127) < emax_ + headroom_;
      if (fits) lanes[i] = static_cast<std::uint32_t>(code);
    }
    return hn::Load(du, lanes);
  }

  HWY_INLINE u32_vec find(u32_vec amax) const {
    const u32_tag du;
    const i32_tag di;
    const f32_tag df;
    if (rule_ > scale_rule::rceil) return find_by_core(amax);
    if (rule_ == scale_rule::rceil) {
      const u32_vec d = hn::BitCast(du, hn::Mul(hn::BitCast(df, amax), hn::Set(df, reciprocal_)));
      // Rounded up to a power of two: codes 0 to 2^-127, half of binary32's subnormals.
      const u32_vec up = hn::ShiftRight<23>(hn::Add(d, hn::Set(du, 0x007FFFFFU)));
      const u32_vec low = hn::IfThenElseZero(hn::Gt(d, hn::Set(du, 0x00400000U)), hn::Set(du, 1U));
      return hn::Min(hn::IfThenElse(hn::Lt(d, hn::Set(du, 0x00800000U)), low, up),
                     hn::Set(du, 254U));
    }
    if (rule_ == scale_rule::even) {
      const i32_vec field =
          hn::BitCast(di, hn::ShiftRight<23>(hn::Add(amax, hn::Set(du, half_ulp_))));
      const u32_vec code =
          hn::BitCast(du, hn::Max(hn::Sub(field, hn::Set(di, emax_)), hn::Zero(di)));
      return hn::IfThenElse(hn::Eq(hn::BitCast(du, field), hn::Set(du, 255U)), hn::Set(du, 255U),
                            code);
    }
    const auto subnormal = hn::Lt(amax, hn::Set(du, 0x00800000U));
    const u32_vec lifted = hn::BitCast(du, hn::Mul(hn::BitCast(df, amax), hn::Set(df, 0x1p32F)));
    const u32_vec lift = hn::IfThenElseZero(subnormal, hn::Set(du, 32U));
    u32_vec normal = hn::IfThenElse(subnormal, lifted, amax);
    if (rule_ == scale_rule::ceil) normal = hn::Add(normal, hn::Set(du, 0x007FFFFFU));
    const i32_vec exponent = hn::Sub(hn::BitCast(di, hn::ShiftRight<23>(normal)),
                                     hn::Add(hn::BitCast(di, lift), hn::Set(di, emax_)));
    // An all-zero block has the exponent -32 - emax here.
    return hn::BitCast(du, hn::Min(hn::Max(exponent, hn::Zero(di)), hn::Set(di, 254)));
  }

  format_desc format_;
  scale_rule rule_;
  std::int32_t emax_;
  std::int32_t headroom_;
  std::uint32_t half_ulp_;
  float reciprocal_;
};

/// 2^(code - 127), the inverse of a factor.
HWY_INLINE f32_vec scale_values(u32_vec code) {
  const u32_tag du;
  return hn::BitCast(f32_tag(), hn::Max(hn::ShiftLeft<23>(code), hn::Set(du, 0x00400000U)));
}

/// No NaN and no Inf in amax, and no NaN for a scale.
HWY_INLINE bool are_plain(u32_vec amax, u32_vec code) {
  const u32_tag du;
  return hn::AllTrue(
      du, hn::And(hn::Lt(amax, hn::Set(du, inf_bits)), hn::Lt(code, hn::Set(du, nan_scale))));
}

/// Blocks are taken in runs, so that the steps of a run overlap: all amax, all scales, all codes. A
/// run is so many blocks at most, and so many numbers, but one block at least: two runs stay in the
/// first cache. There is room for the columns of four vectors.
inline constexpr index_t run_blocks = HWY_MAX_BYTES < 64 ? 64 : HWY_MAX_BYTES;
inline constexpr index_t run_numbers = 1024;

/// Scales of a run, and whether a block of it is one for the scalar core.
struct block_run {
  HWY_ALIGN std::uint32_t amax[run_blocks];
  HWY_ALIGN float factor[run_blocks];              ///< 2^-s
  HWY_ALIGN float back[run_blocks];                ///< 2^s
  std::uint8_t bytes[run_blocks + HWY_MAX_BYTES];  ///< scale codes
  bool special;

  bool is_special(index_t b) const { return amax[b] >= inf_bits || bytes[b] == nan_scale; }
};

/// amax of the run's blocks, of which only the last may be short.
HWY_INLINE void find_amax(const float* in, index_t count, index_t block, index_t blocks,
                          block_run& run) {
  index_t b = 0;
#if HWY_TARGET != HWY_SCALAR && !HWY_HAVE_SCALABLE
  constexpr auto lanes = static_cast<index_t>(hn::MaxLanes(f32_tag()));
  const auto whole = [&](auto size) HWY_ATTR {
    for (; (b + lanes) * size <= count; b += lanes) {
      hn::Store(block_maxima<lanes>(in + b * size, size), u32_tag(), run.amax + b);
    }
  };
  if (block == 32) {
    whole(std::integral_constant<index_t, 32>());
  } else if (block % lanes == 0) {
    whole(block);
  }
#endif
  for (; b < blocks; ++b) {
    const index_t k = b * block;
    run.amax[b] = max_magnitude_bits(in + k, count - k < block ? count - k : block);
  }
}

/// Scales of a vector of blocks from block b on; top and top_code keep the largest of all.
HWY_INLINE void find_some_scales(const scale_finder& rule, u32_vec amax, index_t b, block_run& run,
                                 u32_vec& top, u32_vec& top_code) {
  const f32_tag df;
  f32_vec factor;
  const u32_vec code = rule(amax, factor);
  hn::StoreU(hn::U8FromU32(code), hn::Rebind<std::uint8_t, u32_tag>(), run.bytes + b);
  hn::Store(factor, df, run.factor + b);
  hn::Store(scale_values(code), df, run.back + b);
  top = hn::Max(top, amax);
  top_code = hn::Max(top_code, code);
}

/// Scales of the run's blocks from their amax.
HWY_INLINE void find_scales(const scale_finder& rule, index_t blocks, block_run& run) {
  const u32_tag du;
  const auto lanes = static_cast<index_t>(hn::Lanes(du));
  for (index_t b = blocks; b % lanes != 0; ++b) run.amax[b] = run.amax[blocks - 1];
  u32_vec top = hn::Zero(du);
  u32_vec top_code = hn::Zero(du);
  for (index_t b = 0; b < blocks; b += lanes) {
    find_some_scales(rule, hn::Load(du, run.amax + b), b, run, top, top_code);
  }
  run.special = !are_plain(top, top_code);
}

}  // namespace HWY_NAMESPACE
MXREF_END_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
