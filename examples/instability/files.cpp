// SPDX-License-Identifier: Apache-2.0
#include "files.hpp"

#include <atomic>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <memory>
#include <sstream>

#include "array_io_detail.hpp"

namespace instability {

namespace {

std::atomic<bool> flag;
static_assert(std::atomic<bool>::is_always_lock_free);

extern "C" void on_first_signal(int) {
  flag = true;
  mxtool::remove_files_on_signals();  // sigaction alone, which a handler may call
}

}  // namespace

void write_file(const std::string& path, const std::string& text) {
  namespace detail = mxtool::detail;
  detail::output_target target;
  target.spec = path;
  target.path = std::filesystem::absolute(path).string();
  std::vector<std::unique_ptr<detail::staged_file>> files;
  files.push_back(std::make_unique<detail::staged_file>(target));
  files.back()->write(text);
  files.back()->finish();
  detail::staged_file::publish(files);
}

std::string read_file(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::ostringstream text;
  if (!in || !(text << in.rdbuf())) mxtool::detail::bad_input(path, "cannot be read");
  return text.str();
}

void make_folder(const std::string& path) {
  std::error_code error;
  std::filesystem::create_directories(path, error);
  if (error) mxtool::detail::bad_output(path, "cannot be created: {}", error.message());
  if (!std::filesystem::is_directory(path)) {
    mxtool::detail::bad_output(path, "is not a folder");
  }
}

void catch_interrupts() {
  for (const int signal : {SIGINT, SIGTERM}) {
    struct sigaction action {};
    if (::sigaction(signal, nullptr, &action) != 0 || action.sa_handler == SIG_IGN) continue;
    action.sa_handler = on_first_signal;
    action.sa_flags = SA_RESTART;
    ::sigaction(signal, &action, nullptr);
  }
}

bool interrupted() noexcept { return flag; }

}  // namespace instability
