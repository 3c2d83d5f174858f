// SPDX-License-Identifier: Apache-2.0
// The health check beside each figure: what the processor does in registers at that moment.
#pragma once

namespace bench {

/// Binary32 multiply-adds of one thread in registers, 10^9 operations (two each) per second: the
/// best of a few short runs.
double fma_gflops();

}  // namespace bench
