// SPDX-License-Identifier: Apache-2.0
// The kernels and threads that a trainer works with. Neither changes a bit: parts are cut by sizes
// alone, and partial sums are added in the order of the parts.
#pragma once

#include <cstdint>
#include <vector>

#include "mxref/mxref.hpp"
#include "mxref/simd/control_register.hpp"
#include "mxref/simd/dispatch.hpp"
#include "mxref/simd/thread_pool.hpp"
#include "vector_kernels.hpp"

namespace instability {

class engine {
 public:
  /// threads < 1: as many as the machine has.
  explicit engine(int threads = 0)
      : engine(mxref::simd::best_kernels(), **available_vector_kernels(), threads) {}
  engine(const mxref::simd::kernel_table& kernels, const vector_kernels& vectors, int threads)
      : kernels_(&kernels), vectors_(&vectors), threads_(threads) {}

  const mxref::simd::kernel_table& kernels() const noexcept { return *kernels_; }
  const vector_kernels& vectors() const noexcept { return *vectors_; }
  const mxref::simd::threads& threads() const noexcept { return threads_; }

  /// f(first, count) for pieces of `at_once` of `all`.
  template <class F>
  void for_pieces(index_t all, index_t at_once, const F& f) const {
    threads_.run((all + at_once - 1) / at_once, [&](index_t i, index_t) {
      const mxref::simd::control_register_guard guard;
      const index_t first = i * at_once;
      f(first, all - first < at_once ? all - first : at_once);
    });
  }

  /// f(first, count) for runs of about 2^15 numbers of an array; counts are multiples of 16.
  template <class F>
  void for_numbers(index_t count, const F& f) const {
    for_pieces(count, piece, f);
  }

  /// f(first row, rows) for runs of rows of about as many numbers, multiples of `unit` rows.
  template <class F>
  void for_rows(index_t rows, index_t width, index_t unit, const F& f) const {
    for_pieces(rows, rows_at_once(width, unit), f);
  }

  /// The rows of for_rows.
  static index_t rows_at_once(index_t width, index_t unit) noexcept {
    const index_t units = piece / (width * unit);
    return unit * (units < 1 ? 1 : units);
  }

  /// Adds what f(first, count) gives for the pieces of an array, in their order.
  template <class Sum, class F>
  Sum sum_of_numbers(index_t count, const F& f) const {
    std::vector<Sum> parts(static_cast<std::size_t>((count + piece - 1) / piece));
    for_numbers(count, [&](index_t first, index_t n) {
      parts[static_cast<std::size_t>(first / piece)] = f(first, n);
    });
    Sum sum{};
    for (const Sum& part : parts) add(sum, part);
    return sum;
  }

 private:
  static constexpr index_t piece = index_t{1} << 15;

  static void add(double& sum, double part) noexcept { sum += part; }
  template <class Sum>
  static void add(Sum& sum, const Sum& part) noexcept {
    sum.add(part);
  }

  const mxref::simd::kernel_table* kernels_;
  const vector_kernels* vectors_;
  mxref::simd::threads threads_;
};

/// A binary32 matrix as an operand: rows x depth, or stored as its transpose.
struct factor {
  const float* data;
  index_t rows;
  index_t depth;
  bool transposed = false;

  mxref::operand_view view() const noexcept {
    constexpr auto bytes = static_cast<index_t>(sizeof(float));
    mxref::operand_view v;
    v.format = mxref::binary32_desc;
    v.codes = data;
    v.rows = rows;
    v.depth = depth;
    v.row_bytes = transposed ? bytes : depth * bytes;
    v.col_bytes = transposed ? rows * bytes : bytes;
    return v;
  }
};

/// out (a.rows x b.rows) = a b^T. False: no memory.
[[nodiscard]] inline bool product(const engine& e, accumulation sums, const factor& a,
                                  const factor& b, float* out) noexcept {
  const mxref::output_view d(mxref::view(out, a.rows, b.rows));
  const auto run = [&](auto policy) {
    return mxref::simd::gemm_with(e.kernels(), a.view(), b.view(), d, policy, e.threads()).ok();
  };
  return sums == accumulation::exact ? run(mxref::accumulate::exact{})
                                     : run(mxref::accumulate::fp32_chain{});
}

}  // namespace instability
