// SPDX-License-Identifier: Apache-2.0
// Levels 0 to 2, layouts, scales, accumulation and block dots must compile as device code (never
// run here).
#include "mxref/code_layout.hpp"
#include "mxref/dot.hpp"
#include "mxref/quantize.hpp"
#include "mxref/scale_layout.hpp"

namespace {

using mxref::E4M3;
namespace accumulate = mxref::accumulate;
namespace overflow = mxref::overflow;
namespace rounding = mxref::rounding;

template <class E>
__device__ unsigned convert_all(float x, mxref::rounding_mode mode) {
  unsigned codes = mxref::encode<E>(x).code;
  codes ^= mxref::encode<E>(x, rounding::nearest_away{}).code;
  codes ^= mxref::encode<E>(x, rounding::toward_zero{}, overflow::nonsaturating{}).code;
  codes ^= mxref::encode<E>(x, rounding::up{}, overflow::saturate_full{}).code;
  codes ^= mxref::encode<E>(x, rounding::down{}).code;
  codes ^= mxref::encode<E>(static_cast<double>(x), rounding::to_odd{}).code;
  codes ^= mxref::encode<E>(x, rounding::dynamic{mode}).code;
  codes ^= mxref::encode<E>(x, rounding::philox{7}.at(codes)).code;
  return codes ^
         mxref::bit_cast<unsigned>(mxref::decode(E{static_cast<typename E::code_type>(codes)}));
}

template <class Block>
__device__ float dots(const float* x, const float* y) {
  const auto a = mxref::quantize<Block>(x, mxref::scale::rceil{}, rounding::philox{x[1] > 0});
  const auto b = mxref::quantize<mxref::mxfp8_e4m3>(y, mxref::scale::dynamic{});
  return mxref::dot(a, b) + mxref::dot(a, b, accumulate::block_exact_fp32{}, x[0]) +
         mxref::dot(a, b, accumulate::block_fused_fp32{}, x[0]) +
         mxref::dot(a, b, accumulate::fp32_chain{}, x[0]);
}

}  // namespace

__global__ void convert_kernel(const float* in, mxref::rounding_mode mode, unsigned* out) {
  const float x = in[threadIdx.x];
  out[threadIdx.x] = convert_all<mxref::E5M2>(x, mode) ^ convert_all<mxref::E4M3>(x, mode) ^
                     convert_all<mxref::E3M2>(x, mode) ^ convert_all<mxref::E2M3>(x, mode) ^
                     convert_all<mxref::E2M1>(x, mode) ^ convert_all<mxref::INT8>(x, mode) ^
                     convert_all<mxref::E8M0>(x, mode) ^ convert_all<mxref::UE4M3>(x, mode) ^
                     convert_all<mxref::bfloat16>(x, mode) ^ convert_all<mxref::binary16>(x, mode) ^
                     convert_all<mxref::TF32>(x, mode) ^ convert_all<mxref::binary32>(x, mode);
}

__global__ void dot_kernel(const float* x, const float* y, float* out) {
  x += 32 * threadIdx.x;
  y += 32 * threadIdx.x;
  float sum = dots<mxref::mxfp8_e4m3>(x, y) + dots<mxref::mxfp8_e5m2>(x, y) +
              dots<mxref::mxfp6_e3m2>(x, y) + dots<mxref::mxfp6_e2m3>(x, y) +
              dots<mxref::mxfp4>(x, y) + dots<mxref::mxint8>(x, y);
  sum += mxref::dot(mxref::quantize<mxref::mxfp4>(x), mxref::quantize<mxref::mxfp6_e2m3>(y),
                    accumulate::nvidia_blackwell_tcgen05_mxf8f6f4{});
  out[threadIdx.x] = sum;
}

// Any matrix unit: its parameters are an argument.
__global__ void unit_kernel(accumulate::matrix_unit unit, mxref::chunk a, mxref::chunk b,
                            const unsigned* c, unsigned* d) {
  a.terms += a.count * threadIdx.x;
  b.terms += b.count * threadIdx.x;
  accumulate::matrix_unit::state state;
  unit.start(state, mxref::to_number(unit.desc.accumulator, c[threadIdx.x]));
  unit.step(state, a, b);
  d[threadIdx.x] = unit.finish(state, unit.desc.accumulator);
}

__global__ void nvfp4_kernel(const mxref::mx_block<mxref::E2M1, 16, mxref::UE4M3>* a, float* d) {
  d[threadIdx.x] =
      mxref::dot(a[threadIdx.x], a[0], accumulate::nvidia_blackwell_tcgen05_mxf4nvf4{});
}

// What a kernel asks of a layout: where a scale and a code are.
__global__ void layout_kernel(const unsigned char* scales, const unsigned char* row,
                              mxref::layout::dynamic_scales how, unsigned char* out) {
  const mxref::index_t k = threadIdx.x;
  const mxref::scale_layout swizzled = mxref::layout::swizzled_128x4::scales();
  const mxref::code_layout padded = mxref::layout::tcgen05_padded::codes(6);
  unsigned char bits = scales[swizzled.offset(150, 7, k, 1)];
  bits ^= scales[how.scales().offset(150, 7, k, 2)];
  bits ^= padded.get(row, threadIdx.x);
  if (!swizzled.position(150, 7, k).is_padding()) bits ^= padded.find(threadIdx.x, 32) < 0;
  mxref::layout::dynamic_codes{mxref::packing_mode::dense}.codes(4).set(out, threadIdx.x, bits);
}
