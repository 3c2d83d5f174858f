// SPDX-License-Identifier: Apache-2.0
// Whatever the caller has set, kernels compute as defined and the setting is as before.
#include <cfenv>

#include "mxref/simd/control_register.hpp"
#include "mxref/simd/thread_pool.hpp"
#include "target_fixture.hpp"

#if defined(__SSE2__)
#include <xmmintrin.h>
#endif

namespace {

using namespace target_test;
namespace simd = mxref::simd;

class ControlRegister : public on_target {
 protected:
  void SetUp() override {
    on_target::SetUp();
    for (std::size_t i = 0; i < x_.size(); ++i) {
      // Blocks around binary32's subnormals, where flushing shows, and ties, where rounding shows.
      x_[i] =
          static_cast<float>(static_cast<int>(i % 61) - 30) * (i % 64 < 32 ? 0x1p-140F : 0.0625F);
    }
    reference_ = everything();
  }

  /// Codes, values and products of the data, as bytes.
  std::vector<std::uint8_t> everything() const {
    const index_t rows = 16;
    const index_t depth = static_cast<index_t>(x_.size()) / rows;
    std::vector<std::uint8_t> codes(x_.size());
    std::vector<std::uint8_t> scales(x_.size() / 32);
    std::vector<float> back(x_.size());
    std::vector<float> d(static_cast<std::size_t>(rows * rows));
    std::vector<std::uint8_t> all;
    const auto keep = [&](const void* p, std::size_t bytes) {
      const auto* b = static_cast<const std::uint8_t*>(p);
      all.insert(all.end(), b, b + bytes);
    };
    const mxref::quantized_view out{mxref::E5M2::desc, 32,        codes.data(), depth,
                                    scales.data(),     depth / 32};
    EXPECT_TRUE(simd::quantize_with(table(), mxref::view(x_.data(), rows, depth), out,
                                    mxref::quantizer<>{}, {}, simd::serial{}));
    keep(codes.data(), codes.size());
    keep(scales.data(), scales.size());
    const mxref::operand_view v = out.operand(rows, depth);
    EXPECT_TRUE(simd::dequantize_with(table(), v, mxref::view(back.data(), rows, depth), -1,
                                      simd::serial{}));
    keep(back.data(), back.size() * sizeof(float));
    const auto multiply = [&](auto policy) {
      EXPECT_TRUE(simd::gemm_with(table(), v, v, mxref::view(d.data(), rows, rows), policy,
                                  simd::threads{2}));
      keep(d.data(), d.size() * sizeof(float));
    };
    multiply(mxref::accumulate::exact{});
    multiply(mxref::accumulate::block_exact_fp32{});
    multiply(mxref::accumulate::block_fused_fp32{});
    multiply(mxref::accumulate::fp32_chain{});
    multiply(mxref::accumulate::nvidia_blackwell_tcgen05_mxf8f6f4{});
    return all;
  }

  std::vector<float> x_ = std::vector<float>(16 * 128);
  std::vector<std::uint8_t> reference_;
};

TEST_P(ControlRegister, RoundingModesOfTheCallerDoNotMatter) {
  for (const int mode : {FE_UPWARD, FE_DOWNWARD, FE_TOWARDZERO}) {
    ASSERT_EQ(std::fesetround(mode), 0);
    const auto got = everything();
    EXPECT_EQ(std::fegetround(), mode) << "the caller's mode was not restored";
    std::fesetround(FE_TONEAREST);
    EXPECT_EQ(got, reference_);
  }
}

#if defined(__SSE2__)
TEST_P(ControlRegister, FlushToZeroOfTheCallerDoesNotMatter) {
  const unsigned before = _mm_getcsr();
  for (const unsigned bits : {0x8000U, 0x0040U, 0x8040U}) {  // FTZ, DAZ, both
    _mm_setcsr(before | bits);
    const auto got = everything();
    const unsigned after = _mm_getcsr();
    _mm_setcsr(before);
    EXPECT_EQ(after, before | bits) << "the caller's register was not restored";
    EXPECT_EQ(got, reference_);
  }
}

TEST_P(ControlRegister, StickyFlagsOfTheCallerAreKept) {
  const unsigned before = _mm_getcsr();
  _mm_setcsr(before & ~0x3FU);
  static_cast<void>(everything());
  EXPECT_EQ(_mm_getcsr() & 0x3FU, 0U) << "a kernel left exception flags behind";
  _mm_setcsr(before);
}
#endif

MXREF_ON_EVERY_TARGET(ControlRegister);

}  // namespace
