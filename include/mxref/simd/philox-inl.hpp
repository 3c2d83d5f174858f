// SPDX-License-Identifier: Apache-2.0
// Level 5, per target. Random words on lanes, restating philox.hpp. Checked against the scalar
// core, for every target: tests/target/convert_test.cpp

#if defined(MXREF_SIMD_PHILOX_INL_) == defined(HWY_TARGET_TOGGLE)
#ifdef MXREF_SIMD_PHILOX_INL_
#undef MXREF_SIMD_PHILOX_INL_
#else
#define MXREF_SIMD_PHILOX_INL_
#endif

#include <cstdint>

#include "mxref/philox.hpp"
#include "mxref/simd/decode-inl.hpp"
#include "mxref/simd/highway.hpp"

HWY_BEFORE_NAMESPACE();
MXREF_BEGIN_NAMESPACE
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

#if HWY_TARGET == HWY_SCALAR
class philox_lanes {
 public:
  explicit philox_lanes(std::uint64_t seed) noexcept : seed_(seed) {}
  index_t fill(std::uint64_t first, index_t count, std::uint32_t* HWY_RESTRICT out) const {
    for (index_t i = 0; i < count; ++i) {
      out[i] = philox_word(seed_, first + static_cast<std::uint64_t>(i));
    }
    return 0;
  }

 private:
  std::uint64_t seed_;
};
#else
/// Random words of a seed on lanes, see philox_word. A counter in each 64-bit lane, of which the
/// multiplications read the low half: what other operations leave in the high halves does not
/// matter.
class philox_lanes {
 public:
  explicit philox_lanes(std::uint64_t seed) noexcept {
    auto key0 = static_cast<std::uint32_t>(seed);
    auto key1 = static_cast<std::uint32_t>(seed >> 32);
    for (int i = 0; i < philox_constants::rounds; ++i) {
      keys_[2 * i] = key0;
      keys_[2 * i + 1] = key1;
      key0 += philox_constants::key_step0;
      key1 += philox_constants::key_step1;
    }
    // The order of counters that makes the interleaving at the end put words in order.
    const auto lanes = static_cast<index_t>(hn::Lanes(tag()));
    for (index_t i = 0; i < lanes; ++i) {
      order_[i] = static_cast<std::uint64_t>(i % 2 == 0 ? i / 2 : lanes / 2 + i / 2);
    }
  }

  /// Words first .. first + count - 1, somewhere in out: their place is returned. Room: count + 3,
  /// filled up to a multiple of four vectors.
  HWY_INLINE index_t fill(std::uint64_t first, index_t count,
                          std::uint32_t* HWY_RESTRICT out) const {
    const auto offset = static_cast<index_t>(first % 4);
    const index_t step = 4 * static_cast<index_t>(hn::Lanes(tag()));
    std::uint64_t counter = first / 4;
    for (index_t done = 0; done < offset + count; done += 2 * step) {
      fill_two(counter, step, out + done);
      counter += static_cast<std::uint64_t>(step / 2);
    }
    return offset;
  }

 private:
  using tag = hn::Repartition<std::uint64_t, u32_tag>;
  using vec = hn::Vec<tag>;

  /// The words of two vectors of counters, whose rounds overlap; out + step for the second.
  HWY_INLINE void fill_two(std::uint64_t counter, index_t step,
                           std::uint32_t* HWY_RESTRICT out) const {
    const tag dw;
    const vec zero = hn::Zero(dw);
    vec a0 = hn::Add(hn::Load(dw, order_), hn::Set(dw, counter));
    vec b0 = hn::Add(a0, hn::Set(dw, static_cast<std::uint64_t>(step / 4)));
    vec a1 = high_halves(a0);
    vec b1 = high_halves(b0);
    vec a2 = zero;
    vec b2 = zero;
    vec a3 = zero;
    vec b3 = zero;
    for (int i = 0; i < 2 * philox_constants::rounds; i += 2) {
      const vec key0 = hn::Set(dw, keys_[i]);
      const vec key1 = hn::Set(dw, keys_[i + 1]);
      one_round(a0, a1, a2, a3, key0, key1);
      one_round(b0, b1, b2, b3, key0, key1);
    }
    store(a0, a1, a2, a3, out);
    store(b0, b1, b2, b3, out + step);
  }

  static HWY_INLINE void one_round(vec& x0, vec& x1, vec& x2, vec& x3, vec key0, vec key1) {
    const u32_tag du;
    const vec p0 = hn::MulEven(hn::BitCast(du, x0), hn::Set(du, philox_constants::multiplier0));
    const vec p1 = hn::MulEven(hn::BitCast(du, x2), hn::Set(du, philox_constants::multiplier1));
    x0 = hn::Xor3(high_halves(p1), x1, key0);
    x1 = p1;
    x2 = hn::Xor3(high_halves(p0), x3, key1);
    x3 = p0;
  }

  static HWY_INLINE vec high_halves(vec x) {
    return hn::BitCast(tag(), hn::DupOdd(hn::BitCast(u32_tag(), x)));
  }

  static HWY_INLINE void store(vec x0, vec x1, vec x2, vec x3, std::uint32_t* HWY_RESTRICT out) {
    const tag dw;
    const u32_tag du;
    const auto pair = [&](vec low, vec high) HWY_ATTR {
      return hn::BitCast(dw, hn::OddEven(hn::DupEven(hn::BitCast(du, high)), hn::BitCast(du, low)));
    };
    const vec p01 = pair(x0, x1);
    const vec p23 = pair(x2, x3);
    const auto lanes = static_cast<index_t>(hn::Lanes(du));
    hn::StoreU(hn::BitCast(du, hn::InterleaveLower(dw, p01, p23)), du, out);
    hn::StoreU(hn::BitCast(du, hn::InterleaveUpper(dw, p01, p23)), du, out + lanes);
  }

  std::uint64_t keys_[2 * philox_constants::rounds];
  HWY_ALIGN std::uint64_t order_[HWY_MAX_BYTES / sizeof(std::uint64_t)];
};
#endif

}  // namespace HWY_NAMESPACE
MXREF_END_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
