// SPDX-License-Identifier: Apache-2.0
// The scalar library: levels 0 to 4. Reaches no Highway, Eigen, CUDA or iostream.
#ifndef MXREF_MXREF_HPP_
#define MXREF_MXREF_HPP_

#include "mxref/accumulate.hpp"
#include "mxref/amd.hpp"
#include "mxref/binary32.hpp"
#include "mxref/bits.hpp"
#include "mxref/block.hpp"
#include "mxref/buffer.hpp"
#include "mxref/config.hpp"
#include "mxref/convert.hpp"
#include "mxref/dot.hpp"
#include "mxref/element.hpp"
#include "mxref/exact_sum.hpp"
#include "mxref/format.hpp"
#include "mxref/formats.hpp"
#include "mxref/gemm.hpp"
#include "mxref/limits.hpp"
#include "mxref/matrix.hpp"
#include "mxref/matrix_unit.hpp"
#include "mxref/nvidia.hpp"
#include "mxref/order.hpp"
#include "mxref/overflow.hpp"
#include "mxref/packing.hpp"
#include "mxref/philox.hpp"
#include "mxref/quantize.hpp"
#include "mxref/rounding.hpp"
#include "mxref/scale.hpp"
#include "mxref/status.hpp"
#include "mxref/terms.hpp"
#include "mxref/unit_desc.hpp"
#include "mxref/unit_model.hpp"
#include "mxref/unit_step.hpp"
#include "mxref/view.hpp"

#endif  // MXREF_MXREF_HPP_
