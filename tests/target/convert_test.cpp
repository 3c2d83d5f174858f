// SPDX-License-Identifier: Apache-2.0
// The conversion kernels of every target equal the scalar core bit for bit.
#include "target_fixture.hpp"

namespace {

using namespace target_test;
namespace simd = mxref::simd;

/// For blocks besides: a largest number below 1, which scales do not reach, and codes narrower than
/// their container.
std::vector<named_format> block_formats() {
  std::vector<named_format> formats(std::begin(all_formats), std::end(all_formats));
  formats.push_back({"all_below_1", {4, 3, 24, mxref::specials::nan_only}});
  formats.push_back({"INT4", {0, 3, 0, mxref::specials::none, mxref::encoding::twos_complement}});
  return formats;
}

class EncodeKernel : public on_target {};
class DecodeKernel : public on_target {};
class QuantizeKernel : public on_target {};
class DequantizeKernel : public on_target {};

template <class F>
void for_every_policy(F&& f) {
  for (int rounding = 0; rounding < 8; ++rounding) {  // the last is stochastic
    for (int overflow = 0; overflow < 3; ++overflow) {
      for (int negative = 0; negative < 2; ++negative) {
        simd::convert_policy p;
        p.rounding = static_cast<mxref::rounding_mode>(rounding);
        p.overflow = static_cast<mxref::overflow_mode>(overflow);
        p.negative = static_cast<mxref::negative_mode>(negative);
        p.seed = 0x0123456789ABCDEF + static_cast<std::uint64_t>(overflow);
        p.random_bits = negative == 0 ? 32 : 1 + 5 * overflow;
        f(p);
      }
    }
  }
}

TEST_P(EncodeKernel, EqualsToCodeForEveryFormatPolicyAndLength) {
  generator r(1);
  for (const named_format& entry : all_formats) {  // clang 14 captures no structured binding
    const char* name = entry.name;
    const format_desc f = entry.desc;
    const auto width = static_cast<std::size_t>(mxref::container_bytes(f));
    for_every_policy([&](const simd::convert_policy& p) {
      for (int round = 0; round < 12; ++round) {
        const int offset = below(r, 4);
        const int n = below(r, 90);
        std::vector<float> x(static_cast<std::size_t>(offset + n));
        for (float& v : x) v = any_float(r, f.emin() - f.man_bits - 3, f.emax() + 3);
        std::vector<std::uint8_t> codes(static_cast<std::size_t>(n) * width + 8, 0xCD);
        ASSERT_TRUE(
            simd::encode_with(table(), x.data() + offset, n, f, p, codes.data(), simd::serial{}));
        for (int i = 0; i < n; ++i) {
          std::uint32_t got = 0;
          std::memcpy(&got, codes.data() + static_cast<std::size_t>(i) * width, width);
          const float in = x[static_cast<std::size_t>(offset + i)];
          const mxref::rounding::dynamic rounding{p.rounding, p.seed, p.random_bits};
          const auto want = mxref::to_code(
              f, mxref::to_number(in), rounding.at(static_cast<std::uint64_t>(i)),
              mxref::overflow::dynamic{p.overflow}, mxref::negative::dynamic{p.negative});
          ASSERT_EQ(got, want) << name << " x=" << std::hexfloat << in << " rounding "
                               << static_cast<int>(p.rounding) << " overflow "
                               << static_cast<int>(p.overflow);
        }
        for (std::size_t i = 0; i < 8; ++i) {
          ASSERT_EQ(codes[static_cast<std::size_t>(n) * width + i], 0xCD) << "written past the end";
        }
      }
    });
  }
}

TEST_P(DecodeKernel, EqualsToNumberForEveryCode) {
  for (const named_format& entry : all_formats) {  // clang 14 captures no structured binding
    const char* name = entry.name;
    const format_desc f = entry.desc;
    const int bits = std::min(f.total_bits(), 16);
    const int shift = f.total_bits() - bits;  // wide formats: the upper 16 bits, and odd lower ones
    const auto width = static_cast<std::size_t>(mxref::container_bytes(f));
    const std::size_t n = (std::size_t{1} << bits) - 1;  // not a multiple of any vector
    std::vector<std::uint8_t> codes(n * width);
    std::vector<float> out(n + 1, 99.0F);
    for (std::size_t i = 0; i < n; ++i) {
      const auto code = static_cast<std::uint32_t>(i << shift | (shift > 0 ? i % 7 : 0));
      mxref::store_code(codes.data() + i * width, static_cast<index_t>(width), code);
    }
    ASSERT_TRUE(simd::decode_with(table(), codes.data(), static_cast<index_t>(n), f, out.data(),
                                  simd::serial{}));
    for (std::size_t i = 0; i < n; ++i) {
      std::uint32_t code = 0;
      std::memcpy(&code, codes.data() + i * width, width);
      ASSERT_EQ(
          mxref::bit_cast<std::uint32_t>(out[i]),
          mxref::bit_cast<std::uint32_t>(mxref::from_number<float>(mxref::to_number(f, code))))
          << name << " code " << std::hex << code;
    }
    ASSERT_EQ(out[n], 99.0F);
  }
}

TEST_P(QuantizeKernel, EqualsTheCoreForEveryFormatPolicyBlockAndStride) {
  generator r(2);
  for (const named_format& entry : block_formats()) {  // clang 14 captures no structured binding
    const char* name = entry.name;
    const format_desc f = entry.desc;
    if (f.total_bits() > 8) continue;
    for_every_policy([&](const simd::convert_policy& base) {
      for (int nan = 0; nan < 4; ++nan) {
        for (int round = 0; round < 6; ++round) {
          simd::convert_policy p = base;
          p.on_nan = static_cast<mxref::nan_mode>(nan);
          p.scale = static_cast<mxref::scale_rule>(below(r, 15));
          // ggml's search is long in formats of many codes.
          const bool is_search = p.scale == mxref::scale_rule::ggml;
          if (is_search && f.total_bits() > 4) p.scale = mxref::scale_rule::microx;
          const mxref::quantizer<mxref::scale::dynamic, mxref::rounding::dynamic,
                                 mxref::overflow::dynamic, mxref::nan::dynamic>
              q{{p.scale}, {p.rounding, p.seed, p.random_bits}, {p.overflow}, {p.on_nan}};
          const int block = below(r, 2) != 0 ? 32 : 1 + below(r, 70);
          const index_t rows = 1 + below(r, below(r, 2) != 0 ? 5 : 80);
          const index_t cols = below(r, 100);
          const index_t step = 1 + below(r, 2);
          const int axis = below(r, 2) - 1;
          std::vector<float> x(static_cast<std::size_t>(rows * cols * step + 1));
          const int center = below(r, 300) - 150;
          const bool plain = below(r, 3) == 0;  // no NaN, no Inf: kernels take every block
          for (float& v : x) {
            do {
              v = any_float(r, center - 20, center + 3);
            } while (plain && !mxref::to_number(v).is_finite());
          }
          mxref::matrix_view<const float> in{x.data() + 1, rows, cols, cols * step, step};
          if (below(r, 4) == 0) in = mxref::transposed(in);
          const index_t out_rows = axis == 0 ? in.cols : in.rows;
          const index_t depth = axis == 0 ? in.rows : in.cols;
          const index_t blocks = (depth + block - 1) / block;
          const bool by_columns = below(r, 3) == 0;
          // Numbers of a larger source, some of which may even share a position.
          const mxref::source_order order{r(), static_cast<std::uint64_t>(below(r, 3) * 7 + 1),
                                          static_cast<std::uint64_t>(1 + below(r, 2))};
          const mxref::quantize_options options{axis, false, below(r, 3) == 0 ? &order : nullptr};
          std::vector<std::uint8_t> codes[2];
          std::vector<std::uint8_t> scales[2];
          mxref::status s[2];
          for (int i = 0; i < 2; ++i) {
            codes[i].assign(static_cast<std::size_t>(out_rows * depth), 0xEE);
            scales[i].assign(static_cast<std::size_t>(out_rows * blocks), 0xEE);
            const mxref::quantized_view out{f,
                                            block,
                                            codes[i].data(),
                                            by_columns ? 1 : depth,
                                            scales[i].data(),
                                            blocks,
                                            by_columns ? out_rows : 1};
            s[i] = i == 0 ? mxref::quantize(in, out, q, options)
                          : simd::quantize_with(table(), in, out, q, options, simd::serial{});
          }
          ASSERT_EQ(s[0].code, s[1].code);
          ASSERT_EQ(codes[0], codes[1]) << name << " block " << block;
          ASSERT_EQ(scales[0], scales[1]) << name << " block " << block;

          // The same as numbers, into another place or in place.
          std::vector<float> values[2];
          for (int i = 0; i < 2; ++i) {
            values[i] = x;
            mxref::matrix_view<float> out{values[i].data() + 1, in.rows, in.cols, in.row_stride,
                                          in.col_stride};
            const auto from = below(r, 2) == 0 ? mxref::matrix_view<const float>(out) : in;
            s[i] = i == 0 ? mxref::fake_quantize(from, out, f, block, q, options)
                          : simd::fake_quantize_with(table(), from, out, f, block, q, options,
                                                     simd::serial{});
          }
          ASSERT_EQ(s[0].code, s[1].code);
          ASSERT_EQ(std::memcmp(values[0].data(), values[1].data(), x.size() * sizeof(float)), 0)
              << name << " block " << block << " axis " << axis;
        }
      }
    });
  }
}

TEST_P(DequantizeKernel, EqualsTheCoreForEveryFormatScaleAndStorage) {
  generator r(3);
  for (const named_format& entry : all_formats) {  // clang 14 captures no structured binding
    const char* name = entry.name;
    const format_desc f = entry.desc;
    for (int round = 0; round < 60; ++round) {
      mxref::operand_view v;
      const index_t width = mxref::container_bytes(f);
      const bool dense = f.total_bits() <= 8 && below(r, 3) == 0;
      v.format = f;
      v.rows = 1 + below(r, 6);
      v.depth = below(r, 80);
      v.storage = dense ? mxref::code_storage::dense : mxref::code_storage::containers;
      v.col_bytes = width * (1 + below(r, 2));
      v.row_bytes = v.depth * v.col_bytes + below(r, 3) * width;
      std::vector<std::uint8_t> codes(static_cast<std::size_t>(v.rows * v.row_bytes + 1));
      for (auto& c : codes) c = static_cast<std::uint8_t>(r());
      v.codes = codes.data();
      v.block = below(r, 4) == 0 ? 0 : 1 + below(r, 40);
      std::vector<std::uint8_t> scales(static_cast<std::size_t>(v.rows * (v.block_count() + 1)) +
                                       1);
      for (auto& s : scales) s = static_cast<std::uint8_t>(r());
      v.scale_format = below(r, 4) == 0 ? mxref::UE4M3::desc : mxref::E8M0::desc;
      v.scales = scales.data();
      v.scale_row_bytes = v.block_count() + 1;
      const int axis = below(r, 2) - 1;
      const index_t rows = axis == 0 ? v.depth : v.rows;
      const index_t cols = axis == 0 ? v.rows : v.depth;
      std::vector<float> out[2];
      for (int i = 0; i < 2; ++i) {
        out[i].assign(static_cast<std::size_t>(rows * cols + 1), 5.0F);
        const auto to = mxref::view(out[i].data(), rows, cols);
        ASSERT_TRUE(i == 0 ? mxref::dequantize(v, to, axis)
                           : simd::dequantize_with(table(), v, to, axis, simd::serial{}));
      }
      ASSERT_EQ(std::memcmp(out[0].data(), out[1].data(), out[0].size() * sizeof(float)), 0)
          << name << " block " << v.block;
    }
  }
}

MXREF_ON_EVERY_TARGET(EncodeKernel);
MXREF_ON_EVERY_TARGET(DecodeKernel);
MXREF_ON_EVERY_TARGET(QuantizeKernel);
MXREF_ON_EVERY_TARGET(DequantizeKernel);

}  // namespace
