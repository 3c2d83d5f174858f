// SPDX-License-Identifier: Apache-2.0
// Level 3. mx_block: one shared scale and B packed element codes.
#ifndef MXREF_BLOCK_HPP_
#define MXREF_BLOCK_HPP_

#include <cstddef>
#include <cstdint>

#include "mxref/config.hpp"
#include "mxref/convert.hpp"
#include "mxref/element.hpp"
#include "mxref/formats.hpp"
#include "mxref/packing.hpp"
#include "mxref/scale.hpp"

MXREF_BEGIN_NAMESPACE

/// A block of B elements of format E that share a scale of format S (OCP MX 5.1). The bytes are
/// the scale code, then the element codes packed densely (see packing.hpp); MX leaves this open.
template <element_format E, int B = 32, element_format S = E8M0>
class mx_block {
 public:
  static constexpr int bits = E::desc.total_bits();
  static_assert(bits <= 8, "block elements have at most 8 bits");
  static_assert(is_valid_scale(S::desc),
                "a block scale has one byte, no sign and no Inf, or is binary32");
  static_assert(B >= 1 && B * bits % 8 == 0, "a block must fill whole bytes");

  using element_type = E;
  using scale_type = S;
  static constexpr int size = B;

  constexpr mx_block() noexcept = default;

  MXREF_HD constexpr S scale() const noexcept { return scale_; }
  MXREF_HD constexpr void set_scale(S s) noexcept { scale_ = s; }

  /// Element i without its scale, 0 <= i < B.
  MXREF_HD constexpr E element(int i) const noexcept {
    return E{get_packed(codes_, bits, static_cast<std::size_t>(i))};
  }
  MXREF_HD constexpr void set_element(int i, E e) noexcept {
    set_packed(codes_, bits, static_cast<std::size_t>(i), e.code);
  }

  /// The real number that element i stands for, scale applied: exact in double; in float a value
  /// beyond its range gives Inf (MX 5.1 leaves that open).
  template <native_float T = float>
  MXREF_HD constexpr T value(int i) const noexcept {
    return from_number<T>(scaled(element(i).to_number(), scale_.to_number()));
  }

  /// The packed element codes, packed_size(bits, B) bytes.
  MXREF_HD constexpr const std::uint8_t* codes() const noexcept { return codes_; }
  MXREF_HD constexpr std::uint8_t* codes() noexcept { return codes_; }

  friend constexpr bool operator==(const mx_block&, const mx_block&) noexcept = default;

 private:
  S scale_{};
  std::uint8_t codes_[packed_size(bits, static_cast<std::size_t>(B))]{};
};

// The concrete formats of OCP MX 5.2, table 1.
using mxfp8_e5m2 = mx_block<E5M2, 32>;
using mxfp8_e4m3 = mx_block<E4M3, 32>;
using mxfp6_e3m2 = mx_block<E3M2, 32>;
using mxfp6_e2m3 = mx_block<E2M3, 32>;
using mxfp4 = mx_block<E2M1, 32>;
using mxint8 = mx_block<INT8, 32>;

static_assert(sizeof(mxfp8_e5m2) == 33 && sizeof(mxfp8_e4m3) == 33 && sizeof(mxint8) == 33);
static_assert(sizeof(mxfp6_e3m2) == 25 && sizeof(mxfp6_e2m3) == 25);
static_assert(sizeof(mxfp4) == 17);

MXREF_END_NAMESPACE

#endif  // MXREF_BLOCK_HPP_
