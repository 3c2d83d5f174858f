// SPDX-License-Identifier: Apache-2.0
// A product by all three roads, for programs with unusual flags or macros.
#ifndef MXREF_TESTS_COMPILE_SIMD_PRODUCTS_HPP_
#define MXREF_TESTS_COMPILE_SIMD_PRODUCTS_HPP_

#include <cstring>

#include "mxref/mxref.hpp"
#include "mxref/simd/dispatch.hpp"
#include "mxref/simd/native.hpp"
#include "mxref/simd/thread_pool.hpp"

inline bool simd_products_are_exact() {
  using namespace mxref;
  constexpr int n = 40;
  float x[n * 70];
  for (int i = 0; i < n * 70; ++i) x[i] = static_cast<float>(i * i % 1013 - 500) / 7;
  const auto a = quantize<mxfp8_e4m3>(view(x, n, 70));
  float scalar[n * n];
  float native_dispatch[n * n];
  float dynamic_dispatch[n * n];
  const simd::threads two(2);
  const accumulate::fp32_chain p;
  return gemm(a, a, view(scalar, n, n), p).ok() &&
         native::gemm(a, a, view(native_dispatch, n, n), p, two).ok() &&
         simd::gemm(a, a, view(dynamic_dispatch, n, n), p, two).ok() && scalar[1] != 0 &&
         std::memcmp(scalar, native_dispatch, sizeof scalar) == 0 &&
         std::memcmp(scalar, dynamic_dispatch, sizeof scalar) == 0;
}

#endif  // MXREF_TESTS_COMPILE_SIMD_PRODUCTS_HPP_
