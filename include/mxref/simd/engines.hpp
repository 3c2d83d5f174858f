// SPDX-License-Identifier: Apache-2.0
// Level 5. The engines behind simd::gemm: for each kind of kernel, how rows are packed into panels,
// when a tile may take the kernel, and what a tile does.
#ifndef MXREF_SIMD_ENGINES_HPP_
#define MXREF_SIMD_ENGINES_HPP_

#include <cstdint>

#include "mxref/accumulate.hpp"
#include "mxref/bits.hpp"
#include "mxref/buffer.hpp"
#include "mxref/config.hpp"
#include "mxref/gemm.hpp"
#include "mxref/simd/kernels.hpp"
#include "mxref/simd/pack.hpp"
#include "mxref/unit_desc.hpp"

MXREF_BEGIN_NAMESPACE

namespace simd {

// An engine packs rows into panels, says whether a pair of panels may take the kernel, and runs it.
// Tiles that may not are computed by the scalar core, so an engine need only be exact where it
// fits. Integers here; every float operation is in a kernel.

/// Exponent range of the nonzero magnitudes of a panel: every one is a multiple of 2^low and below
/// 2^high. low > high: there is none.
struct exponent_range {
  int low = 1 << 20;
  int high = -(1 << 20);

  constexpr bool empty() const noexcept { return low > high; }
  constexpr void include(const number& x) noexcept {
    if (x.sig == 0) return;
    const int trailing = bit_width(x.sig & (~x.sig + 1)) - 1;
    low = min_of(low, x.exp + trailing);
    high = max_of(high, x.exp + bit_width(x.sig));
  }
  constexpr void include(const exponent_range& o) noexcept {
    low = min_of(low, o.low);
    high = max_of(high, o.high);
  }
};

/// ceil(log2 n), n >= 1.
constexpr int log2_ceil(index_t n) noexcept { return bit_width(static_cast<std::uint64_t>(n) - 1); }

/// A tile's C as numbers, row-major with the tile's full width; absent outputs are +0.
struct tile_c {
  const number* values;
  index_t count;
};

/// The most outputs that a tile may have.
inline constexpr int max_tile = 1024;

/// Exact block dot products in binary64: block_exact_fp32, block_fused_fp32, exact.
template <block_mode Mode>
class block_engine {
 public:
  struct panel {
    buffer<double> values;
    buffer<double> scales;
    buffer<exponent_range> blocks;  ///< of the elements, block by block
    exponent_range scaled;          ///< of the whole panel, scales included
    bool finite = true;
  };

  block_engine(const kernel_table& kernels, const operand_view& a, const operand_view& b,
               int block) noexcept
      : kernels_(kernels),
        depth_(a.depth),
        block_(block),
        look_at_values_(span(a.format) + span(b.format) + log2_ceil(block) > 53) {}

  int rows() const noexcept { return kernels_.block_rows; }
  int cols() const noexcept { return kernels_.block_cols; }
  index_t panel_bytes(int n) const noexcept { return 8 * n * (depth_ + 3 * blocks()); }

  bool allocate(panel& p, int n) const noexcept {
    return p.values.allocate(depth_ * n) && p.scales.allocate(blocks() * n) &&
           p.blocks.allocate(blocks());
  }

  void pack(run_decoder& decoder, index_t first, index_t count, int n, float* scratch,
            panel& p) const noexcept {
    const operand_view& v = decoder.view();
    const exponent_range all{v.format.quantum_exp(), v.format.emax() + 1};
    p.finite = true;
    p.scaled = {};
    for (index_t b = 0; b < blocks(); ++b) {
      p.blocks.data()[b] = look_at_values_ ? exponent_range{} : all;
    }
    for (index_t i = 0; i < n; ++i) {
      if (i >= count) {
        for (index_t k = 0; k < depth_; ++k) p.values.data()[k * n + i] = 0;
        for (index_t b = 0; b < blocks(); ++b) p.scales.data()[b * n + i] = 0;
        continue;
      }
      decoder.elements(first + i, 0, depth_, scratch);
      p.finite = p.finite && !any_special(scratch, depth_);
      for (index_t k = 0; k < depth_; ++k) {
        p.values.data()[k * n + i] = static_cast<double>(scratch[k]);
      }
      for (index_t b = 0; b < blocks(); ++b) {
        exponent_range range = all;
        if (look_at_values_) {
          range = {};
          const index_t end = (b + 1) * block_ < depth_ ? (b + 1) * block_ : depth_;
          for (index_t k = b * block_; k < end; ++k) range.include(to_number(scratch[k]));
          p.blocks.data()[b].include(range);
        }
        const number s = scale_number(v, first + i, b);
        p.finite = p.finite && !s.is_nan();
        p.scales.data()[b * n + i] = from_number<double>(s);
        exponent_range scale_range;
        scale_range.include(s);
        if (range.empty() || scale_range.empty()) continue;
        p.scaled.include(
            exponent_range{range.low + scale_range.low, range.high + scale_range.high});
      }
    }
  }

  bool fits(const panel& a, const panel& b, const tile_c& c) const noexcept {
    if (!a.finite || !b.finite) return false;
    for (index_t i = 0; i < c.count; ++i) {
      if (!c.values[i].is_finite()) return false;
    }
    if (look_at_values_) {
      for (index_t k = 0; k < blocks(); ++k) {
        const exponent_range& x = a.blocks.data()[k];
        const exponent_range& y = b.blocks.data()[k];
        if (x.empty() || y.empty()) continue;
        if (x.high + y.high - x.low - y.low + log2_ceil(block_) > 53) return false;
      }
    }
    return Mode != block_mode::exact_sum || exact_grid(a, b, c).fits;
  }

  /// Codes of a full tile in the format out.
  void run(const panel& a, const panel& b, const tile_c& c, format_desc out,
           std::uint32_t* codes) const noexcept {
    block_operands o{
        a.values.data(), b.values.data(), a.scales.data(), b.scales.data(), depth_, block_, 0};
    if constexpr (Mode == block_mode::exact_sum) {
      double high[max_tile];
      double low[max_tile];
      o.grid = from_number<double>({3, exact_grid(a, b, c).exp + 51, false, number_class::finite});
      for (index_t i = 0; i < c.count; ++i) high[i] = from_number<double>(c.values[i]);
      kernels_.split(o.grid, high, low, c.count);
      kernels_.block(Mode, o, {nullptr, high, low});
      kernels_.join(high, low, c.count);
      for (index_t i = 0; i < c.count; ++i) {
        number sum = to_number(high[i]);
        sum.negative = sum.negative && sum.sig != 0;  // an exact zero is +0
        codes[i] = mxref::detail::finish_nearest(sum, out);
      }
    } else {
      float value[max_tile];
      for (index_t i = 0; i < c.count; ++i) value[i] = from_number<float>(c.values[i]);
      kernels_.block(Mode, o, {value, nullptr, nullptr});
      for (index_t i = 0; i < c.count; ++i) codes[i] = to_binary32(to_number(value[i]));
    }
  }

 private:
  static constexpr int span(format_desc f) noexcept { return f.emax() + 1 - f.quantum_exp(); }
  index_t blocks() const noexcept { return (depth_ + block_ - 1) / block_; }

  struct grid {
    int exp;  ///< multiples of 2^exp go to the high part
    bool fits;
  };

  /// Everything is below 2^high and a multiple of 2^low: 51 bits go to the high part, the rest to
  /// the low part, where the sums of the remainders must be exact too.
  grid exact_grid(const panel& a, const panel& b, const tile_c& c) const noexcept {
    exponent_range sum;
    if (!a.scaled.empty() && !b.scaled.empty()) {
      sum = {a.scaled.low + b.scaled.low, a.scaled.high + b.scaled.high + log2_ceil(depth_)};
    }
    for (index_t i = 0; i < c.count; ++i) sum.include(c.values[i]);
    if (sum.empty()) return {0, true};
    const int exp = sum.high + 1 - 51;
    return {exp, exp - 1 + log2_ceil(blocks() + 1) - sum.low <= 52};
  }

  const kernel_table& kernels_;
  index_t depth_;
  int block_;
  bool look_at_values_;  ///< the formats alone do not prove the block sums exact
};

/// Fused truncated sums with one power-of-two scale a step.
class window_engine {
 public:
  struct panel {
    buffer<float> values;
    buffer<std::int32_t> exps;
    buffer<std::int32_t> scales;
    bool finite = true;
  };

  window_engine(const kernel_table& kernels, index_t depth, const unit_desc& desc) noexcept
      : kernels_(kernels), depth_(depth), desc_(desc) {}

  int rows() const noexcept { return kernels_.window_rows; }
  int cols() const noexcept { return kernels_.window_cols; }
  index_t panel_bytes(int n) const noexcept { return 4 * n * (2 * depth_ + steps()); }

  bool allocate(panel& p, int n) const noexcept {
    return p.values.allocate(depth_ * n) && p.exps.allocate(depth_ * n) &&
           p.scales.allocate(steps() * n);
  }

  void pack(run_decoder& decoder, index_t first, index_t count, int n, float* scratch,
            panel& p) const noexcept {
    const operand_view& v = decoder.view();
    const int emin = v.format.emin();
    p.finite = true;
    for (index_t i = 0; i < n; ++i) {
      if (i >= count) {
        for (index_t k = 0; k < depth_; ++k) {
          p.values.data()[k * n + i] = 0;
          p.exps.data()[k * n + i] = term::zero_exp;
        }
        for (index_t s = 0; s < steps(); ++s) p.scales.data()[s * n + i] = 0;
        continue;
      }
      decoder.elements(first + i, 0, depth_, scratch);
      p.finite = p.finite && !any_special(scratch, depth_);
      for (index_t k = 0; k < depth_; ++k) {
        const std::uint32_t magnitude = bit_cast<std::uint32_t>(scratch[k]) & 0x7FFFFFFF;
        p.values.data()[k * n + i] = scratch[k];
        p.exps.data()[k * n + i] =
            magnitude == 0 ? term::zero_exp : max_of(static_cast<int>(magnitude >> 23) - 127, emin);
      }
      for (index_t s = 0; s < steps(); ++s) {
        const number scale = scale_number(v, first + i, s);
        p.finite = p.finite && !scale.is_nan();
        p.scales.data()[s * n + i] = scale.exp;
      }
    }
  }

  bool fits(const panel& a, const panel& b, const tile_c& c) const noexcept {
    for (index_t i = 0; i < c.count; ++i) {
      if (c.values[i].is_nan()) return false;
    }
    return a.finite && b.finite;
  }

  void run(const panel& a, const panel& b, const tile_c& c, format_desc,
           std::uint32_t* codes) const noexcept {
    const window_operands o{a.values.data(),     b.values.data(),     a.exps.data(), b.exps.data(),
                            a.scales.data(),     b.scales.data(),     depth_,        desc_.length,
                            desc_.fraction_bits, desc_.exponent_floor};
    float value[max_tile];
    for (index_t i = 0; i < c.count; ++i) value[i] = from_number<float>(c.values[i]);
    kernels_.window(o, value);
    for (index_t i = 0; i < c.count; ++i) codes[i] = bit_cast<std::uint32_t>(value[i]);
  }

 private:
  index_t steps() const noexcept { return (depth_ + desc_.length - 1) / desc_.length; }

  const kernel_table& kernels_;
  index_t depth_;
  unit_desc desc_;
};

}  // namespace simd

MXREF_END_NAMESPACE

#endif  // MXREF_SIMD_ENGINES_HPP_
