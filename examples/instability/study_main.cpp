// SPDX-License-Identifier: Apache-2.0
// mxref-study: training with simulated MX arithmetic, the same to the bit on every machine.
#include "cli_main.hpp"
#include "study_commands.hpp"

namespace {

int run(int argc, char** argv) {
  CLI::App app{"mxref-study: training in simulated MX beside FP32, deterministic to the bit"};
  app.name("mxref-study");
  app.footer(
      "Start with: mxref-study run --preset quick, then mxref-study report runs/quick\n"
      "The mathematics and the switches: examples/instability/README.md");
  app.require_subcommand(1);
  app.get_formatter()->column_width(34);
  int exit_code = 0;
  instability::add_run(app, exit_code);
  instability::add_sweep(app, exit_code);
  instability::add_intervene(app, exit_code);
  instability::add_report(app);
  instability::add_lists(app);
  return mxtool::parse_and_run(app, argc, argv, exit_code);
}

}  // namespace

int main(int argc, char** argv) {
  return mxtool::guarded_main("mxref-study", "this model and batch",
                              [&] { return run(argc, argv); });
}
