// SPDX-License-Identifier: Apache-2.0
// From array files to operands: shapes, dtypes, code ranges and scales are checked here, once.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "array_io.hpp"
#include "mxref/mxref.hpp"
#include "names.hpp"

namespace mxtool {

/// The last axis is the depth; all others are flattened into rows.
struct matrix_shape {
  mxref::index_t rows = 0;
  mxref::index_t cols = 0;
};

/// A part of a matrix.
struct rectangle {
  mxref::index_t row = 0;
  mxref::index_t col = 0;
  mxref::index_t rows = 0;
  mxref::index_t cols = 0;
};

matrix_shape as_matrix(const array& a, const std::string& spec);

/// --packing none or dense.
mxref::code_storage parse_packing(const std::string& text);

/// Refuses anything but e8m0 and linear, the scale format and layout that exist.
void check_scale_options(const std::string& scale_format, const std::string& scale_layout);

/// Loads codes of a format: the right dtype, no code beyond the format. tf32 may be binary32
/// patterns, whose low 13 bits are dropped; f16 may be float16.
array load_codes(const std::string& spec, const std::string& option, const format_entry& format,
                 mxref::code_storage storage, const raw_options& raw);

/// One operand as the command line gives it.
struct operand_spec {
  std::string name;  // "a" or "b", as in --a, --a-format, --a-scales
  std::string file;
  std::string format;
  std::string scales;
  std::string packing = "none";
};

/// A loaded operand; view points into the arrays.
struct operand {
  const format_entry* format = nullptr;
  array codes;
  std::optional<array> scales;
  mxref::operand_view view;
  std::string source;
  std::string scale_source;
};

/// `depth`: the K to assume, for packed codes and raw files.
operand load_operand(const operand_spec& spec, int block, std::optional<matrix_shape> raw_shape,
                     std::optional<mxref::index_t> depth);

/// Scale bytes for an operand; refuses a shape that is not (rows, ceil(depth / block)).
void attach_scales(operand& o, const std::string& spec, const std::string& option, int block,
                   bool raw);

/// An M x N matrix of codes of type f32, f16 or bf16 (C and D), as an unscaled operand.
operand load_result(const std::string& spec, const std::string& option, const format_entry& format,
                    matrix_shape shape);

/// Result codes (one uint32 each) as an array of the format's dtype: f32 as float32, others as
/// unsigned patterns.
array result_array(const std::vector<std::uint32_t>& codes, mxref::format_desc format,
                   shape_type shape);

/// crc32 of the elements in C order, as zlib.crc32(a.tobytes()) gives it.
std::uint32_t checksum(const array& a);

}  // namespace mxtool
