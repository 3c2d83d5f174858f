// SPDX-License-Identifier: Apache-2.0
// Level 3. The scale rules of NVFP4: E2M1 elements, unsigned E4M3 scales of 16, and one binary32
// scale for the whole tensor. Also rules with binary32 scales.
//
// These rules multiply in binary32, and each system in another order, so that the last bits differ.
// Every step below is one rounding to nearest even, RN. M is the largest element, 6 for E2M1;
// e4m3() saturates. Checked: tests/sweep/golden_nvfp4_test.cpp
#ifndef MXREF_NVFP4_HPP_
#define MXREF_NVFP4_HPP_

#include <cstdint>

#include "mxref/binary32.hpp"
#include "mxref/bits.hpp"
#include "mxref/config.hpp"
#include "mxref/convert.hpp"
#include "mxref/formats.hpp"
#include "mxref/overflow.hpp"
#include "mxref/rounding.hpp"
#include "mxref/scale.hpp"

MXREF_BEGIN_NAMESPACE

namespace detail {

MXREF_HD constexpr number largest_binary32() noexcept {
  return to_number(binary32_desc, binary32_desc.max_magnitude());
}
/// min(FLT_MAX, x)
MXREF_HD constexpr number finite_part(const number& x) noexcept {
  return x.is_inf() ? largest_binary32() : x;
}

MXREF_HD constexpr UE4M3 ue4m3(const number& x) noexcept {
  return UE4M3{static_cast<std::uint8_t>(
      to_code(UE4M3::desc, x, rounding::nearest_even{}, overflow::saturate{}))};
}

}  // namespace detail

namespace scale {

/// Scale of a block sb = e4m3(clamp(RN(RN(amax / M) / T), 2^-6, 448)), T the scale of the tensor;
/// elements are RN(x * RN(RN(1 / T) / sb)). An all-zero block has scale 2^-6, code 0x08. T = 1 is
/// the one-level form. Values are code * sb * T. Used by: torchao.
struct nvfp4_torchao {
  float tensor_scale = 1.0F;

  /// T = RN(A / 2688) of a tensor's amax A; 2688 = 448 * 6.
  MXREF_HD static constexpr float tensor_scale_of(float amax) noexcept {
    return from_number<float>(detail::over(to_number(amax), to_number(2688.0F)));
  }

  MXREF_HD constexpr UE4M3 operator()(const number& amax, format_desc element) const noexcept {
    const number least{1, -6, false, number_class::finite};
    const number s =
        detail::over(detail::over(detail::in_binary32(amax), detail::max_of_format(element)),
                     to_number(tensor_scale));
    return detail::ue4m3(s.is_finite() && detail::magnitude_less(s, least) ? least : s);
  }
  MXREF_HD constexpr number descale(const number& x, UE4M3 scale, format_desc) const noexcept {
    const number reciprocal = detail::over(detail::one(), to_number(tensor_scale));
    return detail::times(detail::in_binary32(x), detail::over(reciprocal, scale.to_number()));
  }
};

/// sb = e4m3(min(448, RN(amax * RN(S * RN(1 / M))))), S what the tensor is multiplied by; elements
/// are RN(x * w), w = min(FLT_MAX, RN(1 / RN(sb * RN(1 / S)))). Under a scale of zero w is FLT_MAX,
/// so that elements saturate; their value is zero. Values are code * sb / S. Used by:
/// TransformerEngine (its Python reference).
struct nvfp4_te {
  float encode_scale = 1.0F;

  /// S = min(FLT_MAX, RN(M * E / A)) of a tensor's amax A, M = 6; 1 when A or S is zero. E: the
  /// largest block scale in use, 448, or 256 for four over six.
  MXREF_HD static constexpr float encode_scale_of(float amax,
                                                  float largest_scale = 448.0F) noexcept {
    if (amax == 0) return 1.0F;
    const number most = multiply(to_number(6.0F), to_number(largest_scale));
    const float s = from_number<float>(detail::finite_part(detail::over(most, to_number(amax))));
    return s == 0 ? 1.0F : s;
  }
  /// The scale that values are multiplied by, for gemm_options::tensor_scale: RN(1 / S).
  MXREF_HD constexpr float tensor_scale() const noexcept {
    return from_number<float>(detail::over(detail::one(), to_number(encode_scale)));
  }

  MXREF_HD constexpr UE4M3 operator()(const number& amax, format_desc element) const noexcept {
    const number factor =
        detail::times(to_number(encode_scale), detail::reciprocal_of_max(element));
    return detail::ue4m3(detail::times(detail::in_binary32(amax), factor));
  }
  MXREF_HD constexpr number descale(const number& x, UE4M3 scale, format_desc) const noexcept {
    const number back = detail::times(scale.to_number(), to_number(tensor_scale()));
    return detail::times(detail::in_binary32(x),
                         detail::finite_part(detail::over(detail::one(), back)));
  }
};

/// How four over six measures the error of a block.
enum class block_error { absolute, squared };

/// Four over six: two scales are tried, one that maps amax to 6 and one that maps it to 4, 3/2 as
/// large; the second is taken only when the sum of the errors of its elements is smaller. sb6 =
/// e4m3(min(448, RN(RN(amax / 6) * S))), sb4 = e4m3(min(448, RN(that * 3/2))). The value of an
/// element for the error is RN(RN(RN(code * sb) * A) / (6 * E)); sums run in the order of the
/// block. Used by: TransformerEngine.
struct nvfp4_four_over_six : nvfp4_te {
  float tensor_amax = 1.0F;      ///< A
  float largest_scale = 448.0F;  ///< E: 448 or 256
  block_error error = block_error::absolute;

  MXREF_HD static constexpr nvfp4_four_over_six of(float amax, float largest_scale,
                                                   block_error error) noexcept {
    return {{nvfp4_te::encode_scale_of(amax, largest_scale)}, amax, largest_scale, error};
  }

  MXREF_HD constexpr UE4M3 operator()(const number& amax, format_desc element) const noexcept {
    return detail::ue4m3(mapped_to_most(amax, element));
  }

  template <native_float T>
  MXREF_HD constexpr UE4M3 pick(UE4M3 six, const number& amax, const T* x, std::ptrdiff_t stride,
                                int count, format_desc element) const noexcept {
    const UE4M3 four = detail::ue4m3(detail::times(mapped_to_most(amax, element), to_number(1.5F)));
    const number error_six = error_of(six, x, stride, count, element);
    const number error_four = error_of(four, x, stride, count, element);
    return detail::magnitude_less(error_four, error_six) ? four : six;
  }

 private:
  MXREF_HD constexpr number mapped_to_most(const number& amax, format_desc element) const noexcept {
    return detail::times(detail::over(detail::in_binary32(amax), detail::max_of_format(element)),
                         to_number(encode_scale));
  }

  template <native_float T>
  MXREF_HD constexpr number error_of(UE4M3 scale, const T* x, std::ptrdiff_t stride, int count,
                                     format_desc element) const noexcept {
    const number divisor = multiply(detail::max_of_format(element), to_number(largest_scale));
    number sum{};
    for (int i = 0; i < count; ++i) {
      const number exact = detail::in_binary32(to_number(x[i * stride]));
      const std::uint64_t code = to_code(element, descale(exact, scale, element),
                                         rounding::nearest_even{}, overflow::saturate{});
      const number scaled_value = detail::times(to_number(element, code), scale.to_number());
      const number value =
          detail::over(detail::times(scaled_value, to_number(tensor_amax)), divisor);
      number difference = detail::minus(value, exact);
      difference.negative = false;
      if (error == block_error::squared) difference = detail::times(difference, difference);
      sum = detail::in_binary32(add(sum, difference));
    }
    return sum;
  }
};

/// sb of RN(amax / M): 3 mantissa bits rounded half up; below 2^-6 floor(512 * v + 1/2), at most 7;
/// 0x7E from 248 on. Elements are rounded from the exact quotient x / sb; they are zero under a
/// scale of zero. Used by: ggml NVFP4, with rounding::nearest_toward_zero.
struct nvfp4_ggml {
  MXREF_HD constexpr UE4M3 operator()(const number& amax, format_desc element) const noexcept {
    const number v = detail::over(detail::in_binary32(amax), detail::max_of_format(element));
    if (!v.is_finite() || !detail::magnitude_less(v, to_number(248.0F))) return UE4M3{0x7E};
    const std::uint64_t code =
        to_code(UE4M3::desc, v, rounding::nearest_away{}, overflow::saturate{});
    const number least_normal{1, -6, false, number_class::finite};
    const bool is_subnormal = detail::magnitude_less(v, least_normal);
    return UE4M3{static_cast<std::uint8_t>(is_subnormal && code > 7 ? 7 : code)};
  }
  MXREF_HD constexpr number descale(const number& x, UE4M3 scale, format_desc) const noexcept {
    const number s = scale.to_number();
    if (s.is_zero()) return {0, 0, x.negative, x.cls};
    return detail::quotient(x, s);
  }
};

/// A binary32 scale RN(amax / M), M the largest element; elements are RN(x / scale). An all-zero
/// block has scale 1. Used with blocks of 128 or tiles of 128 x 128: DeepSeek-V3's FP8 recipe.
struct amax_over_max {
  MXREF_HD constexpr binary32 operator()(const number& amax, format_desc element) const noexcept {
    if (amax.sig == 0) return binary32{binary32_one};
    return binary32{
        to_binary32(detail::over(detail::in_binary32(amax), detail::max_of_format(element)))};
  }
  MXREF_HD constexpr number descale(const number& x, binary32 scale, format_desc) const noexcept {
    return detail::over(detail::in_binary32(x), scale.to_number());
  }
};

}  // namespace scale

MXREF_END_NAMESPACE

#endif  // MXREF_NVFP4_HPP_
