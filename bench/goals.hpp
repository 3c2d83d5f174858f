// SPDX-License-Identifier: Apache-2.0
// The goals of the fast path, in one place. Floors and goals hold on AVX-512.
#pragma once

namespace bench {

/// How benchmarks of a goal become its figure. The worst of them counts.
enum class quantity {
  ratio,     ///< counter ratio: rate over the yardstick timed in turn
  rate,      ///< counter rate, in 10^9 per second
  flatness,  ///< smallest over largest rate of the sizes, for each name without its last part
  relative   ///< rate over that of the benchmark whose name has `reference` for what matched
};

struct goal {
  const char* kernel;
  const char* program;
  const char* benchmarks;  ///< regular expression that matches from the start of their names
  quantity measured;
  double floor;
  double target;
  const char* reference = "";
};

// Where the figures come from. S is oneDNN's binary32 product. Prototypes with intrinsics on one
// core of an AVX-512 processor reached S with the chain, 72 times the ml_dtypes headers (6.9 * 10^9
// numbers per second; they do 93 * 10^6 there) with quantization in cache, 0.70 of memcpy with
// quantization and 1.07 with dequantization from memory, and 7 % less at 4096 than at 512; targets
// are these or slightly more, floors what a release must not fall below. INT8 has no loop in
// ml_dtypes: half the rate of the other formats. Floors of rates are half the targets, as 35 is
// of 70. Columns, fake quantization and stochastic rounding are judged by what they do beyond
// quantizing rows. Two threads: 2 less the packing that waits.
inline constexpr goal goals[] = {
    {"fp32-chain, MX formats", "bench_peers", "fp32-chain/1/(e4m3|e2m1|int8)_[a-z0-9]*/[0-9]{3,4}/",
     quantity::ratio, 0.90, 0.97},
    {"fp32-chain, bfloat16", "bench_peers", "fp32-chain/1/bfloat16_bfloat16/[0-9]{3,4}/",
     quantity::ratio, 0.90, 0.97},
    {"fp32-chain, binary32", "bench_peers", "fp32-chain/1/binary32_binary32/[0-9]{3,4}/",
     quantity::ratio, 0.90, 0.97},
    {"fp32-chain, transposed", "bench_peers",
     "fp32-chain/1/(binary32_t_binary32|binary32_binary32_t|binary32_t_binary32_t)/[0-9]{3,4}/",
     quantity::ratio, 0.90, 0.97},
    {"fp32-chain, 512..4096 flat", "bench_peers", "fp32-chain/1/[a-z0-9_]*/[0-9]{3,4}/",
     quantity::flatness, 0.80, 0.90},
    {"two threads in registers (the machine)", "bench_gemm", "two_threads/registers",
     quantity::ratio, 1.8, 1.95},
    {"fp32-chain, two threads", "bench_gemm", "two_threads/fp32-chain/", quantity::ratio, 1.8,
     1.95},
    {"quantize, FP8 FP6 FP4, x scalar loop", "bench_convert",
     "cache/quantize_rows/[a-z]*_(even|away)/e[0-9]m[0-9]/", quantity::ratio, 35, 70},
    {"quantize, FP8 FP6 FP4, 10^9/s", "bench_convert",
     "cache/quantize_rows/[a-z]*_(even|away)/e[0-9]m[0-9]/", quantity::rate, 3.25, 6.5},
    {"quantize, INT8, 10^9/s", "bench_convert", "cache/quantize_rows/[a-z]*_(even|away)/int8/",
     quantity::rate, 1.65, 3.3},
    {"quantize columns, K-major, x rows", "bench_convert",
     "cache/quantize_columns/floor_(even|away)/", quantity::ratio, 0.5, 0.8},
    {"quantize columns, row-major, x rows", "bench_convert",
     "cache/quantize_columns_in_order/floor_(even|away)/", quantity::ratio, 0.5, 0.8},
    {"fake-quantize rows, x quantize", "bench_convert",
     "cache/fake_quantize_rows/[a-z]*_(even|away)/", quantity::ratio, 0.6, 0.8},
    {"fake-quantize columns, x quantize", "bench_convert",
     "cache/fake_quantize_columns/floor_(even|away)/", quantity::ratio, 0.6, 0.8},
    {"stochastic quantize, x nearest even", "bench_convert", "cache/quantize_rows/floor_philox/",
     quantity::relative, 0.25, 0.5, "cache/quantize_rows/floor_even/"},
    {"quantize from memory, x memcpy", "bench_convert", "memory/quantize_rows/", quantity::ratio,
     0.60, 0.75},
    {"dequantize from memory, x memcpy", "bench_convert", "memory/dequantize/", quantity::ratio,
     0.85, 1.05},
    {"quantize, two threads", "bench_convert", "two_threads/quantize_rows/", quantity::ratio, 1.8,
     1.95},
};

}  // namespace bench
