// SPDX-License-Identifier: Apache-2.0
// Packings and scale layouts at the border of the tool: the library itself takes linear scales, and
// codes one a byte or dense.
#pragma once

#include <CLI/CLI.hpp>

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "array_io.hpp"
#include "engine.hpp"
#include "mxref/mxref.hpp"
#include "names.hpp"
#include "pieces.hpp"

namespace mxtool {

void add_packing_option(CLI::App& cmd, const std::string& flag, std::string& packing);
void add_scale_layout_option(CLI::App& cmd, const std::string& flag, std::string& layout);
void add_poison_flag(CLI::App& cmd, bool& poison);

mxref::padding padding_of(bool poison);

/// A packing by name; refuses one that does not take the codes. `block` is that of ggml-split-half.
mxref::layout::dynamic_codes find_packing(const std::string& text, const std::string& option,
                                          const format_entry& format, int block);

/// A scale layout by name; refuses one that does not take the scales.
mxref::layout::dynamic_scales find_scale_layout(const std::string& text, const std::string& option,
                                                mxref::format_desc scale_format);

/// Rows of codes of a chunk from one layout to another, on all threads.
void repack(const engine& e, matrix_shape chunk, std::span<const std::byte> in,
            const mxref::code_layout& from, std::span<std::byte> out, const mxref::code_layout& to,
            mxref::padding fill);

/// The scales of an operand: matrices of rows x cols, below one another.
struct scale_shape {
  shape_type leading;  // axes before the last two
  shape_type linear;   // of the scales in row-major order
  mxref::index_t matrices = 1;
  mxref::index_t rows = 0;  // of one
  mxref::index_t cols = 0;

  /// For codes of this shape, whose rows have `blocks` scales.
  scale_shape(const shape_type& codes, mxref::index_t blocks);

  mxref::index_t all_rows() const { return matrices * rows; }
  std::size_t count() const { return static_cast<std::size_t>(matrices * rows * cols); }
};

/// Scales as they lie in a file.
struct scale_file {
  std::string spec;
  std::string option;  // that names it
  mxref::layout::dynamic_scales layout;

  bool is_linear() const { return layout.mode == mxref::scale_layout_mode::linear; }

  /// What is written: uint8, or uint32 words for word4.
  output_plan plan(const scale_shape& shape) const;

  /// What a raw file has to be.
  raw_options raw(const scale_shape& shape) const;

  /// Refuses an array that does not hold the scales. Linear scales must have their shape, others
  /// the right number of bytes.
  void check(const scale_shape& shape, dtype type, const shape_type& found) const;

  std::vector<std::uint8_t> to_linear(const scale_shape& shape,
                                      std::span<const std::byte> bytes) const;
  std::vector<std::byte> from_linear(const scale_shape& shape, std::span<const std::uint8_t> scales,
                                     mxref::padding fill) const;
};

/// Reads scales in row-major order. Other layouts than linear are held in memory.
class scale_reader {
 public:
  /// `in` has been checked.
  scale_reader(npy_reader& in, const scale_file& file, const scale_shape& shape);

  void read(std::span<std::uint8_t> out);
  void read_at(std::size_t first, std::span<std::uint8_t> out);

 private:
  npy_reader& in_;
  bool is_linear_;
  std::vector<std::uint8_t> held_;
  std::size_t next_ = 0;
};

/// Writes scales that come in row-major order. Other layouts than linear are held in memory.
class scale_writer {
 public:
  scale_writer(output_streams& out, std::size_t output, scale_file file, scale_shape shape,
               mxref::padding fill)
      : out_(out), output_(output), file_(std::move(file)), shape_(std::move(shape)), fill_(fill) {}

  void write(std::span<const std::uint8_t> scales);
  void finish();

 private:
  output_streams& out_;
  std::size_t output_;
  scale_file file_;
  scale_shape shape_;
  mxref::padding fill_;
  std::vector<std::uint8_t> held_;
};

}  // namespace mxtool
