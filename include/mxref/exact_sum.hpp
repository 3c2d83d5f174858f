// SPDX-License-Identifier: Apache-2.0
// Level 4. A sum without error: a fixed-point accumulator wide enough for every product.
#ifndef MXREF_EXACT_SUM_HPP_
#define MXREF_EXACT_SUM_HPP_

#include <cstdint>

#include "mxref/bits.hpp"
#include "mxref/config.hpp"
#include "mxref/convert.hpp"

MXREF_BEGIN_NAMESPACE

/// Exact sum of terms (-1)^negative * sig * 2^exp, in any order with one result.
///
/// Range:   every format has quantum >= 2^-149 and emax <= 127 (is_valid), so a product of two
///          elements and two scales lies within 2^-596 and 2^512; 2^31 of them stay below 2^576.
/// Method:  32-bit digits held in 64-bit limbs, so that carries can wait for 2^30 additions
///          (Kulisch's long accumulator with lazy carries).
/// Checked: tests/sweep/exact_sum_test.cpp against GMP rationals.
class exact_sum {
 public:
  static constexpr int lsb_exp = -608;
  static constexpr int limb_count = 37;

  /// Adds one term; exp at least lsb_exp.
  MXREF_HD constexpr void add(std::uint64_t sig, int exp, bool negative) noexcept {
    if (sig == 0) return;
    const int position = exp - lsb_exp;
    const int shift = position % 32;
    const std::uint64_t low = (sig & digit_mask) << shift;
    const std::uint64_t high = ((sig >> 32) << shift) + (low >> 32);
    std::int64_t* limb = limb_ + position / 32;
    const auto d0 = static_cast<std::int64_t>(low & digit_mask);
    const auto d1 = static_cast<std::int64_t>(high & digit_mask);
    const auto d2 = static_cast<std::int64_t>(high >> 32);
    if (negative) {
      limb[0] -= d0;
      limb[1] -= d1;
      limb[2] -= d2;
    } else {
      limb[0] += d0;
      limb[1] += d1;
      limb[2] += d2;
    }
    if (++pending_ == (1 << 30)) settle();
  }
  MXREF_HD constexpr void add(const number& x) noexcept { add(x.sig, x.exp, x.negative); }

  /// The sum as a number. The significand holds the leading 64 bits; anything below them is
  /// represented by an odd last bit (rounding to odd), which no later rounding to 62 bits or fewer
  /// can tell from the exact sum. An exact zero is +0.
  MXREF_HD constexpr number total() const noexcept {
    exact_sum s = *this;
    s.settle();
    const bool negative = s.limb_[limb_count - 1] < 0;
    if (negative) {
      for (std::int64_t& limb : s.limb_) limb = -limb;
      s.settle();
    }
    int top = limb_count - 1;
    while (top > 0 && s.limb_[top] == 0) --top;
    // Three digits from the top hold at least 65 significant bits, or the whole number.
    const std::uint64_t d2 = s.digit(top);
    if (d2 == 0) return {};
    const int width = bit_width(d2);
    const std::uint64_t lower = s.digit(top - 1) << 32 | s.digit(top - 2);
    number n;
    n.sig = d2 << (64 - width) | lower >> width;
    n.exp = lsb_exp + 32 * top - (64 - width);
    n.negative = negative;
    bool sticky = (lower & low_mask(width)) != 0;
    for (int i = 0; i < top - 2; ++i) sticky |= s.limb_[i] != 0;
    n.sig |= sticky ? 1U : 0U;
    return n;
  }

 private:
  static constexpr std::uint64_t digit_mask = 0xFFFFFFFF;

  MXREF_HD constexpr std::uint64_t digit(int i) const noexcept {
    return i < 0 ? 0 : static_cast<std::uint64_t>(limb_[i]);
  }

  /// Carries: every limb but the last becomes a digit 0 .. 2^32 - 1, the last keeps the sign.
  MXREF_HD constexpr void settle() noexcept {
    for (int i = 0; i + 1 < limb_count; ++i) {
      limb_[i + 1] += limb_[i] >> 32;
      limb_[i] &= static_cast<std::int64_t>(digit_mask);
    }
    pending_ = 0;
  }

  std::int64_t limb_[limb_count]{};
  int pending_ = 0;
};

MXREF_END_NAMESPACE

#endif  // MXREF_EXACT_SUM_HPP_
