// SPDX-License-Identifier: Apache-2.0
// A format of your own in one declaration: 6 bits, 3 of exponent and 2 of mantissa as FP6, but with
// the NaN that FP6 lacks. Everything else follows: values, rounding, limits, blocks, products.
#include <iostream>
#include <limits>

#include <mxref/mxref.hpp>
#include <mxref/print.hpp>

using namespace mxref;

using FP6_with_nan = element<format_desc{3, 2, 3, specials::nan_only}>;

int main() {
  using limits = std::numeric_limits<FP6_with_nan>;
  std::cout << "largest " << limits::max() << ", smallest normal " << limits::min() << ", smallest "
            << limits::denorm_min() << ", epsilon " << limits::epsilon() << '\n';

  constexpr FP6_with_nan x = encode<FP6_with_nan>(0.9);
  static_assert(decode(x) == 0.875F);
  std::cout << "0.9 becomes " << x << '\n';

  float numbers[32];
  for (int i = 0; i < 32; ++i) numbers[i] = static_cast<float>(i * i) * 0.125F;
  const auto block = quantize<mx_block<FP6_with_nan, 32>>(numbers);
  std::cout << block << '\n';
  std::cout << "its dot product with itself is " << dot(block, block) << '\n';
  return limits::max() == encode<FP6_with_nan>(1e9) && limits::has_quiet_NaN ? 0 : 1;
}
