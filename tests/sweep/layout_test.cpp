// SPDX-License-Identifier: Apache-2.0
// Codes and scales moved between layouts: what comes back, what is refused, what padding may hold.
#include <gtest/gtest.h>

#include <array>
#include <bit>
#include <cstdint>
#include <limits>
#include <vector>

#include "mxref/mxref.hpp"

namespace {

using namespace mxref;
using bytes = std::vector<std::uint8_t>;

bytes numbered(index_t count, unsigned mask = 0xFF) {
  bytes b(static_cast<std::size_t>(count));
  for (std::size_t i = 0; i < b.size(); ++i) {
    b[i] = static_cast<std::uint8_t>((i * 0x9D + 0x3B + i / 256) & mask);
  }
  return b;
}

constexpr scale_layout_mode scale_modes[] = {scale_layout_mode::linear,
                                             scale_layout_mode::swizzled_128x4,
                                             scale_layout_mode::swizzled_8x4,
                                             scale_layout_mode::word4,
                                             scale_layout_mode::section_separated,
                                             scale_layout_mode::amd_preshuffled};

std::vector<layout::dynamic_codes> packings_for(int bits) {
  std::vector<layout::dynamic_codes> list;
  for (const auto mode : {packing_mode::none, packing_mode::dense, packing_mode::dense_high_first,
                          packing_mode::ggml_split_half, packing_mode::tcgen05_padded,
                          packing_mode::tcgen05_container}) {
    const layout::dynamic_codes packing{mode, 16};
    if (packing.takes(bits)) list.push_back(packing);
  }
  return list;
}

TEST(Repack, EveryPairOfLayoutsKeepsTheCodes) {
  constexpr index_t rows = 3;
  for (const int bits : {3, 4, 6, 8}) {
    const code_layout plain = layout::bytes::codes(bits);
    for (const index_t depth : {1, 16, 37, 70}) {
      const bytes codes = numbered(rows * depth, (1U << bits) - 1);
      for (const auto& from : packings_for(bits)) {
        for (const auto& to : packings_for(bits)) {
          const auto width = [&](const layout::dynamic_codes& l) {
            return static_cast<index_t>(l.codes(bits).row_bytes(static_cast<std::size_t>(depth)));
          };
          bytes first(static_cast<std::size_t>(rows * width(from)));
          bytes second(static_cast<std::size_t>(rows * width(to)), 0x5A);
          bytes back(codes.size(), 0x5A);
          const auto first_view = view(first.data(), rows, width(from));
          const auto second_view = view(second.data(), rows, width(to));
          ASSERT_TRUE(repack(view(codes.data(), rows, depth), plain, first_view, from.codes(bits),
                             depth, padding::poison));
          ASSERT_TRUE(repack(first_view, from.codes(bits), second_view, to.codes(bits), depth));
          ASSERT_TRUE(
              repack(second_view, to.codes(bits), view(back.data(), rows, depth), plain, depth));
          EXPECT_EQ(back, codes);
          // Padding of the first did not get into the second.
          bytes direct(second.size());
          ASSERT_TRUE(repack(view(codes.data(), rows, depth), plain,
                             view(direct.data(), rows, width(to)), to.codes(bits), depth));
          EXPECT_EQ(second, direct);
        }
      }
    }
  }
}

TEST(Repack, RefusesWhatDoesNotFitAndWritesNothing) {
  const bytes in(3 * 20, 1);
  bytes out(3 * 10, 0x5A);
  const bytes untouched = out;
  const code_layout plain = layout_of<E2M1>(layout::bytes{});
  const code_layout dense = layout_of<E2M1>(layout::dense{});
  const auto from = view(in.data(), 3, 20);
  const auto to = view(out.data(), 3, 10);
  const status shape{errc::buffer_mismatch};
  EXPECT_EQ(repack(from, plain, to, dense, 21), shape);
  EXPECT_EQ(repack(from, plain, to, dense, -1), shape);
  EXPECT_EQ(repack(view(in.data(), 2, 20), plain, to, dense, 20), shape);
  EXPECT_EQ(repack(from, plain, view(out.data(), 3, 9), dense, 20), shape);
  EXPECT_EQ(repack(transposed(view(in.data(), 20, 3)), plain, to, dense, 20), shape);
  EXPECT_EQ(repack(from, layout_of<E2M3>(layout::bytes{}), to, dense, 20),
            status{errc::layout_mismatch});
  EXPECT_EQ(out, untouched);
  EXPECT_TRUE(repack(from, plain, to, dense, 20));
  EXPECT_NE(out, untouched);
}

TEST(Swizzle, BatchesArePaddedPerMatrixAndComeBack) {
  for (const scale_layout_mode mode : scale_modes) {
    const scale_layout l = layout::dynamic_scales{mode}.scales();
    for (const index_t matrices : {1, 2, 3}) {
      for (const index_t rows : {1, 7, 129}) {
        for (const index_t cols : {1, 6}) {
          const bytes scales = numbered(matrices * rows * cols);
          const index_t size = l.size(rows, cols);
          bytes together(static_cast<std::size_t>(matrices * size), 0x5A);
          ASSERT_TRUE(swizzle(view(scales.data(), matrices * rows, cols), l, together.data(),
                              matrices * size, padding::zero, matrices));
          for (index_t m = 0; m < matrices; ++m) {
            bytes alone(static_cast<std::size_t>(size), 0x5A);
            ASSERT_TRUE(
                swizzle(view(scales.data() + m * rows * cols, rows, cols), l, alone.data(), size));
            EXPECT_EQ(bytes(together.begin() + m * size, together.begin() + (m + 1) * size), alone);
          }
          bytes back(scales.size(), 0x5A);
          ASSERT_TRUE(unswizzle(together.data(), matrices * size, l,
                                view(back.data(), matrices * rows, cols), matrices));
          EXPECT_EQ(back, scales);
        }
      }
    }
  }
}

TEST(Swizzle, RefusesWhatDoesNotFitAndWritesNothing) {
  const scale_layout l = layout::swizzled_128x4::scales();
  const bytes scales = numbered(6 * 5);
  bytes out(2048, 0x5A);
  const bytes untouched = out;
  const auto in = view(scales.data(), 6, 5);
  const status wrong{errc::buffer_mismatch};
  EXPECT_EQ(swizzle(in, l, out.data(), 1023), wrong);
  EXPECT_EQ(swizzle(in, l, out.data(), 2048), wrong);
  EXPECT_EQ(swizzle(in, l, out.data(), 1024, padding::zero, 2), wrong);
  EXPECT_EQ(swizzle(in, l, out.data(), 1024, padding::zero, 4), wrong) << "6 rows of 4 matrices";
  EXPECT_EQ(swizzle(in, l, out.data(), 1024, padding::zero, 0), wrong);
  bytes back = scales;
  EXPECT_EQ(unswizzle(out.data(), 1023, l, view(back.data(), 6, 5)), wrong);
  EXPECT_EQ(unswizzle(out.data(), 2048, l, view(back.data(), 6, 5), 4), wrong);
  EXPECT_EQ(out, untouched);
  EXPECT_EQ(back, scales);
  EXPECT_TRUE(swizzle(in, l, out.data(), 1024));
}

// TransformerEngine 3070, triton 10190, pytorch 152665: dirty bytes of padding became NaN scales.
// With padding that is NaN everywhere, scales, values and a product are what they are without it.
TEST(LayoutFaults, Fault_48_PoisonedPaddingIsNeverRead) {
  constexpr index_t m = 5;
  constexpr index_t n = 3;
  constexpr index_t k = 75;  // 3 blocks, the last of 11 elements
  std::vector<float> a(m * k);
  std::vector<float> b(n * k);
  for (std::size_t i = 0; i < a.size(); ++i) a[i] = static_cast<float>(i % 13) - 5.5F;
  for (std::size_t i = 0; i < b.size(); ++i) b[i] = static_cast<float>(i % 7) - 2.25F;
  const mx_matrix<E2M1, 32> A = quantize<mx_block<E2M1, 32>>(view(a.data(), m, k));
  const mx_matrix<E2M1, 32> B = quantize<mx_block<E2M1, 32>>(view(b.data(), n, k));
  std::vector<float> want(m * n);
  ASSERT_TRUE(gemm(A, B, view(want.data(), m, n), accumulate::exact{}));

  for (const scale_layout_mode mode : scale_modes) {
    const scale_layout l = layout::dynamic_scales{mode}.scales();
    bytes stored(static_cast<std::size_t>(l.size(m, 3)));
    ASSERT_TRUE(swizzle(view(A.scales(), m, 3), l, stored.data(), l.size(m, 3), padding::poison));
    index_t ones = 0;
    for (index_t at = 0; at < l.size(m, 3); ++at) {
      if (!l.position(m, 3, at).is_padding()) continue;
      EXPECT_EQ(stored[static_cast<std::size_t>(at)], 0xFF);
      ++ones;
    }
    EXPECT_EQ(ones, l.size(m, 3) - m * 3);
    bytes scales(m * 3);
    ASSERT_TRUE(unswizzle(stored.data(), l.size(m, 3), l, view(scales.data(), m, 3)));
    EXPECT_EQ(scales, bytes(A.scales(), A.scales() + m * 3));

    for (const auto& packing : packings_for(4)) {
      const code_layout c = packing.codes(4);
      const auto row = static_cast<index_t>(c.row_bytes(k));
      bytes packed(static_cast<std::size_t>(m * row));
      ASSERT_TRUE(repack(view(A.codes(), m, k), layout::bytes::codes(4),
                         view(packed.data(), m, row), c, k, padding::poison));
      operand_view v = A.operand();
      v.scales = scales.data();
      bytes codes(m * k);
      if (packing.mode == packing_mode::dense) {  // as the library reads it
        v.storage = code_storage::dense;
        v.codes = packed.data();
        v.row_bytes = row;
      } else {
        ASSERT_TRUE(repack(view(std::as_const(packed).data(), m, row), c, view(codes.data(), m, k),
                           layout::bytes::codes(4), k));
        v.codes = codes.data();
      }
      std::vector<float> got(m * n);
      ASSERT_TRUE(gemm(v, B, view(got.data(), m, n), accumulate::exact{}));
      EXPECT_EQ(got, want) << static_cast<int>(packing.mode);
    }
  }
}

// DeepGEMM 35 and 337, sglang 39193: exponents shifted out of binary32 scales. Mantissa bits got
// into the neighbouring byte, and 1.5 became 1 (25 % off), without a word.
TEST(LayoutFaults, Fault_49_ScalesThatAreNoPowersOfTwoAreRefused) {
  const float good[] = {1.0F, 2.0F, 4.0F, 8.0F};
  std::array<std::uint8_t, 4> codes{0x5A, 0x5A, 0x5A, 0x5A};
  ASSERT_TRUE(encode_scales(view(good, 1, 4), view(codes.data(), 1, 4)));
  std::array<std::uint8_t, 16> words{};
  const scale_layout l = layout_of<E8M0>(layout::word4{});
  ASSERT_TRUE(swizzle(view(std::as_const(codes).data(), 1, 4), l, words.data(), 16));
  EXPECT_EQ(std::bit_cast<std::uint32_t>(std::array{words[0], words[1], words[2], words[3]}),
            0x8281807FU);

  const float bad[] = {2.0F, 1.5F, 4.0F, 8.0F};
  const auto before = codes;
  EXPECT_EQ(encode_scales(view(bad, 1, 4), view(codes.data(), 1, 4)),
            status{errc::not_a_power_of_two});
  EXPECT_EQ(codes, before);
  EXPECT_EQ(encode_scales(view(good, 1, 4), view(codes.data(), 2, 2)),
            status{errc::buffer_mismatch});
  EXPECT_EQ(encode_scales(view(good, 2, 2), view(codes.data(), 1, 4)),
            status{errc::buffer_mismatch});
}

TEST(EncodeScale, TakesExactlyTheNumbersOfE8M0) {
  for (unsigned code = 0; code < 256; ++code) {
    E8M0 got{0x5A};
    const float value = decode(E8M0{static_cast<std::uint8_t>(code)});
    ASSERT_TRUE(encode_scale(value, got)) << code;
    EXPECT_EQ(got.code, code);
  }
  // The neighbours of every one of them in binary32, and what has no code at all.
  std::vector<std::uint32_t> patterns{0x00000000, 0x80000000, 0x7F800000, 0xFF800000,
                                      0x00000001, 0x00200000, 0x00600000, 0x7F7FFFFF};
  for (std::uint32_t field = 1; field < 255; ++field) {
    for (const std::uint32_t p :
         {(field << 23) + 1, (field << 23) - 1, field << 23 | 0x400000, field << 23 | 0x80000000}) {
      patterns.push_back(p);
    }
  }
  for (const std::uint32_t p : patterns) {
    E8M0 got{0x5A};
    EXPECT_EQ(encode_scale(std::bit_cast<float>(p), got), status{errc::not_a_power_of_two})
        << std::hex << p;
    EXPECT_EQ(got.code, 0x5A);
  }
  E8M0 got{};
  EXPECT_TRUE(encode_scale(std::bit_cast<float>(0xFFC00001U), got)) << "any NaN is the NaN";
  EXPECT_EQ(got.code, 0xFF);
}

// A whole trip at compile time.
constexpr bool trip_at_compile_time() {
  const std::uint8_t scales[] = {1, 2, 3, 4, 5, 6};
  std::uint8_t stored[64]{};
  std::uint8_t back[6]{};
  constexpr scale_layout l = layout_of<UE4M3>(layout::swizzled_8x4{});
  const std::uint8_t* const in = stored;
  if (!swizzle(view(scales, 3, 2), l, stored, 32, padding::poison)) return false;
  if (!unswizzle(in, 32, l, view(back, 3, 2))) return false;
  for (int i = 0; i < 6; ++i) {
    if (back[i] != scales[i]) return false;
  }
  return stored[0] == 1 && stored[1] == 2 && stored[2] == 0xFF && stored[4] == 3;
}
static_assert(trip_at_compile_time());

}  // namespace
