// SPDX-License-Identifier: Apache-2.0
// Whole studies: resume, interventions, the known course of the gains, the tool as a process.
#include <chrono>
#include <filesystem>
#include <iomanip>
#include <map>
#include <sstream>
#include <thread>

#include "../cli/child.hpp"
#include "files.hpp"
#include "fixture.hpp"
#include "study_run.hpp"

namespace {

using namespace instability;
namespace fs = std::filesystem;

class Study : public testing::Test {
 protected:
  void SetUp() override {
    const auto* const test = testing::UnitTest::GetInstance()->current_test_info();
    folder_ = fs::temp_directory_path() /
              ("mxref-study-" + std::to_string(::getpid()) + "-" + test->name());
    fs::create_directories(folder_);
  }
  void TearDown() override { fs::remove_all(folder_); }

  std::string path(const std::string& name) const { return (folder_ / name).string(); }

  static study_settings tiny() {
    study_settings s = preset_settings("tiny");
    s.steps = 24;
    s.measure = {4, 8, 12};
    s.data.batch = 32;
    return s;
  }

  /// Runs the tool; its exit code, and what it says on standard error.
  int tool(const std::string& arguments, std::string* errors = nullptr) const {
    const std::string file = path("errors.txt");
    const std::string command =
        "'" MXREF_TOOL "' " + arguments + " >'" + path("out.txt") + "' 2>'" + file + "'";
    const int status = std::system(command.c_str());
    if (errors != nullptr) *errors = read_file(file);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }
  std::string output() const { return read_file(path("out.txt")); }

  fs::path folder_;
};

std::string hex(std::uint64_t x) {
  std::ostringstream text;
  text << std::hex << std::setw(16) << std::setfill('0') << x;
  return text.str();
}

constexpr auto no_progress = [](double) {};

TEST_F(Study, AResumedRunEqualsAWholeOne) {
  study_settings s = tiny();
  s.checkpoint_every = 5;
  s.precision[role::os].rounding = mxref::rounding_mode::stochastic;
  s.quirks.fresh_noise = true;
  const engine e(2);
  study_run whole(e, s, true, path("whole"));
  ASSERT_FALSE(whole.resume());
  ASSERT_TRUE(whole.run(s.steps, no_progress));
  {
    study_run first(e, s, true, path("parts"));
    ASSERT_TRUE(first.run(7, no_progress));
  }
  {
    study_run second(engine(1), s, true, path("parts"));
    ASSERT_TRUE(second.resume());
    EXPECT_EQ(second.step(), 7);
    ASSERT_TRUE(second.run(16, no_progress));
  }
  study_run third(e, s, true, path("parts"));
  ASSERT_TRUE(third.resume());
  ASSERT_TRUE(third.run(s.steps, no_progress));
  EXPECT_EQ(third.digest(arm::fp32), whole.digest(arm::fp32));
  EXPECT_EQ(third.digest(arm::mx), whole.digest(arm::mx));
  for (const char* const file : {"steps.csv", "steps.jsonl", "summary.json", "settings.json"}) {
    EXPECT_EQ(read_file(path("parts/") + file), read_file(path("whole/") + file)) << file;
  }
  // Nothing happens to a finished run.
  study_run fourth(e, s, true, path("parts"));
  ASSERT_TRUE(fourth.resume());
  ASSERT_TRUE(fourth.run(s.steps, no_progress));
  EXPECT_EQ(fourth.log(), whole.log());
  EXPECT_EQ(fourth.summary(), whole.summary());
}

TEST_F(Study, OtherSettingsDoNotResume) {
  const study_settings s = tiny();
  const engine e(1);
  study_run(e, s, true, path("run")).run(2, no_progress);
  study_settings other = s;
  other.optimizer.learning_rate = 1e-3;
  study_run run(e, other, true, path("run"));
  EXPECT_THROW(run.resume(), settings_error);
}

TEST_F(Study, TheControlInterventionIsTheRunItself) {
  study_settings s = tiny();
  s.keep_at = {10};
  const engine e(2);
  study_run run(e, s, true, path("run"));
  ASSERT_TRUE(run.run(s.steps, no_progress));
  study_settings later = s;
  later.keep_at.clear();
  study_run control(e, later, false, path("control"));
  control.take(path("run/kept-10.npz"));
  EXPECT_EQ(control.step(), 10);
  ASSERT_TRUE(control.run(s.steps, no_progress));
  EXPECT_EQ(control.digest(arm::mx), run.digest(arm::mx));
  later.precision = full_precision();
  study_run full(e, later, false, path("full"));
  full.take(path("run/kept-10.npz"));
  ASSERT_TRUE(full.run(s.steps, no_progress));
  EXPECT_NE(full.digest(arm::mx), run.digest(arm::mx));
}

TEST_F(Study, ChangesApplyFromTheirStepOn) {
  // A run that changes at step 10 is a run until there, continued as an intervention.
  study_settings s = tiny();
  s.keep_at = {10};
  const json patch = parse_json(R"({"precision": {"a": "e5m2", "layer_norm": "mx-affine"},
                                    "optimizer": {"learning_rate": 1e-3}})",
                                "patch");
  const engine e(2);
  study_run before(e, s, true, path("before"));
  ASSERT_TRUE(before.run(11, no_progress));
  study_settings later = s;
  apply(patch, "patch", later);
  study_run continued(e, later, false, path("continued"));
  continued.take(path("before/kept-10.npz"));
  ASSERT_TRUE(continued.run(s.steps, no_progress));
  s.changes = {{10, patch.dump()}};
  {
    study_run first(e, s, true, path("run"));
    ASSERT_TRUE(first.run(15, no_progress));
  }
  study_run run(e, s, true, path("run"));
  ASSERT_TRUE(run.resume());
  ASSERT_TRUE(run.run(s.steps, no_progress));
  EXPECT_EQ(run.digest(arm::mx), continued.digest(arm::mx));
}

TEST_F(Study, ALossThatIsNotFiniteEndsTheRunForGood) {
  study_settings s = tiny();
  s.optimizer.kind = optimizer_kind::sgd;
  s.optimizer.learning_rate = 1e5;
  const engine e(1);
  study_run run(e, s, true, path("run"));
  ASSERT_TRUE(run.run(s.steps, no_progress));
  EXPECT_EQ(run.summary()["status"], "not finite");
  EXPECT_LT(run.step(), s.steps);
  const std::string log = read_file(path("run/steps.csv"));
  study_run again(e, s, true, path("run"));
  ASSERT_TRUE(again.resume());
  ASSERT_TRUE(again.run(s.steps, no_progress));
  EXPECT_EQ(read_file(path("run/steps.csv")), log);
  EXPECT_EQ(tool("report " + path("run") + " --out " + path("r.html")), 0);
}

TEST_F(Study, QuirksChangeTheMxRunAlone) {
  const engine e(2);
  const auto run = [&](const study_settings& s) {
    study_run study(e, s, true, path("run"));
    study.run(6, no_progress);
    return std::pair(study.digest(arm::fp32), study.digest(arm::mx));
  };
  const study_settings s = tiny();
  const auto plain = run(s);
  study_settings beta = s;
  beta.quirks.frozen_beta = true;
  study_settings noise = s;
  noise.quirks.fresh_noise = true;
  study_settings teacher = s;
  teacher.quirks.quantized_teacher = true;
  for (const study_settings& quirk : {beta, noise, teacher}) {
    const auto got = run(quirk);
    EXPECT_EQ(got.first, plain.first);
    EXPECT_NE(got.second, plain.second);
  }
}

TEST_F(Study, QuirksOfTheClampCountReachTheLogAlone) {
  const engine e(2);
  study_settings s = tiny();
  s.data.gain_mean = 0.95;
  s.data.gain_spread = 0.03;
  const auto shares = [&](const study_settings& with, const char* column) {
    study_run run(e, with, true, path("run"));
    EXPECT_TRUE(run.run(4, no_progress));
    std::vector<double> values;
    for (const auto& at : log_table(path("run/steps.jsonl")).series(column)) {
      values.push_back(at.second);
    }
    return std::pair(values, run.digest(arm::mx));
  };
  study_settings blocks = s;
  blocks.quirks.norm_blocks_of_16 = true;
  study_settings table = s;
  table.quirks.e2m1_emax_3 = true;
  const auto gains = shares(s, "mx_clamp_gain_1.75");
  const auto weights = shares(s, "mx_clamp_weight_1.5");
  ASSERT_FALSE(weights.first.empty());
  EXPECT_NE(shares(blocks, "mx_clamp_gain_1.75").first, gains.first);
  EXPECT_EQ(shares(blocks, "mx_clamp_weight_1.5"), weights);
  EXPECT_EQ(shares(table, "mx_clamp_gain_1.75"), gains);
  const auto more = shares(table, "mx_clamp_weight_1.5");
  EXPECT_GT(more.first.at(0), weights.first.at(0) + 0.2);
  EXPECT_EQ(more.second, weights.second);
}

/// The quick preset, reduced: the share of clamped gains rises from 0 to most and falls again, and
/// the gradient error grows; the parameters after it are these, with any compiler.
TEST_F(Study, ReducedQuickRun) {
  study_settings s = preset_settings("quick");
  s.model.width = 128;
  s.data.batch = 32;
  s.data.validation_batches = 1;
  s.optimizer.learning_rate = 4e-3;
  s.steps = 240;
  s.measure = {20, 20, 240};
  const engine e(2);
  study_run run(e, s, true, path("run"));
  ASSERT_TRUE(run.run(s.steps, no_progress));
  const log_table log(path("run/steps.jsonl"));
  std::map<double, double> clamped;
  for (const auto& [step, share] : log.series("mx_clamp_gain_1.75")) clamped[step] = share;
  EXPECT_EQ(clamped.at(0), 0.0);
  EXPECT_GT(clamped.at(180), 0.75);
  EXPECT_LT(clamped.at(240), 0.5);
  std::map<double, double> r;
  for (const auto& [step, value] : log.series("r")) r[step] = value;
  EXPECT_NEAR(r.at(0), 0.062, 0.002);
  EXPECT_GT(r.at(80), 1.5 * r.at(0));
  EXPECT_EQ(hex(run.digest(arm::fp32)), "571ba29d43e2ec92");
  EXPECT_EQ(hex(run.digest(arm::mx)), "e2a5f34e34c50eae");
}

TEST_F(Study, TheToolRefusesWithExitCode2) {
  const std::pair<const char*, const char*> cases[] = {
      {"run --preset fast", "unknown preset 'fast'"},
      {"run --set model.width=17", "$.model.width: must be a whole number, a multiple of 16"},
      {"run --config /nonexistent/x.json", "/nonexistent/x.json: cannot be read"},
      {"run --threads 0", "--threads"},
      {"run --preset tiny --config x.json", "excludes"},
      {"sweep /nonexistent.json --out x", "/nonexistent.json: cannot be read"},
      {"intervene /nonexistent --at 3", "/nonexistent/settings.json: cannot be read"},
      {"report /nonexistent", "/nonexistent: holds no run"},
      {"", "subcommand is required"},
  };
  for (const auto& [arguments, message] : cases) {
    std::string errors;
    EXPECT_EQ(tool(arguments, &errors), 2) << arguments;
    EXPECT_NE(errors.find(message), std::string::npos) << arguments << ": " << errors;
  }
  fs::create_directories(folder_ / "mine");
  write_file(path("mine/notes.txt"), "mine");
  std::string errors;
  EXPECT_EQ(tool("run --preset tiny --out " + path("mine"), &errors), 2);
  EXPECT_NE(errors.find("exists and holds no run"), std::string::npos);
  write_file(path("sweep.json"), R"({"preset": "tiny", "gird": {}})");
  EXPECT_EQ(tool("sweep " + path("sweep.json") + " --out " + path("s"), &errors), 2);
  EXPECT_NE(errors.find("unknown key 'gird', did you mean 'grid'?"), std::string::npos);
}

TEST_F(Study, TheToolRunsSweepsIntervenesAndReports) {
  const std::string small = " --set data.batch=16 --set measure.validate_every=20";
  ASSERT_EQ(
      tool("run --preset tiny --set steps=20 --set keep_at=[10]" + small + " --out " + path("run")),
      0);
  EXPECT_NE(output().find("finished at step 20"), std::string::npos);
  EXPECT_EQ(tool("intervene " + path("run") +
                 " --at 10 --steps 5 --only control,bump,half-rate"
                 " --own mine=precision.a=e5m2"),
            0);
  EXPECT_NE(output().find("half-rate"), std::string::npos);
  std::string errors;
  EXPECT_EQ(tool("intervene " + path("run") + " --at 11", &errors), 2);
  EXPECT_NE(errors.find("kept-11.npz: no such state; the run keeps 10"), std::string::npos);
  write_file(path("grid.json"), R"({"preset": "tiny",
      "settings": {"steps": 10, "data": {"batch": 16}},
      "variants": {"e4m3": {}, "e5m2": {"precision": {"roles": "e5m2"}}},
      "grid": {"optimizer.learning_rate": [1e-3, 2e-3]}})");
  ASSERT_EQ(tool("sweep " + path("grid.json") + " --jobs 2 --out " + path("sweep")), 0);
  const std::string table = read_file(path("sweep/sweep.json"));
  EXPECT_TRUE(fs::exists(folder_ / "sweep/e5m2_learning_rate=0.001/state.npz"));
  // Finished runs are taken as they are.
  ASSERT_EQ(tool("sweep " + path("grid.json") + " --jobs 1 --out " + path("sweep")), 0);
  EXPECT_EQ(read_file(path("sweep/sweep.json")), table);
  ASSERT_EQ(tool("report " + path("run") + " " + path("run/from-10") + " " + path("sweep") +
                 " --out " + path("r.html")),
            0);
  const std::string html = read_file(path("r.html"));
  for (const char* const part :
       {"<svg", "Clamped gains", "Interventions at step 10", "Sweep", "e5m2_learning_rate=0.001"}) {
    EXPECT_NE(html.find(part), std::string::npos) << part;
  }
  EXPECT_EQ(html.find("http"), std::string::npos) << "the report must need nothing else";
  EXPECT_EQ(html.find("nan"), std::string::npos);
}

TEST_F(Study, AnInterruptLeavesAStateThatGoesOn) {
  using namespace std::chrono_literals;
  const std::vector<std::string> command = {
      "run",       "--preset", "tiny",  "--set",    "steps=150", "--set", "checkpoint_every=10",
      "--threads", "1",        "--out", path("run")};
  {
    tool_test::child c(command, false);
    for (int i = 0; i != 1000 && !fs::exists(folder_ / "run/state.npz"); ++i) {
      std::this_thread::sleep_for(10ms);
    }
    c.signal(SIGINT);
    const int status = c.wait();
    ASSERT_TRUE(WIFEXITED(status)) << status;
    EXPECT_EQ(WEXITSTATUS(status), 130);
  }
  for (const auto& file : fs::directory_iterator(folder_ / "run")) {
    EXPECT_FALSE(file.path().string().ends_with(".tmp")) << file.path();
  }
  const json summary = read_json_file(path("run/summary.json"));
  EXPECT_LT(summary["step"].get<int>(), 150);
  std::string arguments;
  for (const std::string& a : command) arguments += " '" + a + "'";
  ASSERT_EQ(tool(arguments), 0);
  EXPECT_NE(output().find("going on from step"), std::string::npos);
  study_settings s = preset_settings("tiny");
  s.steps = 150;
  s.checkpoint_every = 10;
  EXPECT_EQ(read_json_file(path("run/summary.json"))["status"], "finished");
  const engine e(2);
  s.checkpoint_every = 1000;
  study_run whole(e, s, true, path("whole"));
  ASSERT_TRUE(whole.run(s.steps, no_progress));
  EXPECT_EQ(read_file(path("run/steps.jsonl")), read_file(path("whole/steps.jsonl")));
}

}  // namespace
