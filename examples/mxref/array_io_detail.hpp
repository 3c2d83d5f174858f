// SPDX-License-Identifier: Apache-2.0
// The parts behind array_io.hpp: byte sources, the .npy header, the containers. Not for the tool
// itself.
#pragma once

#include <fmt/format.h>

#include "array_io.hpp"

namespace mxtool::detail {

/// `text` with control characters escaped, so that a message stays one harmless line.
std::string printable(std::string_view text);

template <class... Args>
[[noreturn]] void bad_input(std::string_view name, fmt::format_string<Args...> text,
                            Args&&... args) {
  const std::string what = fmt::format(text, std::forward<Args>(args)...);
  throw input_error(printable(fmt::format("{}: {}", name, what)));
}

template <class... Args>
[[noreturn]] void bad_output(std::string_view name, fmt::format_string<Args...> text,
                             Args&&... args) {
  const std::string what = fmt::format(text, std::forward<Args>(args)...);
  throw output_error(printable(fmt::format("{}: {}", name, what)));
}

constexpr char ascii_lower(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

std::string error_text(int error);

std::optional<dtype> find_dtype(std::string_view text);  // what parse_dtype accepts

class unique_fd {
 public:
  explicit unique_fd(int fd = -1) : fd_(fd) {}
  unique_fd(unique_fd&& other) noexcept : fd_(other.release()) {}
  unique_fd& operator=(unique_fd&& other) noexcept;
  ~unique_fd() { reset(); }

  int get() const { return fd_; }
  int release();
  bool reset();  // false where closing reports an error

 private:
  int fd_;
};

// ---- specs ----

enum class container { npy, npz, safetensors, raw, unknown };

struct spec_parts {
  std::string path;
  std::optional<std::string> member;
};

std::string extension_of(const std::string& path);  // lower case, with the dot
container container_of(const std::string& path);    // by extension

/// Splits at the first `.npz:` or `.safetensors:`; nothing else is split.
spec_parts split_spec(const std::string& spec);

array_stream open_array(const std::string& spec, const raw_options& raw);

// ---- reading ----

/// An open file. Only regular files have a size and can be read at an offset.
class input_file {
 public:
  explicit input_file(const std::string& path);  // `-` is standard input

  const std::string& name() const { return name_; }
  std::optional<std::uint64_t> size() const { return size_; }
  std::uint64_t regular_size() const;  // an error where there is no size

  std::size_t read_some(std::span<std::byte> out) const;
  void read_at(std::uint64_t offset, std::span<std::byte> out) const;

 private:
  std::string name_;
  unique_fd owned_;
  int fd_;
  std::optional<std::uint64_t> size_;
};

class byte_source {
 public:
  virtual ~byte_source() = default;
  virtual std::size_t read(std::span<std::byte> out) = 0;     // 0 only at the end
  virtual std::optional<std::uint64_t> left() const = 0;      // where the container says so
  virtual bool backed() const { return left().has_value(); }  // left() is not merely a claim

  /// Whether read_at may be called, which counts from where the first read() after it would start.
  virtual bool has_offsets() const { return false; }
  virtual void read_at(std::uint64_t offset, std::span<std::byte> out);
};

/// A whole file from its first byte on.
class stream_source : public byte_source {
 public:
  explicit stream_source(std::shared_ptr<const input_file> file) : file_(std::move(file)) {}
  std::span<const std::byte> peek(std::size_t count);
  std::size_t read(std::span<std::byte> out) override;
  std::optional<std::uint64_t> left() const override;
  bool has_offsets() const override { return file_->size().has_value(); }
  void read_at(std::uint64_t offset, std::span<std::byte> out) override;

 private:
  std::shared_ptr<const input_file> file_;
  std::vector<std::byte> ahead_;
  std::uint64_t consumed_ = 0;
};

/// The bytes [offset, offset + length) of a regular file, which must exist.
class slice_source : public byte_source {
 public:
  slice_source(std::shared_ptr<const input_file> file, std::uint64_t offset, std::uint64_t length)
      : file_(std::move(file)), offset_(offset), length_(length) {}
  std::size_t read(std::span<std::byte> out) override;
  std::optional<std::uint64_t> left() const override { return length_; }
  bool has_offsets() const override { return true; }
  void read_at(std::uint64_t offset, std::span<std::byte> out) override;

 private:
  std::shared_ptr<const input_file> file_;
  std::uint64_t offset_;
  std::uint64_t length_;
};

struct array_header {
  dtype type = dtype::u8;
  shape_type shape{};
  bool fortran_order = false;
  bool big_endian = false;
  std::string source_type{};
};

/// An array whose data has not been read: `data` stands at its first byte.
struct array_stream {
  std::string name;
  array_header header;
  std::unique_ptr<byte_source> data;
  std::string_view advice;  // what to do when the size is wrong
};

/// Reads until `out` is full or the source ends; returns the bytes read.
std::size_t read_fully(byte_source& source, std::span<std::byte> out);

inline constexpr std::string_view npy_magic = "\x93NUMPY";

array_header parse_npy_header(std::string_view text, const std::string& name);
array_stream open_npy(std::string name, std::unique_ptr<byte_source> source);

array_stream open_npz(std::shared_ptr<const input_file> file,
                      const std::optional<std::string>& member);
std::vector<std::string> npz_members(const input_file& file);

array_stream open_safetensors(std::shared_ptr<const input_file> file,
                              const std::optional<std::string>& member);
std::vector<std::string> safetensors_members(const input_file& file);

/// Picks the member that the user named, or the only one; the index into `members`.
std::size_t choose_member(const std::string& file, const std::vector<std::string>& members,
                          const std::optional<std::string>& member);

// ---- writing ----

std::string format_npy_header(dtype type, std::span<const std::size_t> shape);  // magic included

struct npz_entry {
  std::string name;  // without .npy
  const array* value;
};

/// Writes an archive to `file`. Sizes and offsets from `zip64_from` on take the zip64 fields.
void write_npz(staged_file& file, std::span<const npz_entry> entries, npz_method method,
               std::uint64_t zip64_from = 0xFFFFFFFFu);

/// An archive of stored members whose sizes are known before their contents: every member has its
/// place, and can be written in any order.
class npz_layout {
 public:
  explicit npz_layout(std::uint64_t zip64_from = 0xFFFFFFFFu) : zip64_from_(zip64_from) {}

  /// A member `name` of `size` bytes after its .npy header; returns its index.
  std::size_t add(const std::string& name, std::string npy_header, std::uint64_t size);

  std::uint64_t data_offset(std::size_t member) const;
  void count(std::size_t member, std::span<const std::byte> piece);  // into the checksum, in order
  void write_records(staged_file& file) const;  // all but the contents, which count() has seen

 private:
  struct slot {
    std::string name;  // with .npy
    std::string npy_header;
    std::uint32_t crc;
    std::uint64_t size;
    std::uint64_t offset;
    std::uint64_t data;
  };
  std::uint64_t zip64_from_;
  std::uint64_t end_ = 0;
  std::vector<slot> slots_;
};

struct output_target {
  std::string spec;
  std::string path;    // resolved, so that two spellings of one file are equal
  std::string member;  // .npz only
  container kind = container::npy;
  enum { regular, device, standard_output } route = regular;
};

output_target resolve_output(const std::string& spec);  // checked for being writable
output_target resolve_text(const std::string& spec, std::string_view extension);  // the same

/// A file that a signal removes. While `committing` lives, signals wait.
class signal_watch {
 public:
  explicit signal_watch(const std::string& path);
  signal_watch(signal_watch&&) = delete;
  ~signal_watch();

  class committing {
   public:
    committing();
    committing(committing&&) = delete;
    ~committing();
  };

 private:
  std::size_t slot_;
};

/// A file under way to its target: written beside it under a temporary name, published by renaming.
/// Devices and standard output are written at once.
class staged_file {
 public:
  explicit staged_file(output_target target);
  staged_file(staged_file&&) = delete;
  ~staged_file();

  const output_target& target() const { return target_; }
  void write(std::span<const std::byte> bytes);
  void write(std::string_view text) { write(std::as_bytes(std::span(text))); }
  void write_at(std::uint64_t offset, std::span<const std::byte> bytes);  // regular files only
  void finish();  // everything has reached the disk, and the file is closed

  /// Renames every file into place, or undoes what it did and throws.
  static void publish(std::span<const std::unique_ptr<staged_file>> files);

 private:
  output_target target_;
  std::string temporary_;  // empty when there is nothing to remove
  std::optional<signal_watch> watch_;
  unique_fd owned_;
  int fd_ = -1;
};

}  // namespace mxtool::detail
