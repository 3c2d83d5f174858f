// SPDX-License-Identifier: Apache-2.0
// The vector kernels and the thread pool in a program without exceptions and run-time types.
#include "simd_products.hpp"

#if defined(__cpp_exceptions) || defined(__cpp_rtti)
#error "compile this with -fno-exceptions -fno-rtti"
#endif

int main() { return simd_products_are_exact() ? 0 : 1; }
