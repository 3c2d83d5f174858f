// SPDX-License-Identifier: Apache-2.0
// Runs the benchmarks behind the goals three times and prints measured figures beside floors and
// goals. Low figures are no errors.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <map>
#include <optional>
#include <regex>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "goals.hpp"

namespace {

using bench::goal;
using bench::quantity;
using nlohmann::json;

/// counter -> its values, one a run.
using counters = std::map<std::string, std::vector<double>>;
/// benchmark -> counters.
using results = std::map<std::string, counters>;

struct figure {
  double value;
  std::string benchmark;  ///< the worst
};

double median(std::vector<double> v) {
  std::sort(v.begin(), v.end());
  return v[v.size() / 2];
}

double median(const results& all, const std::string& benchmark, const char* counter) {
  return median(all.at(benchmark).at(counter));
}

/// Adds one run of a program; its context goes to `context`. False where the program is missing or
/// fails.
bool run(const std::string& path, const std::string& filter, results& all, json& context) {
  if (!std::ifstream(path)) return false;
  const std::string out = path + ".json";
  const std::string command = fmt::format(
      "'{}' '--benchmark_filter={}' --benchmark_min_time=0.1 --benchmark_format=json >'{}'", path,
      filter, out);
  if (std::system(command.c_str()) != 0) return false;
  const json report = json::parse(std::ifstream(out));
  context.update(report.at("context"));
  for (const json& b : report.at("benchmarks")) {
    const std::string name = b.at("name");
    for (const char* counter : {"rate", "ratio", "fma_gflops"}) {
      if (b.contains(counter)) all[name][counter].push_back(b.at(counter));
    }
  }
  return true;
}

std::optional<figure> measure(const goal& g, const results& all) {
  const std::regex pattern(g.benchmarks);
  std::optional<figure> worst;
  const auto take = [&](double value, const std::string& benchmark) {
    if (!worst || value < worst->value) worst = figure{value, benchmark};
  };
  std::map<std::string, std::vector<double>> sizes;
  for (const auto& [name, values] : all) {
    std::smatch match;
    if (!std::regex_search(name, match, pattern, std::regex_constants::match_continuous)) continue;
    switch (g.measured) {
      case quantity::ratio:
        take(median(all, name, "ratio"), name);
        break;
      case quantity::rate:
        take(median(all, name, "rate") * 1e-9, name);
        break;
      case quantity::flatness: {
        const std::string matched = match.str();
        sizes[matched.substr(0, matched.find_last_of('/', matched.size() - 2))].push_back(
            median(all, name, "rate"));
        break;
      }
      case quantity::relative:
        take(median(all, name, "rate") / median(all, g.reference + match.suffix().str(), "rate"),
             name);
        break;
    }
  }
  for (const auto& [name, rates] : sizes) {
    const auto [low, high] = std::minmax_element(rates.begin(), rates.end());
    take(*low / *high, name);
  }
  return worst;
}

/// Floors and goals hold on AVX-512; other targets are only reported.
const char* verdict(const goal& g, const std::optional<figure>& f, const json& context) {
  if (!f) return "not measured";
  const std::string target = context.value("target", "");
  if (!target.starts_with("AVX3") && !target.starts_with("AVX10")) return "reported";
  if (f->value >= g.target) return "goal";
  return f->value >= g.floor ? "floor" : "below";
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) {
    fmt::print(stderr, "usage: {} FOLDER_OF_PROGRAMS REPORT.json\n", argv[0]);
    return 2;
  }
  std::map<std::string, std::string> filters;
  for (const goal& g : bench::goals) {
    std::string& filter = filters[g.program];
    filter += fmt::format("{}(^{})", filter.empty() ? "" : "|", g.benchmarks);
  }
  results all;
  json context = json::object();
  for (int round = 1; round <= 3; ++round) {
    for (const auto& [program, filter] : filters) {
      fmt::print(stderr, "run {} of 3: {}\n", round, program);
      const bool ok = run(fmt::format("{}/{}", argv[1], program), filter, all, context);
      if (!ok) fmt::print(stderr, "{}: not there, or it failed\n", program);
    }
  }

  json report;
  std::vector<double> fma;
  for (const auto& [name, values] : all) {
    for (const double v : values.at("fma_gflops")) fma.push_back(v);
    for (const auto& [counter, runs] : values) report["benchmarks"][name][counter] = runs;
  }
  report["context"] = context;
  if (!fma.empty()) {
    const auto [low, high] = std::minmax_element(fma.begin(), fma.end());
    fmt::print("{} on {}, {}{}\n", context.value("target", ""), context.value("cpu", ""),
               context.value("compiler", ""), context.value("flags", ""));
    fmt::print("scalar loop: {}\n", context.value("scalar_loop", "not measured"));
    fmt::print("multiply-adds in registers: median {:.0f} GFLOP/s, {:.0f} .. {:.0f}\n\n",
               median(fma), *low, *high);
  }
  fmt::print("{:<38} {:>8} {:>6} {:>6}  {:<12} {}\n", "kernel", "measured", "floor", "goal",
             "verdict", "worst case");
  const std::regex suffix("(/iterations:[0-9]+)?/manual_time$");
  for (const goal& g : bench::goals) {
    const std::optional<figure> f = measure(g, all);
    const std::string worst = f ? std::regex_replace(f->benchmark, suffix, "") : "";
    fmt::print("{:<38} {:>8} {:>6.3g} {:>6.3g}  {:<12} {}\n", g.kernel,
               f ? fmt::format("{:.3g}", f->value) : "-", g.floor, g.target, verdict(g, f, context),
               worst);
    json row = {{"kernel", g.kernel}, {"floor", g.floor}, {"goal", g.target}};
    row["verdict"] = verdict(g, f, context);
    row["worst"] = worst;
    if (f) row["measured"] = f->value;
    report["goals"].push_back(row);
  }
  std::ofstream(argv[2]) << report.dump(2) << '\n';
  return 0;
}
