// SPDX-License-Identifier: Apache-2.0
// Reading .npz and .safetensors: what their own libraries write is understood, every damage is
// refused.
#include <fmt/format.h>

#include <cstring>

#include "array_io.hpp"
#include "array_io_samples.hpp"

namespace mxtool {
namespace {

using namespace samples;
using namespace std::string_literals;

std::string safetensors(const std::string& header, const std::string& data) {
  const std::uint64_t length = header.size();
  std::string bytes(sizeof length, '\0');
  std::memcpy(bytes.data(), &length, sizeof length);
  return bytes + header + data;
}

std::string one_tensor(std::string_view type, std::string_view shape, std::size_t size) {
  const std::string header = fmt::format(
      R"({{"t":{{"dtype":"{}","shape":{},"data_offsets":[0,{}]}}}})", type, shape, size);
  return safetensors(header, std::string(size, '\x11'));
}

using NpzInput = scratch_test;
using SafetensorsInput = scratch_test;

TEST_F(NpzInput, StoredDeflatedAndDataDescriptor) {
  const array a = bytes_array(dtype::u8, {3}, "\1\2\3");
  const array s = bytes_array(dtype::f32, {}, "\0\0\xc0\x3f"s);
  for (const auto& bytes : {stored_npz, deflated_npz}) {
    put("x.npz", bytes);
    EXPECT_EQ(list_members("x.npz"), (std::vector<std::string>{"a", "s"}));
    EXPECT_EQ(load_array("x.npz:a"), a);
    EXPECT_EQ(load_array("x.npz:a.npy"), a);
    EXPECT_EQ(load_array("x.npz:s"), s);
    EXPECT_EQ(load_array("x.npz:s").as<float>()[0], 1.5f);
  }
  put("one.npz", descriptor_npz);
  EXPECT_EQ(load_array("one.npz"), a);
  put("commented.npz", descriptor_npz.substr(0, descriptor_npz.size() - 2) + "\5\0hello"s);
  EXPECT_EQ(load_array("commented.npz"), a);
}

TEST_F(NpzInput, MemberNames) {
  put("x.npz", stored_npz);
  EXPECT_EQ(input_message("x.npz"),
            "x.npz: holds 2 arrays; name one as x.npz:NAME, NAME being one of a, s");
  EXPECT_EQ(input_message("x.npz:"), "x.npz: the name after ':' is empty; it is one of a, s");
  EXPECT_EQ(input_message("x.npz:aa"), "x.npz: has no array 'aa'; nearest is 'a'; it has a, s");
  EXPECT_EQ(input_message("x.npz:weights\n"), "x.npz: has no array 'weights\\x0a'; it has a, s");
  put("x.npz", "PK\5\6"s + std::string(18, '\0'));
  expect_refused("x.npz", "holds no arrays");
  EXPECT_TRUE(list_members("x.npz").empty());
  std::string twice = stored_npz;
  twice[twice.rfind("s.npy")] = 'a';
  put("x.npz", twice);
  expect_refused("x.npz:a", "several arrays 'a'");
}

TEST_F(NpzInput, EveryTruncationIsRefused) {
  for (const auto& whole : {stored_npz, deflated_npz, descriptor_npz}) {
    for (std::size_t size = 0; size != whole.size(); ++size) {
      put("x.npz", whole.substr(0, size));
      EXPECT_THROW(load_array("x.npz:a"), input_error) << size;
    }
  }
}

TEST_F(NpzInput, EveryBitFlipIsFoundOrHarmless) {
  const array want = bytes_array(dtype::u8, {3}, "\1\2\3");
  for (const auto& whole : {stored_npz, deflated_npz, descriptor_npz}) {
    int refused = 0;
    for (std::size_t bit = 0; bit != whole.size() * 8; ++bit) {
      std::string flipped = whole;
      flipped[bit / 8] = static_cast<char>(flipped[bit / 8] ^ 1 << bit % 8);
      put("x.npz", flipped);
      try {
        EXPECT_EQ(load_array("x.npz:a"), want) << bit;
      } catch (const input_error&) {
        ++refused;
      }
    }
    EXPECT_GT(refused, 600);  // the rest: time stamps, attributes, unread fields, the other member
  }
}

TEST_F(NpzInput, DamageIsNamed) {
  const auto expect = [](std::string bytes, std::size_t at, std::string_view with,
                         const std::string& part) {
    bytes.replace(at, with.size(), with);
    put("x.npz", bytes);
    expect_refused("x.npz:a", part);
  };
  const std::size_t entry = deflated_npz.find("PK\1\2");
  const std::size_t end = deflated_npz.find("PK\5\6");
  expect(stored_npz, stored_npz.find("\n\1\2\3") + 1, "\7", "checksum");
  expect(deflated_npz, entry + 8, "\1", "encrypted");
  expect(deflated_npz, entry + 10, "\14", "compression method 12");
  expect(deflated_npz, entry + 24, "\x84"s, "takes 3 bytes of data, found 4");
  expect(deflated_npz, entry + 24, "\x82"s, "takes 3 bytes of data, found 2");
  expect(deflated_npz, entry + 24, "\0\0\0\x40"s, "1073741824 bytes cannot come from 71");
  expect(deflated_npz, entry + 20, "\x46", "is cut short");
  expect(deflated_npz, entry + 20, "\x48", "bytes follow");
  expect(deflated_npz, entry + 42, "\1", "local header is missing");
  expect(deflated_npz, entry + 42, "\xff\xff"s, "outside the file");
  expect(deflated_npz, entry + 20, "\xff\xff\xff\xff"s, "lacks its zip64 sizes");
  expect(deflated_npz, 26, "\xff\xff", "outside the file");
  expect(deflated_npz, 45 + 10, "\xff\xff\xff", "corrupt");
  expect(deflated_npz, end + 4, "\1", "one part of several");
  expect(deflated_npz, end + 10, "\1", "bytes to spare");
  expect(deflated_npz, end + 10, "\3", "cut short");
  expect(deflated_npz, end + 16, "\xff", "directory");
  expect(deflated_npz, end + 16, "\xff\xff\xff\xff", "zip64 locator is missing");
  expect(deflated_npz, end, "X", "directory is missing");
  expect(stored_npz, stored_npz.find("\x93NUMPY"), "X", "is not a .npy file");
}

TEST_F(SafetensorsInput, TypesShapesAndNames) {
  const std::string header =
      R"({"__metadata__":{"k":"v"},"b":{"dtype":"F32","shape":[1,2],"data_offsets":[0,8]},)"
      R"("a":{"dtype":"U8","shape":[3],"data_offsets":[8,11]},"z":{"dtype":"I64","shape":[0],"data_offsets":[8,8]}}  )";
  put("m.safetensors", safetensors(header, "\0\0\x80\x3f\0\0\x80\x3f\1\2\3"s));
  EXPECT_EQ(list_members("m.safetensors"), (std::vector<std::string>{"a", "b", "z"}));
  EXPECT_EQ(load_array("m.safetensors:a"), bytes_array(dtype::u8, {3}, "\1\2\3"));
  EXPECT_EQ(load_array("m.safetensors:b").as<float>()[1], 1.0f);
  EXPECT_EQ(load_array("m.safetensors:z"), make_array(dtype::i64, {0}));
  EXPECT_EQ(input_message("m.safetensors:c"),
            "m.safetensors: has no array 'c'; nearest is 'a'; it has a, b, z");
  const std::array<std::pair<const char*, dtype>, 17> types{{{"BOOL", dtype::b1},
                                                             {"U8", dtype::u8},
                                                             {"I8", dtype::i8},
                                                             {"U16", dtype::u16},
                                                             {"I16", dtype::i16},
                                                             {"U32", dtype::u32},
                                                             {"I32", dtype::i32},
                                                             {"U64", dtype::u64},
                                                             {"I64", dtype::i64},
                                                             {"F16", dtype::f16},
                                                             {"BF16", dtype::u16},
                                                             {"F32", dtype::f32},
                                                             {"F64", dtype::f64},
                                                             {"F8_E4M3", dtype::u8},
                                                             {"F8_E5M2", dtype::u8},
                                                             {"F8_E8M0", dtype::u8},
                                                             {"F8_E4M3FNUZ", dtype::u8}}};
  for (const auto& [spelling, type] : types) {
    put("t.safetensors", one_tensor(spelling, "[2]", 2 * size_of(type)));
    EXPECT_EQ(load_array("t.safetensors").type, type) << spelling;
    EXPECT_EQ(npy_reader("t.safetensors").source_type(), spelling);
  }
  put("t.safetensors", one_tensor("C64", "[1]", 8));
  expect_refused("t.safetensors", "C64 is not supported");
}

TEST_F(SafetensorsInput, NarrowTypesAreBytesHoweverTheHeaderCounts) {
  const auto shape_of = [](std::string_view type, std::string_view shape, std::size_t size) {
    put("t.safetensors", one_tensor(type, shape, size));
    return load_array("t.safetensors").shape;
  };
  EXPECT_EQ(shape_of("F4", "[3,8]", 12), (shape_type{3, 4}));
  EXPECT_EQ(shape_of("F4", "[3,4]", 12), (shape_type{3, 4}));
  EXPECT_EQ(shape_of("F6_E2M3", "[2,8]", 12), (shape_type{2, 6}));
  EXPECT_EQ(shape_of("F6_E3M2", "[2,4]", 6), (shape_type{2, 3}));
  EXPECT_EQ(shape_of("F6_E3M2", "[2,3]", 6), (shape_type{2, 3}));
  put("t.safetensors", one_tensor("F4", "[2,3]", 3));
  expect_refused("t.safetensors", "rows of 3 elements do not fill whole bytes");
  put("t.safetensors", one_tensor("F4", "[2,4]", 5));
  expect_refused("t.safetensors", "F4 (2, 4) takes (2, 2) bytes packed, found 5");
  put("t.safetensors", one_tensor("F4", "[]", 0));
  expect_refused("t.safetensors", "do not fill whole bytes");
}

TEST_F(SafetensorsInput, DamagedHeaders) {
  const auto expect = [](const std::string& bytes, const std::string& part) {
    put("t.safetensors", bytes);
    expect_refused("t.safetensors", part);
    EXPECT_THROW(list_members("t.safetensors"), input_error);
  };
  expect("", "shorter than 8 bytes");
  expect(safetensors("{}", "").substr(0, 9), "does not fit");
  expect("\xff\xff\xff\xff\xff\xff\xff\xff{}"s, "does not fit");
  expect(safetensors("[]", ""), "not a JSON object");
  expect(safetensors("{\"a\"", ""), "not a JSON object");
  expect(safetensors(R"({"a":1})", ""), "'a' has no description");
  expect(safetensors(R"({"a":{"shape":[],"data_offsets":[0,0]}})", ""), "'a' has no dtype");
  expect(safetensors(R"({"a":{"dtype":"U8","shape":[-1],"data_offsets":[0,0]}})", ""), "no shape");
  expect(safetensors(R"({"a":{"dtype":"U8","shape":[1.5],"data_offsets":[0,0]}})", ""), "no shape");
  expect(safetensors(R"({"a":{"dtype":"U8","shape":[1],"data_offsets":[1]}})", "0"),
         "data_offsets");
  expect(safetensors(R"({"a":{"dtype":"U8","shape":[1],"data_offsets":[1,0]}})", "0"),
         "data_offsets");
  expect(safetensors(R"({"a":{"dtype":"U8","shape":[1],"data_offsets":[1,2]}})", "01"),
         "gap or overlap");
  expect(safetensors(R"({"a":1,"a":1})", ""), "'a' occurs twice");
  expect(safetensors(R"({"a":[[[[[1]]]]]})", ""), "nested too deeply");
  expect(one_tensor("U8", "[4]", 4) + "x", "describes 4 bytes of data, found 5");
  put("t.safetensors", one_tensor("F32", "[2]", 4));
  expect_refused("t.safetensors", "float32 (2,) takes 8 bytes of data, found 4");
  put("t.safetensors", one_tensor("F32", "[4294967296,4294967296]", 4));
  expect_refused("t.safetensors", "too large for any file");
  const std::string whole = one_tensor("U8", "[4]", 4);
  for (std::size_t size = 0; size != whole.size(); ++size) {
    put("t.safetensors", whole.substr(0, size));
    EXPECT_THROW(load_array("t.safetensors"), input_error) << size;
  }
}

}  // namespace
}  // namespace mxtool
