// SPDX-License-Identifier: Apache-2.0
// Files that appear whole or not at all, and interrupts that wait for the end of a step.
#pragma once

#include <string>
#include <vector>

namespace instability {

/// Writes a file under a temporary name beside it, then renames it. Throws mxtool::output_error.
void write_file(const std::string& path, const std::string& text);

/// The whole file; throws mxtool::input_error.
std::string read_file(const std::string& path);

/// Creates a folder and its parents; throws mxtool::output_error.
void make_folder(const std::string& path);

/// From now on the first SIGINT or SIGTERM only sets a flag; the second removes temporary files
/// and ends the process.
void catch_interrupts();
bool interrupted() noexcept;

/// Exit code of a command that an interrupt ended with its state saved.
inline constexpr int interrupted_exit = 130;

}  // namespace instability
