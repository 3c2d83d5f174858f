// SPDX-License-Identifier: Apache-2.0
// Arrays of 256 MiB through a tool that may have 96 MiB of address space.
#include <algorithm>
#include <random>

#include "array_io_detail.hpp"
#include "mxref/mxref.hpp"
#include "tool.hpp"

namespace {

using mxtool::dtype;
using mxtool::npy_reader;
using tool_test::tool;

constexpr std::size_t rows = 8000;
constexpr std::size_t cols = 8388;  // 4 elements beyond the last whole block
constexpr std::size_t blocks = 263;
constexpr std::size_t row_blocks = 250;  // down a column

class LargeFile : public tool {
 protected:
  void SetUp() override {
    tool::SetUp();
    // Mostly a hole; every row has some numbers, so that no row and no column is like another.
    const std::string header =
        mxtool::detail::format_npy_header(dtype::f32, mxtool::shape_type{rows, cols});
    std::ofstream out(path("x.npy"), std::ios::binary);
    out << header;
    std::mt19937 random(7);
    for (std::size_t row = 0; row != rows; ++row) {
      const std::size_t at = row == 0 ? 0 : row + 1 == rows ? cols - 64 : random() % (cols - 64);
      std::array<float, 64> numbers{};
      for (float& x : numbers) {
        x = static_cast<float>(static_cast<int>(random() % 20001) - 10000) / 7.0F;
      }
      out.seekp(static_cast<std::streamoff>(header.size() + (row * cols + at) * sizeof(float)));
      out.write(reinterpret_cast<const char*>(numbers.data()), sizeof numbers);
    }
  }

  void run_limited(const std::string& arguments) const {
    const std::string line =
        MXREF_LIMIT "'" MXREF_TOOL "' " + arguments + " --threads 2 2>" + path("errors");
    EXPECT_EQ(std::system(line.c_str()), 0) << arguments << "\n" << read_text(path("errors"));
  }

  /// Element `index` and the next count - 1 of an array.
  template <class T>
  static std::vector<T> slice(npy_reader& in, std::size_t index, std::size_t count) {
    std::vector<T> out(count);
    in.read_at(index * sizeof(T), std::as_writable_bytes(std::span(out)));
    return out;
  }

  static std::vector<float> column(npy_reader& in, std::size_t col) {
    std::vector<float> numbers;
    for (std::size_t row = 0; row != rows; ++row) {
      numbers.push_back(slice<float>(in, row * cols + col, 1)[0]);
    }
    return numbers;
  }

  /// Rows from every part of the file.
  static std::vector<std::size_t> some(std::size_t count) {
    std::vector<std::size_t> chosen;
    for (std::size_t i = 0; i < count; i += 97) chosen.push_back(i);
    chosen.push_back(count - 1);
    return chosen;
  }
};

struct quantized {
  mxref::format_desc format;
  int block;
  std::vector<std::uint8_t> codes;
  std::vector<std::uint8_t> scales;
};

quantized quantize_row(const std::vector<float>& numbers,
                       mxref::format_desc format = mxref::E4M3::desc, int block = 32) {
  const auto n = static_cast<mxref::index_t>(numbers.size());
  const mxref::index_t scales = (n + block - 1) / block;
  quantized q{format, block, std::vector<std::uint8_t>(numbers.size()),
              std::vector<std::uint8_t>(static_cast<std::size_t>(scales))};
  const mxref::quantized_view out{format, block, q.codes.data(), n, q.scales.data(), scales};
  EXPECT_TRUE(mxref::quantize(mxref::view(numbers.data(), 1, n), out).ok());
  return q;
}

std::vector<float> dequantize_row(const quantized& q) {
  std::vector<float> numbers(q.codes.size());
  mxref::operand_view v;
  v.format = q.format;
  v.codes = q.codes.data();
  v.rows = 1;
  v.depth = static_cast<mxref::index_t>(q.codes.size());
  v.block = q.block;
  v.scale_format = mxref::E8M0::desc;
  v.scales = q.scales.data();
  EXPECT_TRUE(mxref::dequantize(v, mxref::view(numbers.data(), 1, v.depth)).ok());
  return numbers;
}

TEST_F(LargeFile, QuantizeAndDequantizeRows) {
  run_limited("quantize --format e4m3 " + path("x.npy") + " --codes " + path("q.npz:c") +
              " --scales " + path("q.npz:s"));
  run_limited("dequantize --format e4m3 --codes " + path("q.npz:c") + " --scales " +
              path("q.npz:s") + " " + path("y.npy"));
  npy_reader x(path("x.npy"));
  npy_reader c(path("q.npz:c"));
  npy_reader s(path("q.npz:s"));
  npy_reader y(path("y.npy"));
  ASSERT_EQ(y.shape(), x.shape());
  for (const std::size_t row : some(rows)) {
    const quantized want = quantize_row(slice<float>(x, row * cols, cols));
    ASSERT_EQ(slice<std::uint8_t>(c, row * cols, cols), want.codes) << row;
    ASSERT_EQ(slice<std::uint8_t>(s, row * blocks, blocks), want.scales) << row;
    ASSERT_EQ(slice<float>(y, row * cols, cols), dequantize_row(want)) << row;
  }
}

TEST_F(LargeFile, QuantizeAndDequantizeColumns) {
  run_limited("quantize --axis 0 --format e4m3 " + path("x.npy") + " --codes " + path("c.npy") +
              " --scales " + path("s.npy"));
  run_limited("dequantize --axis 0 --format e4m3 --codes " + path("c.npy") + " --scales " +
              path("s.npy") + " " + path("y.npy"));
  npy_reader x(path("x.npy"));
  npy_reader c(path("c.npy"));
  npy_reader s(path("s.npy"));
  npy_reader y(path("y.npy"));
  ASSERT_EQ(c.shape(), (mxtool::shape_type{cols, rows}));
  ASSERT_EQ(y.shape(), x.shape());
  for (const std::size_t col : some(cols)) {
    const quantized want = quantize_row(column(x, col));
    ASSERT_EQ(slice<std::uint8_t>(c, col * rows, rows), want.codes) << col;
    ASSERT_EQ(slice<std::uint8_t>(s, col * row_blocks, row_blocks), want.scales) << col;
    ASSERT_EQ(column(y, col), dequantize_row(want)) << col;
  }
}

TEST_F(LargeFile, EncodeAndDecodeThroughPipes) {
  run_limited("encode --format bf16 - - <" + path("x.npy") +
              " | '" MXREF_TOOL "' decode --format bf16 - " + path("y.npy"));
  npy_reader x(path("x.npy"));
  npy_reader y(path("y.npy"));
  ASSERT_EQ(y.shape(), x.shape());
  for (const std::size_t row : some(rows)) {
    std::vector<float> want = slice<float>(x, row * cols, cols);
    for (float& number : want) {
      number = mxref::decode(mxref::encode<mxref::bfloat16>(number));
    }
    ASSERT_EQ(slice<float>(y, row * cols, cols), want) << row;
  }
}

TEST_F(LargeFile, OneLongRowOfPackedBlocks) {
  // The same numbers as one row, in blocks that end between bytes and do not divide a piece.
  const std::string raw = " --shape " + std::to_string(rows * cols) + " --dtype f32 ";
  std::filesystem::rename(path("x.npy"), path("x.bin"));
  ASSERT_EQ(std::system(("tail -c +129 " + path("x.bin") + " >" + path("raw.bin")).c_str()), 0);
  std::filesystem::remove(path("x.bin"));
  run_limited("quantize --format e2m3 --block 25 --packing dense" + raw + path("raw.bin") +
              " --codes " + path("c.npy") + " --scales " + path("s.npy"));
  run_limited("dequantize --format e2m3 --block 25 --packing dense --codes " + path("c.npy") +
              " --scales " + path("s.npy") + " " + path("y.npy"));
  std::vector<float> numbers(100);
  std::ifstream x(path("raw.bin"), std::ios::binary);
  npy_reader c(path("c.npy"));
  npy_reader s(path("s.npy"));
  npy_reader y(path("y.npy"));
  for (const std::size_t i : some(rows * cols / 100)) {  // four blocks fill 75 bytes
    x.seekg(static_cast<std::streamoff>(i * 100 * sizeof(float)));
    x.read(reinterpret_cast<char*>(numbers.data()), 100 * sizeof(float));
    const quantized want = quantize_row(numbers, mxref::E2M3::desc, 25);
    std::vector<std::uint8_t> packed(75);
    for (std::size_t k = 0; k != 100; ++k) mxref::set_packed(packed.data(), 6, k, want.codes[k]);
    ASSERT_EQ(slice<std::uint8_t>(c, i * 75, 75), packed) << i;
    ASSERT_EQ(slice<std::uint8_t>(s, i * 4, 4), want.scales) << i;
    ASSERT_EQ(slice<float>(y, i * 100, 100), dequantize_row(want)) << i;
  }
}

TEST_F(LargeFile, PaddedCodesStreamBesideSwizzledScales) {
  const std::string options =
      " --format e2m1 --packing tcgen05-padded --scale-layout swizzled-128x4 ";
  run_limited("quantize" + options + path("x.npy") + " --codes " + path("c.npy") + " --scales " +
              path("s.npy"));
  run_limited("dequantize --depth " + std::to_string(cols) + options + "--codes " + path("c.npy") +
              " --scales " + path("s.npy") + " " + path("y.npy"));
  npy_reader x(path("x.npy"));
  npy_reader c(path("c.npy"));
  npy_reader s(path("s.npy"));
  npy_reader y(path("y.npy"));
  constexpr mxref::code_layout codes = mxref::layout::tcgen05_padded::codes(4);
  constexpr mxref::scale_layout scales = mxref::layout::swizzled_128x4::scales();
  ASSERT_EQ(c.shape(), (mxtool::shape_type{rows, codes.row_bytes(cols)}));
  ASSERT_EQ(s.shape(), (mxtool::shape_type{8064, 264}));
  for (const std::size_t row : some(rows)) {
    const quantized want = quantize_row(slice<float>(x, row * cols, cols), mxref::E2M1::desc);
    const auto packed = slice<std::uint8_t>(c, row * c.shape()[1], c.shape()[1]);
    for (std::size_t k = 0; k != cols; ++k) {
      ASSERT_EQ(codes.get(packed.data(), k), want.codes[k]) << row << ' ' << k;
    }
    for (const std::size_t b : {std::size_t{0}, blocks / 2, blocks - 1}) {
      const auto at = static_cast<std::size_t>(scales.offset(
          rows, blocks, static_cast<mxref::index_t>(row), static_cast<mxref::index_t>(b)));
      ASSERT_EQ(slice<std::uint8_t>(s, at, 1)[0], want.scales[b]) << row << ' ' << b;
    }
    ASSERT_EQ(slice<float>(y, row * cols, cols), dequantize_row(want)) << row;
  }
}

TEST_F(LargeFile, ColumnsOfPackedCodesAndShuffledScales) {
  const std::string options =
      " --axis 0 --format e2m3 --packing dense-high-first --scale-layout amd-preshuffled ";
  run_limited("quantize" + options + path("x.npy") + " --codes " + path("c.npy") + " --scales " +
              path("s.npy"));
  run_limited("dequantize" + options + "--codes " + path("c.npy") + " --scales " + path("s.npy") +
              " " + path("y.npy"));
  npy_reader x(path("x.npy"));
  npy_reader y(path("y.npy"));
  ASSERT_EQ(y.shape(), x.shape());
  for (const std::size_t col : some(cols)) {
    ASSERT_EQ(column(y, col), dequantize_row(quantize_row(column(x, col), mxref::E2M3::desc)))
        << col;
  }
}

}  // namespace
