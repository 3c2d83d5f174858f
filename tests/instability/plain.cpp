// SPDX-License-Identifier: Apache-2.0
#include "plain.hpp"

#include <cmath>
#include <unordered_map>

#include "streams.hpp"

namespace plain {

using instability::activation_kind;
using instability::activation_mode;
using instability::block_layout;
using instability::norm_mode;
using instability::role;
using instability::vector_rounding;

namespace {

/// a (M, K) times b (N, K) transposed.
matrix product(const precision& p, const matrix& a, const matrix& b) {
  matrix d(a.rows, b.rows);
  for (index_t m = 0; m < a.rows; ++m) {
    for (index_t n = 0; n < b.rows; ++n) {
      float chain = 0;
      long double sum = 0;  // exact for the few bits of quantized operands
      for (index_t k = 0; k < a.cols; ++k) {
        chain = std::fma(a(m, k), b(n, k), chain);
        sum += static_cast<long double>(a(m, k)) * static_cast<long double>(b(n, k));
      }
      d(m, n) = p.sums == instability::accumulation::exact ? static_cast<float>(sum) : chain;
    }
  }
  return d;
}

/// One pass over the network, kept as it goes.
class network {
 public:
  network(const instability::model_shape& shape, const precision& p,
          const std::vector<float>& parameters, std::uint64_t seed, std::uint64_t step)
      : shape_(shape), p_(p), parameters_(parameters), seed_(seed), step_(step) {}

  matrix forward(const matrix& x) {
    matrix a = x;
    for (index_t i = 0; i < shape_.layers; ++i) a = forward_block(i, a);
    return a;
  }

  std::vector<float> backward(matrix g) {
    std::vector<float> gradient(parameters_.size());
    for (index_t i = shape_.layers; i-- > 0;) backward_block(i, g, gradient);
    return gradient;
  }

 private:
  struct kept_block {
    matrix normalized;
    std::vector<float> variance;
    matrix normed;
    matrix wide;
    matrix hidden;
  };

  vector_rounding there() const { return p_.vector; }
  vector_rounding back() const { return p_.backward ? p_.vector : vector_rounding::off; }
  static float r(vector_rounding mode, float x) { return to_bfloat16(mode, x); }
  static matrix rounded(vector_rounding mode, matrix x) {
    for (float& v : x.values) v = to_bfloat16(mode, v);
    return x;
  }
  matrix array(index_t at, index_t rows, index_t cols) const {
    return {parameters_.data() + at, rows, cols};
  }

  /// x along its rows as an operand; `down`: x is the transpose of the tensor.
  matrix operand(role which, const matrix& x, bool down, index_t site) const {
    const auto place = static_cast<std::uint32_t>(site) * instability::role_count +
                       static_cast<std::uint32_t>(which);
    const std::uint64_t words =
        instability::stream_seed(seed_, instability::stream::rounding, step_, place);
    return quantized(x, p_[which], p_.vector, words, p_.random_bits, down);
  }

  matrix affine(index_t at, index_t site, bool backward) const {
    matrix x = array(at, 1, shape_.width);
    if (backward && !p_.backward) return x;
    if (p_.norm == norm_mode::bf16) return rounded(p_.vector, x);
    if (p_.norm == norm_mode::mx_affine) return operand(role::w, x, false, site);
    return x;
  }

  matrix norm_forward(index_t i, const matrix& x, kept_block& kept) const {
    const block_layout at(shape_, i);
    const bool all = p_.norm == norm_mode::bf16 || p_.norm == norm_mode::mx_affine;
    const vector_rounding f = all ? p_.vector : vector_rounding::off;
    const vector_rounding s = p_.norm == norm_mode::fp32 ? vector_rounding::off : p_.vector;
    const matrix gain = affine(at.gain, 4 * i, false);
    const matrix bias = affine(at.bias, 4 * i + 1, false);
    const auto width = static_cast<float>(x.cols);
    matrix out(x.rows, x.cols);
    kept.normalized = out;
    kept.variance.clear();
    for (index_t row = 0; row < x.rows; ++row) {
      long double sum = 0;
      for (index_t c = 0; c < x.cols; ++c) sum += r(f, x(row, c));
      const float mean = r(f, r(f, static_cast<float>(sum)) / width);
      long double squares = 0;
      for (index_t c = 0; c < x.cols; ++c) {
        const float centred = r(f, r(f, x(row, c)) - mean);
        squares += r(f, centred * centred);
      }
      const float v = r(s, r(f, r(f, static_cast<float>(squares)) / width) + 1e-5F);
      const float inverse = r(s, 1.0F / r(s, std::sqrt(v)));
      kept.variance.push_back(v);
      for (index_t c = 0; c < x.cols; ++c) {
        const float n = r(s, r(f, r(f, x(row, c)) - mean) * inverse);
        kept.normalized(row, c) = n;
        out(row, c) = r(s, r(s, gain(0, c) * n) + bias(0, c));
      }
    }
    return out;
  }

  /// g becomes g + dx.
  void norm_backward(index_t i, const matrix& given, const kept_block& kept, matrix& g,
                     std::vector<float>& gradient) const {
    const block_layout at(shape_, i);
    const bool all = p_.norm == norm_mode::bf16 || p_.norm == norm_mode::mx_affine;
    const vector_rounding f = all ? back() : vector_rounding::off;
    const matrix gain = affine(at.gain, 4 * i, true);
    const matrix& n = kept.normalized;
    const auto width = static_cast<float>(n.cols);
    for (index_t c = 0; c < n.cols; ++c) {
      long double dgain = 0;
      long double dbias = 0;
      for (index_t row = 0; row < n.rows; ++row) {
        dbias += r(f, given(row, c));
        dgain += r(f, r(f, given(row, c)) * n(row, c));
      }
      gradient[static_cast<std::size_t>(at.gain + c)] = r(f, static_cast<float>(dgain));
      gradient[static_cast<std::size_t>(at.bias + c)] =
          p_.train_beta ? r(f, static_cast<float>(dbias)) : 0.0F;
    }
    for (index_t row = 0; row < n.rows; ++row) {
      const float v = kept.variance[static_cast<std::size_t>(row)];
      const float s = r(f, std::sqrt(v));
      const float inverse = r(f, 1.0F / s);
      std::vector<float> t;
      long double sum = 0;
      for (index_t c = 0; c < n.cols; ++c) {
        t.push_back(r(f, r(f, given(row, c)) * gain(0, c)));
        sum += r(f, r(f, t.back() * n(row, c)) * s);
      }
      const float k = r(f, r(f, r(f, static_cast<float>(sum)) / width) * r(f, 1.0F / v));
      std::vector<float> z;
      long double total = 0;
      for (index_t c = 0; c < n.cols; ++c) {
        const float a = r(f, t[static_cast<std::size_t>(c)] * inverse);
        z.push_back(r(f, a + r(f, -k * n(row, c))));
        total += z.back();
      }
      const float mean = r(f, r(f, static_cast<float>(total)) / width);
      for (index_t c = 0; c < n.cols; ++c) {
        g(row, c) = g(row, c) + r(f, z[static_cast<std::size_t>(c)] - mean);
      }
    }
  }

  struct pair {
    float value;
    float slope;
  };

  /// function, remembered.
  pair function(float in) {
    const auto [place, is_new] = functions_.try_emplace(mxref::bit_cast<std::uint32_t>(in));
    if (is_new) place->second = compute_function(in);
    return place->second;
  }

  /// gelu, silu (of SwiGLU), relu, linear; rounded after every operation or once.
  pair compute_function(float in) const {
    const bool emulated = p_.activation == activation_mode::emulated;
    const vector_rounding f = emulated ? there() : vector_rounding::off;
    const vector_rounding b = emulated ? back() : vector_rounding::off;
    const float x = r(f, in);
    const float given = r(b, in);
    switch (shape_.activation) {
      case activation_kind::linear:
        return {in, 1};
      case activation_kind::relu:
        return {in > 0 ? x : 0.0F, in > 0 ? 1.0F : 0.0F};
      case activation_kind::gelu: {
        if (!emulated) return {gelu(in), gelu_slope(in)};
        const float cube = r(f, r(f, x * x) * x);
        const float z = r(f, 1.59375F * r(f, r(f, 0.044677734F * cube) + x));
        const float phi = r(f, 1.0F / r(f, r(f, exponential(-z)) + 1.0F));
        const float change = r(b, phi * r(b, 1.0F - phi));
        const float inner = r(b, 1.59375F + r(b, 0.21386719F * r(b, given * given)));
        return {r(f, x * phi), r(b, phi + r(b, given * r(b, inner * change)))};
      }
      case activation_kind::swiglu: {
        if (!emulated) return {silu(in), silu_slope(in)};
        const float s = r(f, 1.0F / r(f, r(f, exponential(-x)) + 1.0F));
        const float y = r(f, x * s);
        return {y, r(b, s + r(b, y * r(b, 1.0F - s)))};
      }
    }
    return {};
  }

  matrix forward_block(index_t i, const matrix& x) {
    const block_layout at(shape_, i);
    kept_.resize(static_cast<std::size_t>(shape_.layers));
    kept_block& kept = kept_[static_cast<std::size_t>(i)];
    kept.normed = shape_.norm ? norm_forward(i, x, kept) : x;
    const matrix w1 = array(at.w1, shape_.first_out(), shape_.width);
    const matrix w2 = array(at.w2, shape_.width, shape_.hidden());
    kept.wide = rounded(there(), product(p_, operand(role::a, kept.normed, false, 4 * i + 2),
                                         operand(role::w, w1, false, 4 * i + 2)));
    const index_t h = shape_.hidden();
    kept.hidden = matrix(x.rows, h);
    for (index_t row = 0; row < x.rows; ++row) {
      for (index_t c = 0; c < h; ++c) {
        kept.hidden(row, c) = shape_.gated()
                                  ? kept.wide(row, c) * function(kept.wide(row, h + c)).value
                                  : function(kept.wide(row, c)).value;
      }
    }
    const matrix y = rounded(there(), product(p_, operand(role::a, kept.hidden, false, 4 * i + 3),
                                              operand(role::w, w2, false, 4 * i + 3)));
    matrix out(x.rows, x.cols);
    for (index_t row = 0; row < x.rows; ++row) {
      for (index_t c = 0; c < x.cols; ++c) {
        const float b = r(there(), parameters_[static_cast<std::size_t>(at.b2 + c)]);
        out(row, c) = x(row, c) + r(there(), y(row, c) + b);
      }
    }
    return out;
  }

  /// Gradients of a linear layer: of its weight, and of its input.
  matrix linear_backward(const matrix& g, const matrix& x, const matrix& w, index_t site,
                         float* dw) const {
    const matrix gt = g.transposed();
    const matrix xt = x.transposed();
    const matrix wt = w.transposed();
    const bool q = p_.backward;
    const matrix change = rounded(back(), product(p_, q ? operand(role::ex, gt, true, site) : gt,
                                                  q ? operand(role::a_bp, xt, true, site) : xt));
    for (std::size_t k = 0; k < change.values.size(); ++k) dw[k] = change.values[k];
    return rounded(back(), product(p_, q ? operand(role::os, g, false, site) : g,
                                   q ? operand(role::w_bp, wt, true, site) : wt));
  }

  void backward_block(index_t i, matrix& g, std::vector<float>& gradient) {
    const block_layout at(shape_, i);
    const kept_block& kept = kept_[static_cast<std::size_t>(i)];
    const bool emulated =
        p_.activation == activation_mode::emulated && shape_.activation != activation_kind::linear;
    const vector_rounding f = emulated ? back() : vector_rounding::off;
    for (index_t c = 0; c < shape_.width; ++c) {
      long double sum = 0;
      for (index_t row = 0; row < g.rows; ++row) sum += r(back(), g(row, c));
      gradient[static_cast<std::size_t>(at.b2 + c)] = r(back(), static_cast<float>(sum));
    }
    const matrix dhidden =
        linear_backward(g, kept.hidden, array(at.w2, shape_.width, shape_.hidden()), 4 * i + 3,
                        gradient.data() + at.w2);
    const index_t h = shape_.hidden();
    matrix dwide(g.rows, shape_.first_out());
    for (index_t row = 0; row < g.rows; ++row) {
      for (index_t c = 0; c < h; ++c) {
        const float d = dhidden(row, c);
        if (shape_.gated()) {
          const pair gate = function(kept.wide(row, h + c));
          dwide(row, c) = d * gate.value;
          dwide(row, h + c) = r(f, r(f, d * kept.wide(row, c)) * gate.slope);
        } else {
          dwide(row, c) = r(f, d * function(kept.wide(row, c)).slope);
        }
      }
    }
    const matrix dnormed =
        linear_backward(dwide, kept.normed, array(at.w1, shape_.first_out(), shape_.width),
                        4 * i + 2, gradient.data() + at.w1);
    if (shape_.norm) return norm_backward(i, dnormed, kept, g, gradient);
    for (std::size_t k = 0; k < g.values.size(); ++k) g.values[k] += dnormed.values[k];
  }

  instability::model_shape shape_;
  precision p_;
  const std::vector<float>& parameters_;
  std::uint64_t seed_;
  std::uint64_t step_;
  std::vector<kept_block> kept_;
  std::unordered_map<std::uint32_t, pair> functions_;
};

}  // namespace

result gradient(const instability::model_shape& shape, const precision& p,
                const std::vector<float>& parameters, const matrix& x, const matrix& y,
                std::uint64_t seed, std::uint64_t step) {
  network net(shape, p, parameters, seed, step);
  const matrix out = net.forward(x);
  matrix g(x.rows, x.cols);
  const auto scale = static_cast<float>(2.0 / static_cast<double>(x.values.size()));
  long double sum = 0;
  for (std::size_t k = 0; k < g.values.size(); ++k) {
    const float difference = out.values[k] - y.values[k];
    sum += difference * difference;
    g.values[k] = difference * scale;
  }
  const double loss = static_cast<double>(sum / static_cast<long double>(x.values.size()));
  return {loss, net.backward(g)};
}

}  // namespace plain
