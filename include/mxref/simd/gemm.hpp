// SPDX-License-Identifier: Apache-2.0
// Level 5. GEMM on a target's kernels: the planner. The bits are those of mxref::gemm.
#ifndef MXREF_SIMD_GEMM_HPP_
#define MXREF_SIMD_GEMM_HPP_

#include <cstdint>
#include <memory>
#include <new>

#include "mxref/config.hpp"
#include "mxref/gemm.hpp"
#include "mxref/simd/chain.hpp"
#include "mxref/simd/control_register.hpp"
#include "mxref/simd/engines.hpp"
#include "mxref/simd/executor.hpp"
#include "mxref/simd/kernels.hpp"
#include "mxref/simd/pack.hpp"

MXREF_BEGIN_NAMESPACE

namespace simd {

namespace detail {

/// What one worker needs; allocated before the first output is written.
template <class Engine, class P>
struct worker {
  worker(const kernel_table& kernels, const operand_view& a, const operand_view& b, int step)
      : decoder_a(kernels, a), decoder_b(kernels, b), rows_a(a, step), rows_b(b, step) {}

  bool allocate(const Engine& engine, index_t depth) noexcept {
    return decoder_a.allocate(depth) && decoder_b.allocate(depth) && scratch.allocate(depth) &&
           engine.allocate(panel_a, engine.rows()) && rows_a.allocate(1) &&
           rows_b.allocate(engine.cols());
  }

  run_decoder decoder_a;
  run_decoder decoder_b;
  buffer<float> scratch;
  typename Engine::panel panel_a;
  // For tiles that do not fit the kernel.
  mxref::detail::decoded_rows<typename P::operand> rows_a;
  mxref::detail::decoded_rows<typename P::operand> rows_b;
};

/// A product tile by tile, each over the whole depth.
template <class Engine, class P>
class tiled_product {
 public:
  tiled_product(const kernel_table& kernels, const Engine& engine, const operand_view& a,
                const operand_view& b, const output_view& d, const P& p,
                const gemm_options& options, int step) noexcept
      : kernels_(kernels),
        engine_(engine),
        a_(a),
        b_(b),
        d_(d),
        p_(p),
        options_(options),
        step_(step) {}

  template <executor E>
  status run(const E& e) noexcept {
    const index_t rows = engine_.rows();
    const index_t cols = engine_.cols();
    const index_t row_panels = (a_.rows + rows - 1) / rows;
    const index_t col_panels = (b_.rows + cols - 1) / cols;
    // Packed panels of B that stay in the cache while all of A goes by.
    const index_t fit = (index_t{1} << 24) / (engine_.panel_bytes(engine_.cols()) + 1);
    const index_t group = fit < 1 ? 1 : fit < col_panels ? fit : col_panels;
    using worker_type = worker<Engine, P>;
    using panel_type = typename Engine::panel;
    const std::unique_ptr<panel_type[]> panels(new (std::nothrow)
                                                   panel_type[static_cast<std::size_t>(group)]);
    const auto worker_count = static_cast<index_t>(e.size());
    const std::unique_ptr<std::unique_ptr<worker_type>[]> workers(
        new (std::nothrow) std::unique_ptr<worker_type>[static_cast<std::size_t>(worker_count)]);
    if (panels == nullptr || workers == nullptr) return {errc::out_of_memory};
    for (index_t i = 0; i < group; ++i) {
      if (!engine_.allocate(panels[static_cast<std::size_t>(i)], engine_.cols())) {
        return {errc::out_of_memory};
      }
    }
    for (index_t i = 0; i < worker_count; ++i) {
      auto& w = workers[static_cast<std::size_t>(i)];
      w.reset(new (std::nothrow) worker_type(kernels_, a_, b_, step_));
      if (w == nullptr || !w->allocate(engine_, a_.depth)) return {errc::out_of_memory};
    }
    for (index_t first = 0; first < col_panels; first += group) {
      const index_t count = col_panels - first < group ? col_panels - first : group;
      e.run(count, [&](index_t i, index_t w) {
        const control_register_guard guard;
        worker_type& me = *workers[static_cast<std::size_t>(w)];
        const index_t col = (first + i) * cols;
        engine_.pack(me.decoder_b, col, b_.rows - col < cols ? b_.rows - col : cols, engine_.cols(),
                     me.scratch.data(), panels[static_cast<std::size_t>(i)]);
      });
      e.run(row_panels, [&](index_t i, index_t w) {
        const control_register_guard guard;
        worker_type& me = *workers[static_cast<std::size_t>(w)];
        const index_t row = i * rows;
        const index_t row_count = a_.rows - row < rows ? a_.rows - row : rows;
        engine_.pack(me.decoder_a, row, row_count, engine_.rows(), me.scratch.data(), me.panel_a);
        for (index_t j = 0; j < count; ++j) {
          const index_t col = (first + j) * cols;
          tile(me, panels[static_cast<std::size_t>(j)], row, row_count, col,
               b_.rows - col < cols ? b_.rows - col : cols);
        }
      });
    }
    return {};
  }

 private:
  void tile(worker<Engine, P>& w, const typename Engine::panel& panel_b, index_t row,
            index_t row_count, index_t col, index_t col_count) const noexcept {
    number c[max_tile];
    std::uint32_t codes[max_tile];
    const index_t width = engine_.cols();
    const bool has_c = options_.c.rows != 0;
    const bool starts_at_c = has_c && !options_.epilogue;
    const index_t size = engine_.rows() * width;
    for (index_t i = 0; i < size; ++i) c[i] = {};
    if (starts_at_c) {
      for (index_t i = 0; i < row_count; ++i) {
        for (index_t j = 0; j < col_count; ++j) {
          c[i * width + j] = operand_number(options_.c, row + i, col + j);
        }
      }
    }
    if (!engine_.fits(w.panel_a, panel_b, {c, size})) {
      return scalar_tile(w, row, row_count, col, col_count);
    }
    const format_desc made = options_.epilogue ? binary32_desc : d_.format;
    engine_.run(w.panel_a, panel_b, {c, size}, made, codes);
    for (index_t i = 0; i < row_count; ++i) {
      for (index_t j = 0; j < col_count; ++j) {
        std::uint32_t code = codes[i * width + j];
        if (options_.epilogue) {
          number here{};
          if (has_c) here = operand_number(options_.c, row + i, col + j);
          code = mxref::detail::apply_epilogue(options_, code, has_c ? &here : nullptr, d_.format);
        }
        d_.store(row + i, col + j, code);
      }
    }
  }

  void scalar_tile(worker<Engine, P>& w, index_t row, index_t row_count, index_t col,
                   index_t col_count) const noexcept {
    for (index_t j = 0; j < col_count; ++j) w.rows_b.decode(col + j, j);
    for (index_t i = 0; i < row_count; ++i) {
      w.rows_a.decode(row + i, 0);
      mxref::detail::compute_outputs(p_, w.rows_a, 0, w.rows_b, 0, row + i, col, col_count,
                                     options_, d_);
    }
  }

  const kernel_table& kernels_;
  const Engine& engine_;
  operand_view a_;
  operand_view b_;
  output_view d_;
  P p_;
  gemm_options options_;
  int step_;
};

template <class Engine, class P, executor E>
status run_tiled(const kernel_table& kernels, const Engine& engine, const operand_view& a,
                 const operand_view& b, const output_view& d, const P& p,
                 const gemm_options& options, int step, const E& e) noexcept {
  return tiled_product<Engine, P>(kernels, engine, a, b, d, p, options, step).run(e);
}

/// The scalar core, the rows of A spread over the workers. All memory comes before the first
/// output.
template <class P, executor E>
status run_scalar(const operand_view& a, const operand_view& b, const output_view& d, const P& p,
                  const gemm_options& options, int step, const E& e) noexcept {
  using rows_type = mxref::detail::decoded_rows<typename P::operand>;
  rows_type rows_b(b, step);
  const auto worker_count = static_cast<std::size_t>(e.size());
  const std::unique_ptr<std::unique_ptr<rows_type>[]> workers(
      new (std::nothrow) std::unique_ptr<rows_type>[worker_count]);
  if (workers == nullptr || !rows_b.allocate(b.rows)) return {errc::out_of_memory};
  for (std::size_t i = 0; i < worker_count; ++i) {
    workers[i].reset(new (std::nothrow) rows_type(a, step));
    if (workers[i] == nullptr || !workers[i]->allocate(1)) return {errc::out_of_memory};
  }
  e.run(b.rows, [&](index_t n, index_t) { rows_b.decode(n, n); });
  e.run(a.rows, [&](index_t m, index_t w) {
    rows_type& rows_a = *workers[static_cast<std::size_t>(w)];
    rows_a.decode(m, 0);
    mxref::detail::compute_outputs(p, rows_a, 0, rows_b, 0, m, 0, b.rows, options, d);
  });
  return {};
}

/// Whether every output is the policy's own or the epilogue's: what tiles can do.
inline bool is_plain(const gemm_options& o, const format_desc& out) noexcept {
  return !mxref::detail::has_order(o) && (o.epilogue || mxref::detail::made_format(o, out) == out);
}

/// Whether an operand's scales are few enough bits for products in binary64 to be exact.
inline bool has_narrow_scales(const operand_view& v) noexcept {
  return !v.scaled() || v.scale_format.total_bits() <= 8;
}

/// A product that check_gemm has accepted.
template <step_policy P, executor E>
status plan(const kernel_table& kernels, const operand_view& a, const operand_view& b,
            const output_view& d, const P& p, const E& e, const gemm_options& options) noexcept {
  const int step = p.step_length(mxref::detail::step_block(a, b, options));
  const bool exact_scales = has_narrow_scales(a) && has_narrow_scales(b);
  if (kernels.chain != nullptr && a.depth > 0 && a.rows > 0 && b.rows > 0 &&
      is_plain(options, d.format) && (exact_scales || std::same_as<P, accumulate::fp32_chain>)) {
    if constexpr (std::same_as<P, accumulate::fp32_chain>) {
      return chain_product<E>(kernels, a, b, d, options, e).run();
    } else if constexpr (std::same_as<P, accumulate::block_exact_fp32>) {
      const block_engine<block_mode::rounded> engine(kernels, a, b, step);
      return run_tiled(kernels, engine, a, b, d, p, options, step, e);
    } else if constexpr (std::same_as<P, accumulate::block_fused_fp32>) {
      const block_engine<block_mode::fused> engine(kernels, a, b, step);
      return run_tiled(kernels, engine, a, b, d, p, options, step, e);
    } else if constexpr (std::same_as<P, accumulate::exact>) {
      const block_engine<block_mode::exact_sum> engine(kernels, a, b, step);
      return run_tiled(kernels, engine, a, b, d, p, options, step, e);
    } else if constexpr (std::same_as<P, accumulate::matrix_unit>) {
      if (is_plain_window(p.desc, mxref::detail::kind_of(a), mxref::detail::kind_of(b))) {
        const window_engine engine(kernels, a.depth, p.desc);
        return run_tiled(kernels, engine, a, b, d, p, options, step, e);
      }
    }
  }
  return run_scalar(a, b, d, p, options, step, e);
}

}  // namespace detail

/// mxref::gemm on the kernels of a target and the threads of an executor. Policies, formats and
/// orders without a kernel are computed by the scalar core on these threads.
template <accumulation_policy P, executor E>
status gemm_with(const kernel_table& kernels, const operand_view& a, const operand_view& b,
                 const output_view& d, P p, const E& e, const gemm_options& options = {}) noexcept {
  if (const status s = mxref::detail::check_gemm(a, b, d, p, options); !s) return s;
  const gemm_options folded = mxref::detail::fold_tensor_scale(options);
  return detail::plan(kernels, a, b, d, mxref::detail::policy_of_steps(a, b, d, p, folded), e,
                      folded);
}

}  // namespace simd

MXREF_END_NAMESPACE

#endif  // MXREF_SIMD_GEMM_HPP_
