// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>

#include "plain.hpp"

namespace plain {

using instability::element;
using instability::scale_choice;
using instability::vector_rounding;

float to_bfloat16(vector_rounding r, float x) {
  namespace rounding = mxref::rounding;
  namespace overflow = mxref::overflow;
  if (r == vector_rounding::off) return x;
  const auto code =
      r == vector_rounding::nearest_away
          ? mxref::encode<mxref::bfloat16>(x, rounding::nearest_away{}, overflow::nonsaturating{})
          : mxref::encode<mxref::bfloat16>(x, rounding::nearest_even{}, overflow::nonsaturating{});
  return mxref::decode(code);
}

namespace {

/// One more than the floor rule where the largest magnitude is above the largest element.
struct bump {
  mxref::E8M0 operator()(const mxref::number& amax, mxref::format_desc f) const {
    const mxref::E8M0 low = mxref::scale::floor{}(amax, f);
    const double most = mxref::from_number<double>(mxref::to_number(f, f.max_magnitude()));
    const double top = std::ldexp(mxref::from_number<double>(amax), 127 - low.code);
    return mxref::E8M0{static_cast<std::uint8_t>(low.code + (top > most ? 1 : 0))};
  }
};

template <class Scale>
void quantize_row(const float* in, index_t count, const instability::role_precision& role,
                  const mxref::rounding::dynamic& rounding, mxref::element_order order,
                  const Scale& scale, float* out) {
  const mxref::format_desc f = instability::desc_of(role.format);
  const mxref::quantizer<Scale, mxref::rounding::dynamic> q{scale, rounding};
  for (index_t k = 0; k < count; k += role.block) {
    const int n = static_cast<int>(std::min<index_t>(role.block, count - k));
    mxref::E8M0 s;
    std::vector<std::uint8_t> codes(static_cast<std::size_t>(n));
    const mxref::element_order from{order(k), order.step};
    mxref::quantize_block(in + k, 1, n, f, q, s, codes.data(), 1, from);
    for (int i = 0; i < n; ++i) {
      const double value =
          mxref::from_number<double>(mxref::to_number(f, codes[static_cast<std::size_t>(i)]));
      out[k + i] = static_cast<float>(std::ldexp(value, s.code - 127));
    }
  }
}

}  // namespace

matrix quantized(const matrix& x, const instability::role_precision& role, vector_rounding r,
                 std::uint64_t seed, int random_bits, bool transposed_source) {
  if (role.format == element::fp32) return x;
  const mxref::rounding::dynamic rounding{role.rounding, seed, random_bits};
  matrix out = x;
  for (index_t row = 0; row < x.rows; ++row) {
    const auto first = static_cast<std::uint64_t>(transposed_source ? row : row * x.cols);
    const auto step = static_cast<std::uint64_t>(transposed_source ? x.rows : 1);
    const mxref::element_order order{first, step};
    float* const line = &out.values[static_cast<std::size_t>(row * x.cols)];
    if (role.format == element::bf16) {
      for (index_t k = 0; k < x.cols; ++k) {
        line[k] = mxref::decode(mxref::encode<mxref::bfloat16>(line[k], rounding.at(order(k)),
                                                               mxref::overflow::nonsaturating{}));
      }
      continue;
    }
    for (index_t k = 0; k < x.cols; ++k) line[k] = to_bfloat16(r, line[k]);
    const std::vector<float> in(line, line + x.cols);
    const auto with = [&](const auto& scale) {
      quantize_row(in.data(), x.cols, role, rounding, order, scale, line);
    };
    switch (role.scale) {
      case scale_choice::ceil:
        with(mxref::scale::ceil{});
        break;
      case scale_choice::even:
        with(mxref::scale::even{});
        break;
      case scale_choice::rceil:
        with(mxref::scale::rceil{});
        break;
      case scale_choice::bump:
        with(bump{});
        break;
      default:
        with(mxref::scale::floor{});
    }
  }
  return out;
}

}  // namespace plain
