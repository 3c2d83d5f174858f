// SPDX-License-Identifier: Apache-2.0
// Reading: what numpy and safetensors write is understood, everything else is refused with one
// clear line.
#include "array_io.hpp"

#include <fcntl.h>

#include <thread>

#include "array_io_samples.hpp"

namespace mxtool {
namespace {

using namespace samples;
using namespace std::string_literals;
using testing::Test;

using ArrayTypes = Test;
using NpyInput = scratch_test;
using RawInput = scratch_test;
using StandardInput = scratch_test;
using InputSpec = scratch_test;

TEST(ArrayTypes, NamesAndSizes) {
  for (const dtype type : all_dtypes) EXPECT_EQ(parse_dtype(name(type)), type);
  EXPECT_EQ(parse_dtype("u8"), dtype::u8);
  EXPECT_EQ(parse_dtype("F32"), dtype::f32);
  EXPECT_EQ(parse_dtype("BOOL"), dtype::b1);
  EXPECT_EQ(parse_dtype("bf16"), dtype::u16);
  EXPECT_EQ(size_of(dtype::b1), 1u);
  EXPECT_EQ(size_of(dtype::f16), 2u);
  EXPECT_EQ(size_of(dtype::i32), 4u);
  EXPECT_EQ(size_of(dtype::u64), 8u);
  EXPECT_EQ(message_of<input_error>([] { parse_dtype("float"); }),
            "dtype: 'float' is not one of bool uint8 int8 uint16 int16 uint32 int32 uint64 int64 "
            "float16 float32 float64");
}

TEST(ArrayTypes, Shapes) {
  EXPECT_EQ(parse_shape("2,3"), (shape_type{2, 3}));
  EXPECT_EQ(parse_shape("2x3x0"), (shape_type{2, 3, 0}));
  EXPECT_EQ(parse_shape("7"), (shape_type{7}));
  EXPECT_EQ(parse_shape("(7,)"), (shape_type{7}));
  EXPECT_EQ(parse_shape("(2, 3)"), (shape_type{2, 3}));
  EXPECT_EQ(parse_shape("()"), shape_type{});
  for (const char* bad :
       {"", ",", "2,", "2,,3", "-1", "a", "2;3", "(2", "(,)", "99999999999999999999"}) {
    EXPECT_THROW(parse_shape(bad), input_error) << bad;
  }
  EXPECT_EQ(shape_text(shape_type{}), "()");
  EXPECT_EQ(shape_text(shape_type{2}), "(2,)");
  EXPECT_EQ(shape_text(shape_type{2, 3}), "(2, 3)");
}

TEST(ArrayTypes, ByteCountRefusesOverflowEvenBesideZero) {
  constexpr std::size_t big = std::size_t{1} << 32;
  EXPECT_EQ(byte_count(dtype::f32, shape_type{}), 4u);
  EXPECT_EQ(byte_count(dtype::f32, shape_type{2, 0}), 0u);
  EXPECT_EQ(byte_count(dtype::f64, shape_type{big, big / 16}), std::nullopt);
  EXPECT_EQ(byte_count(dtype::u8, shape_type{0, big, big}), std::nullopt);
}

TEST(ArrayTypes, ViewsAreTypedOrBitPatterns) {
  array a = make_array(dtype::f32, {2});
  a.as<float>()[1] = 1.0f;
  EXPECT_EQ(std::as_const(a).as<std::uint32_t>()[1], 0x3F800000u);
  EXPECT_EQ(a.count(), 2u);
  EXPECT_THROW(a.as<std::int32_t>(), std::logic_error);
  EXPECT_THROW(a.as<double>(), std::logic_error);
  EXPECT_THROW(make_array(dtype::u32, {1}).as<float>(), std::logic_error);
  EXPECT_EQ(make_array(dtype::f16, {3}).as<std::uint16_t>().size(), 3u);
}

TEST_F(NpyInput, HeaderSpellings) {
  const array want = bytes_array(dtype::u16, {2, 3}, "abcdefghijkl");
  const std::array spellings{
      "{'descr': '<u2', 'fortran_order': False, 'shape': (2, 3), }"s,
      "{'descr': '<u2', 'fortran_order': False, 'shape': (2, 3)}"s,
      "{\"shape\":(2,3,),'fortran_order':False,\"descr\":\"<u2\"}"s,
      "  { 'shape' : ( 2L , 3L ) , 'descr' : '=u2' , 'fortran_order' : False , } "s,
      "{'descr': 'u2', 'fortran_order': False, 'shape': (2, 3)}"s};
  for (const std::string& text : spellings) {
    for (const int version : {1, 2, 3}) {
      put("a.npy", npy(text, "abcdefghijkl", version));
      EXPECT_EQ(load_array("a.npy"), want) << text << " version " << version;
    }
  }
}

TEST_F(NpyInput, BigEndianAndFortranOrder) {
  put("big.npy", npy(dict(">i2", "(2, 3)"), "\0\1\0\2\0\3\0\4\0\5\0\6"s));
  const array big = load_array("big.npy");
  EXPECT_EQ(big, bytes_array(dtype::i16, {2, 3}, "\1\0\2\0\3\0\4\0\5\0\6\0"s));
  put("fortran.npy", npy(dict("|u1", "(2, 3)", "True"), "\1\4\2\5\3\6"));
  EXPECT_EQ(load_array("fortran.npy"), bytes_array(dtype::u8, {2, 3}, "\1\2\3\4\5\6"));
  put("cube.npy", npy(dict(">u2", "(2, 1, 2)", "True"), "\1\2\3\4\5\6\7\10"));
  EXPECT_EQ(load_array("cube.npy"), bytes_array(dtype::u16, {2, 1, 2}, "\2\1\6\5\4\3\10\7"));
  put("line.npy", npy(dict("<u2", "(2,)", "True"), "\1\2\3\4"));
  EXPECT_EQ(load_array("line.npy"), bytes_array(dtype::u16, {2}, "\1\2\3\4"));
  put("none.npy", npy(dict("<u2", "(2, 0)", "True"), ""));
  EXPECT_EQ(load_array("none.npy"), make_array(dtype::u16, {2, 0}));
}

TEST_F(NpyInput, VoidCodesOfMlDtypes) {
  put("fp8.npy", npy(dict("|V1", "(2,)"), "ab"));
  EXPECT_EQ(load_array("fp8.npy"), bytes_array(dtype::u8, {2}, "ab"));
  put("bf16.npy", npy(dict("<V2", "(1,)"), "ab"));
  EXPECT_EQ(load_array("bf16.npy"), bytes_array(dtype::u16, {1}, "ab"));
  EXPECT_EQ(npy_reader("bf16.npy").source_type(), "<V2");
}

TEST_F(NpyInput, UnsupportedTypes) {
  const auto expect = [](std::string_view descr, const std::string& part) {
    put("a.npy", npy(dict(descr, "(1,)"), "0123456789abcdef"));
    expect_refused("a.npy", part);
  };
  expect("|O", "pickled Python objects");
  expect("<U2", "strings");
  expect("|S16", "strings");
  expect("<c8", "'<c8' is not supported");
  expect("<M8[s]", "not supported");
  expect("<f16", "not supported");
  expect("|V8", "not supported");
  expect("", "'' is not supported");
  put("a.npy", npy("{'descr': [('x', '<f4')], 'fortran_order': False, 'shape': (1,), }", "0123"));
  expect_refused("a.npy", "structured arrays");
}

TEST_F(NpyInput, DamagedHeaders) {
  const std::array headers{
      ""s,
      "{"s,
      "[]"s,
      "{}"s,
      "{'descr': '<f4'}"s,
      "{'descr': '<f4', 'fortran_order': False, 'shape': (1)}"s,
      "{'descr': '<f4', 'fortran_order': False, 'shape': (1"s,
      "{'descr': '<f4', 'fortran_order': False, 'shape': (-1,)}"s,
      "{'descr': '<f4', 'fortran_order': False, 'shape': (1.0,)}"s,
      "{'descr': '<f4', 'fortran_order': False, 'shape': [1]}"s,
      "{'descr': '<f4', 'fortran_order': False, 'shape': (,)}"s,
      "{'descr': '<f4', 'fortran_order': 0, 'shape': (1,)}"s,
      "{'descr': '<f4', 'fortran_order': False, 'shape': (1,)} x"s,
      "{'descr': '<f4', 'fortran_order': False, 'shape': (1,), 'x': 1}"s,
      "{'descr': '<f4', 'descr': '<f4', 'fortran_order': False, 'shape': (1,)}"s,
      "{'descr': '<f4' 'fortran_order': False, 'shape': (1,)}"s,
      "{'descr': '<f\\x34', 'fortran_order': False, 'shape': (1,)}"s,
      "{descr: '<f4', 'fortran_order': False, 'shape': (1,)}"s};
  for (const std::string& text : headers) {
    put("a.npy", npy(text, "0123"));
    EXPECT_NE(input_message("a.npy").find("damaged .npy header"), std::string::npos) << text;
  }
  std::string many = "(";
  for (int i = 0; i != 65; ++i) many += "1,";
  put("a.npy", npy(dict("|u1", many + ")"), "0", 1, 512));
  expect_refused("a.npy", "more than 64 dimensions");
  put("a.npy", npy(dict("|u1", "(\x1b[31m"), ""));
  expect_refused("a.npy", "an extent expected");
}

TEST_F(NpyInput, AbsurdShapesAreRefusedBeforeAllocating) {
  const auto expect = [](std::string_view shape, const std::string& part) {
    put("a.npy", npy(dict("<f8", shape), "01234567"));
    expect_refused("a.npy", part);
  };
  expect("(4294967296, 4294967296)", "too large for any file");
  expect("(0, 4294967296, 4294967296)", "too large for any file");
  expect("(18446744073709551616,)", "beyond 64 bits");
  expect("(1000000000000000,)", "takes 8000000000000000 bytes of data, found 8");
}

TEST_F(NpyInput, SizesMustMatch) {
  put("a.npy", npy(dict("<f4", "(2,)"), "01234567x"));
  EXPECT_EQ(
      input_message("a.npy"),
      "a.npy: float32 (2,) takes 8 bytes of data, found 9; the file is damaged or incomplete");
  put("a.npy", npy(dict("<f4", "(0,)"), "x"));
  expect_refused("a.npy", "takes 0 bytes of data, found 1");
}

TEST_F(NpyInput, EveryTruncationIsRefused) {
  for (const int version : {1, 2}) {
    const std::string whole = npy(dict("<u2", "(2, 3)"), "abcdefghijkl", version);
    for (std::size_t size = 0; size != whole.size(); ++size) {
      put("a.npy", whole.substr(0, size));
      EXPECT_THROW(load_array("a.npy"), input_error) << size;
    }
  }
}

TEST_F(NpyInput, UnknownVersionsAndLengths) {
  std::string bytes = npy(dict("|u1", "(1,)"), "0");
  put("a.npy", "\x93NUMPX" + bytes.substr(6));
  expect_refused("a.npy", "is not a .npy file");
  put("a.npy", stored_npz);
  expect_refused("a.npy", "is not a .npy file");
  bytes[6] = 4;
  put("a.npy", bytes);
  expect_refused("a.npy", "version 4.0 is not known");
  put("a.npy", "\x93NUMPY\2\0\xff\xff\xff\xff"s);
  expect_refused("a.npy", "header of 4294967295 bytes");
}

TEST_F(NpyInput, ReaderGivesPieces) {
  put("a.npy", npy(dict(">u2", "(5,)"), "abcdefghij"));
  npy_reader in("a.npy");
  EXPECT_EQ(in.type(), dtype::u16);
  EXPECT_EQ(in.shape(), shape_type{5});
  EXPECT_EQ(in.remaining(), 10u);
  std::array<std::byte, 7> piece{};
  EXPECT_EQ(in.read(std::span(piece).first(1)), 0u);  // whole elements only
  std::string all;
  while (const std::size_t got = in.read(piece)) {
    EXPECT_LE(got, 6u);
    all.append(reinterpret_cast<const char*>(piece.data()), got);
  }
  EXPECT_EQ(all, "badcfehgji");
  EXPECT_EQ(in.remaining(), 0u);
}

TEST_F(RawInput, NeedsShapeAndType) {
  put("a.bin", "0123456789ab");
  EXPECT_EQ(load_array("a.bin", {shape_type{3}, dtype::f32}),
            bytes_array(dtype::f32, {3}, "0123456789ab"));
  expect_refused("a.bin", "add --shape and --dtype");
  expect_refused("a.bin", "add --dtype", {shape_type{3}, {}});
  expect_refused("a.bin", "add --shape", {{}, dtype::f32});
  EXPECT_EQ(input_message("a.bin", {shape_type{2, 2}, dtype::f32}),
            "a.bin: float32 (2, 2) takes 16 bytes of data, found 12; check --shape and --dtype");
  expect_refused("a.bin", "takes 8 bytes of data, found 12", {shape_type{2}, dtype::f32});
}

TEST_F(InputSpec, ExtensionThenMagicDecides) {
  const array a = bytes_array(dtype::u8, {3}, "\1\2\3");
  put("a.data", npy(dict("|u1", "(3,)"), "\1\2\3"));
  EXPECT_EQ(load_array("a.data"), a);
  EXPECT_TRUE(list_members("a.data").empty());
  put("b.zip", stored_npz);
  EXPECT_EQ(load_array("b.zip:a"), a);
  put("C.NPZ", stored_npz);
  EXPECT_EQ(load_array("C.NPZ:a"), a);
  const std::string header = R"({"t":{"dtype":"U8","shape":[3],"data_offsets":[0,3]}})";
  const std::string length{static_cast<char>(header.size()), 0, 0, 0, 0, 0, 0, 0};
  put("d", length + header + "\1\2\3");
  EXPECT_EQ(load_array("d:t"), a);
  put("e.dat", "\1\2\3");
  EXPECT_EQ(load_array("e.dat", {shape_type{3}, dtype::u8}), a);
  expect_refused("e.dat", "if it is raw data, add --shape and --dtype");
  put("f:g.npy", npy(dict("|u1", "(3,)"), "\1\2\3"));
  EXPECT_EQ(load_array("f:g.npy"), a);
  put("h.pt", "PK");
  expect_refused("h.pt", "PyTorch files are not read");
}

TEST_F(InputSpec, WhatIsNoArrayFile) {
  expect_refused("none.npy", "cannot be opened: No such file or directory");
  expect_refused("none.npz:a", "No such file");
  put("a.npy", npy(dict("|u1", "(1,)"), "0"));
  expect_refused("a.npy:x", "only .npz and .safetensors files have members; leave out ':x'");
  std::filesystem::create_directory("d.npy");
  expect_refused("d.npy", "is a directory");
  EXPECT_EQ(input_message(""), "input: the name of the file is empty; use - for standard input");
  put("empty", "");
  expect_refused("empty", "is not .npy, .npz or .safetensors");
}

/// Runs `action` with `bytes` on standard input, through a pipe.
template <class Action>
auto piped(const std::string& bytes, Action action) {
  std::array<int, 2> ends{};
  if (::pipe(ends.data()) != 0) throw std::runtime_error("pipe");
  std::thread writer([&] {
    for (std::size_t at = 0; at != bytes.size();) {
      const ssize_t put =
          ::write(ends[1], bytes.data() + at, std::min<std::size_t>(bytes.size() - at, 60000));
      if (put < 0) break;
      at += static_cast<std::size_t>(put);
    }
    ::close(ends[1]);
  });
  redirected input(STDIN_FILENO, ends[0]);
  ::close(ends[0]);
  struct joiner {
    std::thread& thread;
    ~joiner() {
      std::array<char, 4096> rest{};
      while (::read(STDIN_FILENO, rest.data(), rest.size()) > 0) continue;
      thread.join();
    }
  } join{writer};
  return action();
}

TEST_F(StandardInput, NpyByMagicElseRaw) {
  const auto load = [](const raw_options& raw = {}) {
    return [=] { return load_array("-", raw); };
  };
  const array a = bytes_array(dtype::u16, {3}, "abcdef");
  EXPECT_EQ(piped(npy(dict("<u2", "(3,)"), "abcdef"), load()), a);
  EXPECT_EQ(piped("abcdef", load({shape_type{3}, dtype::u16})), a);
  const array large = counting_array(dtype::u32, {1000, 1001});
  const std::string data(reinterpret_cast<const char*>(large.bytes.data()), large.bytes.size());
  EXPECT_EQ(piped(data, load({large.shape, dtype::u32})), large);
  const auto refused = [](const raw_options& raw = {}) {
    return [=] { return input_message("-", raw); };
  };
  EXPECT_EQ(piped("abcdef", refused({shape_type{4}, dtype::u16})),
            "standard input: the data ends 2 bytes too early; check --shape and --dtype");
  EXPECT_EQ(piped("abcdef", refused({shape_type{2}, dtype::u16})),
            "standard input: more data follows the (2,) of uint16; check --shape and --dtype");
  EXPECT_NE(piped("abcdef", refused()).find("add --shape and --dtype"), std::string::npos);
  EXPECT_NE(piped(stored_npz, refused()).find("cannot be read from a pipe"), std::string::npos);
  EXPECT_NE(piped("", refused()).find("standard input"), std::string::npos);
  const std::string huge = npy(dict("<f8", "(1000000000000000,)"), "01234567");
  EXPECT_NE(piped(huge, refused()).find("ends 7999999999999992 bytes too early"),
            std::string::npos);
}

TEST_F(StandardInput, RedirectedFile) {
  const auto from_file = [](const char* path, auto action) {
    const int file = ::open(path, O_RDONLY);
    redirected input(STDIN_FILENO, file);
    ::close(file);
    action();
  };
  put("a.npy", npy(dict("|u1", "(3,)"), "\1\2\3"));
  put("x.npz", deflated_npz);
  from_file("a.npy", [] { EXPECT_EQ(load_array("-").count(), 3u); });
  from_file("x.npz", [] { expect_refused("-", "holds 2 arrays"); });
}

}  // namespace
}  // namespace mxtool
