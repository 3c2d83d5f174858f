// SPDX-License-Identifier: Apache-2.0
// How a tool of this project starts and ends: errors are one line on stderr, exit code 2.
#pragma once

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <exception>
#include <new>
#include <string>

namespace mxtool {

/// Parses the arguments, which runs a subcommand; the exit code is what the subcommand left.
inline int parse_and_run(CLI::App& app, int argc, char** argv, const int& exit_code) {
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& e) {
    return app.exit(e);
  } catch (const CLI::ParseError& e) {
    const std::string name = app.get_name();
    fmt::print(stderr, "{0}: error: {1}\nRun {0} --help or {0} COMMAND --help for usage.\n", name,
               e.what());
    return 2;
  }
  return exit_code;
}

/// The main function around run(argc, argv). `too_large`: what did not fit the memory.
template <class Run>
int guarded_main(const char* tool, const char* too_large, const Run& run) {
  std::string what;
  try {
    return run();
  } catch (const std::bad_alloc&) {
    what = fmt::format("not enough memory for {}", too_large);
  } catch (const std::exception& e) {
    what = e.what();
  }
  fmt::print(stderr, "{}: error: {}\n", tool, what);
  return 2;
}

}  // namespace mxtool
