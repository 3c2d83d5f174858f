// SPDX-License-Identifier: Apache-2.0
// Packed codes against a bit stream written out bit by bit.
#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "golden_formats.hpp"
#include "mxref/block.hpp"
#include "mxref/packing.hpp"
#include "mxref/quantize.hpp"
#include "mxref/view.hpp"

namespace {

using mxref::get_packed;
using mxref::packed_size;
using mxref::set_packed;

std::uint8_t test_code(std::size_t i, int bits) {
  return static_cast<std::uint8_t>((i * 0x9D + 0x3B + (i >> 3) * 0x11) & ((1U << bits) - 1));
}

/// Code i occupies bits i * bits and up of the stream, least significant first.
std::vector<std::uint8_t> bit_by_bit(int bits, std::size_t count) {
  std::vector<std::uint8_t> bytes((count * static_cast<std::size_t>(bits) + 7) / 8, 0);
  std::size_t at = 0;
  for (std::size_t i = 0; i < count; ++i) {
    for (int b = 0; b < bits; ++b, ++at) {
      const unsigned bit = test_code(i, bits) >> b & 1U;
      bytes[at / 8] = static_cast<std::uint8_t>(bytes[at / 8] | bit << at % 8);
    }
  }
  return bytes;
}

class Packing : public testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(Bits, Packing, testing::Range(1, 9));

TEST_P(Packing, SizeIsRoundedUpToBytes) {
  const int bits = GetParam();
  for (std::size_t count = 0; count < 70; ++count) {
    EXPECT_EQ(packed_size(bits, count), bit_by_bit(bits, count).size()) << count;
  }
}

TEST_P(Packing, EqualsTheBitStream) {
  const int bits = GetParam();
  for (std::size_t count = 1; count < 70; ++count) {
    const std::vector<std::uint8_t> want = bit_by_bit(bits, count);
    // Exact size on the heap: a read or write behind the last byte is seen by a sanitizer.
    const auto bytes = std::make_unique<std::uint8_t[]>(want.size());
    for (std::size_t i = 0; i < count; ++i) set_packed(bytes.get(), bits, i, test_code(i, bits));
    for (std::size_t b = 0; b < want.size(); ++b) ASSERT_EQ(bytes[b], want[b]) << count << ' ' << b;
    for (std::size_t i = 0; i < count; ++i) {
      ASSERT_EQ(get_packed(bytes.get(), bits, i), test_code(i, bits)) << count << ' ' << i;
    }
  }
}

TEST_P(Packing, NeighboursAreLeftAlone) {
  const int bits = GetParam();
  constexpr std::size_t count = 33;
  const auto mask = static_cast<std::uint8_t>((1U << bits) - 1);
  for (const std::uint8_t background : {std::uint8_t{0x00}, std::uint8_t{0xFF}}) {
    for (std::size_t at = 0; at < count; ++at) {
      std::vector<std::uint8_t> bytes(packed_size(bits, count), background);
      const auto fill = static_cast<std::uint8_t>(background & mask);
      const auto code = static_cast<std::uint8_t>(~fill & mask);
      set_packed(bytes.data(), bits, at, code);
      for (std::size_t i = 0; i < count; ++i) {
        ASSERT_EQ(get_packed(bytes.data(), bits, i), i == at ? code : fill) << at << ' ' << i;
      }
      // Bits behind the last code too.
      const auto used = static_cast<unsigned>(count * static_cast<std::size_t>(bits) % 8);
      if (used != 0) {
        EXPECT_EQ(bytes.back() >> used, background >> used) << at;
      }
      set_packed(bytes.data(), bits, at, fill);
      EXPECT_EQ(bytes, std::vector<std::uint8_t>(bytes.size(), background)) << at;
    }
  }
}

TEST_P(Packing, CodeBitsBeyondTheWidthAreIgnored) {
  const int bits = GetParam();
  const auto mask = static_cast<std::uint8_t>((1U << bits) - 1);
  std::vector<std::uint8_t> clean(packed_size(bits, 9), 0);
  std::vector<std::uint8_t> dirty(packed_size(bits, 9), 0);
  for (std::size_t i = 0; i < 9; ++i) {
    set_packed(clean.data(), bits, i, test_code(i, bits));
    set_packed(dirty.data(), bits, i, static_cast<std::uint8_t>(test_code(i, bits) | ~mask));
  }
  EXPECT_EQ(clean, dirty);
}

// The order of an FP4 pair and of four FP6 codes, from the conventions of the hardware.
TEST(PackingOrder, Fp4LowNibbleFirst) {
  std::uint8_t bytes[2]{};
  set_packed(bytes, 4, 0, 0x1);
  set_packed(bytes, 4, 1, 0xA);
  set_packed(bytes, 4, 2, 0xF);
  EXPECT_EQ(bytes[0], 0xA1);
  EXPECT_EQ(bytes[1], 0x0F);
}

TEST(PackingOrder, FourFp6CodesInThreeBytes) {
  std::uint8_t bytes[3]{};
  const std::uint8_t codes[4] = {0x01, 0x02, 0x03, 0x3F};
  for (std::size_t i = 0; i < 4; ++i) set_packed(bytes, 6, i, codes[i]);
  EXPECT_EQ(bytes[0], 0x81);
  EXPECT_EQ(bytes[1], 0x30);
  EXPECT_EQ(bytes[2], 0xFC);
}

constexpr std::array<std::uint8_t, 3> packed_at_compile_time() {
  std::array<std::uint8_t, 3> bytes{};
  for (std::size_t i = 0; i < 4; ++i) {
    set_packed(bytes.data(), 6, i, static_cast<std::uint8_t>(i == 3 ? 0x3F : i + 1));
  }
  return bytes;
}
static_assert(packed_at_compile_time() == std::array<std::uint8_t, 3>{0x81, 0x30, 0xFC});
static_assert(get_packed(packed_at_compile_time().data(), 6, 3) == 0x3F);
static_assert(packed_size(6, 32) == 24 && packed_size(4, 32) == 16 && packed_size(8, 32) == 32);

// mx_block and dense operands store this very stream.
template <class E>
class PackedFormats : public testing::Test {};
using formats =
    testing::Types<mxref::E5M2, mxref::E4M3, mxref::E3M2, mxref::E2M3, mxref::E2M1, mxref::INT8>;
TYPED_TEST_SUITE(PackedFormats, formats, golden::format_names);

TYPED_TEST(PackedFormats, BlockBytesAreTheStream) {
  using block = mxref::mx_block<TypeParam, 32>;
  constexpr int bits = block::bits;
  block b;
  for (int i = 0; i < 32; ++i) {
    b.set_element(i, TypeParam{test_code(static_cast<std::size_t>(i), bits)});
  }
  const std::vector<std::uint8_t> want = bit_by_bit(bits, 32);
  ASSERT_EQ(want.size(), sizeof(block) - 1) << "scale and codes, no padding";
  EXPECT_EQ(std::vector<std::uint8_t>(b.codes(), b.codes() + want.size()), want);
  EXPECT_EQ(b.scale().code, 0);
  for (int i = 0; i < 32; ++i) {
    EXPECT_EQ(b.element(i).code, test_code(static_cast<std::size_t>(i), bits)) << i;
  }
}

TYPED_TEST(PackedFormats, DenseOperandReadsTheStream) {
  constexpr int bits = TypeParam::desc.total_bits();
  constexpr std::size_t depth = 37;  // rows end inside a byte
  const std::vector<std::uint8_t> row = bit_by_bit(bits, depth);
  std::vector<std::uint8_t> bytes = row;
  bytes.insert(bytes.end(), row.begin(), row.end());
  const std::uint8_t scales[] = {127, 128, 129, 130};
  mxref::operand_view v;
  v.format = TypeParam::desc;
  v.storage = mxref::code_storage::dense;
  v.codes = bytes.data();
  v.rows = 2;
  v.depth = static_cast<mxref::index_t>(depth);
  v.row_bytes = static_cast<mxref::index_t>(row.size());
  v.block = 32;
  v.scale_format = mxref::E8M0::desc;
  v.scales = scales;
  v.scale_row_bytes = 2;
  std::vector<double> values(2 * depth);
  ASSERT_TRUE(mxref::dequantize(v, mxref::view(values.data(), 2, v.depth)));
  for (std::size_t r = 0; r < 2; ++r) {
    for (std::size_t k = 0; k < depth; ++k) {
      const auto at = static_cast<mxref::index_t>(k);
      ASSERT_EQ(v.code(static_cast<mxref::index_t>(r), at), test_code(k, bits));
      const double scale = std::array{1.0, 2.0, 4.0, 8.0}[2 * r + k / 32];
      const double want = decode<double>(TypeParam{test_code(k, bits)}) * scale;
      if (want == want) {
        ASSERT_EQ(values[r * depth + k], want) << r << ' ' << k;
      }
    }
  }
}

}  // namespace
