// SPDX-License-Identifier: Apache-2.0
// Level 5. Highway, with what its older releases need. The only file that includes highway.h.
#ifndef MXREF_SIMD_HIGHWAY_HPP_
#define MXREF_SIMD_HIGHWAY_HPP_

#if defined(__CUDACC__)
#error "mxref/simd is for host compilers; device code uses the scalar headers and mxref/cuda"
#endif

// Highway 1.0.3 stops with an #error when the compiler flags allow AVX-512 with VNNI (such as
// -march=native on recent processors) unless that target is wanted. Newer releases ignore this.
#ifndef HWY_WANT_AVX3_DL
#define HWY_WANT_AVX3_DL 1
#endif

#endif  // MXREF_SIMD_HIGHWAY_HPP_

// Outside the guard: Highway includes itself anew for every target.
#include "hwy/cache_control.h"
#include "hwy/highway.h"

// For lambdas of inner loops, which compilers else call where they are used in several loops.
#undef MXREF_INLINE_LAMBDA
#if HWY_COMPILER_MSVC
#define MXREF_INLINE_LAMBDA HWY_ATTR
#else
#define MXREF_INLINE_LAMBDA HWY_ATTR __attribute__((always_inline))
#endif

// Tile kernels need vectors of a fixed size, and binary64 to binary32 that overflows to Inf, which
// Highway's emulated target does not do: it gives the largest finite number.
#undef MXREF_TILE_KERNELS
#if HWY_TARGET == HWY_SCALAR || HWY_TARGET == HWY_EMU128 || HWY_HAVE_SCALABLE
#define MXREF_TILE_KERNELS 0
#else
#define MXREF_TILE_KERNELS 1
#endif
