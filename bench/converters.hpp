// SPDX-License-Identifier: Apache-2.0
// Scalar libraries that convert binary32 to the element formats; compiled where CMake is told of
// their headers.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "array.hpp"

namespace bench {

/// Converts all numbers to codes, nearest even.
using converter = void (*)(const array<float>& in, array<std::uint8_t>& out);

/// Null where the library lacks the format.
converter ml_dtypes_converter(const std::string& format);
converter cuda_converter(const std::string& format);

struct library {
  const char* name;
  converter (*find)(const std::string& format);
};

inline std::vector<library> libraries() {
  return {
#ifdef MXREF_BENCH_ML_DTYPES
      {"ml_dtypes", ml_dtypes_converter},
#endif
#ifdef MXREF_BENCH_CUDA
      {"cuda", cuda_converter},
#endif
  };
}

}  // namespace bench
