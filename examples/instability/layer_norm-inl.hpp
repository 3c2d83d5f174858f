// SPDX-License-Identifier: Apache-2.0
// Per target: LayerNorm, one operation after the other; see layer_norm.hpp.
// Checked against plain loops, over all targets: tests/instability/student_test.cpp,
// tests/instability/trainer_test.cpp

#if defined(MXREF_INSTABILITY_LAYER_NORM_INL_) == defined(HWY_TARGET_TOGGLE)
#ifdef MXREF_INSTABILITY_LAYER_NORM_INL_
#undef MXREF_INSTABILITY_LAYER_NORM_INL_
#else
#define MXREF_INSTABILITY_LAYER_NORM_INL_
#endif

#include <cmath>

#include "vector_ops-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace instability {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

/// r(r(sum) / count).
template <class R>
HWY_INLINE float rounded_mean(R r, double sum, index_t count) {
  return r(r(static_cast<float>(sum)) / static_cast<float>(count));
}

template <class R, class S>
HWY_INLINE void norm_forward(R r, S s, const norm_forward_rows& p) {
  const half_tag dh;
  const index_t width = p.width;
  for (index_t row = 0; row < p.rows; ++row) {
    const float* HWY_RESTRICT x = p.x + row * width;
    float* HWY_RESTRICT n = p.normalized + row * width;
    float* HWY_RESTRICT out = p.out + row * width;
    const double sum = in_chains<1>(width, [&](auto& sums, int j, index_t i) HWY_ATTR {
                         sums.add(0, j, widened(r(hn::LoadU(dh, x + i))));
                       }).total(0);
    const float mean = rounded_mean(r, sum, width);
    const double squares = in_chains<1>(width, [&](auto& sums, int j, index_t i) HWY_ATTR {
                             const half_vec c =
                                 r(hn::Sub(r(hn::LoadU(dh, x + i)), hn::Set(dh, mean)));
                             hn::StoreU(c, dh, n + i);
                             sums.add(0, j, widened(r(hn::Mul(c, c))));
                           }).total(0);
    const float variance = s(rounded_mean(r, squares, width) + p.epsilon);
    const float inverse = s(1.0F / s(std::sqrt(variance)));
    p.variance[row] = variance;
    for_vectors(width, [&](index_t i) HWY_ATTR {
      const f32_vec normalized = s(hn::Mul(load(n + i), set(inverse)));
      store(normalized, n + i);
      const f32_vec scaled = s(hn::Mul(load(p.gain + i), normalized));
      store(s(hn::Add(scaled, load(p.bias + i))), out + i);
    });
  }
}

template <class R>
HWY_INLINE void norm_backward(R r, const norm_backward_rows& p) {
  const f64_tag d;
  const half_tag dh;
  const index_t width = p.width;
  const auto lanes = static_cast<index_t>(hn::Lanes(d));
  const auto add_to = [&](double* sums, half_vec x) HWY_ATTR {
    hn::StoreU(hn::Add(hn::LoadU(d, sums), widened(x)), d, sums);
  };
  for (index_t row = 0; row < p.rows; ++row) {
    const float* HWY_RESTRICT n = p.normalized + row * width;
    const float* g = p.gradient + row * width;
    const float* residual = p.residual + row * width;
    float* out = p.out + row * width;
    for (index_t i = 0; i < width; i += lanes) {
      const half_vec given = r(hn::LoadU(dh, g + i));
      add_to(p.bias_sums + i, given);
      add_to(p.gain_sums + i, r(hn::Mul(given, hn::LoadU(dh, n + i))));
    }
    const float variance = p.variance[row];
    const float deviation = r(std::sqrt(variance));
    const float inverse = r(1.0F / deviation);
    const auto through_gain = [&](index_t i) HWY_ATTR {
      return r(hn::Mul(r(hn::LoadU(dh, g + i)), hn::LoadU(dh, p.gain + i)));
    };
    const double projections = in_chains<1>(width, [&](auto& sums, int j, index_t i) HWY_ATTR {
                                 const half_vec term =
                                     r(hn::Mul(through_gain(i), hn::LoadU(dh, n + i)));
                                 sums.add(0, j, widened(r(hn::Mul(term, hn::Set(dh, deviation)))));
                               }).total(0);
    const float projection = r(rounded_mean(r, projections, width) * r(1.0F / variance));
    const auto uncentred = [&](index_t i) HWY_ATTR {
      const half_vec shift = r(hn::Mul(through_gain(i), hn::Set(dh, inverse)));
      const half_vec along = r(hn::Mul(hn::Set(dh, -projection), hn::LoadU(dh, n + i)));
      return r(hn::Add(shift, along));
    };
    const double total = in_chains<1>(width, [&](auto& sums, int j, index_t i) HWY_ATTR {
                           sums.add(0, j, widened(uncentred(i)));
                         }).total(0);
    const float mean = rounded_mean(r, total, width);
    for (index_t i = 0; i < width; i += lanes) {
      const half_vec dx = r(hn::Sub(uncentred(i), hn::Set(dh, mean)));
      hn::StoreU(hn::Add(hn::LoadU(dh, residual + i), dx), dh, out + i);
    }
  }
}

inline void norm_forward_kernel(const norm_forward_rows& p) {
  with_rounding(p.first, [&](auto r) HWY_ATTR {
    with_rounding(p.second, [&](auto s) HWY_ATTR { norm_forward(r, s, p); });
  });
}

inline void norm_backward_kernel(const norm_backward_rows& p) {
  with_rounding(p.rounding, [&](auto r) HWY_ATTR { norm_backward(r, p); });
}

inline void standardize_kernel(float* x, index_t rows, index_t width) {
  const half_tag dh;
  const no_rounding r;
  for (index_t row = 0; row < rows; ++row) {
    float* HWY_RESTRICT at = x + row * width;
    const double sum = in_chains<1>(width, [&](auto& sums, int j, index_t i) HWY_ATTR {
                         sums.add(0, j, widened(hn::LoadU(dh, at + i)));
                       }).total(0);
    const float mean = rounded_mean(r, sum, width);
    const double squares = in_chains<1>(width, [&](auto& sums, int j, index_t i) HWY_ATTR {
                             const half_vec c = hn::Sub(hn::LoadU(dh, at + i), hn::Set(dh, mean));
                             hn::StoreU(c, dh, at + i);
                             sums.add(0, j, widened(hn::Mul(c, c)));
                           }).total(0);
    const float deviation = std::sqrt(rounded_mean(r, squares, width));
    for_vectors(width,
                [&](index_t i) HWY_ATTR { store(hn::Div(load(at + i), set(deviation)), at + i); });
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace instability
HWY_AFTER_NAMESPACE();
#endif
