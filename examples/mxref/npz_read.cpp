// SPDX-License-Identifier: Apache-2.0
// Reading .npz: a ZIP archive (PKWARE APPNOTE 6.3) of .npy members, stored or deflated.
#include <zlib.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "array_io_detail.hpp"

namespace mxtool::detail {
namespace {

[[noreturn]] void damaged(const std::string& file, std::string_view what) {
  bad_input(file, "not a sound .npz archive: {}; fetch or write it again", what);
}

/// Reads little-endian fields, and refuses to read past the end.
class field_reader {
 public:
  field_reader(std::span<const std::byte> bytes, const std::string& file)
      : bytes_(bytes), file_(file) {}

  std::uint16_t u16() { return number<std::uint16_t>(); }
  std::uint32_t u32() { return number<std::uint32_t>(); }
  std::uint64_t u64() { return number<std::uint64_t>(); }
  std::size_t left() const { return bytes_.size(); }

  std::span<const std::byte> take(std::size_t count) {
    if (count > bytes_.size()) damaged(file_, "a record is cut short");
    const auto taken = bytes_.first(count);
    bytes_ = bytes_.subspan(count);
    return taken;
  }

 private:
  template <class T>
  T number() {
    T value;
    std::memcpy(&value, take(sizeof(T)).data(), sizeof(T));
    return value;
  }

  std::span<const std::byte> bytes_;
  const std::string& file_;
};

constexpr std::uint32_t local_signature = 0x04034b50;
constexpr std::uint32_t central_signature = 0x02014b50;
constexpr std::uint32_t end_signature = 0x06054b50;
constexpr std::uint32_t end64_signature = 0x06064b50;
constexpr std::uint32_t locator_signature = 0x07064b50;
constexpr std::size_t local_size = 30;
constexpr std::size_t end_size = 22;
constexpr std::size_t end64_size = 56;
constexpr std::size_t locator_size = 20;
constexpr std::uint16_t saturated16 = 0xFFFF;
constexpr std::uint32_t saturated32 = 0xFFFFFFFF;

struct directory_location {
  std::uint64_t offset;
  std::uint64_t size;
  std::uint64_t count;
};

struct zip_member {
  std::string name;
  std::uint16_t flags;
  std::uint16_t method;
  std::uint32_t crc;
  std::uint64_t compressed;
  std::uint64_t size;
  std::uint64_t local_offset;
};

struct zip_directory {
  std::vector<zip_member> members;
  std::uint64_t offset;  // of the directory: members lie before it
};

template <std::size_t N>
std::array<std::byte, N> read_record(const input_file& file, std::uint64_t offset) {
  std::array<std::byte, N> bytes{};
  file.read_at(offset, bytes);
  return bytes;
}

directory_location read_end64(const input_file& file, std::uint64_t end) {
  if (end < locator_size) damaged(file.name(), "the zip64 locator is missing");
  const auto locator_bytes = read_record<locator_size>(file, end - locator_size);
  field_reader locator(locator_bytes, file.name());
  if (locator.u32() != locator_signature) damaged(file.name(), "the zip64 locator is missing");
  locator.u32();  // disk
  const std::uint64_t offset = locator.u64();
  if (offset > end - locator_size || end - locator_size - offset < end64_size) {
    damaged(file.name(), "the zip64 end record lies outside the file");
  }
  const auto record_bytes = read_record<end64_size>(file, offset);
  field_reader record(record_bytes, file.name());
  if (record.u32() != end64_signature) damaged(file.name(), "the zip64 end record is missing");
  record.take(8 + 2 + 2 + 4 + 4 + 8);  // size, versions, disks, entries on this disk
  const std::uint64_t count = record.u64();
  const std::uint64_t size = record.u64();
  return {record.u64(), size, count};
}

/// Finds the end record, which only a comment may follow.
directory_location find_directory(const input_file& file) {
  const std::uint64_t size = file.regular_size();
  const auto tail_size = static_cast<std::size_t>(std::min<std::uint64_t>(size, end_size + 0xFFFF));
  std::vector<std::byte> tail(tail_size);
  file.read_at(size - tail_size, tail);
  for (std::size_t at = tail_size + 1 - std::min(tail_size + 1, end_size); at-- > 0;) {
    field_reader record(std::span<const std::byte>(tail).subspan(at), file.name());
    if (record.u32() != end_signature) continue;
    const std::uint16_t disk = record.u16();
    const std::uint16_t directory_disk = record.u16();
    record.u16();  // entries on this disk
    const std::uint16_t count = record.u16();
    const std::uint32_t directory_size = record.u32();
    const std::uint32_t offset = record.u32();
    if (record.u16() != record.left()) continue;  // the length of the comment
    const std::uint64_t end = size - tail_size + at;
    directory_location found{offset, directory_size, count};
    if (count == saturated16 || directory_size == saturated32 || offset == saturated32) {
      found = read_end64(file, end);
    } else if (disk != 0 || directory_disk != 0) {
      damaged(file.name(), "it is one part of several");
    }
    if (found.offset > end || found.size > end - found.offset) {
      damaged(file.name(), "its directory lies outside the file");
    }
    return found;
  }
  damaged(file.name(), "its directory is missing, as when a file is truncated");
}

/// Takes from the zip64 extra field the numbers that do not fit their own.
void widen(zip_member& m, std::span<const std::byte> extra, const std::string& file) {
  std::array<std::uint64_t*, 3> fields{&m.size, &m.compressed, &m.local_offset};
  const auto is_saturated = [](const std::uint64_t* field) { return *field == saturated32; };
  if (std::ranges::none_of(fields, is_saturated)) return;
  for (field_reader rest(extra, file); rest.left() >= 4;) {
    const std::uint16_t id = rest.u16();
    const std::uint16_t length = rest.u16();
    field_reader body(rest.take(length), file);
    if (id != 1) continue;
    for (std::uint64_t* field : fields) {
      if (is_saturated(field)) *field = body.u64();
    }
    return;
  }
  damaged(file, fmt::format("'{}' lacks its zip64 sizes", m.name));
}

zip_directory read_directory(const input_file& file) {
  constexpr std::uint64_t largest = std::uint64_t{1} << 26;
  const directory_location where = find_directory(file);
  if (where.size > largest) damaged(file.name(), "its directory is absurdly large");
  std::vector<std::byte> bytes(static_cast<std::size_t>(where.size));
  file.read_at(where.offset, bytes);
  zip_directory directory{{}, where.offset};
  field_reader fields(bytes, file.name());
  for (std::uint64_t i = 0; i != where.count; ++i) {
    if (fields.u32() != central_signature) damaged(file.name(), "a directory entry is damaged");
    fields.take(2 + 2);  // versions
    zip_member m;
    m.flags = fields.u16();
    m.method = fields.u16();
    fields.take(4);  // time
    m.crc = fields.u32();
    m.compressed = fields.u32();
    m.size = fields.u32();
    const std::uint16_t name_length = fields.u16();
    const std::uint16_t extra_length = fields.u16();
    const std::uint16_t comment_length = fields.u16();
    fields.take(2 + 2 + 4);  // disk, attributes
    m.local_offset = fields.u32();
    const auto name = fields.take(name_length);
    m.name.assign(reinterpret_cast<const char*>(name.data()), name.size());
    widen(m, fields.take(extra_length), file.name());
    fields.take(comment_length);
    if (!m.name.ends_with('/')) directory.members.push_back(std::move(m));
  }
  if (fields.left() != 0) damaged(file.name(), "its directory has bytes to spare");
  return directory;
}

/// The content of a member. Ends only after size and checksum have been found right.
class member_source : public byte_source {
 public:
  member_source(std::string name, const zip_member& member, slice_source packed)
      : name_(std::move(name)), member_(member), packed_(std::move(packed)) {
    if (deflated() && ::inflateInit2(&stream_, -MAX_WBITS) != Z_OK) throw std::bad_alloc();
  }
  member_source(const member_source&) = delete;
  member_source& operator=(const member_source&) = delete;
  ~member_source() override {
    if (deflated()) ::inflateEnd(&stream_);
  }

  std::optional<std::uint64_t> left() const override { return member_.size - produced_; }
  bool backed() const override { return !deflated(); }
  bool has_offsets() const override { return !deflated(); }

  void read_at(std::uint64_t offset, std::span<std::byte> out) override {
    if (!checked_) check_rest();
    packed_.read_at(offset, out);
  }

  std::size_t read(std::span<std::byte> out) override {
    if (ended_ || out.empty()) return 0;
    const std::size_t got = deflated() ? inflate_some(out) : packed_.read(out);
    if (got > member_.size - produced_) damaged(name_, "it unpacks to more than its declared size");
    produced_ += got;
    add_to_crc(out.first(got));
    if (got == 0) verify();
    return got;
  }

 private:
  bool deflated() const { return member_.method == Z_DEFLATED; }

  /// Reads what is left once, for its checksum.
  void check_rest() {
    const uLong crc_so_far = crc_;
    slice_source rest = packed_;
    std::vector<std::byte> piece(std::size_t{1} << 20);
    while (const std::size_t got = rest.read(piece)) add_to_crc(std::span(piece).first(got));
    check_crc();
    crc_ = crc_so_far;
    checked_ = true;
  }

  void add_to_crc(std::span<const std::byte> bytes) {
    crc_ = ::crc32_z(crc_, reinterpret_cast<const Bytef*>(bytes.data()), bytes.size());
  }

  void check_crc() const {
    if (crc_ == member_.crc) return;
    damaged(name_, fmt::format("its checksum is {:08x} instead of {:08x}", crc_, member_.crc));
  }

  std::size_t inflate_some(std::span<std::byte> out) {
    out = out.first(std::min<std::size_t>(out.size(), 1u << 30));
    stream_.next_out = reinterpret_cast<Bytef*>(out.data());
    stream_.avail_out = static_cast<uInt>(out.size());
    while (stream_.avail_out == out.size() && !inflated_) {
      if (stream_.avail_in == 0) {
        stream_.avail_in = static_cast<uInt>(packed_.read(input_));
        stream_.next_in = reinterpret_cast<Bytef*>(input_.data());
      }
      // Without input zlib may still hold output; it reports the lack when it cannot go on.
      const int status = ::inflate(&stream_, Z_NO_FLUSH);
      if (status == Z_BUF_ERROR) damaged(name_, "its deflated data is cut short");
      if (status != Z_OK && status != Z_STREAM_END) damaged(name_, "its deflated data is corrupt");
      inflated_ = status == Z_STREAM_END;
    }
    return out.size() - stream_.avail_out;
  }

  void verify() {
    ended_ = true;
    if (produced_ != member_.size) {
      damaged(name_, fmt::format("it holds {} of {} declared bytes", produced_, member_.size));
    }
    if (stream_.avail_in != 0 || packed_.left() != 0) {
      damaged(name_, "bytes follow its deflated data");
    }
    check_crc();
  }

  std::string name_;
  zip_member member_;
  slice_source packed_;
  std::uint64_t produced_ = 0;
  uLong crc_ = ::crc32(0, nullptr, 0);
  z_stream stream_{};
  bool inflated_ = false;
  bool ended_ = false;
  bool checked_ = false;
  std::array<std::byte, 1u << 16> input_;
};

std::unique_ptr<byte_source> open_member(std::shared_ptr<const input_file> file,
                                         const zip_directory& directory, const zip_member& m,
                                         const std::string& name) {
  if (m.flags & 1u) bad_input(name, "is encrypted; write the archive again without a password");
  if (m.method != 0 && m.method != Z_DEFLATED) {
    bad_input(name, "uses compression method {}; write it with numpy.savez or savez_compressed",
              m.method);
  }
  // Deflate repeats at most 258 bytes for 2 bits: larger claims are lies.
  constexpr std::uint64_t best_ratio = 1032;
  if (m.method == 0 ? m.size != m.compressed : m.size / best_ratio > m.compressed) {
    damaged(name, fmt::format("{} bytes cannot come from {}", m.size, m.compressed));
  }
  const auto outside = [&]() { damaged(name, "it lies outside the file"); };
  if (m.local_offset > directory.offset) outside();
  if (directory.offset - m.local_offset < local_size) outside();
  const auto local_bytes = read_record<local_size>(*file, m.local_offset);
  field_reader local(local_bytes, name);
  if (local.u32() != local_signature) damaged(name, "its local header is missing");
  local.take(22);
  const std::uint64_t data = m.local_offset + local_size + local.u16() + std::uint64_t{local.u16()};
  if (data > directory.offset || directory.offset - data < m.compressed) outside();
  slice_source packed(std::move(file), data, m.compressed);
  return std::make_unique<member_source>(name, m, std::move(packed));
}

std::vector<std::string> names_of(const zip_directory& directory) {
  std::vector<std::string> names;
  for (const zip_member& m : directory.members) {
    names.push_back(m.name.ends_with(".npy") ? m.name.substr(0, m.name.size() - 4) : m.name);
  }
  return names;
}

}  // namespace

std::vector<std::string> npz_members(const input_file& file) {
  return names_of(read_directory(file));
}

array_stream open_npz(std::shared_ptr<const input_file> file,
                      const std::optional<std::string>& member) {
  const zip_directory directory = read_directory(*file);
  const auto names = names_of(directory);
  const std::size_t chosen = choose_member(file->name(), names, member);
  const std::string name = file->name() + ":" + names[chosen];
  auto source = open_member(std::move(file), directory, directory.members[chosen], name);
  return open_npy(name, std::move(source));
}

}  // namespace mxtool::detail
