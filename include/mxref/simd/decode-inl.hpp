// SPDX-License-Identifier: Apache-2.0
// Level 5, per target. Codes to binary32 on lanes, restating the scalar core. Checked against it,
// for every target: tests/target/convert_test.cpp

#if defined(MXREF_SIMD_DECODE_INL_) == defined(HWY_TARGET_TOGGLE)
#ifdef MXREF_SIMD_DECODE_INL_
#undef MXREF_SIMD_DECODE_INL_
#else
#define MXREF_SIMD_DECODE_INL_
#endif

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "mxref/binary32.hpp"
#include "mxref/convert.hpp"
#include "mxref/simd/kernels.hpp"
#include "mxref/simd/highway.hpp"

HWY_BEFORE_NAMESPACE();
MXREF_BEGIN_NAMESPACE
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using f32_tag = hn::ScalableTag<float>;
using i32_tag = hn::ScalableTag<std::int32_t>;
using u32_tag = hn::ScalableTag<std::uint32_t>;
using f32_vec = hn::Vec<f32_tag>;
using i32_vec = hn::Vec<i32_tag>;
using u32_vec = hn::Vec<u32_tag>;
using u32_mask = hn::Mask<u32_tag>;

/// NaN becomes the quiet NaN 0x7FC00000.
HWY_INLINE f32_vec canonical(f32_vec x) {
  const f32_tag df;
  const u32_tag du;
  return hn::IfThenElse(hn::IsNaN(x), hn::BitCast(df, hn::Set(du, binary32_nan)), x);
}

// Decoding, one class for each kind of format: the lanes of a code to a number; see to_number.

HWY_INLINE u32_vec set_bits(std::uint64_t value) {
  return hn::Set(u32_tag(), static_cast<std::uint32_t>(value));
}
inline float power_of_two(int exp) {
  return from_number<float>({1, exp, false, number_class::finite});
}

struct decode_binary32 {
  explicit decode_binary32(format_desc) noexcept {}
  HWY_INLINE f32_vec operator()(u32_vec code) const {
    return canonical(hn::BitCast(f32_tag(), code));
  }
};

class decode_twos_complement {
 public:
  explicit decode_twos_complement(format_desc f) noexcept
      : sign_(f.sign_code()),
        mask_(low_mask(f.total_bits())),
        quantum_(power_of_two(f.quantum_exp())) {}
  HWY_INLINE f32_vec operator()(u32_vec code) const {
    // The sign bit, flipped and subtracted, extends itself.
    const u32_vec sign = set_bits(sign_);
    const u32_vec value = hn::Sub(hn::Xor(hn::And(code, set_bits(mask_)), sign), sign);
    return hn::Mul(hn::ConvertTo(f32_tag(), hn::BitCast(i32_tag(), value)),
                   hn::Set(f32_tag(), quantum_));
  }

 private:
  std::uint64_t sign_;
  std::uint64_t mask_;
  float quantum_;
};

/// No zero: the field 0 is 2^-bias, which may be a subnormal of binary32.
class decode_exponent {
 public:
  explicit decode_exponent(format_desc f) noexcept : format_(f) {}
  HWY_INLINE f32_vec operator()(u32_vec code) const {
    const u32_tag du;
    const u32_vec mag = hn::And(code, set_bits(low_mask(format_.magnitude_bits())));
    const u32_vec field = hn::Add(mag, set_bits(static_cast<std::uint64_t>(127 - format_.bias)));
    u32_vec bits = hn::ShiftLeft<23>(field);
    bits = hn::IfThenElse(hn::Eq(field, hn::Zero(du)), hn::Set(du, 0x00400000U), bits);
    const auto is_nan = hn::Gt(mag, set_bits(format_.max_magnitude()));
    return hn::BitCast(f32_tag(), hn::IfThenElse(is_nan, hn::Set(du, binary32_nan), bits));
  }

 private:
  format_desc format_;
};

class decode_floating {
 public:
  explicit decode_floating(format_desc f) noexcept
      : code_mask_(low_mask(f.total_bits())),
        mag_mask_(low_mask(f.magnitude_bits())),
        one_(std::uint64_t{1} << f.man_bits),
        rebias_(static_cast<std::uint64_t>(127 - f.bias) << 23),
        max_(f.max_magnitude()),
        last_inf_(f.has_inf() ? f.inf_magnitude() : f.max_magnitude()),
        minus_zero_(f.sign_code()),
        smallest_normal_(power_of_two(f.emin())),
        place_(23 - f.man_bits),
        sign_place_(31 - f.magnitude_bits()),
        has_sign_(f.has_sign()),
        minus_zero_is_nan_(f.special == specials::nan_for_minus0) {}

  HWY_INLINE f32_vec operator()(u32_vec code) const {
    const u32_tag du;
    const f32_tag df;
    const u32_vec mag = hn::And(code, set_bits(mag_mask_));
    // A subnormal as 2^emin + T * quantum, from which 2^emin is taken away again.
    const auto subnormal = hn::Lt(mag, set_bits(one_));
    const u32_vec normal = hn::Add(mag, hn::IfThenElseZero(subnormal, set_bits(one_)));
    const u32_vec placed = hn::Add(hn::ShiftLeftSame(normal, place_), set_bits(rebias_));
    const f32_vec value =
        hn::Sub(hn::BitCast(df, placed),
                hn::IfThenElseZero(hn::RebindMask(df, subnormal), hn::Set(df, smallest_normal_)));
    // Above the largest number Inf, above the last Inf NaN.
    u32_vec bits = hn::IfThenElse(hn::Gt(mag, set_bits(max_)), hn::Set(du, 0x7F800000U),
                                  hn::BitCast(du, value));
    if (has_sign_) {
      const u32_vec sign = hn::ShiftLeftSame(code, sign_place_);
      bits = hn::Or(bits, hn::And(sign, hn::Set(du, 0x80000000U)));
    }
    auto is_nan = hn::Gt(mag, set_bits(last_inf_));
    if (minus_zero_is_nan_) {
      is_nan = hn::Eq(hn::And(code, set_bits(code_mask_)), set_bits(minus_zero_));
    }
    return hn::BitCast(df, hn::IfThenElse(is_nan, hn::Set(du, binary32_nan), bits));
  }

 private:
  std::uint64_t code_mask_, mag_mask_, one_, rebias_, max_, last_inf_, minus_zero_;
  float smallest_normal_;
  int place_, sign_place_;
  bool has_sign_, minus_zero_is_nan_;
};

#undef MXREF_DECODE_BY_HALF
#if HWY_ARCH_X86 && HWY_TARGET <= HWY_AVX2 && !defined(HWY_DISABLE_F16C)
#define MXREF_DECODE_BY_HALF 1
#else
#define MXREF_DECODE_BY_HALF 0
#endif

#if MXREF_DECODE_BY_HALF

/// Formats of 8 bits or fewer, two vectors at a time in lanes of 16 bits: their fields in those of
/// binary16 make the number times 2^(bias - 15), subnormals included, for the processor's
/// conversion; the factor undoes that.
class decode_by_half {
 public:
  static bool takes(format_desc f) noexcept {
    return f.code == encoding::sign_magnitude && f.total_bits() <= 8 && f.exp_bits <= 5 &&
           f.special != specials::nan_for_minus0 && (!f.has_inf() || f.exp_bits == 5) &&
           f.bias >= -40 && f.bias <= 70;
  }
  explicit decode_by_half(format_desc f) noexcept
      : mag_mask_(static_cast<std::uint16_t>(low_mask(f.magnitude_bits()))),
        last_(static_cast<std::uint16_t>(f.has_inf() ? f.inf_magnitude() : f.max_magnitude())),
        place_(10 - f.man_bits),
        sign_place_(15 - f.magnitude_bits()),
        exp_(15 - f.bias) {}

  /// What a number of the format is multiplied with to be right, as an exponent.
  int exp() const noexcept { return exp_; }

  /// Two vectors of codes, times 2^-exp().
  HWY_INLINE void operator()(const std::uint8_t* codes, f32_vec& first, f32_vec& second) const {
    const hn::Repartition<std::uint16_t, f32_tag> d;
    const hn::Half<decltype(d)> dh;
    const hn::Rebind<hwy::float16_t, f32_tag> df16;
    const f32_tag df;
    const auto code = hn::PromoteTo(d, hn::LoadU(hn::Rebind<std::uint8_t, decltype(d)>(), codes));
    const auto mag = hn::And(code, hn::Set(d, mag_mask_));
    const auto sign = hn::And(hn::ShiftLeftSame(code, sign_place_),
                              hn::Set(d, static_cast<std::uint16_t>(0x8000)));
    const auto number = hn::Or(hn::ShiftLeftSame(mag, place_), sign);
    const auto half = hn::IfThenElse(hn::Gt(mag, hn::Set(d, last_)),
                                     hn::Set(d, static_cast<std::uint16_t>(0x7E00)), number);
    first = hn::PromoteTo(df, hn::BitCast(df16, hn::LowerHalf(dh, half)));
    second = hn::PromoteTo(df, hn::BitCast(df16, hn::UpperHalf(dh, half)));
  }

 private:
  std::uint16_t mag_mask_, last_;
  int place_, sign_place_, exp_;
};

/// The first numbers, a multiple of two vectors, times the factor.
HWY_INLINE index_t decode_pairs(const decode_by_half& to_floats, const std::uint8_t* codes,
                                index_t count, float factor, float* out) {
  const f32_tag df;
  const auto lanes = static_cast<index_t>(hn::Lanes(df));
  const f32_vec times = hn::Set(df, factor);
  index_t i = 0;
  for (; i + 2 * lanes <= count; i += 2 * lanes) {
    f32_vec first;
    f32_vec second;
    to_floats(codes + i, first, second);
    hn::StoreU(hn::Mul(first, times), df, out + i);
    hn::StoreU(hn::Mul(second, times), df, out + i + lanes);
  }
  return i;
}

#endif  // MXREF_DECODE_BY_HALF

template <int Bytes>
HWY_INLINE u32_vec load_codes(const std::uint8_t* codes) {
  const u32_tag du;
  if constexpr (Bytes == 1) {
    return hn::PromoteTo(du, hn::LoadU(hn::Rebind<std::uint8_t, u32_tag>(), codes));
  } else if constexpr (Bytes == 2) {
    return hn::PromoteTo(du, hn::LoadU(hn::Rebind<std::uint16_t, u32_tag>(),
                                       reinterpret_cast<const std::uint16_t*>(codes)));
  } else {
    return hn::LoadU(du, reinterpret_cast<const std::uint32_t*>(codes));
  }
}

template <int Bytes, class Decode>
HWY_INLINE void decode_run(const Decode& to_floats, const std::uint8_t* codes, index_t count,
                           float* out) {
  const f32_tag df;
  const auto lanes = static_cast<index_t>(hn::Lanes(df));
  index_t i = 0;
  for (; i + lanes <= count; i += lanes) {
    hn::StoreU(to_floats(load_codes<Bytes>(codes + i * Bytes)), df, out + i);
  }
  if (i >= count) return;
  HWY_ALIGN std::uint8_t tail[HWY_MAX_BYTES] = {};
  HWY_ALIGN float numbers[HWY_MAX_BYTES / sizeof(float)];
  std::memcpy(tail, codes + i * Bytes, static_cast<std::size_t>((count - i) * Bytes));
  hn::Store(to_floats(load_codes<Bytes>(tail)), df, numbers);
  std::memcpy(out + i, numbers, static_cast<std::size_t>(count - i) * sizeof(float));
}

template <class Decode>
inline void decode_as(const std::uint8_t* codes, index_t count, format_desc f, float* out) {
  const Decode to_floats(f);
  switch (container_bytes(f)) {
    case 1:
      return decode_run<1>(to_floats, codes, count, out);
    case 2:
      return decode_run<2>(to_floats, codes, count, out);
    default:
      return decode_run<4>(to_floats, codes, count, out);
  }
}

inline void decode_kernel(const void* codes, index_t count, format_desc f, float* out) {
  const auto* bytes = static_cast<const std::uint8_t*>(codes);
  if (f == binary32_desc) return decode_run<4>(decode_binary32(f), bytes, count, out);
#if MXREF_DECODE_BY_HALF
  if (decode_by_half::takes(f)) {
    const decode_by_half to_floats(f);
    const index_t done = decode_pairs(to_floats, bytes, count, power_of_two(to_floats.exp()), out);
    bytes += done;
    count -= done;
    out += done;
  }
#endif
  switch (f.code) {
    case encoding::twos_complement:
      return decode_as<decode_twos_complement>(bytes, count, f, out);
    case encoding::exponent_only:
      return decode_as<decode_exponent>(bytes, count, f, out);
    case encoding::sign_magnitude:
    case encoding::unsigned_value:
      return decode_as<decode_floating>(bytes, count, f, out);
  }
}

inline void apply_scales_kernel(float* out, index_t count, const float* factors, int block,
                                int phase) {
  const f32_tag df;
  const auto lanes = static_cast<index_t>(hn::Lanes(df));
  index_t done = 0;
  if (block == 1) {
    for (; done + lanes <= count; done += lanes, factors += lanes) {
      hn::StoreU(canonical(hn::Mul(hn::LoadU(df, out + done), hn::LoadU(df, factors))), df,
                 out + done);
    }
  }
  for (index_t end = done; end < count; ++factors, phase = 0) {
    index_t i = end;
    end = end + block - phase < count ? end + block - phase : count;
    for (; i + lanes <= end; i += lanes) {
      hn::StoreU(canonical(hn::Mul(hn::LoadU(df, out + i), hn::Set(df, *factors))), df, out + i);
    }
    for (; i < end; ++i) {
      out[i] = from_number<float>(scaled(to_number(out[i]), to_number(*factors)));
    }
  }
}

/// Whole blocks of codes in bytes and their factors, in one pass where that is possible.
template <class Decode>
HWY_INLINE void decode_blocks_as(const std::uint8_t* codes, index_t count, format_desc f,
                                 const float* factors, int block, float* out) {
  const f32_tag df;
  const auto lanes = static_cast<index_t>(hn::Lanes(df));
  const Decode to_floats(f);
  for (index_t k = 0; k < count; k += block, ++factors) {
    const index_t n = count - k < block ? count - k : block;
    const f32_vec factor = hn::Set(df, *factors);
    index_t i = 0;
    for (; i + lanes <= n; i += lanes) {
      const f32_vec x = to_floats(load_codes<1>(codes + k + i));
      hn::StoreU(canonical(hn::Mul(x, factor)), df, out + k + i);
    }
    if (i == n) continue;
    decode_kernel(codes + k + i, n - i, f, out + k + i);
    apply_scales_kernel(out + k + i, n - i, factors, block, 0);
  }
}

inline void decode_blocks_kernel(const std::uint8_t* codes, index_t count, format_desc f,
                                 const float* factors, int block, float* out) {
#if MXREF_DECODE_BY_HALF
  const auto pair = static_cast<index_t>(2 * hn::Lanes(f32_tag()));
  if (decode_by_half::takes(f) && block % pair == 0) {
    const decode_by_half to_floats(f);
    const float lift = power_of_two(to_floats.exp());
    for (index_t k = 0; k < count; k += block) {
      const index_t n = count - k < block ? count - k : block;
      const float factor = factors[k / block];
      const float both = factor * lift;
      // Not where lifting the factor leaves the normal numbers, nor for NaN.
      index_t done = 0;
      if (both >= 0x1p-126F && both <= 0x1p126F) {
        done = decode_pairs(to_floats, codes + k, n, both, out + k);
      }
      if (done == n) continue;
      decode_kernel(codes + k + done, n - done, f, out + k + done);
      apply_scales_kernel(out + k + done, n - done, &factor, block, 0);
    }
    return;
  }
#endif
  switch (f.code) {
    case encoding::twos_complement:
      return decode_blocks_as<decode_twos_complement>(codes, count, f, factors, block, out);
    case encoding::exponent_only:
      return decode_blocks_as<decode_exponent>(codes, count, f, factors, block, out);
    case encoding::sign_magnitude:
    case encoding::unsigned_value:
      return decode_blocks_as<decode_floating>(codes, count, f, factors, block, out);
  }
}

inline void stream_kernel(const float* in, index_t count, float* out) {
  const f32_tag df;
  const auto lanes = static_cast<index_t>(hn::Lanes(df));
  const auto bytes = static_cast<std::uintptr_t>(lanes) * sizeof(float);
  index_t i = 0;
  for (; i < count && reinterpret_cast<std::uintptr_t>(out + i) % bytes != 0; ++i) out[i] = in[i];
  for (; i + lanes <= count; i += lanes) hn::Stream(hn::LoadU(df, in + i), df, out + i);
  for (; i < count; ++i) out[i] = in[i];
}

inline void flush_kernel() { hwy::FlushStream(); }

}  // namespace HWY_NAMESPACE
MXREF_END_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
