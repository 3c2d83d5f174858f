// SPDX-License-Identifier: Apache-2.0
// The formats of the sweeps, each tied to its oracle table. A new format is one specialisation and
// one entry in the lists.
#ifndef MXREF_TESTS_SWEEP_FORMAT_LIST_HPP_
#define MXREF_TESTS_SWEEP_FORMAT_LIST_HPP_

#include <gtest/gtest.h>

#include <cctype>
#include <string>

#include "mxref/formats.hpp"
#include "oracle/tables.hpp"

namespace sweep {

template <class E>
struct oracle_id_of;
template <oracle::format_id I>
struct is_oracle_id {
  static constexpr oracle::format_id value = I;
};
// clang-format off
template <> struct oracle_id_of<mxref::E5M2> : is_oracle_id<oracle::format_id::e5m2> {};
template <> struct oracle_id_of<mxref::E4M3> : is_oracle_id<oracle::format_id::e4m3> {};
template <> struct oracle_id_of<mxref::E3M2> : is_oracle_id<oracle::format_id::e3m2> {};
template <> struct oracle_id_of<mxref::E2M3> : is_oracle_id<oracle::format_id::e2m3> {};
template <> struct oracle_id_of<mxref::E2M1> : is_oracle_id<oracle::format_id::e2m1> {};
template <> struct oracle_id_of<mxref::INT8> : is_oracle_id<oracle::format_id::int8> {};
template <> struct oracle_id_of<mxref::E8M0> : is_oracle_id<oracle::format_id::e8m0> {};
template <> struct oracle_id_of<mxref::UE4M3> : is_oracle_id<oracle::format_id::ue4m3> {};
template <> struct oracle_id_of<mxref::E4M3FNUZ> : is_oracle_id<oracle::format_id::e4m3fnuz> {};
template <> struct oracle_id_of<mxref::E5M2FNUZ> : is_oracle_id<oracle::format_id::e5m2fnuz> {};
template <> struct oracle_id_of<mxref::E4M3B11FNUZ> : is_oracle_id<oracle::format_id::e4m3b11fnuz> {};
template <> struct oracle_id_of<mxref::E4M3IEEE> : is_oracle_id<oracle::format_id::e4m3ieee> {};
template <> struct oracle_id_of<mxref::E3M4> : is_oracle_id<oracle::format_id::e3m4> {};
template <> struct oracle_id_of<mxref::bfloat16> : is_oracle_id<oracle::format_id::bf16> {};
template <> struct oracle_id_of<mxref::binary16> : is_oracle_id<oracle::format_id::f16> {};
template <> struct oracle_id_of<mxref::TF32> : is_oracle_id<oracle::format_id::tf32> {};
template <> struct oracle_id_of<mxref::binary32> : is_oracle_id<oracle::format_id::f32> {};
// clang-format on

template <class E>
const oracle::format& oracle_of() {
  return oracle::get(oracle_id_of<E>::value);
}

/// Formats narrower than binary32: every binary32 threshold is known.
using narrow_formats =
    testing::Types<mxref::E5M2, mxref::E4M3, mxref::E3M2, mxref::E2M3, mxref::E2M1, mxref::INT8,
                   mxref::E8M0, mxref::UE4M3, mxref::E4M3FNUZ, mxref::E5M2FNUZ, mxref::E4M3B11FNUZ,
                   mxref::E4M3IEEE, mxref::E3M4, mxref::bfloat16, mxref::binary16, mxref::TF32>;
using all_formats =
    testing::Types<mxref::E5M2, mxref::E4M3, mxref::E3M2, mxref::E2M3, mxref::E2M1, mxref::INT8,
                   mxref::E8M0, mxref::UE4M3, mxref::E4M3FNUZ, mxref::E5M2FNUZ, mxref::E4M3B11FNUZ,
                   mxref::E4M3IEEE, mxref::E3M4, mxref::bfloat16, mxref::binary16, mxref::TF32,
                   mxref::binary32>;

/// Names of typed tests: EncodeSweep/E4M3.
struct format_names {
  template <class E>
  static std::string GetName(int) {
    std::string name = oracle_of<E>().name;
    for (char& c : name) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
    return name;
  }
};

}  // namespace sweep

#endif  // MXREF_TESTS_SWEEP_FORMAT_LIST_HPP_
