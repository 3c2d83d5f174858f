// SPDX-License-Identifier: Apache-2.0
// The health check beside each figure: what the processor does in registers at that moment.
#pragma once

namespace bench {

/// Does binary32 multiply-adds in registers, some tenths of a millisecond; returns how many
/// operations (two each).
double fma_burst();

/// 10^9 such operations per second of one thread: the best of a few bursts.
double fma_gflops();

}  // namespace bench
