// SPDX-License-Identifier: Apache-2.0
// In place of mxref::dispatch in a tool without vector kernels.
#include "mxref/simd/dispatch.hpp"

const mxref::simd::kernel_table* const* mxref::simd::available_kernels() noexcept {
  static const kernel_table* const none[] = {nullptr};
  return none;
}
