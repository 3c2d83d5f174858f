// SPDX-License-Identifier: Apache-2.0
// All vector operations, compiled for every target that has them.
// Vectors of unknown length are left out: sums keep arrays of vectors.
#define HWY_DISABLED_TARGETS (HWY_SVE | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128 | HWY_RVV)
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "vector_kernels.cpp"
#define HWY_WANT_AVX3_DL 1
#include "hwy/foreach_target.h"
#include "functions-inl.hpp"
#include "layer_norm-inl.hpp"
#include "vector_ops-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace instability {
namespace HWY_NAMESPACE {

/// The operations of this target.
const vector_kernels* make_table() {
  static const vector_kernels table{
      hwy::TargetName(HWY_TARGET), round_kernel,        apply_kernel,         multiply_kernel,
      add_branch_kernel,           norm_forward_kernel, norm_backward_kernel, add_columns_kernel,
      standardize_kernel,          adam_kernel,         sgd_kernel,           moments_kernel,
      square_error_kernel,         normals_kernel,      uniforms_kernel};
  return &table;
}

}  // namespace HWY_NAMESPACE
}  // namespace instability
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include <vector>

namespace instability {
HWY_EXPORT(make_table);

namespace {

/// Every target's table through Highway's own dispatch, best first.
std::vector<const vector_kernels*> find_tables() {
  std::vector<const vector_kernels*> list;
  for (const auto target : hwy::SupportedAndGeneratedTargets()) {
    hwy::SetSupportedTargetsForTest(target);
    list.push_back(HWY_DYNAMIC_DISPATCH(make_table)());
  }
  hwy::SetSupportedTargetsForTest(0);
  list.push_back(nullptr);
  return list;
}

}  // namespace

const vector_kernels* const* available_vector_kernels() noexcept {
  static const std::vector<const vector_kernels*> list = find_tables();
  return list.data();
}

}  // namespace instability
#endif
