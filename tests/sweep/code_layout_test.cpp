// SPDX-License-Identifier: Apache-2.0
// Where codes lie: against rows written out bit by bit by loops that follow the drawings of the
// documents, not the formula. Tests named Fault_N are public faults of other libraries.
#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "mxref/formats.hpp"
#include "mxref/layout.hpp"
#include "mxref/packing.hpp"

namespace {

using namespace mxref;
using bytes = std::vector<std::uint8_t>;

std::uint8_t test_code(std::size_t k, int bits) {
  return static_cast<std::uint8_t>((k * 0x9D + 0x3B + (k >> 3) * 0x11) & ((1U << bits) - 1));
}

/// A bit of a row in memory: which code it belongs to (-1: none), and which bit of it.
struct cell {
  std::ptrdiff_t code = -1;
  int bit = 0;
};

/// Rows as 8 cells a byte, bit 0 of a byte first.
using row_map = std::vector<cell>;

void put(row_map& row, std::size_t byte, int bit, std::size_t code, int code_bit,
         std::size_t depth) {
  if (row.size() < (byte + 1) * 8) row.resize((byte + 1) * 8);
  if (code >= depth) return;
  row[byte * 8 + static_cast<std::size_t>(bit)] = {static_cast<std::ptrdiff_t>(code), code_bit};
}

row_map one_a_byte(std::size_t depth, int bits, int first_bit) {
  row_map row;
  for (std::size_t k = 0; k < depth; ++k) {
    row.resize((k + 1) * 8);
    for (int b = 0; b < bits; ++b) put(row, k, first_bit + b, k, b, depth);
  }
  return row;
}

/// Bits drawn one after another: from the low or from the high end of the bytes.
row_map stream(std::size_t depth, int bits, bool high_first) {
  row_map row;
  std::size_t at = 0;
  for (std::size_t k = 0; k < depth; ++k) {
    for (int b = 0; b < bits; ++b, ++at) {
      const int in_byte = static_cast<int>(at % 8);
      if (high_first) {
        put(row, at / 8, 7 - in_byte, k, bits - 1 - b, depth);
      } else {
        put(row, at / 8, in_byte, k, b, depth);
      }
    }
  }
  return row;
}

row_map split_half(std::size_t depth, std::size_t block) {
  row_map row;
  for (std::size_t first = 0; first < depth; first += block) {
    for (std::size_t j = 0; j < block / 2; ++j) {
      for (int b = 0; b < 4; ++b) {
        put(row, first / 2 + j, b, first + j, b, depth);
        put(row, first / 2 + j, 4 + b, first + j + block / 2, b, depth);
      }
    }
  }
  return row;
}

/// Sixteen codes, then zeros up to sixteen bytes.
row_map padded(std::size_t depth, int bits) {
  row_map row;
  for (std::size_t unit = 0; unit * 16 < depth; ++unit) {
    row.resize((unit + 1) * 128);
    std::size_t at = 0;
    for (std::size_t j = 0; j < 16; ++j) {
      for (int b = 0; b < bits; ++b, ++at) {
        put(row, unit * 16 + at / 8, static_cast<int>(at % 8), unit * 16 + j, b, depth);
      }
    }
  }
  return row;
}

struct packing_case {
  layout::dynamic_codes packing;
  int bits;
};

row_map oracle(const packing_case& c, std::size_t depth) {
  switch (c.packing.mode) {
    case packing_mode::none:
      return one_a_byte(depth, c.bits, 0);
    case packing_mode::dense:
      return stream(depth, c.bits, false);
    case packing_mode::dense_high_first:
      return stream(depth, c.bits, true);
    case packing_mode::ggml_split_half:
      return split_half(depth, static_cast<std::size_t>(c.packing.block));
    case packing_mode::tcgen05_padded:
      return padded(depth, c.bits);
    case packing_mode::tcgen05_container:
      return one_a_byte(depth, c.bits, c.bits == 4 ? 2 : 0);
  }
  return {};
}

std::vector<packing_case> all_cases() {
  std::vector<packing_case> cases;
  for (const auto mode : {packing_mode::none, packing_mode::dense, packing_mode::dense_high_first,
                          packing_mode::tcgen05_padded, packing_mode::tcgen05_container}) {
    for (int bits = 1; bits <= 8; ++bits) {
      if (layout::dynamic_codes{mode}.takes(bits)) cases.push_back({{mode}, bits});
    }
  }
  for (const int block : {2, 6, 16, 32, 128}) {
    cases.push_back({{packing_mode::ggml_split_half, block}, 4});
  }
  return cases;
}

class CodeLayout : public testing::TestWithParam<packing_case> {};
INSTANTIATE_TEST_SUITE_P(All, CodeLayout, testing::ValuesIn(all_cases()), [](const auto& one) {
  const packing_case& c = one.param;
  return "mode" + std::to_string(static_cast<int>(c.packing.mode)) + "_bits" +
         std::to_string(c.bits) + "_block" + std::to_string(c.packing.block);
});

TEST_P(CodeLayout, EqualsTheRowWrittenOutAndItsInverse) {
  const code_layout l = GetParam().packing.codes(GetParam().bits);
  ASSERT_EQ(l.bits, GetParam().bits);
  for (std::size_t depth = 0; depth <= 150; ++depth) {
    const row_map want = oracle(GetParam(), depth);
    ASSERT_EQ(l.row_bytes(depth) * 8, want.size()) << depth;
    int wrong = 0;
    for (std::size_t at = 0; at < want.size(); ++at) {
      // Bits are numbered from the end of the byte that the layout names.
      const std::size_t numbered = l.order == bit_order::low_first ? at : at / 8 * 8 + 7 - at % 8;
      wrong += l.find(numbered, depth) == want[at].code ? 0 : 1;
      if (want[at].code < 0) continue;
      const auto in_code =
          static_cast<int>(numbered - l.bit(static_cast<std::size_t>(want[at].code)));
      wrong += (l.order == bit_order::low_first ? in_code : l.bits - 1 - in_code) == want[at].bit
                   ? 0
                   : 1;
    }
    EXPECT_EQ(wrong, 0) << depth;
  }
}

TEST_P(CodeLayout, SetWritesThatRowAndGetReadsItThroughAnyPadding) {
  const code_layout l = GetParam().packing.codes(GetParam().bits);
  for (std::size_t depth = 1; depth <= 150; ++depth) {
    const row_map map = oracle(GetParam(), depth);
    for (const unsigned background : {0x00U, 0xFFU}) {
      // Exact size on the heap: a read or write beyond it is seen by a sanitizer.
      const std::size_t size = l.row_bytes(depth);
      const auto row = std::make_unique<std::uint8_t[]>(size);
      for (std::size_t i = 0; i < size; ++i) row[i] = static_cast<std::uint8_t>(background);
      for (std::size_t k = 0; k < depth; ++k) {
        l.set(row.get(), k, static_cast<std::uint8_t>(test_code(k, l.bits) | ~low_mask(l.bits)));
      }
      int wrong = 0;
      for (std::size_t at = 0; at < map.size(); ++at) {
        const unsigned bit = row[at / 8] >> at % 8 & 1U;
        const cell c = map[at];
        const unsigned want =
            c.code < 0 ? background & 1U
                       : test_code(static_cast<std::size_t>(c.code), l.bits) >> c.bit & 1U;
        wrong += bit == want ? 0 : 1;
      }
      for (std::size_t k = 0; k < depth; ++k) {
        wrong += l.get(row.get(), k) == test_code(k, l.bits) ? 0 : 1;
      }
      EXPECT_EQ(wrong, 0) << depth << ' ' << background;
    }
  }
}

TEST_P(CodeLayout, RowsMayBeCutWhereTheLayoutSays) {
  const code_layout l = GetParam().packing.codes(GetParam().bits);
  const auto cut = static_cast<std::size_t>(l.cut());
  const std::size_t cut_bytes = l.row_bytes(cut);
  for (std::size_t depth = 0; depth <= 3 * cut; ++depth) {
    EXPECT_EQ(l.row_bytes(cut + depth), cut_bytes + l.row_bytes(depth)) << depth;
    EXPECT_EQ(l.bit(cut + depth), cut_bytes * 8 + l.bit(depth)) << depth;
    // What fits the bytes of a row is at least the row, and takes no more bytes.
    EXPECT_GE(l.depth_of(l.row_bytes(depth)), depth);
    EXPECT_EQ(l.row_bytes(l.depth_of(l.row_bytes(depth))), l.row_bytes(depth));
  }
}

TEST(CodeLayoutNames, TheRunTimeChoiceIsTheType) {
  using layout::dynamic_codes;
  for (int bits = 1; bits <= 8; ++bits) {
    EXPECT_EQ(dynamic_codes{packing_mode::none}.codes(bits), layout::bytes::codes(bits));
    EXPECT_EQ(dynamic_codes{packing_mode::dense}.codes(bits), layout::dense::codes(bits));
    EXPECT_EQ(dynamic_codes{packing_mode::dense_high_first}.codes(bits),
              layout::dense_high_first::codes(bits));
    EXPECT_EQ(dynamic_codes{packing_mode::tcgen05_padded}.takes(bits),
              layout::tcgen05_padded::takes(bits));
    EXPECT_EQ(dynamic_codes{packing_mode::tcgen05_container}.takes(bits), bits == 4 || bits == 6);
    EXPECT_EQ((dynamic_codes{packing_mode::ggml_split_half, 32}.takes(bits)), bits == 4);
    EXPECT_EQ((dynamic_codes{packing_mode::ggml_split_half, 15}.takes(bits)), false);
    EXPECT_EQ((dynamic_codes{packing_mode::ggml_split_half, 0}.takes(bits)), false);
  }
  for (const packing_mode mode : {packing_mode::none, packing_mode::dense}) {
    EXPECT_FALSE(dynamic_codes{mode}.takes(0));
    EXPECT_FALSE(dynamic_codes{mode}.takes(9));
  }
  EXPECT_EQ((dynamic_codes{packing_mode::ggml_split_half, 16}.codes(4)),
            layout::ggml_split_half<16>::codes(4));
  EXPECT_EQ(dynamic_codes{packing_mode::tcgen05_padded}.codes(6), layout::tcgen05_padded::codes(6));
  EXPECT_EQ(dynamic_codes{packing_mode::tcgen05_container}.codes(4),
            layout::tcgen05_container::codes(4));
}

// All of it in constant expressions.
constexpr std::array<std::uint8_t, 3> fp6_codes_at_compile_time() {
  std::array<std::uint8_t, 3> row{};
  constexpr code_layout l = layout_of<E3M2>(layout::dense{});
  constexpr std::uint8_t codes[] = {0x01, 0x02, 0x03, 0x3F};
  for (std::size_t k = 0; k < 4; ++k) l.set(row.data(), k, codes[k]);
  return row;
}
// T16: FP6 codes 01 02 03 3F, dense little-endian.
static_assert(fp6_codes_at_compile_time() == std::array<std::uint8_t, 3>{0x81, 0x30, 0xFC});
static_assert(layout_of<E3M2>(layout::dense{}).get(fp6_codes_at_compile_time().data(), 3) == 0x3F);
static_assert(layout_of<E2M1>(layout::tcgen05_padded{}).row_bytes(17) == 32);
static_assert(layout_of<E2M1>(layout::tcgen05_padded{}).find(64, 17) == -1);
static_assert(layout_of<E2M1>(layout::ggml_split_half<32>{}).find(4, 32) == 16);

bytes packed(const code_layout& l, const bytes& codes) {
  bytes row(l.row_bytes(codes.size()));
  for (std::size_t k = 0; k < codes.size(); ++k) l.set(row.data(), k, codes[k]);
  return row;
}

// triton 5197, comfy-kitchen 41, composable_kernel 1889: the order of an FP4 pair is a choice.
TEST(LayoutFaults, Fault_45_TheNibbleOrderHasAName) {
  const bytes codes{0x1, 0xA, 0xF};
  EXPECT_EQ(packed(layout_of<E2M1>(layout::dense{}), codes), (bytes{0xA1, 0x0F}));
  EXPECT_EQ(packed(layout_of<E2M1>(layout::dense_high_first{}), codes), (bytes{0x1A, 0xF0}));
  EXPECT_EQ(packed(layout_of<E2M1>(layout::tcgen05_container{}), codes),
            (bytes{0x1 << 2, 0xA << 2, 0xF << 2}));
  // FP6, most significant first: 000001 000010 000011 111111.
  EXPECT_EQ(packed(layout_of<E2M3>(layout::dense_high_first{}), {0x01, 0x02, 0x03, 0x3F}),
            (bytes{0b0000'0100, 0b0010'0000, 0b1111'1111}));
}

// tinygrad 14849: a block of ggml read as if its nibbles were neighbours. Codes 0..15 in the first
// half and 15..0 in the second.
TEST(LayoutFaults, Fault_46_GgmlHalvesAreSixteenApart) {
  bytes codes;
  for (unsigned k = 0; k < 32; ++k) codes.push_back(static_cast<std::uint8_t>(k < 16 ? k : 31 - k));
  const bytes row = packed(layout_of<E2M1>(layout::ggml_split_half<32>{}), codes);
  ASSERT_EQ(row.size(), 16U);
  for (unsigned j = 0; j < 16; ++j) EXPECT_EQ(row[j], j | (15 - j) << 4) << j;
  // NVFP4: halves of 16 are 8 apart.
  codes.resize(16);
  EXPECT_EQ(packed(layout_of<E2M1>(layout::ggml_split_half<16>{}), codes),
            (bytes{0x80, 0x91, 0xA2, 0xB3, 0xC4, 0xD5, 0xE6, 0xF7}));
  // Values are those of E2M1: no table of doubled numbers, no halved scale.
  EXPECT_EQ(decode(E2M1{layout_of<E2M1>(layout::ggml_split_half<32>{}).get(row.data(), 7)}), 6.0F);
}

// rocm-libraries 12140, 11960 and T16: four FP6 codes in three bytes; containers and padding of
// lanes are other layouts.
TEST(LayoutFaults, Fault_52_FourFp6CodesInThreeBytes) {
  const bytes codes{0x01, 0x02, 0x03, 0x3F};
  EXPECT_EQ(packed(layout_of<E2M3>(layout::dense{}), codes), (bytes{0x81, 0x30, 0xFC}));
  EXPECT_EQ(packed(layout_of<E2M3>(layout::bytes{}), codes), codes);
  bytes padded_row{0x81, 0x30, 0xFC};
  padded_row.resize(16);
  EXPECT_EQ(packed(layout_of<E2M3>(layout::tcgen05_padded{}), codes), padded_row);
  EXPECT_EQ(layout_of<E2M3>(layout::tcgen05_padded{}).bit(16), 128U);
  EXPECT_EQ(layout_of<E2M3>(layout::dense{}).bit(16), 96U);
}

}  // namespace
