// SPDX-License-Identifier: Apache-2.0
// A configuration of tensor_cores.json: its operands, and the library's model of its instruction.
#ifndef MXREF_TESTS_SWEEP_GOLDEN_UNITS_HPP_
#define MXREF_TESTS_SWEEP_GOLDEN_UNITS_HPP_

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <map>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "mxref/gemm.hpp"
#include "mxref/matrix_unit.hpp"
#include "support/golden.hpp"

namespace golden {

// Bits of `flags`; tensor_cores.json says what they mean.
inline constexpr unsigned flag_zero_sign = 4;
inline constexpr unsigned flag_floor = 8;
inline constexpr unsigned flag_f16_floor = 16;
inline constexpr unsigned flag_nan = 32;
inline constexpr unsigned flag_amd_nan = 64;
inline constexpr unsigned flag_subnormals = 128;

// Entries of `cat`.
inline constexpr unsigned category_floor = 14;
inline constexpr unsigned category_hard = 15;

inline mxref::format_desc unit_format(const std::string& name) {
  static const std::map<std::string, mxref::format_desc> formats{
      {"e4m3", mxref::E4M3::desc},      {"e5m2", mxref::E5M2::desc},
      {"e3m2", mxref::E3M2::desc},      {"e2m3", mxref::E2M3::desc},
      {"e2m1", mxref::E2M1::desc},      {"e4m3z", mxref::E4M3FNUZ::desc},
      {"e5m2z", mxref::E5M2FNUZ::desc}, {"bf16", mxref::bfloat16::desc},
      {"f16", mxref::binary16::desc},   {"tf32", mxref::TF32::desc},
      {"f32", mxref::binary32_desc},    {"ue8m0", mxref::E8M0::desc},
      {"ue4m3", mxref::UE4M3::desc}};
  return formats.at(name);
}

/// The model of a configuration, by the names of both.
inline const mxref::unit_model& unit_of(const tensor_core_config& c) {
  static constexpr std::pair<std::string_view, std::string_view> prefixes[] = {
      {"tcgen05_mxf8f6f4_", "nvidia-blackwell-tcgen05-mxf8f6f4"},
      {"tcgen05_mxf4_", "nvidia-blackwell-tcgen05-mxf4"},
      {"tcgen05_mxf4nvf4_", "nvidia-blackwell-tcgen05-mxf4nvf4"},
      {"tcgen05_f8f6f4_", "nvidia-blackwell-tcgen05-f8f6f4"},
      {"tcgen05_f16_", "nvidia-blackwell-tcgen05-f16"},
      {"tcgen05_bf16_", "nvidia-blackwell-tcgen05-f16"},
      {"tcgen05_tf32_", "nvidia-blackwell-tcgen05-tf32"},
      {"sm120_mxf8f6f4_", "nvidia-rtx-blackwell-mma-mxf8f6f4"},
      {"sm120_mxf4_", "nvidia-rtx-blackwell-mma-mxf4"},
      {"sm120_mxf4nvf4_", "nvidia-rtx-blackwell-mma-mxf4nvf4"},
      {"sm120_f8f6f4_", "nvidia-rtx-blackwell-mma-f8f6f4"},
      {"sm120_mma_", "nvidia-rtx-blackwell-mma"},
      {"sm100_mma_", "nvidia-blackwell-mma"},
      {"sm90_mma_", "nvidia-hopper-mma"},
      {"wgmma_", "nvidia-hopper-wgmma"},
      {"sm89_mma_", "nvidia-ada-mma"},
      {"sm80_mma_", "nvidia-ampere-mma"},
      {"sm75_mma_", "nvidia-turing-mma"},
      {"sm70_mma_", "nvidia-volta-mma"},
      {"cdna1_mfma_", "amd-cdna1-mfma"},
      {"cdna2_mfma_f16", "amd-cdna2-mfma"},
      {"cdna2_mfma_bf16_1k", "amd-cdna2-mfma-1k"},
      {"cdna2_mfma_bf16", "amd-cdna2-mfma"},
      {"cdna3_mfma_", "amd-cdna3-mfma"},
      {"hw_V100_", "nvidia-volta-mma"},
      {"hw_A100_", "nvidia-ampere-mma"},
      {"hw_A2_", "nvidia-ampere-mma"},
      {"hw_Ada_", "nvidia-ada-mma"},
      {"hw_H100_", "nvidia-hopper-mma"},
      {"hw_B200_", "nvidia-blackwell-mma"},
  };
  std::string_view name = c.name;
  if (name.starts_with("gemm_")) name.remove_prefix(5);
  std::string_view wanted;
  for (const auto& [prefix, model] : prefixes) {
    if (wanted.empty() && name.starts_with(prefix)) wanted = model;
  }
  if (c.note.find("wgmma") != std::string::npos) wanted = "nvidia-hopper-wgmma";
  for (const mxref::unit_model& m : mxref::matrix_units) {
    if (wanted == m.name) return m;
  }
  throw std::invalid_argument("no model for " + c.name);
}

/// Codes and scales of one side, in containers.
class unit_operand {
 public:
  unit_operand(const tensor_core_config& config, const std::string& side, const std::string& format)
      : depth_(config.depth), block_(config.block), format_(unit_format(format)) {
    width_ = mxref::container_bytes(format_);
    for (std::uint64_t code : load(config.name + '/' + side + "_codes")) {
      if (format == "tf32") code >>= 13;
      for (mxref::index_t i = 0; i < width_; ++i) {  // little-endian, as the library's containers
        codes_.push_back(static_cast<std::uint8_t>(code >> (8 * i)));
      }
    }
    if (block_ == 0) return;
    scale_format_ = unit_format(config.scale_format);
    for (const std::uint64_t code : load(config.name + "/scale_" + side)) {
      scales_.push_back(static_cast<std::uint8_t>(code));
    }
  }

  mxref::operand_kind kind() const { return {format_, scale_format_, block_}; }

  /// Rows first..first+rows-1, the first k columns.
  mxref::operand_view view(mxref::index_t first, mxref::index_t rows, mxref::index_t k) const {
    mxref::operand_view v;
    v.format = format_;
    v.codes = codes_.data() + first * depth_ * width_;
    v.rows = rows;
    v.depth = k;
    v.row_bytes = depth_ * width_;
    v.col_bytes = width_;
    if (block_ == 0) return v;
    v.block = block_;
    v.scale_format = scale_format_;
    v.scales = scales_.data() + first * (depth_ / block_);
    v.scale_row_bytes = depth_ / block_;
    return v;
  }

 private:
  int depth_;
  int block_;
  mxref::format_desc format_;
  mxref::format_desc scale_format_{};
  mxref::index_t width_ = 1;
  std::vector<std::uint8_t> codes_;
  std::vector<std::uint8_t> scales_;
};

/// The rows of a configuration.
class unit_rows {
 public:
  explicit unit_rows(const tensor_core_config& config)
      : config_(config),
        a_(config, "a", config.format_a),
        b_(config, "b", config.format_b),
        out_(unit_format(config.format_d)) {
    if (config.rows == 0) return;
    c_ = load(config.name + "/c_bits");
    if (config.gpu.empty()) {
      flags_ = load(config.name + "/flags");
      categories_ = load(config.name + "/cat");
    } else {
      flags_.resize(c_.size());
      categories_.resize(c_.size());
    }
  }

  const unit_operand& a() const { return a_; }
  const unit_operand& b() const { return b_; }
  mxref::format_desc out() const { return out_; }
  std::size_t size() const { return c_.size(); }
  unsigned flags(std::size_t row) const { return static_cast<unsigned>(flags_[row]); }
  unsigned category(std::size_t row) const { return static_cast<unsigned>(categories_[row]); }
  bool is_nan(std::uint64_t code) const { return mxref::to_number(out_, code).is_nan(); }

  bool is_zero(std::uint64_t code) const { return mxref::to_number(out_, code).is_zero(); }

  mxref::unit_choice choice() const { return unit_of(config_).resolve(a_.kind(), b_.kind(), out_); }

  /// D of one row; nothing when the policy refuses it.
  template <class P>
  std::uint32_t run(const P& policy, std::size_t row) const {
    const auto at = static_cast<mxref::index_t>(row);
    const auto c = static_cast<std::uint32_t>(c_[row]);
    mxref::gemm_options options;
    options.c.format = unit_format(config_.format_c);
    options.c.codes = &c;
    options.c.rows = 1;
    options.c.depth = 1;
    std::uint32_t d = 0;
    mxref::output_view out;
    out.format = out_;
    out.data = &d;
    out.rows = 1;
    out.cols = 1;
    const mxref::status s = mxref::gemm(a_.view(at, 1, config_.depth),
                                        b_.view(at, 1, config_.depth), out, policy, options);
    if (!s) throw std::invalid_argument(config_.name + ": " + mxref::message(s));
    return d;
  }

 private:
  tensor_core_config config_;
  unit_operand a_;
  unit_operand b_;
  mxref::format_desc out_;
  std::vector<std::uint64_t> c_;
  std::vector<std::uint64_t> flags_;
  std::vector<std::uint64_t> categories_;
};

}  // namespace golden

#endif  // MXREF_TESTS_SWEEP_GOLDEN_UNITS_HPP_
