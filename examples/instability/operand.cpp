// SPDX-License-Identifier: Apache-2.0
#include "operand.hpp"

#include <vector>

namespace instability {

namespace {

using mxref::format_desc;
using mxref::number;

mxref::scale_rule library_rule(scale_choice s) noexcept {
  switch (s) {
    case scale_choice::ceil:
      return mxref::scale_rule::ceil;
    case scale_choice::even:
      return mxref::scale_rule::even;
    case scale_choice::rceil:
      return mxref::scale_rule::rceil;
    case scale_choice::bump:
      return mxref::scale::bump::rule;
    default:
      return mxref::scale_rule::floor;
  }
}

/// A part of a tensor that begins at its row `first`, and everything that decides its bits.
struct part {
  mxref::matrix_view<const float> in;
  mxref::matrix_view<float> out;
  format_desc format;
  int block;
  axis blocks;
  mxref::simd::convert_policy policy;

  mxref::source_order order() const noexcept {
    return {policy.first, policy.row_step, policy.step};
  }
  mxref::rounding::dynamic rounding() const noexcept {
    return {policy.rounding, policy.seed, policy.random_bits};
  }
  /// Seen so that blocks run along rows.
  template <class T>
  mxref::matrix_view<T> along(mxref::matrix_view<T> v) const noexcept {
    return blocks == axis::along_rows ? v : mxref::transposed(v);
  }
};

void quantize_fast(const engine& e, const part& p) {
  const auto& k = e.kernels();
  if (p.blocks == axis::along_rows) {
    k.fake_quantize(p.in.data, p.in.row_stride, p.in.rows, p.in.cols, p.format, p.block, p.policy,
                    p.out.data, p.out.row_stride);
  } else {
    k.fake_quantize_columns(p.in.data, p.in.row_stride, p.in.rows, p.in.cols, p.format, p.block,
                            p.policy, p.out.data, p.out.row_stride);
  }
}

/// Whether the significand of a number, scaled as the largest of a block, is above the largest
/// element's.
bool saturates_alone(const number& x, format_desc f) noexcept {
  if (x.sig == 0) return false;
  number most = mxref::to_number(f, f.max_magnitude());
  most.exp += mxref::detail::floor_log2(x) - f.emax();
  return mxref::detail::magnitude_less(most, x);
}

/// The faulty bump: the largest number at each position within a block, over all blocks of a row,
/// decides whether the exponent is one more at that position of every block.
void quantize_column_bump(const part& p) {
  const mxref::matrix_view<const float> in = p.along(p.in);
  const mxref::matrix_view<float> out = p.along(p.out);
  const mxref::quantizer<mxref::scale::floor, mxref::rounding::dynamic> q{{}, p.rounding()};
  std::vector<char> is_bumped(static_cast<std::size_t>(p.block));
  for (index_t row = 0; row < in.rows; ++row) {
    for (index_t i = 0; i < p.block && i < in.cols; ++i) {
      const auto blocks = static_cast<int>((in.cols - i + p.block - 1) / p.block);
      const auto found = mxref::find_amax(&in(row, i), p.block * in.col_stride, blocks);
      is_bumped[static_cast<std::size_t>(i)] = saturates_alone(found.amax, p.format) ? 1 : 0;
    }
    for (index_t k = 0; k < in.cols; k += p.block) {
      const auto count = static_cast<int>(in.cols - k < p.block ? in.cols - k : p.block);
      const auto found = mxref::find_amax(&in(row, k), in.col_stride, count);
      const number shared = mxref::choose_scale(found, p.format, q).to_number();
      for (int i = 0; i < count; ++i) {
        number scale = shared;
        if (is_bumped[static_cast<std::size_t>(i)] != 0) ++scale.exp;
        const auto position = p.order().at(row, k + i)(0);
        number x = mxref::to_number(in(row, k + i));
        x.exp -= scale.exp;
        const std::uint64_t code =
            scale.is_nan() ? 0 : mxref::to_code(p.format, x, q.rounding.at(position), q.overflow);
        out(row, k + i) =
            mxref::from_number<float>(mxref::scaled(mxref::to_number(p.format, code), scale));
      }
    }
  }
}

void quantize(const engine& e, scale_choice scale, const part& p) {
  if (scale == scale_choice::column_bump) return quantize_column_bump(p);
  quantize_fast(e, p);
}

/// Numbers to bfloat16 by a rounding that vector operations do not have.
void round_bfloat16(const mxref::rounding::dynamic& rounding, std::uint64_t first, const float* in,
                    index_t count, float* out) {
  for (index_t i = 0; i < count; ++i) {
    const auto r = rounding.at(first + static_cast<std::uint64_t>(i));
    const auto code = mxref::to_code(mxref::bfloat16::desc, mxref::to_number(in[i]), r,
                                     mxref::overflow::nonsaturating{});
    out[i] = mxref::from_number<float>(mxref::to_number(mxref::bfloat16::desc, code));
  }
}

const float* prepare_bfloat16(const engine& e, const mxref::rounding::dynamic& rounding,
                              const tensor& x, float* out) {
  e.for_numbers(x.count(), [&](index_t first, index_t n) {
    switch (rounding.mode) {
      case mxref::rounding_mode::nearest_away:
        return e.vectors().round(vector_rounding::nearest_away, x.data + first, n, out + first);
      case mxref::rounding_mode::nearest_even:
        return e.vectors().round(vector_rounding::nearest_even, x.data + first, n, out + first);
      default:
        return round_bfloat16(rounding, static_cast<std::uint64_t>(first), x.data + first, n,
                              out + first);
    }
  });
  return out;
}

}  // namespace

const float* prepare(const engine& e, const role_precision& role, vector_rounding r,
                     int random_bits, const tensor& x, axis blocks, std::uint64_t seed,
                     float* out) {
  if (role.format == element::fp32) return x.data;
  if (role.format == element::bf16) {
    return prepare_bfloat16(e, {role.rounding, seed, random_bits}, x, out);
  }
  const bool down = blocks == axis::down_columns;
  // The faulty bump looks along the whole axis.
  const index_t unit = !down ? 1 : role.scale == scale_choice::column_bump ? x.rows : role.block;
  const bool rounds = r != vector_rounding::off;
  constexpr index_t padding = 16;  // so that the rows of a column do not share cache sets
  const index_t stride = x.width + padding;
  const index_t at_once = engine::rows_at_once(x.width, unit);
  const auto scratch_size =
      static_cast<std::size_t>((at_once < x.rows ? at_once : x.rows) * stride);
  e.for_pieces(x.rows, at_once, [&](index_t first, index_t rows) {
    part p{};
    p.in = mxref::view(x.data + first * x.width, rows, x.width);
    p.out = mxref::view(out + first * x.width, rows, x.width);
    p.format = desc_of(role.format);
    p.block = role.block;
    p.blocks = blocks;
    p.policy.rounding = role.rounding;
    p.policy.scale = library_rule(role.scale);
    p.policy.seed = seed;
    p.policy.random_bits = random_bits;
    p.policy.first = static_cast<std::uint64_t>(first * x.width);
    p.policy.row_step = down ? 1 : static_cast<std::uint64_t>(x.width);
    p.policy.step = down ? static_cast<std::uint64_t>(x.width) : 1;
    if (rounds) {
      thread_local std::vector<float> mine;
      if (mine.size() < scratch_size) mine.resize(scratch_size);
      for (index_t row = 0; row < rows; ++row) {
        e.vectors().round(r, &p.in(row, 0), x.width, mine.data() + row * stride);
      }
      p.in = mxref::view<const float>(mine.data(), rows, x.width, stride);
    }
    quantize(e, role.scale, p);
  });
  return out;
}

}  // namespace instability
