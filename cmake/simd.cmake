# SPDX-License-Identifier: Apache-2.0
# mxref::simd      headers with vector kernels for the flags of the including unit (static dispatch)
# mxref::dispatch  all kernels compiled once for all targets (run-time dispatch)
# Both need Highway, 1.0.3 or newer; the vector-free mxref::mxref does not.
include(cmake/mxrefHighway.cmake)
if(NOT TARGET mxref::highway)
  message(FATAL_ERROR "MXREF_SIMD is on, but Highway was not found: install libhwy-dev (Debian, Ubuntu) or set "
                      "hwy_DIR; or configure with -DMXREF_SIMD=OFF for the scalar library alone")
endif()

find_package(Threads REQUIRED)

add_library(mxref_simd INTERFACE)
add_library(mxref::simd ALIAS mxref_simd)
set_target_properties(mxref_simd PROPERTIES EXPORT_NAME simd)
target_link_libraries(mxref_simd INTERFACE mxref mxref::highway Threads::Threads)
# Not needed for the bits (every contractible operation is exact), but it keeps debugging simple.
target_compile_options(mxref_simd INTERFACE $<$<COMPILE_LANG_AND_ID:CXX,GNU,Clang,AppleClang>:-ffp-contract=off>)

file(GENERATE OUTPUT ${CMAKE_CURRENT_BINARY_DIR}/mxref_dispatch.cpp
     CONTENT "#include <mxref/simd/dispatch_impl.hpp>\n")
add_library(mxref_dispatch STATIC ${CMAKE_CURRENT_BINARY_DIR}/mxref_dispatch.cpp)
add_library(mxref::dispatch ALIAS mxref_dispatch)
set_target_properties(mxref_dispatch PROPERTIES EXPORT_NAME dispatch POSITION_INDEPENDENT_CODE ON)
target_link_libraries(mxref_dispatch PUBLIC mxref Threads::Threads PRIVATE mxref_simd)
if(NOT MXREF_INSTALL) # what is installed must be built
  set_target_properties(mxref_dispatch PROPERTIES EXCLUDE_FROM_ALL ON)
endif()
