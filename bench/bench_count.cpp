// SPDX-License-Identifier: Apache-2.0
// Instructions per number and per multiply-add, a figure without noise. A process is stepped
// through a kernel, so that every target can be counted, AVX-512 too, which callgrind does not
// know.
#include <csignal>
#include <cstdio>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bench.hpp"
#include "conversions.hpp"
#include "mxref/mxref.hpp"
#include "operands.hpp"

using mxref::index_t;

/// What is counted; callgrind knows it by this name.
extern "C" [[gnu::noinline]] void mxref_counted(const std::function<void()>& f) { f(); }

namespace {

struct counted_case {
  std::string name;
  double units;                                 ///< numbers or multiply-adds
  std::function<std::function<void()>()> make;  ///< prepares the data
};

void add_conversion(std::vector<counted_case>& cases, const bench::conversion& c,
                    const bench::named_format& f) {
  constexpr index_t rows = 64;
  constexpr index_t cols = 1024;
  cases.push_back({c.name + "/" + f.name, static_cast<double>(rows * cols), [=] {
                     auto d = std::make_shared<bench::conversion_data>(f.format, rows, cols);
                     return [=] { c.fast(*d); };
                   }});
}

void add_chain(std::vector<counted_case>& cases, const std::string& kind) {
  constexpr index_t n = 144;
  cases.push_back({"fp32-chain/" + kind, static_cast<double>(n * n * n), [=] {
                     auto a = std::make_shared<bench::operand>(kind, n, n, 1);
                     auto b = std::make_shared<bench::operand>(kind, n, n, 2);
                     auto d = std::make_shared<bench::array<float>>(bench::size_of(n, n));
                     return [=] {
                       static_cast<void>(bench::fast::gemm(*a, *b, mxref::view(d->data(), n, n),
                                                           mxref::accumulate::fp32_chain{}));
                     };
                   }});
}

std::vector<counted_case> all_cases() {
  std::vector<counted_case> cases;
  // The count is the same for all formats but INT8.
  for (const bench::named_format& f : bench::mx_formats) {
    if (f.format != mxref::E4M3::desc && f.format != mxref::INT8::desc) continue;
    for (const bench::quantizations& q : bench::all_quantizations()) {
      for (const auto* c :
           {&q.rows, &q.columns, &q.columns_in_order, &q.fake_rows, &q.fake_columns}) {
        add_conversion(cases, *c, f);
      }
    }
    for (const auto& c : {bench::encode(), bench::decode(), bench::dequantize()}) {
      add_conversion(cases, c, f);
    }
  }
  for (const char* kind : {"e4m3", "binary32", "binary32_t", "bfloat16"}) add_chain(cases, kind);
  return cases;
}

/// Steps a child process through f one instruction at a time.
double instructions(const std::function<void()>& f) {
  const pid_t child = fork();
  if (child < 0) bench::fail("fork failed");
  if (child == 0) {
    if (ptrace(PTRACE_TRACEME, 0, nullptr, nullptr) != 0) _exit(1);
    raise(SIGSTOP);
    mxref_counted(f);
    raise(SIGSTOP);
    _exit(0);
  }
  int status = 0;
  waitpid(child, &status, 0);
  double count = 0;
  do {
    ptrace(PTRACE_SINGLESTEP, child, nullptr, nullptr);
    waitpid(child, &status, 0);
    ++count;
  } while (WIFSTOPPED(status) && WSTOPSIG(status) == SIGTRAP);
  if (!WIFSTOPPED(status)) bench::fail("the process cannot be stepped through");
  kill(child, SIGKILL);
  waitpid(child, &status, 0);
  return count;
}

void count_all() {
  std::printf("target %s\n%-44s %10s %8s\n", bench::fast::target(), "instructions", "for one",
              "for 16");
  const double nothing = instructions([] {});
  for (const counted_case& c : all_cases()) {
    const std::function<void()> f = c.make();
    f();  // once before: what is set up on first use is not counted
    const double one = (instructions(f) - nothing) / c.units;
    std::printf("%-44s %10.3f %8.1f\n", c.name.c_str(), one, 16 * one);
    std::fflush(stdout);
  }
}

}  // namespace

/// bench_count: counts all cases. bench_count CASE: runs one, for callgrind.
int main(int argc, char** argv) {
  if (argc == 1) {
    count_all();
    return 0;
  }
  for (const counted_case& c : all_cases()) {
    if (c.name != argv[1]) continue;
    const std::function<void()> f = c.make();
    f();
    mxref_counted(f);
    return 0;
  }
  bench::fail(std::string("no such case: ") + argv[1]);
}
