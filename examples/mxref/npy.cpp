// SPDX-License-Identifier: Apache-2.0
// The .npy format: https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html
#include <algorithm>
#include <charconv>
#include <utility>

#include "array_io_detail.hpp"

namespace mxtool::detail {
namespace {

constexpr std::string_view rewrite = "write the file again with numpy.save";

/// The subset of Python literals that headers of plain arrays consist of.
class header_parser {
 public:
  header_parser(std::string_view text, const std::string& name) : text_(text), name_(name) {}

  array_header parse() {
    array_header header;
    bool has_type = false;
    bool has_order = false;
    bool has_shape = false;
    expect('{');
    while (!accept('}')) {
      const std::string_view key = string();
      expect(':');
      if (key == "descr") {
        once(has_type, key);
        parse_type(header);
      } else if (key == "fortran_order") {
        once(has_order, key);
        header.fortran_order = boolean();
      } else if (key == "shape") {
        once(has_shape, key);
        header.shape = tuple();
      } else {
        damaged(fmt::format("unknown key '{}'", key));
      }
      if (!accept(',')) {
        expect('}');
        break;
      }
    }
    skip_space();
    if (at_ != text_.size()) damaged("text after the closing brace");
    if (!has_type || !has_order || !has_shape) damaged("descr, fortran_order or shape is missing");
    return header;
  }

 private:
  [[noreturn]] void damaged(std::string_view what) const {
    bad_input(name_, "damaged .npy header at character {}: {}; {}", at_, what, rewrite);
  }

  void once(bool& seen, std::string_view key) const {
    if (std::exchange(seen, true)) damaged(fmt::format("'{}' occurs twice", key));
  }

  void skip_space() { at_ = std::min(text_.find_first_not_of(" \t\r\n\f\v", at_), text_.size()); }

  bool accept(char c) {
    skip_space();
    if (at_ == text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }

  void expect(char c) {
    if (!accept(c)) damaged(fmt::format("'{}' expected", c));
  }

  bool accept_word(std::string_view word) {
    skip_space();
    if (!text_.substr(at_).starts_with(word)) return false;
    at_ += word.size();
    return true;
  }

  std::string_view string() {
    const char quote = accept('"') ? '"' : '\'';
    if (quote == '\'') expect('\'');
    const std::size_t begin = at_;
    at_ = std::min(text_.find(quote, begin), text_.size());
    const std::string_view body = text_.substr(begin, at_ - begin);
    if (body.find('\\') != std::string_view::npos) damaged("a string with escapes");
    expect(quote);
    return body;
  }

  bool boolean() {
    if (accept_word("True")) return true;
    if (accept_word("False")) return false;
    damaged("True or False expected");
  }

  shape_type tuple() {
    shape_type shape;
    expect('(');
    while (!accept(')')) {
      shape.push_back(integer());
      if (accept(',')) continue;
      if (shape.size() == 1) damaged("',' expected after the only extent");
      expect(')');
      break;
    }
    return shape;
  }

  std::size_t integer() {
    skip_space();
    std::size_t value = 0;
    const char* const begin = text_.data() + at_;
    const auto [end, error] = std::from_chars(begin, text_.data() + text_.size(), value);
    if (error == std::errc::result_out_of_range) damaged("an extent beyond 64 bits");
    if (error != std::errc()) damaged("an extent expected");
    at_ += static_cast<std::size_t>(end - begin);
    accept_word("L");  // written by Python 2
    return value;
  }

  void parse_type(array_header& header) {
    skip_space();
    if (at_ != text_.size() && (text_[at_] == '[' || text_[at_] == '(')) {
      bad_input(name_, "structured arrays are not read; save one field, as in a['x']");
    }
    const std::string_view descr = string();
    header.source_type = descr;
    header.big_endian = descr.starts_with('>');
    std::string_view type = descr;
    if (type.find_first_of("<>=|") == 0) type.remove_prefix(1);
    // numpy has no names for the types of ml_dtypes: float8 and smaller arrive as V1 (or f1),
    // bfloat16 as V2.
    static constexpr std::pair<std::string_view, dtype> types[] = {
        {"b1", dtype::b1},  {"u1", dtype::u8},  {"i1", dtype::i8},  {"u2", dtype::u16},
        {"i2", dtype::i16}, {"u4", dtype::u32}, {"i4", dtype::i32}, {"u8", dtype::u64},
        {"i8", dtype::i64}, {"f2", dtype::f16}, {"f4", dtype::f32}, {"f8", dtype::f64},
        {"V1", dtype::u8},  {"f1", dtype::u8},  {"V2", dtype::u16}};
    const auto found = std::ranges::find(types, type, &std::pair<std::string_view, dtype>::first);
    if (found != std::end(types)) {
      header.type = found->second;
      return;
    }
    if (type.starts_with('O')) {
      bad_input(name_,
                "dtype object holds pickled Python objects, which are not read; save "
                "a.astype(numpy.float32)");
    }
    if (type.starts_with('S') || type.starts_with('U') || type.starts_with('a')) {
      bad_input(name_, "dtype '{}' holds strings; arrays of numbers are expected", descr);
    }
    bad_input(name_, "dtype '{}' is not supported; save a.astype(numpy.float32) or an integer type",
              descr);
  }

  std::string_view text_;
  const std::string& name_;
  std::size_t at_ = 0;
};

}  // namespace

array_header parse_npy_header(std::string_view text, const std::string& name) {
  return header_parser(text, name).parse();
}

array_stream open_npy(std::string name, std::unique_ptr<byte_source> source) {
  const auto take = [&](std::size_t count) {
    std::string bytes(count, '\0');
    bytes.resize(read_fully(*source, std::as_writable_bytes(std::span(bytes))));
    return bytes;
  };
  const auto truncated = [&]() { bad_input(name, "the .npy header is truncated; {}", rewrite); };

  const std::string start = take(npy_magic.size() + 2);
  if (!start.starts_with(npy_magic.substr(0, start.size()))) {
    bad_input(name, "is not a .npy file; check that it was written with numpy.save");
  }
  if (start.size() < npy_magic.size() + 2) truncated();
  const int version = static_cast<unsigned char>(start[npy_magic.size()]);
  const int minor = static_cast<unsigned char>(start[npy_magic.size() + 1]);
  if (version < 1 || version > 3 || minor != 0) {
    bad_input(name, ".npy version {}.{} is not known; {}", version, minor, rewrite);
  }
  const std::string length_bytes = take(version == 1 ? 2 : 4);
  if (length_bytes.size() != (version == 1 ? 2u : 4u)) truncated();
  std::uint32_t length = 0;
  for (std::size_t i = length_bytes.size(); i-- > 0;) {
    length = length << 8 | static_cast<unsigned char>(length_bytes[i]);
  }
  if (length > 0xFFFF) {
    bad_input(name, "a .npy header of {} bytes is not that of a plain array; {}", length, rewrite);
  }
  const std::string text = take(length);
  if (text.size() != length) truncated();
  array_header header = parse_npy_header(text, name);
  return {std::move(name), std::move(header), std::move(source),
          "the file is damaged or incomplete"};
}

std::string format_npy_header(dtype type, std::span<const std::size_t> shape) {
  const char kind = name(type).front();  // bool, int, uint, float: numpy's kinds are the initials
  const std::size_t size = size_of(type);
  std::string text = fmt::format("{{'descr': '{}{}{}', 'fortran_order': False, 'shape': {}, }}",
                                 size == 1 ? '|' : '<', kind, size, shape_text(shape));
  // numpy leaves room for the first extent to grow to 21 digits, then pads to 64 bytes: by 1 to 64.
  if (!shape.empty()) text.append(21 - fmt::formatted_size("{}", shape[0]), ' ');
  constexpr std::size_t alignment = 64;
  const std::size_t prefix = npy_magic.size() + 4;
  text.append(alignment - (prefix + text.size() + 1) % alignment, ' ');
  text += '\n';
  std::string header(npy_magic);
  header +=
      {'\x01', '\x00', static_cast<char>(text.size() & 0xFF), static_cast<char>(text.size() >> 8)};
  return header + text;
}

}  // namespace mxtool::detail
