// SPDX-License-Identifier: Apache-2.0
// Every test of this folder runs once for each target that was compiled and that the processor has.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "mxref/mxref.hpp"
#include "mxref/simd/dispatch.hpp"
#include "mxref/simd/scalar.hpp"

namespace target_test {

using mxref::format_desc;
using mxref::index_t;

inline const mxref::simd::kernel_table& under_test(int i) {
  return *mxref::simd::available_kernels()[i];
}

inline int target_count() {
  int n = 0;
  while (mxref::simd::available_kernels()[n] != nullptr) ++n;
  return n;
}

/// The table is a copy whose functions count their calls: a test that never went through a kernel
/// of its target fails, because it tested something else.
class on_target : public testing::TestWithParam<int> {
 protected:
  void SetUp() override {
    original_ = &under_test(GetParam());
    current_ = this;
    table_ = *original_;
    uses_ = 0;
    table_.encode = [](const float* in, index_t n, format_desc f,
                       const mxref::simd::convert_policy& p, void* codes) {
      ++current_->uses_;
      current_->original_->encode(in, n, f, p, codes);
    };
    table_.quantize = [](const float* in, index_t in_stride, index_t rows, index_t n, format_desc f,
                         int block, const mxref::simd::convert_policy& p, std::uint8_t* codes,
                         index_t code_stride, std::uint8_t* scales, index_t scale_stride) {
      ++current_->uses_;
      current_->original_->quantize(in, in_stride, rows, n, f, block, p, codes, code_stride, scales,
                                    scale_stride);
    };
    table_.quantize_columns = [](const float* in, index_t in_stride, index_t depth, index_t cols,
                                 format_desc f, int block, const mxref::simd::convert_policy& p,
                                 std::uint8_t* codes, index_t code_stride, std::uint8_t* scales,
                                 index_t scale_stride) {
      ++current_->uses_;
      current_->original_->quantize_columns(in, in_stride, depth, cols, f, block, p, codes,
                                            code_stride, scales, scale_stride);
    };
    table_.fake_quantize = [](const float* in, index_t in_stride, index_t rows, index_t n,
                              format_desc f, int block, const mxref::simd::convert_policy& p,
                              float* out, index_t out_stride) {
      ++current_->uses_;
      current_->original_->fake_quantize(in, in_stride, rows, n, f, block, p, out, out_stride);
    };
    table_.fake_quantize_columns =
        [](const float* in, index_t in_stride, index_t depth, index_t cols, format_desc f,
           int block, const mxref::simd::convert_policy& p, float* out, index_t out_stride) {
          ++current_->uses_;
          current_->original_->fake_quantize_columns(in, in_stride, depth, cols, f, block, p, out,
                                                     out_stride);
        };
    table_.decode = [](const void* codes, index_t n, format_desc f, float* out) {
      if (!current_->tiles_only_) ++current_->uses_;
      current_->original_->decode(codes, n, f, out);
    };
    table_.decode_blocks = [](const std::uint8_t* codes, index_t n, format_desc f,
                              const float* factors, int block, float* out) {
      if (!current_->tiles_only_) ++current_->uses_;
      current_->original_->decode_blocks(codes, n, f, factors, block, out);
    };
    if (table_.chain == nullptr) return;
    table_.chain = [](const mxref::simd::chain_operands& o, float* c, index_t stride) {
      ++current_->uses_;
      current_->original_->chain(o, c, stride);
    };
    table_.block = [](mxref::simd::block_mode mode, const mxref::simd::block_operands& o,
                      const mxref::simd::block_state& s) {
      ++current_->uses_;
      current_->original_->block(mode, o, s);
    };
    table_.window = [](const mxref::simd::window_operands& o, float* c) {
      ++current_->uses_;
      current_->original_->window(o, c);
    };
  }

  void TearDown() override {
    EXPECT_GT(uses_, 0) << "no kernel of " << original_->target << " was used";
    current_ = nullptr;
  }

  const mxref::simd::kernel_table& table() const { return table_; }

  /// Counts tile kernels alone, for tests of products.
  void count_tiles_only() { tiles_only_ = true; }
  long uses() const { return uses_; }

 private:
  static inline on_target* current_ = nullptr;
  const mxref::simd::kernel_table* original_ = nullptr;
  mxref::simd::kernel_table table_{};
  bool tiles_only_ = false;
  std::atomic<long> uses_{0};
};

inline std::string target_name(const testing::TestParamInfo<int>& info) {
  return under_test(info.param).target;
}

/// Targets with tile kernels come first; Highway's scalar one has none, its products are the core.
inline int tile_target_count() {
  int n = 0;
  while (n < target_count() && under_test(n).chain != nullptr) ++n;
  return n;
}

#define MXREF_ON_EVERY_TILE_TARGET(suite)                                                \
  INSTANTIATE_TEST_SUITE_P(, suite, testing::Range(0, target_test::tile_target_count()), \
                           target_test::target_name)

#define MXREF_ON_EVERY_TARGET(suite)                                                \
  INSTANTIATE_TEST_SUITE_P(, suite, testing::Range(0, target_test::target_count()), \
                           target_test::target_name)

using generator = std::mt19937;

inline int below(generator& r, int n) { return static_cast<int>(r() % static_cast<unsigned>(n)); }

/// A float of any kind, more often than not around the exponents of interest.
inline float any_float(generator& r, int exp_low, int exp_high) {
  auto bits = static_cast<std::uint32_t>(r());
  if (below(r, 4) != 0) {
    int field = 127 + exp_low + below(r, exp_high - exp_low + 1);
    field = std::min(std::max(field, 0), 254);
    bits = (bits & 0x807FFFFFU) | static_cast<std::uint32_t>(field) << 23;
  }
  if (below(r, 2) != 0) bits &= 0xFFFFFFFFU << below(r, 24);
  if (below(r, 60) == 0) bits = (bits & 0x80000000U) | 0x7F800000U | (below(r, 3) == 0 ? 1U : 0U);
  if (below(r, 50) == 0) bits &= 0x80000000U;
  return mxref::bit_cast<float>(bits);
}

struct named_format {
  const char* name;
  format_desc desc;
};

inline constexpr named_format all_formats[] = {
    {"E4M3", mxref::E4M3::desc},
    {"E5M2", mxref::E5M2::desc},
    {"E3M2", mxref::E3M2::desc},
    {"E2M3", mxref::E2M3::desc},
    {"E2M1", mxref::E2M1::desc},
    {"INT8", mxref::INT8::desc},
    {"bfloat16", mxref::bfloat16::desc},
    {"binary16", mxref::binary16::desc},
    {"TF32", mxref::TF32::desc},
    {"binary32", mxref::binary32::desc},
    {"E8M0", mxref::E8M0::desc},
    {"UE4M3", mxref::UE4M3::desc},
    {"E4M3FNUZ", {4, 3, 8, mxref::specials::nan_for_minus0}},
    {"low_bias", {4, 3, 140, mxref::specials::ieee}},
};

}  // namespace target_test
