// SPDX-License-Identifier: Apache-2.0
// One function, compiled in two units with different flags and linked into one program. The linker
// keeps one copy of the library's inline functions; which one must not matter.
#ifndef MXREF_TESTS_COMPILE_MIXED_FLAGS_HPP_
#define MXREF_TESTS_COMPILE_MIXED_FLAGS_HPP_

#include <cstdint>
#include <vector>

#include "mxref/mxref.hpp"

std::vector<std::uint32_t> results_of_plain_unit(std::uint32_t seed);
std::vector<std::uint32_t> results_of_native_unit(std::uint32_t seed);

namespace {

template <class P>
void append_gemm(std::vector<std::uint32_t>& results, const mxref::operand_view& a,
                 const mxref::operand_view& b) {
  std::vector<float> d(16);
  const mxref::status s = mxref::gemm(a, b, mxref::view(d.data(), 4, 4), P{});
  results.push_back(static_cast<std::uint32_t>(s.code));
  for (const float x : d) results.push_back(mxref::bit_cast<std::uint32_t>(x));
}

inline std::vector<std::uint32_t> compute_results(std::uint32_t seed) {
  using namespace mxref;
  std::vector<float> x(4 * 70);
  for (float& v : x) {
    seed = seed * 1664525U + 1013904223U;
    v = bit_cast<float>((seed & 0x807FFFFFU) | (120U + (seed >> 27)) << 23);
  }
  std::vector<std::uint32_t> results;
  for (const float v : x) {
    results.push_back(encode<E4M3>(v).code);
    results.push_back(encode<E5M2>(v, rounding::up{}, overflow::nonsaturating{}).code);
    results.push_back(encode<binary16>(double{v}).code);
    results.push_back(bit_cast<std::uint32_t>(decode(encode<E3M2>(v, rounding::to_odd{}))));
  }
  const auto a = quantize<mxfp8_e4m3>(view(x.data(), 4, 70));
  const auto b = quantize<mxfp4>(view(x.data(), 4, 70));
  append_gemm<accumulate::exact>(results, a, b);
  append_gemm<accumulate::block_exact_fp32>(results, a, b);
  append_gemm<accumulate::block_fused_fp32>(results, a, a);
  append_gemm<accumulate::fp32_chain>(results, a, b);
  append_gemm<accumulate::nvidia_blackwell_tcgen05_mxf8f6f4>(results, a, b);
  const auto c = quantize<mxfp6_e2m3>(x.data());
  results.push_back(bit_cast<std::uint32_t>(dot(c, quantize<mxint8>(x.data() + 32))));
  return results;
}

}  // namespace

#endif  // MXREF_TESTS_COMPILE_MIXED_FLAGS_HPP_
