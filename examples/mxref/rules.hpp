// SPDX-License-Identifier: Apache-2.0
// The scale rules by name, explained, and where each moves the scale.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "mxref/mxref.hpp"

namespace mxtool {

/// A rule with E8M0 scales, or one of NVFP4.
struct rule_entry {
  std::string_view name;
  mxref::scale_rule rule;  // of E8M0 rules
  bool is_nvfp4;
  std::string_view formula;
  std::string_view used_by;
  std::string_view differs;  // from its neighbours
};

std::span<const rule_entry> rules();

/// Throws: unknown scale rule, or one of the other scale format.
const rule_entry& find_rule(std::string_view text, mxref::format_desc scale_format);

/// Where a rule's scale is one above floor's: amax = m * 2^k, 1 <= m < 2, from this m on; `above`:
/// only beyond it. Below 1: never. Found by trying binary32 significands.
struct threshold {
  double m;
  bool above;
};
threshold threshold_of(mxref::scale_rule rule, mxref::format_desc element);

}  // namespace mxtool
