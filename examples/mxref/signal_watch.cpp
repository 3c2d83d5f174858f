// SPDX-License-Identifier: Apache-2.0
// What an interrupted command must not leave behind: files under their temporary names.
#include <unistd.h>

#include <array>
#include <atomic>
#include <climits>
#include <csignal>
#include <cstring>

#include "array_io_detail.hpp"

namespace mxtool {
namespace {

// Fixed memory that a handler may read at any time. Slots are claimed by one thread at a time.
struct watched_file {
  std::atomic<bool> active;
  std::array<char, PATH_MAX> path;
};

std::array<watched_file, 16> watched;
std::atomic<bool> committing_files;
std::atomic<int> waiting_signal;
static_assert(std::atomic<bool>::is_always_lock_free && std::atomic<int>::is_always_lock_free);

void end_process(int signal) {
  for (const watched_file& file : watched) {
    if (file.active) ::unlink(file.path.data());
  }
  std::signal(signal, SIG_DFL);
  std::raise(signal);
}

extern "C" void on_signal(int signal) {
  if (committing_files) {
    waiting_signal = signal;
  } else {
    end_process(signal);
  }
}

}  // namespace

namespace detail {

signal_watch::signal_watch(const std::string& path) : slot_(watched.size()) {
  if (path.size() >= PATH_MAX) return;  // no such file can be created
  for (slot_ = 0; slot_ != watched.size() && watched[slot_].active; ++slot_) continue;
  if (slot_ == watched.size()) return;
  std::memcpy(watched[slot_].path.data(), path.c_str(), path.size() + 1);
  watched[slot_].active = true;
}

signal_watch::~signal_watch() {
  if (slot_ != watched.size()) watched[slot_].active = false;
}

signal_watch::committing::committing() { committing_files = true; }

signal_watch::committing::~committing() {
  committing_files = false;
  if (const int signal = waiting_signal.exchange(0)) end_process(signal);
}

}  // namespace detail

void remove_files_on_signals() {
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGPIPE}) {
    struct sigaction action {};
    if (::sigaction(signal, nullptr, &action) != 0 || action.sa_handler == SIG_IGN) continue;
    action.sa_handler = on_signal;
    action.sa_flags = SA_RESTART;
    ::sigaction(signal, &action, nullptr);
  }
}

}  // namespace mxtool
