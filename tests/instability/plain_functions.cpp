// SPDX-License-Identifier: Apache-2.0
#include <mpfr.h>

#include "plain.hpp"

namespace plain {

namespace {

/// A number of 160 bits.
class real {
 public:
  explicit real(double x = 0) {
    mpfr_init2(value_, 160);
    mpfr_set_d(value_, x, MPFR_RNDN);
  }
  real(const real& o) : real() { mpfr_set(value_, o.value_, MPFR_RNDN); }
  real& operator=(const real& o) {
    mpfr_set(value_, o.value_, MPFR_RNDN);
    return *this;
  }
  ~real() { mpfr_clear(value_); }

  mpfr_ptr get() { return value_; }
  mpfr_srcptr get() const { return value_; }
  float rounded() const { return mpfr_get_flt(value_, MPFR_RNDN); }

 private:
  mpfr_t value_;
};

real operator*(const real& a, const real& b) {
  real r;
  mpfr_mul(r.get(), a.get(), b.get(), MPFR_RNDN);
  return r;
}
real operator+(const real& a, const real& b) {
  real r;
  mpfr_add(r.get(), a.get(), b.get(), MPFR_RNDN);
  return r;
}
real operator-(const real& a, const real& b) {
  real r;
  mpfr_sub(r.get(), a.get(), b.get(), MPFR_RNDN);
  return r;
}
real operator/(const real& a, const real& b) {
  real r;
  mpfr_div(r.get(), a.get(), b.get(), MPFR_RNDN);
  return r;
}
real exp_of(const real& x) {
  real r;
  mpfr_exp(r.get(), x.get(), MPFR_RNDN);
  return r;
}

/// The normal distribution: erfc(-x / sqrt 2) / 2.
real law(const real& x) {
  real root(2);
  mpfr_sqrt(root.get(), root.get(), MPFR_RNDN);
  real r = real(0) - x / root;
  mpfr_erfc(r.get(), r.get(), MPFR_RNDN);
  return r * real(0.5);
}
real density(const real& x) {
  real two_pi;
  mpfr_const_pi(two_pi.get(), MPFR_RNDN);
  two_pi = real(2) * two_pi;
  mpfr_sqrt(two_pi.get(), two_pi.get(), MPFR_RNDN);
  return exp_of(x * x * real(-0.5)) / two_pi;
}
real logistic(const real& x) { return real(1) / (real(1) + exp_of(real(0) - x)); }

}  // namespace

float gelu(float x) {
  const real r(x);
  return (r * law(r)).rounded();
}
float gelu_slope(float x) {
  if (x < -1000) return -0.0F;  // negative, and too small for MPFR's exponents further out
  const real r(x);
  return (law(r) + r * density(r)).rounded();
}
float silu(float x) {
  const real r(x);
  return (r * logistic(r)).rounded();
}
float silu_slope(float x) {
  if (x < -1000) return -0.0F;
  const real r(x);
  const real s = logistic(r);
  return (s + r * s * (real(1) - s)).rounded();
}
float exponential(float x) { return exp_of(real(x)).rounded(); }

}  // namespace plain
