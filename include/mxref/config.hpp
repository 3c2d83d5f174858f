// SPDX-License-Identifier: Apache-2.0
// Level 0. Version, and the only place that looks at compiler macros.
#ifndef MXREF_CONFIG_HPP_
#define MXREF_CONFIG_HPP_

#if defined(_MSVC_LANG) ? (_MSVC_LANG < 202002L) : (__cplusplus < 202002L)
#error "mxref needs C++20: compile with -std=c++20 (nvcc: -std=c++20, MSVC: /std:c++20)"
#endif

#define MXREF_VERSION_MAJOR 0
#define MXREF_VERSION_MINOR 1
#define MXREF_VERSION_PATCH 0

// Marks the integer core so that the same function serves host, device and constant evaluation.
#if defined(__CUDACC__)
#define MXREF_HD __host__ __device__
#else
#define MXREF_HD
#endif

// Two versions of mxref in one program are different types: a mixture does not link.
#define MXREF_BEGIN_NAMESPACE \
  namespace mxref {           \
  inline namespace v0_1 {
#define MXREF_END_NAMESPACE \
  }                         \
  }

#endif  // MXREF_CONFIG_HPP_
