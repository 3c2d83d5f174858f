// SPDX-License-Identifier: Apache-2.0
// E8M0 from binary32 against every oracle, for both answers to negative numbers.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "golden_policies.hpp"
#include "golden_reference.hpp"
#include "mxref/formats.hpp"
#include "support/golden.hpp"

namespace {

using mxref::E8M0;
using mxref::negative_mode;
using mxref::overflow_mode;
using mxref::rounding_mode;

enum class source { cuda, ml_dtypes, llvm, te, torchao, onnx_reference, deepgemm, gfloat, ort };

struct row_policy {
  std::string_view mode;
  source oracle;
  rounding_mode rounding;
  overflow_mode overflow;
  negative_mode negative;
};

constexpr auto rne = rounding_mode::nearest_even;
constexpr auto rz = rounding_mode::toward_zero;
constexpr auto up = rounding_mode::up;
constexpr auto sat = overflow_mode::saturate;
constexpr auto nosat = overflow_mode::nonsaturating;
constexpr auto abs = negative_mode::abs;
constexpr auto to_nan = negative_mode::to_nan;

constexpr row_policy row_policies[] = {
    {"cuda_sat_rz", source::cuda, rz, sat, abs},
    {"cuda_sat_rp", source::cuda, up, sat, abs},
    {"cuda_nosat_rz", source::cuda, rz, nosat, abs},
    {"cuda_nosat_rp", source::cuda, up, nosat, abs},
    {"mld_nosat_rne", source::ml_dtypes, rne, nosat, to_nan},
    {"mld_nosat_trunc", source::ml_dtypes, rz, nosat, to_nan},
    {"mld_sat_rne", source::ml_dtypes, rne, sat, to_nan},
    {"mld_sat_trunc", source::ml_dtypes, rz, sat, to_nan},
    {"llvm22_rne", source::llvm, rne, nosat, abs},
    {"llvm22_rna", source::llvm, rounding_mode::nearest_away, nosat, abs},
    {"llvm22_rz", source::llvm, rz, nosat, abs},
    {"llvm22_rp", source::llvm, up, nosat, abs},
    {"llvm22_rn", source::llvm, rounding_mode::down, nosat, abs},
    {"te_host_float_to_e8m0", source::te, up, sat, abs},
    {"torchao_rceil", source::torchao, up, nosat, abs},
    {"onnxref_sat_up", source::onnx_reference, up, sat, abs},
    {"onnxref_sat_down", source::onnx_reference, rounding_mode::down, sat, abs},
    {"onnxref_sat_nearest", source::onnx_reference, rne, sat, abs},
    {"onnxref_nosat_up", source::onnx_reference, up, nosat, abs},
    {"onnxref_nosat_down", source::onnx_reference, rounding_mode::down, nosat, abs},
    {"onnxref_nosat_nearest", source::onnx_reference, rne, nosat, abs},
    {"deepgemm_ceil_to_ue8m0", source::deepgemm, up, sat, abs},
    {"gfloat_sat_rne", source::gfloat, rne, sat, to_nan},
    {"saturate=0,up", source::ort, up, nosat, to_nan},
    {"saturate=0,down", source::ort, rounding_mode::down, nosat, to_nan},
    {"saturate=0,nearest", source::ort, rne, nosat, to_nan},
    {"saturate=1,up", source::ort, up, sat, to_nan},
    {"saturate=1,down", source::ort, rounding_mode::down, sat, to_nan},
    {"saturate=1,nearest", source::ort, rne, sat, to_nan},
};

const row_policy& policy_of(const std::string& mode) {
  for (const row_policy& p : row_policies) {
    if (p.mode == mode) return p;
  }
  throw std::invalid_argument("no policy for the oracle row " + mode);
}

std::uint64_t encode(float x, const row_policy& p) {
  return p.negative == abs
             ? golden::encode_with<E8M0>(x, p.rounding, p.overflow, mxref::negative::abs{})
             : golden::encode_with<E8M0>(x, p.rounding, p.overflow, mxref::negative::to_nan{});
}

/// The code of a magnitude in 2^-127..2^128, rounded down or up; 255 means too large.
std::uint64_t floor_code(double mag) {
  if (std::isinf(mag)) return 0xFF;
  return mag < 0x1p-127 ? 0 : static_cast<std::uint64_t>(std::ilogb(mag) + 127);
}
std::uint64_t ceil_code(double mag) {
  const std::uint64_t code = floor_code(mag);
  if (code == 0xFF) return code;
  return code + (mag > std::ldexp(1.0, static_cast<int>(code) - 127) ? 1 : 0);
}

/// What the library documents and what the oracle gives instead, as codes.
struct divergence {
  std::string_view id;
  std::uint64_t documented;
  std::uint64_t oracle;
};

std::optional<divergence> find_divergence(const row_policy& p, float x) {
  const double mag = std::fabs(double{x});
  const bool negative = std::signbit(x) && x != 0;
  const bool saturating = p.overflow == sat;
  const bool tiny = mag > 0 && mag <= 0x1p-127;
  const bool nearest_defect = p.rounding == rne && mag > 0x1p-127 && mag < 0x1.8p-127;

  switch (p.oracle) {
    case source::ml_dtypes:
      if (std::isnan(x)) break;
      if (x == 0 && !saturating) return divergence{"e8m0_zero", 0, 0xFF};
      if (negative && saturating && std::isfinite(x)) return divergence{"e8m0_negative", 0xFF, 0};
      if (negative) break;
      if (std::isinf(x) && saturating) return divergence{"e8m0_inf_nan", 0xFE, 0xFF};
      if (nearest_defect) return divergence{"e8m0_subnormal_nearest", 0, 1};
      break;
    case source::llvm: {
      // The code is that of the signed number, and the sign lands in bit 7 unless the number
      // rounds to nothing.
      if (!negative || std::isnan(x)) break;
      const std::uint64_t inward = floor_code(mag);
      const std::uint64_t outward = ceil_code(mag);
      const bool ties_up = mag >= std::ldexp(1.5, static_cast<int>(inward) - 127);
      const std::uint64_t nearest = ties_up ? outward : inward;
      std::uint64_t documented = 0;
      std::uint64_t magnitude_code = 0;
      switch (p.rounding) {
        case rounding_mode::up:
          documented = outward;
          magnitude_code = inward;
          break;
        case rounding_mode::down:
          documented = inward;
          magnitude_code = outward;
          break;
        case rounding_mode::toward_zero:
          documented = magnitude_code = inward;
          break;
        default:
          documented = magnitude_code = nearest;
      }
      const bool vanishes = mag < 0x1p-127 && p.rounding != rounding_mode::down &&
                            (p.rounding == rz || p.rounding == up || mag <= 0x1p-128);
      const std::uint64_t code = vanishes ? 0 : magnitude_code | 0x80;
      if (code != documented) return divergence{"e8m0_negative", documented, code};
      break;
    }
    case source::onnx_reference:
      if (std::isnan(x)) break;
      if (std::isinf(x) && saturating) return divergence{"e8m0_inf_nan", 0xFE, 0xFF};
      if (p.rounding == up && tiny) return divergence{"e8m0_up_subnormal", 0, 1};
      if (nearest_defect) return divergence{"e8m0_subnormal_nearest", 0, 1};
      break;
    case source::deepgemm:
      if (std::isnan(x)) return divergence{"e8m0_inf_nan", 0xFF, 0xFE};
      if (x == 0) return divergence{"e8m0_zero", 0, 1};
      if (tiny) return divergence{"e8m0_up_subnormal", 0, 1};
      break;
    case source::gfloat: {
      if (std::isnan(x)) break;
      if (x == 0) return divergence{"e8m0_zero", 0, 0xFF};
      if (std::isinf(x) && negative) return divergence{"e8m0_negative", 0xFF, 0xFE};
      if (negative) break;
      // What rounds to 2^-128 or less has no code.
      if (mag < 0x1.8p-128) return divergence{"gfloat_e8m0_underflow", 0, 0xFF};
      const std::uint64_t below = floor_code(mag);
      const bool tie = std::isfinite(x) && mag == std::ldexp(1.5, static_cast<int>(below) - 127);
      if (tie && below % 2 == 0 && below != 0xFE) return divergence{"e8m0_tie", below + 1, below};
      break;
    }
    case source::ort: {
      if (std::isnan(x)) break;
      if (negative && saturating) return divergence{"e8m0_negative", 0xFF, 0};
      if (negative || saturating) break;
      if (mag < 0x1p-127) return divergence{x == 0 ? "e8m0_zero" : "ort_e8m0_underflow", 0, 0xFF};
      // Anything above 2^127 counts as overflow, whatever it rounds to.
      const bool stays =
          p.rounding == rounding_mode::down || (p.rounding == rne && mag < 0x1.8p127);
      if (mag > 0x1p127 && std::isfinite(mag) && stays) {
        return divergence{"ort_e8m0_overflow", 0xFE, 0xFF};
      }
      break;
    }
    case source::cuda:
    case source::te:
    case source::torchao:
      break;
  }
  return std::nullopt;
}

/// The value of a code, typed from MX 5.4.1.
std::uint64_t value_bits(std::uint64_t code) {
  return code == 0xFF ? 0x7FC00000
                      : golden::float_bits(std::ldexp(1.0, static_cast<int>(code) - 127));
}

void compare_row(const std::string& array, const std::string& mode,
                 const std::vector<std::uint64_t>& in, bool values) {
  const row_policy& p = policy_of(mode);
  golden::comparison row(array, mode);
  ASSERT_EQ(row.size(), in.size());
  for (std::size_t i = 0; i < in.size(); ++i) {
    const float x = golden::to_float(in[i]);
    std::uint64_t got = encode(x, p);
    if (values) got = std::bit_cast<std::uint32_t>(decode(E8M0{static_cast<std::uint8_t>(got)}));
    if (const std::optional<divergence> d = find_divergence(p, x)) {
      row.diverges(i, d->id, got, values ? value_bits(d->documented) : d->documented,
                   values ? value_bits(d->oracle) : d->oracle);
    } else {
      row.equal(i, got);
    }
  }
}

TEST(GoldenE8m0, Codes) {
  const std::vector<std::uint64_t> in = golden::load("e8m0_in");
  for (const std::string& mode : golden::info("e8m0_codes").modes) {
    compare_row("e8m0_codes", mode, in, false);
  }
}

TEST(GoldenE8m0, OnnxRuntimeValues) {
  const std::vector<std::uint64_t> in = golden::load("e8m0_in");
  for (const std::string& mode : golden::info("e8m0_ort").modes) {
    compare_row("e8m0_ort", mode, in, true);
  }
}

}  // namespace
