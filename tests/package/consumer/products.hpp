// SPDX-License-Identifier: Apache-2.0
// The same products by different roads, in units compiled with different flags.
#ifndef CONSUMER_PRODUCTS_HPP_
#define CONSUMER_PRODUCTS_HPP_

#include <cstdint>
#include <cstdio>
#include <mxref/mxref.hpp>
#include <vector>

struct result {
  const char* target;
  std::vector<std::uint32_t> bits;
};

namespace {

// Multiply is called as multiply(A, B, view(d, M, N), policy) and gives a status.
template <class Multiply>
std::vector<std::uint32_t> products(Multiply multiply) {
  using namespace mxref;
  constexpr int rows = 20, cols = 40, depth = 70;
  std::uint32_t seed = 1;
  const auto numbers = [&seed](int count) {
    std::vector<float> x(static_cast<std::size_t>(count));
    for (float& v : x) {
      seed = seed * 1664525U + 1013904223U;
      v = bit_cast<float>((seed & 0x807FFFFFU) | (120U + (seed >> 28)) << 23);
    }
    return x;
  };
  const std::vector<float> x = numbers(rows * depth);
  const std::vector<float> y = numbers(cols * depth);
  const auto a = quantize<mxfp8_e4m3>(view(x.data(), rows, depth));
  const auto b = quantize<mxfp4>(view(y.data(), cols, depth));
  std::vector<std::uint32_t> bits;
  const auto append = [&](auto policy) {
    std::vector<float> d(rows * cols);
    const status s = multiply(a, b, view(d.data(), rows, cols), policy);
    if (!s) std::fprintf(stderr, "%s\n", message(s));
    for (const float v : d) bits.push_back(bit_cast<std::uint32_t>(v));
  };
  append(accumulate::exact{});
  append(accumulate::block_exact_fp32{});
  append(accumulate::block_fused_fp32{});
  append(accumulate::fp32_chain{});
  append(accumulate::nvidia_blackwell_tcgen05_mxf8f6f4{});
  return bits;
}

inline result scalar_products() {
  return {"scalar", products([](const auto& a, const auto& b, const auto& d, auto policy) {
            return mxref::gemm(a, b, d, policy);
          })};
}

// 0 if both results are the same and not empty, else 1.
inline int differs(const result& expected, const result& actual) {
  const bool same = !expected.bits.empty() && expected.bits[0] != 0 && expected.bits == actual.bits;
  std::printf("%s: %s\n", actual.target, same ? "the same bits" : "OTHER BITS");
  return same ? 0 : 1;
}

}  // namespace

#endif  // CONSUMER_PRODUCTS_HPP_
