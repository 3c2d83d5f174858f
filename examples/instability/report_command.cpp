// SPDX-License-Identifier: Apache-2.0
// report: runs, interventions and sweeps as one HTML file with figures, which needs nothing else.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <memory>

#include "chart.hpp"
#include "files.hpp"
#include "measure.hpp"
#include "run_log.hpp"
#include "study_commands.hpp"

namespace instability {

namespace {

namespace fs = std::filesystem;

constexpr const char* page_head = R"(<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>{}</title><style>
:root{{--ink:#0b0b0b;--soft:#52514e;--grey:#a3a29c;--line:#e4e3df;--page:#fbfbf9;--card:#fff;
--s0:#2a78d6;--s1:#eb6834;--s2:#1baf7a;--s3:#4a3aa7;--s4:#eda100;--s5:#e87ba4}}
body{{margin:0;background:var(--page);color:var(--ink);font:15px/1.5 system-ui,sans-serif}}
main{{max-width:1160px;margin:0 auto;padding:28px 20px 60px}}
h1{{font-size:26px;margin:0 0 4px}}h2{{font-size:20px;margin:44px 0 6px}}
p{{margin:4px 0 12px;color:var(--soft);max-width:75ch}}
.grid2{{display:grid;grid-template-columns:repeat(auto-fill,minmax(min(100%,460px),1fr));gap:16px}}
.grid3{{display:grid;grid-template-columns:repeat(auto-fill,minmax(min(100%,300px),1fr));gap:12px}}
figure{{margin:0;padding:12px 14px;background:var(--card);border:1px solid var(--line);border-radius:8px}}
figcaption b{{display:block;font-size:14px}}figcaption small{{display:block;color:var(--soft);font-size:12.5px}}
svg{{display:block;width:100%;height:auto;margin-top:6px}}
.grid{{stroke:var(--line);stroke-width:1}}.tick{{fill:var(--soft);font-size:11px;font-family:system-ui,sans-serif}}
.line{{fill:none;stroke-width:2;stroke-linejoin:round}}
.legend{{display:flex;flex-wrap:wrap;gap:2px 14px;margin-top:6px;font-size:12.5px;color:var(--soft)}}
.legend i{{display:inline-block;width:16px;border-top:2.5px solid;margin-right:6px;vertical-align:middle}}
.legend i.dashed{{border-top-style:dashed}}
.wide{{overflow-x:auto}}table{{border-collapse:collapse;margin:10px 0;font-size:13.5px;background:var(--card)}}
th,td{{padding:5px 12px;border:1px solid var(--line);text-align:left}}
td.n{{text-align:right;font-variant-numeric:tabular-nums}}th{{font-weight:600}}
details{{margin:12px 0}}summary{{cursor:pointer;color:var(--soft)}}
pre{{background:var(--card);border:1px solid var(--line);padding:12px;overflow-x:auto;font-size:12.5px}}
</style></head><body><main>
)";

chart_series line(const log_table& t, std::string name, const std::string& column, int color,
                  bool dashed = false) {
  return {std::move(name), t.series(column), color, dashed};
}

chart_series gain_line(const log_table& t, std::string name, const std::string& prefix, int color) {
  chart_series s = line(t, std::move(name), prefix + "gain_mean", color);
  for (const auto& point : t.series(prefix + "gain_spread")) s.spread.push_back(point.second);
  return s;
}

/// The threshold of a format, as columns spell it.
std::string threshold_of(const study_settings& s) {
  const element e = s.precision[role::w].format;
  return is_mx(e) && e != element::int8 ? fmt::format("{}", clamp_threshold(desc_of(e))) : "1.75";
}

std::string setting_line(const study_settings& s) {
  const auto& w = s.precision[role::w];
  const auto name_of = [](const auto& names, auto value) {
    for (const auto& n : names) {
      if (n.value == value) return std::string(n.name);
    }
    return std::string();
  };
  return fmt::format("width {}, {} blocks, {}, batch {}, {} {}, {} weights, scale {}, seed {}",
                     s.model.width, s.model.layers, name_of(activation_names, s.model.activation),
                     s.data.batch, name_of(optimizer_names, s.optimizer.kind),
                     s.optimizer.learning_rate, name_of(element_names, w.format),
                     name_of(scale_names, w.scale), s.seed);
}

/// Numbers that are not finite are null in JSON.
std::string number_text(const json& x) {
  return x.is_number() ? fmt::format("{:.4g}", x.get<double>()) : std::string("not finite");
}

std::string outcome_table(const json& summary) {
  std::string rows;
  for (const char* const arm : {"fp32", "mx"}) {
    if (!summary.contains(arm)) continue;
    const json& a = summary[arm];
    rows += fmt::format(
        "<tr><td>{}</td><td class=\"n\">{}</td><td class=\"n\">{}</td><td "
        "class=\"n\">{}</td>"
        "<td>{}</td><td><code>{}</code></td></tr>",
        arm == std::string("mx") ? "MX" : "FP32", number_text(a["loss"]),
        number_text(a["smallest_loss"]), a["spikes"].dump(),
        a["failed_at"].is_null() ? "never" : "step " + a["failed_at"].dump(),
        a.value("digest", ""));
  }
  return "<div class=\"wide\"><table><tr><th>run</th><th>loss</th><th>smallest</th><th>spikes</th>"
         "<th>failed</th><th>digest of the parameters</th></tr>" +
         rows + "</table></div>";
}

std::string run_section(const std::string& folder) {
  study_settings s;
  const json settings = read_json_file(folder + "/settings.json");
  apply(settings, folder + "/settings.json", s);
  const json summary = read_json_file(folder + "/summary.json");
  const log_table t(folder + "/steps.jsonl");
  const std::string T = threshold_of(s);

  const chart charts[] = {
      {"Loss",
       "mean squared error of a step's batch; dashed: on the validation batches",
       {line(t, "FP32", "fp32_loss", 0), line(t, "MX", "mx_loss", 1),
        line(t, "FP32, validation", "fp32_validation", 0, true),
        line(t, "MX, validation", "mx_validation", 1, true)},
       true},
      {"Gradient norm",
       "of all parameters",
       {line(t, "FP32", "fp32_gradient_norm", 0), line(t, "MX", "mx_gradient_norm", 1)},
       true},
      {"Gradient error r at equal parameters",
       "|MX - FP32| / |FP32|, both at the MX run's parameters",
       {line(t, "all", "r", 1), line(t, "LayerNorm", "r_ln", 2),
        line(t, "first matrices", "r_fc1", 3), line(t, "second matrices", "r_fc2", 4)},
       false,
       true},
      {"Cosine at equal parameters",
       "between the MX and the FP32 gradient",
       {line(t, "all", "cosine", 1), line(t, "LayerNorm", "cosine_ln", 2),
        line(t, "first matrices", "cosine_fc1", 3), line(t, "second matrices", "cosine_fc2", 4)}},
      {"Clamped gains",
       "share of LayerNorm gains above T = " + T + " of their block's binade",
       {line(t, "FP32", "fp32_clamp_gain_" + T, 0), line(t, "MX", "mx_clamp_gain_" + T, 1)},
       false,
       true,
       true},
      {"Gains",
       "mean, and one standard deviation around it",
       {gain_line(t, "FP32", "fp32_", 0), gain_line(t, "MX", "mx_", 1)}},
      {"Clamped tensors of the MX run",
       "share of numbers above T = " + T + " of their block's binade",
       {line(t, "weights", "mx_clamp_weight_" + T, 0),
        line(t, "after LayerNorm", "mx_clamp_post_norm_" + T, 1),
        line(t, "hidden", "mx_clamp_hidden_" + T, 2),
        line(t, "output gradients", "mx_clamp_gradient_" + T, 3)},
       true,
       false,
       true},
      {"Bias of the gradient",
       "<MX, FP32> / <FP32, FP32> - 1: what the projection gains or loses",
       {line(t, "all", "bias", 1), line(t, "LayerNorm", "bias_ln", 2),
        line(t, "first matrices", "bias_fc1", 3), line(t, "second matrices", "bias_fc2", 4)}},
      {"Across trajectories",
       "|MX - FP32|^2 / |FP32|^2, each gradient at its own run's parameters",
       {line(t, "r squared", "cross_r_squared", 1)},
       true},
      {"Cosine across trajectories",
       "each gradient at its own run's parameters",
       {line(t, "cosine", "cross_cosine", 1)}}};
  std::string html =
      fmt::format("<h2>{}</h2><p>{}: {} at step {}. {}</p>", escaped(s.name), escaped(folder),
                  summary.value("status", ""), summary["step"].dump(), setting_line(s));
  html += outcome_table(summary) + "<div class=\"grid2\">";
  for (const chart& c : charts) html += draw(c);
  return html + "</div><details><summary>All settings</summary><pre>" + escaped(settings.dump(2)) +
         "</pre></details>";
}

std::string interventions_section(const std::string& folder) {
  const json j = read_json_file(folder + "/interventions.json");
  const json& variants = j.at("variants");
  std::string html = fmt::format(
      "<h2>Interventions at step {}</h2><p>{}: continuations of the MX run of {}, {} "
      "steps each. Grey: the control.</p>",
      j.at("at").dump(), escaped(folder), escaped(j.at("run").get<std::string>()),
      j.at("steps").dump());
  std::string rows;
  std::string figures;
  std::vector<std::pair<double, double>> control;
  for (const json& v : variants) {
    const std::string name = v.at("name").get<std::string>();
    const log_table t(folder + "/" + v.at("folder").get<std::string>() + "/steps.jsonl");
    const auto r = t.series("r");
    if (name == "control") control = t.series("mx_loss");
    rows += fmt::format(
        "<tr><td>{}</td><td>{}</td><td>{}</td><td class=\"n\">{}</td><td class=\"n\">{}</td>"
        "<td class=\"n\">{}</td><td class=\"n\">{}</td></tr>",
        escaped(name), escaped(v.at("what").get<std::string>()),
        v.at("failed").get<bool>() ? "failed" : "survived", v.at("survived").dump(),
        number_text(v.at("loss")), v.at("spikes").dump(),
        r.empty() ? "" : fmt::format("{:.3g}", r.back().second));
    chart c{name, v.at("what").get<std::string>(), {}, true};
    c.width = 360;
    c.height = 190;
    if (name != "control") c.series.push_back({"control", control, -1});
    c.series.push_back(line(t, name, "mx_loss", 1));
    figures += draw(c);
  }
  return html +
         "<div class=\"wide\"><table><tr><th>intervention</th><th>change</th><th>outcome</th>"
         "<th>steps</th><th>last loss</th><th>spikes</th><th>last r</th></tr>" +
         rows + "</table></div><div class=\"grid3\">" + figures + "</div>";
}

std::string sweep_section(const std::string& folder) {
  const json j = read_json_file(folder + "/sweep.json");
  std::string rows;
  std::string figures;
  for (const json& run : j.at("runs")) {
    const std::string name = run.at("name").get<std::string>();
    const log_table t(folder + "/" + name + "/steps.jsonl");
    const auto r = t.series("r");
    const auto failed = [&](const char* a) {
      const json& at = run.at(a).at("failed_at");
      return at.is_null() ? std::string("no") : "step " + at.dump();
    };
    rows += fmt::format(
        "<tr><td>{}</td><td class=\"n\">{}</td><td class=\"n\">{}</td><td>{}</td><td>{}</td>"
        "<td class=\"n\">{}</td><td class=\"n\">{}</td></tr>",
        escaped(name), number_text(run.at("fp32").at("loss")), number_text(run.at("mx").at("loss")),
        failed("fp32"), failed("mx"), run.at("mx").at("spikes").dump(),
        r.empty() ? "" : fmt::format("{:.3g}", r.back().second));
    chart c{name, "", {line(t, "FP32", "fp32_loss", 0), line(t, "MX", "mx_loss", 1)}, true};
    c.width = 360;
    c.height = 190;
    figures += draw(c);
  }
  return fmt::format("<h2>Sweep</h2><p>{}: {} runs, losses of FP32 and MX.</p>", escaped(folder),
                     j.at("runs").size()) +
         "<div class=\"wide\"><table><tr><th>run</th><th>FP32 loss</th><th>MX loss</th>"
         "<th>FP32 failed</th><th>MX failed</th><th>MX spikes</th><th>last r</th></tr>" +
         rows + "</table></div><div class=\"grid3\">" + figures + "</div>";
}

struct report_options {
  std::vector<std::string> folders;
  std::string out = "report.html";
};

void report(const report_options& o) {
  std::string html;
  for (std::string folder : o.folders) {
    while (folder.size() > 1 && folder.back() == '/') folder.pop_back();
    if (fs::exists(folder + "/interventions.json")) {
      html += interventions_section(folder);
    } else if (fs::exists(folder + "/sweep.json")) {
      html += sweep_section(folder);
    } else if (fs::exists(folder + "/summary.json")) {
      html += run_section(folder);
    } else {
      throw settings_error(fmt::format(
          "{}: holds no run (summary.json), interventions (interventions.json) or sweep "
          "(sweep.json)",
          folder));
    }
  }
  const std::string title = "Training in simulated MX";
  write_file(o.out, fmt::format(page_head, title) + "<h1>" + title +
                        "</h1><p>mxref-study. Every figure follows from the settings and the seed, "
                        "to the bit, on any machine.</p>" +
                        html + "</main></body></html>\n");
  fmt::print("{}\n", o.out);
}

}  // namespace

void add_report(CLI::App& app) {
  auto o = std::make_shared<report_options>();
  CLI::App* cmd = app.add_subcommand("report", "One HTML file with figures of runs");
  cmd->add_option("FOLDER", o->folders, "Folders of runs, interventions, sweeps")->required();
  cmd->add_option("--out", o->out, "The file")->capture_default_str();
  cmd->callback([o] { report(*o); });
}

}  // namespace instability
