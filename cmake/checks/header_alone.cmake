# SPDX-License-Identifier: Apache-2.0

# mxref_add_header_alone(NAME [LIBRARIES target...] [FOLDERS simd|cuda...] [EXCLUDE regex...])
#
# Defines the object library NAME: one generated unit per header of include/mxref that includes the
# header alone, twice, with the warnings of mxref_warnings. Headers are reached through the build
# tree's own target, so they are no system headers and their warnings count.
# FOLDERS: subfolders to take instead of the headers outside simd/ and cuda/.
# EXCLUDE: headers that are not meant to be included alone.
function(mxref_add_header_alone name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "LIBRARIES;FOLDERS;EXCLUDE")
  set(include_dir ${PROJECT_SOURCE_DIR}/include)
  file(GLOB_RECURSE headers CONFIGURE_DEPENDS RELATIVE ${include_dir} ${include_dir}/mxref/*.hpp)
  if(arg_FOLDERS)
    list(JOIN arg_FOLDERS "|" folders)
    list(FILTER headers INCLUDE REGEX "^mxref/(${folders})/")
  else()
    list(FILTER headers EXCLUDE REGEX "^mxref/(simd|cuda)/")
  endif()
  foreach(regex IN LISTS arg_EXCLUDE)
    list(FILTER headers EXCLUDE REGEX "${regex}")
  endforeach()
  if(NOT headers)
    message(FATAL_ERROR "${name}: no headers found in ${include_dir}/mxref")
  endif()
  set(sources "")
  foreach(header IN LISTS headers)
    string(MAKE_C_IDENTIFIER "${header}" unit)
    set(source ${CMAKE_CURRENT_BINARY_DIR}/${name}/${unit}.cpp)
    file(CONFIGURE OUTPUT ${source} @ONLY
         CONTENT "#include <@header@>\n#include <@header@>  // its guard works\n")
    list(APPEND sources ${source})
  endforeach()
  add_library(${name} OBJECT ${sources})
  target_link_libraries(${name} PRIVATE mxref::mxref mxref_warnings ${arg_LIBRARIES})
endfunction()
