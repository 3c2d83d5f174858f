// SPDX-License-Identifier: Apache-2.0
// libFuzzer target of the array readers: any file gives an array or an input_error. What was read
// is written to .npz, and must come back equal. Needs Clang: -fsanitize=fuzzer,address,undefined.
// The first byte of an input chooses the extension and whether --shape and --dtype are given.
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "array_io.hpp"

namespace {

const std::string prefix =
    (std::filesystem::temp_directory_path() / "mxref_fuzz_").string() + std::to_string(::getpid());

void remove_files() {
  for (const char* ending : {".npy", ".npz", ".safetensors", ".bin", ".dat", "_copy.npz"}) {
    ::unlink((prefix + ending).c_str());
  }
}

void check(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "%s\n", what);
  std::abort();
}

void read_one(const std::string& spec, const mxtool::raw_options& raw) {
  mxtool::array value;
  try {
    value = mxtool::load_array(spec, raw);
  } catch (const mxtool::input_error& error) {
    check(std::string(error.what()).find('\n') == std::string::npos, "a message of several lines");
    return;
  }
  check(mxtool::byte_count(value.type, value.shape) == value.bytes.size(), "a wrong size");
  mxtool::output_set out(mxtool::npz_method::deflated);
  out.add(prefix + "_copy.npz:a", value);
  out.commit();
  check(mxtool::load_array(prefix + "_copy.npz:a") == value, "a copy that differs");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const int registered = std::atexit(remove_files);
  check(registered == 0, "atexit");
  if (size == 0) return 0;
  static const std::vector<std::string> endings{".npy", ".npz", ".safetensors", ".bin", ".dat"};
  const std::string path = prefix + endings[data[0] % 5];
  mxtool::raw_options raw;
  if ((data[0] & 0x80) != 0) raw = {mxtool::shape_type{2, 3}, mxtool::dtype::u16};
  ::unlink(path.c_str());
  std::ofstream(path, std::ios::binary)
      .write(reinterpret_cast<const char*>(data + 1), static_cast<std::streamsize>(size - 1));

  read_one(path, raw);
  std::vector<std::string> members;
  try {
    members = mxtool::list_members(path);
  } catch (const mxtool::input_error&) {
  }
  if (members.size() > 4) members.resize(4);
  for (const std::string& member : members) read_one(path + ":" + member, raw);
  return 0;
}
