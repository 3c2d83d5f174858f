// SPDX-License-Identifier: Apache-2.0
#include "engine.hpp"

#include <fmt/format.h>

#include <system_error>

#include "mxref/simd/dispatch.hpp"
#include "mxref/simd/scalar.hpp"
#include "names.hpp"

namespace mxtool {

namespace {

namespace simd = mxref::simd;

const simd::kernel_table& find_target(const std::string& text) {
  const auto known = targets();
  if (text.empty()) return *known.front();
  const std::string wanted = normalized(text);
  std::vector<std::string> names;
  for (const simd::kernel_table* t : known) {
    names.push_back(target_name(*t));
    if (names.back() == wanted) return *t;
  }
  throw_unknown("target", text, std::vector<std::string_view>(names.begin(), names.end()));
}

simd::threads start_threads(std::optional<long> wanted) {
  constexpr long most = 1024;
  if (wanted && (*wanted < 1 || *wanted > most)) {
    throw usage_error(fmt::format("--threads {}: choose 1 to {}", *wanted, most));
  }
  try {
    return simd::threads(static_cast<int>(wanted.value_or(0)));
  } catch (const std::system_error& e) {
    throw usage_error(fmt::format("{} threads do not start ({}): choose fewer with --threads",
                                  wanted ? std::to_string(*wanted) : "as many as cores",
                                  e.code().message()));
  }
}

}  // namespace

std::vector<const simd::kernel_table*> targets() {
  std::vector<const simd::kernel_table*> list;
  for (auto t = simd::available_kernels(); *t != nullptr; ++t) {
    // Highway's emulation has no tile kernels: the core does as well, under the same name.
    if ((*t)->chain != nullptr) list.push_back(*t);
  }
  list.push_back(&simd::scalar_target::kernels());
  return list;
}

std::string target_name(const simd::kernel_table& kernels) { return normalized(kernels.target); }

void add_engine_options(CLI::App& cmd, engine_options& o) {
  cmd.add_option("--target", o.target,
                 "Instruction set, see mxref info --targets [the best]; never changes a bit");
  cmd.add_option("--threads", o.threads, "Threads [all cores]; never changes a bit");
}

engine::engine(const engine_options& o)
    : kernels_(&find_target(o.target)), threads_(start_threads(o.threads)) {}

}  // namespace mxtool
