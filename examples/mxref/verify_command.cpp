// SPDX-License-Identifier: Apache-2.0
// verify: is a dump of a GEMM what the named model computes, bit for bit?
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <memory>
#include <nlohmann/json.hpp>
#include <random>
#include <string>

#include "commands.hpp"
#include "product.hpp"
#include "progress.hpp"
#include "report.hpp"

namespace mxtool {

namespace {

using mxref::index_t;

struct verify_options {
  product_options product;
  std::string d;
  std::string nans = "class";
  std::string rows;
  std::string cols;
  long sample = 0;
  unsigned long seed = 1;
  bool json = false;
};

/// "A:B" as first and count; either end may be left out.
std::pair<index_t, index_t> parse_range(const std::string& text, const char* option, index_t size) {
  if (text.empty()) return {0, size};
  const auto refuse = [&]() -> usage_error {
    return usage_error(fmt::format("{} {}: give A:B with 0 <= A < B <= {}", option, text, size));
  };
  const auto colon = text.find(':');
  if (colon == std::string::npos) throw refuse();
  const auto number = [&](std::size_t begin, std::size_t end, index_t otherwise) {
    if (begin == end) return otherwise;
    index_t value = 0;
    const auto [rest, error] = std::from_chars(text.data() + begin, text.data() + end, value);
    if (error != std::errc{} || rest != text.data() + end) throw refuse();
    return value;
  };
  const index_t first = number(0, colon, 0);
  const index_t last = number(colon + 1, text.size(), size);
  if (first < 0 || last > size || first >= last) throw refuse();
  return {first, last - first};
}

nan_compare parse_nan_compare(const std::string& text) {
  static constexpr named<nan_compare> table[] = {
      {"class", nan_compare::by_class, ""},
      {"bits", nan_compare::bits, ""},
  };
  return find_named<nan_compare>("way to compare NaN", text, table);
}

void compare_rectangle(const product& p, const engine& e, const operand& d, const rectangle& part,
                       comparison& c) {
  const auto want = compute(p, e, part, "verify");
  for (index_t i = 0; i < part.rows; ++i) {
    for (index_t j = 0; j < part.cols; ++j) {
      const index_t row = part.row + i;
      const index_t col = part.col + j;
      c.add(row, col, d.view.code(row, col), want[static_cast<std::size_t>(i * part.cols + j)]);
    }
  }
}

/// `count` outputs drawn with replacement; the same seed draws the same ones everywhere.
void compare_sample(const product& p, const engine& e, const operand& d, const rectangle& part,
                    long count, unsigned long seed, comparison& c) {
  struct output {
    index_t row;
    index_t col;
    std::uint32_t want;
  };
  std::mt19937_64 random(seed);
  const auto below = [&](index_t size) {
    return static_cast<index_t>(random() % static_cast<std::uint64_t>(size));
  };
  std::vector<output> batch(256);
  progress bar("verify", static_cast<double>(count), "outputs");
  for (long done = 0; done < count; done += static_cast<long>(batch.size())) {
    batch.resize(std::min(batch.size(), static_cast<std::size_t>(count - done)));
    for (output& o : batch) {
      o.row = part.row + below(part.rows);
      o.col = part.col + below(part.cols);
    }
    const mxref::status s = e.for_each(static_cast<index_t>(batch.size()), [&](index_t i) {
      output& o = batch[static_cast<std::size_t>(i)];
      return compute_one(p, e, o.row, o.col, o.want);
    });
    if (!s) throw usage_error(mxref::message(s));
    for (const output& o : batch) c.add(o.row, o.col, d.view.code(o.row, o.col), o.want);
    bar.add(static_cast<double>(batch.size()));
  }
}

struct input_line {
  std::string name;
  std::string format;
  std::string source;
  const array* data;
  std::uint32_t crc;
};

std::vector<input_line> inputs(const product& p, const operand& d) {
  std::vector<input_line> lines;
  const auto side = [&](const char* name, const operand& o) {
    lines.push_back({name, std::string(o.format->name), o.source, &o.codes, o.codes_crc});
    if (o.scales) {
      lines.push_back({std::string(name) + " scales", format_name(o.view.scale_format),
                       o.scale_source, &*o.scales, checksum(*o.scales)});
    }
  };
  side("A", p.a);
  side("B", p.b);
  if (p.c) side("C", *p.c);
  side("D", d);
  return lines;
}

std::string model_text(const product& p) {
  std::string text = p.model;
  if (p.store != p.out) text += fmt::format(" -> {} -> {}", p.out->name, p.store->name);
  return text;
}

void print_text(const product& p, const operand& d, const rectangle& part, bool sampled,
                const comparison& c) {
  fmt::print("{}\n\n", c.verdict_line());
  fmt::print("  model     {}\n", model_text(p));
  const model_evidence evidence = evidence_of(p.model, p.use());
  fmt::print("  evidence  {}\n", mxref::to_string(evidence.known));
  if (evidence.known != mxref::evidence::definition)
    fmt::print("  source    {}\n", evidence.source);
  fmt::print(
      "  product   M {}  N {}  K {}{}\n", p.rows(), p.cols(), p.depth(),
      p.a.view.scaled() || p.b.view.scaled() ? fmt::format("  block {}", p.options.block) : "");
  if (p.options.epilogue) {
    fmt::print("  epilogue  alpha {}  beta {}", p.options.alpha, p.c ? p.options.beta : 0.0F);
    if (p.options.tensor_scale != 1.0F) fmt::print("  tensor scale {}", p.options.tensor_scale);
    fmt::print("\n");
  }
  if (p.options.promotion != 0 || p.options.split_k != 1) {
    fmt::print("  order     promotion every {} k  split-K {}\n", p.options.promotion,
               p.options.split_k);
  }
  if (sampled || part.rows != p.rows() || part.cols != p.cols()) {
    fmt::print("  compared  {}rows {}:{}, columns {}:{}\n", sampled ? "a sample of " : "", part.row,
               part.row + part.rows, part.col, part.col + part.cols);
  }
  fmt::print("\n  {:<10} {:<6} {:<12} {:<10} {}\n", "array", "format", "shape", "crc32", "file");
  for (const input_line& line : inputs(p, d)) {
    fmt::print("  {:<10} {:<6} {:<12} {:08x}   {}\n", line.name, line.format,
               shape_text(line.data->shape), line.crc, line.source);
  }
  fmt::print("{}", c.details());
}

void print_json(const product& p, const operand& d, const comparison& c) {
  nlohmann::ordered_json json;
  c.to_json(json);
  json["model"] = p.model;
  const model_evidence evidence = evidence_of(p.model, p.use());
  json["evidence"] = mxref::to_string(evidence.known);
  json["source"] = evidence.source;
  json["m"] = p.rows();
  json["n"] = p.cols();
  json["k"] = p.depth();
  json["inputs"] = nlohmann::ordered_json::array();
  for (const input_line& line : inputs(p, d)) {
    json["inputs"].push_back({{"name", line.name},
                              {"format", line.format},
                              {"shape", line.data->shape},
                              {"crc32", fmt::format("{:08x}", line.crc)},
                              {"file", line.source}});
  }
  fmt::print("{}\n", json.dump(2));
}

int verify(const verify_options& o) {
  const nan_compare nans = parse_nan_compare(o.nans);
  const engine e(o.product.engine);
  const product p = load_product(e, o.product);
  const operand d = load_result(o.d, "--d", *p.store, {p.rows(), p.cols()});
  if (p.rows() == 0 || p.cols() == 0) {
    throw input_error(
        fmt::format("{}: the product is {} x {}: nothing to compare", o.d, p.rows(), p.cols()));
  }
  const auto [row, rows] = parse_range(o.rows, "--rows", p.rows());
  const auto [col, cols] = parse_range(o.cols, "--cols", p.cols());
  const rectangle part{row, col, rows, cols};
  comparison c(p.store->desc, nans, part);
  if (o.sample > 0) {
    compare_sample(p, e, d, part, o.sample, o.seed, c);
  } else {
    compare_rectangle(p, e, d, part, c);
  }
  if (o.json) {
    print_json(p, d, c);
  } else {
    print_text(p, d, part, o.sample > 0, c);
  }
  return c.match() ? 0 : 1;
}

}  // namespace

void add_verify(CLI::App& app, int& exit_code) {
  auto o = std::make_shared<verify_options>();
  CLI::App* cmd = app.add_subcommand(
      "verify",
      "Compare the output of a GEMM kernel with a model, bit for bit (exit 0: match, 1: not)");
  add_product_options(*cmd, o->product);
  cmd->add_option("--d", o->d, "The output to check, (M, N): float32, or uint16 patterns")
      ->required();
  cmd->add_option("--nan-compare", o->nans, "class: any NaN matches any NaN. bits: payloads count")
      ->capture_default_str();
  cmd->add_option("--rows", o->rows, "Compare rows A:B only");
  cmd->add_option("--cols", o->cols, "Compare columns A:B only");
  cmd->add_option("--sample", o->sample, "Compare this many outputs drawn at random")
      ->check(CLI::PositiveNumber);
  cmd->add_option("--seed", o->seed, "Seed of --sample")->capture_default_str();
  cmd->add_flag("--json", o->json, "Print the report as JSON");
  cmd->callback([o, &exit_code] { exit_code = verify(*o); });
}

}  // namespace mxtool
