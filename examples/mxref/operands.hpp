// SPDX-License-Identifier: Apache-2.0
// From array files to operands: shapes, dtypes, code ranges and scales are checked here, once.
#pragma once

#include <CLI/CLI.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "array_io.hpp"
#include "layouts.hpp"
#include "mxref/mxref.hpp"
#include "names.hpp"
#include "pieces.hpp"

namespace mxtool {

/// --shape and --dtype of a raw input; `types` are examples.
void add_raw_input(CLI::App& cmd, std::string& shape, std::string& type, const std::string& types);
raw_options raw_input(const std::string& shape, const std::string& type);

matrix_shape as_matrix(const shape_type& shape, const std::string& spec);

/// --scale-format of a product: e8m0 or e4m3.
mxref::format_desc find_scale_format(const std::string& text);

/// An array of codes as it lies in a file: where it comes from, and what it has to hold.
struct code_file {
  std::string spec;
  std::string option;  // that names it
  const format_entry* format = nullptr;
  mxref::layout::dynamic_codes packing{};

  bool is_packed() const { return packing.mode != mxref::packing_mode::none; }
  /// The library does not read the codes as they lie: they become one a byte first.
  bool needs_unpacking() const { return is_packed() && packing.mode != mxref::packing_mode::dense; }
  /// How codes of at most 8 bits lie.
  mxref::code_layout layout() const { return packing.codes(format->desc.total_bits()); }
  mxref::index_t row_bytes(mxref::index_t depth) const;
  int cut() const { return is_packed() ? layout().cut() : 1; }

  /// Refuses a dtype that does not hold the codes. f16 may be float16, f32 and tf32 float32.
  void check_type(dtype type) const;

  /// Refuses codes beyond the format, and drops the low 13 bits of tf32. `first` is the index in
  /// the array of the first of them.
  void accept(std::span<std::byte> codes, mxref::index_t first) const;

  /// An operand of an array of this shape, as the library takes it, without its data. `depth` is
  /// that of packed codes [all that fit].
  mxref::operand_view view(const shape_type& shape, std::optional<mxref::index_t> depth) const;

  /// What a raw file of rows x depth has to be.
  raw_options raw(matrix_shape shape) const;
};

/// One operand as the command line gives it.
struct operand_spec {
  std::string name;  // "a" or "b", as in --a, --a-format, --a-scales
  std::string file{};
  std::string format{};
  std::string scales{};
  std::string packing = "none";
  std::string scale_layout = "linear";
};

/// A loaded operand; view points into the arrays.
struct operand {
  const format_entry* format = nullptr;
  array codes;
  std::uint32_t codes_crc = 0;  // of the file, before low bits of tf32 were dropped
  std::optional<array> scales;
  std::vector<std::byte> unpacked;          // codes and scales as the library takes them, where the
  std::vector<std::uint8_t> linear_scales;  // files have another layout
  mxref::operand_view view;
  std::string source;
  std::string scale_source;
};

/// `depth`: the K to assume, for packed codes and raw files.
operand load_operand(const engine& e, const operand_spec& spec, int block,
                     mxref::format_desc scale_format, std::optional<matrix_shape> raw_shape,
                     std::optional<mxref::index_t> depth);

/// A block of less than 1 element is refused.
void check_block(int block);

/// An M x N matrix of codes (C and D), as an unscaled operand.
operand load_result(const std::string& spec, const std::string& option, const format_entry& format,
                    matrix_shape shape);

/// Result codes (one uint32 each) as an array of the format's dtype: f32 as float32, others as
/// unsigned patterns.
array result_array(const std::vector<std::uint32_t>& codes, mxref::format_desc format,
                   shape_type shape);

/// crc32 of the elements in C order, as zlib.crc32(a.tobytes()) gives it.
std::uint32_t checksum(const array& a);
std::uint32_t checksum(npy_reader& in);  // reads it to its end

}  // namespace mxtool
