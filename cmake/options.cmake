# SPDX-License-Identifier: Apache-2.0
# Every option is off unless mxref is the top-level project.
option(MXREF_BUILD_EXAMPLES "Build the mxref tool and the examples" ${PROJECT_IS_TOP_LEVEL})
option(MXREF_BUILD_TESTS "Build the tests" ${PROJECT_IS_TOP_LEVEL})
option(MXREF_SIMD "Vector kernels: the targets mxref::simd and mxref::dispatch (needs Highway)" ${PROJECT_IS_TOP_LEVEL})
option(MXREF_INSTALL "Install mxref with `cmake --install`" ${PROJECT_IS_TOP_LEVEL})
option(MXREF_BUILD_BENCH "Build the benchmarks (needs Google Benchmark and MXREF_SIMD)" OFF)
option(MXREF_EXHAUSTIVE "Add the exhaustive sweep over all binary32 inputs to the tests (33 to 110 minutes of processor time)" OFF)
option(MXREF_WERROR "Treat warnings of mxref's own sources as errors" OFF)
