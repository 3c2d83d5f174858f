// SPDX-License-Identifier: Apache-2.0
// Element conversion against every oracle, bit for bit. An oracle row is a rounding, an overflow
// policy and a short list of named divergences; where one applies, the oracle must give what the
// divergence says and the library what its documentation says.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "golden_formats.hpp"
#include "golden_policies.hpp"
#include "golden_reference.hpp"
#include "mxref/element.hpp"
#include "support/golden.hpp"

namespace {

using golden::constants;
using golden::kind;
using golden::of;
using mxref::overflow_mode;
using mxref::rounding_mode;

enum class source { cuda, ml_dtypes, llvm, amd, torchao, te, deepgemm, gfloat };

struct row_policy {
  std::string_view mode;
  source oracle;
  rounding_mode rounding;
  overflow_mode overflow;
};

constexpr auto rne = rounding_mode::nearest_even;
constexpr auto rna = rounding_mode::nearest_away;
constexpr auto rz = rounding_mode::toward_zero;
constexpr auto up = rounding_mode::up;
constexpr auto down = rounding_mode::down;
constexpr auto odd = rounding_mode::to_odd;
constexpr auto sat = overflow_mode::saturate;
constexpr auto nosat = overflow_mode::nonsaturating;

constexpr row_policy row_policies[] = {
    {"mld_nosat_rne", source::ml_dtypes, rne, nosat},
    {"mld_sat_rne", source::ml_dtypes, rne, sat},
    {"mld_nosat_trunc", source::ml_dtypes, rz, nosat},
    {"mld_sat_trunc", source::ml_dtypes, rz, sat},
    {"llvm22_rne", source::llvm, rne, nosat},
    {"llvm22_rna", source::llvm, rna, nosat},
    {"llvm22_rz", source::llvm, rz, nosat},
    {"llvm22_rp", source::llvm, up, nosat},
    {"llvm22_rn", source::llvm, down, nosat},
    {"cuda_sat_rne", source::cuda, rne, sat},
    {"cuda_nosat_rne", source::cuda, rne, nosat},
    {"cuda_sat_rz", source::cuda, rz, sat},
    {"amd_sat_rne", source::amd, rne, sat},
    {"amd_nosat_rne", source::amd, rne, nosat},
    {"torchao_rne", source::torchao, rne, sat},
    {"te_ref_rne", source::te, rne, sat},
    {"deepgemm_rnd", source::deepgemm, rne, sat},
    {"gfloat_sat_rne", source::gfloat, rne, sat},
    {"gfloat_nosat_rne", source::gfloat, rne, nosat},
    {"gfloat_sat_rna", source::gfloat, rna, sat},
    {"gfloat_nosat_rna", source::gfloat, rna, nosat},
    {"gfloat_sat_rz", source::gfloat, rz, sat},
    {"gfloat_nosat_rz", source::gfloat, rz, nosat},
    {"gfloat_sat_rp", source::gfloat, up, sat},
    {"gfloat_nosat_rp", source::gfloat, up, nosat},
    {"gfloat_sat_rn", source::gfloat, down, sat},
    {"gfloat_nosat_rn", source::gfloat, down, nosat},
    {"gfloat_sat_rto", source::gfloat, odd, sat},
    {"gfloat_nosat_rto", source::gfloat, odd, nosat},
    {"cuda_f64_sat_rne", source::cuda, rne, sat},
    {"cuda_f64_nosat_rne", source::cuda, rne, nosat},
    {"mld_f64_nosat_rne", source::ml_dtypes, rne, nosat},
    {"mld_f64_sat_rne", source::ml_dtypes, rne, sat},
    {"llvm22_f64_rne", source::llvm, rne, nosat},
    {"llvm22_f64_rna", source::llvm, rna, nosat},
    {"llvm22_f64_rz", source::llvm, rz, nosat},
    {"llvm22_f64_rp", source::llvm, up, nosat},
    {"llvm22_f64_rn", source::llvm, down, nosat},
};

const row_policy& policy_of(const std::string& mode) {
  for (const row_policy& p : row_policies) {
    if (p.mode == mode) return p;
  }
  throw std::invalid_argument("no policy for the oracle row " + mode);
}

/// What the library documents and what the oracle gives instead (nothing: unspecified).
struct divergence {
  std::string_view id;
  std::uint64_t documented;
  std::optional<std::uint64_t> oracle;
};

/// The code an oracle writes for a NaN with this sign and these leading payload bits.
std::optional<std::uint64_t> nan_of(source oracle, const constants& f, bool negative,
                                    std::uint64_t payload, bool from_double) {
  const std::uint64_t sign = negative ? f.sign : 0;
  const std::uint64_t quiet =
      f.family == kind::ieee ? std::uint64_t{1} << (f.mantissa_bits - 1) : 0;
  if (f.family == kind::fnuz) return f.nan;
  if (f.family == kind::finite_only) {
    switch (oracle) {
      case source::cuda:
        return f.largest;
      case source::ml_dtypes:
        return negative ? 0 : f.sign;
      case source::llvm:
        return sign;
      case source::amd:
        return sign | f.largest;
      case source::te:
      case source::deepgemm:
        return 0;
      case source::gfloat:
        return 0xAA;  // stored where it raises
      case source::torchao:
        return std::nullopt;
    }
  }
  switch (oracle) {
    case source::cuda:
      return from_double && f.family == kind::ieee ? sign | f.infinity | quiet | payload : f.nan;
    case source::ml_dtypes:
      return sign | (f.family == kind::ieee ? f.infinity | quiet : f.nan);
    case source::llvm:
      return sign | (f.family == kind::ieee ? f.infinity | quiet | payload : f.nan);
    case source::amd:
      return f.family == kind::ieee ? 0xFD : f.nan;
    default:
      return f.sign | f.nan;  // gfloat: 0xFF
  }
}

/// A NaN: the library writes its one NaN code, or the largest value where there is none.
divergence nan_divergence(source oracle, const constants& f, bool negative, std::uint64_t payload,
                          bool from_double) {
  const bool finite = f.family == kind::finite_only;
  return {finite ? "nan_finite_only" : "nan_sign_payload_fp8", f.nan,
          nan_of(oracle, f, negative, payload, from_double)};
}

/// What beyond the largest value is an overflow, before any saturation.
bool overflows(double x, const constants& f, rounding_mode r) {
  const double mag = std::fabs(x);
  if (std::isinf(mag)) return true;
  switch (r) {
    case rounding_mode::nearest_even:
      return mag > f.overflow_at || (mag == f.overflow_at && f.overflow_at_itself);
    case rounding_mode::nearest_away:
      return mag >= f.overflow_at;
    case rounding_mode::nearest_toward_zero:
      return mag > f.overflow_at;
    case rounding_mode::toward_zero:
      return false;
    case rounding_mode::up:
      return x > f.largest_value;
    case rounding_mode::down:
      return x < -f.largest_value;
    case rounding_mode::to_odd:
      return mag > f.largest_value;
    case rounding_mode::stochastic:  // no oracle has it here
      break;
  }
  return false;
}

std::optional<divergence> find_divergence(const row_policy& p, const constants& f, double x) {
  const bool negative = std::signbit(x);
  const double mag = std::fabs(x);
  const std::uint64_t sign = negative ? f.sign : 0;
  const std::uint64_t largest = sign | f.largest;
  const std::uint64_t overflowed = f.family == kind::fnuz ? f.nan : sign | f.infinity;
  const bool saturating = p.overflow == sat;
  const bool e4m3 = f.family == kind::ocp_nan;

  switch (p.oracle) {
    case source::ml_dtypes: {
      if (f.family == kind::finite_only) break;
      // One step above the largest value.
      const double next = 2 * f.overflow_at - f.largest_value;
      if (saturating && std::isinf(x)) return divergence{"sat_infinity", largest, overflowed};
      if (!saturating && p.rounding == rz && std::isfinite(x) && mag >= next) {
        return divergence{"mld_trunc_overflow", largest, overflowed};
      }
      break;
    }
    case source::llvm:
      if (std::isinf(x) && f.family == kind::finite_only) {
        return divergence{"inf_finite_only_llvm", largest, sign};
      }
      break;
    case source::amd:
      if (x == 0 && negative) return divergence{"amd_negzero", f.sign, 0};
      if (e4m3 && !saturating && mag == 464) return divergence{"amd_nosat_464", largest, f.nan};
      if (e4m3 && !saturating && negative && overflows(x, f, p.rounding)) {
        return divergence{"overflow_nan_sign", overflowed, f.nan};
      }
      break;
    case source::gfloat:
      if (e4m3 && !saturating && !negative && overflows(x, f, p.rounding)) {
        return divergence{"overflow_nan_sign", overflowed, f.sign | f.nan};
      }
      break;
    case source::te:
      if (x == 0 && negative) return divergence{"te_negzero", f.sign, 0};
      break;
    case source::deepgemm:
      if (negative && mag <= 0.25) return divergence{"deepgemm_negzero", f.sign, 0};
      if (mag == 0.75) return divergence{"deepgemm_ties", sign | 2, sign | 1};
      if (mag == 1.75) return divergence{"deepgemm_ties", sign | 4, sign | 3};
      if (mag == 3.5) return divergence{"deepgemm_ties", sign | 6, sign | 5};
      break;
    case source::cuda:
    case source::torchao:
      break;
  }
  return std::nullopt;
}

/// The leading bits of the payload, as many as the format has mantissa bits.
std::uint64_t leading_payload(std::uint64_t bits, int width, const constants& f) {
  return bits >> (width - f.mantissa_bits) & ((std::uint64_t{1} << f.mantissa_bits) - 1);
}

template <class E, class T>
void compare_row(const std::string& array, const std::string& mode,
                 const std::vector<std::uint64_t>& in) {
  constexpr bool from_double = sizeof(T) == 8;
  const constants& f = of<E>;
  const row_policy& p = policy_of(mode);
  golden::comparison row(array, mode);
  ASSERT_EQ(row.size(), in.size());
  for (std::size_t i = 0; i < in.size(); ++i) {
    T x;
    if constexpr (from_double) {
      x = std::bit_cast<double>(in[i]);
    } else {
      x = golden::to_float(in[i]);
    }
    const std::uint64_t got = golden::encode_with<E>(x, p.rounding, p.overflow);
    std::optional<divergence> d;
    if (std::isnan(x)) {
      d = nan_divergence(p.oracle, f, std::signbit(x),
                         leading_payload(in[i], from_double ? 52 : 23, f), from_double);
      // Oracles that write the library's code are compared like any other; torchao's code of a
      // NaN is unspecified and may be anything.
      if (d->oracle.value_or(row.oracle(i)) == d->documented) d.reset();
    } else {
      d = find_divergence(p, f, static_cast<double>(x));
    }
    if (d) {
      row.diverges(i, d->id, got, d->documented, d->oracle);
    } else {
      row.equal(i, got);
    }
  }
}

template <class E>
class GoldenEncode : public testing::Test {};
TYPED_TEST_SUITE(GoldenEncode, golden::float_formats, golden::format_names);

TYPED_TEST(GoldenEncode, EveryOracle) {
  const std::string name = std::string("enc_") + of<TypeParam>.name;
  const std::vector<std::uint64_t> in = golden::load(name + "_in");
  for (const std::string& mode : golden::info(name + "_codes").modes) {
    compare_row<TypeParam, float>(name + "_codes", mode, in);
  }
}

template <class E>
class GoldenEncodeDouble : public testing::Test {};
TYPED_TEST_SUITE(GoldenEncodeDouble, golden::ocp_float_formats, golden::format_names);

TYPED_TEST(GoldenEncodeDouble, EveryOracle) {
  const std::string name = std::string("encf64_") + of<TypeParam>.name;
  const std::vector<std::uint64_t> in = golden::load(name + "_in");
  for (const std::string& mode : golden::info(name + "_codes").modes) {
    if (!mode.starts_with("TRAP")) {
      compare_row<TypeParam, double>(name + "_codes", mode, in);
    }
  }
}

// The row that was rounded twice must be what encode(float(x)) gives, and the direct conversion
// must differ from it exactly where the first rounding moved the number onto or across a tie.
TYPED_TEST(GoldenEncodeDouble, DoubleRoundingTrap) {
  const std::string name = std::string("encf64_") + of<TypeParam>.name;
  const std::vector<std::uint64_t> in = golden::load(name + "_in");
  golden::comparison row(name + "_codes", "TRAP_f64_to_f32_then_cuda_sat_rne");
  int differ = 0;
  for (std::size_t i = 0; i < in.size(); ++i) {
    const auto x = std::bit_cast<double>(in[i]);
    const std::uint64_t twice = golden::encode_with<TypeParam>(static_cast<float>(x), rne, sat);
    row.equal(i, twice);
    differ += golden::encode_with<TypeParam>(x, rne, sat) != twice ? 1 : 0;
  }
  // divergences.json, double_rounding_*: inputs on which the trap springs.
  const std::string_view format = of<TypeParam>.name;
  const int expected = format == "e4m3"   ? 533
                       : format == "e5m2" ? 546
                       : format == "e2m1" ? 70
                                          : 310;
  EXPECT_EQ(differ, expected);
}

/// ONNX Runtime: a cast to the type and back, so values are compared.
template <class E>
void compare_onnx_runtime() {
  const constants& f = of<E>;
  const std::string name = std::string("enc_") + f.name;
  const std::vector<std::uint64_t> in = golden::load(name + "_in");
  for (const auto& [mode, overflow] :
       {std::pair{"saturate=0", nosat}, std::pair{"saturate=1", sat}}) {
    golden::comparison row(name + "_ort", mode);
    ASSERT_EQ(row.size(), in.size());
    for (std::size_t i = 0; i < in.size(); ++i) {
      const float x = golden::to_float(in[i]);
      const double mag = std::fabs(double{x});
      const E code{static_cast<std::uint8_t>(golden::encode_with<E>(x, rne, overflow))};
      const std::uint64_t got = std::bit_cast<std::uint32_t>(decode(code));
      const bool positive = !std::signbit(x);
      if (f.family == kind::ocp_nan && overflow == nosat && mag >= 480 && mag < 496) {
        row.diverges(i, "ort_e4m3_nosat_480", got, 0x7FC00000, positive ? 0x43E00000 : 0xC3E00000);
      } else if (f.family == kind::ieee && overflow == nosat && mag >= 61440 && mag < 65536) {
        row.diverges(i, "ort_e5m2_nosat_nan", got, positive ? 0x7F800000 : 0xFF800000, 0x7FC00000);
      } else {
        row.equal(i, got);
      }
    }
  }
}

template <class E>
class GoldenOnnxRuntime : public testing::Test {};
using onnx_formats = testing::Types<mxref::E4M3, mxref::E5M2, golden::E4M3FNUZ, golden::E5M2FNUZ>;
TYPED_TEST_SUITE(GoldenOnnxRuntime, onnx_formats, golden::format_names);

TYPED_TEST(GoldenOnnxRuntime, CastAndBack) { compare_onnx_runtime<TypeParam>(); }

/// microxcaling's element core gives values. Its defects are modelled in golden_reference.hpp: the
/// model must predict every entry, and a value that differs from exact rounding must have a name.
template <class E>
void compare_microxcaling() {
  const constants& f = of<E>;
  const std::string name = std::string("enc_") + f.name;
  const std::vector<std::uint64_t> in = golden::load(name + "_in");
  for (const auto& [mode, rounding] :
       {std::pair{"nearest", rna}, std::pair{"floor", rz}, std::pair{"even", rne}}) {
    golden::comparison row(name + "_microx", mode);
    ASSERT_EQ(row.size(), in.size());
    for (std::size_t i = 0; i < in.size(); ++i) {
      const float x = golden::to_float(in[i]);
      const double mag = std::fabs(double{x});
      const E code{static_cast<std::uint8_t>(golden::encode_with<E>(x, rounding, sat))};
      const std::uint64_t got = std::bit_cast<std::uint32_t>(decode(code));
      const std::uint64_t model = golden::float_bits(golden::microx_element(x, f, rounding));
      std::uint64_t documented = golden::float_bits(golden::exact_element(x, f, rounding));
      if (std::isnan(x)) {
        const double nan_value = f.family == kind::integer ? 0 : f.largest_value;
        documented = f.has_nan() ? 0x7FC00000 : golden::float_bits(nan_value);
      }
      if (model == documented) {
        EXPECT_EQ(row.oracle(i), model) << name << ' ' << mode << " entry " << i;
        row.equal(i, got);
        continue;
      }
      const char* id = nullptr;
      if (std::isnan(x)) {
        id = "nan_finite_only";
      } else if (std::isinf(x)) {
        id = "microx_inf_passes";
      } else if (x == 0) {
        id = "microx_negzero";
      } else if (f.family == kind::integer && got == 0 && model == 0x80000000) {
        id = "int8_negative_zero";
      } else if (f.family != kind::integer && golden::microx_log2(mag) == 128) {
        id = "microx_elem_fltmax";
      } else if (rounding != rz && mag == (0.5 - 0x1p-25) * f.quantum) {
        id = "microx_half_minus_ulp";
      } else if (rounding == rz && golden::microx_log2(mag) != std::ilogb(mag)) {
        id = "microx_floor_private_exp";
      }
      ASSERT_NE(id, nullptr) << name << ' ' << mode << " entry " << i << " has no named divergence";
      row.diverges(i, id, got, documented, model);
    }
  }
}

template <class E>
class GoldenMicroxcaling : public testing::Test {};
using microx_formats =
    testing::Types<mxref::E4M3, mxref::E5M2, mxref::E3M2, mxref::E2M3, mxref::E2M1, mxref::INT8>;
TYPED_TEST_SUITE(GoldenMicroxcaling, microx_formats, golden::format_names);

TYPED_TEST(GoldenMicroxcaling, ElementValues) { compare_microxcaling<TypeParam>(); }

// gfloat uses code -128. Its divergence from microxcaling, and from the library's default, is
// counted: the default must clamp to -127 exactly where gfloat writes -128.
TEST(GoldenInt8, Gfloat) {
  using mxref::INT8;
  const std::vector<std::uint64_t> in = golden::load("enc_int8_in");
  const struct {
    const char* mode;
    rounding_mode rounding;
  } modes[] = {{"gfloat_sat_rne", rne},
               {"gfloat_sat_rna", rna},
               {"gfloat_sat_rz", rz},
               {"gfloat_sat_rp", up},
               {"gfloat_sat_rn", down}};
  for (const auto& [mode, rounding] : modes) {
    golden::comparison row("enc_int8_codes", mode);
    ASSERT_EQ(row.size(), in.size());
    int lowest = 0;
    for (std::size_t i = 0; i < in.size(); ++i) {
      const float x = golden::to_float(in[i]);
      const std::uint64_t got =
          golden::encode_with<INT8>(x, rounding, overflow_mode::saturate_full);
      if (std::isnan(x)) {
        row.diverges(i, "nan_finite_only", got, 0, 0xAA);  // gfloat raises
        continue;
      }
      row.equal(i, got);
      const std::uint64_t symmetric = golden::encode_with<INT8>(x, rounding, sat);
      EXPECT_EQ(symmetric, got == 0x80 ? 0x81 : got) << x;
      lowest += got == 0x80 ? 1 : 0;
    }
    EXPECT_GT(lowest, 0) << mode << " never reaches -128";
  }
}

}  // namespace
