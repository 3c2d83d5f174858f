// SPDX-License-Identifier: Apache-2.0
// Shared by the tests of the array files: a scratch directory, file helpers, and files made by
// numpy.
#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "array_io.hpp"

namespace mxtool::samples {

/// A test in a directory of its own, which is also the current one.
class scratch_test : public testing::Test {
 protected:
  scratch_test() {
    std::string pattern = testing::TempDir() + "/array_io_XXXXXX";
    if (::mkdtemp(pattern.data()) == nullptr) throw std::runtime_error("mkdtemp");
    directory_ = std::filesystem::canonical(pattern);
    std::filesystem::current_path(directory_);
  }

  ~scratch_test() override {
    std::filesystem::current_path(home_);
    std::filesystem::remove_all(directory_);
  }

  /// The names in the scratch directory, hidden ones included.
  std::vector<std::string> listing() const {
    std::vector<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(directory_)) {
      names.push_back(entry.path().filename().string());
    }
    std::sort(names.begin(), names.end());
    return names;
  }

 private:
  std::filesystem::path home_ = std::filesystem::current_path();
  std::filesystem::path directory_;
};

/// Redirects a file descriptor for the lifetime of the object.
class redirected {
 public:
  redirected(int fd, int to) : fd_(fd), saved_(::dup(fd)) { ::dup2(to, fd); }
  ~redirected() {
    ::dup2(saved_, fd_);
    ::close(saved_);
  }
  redirected(const redirected&) = delete;
  redirected& operator=(const redirected&) = delete;

 private:
  int fd_;
  int saved_;
};

inline void put(const std::string& path, std::string_view bytes) {
  std::filesystem::remove(path);  // some file systems flush a file that is truncated and rewritten
  std::ofstream(path, std::ios::binary) << bytes;
}

inline std::string get(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

inline std::string from_hex(std::string_view hex) {
  std::string bytes;
  for (std::size_t i = 0; i + 1 < hex.size(); i += 2) {
    bytes += static_cast<char>(std::stoi(std::string(hex.substr(i, 2)), nullptr, 16));
  }
  return bytes;
}

/// A .npy file of `total` bytes of header, as numpy pads it, and `data`.
inline std::string npy(std::string_view dict, std::string_view data, int version = 1,
                       std::size_t total = 128) {
  const std::size_t prefix = version == 1 ? 10 : 12;
  const std::size_t length = total - prefix;
  std::string bytes = "\x93NUMPY";
  bytes += {static_cast<char>(version), '\0', static_cast<char>(length & 0xFF),
            static_cast<char>(length >> 8)};
  if (version != 1) bytes.append(2, '\0');
  bytes += dict;
  bytes.resize(total - 1, ' ');
  bytes += '\n';
  return bytes.append(data);
}

inline array bytes_array(dtype type, shape_type shape, std::string_view data) {
  array a{type, std::move(shape), {}};
  for (const char c : data) a.bytes.push_back(static_cast<std::byte>(c));
  return a;
}

/// Bytes 1, 2, 3, ... : all values differ, also after a byte swap.
inline array counting_array(dtype type, shape_type shape) {
  array a = make_array(type, std::move(shape));
  for (std::size_t i = 0; i != a.bytes.size(); ++i) a.bytes[i] = static_cast<std::byte>(i + 1);
  return a;
}

inline constexpr std::array all_dtypes{dtype::b1,  dtype::u8,  dtype::i8,  dtype::u16,
                                       dtype::i16, dtype::u32, dtype::i32, dtype::u64,
                                       dtype::i64, dtype::f16, dtype::f32, dtype::f64};

/// The message of the error that `action` must throw: one line.
template <class Error, class Action>
std::string message_of(Action action) {
  try {
    action();
  } catch (const Error& error) {
    const std::string message = error.what();
    EXPECT_EQ(message.find('\n'), std::string::npos) << message;
    return message;
  }
  ADD_FAILURE() << "no error";
  return {};
}

inline std::string input_message(const std::string& spec, const raw_options& raw = {}) {
  return message_of<input_error>([&] { load_array(spec, raw); });
}

/// Expects `spec` to be refused with a line that names it and contains `part`.
inline void expect_refused(const std::string& spec, const std::string& part,
                           const raw_options& raw = {}) {
  const std::string message = input_message(spec, raw);
  EXPECT_NE(message.find(part), std::string::npos) << message << "\nlacks: " << part;
  const std::string path = spec == "-" ? "standard input" : spec.substr(0, spec.find(':'));
  EXPECT_TRUE(message.starts_with(path)) << message;
}

inline std::string dict(std::string_view descr, std::string_view shape,
                        std::string_view order = "False") {
  return fmt::format("{{'descr': '{}', 'fortran_order': {}, 'shape': {}, }}", descr, order, shape);
}

// numpy 2.4: savez(a=uint8 [1, 2, 3], s=float32 1.5)
inline const std::string stored_npz = from_hex(
    "504b03042d0000000000000021002ae38eb1ffffffffffffffff05001400612e6e707901001000830000000000"
    "00008300000000000000934e554d5059010076007b276465736372273a20277c7531272c2027666f727472616e"
    "5f6f72646572273a2046616c73652c20277368617065273a2028332c292c207d20202020202020202020202020"
    "202020202020202020202020202020202020202020202020202020202020202020202020202020202020202020"
    "20200a010203504b03042d0000000000000021002513e65dffffffffffffffff05001400732e6e707901001000"
    "84000000000000008400000000000000934e554d5059010076007b276465736372273a20273c6634272c202766"
    "6f727472616e5f6f72646572273a2046616c73652c20277368617065273a2028292c207d202020202020202020"
    "202020202020202020202020202020202020202020202020202020202020202020202020202020202020202020"
    "20202020202020200a0000c03f504b01022d032d0000000000000021002ae38eb1830000008300000005000000"
    "0000000000000000800100000000612e6e7079504b01022d032d0000000000000021002513e65d840000008400"
    "00000500000000000000000000008001ba000000732e6e7079504b050600000000020002006600000075010000"
    "0000");

// numpy 2.4: savez_compressed of the same arrays
inline const std::string deflated_npz = from_hex(
    "504b03042d0000000800000021002ae38eb1ffffffffffffffff05001400612e6e707901001000830000000000"
    "000047000000000000009bec17ea1b10c9c850c650ad9e925a9c5ca46ea5a05e536aa8aea3a09e965f54529498"
    "179f5f94920a12774bcc294e058a17672416a402f91ac63a9a3a0ab50a14002e46266600504b03042d00000008"
    "00000021002513e65dffffffffffffffff05001400732e6e707901001000840000000000000046000000000000"
    "009bec17ea1b10c9c850c650ad9e925a9c5ca46ea5a06e9366a2aea3a09e965f54529498179f5f94920a12774b"
    "cc294e058a17672416a402f91a9a3a0ab50a14012e068603f600504b01022d032d0000000800000021002ae38e"
    "b14700000083000000050000000000000000000000800100000000612e6e7079504b01022d032d000000080000"
    "0021002513e65d460000008400000005000000000000000000000080017e000000732e6e7079504b0506000000"
    "000200020066000000fb0000000000");

// Python's zipfile to a pipe: a.npy of uint8 [1, 2, 3] alone, sizes in a data descriptor
inline const std::string descriptor_npz = from_hex(
    "504b03041400080008000000210000000000000000000000000005000000612e6e70799bec17ea1b10c9c850c6"
    "50ad9e925a9c5ca46ea5a05e536aa8aea3a09e965f54529498179f5f94920a12774bcc294e058a17672416a402"
    "f91ac63a9a3a0ab50a14002e46266600504b07082ae38eb14700000083000000504b0102140314000800080000"
    "0021002ae38eb14700000083000000050000000000000000000000800100000000612e6e7079504b0506000000"
    "0001000100330000007a0000000000");

}  // namespace mxtool::samples
