// SPDX-License-Identifier: Apache-2.0
// Where scales lie: against memory enumerated from its first to its last byte by nested loops, the
// reshape and transpose that the sources write. Tests named Fault_N are public faults of others.
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "mxref/formats.hpp"
#include "mxref/layout.hpp"

namespace {

using namespace mxref;

/// The scale in each byte of memory, in order; positions beyond the matrix are padding.
using memory = std::vector<scale_position>;

index_t tiles(index_t extent, index_t tile) { return (extent + tile - 1) / tile; }

memory enumerate(scale_layout_mode mode, index_t rows, index_t cols) {
  memory m;
  const auto add = [&](index_t row, index_t col) {
    m.push_back(row < rows && col < cols ? scale_position{row, col} : scale_position{});
  };
  switch (mode) {
    case scale_layout_mode::linear:
    case scale_layout_mode::section_separated:
      for (index_t r = 0; r < rows; ++r) {
        for (index_t c = 0; c < cols; ++c) add(r, c);
      }
      while (mode == scale_layout_mode::section_separated && m.size() % 16 != 0) m.push_back({});
      break;
    case scale_layout_mode::swizzled_128x4:  // [R/128][n/4][32][4][4]
      for (index_t rt = 0; rt < tiles(rows, 128); ++rt) {
        for (index_t ct = 0; ct < tiles(cols, 4); ++ct) {
          for (index_t lane = 0; lane < 32; ++lane) {
            for (index_t quarter = 0; quarter < 4; ++quarter) {
              for (index_t c = 0; c < 4; ++c) add(128 * rt + 32 * quarter + lane, 4 * ct + c);
            }
          }
        }
      }
      break;
    case scale_layout_mode::swizzled_8x4:  // [R/8][n/4][8][4]
      for (index_t rt = 0; rt < tiles(rows, 8); ++rt) {
        for (index_t ct = 0; ct < tiles(cols, 4); ++ct) {
          for (index_t r = 0; r < 8; ++r) {
            for (index_t c = 0; c < 4; ++c) add(8 * rt + r, 4 * ct + c);
          }
        }
      }
      break;
    case scale_layout_mode::word4:  // [n/4][R, a multiple of 4] words
      for (index_t word = 0; word < tiles(cols, 4); ++word) {
        for (index_t r = 0; r < 4 * tiles(rows, 4); ++r) {
          for (index_t c = 0; c < 4; ++c) add(r, 4 * word + c);
        }
      }
      break;
    case scale_layout_mode::amd_preshuffled:
      // view(R/32, 2, 16, n/8, 2, 4), then axes 0 3 5 2 4 1; R a multiple of 256.
      for (index_t rt = 0; rt < 8 * tiles(rows, 256); ++rt) {
        for (index_t ct = 0; ct < tiles(cols, 8); ++ct) {
          for (index_t c = 0; c < 4; ++c) {
            for (index_t r = 0; r < 16; ++r) {
              for (index_t col_half = 0; col_half < 2; ++col_half) {
                for (index_t row_half = 0; row_half < 2; ++row_half) {
                  add(32 * rt + 16 * row_half + r, 8 * ct + 4 * col_half + c);
                }
              }
            }
          }
        }
      }
      break;
  }
  return m;
}

constexpr scale_layout_mode modes[] = {scale_layout_mode::linear,
                                       scale_layout_mode::swizzled_128x4,
                                       scale_layout_mode::swizzled_8x4,
                                       scale_layout_mode::word4,
                                       scale_layout_mode::section_separated,
                                       scale_layout_mode::amd_preshuffled};

class ScaleLayout : public testing::TestWithParam<scale_layout_mode> {};
INSTANTIATE_TEST_SUITE_P(All, ScaleLayout, testing::ValuesIn(modes));

void expect_memory(scale_layout_mode mode, index_t rows, index_t cols) {
  const scale_layout l = layout::dynamic_scales{mode}.scales();
  const memory want = enumerate(mode, rows, cols);
  ASSERT_EQ(l.size(rows, cols), static_cast<index_t>(want.size())) << rows << " x " << cols;
  int wrong = 0;
  index_t found = 0;
  for (index_t at = 0; at < static_cast<index_t>(want.size()); ++at) {
    const scale_position p = want[static_cast<std::size_t>(at)];
    wrong += l.position(rows, cols, at) == p ? 0 : 1;
    if (p.is_padding()) continue;
    ++found;
    wrong += l.offset(rows, cols, p.row, p.col) == at ? 0 : 1;
  }
  EXPECT_EQ(wrong, 0) << rows << " x " << cols;
  EXPECT_EQ(found, rows * cols) << rows << " x " << cols;
}

// Together: every scale has a byte of its own, every other byte is padding, and offset and position
// are inverse.
TEST_P(ScaleLayout, EqualsMemoryEnumeratedForOddSizes) {
  for (index_t rows = 1; rows <= 300; rows += 2) {
    for (const index_t cols : {1, 2, 3, 5, 7, 9, 13}) expect_memory(GetParam(), rows, cols);
  }
  for (const index_t rows : {4, 8, 16, 32, 64, 128, 256, 512}) {
    for (const index_t cols : {4, 8, 12, 16, 33}) expect_memory(GetParam(), rows, cols);
  }
}

TEST_P(ScaleLayout, AnEmptyMatrixHasNoBytes) {
  const scale_layout l = layout::dynamic_scales{GetParam()}.scales();
  EXPECT_EQ(l.size(0, 5), 0);
  EXPECT_EQ(l.size(5, 0), 0);
  EXPECT_TRUE(l.position(5, 0, 0).is_padding());
}

TEST(ScaleLayoutNames, TheRunTimeChoiceIsTheType) {
  const auto chosen = [](scale_layout_mode m) { return layout::dynamic_scales{m}.scales(); };
  EXPECT_EQ(chosen(scale_layout_mode::linear), layout::linear::scales());
  EXPECT_EQ(chosen(scale_layout_mode::swizzled_128x4), layout::swizzled_128x4::scales());
  EXPECT_EQ(chosen(scale_layout_mode::swizzled_8x4), layout::swizzled_8x4::scales());
  EXPECT_EQ(chosen(scale_layout_mode::word4), layout::word4::scales());
  EXPECT_EQ(chosen(scale_layout_mode::section_separated), layout::section_separated::scales());
  EXPECT_EQ(chosen(scale_layout_mode::amd_preshuffled), layout::amd_preshuffled::scales());
  for (const scale_layout_mode m : modes) {
    const layout::dynamic_scales l{m};
    EXPECT_TRUE(l.takes(E8M0::desc));
    const bool is_e8m0_only =
        m == scale_layout_mode::word4 || m == scale_layout_mode::amd_preshuffled;
    EXPECT_EQ(l.takes(UE4M3::desc), !is_e8m0_only);
    EXPECT_FALSE(l.takes(E4M3::desc)) << "a scale has no sign";
  }
}

// In constant expressions.
constexpr scale_layout swizzled = layout_of<UE4M3>(layout::swizzled_128x4{});
static_assert(swizzled.size(150, 7) == 2048 && swizzled.size(128, 4) == 512);
static_assert(swizzled.offset(150, 7, 33, 1) == 16 * 1 + 4 * 1 + 1);
static_assert(swizzled.position(150, 7, 21) == scale_position{33, 1});
static_assert(swizzled.position(150, 7, 2047).is_padding());

// cudnn-frontend 221, cutlass 2707 and 2735, DeepGEMM 289: where does the byte of a scale go?
TEST(LayoutFaults, Fault_44_TheByteOfAScaleIsAFunction) {
  // 300 x 10 scales: 3 x 3 tiles of 512 bytes.
  EXPECT_EQ(swizzled.size(300, 10), 9 * 512);
  EXPECT_EQ(swizzled.offset(300, 10, 0, 0), 0);
  EXPECT_EQ(swizzled.offset(300, 10, 0, 3), 3);
  EXPECT_EQ(swizzled.offset(300, 10, 32, 0), 4);
  EXPECT_EQ(swizzled.offset(300, 10, 1, 0), 16);
  EXPECT_EQ(swizzled.offset(300, 10, 127, 3), 511);
  EXPECT_EQ(swizzled.offset(300, 10, 0, 4), 512) << "tiles along k follow each other";
  EXPECT_EQ(swizzled.offset(300, 10, 128, 0), 3 * 512);
  EXPECT_EQ(swizzled.offset(300, 10, 299, 9), 8 * 512 + (299 % 32) * 16 + 4 + 1);
  constexpr scale_layout small = layout::swizzled_8x4::scales();
  EXPECT_EQ(small.offset(300, 10, 9, 5), (1 * 3 + 1) * 32 + 1 * 4 + 1);
  constexpr scale_layout words = layout::word4::scales();
  EXPECT_EQ(words.offset(5, 10, 2, 6), (1 * 8 + 2) * 4 + 2);
  constexpr scale_layout amd = layout::amd_preshuffled::scales();
  EXPECT_EQ(amd.offset(300, 10, 16, 0), 1);
  EXPECT_EQ(amd.offset(300, 10, 0, 4), 2);
  EXPECT_EQ(amd.offset(300, 10, 1, 0), 4);
  EXPECT_EQ(amd.offset(300, 10, 0, 1), 64);
  EXPECT_EQ(amd.offset(300, 10, 0, 8), 256);
  EXPECT_EQ(amd.offset(300, 10, 32, 0), 512) << "two tiles along k";
}

// rocm-libraries 12232: a reference that swizzled without padding M. 130 x 5 scales are padded to
// 256 x 8.
TEST(LayoutFaults, Fault_47_PaddingBelongsToTheLayout) {
  EXPECT_EQ(swizzled.padded_rows(130), 256);
  EXPECT_EQ(swizzled.padded_cols(5), 8);
  EXPECT_EQ(swizzled.size(130, 5), 2048);
  EXPECT_EQ(swizzled.offset(130, 5, 129, 4), 3 * 512 + 16);
  EXPECT_EQ(layout::amd_preshuffled::scales().size(130, 5), 256 * 8);
  EXPECT_EQ(layout::swizzled_8x4::scales().size(130, 5), 136 * 8);
  EXPECT_EQ(layout::word4::scales().size(130, 5), 132 * 8);
}

// tt-metal 42106: the section of elements starts on a multiple of 16 bytes. A tile of 16 x 16 FP4
// elements has 8 scales and 128 bytes of codes.
TEST(LayoutFaults, Fault_53_SectionsAreAlignedEach) {
  constexpr layout::sections tile{8, 128};
  static_assert(tile.scales_at() == 0 && tile.codes_at() == 16 && tile.size() == 144);
  EXPECT_EQ(layout::section_separated::scales().size(1, 8), tile.codes_at());
  constexpr layout::sections odd{17, 33, 64};
  EXPECT_EQ(odd.codes_at(), 64);
  EXPECT_EQ(odd.size(), 128);
  EXPECT_EQ((layout::sections{32, 16}.codes_at()), 32);
}

}  // namespace
