// SPDX-License-Identifier: Apache-2.0
// A user's own Highway unit: their kernel and mxref's in one foreach_target file, called through
// HWY_DYNAMIC_DISPATCH and for every target that the processor has. Exit 0: equal bits.
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <vector>

#include "mxref/mxref.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "own_foreach.cpp"
#define HWY_WANT_AVX3_DL 1
#include "hwy/foreach_target.h"
#include "mxref/simd/backend.hpp"
#include "mxref/simd/kernels-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace own {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

/// Doubles x in place, quantizes it, multiplies the result with itself.
bool double_and_multiply(float* x, mxref::index_t rows, mxref::index_t depth, float* d) {
  const hn::ScalableTag<float> tag;
  const auto lanes = static_cast<mxref::index_t>(hn::Lanes(tag));
  mxref::index_t i = 0;
  for (; i + lanes <= rows * depth; i += lanes) {
    const auto v = hn::LoadU(tag, x + i);
    hn::StoreU(hn::Add(v, v), tag, x + i);
  }
  for (; i < rows * depth; ++i) x[i] += x[i];
  using backend = mxref::simd::backend<mxref::HWY_NAMESPACE::target>;
  mxref::mx_matrix<mxref::E4M3, 32> m(rows, depth);
  const mxref::quantized_view out{mxref::E4M3::desc, 32, m.codes(), depth, m.scales(),
                                  m.block_count()};
  return backend::quantize(mxref::view(x, rows, depth), out, mxref::quantizer<>{}).ok() &&
         backend::gemm(m, m, mxref::view(d, rows, rows), mxref::accumulate::exact{}).ok();
}

}  // namespace HWY_NAMESPACE
}  // namespace own
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace own {
HWY_EXPORT(double_and_multiply);
}  // namespace own

int main() {
  constexpr mxref::index_t rows = 23;
  constexpr mxref::index_t depth = 75;
  std::vector<float> start(rows * depth);
  for (std::size_t i = 0; i < start.size(); ++i) {
    start[i] = static_cast<float>(static_cast<int>(i * 37 % 101) - 50) * 0.07F;
  }
  std::vector<float> doubled = start;
  for (float& v : doubled) v += v;
  const auto m = mxref::quantize<mxref::mxfp8_e4m3>(mxref::view(doubled.data(), rows, depth));
  std::vector<float> want(rows * rows);
  bool ok = mxref::gemm(m, m, mxref::view(want.data(), rows, rows)).ok();

  int tried = 0;
  for (const std::int64_t target : hwy::SupportedAndGeneratedTargets()) {
    hwy::SetSupportedTargetsForTest(target);
    std::vector<float> x = start;
    std::vector<float> d(want.size());
    const bool same =
        HWY_DYNAMIC_DISPATCH(own::double_and_multiply)(x.data(), rows, depth, d.data()) &&
        std::memcmp(d.data(), want.data(), d.size() * sizeof(float)) == 0;
    std::printf("%s: %s\n", hwy::TargetName(target), same ? "equal" : "DIFFERENT");
    ok = ok && same;
    ++tried;
  }
  hwy::SetSupportedTargetsForTest(0);
  return ok && tried > 0 ? 0 : 1;
}
#endif
