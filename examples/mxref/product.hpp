// SPDX-License-Identifier: Apache-2.0
// What gemm and verify share: the operands of a product, its model, and its computation.
#pragma once

#include <CLI/CLI.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "engine.hpp"
#include "names.hpp"
#include "operands.hpp"

namespace mxtool {

struct product_options {
  operand_spec a{"a"};
  operand_spec b{"b"};
  int block = 32;
  std::string scale_format = "e8m0";
  std::string c;
  std::string c_type;
  std::string model;
  std::string out_type = "f32";
  std::string store_type;
  std::optional<float> alpha;
  std::optional<float> beta;
  std::optional<float> tensor_scale;
  int promote = 0;
  int split_k = 1;
  long depth = 0;
  std::string shape;  // M,N,K of raw files
  engine_options engine;
};

void add_product_options(CLI::App& cmd, product_options& o);

/// Loaded operands and everything that decides the bits of a product.
struct product {
  operand a;
  operand b;
  std::optional<operand> c;
  std::string model;
  const format_entry* out = nullptr;    // what the model makes
  const format_entry* store = nullptr;  // what is stored
  mxref::gemm_options options;

  /// What the model is asked for.
  model_use use() const;
  mxref::index_t rows() const { return a.view.rows; }
  mxref::index_t cols() const { return b.view.rows; }
  mxref::index_t depth() const { return a.view.depth; }
};

product load_product(const engine& e, const product_options& o);

/// A part of the result, row by row, as codes of p.store; with a progress bar.
std::vector<std::uint32_t> compute(const product& p, const engine& e, const rectangle& part,
                                   const char* what);

/// One output, on the calling thread.
mxref::status compute_one(const product& p, const engine& e, mxref::index_t row, mxref::index_t col,
                          std::uint32_t& code);

}  // namespace mxtool
