// SPDX-License-Identifier: Apache-2.0
// Compiled several times with different flags; each defines the function named by UNIT.
#include <mxref/simd/native.hpp>
#include <mxref/simd/thread_pool.hpp>

#include "products.hpp"

#ifdef UNIT_TARGET
static_assert(HWY_TARGET == UNIT_TARGET);
#endif

result UNIT() {
  return {mxref::native::target(),
          products([](const auto& a, const auto& b, const auto& d, auto policy) {
            return mxref::native::gemm(a, b, d, policy, mxref::simd::threads{2});
          })};
}
