// SPDX-License-Identifier: Apache-2.0
// Outputs, losses and all gradients of microxcaling, bit for bit: see make_golden.py.
#include "array_io.hpp"
#include "fixture.hpp"

namespace {

using namespace instability;
using instability_test::expect_same_bits;

std::vector<float> load(const std::string& name) {
  const mxtool::array a = mxtool::load_array(MXREF_TEST_DATA "/instability.npz:" + name);
  const auto values = a.as<float>();
  return {values.begin(), values.end()};
}

struct golden_case {
  const char* name;
  element forward;
  element backward;  ///< of w_bp, ex and os
  scale_choice scale = scale_choice::floor;
  bool quantizes_backward = true;
  activation_kind kind = activation_kind::gelu;
  activation_mode activation = activation_mode::exact;
};

constexpr golden_case cases[] = {
    {"e4m3", element::e4m3, element::e4m3},
    {"e2m3", element::e2m3, element::e2m3},
    {"e5m2", element::e5m2, element::e5m2},
    {"e3m2", element::e3m2, element::e3m2},
    {"e2m1", element::e2m1, element::e2m1},
    {"e4m3_e5m2", element::e4m3, element::e5m2},
    {"bump_e4m3", element::e4m3, element::e4m3, scale_choice::bump},
    {"bump_e5m2", element::e5m2, element::e5m2, scale_choice::bump},
    {"bump_e2m1", element::e2m1, element::e2m1, scale_choice::bump},
    {"forward_only", element::e4m3, element::e4m3, scale_choice::floor, false},
    {"gelu_emulated", element::e4m3, element::e4m3, scale_choice::floor, true,
     activation_kind::gelu, activation_mode::emulated},
    {"swiglu_emulated", element::e4m3, element::e4m3, scale_choice::floor, true,
     activation_kind::swiglu, activation_mode::emulated},
};

class Microxcaling : public testing::TestWithParam<golden_case> {};

TEST_P(Microxcaling, GradientsAreEqual) {
  const golden_case& c = GetParam();
  study_settings s;
  s.model = {32, 2, c.kind, true};
  s.data.batch = 64;
  precision p;
  for (int i = 0; i < role_count; ++i) {
    const auto r = static_cast<role>(i);
    const bool back = r == role::w_bp || r == role::ex || r == role::os;
    p.roles[i].format = back ? c.backward : c.forward;
    p.roles[i].scale = c.scale;
  }
  p.sums = accumulation::exact;
  p.backward = c.quantizes_backward;
  p.activation = c.activation;
  const engine e(2);
  trainer t(e, s);
  t.state().parameters =
      load(c.kind == activation_kind::swiglu ? "parameters_gated" : "parameters_plain");
  const batch b{load("x"), load("y")};
  const std::string name = c.name;

  const pass forward{e, p, s.seed, 0, false, nullptr};
  const float* const out = t.network().forward(forward, t.state().parameters.data(), b.x.data());
  expect_same_bits({out, out + b.x.size()}, load(name + "/output"), "output");

  std::vector<float> gradient;
  const double loss = t.gradient(p, b, gradient);
  const auto want = mxtool::load_array(MXREF_TEST_DATA "/instability.npz:" + name + "/loss");
  EXPECT_NEAR(loss, want.as<double>()[0], 1e-6 * loss);
  expect_same_bits(gradient, load(name + "/gradient"), "gradient");
}

INSTANTIATE_TEST_SUITE_P(, Microxcaling, testing::ValuesIn(cases),
                         [](const auto& test) { return std::string(test.param.name); });

}  // namespace
