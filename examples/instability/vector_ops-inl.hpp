// SPDX-License-Identifier: Apache-2.0
// Per target: rounding to bfloat16, sums in 16 chains, and the elementwise operations of training.
// Checked against plain loops, over all targets: tests/instability/student_test.cpp,
// tests/instability/trainer_test.cpp

#if defined(MXREF_INSTABILITY_VECTOR_OPS_INL_) == defined(HWY_TARGET_TOGGLE)
#ifdef MXREF_INSTABILITY_VECTOR_OPS_INL_
#undef MXREF_INSTABILITY_VECTOR_OPS_INL_
#else
#define MXREF_INSTABILITY_VECTOR_OPS_INL_
#endif

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "elementary-inl.hpp"
#include "mxref/simd/highway.hpp"
#include "mxref/simd/philox-inl.hpp"
#include "vector_kernels.hpp"

HWY_BEFORE_NAMESPACE();
namespace instability {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using f32_tag = hn::ScalableTag<float>;
using f32_vec = hn::Vec<f32_tag>;

/// Nothing, ties away, ties to even: for whole vectors, halves, and single numbers.
struct no_rounding {
  template <class V>
  HWY_INLINE V operator()(V x) const {
    return x;
  }
};

template <bool Even>
struct to_bfloat16 {
  template <class V>
  HWY_INLINE V operator()(V x) const {
    const hn::DFromV<V> d;
    const hn::RebindToUnsigned<decltype(d)> du;
    const auto bits = hn::BitCast(du, x);
    auto increment = hn::Set(du, Even ? 0x7FFFU : 0x8000U);
    if constexpr (Even) {
      increment = hn::Add(increment, hn::And(hn::ShiftRight<16>(bits), hn::Set(du, 1U)));
    }
    return hn::BitCast(d, hn::And(hn::Add(bits, increment), hn::Set(du, 0xFFFF0000U)));
  }
  HWY_INLINE float operator()(float x) const {
    const auto bits = mxref::bit_cast<std::uint32_t>(x);
    const std::uint32_t increment = Even ? 0x7FFFU + (bits >> 16 & 1U) : 0x8000U;
    return mxref::bit_cast<float>((bits + increment) & 0xFFFF0000U);
  }
};

/// Calls f with the rounder of a mode.
template <class F>
HWY_INLINE void with_rounding(vector_rounding r, const F& f) {
  switch (r) {
    case vector_rounding::off:
      return f(no_rounding());
    case vector_rounding::nearest_away:
      return f(to_bfloat16<false>());
    case vector_rounding::nearest_even:
      return f(to_bfloat16<true>());
  }
}

/// Sums of N kinds of terms in 16 chains each.
template <int N>
class chain_sums {
 public:
  static constexpr int lanes = static_cast<int>(hn::MaxLanes(f64_tag()));
  static constexpr int vectors = 16 / lanes;

  HWY_INLINE chain_sums() {
    for (int k = 0; k < N; ++k) {
      for (int j = 0; j < vectors; ++j) sums_[k][j] = hn::Zero(f64_tag());
    }
  }
  HWY_INLINE void add(int k, int j, f64_vec x) { sums_[k][j] = hn::Add(sums_[k][j], x); }
  double total(int k) const {
    HWY_ALIGN double chains[16];
    for (int j = 0; j < vectors; ++j) hn::Store(sums_[k][j], f64_tag(), chains + j * lanes);
    for (int h = 8; h > 0; h /= 2) {
      for (int j = 0; j < h; ++j) chains[j] += chains[j + h];
    }
    return chains[0];
  }

 private:
  f64_vec sums_[N][vectors];
};

/// Calls f(sums, j, i) for every vector of binary64 lanes at position i; j says which chains.
template <int N, class F>
HWY_INLINE chain_sums<N> in_chains(index_t count, const F& f) {
  using sums_type = chain_sums<N>;
  sums_type sums;
  for (index_t i = 0; i < count; i += 16) {
    HWY_UNROLL(16)
    for (int j = 0; j < sums_type::vectors; ++j) f(sums, j, i + j * sums_type::lanes);
  }
  return sums;
}

template <class F>
HWY_INLINE void for_vectors(index_t count, const F& f) {
  const auto lanes = static_cast<index_t>(hn::Lanes(f32_tag()));
  for (index_t i = 0; i < count; i += lanes) f(i);
}

HWY_INLINE f32_vec load(const float* p) { return hn::LoadU(f32_tag(), p); }
HWY_INLINE void store(f32_vec x, float* p) { hn::StoreU(x, f32_tag(), p); }
HWY_INLINE f32_vec set(float x) { return hn::Set(f32_tag(), x); }

inline void round_kernel(vector_rounding r, const float* in, index_t count, float* out) {
  with_rounding(r, [&](auto round_to) HWY_ATTR {
    for_vectors(count, [&](index_t i) HWY_ATTR { store(round_to(load(in + i)), out + i); });
  });
}

inline void multiply_kernel(vector_rounding given, vector_rounding product, const float* g,
                            const float* f, index_t count, float* out) {
  with_rounding(given, [&](auto round_given) HWY_ATTR {
    with_rounding(product, [&](auto round_product) HWY_ATTR {
      for_vectors(count, [&](index_t i) HWY_ATTR {
        store(round_product(hn::Mul(round_given(load(g + i)), load(f + i))), out + i);
      });
    });
  });
}

inline void add_branch_kernel(vector_rounding r, const float* a, const float* y, const float* bias,
                              index_t rows, index_t width, float* out) {
  with_rounding(r, [&](auto round_to) HWY_ATTR {
    for (index_t row = 0; row < rows; ++row) {
      const index_t at = row * width;
      for_vectors(width, [&](index_t i) HWY_ATTR {
        const f32_vec b = round_to(load(bias + i));
        const f32_vec branch = round_to(hn::Add(round_to(load(y + at + i)), b));
        store(hn::Add(load(a + at + i), branch), out + at + i);
      });
    }
  });
}

inline void add_columns_kernel(vector_rounding r, const float* x, index_t rows, index_t width,
                               double* sums) {
  const f64_tag d;
  const half_tag dh;
  const auto lanes = static_cast<index_t>(hn::Lanes(d));
  with_rounding(r, [&](auto round_to) HWY_ATTR {
    for (index_t row = 0; row < rows; ++row) {
      for (index_t c = 0; c < width; c += lanes) {
        const f64_vec term = widened(round_to(hn::LoadU(dh, x + row * width + c)));
        hn::StoreU(hn::Add(hn::LoadU(d, sums + c), term), d, sums + c);
      }
    }
  });
}

inline void adam_kernel(const optimizer_factors& o, const float* gradient, index_t count, float* m,
                        float* v, float* parameters) {
  for_vectors(count, [&](index_t i) HWY_ATTR {
    const f32_vec g = load(gradient + i);
    const f32_vec mean =
        hn::Add(hn::Mul(set(o.beta1), load(m + i)), hn::Mul(set(o.one_minus_beta1), g));
    const f32_vec square =
        hn::Add(hn::Mul(set(o.beta2), load(v + i)), hn::Mul(hn::Mul(set(o.one_minus_beta2), g), g));
    const f32_vec root = hn::Div(hn::Sqrt(square), set(o.root_correction));
    const f32_vec step = hn::Div(hn::Mul(set(o.step_size), mean), hn::Add(root, set(o.epsilon)));
    store(mean, m + i);
    store(square, v + i);
    store(hn::Sub(hn::Mul(load(parameters + i), set(o.decay)), step), parameters + i);
  });
}

inline void sgd_kernel(const optimizer_factors& o, const float* gradient, index_t count, float* m,
                       float* parameters) {
  for_vectors(count, [&](index_t i) HWY_ATTR {
    const f32_vec mean = hn::Add(hn::Mul(set(o.beta1), load(m + i)), load(gradient + i));
    store(mean, m + i);
    const f32_vec step = hn::Mul(set(o.step_size), mean);
    store(hn::Sub(hn::Mul(load(parameters + i), set(o.decay)), step), parameters + i);
  });
}

inline pair_moments moments_kernel(const float* x, const float* y, index_t count) {
  const half_tag dh;
  const auto sums = in_chains<5>(count, [&](auto& s, int j, index_t i) HWY_ATTR {
    const f64_vec a = widened(hn::LoadU(dh, x + i));
    const f64_vec b = widened(hn::LoadU(dh, y + i));
    s.add(0, j, a);
    s.add(1, j, b);
    s.add(2, j, hn::Mul(a, a));
    s.add(3, j, hn::Mul(b, b));
    s.add(4, j, hn::Mul(a, b));
  });
  return {sums.total(0), sums.total(1), sums.total(2), sums.total(3), sums.total(4)};
}

inline double square_error_kernel(const float* a, const float* y, index_t count, float scale,
                                  float* gradient) {
  const half_tag dh;
  const auto sums = in_chains<1>(count, [&](auto& s, int j, index_t i) HWY_ATTR {
    const half_vec difference = hn::Sub(hn::LoadU(dh, a + i), hn::LoadU(dh, y + i));
    s.add(0, j, widened(hn::Mul(difference, difference)));
    if (gradient != nullptr) {
      hn::StoreU(hn::Mul(difference, hn::Set(dh, scale)), dh, gradient + i);
    }
  });
  return sums.total(0);
}

/// Words of Philox in pieces: calls f(words, at, count) for each piece of up to 256.
template <class F>
HWY_INLINE void for_words(std::uint64_t seed, std::uint64_t first, index_t count, const F& f) {
  constexpr index_t piece = 256;
  const mxref::HWY_NAMESPACE::philox_lanes lanes(seed);
  HWY_ALIGN std::uint32_t words[piece + 2 * HWY_MAX_BYTES];
  for (index_t at = 0; at < count; at += piece) {
    const index_t n = count - at < piece ? count - at : piece;
    const index_t from = lanes.fill(first + static_cast<std::uint64_t>(at), n, words);
    f(words + from, at, n);
  }
}

/// Words as numbers of binary64, each in the low half of its lane.
HWY_INLINE f64_vec number_of(u64_vec w) {
  const auto lifted = hn::Or(w, hn::Set(u64_tag(), std::uint64_t{0x4330000000000000U}));
  return hn::Sub(hn::BitCast(f64_tag(), lifted), constant(0x1p52));
}

inline void normals_kernel(std::uint64_t seed, std::uint64_t first, index_t count, float deviation,
                           const float* base, float* out) {
  const f64_tag d;
  const u64_tag du;
  const half_tag dh;
  const auto lanes = static_cast<index_t>(hn::Lanes(d));
  HWY_ALIGN float numbers[256];
  HWY_ALIGN std::uint64_t pairs[128];
  for_words(seed, first, count, [&](const std::uint32_t* words, index_t at, index_t n) HWY_ATTR {
    std::memcpy(pairs, words, static_cast<std::size_t>(n) * sizeof(std::uint32_t));
    for (index_t i = 0; i < n; i += 2 * lanes) {
      const u64_vec both = hn::Load(du, pairs + i / 2);
      const u64_vec low = hn::And(both, hn::Set(du, std::uint64_t{0xFFFFFFFFU}));
      const f64_vec u = hn::Mul(hn::Add(number_of(low), constant(0.5)), constant(0x1p-32));
      const f64_vec radius = hn::Sqrt(hn::Mul(constant(-2.0), log_of(u)));
      f64_vec cosine = u;
      f64_vec sine = u;
      circle(hn::ShiftRight<32>(both), cosine, sine);
      hn::StoreInterleaved2(narrowed(hn::Mul(radius, cosine)), narrowed(hn::Mul(radius, sine)), dh,
                            numbers + i);
    }
    for (index_t i = 0; i < n; ++i) {
      const float scaled = deviation * numbers[i];
      out[at + i] = base == nullptr ? scaled : base[at + i] + scaled;
    }
  });
}

inline void uniforms_kernel(std::uint64_t seed, index_t count, double limit, float* out) {
  for_words(seed, 0, count, [&](const std::uint32_t* words, index_t at, index_t n) HWY_ATTR {
    for (index_t i = 0; i < n; ++i) {
      const double u = (static_cast<double>(words[i]) + 0.5) * 0x1p-31 - 1.0;
      out[at + i] = static_cast<float>(u * limit);
    }
  });
}

}  // namespace HWY_NAMESPACE
}  // namespace instability
HWY_AFTER_NAMESPACE();
#endif
