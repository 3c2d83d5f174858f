# SPDX-License-Identifier: Apache-2.0
# Level 4: exact sums, binary32 arithmetic, accumulation, matrix products and matrix units.
find_path(MXREF_MPFR_INCLUDE_DIR mpfr.h REQUIRED)
find_library(MXREF_MPFR_LIBRARY mpfr REQUIRED)
mark_as_advanced(MXREF_MPFR_INCLUDE_DIR MXREF_MPFR_LIBRARY)
target_include_directories(mxref_sweep_tests SYSTEM PRIVATE ${MXREF_MPFR_INCLUDE_DIR})
target_link_libraries(mxref_sweep_tests PRIVATE ${MXREF_MPFR_LIBRARY})
target_sources(mxref_sweep_tests PRIVATE binary32_test.cpp dot_test.cpp exact_sum_test.cpp gemm_test.cpp
                                         library_order_test.cpp matrix_unit_test.cpp unit_test.cpp)
