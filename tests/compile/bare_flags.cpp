// SPDX-License-Identifier: Apache-2.0
// A program without exceptions and run-time types.
#include "mxref/mxref.hpp"

#if defined(__cpp_exceptions) || defined(__cpp_rtti)
#error "compile this with -fno-exceptions -fno-rtti"
#endif

int main() {
  using namespace mxref;
  float x[2 * 40] = {};
  for (int i = 0; i < 80; ++i) x[i] = static_cast<float>(i % 7 - 3);
  const auto a = quantize<mxfp8_e4m3>(view(x, 2, 40));
  float d[4] = {};
  if (!gemm(a, a, view(d, 2, 2), accumulate::exact{})) return 1;
  float norms[2] = {};
  for (int row = 0; row < 2; ++row) {
    for (int k = 0; k < 40; ++k) norms[row] += x[40 * row + k] * x[40 * row + k];
  }
  // A request that cannot be met is a status, not an exception.
  operand_view huge = a.operand();
  huge.depth = index_t{1} << 60;
  const bool refused =
      gemm(huge, huge, view(d, 3, 3), accumulate::exact{}).code == errc::shape_mismatch;
  return d[0] == norms[0] && d[3] == norms[1] && refused ? 0 : 1;
}
