// SPDX-License-Identifier: Apache-2.0
// The subcommands. Each add_ function declares one; its callback does the work and sets the exit
// code (0 unless it says otherwise). Errors are thrown, see main.cpp.
#pragma once

#include <CLI/CLI.hpp>

namespace mxtool {

inline constexpr const char* streaming_footer =
    "Works in pieces of a few MiB: arrays may be larger than memory, except Fortran-ordered ones.";

void add_encode(CLI::App& app);
void add_decode(CLI::App& app);
void add_quantize(CLI::App& app);
void add_dequantize(CLI::App& app);
void add_gemm(CLI::App& app);
void add_verify(CLI::App& app, int& exit_code);
void add_layout(CLI::App& app);
void add_info(CLI::App& app);

}  // namespace mxtool
