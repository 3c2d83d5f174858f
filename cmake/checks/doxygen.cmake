# SPDX-License-Identifier: Apache-2.0
# The reference pages build without a warning.
# Usage: cmake -DROOT=SOURCE_TREE -DOUTPUT=DIRECTORY -DVERSION=X -DDOXYGEN=PROGRAM -P doxygen.cmake
cmake_minimum_required(VERSION 3.22)
file(REMOVE_RECURSE ${OUTPUT})
file(MAKE_DIRECTORY ${OUTPUT})

# README.md is the main page. Its pictures and its links into the repository have no page here: of
# the links only the text stays.
file(READ ${ROOT}/README.md text)
string(REGEX REPLACE "!\\[[^]\n]*\\]\\([^)\n]*\\)" "" text "${text}")
string(REGEX REPLACE "\\[([^]\n]*)\\]\\(([^h)]|h[^t)])[^)\n]*\\)" "\\1" text "${text}")
file(WRITE ${OUTPUT}/mainpage.md "${text}")

configure_file(${ROOT}/cmake/Doxyfile.in ${OUTPUT}/Doxyfile @ONLY)
execute_process(COMMAND ${DOXYGEN} ${OUTPUT}/Doxyfile WORKING_DIRECTORY ${ROOT} RESULT_VARIABLE result)
if(NOT result EQUAL 0)
  message(FATAL_ERROR "the reference pages do not build without a warning; see above")
endif()
if(NOT EXISTS ${OUTPUT}/html/index.html)
  message(FATAL_ERROR "no reference pages were written")
endif()
message(STATUS "reference pages: ${OUTPUT}/html/index.html")
