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
#include "mxref/simd/rounders-inl.hpp"

HWY_BEFORE_NAMESPACE();
MXREF_BEGIN_NAMESPACE
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

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

inline quantizer<scale::dynamic, rounding::dynamic, overflow::dynamic, nan::dynamic> core_quantizer(
    const simd::convert_policy& p) noexcept {
  return {{p.scale}, {p.rounding, p.seed, p.random_bits}, {p.overflow}, {p.on_nan}};
}

inline source_order order_of(const simd::convert_policy& p) noexcept {
  return {p.first, p.row_step, p.step};
}

/// Blocks of up to so many numbers have their random words at hand.
inline constexpr index_t most_words = 256;

/// Random words for a row, a vector at a time; nothing for rounders that need none.
template <class Rounder>
class word_source {
 public:
  explicit word_source(const simd::convert_policy&) noexcept {}
  HWY_INLINE void fill(std::uint64_t, index_t) {}
  HWY_INLINE u32_vec at(index_t) const { return hn::Zero(u32_tag()); }
};

template <>
class word_source<stochastic_rounder> {
 public:
  explicit word_source(const simd::convert_policy& p) noexcept : lanes_(p.seed) {}

  /// For count numbers from a position on.
  HWY_INLINE void fill(std::uint64_t position, index_t count) {
    at_ = lanes_.fill(position, count, words_);
  }
  HWY_INLINE u32_vec at(index_t i) const { return hn::LoadU(u32_tag(), words_ + at_ + i); }

 private:
  philox_lanes lanes_;
  index_t at_ = 0;
  HWY_ALIGN std::uint32_t words_[most_words + HWY_MAX_BYTES];
};

inline constexpr std::uint32_t inf_bits = 0x7F800000U;
inline constexpr std::uint32_t nan_scale = 255;

/// Scales of blocks from the patterns of their amax, a vector of blocks at a time; see scale.hpp.
class scale_finder {
 public:
  scale_finder(format_desc f, scale_rule rule) noexcept
      : format_(f),
        rule_(rule),
        emax_(f.emax()),
        half_ulp_(std::uint32_t{1}
                  << (22 - f.man_bits + (f.code == encoding::twos_complement ? 1 : 0))),
        reciprocal_(from_number<float>(detail::reciprocal_of_max(f))) {}

  /// Scale codes, 255 where a rule gives NaN, and the factors 2^-s; anything where amax is NaN or
  /// Inf.
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
      const bool fits = x.sig == 0 || detail::floor_log2(x) - (code - 127) < emax_ + 4;
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
  std::uint32_t half_ulp_;
  float reciprocal_;
};

/// Blocks are taken in runs, so that the steps of a run overlap: all amax, all scales, all codes.
inline constexpr index_t run_blocks = 64;

struct block_run {
  HWY_ALIGN std::uint32_t amax[run_blocks];
  HWY_ALIGN float factor[run_blocks];
  HWY_ALIGN std::uint32_t code[run_blocks];
};

HWY_INLINE void find_scales(const scale_finder& rule, index_t blocks, block_run& run) {
  const f32_tag df;
  const u32_tag du;
  for (index_t b = 0; b < blocks; b += static_cast<index_t>(hn::Lanes(du))) {
    f32_vec factor;
    hn::Store(rule(hn::Load(du, run.amax + b), factor), du, run.code + b);
    hn::Store(factor, df, run.factor + b);
  }
}

/// One row in runs of blocks: on_block(k, n, b, scale code, factor) for block b, numbers k .. k + n
/// - 1; on_core(k, n, b) for a block with NaN or Inf, which the scalar core takes.
template <class Block, class Core>
HWY_INLINE void for_blocks(const float* in, index_t count, const scale_finder& rule, index_t block,
                           const Block& on_block, const Core& on_core) {
  block_run run;
  for (index_t first = 0; first * block < count; first += run_blocks) {
    const index_t wanted = (count - first * block + block - 1) / block;
    const index_t blocks = wanted < run_blocks ? wanted : run_blocks;
    for (index_t b = 0; b < blocks; ++b) {
      const index_t k = (first + b) * block;
      run.amax[b] = max_magnitude_bits(in + k, count - k < block ? count - k : block);
    }
    find_scales(rule, blocks, run);
    for (index_t b = 0; b < blocks; ++b) {
      const index_t k = (first + b) * block;
      const index_t n = count - k < block ? count - k : block;
      // While this run is encoded, the next one comes from memory.
      const index_t next = k + run_blocks * block;
      if (next < count) simd::prefetch(in + next, 4 * block);
      if (run.amax[b] >= inf_bits || run.code[b] == nan_scale) {
        on_core(k, n, first + b);
      } else {
        on_block(k, n, first + b, run.code[b], run.factor[b]);
      }
    }
  }
}

template <class Rounder>
HWY_INLINE void quantize_row_fast(const Rounder& rounder, const scale_finder& rule, const float* in,
                                  index_t row, index_t count, format_desc f, int block,
                                  const simd::convert_policy& p, std::uint8_t* codes,
                                  std::uint8_t* scales) {
  const f32_tag df;
  const Rounder round_to =
      rounder;  // a copy that stores of codes cannot reach: bytes alias everything
  word_source<Rounder> words(p);
  for_blocks(
      in, count, rule, block,
      [&](index_t k, index_t n, index_t b, std::uint32_t scale, float times) HWY_ATTR {
        scales[b] = static_cast<std::uint8_t>(scale);
        const f32_vec factor = hn::Set(df, times);
        words.fill(order_of(p).at(row, k).first, n);
        for_vectors(
            n,
            [&](index_t i) HWY_ATTR {
              store_bytes(round_to.codes(hn::LoadU(df, in + k + i), factor, words.at(i)),
                          codes + k + i);
            },
            [&](index_t i, index_t rest) HWY_ATTR {
              store_some_bytes(round_to.codes(load_some(in + k + i, rest), factor, words.at(i)),
                               codes + k + i, rest);
            });
      },
      [&](index_t k, index_t n, index_t b) {
        E8M0 scale;
        quantize_block(in + k, 1, static_cast<int>(n), f, core_quantizer(p), scale, codes + k, 1,
                       order_of(p).at(row, k));
        scales[b] = scale.code;
      });
}

template <rounding_mode Mode>
HWY_INLINE void quantize_row(const encoder<Mode>& to_codes, const float* in, index_t count,
                             format_desc f, int block, const simd::convert_policy& p,
                             std::uint8_t* codes, std::uint8_t* scales) {
  for (index_t k = 0; k < count; k += block) {
    const index_t n = count - k < block ? count - k : block;
    const std::uint32_t top = max_magnitude_bits(in + k, n);
    E8M0 scale;
    if (top >= inf_bits) {
      quantize_block(in + k, 1, static_cast<int>(n), f, core_quantizer(p), scale, codes + k);
    } else {
      scale = core_quantizer(p).scale(to_number(binary32_desc, top), f);
      if (scale.code == nan_scale) {
        std::memset(codes + k, 0, static_cast<std::size_t>(n));
      } else {
        encode_run(to_codes, in + k, n, scale.to_number().exp, 1, codes + k);
      }
    }
    scales[k / block] = scale.code;
  }
}

/// Whether a rule's elements are rounded from x * 2^-s.
inline bool is_simply_rounded(const simd::convert_policy& p) noexcept {
  return p.scale != scale_rule::ggml;
}

/// Calls f with the fast rounder of a format and policy, if there is one. `consecutive`: the
/// numbers of a vector have consecutive positions, as random words have.
template <class F>
HWY_INLINE bool with_rounder(format_desc f, int block, const simd::convert_policy& p,
                             bool consecutive, const F& call) {
  if (!is_simply_rounded(p)) return false;
  if (nearest_rounder::takes(f, p)) {
    call(nearest_rounder(f, p));
    return true;
  }
  if (stochastic_rounder::takes(f, p) && consecutive && block <= most_words) {
    call(stochastic_rounder(f, p));
    return true;
  }
  return false;
}

inline void quantize_kernel(const float* in, index_t in_stride, index_t rows, index_t count,
                            format_desc f, int block, const simd::convert_policy& p,
                            std::uint8_t* codes, index_t code_stride, std::uint8_t* scales,
                            index_t scale_stride) {
  const bool done = with_rounder(f, block, p, p.step == 1, [&](const auto& round_to) HWY_ATTR {
    const scale_finder rule(f, p.scale);
    for (index_t row = 0; row < rows; ++row) {
      quantize_row_fast(round_to, rule, in + row * in_stride, row, count, f, block, p,
                        codes + row * code_stride, scales + row * scale_stride);
    }
  });
  if (done) return;
  if (p.rounding == rounding_mode::stochastic || !is_simply_rounded(p)) {
    return detail::quantize_rows(view(in, rows, count, in_stride),
                                 {f, block, codes, code_stride, scales, scale_stride},
                                 core_quantizer(p), order_of(p));
  }
  with_rounding(p.rounding, [&]<rounding_mode Mode>() HWY_ATTR {
    const encoder<Mode> to_codes(f, p);
    for (index_t row = 0; row < rows; ++row) {
      quantize_row(to_codes, in + row * in_stride, count, f, block, p, codes + row * code_stride,
                   scales + row * scale_stride);
    }
  });
}

/// 2^(code - 127), the inverse of a factor.
HWY_INLINE f32_vec scale_values(u32_vec code) {
  const u32_tag du;
  return hn::BitCast(f32_tag(), hn::Max(hn::ShiftLeft<23>(code), hn::Set(du, 0x00400000U)));
}

template <class Rounder>
HWY_INLINE void fake_quantize_row(const Rounder& rounder, const scale_finder& rule, const float* in,
                                  index_t row, index_t count, format_desc f, int block,
                                  const simd::convert_policy& p, float* out) {
  const f32_tag df;
  const Rounder round_to =
      rounder;  // a copy that stores of codes cannot reach: bytes alias everything
  word_source<Rounder> words(p);
  for_blocks(
      in, count, rule, block,
      [&](index_t k, index_t n, index_t, std::uint32_t scale, float times) HWY_ATTR {
        const f32_vec factor = hn::Set(df, times);
        const f32_vec back = scale_values(hn::Set(u32_tag(), scale));
        words.fill(order_of(p).at(row, k).first, n);
        for_vectors(
            n,
            [&](index_t i) HWY_ATTR {
              const f32_vec x = hn::LoadU(df, in + k + i);
              hn::StoreU(round_to.values(x, factor, back, words.at(i)), df, out + k + i);
            },
            [&](index_t i, index_t rest) HWY_ATTR {
              const f32_vec x = load_some(in + k + i, rest);
              store_some(round_to.values(x, factor, back, words.at(i)), out + k + i, rest);
            });
      },
      [&](index_t k, index_t n, index_t) {
        detail::fake_quantize_rows(view(in + k, 1, n), view(out + k, 1, n), f, block,
                                   core_quantizer(p), {order_of(p).at(row, k).first, 0, p.step});
      });
}

inline void fake_quantize_kernel(const float* in, index_t in_stride, index_t rows, index_t count,
                                 format_desc f, int block, const simd::convert_policy& p,
                                 float* out, index_t out_stride) {
  const bool done = with_rounder(f, block, p, p.step == 1, [&](const auto& round_to) HWY_ATTR {
    const scale_finder rule(f, p.scale);
    for (index_t row = 0; row < rows; ++row) {
      fake_quantize_row(round_to, rule, in + row * in_stride, row, count, f, block, p,
                        out + row * out_stride);
    }
  });
  if (done) return;
  detail::fake_quantize_rows(view(in, rows, count, in_stride), view(out, rows, count, out_stride),
                             f, block, core_quantizer(p), order_of(p));
}

}  // namespace HWY_NAMESPACE
MXREF_END_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
