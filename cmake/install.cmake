# SPDX-License-Identifier: Apache-2.0
# What `cmake --install` copies: headers, mxref::dispatch where it is built, the files of find_package(mxref) and
# of pkg-config, the tool. All of it may be moved afterwards.
include(CMakePackageConfigHelpers)
include(GNUInstallDirs)
set(mxref_package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/mxref)
set(mxref_pkgconfig_dir ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
set(mxref_generated_dir ${CMAKE_CURRENT_BINARY_DIR}/package)

# Paths as the pkg-config files write them.
cmake_path(RELATIVE_PATH CMAKE_INSTALL_PREFIX BASE_DIRECTORY ${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig
           OUTPUT_VARIABLE mxref_pc_prefix)
cmake_path(RELATIVE_PATH CMAKE_INSTALL_FULL_LIBDIR BASE_DIRECTORY ${CMAKE_INSTALL_PREFIX}
           OUTPUT_VARIABLE mxref_pc_libdir)
cmake_path(RELATIVE_PATH CMAKE_INSTALL_FULL_INCLUDEDIR BASE_DIRECTORY ${CMAKE_INSTALL_PREFIX}
           OUTPUT_VARIABLE mxref_pc_includedir)

# An export set for each component of find_package, so that one without Highway reads nothing that names it.
set(mxref_installed mxref)
if(MXREF_SIMD)
  list(APPEND mxref_installed mxref_simd mxref_dispatch)
endif()
foreach(target IN LISTS mxref_installed)
  string(REPLACE "_" "-" name ${target})
  install(TARGETS ${target} EXPORT ${name}
          ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT mxref_development
          INCLUDES DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
  install(EXPORT ${name} NAMESPACE mxref:: FILE ${name}-targets.cmake DESTINATION ${mxref_package_dir}
          COMPONENT mxref_development)
  configure_file(cmake/${name}.pc.in ${mxref_generated_dir}/${name}.pc @ONLY)
  install(FILES ${mxref_generated_dir}/${name}.pc DESTINATION ${mxref_pkgconfig_dir} COMPONENT mxref_development)
endforeach()

configure_file(cmake/mxrefConfig.cmake.in ${mxref_generated_dir}/mxrefConfig.cmake @ONLY)
# Another minor version is another inline namespace: it is no substitute. Headers alone suit every processor.
set(mxref_any_processor "")
if(NOT MXREF_SIMD)
  set(mxref_any_processor ARCH_INDEPENDENT)
endif()
write_basic_package_version_file(${mxref_generated_dir}/mxrefConfigVersion.cmake COMPATIBILITY SameMinorVersion
                                 ${mxref_any_processor})
install(FILES ${mxref_generated_dir}/mxrefConfig.cmake ${mxref_generated_dir}/mxrefConfigVersion.cmake
              cmake/mxrefHighway.cmake
        DESTINATION ${mxref_package_dir} COMPONENT mxref_development)

install(DIRECTORY include/mxref DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT mxref_development)
install(FILES LICENSE DESTINATION ${CMAKE_INSTALL_DATAROOTDIR}/licenses/mxref COMPONENT mxref_development)
if(MXREF_BUILD_EXAMPLES)
  install(TARGETS mxref_tool RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT mxref_tool)
endif()
