// SPDX-License-Identifier: Apache-2.0
// Side door: std::hash of elements and blocks, by code as their operator==.
#ifndef MXREF_HASH_HPP_
#define MXREF_HASH_HPP_

#include <cstddef>
#include <functional>

#include "mxref/block.hpp"
#include "mxref/config.hpp"
#include "mxref/element.hpp"

template <mxref::format_desc D>
struct std::hash<mxref::element<D>> {
  std::size_t operator()(const mxref::element<D>& e) const noexcept {
    return std::hash<typename mxref::element<D>::code_type>{}(e.code);
  }
};

/// FNV-1a over the scale and the packed codes.
template <class E, int B, class S>
struct std::hash<mxref::mx_block<E, B, S>> {
  std::size_t operator()(const mxref::mx_block<E, B, S>& b) const noexcept {
    std::uint64_t h = 0xCBF29CE484222325;
    const auto add = [&h](std::uint8_t byte) { h = (h ^ byte) * 0x100000001B3; };
    add(b.scale().code);
    for (std::size_t i = 0; i < mxref::packed_size(b.bits, static_cast<std::size_t>(B)); ++i) {
      add(b.codes()[i]);
    }
    return static_cast<std::size_t>(h);
  }
};

#endif  // MXREF_HASH_HPP_
