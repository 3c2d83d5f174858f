// SPDX-License-Identifier: Apache-2.0
// mxref-study: training with simulated MX arithmetic, the same to the bit on every machine.
#include <fmt/format.h>

#include <exception>
#include <new>

#include "study_commands.hpp"

namespace {

int fail(const char* what) {
  fmt::print(stderr, "mxref-study: error: {}\n", what);
  return 2;
}

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
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& e) {
    return app.exit(e);
  } catch (const CLI::ParseError& e) {
    fmt::print(stderr,
               "mxref-study: error: {}\nRun mxref-study --help or mxref-study COMMAND --help for "
               "usage.\n",
               e.what());
    return 2;
  }
  return exit_code;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return run(argc, argv);
  } catch (const std::bad_alloc&) {
    return fail("not enough memory for this model and batch");
  } catch (const std::exception& e) {
    return fail(e.what());
  }
}
