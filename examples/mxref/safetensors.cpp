// SPDX-License-Identifier: Apache-2.0
// The .safetensors format: the length of a JSON header in 8 bytes, the header, the data.
#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <set>

#include "array_io_detail.hpp"

namespace mxtool::detail {
namespace {

using nlohmann::json;

struct tensor {
  std::string name;
  std::string type;
  shape_type shape;
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
};

struct tensor_index {
  std::vector<tensor> tensors;  // by name
  std::uint64_t data_offset = 0;
};

[[noreturn]] void damaged(const std::string& file, std::string_view what) {
  bad_input(file, "not a sound .safetensors file: {}; fetch or write it again", what);
}

/// Parses the header. A repeated name would hide a tensor, and deep nesting has no use but to
/// exhaust memory: both are refused.
json parse_header(const std::string& text, const std::string& file) {
  std::vector<std::set<std::string>> names;  // of the objects that are open
  const auto watch = [&](int depth, json::parse_event_t event, const json& value) {
    if (depth > 3) damaged(file, "the header is nested too deeply");
    if (event == json::parse_event_t::object_start) names.emplace_back();
    if (event == json::parse_event_t::object_end) names.pop_back();
    if (event == json::parse_event_t::key &&
        !names.back().insert(value.get<std::string>()).second) {
      damaged(file, fmt::format("'{}' occurs twice in the header", value.get<std::string>()));
    }
    return true;
  };
  json header = json::parse(text, watch, false);
  if (!header.is_object()) damaged(file, "the header is not a JSON object");
  return header;
}

std::optional<shape_type> unsigned_list(const json& object, const char* key) {
  const auto found = object.find(key);
  if (found == object.end() || !found->is_array()) return std::nullopt;
  shape_type values;
  for (const json& value : *found) {
    if (!value.is_number_unsigned()) return std::nullopt;
    values.push_back(value.get<std::size_t>());
  }
  return values;
}

tensor parse_tensor(const std::string& name, const json& entry, const std::string& file) {
  const auto refuse = [&](std::string_view what) {
    damaged(file, fmt::format("'{}' has no {}", name, what));
  };
  if (!entry.is_object()) refuse("description");
  const auto type = entry.find("dtype");
  if (type == entry.end() || !type->is_string()) refuse("dtype");
  auto shape = unsigned_list(entry, "shape");
  if (!shape) refuse("shape of whole numbers");
  const auto offsets = unsigned_list(entry, "data_offsets");
  if (!offsets || offsets->size() != 2 || (*offsets)[0] > (*offsets)[1]) refuse("data_offsets");
  return {name, type->get<std::string>(), std::move(*shape), (*offsets)[0], (*offsets)[1]};
}

/// Tensors fill the data exactly, without gaps or overlaps; a truncated file shows here.
void check_layout(std::vector<const tensor*> order, std::uint64_t data_size,
                  const std::string& file) {
  std::ranges::sort(order, {}, [](const tensor* t) { return std::pair(t->begin, t->end); });
  std::uint64_t at = 0;
  for (const tensor* t : order) {
    if (t->begin != at) damaged(file, fmt::format("gap or overlap before '{}'", t->name));
    at = t->end;
  }
  if (at != data_size) {
    damaged(file, fmt::format("its header describes {} bytes of data, found {}", at, data_size));
  }
}

tensor_index read_index(const input_file& file) {
  constexpr std::uint64_t longest_header = 100'000'000;  // as in the reference implementation
  const std::uint64_t size = file.regular_size();
  std::array<std::byte, 8> prefix{};
  if (size < prefix.size()) damaged(file.name(), "it is shorter than 8 bytes");
  file.read_at(0, prefix);
  const auto length = std::bit_cast<std::uint64_t>(prefix);
  if (length > size - prefix.size() || length > longest_header) {
    damaged(file.name(), fmt::format("its header of {} bytes does not fit", length));
  }
  std::string text(static_cast<std::size_t>(length), '\0');
  file.read_at(prefix.size(), std::as_writable_bytes(std::span(text)));

  tensor_index index;
  index.data_offset = prefix.size() + length;
  const json header = parse_header(text, file.name());
  for (const auto& [name, entry] : header.items()) {
    if (name != "__metadata__") index.tensors.push_back(parse_tensor(name, entry, file.name()));
  }
  std::vector<const tensor*> order;
  for (const tensor& t : index.tensors) order.push_back(&t);
  check_layout(std::move(order), size - index.data_offset, file.name());
  return index;
}

std::vector<std::string> names_of(const tensor_index& index) {
  std::vector<std::string> names;
  for (const tensor& t : index.tensors) names.push_back(t.name);
  return names;
}

std::size_t bits_below_byte(std::string_view type) {
  if (type == "F4" || type == "F4_E2M1") return 4;
  if (type == "F6_E2M3" || type == "F6_E3M2") return 6;
  return 0;
}

/// The shape of 4-bit and 6-bit tensors as bytes. Writers disagree on what the header counts:
/// elements, so that rows are packed, or bytes. The size of the data tells which.
shape_type shape_in_bytes(const tensor& t, std::size_t bits, const std::string& name) {
  const std::uint64_t size = t.end - t.begin;
  if (byte_count(dtype::u8, t.shape) == size) return t.shape;
  const std::size_t row = t.shape.empty() ? 1 : t.shape.back();
  if (row % 8 * bits % 8 != 0) {
    bad_input(name, "{} {}: rows of {} elements do not fill whole bytes; pad the last dimension",
              t.type, shape_text(t.shape), row);
  }
  shape_type shape = t.shape;
  shape.back() = row / 8 * bits + row % 8 * bits / 8;
  if (byte_count(dtype::u8, shape) != size) {
    bad_input(name, "{} {} takes {} bytes packed, found {}; write the tensor again", t.type,
              shape_text(t.shape), shape_text(shape), size);
  }
  return shape;
}

}  // namespace

std::vector<std::string> safetensors_members(const input_file& file) {
  return names_of(read_index(file));
}

array_stream open_safetensors(std::shared_ptr<const input_file> file,
                              const std::optional<std::string>& member) {
  const tensor_index index = read_index(*file);
  const tensor& t = index.tensors[choose_member(file->name(), names_of(index), member)];
  const std::string name = file->name() + ":" + t.name;
  array_header header;
  header.source_type = t.type;
  if (const std::size_t bits = bits_below_byte(t.type)) {
    header.type = dtype::u8;
    header.shape = shape_in_bytes(t, bits, name);
  } else if (const auto type = find_dtype(t.type)) {
    header.type = *type;
    header.shape = t.shape;
  } else {
    bad_input(name, "dtype {} is not supported; convert the tensor to F32 or U8", t.type);
  }
  auto data =
      std::make_unique<slice_source>(std::move(file), index.data_offset + t.begin, t.end - t.begin);
  return {name, std::move(header), std::move(data), "write the tensor again"};
}

}  // namespace mxtool::detail
