// SPDX-License-Identifier: Apache-2.0
// Level 4. A matrix unit as an accumulation policy, and models: tables that say which operands an
// instruction takes and which unit it then is.
#ifndef MXREF_UNIT_MODEL_HPP_
#define MXREF_UNIT_MODEL_HPP_

#include <concepts>
#include <cstdint>
#include <initializer_list>

#include "mxref/accumulate.hpp"
#include "mxref/bits.hpp"
#include "mxref/config.hpp"
#include "mxref/convert.hpp"
#include "mxref/formats.hpp"
#include "mxref/status.hpp"
#include "mxref/terms.hpp"
#include "mxref/unit_desc.hpp"
#include "mxref/unit_step.hpp"

MXREF_BEGIN_NAMESPACE

namespace detail {

/// Bits of a product of two significands, their scales included.
constexpr int product_bits(const operand_kind& a, const operand_kind& b) noexcept {
  const auto bits = [](const operand_kind& o) {
    return o.format.man_bits + 1 + (o.block != 0 ? o.scale_format.man_bits + 1 : 0);
  };
  return bits(a) + bits(b);
}

/// Bits that an element takes in units of its format's quantum.
constexpr int fixed_point_bits(const format_desc& f) noexcept {
  return f.emax() + 1 - f.quantum_exp();
}

constexpr errc check_unit(const unit_desc& u, const operand_kind& a, const operand_kind& b,
                          const format_desc& out) noexcept {
  if (!is_valid(u)) return errc::unsupported_unit;
  const bool takes_scales =
      u.sum != unit_sum::flushed && u.sum != unit_sum::two_windows && u.restart == 0;
  for (const operand_kind& o : {a, b}) {
    if (o.format.code != encoding::sign_magnitude) return errc::unsupported_format;
    if (o.block == 0) continue;
    if (!takes_scales || o.scale_format.has_sign()) return errc::unsupported_format;
    const bool fits =
        o.block % u.length == 0 || (u.length % o.block == 0 && o.block % u.group == 0);
    if (!fits) return errc::block_mismatch;
  }
  if (u.sum == unit_sum::window) {
    // Every aligned term, and the sum of all, must fit 63 bits: beyond 2^F the significands give
    // two bits, scales two more, a group its own.
    int bits = product_bits(a, b);
    int above = 4;
    if (u.group != 1) {
      bits += fixed_point_bits(a.format) + fixed_point_bits(b.format) + ceil_log2(u.group);
      above += a.format.emax() + b.format.emax() + ceil_log2(u.group);
    }
    if (bits > 62) return errc::unsupported_format;
    if (u.fraction_bits + max_of(above, 4) + ceil_log2(u.length / u.group + 1) > 62) {
      return errc::unsupported_unit;
    }
  }
  return out == u.accumulator ? errc::ok : errc::unsupported_output;
}

}  // namespace detail

/// Whether a unit's step is the plain one: a window with a cut-off binary32 output, one
/// power-of-two scale for all its products, and products that binary32 holds exactly. What the
/// vector kernel of simd/ computes.
constexpr bool is_plain_window(const unit_desc& u, const operand_kind& a,
                               const operand_kind& b) noexcept {
  for (const operand_kind& o : {a, b}) {
    if (o.format.emin() < -31 || o.format.emax() > 31 || o.format.man_bits > 10) return false;
    if (o.block != 0 && (o.block != u.length || o.scale_format != E8M0::desc)) return false;
  }
  unit_desc plain;
  plain.length = u.length;
  plain.fraction_bits = u.fraction_bits;
  plain.exponent_floor = u.exponent_floor;
  plain.nan = u.nan;
  return u == plain && u.length <= 32 && u.fraction_bits <= 25 && u.exponent_floor >= -200;
}

namespace accumulate {

/// A matrix unit of any parameters. To define one is to write them down:
///
///     constexpr accumulate::matrix_unit narrow{{.length = 8, .fraction_bits = 20}};
///     status s = gemm(a, b, d, narrow);
///
/// Takes sign-magnitude elements; scales of any format without a sign whose blocks are whole steps
/// or whole parts of one (unit_sum::window and exact, without restart). Other parameters and
/// operands are refused. Checked: tests/sweep/unit_test.cpp
struct matrix_unit {
  unit_desc desc{};

  static constexpr const char* name = "matrix-unit";
  using operand = term;
  struct state {
    std::uint32_t value = 0;
    bool is_first = true;
  };

  constexpr int step_length(int) const noexcept { return desc.step(); }
  constexpr errc check(const operand_kind& a, const operand_kind& b,
                       format_desc out) const noexcept {
    return detail::check_unit(desc, a, b, out);
  }
  MXREF_HD constexpr void start(state& s, const number& c) const noexcept {
    s.value = detail::finish_nearest(c, desc.accumulator);
  }
  MXREF_HD constexpr void step(state& s, const chunk& a, const chunk& b) const noexcept {
    if (desc.sum == unit_sum::flushed && s.is_first && detail::flush(s.value) << 1 == 0) {
      s.value = 0;  // the initial C is flushed to +0, whatever its sign
    }
    s.is_first = false;
    s.value = detail::unit_step(desc, s.value, a, b);
  }
  MXREF_HD static constexpr std::uint32_t finish(const state& s, format_desc) noexcept {
    return s.value;
  }
};

}  // namespace accumulate

/// Element formats as bits, to write sets of them.
enum element_set : std::uint16_t {
  set_none = 0,
  set_f16 = 1,
  set_bf16 = 2,
  set_tf32 = 4,
  set_e4m3 = 8,
  set_e5m2 = 16,
  set_e2m3 = 32,
  set_e3m2 = 64,
  set_e2m1 = 128,
  set_e4m3fnuz = 256,
  set_e5m2fnuz = 512,
  set_fp8 = set_e4m3 | set_e5m2,
  set_f8f6f4 = set_fp8 | set_e2m3 | set_e3m2 | set_e2m1,
  set_fp8fnuz = set_e4m3fnuz | set_e5m2fnuz,
};

constexpr element_set set_of(const format_desc& f) noexcept {
  constexpr struct {
    format_desc format;
    element_set set;
  } all[] = {{binary16::desc, set_f16},      {bfloat16::desc, set_bf16},
             {TF32::desc, set_tf32},         {E4M3::desc, set_e4m3},
             {E5M2::desc, set_e5m2},         {E2M3::desc, set_e2m3},
             {E3M2::desc, set_e3m2},         {E2M1::desc, set_e2m1},
             {E4M3FNUZ::desc, set_e4m3fnuz}, {E5M2FNUZ::desc, set_e5m2fnuz}};
  for (const auto& entry : all) {
    if (entry.format == f) return entry.set;
  }
  return set_none;
}

/// One line of a model: an instruction's operands, the unit it is for them, and how that is known.
struct unit_mode {
  element_set a = set_none;
  element_set b = set_none;
  int block = 0;  ///< elements that share a scale; 0: the instruction has no scales
  format_desc scale_format{};
  unit_desc unit{};
  evidence known = evidence::guess;
  const char* source = "";
};

/// What a model is for given operands. Without one, why.
struct unit_choice {
  errc code = errc::unsupported_format;
  accumulate::matrix_unit unit{};
  evidence known = evidence::guess;
  const char* source = "";

  constexpr explicit operator bool() const noexcept { return code == errc::ok; }
};

/// The first line that takes the operands. A side without scales has scale 1 in an instruction
/// with scales.
constexpr unit_choice choose_unit(const unit_mode* modes, int count, const operand_kind& a,
                                  const operand_kind& b, const format_desc& out) noexcept {
  // Of the reasons to refuse, the one of the line that came furthest.
  int furthest = 0;
  for (int i = 0; i < count; ++i) {
    const unit_mode& m = modes[i];
    if ((set_of(a.format) & m.a) == 0 || (set_of(b.format) & m.b) == 0) continue;
    int passed = 1;
    const auto scale_fits = [&m](const operand_kind& o) {
      return o.block == 0 || (m.block != 0 && o.scale_format == m.scale_format);
    };
    const auto block_fits = [&m](const operand_kind& o) {
      return o.block == 0 || o.block == m.block;
    };
    if (scale_fits(a) && scale_fits(b)) {
      passed = 2;
      if (block_fits(a) && block_fits(b)) {
        passed = 3;
        if (m.unit.accumulator == out) return {errc::ok, {m.unit}, m.known, m.source};
      }
    }
    furthest = max_of(furthest, passed);
  }
  unit_choice none;
  if (furthest == 2) none.code = errc::block_mismatch;
  if (furthest == 3) none.code = errc::unsupported_output;
  return none;
}

/// A model of hardware: its table says which unit it is for given operands.
template <class P>
concept hardware_model = requires(const P p, format_desc out, operand_kind kind) {
  { p.resolve(kind, kind, out) } -> std::same_as<unit_choice>;
};

namespace detail {

/// Whether a policy takes these operands and makes this output. A model's unit must stand the
/// examination of any other: a user may have set its parameters.
template <class P>
constexpr errc check_policy(const P& p, const operand_kind& a, const operand_kind& b,
                            const format_desc& out) noexcept {
  if constexpr (hardware_model<P>) {
    const unit_choice choice = p.resolve(a, b, out);
    return choice ? choice.unit.check(a, b, out) : choice.code;
  } else {
    return p.check(a, b, out);
  }
}

/// What every model of hardware shares: Model::modes is its table.
template <class Model>
struct model_base {
  static constexpr unit_choice resolve(const operand_kind& a, const operand_kind& b,
                                       format_desc out) noexcept {
    return choose_unit(Model::modes, static_cast<int>(sizeof(Model::modes) / sizeof(unit_mode)), a,
                       b, out);
  }
};

}  // namespace detail

MXREF_END_NAMESPACE

#endif  // MXREF_UNIT_MODEL_HPP_
