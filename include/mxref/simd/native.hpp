// SPDX-License-Identifier: Apache-2.0
// Level 5. Static dispatch: native::gemm, native::quantize, ... on the instruction set that the
// compiler flags of this unit allow. Nothing to link. With MXREF_NO_HIGHWAY defined, or under
// -ffast-math, whose kernels would be other functions, native is the scalar core: the same bits.
// Highway bears macros named min and max; where a user's header defines others, such as abs,
// mxref/simd/highway.hpp goes before it.
#ifndef MXREF_SIMD_NATIVE_HPP_
#define MXREF_SIMD_NATIVE_HPP_

#include "mxref/config.hpp"
#include "mxref/simd/backend.hpp"

#if defined(__FAST_MATH__) || defined(MXREF_NO_HIGHWAY)

#include "mxref/simd/scalar.hpp"

MXREF_BEGIN_NAMESPACE
using native = simd::backend<simd::scalar_target>;
MXREF_END_NAMESPACE

#else

#ifdef HWY_TARGET_TOGGLE
#error \
    "in a foreach_target unit include mxref/simd/kernels-inl.hpp instead of mxref/simd/native.hpp"
#endif
#include "mxref/simd/kernels-inl.hpp"

MXREF_BEGIN_NAMESPACE
using native = simd::backend<HWY_NAMESPACE::target>;
MXREF_END_NAMESPACE

#endif

#endif  // MXREF_SIMD_NATIVE_HPP_
