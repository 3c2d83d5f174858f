// SPDX-License-Identifier: Apache-2.0
// The C++ headers of ml_dtypes.
#include "ml_dtypes/include/mxfloat.h"

#include "converters.hpp"

namespace bench {

namespace {

template <class T>
void convert(const array<float>& in, array<std::uint8_t>& out) {
  for (std::size_t i = 0; i < in.size(); ++i) out[i] = T(in[i]).rep();
}

}  // namespace

converter ml_dtypes_converter(const std::string& format) {
  if (format == "e4m3") return convert<ml_dtypes::float8_e4m3fn>;
  if (format == "e5m2") return convert<ml_dtypes::float8_e5m2>;
  if (format == "e3m2") return convert<ml_dtypes::float6_e3m2fn>;
  if (format == "e2m3") return convert<ml_dtypes::float6_e2m3fn>;
  if (format == "e2m1") return convert<ml_dtypes::float4_e2m1fn>;
  return nullptr;
}

}  // namespace bench
