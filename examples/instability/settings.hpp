// SPDX-License-Identifier: Apache-2.0
// Every setting of a study, with its name, its limits and what it means, in one place: describe().
// Reading JSON, writing JSON and the schema are visitors of it (settings_json.hpp).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "optimizer.hpp"
#include "student.hpp"

namespace instability {

/// What the authors' code does and the text does not say; all off by default. See README.md.
struct quirk_settings {
  bool frozen_beta = false;
  bool quantized_teacher = false;
  bool fresh_noise = false;
  bool column_bump = false;
  bool bump_e4m3_only = false;
  bool norm_blocks_of_16 = false;
  bool e2m1_emax_3 = false;
};

struct data_settings {
  index_t batch = 256;
  double noise = 1e-3;
  bool standardize = false;
  std::int64_t validation_batches = 4;
  double gain_mean = 1;  ///< constructed starts: gain = mean * exp(spread * normal)
  double gain_spread = 0;
};

struct measure_settings {
  std::int64_t every = 10;
  std::int64_t gradients_every = 50;
  std::int64_t validate_every = 100;
};

/// Settings that change when a step begins; `set` is JSON.
struct setting_change {
  std::int64_t step = 1;
  std::string set = "{}";
};

struct study_settings {
  std::string name = "study";
  std::uint64_t seed = 1337;
  std::int64_t steps = 1200;
  std::int64_t checkpoint_every = 500;
  std::vector<std::int64_t> keep_at;  ///< steps whose checkpoints stay, to intervene from
  model_shape model;
  index_t teacher_width = 0;  ///< 0: the width of the model
  init_kind init = init_kind::torch;
  data_settings data;
  optimizer_settings optimizer;
  instability::precision precision;
  quirk_settings quirks;
  measure_settings measure;
  std::vector<setting_change> changes;  ///< in the order of their steps
};

/// Limits of a number, both allowed.
struct limits {
  double low;
  double high;
};

inline constexpr limits any_positive{0, 1e6};

template <class V>
void describe(V& v, role_precision& r) {
  v.choice("format", r.format, element_names, "element format; bf16 and fp32: no blocks");
  v.choice("scale", r.scale, scale_names, "rule of the shared scale");
  v.choice("rounding", r.rounding, rounding_names, "of the elements");
  v.number("block", r.block, {1, 4096}, "elements that share a scale");
}

template <class V>
void describe(V& v, precision& p) {
  constexpr std::string_view what[role_count] = {"weight, forward",
                                                 "activation, forward",
                                                 "weight, for the input gradient",
                                                 "activation, for the weight gradient",
                                                 "output gradient, for the weight gradient",
                                                 "output gradient, for the input gradient"};
  v.all_roles("roles", p.roles, "all six roles at once; single ones may follow");
  for (int i = 0; i < role_count; ++i) v.object(role_names[i], p.roles[i], what[i]);
  v.choice("vector", p.vector, vector_names, "rounding to bfloat16 after every vector operation");
  v.choice("layer_norm", p.norm, norm_names, "what is rounded in LayerNorm");
  v.choice("activation", p.activation, activation_modes, "activation function");
  v.flag("backward", p.backward, "false: the backward pass in binary32 from unrounded operands");
  v.flag("train_beta", p.train_beta, "false: LayerNorm's bias gets no gradient");
  v.choice("sums", p.sums, accumulation_names, "order of the sums of a product");
  v.number("random_bits", p.random_bits, {1, 32}, "of stochastic rounding");
}

template <class V>
void describe(V& v, model_shape& m) {
  v.number("width", m.width, {16, 8192}, "of the residual stream; a multiple of 16", 16);
  v.number("layers", m.layers, {1, 256}, "residual blocks");
  v.choice("activation", m.activation, activation_names, "phi");
  v.flag("norm", m.norm, "false: no LayerNorm");
}

template <class V>
void describe(V& v, optimizer_settings& o) {
  v.choice("kind", o.kind, optimizer_names, "");
  v.number("learning_rate", o.learning_rate, any_positive, "");
  v.choice("schedule", o.schedule, schedule_names, "of the learning rate");
  v.number("last_rate", o.last_rate, any_positive, "cosine: at the last step");
  v.number("beta1", o.beta1, {0, 0.999999}, "");
  v.number("beta2", o.beta2, {0, 0.999999}, "");
  v.number("epsilon", o.epsilon, any_positive, "");
  v.number("weight_decay", o.weight_decay, any_positive, "adamw and sgd");
  v.number("momentum", o.momentum, {0, 0.999999}, "sgd");
}

template <class V>
void describe(V& v, data_settings& d) {
  v.number("batch", d.batch, {1, 1 << 20}, "rows of a step");
  v.number("noise", d.noise, any_positive, "deviation of the label noise");
  v.flag("standardize", d.standardize, "rows of mean 0 and variance 1");
  v.number("validation_batches", d.validation_batches, {1, 1000}, "batches without label noise");
  v.number("gain_mean", d.gain_mean, any_positive,
           "LayerNorm gains start at mean * exp(spread * n)");
  v.number("gain_spread", d.gain_spread, any_positive, "n: a normal number");
}

template <class V>
void describe(V& v, quirk_settings& q) {
  v.flag("frozen_beta", q.frozen_beta, "LayerNorm's bias is not trained in the MX run");
  v.flag("quantized_teacher", q.quantized_teacher, "the MX run has a teacher in MX");
  v.flag("fresh_noise", q.fresh_noise, "the MX run has other label noise than the FP32 run");
  v.flag("column_bump", q.column_bump, "scale rule bump means column-bump");
  v.flag("bump_e4m3_only", q.bump_e4m3_only, "scale rule bump means floor for other formats");
  v.flag("norm_blocks_of_16", q.norm_blocks_of_16, "clamped gains are counted in blocks of 16");
  v.flag("e2m1_emax_3", q.e2m1_emax_3, "clamped numbers of E2M1 are counted as if emax were 3");
}

template <class V>
void describe(V& v, measure_settings& m) {
  v.number("every", m.every, {1, 1e9}, "steps between rows of the log");
  v.number("gradients_every", m.gradients_every, {1, 1e9},
           "steps between comparisons of gradients; a multiple of every");
  v.number("validate_every", m.validate_every, {1, 1e9},
           "steps between validations; a multiple of every");
}

template <class V>
void describe(V& v, study_settings& s) {
  v.text("name", s.name, "heads the report");
  v.number("seed", s.seed, {0, 9007199254740992.0}, "of all random numbers");
  v.number("steps", s.steps, {1, 1e9}, "");
  v.number("checkpoint_every", s.checkpoint_every, {1, 1e9}, "steps between checkpoints");
  v.steps("keep_at", s.keep_at, "steps whose checkpoints are kept, to intervene from");
  v.object("model", s.model, "the student");
  v.number("teacher_width", s.teacher_width, {0, 8192},
           "hidden width of the teacher, a multiple of 16; 0: the student's width", 16);
  v.choice("init", s.init, init_names, "initial weights");
  v.object("data", s.data, "inputs and labels");
  v.object("optimizer", s.optimizer, "");
  v.object("precision", s.precision, "of the MX run");
  v.object("quirks", s.quirks, "what the authors' code does besides");
  v.object("measure", s.measure, "what is logged, how often");
  v.changes("changes", s.changes, "settings of precision and optimizer from a step on");
}

/// The precision that a run of the MX kind has, quirks included.
inline precision effective_precision(const study_settings& s) {
  precision p = s.precision;
  if (s.quirks.frozen_beta) p.train_beta = false;
  for (role_precision& r : p.roles) {
    if (r.scale != scale_choice::bump) continue;
    if (s.quirks.column_bump) r.scale = scale_choice::column_bump;
    if (s.quirks.bump_e4m3_only && r.format != element::e4m3) r.scale = scale_choice::floor;
  }
  return p;
}

}  // namespace instability
