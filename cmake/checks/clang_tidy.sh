#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The public headers obey .clang-tidy: names, bug patterns, performance.
# Usage: clang_tidy.sh SOURCE_TREE CLANG_TIDY
set -eu
# shellcheck source=cmake/checks/common.sh
. "$(dirname -- "$0")/common.sh"
tool=${2:-clang-tidy}

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
# eigen.hpp specialises Eigen's traits, whose names are not ours.
headers=$(tree_files -path './include/mxref/*.hpp' | grep -vE '^include/mxref/(simd/|cuda/|eigen\.hpp)' || true)
count=0
for header in $headers; do
  count=$((count + 1))
  printf '#include <%s>\n' "${header#include/}"
done >"$scratch/all.cpp"
[ "$count" -gt 0 ] || done_checking 0 headers
"$tool" --quiet --config-file=.clang-tidy "$scratch/all.cpp" -- -std=c++20 -Iinclude \
  >"$scratch/out" 2>&1 || {
  grep -v 'warnings generated' "$scratch/out"
  report "clang-tidy has findings (above)"
}
done_checking "$count" headers
