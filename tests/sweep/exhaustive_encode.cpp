// SPDX-License-Identifier: Apache-2.0
// All 2^32 binary32 inputs, through the library's encode, for every combination of format, rounding
// and overflow policy; each result is compared with the oracle's run of inputs it belongs to.
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <charconv>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <iterator>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "mxref/element.hpp"
#include "mxref/formats.hpp"
#include "oracle/tables.hpp"
#include "oracle/thresholds.hpp"

namespace {

using namespace mxref;
using clock_type = std::chrono::steady_clock;

// Counts the inputs in [first, last] whose code is not `want`. The only loop that matters: policies
// and format are constants, so the whole conversion is inlined here.
template <class E, class R, class O>
std::uint64_t count_mismatches(std::uint32_t first, std::uint32_t last, std::uint32_t want) {
  std::uint64_t mismatches = 0;
  for (std::uint64_t bits = first; bits <= last; ++bits) {
    const auto x = bit_cast<float>(static_cast<std::uint32_t>(bits));
    mismatches += encode<E>(x, R{}, O{}).code != want ? 1U : 0U;
  }
  return mismatches;
}

template <class E, class R, class O>
std::uint32_t encode_one(std::uint32_t bits) {
  return encode<E>(bit_cast<float>(bits), R{}, O{}).code;
}

struct combination {
  oracle::format_id format;
  oracle::rounding r;
  oracle::overflow o;
  std::uint64_t (*count)(std::uint32_t, std::uint32_t, std::uint32_t);
  std::uint32_t (*one)(std::uint32_t);
};

template <class E, class R, class O>
void add_combination(std::vector<combination>& all, oracle::format_id f, oracle::rounding r,
                     oracle::overflow o) {
  all.push_back({f, r, o, &count_mismatches<E, R, O>, &encode_one<E, R, O>});
}

template <class E, class R>
void add_rounding(std::vector<combination>& all, oracle::format_id f, oracle::rounding r) {
  add_combination<E, R, overflow::saturate>(all, f, r, oracle::overflow::saturate);
  add_combination<E, R, overflow::nonsaturating>(all, f, r, oracle::overflow::nonsaturating);
  add_combination<E, R, overflow::saturate_full>(all, f, r, oracle::overflow::saturate_full);
}

template <class E>
void add_format(std::vector<combination>& all, oracle::format_id f) {
  add_rounding<E, rounding::nearest_even>(all, f, oracle::rounding::nearest_even);
  add_rounding<E, rounding::nearest_away>(all, f, oracle::rounding::nearest_away);
  add_rounding<E, rounding::nearest_toward_zero>(all, f, oracle::rounding::nearest_toward_zero);
  add_rounding<E, rounding::toward_zero>(all, f, oracle::rounding::toward_zero);
  add_rounding<E, rounding::up>(all, f, oracle::rounding::up);
  add_rounding<E, rounding::down>(all, f, oracle::rounding::down);
  add_rounding<E, rounding::to_odd>(all, f, oracle::rounding::to_odd);
}

// The six element types of OCP MX, which run by default, and the two scale types.
std::vector<combination> all_combinations() {
  std::vector<combination> all;
  add_format<E5M2>(all, oracle::format_id::e5m2);
  add_format<E4M3>(all, oracle::format_id::e4m3);
  add_format<E3M2>(all, oracle::format_id::e3m2);
  add_format<E2M3>(all, oracle::format_id::e2m3);
  add_format<E2M1>(all, oracle::format_id::e2m1);
  add_format<INT8>(all, oracle::format_id::int8);
  add_format<E8M0>(all, oracle::format_id::e8m0);
  add_format<UE4M3>(all, oracle::format_id::ue4m3);
  return all;
}
const std::vector<std::string> default_formats{"e5m2", "e4m3", "e3m2", "e2m3", "e2m1", "int8"};

struct options {
  std::vector<std::string> formats = default_formats;
  unsigned threads = std::max(1U, std::thread::hardware_concurrency());
  std::uint32_t slice = 1;
  std::uint32_t slices = 1;
};

constexpr const char* usage =
    "usage: mxref_exhaustive [--format NAME]... [--threads N] [--slice I/N]\n"
    "  --format NAME  e5m2 e4m3 e3m2 e2m3 e2m1 int8 (default: these six), e8m0, ue4m3\n"
    "  --threads N    default: every processor\n"
    "  --slice I/N    every N-th group of inputs, 1 <= I <= N <= 65536; the N slices make the "
    "whole\n";

// The inputs are dealt out in chunks, so that each slice sees all binades.
constexpr std::uint32_t chunk_bits = 16;
constexpr std::uint32_t chunk_count = std::uint32_t{1} << (32 - chunk_bits);

// Progress on a terminal: done, rate and the time that is left. Silent elsewhere.
class progress {
 public:
  explicit progress(std::uint64_t total) : total_(total) {}

  void add(std::uint64_t inputs) {
    const std::uint64_t done = done_ += inputs;
    if (!shown_) return;
    const std::unique_lock lock(mutex_, std::try_to_lock);
    const auto now = clock_type::now();
    if (!lock || now - last_ < std::chrono::milliseconds(500)) return;
    last_ = now;
    const double seconds = std::chrono::duration<double>(now - start_).count();
    const double share = static_cast<double>(done) / static_cast<double>(total_);
    const auto left = static_cast<long>(seconds / share - seconds);
    std::fprintf(stderr, "\r%5.1f%%  %.0f M inputs/s  %ld:%02ld:%02ld left ", 100 * share,
                 static_cast<double>(done) / seconds * 1e-6, left / 3600, left / 60 % 60,
                 left % 60);
  }

  void clear() const {
    if (shown_) std::fputs("\r\033[K", stderr);
  }

 private:
  const std::uint64_t total_;
  const bool shown_ = isatty(STDERR_FILENO) != 0;
  const clock_type::time_point start_ = clock_type::now();
  clock_type::time_point last_ = start_;
  std::atomic<std::uint64_t> done_{0};
  std::mutex mutex_;
};

struct tally {
  std::uint64_t compared = 0;
  std::uint64_t mismatches = 0;
};

// The first input of a run part that has a wrong code, as text.
std::string first_mismatch(const combination& c, std::uint32_t first, std::uint32_t last,
                           std::uint32_t want) {
  std::uint64_t bits = first;
  while (bits < last && c.one(static_cast<std::uint32_t>(bits)) == want) ++bits;
  const auto input = static_cast<std::uint32_t>(bits);
  char text[96];
  std::snprintf(text, sizeof text, "  input 0x%08x (%a) gives 0x%02x, expected 0x%02x\n", input,
                static_cast<double>(bit_cast<float>(input)), c.one(input), want);
  return text;
}

tally run_chunk(const combination& c, const std::vector<oracle::run>& runs, std::uint32_t chunk,
                std::vector<std::string>& examples) {
  const std::uint32_t begin = chunk << chunk_bits;
  const std::uint32_t end = begin + (std::uint32_t{1} << chunk_bits) - 1;
  auto run = std::prev(
      std::upper_bound(runs.begin(), runs.end(), begin,
                       [](std::uint32_t bits, const oracle::run& r) { return bits < r.first; }));
  tally t;
  for (std::uint32_t first = begin;; ++run) {
    const bool is_last = std::next(run) == runs.end() || std::next(run)->first > end;
    const std::uint32_t last = is_last ? end : std::next(run)->first - 1;
    const std::uint64_t wrong = c.count(first, last, run->code);
    t.compared += std::uint64_t{last - first} + 1;
    t.mismatches += wrong;
    if (wrong != 0 && examples.size() < 3) {
      examples.push_back(first_mismatch(c, first, last, run->code));
    }
    if (is_last) return t;
    first = last + 1;
  }
}

tally run_combination(const combination& c, const options& opt, progress& shown) {
  const std::vector<oracle::run> runs =
      oracle::threshold_runs(oracle::get(c.format), c.r, c.o, oracle::negative::to_nan);
  std::atomic<std::uint32_t> next{opt.slice - 1};
  std::mutex mutex;
  tally total;
  std::vector<std::string> examples;
  const auto work = [&] {
    tally mine;
    std::vector<std::string> my_examples;
    for (;;) {
      const std::uint32_t chunk = next.fetch_add(opt.slices);
      if (chunk >= chunk_count) break;
      const tally t = run_chunk(c, runs, chunk, my_examples);
      mine.compared += t.compared;
      mine.mismatches += t.mismatches;
      shown.add(t.compared);
    }
    const std::lock_guard lock(mutex);
    total.compared += mine.compared;
    total.mismatches += mine.mismatches;
    for (std::string& e : my_examples) {
      if (examples.size() < 3) examples.push_back(std::move(e));
    }
  };
  std::vector<std::thread> threads;
  for (unsigned i = 1; i < opt.threads; ++i) threads.emplace_back(work);
  work();
  for (std::thread& t : threads) t.join();
  shown.clear();
  for (const std::string& e : examples) std::fputs(e.c_str(), stdout);
  return total;
}

bool parse(std::string_view text, std::uint32_t least, std::uint32_t most, std::uint32_t& value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc{} && end == text.data() + text.size() && value >= least &&
         value <= most;
}

bool parse_slice(std::string_view text, options& opt) {
  const std::size_t slash = text.find('/');
  return slash != std::string_view::npos &&
         parse(text.substr(slash + 1), 1, chunk_count, opt.slices) &&
         parse(text.substr(0, slash), 1, opt.slices, opt.slice);
}

bool parse_arguments(int argc, char** argv, options& opt) {
  bool formats_given = false;
  if (argc % 2 == 0) return false;  // every option has a value
  for (int i = 1; i < argc; i += 2) {
    const std::string_view option = argv[i];
    const std::string_view value = argv[i + 1];
    if (option == "--format") {
      if (!formats_given) opt.formats.clear();
      formats_given = true;
      opt.formats.emplace_back(value);
    } else if (option == "--threads") {
      if (!parse(value, 1, 4096, opt.threads)) return false;
    } else if (option != "--slice" || !parse_slice(value, opt)) {
      return false;
    }
  }
  return true;
}

}  // namespace

int main(int argc, char** argv) {
  options opt;
  if (argc == 2 && std::strcmp(argv[1], "--help") == 0) {
    std::fputs(usage, stdout);
    return 0;
  }
  std::vector<combination> chosen;
  bool ok = parse_arguments(argc, argv, opt);
  const std::vector<combination> all = all_combinations();
  for (const std::string& name : opt.formats) {
    const std::size_t before = chosen.size();
    for (const combination& c : all) {
      if (oracle::get(c.format).name == name) chosen.push_back(c);
    }
    ok = ok && chosen.size() > before;
  }
  if (!ok) {
    std::fputs(usage, stderr);
    return 2;
  }

  const std::uint64_t chunks = (chunk_count - opt.slice) / opt.slices + std::uint64_t{1};
  const std::uint64_t inputs = chunks << chunk_bits;
  progress shown(inputs * chosen.size());
  const auto start = clock_type::now();
  tally total;
  for (const combination& c : chosen) {
    const auto begin = clock_type::now();
    const tally t = run_combination(c, opt, shown);
    total.compared += t.compared;
    total.mismatches += t.mismatches;
    std::printf("%-5s %-12s %-13s %10llu inputs  %llu mismatches  %.2f s\n",
                oracle::get(c.format).name.c_str(), name(c.r), name(c.o),
                static_cast<unsigned long long>(t.compared),
                static_cast<unsigned long long>(t.mismatches),
                std::chrono::duration<double>(clock_type::now() - begin).count());
    std::fflush(stdout);
  }
  const bool complete = total.compared == inputs * chosen.size();
  std::printf("%zu combinations, %llu inputs compared, %llu mismatches, %.1f s%s\n", chosen.size(),
              static_cast<unsigned long long>(total.compared),
              static_cast<unsigned long long>(total.mismatches),
              std::chrono::duration<double>(clock_type::now() - start).count(),
              complete ? "" : "; NOT ALL INPUTS WERE COMPARED");
  return complete && total.mismatches == 0 ? 0 : 1;
}
