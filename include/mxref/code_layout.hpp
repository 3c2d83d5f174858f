// SPDX-License-Identifier: Apache-2.0
// Level 3. Where the element codes of a row lie: a layout is data, code_layout, with one formula.
#ifndef MXREF_CODE_LAYOUT_HPP_
#define MXREF_CODE_LAYOUT_HPP_

#include <cstddef>
#include <cstdint>

#include "mxref/bits.hpp"
#include "mxref/config.hpp"

MXREF_BEGIN_NAMESPACE

/// From which end the bits of a byte are counted, and so which end of a code comes first.
enum class bit_order : std::uint8_t { low_first, high_first };

/// Where code k of a row lies. OCP MX 5.1 leaves that open. The row starts on a byte, and its bits
/// are numbered in `order`; groups of `group` codes follow each other; a group consists of runs of
/// `run` codes that are `step` bits apart, and a run starts `run_step` bits after the one before:
///
///   bit(k) = k / group * group_bits + k % group % run * step + k % group / run * run_step +
///            first_bit
///
/// The code occupies bits bit(k) .. bit(k) + bits - 1; every other bit is padding.
/// Checked: tests/sweep/code_layout_test.cpp.
struct code_layout {
  int bits;        ///< of a code, 1 to 8
  int group;       ///< codes laid out together
  int group_bits;  ///< what they take, padding included
  int run;         ///< codes of a run
  int step;
  int run_step = 0;
  int first_bit = 0;
  bit_order order = bit_order::low_first;

  /// Bytes of a row of `depth` codes. Groups are whole.
  MXREF_HD constexpr std::size_t row_bytes(std::size_t depth) const noexcept {
    const auto g = static_cast<std::size_t>(group);
    return ((depth + g - 1) / g * static_cast<std::size_t>(group_bits) + 7) / 8;
  }

  /// The codes that fit a row of so many bytes: whole groups.
  MXREF_HD constexpr std::size_t depth_of(std::size_t bytes) const noexcept {
    return bytes * 8 / static_cast<std::size_t>(group_bits) * static_cast<std::size_t>(group);
  }

  /// A row cut after a multiple of so many codes is cut between groups and between bytes.
  MXREF_HD constexpr int cut() const noexcept {
    int codes = group;
    while (codes / group * group_bits % 8 != 0) codes += group;
    return codes;
  }

  /// The first bit of code k; it is in byte bit(k) / 8.
  MXREF_HD constexpr std::size_t bit(std::size_t k) const noexcept {
    if (group == 1) {  // spares four divisions
      return k * static_cast<std::size_t>(group_bits) + static_cast<std::size_t>(first_bit);
    }
    const auto g = static_cast<std::size_t>(group);
    const auto in_group = static_cast<int>(k % g);
    return k / g * static_cast<std::size_t>(group_bits) +
           static_cast<std::size_t>(in_group % run * step + in_group / run * run_step + first_bit);
  }

  /// The inverse: the code that bit `at` of a row of `depth` codes belongs to, or -1 for padding.
  MXREF_HD constexpr std::ptrdiff_t find(std::size_t at, std::size_t depth) const noexcept {
    const auto in_group = static_cast<int>(at % static_cast<std::size_t>(group_bits)) - first_bit;
    if (in_group < 0) return -1;
    const int in_run = in_group / step;
    const int rest = in_group % step;
    const int which_run = run_step == 0 ? 0 : rest / run_step;
    const int in_code = run_step == 0 ? rest : rest % run_step;
    if (in_run >= run || which_run >= group / run || in_code >= bits) return -1;
    const std::size_t k =
        at / static_cast<std::size_t>(group_bits) * static_cast<std::size_t>(group) +
        static_cast<std::size_t>(which_run * run + in_run);
    return k < depth ? static_cast<std::ptrdiff_t>(k) : -1;
  }

  /// Reads code k of a row; padding bits are not looked at.
  MXREF_HD constexpr std::uint8_t get(const std::uint8_t* row, std::size_t k) const noexcept {
    const window w(*this, bit(k));
    unsigned bytes = static_cast<unsigned>(row[w.byte]) << w.first;
    if (w.is_split) bytes |= static_cast<unsigned>(row[w.byte + 1]) << w.second;
    return static_cast<std::uint8_t>(bytes >> w.shift & low_mask(bits));
  }

  /// Writes code k of a row and leaves all other bits alone; bits of code beyond the width are
  /// ignored.
  MXREF_HD constexpr void set(std::uint8_t* row, std::size_t k, std::uint8_t code) const noexcept {
    const window w(*this, bit(k));
    const auto mask = static_cast<unsigned>(low_mask(bits)) << w.shift;
    const unsigned word = static_cast<unsigned>(code) << w.shift & mask;
    replace(row[w.byte], word >> w.first, mask >> w.first);
    if (w.is_split) replace(row[w.byte + 1], word >> w.second, mask >> w.second);
  }

  friend constexpr bool operator==(const code_layout&, const code_layout&) noexcept = default;

 private:
  /// Two bytes as a number, in which the code lies at `shift`.
  struct window {
    std::size_t byte;
    bool is_split;  ///< the code reaches into the second byte
    int first;      ///< where the first byte lies in the number
    int second;
    int shift;

    MXREF_HD constexpr window(const code_layout& l, std::size_t bit) noexcept
        : byte(bit / 8),
          is_split(static_cast<int>(bit % 8) + l.bits > 8),
          first(l.order == bit_order::low_first ? 0 : 8),
          second(8 - first),
          shift(l.order == bit_order::low_first ? static_cast<int>(bit % 8)
                                                : 16 - static_cast<int>(bit % 8) - l.bits) {}
  };

  MXREF_HD static constexpr void replace(std::uint8_t& byte, unsigned bits,
                                         unsigned mask) noexcept {
    byte = static_cast<std::uint8_t>((byte & ~mask) | (bits & 0xFF));
  }
};

enum class packing_mode : std::uint8_t {
  none,
  dense,
  dense_high_first,
  ggml_split_half,
  tcgen05_padded,
  tcgen05_container
};

/// How element codes, and block scales (scale_layout.hpp), are arranged in memory.
namespace layout {

/// One code a byte, in its low bits. Used by: CUDA's FP8 and FP6 scalar types, torchao FP6,
/// ml_dtypes.
struct bytes {
  static constexpr packing_mode mode = packing_mode::none;
  MXREF_HD static constexpr bool takes(int bits) noexcept { return bits >= 1 && bits <= 8; }
  MXREF_HD static constexpr code_layout codes(int bits) noexcept { return {bits, 1, 8, 1, 8}; }
};

/// A little-endian bit stream: code i occupies bits [i * bits, (i + 1) * bits), least significant
/// bits first. So an FP4 pair has element 0 in the low nibble, and four FP6 codes fill three bytes.
/// Used by: FP4 in CUDA's x2 types, torchao, TransformerEngine, FBGEMM, DeepGEMM, Triton, ONNX; FP6
/// in mxDataGenerator; global memory of tcgen05.
struct dense {
  static constexpr packing_mode mode = packing_mode::dense;
  MXREF_HD static constexpr bool takes(int bits) noexcept { return bytes::takes(bits); }
  MXREF_HD static constexpr code_layout codes(int bits) noexcept {
    return {bits, 1, bits, 1, bits};
  }
};

/// A big-endian bit stream: the first code is in the highest bits of the first byte. So an FP4 pair
/// has element 0 in the high nibble. Used by: some FP4 weights, MMA-Sim v2's FP4 operands.
struct dense_high_first {
  static constexpr packing_mode mode = packing_mode::dense_high_first;
  MXREF_HD static constexpr bool takes(int bits) noexcept { return bytes::takes(bits); }
  MXREF_HD static constexpr code_layout codes(int bits) noexcept {
    return {bits, 1, bits, 1, bits, 0, 0, bit_order::high_first};
  }
};

/// FP4 in blocks of B: byte j has element j in its low and element j + B/2 in its high nibble.
/// Blocks are whole. Used by: ggml, MXFP4 with B = 32 (j and j + 16), NVFP4 with B = 16 (j and
/// j + 8).
template <int B = 32>
struct ggml_split_half {
  static_assert(B >= 2 && B % 2 == 0, "a block that is split in halves has an even size");
  static constexpr packing_mode mode = packing_mode::ggml_split_half;
  MXREF_HD static constexpr bool takes(int bits) noexcept { return bits == 4; }
  MXREF_HD static constexpr code_layout codes(int) noexcept { return {4, B, 4 * B, B / 2, 8, 4}; }
};

/// FP4 and FP6 in shared memory for kind::f8f6f4 and kind::mxf8f6f4: 16 elements take 16 bytes, the
/// first 8 (FP4) or 12 (FP6) of them dense and the rest padding. Source: PTX ISA, tcgen05 (TMA
/// types 16U4_ALIGN16B, 16U6_ALIGN16B). Not verified on hardware; that the FP6 codes are least
/// significant first is a reading of the text.
struct tcgen05_padded {
  static constexpr packing_mode mode = packing_mode::tcgen05_padded;
  MXREF_HD static constexpr bool takes(int bits) noexcept { return bits == 4 || bits == 6; }
  MXREF_HD static constexpr code_layout codes(int bits) noexcept {
    return {bits, 16, 128, 16, bits};
  }
};

/// FP4 and FP6 in registers and tensor memory for the same kinds: one code a byte, FP6 in bits
/// 5..0, FP4 in bits 5..2. Source: PTX ISA, mma and tcgen05. Not verified on hardware.
struct tcgen05_container {
  static constexpr packing_mode mode = packing_mode::tcgen05_container;
  MXREF_HD static constexpr bool takes(int bits) noexcept { return tcgen05_padded::takes(bits); }
  MXREF_HD static constexpr code_layout codes(int bits) noexcept {
    return {bits, 1, 8, 1, 8, 0, bits == 4 ? 2 : 0};
  }
};

/// The packing chosen at run time; `block` is that of ggml_split_half.
struct dynamic_codes {
  packing_mode mode = packing_mode::none;
  int block = 32;

  MXREF_HD constexpr bool takes(int bits) const noexcept {
    switch (mode) {
      case packing_mode::none:
      case packing_mode::dense:
      case packing_mode::dense_high_first:
        return bytes::takes(bits);
      case packing_mode::ggml_split_half:
        return bits == 4 && block >= 2 && block % 2 == 0 && block <= largest_block;
      case packing_mode::tcgen05_padded:
      case packing_mode::tcgen05_container:
        return tcgen05_padded::takes(bits);
    }
    return false;
  }

  /// Meaningful when takes(bits).
  MXREF_HD constexpr code_layout codes(int bits) const noexcept {
    switch (mode) {
      case packing_mode::none:
        break;
      case packing_mode::dense:
        return dense::codes(bits);
      case packing_mode::dense_high_first:
        return dense_high_first::codes(bits);
      case packing_mode::ggml_split_half: {
        code_layout l = ggml_split_half<>::codes(bits);
        l.group = block;
        l.group_bits = bits * block;
        l.run = block / 2;
        return l;
      }
      case packing_mode::tcgen05_padded:
        return tcgen05_padded::codes(bits);
      case packing_mode::tcgen05_container:
        return tcgen05_container::codes(bits);
    }
    return bytes::codes(bits);
  }

 private:
  static constexpr int largest_block = 1 << 24;  // its bits are an int
};

}  // namespace layout

MXREF_END_NAMESPACE

#endif  // MXREF_CODE_LAYOUT_HPP_
