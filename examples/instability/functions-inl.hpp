// SPDX-License-Identifier: Apache-2.0
// Per target: activation functions with their derivatives.
// Checked: tests/instability/elementary_test.cpp, tests/instability/student_test.cpp,
// tests/instability/trainer_test.cpp

#if defined(MXREF_INSTABILITY_FUNCTIONS_INL_) == defined(HWY_TARGET_TOGGLE)
#ifdef MXREF_INSTABILITY_FUNCTIONS_INL_
#undef MXREF_INSTABILITY_FUNCTIONS_INL_
#else
#define MXREF_INSTABILITY_FUNCTIONS_INL_
#endif

#include "vector_ops-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace instability {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

/// Calls f(x, slope) -> value in binary64 for all numbers; a NaN gives a NaN.
template <class F>
HWY_INLINE void for_exact(const float* in, index_t count, float* out, float* slope, const F& f) {
  const half_tag dh;
  const f64_tag d;
  const auto lanes = static_cast<index_t>(hn::Lanes(d));
  for (index_t i = 0; i < count; i += lanes) {
    const f64_vec x = widened(hn::LoadU(dh, in + i));
    const auto number = hn::Eq(x, x);
    f64_vec derivative = x;
    const f64_vec value = f(hn::IfThenElseZero(number, x), derivative);
    hn::StoreU(narrowed(hn::IfThenElse(number, value, x)), dh, out + i);
    hn::StoreU(narrowed(hn::IfThenElse(number, derivative, x)), dh, slope + i);
  }
}

/// x Phi(x), and Phi(x) + x phi(x), each rounded once.
HWY_INLINE void gelu_exact(const float* in, index_t count, float* out, float* slope) {
  for_exact(in, count, out, slope, [](f64_vec x, f64_vec& derivative) HWY_ATTR {
    const f64_vec near = clamp(x, elementary::normal_limit);
    f64_vec density = x;
    const f64_vec law = normal_law(near, density);
    derivative = hn::Add(law, hn::Mul(near, density));
    // Above the limit the value is x itself; below it, a zero.
    return hn::Mul(hn::Max(x, constant(-elementary::normal_limit)), law);
  });
}

/// x s and s + x s (1 - s), s = 1 / (1 + e^-x), each rounded once.
HWY_INLINE void silu_exact(const float* in, index_t count, float* out, float* slope) {
  for_exact(in, count, out, slope, [](f64_vec x, f64_vec& derivative) HWY_ATTR {
    const f64_vec s = logistic(x);
    const f64_vec rest = logistic(hn::Sub(hn::Zero(f64_tag()), x));
    const f64_vec near = clamp(x, elementary::exp_limit);
    derivative = hn::Add(s, hn::Mul(hn::Mul(near, s), rest));
    return hn::Mul(hn::Max(x, constant(-elementary::exp_limit)), s);
  });
}

/// e^x rounded to binary32.
HWY_INLINE half_vec exp_of_half(half_vec x) {
  const f64_vec wide = widened(x);
  const auto number = hn::Eq(wide, wide);
  const f64_vec e = exp_of(clamp(hn::IfThenElseZero(number, wide), elementary::exp_limit));
  return narrowed(hn::IfThenElse(number, e, wide));
}

/// 1 / (1 + e^-z), every operation rounded.
template <class R>
HWY_INLINE half_vec rounded_logistic(R r, half_vec z) {
  const half_tag d;
  const half_vec one = hn::Set(d, 1.0F);
  const half_vec e = r(exp_of_half(hn::Neg(z)));
  return r(hn::Div(one, r(hn::Add(e, one))));
}

/// GELU by the logistic function of a cubic, every operation rounded (microxcaling's GELU).
template <class R, class B>
HWY_INLINE void gelu_rounded(R r, B b, half_vec in, half_vec& out, half_vec& slope) {
  const half_tag d;
  const half_vec one = hn::Set(d, 1.0F);
  const half_vec scale = hn::Set(d, elementary::gelu_scale);
  const half_vec x = r(in);
  half_vec z = r(hn::Mul(r(hn::Mul(x, x)), x));
  z = r(hn::Add(r(hn::Mul(hn::Set(d, elementary::gelu_cube), z)), x));
  const half_vec phi = rounded_logistic(r, r(hn::Mul(scale, z)));
  out = r(hn::Mul(x, phi));
  const half_vec given = b(in);
  const half_vec change = b(hn::Mul(phi, b(hn::Sub(one, phi))));
  half_vec inner = b(hn::Mul(given, given));
  inner = b(hn::Add(scale, b(hn::Mul(hn::Set(d, elementary::gelu_cube3), inner))));
  slope = b(hn::Add(phi, b(hn::Mul(given, b(hn::Mul(inner, change))))));
}

/// SiLU, every operation rounded (microxcaling's SiLU).
template <class R, class B>
HWY_INLINE void silu_rounded(R r, B b, half_vec in, half_vec& out, half_vec& slope) {
  const half_vec one = hn::Set(half_tag(), 1.0F);
  const half_vec x = r(in);
  const half_vec s = rounded_logistic(r, x);
  out = r(hn::Mul(x, s));
  slope = b(hn::Add(s, b(hn::Mul(out, b(hn::Sub(one, s))))));
}

/// f(r, b, x, out, slope) for all numbers.
template <class F>
HWY_INLINE void for_rounded(vector_rounding forward, vector_rounding backward, const float* in,
                            index_t count, float* out, float* slope, const F& f) {
  const half_tag d;
  const auto lanes = static_cast<index_t>(hn::Lanes(d));
  with_rounding(forward, [&](auto r) HWY_ATTR {
    with_rounding(backward, [&](auto b) HWY_ATTR {
      for (index_t i = 0; i < count; i += lanes) {
        const half_vec x = hn::LoadU(d, in + i);
        half_vec value = x;
        half_vec derivative = x;
        f(r, b, x, value, derivative);
        hn::StoreU(value, d, out + i);
        hn::StoreU(derivative, d, slope + i);
      }
    });
  });
}

inline void apply_kernel(function f, vector_rounding forward, vector_rounding backward,
                         const float* in, index_t count, float* out, float* slope) {
  switch (f) {
    case function::gelu:
      return gelu_exact(in, count, out, slope);
    case function::silu:
      return silu_exact(in, count, out, slope);
    case function::gelu_emulated:
      return for_rounded(forward, backward, in, count, out, slope,
                         [](auto r, auto b, half_vec x, half_vec& y, half_vec& s)
                             HWY_ATTR { gelu_rounded(r, b, x, y, s); });
    case function::silu_emulated:
      return for_rounded(forward, backward, in, count, out, slope,
                         [](auto r, auto b, half_vec x, half_vec& y, half_vec& s)
                             HWY_ATTR { silu_rounded(r, b, x, y, s); });
    case function::relu:
      return for_rounded(forward, backward, in, count, out, slope,
                         [](auto r, auto, half_vec x, half_vec& y, half_vec& s) HWY_ATTR {
                           const half_tag d;
                           const auto positive = hn::Gt(x, hn::Zero(d));
                           // A NaN stays one (hn::Ne may be false for it).
                           const auto kept = hn::IfThenElse(hn::Eq(x, x), hn::Zero(d), x);
                           y = hn::IfThenElse(positive, r(x), kept);
                           s = hn::IfThenElseZero(positive, hn::Set(d, 1.0F));
                         });
    case function::identity:
      return for_rounded(forward, backward, in, count, out, slope,
                         [](auto r, auto, half_vec x, half_vec& y, half_vec& s) HWY_ATTR {
                           y = r(x);
                           s = hn::Set(half_tag(), 1.0F);
                         });
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace instability
HWY_AFTER_NAMESPACE();
#endif
