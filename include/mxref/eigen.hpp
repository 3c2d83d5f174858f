// SPDX-License-Identifier: Apache-2.0
// Side door: Eigen's matrices, maps and expressions in and out. Nothing here computes with Eigen's
// arithmetic; results are those of the functions of the same names in mxref.
//
// Checked: tests/eigen/eigen_test.cpp
#ifndef MXREF_EIGEN_HPP_
#define MXREF_EIGEN_HPP_

#include <Eigen/Core>
#include <concepts>
#include <limits>
#include <type_traits>
#include <utility>

#include "mxref/mxref.hpp"

MXREF_BEGIN_NAMESPACE

namespace eigen {

namespace detail {

template <class M>
using plain_type = std::remove_cvref_t<M>;

template <class M>
concept dense = std::derived_from<plain_type<M>, Eigen::DenseBase<plain_type<M>>>;

/// Whether the coefficients lie in memory, at distances that Eigen knows.
template <class M>
concept stored = dense<M> &&(plain_type<M>::Flags& Eigen::DirectAccessBit) != 0;

template <class M>
concept writable = stored<M> &&(plain_type<M>::Flags& Eigen::LvalueBit) != 0 &&
                   !std::is_const_v<std::remove_reference_t<M>>;

template <class M>
concept resizable = std::derived_from<plain_type<M>, Eigen::PlainObjectBase<plain_type<M>>> &&
    (plain_type<M>::RowsAtCompileTime == Eigen::Dynamic ||
     plain_type<M>::ColsAtCompileTime == Eigen::Dynamic);

/// Gives a matrix that can have it another shape; a fixed size or a map keeps its own.
template <class M>
void reshape(M& m, Eigen::Index rows, Eigen::Index cols) {
  using type = plain_type<M>;
  if constexpr (resizable<M>) {
    const bool fits = (type::RowsAtCompileTime == Eigen::Dynamic || m.rows() == rows) &&
                      (type::ColsAtCompileTime == Eigen::Dynamic || m.cols() == cols);
    if (fits) m.resize(rows, cols);
  }
}

}  // namespace detail

/// The matrix in place, with its strides: any matrix, map, block or transpose, row- or
/// column-major.
template <detail::stored M>
auto view(M&& m) noexcept {
  using scalar = typename detail::plain_type<M>::Scalar;
  using element = std::conditional_t<detail::writable<M>, scalar, const scalar>;
  constexpr bool row_major = detail::plain_type<M>::IsRowMajor;
  return matrix_view<element>{const_cast<element*>(m.derived().data()), m.rows(), m.cols(),
                              row_major ? m.derived().outerStride() : m.derived().innerStride(),
                              row_major ? m.derived().innerStride() : m.derived().outerStride()};
}

/// A K-major operand without scales, in place: a matrix of elements, or of float.
template <detail::stored M>
operand_view operand(const M& m) noexcept {
  using scalar = typename M::Scalar;
  const auto v = eigen::view(m);
  operand_view o;
  if constexpr (element_format<scalar>) {
    o.format = scalar::desc;
  } else {
    static_assert(std::same_as<scalar, float>, "an operand's numbers are elements or float");
    o.format = binary32_desc;
  }
  o.codes = v.data;
  o.rows = v.rows;
  o.depth = v.cols;
  o.row_bytes = v.row_stride * static_cast<index_t>(sizeof(scalar));
  o.col_bytes = v.col_stride * static_cast<index_t>(sizeof(scalar));
  return o;
}

/// Quantizes the rows of any dense expression of float or double:
/// quantize<mx_block<E4M3, 32>>(2.0F * m.transpose(), scale::rceil{}). What lies in memory is read
/// there; an expression that does not is evaluated once by Eigen.
template <class Block, detail::dense M, class... Policies>
auto quantize(const M& m, Policies... policies) {
  static_assert(native_float<typename M::Scalar>,
                "the numbers to quantize are float or double: convert with .cast<float>()");
  if constexpr (detail::stored<M>) {
    return mxref::quantize<Block>(matrix_view<const typename M::Scalar>(eigen::view(m)),
                                  policies...);
  } else {
    return eigen::quantize<Block>(m.eval(), policies...);
  }
}

/// The same to codes and scales of the user's, along either axis.
template <detail::dense M, class... Policies>
status quantize(const M& m, const quantized_view& out, const quantizer<Policies...>& q = {},
                quantize_options options = {}) {
  static_assert(native_float<typename M::Scalar>,
                "the numbers to quantize are float or double: convert with .cast<float>()");
  if constexpr (detail::stored<M>) {
    return mxref::quantize(eigen::view(m), out, q, options);
  } else {
    return eigen::quantize(m.eval(), out, q, options);
  }
}

/// Decodes an operand into a matrix, map or block of float or double, in place. A matrix of dynamic
/// size gets the operand's shape; anything else must have it (errc::shape_mismatch).
template <detail::writable M>
status dequantize(const operand_view& in, M&& out, int axis = -1) {
  detail::reshape(out, axis == 0 ? in.depth : in.rows, axis == 0 ? in.rows : in.depth);
  return mxref::dequantize(in, eigen::view(out), axis);
}

/// D = A * B^T (+ C) into a matrix, map or block of float or of elements, in place; as mxref::gemm.
/// A matrix of dynamic size gets the shape of the product.
template <accumulation_policy P = accumulate::exact, detail::writable M>
status gemm(const operand_view& a, const operand_view& b, M&& d, P p = {},
            const gemm_options& options = {}) {
  detail::reshape(d, a.rows, b.rows);
  return mxref::gemm(a, b, output_view(eigen::view(d)), p, options);
}

}  // namespace eigen

MXREF_END_NAMESPACE

namespace Eigen {

/// Elements in Eigen's matrices: to store, map, compare, print, and convert with cast<>(). They
/// have no arithmetic.
template <mxref::format_desc D>
struct NumTraits<mxref::element<D>> {
  using Real = mxref::element<D>;
  using NonInteger = mxref::element<D>;
  using Nested = mxref::element<D>;
  using Literal = mxref::element<D>;
  enum {
    IsComplex = 0,
    IsInteger = 0,
    IsSigned = D.has_sign() ? 1 : 0,
    RequireInitialization = 0,
    ReadCost = 1,
    AddCost = HugeCost,
    MulCost = HugeCost
  };
  static constexpr Real epsilon() noexcept { return std::numeric_limits<Real>::epsilon(); }
  static constexpr Real dummy_precision() noexcept { return epsilon(); }
  static constexpr Real highest() noexcept { return (std::numeric_limits<Real>::max)(); }
  static constexpr Real lowest() noexcept { return std::numeric_limits<Real>::lowest(); }
  static constexpr Real infinity() noexcept { return std::numeric_limits<Real>::infinity(); }
  static constexpr Real quiet_NaN() noexcept { return std::numeric_limits<Real>::quiet_NaN(); }
  static constexpr int digits10() noexcept { return std::numeric_limits<Real>::max_digits10; }
};

namespace internal {

/// cast<E4M3>() of float or double: nearest even, saturating, as mxref::encode. cast<float>() of
/// elements is exact, and needs nothing here.
template <mxref::native_float T, mxref::format_desc D>
struct cast_impl<T, mxref::element<D>> {
  static mxref::element<D> run(const T& x) noexcept { return mxref::encode<mxref::element<D>>(x); }
};
template <mxref::format_desc From, mxref::format_desc To>
struct cast_impl<mxref::element<From>, mxref::element<To>> {
  static mxref::element<To> run(const mxref::element<From>& x) noexcept {
    return mxref::encode<mxref::element<To>>(x);
  }
};

}  // namespace internal
}  // namespace Eigen

#endif  // MXREF_EIGEN_HPP_
