// SPDX-License-Identifier: Apache-2.0
// What is rounded where: the settings that an intervention may change at any step.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "mxref/mxref.hpp"

namespace instability {

using mxref::index_t;

template <class Value>
struct named {
  std::string_view name;
  Value value;
};

/// How the operands of a role are stored.
enum class element : std::uint8_t { fp32, bf16, e4m3, e5m2, e3m2, e2m3, e2m1, int8 };

inline constexpr named<element> element_names[] = {
    {"fp32", element::fp32}, {"bf16", element::bf16}, {"e4m3", element::e4m3},
    {"e5m2", element::e5m2}, {"e3m2", element::e3m2}, {"e2m3", element::e2m3},
    {"e2m1", element::e2m1}, {"int8", element::int8}};

/// The element format of an MX role.
constexpr mxref::format_desc desc_of(element e) noexcept {
  switch (e) {
    case element::e5m2:
      return mxref::E5M2::desc;
    case element::e3m2:
      return mxref::E3M2::desc;
    case element::e2m3:
      return mxref::E2M3::desc;
    case element::e2m1:
      return mxref::E2M1::desc;
    case element::int8:
      return mxref::INT8::desc;
    default:
      return mxref::E4M3::desc;
  }
}

constexpr bool is_mx(element e) noexcept { return e != element::fp32 && e != element::bf16; }

/// floor, ceil, even, rceil: of the library. bump: floor, and one more when the largest element
/// would saturate. column_bump: the faulty form of bump, see README.md.
enum class scale_choice : std::uint8_t { floor, ceil, even, rceil, bump, column_bump };

inline constexpr named<scale_choice> scale_names[] = {
    {"floor", scale_choice::floor}, {"ceil", scale_choice::ceil},
    {"even", scale_choice::even},   {"rceil", scale_choice::rceil},
    {"bump", scale_choice::bump},   {"column-bump", scale_choice::column_bump}};

inline constexpr named<mxref::rounding_mode> rounding_names[] = {
    {"nearest-away", mxref::rounding_mode::nearest_away},
    {"nearest-even", mxref::rounding_mode::nearest_even},
    {"toward-zero", mxref::rounding_mode::toward_zero},
    {"stochastic", mxref::rounding_mode::stochastic}};

/// Rounding to bfloat16 of what every vector operation gives.
enum class vector_rounding : std::uint8_t { off, nearest_away, nearest_even };

inline constexpr named<vector_rounding> vector_names[] = {
    {"off", vector_rounding::off},
    {"nearest-away", vector_rounding::nearest_away},
    {"nearest-even", vector_rounding::nearest_even}};

/// LayerNorm: fp32; bf16 after every operation; partial: bf16 from the variance on, and an
/// unrounded backward pass; mx_affine: bf16 with gain and bias quantized like a weight.
enum class norm_mode : std::uint8_t { fp32, bf16, partial, mx_affine };

inline constexpr named<norm_mode> norm_names[] = {{"fp32", norm_mode::fp32},
                                                  {"bf16", norm_mode::bf16},
                                                  {"partial", norm_mode::partial},
                                                  {"mx-affine", norm_mode::mx_affine}};

/// Activation functions: the real function rounded once, or emulated, rounded after every
/// operation.
enum class activation_mode : std::uint8_t { exact, emulated };

inline constexpr named<activation_mode> activation_modes[] = {
    {"exact", activation_mode::exact}, {"emulated", activation_mode::emulated}};

/// Order of the sums of a matrix product.
enum class accumulation : std::uint8_t { fp32_chain, exact };

inline constexpr named<accumulation> accumulation_names[] = {
    {"fp32-chain", accumulation::fp32_chain}, {"exact", accumulation::exact}};

/// One operand of a matrix product. bf16: rounded by `rounding` alone; MX: first rounded to
/// bfloat16 as vector operations are, then quantized in blocks along the reduction axis.
struct role_precision {
  element format = element::e4m3;
  scale_choice scale = scale_choice::floor;
  mxref::rounding_mode rounding = mxref::rounding_mode::nearest_away;
  int block = 32;

  friend bool operator==(const role_precision&, const role_precision&) = default;
};

/// w, a: forward. w_bp, os: weight and output gradient of the input gradient. a_bp, ex: input and
/// output gradient of the weight gradient.
enum class role : std::uint8_t { w, a, w_bp, a_bp, ex, os };
inline constexpr int role_count = 6;
inline constexpr std::string_view role_names[role_count] = {"w", "a", "w_bp", "a_bp", "ex", "os"};

struct precision {
  role_precision roles[role_count];
  vector_rounding vector = vector_rounding::nearest_away;
  norm_mode norm = norm_mode::bf16;
  activation_mode activation = activation_mode::exact;
  bool backward = true;  ///< false: the backward pass in binary32, from unrounded operands
  bool train_beta = true;
  accumulation sums = accumulation::fp32_chain;
  int random_bits = 32;

  const role_precision& operator[](role r) const { return roles[static_cast<int>(r)]; }
  role_precision& operator[](role r) { return roles[static_cast<int>(r)]; }

  friend bool operator==(const precision&, const precision&) = default;
};

/// Nothing is rounded below binary32.
constexpr precision full_precision() noexcept {
  precision p;
  for (role_precision& r : p.roles) r.format = element::fp32;
  p.vector = vector_rounding::off;
  p.norm = norm_mode::fp32;
  return p;
}

/// The largest significand of a format that survives under the floor rule: max / 2^emax.
inline float clamp_threshold(mxref::format_desc f) noexcept {
  mxref::number most = mxref::to_number(f, f.max_magnitude());
  most.exp -= f.emax();
  return mxref::from_number<float>(most);
}

}  // namespace instability
