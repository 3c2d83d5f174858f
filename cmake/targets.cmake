# SPDX-License-Identifier: Apache-2.0
# mxref::mxref has no dependency and sets no flag: only an include directory and the language level.
add_library(mxref INTERFACE)
add_library(mxref::mxref ALIAS mxref)
target_include_directories(mxref INTERFACE $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>)
target_compile_features(mxref INTERFACE cxx_std_20)

# The warnings under which mxref's own tests, tools and headers are compiled. Never part of a public target.
add_library(mxref_warnings INTERFACE)
target_compile_options(
  mxref_warnings
  INTERFACE $<$<COMPILE_LANG_AND_ID:CXX,GNU,Clang,AppleClang>:-Wall -Wextra -Wconversion -Wshadow -Wold-style-cast
            -Wpedantic>
            # GCC 12 and 13 warn falsely inside std::string concatenation (GCC bug 105651).
            $<$<COMPILE_LANG_AND_ID:CXX,GNU>:-Wno-restrict>
            $<$<AND:$<BOOL:${MXREF_WERROR}>,$<COMPILE_LANG_AND_ID:CXX,GNU,Clang,AppleClang>>:-Werror>)
