// SPDX-License-Identifier: Apache-2.0
// Level 5. The floating-point control register as the vector kernels need it, whatever the caller
// has set: nearest even, no flush-to-zero, no denormals-are-zero, no traps.
#ifndef MXREF_SIMD_CONTROL_REGISTER_HPP_
#define MXREF_SIMD_CONTROL_REGISTER_HPP_

#include <cstdint>

#include "mxref/config.hpp"

#if defined(__SSE2__) || defined(_M_X64)
#include <xmmintrin.h>
#elif !defined(__aarch64__)
#include <cfenv>
#endif

MXREF_BEGIN_NAMESPACE

namespace simd {

/// Sets the register for its lifetime and puts the caller's state back, sticky flags included.
/// The register belongs to a thread: every thread that runs a kernel makes its own guard.
/// Checked: tests/target/control_register_test.cpp
class control_register_guard {
 public:
#if defined(__SSE2__) || defined(_M_X64)
  control_register_guard() noexcept : saved_(_mm_getcsr()) { _mm_setcsr(all_masked); }
  ~control_register_guard() { _mm_setcsr(saved_); }

 private:
  static constexpr unsigned all_masked = 0x1F80;  // MXCSR after reset
  unsigned saved_;
#elif defined(__aarch64__)
  control_register_guard() noexcept : saved_control_(control()), saved_status_(status()) {
    set_control(0);
  }
  ~control_register_guard() {
    set_control(saved_control_);
    set_status(saved_status_);
  }

 private:
  static std::uint64_t control() noexcept {
    std::uint64_t value;
    asm volatile("mrs %0, fpcr" : "=r"(value));
    return value;
  }
  static std::uint64_t status() noexcept {
    std::uint64_t value;
    asm volatile("mrs %0, fpsr" : "=r"(value));
    return value;
  }
  static void set_control(std::uint64_t value) noexcept {
    asm volatile("msr fpcr, %0" ::"r"(value));
  }
  static void set_status(std::uint64_t value) noexcept {
    asm volatile("msr fpsr, %0" ::"r"(value));
  }
  std::uint64_t saved_control_;
  std::uint64_t saved_status_;
#else
  control_register_guard() noexcept {
    std::fegetenv(&saved_);
    std::fesetenv(FE_DFL_ENV);
  }
  ~control_register_guard() { std::fesetenv(&saved_); }

 private:
  std::fenv_t saved_;
#endif

 public:
  control_register_guard(const control_register_guard&) = delete;
  control_register_guard& operator=(const control_register_guard&) = delete;
};

}  // namespace simd

MXREF_END_NAMESPACE

#endif  // MXREF_SIMD_CONTROL_REGISTER_HPP_
