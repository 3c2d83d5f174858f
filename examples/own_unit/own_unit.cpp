// SPDX-License-Identifier: Apache-2.0
// A matrix unit of your own: one declaration, then gemm as with any other. What would a smaller
// accumulator cost? Prints the error of a product for some windows; exits 1 if one is not refused
// that cannot be summed in 63 bits.
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

#include "mxref/mxref.hpp"

using namespace mxref;

// Eight products a step, 20 fraction bits, round to nearest even into binary32.
constexpr accumulate::matrix_unit narrow{
    {.length = 8, .fraction_bits = 20, .output = rounding_mode::nearest_even}};

int main() {
  constexpr index_t size = 16;
  constexpr index_t depth = 512;
  std::vector<float> x(size * depth);
  std::uint32_t state = 1;
  for (float& v : x) {
    state = state * 1664525U + 1013904223U;
    v = std::ldexp(static_cast<float>(state >> 8) - 0x1p23F, -20 - static_cast<int>(state % 8));
  }
  const auto a = quantize<mx_block<E4M3, 32>>(view(x.data(), size, depth));
  std::vector<float> want(size * size);
  std::vector<float> got(size * size);
  if (!gemm(a, a, view(want.data(), size, size), accumulate::exact{})) return 1;

  const auto report = [&](const char* name, const auto& unit) {
    const status s = gemm(a, a, view(got.data(), size, size), unit);
    if (!s) {
      std::printf("%-24s %s\n", name, message(s));
      return false;
    }
    double worst = 0;
    for (index_t i = 0; i < size; ++i) {  // the diagonal has no cancellation
      const auto at = static_cast<std::size_t>(i * size + i);
      worst = std::fmax(worst, std::fabs(double{got[at]} / double{want[at]} - 1));
    }
    std::printf("%-24s largest relative error 2^%.1f\n", name, std::log2(worst));
    return true;
  };
  bool ok = report("yours", narrow);
  for (const int bits : {13, 17, 21, 25}) {
    accumulate::matrix_unit unit = narrow;  // parameters are data
    unit.desc.fraction_bits = bits;
    ok = report(("yours, F = " + std::to_string(bits)).c_str(), unit) && ok;
  }
  ok = report("tcgen05 mxf8f6f4", accumulate::nvidia_blackwell_tcgen05_mxf8f6f4{}) && ok;

  accumulate::matrix_unit wide = narrow;
  wide.desc.fraction_bits = 60;
  ok = !report("yours, F = 60", wide) && ok;
  return ok ? 0 : 1;
}
