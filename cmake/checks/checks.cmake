# SPDX-License-Identifier: Apache-2.0
# The checks of the source tree as ctest tests. From tests/CMakeLists.txt:
#
#   include(${PROJECT_SOURCE_DIR}/cmake/checks/checks.cmake)
#   mxref_add_checks()
#   mxref_add_readme_example()        # once README.md has a complete program
#
# Labels: source  what does not depend on the compiler (one row of several is enough)
#         doc     the reference pages
include(${CMAKE_CURRENT_LIST_DIR}/header_alone.cmake)
set(mxref_checks_dir ${CMAKE_CURRENT_LIST_DIR})

function(mxref_add_checks)
  set(root ${PROJECT_SOURCE_DIR})
  find_program(MXREF_SH sh)
  find_program(MXREF_CLANG_FORMAT NAMES clang-format-14 clang-format)
  find_program(MXREF_CLANG_TIDY NAMES clang-tidy-14 clang-tidy)
  find_program(MXREF_DOXYGEN doxygen)
  mark_as_advanced(MXREF_SH MXREF_CLANG_FORMAT MXREF_CLANG_TIDY MXREF_DOXYGEN)

  foreach(check include_levels line_cap references requirements spdx words)
    add_test(NAME check.${check} COMMAND ${MXREF_SH} ${mxref_checks_dir}/${check}.sh ${root})
    set_tests_properties(check.${check} PROPERTIES LABELS source)
  endforeach()

  # Layout differs between versions of clang-format: only the version it is written for counts.
  if(MXREF_CLANG_FORMAT)
    execute_process(COMMAND ${MXREF_CLANG_FORMAT} --version OUTPUT_VARIABLE format_version)
  endif()
  if(format_version MATCHES "version 14\\.")
    add_test(NAME check.clang_format
             COMMAND ${MXREF_SH} ${mxref_checks_dir}/clang_format.sh ${root} ${MXREF_CLANG_FORMAT})
    set_tests_properties(check.clang_format PROPERTIES LABELS source TIMEOUT 300)
  else()
    set(MXREF_CLANG_FORMAT "")
    message(STATUS "mxref: no clang-format 14, check.clang_format is left out")
  endif()
  if(MXREF_CLANG_TIDY)
    add_test(NAME check.clang_tidy
             COMMAND ${MXREF_SH} ${mxref_checks_dir}/clang_tidy.sh ${root} ${MXREF_CLANG_TIDY})
    set_tests_properties(check.clang_tidy PROPERTIES LABELS source)
  else()
    message(STATUS "mxref: no clang-tidy, check.clang_tidy is left out")
  endif()
  if(MXREF_DOXYGEN)
    add_test(NAME check.doxygen
             COMMAND ${CMAKE_COMMAND} -DROOT=${root} -DOUTPUT=${CMAKE_CURRENT_BINARY_DIR}/doxygen
                     -DVERSION=${PROJECT_VERSION} -DDOXYGEN=${MXREF_DOXYGEN} -P ${mxref_checks_dir}/doxygen.cmake)
    set_tests_properties(check.doxygen PROPERTIES LABELS doc)
  else()
    message(STATUS "mxref: no doxygen, check.doxygen is left out")
  endif()

  # These two depend on the compiler.
  add_test(NAME check.scalar_umbrella
           COMMAND ${CMAKE_COMMAND} -DROOT=${root} -DCXX=${CMAKE_CXX_COMPILER}
                   -P ${mxref_checks_dir}/scalar_umbrella.cmake)
  find_package(Eigen3 3.3 CONFIG QUIET)
  if(TARGET Eigen3::Eigen)
    mxref_add_header_alone(mxref_header_alone LIBRARIES Eigen3::Eigen)
  else()
    mxref_add_header_alone(mxref_header_alone EXCLUDE "mxref/eigen\\.hpp")
  endif()
  if(TARGET mxref::simd)
    # dispatch_impl.hpp, minutes long, is the one header of the unit behind mxref::dispatch.
    mxref_add_header_alone(mxref_header_alone_simd FOLDERS simd LIBRARIES mxref::simd EXCLUDE dispatch_impl)
  endif()

  # Each check above is seen red on a tree that deserves it. An absent tool is passed as empty.
  foreach(tool CLANG_FORMAT CLANG_TIDY DOXYGEN)
    set(${tool} "")
    if(MXREF_${tool})
      set(${tool} ${MXREF_${tool}})
    endif()
  endforeach()
  add_test(NAME check.selftest
           COMMAND ${CMAKE_COMMAND} -E env CMAKE=${CMAKE_COMMAND} GENERATOR=${CMAKE_GENERATOR} CXX=${CMAKE_CXX_COMPILER}
                   CLANG_FORMAT=${CLANG_FORMAT} CLANG_TIDY=${CLANG_TIDY} DOXYGEN=${DOXYGEN}
                   ${MXREF_SH} ${mxref_checks_dir}/selftest.sh ${root})
  set_tests_properties(check.selftest PROPERTIES LABELS source)
endfunction()

# Extracts the complete program of README.md, compiles it as a user would, and runs it.
function(mxref_add_readme_example)
  set(source ${CMAKE_CURRENT_BINARY_DIR}/readme_example.cpp)
  add_custom_command(
    OUTPUT ${source}
    COMMAND ${MXREF_SH} ${mxref_checks_dir}/readme_example.sh ${PROJECT_SOURCE_DIR}/README.md ${source}
    DEPENDS ${PROJECT_SOURCE_DIR}/README.md ${mxref_checks_dir}/readme_example.sh
    VERBATIM)
  add_executable(readme_example ${source})
  target_link_libraries(readme_example PRIVATE mxref::mxref mxref_warnings)
  add_test(NAME readme.example COMMAND readme_example)
endfunction()
