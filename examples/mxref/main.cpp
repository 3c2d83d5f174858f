// SPDX-License-Identifier: Apache-2.0
// mxref: bit-exact MX numerics on the command line. Exit 0: yes or match, 1: mismatch, 2: usage or
// input error.
#include <fmt/format.h>

#include "array_io.hpp"
#include "cli_main.hpp"
#include "commands.hpp"
#include "names.hpp"

namespace {

constexpr const char* footer =
    "Arrays: FILE.npy, FILE.npz:NAME, FILE.safetensors:NAME, raw FILE.bin (with --shape), "
    "- for standard input or output.\n"
    "Start with: mxref info --formats, mxref info --models, mxref verify --help";

int run(int argc, char** argv) {
  CLI::App app{"mxref: bit-exact reference of the OCP Microscaling formats and matrix units"};
  app.name("mxref");
  app.footer(footer);
  app.set_version_flag("--version", fmt::format("mxref {}.{}.{}", MXREF_VERSION_MAJOR,
                                                MXREF_VERSION_MINOR, MXREF_VERSION_PATCH));
  app.require_subcommand(1);
  app.get_formatter()->column_width(34);
  int exit_code = 0;
  mxtool::remove_files_on_signals();
  mxtool::add_encode(app);
  mxtool::add_decode(app);
  mxtool::add_quantize(app);
  mxtool::add_dequantize(app);
  mxtool::add_gemm(app);
  mxtool::add_verify(app, exit_code);
  mxtool::add_layout(app);
  mxtool::add_info(app);
  return mxtool::parse_and_run(app, argc, argv, exit_code);
}

}  // namespace

int main(int argc, char** argv) {
  return mxtool::guarded_main("mxref", "these arrays", [&] { return run(argc, argv); });
}
