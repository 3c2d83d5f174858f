// SPDX-License-Identifier: Apache-2.0
// Other libraries' binary32 products: C = A B for row-major n x n matrices.
#pragma once

#include <functional>

#include "mxref/view.hpp"

namespace bench {

using sgemm = std::function<void(mxref::index_t n, const float* a, const float* b, float* c)>;

/// The yardstick S. Takes the threads that omp_set_num_threads has set.
sgemm onednn_sgemm();

/// The same threads. Empty where Eigen was not found.
sgemm eigen_sgemm();

/// OpenBLAS with its AVX-512 kernels, which it must be forced to on processors that it does not
/// know. Empty where it was not found or the processor lacks AVX-512.
sgemm openblas_sgemm(int threads);

}  // namespace bench
