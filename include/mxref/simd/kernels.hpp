// SPDX-License-Identifier: Apache-2.0
// Level 5. What a vector target offers: plain functions on rows and tiles. No Highway here.
#ifndef MXREF_SIMD_KERNELS_HPP_
#define MXREF_SIMD_KERNELS_HPP_

#include <cstdint>

#include "mxref/config.hpp"
#include "mxref/format.hpp"
#include "mxref/overflow.hpp"
#include "mxref/rounding.hpp"
#include "mxref/scale.hpp"
#include "mxref/scale_log2.hpp"
#include "mxref/terms.hpp"
#include "mxref/view.hpp"

MXREF_BEGIN_NAMESPACE

namespace simd {

/// Asks for the memory that is read soon; nothing where the compiler has no such request.
#if defined(__GNUC__)
__attribute__((always_inline))  // g++ takes a function that only prefetches for one without effect
#endif
inline void
prefetch(const void* p, index_t bytes) noexcept {
#if defined(__GNUC__)
  for (index_t i = 0; i < bytes; i += 64) __builtin_prefetch(static_cast<const char*>(p) + i);
#else
  static_cast<void>(p);
  static_cast<void>(bytes);
#endif
}

/// Every choice of a quantization or an encoding, by name.
struct convert_policy {
  rounding_mode rounding = rounding_mode::nearest_even;
  overflow_mode overflow = overflow_mode::saturate;
  negative_mode negative = negative_mode::to_nan;
  nan_mode on_nan = nan_mode::poison;
  scale_rule scale = scale_rule::floor;
  // For stochastic rounding: see rounding::philox, and the positions of numbers in their source.
  std::uint64_t seed = 0;
  int random_bits = 32;
  std::uint64_t first = 0;     ///< of the first number that a kernel is given
  std::uint64_t row_step = 0;  ///< from a row to the next
  std::uint64_t step = 1;      ///< from a number of a row to the next
};

/// A tile of chain_rows outputs by `vectors` vectors of columns, for `depth` consecutive k.
struct chain_operands {
  const float* a = nullptr;  ///< a[i * a_stride + k], or by columns a[k * a_stride + i]
  index_t a_stride = 0;
  bool a_is_by_columns = false;
  const float* b = nullptr;  ///< b[k * vectors * lanes + j]
  int vectors = 0;           ///< 1 .. chain_vectors
  index_t depth = 0;
  bool first = false;  ///< starts at +0, else at c
  bool last = false;   ///< NaN becomes the quiet NaN
};

/// What the block kernel does with each exact block dot product.
enum class block_mode {
  rounded,   ///< value += binary32(dot): block_exact_fp32
  fused,     ///< value = binary32(value + dot): block_fused_fp32
  exact_sum  ///< high, low += dot split on a grid: exact
};

/// A tile of block_rows x block_cols outputs over the whole depth, packed k by k.
struct block_operands {
  const double* a;        ///< a[k * rows + i], elements without their scales
  const double* b;        ///< b[k * cols + j]
  const double* scale_a;  ///< scale_a[block * rows + i]
  const double* scale_b;
  index_t depth;
  int block;
  double grid;  ///< exact_sum: 1.5 * 2^(52 + g) rounds to multiples of 2^g
};

/// Row-major tiles, block_cols apart.
struct block_state {
  float* value;
  double* high;
  double* low;
};

/// A tile of window_rows x window_cols outputs of a fused truncated sum, packed k by k.
struct window_operands {
  const float* a;
  const float* b;
  const std::int32_t* exp_a;  ///< exponents of a, not normalised; a zero has term::zero_exp
  const std::int32_t* exp_b;
  const std::int32_t* scale_a;  ///< scale exponents, scale_a[step * rows + i]
  const std::int32_t* scale_b;
  index_t depth;
  int length;  ///< products per step, at most 32
  int fraction_bits;
  int exponent_floor;
};

/// One target's kernels. All need the control register of control_register_guard, and give the bits
/// of the scalar core.
struct kernel_table {
  const char* target;

  /// Rounds count numbers to codes in containers of the format (at most 19 bits).
  void (*encode)(const float* in, index_t count, format_desc f, const convert_policy& p,
                 void* codes);

  /// Quantizes blocks along rows of `count` numbers: codes one per byte, one scale per block.
  void (*quantize)(const float* in, index_t in_stride, index_t rows, index_t count, format_desc f,
                   int block, const convert_policy& p, std::uint8_t* codes, index_t code_stride,
                   std::uint8_t* scales, index_t scale_stride);

  /// Quantizes blocks that run down the columns of a strip, depth x cols numbers: codes[k *
  /// code_stride + c] in the order of the source, scales[c * scale_stride + b].
  void (*quantize_columns)(const float* in, index_t in_stride, index_t depth, index_t cols,
                           format_desc f, int block, const convert_policy& p, std::uint8_t* codes,
                           index_t code_stride, std::uint8_t* scales, index_t scale_stride);

  /// out[c * out_stride + r] = in[r * in_stride + c].
  void (*transpose_codes)(const std::uint8_t* in, index_t in_stride, index_t rows, index_t cols,
                          std::uint8_t* out, index_t out_stride);

  /// The numbers that the codes and scales of quantize and quantize_columns stand for; out may be
  /// in.
  void (*fake_quantize)(const float* in, index_t in_stride, index_t rows, index_t count,
                        format_desc f, int block, const convert_policy& p, float* out,
                        index_t out_stride);
  void (*fake_quantize_columns)(const float* in, index_t in_stride, index_t depth, index_t cols,
                                format_desc f, int block, const convert_policy& p, float* out,
                                index_t out_stride);

  /// Decodes containers of a format to binary32; NaN becomes the quiet NaN.
  void (*decode)(const void* codes, index_t count, format_desc f, float* out);

  /// decode and apply_scales of phase 0 in one.
  void (*decode_blocks)(const std::uint8_t* codes, index_t count, format_desc f,
                        const float* factors, int block, float* out);

  /// out[i] *= factors[(phase + i) / block], rounded to binary32; NaN becomes the quiet NaN.
  void (*apply_scales)(float* out, index_t count, const float* factors, int block, int phase);

  /// Copies past the caches, for results larger than them; call flush when all is written.
  void (*stream)(const float* in, index_t count, float* out);
  void (*flush)();

  /// Binary32 numbers in a vector. The widths of tiles are multiples of it.
  int lanes;

  /// out[k * out_stride + i] = in[i * in_stride + k] for i below lanes and k below depth.
  void (*transpose)(const float* in, index_t in_stride, index_t depth, float* out,
                    index_t out_stride);

  /// binary32 fused multiply-adds in increasing k, onto c[i * c_stride + j].
  int chain_rows;
  int chain_vectors;
  void (*chain)(const chain_operands& o, float* c, index_t c_stride);

  int block_rows;
  int block_cols;
  void (*block)(block_mode mode, const block_operands& o, const block_state& s);
  /// Splits high[i] on the grid into high[i] and low[i].
  void (*split)(double grid, double* high, double* low, index_t count);
  /// high[i] + low[i], made odd where binary64 cannot hold it, into high[i].
  void (*join)(double* high, const double* low, index_t count);

  int window_rows;
  int window_cols;
  void (*window)(const window_operands& o, float* c);
};

}  // namespace simd

MXREF_END_NAMESPACE

#endif  // MXREF_SIMD_KERNELS_HPP_
