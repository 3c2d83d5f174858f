// SPDX-License-Identifier: Apache-2.0
// Level 5. fp32_chain on a target's kernel: blocked like an sgemm. Partial sums are stored and
// loaded as binary32 between blocks of k, so the order of every output's additions stays the scalar
// one.
#ifndef MXREF_SIMD_CHAIN_HPP_
#define MXREF_SIMD_CHAIN_HPP_

#include <cstdint>
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

constexpr index_t ceil_div(index_t a, index_t b) noexcept { return (a + b - 1) / b; }
constexpr index_t smaller(index_t a, index_t b) noexcept { return a < b ? a : b; }
constexpr index_t larger(index_t a, index_t b) noexcept { return a < b ? b : a; }

/// Sizes of a blocked product. B is packed for `group` panels of columns and the whole depth. A
/// task takes some rows and panels; for each depth_block of k it decodes its rows of A once, and
/// then takes as many panels at a time as stay in the cache.
struct chain_plan {
  static constexpr index_t depth_block = 1024;
  static constexpr index_t packed_floats = index_t{1} << 23;
  static constexpr index_t cached_floats = index_t{1} << 17;
  static constexpr index_t padding = 16;  ///< floats behind a row, so that rows do not share sets
  static constexpr index_t most_rows = 128;  ///< of a task, about: its part of A stays in the cache

  index_t rows;    ///< of a tile
  index_t cols;    ///< of a panel
  index_t panels;  ///< of B
  index_t group;   ///< panels packed at a time
  index_t cached;  ///< panels taken at a time
  index_t row_tiles;
  index_t down;       ///< tasks below each other
  index_t task_rows;  ///< of the largest
  index_t task_panels;

  chain_plan(const kernel_table& k, index_t m, index_t n, index_t depth, index_t workers) noexcept
      : rows(k.chain_rows), cols(k.chain_vectors * k.lanes), panels(ceil_div(n, cols)) {
    group = even_part(panels, packed_floats / (cols * depth + 1));
    cached = even_part(group, cached_floats / (cols * smaller(depth, depth_block) + 1));
    row_tiles = ceil_div(m, rows);
    const index_t tasks = workers == 1 ? 1 : 4 * workers;
    down = smaller(row_tiles, larger(ceil_div(m, most_rows), tasks));
    task_rows = ceil_div(row_tiles, down) * rows;
    task_panels = ceil_div(group, smaller(group, ceil_div(tasks, down)));
  }

  /// The first row of task i of `down`; tasks differ by one tile at most.
  index_t first_row(index_t i) const noexcept { return i * row_tiles / down * rows; }

 private:
  /// The size of the parts, at most `most`, into which `all` divides evenly.
  static index_t even_part(index_t all, index_t most) noexcept {
    return ceil_div(all, ceil_div(all, larger(1, most)));
  }
};

struct chain_worker {
  chain_worker(const kernel_table& kernels, const operand_view& a, const operand_view& b,
               const operand_view& c)
      : decoder_a(kernels, a), decoder_b(kernels, b), decoder_c(kernels, c) {}

  void lay_out(memory_pool& pool, const chain_plan& plan, index_t depth, bool direct) noexcept {
    const index_t k = smaller(depth, chain_plan::depth_block);
    scratch = pool.take<float>((k + chain_plan::padding) * plan.cols);
    part_a = pool.take<float>((k + chain_plan::padding) * (plan.task_rows + chain_plan::padding));
    tile = pool.take<float>(plan.rows * plan.cols);
    if (!direct) sums = pool.take<float>(plan.task_rows * plan.task_panels * plan.cols);
  }
  bool allocate(const chain_plan& plan, index_t depth) noexcept {
    const index_t longest =
        larger(smaller(depth, chain_plan::depth_block), larger(plan.task_rows, plan.cols));
    return decoder_a.allocate(longest) && decoder_b.allocate(longest) &&
           decoder_c.allocate(plan.task_panels * plan.cols);
  }

  run_decoder decoder_a;
  run_decoder decoder_b;
  run_decoder decoder_c;
  float* scratch = nullptr;
  float* part_a = nullptr;
  float* tile = nullptr;  ///< for tiles that stick out of the product
  float* sums = nullptr;  ///< where D cannot hold them
};

template <executor E>
class chain_product {
 public:
  chain_product(const kernel_table& kernels, const operand_view& a, const operand_view& b,
                const output_view& d, const gemm_options& options, const E& e) noexcept
      : kernels_(kernels),
        a_(a),
        b_(b),
        d_(d),
        options_(options),
        e_(e),
        plan_(kernels, a.rows, b.rows, a.depth, static_cast<index_t>(e.size())),
        direct_(!options.epilogue && d.col_bytes == sizeof(float) &&
                d.row_bytes % static_cast<index_t>(sizeof(float)) == 0 &&
                reinterpret_cast<std::uintptr_t>(d.data) % sizeof(float) == 0) {}

  status run() noexcept {
    const auto count = static_cast<std::size_t>(e_.size());
    workers_.reset(new (std::nothrow) std::unique_ptr<chain_worker>[count]);
    if (workers_ == nullptr) return {errc::out_of_memory};
    for (std::size_t i = 0; i < count; ++i) {
      workers_[i].reset(new (std::nothrow) chain_worker(kernels_, a_, b_, options_.c));
      if (workers_[i] == nullptr || !workers_[i]->allocate(plan_, a_.depth)) {
        return {errc::out_of_memory};
      }
    }
    lay_out(count);
    if (!pool_.allocate()) return {errc::out_of_memory};
    lay_out(count);
    for (index_t first = 0; first < plan_.panels; first += plan_.group) {
      const index_t panels = smaller(plan_.panels - first, plan_.group);
      e_.run(panels, [&](index_t i, index_t worker) {
        const control_register_guard guard;
        pack(*workers_[static_cast<std::size_t>(worker)], first + i, panel(i));
      });
      const index_t across = ceil_div(panels, plan_.task_panels);
      e_.run(across * plan_.down, [&](index_t i, index_t worker) {
        const control_register_guard guard;
        const index_t left = i % across * plan_.task_panels;
        const index_t row = plan_.first_row(i / across);
        const index_t rows = smaller(a_.rows, plan_.first_row(i / across + 1)) - row;
        task(*workers_[static_cast<std::size_t>(worker)], row, rows, first, left,
             smaller(panels - left, plan_.task_panels));
      });
    }
    return {};
  }

 private:
  void lay_out(std::size_t workers) noexcept {
    packed_ = pool_.take<float>(plan_.group * plan_.cols * a_.depth);
    for (std::size_t i = 0; i < workers; ++i) {
      workers_[i]->lay_out(pool_, plan_, a_.depth, direct_);
    }
  }

  /// Width of a panel in vectors; the last one may be narrower.
  int vectors(index_t p) const noexcept {
    return static_cast<int>(
        ceil_div(smaller(b_.rows - p * plan_.cols, plan_.cols), kernels_.lanes));
  }
  float* panel(index_t in_group) noexcept { return packed_ + in_group * plan_.cols * a_.depth; }

  /// Panel p of B, k by k; missing columns are zero.
  void pack(chain_worker& w, index_t p, float* out) noexcept {
    const index_t width = vectors(p) * kernels_.lanes;
    const index_t col = p * plan_.cols;
    const index_t count = smaller(b_.rows - col, width);
    if (w.decoder_b.by_columns()) {
      for (index_t k = 0; k < b_.depth; ++k) {
        w.decoder_b.column_values(col, k, count, out + k * width);
        for (index_t j = count; j < width; ++j) out[k * width + j] = 0;
      }
      return;
    }
    for (index_t k = 0; k < b_.depth; k += chain_plan::depth_block) {
      const index_t depth = smaller(b_.depth - k, chain_plan::depth_block);
      const index_t stride = depth + chain_plan::padding;
      float* rows = w.scratch;
      for (index_t j = 0; j < width; ++j) {
        if (j < count) {
          w.decoder_b.values(col + j, k, depth, rows + j * stride);
        } else {
          for (index_t i = 0; i < depth; ++i) rows[j * stride + i] = 0;
        }
      }
      transpose(kernels_, rows, stride, width, depth, out + k * width, width);
    }
  }

  /// Rows of A, k from .. from + depth - 1: one after the other, or k by k where A is transposed.
  /// The last tile is filled with zeros.
  void decode_part(chain_worker& w, index_t row, index_t count, index_t from, index_t depth,
                   index_t stride) noexcept {
    float* part = w.part_a;
    const index_t whole = ceil_div(count, plan_.rows) * plan_.rows;
    if (w.decoder_a.by_columns()) {
      for (index_t k = 0; k < depth; ++k, part += stride) {
        w.decoder_a.column_values(row, from + k, count, part);
        for (index_t i = count; i < whole; ++i) part[i] = 0;
      }
      return;
    }
    for (index_t i = 0; i < count; ++i) w.decoder_a.values(row + i, from, depth, part + i * stride);
    for (index_t i = count * stride; i < whole * stride; ++i) part[i] = 0;
  }

  /// Some rows of D by `panels` of the packed panels from `left` on; the group begins at `first`.
  void task(chain_worker& w, index_t row, index_t rows, index_t first, index_t left,
            index_t panels) noexcept {
    const index_t col = (first + left) * plan_.cols;
    const index_t cols = smaller(b_.rows - col, panels * plan_.cols);
    float* sums = w.sums;
    index_t stride = panels * plan_.cols;
    if (direct_) {
      stride = d_.row_bytes / static_cast<index_t>(sizeof(float));
      sums = static_cast<float*>(d_.data) + row * stride + col;
    }
    const bool starts_at_c = options_.c.rows != 0 && !options_.epilogue;
    if (starts_at_c) {
      for (index_t i = 0; i < rows; ++i) {
        w.decoder_c.elements(row + i, col, cols, sums + i * stride);
      }
    }
    chain_operands o;
    for (index_t k = 0; k < a_.depth; k += chain_plan::depth_block) {
      o.depth = smaller(a_.depth - k, chain_plan::depth_block);
      o.a_is_by_columns = w.decoder_a.by_columns();
      o.a_stride = (o.a_is_by_columns ? plan_.task_rows : o.depth) + chain_plan::padding;
      o.first = k == 0 && !starts_at_c;
      o.last = k + o.depth == a_.depth;
      decode_part(w, row, rows, k, o.depth, o.a_stride);
      for (index_t begin = 0; begin < panels; begin += plan_.cached) {
        const index_t end = smaller(panels, begin + plan_.cached);
        for (index_t i = 0; i < rows; i += plan_.rows) {
          o.a = w.part_a + i * (o.a_is_by_columns ? 1 : o.a_stride);
          for (index_t j = begin; j < end; ++j) {
            o.vectors = vectors(first + left + j);
            o.b = panel(left + j) + k * o.vectors * kernels_.lanes;
            tile(w, o, smaller(rows - i, plan_.rows), smaller(cols - j * plan_.cols, plan_.cols),
                 sums + i * stride + j * plan_.cols, stride);
          }
        }
      }
    }
    if (!direct_) store(sums, stride, row, rows, col, cols);
  }

  void tile(chain_worker& w, const chain_operands& o, index_t rows, index_t cols, float* c,
            index_t stride) const noexcept {
    const index_t width = o.vectors * kernels_.lanes;
    if (rows == plan_.rows && cols == width) return kernels_.chain(o, c, stride);
    float* whole = w.tile;
    for (index_t i = 0; i < plan_.rows && !o.first; ++i) {
      for (index_t j = 0; j < width; ++j) {
        whole[i * width + j] = i < rows && j < cols ? c[i * stride + j] : 0;
      }
    }
    kernels_.chain(o, whole, width);
    for (index_t i = 0; i < rows; ++i) {
      for (index_t j = 0; j < cols; ++j) c[i * stride + j] = whole[i * width + j];
    }
  }

  void store(const float* sums, index_t stride, index_t row, index_t rows, index_t col,
             index_t cols) const noexcept {
    for (index_t i = 0; i < rows; ++i) {
      for (index_t j = 0; j < cols; ++j) {
        auto code = bit_cast<std::uint32_t>(sums[i * stride + j]);
        if (options_.epilogue) {
          const bool has_c = options_.c.rows != 0;
          number c{};
          if (has_c) c = operand_number(options_.c, row + i, col + j);
          code = mxref::detail::apply_epilogue(options_, code, has_c ? &c : nullptr, d_.format);
        }
        d_.store(row + i, col + j, code);
      }
    }
  }

  const kernel_table& kernels_;
  operand_view a_;
  operand_view b_;
  output_view d_;
  gemm_options options_;
  const E& e_;
  chain_plan plan_;
  bool direct_;
  memory_pool pool_;
  float* packed_ = nullptr;
  std::unique_ptr<std::unique_ptr<chain_worker>[]> workers_;
};

}  // namespace simd::detail

MXREF_END_NAMESPACE

#endif  // MXREF_SIMD_CHAIN_HPP_
