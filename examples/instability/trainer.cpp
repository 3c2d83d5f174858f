// SPDX-License-Identifier: Apache-2.0
#include "trainer.hpp"

#include <algorithm>

namespace instability {

namespace {

std::size_t size_of(index_t count) { return static_cast<std::size_t>(count); }

index_t teacher_width(const study_settings& s) {
  return s.teacher_width == 0 ? s.model.width : s.teacher_width;
}

/// Gains that start spread around another mean than 1: mean (1 + z + z^2 / 2 + z^3 / 6) with
/// z = spread * normal, exp to the third order.
void spread_gains(const engine& e, const study_settings& s, std::vector<float>& parameters) {
  const auto& d = s.data;
  if (d.gain_mean == 1 && d.gain_spread == 0) return;
  const mxref::simd::control_register_guard guard;
  for (index_t i = 0; i < s.model.layers; ++i) {
    float* const gain = parameters.data() + block_layout(s.model, i).gain;
    const auto seed = stream_seed(s.seed, stream::gains, static_cast<std::uint64_t>(i));
    e.vectors().normals(seed, 0, s.model.width, static_cast<float>(d.gain_spread), nullptr, gain);
    for (index_t k = 0; k < s.model.width; ++k) {
      const double z = gain[k];
      gain[k] = static_cast<float>(d.gain_mean * (1 + z + z * z / 2 + z * z * z / 6));
    }
  }
}

}  // namespace

data_source::data_source(const engine& e, const study_settings& s)
    : engine_(e), settings_(s), teacher_(s.model, teacher_width(s), s.data.batch) {
  teacher_.initialize(e, s.seed);
}

void data_source::make_inputs(stream s, std::uint64_t index, batch& out) const {
  const index_t width = settings_.model.width;
  const index_t count = settings_.data.batch * width;
  out.x.resize(size_of(count));
  out.y.resize(size_of(count));
  const std::uint64_t seed = stream_seed(settings_.seed, s, index);
  engine_.for_numbers(count, [&](index_t first, index_t n) {
    engine_.vectors().normals(seed, static_cast<std::uint64_t>(first), n, 1.0F, nullptr,
                              out.x.data() + first);
  });
  if (!settings_.data.standardize) return;
  engine_.for_rows(settings_.data.batch, width, 1, [&](index_t row, index_t rows) {
    engine_.vectors().standardize(out.x.data() + row * width, rows, width);
  });
}

void data_source::fill(std::uint64_t step, const precision& p, std::uint64_t noise_seed,
                       batch& out) {
  make_inputs(stream::inputs, step, out);
  const float* const y =
      teacher_.forward({engine_, p, settings_.seed, step, false, nullptr}, out.x.data());
  const std::uint64_t seed = stream_seed(noise_seed, stream::noise, step);
  const auto deviation = static_cast<float>(settings_.data.noise);
  engine_.for_numbers(static_cast<index_t>(out.y.size()), [&](index_t first, index_t n) {
    engine_.vectors().normals(seed, static_cast<std::uint64_t>(first), n, deviation, y + first,
                              out.y.data() + first);
  });
}

void data_source::fill_validation(std::uint64_t i, batch& out) {
  make_inputs(stream::validation, i, out);
  const precision p = full_precision();
  const float* const y =
      teacher_.forward({engine_, p, settings_.seed, i, false, nullptr}, out.x.data());
  std::copy(y, y + out.y.size(), out.y.begin());
}

trainer::trainer(const engine& e, const study_settings& s)
    : engine_(e), settings_(s), student_(s.model, s.data.batch) {
  const auto count = size_of(student_.parameter_count());
  state_.parameters.resize(count);
  state_.m.resize(count);
  state_.v.resize(count);
  output_gradient_.resize(size_of(s.data.batch * s.model.width));
  student_.initialize(e, s.seed, s.init, state_.parameters.data());
  spread_gains(e, s, state_.parameters);
}

double trainer::error(const pass& p, const batch& b, float scale, float* gradient) {
  const float* const out = student_.forward(p, state_.parameters.data(), b.x.data());
  const auto count = static_cast<index_t>(b.y.size());
  const double sum = engine_.sum_of_numbers<double>(count, [&](index_t first, index_t n) {
    return engine_.vectors().square_error(out + first, b.y.data() + first, n, scale,
                                          gradient == nullptr ? nullptr : gradient + first);
  });
  return sum / static_cast<double>(count);
}

double trainer::gradient(const precision& p, const batch& b, std::vector<float>& out,
                         tensor_observer* observer) {
  out.resize(state_.parameters.size());
  const pass mine{engine_, p, settings_.seed, state_.step, true, observer};
  const auto scale = static_cast<float>(2.0 / static_cast<double>(b.y.size()));
  const double value = error(mine, b, scale, output_gradient_.data());
  student_.backward(mine, state_.parameters.data(), output_gradient_.data(), out.data());
  return value;
}

double trainer::loss(const precision& p, const batch& b) {
  return error({engine_, p, settings_.seed, state_.step, false, nullptr}, b, 0.0F, nullptr);
}

void trainer::step(const std::vector<float>& gradient) {
  const double rate =
      learning_rate(settings_.optimizer, state_.step, static_cast<std::uint64_t>(settings_.steps));
  optimize(engine_, settings_.optimizer, rate, gradient.data(), state_);
}

}  // namespace instability
