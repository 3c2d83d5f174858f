// SPDX-License-Identifier: Apache-2.0
#include "array_io.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <functional>
#include <limits>
#include <numeric>

#include "array_io_detail.hpp"

namespace mxtool {
namespace {

struct dtype_facts {
  std::size_t size;
  std::string_view name;
  std::string_view brief;
};

constexpr std::array<dtype_facts, 12> facts{{{1, "bool", "b1"},
                                             {1, "uint8", "u8"},
                                             {1, "int8", "i8"},
                                             {2, "uint16", "u16"},
                                             {2, "int16", "i16"},
                                             {4, "uint32", "u32"},
                                             {4, "int32", "i32"},
                                             {8, "uint64", "u64"},
                                             {8, "int64", "i64"},
                                             {2, "float16", "f16"},
                                             {4, "float32", "f32"},
                                             {8, "float64", "f64"}}};

/// Types without a C++ or numpy counterpart travel as the patterns of their codes.
struct dtype_alias {
  std::string_view name;
  dtype type;
};

constexpr std::array<dtype_alias, 7> aliases{{{"bf16", dtype::u16},
                                              {"bfloat16", dtype::u16},
                                              {"f8_e4m3", dtype::u8},
                                              {"f8_e5m2", dtype::u8},
                                              {"f8_e8m0", dtype::u8},
                                              {"f8_e4m3fnuz", dtype::u8},
                                              {"f8_e5m2fnuz", dtype::u8}}};

const dtype_facts& facts_of(dtype type) { return facts.at(static_cast<std::size_t>(type)); }

/// Rearranges elements of N bytes from Fortran order to C order.
template <std::size_t N>
std::vector<std::byte> to_c_order(std::span<const std::byte> in, const shape_type& shape) {
  std::vector<std::byte> out(in.size());
  shape_type stride(shape.size());
  std::exclusive_scan(shape.begin(), shape.end(), stride.begin(), N, std::multiplies<>());
  shape_type index(shape.size());
  std::size_t from = 0;
  for (std::size_t to = 0; to != out.size(); to += N) {
    std::copy_n(in.begin() + static_cast<std::ptrdiff_t>(from), N,
                out.begin() + static_cast<std::ptrdiff_t>(to));
    for (std::size_t d = shape.size(); d-- > 0;) {
      from += stride[d];
      if (++index[d] < shape[d]) break;
      from -= stride[d] * shape[d];
      index[d] = 0;
    }
  }
  return out;
}

std::vector<std::byte> to_c_order(std::span<const std::byte> bytes, dtype type,
                                  const shape_type& shape) {
  switch (size_of(type)) {
    case 1:
      return to_c_order<1>(bytes, shape);
    case 2:
      return to_c_order<2>(bytes, shape);
    case 4:
      return to_c_order<4>(bytes, shape);
    default:
      return to_c_order<8>(bytes, shape);
  }
}

}  // namespace

std::size_t size_of(dtype type) { return facts_of(type).size; }

std::string_view name(dtype type) { return facts_of(type).name; }

std::optional<dtype> detail::find_dtype(std::string_view text) {
  std::string lower(text);
  std::ranges::transform(lower, lower.begin(), ascii_lower);
  for (std::size_t i = 0; i != facts.size(); ++i) {
    if (lower == facts[i].name || lower == facts[i].brief) return static_cast<dtype>(i);
  }
  const auto alias = std::ranges::find(aliases, lower, &dtype_alias::name);
  if (alias != aliases.end()) return alias->type;
  return std::nullopt;
}

dtype parse_dtype(std::string_view text) {
  if (const auto type = detail::find_dtype(text)) return *type;
  std::vector<std::string_view> names;
  for (const dtype_facts& f : facts) names.push_back(f.name);
  detail::bad_input("dtype", "'{}' is not one of {}", text, fmt::join(names, " "));
}

shape_type parse_shape(std::string_view text) {
  const auto refuse = [&](std::string_view why) {
    detail::bad_input("shape", "'{}' {}; write it as 2,3 or 2x3", text, why);
  };
  std::string body(text);
  std::erase(body, ' ');
  const bool tuple = body.size() >= 2 && body.front() == '(' && body.back() == ')';
  if (tuple) body = body.substr(1, body.size() - 2);
  if (tuple && body.ends_with(',') && body.size() > 1) body.pop_back();
  shape_type shape;
  if (tuple && body.empty()) return shape;
  const char* at = body.data();
  const char* const end = at + body.size();
  while (true) {
    std::size_t extent = 0;
    const auto [next, error] = std::from_chars(at, end, extent);
    if (error == std::errc::result_out_of_range) refuse("is too large");
    if (error != std::errc()) refuse("is not a list of sizes");
    shape.push_back(extent);
    if (next == end) return shape;
    if (*next != ',' && *next != 'x') refuse("is not a list of sizes");
    at = next + 1;
  }
}

std::string shape_text(std::span<const std::size_t> shape) {
  return fmt::format("({}{})", fmt::join(shape, ", "), shape.size() == 1 ? "," : "");
}

std::optional<std::size_t> byte_count(dtype type, std::span<const std::size_t> shape) {
  // Zero extents must not hide the overflow of the others: callers multiply parts of a shape.
  std::size_t bytes = size_of(type);
  bool empty = false;
  for (const std::size_t extent : shape) {
    empty |= extent == 0;
    const std::size_t factor = extent == 0 ? 1 : extent;
    if (factor > static_cast<std::size_t>(std::numeric_limits<std::ptrdiff_t>::max()) / bytes) {
      return std::nullopt;
    }
    bytes *= factor;
  }
  return empty ? 0 : bytes;
}

void array::require_view(view_kind kind, std::size_t size) const {
  const bool is_floating = type == dtype::f32 || type == dtype::f64;
  const bool is_signed =
      type == dtype::i8 || type == dtype::i16 || type == dtype::i32 || type == dtype::i64;
  if (size != size_of(type) || (kind == view_kind::floating && !is_floating) ||
      (kind == view_kind::signed_integer && !is_signed)) {
    throw std::logic_error(fmt::format("array of {} viewed as another type", name(type)));
  }
}

array make_array(dtype type, shape_type shape) {
  const auto bytes = byte_count(type, shape);
  if (!bytes) throw std::length_error(fmt::format("shape {} is too large", shape_text(shape)));
  return {type, std::move(shape), std::vector<std::byte>(*bytes)};
}

// ---- npy_reader, load_array ----

npy_reader::npy_reader(const std::string& spec, const raw_options& raw)
    : stream_(std::make_unique<detail::array_stream>(detail::open_array(spec, raw))) {
  detail::array_stream& s = *stream_;
  if (s.header.shape.size() > 64) detail::bad_input(s.name, "more than 64 dimensions; reshape it");
  const std::string what = fmt::format("{} {}", name(s.header.type), shape_text(s.header.shape));
  const auto bytes = byte_count(s.header.type, s.header.shape);
  if (!bytes) detail::bad_input(s.name, "{} is too large for any file; {}", what, s.advice);
  const auto left = s.data->left();
  if (left && *left != *bytes) {
    detail::bad_input(s.name, "{} takes {} bytes of data, found {}; {}", what, *bytes, *left,
                      s.advice);
  }
  remaining_ = stream_left_ = *bytes;
  if (stream_left_ == 0) require_end();
}

npy_reader::npy_reader(npy_reader&&) noexcept = default;
npy_reader& npy_reader::operator=(npy_reader&&) noexcept = default;
npy_reader::~npy_reader() = default;

dtype npy_reader::type() const { return stream_->header.type; }
const shape_type& npy_reader::shape() const { return stream_->header.shape; }
const std::string& npy_reader::source_type() const { return stream_->header.source_type; }
bool npy_reader::is_in_c_order() const {
  return !stream_->header.fortran_order || shape().size() < 2;
}

std::size_t npy_reader::read_stream(std::span<std::byte> out) {
  const std::size_t element = size_of(type());
  out = out.first(std::min(out.size() - out.size() % element, stream_left_));
  if (out.empty()) return 0;
  const std::size_t got = detail::read_fully(*stream_->data, out);
  if (got != out.size()) {
    detail::bad_input(stream_->name, "the data ends {} bytes too early; {}", stream_left_ - got,
                      stream_->advice);
  }
  swap_bytes(out);
  stream_left_ -= got;
  if (stream_left_ == 0) require_end();
  return got;
}

void npy_reader::swap_bytes(std::span<std::byte> elements) const {
  if (!stream_->header.big_endian) return;
  const std::size_t element = size_of(type());
  for (; !elements.empty(); elements = elements.subspan(element)) {
    std::ranges::reverse(elements.first(element));
  }
}

void npy_reader::hold() {
  // Memory follows the data that is there, never the claim of a header alone.
  constexpr std::size_t first_piece = std::size_t{1} << 20;
  try {
    std::vector<std::byte> bytes;
    while (stream_left_ != 0) {
      const std::size_t have = bytes.size();
      const std::size_t piece = stream_->data->backed()
                                    ? stream_left_
                                    : std::min(stream_left_, std::max(have, first_piece));
      bytes.resize(have + piece);
      read_stream(std::span(bytes).subspan(have));
    }
    held_ = is_in_c_order() ? std::move(bytes) : to_c_order(bytes, type(), shape());
  } catch (const std::bad_alloc&) {
    detail::bad_input(stream_->name, "{} {} does not fit in memory", name(type()),
                      shape_text(shape()));
  }
}

std::size_t npy_reader::read(std::span<std::byte> out) {
  if (!held_ && !is_in_c_order()) hold();
  if (held_) {
    out = out.first(std::min(out.size() - out.size() % size_of(type()), remaining_));
    read_at(held_->size() - remaining_, out);
    remaining_ -= out.size();
    return out.size();
  }
  const std::size_t got = read_stream(out);
  remaining_ -= got;
  return got;
}

void npy_reader::read_at(std::size_t offset, std::span<std::byte> out) {
  if (!held_ && (!is_in_c_order() || !stream_->data->has_offsets())) hold();
  if (held_) {
    std::ranges::copy(std::span(*held_).subspan(offset, out.size()), out.begin());
    return;
  }
  stream_->data->read_at(offset, out);
  swap_bytes(out);
}

std::vector<std::byte> npy_reader::read_all() {
  hold();
  remaining_ = 0;
  return std::move(*held_);
}

void npy_reader::require_end() {
  std::byte extra{};
  if (stream_->data->read({&extra, 1}) != 0) {
    detail::bad_input(stream_->name, "more data follows the {} of {}; {}", shape_text(shape()),
                      name(type()), stream_->advice);
  }
}

array load_array(const std::string& spec, const raw_options& raw) {
  npy_reader in(spec, raw);
  return {in.type(), in.shape(), in.read_all()};
}

}  // namespace mxtool
