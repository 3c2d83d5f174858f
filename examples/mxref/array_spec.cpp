// SPDX-License-Identifier: Apache-2.0
// What a spec on the command line means: its path, its member and its container.
#include <algorithm>
#include <filesystem>
#include <numeric>
#include <utility>

#include "array_io_detail.hpp"

namespace mxtool {
namespace detail {
namespace {

namespace fs = std::filesystem;

bool exists(const std::string& path) {
  std::error_code ignored;
  return fs::exists(path, ignored);
}

/// As split_spec, but an archive with another extension has members too.
spec_parts split_input(const std::string& spec) {
  spec_parts parts = split_spec(spec);
  if (parts.member || spec == "-" || exists(spec)) return parts;
  for (auto colon = spec.find(':'); colon != std::string::npos; colon = spec.find(':', colon + 1)) {
    if (exists(spec.substr(0, colon))) return {spec.substr(0, colon), spec.substr(colon + 1)};
  }
  return parts;
}

bool looks_like_safetensors(std::span<const std::byte> start) {
  // The length of the header, which is far below 2^32, and the brace that opens it.
  return start.size() >= 9 && start[8] == std::byte{'{'} &&
         std::ranges::all_of(start.subspan(4, 4), [](std::byte b) { return b == std::byte{0}; });
}

container sniff(std::span<const std::byte> start, bool raw_is_described) {
  const std::string_view text(reinterpret_cast<const char*>(start.data()), start.size());
  if (text.starts_with(npy_magic)) return container::npy;
  if (text.starts_with("PK\x03\x04") || text.starts_with("PK\x05\x06")) return container::npz;
  if (raw_is_described) return container::raw;
  return looks_like_safetensors(start) ? container::safetensors : container::unknown;
}

struct opened {
  std::shared_ptr<const input_file> file;
  std::unique_ptr<stream_source> source;
  container kind;
};

opened open_container(const std::string& path, const raw_options& raw) {
  auto file = std::make_shared<const input_file>(path);
  auto source = std::make_unique<stream_source>(file);
  container kind = container_of(path);
  if (kind == container::unknown) {
    kind = sniff(source->peek(9), raw.shape.has_value() && raw.type.has_value());
  }
  return {std::move(file), std::move(source), kind};
}

array_stream open_raw(const std::string& spec, std::unique_ptr<byte_source> source,
                      const raw_options& raw) {
  if (!raw.shape) bad_input(spec, "raw data does not tell its shape; add --shape and --dtype");
  if (!raw.type) bad_input(spec, "raw data does not tell its type; add --dtype");
  array_header header{*raw.type, *raw.shape};
  header.source_type = name(*raw.type);
  return {spec, std::move(header), std::move(source), "check --shape and --dtype"};
}

std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 0; i != a.size(); ++i) {
    std::size_t diagonal = std::exchange(row[0], i + 1);
    for (std::size_t j = 0; j != b.size(); ++j) {
      const std::size_t changed = diagonal + (a[i] == b[j] ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({row[j] + 1, diagonal + 1, changed});
    }
  }
  return row.back();
}

/// ` (nearest: NAME)`, or nothing where no member resembles what the user wrote.
std::string suggestion(std::string_view wanted, const std::vector<std::string>& members) {
  constexpr std::size_t longest = 200;
  std::size_t best = std::max<std::size_t>(2, wanted.size() / 2) + 1;
  const std::string* nearest = nullptr;
  for (const std::string& member : members) {
    if (wanted.size() > longest || member.size() > longest) continue;
    const std::size_t distance = edit_distance(wanted, member);
    if (distance >= best) continue;
    best = distance;
    nearest = &member;
  }
  return nearest ? fmt::format("; nearest is '{}'", *nearest) : "";
}

std::string list_of(const std::vector<std::string>& members) {
  constexpr std::size_t most = 20;
  const auto shown = std::span(members).first(std::min(most, members.size()));
  std::string text = fmt::format("{}", fmt::join(shown, ", "));
  if (members.size() > most) text += fmt::format(", and {} more", members.size() - most);
  return text;
}

}  // namespace

container container_of(const std::string& path) {
  const std::string ending = extension_of(path);
  if (ending == ".npy") return container::npy;
  if (ending == ".npz") return container::npz;
  if (ending == ".safetensors") return container::safetensors;
  if (ending == ".bin") return container::raw;
  return container::unknown;
}

std::string extension_of(const std::string& path) {
  std::string text = fs::path(path).extension().string();
  std::ranges::transform(text, text.begin(), ascii_lower);
  return text;
}

spec_parts split_spec(const std::string& spec) {
  for (auto colon = spec.find(':'); colon != std::string::npos; colon = spec.find(':', colon + 1)) {
    std::string path = spec.substr(0, colon);
    const container kind = container_of(path);
    if (kind == container::npz || kind == container::safetensors) {
      return {std::move(path), spec.substr(colon + 1)};
    }
  }
  return {spec, std::nullopt};
}

std::size_t choose_member(const std::string& file, const std::vector<std::string>& members,
                          const std::optional<std::string>& member) {
  if (members.empty()) bad_input(file, "holds no arrays");
  if (!member) {
    if (members.size() == 1) return 0;
    bad_input(file, "holds {} arrays; name one as {}:NAME, NAME being one of {}", members.size(),
              file, list_of(members));
  }
  if (member->empty()) {
    bad_input(file, "the name after ':' is empty; it is one of {}", list_of(members));
  }
  std::string wanted = *member;
  if (std::ranges::find(members, wanted) == members.end() && wanted.ends_with(".npy")) {
    wanted.resize(wanted.size() - 4);
  }
  const auto found = std::ranges::find(members, wanted);
  if (found == members.end()) {
    bad_input(file, "has no array '{}'{}; it has {}", *member, suggestion(wanted, members),
              list_of(members));
  }
  if (std::find(found + 1, members.end(), wanted) != members.end()) {
    bad_input(file, "has several arrays '{}'; write the archive again with different names",
              wanted);
  }
  return static_cast<std::size_t>(found - members.begin());
}

array_stream open_array(const std::string& spec, const raw_options& raw) {
  const spec_parts parts = split_input(spec);
  const std::string ending = extension_of(parts.path);
  if (ending == ".pt" || ending == ".pth") {
    bad_input(parts.path,
              "PyTorch files are not read; use numpy.save(FILE, t.numpy()), and "
              "t.view(torch.uint8).numpy() for 8-bit floats");
  }
  auto [file, source, kind] = open_container(parts.path, raw);
  if (kind == container::npz) return open_npz(std::move(file), parts.member);
  if (kind == container::safetensors) return open_safetensors(std::move(file), parts.member);
  if (parts.member) {
    bad_input(file->name(), "only .npz and .safetensors files have members; leave out ':{}'",
              *parts.member);
  }
  if (kind == container::npy) return open_npy(file->name(), std::move(source));
  if (kind == container::unknown) {
    bad_input(file->name(),
              "is not .npy, .npz or .safetensors; if it is raw data, add --shape and --dtype");
  }
  return open_raw(file->name(), std::move(source), raw);
}

}  // namespace detail

std::vector<std::string> list_members(const std::string& path) {
  auto [file, source, kind] = detail::open_container(path, {});
  if (kind == detail::container::npz) return detail::npz_members(*file);
  if (kind == detail::container::safetensors) return detail::safetensors_members(*file);
  return {};
}

}  // namespace mxtool
