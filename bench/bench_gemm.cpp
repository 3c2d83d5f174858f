// SPDX-License-Identifier: Apache-2.0
// Products: the scalar core, every policy on the vector kernels, and two threads against one.
#include <string>
#include <utility>

#include "bench.hpp"
#include "mxref/mxref.hpp"
#include "mxref/simd/thread_pool.hpp"
#include "operands.hpp"

namespace {

using bench::operand;
using mxref::index_t;

constexpr std::pair<const char*, const char*> pairs[] = {
    {"e4m3", "e4m3"}, {"e5m2", "e5m2"}, {"e2m1", "e4m3"}, {"e2m1", "e2m1"}, {"int8", "int8"}};

/// A dot product of the exact policy, once more: in binary64, in which these products are exact.
void check_exact(const operand& a, const operand& b, float d) {
  const mxref::operand_view& x = a;
  const mxref::operand_view& y = b;
  double sum = 0;
  for (index_t k = 0; k < x.depth; ++k) {
    sum += mxref::from_number<double>(mxref::operand_number(x, 0, k)) *
           mxref::from_number<double>(mxref::operand_number(y, 0, k));
  }
  if (static_cast<float>(sum) != d) bench::fail("the exact policy is not exact");
}

/// Dot steps of K = 32 per second.
template <class Policy>
void scalar_gemm(benchmark::State& state, const char* format_a, const char* format_b) {
  constexpr index_t rows = 64;
  constexpr index_t depth = 1024;
  const operand a(format_a, rows, depth, 1);
  const operand b(format_b, rows, depth, 2);
  bench::array<float> d(bench::size_of(rows, rows));
  const auto product = [&] {
    static_cast<void>(mxref::gemm(a, b, mxref::view(d.data(), rows, rows), Policy{}));
  };
  product();
  bench::check_product(a, b, d, Policy{});
  if constexpr (std::same_as<Policy, mxref::accumulate::exact>) check_exact(a, b, d[0]);
  bench::alone(state, 1, static_cast<double>(rows * rows * depth / 32), product);
}

/// Operations per second, packing included.
template <class Policy>
void fast_gemm(benchmark::State& state, const char* format_a, const char* format_b, index_t n) {
  const operand a(format_a, n, n, 1);
  const operand b(format_b, n, n, 2);
  bench::array<float> d(bench::size_of(n, n));
  const auto product = [&] {
    static_cast<void>(bench::fast::gemm(a, b, mxref::view(d.data(), n, n), Policy{}));
  };
  product();
  bench::check_product(a, b, d, Policy{});
  bench::alone(state, 1, bench::operations(n, n, n), product);
}

/// Two threads, in turn with one.
template <class Policy>
void two_threads(benchmark::State& state, const char* format_a, const char* format_b, index_t n) {
  const operand a(format_a, n, n, 1);
  const operand b(format_b, n, n, 2);
  bench::array<float> d(bench::size_of(n, n));
  const auto out = mxref::view(d.data(), n, n);
  const mxref::simd::threads pool(2);
  const auto both = [&] { static_cast<void>(bench::fast::gemm(a, b, out, Policy{}, pool)); };
  const auto one = [&] { static_cast<void>(bench::fast::gemm(a, b, out, Policy{})); };
  both();
  bench::check_product(a, b, d, Policy{});
  const double work = bench::operations(n, n, n);
  bench::against(state, 2, work, both, work, one);
}

/// Two threads without memory, in turn with one: what the machine grants at that moment.
void two_threads_in_registers(benchmark::State& state) {
  const mxref::simd::threads pool(2);
  constexpr index_t bursts = 64;
  const auto burst = [](index_t, index_t) { bench::fma_burst(); };
  const double work = static_cast<double>(bursts) * bench::fma_burst();
  bench::against(
      state, 2, work, [&] { pool.run(bursts, burst); }, work,
      [&] { mxref::simd::serial{}.run(bursts, burst); });
}

template <class Policy>
void add() {
  const auto named = [](const char* kind, const char* a, const char* b, const std::string& size) {
    return std::string(kind) + "/" + Policy::name + "/" + a + "_" + b + size;
  };
  for (const auto& [a, b] : pairs) {
    if (!bench::accepts(Policy{}, a, b)) continue;
    bench::add(named("scalar", a, b, ""),
               [a = a, b = b](benchmark::State& s) { scalar_gemm<Policy>(s, a, b); });
    for (const index_t n : {64, 1024}) {
      bench::add(named("fast", a, b, "/" + std::to_string(n)),
                 [a = a, b = b, n](benchmark::State& s) { fast_gemm<Policy>(s, a, b, n); });
    }
  }
}

}  // namespace

int main(int argc, char** argv) {
  using namespace mxref::accumulate;
  add<fp32_chain>();
  add<block_exact_fp32>();
  add<block_fused_fp32>();
  add<exact>();
  add<nvidia_blackwell_tcgen05_mxf8f6f4>();
  bench::add("two_threads/registers", two_threads_in_registers);
  for (const index_t n : {512, 1024, 2048, 4096}) {
    bench::add("two_threads/fp32-chain/e4m3_e4m3/" + std::to_string(n),
               [n](benchmark::State& s) { two_threads<fp32_chain>(s, "e4m3", "e4m3", n); });
  }
  return bench::run(argc, argv);
}
