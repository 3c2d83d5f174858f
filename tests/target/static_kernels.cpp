// SPDX-License-Identifier: Apache-2.0
// available_kernels() for programs without mxref::dispatch: the one target of the compiler's flags.
#include "mxref/simd/dispatch.hpp"
#include "mxref/simd/native.hpp"

MXREF_BEGIN_NAMESPACE

const simd::kernel_table* const* simd::available_kernels() noexcept {
  static const kernel_table* const list[] = {&native::kernels(), nullptr};
  return list;
}

MXREF_END_NAMESPACE
