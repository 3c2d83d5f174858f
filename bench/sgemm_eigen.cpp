// SPDX-License-Identifier: Apache-2.0
// Compiled for the processor at hand, as Eigen's kernels are chosen by compiler flags.
#include "sgemm.hpp"

#ifdef MXREF_BENCH_EIGEN
#include <Eigen/Core>
#endif

namespace bench {

sgemm eigen_sgemm() {
#ifdef MXREF_BENCH_EIGEN
  return [](mxref::index_t n, const float* a, const float* b, float* c) {
    using matrix = Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
    Eigen::Map<matrix>(c, n, n).noalias() =
        Eigen::Map<const matrix>(a, n, n) * Eigen::Map<const matrix>(b, n, n);
  };
#else
  return {};
#endif
}

}  // namespace bench
