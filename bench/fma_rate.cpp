// SPDX-License-Identifier: Apache-2.0
// Compiled for the processor at hand, so this unit has no function that others might share.
#include "fma_rate.hpp"

#include <time.h>

#include "mxref/simd/highway.hpp"

namespace bench {

namespace {

namespace hn = hwy::HWY_NAMESPACE;

// More than latency times throughput of any processor at hand, and at most half the registers.
constexpr int chains = 16;

HWY_ATTR float multiply_add(float factor, long rounds) {
  const hn::ScalableTag<float> d;
  const auto x = hn::Set(d, factor);
  hn::Vec<decltype(d)> acc[chains];
  HWY_UNROLL(chains)
  for (int i = 0; i < chains; ++i) acc[i] = hn::Set(d, static_cast<float>(i));
  for (long r = 0; r < rounds; ++r) {
    HWY_UNROLL(chains)
    for (int i = 0; i < chains; ++i) acc[i] = hn::MulAdd(acc[i], x, x);
  }
  auto sum = acc[0];
  for (int i = 1; i < chains; ++i) sum = hn::Add(sum, acc[i]);
  return hn::GetLane(sum);
}

double now() {
  timespec t{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

}  // namespace

double fma_burst() {
  constexpr long rounds = 50000;
  const volatile float factor = 0.5F;
  const volatile float result = multiply_add(factor, rounds);
  static_cast<void>(result);
  return 2.0 * chains * static_cast<double>(hn::Lanes(hn::ScalableTag<float>())) * rounds;
}

double fma_gflops() {
  double best = 0;
  for (int i = 0; i < 5; ++i) {
    const double start = now();
    const double operations = fma_burst();
    const double rate = operations / (now() - start) * 1e-9;
    best = rate > best ? rate : best;
  }
  return best;
}

}  // namespace bench
