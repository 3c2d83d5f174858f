// SPDX-License-Identifier: Apache-2.0
// Products on every target, with any number of threads, equal the scalar GEMM bit for bit.
#include <cmath>

#include "target_fixture.hpp"

#include "mxref/simd/thread_pool.hpp"

namespace {

using namespace target_test;
namespace accumulate = mxref::accumulate;
namespace simd = mxref::simd;

enum class data_kind { raw_finite, normal, any_scale, specials };

struct operand {
  std::vector<std::uint8_t> codes;
  std::vector<std::uint8_t> scales;
  mxref::operand_view view;
};

operand make_operand(generator& r, format_desc f, index_t rows, index_t depth, int block,
                     data_kind kind) {
  operand o;
  const index_t width = mxref::container_bytes(f);
  const bool dense = f.total_bits() <= 8 && below(r, 5) == 0;
  mxref::operand_view& v = o.view;
  v.format = f;
  v.rows = rows;
  v.depth = depth;
  v.storage = dense ? mxref::code_storage::dense : mxref::code_storage::containers;
  v.col_bytes = width * (below(r, 5) == 0 ? 2 : 1);
  v.row_bytes = depth * v.col_bytes + below(r, 3);
  if (!dense && below(r, 4) == 0) {  // transposed: columns are contiguous
    v.row_bytes = width;
    v.col_bytes = rows * width + below(r, 3) * width;
  }
  o.codes.resize(static_cast<std::size_t>(rows * v.row_bytes + depth * v.col_bytes + 5));
  const int offset = below(r, 4);  // unaligned
  const float unit = std::ldexp(1.0F, std::min(f.emax(), 6));
  for (index_t row = 0; row < rows; ++row) {
    for (index_t k = 0; k < depth; ++k) {
      std::uint32_t code = 0;
      const bool finite = kind != data_kind::specials || below(r, 100) != 0;
      do {
        code = static_cast<std::uint32_t>(r() & mxref::low_mask(f.total_bits()));
      } while (finite && !mxref::to_number(f, code).is_finite());
      if (kind == data_kind::normal) {
        const float x = static_cast<float>(below(r, 2001) - 1000) * 0.001F * unit;
        code = static_cast<std::uint32_t>(
            mxref::to_code(f, mxref::to_number(x), mxref::rounding::nearest_even{}));
      }
      std::uint8_t* start = o.codes.data() + offset + row * v.row_bytes;
      if (dense) {
        mxref::set_packed(start, f.total_bits(), static_cast<std::size_t>(k),
                          static_cast<std::uint8_t>(code));
      } else {
        mxref::store_code(start + k * v.col_bytes, width, code);
      }
    }
  }
  v.codes = o.codes.data() + offset;
  if (block == 0) return o;
  v.block = block;
  v.scale_format = mxref::E8M0::desc;
  v.scale_row_bytes = v.block_count() + 1;
  o.scales.resize(static_cast<std::size_t>(rows * v.scale_row_bytes + 1));
  for (auto& s : o.scales) {
    s = static_cast<std::uint8_t>(kind == data_kind::normal      ? 120 + below(r, 12)
                                  : kind == data_kind::any_scale ? below(r, 255)
                                                                 : 100 + below(r, 50));
    if (kind == data_kind::specials && below(r, 40) == 0) s = 255;
  }
  v.scales = o.scales.data();
  return o;
}

class Product : public on_target {
 protected:
  template <class P, class Out>
  void compare_as(const operand& a, const operand& b, P p, const mxref::gemm_options& options,
                  int threads, bool column_major) {
    const index_t rows = a.view.rows;
    const index_t cols = b.view.rows;
    std::vector<Out> d[2];
    mxref::status s[2];
    for (int i = 0; i < 2; ++i) {
      d[i].resize(static_cast<std::size_t>(rows * cols + 1));
      std::memset(static_cast<void*>(d[i].data()), 0x5A, d[i].size() * sizeof(Out));
      const auto out = column_major ? mxref::transposed(mxref::view(d[i].data(), cols, rows))
                                    : mxref::view(d[i].data(), rows, cols);
      if (i == 0) {
        s[i] = mxref::gemm(a.view, b.view, out, p, options);
      } else if (threads == 1) {
        s[i] = simd::gemm_with(table(), a.view, b.view, out, p, simd::serial{}, options);
      } else {
        s[i] = simd::gemm_with(table(), a.view, b.view, out, p, pools_[threads - 2], options);
      }
    }
    ASSERT_EQ(s[0].code, s[1].code) << p.name;
    for (std::size_t i = 0; i < d[0].size(); ++i) {
      ASSERT_EQ(std::memcmp(&d[0][i], &d[1][i], sizeof(Out)), 0)
          << p.name << " output " << i << " of " << rows << " x " << cols << ", K " << a.view.depth
          << ", threads " << threads;
    }
  }

  template <class P>
  void compare(generator& r, const operand& a, const operand& b, P p,
               const mxref::gemm_options& options) {
    const int threads = 1 + below(r, 4);
    const bool column_major = below(r, 5) == 0;
    switch (below(r, 4)) {
      case 0:
        return compare_as<P, mxref::bfloat16>(a, b, p, options, threads, column_major);
      case 1:
        return compare_as<P, mxref::binary16>(a, b, p, options, threads, column_major);
      default:
        return compare_as<P, float>(a, b, p, options, threads, column_major);
    }
  }

  void compare_all(generator& r, const operand& a, const operand& b,
                   const mxref::gemm_options& options) {
    compare(r, a, b, accumulate::exact{}, options);
    compare(r, a, b, accumulate::block_exact_fp32{}, options);
    compare(r, a, b, accumulate::block_fused_fp32{}, options);
    compare(r, a, b, accumulate::fp32_chain{}, options);
    compare(r, a, b, accumulate::nvidia_blackwell_tcgen05_mxf8f6f4{}, options);
  }

  /// A random product: shapes, formats, blocks, C, epilogue.
  void random_product(generator& r, index_t most, bool mx_only) {
    const auto extent = [&] { return static_cast<index_t>(below(r, static_cast<int>(most) + 1)); };
    const index_t rows = extent();
    const index_t cols = extent();
    const index_t depth = extent();
    const auto kind = static_cast<data_kind>(below(r, 4));
    const int block = mx_only || below(r, 3) != 0 ? 32 : 1 + below(r, 40);
    const auto format = [&] { return all_formats[below(r, mx_only ? 5 : 10)].desc; };
    const auto side = [&](index_t n) {
      return make_operand(r, format(), n, depth, below(r, 4) != 0 ? block : 0, kind);
    };
    const operand a = side(rows);
    const operand b = side(cols);
    mxref::gemm_options options;
    options.block = block;
    operand c;
    if (rows > 0 && below(r, 2) != 0) {
      c = make_operand(r, mxref::binary32::desc, rows, cols, 0,
                       below(r, 2) != 0 ? data_kind::normal : data_kind::specials);
      options.c = c.view;
    }
    if (below(r, 4) == 0) {
      options.epilogue = true;
      options.alpha = 1.5F;
      options.beta = -0.7F;
    }
    compare_all(r, a, b, options);
  }

 private:
  const simd::threads pools_[3] = {simd::threads{2}, simd::threads{3}, simd::threads{4}};
};

TEST_P(Product, EqualsTheScalarOneForEveryFormatPair) {
  count_tiles_only();
  generator r(11);
  for (const auto& fa : all_formats) {
    for (const auto& fb : all_formats) {
      for (const data_kind kind : {data_kind::normal, data_kind::raw_finite}) {
        const operand a = make_operand(r, fa.desc, 7, 70, 32, kind);
        const operand b = make_operand(r, fb.desc, 19, 70, below(r, 3) != 0 ? 32 : 0, kind);
        compare_all(r, a, b, {});
      }
    }
  }
}

TEST_P(Product, EqualsTheScalarOneForRandomShapes) {
  count_tiles_only();
  generator r(12);
  for (int i = 0; i < 150; ++i) random_product(r, 60, i % 2 == 0);
}

TEST_P(Product, EqualsTheScalarOneForLargeShapes) {
  count_tiles_only();
  generator r(13);
  for (int i = 0; i < 6; ++i) random_product(r, 300, i % 2 == 0);
}

TEST_P(Product, EqualsTheScalarOneForDeepTallAndWideShapes) {
  count_tiles_only();
  generator r(15);
  const index_t shapes[][3] = {{20, 150, 2100}, {1100, 20, 40}, {3, 700, 70}, {2, 100, 90000}};
  for (const auto& shape : shapes) {
    for (int i = 0; i < 3; ++i) {
      const auto f = all_formats[i == 0 ? 9 : below(r, 10)].desc;  // binary32 first
      const operand a = make_operand(r, f, shape[0], shape[2], 0, data_kind::raw_finite);
      const operand b = make_operand(r, f, shape[1], shape[2], 32, data_kind::normal);
      compare(r, a, b, accumulate::fp32_chain{}, {});
    }
  }
}

/// A kernel must be used where it can be, not only where it must not.
TEST_P(Product, OrdinaryDataTakesTheTileKernels) {
  count_tiles_only();
  generator r(14);
  for (int i = 0; i < 5; ++i) {
    for (int j = 0; j < 5; ++j) {
      const operand a = make_operand(r, all_formats[i].desc, 12, 256, 32, data_kind::normal);
      const operand b = make_operand(r, all_formats[j].desc, 64, 256, 32, data_kind::normal);
      std::vector<float> d(12 * 64);
      const auto used_by = [&](auto policy) {
        const long before = uses();
        EXPECT_TRUE(simd::gemm_with(table(), a.view, b.view, mxref::view(d.data(), 12, 64), policy,
                                    simd::serial{}));
        return uses() - before;
      };
      EXPECT_GT(used_by(accumulate::exact{}), 0) << i << j;
      EXPECT_GT(used_by(accumulate::block_exact_fp32{}), 0) << i << j;
      EXPECT_GT(used_by(accumulate::block_fused_fp32{}), 0) << i << j;
      EXPECT_GT(used_by(accumulate::fp32_chain{}), 0) << i << j;
      EXPECT_GT(used_by(accumulate::nvidia_blackwell_tcgen05_mxf8f6f4{}), 0) << i << j;
    }
  }
}

/// Every model on operands that it takes: the kernel where the unit is a plain window, else the
/// scalar core on the executor's threads; with library orders too.
TEST_P(Product, EqualsTheScalarOneForEveryMatrixUnit) {
  count_tiles_only();
  generator r(16);
  for (const mxref::unit_model& m : mxref::matrix_units) {
    for (int line = 0; line < m.mode_count; ++line) {
      const mxref::unit_mode& mode = m.modes[line];
      for (const auto& f : all_formats) {
        if ((mxref::set_of(f.desc) & mode.a) == 0) continue;
        if (mode.block != 0 && mode.scale_format != mxref::E8M0::desc) continue;
        const bool is_f32 = mode.unit.accumulator == mxref::binary32_desc;
        for (const data_kind kind :
             {data_kind::normal, data_kind::raw_finite, data_kind::specials}) {
          const operand a = make_operand(r, f.desc, 9, 150, mode.block, kind);
          const operand b = make_operand(r, f.desc, 21, 150, mode.block, kind);
          mxref::gemm_options options;
          const operand c = make_operand(r, mode.unit.accumulator, 9, 21, 0, kind);
          if (below(r, 2) != 0) options.c = c.view;
          switch (below(r, 5)) {
            case 0:
              options.split_k = 2;
              break;
            case 1:
              options.promotion = 64;
              break;
            case 2:
              options.tensor_scale = 0.3F;
              break;
            default:
              break;
          }
          const int threads = 1 + below(r, 4);
          if (is_f32) {
            compare_as<mxref::unit_model, float>(a, b, m, options, threads, false);
          } else {
            compare_as<mxref::unit_model, mxref::binary16>(a, b, m, options, threads, false);
          }
        }
      }
    }
  }
}

TEST_P(Product, PlainWindowsTakeTheKernel) {
  count_tiles_only();
  generator r(17);
  std::vector<float> d(12 * 64);
  const auto used_by = [&](auto policy, mxref::format_desc f, const mxref::gemm_options& o = {}) {
    const operand a = make_operand(r, f, 12, 256, 0, data_kind::normal);
    const operand b = make_operand(r, f, 64, 256, 0, data_kind::normal);
    const long before = uses();
    EXPECT_TRUE(simd::gemm_with(table(), a.view, b.view, mxref::view(d.data(), 12, 64), policy,
                                simd::serial{}, o));
    return uses() - before;
  };
  const mxref::format_desc f16 = mxref::binary16::desc;
  EXPECT_GT(used_by(accumulate::nvidia_volta_mma{}, f16), 0);
  EXPECT_GT(used_by(accumulate::nvidia_ampere_mma{}, f16), 0);
  EXPECT_GT(used_by(accumulate::nvidia_hopper_wgmma{}, f16), 0);
  EXPECT_GT(used_by(accumulate::nvidia_blackwell_tcgen05_f8f6f4{}, mxref::E5M2::desc), 0);
  // Another output rounding, products beyond binary32, steps that are not plain, an order.
  EXPECT_EQ(used_by(accumulate::nvidia_hopper_wgmma{}, mxref::E4M3::desc), 0);
  EXPECT_EQ(used_by(accumulate::nvidia_hopper_wgmma{}, mxref::bfloat16::desc), 0);
  EXPECT_EQ(used_by(accumulate::nvidia_hopper_mma{}, mxref::E4M3::desc), 0);
  EXPECT_EQ(used_by(accumulate::amd_cdna3_mfma{}, f16), 0);
  mxref::gemm_options split;
  split.split_k = 2;
  EXPECT_EQ(used_by(accumulate::nvidia_hopper_wgmma{}, f16, split), 0);
}

MXREF_ON_EVERY_TILE_TARGET(Product);
// Static dispatch may be for a target without tile kernels.
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(Product);

}  // namespace
