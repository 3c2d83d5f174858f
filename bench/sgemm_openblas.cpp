// SPDX-License-Identifier: Apache-2.0
// OpenBLAS chooses its kernels when it is loaded, so it is loaded here, after the choice was made
// for it.
#include <dlfcn.h>

#include <cstdlib>
#include <string>

#include "bench.hpp"
#include "sgemm.hpp"

namespace bench {

sgemm openblas_sgemm(int threads) {
#ifdef MXREF_BENCH_OPENBLAS
  if (!std::string(fast::target()).starts_with("AVX3")) return {};
  setenv("OPENBLAS_CORETYPE", "SkylakeX", 1);
  void* library = dlopen(MXREF_BENCH_OPENBLAS, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) fail(dlerror());
  using set_threads = void (*)(int);
  using product =
      void (*)(int order, int transpose_a, int transpose_b, int m, int n, int k, float alpha,
               const float* a, int lda, const float* b, int ldb, float beta, float* c, int ldc);
  const auto set = reinterpret_cast<set_threads>(dlsym(library, "openblas_set_num_threads"));
  const auto f = reinterpret_cast<product>(dlsym(library, "cblas_sgemm"));
  if (set == nullptr || f == nullptr) fail("not OpenBLAS: " MXREF_BENCH_OPENBLAS);
  return [f, set, threads](mxref::index_t size, const float* a, const float* b, float* c) {
    constexpr int row_major = 101;
    constexpr int as_is = 111;
    const auto n = static_cast<int>(size);
    set(threads);
    f(row_major, as_is, as_is, n, n, n, 1.0F, a, n, b, n, 0.0F, c, n);
  };
#else
  static_cast<void>(threads);
  return {};
#endif
}

}  // namespace bench
