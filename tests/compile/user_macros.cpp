// SPDX-License-Identifier: Apache-2.0
// The headers after macros that users' own headers define: windows.h, X11, math.h of old, curses.
// The standard library comes first: it is not asked to bear them.
#include <cmath>
#include <compare>
#include <complex.h>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <memory>
#include <new>
#include <type_traits>
#include <utility>
#include <vector>

#define min(a, b) (((a) < (b)) ? (a) : (b))
#define max(a, b) (((a) > (b)) ? (a) : (b))
#define near
#define far
#define small char
#define hyper long
#define interface struct
#define IN
#define OUT
#define CONST const
#define ERROR 0
#define OK 0
#define DOMAIN 1
#define OVERFLOW 3
#define UNDERFLOW 4
#define Bool int
#define Status int
#define Success 0
#define None 0L
#define True 1
#define False 0
#define Always 2
#define abs(x) ((x) < 0 ? -(x) : (x))
#define round(x) ((int)((x) + 0.5))
#define major(x) ((x) >> 8)
#define minor(x) ((x)&255)

#include "mxref/mxref.hpp"

// They are used, too: what a macro changes may show only there.
float use(const float* x, float* out) {
  const auto a = mxref::quantize<mxref::mxfp8_e4m3>(x);
  const auto m = mxref::quantize<mxref::mxfp4>(mxref::view(x, 1, 32));
  const mxref::status s = mxref::gemm(m, m, mxref::view(out, 1, 1), mxref::accumulate::exact{});
  const mxref::status t =
      mxref::gemm(m, m, mxref::view(out, 1, 1), mxref::accumulate::fp32_chain{});
  return s.ok() && t.ok()
             ? mxref::dot(a, a) + mxref::encode<mxref::E5M2>(x[0], mxref::rounding::up{},
                                                             mxref::overflow::saturate{})
                                      .code
             : 0.0F;
}
