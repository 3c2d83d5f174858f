// SPDX-License-Identifier: Apache-2.0
#include <dnnl.h>

#include "bench.hpp"
#include "sgemm.hpp"

namespace bench {

sgemm onednn_sgemm() {
  return [](mxref::index_t n, const float* a, const float* b, float* c) {
    if (dnnl_sgemm('N', 'N', n, n, n, 1.0F, a, n, b, n, 0.0F, c, n) != dnnl_success) {
      fail("dnnl_sgemm refused");
    }
  };
}

}  // namespace bench
