// SPDX-License-Identifier: Apache-2.0
// Side door: elements and blocks in streams.
#ifndef MXREF_PRINT_HPP_
#define MXREF_PRINT_HPP_

#include <charconv>
#include <cstddef>
#include <ostream>
#include <string_view>

#include "mxref/block.hpp"
#include "mxref/config.hpp"
#include "mxref/element.hpp"

MXREF_BEGIN_NAMESPACE

/// The value in the shortest digits that identify it in binary64: 0.875, -0, 448, inf, nan. The
/// stream's width and fill apply.
template <format_desc D>
std::ostream& operator<<(std::ostream& out, element<D> e) {
  char text[32];
  const auto [end, error] = std::to_chars(text, text + sizeof text, decode<double>(e));
  static_cast<void>(error);  // no double has more characters
  return out << std::string_view(text, static_cast<std::size_t>(end - text));
}

/// 2^3 x [1 -0.5 0 448]: the scale, and the elements without it.
template <class E, int B, class S>
std::ostream& operator<<(std::ostream& out, const mx_block<E, B, S>& b) {
  if constexpr (S::desc.code == encoding::exponent_only) {
    if (b.scale().to_number().is_nan()) {
      out << "nan";
    } else {
      out << "2^" << b.scale().to_number().exp;
    }
  } else {
    out << b.scale();
  }
  out << " x [";
  for (int i = 0; i < B; ++i) out << (i == 0 ? "" : " ") << b.element(i);
  return out << ']';
}

MXREF_END_NAMESPACE

#endif  // MXREF_PRINT_HPP_
