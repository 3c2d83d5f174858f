// SPDX-License-Identifier: Apache-2.0
#include "student.hpp"

namespace instability {

namespace {

function function_of(activation_kind kind, activation_mode mode) noexcept {
  const bool emulated = mode == activation_mode::emulated;
  switch (kind) {
    case activation_kind::gelu:
      return emulated ? function::gelu_emulated : function::gelu;
    case activation_kind::swiglu:
      return emulated ? function::silu_emulated : function::silu;
    case activation_kind::relu:
      return function::relu;
    case activation_kind::linear:
      return function::identity;
  }
  return function::identity;
}

/// Only emulated functions round; a linear one is no operation.
vector_rounding function_rounding(const pass& p, activation_kind kind, vector_rounding r) noexcept {
  const bool rounds =
      p.precision.activation == activation_mode::emulated && kind != activation_kind::linear;
  return rounds ? r : vector_rounding::off;
}

}  // namespace

activation_layer::activation_layer(activation_kind kind, index_t width, index_t rows)
    : kind_(kind), width_(width), rows_(rows) {
  if (kind == activation_kind::swiglu) gate_.resize(static_cast<std::size_t>(rows * width));
}

void activation_layer::forward(const pass& p, float* h, float* out) {
  const vector_kernels& k = p.kernels.vectors();
  const function f = function_of(kind_, p.precision.activation);
  const vector_rounding there = function_rounding(p, kind_, p.forward());
  const vector_rounding back = function_rounding(p, kind_, p.backward());
  if (kind_ != activation_kind::swiglu) {
    p.kernels.for_numbers(rows_ * width_, [&](index_t first, index_t n) {
      k.round(p.forward(), h + first, n, h + first);
      k.apply(f, there, back, h + first, n, out + first, h + first);
    });
    return;
  }
  p.kernels.for_rows(rows_, 2 * width_, 1, [&](index_t first, index_t count) {
    for (index_t row = first; row < first + count; ++row) {
      float* const line = h + row * 2 * width_;
      float* const gate = gate_.data() + row * width_;
      k.round(p.forward(), line, 2 * width_, line);
      k.apply(f, there, back, line + width_, width_, gate, line + width_);
      k.multiply(vector_rounding::off, vector_rounding::off, line, gate, width_,
                 out + row * width_);
    }
  });
}

void activation_layer::backward(const pass& p, const float* h, float* dout, float* dh) const {
  const vector_kernels& k = p.kernels.vectors();
  const vector_rounding r = function_rounding(p, kind_, p.backward());
  constexpr vector_rounding off = vector_rounding::off;
  if (kind_ != activation_kind::swiglu) {
    p.kernels.for_numbers(rows_ * width_, [&](index_t first, index_t n) {
      k.multiply(p.backward(), r, dout + first, h + first, n, dh + first);
    });
    return;
  }
  p.kernels.for_rows(rows_, 2 * width_, 1, [&](index_t first, index_t count) {
    for (index_t row = first; row < first + count; ++row) {
      const float* const line = h + row * 2 * width_;
      float* const given = dout + row * width_;
      float* const to = dh + row * 2 * width_;
      k.round(p.backward(), given, width_, given);
      k.multiply(off, off, given, line, width_, to + width_);
      k.multiply(r, r, to + width_, line + width_, width_, to + width_);
      k.multiply(off, off, given, gate_.data() + row * width_, width_, to);
    }
  });
}

}  // namespace instability
