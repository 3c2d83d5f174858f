# SPDX-License-Identifier: Apache-2.0
# <mxref/mxref.hpp> reaches no Highway, Eigen, CUDA or stream header.
# Usage: cmake -DROOT=SOURCE_TREE -DCXX=COMPILER -P scalar_umbrella.cmake
cmake_minimum_required(VERSION 3.22)
if(NOT DEFINED ROOT OR NOT DEFINED CXX)
  message(FATAL_ERROR "usage: cmake -DROOT=SOURCE_TREE -DCXX=COMPILER -P scalar_umbrella.cmake")
endif()

set(include_dir ${ROOT}/include)
execute_process(
  COMMAND ${CXX} -std=c++20 -M -I${include_dir} -x c++ ${include_dir}/mxref/mxref.hpp
  OUTPUT_VARIABLE rule
  RESULT_VARIABLE result)
if(NOT result EQUAL 0)
  message(FATAL_ERROR "the compiler could not preprocess mxref/mxref.hpp")
endif()

# A make rule: `target: file file \<newline> file`, with spaces in names written `\ `.
string(REGEX REPLACE "\\\\\r?\n" " " rule "${rule}")
string(REPLACE ";" "<semicolon>" rule "${rule}")
string(REPLACE "\\ " "<space>" rule "${rule}")
string(REGEX REPLACE "^[^:]*: " "" rule "${rule}")
string(REGEX MATCHALL "[^ \r\n]+" files "${rule}")

set(own 0)
set(found "")
foreach(file IN LISTS files)
  string(REPLACE "<space>" " " file "${file}")
  string(FIND "${file}" "${include_dir}/mxref/" at)
  if(at EQUAL 0)
    math(EXPR own "${own} + 1")
    continue()
  endif()
  if(file MATCHES "(^|/)(hwy|Eigen)/|(^|/)cuda[^/]*(/|$)|(^|/)(iostream|istream|ostream|fstream|sstream)$")
    string(APPEND found "\n  ${file}")
  endif()
endforeach()

list(LENGTH files total)
if(own LESS 2)
  message(FATAL_ERROR "nothing was checked: ${own} of ${total} dependencies are mxref headers")
endif()
if(found)
  message(FATAL_ERROR "mxref/mxref.hpp must not reach:${found}")
endif()
message(STATUS "mxref/mxref.hpp: ${own} mxref headers and ${total} files in all, none forbidden")
