// SPDX-License-Identifier: Apache-2.0
// Output files: checked early, written aside, published together.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <filesystem>

#include "array_io_detail.hpp"

namespace mxtool {
namespace detail {
namespace {

namespace fs = std::filesystem;

/// A name beside `path` that nothing uses: `create(name)` makes it and returns false, with errno,
/// where it cannot.
template <class Create>
std::string make_unused(const std::string& path, Create create) {
  static std::atomic<unsigned> counter = 0;
  const std::string directory = fs::path(path).parent_path().string();
  std::string name;
  do {
    name = fmt::format("{}/.mxref-{}-{}.tmp", directory, ::getpid(), counter++);
    if (create(name)) return name;
  } while (errno == EEXIST);
  return {};
}

/// What publish() did to one target, and how to take it back.
class published_file {
 public:
  published_file(const std::string& temporary, const output_target& target, bool keep_backup)
      : path_(target.path) {
    struct stat info {};
    existed_ = ::lstat(path_.c_str(), &info) == 0;
    if (existed_ && keep_backup) {
      backup_ = make_unused(
          path_, [&](const std::string& name) { return ::link(path_.c_str(), name.c_str()) == 0; });
    }
    if (::rename(temporary.c_str(), path_.c_str()) != 0) {
      const int error = errno;
      forget_backup();
      bad_output(target.spec, "cannot be put in place: {}", error_text(error));
    }
  }

  void undo() {
    // Without a backup (some file systems have no links) the new file is better than none.
    if (!backup_.empty()) {
      ::rename(backup_.c_str(), path_.c_str());
    } else if (!existed_) {
      ::unlink(path_.c_str());
    }
    backup_.clear();
  }

  void forget_backup() {
    if (!backup_.empty()) ::unlink(backup_.c_str());
    backup_.clear();
  }

 private:
  std::string path_;
  std::string backup_;
  bool existed_;
};

void check_directory(const output_target& target) {
  const std::string parent = fs::path(target.path).parent_path().string();
  struct stat info {};
  if (::stat(parent.c_str(), &info) != 0) {
    bad_output(target.spec, "directory {}: {}; create it first", parent, error_text(errno));
  }
  if (!S_ISDIR(info.st_mode)) bad_output(target.spec, "{} is not a directory", parent);
  if (::access(parent.c_str(), W_OK | X_OK) != 0) {
    bad_output(target.spec, "no file can be created in {}: {}", parent, error_text(errno));
  }
}

std::string member_name(const output_target& target, std::optional<std::string> given) {
  std::string name = std::move(given).value_or("arr_0");
  if (name.ends_with(".npy")) name.resize(name.size() - 4);
  if (name.empty()) bad_output(target.spec, "the name after ':' is empty; write FILE.npz:NAME");
  if (name.size() > 0xFF00) bad_output(target.spec, "the name after ':' is too long");
  return name;
}

void require_distinct(std::span<const output_target> targets) {
  for (std::size_t i = 0; i != targets.size(); ++i) {
    for (std::size_t j = 0; j != i; ++j) {
      const output_target& a = targets[j];
      const output_target& b = targets[i];
      if (a.path != b.path || a.route == output_target::device) continue;
      if (a.kind == container::npz && a.member != b.member) continue;
      bad_output(b.spec,
                 "two outputs go to the same place ({} is the other); give them different names",
                 a.spec);
    }
  }
}

/// Where a file will be, checked for being writable.
output_target place_of(const std::string& spec, const std::string& path) {
  output_target target;
  target.spec = spec;
  struct stat info {};
  const bool exists = ::stat(path.c_str(), &info) == 0;
  if (exists && S_ISDIR(info.st_mode)) bad_output(spec, "is a directory; name a file in it");
  if (exists && ::access(path.c_str(), W_OK) != 0) {
    bad_output(spec, "cannot be written: {}", error_text(errno));
  }
  // Files behind /dev/fd were opened by someone else, who expects them to be written, not replaced.
  if (exists &&
      (!S_ISREG(info.st_mode) || path.starts_with("/dev/fd/") || path.starts_with("/proc/"))) {
    target.path = path;
    target.route = output_target::device;
    return target;
  }
  std::error_code error;
  const fs::path absolute = fs::absolute(path, error);
  if (!error) target.path = fs::weakly_canonical(absolute, error).string();
  if (error) bad_output(spec, "cannot be written: {}", error.message());
  check_directory(target);
  return target;
}

bool is_standard_output(const std::string& spec) {
  return spec == "-" || spec == "/dev/stdout" || spec == "/dev/fd/1";
}

output_target standard_output() {
  output_target target;
  target.spec = "standard output";
  target.path = "-";
  target.route = output_target::standard_output;
  return target;
}

}  // namespace

output_target resolve_output(const std::string& spec) {
  if (spec.empty()) bad_output("output", "the name is empty; use FILE.npy, FILE.npz or FILE.bin");
  if (is_standard_output(spec)) return standard_output();
  spec_parts parts = split_spec(spec);
  output_target target = place_of(spec, parts.path);
  target.kind = container_of(parts.path);
  if (target.route == output_target::device && target.kind == container::unknown) {
    target.kind = container::npy;
  }
  if (target.kind == container::unknown) {
    bad_output(spec, "has no known extension; use .npy, .npz or .bin");
  }
  if (target.kind == container::safetensors) {
    bad_output(spec, ".safetensors files are read, not written; use .npz:NAME");
  }
  if (target.kind == container::npz) target.member = member_name(target, std::move(parts.member));
  return target;
}

output_target resolve_text(const std::string& spec, std::string_view extension) {
  if (is_standard_output(spec)) return standard_output();
  output_target target = place_of(spec, spec);
  if (target.route == output_target::regular && extension_of(spec) != extension) {
    bad_output(spec, "has the wrong extension; use {}", extension);
  }
  return target;
}

staged_file::staged_file(output_target target) : target_(std::move(target)), fd_(STDOUT_FILENO) {
  if (target_.route == output_target::standard_output) return;
  if (target_.route == output_target::device) {
    owned_ = unique_fd(::open(target_.path.c_str(), O_WRONLY | O_CLOEXEC));
  } else {
    temporary_ = make_unused(target_.path, [&](const std::string& name) {
      watch_.emplace(name);
      owned_ = unique_fd(::open(name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666));
      return owned_.get() >= 0;
    });
  }
  fd_ = owned_.get();
  if (fd_ < 0) bad_output(target_.spec, "cannot be written: {}", error_text(errno));
  struct stat replaced {};
  if (!temporary_.empty() && ::stat(target_.path.c_str(), &replaced) == 0) {
    ::fchmod(fd_, replaced.st_mode & 0777);  // as good as it gets: the owner may differ
  }
}

staged_file::~staged_file() {
  if (!temporary_.empty()) ::unlink(temporary_.c_str());
}

void staged_file::write(std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t put = ::write(fd_, bytes.data(), bytes.size());
    if (put < 0 && errno == EINTR) continue;
    if (put < 0) bad_output(target_.spec, "cannot be written: {}", error_text(errno));
    bytes = bytes.subspan(static_cast<std::size_t>(put));
  }
}

void staged_file::write_at(std::uint64_t offset, std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t put = ::pwrite(fd_, bytes.data(), bytes.size(), static_cast<off_t>(offset));
    if (put < 0 && errno == EINTR) continue;
    if (put < 0) bad_output(target_.spec, "cannot be written: {}", error_text(errno));
    bytes = bytes.subspan(static_cast<std::size_t>(put));
    offset += static_cast<std::uint64_t>(put);
  }
}

void staged_file::finish() {
  if (target_.route == output_target::regular && ::fsync(fd_) != 0) {
    bad_output(target_.spec, "cannot be written to the disk: {}", error_text(errno));
  }
  if (!owned_.reset()) bad_output(target_.spec, "cannot be closed: {}", error_text(errno));
}

void staged_file::publish(std::span<const std::unique_ptr<staged_file>> files) {
  const signal_watch::committing all_or_none;
  std::vector<published_file> done;
  done.reserve(files.size());
  try {
    for (const auto& file : files) {
      if (file->temporary_.empty()) continue;
      done.emplace_back(file->temporary_, file->target_, files.size() > 1);
      file->temporary_.clear();
    }
  } catch (...) {
    for (auto last = done.rbegin(); last != done.rend(); ++last) last->undo();
    throw;
  }
  for (published_file& file : done) file.forget_backup();
}

}  // namespace detail

void check_writable(const std::string& spec) { detail::resolve_output(spec); }

void check_writable(std::span<const std::string> specs) {
  std::vector<detail::output_target> targets;
  for (const std::string& spec : specs) targets.push_back(detail::resolve_output(spec));
  detail::require_distinct(targets);
}

void check_text_writable(const std::string& spec, std::string_view extension) {
  detail::resolve_text(spec, extension);
}

void write_text(const std::string& spec, std::string_view extension, std::string_view text) {
  std::vector<std::unique_ptr<detail::staged_file>> files;
  files.push_back(std::make_unique<detail::staged_file>(detail::resolve_text(spec, extension)));
  files[0]->write(text);
  files[0]->finish();
  detail::staged_file::publish(files);
}

void output_set::add(const std::string& spec, array value) {
  if (byte_count(value.type, value.shape) != value.bytes.size()) {
    throw std::logic_error(
        fmt::format("array of shape {} has {} bytes", shape_text(value.shape), value.bytes.size()));
  }
  std::vector<std::string> specs;
  for (const entry& e : entries_) specs.push_back(e.spec);
  specs.push_back(spec);
  check_writable(specs);
  entries_.push_back({spec, std::move(value)});
}

void output_set::commit() {
  using detail::container;
  using detail::output_target;
  struct file_plan {
    output_target target;
    std::vector<detail::npz_entry> members;
  };
  std::vector<file_plan> plans;
  for (const entry& e : entries_) {
    output_target target = detail::resolve_output(e.spec);
    const detail::npz_entry member{target.member, &e.value};
    const auto same = std::ranges::find_if(plans, [&](const file_plan& p) {
      return target.kind == container::npz && p.target.path == target.path;
    });
    if (same != plans.end()) {
      same->members.push_back(member);
    } else {
      plans.push_back({std::move(target), {member}});
    }
  }
  // What goes to a pipe cannot be taken back, so it waits until the files are safe.
  std::stable_partition(plans.begin(), plans.end(), [](const file_plan& p) {
    return p.target.route == output_target::regular;
  });
  std::vector<std::unique_ptr<detail::staged_file>> files;
  for (const file_plan& plan : plans) {
    detail::staged_file& file =
        *files.emplace_back(std::make_unique<detail::staged_file>(plan.target));
    const array& value = *plan.members.front().value;
    if (plan.target.kind == container::npz) {
      write_npz(file, plan.members, method_);
    } else {
      if (plan.target.kind == container::npy) {
        file.write(detail::format_npy_header(value.type, value.shape));
      }
      file.write(value.bytes);
    }
    file.finish();
  }
  detail::staged_file::publish(files);
  entries_.clear();
}

}  // namespace mxtool
