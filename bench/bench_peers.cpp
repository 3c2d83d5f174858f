// SPDX-License-Identifier: Apache-2.0
// Products in turn with S, oneDNN's binary32 product of the same size with the same threads.
#include <omp.h>

#include <cmath>
#include <string>
#include <utility>

#include "bench.hpp"
#include "mxref/mxref.hpp"
#include "mxref/simd/thread_pool.hpp"
#include "operands.hpp"
#include "sgemm.hpp"

namespace {

using bench::operand;
using mxref::index_t;

constexpr index_t sizes[] = {64, 512, 1024, 2048, 4096};

/// Google Benchmark chooses how often; a long product is taken three times.
void add(const std::string& name, index_t n, const std::function<void(benchmark::State&)>& f) {
  auto* b = bench::add(name + "/" + std::to_string(n), f);
  if (n >= 4096) b->Iterations(3);
}

/// The yardstick on its own data, so that operands of any kind have the same one.
class yardstick {
 public:
  yardstick(index_t n, int threads)
      : n_(n),
        a_(bench::normal_data(bench::size_of(n, n), 3)),
        b_(bench::normal_data(bench::size_of(n, n), 4)),
        c_(a_.size()) {
    omp_set_num_threads(threads);
  }
  void operator()() { run(bench::onednn_sgemm()); }
  void run(const bench::sgemm& f) { f(n_, a_.data(), b_.data(), c_.data()); }

  /// An output of f against a sum in binary64; any order of binary32 additions comes this close.
  void check(const bench::sgemm& f) {
    run(f);
    const auto n = static_cast<std::size_t>(n_);
    double sum = 0;
    double magnitudes = 0;
    for (std::size_t k = 0; k < n; ++k) {
      const double product = double{a_[(n - 1) * n + k]} * double{b_[k * n]};
      sum += product;
      magnitudes += std::abs(product);
    }
    if (std::abs(sum - double{c_[(n - 1) * n]}) > 0x1p-23 * static_cast<double>(n) * magnitudes) {
      bench::fail("wrong product of a peer");
    }
  }

 private:
  index_t n_;
  bench::array<float> a_;
  bench::array<float> b_;
  bench::array<float> c_;
};

template <class Policy>
void against_onednn(benchmark::State& state, const char* kind_a, const char* kind_b, index_t n,
                    int threads) {
  const operand a(kind_a, n, n, 1);
  const operand b(kind_b, n, n, 2);
  bench::array<float> d(bench::size_of(n, n));
  const mxref::simd::threads pool(threads);
  const auto product = [&] {
    static_cast<void>(bench::fast::gemm(a, b, mxref::view(d.data(), n, n), Policy{}, pool));
  };
  product();
  bench::check_product(a, b, d, Policy{});
  yardstick s(n, threads);
  s.check(bench::onednn_sgemm());
  const double work = bench::operations(n, n, n);
  bench::against(state, threads, work, product, work, [&] { s(); });
  state.counters["of_fma_peak"] =
      state.counters["rate"] * 1e-9 / threads / static_cast<double>(state.counters["fma_gflops"]);
}

template <class Policy>
void add_policy(const char* kind_a, const char* kind_b, index_t n, int threads) {
  if (!bench::accepts(Policy{}, kind_a, kind_b)) return;
  add(std::string(Policy::name) + "/" + std::to_string(threads) + "/" + kind_a + "_" + kind_b, n,
      [=](benchmark::State& s) { against_onednn<Policy>(s, kind_a, kind_b, n, threads); });
}

/// Another library's product against S.
void add_library(const std::string& name, index_t n, int threads, const bench::sgemm& f) {
  if (!f) return;
  add(name + "/" + std::to_string(threads) + "/binary32", n, [=](benchmark::State& state) {
    yardstick s(n, threads);
    s.check(f);
    const double work = bench::operations(n, n, n);
    bench::against(
        state, threads, work, [&] { s.run(f); }, work, [&] { s(); });
  });
}

}  // namespace

int main(int argc, char** argv) {
  using namespace mxref::accumulate;
  constexpr std::pair<const char*, const char*> kinds[] = {
      {"e4m3", "e4m3"},           {"e2m1", "e4m3"},
      {"int8", "int8"},           {"binary32", "binary32"},
      {"bfloat16", "bfloat16"},   {"binary32_t", "binary32"},
      {"binary32", "binary32_t"}, {"binary32_t", "binary32_t"}};
  for (const int threads : {1, 2}) {
    for (const auto& [a, b] : kinds) {
      for (const index_t n : sizes) add_policy<fp32_chain>(a, b, n, threads);
    }
    for (const index_t n : sizes) {
      add_library("eigen", n, threads, bench::eigen_sgemm());
      add_library("openblas", n, threads, bench::openblas_sgemm(threads));
    }
  }
  for (const auto& [a, b] : {std::pair{"e4m3", "e4m3"}, {"e2m1", "e2m1"}, {"int8", "int8"}}) {
    add_policy<block_exact_fp32>(a, b, 1024, 1);
    add_policy<exact>(a, b, 1024, 1);
    add_policy<nvidia_blackwell_tcgen05_mxf8f6f4>(a, b, 1024, 1);
  }
  return bench::run(argc, argv);
}
