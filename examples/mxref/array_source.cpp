// SPDX-License-Identifier: Apache-2.0
// Where bytes come from: open files, whole or in part.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <system_error>
#include <utility>

#include "array_io_detail.hpp"

namespace mxtool::detail {

std::string printable(std::string_view text) {
  std::string out;
  for (const char c : text) {
    const auto code = static_cast<unsigned char>(c);
    if (code < 0x20 || code == 0x7f) {
      out += fmt::format("\\x{:02x}", code);
    } else {
      out += c;
    }
  }
  return out;
}

std::string error_text(int error) { return std::generic_category().message(error); }

unique_fd& unique_fd::operator=(unique_fd&& other) noexcept {
  reset();
  fd_ = other.release();
  return *this;
}

int unique_fd::release() { return std::exchange(fd_, -1); }

bool unique_fd::reset() {
  const int fd = release();
  // After EINTR the descriptor is closed on Linux; closing it again could hit another file.
  return fd < 0 || ::close(fd) == 0 || errno == EINTR;
}

input_file::input_file(const std::string& path) : name_(path), fd_(STDIN_FILENO) {
  if (path.empty()) bad_input("input", "the name of the file is empty; use - for standard input");
  if (path == "-") {
    name_ = "standard input";
  } else {
    owned_ = unique_fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    fd_ = owned_.get();
    if (fd_ < 0) bad_input(name_, "cannot be opened: {}; check the path", error_text(errno));
  }
  struct stat info {};
  if (::fstat(fd_, &info) != 0) bad_input(name_, "cannot be read: {}", error_text(errno));
  if (S_ISDIR(info.st_mode)) bad_input(name_, "is a directory; name an array file in it");
  if (S_ISREG(info.st_mode) && ::lseek(fd_, 0, SEEK_CUR) == 0) {
    size_ = static_cast<std::uint64_t>(info.st_size);
  }
}

std::uint64_t input_file::regular_size() const {
  if (!size_) bad_input(name_, "an archive cannot be read from a pipe; save it to a file first");
  return *size_;
}

std::size_t input_file::read_some(std::span<std::byte> out) const {
  ssize_t got = 0;
  do {
    got = ::read(fd_, out.data(), out.size());
  } while (got < 0 && errno == EINTR);
  if (got < 0) bad_input(name_, "cannot be read: {}", error_text(errno));
  return static_cast<std::size_t>(got);
}

void input_file::read_at(std::uint64_t offset, std::span<std::byte> out) const {
  while (!out.empty()) {
    const ssize_t got = ::pread(fd_, out.data(), out.size(), static_cast<off_t>(offset));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) bad_input(name_, "cannot be read: {}", error_text(errno));
    if (got == 0) bad_input(name_, "the file ends before byte {}; it is truncated", offset + 1);
    offset += static_cast<std::uint64_t>(got);
    out = out.subspan(static_cast<std::size_t>(got));
  }
}

std::size_t read_fully(byte_source& source, std::span<std::byte> out) {
  std::size_t have = 0;
  while (have != out.size()) {
    const std::size_t got = source.read(out.subspan(have));
    if (got == 0) break;
    have += got;
  }
  return have;
}

std::span<const std::byte> stream_source::peek(std::size_t count) {
  while (ahead_.size() < count) {
    std::byte next{};
    if (file_->read_some({&next, 1}) == 0) break;
    ahead_.push_back(next);
  }
  return ahead_;
}

std::size_t stream_source::read(std::span<std::byte> out) {
  std::size_t got = 0;
  if (ahead_.empty()) {
    got = file_->read_some(out);
  } else {
    got = std::min(out.size(), ahead_.size());
    const auto end = ahead_.begin() + static_cast<std::ptrdiff_t>(got);
    std::copy(ahead_.begin(), end, out.begin());
    ahead_.erase(ahead_.begin(), end);
  }
  consumed_ += got;
  return got;
}

std::optional<std::uint64_t> stream_source::left() const {
  const auto size = file_->size();
  if (!size) return std::nullopt;
  return *size - std::min(*size, consumed_);
}

void byte_source::read_at(std::uint64_t, std::span<std::byte>) {
  throw std::logic_error("byte_source: no offsets");
}

void stream_source::read_at(std::uint64_t offset, std::span<std::byte> out) {
  file_->read_at(consumed_ + offset, out);
}

void slice_source::read_at(std::uint64_t offset, std::span<std::byte> out) {
  file_->read_at(offset_ + offset, out);
}

std::size_t slice_source::read(std::span<std::byte> out) {
  out = out.first(static_cast<std::size_t>(std::min<std::uint64_t>(out.size(), length_)));
  file_->read_at(offset_, out);
  offset_ += out.size();
  length_ -= out.size();
  return out.size();
}

}  // namespace mxtool::detail
