// SPDX-License-Identifier: Apache-2.0
#include "layouts.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <numeric>
#include <stdexcept>

namespace mxtool {

using mxref::index_t;
using mxref::packing_mode;
using mxref::scale_layout_mode;

namespace {

template <class Value>
std::string spellings(std::span<const named<Value>> table) {
  std::vector<std::string_view> names;
  for (const auto& entry : table) names.push_back(entry.name);
  return fmt::format("{}", fmt::join(names, " "));
}

}  // namespace

void add_packing_option(CLI::App& cmd, const std::string& flag, std::string& packing) {
  cmd.add_option(flag, packing,
                 "How codes lie in a row: " + spellings(packings()) + " (see mxref info --rules)")
      ->capture_default_str();
}

void add_scale_layout_option(CLI::App& cmd, const std::string& flag, std::string& layout) {
  cmd.add_option(flag, layout,
                 "How scales lie: " + spellings(scale_layouts()) + " (see mxref info --rules)")
      ->capture_default_str();
}

void add_poison_flag(CLI::App& cmd, bool& poison) {
  cmd.add_flag("--poison", poison, "Fill padding with ones, not zeros: a right reader never looks");
}

mxref::padding padding_of(bool poison) {
  return poison ? mxref::padding::poison : mxref::padding::zero;
}

mxref::layout::dynamic_codes find_packing(const std::string& text, const std::string& option,
                                          const format_entry& format, int block) {
  const mxref::layout::dynamic_codes packing{find_named("packing", text, packings()), block};
  const int bits = format.desc.total_bits();
  // Wide codes have containers of their own.
  if (packing.takes(bits) || (bits > 8 && packing.mode == packing_mode::none)) return packing;
  const std::string_view name = name_of(packing.mode, packings());
  std::vector<int> taken;
  for (int width = 1; width <= 8; ++width) {
    if (packing.takes(width)) taken.push_back(width);
  }
  if (taken.empty()) {
    throw usage_error(
        fmt::format("{} {}: a block is split in halves, so --block {} must be even and not larger "
                    "than 2^24",
                    option, name, block));
  }
  throw usage_error(fmt::format(
      "{} {} is for codes of {} bits, {} has {}: choose another packing, or none", option, name,
      taken.size() == 8 ? "at most 8" : fmt::format("{}", fmt::join(taken, " or ")), format.name,
      bits));
}

mxref::layout::dynamic_scales find_scale_layout(const std::string& text, const std::string& option,
                                                mxref::format_desc scale_format) {
  const mxref::layout::dynamic_scales layout{find_named("scale layout", text, scale_layouts())};
  if (layout.takes(scale_format)) return layout;
  throw usage_error(
      fmt::format("{} {} is for e8m0 scales, not for --scale-format e4m3: choose linear or "
                  "swizzled-128x4",
                  option, name_of(layout.mode, scale_layouts())));
}

void repack(const engine& e, matrix_shape chunk, std::span<const std::byte> in,
            const mxref::code_layout& from, std::span<std::byte> out, const mxref::code_layout& to,
            mxref::padding fill) {
  const auto* const source = reinterpret_cast<const std::uint8_t*>(in.data());
  auto* const target = reinterpret_cast<std::uint8_t*>(out.data());
  const auto bytes = [](const mxref::code_layout& l, index_t depth) {
    return static_cast<index_t>(l.row_bytes(static_cast<std::size_t>(depth)));
  };
  const index_t unit = std::lcm(index_t{from.cut()}, index_t{to.cut()});
  const mxref::status s =
      e.for_parts({0, 0, chunk.rows, chunk.cols}, unit, [&](const rectangle& part) {
        const index_t in_row = bytes(from, chunk.cols);
        const index_t out_row = bytes(to, chunk.cols);
        return mxref::repack(mxref::view(source + part.row * in_row + bytes(from, part.col),
                                         part.rows, bytes(from, part.cols), in_row),
                             from,
                             mxref::view(target + part.row * out_row + bytes(to, part.col),
                                         part.rows, bytes(to, part.cols), out_row),
                             to, part.cols, fill);
      });
  if (!s) throw std::logic_error(mxref::message(s));
}

scale_shape::scale_shape(const shape_type& codes, index_t blocks) : linear(codes), cols(blocks) {
  linear.back() = static_cast<std::size_t>(blocks);
  rows = codes.size() < 2 ? 1 : static_cast<index_t>(codes[codes.size() - 2]);
  for (std::size_t i = 0; i + 2 < codes.size(); ++i) {
    leading.push_back(codes[i]);
    matrices *= static_cast<index_t>(codes[i]);
  }
}

output_plan scale_file::plan(const scale_shape& s) const {
  output_plan p{spec, dtype::u8, s.leading};
  const mxref::scale_layout l = layout.scales();
  const auto add = [&p](index_t extent) { p.shape.push_back(static_cast<std::size_t>(extent)); };
  if (is_linear()) {
    p.shape = s.linear;
  } else if (layout.mode == scale_layout_mode::section_separated) {
    add(l.size(s.rows, s.cols));
  } else if (layout.mode == scale_layout_mode::word4) {
    p.type = dtype::u32;
    add(l.padded_cols(s.cols) / 4);
    add(l.padded_rows(s.rows));
  } else {
    add(l.padded_rows(s.rows));
    add(l.padded_cols(s.cols));
  }
  return p;
}

raw_options scale_file::raw(const scale_shape& s) const {
  const output_plan p = plan(s);
  return {p.shape, p.type};
}

void scale_file::check(const scale_shape& s, dtype type, const shape_type& found) const {
  const bool is_word = type == dtype::u32 || type == dtype::i32;
  if (type != dtype::u8 && !(layout.mode == scale_layout_mode::word4 && is_word)) {
    throw input_error(
        fmt::format("{}: {} holds scale codes and must be uint8{}, not {}", spec, option,
                    layout.mode == scale_layout_mode::word4 ? " or uint32" : "", name(type)));
  }
  if (is_linear()) {
    const auto cols = static_cast<index_t>(found.empty() ? 0 : found.back());
    index_t rows = 1;
    for (std::size_t i = 0; i + 1 < found.size(); ++i) rows *= static_cast<index_t>(found[i]);
    if (!found.empty() && rows == s.all_rows() && cols == s.cols) return;
    throw input_error(
        fmt::format("{}: {} is {} x {}, but {} x {} scales are needed: check --block, or give the "
                    "scale layout that it has",
                    spec, option, rows, cols, s.all_rows(), s.cols));
  }
  const auto bytes = byte_count(type, found);
  const auto wanted = static_cast<std::size_t>(s.matrices * layout.scales().size(s.rows, s.cols));
  if (bytes && *bytes == wanted) return;
  throw input_error(fmt::format(
      "{}: {} has {} bytes, but {}{} x {} scales in layout {} take {}: check --block and the scale "
      "layout",
      spec, option, bytes.value_or(0), s.matrices == 1 ? "" : fmt::format("{} times ", s.matrices),
      s.rows, s.cols, name_of(layout.mode, scale_layouts()), wanted));
}

std::vector<std::uint8_t> scale_file::to_linear(const scale_shape& s,
                                                std::span<const std::byte> bytes) const {
  std::vector<std::uint8_t> scales(s.count());
  if (scales.empty()) return scales;
  const mxref::status done = mxref::unswizzle(
      reinterpret_cast<const std::uint8_t*>(bytes.data()), static_cast<index_t>(bytes.size()),
      layout.scales(), mxref::view(scales.data(), s.all_rows(), s.cols), s.matrices);
  if (!done) throw std::logic_error(mxref::message(done));
  return scales;
}

std::vector<std::byte> scale_file::from_linear(const scale_shape& s,
                                               std::span<const std::uint8_t> scales,
                                               mxref::padding fill) const {
  const index_t size = s.matrices * layout.scales().size(s.rows, s.cols);
  std::vector<std::byte> bytes(static_cast<std::size_t>(size));
  if (bytes.empty()) return bytes;
  const mxref::status done =
      mxref::swizzle(mxref::view(scales.data(), s.all_rows(), s.cols), layout.scales(),
                     reinterpret_cast<std::uint8_t*>(bytes.data()), size, fill, s.matrices);
  if (!done) throw std::logic_error(mxref::message(done));
  return bytes;
}

scale_reader::scale_reader(npy_reader& in, const scale_file& file, const scale_shape& shape)
    : in_(in), is_linear_(file.is_linear()) {
  if (!is_linear_) held_ = file.to_linear(shape, in.read_all());
}

void scale_reader::read(std::span<std::uint8_t> out) {
  if (is_linear_) {
    in_.read(std::as_writable_bytes(out));
  } else {
    std::ranges::copy(std::span(held_).subspan(next_, out.size()), out.begin());
    next_ += out.size();
  }
}

void scale_reader::read_at(std::size_t first, std::span<std::uint8_t> out) {
  if (is_linear_) {
    in_.read_at(first, std::as_writable_bytes(out));
  } else {
    std::ranges::copy(std::span(held_).subspan(first, out.size()), out.begin());
  }
}

void scale_writer::write(std::span<const std::uint8_t> scales) {
  if (file_.is_linear()) {
    out_.write(output_, std::as_bytes(scales));
  } else {
    held_.insert(held_.end(), scales.begin(), scales.end());
  }
}

void scale_writer::finish() {
  if (!file_.is_linear()) out_.write(output_, file_.from_linear(shape_, held_, fill_));
}

}  // namespace mxtool
