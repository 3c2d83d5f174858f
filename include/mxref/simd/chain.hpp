// SPDX-License-Identifier: Apache-2.0
// Level 5. fp32_chain on a target's kernel: blocked like an sgemm, with k never split, so that the
// order of every output's additions stays the scalar one.
#ifndef MXREF_SIMD_CHAIN_HPP_
#define MXREF_SIMD_CHAIN_HPP_

#include <cstdint>
#include <cstring>
#include <memory>
#include <new>

#include "mxref/binary32.hpp"
#include "mxref/buffer.hpp"
#include "mxref/config.hpp"
#include "mxref/gemm.hpp"
#include "mxref/simd/control_register.hpp"
#include "mxref/simd/executor.hpp"
#include "mxref/simd/kernels.hpp"
#include "mxref/simd/pack.hpp"

MXREF_BEGIN_NAMESPACE

namespace simd::detail {

/// Packs rows first .. first + count - 1 of an operand, k = from .. to - 1, as panel[k * n + i].
inline void pack_values(row_decoder& decoder, index_t first, index_t count, int n, index_t depth,
                        float* scratch, float* panel) noexcept {
  for (index_t i = 0; i < n; ++i) {
    if (i < count) {
      decoder.values(first + i, scratch);
      for (index_t k = 0; k < depth; ++k) panel[k * n + i] = scratch[k];
    } else {
      for (index_t k = 0; k < depth; ++k) panel[k * n + i] = 0;
    }
  }
}

struct chain_worker {
  chain_worker(const kernel_table& kernels, const operand_view& a, const operand_view& b)
      : decoder_a(kernels, a), decoder_b(kernels, b) {}
  row_decoder decoder_a;
  row_decoder decoder_b;
  buffer<float> scratch;
  buffer<float> panel;
  buffer<float> sums;
};

template <executor E>
status chain_product(const kernel_table& kernels, const operand_view& a, const operand_view& b,
                     const output_view& d, const gemm_options& options, const E& e) noexcept {
  constexpr index_t depth_block = 256;
  const index_t rows = kernels.chain_rows;
  const index_t cols = kernels.chain_cols;
  const index_t depth = a.depth;
  const index_t row_panels = (a.rows + rows - 1) / rows;
  const index_t col_panels = (b.rows + cols - 1) / cols;
  const index_t fit = (index_t{1} << 24) / (4 * cols * depth + 1);
  const index_t group = fit < 1 ? 1 : fit < col_panels ? fit : col_panels;
  buffer<float> packed;
  const auto worker_count = static_cast<index_t>(e.size());
  const std::unique_ptr<std::unique_ptr<chain_worker>[]> workers(
      new (std::nothrow) std::unique_ptr<chain_worker>[static_cast<std::size_t>(worker_count)]);
  if (workers == nullptr || !packed.allocate(group * cols * depth)) return {errc::out_of_memory};
  for (index_t i = 0; i < worker_count; ++i) {
    auto& w = workers[static_cast<std::size_t>(i)];
    w.reset(new (std::nothrow) chain_worker(kernels, a, b));
    if (w == nullptr || !w->decoder_a.allocate() || !w->decoder_b.allocate() ||
        !w->scratch.allocate(depth) || !w->panel.allocate(rows * depth) ||
        !w->sums.allocate(rows * cols * group)) {
      return {errc::out_of_memory};
    }
  }
  const bool has_c = options.c.rows != 0;
  for (index_t first = 0; first < col_panels; first += group) {
    const index_t count = col_panels - first < group ? col_panels - first : group;
    const index_t width = count * cols;
    const index_t col0 = first * cols;
    e.run(count, [&](index_t j, index_t worker) {
      const control_register_guard guard;
      chain_worker& w = *workers[static_cast<std::size_t>(worker)];
      const index_t col = col0 + j * cols;
      pack_values(w.decoder_b, col, b.rows - col < cols ? b.rows - col : cols, kernels.chain_cols,
                  depth, w.scratch.data(), packed.data() + j * cols * depth);
    });
    e.run(row_panels, [&](index_t i, index_t worker) {
      const control_register_guard guard;
      chain_worker& w = *workers[static_cast<std::size_t>(worker)];
      const index_t row = i * rows;
      const index_t row_count = a.rows - row < rows ? a.rows - row : rows;
      const index_t col_count = b.rows - col0 < width ? b.rows - col0 : width;
      pack_values(w.decoder_a, row, row_count, kernels.chain_rows, depth, w.scratch.data(),
                  w.panel.data());
      float* sums = w.sums.data();
      for (index_t x = 0; x < rows * width; ++x) sums[x] = 0;
      if (has_c && !options.epilogue) {
        for (index_t r = 0; r < row_count; ++r) {
          for (index_t c = 0; c < col_count; ++c) {
            sums[r * width + c] = from_number<float>(operand_number(options.c, row + r, col0 + c));
          }
        }
      }
      for (index_t k = 0; k < depth; k += depth_block) {
        const index_t left = depth - k < depth_block ? depth - k : depth_block;
        for (index_t j = 0; j < count; ++j) {
          kernels.chain(w.panel.data() + k * rows, packed.data() + j * cols * depth + k * cols,
                        left, sums + j * cols, width);
        }
      }
      for (index_t r = 0; r < row_count; ++r) {
        for (index_t c = 0; c < col_count; ++c) {
          std::uint32_t code = to_binary32(to_number(sums[r * width + c]));
          if (options.epilogue) {
            number here{};
            if (has_c) here = operand_number(options.c, row + r, col0 + c);
            code = mxref::detail::apply_epilogue(options, code, has_c ? &here : nullptr, d.format);
          }
          d.store(row + r, col0 + c, code);
        }
      }
    });
  }
  return {};
}

}  // namespace simd::detail

MXREF_END_NAMESPACE

#endif  // MXREF_SIMD_CHAIN_HPP_
