// SPDX-License-Identifier: Apache-2.0
// Per target: exp, log, sine and cosine, the normal distribution, in binary64. See elementary.hpp.
// Checked against MPFR, and over all targets: tests/instability/elementary_test.cpp

#if defined(MXREF_INSTABILITY_ELEMENTARY_INL_) == defined(HWY_TARGET_TOGGLE)
#ifdef MXREF_INSTABILITY_ELEMENTARY_INL_
#undef MXREF_INSTABILITY_ELEMENTARY_INL_
#else
#define MXREF_INSTABILITY_ELEMENTARY_INL_
#endif

#include <cstddef>
#include <cstdint>

#include "elementary.hpp"
#include "mxref/simd/highway.hpp"

HWY_BEFORE_NAMESPACE();
namespace instability {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using f64_tag = hn::ScalableTag<double>;
using u64_tag = hn::ScalableTag<std::uint64_t>;
using f64_vec = hn::Vec<f64_tag>;
using u64_vec = hn::Vec<u64_tag>;

using half_tag = hn::Rebind<float, f64_tag>;  ///< as many binary32 lanes as there are binary64 ones
using half_vec = hn::Vec<half_tag>;

HWY_INLINE f64_vec constant(double x) { return hn::Set(f64_tag(), x); }

HWY_INLINE f64_vec widened(half_vec x) { return hn::PromoteTo(f64_tag(), x); }

/// To binary32, nearest even, overflow to Inf.
HWY_INLINE half_vec narrowed(f64_vec x) {
#if MXREF_TILE_KERNELS
  return hn::DemoteTo(half_tag(), x);
#else  // Highway without vectors gives the largest finite number for Inf
  HWY_ALIGN double wide[HWY_MAX_BYTES / sizeof(double)];
  HWY_ALIGN float narrow[HWY_MAX_BYTES / sizeof(double)];
  hn::Store(x, f64_tag(), wide);
  for (std::size_t i = 0; i < hn::Lanes(f64_tag()); ++i) narrow[i] = static_cast<float>(wide[i]);
  return hn::Load(half_tag(), narrow);
#endif
}

/// terms[I] + xx (terms[I + 2] + xx (...)).
template <std::size_t I, std::size_t N>
HWY_INLINE f64_vec every_second_term(const double (&terms)[N], f64_vec xx) {
  if constexpr (I + 2 >= N) {
    return constant(terms[I]);
  } else {
    return hn::Add(hn::Mul(every_second_term<I + 2>(terms, xx), xx), constant(terms[I]));
  }
}

/// terms[0] + x terms[1] + ...: even and odd powers apart, two chains of half the length.
template <std::size_t N>
HWY_INLINE f64_vec polynomial(const double (&terms)[N], f64_vec x) {
  const f64_vec xx = hn::Mul(x, x);
  return hn::Add(hn::Mul(every_second_term<1>(terms, xx), x), every_second_term<0>(terms, xx));
}

/// e^x, |x| <= exp_limit.
HWY_INLINE f64_vec exp_of(f64_vec x) {
  const u64_tag du;
  const f64_vec shift = constant(elementary::to_integer);
  const f64_vec shifted = hn::Add(hn::Mul(x, constant(elementary::log2_e)), shift);
  const f64_vec n = hn::Sub(shifted, shift);
  const f64_vec r = hn::Sub(hn::Sub(x, hn::Mul(n, constant(elementary::ln2_high))),
                            hn::Mul(n, constant(elementary::ln2_low)));
  const u64_vec p = hn::BitCast(du, polynomial(elementary::exp_terms, r));
  return hn::BitCast(f64_tag(), hn::Add(p, hn::ShiftLeft<52>(hn::BitCast(du, shifted))));
}

/// x within -limit .. limit. Not for NaN.
HWY_INLINE f64_vec clamp(f64_vec x, double limit) {
  return hn::Max(hn::Min(x, constant(limit)), constant(-limit));
}

/// 1 / (1 + e^-x).
HWY_INLINE f64_vec logistic(f64_vec x) {
  const f64_vec one = constant(1.0);
  const f64_vec minus = hn::Sub(hn::Zero(f64_tag()), clamp(x, elementary::exp_limit));
  return hn::Div(one, hn::Add(one, exp_of(minus)));
}

/// The distribution and the density of the normal law at x within normal_limit.
HWY_INLINE f64_vec normal_law(f64_vec x, f64_vec& density) {
  const f64_tag d;
  const f64_vec a = hn::Abs(x);
  const f64_vec e = exp_of(hn::Mul(hn::Mul(a, a), constant(-0.5)));
  const f64_vec z = hn::Mul(a, constant(elementary::sqrt_half));
  const f64_vec pole = constant(elementary::erfcx_pole);
  const f64_vec q = hn::Div(hn::Sub(z, pole), hn::Add(z, pole));
  const f64_vec scaled = polynomial(elementary::erfcx_terms, q);
  const f64_vec one = constant(1.0);
  const f64_vec erfcx = hn::Div(scaled, hn::Add(one, hn::Add(z, z)));
  const f64_vec tail = hn::Mul(constant(0.5), hn::Mul(e, erfcx));
  density = hn::Mul(e, constant(elementary::density_at_0));
  return hn::IfThenElse(hn::Lt(x, hn::Zero(d)), tail, hn::Sub(one, tail));
}

/// log(x) of a normal positive number.
HWY_INLINE f64_vec log_of(f64_vec x) {
  const f64_tag d;
  const u64_tag du;
  // The exponent, rounded so that m lies around 1; 2^52 makes a number of it.
  constexpr std::uint64_t root = 0x3FE6A09E667F3BCDU;  // sqrt(1/2)
  constexpr std::uint64_t bias = 1024;
  const u64_vec bits = hn::BitCast(du, x);
  const u64_vec up = hn::Add(hn::Sub(bits, hn::Set(du, root)), hn::Set(du, bias << 52));
  const u64_vec exponent = hn::ShiftRight<52>(up);
  const u64_vec lifted = hn::Or(exponent, hn::Set(du, std::uint64_t{0x4330000000000000U}));
  const f64_vec n = hn::Sub(hn::BitCast(d, lifted), constant(0x1p52 + static_cast<double>(bias)));
  const u64_vec moved = hn::ShiftLeft<52>(hn::Sub(exponent, hn::Set(du, bias)));
  const f64_vec m = hn::BitCast(d, hn::Sub(bits, moved));
  const f64_vec one = constant(1.0);
  const f64_vec s = hn::Div(hn::Sub(m, one), hn::Add(m, one));
  const f64_vec series = hn::Mul(s, polynomial(elementary::log_terms, hn::Mul(s, s)));
  return hn::Add(hn::Mul(n, constant(elementary::ln2_high)),
                 hn::Add(hn::Mul(n, constant(elementary::ln2_low)), series));
}

/// Cosine and sine of 2 pi w / 2^32, w in the low 32 bits of each lane.
HWY_INLINE void circle(u64_vec w, f64_vec& cosine, f64_vec& sine) {
  const f64_tag d;
  const u64_tag du;
  const auto set = [&](std::uint64_t v) HWY_ATTR { return hn::Set(du, v); };
  // Quadrants around 0, 1/4, 1/2, 3/4 of the circle; r is an angle within -pi/4 .. pi/4.
  const u64_vec t = hn::Add(w, set(std::uint64_t{1} << 29));
  const u64_vec low = hn::And(t, set((std::uint64_t{1} << 30) - 1));
  const f64_vec part =
      hn::Sub(hn::BitCast(d, hn::Or(low, set(0x4330000000000000U))), constant(0x1p52 + 0x1p29));
  const f64_vec r = hn::Mul(part, constant(elementary::pi * 0x1p-31));
  const f64_vec rr = hn::Mul(r, r);
  const f64_vec s = hn::Mul(r, polynomial(elementary::sin_terms, rr));
  const f64_vec c = polynomial(elementary::cos_terms, rr);
  const u64_vec bit30 = hn::And(t, set(std::uint64_t{1} << 30));
  const auto odd = hn::RebindMask(d, hn::Ne(bit30, hn::Zero(du)));
  // Signs: cosine in quadrants 1 and 2, sine in 2 and 3.
  const u64_vec bit31 = hn::And(t, set(std::uint64_t{1} << 31));
  const u64_vec sine_sign = hn::ShiftLeft<32>(bit31);
  const u64_vec cosine_sign = hn::Xor(sine_sign, hn::ShiftLeft<33>(bit30));
  const auto with_sign = [&](f64_vec v, u64_vec sign)
                             HWY_ATTR { return hn::BitCast(d, hn::Xor(hn::BitCast(du, v), sign)); };
  cosine = with_sign(hn::IfThenElse(odd, s, c), cosine_sign);
  sine = with_sign(hn::IfThenElse(odd, c, s), sine_sign);
}

}  // namespace HWY_NAMESPACE
}  // namespace instability
HWY_AFTER_NAMESPACE();
#endif
