// SPDX-License-Identifier: Apache-2.0
// The formats of the golden vectors, with the constants that the tests compare against. They are
// typed from OFP8 1.0 and MX 1.0, not taken from the library.
#ifndef MXREF_TESTS_SWEEP_GOLDEN_FORMATS_HPP_
#define MXREF_TESTS_SWEEP_GOLDEN_FORMATS_HPP_

#include <gtest/gtest.h>

#include <cstdint>
#include <string>

#include "mxref/formats.hpp"

namespace golden {

using mxref::E3M4;
using mxref::E4M3B11FNUZ;
using mxref::E4M3FNUZ;
using mxref::E4M3IEEE;
using mxref::E5M2FNUZ;

enum class kind { ocp_nan, ieee, finite_only, fnuz, integer };

struct constants {
  const char* name;
  kind family;
  int mantissa_bits;
  std::uint64_t sign;      ///< sign bit
  std::uint64_t largest;   ///< code of the largest finite value
  std::uint64_t nan;       ///< the code the library documents for NaN
  std::uint64_t infinity;  ///< the code of Inf, else the NaN that overflow gives, else `largest`
  double largest_value;
  double quantum;           ///< smallest positive value
  double overflow_at;       ///< nearest-even: magnitudes from here on overflow ...
  bool overflow_at_itself;  ///< ... this one too
  int code_count;

  bool has_nan() const {
    return family == kind::ocp_nan || family == kind::ieee || family == kind::fnuz;
  }
};

template <class E>
struct format_constants;
// clang-format off
template <> struct format_constants<mxref::E4M3> {
  static constexpr constants value{"e4m3", kind::ocp_nan, 3, 0x80, 0x7E, 0x7F, 0x7F, 448.0, 0x1p-9, 464.0, false, 256}; };
template <> struct format_constants<mxref::E5M2> {
  static constexpr constants value{"e5m2", kind::ieee, 2, 0x80, 0x7B, 0x7F, 0x7C, 57344.0, 0x1p-16, 61440.0, true, 256}; };
template <> struct format_constants<mxref::E3M2> {
  static constexpr constants value{"e3m2", kind::finite_only, 2, 0x20, 0x1F, 0x1F, 0x1F, 28.0, 0x1p-4, 30.0, true, 64}; };
template <> struct format_constants<mxref::E2M3> {
  static constexpr constants value{"e2m3", kind::finite_only, 3, 0x20, 0x1F, 0x1F, 0x1F, 7.5, 0x1p-3, 7.75, true, 64}; };
template <> struct format_constants<mxref::E2M1> {
  static constexpr constants value{"e2m1", kind::finite_only, 1, 0x8, 0x7, 0x7, 0x7, 6.0, 0.5, 7.0, true, 16}; };
template <> struct format_constants<E4M3FNUZ> {
  static constexpr constants value{"e4m3fnuz", kind::fnuz, 3, 0x80, 0x7F, 0x80, 0x80, 240.0, 0x1p-10, 248.0, true, 256}; };
template <> struct format_constants<E5M2FNUZ> {
  static constexpr constants value{"e5m2fnuz", kind::fnuz, 2, 0x80, 0x7F, 0x80, 0x80, 57344.0, 0x1p-17, 61440.0, true, 256}; };
template <> struct format_constants<E4M3B11FNUZ> {
  static constexpr constants value{"e4m3b11fnuz", kind::fnuz, 3, 0x80, 0x7F, 0x80, 0x80, 30.0, 0x1p-13, 31.0, true, 256}; };
template <> struct format_constants<E4M3IEEE> {
  static constexpr constants value{"e4m3ieee", kind::ieee, 3, 0x80, 0x77, 0x7F, 0x78, 240.0, 0x1p-9, 248.0, true, 256}; };
template <> struct format_constants<E3M4> {
  static constexpr constants value{"e3m4", kind::ieee, 4, 0x80, 0x6F, 0x7F, 0x70, 15.5, 0x1p-6, 15.75, true, 256}; };
template <> struct format_constants<mxref::INT8> {
  static constexpr constants value{"int8", kind::integer, 0, 0x80, 0x7F, 0x00, 0x7F, 127.0 / 64, 0x1p-6, 127.5 / 64, true, 256}; };
// clang-format on

template <class E>
inline constexpr const constants& of = format_constants<E>::value;

using float_formats =
    ::testing::Types<mxref::E4M3, mxref::E5M2, mxref::E3M2, mxref::E2M3, mxref::E2M1, E4M3FNUZ,
                     E5M2FNUZ, E4M3B11FNUZ, E4M3IEEE, E3M4>;
using ocp_float_formats =
    ::testing::Types<mxref::E4M3, mxref::E5M2, mxref::E3M2, mxref::E2M3, mxref::E2M1>;

/// Suites are named by format: GoldenEncode/e4m3.
struct format_names {
  template <class E>
  static std::string GetName(int) {
    return of<E>.name;
  }
};

}  // namespace golden

#endif  // MXREF_TESTS_SWEEP_GOLDEN_FORMATS_HPP_
