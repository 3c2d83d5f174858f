// SPDX-License-Identifier: Apache-2.0
// Writing: the bytes that numpy would write, and all outputs of a command or none.
#include <fcntl.h>
#include <sys/stat.h>

#include <thread>

#include "array_io.hpp"
#include "array_io_detail.hpp"
#include "array_io_samples.hpp"

namespace mxtool {
namespace {

using namespace samples;
using namespace std::string_literals;
using listing_type = std::vector<std::string>;

using NpyOutput = scratch_test;
using NpzOutput = scratch_test;
using OutputSet = scratch_test;
using OutputCheck = scratch_test;

void save(const std::string& spec, const array& value) {
  output_set out;
  out.add(spec, value);
  out.commit();
}

std::string output_message(const std::string& spec) {
  return message_of<output_error>([&] { check_writable(spec); });
}

std::string text_of(const array& a) {
  return {reinterpret_cast<const char*>(a.bytes.data()), a.bytes.size()};
}

TEST_F(NpyOutput, HeadersAreThoseOfNumpy) {
  // numpy 2.4: save(zeros(shape, type)): the header without padding, and its padded size
  struct golden {
    dtype type;
    shape_type shape;
    std::string_view dict;
    std::size_t size;
  };
  std::string ones = "{'descr': '<f4', 'fortran_order': False, 'shape': (1";
  for (int i = 1; i != 36; ++i) ones += ", 1";
  ones += "), }";
  const std::vector<golden> goldens{
      {dtype::b1, {2, 3}, "{'descr': '|b1', 'fortran_order': False, 'shape': (2, 3), }", 128},
      {dtype::u8, {2, 3}, "{'descr': '|u1', 'fortran_order': False, 'shape': (2, 3), }", 128},
      {dtype::i8, {2, 3}, "{'descr': '|i1', 'fortran_order': False, 'shape': (2, 3), }", 128},
      {dtype::u16, {2, 3}, "{'descr': '<u2', 'fortran_order': False, 'shape': (2, 3), }", 128},
      {dtype::i16, {2, 3}, "{'descr': '<i2', 'fortran_order': False, 'shape': (2, 3), }", 128},
      {dtype::u32, {2, 3}, "{'descr': '<u4', 'fortran_order': False, 'shape': (2, 3), }", 128},
      {dtype::i32, {2, 3}, "{'descr': '<i4', 'fortran_order': False, 'shape': (2, 3), }", 128},
      {dtype::u64, {2, 3}, "{'descr': '<u8', 'fortran_order': False, 'shape': (2, 3), }", 128},
      {dtype::i64, {2, 3}, "{'descr': '<i8', 'fortran_order': False, 'shape': (2, 3), }", 128},
      {dtype::f16, {2, 3}, "{'descr': '<f2', 'fortran_order': False, 'shape': (2, 3), }", 128},
      {dtype::f32, {2, 3}, "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }", 128},
      {dtype::f64, {2, 3}, "{'descr': '<f8', 'fortran_order': False, 'shape': (2, 3), }", 128},
      {dtype::f32, {}, "{'descr': '<f4', 'fortran_order': False, 'shape': (), }", 128},
      {dtype::f32, {0}, "{'descr': '<f4', 'fortran_order': False, 'shape': (0,), }", 128},
      {dtype::f32,
       {1000000},
       "{'descr': '<f4', 'fortran_order': False, 'shape': (1000000,), }",
       128},
      {dtype::f32,
       {4, 0, 7},
       "{'descr': '<f4', 'fortran_order': False, 'shape': (4, 0, 7), }",
       128},
      // The room for growth ends on a multiple of 64 here: numpy then pads by 64, not by 0.
      {dtype::f32, shape_type(36, 1), ones, 256},
  };
  for (const golden& g : goldens) {
    const array value = counting_array(g.type, g.shape);
    save("a.npy", value);
    EXPECT_EQ(get("a.npy"), npy(g.dict, text_of(value), 1, g.size)) << g.dict;
  }
}

TEST_F(NpyOutput, RoundTrips) {
  for (const dtype type : all_dtypes) {
    for (const shape_type& shape : {shape_type{}, {5}, {0}, {2, 3, 4}, {3, 0, 2}}) {
      const array value = counting_array(type, shape);
      for (const char* spec : {"a.npy", "a.npz:x", "a.npz", "a.bin"}) {
        save(spec, value);
        EXPECT_EQ(load_array(spec, {shape, type}), value) << spec;
      }
    }
  }
  EXPECT_EQ(listing(), (listing_type{"a.bin", "a.npy", "a.npz"}));
}

TEST_F(NpzOutput, MembersShareOneArchive) {
  const array a = counting_array(dtype::f32, {100, 7});
  const array b = counting_array(dtype::u8, {});
  for (const npz_method method : {npz_method::stored, npz_method::deflated}) {
    std::string first;
    for (int i = 0; i != 2; ++i) {
      output_set out(method);
      out.add("x.npz:a", a);
      out.add("y.npy", b);
      out.add("./x.npz:dir/b.npy", b);
      out.add("x.npz", b);
      out.add("x.npz:\xc3\xa9", b);
      out.commit();
      EXPECT_EQ(list_members("x.npz"), (listing_type{"a", "dir/b", "arr_0", "\xc3\xa9"}));
      EXPECT_EQ(load_array("x.npz:a"), a);
      EXPECT_EQ(load_array("x.npz:dir/b"), b);
      EXPECT_EQ(load_array("x.npz:\xc3\xa9"), b);
      if (i == 0) first = get("x.npz");
    }
    EXPECT_EQ(get("x.npz"), first);
    EXPECT_EQ(first.size() > a.bytes.size(), method == npz_method::stored);
  }
  EXPECT_EQ(listing(), (listing_type{"x.npz", "y.npy"}));
}

TEST_F(NpzOutput, DeflatedDataMayOutlastItsInput) {
  // In some of these lengths the last input byte holds more than one piece of output.
  for (std::size_t count = 5000; count != 5100; ++count) {
    const array zeros = make_array(dtype::u8, {count});
    output_set out(npz_method::deflated);
    out.add("x.npz", zeros);
    out.commit();
    npy_reader in("x.npz");
    std::array<std::byte, 7> piece{};
    while (in.read(piece) != 0) continue;
    EXPECT_EQ(in.remaining(), 0u) << count;
  }
}

TEST_F(NpzOutput, StoredArchiveByteForByte) {
  save("x.npz:a", bytes_array(dtype::u8, {3}, "\1\2\3"));
  const std::string member =
      npy("{'descr': '|u1', 'fortran_order': False, 'shape': (3,), }", "\1\2\3");
  EXPECT_EQ(get("x.npz"), from_hex("504b03041400000000000000210"
                                   "02ae38eb1"
                                   "8300000083000000"
                                   "0500"
                                   "0000") +
                              "a.npy" + member +
                              from_hex("504b0102"
                                       "1403"
                                       "1400"
                                       "0000"
                                       "0000"
                                       "0000"
                                       "2100"
                                       "2ae38eb1"
                                       "83000000"
                                       "83000000"
                                       "0500"
                                       "0000"
                                       "0000"
                                       "0000"
                                       "0000"
                                       "0000a481"
                                       "00000000") +
                              "a.npy" +
                              from_hex("504b0506"
                                       "0000"
                                       "0000"
                                       "0100"
                                       "0100"
                                       "33000000"
                                       "a6000000"
                                       "0000"));
}

TEST_F(NpzOutput, Zip64) {
  const array a = counting_array(dtype::u8, {300});
  const array b = counting_array(dtype::u16, {2});
  const std::array<detail::npz_entry, 2> entries{{{"a", &a}, {"b", &b}}};
  for (const npz_method method : {npz_method::stored, npz_method::deflated}) {
    for (const std::uint64_t zip64_from : {0u, 200u, 400u}) {
      std::array<std::unique_ptr<detail::staged_file>, 1> file{
          std::make_unique<detail::staged_file>(detail::resolve_output("x.npz"))};
      write_npz(*file[0], entries, method, zip64_from);
      file[0]->finish();
      detail::staged_file::publish(file);
      EXPECT_EQ(load_array("x.npz:a"), a) << zip64_from;
      EXPECT_EQ(load_array("x.npz:b"), b) << zip64_from;
      const std::string whole = get("x.npz");
      for (std::size_t size = 0; size != whole.size(); ++size) {
        put("t.npz", whole.substr(0, size));
        EXPECT_THROW(load_array("t.npz:b"), input_error) << size;
      }
    }
  }
}

TEST_F(NpzOutput, ManyMembers) {
  const array a = counting_array(dtype::u8, {1});
  std::vector<detail::npz_entry> entries;
  for (int i = 0; i != 70000; ++i) entries.push_back({std::to_string(i), &a});
  std::array<std::unique_ptr<detail::staged_file>, 1> files{
      std::make_unique<detail::staged_file>(detail::resolve_output("x.npz"))};
  write_npz(*files[0], entries, npz_method::stored);
  files[0]->finish();
  detail::staged_file::publish(files);
  EXPECT_EQ(list_members("x.npz").size(), 70000u);
  EXPECT_EQ(load_array("x.npz:69999"), a);
}

TEST_F(OutputSet, AllOrNothing) {
  put("a.npy", "old");
  const array value = counting_array(dtype::u8, {3});
  std::filesystem::create_directory("d");
  output_set out;
  out.add("a.npy", value);
  out.add("d/b.npy", value);
  std::filesystem::remove("d");
  EXPECT_THROW(out.commit(), output_error);
  EXPECT_EQ(get("a.npy"), "old");
  EXPECT_EQ(listing(), listing_type{"a.npy"});
  std::filesystem::create_directory("d");
  out.commit();
  EXPECT_EQ(load_array("a.npy"), value);
  EXPECT_EQ(load_array("d/b.npy"), value);
  EXPECT_EQ(listing(), (listing_type{"a.npy", "d"}));
}

TEST_F(OutputSet, FailingDeviceLeavesNothing) {
  if (!std::filesystem::exists("/dev/full")) GTEST_SKIP() << "no /dev/full";
  output_set out;
  out.add("/dev/full", counting_array(dtype::u8, {3}));
  out.add("a.npy", counting_array(dtype::u8, {3}));
  EXPECT_NE(message_of<output_error>([&] {
              out.commit();
            }).find("/dev/full: cannot be written: No space"),
            std::string::npos);
  EXPECT_TRUE(listing().empty());
}

TEST_F(OutputSet, FailingRenameIsUndone) {
  put("old.npy", "old");
  std::vector<std::unique_ptr<detail::staged_file>> files;
  for (const char* name : {"old.npy", "new.npy", "taken.npy"}) {
    auto& file =
        files.emplace_back(std::make_unique<detail::staged_file>(detail::resolve_output(name)));
    file->write("new"s);
    file->finish();
  }
  std::filesystem::create_directory("taken.npy");
  EXPECT_THROW(detail::staged_file::publish(files), output_error);
  files.clear();
  EXPECT_EQ(get("old.npy"), "old");
  EXPECT_EQ(listing(), (listing_type{"old.npy", "taken.npy"}));
}

TEST_F(OutputSet, ReplacesAnInputAndKeepsItsModeAndLinks) {
  save("a.npy", counting_array(dtype::u8, {3}));
  ::chmod("a.npy", 0640);
  std::filesystem::create_symlink("a.npy", "link.npy");
  npy_reader open("a.npy");
  const array value = counting_array(dtype::u8, {5});
  save("link.npy", value);
  EXPECT_EQ(load_array("a.npy"), value);
  EXPECT_TRUE(std::filesystem::is_symlink("link.npy"));
  struct stat info {};
  ASSERT_EQ(::stat("a.npy", &info), 0);
  EXPECT_EQ(info.st_mode & 0777u, 0640u);
  std::array<std::byte, 3> before{};
  EXPECT_EQ(open.read(before), 3u);
}

TEST_F(OutputSet, OutputsMustDiffer) {
  const array value = counting_array(dtype::u8, {3});
  std::filesystem::create_directory("d");
  put("a.npy", "");
  std::filesystem::create_symlink("../a.npy", "d/link.npy");
  const std::array<std::array<std::string, 2>, 6> same{{{"a.npy", "a.npy"},
                                                        {"a.npy", "d/../a.npy"},
                                                        {"a.npy", "d/link.npy"},
                                                        {"x.npz:a", "x.npz:a.npy"},
                                                        {"x.npz", "x.npz:arr_0"},
                                                        {"-", "/dev/stdout"}}};
  for (const auto& pair : same) {
    output_set out;
    out.add(pair[0], value);
    EXPECT_NE(message_of<output_error>([&] { out.add(pair[1], value); }).find("the same place"),
              std::string::npos);
    EXPECT_THROW(check_writable(pair), output_error) << pair[0];
  }
  const std::array<std::string, 5> different{"a.npy", "a.bin", "x.npz:a", "x.npz:b", "/dev/null"};
  EXPECT_NO_THROW(check_writable(different));
  EXPECT_NO_THROW(check_writable(std::array<std::string, 2>{"/dev/null", "/dev/null"}));
  array wrong = value;
  wrong.shape = {4};
  EXPECT_THROW(output_set().add("a.npy", wrong), std::logic_error);
}

TEST_F(OutputSet, StandardOutputAndPipes) {
  const array value = counting_array(dtype::u16, {3});
  const int file = ::open("captured", O_WRONLY | O_CREAT, 0600);
  {
    redirected output(STDOUT_FILENO, file);
    save("-", value);
  }
  ::close(file);
  EXPECT_EQ(load_array("captured"), value);
  ASSERT_EQ(::mkfifo("pipe.npz", 0600), 0);
  std::string received;
  std::thread reader([&] { received = get("pipe.npz"); });
  save("pipe.npz:a", value);
  reader.join();
  put("copy.npz", received);
  EXPECT_EQ(load_array("copy.npz:a"), value);
}

TEST_F(OutputCheck, EarlyRefusals) {
  put("file", "");
  std::filesystem::create_directory("d.npy");
  EXPECT_EQ(output_message("a.txt"), "a.txt: has no known extension; use .npy, .npz or .bin");
  EXPECT_EQ(output_message(""), "output: the name is empty; use FILE.npy, FILE.npz or FILE.bin");
  EXPECT_EQ(output_message("a.npy:x"), "a.npy:x: has no known extension; use .npy, .npz or .bin");
  EXPECT_EQ(output_message("a.safetensors:x"),
            "a.safetensors:x: .safetensors files are read, not written; use .npz:NAME");
  EXPECT_EQ(output_message("x.npz:"), "x.npz:: the name after ':' is empty; write FILE.npz:NAME");
  EXPECT_EQ(output_message("d.npy"), "d.npy: is a directory; name a file in it");
  EXPECT_NE(output_message("none/a.npy").find("none: No such file or directory; create it first"),
            std::string::npos);
  EXPECT_NE(output_message("file/a.npy").find("file is not a directory"), std::string::npos);
  for (const char* good : {"a.npy", "a.npz", "a.npz:x", "a.bin", "-", "/dev/null", "../a.npy"}) {
    EXPECT_NO_THROW(check_writable(good)) << good;
  }
  EXPECT_EQ(listing(), (listing_type{"d.npy", "file"}));
  if (::geteuid() != 0) {
    put("locked.npy", "");
    ::chmod("locked.npy", 0444);
    EXPECT_NE(output_message("locked.npy").find("Permission denied"), std::string::npos);
  }
}

}  // namespace
}  // namespace mxtool
