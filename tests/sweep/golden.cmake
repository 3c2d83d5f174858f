# SPDX-License-Identifier: Apache-2.0
# Comparisons with the golden vectors of tests/data. One process for all of them: only then can the
# ledger tell that nothing was left out.
add_executable(
  mxref_golden_tests
  golden_block_test.cpp
  golden_decode_test.cpp
  golden_e8m0_test.cpp
  golden_encode_test.cpp
  golden_nvfp4_test.cpp
  golden_preset_test.cpp
  golden_rules_test.cpp
  golden_layout_test.cpp
  golden_units_test.cpp)
target_link_libraries(mxref_golden_tests PRIVATE mxref::mxref mxref_golden mxref_warnings GTest::gtest_main)
add_test(NAME golden COMMAND mxref_golden_tests)
set_tests_properties(golden PROPERTIES LABELS unit)
