// SPDX-License-Identifier: Apache-2.0
// Level 4. Models of the matrix units of hardware, in integers.
#ifndef MXREF_MATRIX_UNIT_HPP_
#define MXREF_MATRIX_UNIT_HPP_

#include <cstdint>
#include <initializer_list>

#include "mxref/accumulate.hpp"
#include "mxref/bits.hpp"
#include "mxref/config.hpp"
#include "mxref/convert.hpp"
#include "mxref/formats.hpp"
#include "mxref/status.hpp"
#include "mxref/terms.hpp"

MXREF_BEGIN_NAMESPACE

/// How well a model is known.
enum class evidence {
  definition,    ///< a mathematical definition: nothing to measure
  measured,      ///< reproduces public measurements of real hardware
  public_model,  ///< equals a published model whose authors compared it with hardware
  guess          ///< extends a published model to inputs that nobody has measured in public
};

constexpr const char* to_string(evidence e) noexcept {
  switch (e) {
    case evidence::definition:
      return "definition";
    case evidence::measured:
      return "measured on hardware";
    case evidence::public_model:
      return "public model, not measured silicon";
    case evidence::guess:
      return "guess: public model extended to formats that nobody has measured in public";
  }
  return "";
}

/// One step of a fused truncated sum: the products of up to `length` consecutive k and the
/// accumulator are aligned to their largest exponent, cut off toward zero `fraction_bits` below it
/// and summed exactly; what alignment drops is gone. The exponent of a product is the sum of the
/// operands' exponents: products are not normalised, subnormal elements keep emin.
struct fused_sum_desc {
  int length;          ///< products per step
  int fraction_bits;   ///< F: fractional bits kept below the largest exponent
  int exponent_floor;  ///< the alignment exponent is never below this
};

namespace detail {

/// The NaN that NVIDIA's matrix units write.
inline constexpr std::uint32_t nvidia_nan_binary32 = 0x7FFFFFFF;

/// A magnitude moved left by `up` and then right by `down` bits, cut off; 0 <= up.
MXREF_HD constexpr std::uint64_t align(std::uint64_t mag, int up, int down) noexcept {
  return (mag << up) >> min_of(down, 63);
}

/// Truncates S * 2^exp to binary32; beyond its range Inf, never the largest finite number. Exact
/// zero is +0; a negative sum that underflows gives -0.
MXREF_HD constexpr std::uint32_t truncate_to_binary32(std::int64_t sum, int exp) noexcept {
  const number x{magnitude(sum), exp, sum < 0, number_class::finite};
  if (sum != 0 && x.exp + bit_width(x.sig) > binary32_desc.emax() + 1) {
    return to_binary32({0, 0, x.negative, number_class::infinite});
  }
  return static_cast<std::uint32_t>(to_code(binary32_desc, x, rounding::toward_zero{}));
}

/// A step whose scales are powers of two, one for all its products (or none).
/// Source: study of public models, "T-FDPA" and "ST-FDPA" of MMA-Sim (arXiv 2511.10909v2).
MXREF_HD constexpr std::uint32_t fused_sum_step(const fused_sum_desc& m, std::uint32_t c,
                                                const chunk& a, const chunk& b) noexcept {
  const number acc = to_number(binary32_desc, c);
  special_class special;
  special.add(acc);
  if (a.special || b.special) special.add_products(a, b);
  if (special.any()) {
    const number r = special.result();
    return r.is_nan() ? nvidia_nan_binary32 : to_binary32(r);
  }
  // Exponents are counted for significands with q fraction bits: products q, accumulator 23.
  const int q = a.man_bits + b.man_bits;
  const int scale = a.scales[0].exp + b.scales[0].exp + q;
  int top = term::zero_exp;
  for (int k = 0; k < a.count; ++k) top = max_of(top, a.terms[k].exp + b.terms[k].exp);
  top = max_of(m.exponent_floor, top + scale);
  if (acc.sig != 0) top = max_of(top, acc.exp + 23);

  const int up = max_of(m.fraction_bits - q, 0);
  const int down = top - scale + max_of(q - m.fraction_bits, 0);
  std::int64_t sum = 0;
  for (int k = 0; k < a.count; ++k) {
    const std::int64_t product = std::int64_t{a.terms[k].sig} * b.terms[k].sig;
    const int exp = a.terms[k].exp + b.terms[k].exp;
    const auto t = static_cast<std::int64_t>(align(magnitude(product), up, down - exp));
    sum += product < 0 ? -t : t;
  }
  const auto t = static_cast<std::int64_t>(
      align(acc.sig, max_of(m.fraction_bits - 23, 0),
            acc.sig == 0 ? 0 : top - acc.exp - 23 + max_of(23 - m.fraction_bits, 0)));
  sum += acc.negative ? -t : t;
  return truncate_to_binary32(sum, top - m.fraction_bits);
}

}  // namespace detail

namespace accumulate {

/// tcgen05.mma kind::mxf8f6f4 of Blackwell (sm_100): K = 32, one E8M0 scale per operand and step,
/// any pair of E4M3, E5M2, E3M2, E2M3, E2M1; binary32 accumulator. An unscaled side has scale 1.
/// Longer K is a chain of such steps.
/// Checked: tests/sweep/golden_tcgen05_test.cpp, every public row of the 25 format pairs.
struct nvidia_blackwell_tcgen05_mxf8f6f4 : detail::binary32_policy {
  static constexpr const char* name = "nvidia-blackwell-tcgen05-mxf8f6f4";
  static constexpr fused_sum_desc desc{32, 25, -133};
  using operand = term;

  static constexpr int step_length(int) noexcept { return desc.length; }

  static constexpr bool takes(format_desc f) noexcept {
    return f == E4M3::desc || f == E5M2::desc || f == E3M2::desc || f == E2M3::desc ||
           f == E2M1::desc;
  }
  static constexpr errc check(const operand_kind& a, const operand_kind& b,
                              format_desc out) noexcept {
    for (const operand_kind& o : {a, b}) {
      if (!takes(o.format)) return errc::unsupported_format;
      if (o.block != 0 && o.scale_format != E8M0::desc) return errc::unsupported_format;
      if (o.block != 0 && o.block != desc.length) return errc::block_mismatch;
    }
    return out == binary32_desc ? errc::ok : errc::unsupported_output;
  }
  /// Only FP8 operands were compared with hardware by the model's authors.
  static constexpr evidence evidence_for(format_desc a, format_desc b) noexcept {
    const bool fp8 = (a == E4M3::desc || a == E5M2::desc) && (b == E4M3::desc || b == E5M2::desc);
    return fp8 ? evidence::public_model : evidence::guess;
  }
  MXREF_HD static constexpr void step(state& s, const chunk& a, const chunk& b) noexcept {
    constexpr fused_sum_desc unit = desc;  // a local: device code has no address of a static member
    s.value = detail::fused_sum_step(unit, s.value, a, b);
  }
};

}  // namespace accumulate

MXREF_END_NAMESPACE

#endif  // MXREF_MATRIX_UNIT_HPP_
