// SPDX-License-Identifier: Apache-2.0
// Catch2 version 2 has its main in the header; version 3 brings it as a library.
#if !__has_include(<catch2/catch_test_macros.hpp>)
#define CATCH_CONFIG_MAIN
#include <catch2/catch.hpp>
#endif
