// SPDX-License-Identifier: Apache-2.0
// The polynomials behind exp, log, sine, cosine and the normal distribution. Each function is
// binary64 additions, multiplications, divisions and square roots in a written order, none of them
// fused, so that any IEEE 754 processor gives the same bits.
#pragma once

namespace instability::elementary {

/// exp(x) = 2^n p(r), n = the integer nearest to x / ln 2, r = x - n ln 2: the Taylor series, of
/// which the first term left out is below 2^-52 for |r| <= ln(2) / 2.
inline constexpr double exp_terms[] = {
    1.0,        1.0,         1.0 / 2,      1.0 / 6,       1.0 / 24,       1.0 / 120,      1.0 / 720,
    1.0 / 5040, 1.0 / 40320, 1.0 / 362880, 1.0 / 3628800, 1.0 / 39916800, 1.0 / 479001600};
inline constexpr double log2_e = 0x1.71547652b82fep+0;
/// ln 2 in two parts; the first has 32 bits, so that n times it is exact.
inline constexpr double ln2_high = 0x1.62e42feep-1;
inline constexpr double ln2_low = 0x1.a39ef35793c76p-33;
/// 1.5 * 2^52: what is added to it is rounded to an integer, in the low bits of the sum.
inline constexpr double to_integer = 0x1.8p52;
/// exp is for arguments within these.
inline constexpr double exp_limit = 708.0;

/// erfc(z) exp(z^2) (1 + 2 z) as a polynomial in (z - 4) / (z + 4), 0 <= z <= 26.6: interpolated at
/// Chebyshev nodes, computed with 60 digits; relative error below 2^-50.
inline constexpr double erfcx_terms[] = {
    0x1.3ba5916e9fd7fp+0,  -0x1.1df1ad154a427p-3,  0x1.f7f5df66fd9f1p-7,   0x1.16ecefcfb9131p-4,
    -0x1.9ddb23c3e3a12p-4, 0x1.7fee004bcc843p-4,   -0x1.0fb06dff7175ep-4,  0x1.3079ee333854fp-5,
    -0x1.0962382e884acp-6, 0x1.49c664d12faedp-8,   -0x1.8d4afd683bb38p-11, -0x1.a1d7f1a5d7efep-13,
    0x1.3be8416b8692dp-13, -0x1.99e79a699a0aap-16, -0x1.7a0a6e4c6f7b4p-17, 0x1.822bd1a40a7c2p-18,
    0x1.908eb06246494p-22, -0x1.c7ccead6def56p-21, -0x1.7a4b2870cd19cp-29, 0x1.ab5ee6baa152ap-24,
    0x1.08c1b2dfe6199p-26};
inline constexpr double erfcx_pole = 4.0;
/// Beyond it the tail of the normal distribution times any binary32 number is 0 in binary32.
inline constexpr double normal_limit = 37.5;
inline constexpr double sqrt_half = 0x1.6a09e667f3bcdp-1;
/// 1 / sqrt(2 pi)
inline constexpr double density_at_0 = 0x1.9884533d43651p-2;

/// log(m) = 2 s (1 + s^2 / 3 + s^4 / 5 + ...), s = (m - 1) / (m + 1), sqrt(1/2) <= m < sqrt(2).
inline constexpr double log_terms[] = {2.0,      2.0 / 3,  2.0 / 5,  2.0 / 7,  2.0 / 9,
                                       2.0 / 11, 2.0 / 13, 2.0 / 15, 2.0 / 17, 2.0 / 19};

/// sin(r) = r (1 - r^2 / 6 + ...) and cos(r) for |r| <= pi / 4.
inline constexpr double sin_terms[] = {
    1.0,          -1.0 / 6,        1.0 / 120,        -1.0 / 5040,
    1.0 / 362880, -1.0 / 39916800, 1.0 / 6227020800, -1.0 / 1307674368000};
inline constexpr double cos_terms[] = {1.0,
                                       -1.0 / 2,
                                       1.0 / 24,
                                       -1.0 / 720,
                                       1.0 / 40320,
                                       -1.0 / 3628800,
                                       1.0 / 479001600,
                                       -1.0 / 87178291200,
                                       1.0 / 20922789888000};
inline constexpr double pi = 0x1.921fb54442d18p+1;

/// The constants of the rounded GELU: x / (1 + exp(-1.59375 (x + 0.044677734 x^3))).
inline constexpr float gelu_scale = 1.59375F;
inline constexpr float gelu_cube = 0.044677734F;
inline constexpr float gelu_cube3 = 0.21386719F;

}  // namespace instability::elementary
