// SPDX-License-Identifier: Apache-2.0
// Named settings and interventions.
#include <algorithm>

#include "names.hpp"
#include "settings_json.hpp"

namespace instability {

namespace {

template <class Entry>
Entry find(std::string_view what, std::string_view name, const std::vector<Entry>& list) {
  const std::string wanted = mxtool::normalized(name);
  std::vector<std::string_view> known;
  for (const Entry& e : list) {
    known.push_back(e.name);
    if (e.name == wanted) return e;
  }
  mxtool::throw_unknown(what, name, known);
}

}  // namespace

std::vector<preset> presets() {
  return {
      {"quick", "d=256, L=4, B=256, Adam 2e-3, E4M3: gains clamp from 0 to all to half; minutes",
       R"({"name": "quick"})"},
      {"tiny", "d=64, L=2, B=64, 60 steps: seconds, to try things",
       R"({"name": "tiny", "steps": 60, "model": {"width": 64, "layers": 2}, "data": {"batch": 64},
           "measure": {"every": 5, "gradients_every": 10, "validate_every": 20}})"},
      {"flagship", "d=512, L=4, B=2048, Adam 6e-4, 9000 steps, E4M3: the published run; hours",
       R"({"name": "flagship", "steps": 9000, "checkpoint_every": 100,
           "keep_at": [4500, 4700, 4900, 5080, 5200],
           "model": {"width": 512}, "data": {"batch": 2048, "noise": 0.005},
           "optimizer": {"learning_rate": 6e-4}})"},
      {"edge", "d=256, L=4, B=2048, Adam 1e-3, 9000 steps: near the edge of FP32; most of an hour",
       R"({"name": "edge", "steps": 9000, "data": {"batch": 2048},
           "optimizer": {"learning_rate": 1e-3}})"},
      {"swiglu", "the flagship with SwiGLU", R"({"name": "swiglu", "steps": 9000,
           "checkpoint_every": 100,
           "model": {"width": 512, "activation": "swiglu"}, "data": {"batch": 2048, "noise": 0.005},
           "optimizer": {"learning_rate": 6e-4}})"},
      {"standardized", "d=64, L=4, B=256, rows of mean 0 and variance 1: quantization dominates",
       R"({"name": "standardized", "steps": 1500, "model": {"width": 64},
           "data": {"standardize": true}})"},
      {"clamped", "d=256 from gains 0.93 exp(0.03 n) with MX gains: 72 % clamped by construction",
       R"({"name": "clamped", "steps": 400, "data": {"gain_mean": 0.93, "gain_spread": 0.03},
           "precision": {"layer_norm": "mx-affine"}})"},
  };
}

preset find_preset(std::string_view name) { return find("preset", name, presets()); }

study_settings preset_settings(std::string_view name) {
  const preset p = find_preset(name);
  study_settings s;
  apply(parse_json(std::string(p.patch), std::string(p.name)), std::string(p.name), s);
  return s;
}

std::vector<intervention> interventions() {
  return {
      {"control", "nothing changes", "{}"},
      {"full-precision", "binary32 everywhere",
       R"({"precision": {"roles": "fp32", "vector": "off", "layer_norm": "fp32"}})"},
      {"bump", "one more exponent where a block would saturate",
       R"({"precision": {"roles": {"scale": "bump"}}})"},
      {"column-bump", "the authors' form of it",
       R"({"precision": {"roles": {"scale": "column-bump"}}})"},
      {"ceil", "scale exponents rounded up to cover the largest magnitude",
       R"({"precision": {"roles": {"scale": "rceil"}}})"},
      {"skip-norm", "LayerNorm in part unrounded, as in the authors' code",
       R"({"precision": {"layer_norm": "partial"}})"},
      {"norm-fp32", "LayerNorm in binary32", R"({"precision": {"layer_norm": "fp32"}})"},
      {"mx-affine", "LayerNorm's gain and bias in MX",
       R"({"precision": {"layer_norm": "mx-affine"}})"},
      {"bf16-activations-forward", "activations in bfloat16, gradients in MX",
       R"({"precision": {"a": "bf16", "a_bp": "bf16"}})"},
      {"bf16-activations", "activations and gradients in bfloat16, weights in MX",
       R"({"precision": {"a": "bf16", "a_bp": "bf16", "ex": "bf16", "os": "bf16"}})"},
      {"bf16-weights", "forward weights in bfloat16", R"({"precision": {"w": "bf16"}})"},
      {"forward-only", "the backward pass in binary32", R"({"precision": {"backward": false}})"},
      {"exact-activation", "the activation function unrounded: no change where it is exact already",
       R"({"precision": {"activation": "exact"}})"},
      {"nearest-even", "ties to even in every rounding",
       R"({"precision": {"roles": {"rounding": "nearest-even"}, "vector": "nearest-even"}})"},
      {"stochastic-gradients", "stochastic rounding of output gradients",
       R"({"precision": {"ex": {"rounding": "stochastic"}, "os": {"rounding": "stochastic"}}})"},
      {"e2m3", "E2M3 in every role", R"({"precision": {"roles": "e2m3"}})"},
      {"half-rate", "half the learning rate, no change of precision", "{}", 0.5},
  };
}

intervention find_intervention(std::string_view name) {
  return find("intervention", name, interventions());
}

}  // namespace instability
