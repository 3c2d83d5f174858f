// SPDX-License-Identifier: Apache-2.0
// The tool as a running process: fed through its standard input, watched, interrupted.
#pragma once

#include <fcntl.h>
#include <pty.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tool_test {

class child {
 public:
  /// Standard error goes to a terminal of its own, or to a pipe.
  child(std::vector<std::string> arguments, bool terminal) {
    std::array<int, 2> input{};
    std::array<int, 2> errors{};  // ours, the child's
    // A socket, since writing to a process that has died must not raise SIGPIPE here.
    const bool made = ::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, input.data()) == 0 &&
                      (terminal ? ::openpty(&errors[0], &errors[1], nullptr, nullptr, nullptr)
                                : ::pipe2(errors.data(), O_CLOEXEC)) == 0;
    if (!made) return;
    arguments.insert(arguments.begin(), MXREF_TOOL);
    std::vector<char*> argv;
    for (std::string& argument : arguments) argv.push_back(argument.data());
    argv.push_back(nullptr);
    pid_ = ::fork();
    if (pid_ == 0) {
      ::dup2(input[0], STDIN_FILENO);
      ::dup2(errors[1], STDERR_FILENO);
      ::execv(MXREF_TOOL, argv.data());
      ::_exit(127);
    }
    ::close(input[0]);
    ::close(errors[1]);
    input_ = input[1];
    errors_ = errors[0];
  }
  child(const child&) = delete;
  child& operator=(const child&) = delete;
  ~child() {
    if (pid_ > 0) {
      ::kill(pid_, SIGKILL);
      wait();
    }
    ::close(errors_);
  }

  void feed(std::string_view bytes) const {
    while (!bytes.empty()) {
      const ssize_t put = ::send(input_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (put <= 0) return;
      bytes.remove_prefix(static_cast<std::size_t>(put));
    }
  }

  void signal(int number) const { ::kill(pid_, number); }

  /// Ends the input, and returns the wait status.
  int wait() {
    ::close(input_);
    int status = -1;
    ::waitpid(pid_, &status, 0);
    pid_ = -1;
    return status;
  }

  /// What it has said on standard error, once it has ended.
  std::string errors() const {
    std::string text;
    std::array<char, 4096> piece{};
    for (ssize_t got = 0; (got = ::read(errors_, piece.data(), piece.size())) > 0;) {
      text.append(piece.data(), static_cast<std::size_t>(got));
    }
    return text;
  }

 private:
  pid_t pid_ = -1;
  int input_ = -1;
  int errors_ = -1;
};

}  // namespace tool_test
