// SPDX-License-Identifier: Apache-2.0
// The scalar GEMM: K = 32 dot steps per second and core, for each policy and some format pairs.
#include <cstdio>
#include <cstdlib>
#include <string>

#include "bench.hpp"
#include "mxref/mxref.hpp"

namespace {

using mxref::index_t;

constexpr index_t rows = 64;
constexpr index_t depth = 1024;

template <class Block>
mxref::mx_matrix<typename Block::element_type, 32> operand(std::uint32_t seed) {
  const auto x = bench::normal_data(static_cast<std::size_t>(rows * depth), seed);
  return mxref::quantize<Block>(mxref::view(x.data(), rows, depth));
}

/// A wrong result must not be timed: the last output is compared with the same dot product taken
/// alone, and for the exact policy with a sum in binary64, in which these products are exact.
template <class Policy, class A, class B>
void check(const A& a, const B& b, const std::vector<float>& d) {
  float alone = 0;
  auto last_a = a.operand();
  auto last_b = b.operand();
  for (auto* v : {&last_a, &last_b}) {
    v->codes = static_cast<const std::uint8_t*>(v->codes) + (rows - 1) * v->row_bytes;
    v->scales += (rows - 1) * v->scale_row_bytes;
    v->rows = 1;
  }
  bool ok = mxref::gemm(last_a, last_b, mxref::view(&alone, 1, 1), Policy{}).ok() &&
            mxref::bit_cast<std::uint32_t>(alone) == mxref::bit_cast<std::uint32_t>(d.back());
  if (std::string(Policy::name) == "exact") {
    double sum = 0;
    for (index_t k = 0; k < depth; ++k) {
      sum += a.template value<double>(rows - 1, k) * b.template value<double>(rows - 1, k);
    }
    ok = ok && static_cast<float>(sum) == alone;
  }
  if (!ok) {
    std::fprintf(stderr, "bench_gemm: wrong result, nothing timed\n");
    std::exit(1);
  }
}

template <class Policy, class BlockA, class BlockB>
void scalar_gemm(benchmark::State& state) {
  const auto a = operand<BlockA>(1);
  const auto b = operand<BlockB>(2);
  std::vector<float> d(static_cast<std::size_t>(rows * rows));
  const auto out = mxref::view(d.data(), rows, rows);
  if (!mxref::gemm(a, b, out, Policy{})) state.SkipWithError("gemm refused");
  check<Policy>(a, b, d);
  for (auto _ : state) {
    static_cast<void>(mxref::gemm(a, b, out, Policy{}));
    benchmark::DoNotOptimize(d.data());
  }
  state.counters["steps/s"] = benchmark::Counter(static_cast<double>(rows * rows * depth / 32),
                                                 benchmark::Counter::kIsIterationInvariantRate);
}

template <class Policy>
void add(const char* name) {
  using namespace mxref;
  const std::string prefix = std::string("scalar/") + name;
  benchmark::RegisterBenchmark((prefix + "/e4m3_e4m3").c_str(),
                               scalar_gemm<Policy, mxfp8_e4m3, mxfp8_e4m3>);
  benchmark::RegisterBenchmark((prefix + "/e5m2_e5m2").c_str(),
                               scalar_gemm<Policy, mxfp8_e5m2, mxfp8_e5m2>);
  benchmark::RegisterBenchmark((prefix + "/e2m1_e4m3").c_str(),
                               scalar_gemm<Policy, mxfp4, mxfp8_e4m3>);
}

}  // namespace

int main(int argc, char** argv) {
  add<mxref::accumulate::nvidia_blackwell_tcgen05_mxf8f6f4>("nvidia-blackwell-tcgen05-mxf8f6f4");
  add<mxref::accumulate::exact>("exact");
  add<mxref::accumulate::block_exact_fp32>("block-exact-fp32");
  add<mxref::accumulate::block_fused_fp32>("block-fused-fp32");
  add<mxref::accumulate::fp32_chain>("fp32-chain");
  bench::describe_run("scalar");
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 2;
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
