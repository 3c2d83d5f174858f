// SPDX-License-Identifier: Apache-2.0
// Conversions in cache and from memory, each in turn with its yardstick.
#include <cstring>
#include <string>

#include "bench.hpp"
#include "conversions.hpp"
#include "converters.hpp"
#include "mxref/mxref.hpp"
#include "mxref/simd/thread_pool.hpp"
#include "scalar_loop.hpp"

namespace {

using bench::conversion;
using bench::conversion_data;
using bench::converter;
using bench::named_format;
using mxref::index_t;

/// 64k numbers, 256 KiB: in the second cache.
constexpr index_t cache_rows = 64;
constexpr index_t cache_cols = 1024;

/// 256 MiB of binary32.
constexpr index_t memory_rows = 4096;
constexpr index_t memory_cols = 16384;

double count_of(const conversion_data& d) { return static_cast<double>(d.in.size()); }

/// Bytes read and written for each number.
constexpr double element_bytes = 4 + 1;
constexpr double block_bytes = element_bytes + 1 / 32.0;
constexpr double copied_bytes = 4 + 4;

void copy(conversion_data& d) {
  std::memcpy(d.out.data(), d.in.data(), d.in.size() * sizeof(float));
  benchmark::ClobberMemory();
}

/// Numbers per second in cache, against another conversion of the same numbers.
void add_against(const conversion& c, const named_format& f, const conversion& peer) {
  bench::add("cache/" + c.name + "/" + f.name, [=](benchmark::State& state) {
    conversion_data d(f.format, cache_rows, cache_cols);
    bench::check_conversion(c, d);
    bench::against(
        state, 1, count_of(d), [&] { c.fast(d); }, count_of(d), [&] { peer.fast(d); });
  });
}

/// Numbers per second in cache, against a loop over scalar conversions.
void add_against(const conversion& c, const named_format& f, converter peer) {
  bench::add("cache/" + c.name + "/" + f.name, [=](benchmark::State& state) {
    conversion_data d(f.format, cache_rows, cache_cols);
    bench::check_conversion(c, d);
    bench::against(
        state, 1, count_of(d), [&] { c.fast(d); }, count_of(d), [&] { peer(d.in, d.codes); });
  });
}

/// Bytes per second, against memcpy of the numbers.
void add_against_copy(const std::string& where, const conversion& c, const named_format& f,
                      double bytes, index_t rows, index_t cols) {
  bench::add(where + c.name + "/" + f.name, [=](benchmark::State& state) {
    conversion_data d(f.format, rows, cols);
    bench::check_conversion(c, d);
    bench::against(
        state, 1, count_of(d) * bytes, [&] { c.fast(d); }, count_of(d) * copied_bytes,
        [&] { copy(d); });
  });
}

/// Our loop over scalar conversions.
converter scalar_loop(const std::string& format) {
  if (format == "e5m2") return bench::convert_all<mxref::E5M2::desc>;
  if (format == "e3m2") return bench::convert_all<mxref::E3M2::desc>;
  if (format == "e2m3") return bench::convert_all<mxref::E2M3::desc>;
  if (format == "e2m1") return bench::convert_all<mxref::E2M1::desc>;
  return bench::convert_all<mxref::E4M3::desc>;
}

/// The yardstick of quantization: ml_dtypes where it was compiled in, else our loop. INT8 is
/// measured against E4M3, as there is no such loop to INT8.
converter yardstick(const std::string& format) {
  for (const bench::library& l : bench::libraries()) {
    if (l.name == std::string("ml_dtypes")) return l.find(format == "int8" ? "e4m3" : format);
  }
  return scalar_loop(format);
}

/// The conversions of scalar libraries, against our loop.
void add_library(const std::string& library, const named_format& f, converter theirs) {
  bench::add("peer/" + library + "/" + f.name, [=](benchmark::State& state) {
    conversion_data d(f.format, cache_rows, cache_cols);
    const converter ours = scalar_loop(f.name);
    bench::check_conversion(bench::encode(), d);
    const bench::array<std::uint8_t> codes = d.codes;
    for (const converter c : {ours, theirs}) {
      c(d.in, d.codes);
      if (d.codes != codes) bench::fail("wrong codes: " + library);
    }
    bench::against(
        state, 1, count_of(d), [&] { theirs(d.in, d.codes); }, count_of(d),
        [&] { ours(d.in, d.codes); });
  });
}

void add_in_cache(const named_format& f) {
  for (const bench::quantizations& q : bench::all_quantizations()) {
    add_against(q.rows, f, yardstick(f.name));
    add_against(q.columns, f, q.rows);
    add_against(q.columns_in_order, f, q.rows);
    add_against(q.fake_rows, f, q.rows);
    add_against(q.fake_columns, f, q.columns);
  }
  add_against(bench::encode(), f, yardstick(f.name));
  add_against_copy("cache/", bench::decode(), f, element_bytes, cache_rows, cache_cols);
  add_against_copy("cache/", bench::dequantize(), f, block_bytes, cache_rows, cache_cols);
}

/// Two threads quantize 4 Mi numbers, in turn with one.
void two_threads(benchmark::State& state) {
  conversion_data d(mxref::E4M3::desc, 1024, 4096);
  const mxref::simd::threads pool(2);
  const auto quantize = [&](const auto& executor) {
    static_cast<void>(
        bench::fast::quantize(d.numbers(), d.by_rows(), mxref::quantizer<>{}, {}, executor));
  };
  bench::against(
      state, 2, count_of(d), [&] { quantize(pool); }, count_of(d),
      [&] { quantize(mxref::simd::serial{}); });
}

}  // namespace

int main(int argc, char** argv) {
  for (const named_format& f : bench::mx_formats) add_in_cache(f);
  for (const named_format& f : bench::mx_formats) {
    const conversion quantize = bench::all_quantizations().front().rows;
    add_against_copy("memory/", quantize, f, block_bytes, memory_rows, memory_cols);
    add_against_copy("memory/", bench::dequantize(), f, block_bytes, memory_rows, memory_cols);
  }
  bench::add("two_threads/quantize_rows/floor_even/e4m3", two_threads);
  for (const named_format& f : bench::mx_formats) {
    for (const bench::library& l : bench::libraries()) {
      if (const converter c = l.find(f.name)) add_library(l.name, f, c);
    }
  }
  const bool theirs = yardstick("e4m3") != scalar_loop("e4m3");
  benchmark::AddCustomContext("scalar_loop", theirs ? "ml_dtypes" : "ours");
  return bench::run(argc, argv);
}
