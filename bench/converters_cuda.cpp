// SPDX-License-Identifier: Apache-2.0
// The host path of CUDA's headers.
#include <cuda_fp4.h>
#include <cuda_fp6.h>
#include <cuda_fp8.h>

#include "converters.hpp"

namespace bench {

namespace {

template <auto Convert>
void convert(const array<float>& in, array<std::uint8_t>& out) {
  for (std::size_t i = 0; i < in.size(); ++i) out[i] = Convert(in[i]);
}

}  // namespace

converter cuda_converter(const std::string& format) {
  if (format == "e4m3") {
    return convert<[](float x) { return __nv_cvt_float_to_fp8(x, __NV_SATFINITE, __NV_E4M3); }>;
  }
  if (format == "e5m2") {
    return convert<[](float x) { return __nv_cvt_float_to_fp8(x, __NV_SATFINITE, __NV_E5M2); }>;
  }
  if (format == "e3m2") {
    return convert<[](float x) { return __nv_cvt_float_to_fp6(x, __NV_E3M2, cudaRoundNearest); }>;
  }
  if (format == "e2m3") {
    return convert<[](float x) { return __nv_cvt_float_to_fp6(x, __NV_E2M3, cudaRoundNearest); }>;
  }
  if (format == "e2m1") {
    return convert<[](float x) { return __nv_cvt_float_to_fp4(x, __NV_E2M1, cudaRoundNearest); }>;
  }
  return nullptr;
}

}  // namespace bench
