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

}  // namespace HWY_NAMESPACE
MXREF_END_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
