// SPDX-License-Identifier: Apache-2.0
// Mistakes that the compiler must refuse. Each case is compiled twice: as written correctly
// (BROKEN 0), which must compile, and with the mistake (BROKEN 1), which must fail with the message
// that CMakeLists.txt names.
#include <cstdint>

#include "mxref/mxref.hpp"

using namespace mxref;
using tcgen05 = accumulate::nvidia_blackwell_tcgen05_mxf8f6f4;

#if defined(CASE_implicit_from_float)
#if BROKEN
E4M3 e = 1.0F;
#else
E4M3 e = encode<E4M3>(1.0F);
#endif

#elif defined(CASE_braces_from_float)
#if BROKEN
E4M3 e{1.0F};
#else
E4M3 e{0x38};
#endif

#elif defined(CASE_implicit_to_float)
#if BROKEN
float f = E4M3{0x38};
#else
float f = static_cast<float>(E4M3{0x38});
#endif

#elif defined(CASE_other_format)
#if BROKEN
E4M3 e = E5M2{0x38};
#else
E4M3 e = encode<E4M3>(E5M2{0x38});
#endif

#elif defined(CASE_arithmetic)
#if BROKEN
auto sum = E4M3{0x38} + E4M3{0x38};
#else
auto sum = decode(E4M3{0x38}) + decode(E4M3{0x38});
#endif

#elif defined(CASE_order_of_codes)
#if BROKEN
bool less = E4M3{0x38} < E4M3{0x39};
#else
bool less = E4M3{0x38} == E4M3{0x39};
#endif

#elif defined(CASE_encode_integer)
#if BROKEN
auto e = encode<E4M3>(1);
#else
auto e = encode<E4M3>(1.0);
#endif

#elif defined(CASE_encode_policy)
#if BROKEN
auto e = encode<E4M3>(1.0F, true);
#else
auto e = encode<E4M3>(1.0F, rounding::up{});
#endif

#elif defined(CASE_encode_policy_order)
#if BROKEN
auto e = encode<E4M3>(1.0F, overflow::nonsaturating{}, rounding::up{});
#else
auto e = encode<E4M3>(1.0F, rounding::up{}, overflow::nonsaturating{});
#endif

#elif defined(CASE_invalid_format)
#if BROKEN
element<format_desc{9, 3, 255, specials::ieee}> e;
#else
element<format_desc{5, 3, 15, specials::ieee}> e;
#endif

#elif defined(CASE_format_beyond_binary32)
#if BROKEN
element<format_desc{8, 3, 126, specials::ieee}> e;  // its largest number is near 2^129
#else
element<format_desc{8, 3, 127, specials::ieee}> e;
#endif

#elif defined(CASE_infinity_without_mantissa)
#if BROKEN
element<format_desc{4, 0, 7, specials::ieee}> e;
#else
element<format_desc{4, 0, 7}> e;
#endif

#elif defined(CASE_block_of_half_bytes)
#if BROKEN
mx_block<E2M1, 31> block;
#else
mx_block<E2M1, 30> block;
#endif

#elif defined(CASE_block_of_wide_elements)
#if BROKEN
mx_block<bfloat16, 32> block;
#else
mx_block<E5M2, 32> block;
#endif

#elif defined(CASE_block_of_wide_scales)
#if BROKEN
mx_block<E5M2, 32, bfloat16> block;
#else
mx_block<E5M2, 32, UE4M3> block;
#endif

#elif defined(CASE_nan_kept_without_nan)
template <class Block>
Block keep_nan(const float* x) {
  return quantize<Block>(x, scale::floor{}, rounding::nearest_even{}, overflow::saturate{},
                         nan::finite{});
}
#if BROKEN
template mxfp4 keep_nan<mxfp4>(const float*);
#else
template mxfp8_e4m3 keep_nan<mxfp8_e4m3>(const float*);
#endif

#elif defined(CASE_dot_of_different_sizes)
#if BROKEN
float d = dot(mx_block<E4M3, 32>{}, mx_block<E4M3, 16>{});
#else
float d = dot(mx_block<E4M3, 16>{}, mx_block<E4M3, 16>{});
#endif

#elif defined(CASE_tcgen05_int8)
#if BROKEN
float d = dot(mxint8{}, mxfp4{}, tcgen05{});
#else
float d = dot(mxint8{}, mxfp4{}, accumulate::exact{});
#endif

#elif defined(CASE_tcgen05_scales)
#if BROKEN
float d = dot(mx_block<E2M1, 32, UE4M3>{}, mx_block<E2M1, 32, UE4M3>{}, tcgen05{});
#else
float d = dot(mx_block<E2M1, 32>{}, mx_block<E2M1, 32>{}, tcgen05{});
#endif

#elif defined(CASE_tcgen05_block_size)
#if BROKEN
float d = dot(mx_block<E2M1, 16>{}, mx_block<E2M1, 16>{}, tcgen05{});
#else
float d = dot(mx_block<E2M1, 16>{}, mx_block<E2M1, 16>{});
#endif

#elif defined(CASE_unit_as_a_value)
struct narrow : accumulate::matrix_unit {
  constexpr narrow() : matrix_unit{{.length = 32, .fraction_bits = 13}} {}
};
#if BROKEN
float d = dot(mxfp4{}, mxfp4{}, accumulate::matrix_unit{{.length = 32}});
#else
float d = dot(mxfp4{}, mxfp4{}, narrow{});
#endif

#elif defined(CASE_gemm_policy)
status multiply(const operand_view& a, const operand_view& b, const output_view& d) {
#if BROKEN
  return gemm(a, b, d, rounding::up{});
#else
  return gemm(a, b, d, accumulate::exact{});
#endif
}

#elif defined(CASE_ignored_gemm_status)
void multiply(const operand_view& a, const operand_view& b, const output_view& d) {
#if BROKEN
  gemm(a, b, d, accumulate::exact{});
#else
  if (!gemm(a, b, d, accumulate::exact{})) return;
#endif
}

#elif defined(CASE_ignored_quantize_status)
void convert(matrix_view<const float> x, const quantized_view& out) {
#if BROKEN
  quantize(x, out, quantizer{});
#else
  if (!quantize(x, out, quantizer{})) return;
#endif
}

#elif defined(CASE_packing_of_other_width)
#if BROKEN
constexpr code_layout l = layout_of<E4M3>(layout::tcgen05_padded{});
#else
constexpr code_layout l = layout_of<E2M1>(layout::tcgen05_padded{});
#endif

#elif defined(CASE_split_half_of_fp6)
#if BROKEN
constexpr code_layout l = layout_of<E2M3>(layout::ggml_split_half<32>{});
#else
constexpr code_layout l = layout_of<E2M1>(layout::ggml_split_half<32>{});
#endif

#elif defined(CASE_split_half_of_odd_block)
#if BROKEN
constexpr code_layout l = layout_of<E2M1>(layout::ggml_split_half<15>{});
#else
constexpr code_layout l = layout_of<E2M1>(layout::ggml_split_half<16>{});
#endif

#elif defined(CASE_words_of_other_scales)
#if BROKEN
constexpr scale_layout l = layout_of<UE4M3>(layout::word4{});
#else
constexpr scale_layout l = layout_of<UE4M3>(layout::swizzled_128x4{});
#endif

#elif defined(CASE_scale_layout_of_signed_format)
#if BROKEN
constexpr scale_layout l = layout_of<E4M3>(layout::swizzled_128x4{});
#else
constexpr scale_layout l = layout_of<UE4M3>(layout::swizzled_128x4{});
#endif

#elif defined(CASE_codes_in_a_scale_layout)
#if BROKEN
constexpr code_layout l = layout_of<E2M1>(layout::swizzled_128x4{});
#else
constexpr code_layout l = layout_of<E2M1>(layout::dense{});
#endif

#elif defined(CASE_ignored_swizzle_status)
void store(matrix_view<const std::uint8_t> scales, std::uint8_t* out) {
#if BROKEN
  swizzle(scales, layout::swizzled_128x4::scales(), out, 512);
#else
  if (!swizzle(scales, layout::swizzled_128x4::scales(), out, 512)) return;
#endif
}

#elif defined(CASE_status_as_number)
#if BROKEN
int code = status{errc::shape_mismatch};
#else
errc code = status{errc::shape_mismatch}.code;
#endif

#else
#error "CMakeLists.txt names a case that is not here"
#endif
