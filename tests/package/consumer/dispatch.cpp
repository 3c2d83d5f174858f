// SPDX-License-Identifier: Apache-2.0
// Compiled several times with different flags; each defines the function named by UNIT.
#include <mxref/simd/dispatch.hpp>
#include <mxref/simd/thread_pool.hpp>

#include "products.hpp"

result UNIT() {
  return {mxref::simd::dispatched::target(),
          products([](const auto& a, const auto& b, const auto& d, auto policy) {
            return mxref::simd::gemm(a, b, d, policy, mxref::simd::threads{2});
          })};
}
