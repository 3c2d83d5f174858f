// SPDX-License-Identifier: Apache-2.0
#include "student.hpp"

#include <algorithm>
#include <cmath>

namespace instability {

namespace {

std::size_t size_of(index_t count) { return static_cast<std::size_t>(count); }

constexpr std::uint32_t sites_per_block = 4;  // gain, bias, first, second
constexpr std::uint32_t teacher_site = 1U << 24;

/// Fills an array with initial values; every array has its own random numbers.
void initialize_array(const engine& e, init_kind kind, std::uint64_t words, index_t fan_in,
                      index_t fan_out, float* out, index_t count) {
  const mxref::simd::control_register_guard guard;
  if (kind == init_kind::torch) {
    e.vectors().uniforms(words, count, 1.0 / std::sqrt(static_cast<double>(fan_in)), out);
  } else {
    const double deviation = 0.5 * std::sqrt(2.0 / static_cast<double>(fan_in + fan_out));
    e.vectors().normals(words, 0, count, static_cast<float>(deviation), nullptr, out);
  }
}

}  // namespace

student::block::block(const model_shape& s, index_t rows, index_t index)
    : norm(s.width, rows, static_cast<std::uint32_t>(index) * sites_per_block),
      first{s.width, s.first_out(), static_cast<std::uint32_t>(index) * sites_per_block + 2},
      second{s.hidden(), s.width, static_cast<std::uint32_t>(index) * sites_per_block + 3},
      activation(s.activation, s.hidden(), rows),
      normed(size_of(rows * s.width)),
      wide(size_of(rows * s.first_out())),
      hidden(size_of(rows * s.hidden())) {}

student::student(const model_shape& shape, index_t rows)
    : shape_(shape),
      rows_(rows),
      residual_(size_of(rows * shape.width)),
      branch_(size_of(rows * shape.width)),
      scratch_x_(size_of(rows * std::max(shape.first_out(), shape.width))),
      scratch_w_(size_of(shape.width * shape.first_out())),
      wide_gradient_(size_of(shape.gated() ? rows * shape.first_out() : 0)),
      hidden_gradient_(size_of(rows * shape.hidden())) {
  for (index_t i = 0; i < shape.layers; ++i) {
    blocks_.push_back(std::make_unique<block>(shape, rows, i));
  }
}

std::vector<std::pair<index_t, index_t>> student::parts_of(group g) const {
  std::vector<std::pair<index_t, index_t>> parts;
  for (index_t i = 0; i < shape_.layers; ++i) {
    const block_layout at(shape_, i);
    const std::pair<index_t, index_t> ranges[] = {
        {at.gain, at.w1}, {at.w1, at.w2}, {at.w2, at.end}};
    parts.push_back(ranges[static_cast<int>(g)]);
  }
  return parts;
}

void student::initialize(const engine& e, std::uint64_t seed, init_kind kind,
                         float* parameters) const {
  for (index_t i = 0; i < shape_.layers; ++i) {
    const block_layout at(shape_, i);
    const auto words = [&](std::uint32_t place) {
      return stream_seed(seed, stream::student, static_cast<std::uint64_t>(i), place);
    };
    std::fill(parameters + at.gain, parameters + at.bias, 1.0F);
    std::fill(parameters + at.bias, parameters + at.w1, 0.0F);
    initialize_array(e, kind, words(0), shape_.width, shape_.first_out(), parameters + at.w1,
                     at.w2 - at.w1);
    initialize_array(e, kind, words(1), shape_.hidden(), shape_.width, parameters + at.w2,
                     at.b2 - at.w2);
    if (kind == init_kind::torch) {
      initialize_array(e, kind, words(2), shape_.hidden(), shape_.width, parameters + at.b2,
                       shape_.width);
    } else {
      std::fill(parameters + at.b2, parameters + at.end, 0.0F);
    }
  }
}

const float* student::forward(const pass& p, const float* parameters, const float* x) {
  const index_t width = shape_.width;
  const index_t numbers = rows_ * width;
  const float* residual = x;
  for (index_t i = 0; i < shape_.layers; ++i) {
    block& b = *blocks_[size_of(i)];
    const block_layout at(shape_, i);
    const float* const gain = parameters + at.gain;
    if (shape_.norm) {
      b.norm.forward(p, residual, gain, parameters + at.bias, b.normed.data());
      p.show(tensor_kind::gain, {gain, 1, width});
    } else {
      std::copy(residual, residual + numbers, b.normed.data());
    }
    p.show(tensor_kind::post_norm, {b.normed.data(), rows_, width});
    p.show(tensor_kind::weight, b.first.weight(parameters + at.w1));
    b.first.forward(p, b.normed.data(), rows_, parameters + at.w1, b.wide.data(), scratch_x_.data(),
                    scratch_w_.data());
    b.activation.forward(p, b.wide.data(), b.hidden.data());
    p.show(tensor_kind::hidden, {b.hidden.data(), rows_, shape_.hidden()});
    p.show(tensor_kind::weight, b.second.weight(parameters + at.w2));
    b.second.forward(p, b.hidden.data(), rows_, parameters + at.w2, branch_.data(),
                     scratch_x_.data(), scratch_w_.data());
    p.kernels.for_rows(rows_, width, 1, [&](index_t row, index_t count) {
      const index_t from = row * width;
      p.kernels.vectors().add_branch(p.forward(), residual + from, branch_.data() + from,
                                     parameters + at.b2, count, width, residual_.data() + from);
    });
    residual = residual_.data();
  }
  return residual;
}

void student::backward(const pass& p, const float* parameters, float* output_gradient,
                       float* gradient) {
  const index_t width = shape_.width;
  float* const g = output_gradient;
  float* const hidden_gradient = hidden_gradient_.data();
  float* const wide_gradient = shape_.gated() ? wide_gradient_.data() : hidden_gradient;
  for (index_t i = shape_.layers; i-- > 0;) {
    block& b = *blocks_[size_of(i)];
    const block_layout at(shape_, i);
    float* const db2 = gradient + at.b2;
    column_sums(p.kernels, rows_, width, 1, p.backward(), &db2,
                [&](index_t row, index_t count, double* sums) {
                  p.kernels.vectors().add_columns(p.backward(), g + row * width, count, width,
                                                  sums);
                });
    p.show(tensor_kind::gradient, b.second.gradient(g, rows_));
    b.second.backward(p, g, rows_, b.hidden.data(), parameters + at.w2, gradient + at.w2,
                      hidden_gradient, scratch_x_.data(), scratch_w_.data());
    b.activation.backward(p, b.wide.data(), hidden_gradient, wide_gradient);
    p.show(tensor_kind::gradient, b.first.gradient(wide_gradient, rows_));
    // Without a norm and below the first block nothing needs the gradient of the input.
    float* const dx = shape_.norm || i > 0 ? branch_.data() : nullptr;
    b.first.backward(p, wide_gradient, rows_, b.normed.data(), parameters + at.w1, gradient + at.w1,
                     dx, scratch_x_.data(), scratch_w_.data());
    if (shape_.norm) {
      p.round(p.backward(), dx, rows_ * width);
      b.norm.backward(p, dx, parameters + at.gain, g, g, gradient + at.gain, gradient + at.bias);
      if (!p.precision.train_beta) std::fill_n(gradient + at.bias, width, 0.0F);
      continue;
    }
    std::fill(gradient + at.gain, gradient + at.w1, 0.0F);
    if (dx == nullptr) continue;
    // g + r(dx), with a bias of zeros.
    p.round(p.backward(), dx, rows_ * width);
    const std::vector<float> zeros(size_of(width));
    p.kernels.for_rows(rows_, width, 1, [&](index_t row, index_t count) {
      const index_t from = row * width;
      p.kernels.vectors().add_branch(vector_rounding::off, g + from, dx + from, zeros.data(), count,
                                     width, g + from);
    });
  }
}

teacher::teacher(const model_shape& shape, index_t hidden, index_t rows)
    : shape_(shape),
      hidden_(hidden),
      rows_(rows),
      activation_(shape.activation, hidden, rows),
      in_(size_of(rows * shape.width)),
      wide_(size_of(rows * hidden * (shape.gated() ? 2 : 1))),
      narrow_(size_of(rows * hidden)),
      out_(size_of(rows * shape.width)),
      scratch_x_(size_of(rows * std::max(hidden, shape.width))),
      scratch_w_(size_of(shape.width * hidden * (shape.gated() ? 2 : 1))) {
  const index_t block = shape.width * hidden * (shape.gated() ? 3 : 2);
  weights_.resize(size_of(shape.layers * block));
}

void teacher::initialize(const engine& e, std::uint64_t seed) {
  const index_t first = shape_.width * hidden_ * (shape_.gated() ? 2 : 1);
  const index_t second = shape_.width * hidden_;
  for (index_t i = 0; i < shape_.layers; ++i) {
    float* const w = weights_.data() + i * (first + second);
    const auto words = [&](std::uint32_t place) {
      return stream_seed(seed, stream::teacher, static_cast<std::uint64_t>(i), place);
    };
    initialize_array(e, init_kind::torch, words(0), shape_.width, hidden_, w, first);
    initialize_array(e, init_kind::torch, words(1), hidden_, shape_.width, w + first, second);
  }
}

const float* teacher::forward(const pass& p, const float* x) {
  pass mine = p;
  mine.keeps = false;
  mine.observer = nullptr;
  const index_t wide = hidden_ * (shape_.gated() ? 2 : 1);
  std::copy(x, x + rows_ * shape_.width, in_.data());
  for (index_t i = 0; i < shape_.layers; ++i) {
    const auto site = teacher_site + 2 * static_cast<std::uint32_t>(i);
    const linear_layer first{shape_.width, wide, site};
    const linear_layer second{hidden_, shape_.width, site + 1};
    const float* const w1 = weights_.data() + i * shape_.width * (wide + hidden_);
    const float* const w2 = w1 + shape_.width * wide;
    first.forward(mine, in_.data(), rows_, w1, wide_.data(), scratch_x_.data(), scratch_w_.data());
    activation_.forward(mine, wide_.data(), narrow_.data());
    second.forward(mine, narrow_.data(), rows_, w2, out_.data(), scratch_x_.data(),
                   scratch_w_.data());
    mine.round(mine.forward(), out_.data(), rows_ * shape_.width);
    if (i + 1 < shape_.layers) std::swap(in_, out_);
  }
  return out_.data();
}

}  // namespace instability
