// SPDX-License-Identifier: Apache-2.0
// One number over the results of the scalar core, to compare compilers, flags, processors and
// floating-point modes. Prints 16 hexadecimal digits.
//
//   digest [--parts] [--ftz] [--rounding up|down|zero]
//
//   --parts     prints a line for each part too, to see which one differs (expected.txt)
//   --ftz       sets flush-to-zero and denormals-are-zero before all work
//   --rounding  sets the rounding direction of the processor before all work
//
// Exit 0; 2: wrong arguments; 3: the processor does not have the mode.
// All data are made from integers, and floats are looked at as bits alone.
#include <cfenv>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>

#include "mxref/mxref.hpp"

#if defined(__SSE__)
#include <xmmintrin.h>
#endif

namespace {

using namespace mxref;

/// FNV-1a over the bytes of words, least significant first.
class hash {
 public:
  void add(std::uint64_t word) {
    for (int i = 0; i < 8; ++i) {
      state_ = (state_ ^ (word & 0xFF)) * 0x100000001B3U;
      word >>= 8;
    }
  }
  void add(float x) { add(std::uint64_t{bit_cast<std::uint32_t>(x)}); }
  void add(double x) { add(bit_cast<std::uint64_t>(x)); }
  std::uint64_t value() const { return state_; }

 private:
  std::uint64_t state_ = 0xCBF29CE484222325U;
};

class random_bits {
 public:
  explicit random_bits(std::uint64_t seed) : state_(seed) {}
  std::uint64_t next() {
    state_ += 0x9E3779B97F4A7C15U;
    std::uint64_t z = state_;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9U;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBU;
    return z ^ (z >> 31);
  }
  std::uint32_t word() { return static_cast<std::uint32_t>(next() >> 32); }
  std::uint32_t below(std::uint32_t n) {
    return static_cast<std::uint32_t>((next() >> 32) * n >> 32);
  }

 private:
  std::uint64_t state_;
};

constexpr format_desc all_formats[] = {
    E5M2::desc,
    E4M3::desc,
    E3M2::desc,
    E2M3::desc,
    E2M1::desc,
    INT8::desc,
    E8M0::desc,
    UE4M3::desc,
    bfloat16::desc,
    binary16::desc,
    TF32::desc,
    binary32::desc,
    format_desc{4, 3, 8, specials::nan_for_minus0},
    format_desc{5, 2, 16, specials::nan_for_minus0},
    format_desc{4, 3, 7, specials::ieee},
    format_desc{3, 4, 3, specials::ieee},
    format_desc{3, 0, 3},
    format_desc{1, 2, 1},
    format_desc{0, 5, 1, specials::none, encoding::twos_complement}};
constexpr format_desc mx_formats[] = {E5M2::desc, E4M3::desc, E3M2::desc,
                                      E2M3::desc, E2M1::desc, INT8::desc};

/// Fractions of `width` bits that end in ties of every mantissa width, and next to them.
template <class F>
void for_each_fraction(int width, F f) {
  f(std::uint64_t{0});
  f(low_mask(width));
  f(std::uint64_t{0x5555555555555555U} & low_mask(width));
  for (int bit = 0; bit < width; bit += bit < width - 12 ? 5 : 1) {
    const std::uint64_t tie = std::uint64_t{1} << bit;
    for (const std::uint64_t upper : {std::uint64_t{0}, tie << 1}) {
      f((upper | tie) & low_mask(width));
      f(((upper | tie) - 1) & low_mask(width));
      f(((upper | tie) + 1) & low_mask(width));
    }
  }
}

template <class F>
void for_each_float(int step, F f) {
  for (std::uint32_t exponent = 0; exponent < 256; ++exponent) {
    const bool is_end = exponent < 2 || exponent > 252 || (exponent > 100 && exponent < 150);
    if (!is_end && exponent % static_cast<std::uint32_t>(step) != 0) continue;
    for_each_fraction(23, [exponent, f](std::uint64_t fraction) {
      const std::uint32_t bits = exponent << 23 | static_cast<std::uint32_t>(fraction);
      f(bit_cast<float>(bits));
      f(bit_cast<float>(bits | 0x80000000U));
    });
  }
  random_bits random(1);
  for (int i = 0; i < 2000 / step; ++i) f(bit_cast<float>(random.word()));
}

template <class F>
void for_each_double(int step, F f) {
  for (int exponent = 0; exponent < 2048; ++exponent) {
    const bool is_end = exponent < 2 || exponent > 2045;
    const bool is_near = exponent > 1023 - 30 && exponent < 1023 + 30;
    const bool is_float = exponent > 1023 - 155 && exponent < 1023 + 132;
    if (!is_end && !is_near && !(is_float && exponent % step == 0)) continue;
    for_each_fraction(52, [exponent, f](std::uint64_t fraction) {
      const std::uint64_t bits = static_cast<std::uint64_t>(exponent) << 52 | fraction;
      f(bit_cast<double>(bits));
      f(bit_cast<double>(bits | std::uint64_t{1} << 63));
    });
  }
  random_bits random(2);
  for (int i = 0; i < 2000 / step; ++i) f(bit_cast<double>(random.next()));
}

constexpr rounding_mode all_roundings[] = {rounding_mode::nearest_even, rounding_mode::nearest_away,
                                           rounding_mode::toward_zero,  rounding_mode::up,
                                           rounding_mode::down,         rounding_mode::to_odd};
constexpr overflow_mode all_overflows[] = {overflow_mode::saturate, overflow_mode::nonsaturating,
                                           overflow_mode::saturate_full};

// Every format, rounding and overflow policy, chosen at run time.
void encode_dynamic(hash& h, const number& x) {
  for (const format_desc& f : all_formats) {
    for (const rounding_mode r : all_roundings) {
      for (const overflow_mode o : all_overflows) {
        h.add(to_code(f, x, rounding::dynamic{r}, overflow::dynamic{o}));
      }
    }
    if (!f.has_sign()) {
      h.add(to_code(f, x, rounding::nearest_even{}, overflow::saturate{}, negative::abs{}));
    }
  }
}

template <class E, class T>
void encode_static(hash& h, T x) {
  h.add(std::uint64_t{encode<E>(x).code});
  h.add(std::uint64_t{encode<E>(x, rounding::nearest_away{}).code});
  h.add(std::uint64_t{encode<E>(x, rounding::toward_zero{}, overflow::nonsaturating{}).code});
  h.add(std::uint64_t{encode<E>(x, rounding::up{}, overflow::saturate_full{}).code});
  h.add(std::uint64_t{encode<E>(x, rounding::down{}, overflow::nonsaturating{}).code});
  h.add(std::uint64_t{encode<E>(x, rounding::to_odd{}).code});
}
template <class T>
void encode_all_static(hash& h, T x) {
  encode_static<E5M2>(h, x);
  encode_static<E4M3>(h, x);
  encode_static<E3M2>(h, x);
  encode_static<E2M3>(h, x);
  encode_static<E2M1>(h, x);
  encode_static<INT8>(h, x);
  encode_static<E8M0>(h, x);
  encode_static<UE4M3>(h, x);
  encode_static<bfloat16>(h, x);
  encode_static<binary16>(h, x);
  encode_static<TF32>(h, x);
  encode_static<binary32>(h, x);
}

void encode_floats(hash& h) {
  for_each_float(7, [&h](float x) { encode_dynamic(h, to_number(x)); });
  for_each_float(2, [&h](float x) { encode_all_static(h, x); });
}
void encode_doubles(hash& h) {
  for_each_double(9, [&h](double x) { encode_dynamic(h, to_number(x)); });
  for_each_double(5, [&h](double x) { encode_all_static(h, x); });
}

template <class E>
void decode_codes(hash& h) {
  for (std::uint32_t code = 0; code >> E::desc.total_bits() == 0; ++code) {
    const E e{static_cast<typename E::code_type>(code)};
    h.add(decode<float>(e));
    h.add(decode<double>(e));
  }
}
void decode_all(hash& h) {
  decode_codes<E5M2>(h);
  decode_codes<E4M3>(h);
  decode_codes<E3M2>(h);
  decode_codes<E2M3>(h);
  decode_codes<E2M1>(h);
  decode_codes<INT8>(h);
  decode_codes<E8M0>(h);
  decode_codes<UE4M3>(h);
  decode_codes<bfloat16>(h);
  decode_codes<binary16>(h);
  for (const format_desc& f : all_formats) {
    if (f.total_bits() > 8) continue;
    for (std::uint32_t code = 0; code < 256; ++code) h.add(from_number<double>(to_number(f, code)));
  }
  for_each_float(3, [&h](float x) {
    const std::uint32_t bits = bit_cast<std::uint32_t>(x);
    h.add(decode<double>(binary32{bits}));
    h.add(decode<float>(TF32{bits >> 13}));
  });
}

/// Numbers of a block: within a few binades, far apart, or with zeros, subnormals and specials.
template <class T>
T draw(random_bits& random, int kind) {
  const std::uint32_t sign = random.below(2) << 31;
  const std::uint32_t fraction = random.word() >> 9;
  std::uint32_t exponent = 124 + random.below(8);
  if (kind == 1) exponent = 100 + random.below(60);
  if (kind == 2) exponent = random.below(255);
  std::uint32_t bits = exponent << 23 | fraction;
  if (kind == 3 || kind == 4) {
    constexpr std::uint32_t values[] = {0,          1,          0x007FFFFF, 0x00800000,
                                        0x3F800000, 0x40200000, 0x7F7FFFFF, 0x42FFFFFF,
                                        0x3F000001, 0x437FFFFF, 0x7F800000, 0x7FC00001};
    bits = values[random.below(kind == 3 ? 10 : 12)];
  }
  number x = to_number(binary32_desc, bits | sign);
  if (std::same_as<T, double> && kind < 3) {  // bits that binary32 does not have
    x.sig = x.sig << 29 | (random.next() >> 35);
    x.exp -= 29;
  }
  return from_number<T>(x);
}

template <class T, class Policy>
void quantize_with(hash& h, format_desc f, const T* x, int count, Policy on_nan) {
  for (const rounding_mode r : all_roundings) {
    for (const overflow_mode o : all_overflows) {
      const quantizer<scale::floor, rounding::dynamic, overflow::dynamic, Policy> q{
          {}, {r}, {o}, on_nan};
      E8M0 s;
      std::uint8_t codes[64] = {};
      quantize_block(x, 1, count, f, q, s, codes);
      h.add(std::uint64_t{s.code});
      for (int i = 0; i < count; ++i) h.add(std::uint64_t{codes[i]});
    }
  }
}

template <class T>
void quantize_blocks(hash& h) {
  random_bits random(3);
  for (int round = 0; round < 100; ++round) {
    constexpr int counts[] = {32, 32, 1, 16, 31, 7};
    const int count = counts[round % 6];
    T x[32];
    for (T& v : x) v = draw<T>(random, round % 5);
    for (const format_desc& f : mx_formats) {
      quantize_with(h, f, x, count, nan::poison{});
      quantize_with(h, f, x, count, nan::gfloat_inf{});
      quantize_with(h, f, x, count, nan::finite{});
    }
  }
}

/// The other scale rules, and stochastic rounding, as numbers of quantized matrices.
template <class T>
void fake_quantize_blocks(hash& h, random_bits& random) {
  constexpr index_t depth = 40;
  for (int round = 0; round < 40; ++round) {
    T x[2 * depth];
    for (T& v : x) v = draw<T>(random, round % 5);
    for (const format_desc& f : mx_formats) {
      for (const scale_rule rule :
           {scale_rule::floor, scale_rule::ceil, scale_rule::even, scale_rule::rceil}) {
        const rounding_mode mode =
            round % 2 == 0 ? rounding_mode::stochastic : rounding_mode::nearest_even;
        const quantizer<scale::dynamic, rounding::dynamic> q{{rule}, {mode, random.next(), 24}};
        float y[2 * depth] = {};
        const int axis = round % 3 == 0 ? 0 : -1;
        h.add(std::uint64_t{
            fake_quantize(view(x, 2, depth), view(y, 2, depth), f, 16, q, {axis, false}).ok()});
        for (const float v : y) h.add(v);
      }
    }
  }
}
void scales_and_random_bits(hash& h) {
  random_bits random(8);
  fake_quantize_blocks<float>(h, random);
  fake_quantize_blocks<double>(h, random);
}

// Packed blocks: their bytes, and every value of them.
template <class E, int B>
void pack_blocks(hash& h) {
  random_bits random(4);
  for (int round = 0; round < 40; ++round) {
    float x[B];
    for (float& v : x) v = draw<float>(random, round % 5);
    const int count = round % 3 == 0 ? B - 5 : B;
    auto block = quantize<mx_block<E, B>>(x, count);
    for (int pass = 0; pass < 2; ++pass) {
      h.add(std::uint64_t{block.scale().code});
      for (std::size_t i = 0; i < packed_size(block.bits, B); ++i) {
        h.add(std::uint64_t{block.codes()[i]});
      }
      for (int i = 0; i < B; ++i) {
        h.add(block.value(i));
        h.add(block.template value<double>(i));
      }
      block.set_scale(E8M0{static_cast<std::uint8_t>(random.word())});
      block.set_element(round % B, E{static_cast<typename E::code_type>(random.word() & 0xF)});
    }
  }
}
void pack_all(hash& h) {
  pack_blocks<E5M2, 32>(h);
  pack_blocks<E4M3, 16>(h);
  pack_blocks<E3M2, 32>(h);
  pack_blocks<E2M3, 32>(h);
  pack_blocks<E2M1, 16>(h);
  pack_blocks<E2M1, 32>(h);
  pack_blocks<INT8, 32>(h);
}

constexpr index_t rows = 3;
constexpr index_t cols = 4;
constexpr index_t max_depth = 70;

// Quantized matrices along both axes, and what comes back.
template <class E>
void quantize_matrices(hash& h) {
  random_bits random(5);
  for (int round = 0; round < 12; ++round) {
    float x[rows * max_depth];
    for (float& v : x) v = draw<float>(random, round % 5);
    const matrix_view<float> in = view(x, rows, max_depth);
    for (const int axis : {0, -1}) {
      const auto m =
          axis == 0 ? quantize<mx_block<E, 32>>(transposed(in)) : quantize<mx_block<E, 32>>(in);
      for (index_t i = 0; i < m.rows() * m.depth(); ++i) h.add(std::uint64_t{m.codes()[i]});
      for (index_t i = 0; i < m.rows() * m.block_count(); ++i) h.add(std::uint64_t{m.scales()[i]});
      float y[rows * max_depth];
      double z[rows * max_depth];
      const matrix_view<float> out = view(y, rows, max_depth);
      h.add(std::uint64_t{dequantize(m.operand(), axis == 0 ? transposed(out) : out).ok()});
      h.add(std::uint64_t{dequantize(m.operand(), view(z, m.rows(), m.depth())).ok()});
      for (const float v : y) h.add(v);
      for (const double v : z) h.add(v);
    }
  }
}
void quantize_all_matrices(hash& h) {
  quantize_matrices<E5M2>(h);
  quantize_matrices<E4M3>(h);
  quantize_matrices<E3M2>(h);
  quantize_matrices<E2M3>(h);
  quantize_matrices<E2M1>(h);
  quantize_matrices<INT8>(h);
}

/// An operand of codes in containers of their own size.
class operand {
 public:
  operand(format_desc f, index_t row_count, index_t depth, int kind, random_bits& random) {
    view_.format = f;
    view_.codes = codes_;
    view_.rows = row_count;
    view_.depth = depth;
    view_.col_bytes = container_bytes(f);
    view_.row_bytes = depth * view_.col_bytes;
    for (index_t i = 0; i < row_count * depth; ++i) {
      std::uint32_t code = random.word();
      if (kind < 4) {
        const number x = to_number(draw<double>(random, kind == 3 ? 3 : 0));
        code = static_cast<std::uint32_t>(to_code(f, x, rounding::nearest_even{}));
      }
      auto* p = codes_ + i * view_.col_bytes;
      const auto narrow = static_cast<std::uint16_t>(code);
      if (view_.col_bytes == 1) *p = static_cast<std::uint8_t>(code);
      if (view_.col_bytes == 2) std::memcpy(p, &narrow, sizeof narrow);
      if (view_.col_bytes == 4) std::memcpy(p, &code, sizeof code);
    }
  }
  operand(const operand&) = delete;
  operand& operator=(const operand&) = delete;

  void scale(int block, format_desc f, int kind, random_bits& random) {
    view_.block = block;
    view_.scale_format = f;
    view_.scales = scales_;
    view_.scale_row_bytes = view_.block_count();
    for (std::uint8_t& s : scales_) {
      const std::uint32_t one = f == E8M0::desc ? 127 : 0x38;
      std::uint32_t code = one - 5 + random.below(11);
      if (kind == 1) code = random.below(static_cast<std::uint32_t>(f.max_magnitude()) + 1);
      if (kind == 2) code = 46 + random.below(12);  // products around the smallest numbers
      if (kind == 3 && random.below(8) == 0) code = static_cast<std::uint32_t>(f.nan_code());
      s = static_cast<std::uint8_t>(code);
    }
  }
  /// Repeats the first half of every row in the second half, with the other sign if wanted: two
  /// such operands have products that cancel.
  void mirror(bool negate) {
    const index_t width = view_.col_bytes;
    const index_t half = view_.depth / 2;
    const int sign = view_.format.total_bits() - 1;
    for (index_t row = 0; row < view_.rows; ++row) {
      std::uint8_t* first = codes_ + row * view_.row_bytes;
      std::memcpy(first + half * width, first, static_cast<std::size_t>(half * width));
      for (index_t k = half; k < 2 * half && negate; ++k) {
        first[k * width + sign / 8] ^= static_cast<std::uint8_t>(1U << (sign % 8));
      }
    }
  }
  const operand_view& get() const { return view_; }

 private:
  operand_view view_;
  std::uint8_t codes_[cols * max_depth * 4] = {};
  std::uint8_t scales_[cols * max_depth] = {};
};

template <class P, class Out>
void hash_gemm(hash& h, const operand_view& a, const operand_view& b, const gemm_options& o) {
  Out d[rows * cols] = {};
  const status s = gemm(a, b, view(d, rows, cols), P{}, o);
  h.add(static_cast<std::uint64_t>(s.code));
  for (const Out& x : d) {
    if constexpr (native_float<Out>) {
      h.add(x);
    } else {
      h.add(std::uint64_t{x.code});
    }
  }
}

// Pairs of formats that the policy refuses are part of the hash by their status.
template <class P>
void gemm_all(hash& h) {
  constexpr format_desc formats[] = {E5M2::desc, E4M3::desc,    E3M2::desc,     E2M3::desc,
                                     E2M1::desc, INT8::desc,    bfloat16::desc, binary16::desc,
                                     TF32::desc, binary32::desc};
  random_bits random(6);
  int round = 0;
  for (const format_desc& fa : formats) {
    for (const format_desc& fb : formats) {
      for (int kind = 0; kind < 5; ++kind) {
        ++round;
        constexpr index_t depths[] = {32, 70, 33, 64, 1, 0};
        const index_t depth = depths[round % 6];
        operand a(fa, rows, depth, kind, random);
        operand b(fb, cols, depth, kind, random);
        // NVFP4 scales, one side unscaled, both sides unscaled, products that cancel, no C.
        const bool nvfp4 = round % 7 == 3;
        const int block = nvfp4 ? 16 : 32;
        if (round % 4 != 0) a.scale(block, nvfp4 ? UE4M3::desc : E8M0::desc, kind, random);
        if (round % 4 != 0 && round % 3 != 0) b.scale(block, E8M0::desc, kind, random);
        if (kind == 1 || round % 8 == 1) {
          a.mirror(false);
          b.mirror(true);
        }
        gemm_options options;
        if (round % 8 == 4) options.block = 16;
        operand c(round % 2 == 0 ? binary32::desc : bfloat16::desc, rows, cols, kind, random);
        if (kind != 2 && round % 3 != 0) options.c = c.get();
        hash_gemm<P, float>(h, a.get(), b.get(), options);
        options.epilogue = true;
        options.alpha = draw<float>(random, round % 5);
        options.beta = draw<float>(random, 0);
        hash_gemm<P, float>(h, a.get(), b.get(), options);
        options.epilogue = false;
        if constexpr (std::same_as<P, accumulate::exact>) {
          hash_gemm<P, binary16>(h, a.get(), b.get(), options);
          hash_gemm<P, bfloat16>(h, a.get(), b.get(), options);
          hash_gemm<P, E4M3>(h, a.get(), b.get(), options);
        }
      }
    }
  }
}

template <class P>
void dot_all(hash& h) {
  random_bits random(7);
  for (int round = 0; round < 60; ++round) {
    float x[32];
    float y[32];
    for (float& v : x) v = draw<float>(random, round % 5);
    for (float& v : y) v = draw<float>(random, round % 3);
    const auto a = quantize<mxfp8_e4m3>(x);
    const auto b = quantize<mxfp4>(y);
    const auto c = quantize<mxfp6_e3m2>(y, scale::floor{}, rounding::toward_zero{});
    h.add(dot(a, b, P{}));
    h.add(dot(a, c, P{}, x[0]));
    h.add(dot(b, c, P{}, y[0]));
  }
}

template <class P>
void accumulate_all(hash& h) {
  gemm_all<P>(h);
  dot_all<P>(h);
}

// Every line of every model of a matrix unit, and library orders around it.
void matrix_units_all(hash& h) {
  constexpr format_desc formats[] = {binary16::desc, bfloat16::desc, TF32::desc, E4M3::desc,
                                     E5M2::desc,     E3M2::desc,     E2M3::desc, E2M1::desc,
                                     E4M3FNUZ::desc, E5M2FNUZ::desc};
  random_bits random(9);
  int round = 0;
  for (const unit_model& model : matrix_units) {
    for (int line = 0; line < model.mode_count; ++line) {
      const unit_mode& mode = model.modes[line];
      for (const format_desc& fa : formats) {
        for (const format_desc& fb : formats) {
          if ((set_of(fa) & mode.a) == 0 || (set_of(fb) & mode.b) == 0) continue;
          for (int kind = 0; kind < 5; ++kind) {
            ++round;
            constexpr index_t depths[] = {64, 70, 33, 32};
            operand a(fa, rows, depths[round % 4], kind, random);
            operand b(fb, cols, depths[round % 4], kind, random);
            if (mode.block != 0) {
              a.scale(mode.block, mode.scale_format, kind, random);
              b.scale(mode.block, mode.scale_format, kind, random);
            }
            if (kind == 1) {
              a.mirror(false);
              b.mirror(true);
            }
            gemm_options options;
            operand c(mode.unit.accumulator, rows, cols, kind, random);
            if (round % 3 != 0) options.c = c.get();
            if (round % 7 == 1) options.split_k = 2;
            if (round % 7 == 2) options.promotion = 2 * mode.unit.step();
            if (round % 7 == 3) options.tensor_scale = 0x1.4p-3F;
            std::uint32_t d[rows * cols] = {};
            output_view out;
            out.format = mode.unit.accumulator;
            out.data = d;
            out.rows = rows;
            out.cols = cols;
            out.col_bytes = sizeof d[0];
            out.row_bytes = cols * out.col_bytes;
            h.add(static_cast<std::uint64_t>(gemm(a.get(), b.get(), out, model, options).code));
            for (const std::uint32_t code : d) h.add(std::uint64_t{code});
          }
        }
      }
    }
  }
}

void binary32_operations(hash& h) {
  random_bits random(8);
  for (int i = 0; i < 40000; ++i) {
    const auto a = bit_cast<std::uint32_t>(draw<float>(random, i % 5));
    const auto b = bit_cast<std::uint32_t>(draw<float>(random, i % 4));
    const auto c = bit_cast<std::uint32_t>(draw<float>(random, i % 3));
    h.add(std::uint64_t{add_binary32(a, b)});
    h.add(std::uint64_t{fma_binary32(a, b, c)});
  }
}

struct part {
  const char* name;
  void (*run)(hash&);
};
constexpr part parts[] = {
    {"encode-float", encode_floats},
    {"encode-double", encode_doubles},
    {"decode", decode_all},
    {"quantize-float", quantize_blocks<float>},
    {"quantize-double", quantize_blocks<double>},
    {"scale-rules", scales_and_random_bits},
    {"packed-blocks", pack_all},
    {"matrices", quantize_all_matrices},
    {"binary32", binary32_operations},
    {accumulate::exact::name, accumulate_all<accumulate::exact>},
    {accumulate::block_exact_fp32::name, accumulate_all<accumulate::block_exact_fp32>},
    {accumulate::block_fused_fp32::name, accumulate_all<accumulate::block_fused_fp32>},
    {accumulate::fp32_chain::name, accumulate_all<accumulate::fp32_chain>},
    {accumulate::nvidia_blackwell_tcgen05_mxf8f6f4::name,
     accumulate_all<accumulate::nvidia_blackwell_tcgen05_mxf8f6f4>},
    {"matrix-units", matrix_units_all},
};

std::uint32_t product_bits(std::uint32_t a, std::uint32_t b) {
  volatile float x = bit_cast<float>(a);
  volatile float y = bit_cast<float>(b);
  volatile float z = x * y;
  const float result = z;
  return bit_cast<std::uint32_t>(result);
}

/// Sets the mode and looks at a product to see that the processor obeys: a subnormal one.
bool set_flush_to_zero() {
#if defined(__SSE__)
  _mm_setcsr(_mm_getcsr() | 0x8040U);
#elif defined(__aarch64__)
  std::uint64_t fpcr = 0;
  __asm__ volatile("mrs %0, fpcr" : "=r"(fpcr));
  __asm__ volatile("msr fpcr, %0" : : "r"(fpcr | std::uint64_t{1} << 24));
#endif
  return product_bits(0x00800000, 0x3F000000) == 0;
}

/// The same for rounding: (1 + 2^-23) * (1 + 2^-23), and its negative.
bool set_rounding(const char* direction) {
  int mode = -1;
  bool positive_up = false;
  bool negative_up = false;
#ifdef FE_UPWARD
  if (std::strcmp(direction, "up") == 0) mode = FE_UPWARD;
#endif
#ifdef FE_DOWNWARD
  if (std::strcmp(direction, "down") == 0) mode = FE_DOWNWARD;
#endif
#ifdef FE_TOWARDZERO
  if (std::strcmp(direction, "zero") == 0) mode = FE_TOWARDZERO;
#endif
  positive_up = std::strcmp(direction, "up") == 0;
  negative_up = std::strcmp(direction, "down") == 0;
  if (mode < 0 || std::fesetround(mode) != 0) return false;
  return product_bits(0x3F800001, 0x3F800001) == (positive_up ? 0x3F800003U : 0x3F800002U) &&
         product_bits(0xBF800001, 0x3F800001) == (negative_up ? 0xBF800003U : 0xBF800002U);
}

void print(const char* name, const hash& h) {
  if (*name != '\0') std::printf("%s ", name);
  std::printf("%016llX\n", static_cast<unsigned long long>(h.value()));
}

int fail(int code, const char* message) {
  std::fprintf(stderr, "digest: %s\n", message);
  return code;
}

}  // namespace

int main(int argc, char** argv) {
  bool print_parts = false;
  for (int i = 1; i < argc; ++i) {
    if (std::strcmp(argv[i], "--parts") == 0) {
      print_parts = true;
    } else if (std::strcmp(argv[i], "--ftz") == 0) {
      if (!set_flush_to_zero()) return fail(3, "this processor does not flush to zero");
    } else if (std::strcmp(argv[i], "--rounding") == 0 && i + 1 < argc) {
      ++i;
      if (!set_rounding(argv[i])) return fail(3, "this rounding direction cannot be set");
    } else {
      return fail(2, "usage: digest [--parts] [--ftz] [--rounding up|down|zero]");
    }
  }
  hash all;
  for (const part& p : parts) {
    hash h;
    p.run(h);
    all.add(h.value());
    if (print_parts) print(p.name, h);
  }
  print(print_parts ? "all" : "", all);
  return 0;
}
