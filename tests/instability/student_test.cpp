// SPDX-License-Identifier: Apache-2.0
// Loss and every gradient against the plain loops, bit for bit.
#include "fixture.hpp"
#include "plain.hpp"

namespace {

using namespace instability;
using instability_test::expect_same_bits;
using instability_test::normal_numbers;

struct network_case {
  std::string name;
  model_shape shape;
  precision p;
  index_t rows = 32;
};

void PrintTo(const network_case& c, std::ostream* out) { *out << c.name; }

constexpr model_shape small{32, 2, activation_kind::gelu, true};

precision all_roles(element e) {
  precision p;
  for (role_precision& r : p.roles) r.format = e;
  return p;
}

precision changed(precision p, void (*change)(precision&)) {
  change(p);
  return p;
}

std::vector<network_case> cases() {
  const precision e4m3;
  std::vector<network_case> list{
      {"fp32", small, full_precision()},
      {"e4m3", small, e4m3},
      {"e2m3", small, all_roles(element::e2m3)},
      {"e5m2", small, all_roles(element::e5m2)},
      {"e3m2", small, all_roles(element::e3m2)},
      {"e2m1", small, all_roles(element::e2m1)},
      {"int8", small, all_roles(element::int8)},
      {"bf16", small, all_roles(element::bf16)},
      {"e4m3_exact_sums", small, changed(e4m3, [](precision& p) { p.sums = accumulation::exact; })},
      {"short_blocks", {48, 1, activation_kind::gelu, true}, e4m3, 40},
      {"block_16", small,
       changed(e4m3,
               [](precision& p) {
                 for (auto& r : p.roles) r.block = 16;
               })},
      {"no_norm", {32, 3, activation_kind::gelu, false}, e4m3},
      {"no_norm_fp32", {32, 2, activation_kind::linear, false}, full_precision()},
      {"norm_fp32", small, changed(e4m3, [](precision& p) { p.norm = norm_mode::fp32; })},
      {"norm_partial", small, changed(e4m3, [](precision& p) { p.norm = norm_mode::partial; })},
      {"mx_affine", small, changed(e4m3, [](precision& p) { p.norm = norm_mode::mx_affine; })},
      {"forward_only", small, changed(e4m3, [](precision& p) { p.backward = false; })},
      {"forward_only_mx_affine", small,
       changed(e4m3,
               [](precision& p) {
                 p.backward = false;
                 p.norm = norm_mode::mx_affine;
               })},
      {"frozen_beta", small, changed(e4m3, [](precision& p) { p.train_beta = false; })},
      {"nearest_even", small,
       changed(e4m3,
               [](precision& p) {
                 p.vector = vector_rounding::nearest_even;
                 for (auto& r : p.roles) {
                   r.rounding = mxref::rounding_mode::nearest_even;
                 }
               })},
      {"no_vector_rounding", small,
       changed(e4m3, [](precision& p) { p.vector = vector_rounding::off; })},
      {"stochastic", small,
       changed(e4m3,
               [](precision& p) {
                 for (auto& r : p.roles) {
                   r.rounding = mxref::rounding_mode::stochastic;
                 }
                 p[role::ex].format = element::e2m1;
                 p[role::w].format = element::bf16;
                 p.random_bits = 11;
               })},
      {"six_roles", small,
       changed(e4m3,
               [](precision& p) {
                 constexpr element e[] = {element::e2m1, element::e5m2, element::bf16,
                                          element::e2m3, element::e3m2, element::fp32};
                 constexpr scale_choice s[] = {scale_choice::floor, scale_choice::ceil,
                                               scale_choice::floor, scale_choice::rceil,
                                               scale_choice::bump,  scale_choice::floor};
                 for (int i = 0; i < role_count; ++i) {
                   p.roles[i].format = e[i];
                   p.roles[i].scale = s[i];
                 }
               })},
      {"bump", small,
       changed(e4m3,
               [](precision& p) {
                 for (auto& r : p.roles) r.scale = scale_choice::bump;
               })},
      {"even", small,
       changed(e4m3,
               [](precision& p) {
                 for (auto& r : p.roles) r.scale = scale_choice::even;
               })},
  };
  for (const auto kind : {activation_kind::gelu, activation_kind::relu, activation_kind::swiglu,
                          activation_kind::linear}) {
    const std::string name(activation_names[static_cast<int>(kind)].name);
    const model_shape shape{48, 1, kind, true};
    precision p;
    list.push_back({name + "_exact", shape, p});
    list.push_back({name + "_exact_fp32", shape, full_precision()});
    p.activation = activation_mode::emulated;
    list.push_back({name + "_emulated", shape, p});
    p.backward = false;
    list.push_back({name + "_emulated_forward", shape, p});
  }
  return list;
}

class Student : public testing::TestWithParam<network_case> {};

TEST_P(Student, EqualsPlainLoops) {
  const network_case& c = GetParam();
  study_settings s;
  s.model = c.shape;
  s.data.batch = c.rows;
  s.precision = c.p;
  const engine e(2);
  trainer t(e, s);
  // Not the start: gains that are spread, biases that are not 0.
  std::vector<float>& parameters = t.state().parameters;
  for (index_t i = 0; i < c.shape.layers; ++i) {
    const block_layout at(c.shape, i);
    const auto gains = normal_numbers(static_cast<std::size_t>(2 * c.shape.width),
                                      static_cast<unsigned>(i) + 1, 0.05F);
    for (std::size_t k = 0; k < gains.size(); ++k) {
      const bool is_gain = k < gains.size() / 2;
      parameters[static_cast<std::size_t>(at.gain) + k] = (is_gain ? 0.95F : 0.0F) + gains[k];
    }
  }
  t.state().step = 7;
  const auto count = static_cast<std::size_t>(c.rows * c.shape.width);
  const batch b{normal_numbers(count, 11), normal_numbers(count, 12, 0.1F)};
  std::vector<float> gradient;
  const double loss = t.gradient(c.p, b, gradient);
  const auto want = plain::gradient(c.shape, c.p, parameters, {b.x.data(), c.rows, c.shape.width},
                                    {b.y.data(), c.rows, c.shape.width}, s.seed, 7);
  EXPECT_NEAR(loss, want.loss, 1e-12 * want.loss);
  expect_same_bits(gradient, want.gradient, "gradient");
}

INSTANTIATE_TEST_SUITE_P(, Student, testing::ValuesIn(cases()),
                         [](const auto& test) { return test.param.name; });

}  // namespace
