// SPDX-License-Identifier: Apache-2.0
// The scalar library: one product whose bits tell exact summation from rounding at each step.
#include <cstdint>
#include <cstdio>
#include <mxref/mxref.hpp>

int main() {
  using namespace mxref;
  // The squares are 2^16, 2^-8 and 2^-18. Next to 2^16, 2^-8 is half a unit in the last place.
  float x[32] = {256.0F, 0x1p-4F, 0x1p-9F};
  const auto a = quantize<mxfp8_e4m3>(view(x, 1, 32));
  float exact = 0;
  float chain = 0;
  if (!gemm(a, a, view(&exact, 1, 1), accumulate::exact{})) return 1;
  if (!gemm(a, a, view(&chain, 1, 1), accumulate::fp32_chain{})) return 1;
  const auto exact_bits = bit_cast<std::uint32_t>(exact);
  const auto chain_bits = bit_cast<std::uint32_t>(chain);
  std::printf("exact %08X, chain %08X\n", exact_bits, chain_bits);
  return exact_bits == 0x47800001U && chain_bits == 0x47800000U ? 0 : 1;
}
