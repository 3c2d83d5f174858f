// SPDX-License-Identifier: Apache-2.0
// The vector headers after the macros of others. Highway bears min and max alone, so the rest comes
// after it; the standard library comes first of all.
#include <atomic>
#include <chrono>
#include <bit>
#include <cmath>
#include <concepts>
#include <condition_variable>
#include <cstring>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#define min(a, b) (((a) < (b)) ? (a) : (b))
#define max(a, b) (((a) > (b)) ? (a) : (b))
#include "mxref/simd/highway.hpp"
#include "user_macros.hpp"

#include "simd_products.hpp"

int main() { return simd_products_are_exact() ? 0 : 1; }
