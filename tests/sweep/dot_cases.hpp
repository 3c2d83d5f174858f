// SPDX-License-Identifier: Apache-2.0
// Matrix products to compare with the oracle: operands made of chosen kinds of numbers, laid out in
// memory in several ways, and the oracle's view of the same data.
#ifndef MXREF_TESTS_SWEEP_DOT_CASES_HPP_
#define MXREF_TESTS_SWEEP_DOT_CASES_HPP_

#include <algorithm>
#include <array>
#include <bit>
#include <cctype>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <vector>

#include "mxref/accumulate.hpp"
#include "mxref/gemm.hpp"
#include "mxref/matrix_unit.hpp"
#include "oracle/dot_oracle.hpp"
#include "oracle/tables.hpp"
#include "oracle/unit_oracle.hpp"

namespace sweep {

/// SplitMix64: every platform draws the same cases.
class random_source {
 public:
  explicit random_source(std::uint64_t seed) : state_(seed) {}

  std::uint64_t bits() {
    std::uint64_t z = state_ += 0x9E3779B97F4A7C15U;
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9U;
    z = (z ^ z >> 27) * 0x94D049BB133111EBU;
    return z ^ z >> 31;
  }
  std::uint32_t word() { return static_cast<std::uint32_t>(bits() >> 32); }
  /// 0 .. n - 1
  std::uint32_t below(std::uint32_t n) {
    return static_cast<std::uint32_t>((bits() >> 32) * n >> 32);
  }
  int between(int first, int last) {
    return first + static_cast<int>(below(static_cast<std::uint32_t>(last - first + 1)));
  }
  bool one_in(std::uint32_t n) { return below(n) == 0; }
  template <class T>
  const T& of(const std::vector<T>& list) {
    return list[below(static_cast<std::uint32_t>(list.size()))];
  }

 private:
  std::uint64_t state_;
};

struct named_format {
  mxref::format_desc desc;
  oracle::format_id id;
  const oracle::format& table() const { return oracle::get(id); }
};

inline constexpr named_format e5m2{mxref::E5M2::desc, oracle::format_id::e5m2};
inline constexpr named_format e4m3{mxref::E4M3::desc, oracle::format_id::e4m3};
inline constexpr named_format e3m2{mxref::E3M2::desc, oracle::format_id::e3m2};
inline constexpr named_format e2m3{mxref::E2M3::desc, oracle::format_id::e2m3};
inline constexpr named_format e2m1{mxref::E2M1::desc, oracle::format_id::e2m1};
inline constexpr named_format int8{mxref::INT8::desc, oracle::format_id::int8};
inline constexpr named_format bf16{mxref::bfloat16::desc, oracle::format_id::bf16};
inline constexpr named_format f16{mxref::binary16::desc, oracle::format_id::f16};
inline constexpr named_format tf32{mxref::TF32::desc, oracle::format_id::tf32};
inline constexpr named_format f32{mxref::binary32::desc, oracle::format_id::f32};
inline constexpr named_format e4m3fnuz{mxref::E4M3FNUZ::desc, oracle::format_id::e4m3fnuz};
inline constexpr named_format e5m2fnuz{mxref::E5M2FNUZ::desc, oracle::format_id::e5m2fnuz};
inline constexpr named_format e8m0{mxref::E8M0::desc, oracle::format_id::e8m0};
inline constexpr named_format ue4m3{mxref::UE4M3::desc, oracle::format_id::ue4m3};

inline constexpr std::array mx_elements{e5m2, e4m3, e3m2, e2m3, e2m1, int8};
inline constexpr std::array wide_elements{bf16, f16, tf32, f32};
inline constexpr std::array all_elements{e5m2, e4m3, e3m2, e2m3, e2m1, int8, bf16, f16, tf32, f32};
/// What tcgen05 kind::mxf8f6f4 takes.
inline constexpr std::array f8f6f4_elements{e5m2, e4m3, e3m2, e2m3, e2m1};

/// Which numbers an operand is made of.
enum class numbers {
  any_code,    ///< every code alike, with the format's NaN, Inf and zeros
  finite,      ///< every finite code alike
  near_one,    ///< magnitudes from 1/4 to 4
  sparse,      ///< zeros of both signs, few others
  extremes,    ///< smallest and largest magnitudes
  specials,    ///< NaN, Inf, zeros and ones
  cancelling,  ///< the second half of the products takes the first half away, but for few
};
inline constexpr std::array all_numbers{numbers::any_code,  numbers::finite,   numbers::near_one,
                                        numbers::sparse,    numbers::extremes, numbers::specials,
                                        numbers::cancelling};
constexpr const char* name(numbers n) {
  constexpr std::array names{"any code", "finite",   "near one",  "sparse",
                             "extremes", "specials", "cancelling"};
  return names[static_cast<unsigned>(n)];
}

inline std::uint32_t draw_code(const oracle::format& f, numbers kind, random_source& random) {
  const auto magnitude = [&f, &random](double least, double most) {
    std::uint32_t first = 0;
    std::uint32_t last = f.largest_code;
    if (f.magnitudes.empty()) {
      first = std::bit_cast<std::uint32_t>(static_cast<float>(least));
      last = std::bit_cast<std::uint32_t>(static_cast<float>(most));
    } else {
      const auto& m = f.magnitudes;
      first = static_cast<std::uint32_t>(std::lower_bound(m.begin(), m.end(), least) - m.begin());
      last = static_cast<std::uint32_t>(std::upper_bound(m.begin(), m.end(), most) - m.begin()) - 1;
    }
    return first + random.below(last - first + 1);
  };
  const auto any = [&f, &random] {
    return f.bits == 32 ? random.word() : random.below(f.code_count());
  };
  const bool negative = random.one_in(2);
  switch (kind) {
    case numbers::any_code:
      return any();
    case numbers::finite: {
      std::uint32_t code = any();
      while (oracle::decode(f, code).cls != oracle::value_class::finite) code = any();
      return code;
    }
    case numbers::near_one:
    case numbers::cancelling:
      return f.signed_code(magnitude(0.25, 4), negative);
    case numbers::sparse:
      return f.signed_code(random.one_in(8) ? magnitude(0.25, 4) : 0, negative);
    case numbers::extremes: {
      const std::uint32_t step = random.below(3);
      return f.signed_code(random.one_in(2) ? step : f.largest_code - step, negative);
    }
    case numbers::specials:
      switch (random.below(24)) {
        case 0:
          return f.nan;
        case 1:
          return f.unsaturated[negative ? 1 : 0];
        case 2:
        case 3:
          return f.signed_code(0, negative);
        default:
          return f.signed_code(magnitude(1, 1), negative);
      }
  }
  return 0;
}

/// Which scale codes a scaled operand has.
enum class scale_codes { one, close, any, ends, with_nan };
inline constexpr std::array all_scale_codes{scale_codes::one, scale_codes::close, scale_codes::any,
                                            scale_codes::ends, scale_codes::with_nan};
constexpr const char* name(scale_codes s) {
  constexpr std::array names{"scales one", "scales close", "any scales", "scales 0 and 254",
                             "NaN scales"};
  return names[static_cast<unsigned>(s)];
}

inline std::uint8_t draw_scale(const named_format& f, scale_codes kind, random_source& random) {
  const bool is_e8m0 = f.id == oracle::format_id::e8m0;
  const int one = is_e8m0 ? 127 : 0x38;
  const auto largest = static_cast<int>(f.table().largest_code);
  int code = one;
  switch (kind) {
    case scale_codes::one:
      break;
    case scale_codes::close:
      code = random.between(one - 6, one + 6);
      break;
    case scale_codes::any:
      code = random.between(0, largest);
      break;
    case scale_codes::ends:
      code = random.one_in(2) ? 0 : largest;
      break;
    case scale_codes::with_nan:
      code = random.one_in(6) ? largest + 1 : random.between(one - 6, one + 6);
      break;
  }
  return static_cast<std::uint8_t>(code);
}

enum class storage { compact, strided, columns, backwards, dense };

/// An operand as a matrix of codes, with one layout in memory at a time.
class test_operand {
 public:
  test_operand() = default;
  test_operand(const named_format& format, mxref::index_t rows, mxref::index_t depth)
      : format_(format),
        rows_(rows),
        depth_(depth),
        codes_(static_cast<std::size_t>(rows * depth)) {}

  void fill(numbers kind, random_source& random) {
    for (std::uint32_t& code : codes_) code = draw_code(format_.table(), kind, random);
  }
  void add_scales(const named_format& format, int block, scale_codes kind, random_source& random) {
    scale_format_ = format;
    block_ = block;
    scales_.resize(static_cast<std::size_t>(rows_ * scale_count()));
    for (std::uint8_t& s : scales_) s = draw_scale(format, kind, random);
  }

  const named_format& format() const { return format_; }
  mxref::index_t rows() const { return rows_; }
  mxref::index_t depth() const { return depth_; }
  mxref::index_t scale_count() const { return block_ == 0 ? 0 : (depth_ + block_ - 1) / block_; }
  bool scaled() const { return block_ != 0; }
  int block() const { return block_; }
  std::uint32_t& code(mxref::index_t row, mxref::index_t k) { return codes_[at(row, k, depth_)]; }
  std::uint8_t& scale(mxref::index_t row, mxref::index_t b) {
    return scales_[at(row, b, scale_count())];
  }

  /// Writes the codes to memory. Everything around them, bits above a code too, is random.
  void lay_out(storage how, random_source& random) {
    storage_ = how == storage::dense && format_.desc.total_bits() > 8 ? storage::strided : how;
    const mxref::index_t width = mxref::container_bytes(format_.desc);
    first_ = 0;
    switch (storage_) {
      case storage::compact:
        col_bytes_ = width;
        row_bytes_ = depth_ * width;
        break;
      case storage::strided:
        col_bytes_ = width + 3;
        row_bytes_ = depth_ * col_bytes_ + 5;
        break;
      case storage::columns:
        col_bytes_ = rows_ * width + 2;
        row_bytes_ = width;
        break;
      case storage::backwards:
        col_bytes_ = width;
        row_bytes_ = -(depth_ * width + 1);
        first_ = rows_ == 0 ? 0 : -(rows_ - 1) * row_bytes_;
        break;
      case storage::dense:
        col_bytes_ = 77;  // has no meaning
        row_bytes_ = (depth_ * format_.desc.total_bits() + 7) / 8 + 1;
        break;
    }
    bytes_.resize(static_cast<std::size_t>((rows_ + 1) * (depth_ + 1) * (width + 5)));
    for (std::uint8_t& b : bytes_) b = static_cast<std::uint8_t>(random.word());
    for (mxref::index_t row = 0; row < rows_; ++row) {
      for (mxref::index_t k = 0; k < depth_; ++k) write(row, k, random);
    }
    scale_bytes_.assign(static_cast<std::size_t>(rows_ * (scale_count() + 3)), 0xFF);
    for (mxref::index_t row = 0; row < rows_; ++row) {
      for (mxref::index_t b = 0; b < scale_count(); ++b) {
        const int unused = scale_format_.desc.total_bits() < 8 && random.one_in(2) ? 0x80 : 0;
        scale_bytes_[at(row, b, scale_count() + 3)] =
            static_cast<std::uint8_t>(scale(row, b) | unused);
      }
    }
  }

  mxref::operand_view view() const {
    mxref::operand_view v;
    v.format = format_.desc;
    v.codes = bytes_.data() + first_;
    v.rows = rows_;
    v.depth = depth_;
    v.row_bytes = row_bytes_;
    v.col_bytes = col_bytes_;
    if (storage_ == storage::dense) v.storage = mxref::code_storage::dense;
    v.block = block_;
    if (block_ != 0) {
      v.scale_format = scale_format_.desc;
      v.scales = scale_bytes_.data();
      v.scale_row_bytes = scale_count() + 3;
    }
    return v;
  }

  oracle::operand_row oracle_row(mxref::index_t row) const {
    oracle::operand_row r;
    r.elements = &format_.table();
    const auto first = codes_.begin() + row * depth_;
    r.codes.assign(first, first + depth_);
    if (block_ != 0) {
      r.scale_format = &scale_format_.table();
      r.block = block_;
      const auto scale = scales_.begin() + row * scale_count();
      r.scales.assign(scale, scale + scale_count());
    }
    return r;
  }
  oracle::real oracle_value(mxref::index_t row, mxref::index_t k) const {
    return oracle::code_value(format_.table(), codes_[at(row, k, depth_)]);
  }

 private:
  static std::size_t at(mxref::index_t row, mxref::index_t col, mxref::index_t cols) {
    return static_cast<std::size_t>(row * cols + col);
  }

  void write(mxref::index_t row, mxref::index_t k, random_source& random) {
    const int bits = format_.desc.total_bits();
    std::uint32_t c = code(row, k);
    if (storage_ == storage::dense) {
      for (int i = 0; i < bits; ++i) {
        const mxref::index_t bit = 8 * row * row_bytes_ + k * bits + i;
        std::uint8_t& byte = bytes_[static_cast<std::size_t>(bit / 8)];
        const auto mask = static_cast<std::uint8_t>(1U << (bit % 8));
        byte = static_cast<std::uint8_t>((c >> i & 1U) != 0 ? byte | mask : byte & ~mask);
      }
      return;
    }
    if (bits < 32) c |= random.word() << bits;
    for (int i = 0; i < mxref::container_bytes(format_.desc); ++i) {
      const mxref::index_t place = first_ + row * row_bytes_ + k * col_bytes_;
      const int position = std::endian::native == std::endian::little
                               ? i
                               : static_cast<int>(mxref::container_bytes(format_.desc)) - 1 - i;
      bytes_[static_cast<std::size_t>(place + position)] = static_cast<std::uint8_t>(c >> (8 * i));
    }
  }

  named_format format_ = e4m3;
  mxref::index_t rows_ = 0;
  mxref::index_t depth_ = 0;
  std::vector<std::uint32_t> codes_;
  int block_ = 0;
  named_format scale_format_ = e8m0;
  std::vector<std::uint8_t> scales_;

  storage storage_ = storage::compact;
  mxref::index_t first_ = 0;
  mxref::index_t row_bytes_ = 0;
  mxref::index_t col_bytes_ = 0;
  std::vector<std::uint8_t> bytes_;
  std::vector<std::uint8_t> scale_bytes_;
};

/// D = C + A * B with everything that gemm takes.
struct test_problem {
  test_operand a;
  test_operand b;
  std::optional<test_operand> c;
  int unscaled_block = 32;
  std::optional<oracle::epilogue> scaling;
  named_format out = f32;
  std::string text;

  void lay_out(random_source& random) {
    const std::vector<storage> ways{storage::compact, storage::strided, storage::columns,
                                    storage::backwards, storage::dense};
    a.lay_out(random.of(ways), random);
    b.lay_out(random.of(ways), random);
    if (c) c->lay_out(random.of(ways), random);
  }

  /// Makes the second half of the products the negated first half, but for one code here and there.
  void cancel(random_source& random) {
    const mxref::index_t half = a.depth() / 2;
    for (mxref::index_t k = half; k < 2 * half; ++k) {
      for (mxref::index_t m = 0; m < a.rows(); ++m) {
        a.code(m, k) = a.code(m, k - half);
        if (random.one_in(40)) a.code(m, k) ^= 1U;
      }
      for (mxref::index_t n = 0; n < b.rows(); ++n) {
        const oracle::format& f = b.format().table();
        const std::uint32_t first = b.code(n, k - half);
        const bool twos = f.sign == oracle::signs::twos_complement;
        b.code(n, k) =
            twos ? (f.code_count() - first) & (f.code_count() - 1) : first ^ f.sign_code();
      }
    }
  }

  mxref::gemm_options options() const {
    mxref::gemm_options o;
    if (c) o.c = c->view();
    o.block = unscaled_block;
    if (scaling) {
      o.epilogue = true;
      o.alpha = scaling->alpha;
      o.beta = scaling->beta;
    }
    return o;
  }

  oracle::dot_problem element(mxref::index_t m, mxref::index_t n) const {
    oracle::dot_problem p;
    p.a = a.oracle_row(m);
    p.b = b.oracle_row(n);
    if (c) p.c = c->oracle_value(m, n);
    p.block = static_cast<std::size_t>(a.scaled()   ? a.block()
                                       : b.scaled() ? b.block()
                                                    : unscaled_block);
    p.scaling = scaling;
    return p;
  }
};

/// The oracle's result by the name of a library policy.
template <class P>
struct oracle_policy;
template <oracle::accumulation A>
struct mathematical_policy {
  static std::uint32_t dot(const oracle::dot_problem& p, const oracle::format& out) {
    return oracle::dot(p, A, out);
  }
};
namespace accumulate = mxref::accumulate;
template <>
struct oracle_policy<accumulate::exact> : mathematical_policy<oracle::accumulation::exact> {};
template <>
struct oracle_policy<accumulate::block_exact_fp32>
    : mathematical_policy<oracle::accumulation::block_exact_fp32> {};
template <>
struct oracle_policy<accumulate::block_fused_fp32>
    : mathematical_policy<oracle::accumulation::block_fused_fp32> {};
template <>
struct oracle_policy<accumulate::fp32_chain>
    : mathematical_policy<oracle::accumulation::fp32_chain> {};
template <>
struct oracle_policy<accumulate::nvidia_blackwell_tcgen05_mxf8f6f4> {
  static std::uint32_t dot(const oracle::dot_problem& p, const oracle::format& out) {
    return oracle::dot(p, oracle::fused_sum{}, out);
  }
};

/// Names of typed tests: Gemm/BlockExactFp32.
struct policy_names {
  template <class P>
  static std::string GetName(int) {
    std::string result;
    bool capital = true;
    for (const char c : std::string(P::name)) {
      if (c != '-') result += static_cast<char>(capital ? std::toupper(c) : c);
      capital = c == '-';
    }
    return result;
  }
};

/// A D of any format between guard bytes, with gaps between its codes.
class test_output {
 public:
  static constexpr std::uint8_t untouched = 0x5A;

  test_output(const named_format& format, mxref::index_t rows, mxref::index_t cols,
              mxref::index_t gap = 0)
      : width_(mxref::container_bytes(format.desc)),
        bytes_(static_cast<std::size_t>((rows * cols + 2) * (width_ + gap)), untouched) {
    view_.format = format.desc;
    view_.data = bytes_.data() + width_ + gap;
    view_.rows = rows;
    view_.cols = cols;
    view_.col_bytes = width_ + gap;
    view_.row_bytes = cols * (width_ + gap);
  }
  test_output(const test_output&) = delete;
  test_output& operator=(const test_output&) = delete;

  mxref::output_view& view() { return view_; }
  std::uint32_t code(mxref::index_t row, mxref::index_t col) const {
    const auto* p = static_cast<const std::uint8_t*>(view_.data) + row * view_.row_bytes +
                    col * view_.col_bytes;
    if (width_ == 1) return *p;
    if (width_ == 2) return load<std::uint16_t>(p);
    return load<std::uint32_t>(p);
  }
  std::ptrdiff_t untouched_bytes() const {
    return std::count(bytes_.begin(), bytes_.end(), untouched);
  }
  std::size_t size() const { return bytes_.size(); }

 private:
  template <class T>
  static T load(const std::uint8_t* p) {
    T value;
    std::memcpy(&value, p, sizeof value);
    return value;
  }

  mxref::index_t width_;
  std::vector<std::uint8_t> bytes_;
  mxref::output_view view_;
};

}  // namespace sweep

#endif  // MXREF_TESTS_SWEEP_DOT_CASES_HPP_
