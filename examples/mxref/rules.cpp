// SPDX-License-Identifier: Apache-2.0
#include "rules.hpp"

#include <fmt/format.h>

#include <cstdint>

#include "names.hpp"

namespace mxtool {

namespace {

using mxref::scale_rule;

constexpr rule_entry rule_table[] = {
    {"floor", scale_rule::floor, false, "s = floor(log2 amax) - emax, from the exact exponent",
     "OCP MX 6.3, torchao FLOOR, oneDNN dynamic_mx, microxcaling C++",
     "the largest element saturates when amax exceeds M * 2^s"},
    {"ceil", scale_rule::ceil, false, "s = ceil(log2 amax) - emax", "torchao CEIL",
     "one above floor unless amax is a power of two; wastes up to a binade against rceil"},
    {"even", scale_rule::even, false,
     "floor of amax plus half an element ulp; NaN where that leaves binary32",
     "torchao EVEN, AMD Quark even_round", "one above floor from the tie on"},
    {"rceil", scale_rule::rceil, false, "2^s = d rounded up, d = RN(amax * RN(1 / M)) in binary32",
     "torchao RCEIL, TransformerEngine MXFP8, cuBLAS, cuDNN",
     "one above floor where floor saturates"},
    {"rceil-div", scale_rule::rceil_div, false, "as rceil with d = RN(amax / M)",
     "Triton ROUND_UP, oneDNN dynamic_fp", "no amax is known on which it differs from rceil"},
    {"rceil-exact", scale_rule::rceil_exact, false, "the smallest 2^s >= amax / M, exactly",
     "nobody", "another scale than rceil at amax = M * 2^-127 plus an ulp"},
    {"bump", scale_rule::rceil_exact, false, "floor, plus one when amax > M * 2^s",
     "the study of training instabilities, arXiv 2506.20752", "the same function as rceil-exact"},
    {"deepgemm", scale_rule::deepgemm, false, "rceil-div of max(amax, 1e-4), codes 1 .. 254",
     "DeepGEMM with UE8M0 scales", "tiny and all-zero blocks have the scale of 1e-4"},
    {"microx", scale_rule::microx, false,
     "s = floor(RN(log2 amax)) - emax in binary32; NaN above 127", "microxcaling, Python path",
     "one above floor a few ulps below a power of two"},
    {"fbgemm-floor", scale_rule::fbgemm_floor, false,
     "s = floor(RN(log2 amax)) - emax, clamped to -127 .. 125", "FBGEMM MX4", "as microx, clamped"},
    {"fbgemm-ceil", scale_rule::fbgemm_ceil, false,
     "s = ceil(RN(log2 amax)) - emax, clamped to -127 .. 125", "FBGEMM MX4",
     "as ceil, but a few ulps above a power of two it is one less"},
    {"fbgemm-nearest", scale_rule::fbgemm_nearest, false,
     "s = floor(RN(RN(log2 amax) + 1/2)) - emax, clamped to -127 .. 125", "FBGEMM MX4",
     "one above floor from sqrt(2) * 2^k on"},
    {"fbgemm-even", scale_rule::fbgemm_even, false,
     "floor(RN(log2 y)) - emax, y = amax plus half an element ulp less one binary32 ulp",
     "FBGEMM MX4", "as even, but only beyond the tie"},
    {"te-pow2", scale_rule::te_pow2, false, "s = ceil(RN(log2 RN(amax / M))) in binary32",
     "TransformerEngine's reference, pow_2_scales",
     "as rceil, but a few ulps above M * 2^k it is one less and the block saturates"},
    {"ggml", scale_rule::ggml, false,
     "the low byte of floor(RN(log2 amax)) - emax + 127; elements by search", "ggml MXFP4",
     "tiny blocks wrap to huge scales"},
    {"gfloat-amax", scale_rule::gfloat_amax, false, "s = floor(RN(log2 amax)) - emax in binary64",
     "gfloat compute_scale_amax", "floor, except on binary64 numbers near a power of two"},
    {"nvfp4-torchao", scale_rule::floor, true,
     "sb = e4m3(clamp(RN(RN(amax / M) / T), 2^-6, 448)); x * RN(RN(1 / T) / sb)", "torchao",
     "scales never fall below 2^-6"},
    {"nvfp4-te", scale_rule::floor, true,
     "sb = e4m3(RN(amax * RN(S * RN(1 / M)))); x * RN(1 / RN(sb * RN(1 / S)))", "TransformerEngine",
     "scales may be subnormal or zero; other roundings than torchao's"},
    {"nvfp4-four-over-six", scale_rule::floor, true,
     "the better of nvfp4-te's scale and one 3/2 as large, by the sum of absolute errors",
     "TransformerEngine", "maps amax to 6 or to 4; needs a tensor scale"},
    {"nvfp4-ggml", scale_rule::floor, true,
     "sb = RN(amax / M) to 3 bits, half up; 448 from 248 on; exact x / sb", "ggml NVFP4",
     "one level; meant with --rounding nearest-toward-zero"},
};

}  // namespace

std::span<const rule_entry> rules() { return rule_table; }

const rule_entry& find_rule(std::string_view text, mxref::format_desc scale_format) {
  const bool wants_nvfp4 = scale_format != mxref::E8M0::desc;
  const std::string wanted = normalized(text);
  std::vector<std::string_view> known;
  for (const rule_entry& r : rule_table) {
    if (r.is_nvfp4 == wants_nvfp4) known.push_back(r.name);
    if (r.name != wanted) continue;
    if (r.is_nvfp4 == wants_nvfp4) return r;
    throw usage_error(fmt::format("--scale {} gives {} scales: add --scale-format {}", r.name,
                                  r.is_nvfp4 ? "e4m3" : "e8m0", r.is_nvfp4 ? "e4m3" : "e8m0"));
  }
  throw_unknown("scale rule", text, known);
}

threshold threshold_of(scale_rule rule, mxref::format_desc element) {
  const auto moves = [&](std::uint32_t fraction) {  // m = 1 + fraction * 2^-23
    const mxref::number amax = mxref::to_number(mxref::binary32_desc, 0x3F800000U + fraction);
    const mxref::scale::dynamic wanted{rule};
    return wanted(amax, element).code > mxref::scale::floor{}(amax, element).code;
  };
  constexpr std::uint32_t last = (std::uint32_t{1} << 23) - 1;
  if (!moves(last)) return {0, false};
  std::uint32_t low = 0;  // the first that moves is in low .. high
  std::uint32_t high = last;
  while (low < high) {
    const std::uint32_t middle = low + (high - low) / 2;
    if (moves(middle)) {
      high = middle;
    } else {
      low = middle + 1;
    }
  }
  // An odd pattern is the ulp above a short number.
  const bool above = low % 2 == 1;
  return {1 + (low - (above ? 1 : 0)) * 0x1p-23, above};
}

}  // namespace mxtool
