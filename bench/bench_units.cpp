// SPDX-License-Identifier: Apache-2.0
// The scalar core on the models of matrix units: K = 32 steps per second and core.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "bench.hpp"
#include "mxref/mxref.hpp"

namespace {

using mxref::index_t;

constexpr index_t rows = 64;
constexpr index_t depth = 1024;

/// Normally distributed numbers as codes in containers of the format.
struct operand {
  operand(mxref::format_desc f, int block, mxref::format_desc scale_format, std::uint32_t seed) {
    const auto x = bench::normal_data(static_cast<std::size_t>(rows * depth), seed);
    const index_t width = mxref::container_bytes(f);
    codes.resize(static_cast<std::size_t>(rows * depth * width));
    for (index_t i = 0; i < rows * depth; ++i) {
      const auto code = static_cast<std::uint32_t>(mxref::to_code(
          f, mxref::to_number(x[static_cast<std::size_t>(i)]), mxref::rounding::nearest_even{}));
      mxref::store_code(codes.data() + i * width, width, code);
    }
    view.format = f;
    view.codes = codes.data();
    view.rows = rows;
    view.depth = depth;
    view.col_bytes = width;
    view.row_bytes = depth * width;
    if (block == 0) return;
    const std::uint8_t one = scale_format == mxref::E8M0::desc ? 127 : 0x38;
    scales.assign(static_cast<std::size_t>(rows * depth / block), one);
    view.block = block;
    view.scale_format = scale_format;
    view.scales = scales.data();
    view.scale_row_bytes = depth / block;
  }

  std::vector<std::uint8_t> codes;
  std::vector<std::uint8_t> scales;
  mxref::operand_view view;
};

constexpr mxref::format_desc formats[] = {mxref::binary16::desc, mxref::bfloat16::desc,
                                          mxref::TF32::desc,     mxref::E4M3::desc,
                                          mxref::E2M1::desc,     mxref::E4M3FNUZ::desc};

void run(benchmark::State& state, const mxref::unit_model& model, const mxref::unit_mode& mode,
         mxref::format_desc f) {
  const operand a(f, mode.block, mode.scale_format, 1);
  const operand b(f, mode.block, mode.scale_format, 2);
  const mxref::format_desc out = mode.unit.accumulator;
  std::vector<std::uint32_t> d(static_cast<std::size_t>(rows * rows));
  mxref::output_view to;
  to.format = out;
  to.data = d.data();
  to.rows = to.cols = rows;
  to.col_bytes = 4;
  to.row_bytes = 4 * rows;
  if (!mxref::gemm(a.view, b.view, to, model)) {
    std::fprintf(stderr, "bench_units: %s refuses its own operands\n", model.name);
    std::exit(1);
  }
  for (auto _ : state) {
    static_cast<void>(mxref::gemm(a.view, b.view, to, model));
    benchmark::DoNotOptimize(d.data());
  }
  state.counters["steps/s"] = benchmark::Counter(static_cast<double>(rows * rows * depth / 32),
                                                 benchmark::Counter::kIsIterationInvariantRate);
}

}  // namespace

int main(int argc, char** argv) {
  for (const mxref::unit_model& model : mxref::matrix_units) {
    for (int i = 0; i < model.mode_count; ++i) {
      const mxref::unit_mode& mode = model.modes[i];
      for (const mxref::format_desc& f : formats) {
        const mxref::operand_kind kind{f, mode.scale_format, mode.block};
        const mxref::unit_choice choice = model.resolve(kind, kind, mode.unit.accumulator);
        if (!choice || !(choice.unit.desc == mode.unit) || (mxref::set_of(f) & mode.a) == 0)
          continue;
        const std::string name = std::string(model.name) + "/mode" + std::to_string(i);
        benchmark::RegisterBenchmark(
            name.c_str(), [&model, &mode, f](benchmark::State& s) { run(s, model, mode, f); });
        break;
      }
    }
  }
  return bench::run(argc, argv);
}
