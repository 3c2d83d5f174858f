// SPDX-License-Identifier: Apache-2.0
// The conversions that are measured and counted, and the check of each against the scalar core.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "bench.hpp"
#include "mxref/mxref.hpp"
#include "operands.hpp"

namespace bench {

/// What conversions read and write: numbers of a matrix, its codes along rows, their numbers.
struct conversion_data {
  conversion_data(mxref::format_desc f, index_t row_count, index_t col_count)
      : format(f),
        rows(row_count),
        cols(col_count),
        in(size_of(rows, cols)),
        out(in.size()),
        codes(in.size()),
        scales(in.size() / 32) {
    const array<float> some = normal_data(std::min(in.size(), period), 1);
    for (std::size_t i = 0; i < in.size(); i += some.size()) {
      std::copy(some.begin(), some.end(), in.begin() + static_cast<std::ptrdiff_t>(i));
    }
    static_cast<void>(fast::quantize(numbers(), by_rows(), mxref::quantizer<>{}));
  }

  mxref::matrix_view<const float> numbers() const { return mxref::view(in.data(), rows, cols); }
  mxref::matrix_view<float> result() { return mxref::view(out.data(), rows, cols); }
  mxref::quantized_view by_rows() {
    return {format, 32, codes.data(), cols, scales.data(), cols / 32};
  }
  mxref::quantized_view by_columns() {
    return {format, 32, codes.data(), rows, scales.data(), rows / 32};
  }
  mxref::quantized_view by_columns_in_order() {
    return {format, 32, codes.data(), 1, scales.data(), rows / 32, cols};
  }
  mxref::operand_view quantized() { return by_rows().operand(rows, cols); }

  static constexpr std::size_t period = std::size_t{1} << 20;  ///< large data repeats itself

  mxref::format_desc format;
  index_t rows;
  index_t cols;
  array<float> in;
  array<float> out;
  array<std::uint8_t> codes;
  array<std::uint8_t> scales;
};

/// One conversion on the vector kernels and on the scalar core.
struct conversion {
  std::string name;
  std::function<void(conversion_data&)> fast;
  std::function<void(conversion_data&)> core;
};

/// f(backend, data), data the last.
template <class F>
conversion make_conversion(std::string name, F f) {
  return {std::move(name), [f](conversion_data& d) { static_cast<void>(f(fast{}, d)); },
          [f](conversion_data& d) { static_cast<void>(f(core{}, d)); }};
}

/// What is done with one set of rules.
struct quantizations {
  conversion rows;
  conversion columns;
  conversion columns_in_order;
  conversion fake_rows;
  conversion fake_columns;
};

inline constexpr mxref::quantize_options down{0, false};

template <class Q>
quantizations quantizations_of(const std::string& rules, Q q) {
  return {make_conversion(
              "quantize_rows/" + rules,
              [q](auto b, conversion_data& d) { return b.quantize(d.numbers(), d.by_rows(), q); }),
          make_conversion("quantize_columns/" + rules,
                          [q](auto b, conversion_data& d) {
                            return b.quantize(d.numbers(), d.by_columns(), q, down);
                          }),
          make_conversion("quantize_columns_in_order/" + rules,
                          [q](auto b, conversion_data& d) {
                            return b.quantize(d.numbers(), d.by_columns_in_order(), q, down);
                          }),
          make_conversion("fake_quantize_rows/" + rules,
                          [q](auto b, conversion_data& d) {
                            return b.fake_quantize(d.numbers(), d.result(), d.format, 32, q);
                          }),
          make_conversion("fake_quantize_columns/" + rules, [q](auto b, conversion_data& d) {
            return b.fake_quantize(d.numbers(), d.result(), d.format, 32, q, down);
          })};
}

/// All sets of rules, a line each.
inline std::vector<quantizations> all_quantizations() {
  using namespace mxref;
  return {quantizations_of("floor_even", quantizer<scale::floor, rounding::nearest_even>{}),
          quantizations_of("floor_away", quantizer<scale::floor, rounding::nearest_away>{}),
          quantizations_of("even_even", quantizer<scale::even, rounding::nearest_even>{}),
          quantizations_of("rceil_even", quantizer<scale::rceil, rounding::nearest_even>{}),
          quantizations_of("floor_philox", quantizer<scale::floor, rounding::philox>{})};
}

inline conversion encode() {
  return make_conversion("encode", [](auto b, conversion_data& d) {
    return b.encode(d.in.data(), d.rows * d.cols, d.format, {}, d.codes.data());
  });
}

inline conversion decode() {
  return make_conversion("decode", [](auto b, conversion_data& d) {
    return b.decode(d.codes.data(), d.rows * d.cols, d.format, d.out.data());
  });
}

inline conversion dequantize() {
  return make_conversion("dequantize", [](auto b, conversion_data& d) {
    return b.dequantize(d.quantized(), d.result());
  });
}

/// Runs c on data, and ends the program unless the scalar core agrees on every bit. Data that
/// repeats itself is compared with one period from the core, row by row.
inline void check_conversion(const conversion& c, conversion_data& data) {
  const index_t period_rows = static_cast<index_t>(conversion_data::period) / data.cols;
  conversion_data expected(data.format, std::min(data.rows, period_rows), data.cols);
  c.core(expected);
  c.fast(data);
  const auto repeats = [](const auto& whole, const auto& part) {
    bool same = true;
    for (std::size_t i = 0; i < whole.size(); i += part.size()) {
      same = same && std::memcmp(whole.data() + i, part.data(), part.size() * sizeof part[0]) == 0;
    }
    return same;
  };
  if (!repeats(data.codes, expected.codes) || !repeats(data.scales, expected.scales) ||
      !repeats(data.out, expected.out)) {
    fail("wrong result: " + c.name);
  }
}

}  // namespace bench
