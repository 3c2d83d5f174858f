// SPDX-License-Identifier: Apache-2.0
#include "names.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <numeric>

namespace mxtool {

namespace {

using mxref::nan_mode;
using mxref::negative_mode;
using mxref::overflow_mode;
using mxref::packing_mode;
using mxref::rounding_mode;
using mxref::scale_layout_mode;

constexpr format_entry format_table[] = {
    {"e4m3", mxref::E4M3::desc, false, "OCP FP8, no Inf, NaN 7f/ff"},
    {"e5m2", mxref::E5M2::desc, false, "OCP FP8, IEEE-like Inf and NaN"},
    {"e3m2", mxref::E3M2::desc, false, "OCP FP6, finite only"},
    {"e2m3", mxref::E2M3::desc, false, "OCP FP6, finite only"},
    {"e2m1", mxref::E2M1::desc, false, "OCP FP4, finite only"},
    {"int8", mxref::INT8::desc, false, "OCP MXINT8: code / 64, two's complement"},
    {"bf16", mxref::bfloat16::desc, false, "bfloat16"},
    {"f16", mxref::binary16::desc, false, "IEEE binary16"},
    {"tf32", mxref::TF32::desc, false, "upper 19 bits of a binary32"},
    {"f32", mxref::binary32::desc, false, "IEEE binary32"},
    {"e4m3fnuz", mxref::E4M3FNUZ::desc, false, "AMD FP8, bias 8, one zero, NaN 80"},
    {"e5m2fnuz", mxref::E5M2FNUZ::desc, false, "AMD BF8, bias 16, one zero, NaN 80"},
    {"e4m3b11fnuz", mxref::E4M3B11FNUZ::desc, false, "FP8, bias 11, one zero, NaN 80"},
    {"e4m3ieee", mxref::E4M3IEEE::desc, false, "FP8, IEEE-like Inf and NaN, largest 240"},
    {"e3m4", mxref::E3M4::desc, false, "FP8, IEEE-like Inf and NaN, largest 15.5"},
    {"e8m0", mxref::E8M0::desc, true, "scale: 2^(code - 127), NaN ff"},
    {"ue4m3", mxref::UE4M3::desc, true, "scale: E4M3 without a sign, NaN 7f"},
};

constexpr named<rounding_mode> rounding_table[] = {
    {"nearest-even", rounding_mode::nearest_even, "to nearest, ties to even"},
    {"nearest-away", rounding_mode::nearest_away, "to nearest, ties away from zero"},
    {"nearest-toward-zero", rounding_mode::nearest_toward_zero,
     "to nearest, ties to the smaller magnitude (ggml, DeepGEMM)"},
    {"toward-zero", rounding_mode::toward_zero, "truncation"},
    {"up", rounding_mode::up, "toward +infinity"},
    {"down", rounding_mode::down, "toward -infinity"},
    {"to-odd", rounding_mode::to_odd, "an inexact result gets an odd last bit"},
    {"stochastic", rounding_mode::stochastic,
     "away with the probability of the discarded part: Philox words of --seed, --sr-bits of them"},
};

constexpr named<overflow_mode> overflow_table[] = {
    {"saturate", overflow_mode::saturate, "overflow and Inf give the largest finite value"},
    {"nonsaturating", overflow_mode::nonsaturating,
     "Inf where the format has it, else NaN, else as saturate"},
    {"saturate-full", overflow_mode::saturate_full, "as saturate, int8 may use code -128"},
};

constexpr named<nan_mode> nan_table[] = {
    {"poison", nan_mode::poison, "a NaN or Inf makes the block NaN: scale ff, codes 0"},
    {"finite", nan_mode::finite, "scale from the finite elements, NaN and Inf encoded alone"},
    {"gfloat-inf", nan_mode::gfloat_inf, "Inf gives the largest scale and saturates, NaN poisons"},
    {"ignore", nan_mode::ignore, "NaN does not enter amax, Inf gives the largest scale"},
};

constexpr named<negative_mode> negative_table[] = {
    {"to-nan", negative_mode::to_nan, "a negative number in an unsigned format is NaN"},
    {"abs", negative_mode::abs, "the sign is dropped, as CUDA does"},
};

constexpr named<packing_mode> packing_table[] = {
    {"none", packing_mode::none, "one code a byte"},
    {"dense", packing_mode::dense,
     "packed bits, least significant first: FP4 low nibble first, four FP6 codes in three bytes"},
    {"dense-high-first", packing_mode::dense_high_first,
     "packed bits, most significant first: FP4 high nibble first"},
    {"ggml-split-half", packing_mode::ggml_split_half,
     "FP4 blocks, byte j holds codes j and j + block / 2 (ggml)"},
    {"tcgen05-padded", packing_mode::tcgen05_padded,
     "FP4, FP6: 16 codes in 16 bytes, the last 8 or 4 of them padding (shared memory)"},
    {"tcgen05-container", packing_mode::tcgen05_container,
     "one code a byte, FP6 in bits 5..0, FP4 in bits 5..2 (registers, tensor memory)"},
};

constexpr named<scale_layout_mode> scale_layout_table[] = {
    {"linear", scale_layout_mode::linear, "row-major"},
    {"swizzled-128x4", scale_layout_mode::swizzled_128x4,
     "tiles of 128 rows x 4 blocks (cuBLAS, torchao, TransformerEngine)"},
    {"swizzled-8x4", scale_layout_mode::swizzled_8x4,
     "tiles of 8 rows x 4 blocks (TensorRT-LLM, FlashInfer); unverified"},
    {"word4", scale_layout_mode::word4,
     "four E8M0 scales a 32-bit word, words of all rows together (DeepGEMM); unverified"},
    {"section-separated", scale_layout_mode::section_separated,
     "row-major, the whole padded to 16 bytes (Tenstorrent); unverified"},
    {"amd-preshuffled", scale_layout_mode::amd_preshuffled,
     "E8M0, tiles of 32 rows x 8 blocks (aiter, gfx950); unverified"},
};

constexpr model_entry definition_table[] = {
    {"exact", "the mathematical result, rounded once to the output type"},
    {"block-exact-fp32", "exact block dot, rounded to binary32, then added in binary32"},
    {"block-fused-fp32", "exact block dot added to the binary32 accumulator, one rounding"},
    {"fp32-chain", "IEEE fused multiply-add of decoded binary32 values in k order"},
};

std::vector<model_entry> all_models() {
  std::vector<model_entry> list(std::begin(definition_table), std::end(definition_table));
  for (const mxref::unit_model& m : mxref::matrix_units)
    list.push_back({m.name, m.instruction, &m});
  return list;
}

int edit_distance(std::string_view a, std::string_view b) {
  std::vector<int> row(b.size() + 1);
  std::iota(row.begin(), row.end(), 0);
  for (std::size_t i = 0; i < a.size(); ++i) {
    int diagonal = row[0]++;
    for (std::size_t j = 0; j < b.size(); ++j) {
      const int substituted = diagonal + (a[i] == b[j] ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({row[j] + 1, row[j + 1] + 1, substituted});
    }
  }
  return row.back();
}

}  // namespace

std::span<const format_entry> formats() { return format_table; }
std::span<const named<rounding_mode>> roundings() { return rounding_table; }
std::span<const named<overflow_mode>> overflows() { return overflow_table; }
std::span<const named<nan_mode>> nan_policies() { return nan_table; }
std::span<const named<negative_mode>> negative_policies() { return negative_table; }

const mxref::preset_desc& find_preset(std::string_view text) {
  const std::string wanted = normalized(text);
  std::vector<std::string_view> known;
  for (const mxref::preset_desc* p : mxref::presets) {
    if (p->name == wanted) return *p;
    known.push_back(p->name);
  }
  throw_unknown("preset", text, known);
}
std::span<const named<packing_mode>> packings() { return packing_table; }
std::span<const named<scale_layout_mode>> scale_layouts() { return scale_layout_table; }
std::span<const model_entry> models() {
  static const std::vector<model_entry> list = all_models();
  return list;
}

std::string normalized(std::string_view text) {
  std::string result(text);
  for (char& c : result) {
    if (c == '_') c = '-';
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return result;
}

void throw_unknown(std::string_view what, std::string_view text,
                   std::span<const std::string_view> known) {
  const std::string wanted = normalized(text);
  const auto nearest =
      std::min_element(known.begin(), known.end(), [&](std::string_view a, std::string_view b) {
        return edit_distance(a, wanted) < edit_distance(b, wanted);
      });
  std::string hint;
  if (nearest != known.end() &&
      edit_distance(*nearest, wanted) <= static_cast<int>(nearest->size() + 1) / 2) {
    hint = fmt::format(", did you mean '{}'?", *nearest);
  } else {
    const auto part = std::find_if(known.begin(), known.end(), [&](std::string_view name) {
      return wanted.size() >= 3 && name.find(wanted) != name.npos;
    });
    if (part != known.end()) hint = fmt::format(", did you mean '{}'?", *part);
  }
  throw usage_error(
      fmt::format("unknown {} '{}'{} (known: {})", what, text, hint, fmt::join(known, " ")));
}

const format_entry& find_format(std::string_view text, bool scalars_allowed) {
  const std::string wanted = normalized(text);
  std::vector<std::string_view> known;
  for (const format_entry& f : format_table) {
    if (f.scalar_only && !scalars_allowed) continue;
    if (f.name == wanted) return f;
    known.push_back(f.name);
  }
  throw_unknown("format", text, known);
}

std::string format_name(mxref::format_desc f) {
  for (const format_entry& entry : format_table) {
    if (entry.desc == f) return std::string(entry.name);
  }
  return fmt::format("e{}m{}(bias {})", f.exp_bits, f.man_bits, f.bias);
}

dtype container(mxref::format_desc f) {
  if (f.total_bits() <= 8) return dtype::u8;
  return f.total_bits() <= 16 ? dtype::u16 : dtype::u32;
}

namespace {

bool takes(const mxref::unit_model& m, const model_use& use) {
  return m.resolve(use.a, use.b, use.out).code == mxref::errc::ok;
}

/// As the instruction: scaled operands where it has scales. (Scale 1 is not an instruction.)
bool takes_as_it_is(const mxref::unit_model& m, const model_use& use) {
  return takes(m, use) && (m.modes[0].block != 0) == (use.a.block != 0 || use.b.block != 0);
}

/// The models of which a text is the name or a short name. A bare prefix such as "nvidia" or
/// "fp32" is not the short name of a matrix unit.
std::vector<const model_entry*> named_models(std::string_view text) {
  const std::string wanted = normalized(text);
  const bool is_short_name = std::count(wanted.begin(), wanted.end(), '-') >= 2;
  std::vector<std::string_view> known;
  std::vector<const model_entry*> found;
  for (const model_entry& m : models()) {
    if (m.name == wanted || (is_short_name && m.unit && m.name.starts_with(wanted + "-"))) {
      found.push_back(&m);
    }
    known.push_back(m.name);
  }
  if (found.empty()) throw_unknown("model", text, known);
  return found;
}

}  // namespace

void check_model(std::string_view text) { named_models(text); }

std::string resolve_model(std::string_view text, const model_use& use) {
  const auto found = named_models(text);
  const bool is_full_name = found[0]->name == normalized(text);
  if (is_full_name && (found.size() == 1 || takes(*found[0]->unit, use))) {
    return std::string(found[0]->name);
  }
  for (const auto condition : {takes_as_it_is, takes}) {
    std::vector<std::string_view> kinds;
    for (const model_entry* m : found) {
      if (condition(*m->unit, use)) kinds.push_back(m->name);
    }
    if (kinds.size() == 1) return std::string(kinds[0]);
    if (kinds.size() > 1) {
      throw usage_error(
          fmt::format("'{}' names several models that take these operands, choose one of: {}", text,
                      fmt::join(kinds, " ")));
    }
  }
  if (found.size() == 1 || is_full_name) return std::string(found[0]->name);
  std::vector<std::string_view> kinds;
  for (const model_entry* m : found) kinds.push_back(m->name);
  throw usage_error(fmt::format("'{}' names several models, and none takes these operands: {}",
                                text, fmt::join(kinds, " ")));
}

model_evidence evidence_of(std::string_view name, const model_use& use) {
  for (const mxref::unit_model& m : mxref::matrix_units) {
    if (name != m.name) continue;
    const mxref::unit_choice choice = m.resolve(use.a, use.b, use.out);
    return {choice.known, choice.source};
  }
  return {};
}

}  // namespace mxtool
