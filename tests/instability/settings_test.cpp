// SPDX-License-Identifier: Apache-2.0
// Settings as JSON: what is read, what is refused and how it is said; the schema; the loss watch.
#include <limits>

#include "fixture.hpp"
#include "run_log.hpp"
#include "settings_json.hpp"

namespace {

using namespace instability;

/// The message of a refusal, "" where nothing is refused.
std::string refusal(const std::string& text) {
  study_settings s;
  bool applied = false;
  try {
    apply(parse_json(text, "f.json"), "f.json", s);
    applied = true;
    check(s, "f.json");
  } catch (const settings_error& e) {
    EXPECT_TRUE(applied || to_json(s) == to_json(study_settings{}))
        << "a refused file changed them";
    return e.what();
  }
  return "";
}

TEST(Settings, EveryFaultIsNamedWithItsPlace) {
  const std::pair<const char*, const char*> cases[] = {
      {R"({"step": 1})", "f.json: $: unknown key 'step', did you mean 'steps'?"},
      {R"({"model": {"widht": 64}})",
       "f.json: $.model: unknown key 'widht', did you mean 'width'?"},
      {R"({"model": 3})", "f.json: $.model: must be an object, not a number"},
      {R"([])", "f.json: $: must be an object, not an array"},
      {R"({"steps": 0})", "f.json: $.steps: must be a whole number from 1 to 1000000000, not 0"},
      {R"({"steps": 2.5})", "not 2.5"},
      {R"({"steps": "9"})", "not a string"},
      {R"({"model": {"width": 40}})",
       "f.json: $.model.width: must be a whole number, a multiple of 16, from 16 to 8192, not 40"},
      {R"({"precision": {"ex": {"format": "e4m4"}}})",
       "f.json: $.precision.ex.format: must be one of fp32 bf16 e4m3 e5m2 e3m2 e2m3 e2m1 int8, not "
       "\"e4m4\""},
      {R"({"precision": {"ex": "e4m4"}})", "$.precision.ex.format: must be one of"},
      {R"({"precision": {"roles": {"block": 0}}})",
       "f.json: $.precision.roles.block: must be a whole number from 1 to 4096, not 0"},
      {R"({"precision": {"vector": 1}})",
       "must be one of off nearest-away nearest-even, not a number"},
      {R"({"precision": {"backward": "no"}})",
       "f.json: $.precision.backward: must be true or false, not a string"},
      {R"({"optimizer": {"beta1": 1}})",
       "f.json: $.optimizer.beta1: must be a number from 0 to 0.999999, not 1"},
      {R"({"keep_at": [5, 0]})", "f.json: $.keep_at: must be an array of whole numbers"},
      {R"({"name": 7})", "f.json: $.name: must be a string, not a number"},
      {R"({"measure": {"every": 7}})",
       "f.json: $.measure.gradients_every: must be a multiple of $.measure.every (7), not 50"},
      {R"({"model": {"width": 8192, "layers": 256}})", "million numbers are too many"},
      {R"({"changes": [{"step": 3, "set": {"precision": {"w": "e9"}}}]})",
       "f.json: $.changes[0].set: $.precision.w.format: must be one of"},
      {R"({"changes": [{"step": 3, "set": {"data": {"batch": 9}}}]})",
       "f.json: $.changes: may set $.precision and $.optimizer alone"},
      {R"({"changes": [{"step": 3}, {"step": 2}]})",
       "f.json: $.changes[1].step: must not be before that of the change above"},
      {R"({"changes": [{"at": 3}]})", "f.json: $.changes[0]: unknown key 'at'"},
      {"{\"steps\": ", "f.json: parse error at line 1"},
  };
  for (const auto& [text, message] : cases) {
    EXPECT_NE(refusal(text).find(message), std::string::npos)
        << text << "\n  says: " << refusal(text) << "\n  not:  " << message;
  }
}

TEST(Settings, WhatIsWrittenReadsBack) {
  for (const preset& p : presets()) {
    const study_settings s = preset_settings(p.name);
    check(s, std::string(p.name));
    study_settings again;
    apply(to_json(s), "again", again);
    EXPECT_EQ(to_json(again), to_json(s)) << p.name;
  }
}

TEST(Settings, RolesAtOnceThenOneByOne) {
  study_settings s;
  apply(parse_json(R"({"precision": {"ex": "e5m2", "roles": {"format": "e2m3", "scale": "ceil"}}})",
                   "f"),
        "f", s);
  EXPECT_EQ(s.precision[role::ex].format, element::e5m2);
  EXPECT_EQ(s.precision[role::ex].scale, scale_choice::ceil);
  EXPECT_EQ(s.precision[role::w].format, element::e2m3);
  apply(patch_of("precision.w=bf16"), "set", s);
  apply(patch_of("optimizer.learning_rate=1e-3"), "set", s);
  apply(patch_of("precision.layer_norm=mx_affine"), "set", s);  // _ is -
  EXPECT_EQ(s.precision[role::w].format, element::bf16);
  EXPECT_EQ(s.optimizer.learning_rate, 1e-3);
  EXPECT_EQ(s.precision.norm, norm_mode::mx_affine);
  EXPECT_THROW(patch_of("steps"), settings_error);
}

TEST(Settings, InterventionsApplyToEveryPreset) {
  for (const preset& p : presets()) {
    for (const intervention& i : interventions()) {
      study_settings s = preset_settings(p.name);
      const json before = to_json(s);
      apply(parse_json(std::string(i.patch), std::string(i.name)), std::string(i.name), s);
      check(s, std::string(i.name));
      const bool may_be_same = i.name == "control" || i.name == "half-rate" ||
                               i.name == "exact-activation" || i.name == "mx-affine";
      EXPECT_TRUE(may_be_same || to_json(s) != before) << p.name << " " << i.name;
    }
  }
}

TEST(Settings, QuirksChangeThePrecision) {
  study_settings s;
  EXPECT_EQ(effective_precision(s), s.precision);
  s.quirks.frozen_beta = true;
  EXPECT_FALSE(effective_precision(s).train_beta);
  s.precision[role::a].scale = scale_choice::bump;
  s.quirks.column_bump = true;
  EXPECT_EQ(effective_precision(s)[role::a].scale, scale_choice::column_bump);
  EXPECT_EQ(effective_precision(s)[role::w].scale, scale_choice::floor);
  s.quirks.bump_e4m3_only = true;
  EXPECT_EQ(effective_precision(s)[role::a].scale, scale_choice::column_bump);
  s.precision[role::a].format = element::e5m2;
  EXPECT_EQ(effective_precision(s)[role::a].scale, scale_choice::floor);
}

TEST(Settings, SchemaNamesEveryKeyAndItsLimits) {
  const json s = schema();
  const json& p = s.at("properties");
  EXPECT_EQ(p.at("model").at("properties").at("width").at("multipleOf"), 16);
  EXPECT_EQ(p.at("optimizer").at("properties").at("learning_rate").at("default"), 2e-3);
  const json& ex = p.at("precision").at("properties").at("ex").at("oneOf");
  EXPECT_EQ(ex.at(0).at("enum").size(), 8U);
  EXPECT_FALSE(ex.at(1).at("additionalProperties").get<bool>());
  // Every key of a written file is in the schema.
  const json written = to_json(study_settings{});
  for (const auto& item : written.items()) EXPECT_TRUE(p.contains(item.key())) << item.key();
}

TEST(LossWatch, FailureIsTwoHundredStepsAboveTenTimes) {
  loss_watch w;
  std::int64_t step = 0;
  for (; step < 100; ++step) w.see(step, 1.0 - 0.005 * static_cast<double>(step));
  EXPECT_DOUBLE_EQ(w.smallest, 0.505);
  for (int i = 0; i < 199; ++i) w.see(step++, 6.0);
  w.see(step++, 5.0);  // not above 10 times
  EXPECT_EQ(w.spikes, 1);
  EXPECT_EQ(w.failed_at, -1);
  const std::int64_t start = step;
  for (int i = 0; i < 200; ++i) w.see(step++, 6.0);
  EXPECT_EQ(w.failed_at, start);
  w.see(step, 0.1);
  EXPECT_EQ(w.failed_at, start);
  loss_watch n;
  n.see(0, 1);
  n.see(1, std::numeric_limits<double>::quiet_NaN());
  EXPECT_EQ(n.failed_at, 1);
}

TEST(RunLog, SameRowAsCsvAndJson) {
  log_row row;
  row.put("step", 10);
  row.put("loss", 0.1);
  row.skip("r");
  row.put("norm", std::numeric_limits<double>::infinity());
  EXPECT_EQ(row.csv_header(), "step,loss,r,norm");
  EXPECT_EQ(row.csv(), "10,0.1,,inf");
  EXPECT_EQ(row.json_line(), R"({"step": 10, "loss": 0.1, "norm": "inf"})");
}

}  // namespace
