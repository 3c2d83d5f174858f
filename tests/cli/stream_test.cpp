// SPDX-License-Identifier: Apache-2.0
// Arrays in pieces: cutting, reading at offsets, writing members side by side.
#include <sys/stat.h>

#include <algorithm>

#include "array_io.hpp"
#include "array_io_detail.hpp"
#include "array_io_samples.hpp"
#include "pieces.hpp"
#include "transposed_reader.hpp"

namespace mxtool {
namespace {

using namespace samples;

using listing_type = std::vector<std::string>;
using Pieces = testing::Test;
using Reader = scratch_test;
using Streams = scratch_test;

TEST_F(Pieces, FollowEachOtherAndStartOnUnits) {
  for (const matrix_shape shape : {matrix_shape{1, 100}, {7, 10}, {100, 1}, {3, 64}, {5, 33}}) {
    for (const mxref::index_t most : {1, 8, 16, 50, 1000}) {
      for (const mxref::index_t unit : {1, 8, 24}) {
        const matrix_pieces pieces(shape, most, unit);
        mxref::index_t next = 0;
        for (mxref::index_t i = 0; i < pieces.count(); ++i) {
          const rectangle p = pieces[i];
          EXPECT_EQ(p.row * shape.cols + p.col, next);
          EXPECT_TRUE(p.cols == shape.cols || (p.rows == 1 && p.col % unit == 0));
          EXPECT_LE(p.rows * p.cols, std::max(most, unit));
          next += p.rows * p.cols;
        }
        EXPECT_EQ(next, shape.rows * shape.cols);
      }
    }
  }
  EXPECT_EQ(matrix_pieces({0, 5}, 8, 1).count(), 0);
  EXPECT_EQ(matrix_pieces({5, 0}, 8, 1).count(), 0);
  EXPECT_EQ(cut_unit(12, 8), 24);
  EXPECT_EQ(cut_unit(12, 1), 12);
}

/// The same array in every kind of file that read_at treats in its own way.
std::vector<std::string> all_files(const array& value) {
  output_set plain;
  plain.add("a.npy", value);
  plain.add("stored.npz:x", value);
  plain.commit();
  output_set packed(npz_method::deflated);
  packed.add("deflated.npz:x", value);
  packed.commit();
  array turned = value;  // (3, 4) in Fortran order
  std::string swapped;
  for (std::size_t i = 0; i != value.count(); ++i) {
    const std::size_t to = i % 4 * 3 + i / 4;
    turned.as<std::uint32_t>()[to] = value.as<std::uint32_t>()[i];
    for (std::size_t b = 4; b-- > 0;) swapped += static_cast<char>(value.bytes[4 * i + b]);
  }
  const auto* text = reinterpret_cast<const char*>(turned.bytes.data());
  put("fortran.npy", npy(dict("<u4", "(3, 4)", "True"), {text, turned.bytes.size()}));
  put("big.npy", npy(dict(">u4", "(3, 4)"), swapped));
  return {"a.npy", "stored.npz", "deflated.npz", "fortran.npy", "big.npy"};
}

TEST_F(Reader, GivesCOrderFromTheFrontAndAtOffsets) {
  const array value = counting_array(dtype::u32, {3, 4});
  for (const std::string& file : all_files(value)) {
    EXPECT_EQ(load_array(file), value) << file;
    npy_reader at_offsets(file);
    for (const std::size_t offset : {40u, 0u, 20u}) {
      std::array<std::byte, 8> got{};
      at_offsets.read_at(offset, got);
      EXPECT_TRUE(std::ranges::equal(got, std::span(value.bytes).subspan(offset, 8))) << file;
    }
    npy_reader front(file);
    std::vector<std::byte> all;
    std::array<std::byte, 21> piece{};  // whole elements only
    while (const std::size_t got = front.read(piece)) {
      EXPECT_TRUE(got == 20 || got == 8) << file;
      all.insert(all.end(), piece.begin(), piece.begin() + static_cast<std::ptrdiff_t>(got));
    }
    EXPECT_EQ(all, value.bytes) << file;
    EXPECT_EQ(front.remaining(), 0u);
  }
}

TEST_F(Reader, OffsetsAreCheckedAgainstTheChecksumFirst) {
  output_set out;
  out.add("x.npz", counting_array(dtype::u32, {3, 4}));
  out.commit();
  std::string whole = get("x.npz");
  whole[whole.find("arr_0") + 5 + 4 + 128 + 40] ^= 1;
  put("x.npz", whole);
  npy_reader in("x.npz");
  std::array<std::byte, 4> first{};
  EXPECT_NE(message_of<input_error>([&] { in.read_at(0, first); }).find("checksum"),
            std::string::npos);
}

TEST_F(Reader, Transposes) {
  for (const dtype type : {dtype::f32, dtype::f64}) {
    // The last is wider than one band of columns.
    for (const shape_type& shape : {shape_type{3, 5}, {40, 1}, {1, 40}, {5000, 2500}}) {
      const array value = counting_array(type, shape);
      output_set out;
      out.add("a.npy", value);
      out.commit();
      npy_reader in("a.npy");
      transposed_reader turned(in);
      const std::size_t size = size_of(type);
      std::vector<std::byte> column(shape[0] * size);
      for (std::size_t c = 0; c != shape[1]; ++c) {
        turned.read(column);
        for (std::size_t r = 0; r != shape[0]; ++r) {
          ASSERT_TRUE(std::equal(
              column.begin() + static_cast<std::ptrdiff_t>(r * size),
              column.begin() + static_cast<std::ptrdiff_t>((r + 1) * size),
              value.bytes.begin() + static_cast<std::ptrdiff_t>((r * shape[1] + c) * size)))
              << r << ", " << c;
        }
      }
    }
  }
}

/// Writes the arrays in turns, a few bytes each.
void write_in_turns(output_streams& out, std::span<const array> arrays, std::size_t step) {
  std::vector<std::size_t> done(arrays.size());
  for (bool any = true; any;) {
    any = false;
    for (std::size_t i = 0; i != arrays.size(); ++i) {
      const auto rest = std::span(arrays[i].bytes).subspan(done[i]);
      const auto piece = rest.first(std::min(step + i, rest.size()));
      out.write(i, piece);
      done[i] += piece.size();
      any |= !piece.empty();
    }
  }
}

TEST_F(Streams, MakeTheBytesOfAnOutputSet) {
  const std::array<array, 5> arrays{
      counting_array(dtype::f32, {10, 7}), counting_array(dtype::u8, {33}),
      counting_array(dtype::u16, {0}), counting_array(dtype::f64, {3}),
      counting_array(dtype::u8, {5, 5})};
  const auto specs = [](const std::string& prefix) {
    return std::array<std::string, 5>{prefix + "x.npz:a", prefix + "x.npz:b", prefix + "x.npz:c",
                                      prefix + "y.npy", prefix + "z.bin"};
  };
  output_set at_once;
  std::vector<output_plan> plans;
  for (std::size_t i = 0; i != arrays.size(); ++i) {
    at_once.add(specs("set_")[i], arrays[i]);
    plans.push_back({specs("stream_")[i], arrays[i].type, arrays[i].shape});
  }
  at_once.commit();
  output_streams out(plans);
  write_in_turns(out, arrays, 5);
  EXPECT_FALSE(std::filesystem::exists("stream_x.npz"));
  out.commit();
  for (const char* file : {"x.npz", "y.npy", "z.bin"}) {
    EXPECT_EQ(get(std::string("stream_") + file), get(std::string("set_") + file)) << file;
  }
  EXPECT_EQ(listing().size(), 6u);
}

TEST_F(Streams, LayoutTakesZip64WhereSizesNeedIt) {
  const array a = counting_array(dtype::u8, {300});
  const array b = counting_array(dtype::u16, {2});
  const std::array<detail::npz_entry, 2> entries{{{"a", &a}, {"b", &b}}};
  for (const std::uint64_t zip64_from : {0u, 200u, 400u, 0xFFFFFFFFu}) {
    std::vector<std::unique_ptr<detail::staged_file>> files;
    for (const char* name : {"set.npz", "layout.npz"}) {
      files.push_back(std::make_unique<detail::staged_file>(detail::resolve_output(name)));
    }
    write_npz(*files[0], entries, npz_method::stored, zip64_from);
    detail::npz_layout layout(zip64_from);
    for (const auto& [name, value] : entries) {
      layout.add(name, detail::format_npy_header(value->type, value->shape), value->bytes.size());
    }
    for (const std::size_t i : {1u, 0u}) {
      layout.count(i, entries[i].value->bytes);
      files[1]->write_at(layout.data_offset(i), entries[i].value->bytes);
    }
    layout.write_records(*files[1]);
    for (const auto& file : files) file->finish();
    detail::staged_file::publish(files);
    EXPECT_EQ(get("layout.npz"), get("set.npz")) << zip64_from;
  }
}

TEST_F(Streams, NothingAppearsBeforeCommit) {
  put("a.npy", "old");
  const array value = counting_array(dtype::u16, {2, 3});
  const std::array<output_plan, 2> plans{
      {{"a.npy", value.type, value.shape}, {"b.npz:b", value.type, value.shape}}};
  {
    output_streams out(plans);
    out.write(0, value.bytes);
    EXPECT_THROW(out.write(0, std::span(value.bytes).first(1)), std::logic_error);
    EXPECT_THROW(out.commit(), std::logic_error) << "b is not complete";
    EXPECT_EQ(listing().size(), 3u) << "the old file and two under way";
  }
  EXPECT_EQ(get("a.npy"), "old");
  EXPECT_EQ(listing(), listing_type{"a.npy"});
}

TEST_F(Streams, RefuseWhatCannotBeWrittenInPieces) {
  const auto refusal = [](const std::vector<output_plan>& plans) {
    return message_of<output_error>([&] { output_streams out(plans); });
  };
  ASSERT_EQ(::mkfifo("pipe.npz", 0600), 0);
  EXPECT_NE(refusal({{"pipe.npz:a", dtype::u8, {1}}}).find("not written to a pipe"),
            std::string::npos);
  EXPECT_NE(refusal({{"a.npy", dtype::u8, {1}}, {"./a.npy", dtype::u8, {1}}}).find("same place"),
            std::string::npos);
  EXPECT_NE(refusal({{"a.npy", dtype::f64, {std::size_t{1} << 62}}}).find("too large"),
            std::string::npos);
  EXPECT_EQ(listing(), listing_type{"pipe.npz"});
}

}  // namespace
}  // namespace mxtool
