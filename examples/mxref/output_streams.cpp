// SPDX-License-Identifier: Apache-2.0
// Outputs in pieces: every array has its own place, in a file of its own or in an archive.
#include <algorithm>

#include "array_io_detail.hpp"

namespace mxtool {

struct output_streams::stream {
  detail::staged_file* file;
  std::uint64_t remaining;
  // The archive that the array is a member of.
  std::shared_ptr<detail::npz_layout> archive;
  std::size_t member = 0;
  std::uint64_t offset = 0;
};

output_streams::output_streams(std::span<const output_plan> plans) {
  std::vector<std::string> specs;
  for (const output_plan& plan : plans) specs.push_back(plan.spec);
  check_writable(specs);
  for (const output_plan& plan : plans) {
    const auto bytes = byte_count(plan.type, plan.shape);
    if (!bytes) {
      detail::bad_output(plan.spec, "an array of shape {} is too large", shape_text(plan.shape));
    }
    const detail::output_target target = detail::resolve_output(plan.spec);
    const std::string header = detail::format_npy_header(plan.type, plan.shape);
    if (target.kind != detail::container::npz) {
      files_.push_back(std::make_unique<detail::staged_file>(target));
      if (target.kind == detail::container::npy) files_.back()->write(header);
      streams_.push_back({files_.back().get(), *bytes, nullptr});
      continue;
    }
    if (target.route != detail::output_target::regular) {
      detail::bad_output(plan.spec, "an .npz archive is not written to a pipe; give a file");
    }
    const auto sibling = std::ranges::find_if(streams_, [&](const stream& s) {
      return s.archive && s.file->target().path == target.path;
    });
    if (sibling == streams_.end()) {
      files_.push_back(std::make_unique<detail::staged_file>(target));
      streams_.push_back({files_.back().get(), *bytes, std::make_shared<detail::npz_layout>()});
    } else {
      streams_.push_back({sibling->file, *bytes, sibling->archive});
    }
    stream& s = streams_.back();
    s.member = s.archive->add(target.member, header, *bytes);
    s.offset = s.archive->data_offset(s.member);
  }
}

output_streams::~output_streams() = default;

void output_streams::write(std::size_t output, std::span<const std::byte> piece) {
  stream& s = streams_.at(output);
  if (piece.size() > s.remaining) {
    throw std::logic_error("output_streams: more data than the shape holds");
  }
  if (s.archive) {
    s.archive->count(s.member, piece);
    s.file->write_at(s.offset, piece);
    s.offset += piece.size();
  } else {
    s.file->write(piece);
  }
  s.remaining -= piece.size();
}

void output_streams::commit() {
  for (const stream& s : streams_) {
    if (s.remaining != 0) {
      throw std::logic_error("output_streams: less data than the shape holds");
    }
    if (s.archive && s.member == 0) s.archive->write_records(*s.file);
  }
  for (const auto& file : files_) file->finish();
  detail::staged_file::publish(files_);
  files_.clear();
  streams_.clear();
}

}  // namespace mxtool
