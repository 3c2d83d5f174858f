// SPDX-License-Identifier: Apache-2.0
// layout: where codes and scales lie, as a table, as JSON, as a drawing; and files from one layout
// to another.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "commands.hpp"
#include "layout_drawing.hpp"
#include "operands.hpp"
#include "progress.hpp"

namespace mxtool {

namespace {

using mxref::index_t;
using nlohmann::ordered_json;

struct layout_options {
  std::string packing;
  std::string scale_layout;
  std::string from;
  std::string format;
  int block = 32;
  std::string scale_format = "e8m0";
  std::string shape;
  std::string svg;
  bool json = false;
  bool poison = false;
  std::string in;
  std::string out;
  engine_options engine;
};

std::string joined(const std::vector<bit_part>& parts) {
  std::string text;
  for (const bit_part& p : parts) {
    const std::string bits =
        p.high == p.low ? fmt::format("{}", p.low) : fmt::format("{}:{}", p.high, p.low);
    text += fmt::format("{}{}[{}]", text.empty() ? "" : "+", p.byte, bits);
  }
  return text;
}

/// The shape to describe, and how many matrices of it there are.
scale_shape described(const std::string& text) {
  if (text.empty()) throw usage_error("layout: give --shape ROWS,COLUMNS, or IN and OUT");
  const shape_type shape = parse_shape(text);
  if (shape.size() < 2) throw usage_error("--shape is ROWS,COLUMNS (more axes: a batch)");
  constexpr std::size_t most = std::size_t{1} << 31;
  std::size_t count = 1;
  for (const std::size_t extent : shape) {
    if (extent == 0 || extent > most || count > most / extent) {
      throw usage_error(fmt::format(
          "--shape {}: every extent is at least 1, and there are at most 2^31 entries", text));
    }
    count *= extent;
  }
  return {shape, static_cast<index_t>(shape.back())};
}

void check_size(const std::string& shape, const char* what, index_t size, index_t most) {
  if (size <= most) return;
  throw usage_error(fmt::format("--shape {}: {} {}, at most {} are shown; give a smaller shape",
                                shape, size, what, most));
}

template <class Value>
std::string about(Value value, std::span<const named<Value>> table) {
  for (const auto& entry : table) {
    if (entry.value == value) return std::string(entry.summary);
  }
  return {};
}

constexpr index_t printed_entries = 1 << 16;

// ---- codes ----

ordered_json codes_json(const mxref::code_layout& l, const format_entry& format,
                        std::string_view name, const scale_shape& s) {
  const auto row_bytes = static_cast<index_t>(l.row_bytes(static_cast<std::size_t>(s.cols)));
  ordered_json json{{"packing", name},
                    {"format", format.name},
                    {"bits", l.bits},
                    {"rows", s.all_rows()},
                    {"depth", s.cols},
                    {"row_bytes", row_bytes},
                    {"bytes", row_bytes * s.all_rows()},
                    {"padding_bits_of_row", row_bytes * 8 - s.cols * l.bits},
                    {"map", ordered_json::array()}};
  for (index_t k = 0; k < s.cols; ++k) {
    ordered_json parts = ordered_json::array();
    for (const bit_part& p : parts_of(l, k)) {
      parts.push_back({{"byte", p.byte}, {"high_bit", p.high}, {"low_bit", p.low}});
    }
    json["map"].push_back(std::move(parts));
  }
  return json;
}

std::string summary_of(const ordered_json& json) {
  return fmt::format(
      "{} x {} codes of {} ({} bits): {} bytes a row, {} in all; {} bits of a row are "
      "padding",
      json["rows"].get<index_t>(), json["depth"].get<index_t>(), json["format"].get<std::string>(),
      json["bits"].get<int>(), json["row_bytes"].get<index_t>(), json["bytes"].get<index_t>(),
      json["padding_bits_of_row"].get<index_t>());
}

void print_codes(const mxref::code_layout& l, const ordered_json& json) {
  fmt::print("{}\n{}\n\n", json["packing"].get<std::string>(), summary_of(json));
  fmt::print(
      "Row r begins at byte {} * r. Code k lies in byte[bits] of its row, the lowest bits of "
      "the code {}:\n",
      json["row_bytes"].get<index_t>(), l.order == mxref::bit_order::low_first ? "first" : "last");
  const auto depth = json["depth"].get<index_t>();
  std::size_t width = 0;
  for (index_t k = 0; k < depth; ++k) width = std::max(width, joined(parts_of(l, k)).size());
  for (index_t k = 0; k < depth; ++k) {
    if (k % 8 == 0) fmt::print("{}{:>6}", k == 0 ? "" : "\n", k);
    fmt::print("  {:<{}}", joined(parts_of(l, k)), k % 8 == 7 || k + 1 == depth ? 0 : width);
  }
  fmt::print("\n");
}

void describe_codes(const layout_options& o, const format_entry& format) {
  const auto packing = find_packing(o.packing, "--packing", format, o.block);
  const mxref::code_layout l = packing.codes(format.desc.total_bits());
  const std::string_view name = name_of(packing.mode, packings());
  const scale_shape s = described(o.shape);
  check_size(o.shape, "codes in a row", s.cols, printed_entries);
  const ordered_json json = codes_json(l, format, name, s);
  if (!o.svg.empty()) {
    check_size(o.shape, "bytes in a row", json["row_bytes"].get<index_t>(), drawn_row_bytes);
    write_text(o.svg, ".svg",
               draw_codes(l,
                          {fmt::format("Packing {}, {}", name, format.name),
                           about(packing.mode, packings()), summary_of(json)},
                          s.cols));
  }
  if (o.svg == "-") return;
  if (o.json) {
    fmt::print("{}\n", json.dump(2));
  } else {
    print_codes(l, json);
  }
}

/// Rows of codes are moved in pieces.
void convert_codes(const layout_options& o, const format_entry& format) {
  const code_file from{o.in, "IN", &format,
                       find_packing(o.from.empty() ? "none" : o.from, "--from", format, o.block)};
  const code_file to{o.out, "OUT", &format, find_packing(o.packing, "--packing", format, o.block)};
  const engine e(o.engine);
  check_writable(o.out);
  std::optional<matrix_shape> wanted;
  if (!o.shape.empty()) wanted = as_matrix(parse_shape(o.shape), "--shape");
  npy_reader in(o.in, wanted ? from.raw(*wanted) : raw_options{});
  from.check_type(in.type());
  const mxref::operand_view whole =
      from.view(in.shape(), wanted ? std::optional(wanted->cols) : std::nullopt);
  if (wanted && (whole.rows != wanted->rows || whole.depth != wanted->cols)) {
    throw input_error(fmt::format("{}: IN has {} x {} codes, --shape says {} x {}", o.in,
                                  whole.rows, whole.depth, wanted->rows, wanted->cols));
  }
  shape_type shape = in.shape();
  shape.back() = static_cast<std::size_t>(to.row_bytes(whole.depth));
  const output_plan plan{o.out, dtype::u8, shape};
  output_streams out({&plan, 1});
  const matrix_pieces chunks({whole.rows, whole.depth}, chunk_elements,
                             cut_unit(from.cut(), to.cut()));
  // A code that has a byte for itself is that byte: its upper bits are no padding to a reader.
  const mxref::padding fill = to.is_packed() ? padding_of(o.poison) : mxref::padding::zero;
  std::vector<std::byte> source;
  std::vector<std::byte> target;
  index_t done = 0;
  progress bar("layout", static_cast<double>(in.remaining()), "B");
  for (index_t i = 0; i < chunks.count(); ++i) {
    const rectangle chunk = chunks[i];
    source.resize(static_cast<std::size_t>(chunk.rows * from.row_bytes(chunk.cols)));
    target.resize(static_cast<std::size_t>(chunk.rows * to.row_bytes(chunk.cols)));
    in.read(source);
    from.accept(source, done);
    done += chunk.rows * chunk.cols;
    repack(e, {chunk.rows, chunk.cols}, source, from.layout(), target, to.layout(), fill);
    out.write(0, target);
    bar.add(static_cast<double>(source.size()));
  }
  out.commit();
}

// ---- scales ----

ordered_json scales_json(const mxref::scale_layout& l, std::string_view name,
                         const scale_shape& s) {
  const index_t size = l.size(s.rows, s.cols);
  ordered_json json{{"scale_layout", name},
                    {"matrices", s.matrices},
                    {"rows", s.rows},
                    {"blocks", s.cols},
                    {"bytes_of_matrix", size},
                    {"bytes", size * s.matrices},
                    {"padding_bytes_of_matrix", size - s.rows * s.cols},
                    {"map", ordered_json::array()}};
  for (index_t row = 0; row < s.rows; ++row) {
    ordered_json offsets = ordered_json::array();
    for (index_t col = 0; col < s.cols; ++col)
      offsets.push_back(l.offset(s.rows, s.cols, row, col));
    json["map"].push_back(std::move(offsets));
  }
  return json;
}

std::string scales_summary(const ordered_json& json) {
  const auto matrices = json["matrices"].get<index_t>();
  return fmt::format("{}{} x {} scales: {} bytes{}, {} of them padding",
                     matrices == 1 ? "" : fmt::format("{} matrices of ", matrices),
                     json["rows"].get<index_t>(), json["blocks"].get<index_t>(),
                     json["bytes_of_matrix"].get<index_t>(), matrices == 1 ? "" : " each",
                     json["padding_bytes_of_matrix"].get<index_t>());
}

void print_scales(const ordered_json& json) {
  fmt::print("{}\n{}\n\n", json["scale_layout"].get<std::string>(), scales_summary(json));
  fmt::print("The byte of the scale of each row (down) and block (across):\n");
  const auto cols = json["blocks"].get<index_t>();
  const std::size_t width =
      fmt::format("{}", std::max(json["bytes_of_matrix"].get<index_t>(), cols)).size() + 1;
  fmt::print("{:>6} ", "");
  for (index_t col = 0; col < cols; ++col) fmt::print("{:>{}}", col, width);
  fmt::print("\n");
  index_t row = 0;
  for (const ordered_json& offsets : json["map"]) {
    fmt::print("{:>6} ", row++);
    for (const ordered_json& offset : offsets) fmt::print("{:>{}}", offset.get<index_t>(), width);
    fmt::print("\n");
  }
}

void describe_scales(const layout_options& o, mxref::format_desc scale_format) {
  const auto layout = find_scale_layout(o.scale_layout, "--scale-layout", scale_format);
  const mxref::scale_layout l = layout.scales();
  const std::string_view name = name_of(layout.mode, scale_layouts());
  const scale_shape s = described(o.shape);
  check_size(o.shape, "scales", s.rows * s.cols, printed_entries);
  const ordered_json json = scales_json(l, name, s);
  if (!o.svg.empty()) {
    check_size(o.shape, "bytes", l.size(s.rows, s.cols), drawn_scale_bytes);
    write_text(o.svg, ".svg",
               draw_scales(l,
                           {fmt::format("Scale layout {}", name),
                            about(layout.mode, scale_layouts()), scales_summary(json)},
                           s.rows, s.cols));
  }
  if (o.svg == "-") return;
  if (o.json) {
    fmt::print("{}\n", json.dump(2));
  } else {
    print_scales(json);
  }
}

/// binary32 scales become E8M0 codes, if all of them are powers of two.
std::vector<std::byte> checked_codes(const std::string& spec, std::vector<std::byte> bytes) {
  std::vector<std::byte> codes(bytes.size() / sizeof(float));
  for (std::size_t i = 0; i < codes.size(); ++i) {
    float number = 0;
    std::memcpy(&number, bytes.data() + i * sizeof number, sizeof number);
    mxref::E8M0 code{};
    if (const mxref::status s = mxref::encode_scale(number, code); !s) {
      throw input_error(fmt::format("{}: element {} is {}: {}; choose the scales as powers of two",
                                    spec, i, number, mxref::message(s)));
    }
    codes[i] = std::byte{code.code};
  }
  return codes;
}

void convert_scales(const layout_options& o, mxref::format_desc scale_format) {
  const scale_file from{
      o.in, "IN", find_scale_layout(o.from.empty() ? "linear" : o.from, "--from", scale_format)};
  const scale_file to{o.out, "OUT",
                      find_scale_layout(o.scale_layout, "--scale-layout", scale_format)};
  check_writable(o.out);
  std::optional<shape_type> wanted;
  if (!o.shape.empty()) wanted = parse_shape(o.shape);
  if (!from.is_linear() && !wanted) {
    throw usage_error("layout: --from another layout than linear needs --shape ROWS,BLOCKS");
  }
  raw_options raw;
  if (wanted) raw = from.raw({*wanted, as_matrix(*wanted, "--shape").cols});
  npy_reader in(o.in, raw);
  const shape_type shape = wanted.value_or(in.shape());
  const scale_shape s(shape, as_matrix(shape, o.in).cols);
  const bool is_f32 =
      from.is_linear() && in.type() == dtype::f32 && scale_format == mxref::E8M0::desc;
  from.check(s, is_f32 ? dtype::u8 : in.type(), in.shape());
  std::vector<std::byte> bytes = in.read_all();
  if (is_f32) bytes = checked_codes(o.in, std::move(bytes));
  const output_plan plan = to.plan(s);
  array result{plan.type, plan.shape,
               to.from_linear(s, from.to_linear(s, bytes), padding_of(o.poison))};
  output_set outputs;
  outputs.add(o.out, std::move(result));
  outputs.commit();
}

void layout(const layout_options& o) {
  if (o.packing.empty() == o.scale_layout.empty()) {
    throw usage_error("layout: give one of --packing (with --format) and --scale-layout");
  }
  const bool converts = !o.in.empty();
  if (converts && o.out.empty()) throw usage_error("layout: IN needs OUT");
  if (converts && (!o.svg.empty() || o.json)) {
    throw usage_error("layout: --svg and --json describe a --shape; leave out IN and OUT");
  }
  if (!o.svg.empty()) check_text_writable(o.svg, ".svg");
  if (!o.scale_layout.empty()) {
    const mxref::format_desc scale_format = find_scale_format(o.scale_format);
    converts ? convert_scales(o, scale_format) : describe_scales(o, scale_format);
    return;
  }
  if (o.format.empty()) throw usage_error("layout: --packing needs --format");
  const format_entry& format = find_format(o.format, true);
  if (format.desc.total_bits() > 8) {
    throw usage_error(fmt::format("--format {}: layouts are for codes of at most 8 bits, it has {}",
                                  format.name, format.desc.total_bits()));
  }
  check_block(o.block);
  converts ? convert_codes(o, format) : describe_codes(o, format);
}

}  // namespace

void add_layout(CLI::App& app) {
  auto o = std::make_shared<layout_options>();
  CLI::App* cmd = app.add_subcommand(
      "layout", "Show where codes or scales lie in memory, or move a file to another layout");
  add_packing_option(*cmd, "--packing", o->packing);
  add_scale_layout_option(*cmd, "--scale-layout", o->scale_layout);
  cmd->add_option("--format", o->format, "Format of the codes (with --packing)");
  cmd->add_option("--block", o->block, "Codes of a block of ggml-split-half")
      ->capture_default_str();
  cmd->add_option("--scale-format", o->scale_format, "e8m0 or e4m3 (with --scale-layout)")
      ->capture_default_str();
  cmd->add_option("--from", o->from, "The layout that IN has [none, linear]");
  cmd->add_option("--shape", o->shape,
                  "ROWS,K of codes or ROWS,BLOCKS of scales; more axes before them are a batch, of "
                  "which every matrix is padded alone");
  cmd->add_flag("--json", o->json, "Print the map as JSON");
  cmd->add_option("--svg", o->svg, "Draw the map: FILE.svg, or - for standard output");
  add_poison_flag(*cmd, o->poison);
  add_engine_options(*cmd, o->engine);
  cmd->add_option("IN", o->in,
                  "Codes or scales to move, uint8; with --scale-layout also float32 scales, which "
                  "must be powers of two");
  cmd->add_option("OUT", o->out, "The same in the layout that was asked for");
  cmd->callback([o] { layout(*o); });
}

}  // namespace mxtool
