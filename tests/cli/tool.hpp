// SPDX-License-Identifier: Apache-2.0
// Runs the tool as a shell would and collects what it says; a scratch folder for each test.
#pragma once

#include <gtest/gtest.h>
#include <sys/wait.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "array_io.hpp"

/// A shell command that limits the address space to 96 MiB; empty where a sanitizer needs more.
#if defined(__SANITIZE_ADDRESS__)
#define MXREF_LIMIT ""
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define MXREF_LIMIT ""
#endif
#endif
#ifndef MXREF_LIMIT
// One heap: whether glibc finds room for a thread's own, 64 MiB of addresses, depends on timing.
#define MXREF_LIMIT "export MALLOC_ARENA_MAX=1; ulimit -v 98304; "
#endif

namespace tool_test {

struct result {
  int exit_code = -1;
  std::string out;
  std::string err;
};

class tool : public testing::Test {
 protected:
  void SetUp() override {
    char pattern[] = "/tmp/mxref_cli_XXXXXX";
    ASSERT_NE(mkdtemp(pattern), nullptr);
    folder_ = pattern;
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::string path(const std::string& name) const { return folder_ / name; }

  static std::string read_text(const std::string& file) {
    std::ifstream in(file, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }

  /// Arguments are one shell line; outputs land in files beside the scratch folder.
  result run(const std::string& arguments) const {
    const std::string out = folder_.string() + ".out";
    const std::string err = folder_.string() + ".err";
    const std::string line = "'" MXREF_TOOL "' " + arguments + " >" + out + " 2>" + err;
    const int status = std::system(line.c_str());
    result r{WIFEXITED(status) ? WEXITSTATUS(status) : -1, read_text(out), read_text(err)};
    std::filesystem::remove(out);
    std::filesystem::remove(err);
    return r;
  }

  /// The run must end with exit code 2, print one line that names every part, and leave no file.
  void expect_refused(const std::string& arguments, const std::vector<std::string>& parts) const {
    const auto before = files();
    const result r = run(arguments);
    EXPECT_EQ(r.exit_code, 2) << arguments << "\n" << r.out << r.err;
    EXPECT_EQ(r.out, "") << arguments;
    EXPECT_TRUE(r.err.starts_with("mxref: error: ")) << r.err;
    const std::string first_line = r.err.substr(0, r.err.find('\n'));
    for (const std::string& part : parts) {
      EXPECT_NE(first_line.find(part), std::string::npos)
          << arguments << "\nshould mention '" << part << "':\n"
          << r.err;
    }
    EXPECT_EQ(files(), before) << arguments << ": a file was written or removed";
  }

  std::vector<std::string> files() const {
    std::vector<std::string> names;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(folder_)) {
      names.push_back(entry.path().string() + ":" +
                      std::to_string(entry.is_regular_file() ? entry.file_size() : 0));
    }
    std::sort(names.begin(), names.end());
    return names;
  }

  template <class T>
  void save(const std::string& name, mxtool::dtype type, mxtool::shape_type shape,
            const std::vector<T>& values) const {
    mxtool::array a = mxtool::make_array(type, std::move(shape));
    ASSERT_EQ(a.as<T>().size(), values.size());
    std::copy(values.begin(), values.end(), a.as<T>().begin());
    mxtool::output_set outputs;
    outputs.add(path(name), std::move(a));
    outputs.commit();
  }

  template <class T>
  std::vector<T> load(const std::string& name) const {
    const mxtool::array a = mxtool::load_array(path(name));
    const auto span = a.as<T>();
    return {span.begin(), span.end()};
  }

  mxtool::shape_type shape_of(const std::string& name) const {
    return mxtool::load_array(path(name)).shape;
  }

 private:
  std::filesystem::path folder_;
};

}  // namespace tool_test
