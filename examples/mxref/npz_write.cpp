// SPDX-License-Identifier: Apache-2.0
// Writing .npz: equal arrays give equal bytes, so there is no time in it.
#include <zlib.h>

#include <algorithm>
#include <new>

#include "array_io_detail.hpp"

namespace mxtool::detail {
namespace {

class record {
 public:
  record& u16(std::uint64_t v) { return number(v, 2); }
  record& u32(std::uint64_t v) { return number(v, 4); }
  record& u64(std::uint64_t v) { return number(v, 8); }
  record& text(std::string_view t) {
    bytes_ += t;
    return *this;
  }
  const std::string& bytes() const { return bytes_; }
  std::size_t size() const { return bytes_.size(); }

 private:
  record& number(std::uint64_t v, int width) {
    for (int i = 0; i != width; ++i) bytes_ += static_cast<char>(v >> (8 * i) & 0xFF);
    return *this;
  }

  std::string bytes_;
};

const Bytef* zlib_bytes(std::span<const std::byte> bytes) {
  return reinterpret_cast<const Bytef*>(bytes.data());
}

class deflater {
 public:
  deflater() {
    if (::deflateInit2(&stream_, Z_DEFAULT_COMPRESSION, Z_DEFLATED, -MAX_WBITS, 8,
                       Z_DEFAULT_STRATEGY) != Z_OK) {
      throw std::bad_alloc();
    }
  }
  deflater(const deflater&) = delete;
  deflater& operator=(const deflater&) = delete;
  ~deflater() { ::deflateEnd(&stream_); }

  void add(std::span<const std::byte> bytes) {
    constexpr std::size_t most = 1u << 30;  // zlib counts in 32 bits
    for (; !bytes.empty(); bytes = bytes.subspan(std::min(most, bytes.size()))) {
      run(bytes.first(std::min(most, bytes.size())), Z_NO_FLUSH);
    }
  }

  std::vector<std::byte> finish() {
    run({}, Z_FINISH);
    return std::move(out_);
  }

 private:
  void run(std::span<const std::byte> in, int flush) {
    stream_.next_in = const_cast<Bytef*>(zlib_bytes(in));
    stream_.avail_in = static_cast<uInt>(in.size());
    do {
      const std::size_t have = out_.size();
      constexpr std::size_t piece = 1u << 16;
      out_.resize(have + piece);
      stream_.next_out = reinterpret_cast<Bytef*>(out_.data() + have);
      stream_.avail_out = piece;
      ::deflate(&stream_, flush);
      out_.resize(have + piece - stream_.avail_out);
    } while (stream_.avail_out == 0);
  }

  z_stream stream_{};
  std::vector<std::byte> out_;
};

struct written_member {
  std::string name;
  std::uint32_t crc;
  std::uint64_t compressed;
  std::uint64_t size;
  std::uint64_t offset;
};

constexpr std::uint16_t version_plain = 20;
constexpr std::uint16_t version_zip64 = 45;
constexpr std::uint32_t saturated32 = 0xFFFFFFFF;

/// The fields that the local header and the directory entry share, from flags to checksum.
void common_fields(record& r, const written_member& m, npz_method method) {
  const bool ascii =
      std::ranges::all_of(m.name, [](char c) { return static_cast<signed char>(c) >= 0; });
  r.u16(ascii ? 0 : 1u << 11);  // names are UTF-8
  r.u16(method == npz_method::deflated ? Z_DEFLATED : 0);
  r.u16(0).u16(0x0021);  // 1980-01-01 00:00
  r.u32(m.crc);
}

record local_header(const written_member& m, npz_method method, std::uint64_t zip64_from) {
  const bool wide = m.size >= zip64_from || m.compressed >= zip64_from;
  record r;
  r.u32(0x04034b50).u16(wide ? version_zip64 : version_plain);
  common_fields(r, m, method);
  r.u32(wide ? saturated32 : m.compressed).u32(wide ? saturated32 : m.size);
  r.u16(m.name.size()).u16(wide ? 20 : 0).text(m.name);
  if (wide) r.u16(1).u16(16).u64(m.size).u64(m.compressed);
  return r;
}

record directory_entry(const written_member& m, npz_method method, std::uint64_t zip64_from) {
  record wide;
  const auto narrow = [&](std::uint64_t value) -> std::uint64_t {
    if (value < zip64_from) return value;
    wide.u64(value);
    return saturated32;
  };
  const std::uint64_t size = narrow(m.size);
  const std::uint64_t compressed = narrow(m.compressed);
  const std::uint64_t offset = narrow(m.offset);
  constexpr std::uint16_t made_by_unix = 3u << 8;
  constexpr std::uint32_t regular_file = 0100644u;
  const std::uint16_t version = wide.size() == 0 ? version_plain : version_zip64;
  record r;
  r.u32(0x02014b50).u16(made_by_unix | version).u16(version);
  common_fields(r, m, method);
  r.u32(compressed).u32(size).u16(m.name.size());
  r.u16(wide.size() == 0 ? 0 : wide.size() + 4).u16(0);  // extra, comment
  r.u16(0).u16(0).u32(regular_file << 16).u32(offset).text(m.name);
  if (wide.size() != 0) r.u16(1).u16(wide.size()).text(wide.bytes());
  return r;
}

record end_records(std::uint64_t count, std::uint64_t size, std::uint64_t offset,
                   std::uint64_t zip64_from) {
  record r;
  if (count >= 0xFFFF || size >= zip64_from || offset >= zip64_from) {
    r.u32(0x06064b50).u64(44).u16(version_zip64).u16(version_zip64).u32(0).u32(0);
    r.u64(count).u64(count).u64(size).u64(offset);
    r.u32(0x07064b50).u32(0).u64(offset + size).u32(1);
  }
  const std::uint64_t count16 = std::min<std::uint64_t>(count, 0xFFFF);
  r.u32(0x06054b50).u16(0).u16(0).u16(count16).u16(count16);
  r.u32(size < zip64_from ? size : saturated32).u32(offset < zip64_from ? offset : saturated32);
  return r.u16(0);
}

std::span<const std::byte> bytes_of(const record& r) { return std::as_bytes(std::span(r.bytes())); }

std::uint32_t checksum(std::uint32_t crc, std::span<const std::byte> bytes) {
  if (bytes.empty()) return crc;  // zlib takes the null pointer for a request
  return static_cast<std::uint32_t>(::crc32_z(crc, zlib_bytes(bytes), bytes.size()));
}

}  // namespace

std::size_t npz_layout::add(const std::string& name, std::string npy_header, std::uint64_t size) {
  slot s{name + ".npy", std::move(npy_header), 0, 0, end_, 0};
  const auto header = std::as_bytes(std::span(s.npy_header));
  s.crc = checksum(0, header);
  s.size = header.size() + size;
  const written_member m{s.name, s.crc, s.size, s.size, s.offset};
  s.data = s.offset + local_header(m, npz_method::stored, zip64_from_).size() + header.size();
  end_ = s.data + size;
  slots_.push_back(std::move(s));
  return slots_.size() - 1;
}

std::uint64_t npz_layout::data_offset(std::size_t member) const { return slots_.at(member).data; }

void npz_layout::count(std::size_t member, std::span<const std::byte> piece) {
  slots_.at(member).crc = checksum(slots_.at(member).crc, piece);
}

void npz_layout::write_records(staged_file& file) const {
  record directory;
  for (const slot& s : slots_) {
    const written_member m{s.name, s.crc, s.size, s.size, s.offset};
    record head = local_header(m, npz_method::stored, zip64_from_);
    file.write_at(s.offset, bytes_of(head.text(s.npy_header)));
    directory.text(directory_entry(m, npz_method::stored, zip64_from_).bytes());
  }
  file.write_at(end_, bytes_of(directory));
  file.write_at(end_ + directory.size(),
                bytes_of(end_records(slots_.size(), directory.size(), end_, zip64_from_)));
}

void write_npz(staged_file& file, std::span<const npz_entry> entries, npz_method method,
               std::uint64_t zip64_from) {
  std::vector<written_member> members;
  std::uint64_t offset = 0;
  const auto write = [&](std::span<const std::byte> bytes) {
    file.write(bytes);
    offset += bytes.size();
  };
  const auto write_record = [&](const record& r) { write(bytes_of(r)); };
  for (const npz_entry& entry : entries) {
    const std::string npy = format_npy_header(entry.value->type, entry.value->shape);
    const auto header = std::as_bytes(std::span(npy));
    const std::span<const std::byte> data = entry.value->bytes;
    written_member m{entry.name + ".npy", 0, 0, header.size() + data.size(), offset};
    m.crc = checksum(checksum(0, header), data);
    if (method == npz_method::deflated) {
      deflater d;
      d.add(header);
      d.add(data);
      const std::vector<std::byte> packed = d.finish();
      m.compressed = packed.size();
      write_record(local_header(m, method, zip64_from));
      write(packed);
    } else {
      m.compressed = m.size;
      write_record(local_header(m, method, zip64_from));
      write(header);
      write(data);
    }
    members.push_back(std::move(m));
  }
  const std::uint64_t directory = offset;
  for (const written_member& m : members) write_record(directory_entry(m, method, zip64_from));
  write_record(end_records(members.size(), offset - directory, directory, zip64_from));
}

}  // namespace mxtool::detail
