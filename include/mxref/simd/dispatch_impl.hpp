// SPDX-License-Identifier: Apache-2.0
// Level 5. The definitions behind dispatch.hpp: all kernels for all targets. Included by exactly
// one translation unit, which links Highway; mxref::dispatch is that unit.
#ifndef MXREF_SIMD_DISPATCH_IMPL_HPP_
#define MXREF_SIMD_DISPATCH_IMPL_HPP_

#ifdef HWY_HIGHWAY_INCLUDED
#error "include mxref/simd/dispatch_impl.hpp before any Highway header"
#endif
#if defined(__FAST_MATH__)
#error "compile the unit of mxref/simd/dispatch_impl.hpp without -ffast-math"
#endif

#ifndef HWY_WANT_AVX3_DL
#define HWY_WANT_AVX3_DL 1
#endif

// Our kernels once for each target, without a change to the including file.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "mxref/simd/kernels-inl.hpp"
#include "hwy/foreach_target.h"
#include "mxref/simd/kernels-inl.hpp"

#include "hwy/targets.h"
#include "mxref/config.hpp"
#include "mxref/simd/dispatch.hpp"

MXREF_BEGIN_NAMESPACE

namespace simd {

namespace detail {

/// The tables of all targets that are both compiled and present, best first.
class table_list {
 public:
  table_list() noexcept {
    const auto present = static_cast<std::uint64_t>(hwy::SupportedTargets());
    const auto add = [&](long long target, kernel_table (*make)()) {
      if ((present & static_cast<std::uint64_t>(target)) == 0 || count_ == capacity) return;
      tables_[count_] = make();
      list_[count_] = &tables_[count_];
      ++count_;
    };
// In order of preference. A name that this release of Highway does not have is left out.
#define MXREF_ADD_TARGET(name) add(HWY_##name, N_##name::make_kernel_table);
#if defined(HWY_AVX10_2) && (HWY_TARGETS & HWY_AVX10_2)
    MXREF_ADD_TARGET(AVX10_2)
#endif
#if defined(HWY_AVX3_SPR) && (HWY_TARGETS & HWY_AVX3_SPR)
    MXREF_ADD_TARGET(AVX3_SPR)
#endif
#if defined(HWY_AVX3_ZEN4) && (HWY_TARGETS & HWY_AVX3_ZEN4)
    MXREF_ADD_TARGET(AVX3_ZEN4)
#endif
#if HWY_TARGETS & HWY_AVX3_DL
    MXREF_ADD_TARGET(AVX3_DL)
#endif
#if HWY_TARGETS & HWY_AVX3
    MXREF_ADD_TARGET(AVX3)
#endif
#if HWY_TARGETS & HWY_AVX2
    MXREF_ADD_TARGET(AVX2)
#endif
#if HWY_TARGETS & HWY_SSE4
    MXREF_ADD_TARGET(SSE4)
#endif
#if HWY_TARGETS & HWY_SSSE3
    MXREF_ADD_TARGET(SSSE3)
#endif
#if defined(HWY_SSE2) && (HWY_TARGETS & HWY_SSE2)
    MXREF_ADD_TARGET(SSE2)
#endif
#if defined(HWY_NEON_BF16) && (HWY_TARGETS & HWY_NEON_BF16)
    MXREF_ADD_TARGET(NEON_BF16)
#endif
#if HWY_TARGETS & HWY_NEON
    MXREF_ADD_TARGET(NEON)
#endif
#if defined(HWY_NEON_WITHOUT_AES) && (HWY_TARGETS & HWY_NEON_WITHOUT_AES)
    MXREF_ADD_TARGET(NEON_WITHOUT_AES)
#endif
#if HWY_TARGETS & HWY_EMU128
    MXREF_ADD_TARGET(EMU128)
#endif
#if HWY_TARGETS & HWY_SCALAR
    MXREF_ADD_TARGET(SCALAR)
#endif
#undef MXREF_ADD_TARGET
    if (count_ == 0) {  // the compiler's own target is always present
      tables_[0] = HWY_STATIC_DISPATCH(make_kernel_table)();
      list_[0] = &tables_[0];
    }
  }

  const kernel_table* const* list() const noexcept { return list_; }

 private:
  static constexpr int capacity = 15;
  kernel_table tables_[capacity]{};
  const kernel_table* list_[capacity + 1]{};
  int count_ = 0;
};

}  // namespace detail

const kernel_table* const* available_kernels() noexcept {
  static const detail::table_list tables;
  return tables.list();
}

}  // namespace simd

MXREF_END_NAMESPACE

#endif  // MXREF_SIMD_DISPATCH_IMPL_HPP_
