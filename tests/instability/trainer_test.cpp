// SPDX-License-Identifier: Apache-2.0
// The same bits on any target and number of threads; the optimizers; the known course of a run.
#include <cmath>

#include "fixture.hpp"
#include "plain.hpp"

namespace {

using namespace instability;
using instability_test::bits;
using instability_test::expect_same_bits;
using instability_test::library_kernels;
using instability_test::normal_numbers;
using instability_test::vector_targets;

/// Parameters after some steps of a network whose tensors have several parts.
std::vector<float> trained(const engine& e, study_settings s, int steps) {
  s.precision[role::ex].rounding = mxref::rounding_mode::stochastic;
  data_source source(e, s);
  trainer t(e, s);
  batch b;
  std::vector<float> gradient;
  for (int i = 0; i < steps; ++i) {
    source.fill(static_cast<std::uint64_t>(i), i == 1 ? s.precision : full_precision(), s.seed, b);
    // The precision changes from step to step.
    t.gradient(i % 3 == 2 ? full_precision() : s.precision, b, gradient);
    t.step(gradient);
  }
  return t.state().parameters;
}

study_settings several_parts(activation_kind kind) {
  study_settings s;
  s.model = {80, 2, kind, true};
  s.data.batch = 136;
  s.data.standardize = kind == activation_kind::swiglu;
  s.precision.activation =
      kind == activation_kind::swiglu ? activation_mode::emulated : activation_mode::exact;
  return s;
}

TEST(Trainer, SameBitsOnEveryTargetAndNumberOfThreads) {
  for (const activation_kind kind : {activation_kind::gelu, activation_kind::swiglu}) {
    const study_settings s = several_parts(kind);
    const std::vector<float> want = trained(engine(1), s, 3);
    for (const vector_kernels* v : vector_targets()) {
      const auto& library = library_kernels(v->target);
      // Without tile kernels products take the scalar core, which is slow.
      const bool has_tiles = library.chain != nullptr;
      const engine e(has_tiles ? library : mxref::simd::best_kernels(), *v, 3);
      expect_same_bits(trained(e, s, 3), want, v->target);
    }
    expect_same_bits(trained(engine(2), s, 3), want, "two threads");
    expect_same_bits(trained(engine(7), s, 3), want, "seven threads");
  }
}

TEST(Trainer, ExactSumsToo) {
  study_settings s = several_parts(activation_kind::relu);
  s.precision.sums = accumulation::exact;
  expect_same_bits(trained(engine(1), s, 2), trained(engine(4), s, 2), "exact sums");
}

TEST(Trainer, AdamAndSgdByTheirFormulas) {
  const engine e(2);
  for (const optimizer_kind kind :
       {optimizer_kind::adam, optimizer_kind::adamw, optimizer_kind::sgd}) {
    optimizer_settings o;
    o.kind = kind;
    o.weight_decay = 0.01;
    o.momentum = 0.5;
    const std::size_t count = 4096;
    training_state state{0, normal_numbers(count, 1), std::vector<float>(count),
                         std::vector<float>(count)};
    std::vector<float> x = state.parameters;
    std::vector<float> m(count);
    std::vector<float> v(count);
    for (int t = 1; t <= 3; ++t) {
      const std::vector<float> g = normal_numbers(count, static_cast<unsigned>(t), 0.1F);
      optimize(e, o, 1e-2, g.data(), state);
      for (std::size_t i = 0; i < count; ++i) {
        if (kind == optimizer_kind::sgd) {
          m[i] = 0.5F * m[i] + g[i];
          x[i] = x[i] * static_cast<float>(1 - 1e-2 * 0.01) - 1e-2F * m[i];
          continue;
        }
        const auto correction = static_cast<float>(std::sqrt(1 - std::pow(0.999, t)));
        const auto rate = static_cast<float>(1e-2 / (1 - std::pow(0.9, t)));
        m[i] = 0.9F * m[i] + static_cast<float>(1 - 0.9) * g[i];
        v[i] = 0.999F * v[i] + static_cast<float>(1 - 0.999) * g[i] * g[i];
        const float decay = kind == optimizer_kind::adamw ? static_cast<float>(1 - 1e-4) : 1.0F;
        x[i] = x[i] * decay - rate * m[i] / (std::sqrt(v[i]) / correction + 1e-8F);
      }
      EXPECT_EQ(state.step, static_cast<std::uint64_t>(t));
      expect_same_bits(state.parameters, x,
                       std::string(optimizer_names[static_cast<int>(kind)].name));
    }
  }
}

TEST(Trainer, CosineSchedule) {
  optimizer_settings o;
  o.learning_rate = 1e-3;
  o.schedule = schedule_kind::cosine;
  o.last_rate = 1e-5;
  for (std::uint64_t i = 0; i < 1000; ++i) {
    const double want =
        1e-5 +
        (1e-3 - 1e-5) * (1 + std::cos(3.14159265358979323846 * static_cast<double>(i) / 999)) / 2;
    EXPECT_NEAR(learning_rate(o, i, 1000), want, 1e-15);
  }
  EXPECT_NEAR(learning_rate(o, 999, 1000), 1e-5, 1e-16);
  o.schedule = schedule_kind::constant;
  EXPECT_EQ(learning_rate(o, 999, 1000), 1e-3);
}

TEST(Trainer, DataIsTheSameInEveryPhaseAndItsNoiseAddsToTheTeacher) {
  study_settings s;
  s.model = {32, 2, activation_kind::gelu, true};
  s.data.batch = 64;
  s.data.noise = 0.5;
  const engine e(2);
  data_source one(e, s);
  data_source two(e, s);
  batch a;
  batch b;
  two.fill(4, full_precision(), s.seed, b);
  one.fill(3, full_precision(), s.seed, a);
  two.fill(3, full_precision(), s.seed, b);
  expect_same_bits(a.x, b.x, "inputs");
  expect_same_bits(a.y, b.y, "labels");
  two.fill(3, full_precision(), s.seed + 1, b);
  expect_same_bits(a.x, b.x, "inputs");
  EXPECT_NE(a.y, b.y);
  double square = 0;
  for (const float y : a.y) square += static_cast<double>(y) * static_cast<double>(y);
  EXPECT_NEAR(std::sqrt(square / static_cast<double>(a.y.size())), 0.5, 0.03);
  one.fill_validation(0, b);
  EXPECT_NE(a.x, b.x);
}

TEST(Trainer, TeacherIsAChainWithoutNormBiasAndResidual) {
  const model_shape shape{32, 2, activation_kind::relu, true};
  const engine e(1);
  teacher t(shape, 48, 16);
  t.initialize(e, 21);
  std::vector<float> x = normal_numbers(16 * 32, 4);
  const precision p = full_precision();
  const float* const got = t.forward({e, p, 0, 0, false, nullptr}, x.data());
  index_t width = 32;
  for (std::uint64_t layer = 0; layer < 2; ++layer) {
    for (const std::uint32_t half : {0U, 1U}) {
      const index_t out = half == 0 ? 48 : 32;
      std::vector<float> w(static_cast<std::size_t>(out * width));
      e.vectors().uniforms(stream_seed(21, stream::teacher, layer, half), out * width,
                           1 / std::sqrt(static_cast<double>(width)), w.data());
      std::vector<float> y(static_cast<std::size_t>(16 * out));
      for (index_t r = 0; r < 16; ++r) {
        for (index_t o = 0; o < out; ++o) {
          float sum = 0;
          for (index_t k = 0; k < width; ++k) {
            sum = std::fma(x[static_cast<std::size_t>(r * width + k)],
                           w[static_cast<std::size_t>(o * width + k)], sum);
          }
          y[static_cast<std::size_t>(r * out + o)] = half == 0 && sum <= 0 ? 0.0F : sum;
        }
      }
      x = y;
      width = out;
    }
  }
  expect_same_bits({got, got + 16 * 32}, x, "teacher");
}

}  // namespace
