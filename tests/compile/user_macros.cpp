// SPDX-License-Identifier: Apache-2.0
// The scalar headers after the macros of others.
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
#include "user_macros.hpp"

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
