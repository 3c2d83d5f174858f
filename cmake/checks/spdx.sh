#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Every source file names its licence in its first three lines. Usage: spdx.sh SOURCE_TREE
set -eu
# shellcheck source=cmake/checks/common.sh
. "$(dirname -- "$0")/common.sh"

files=$(tree_files \( -name '*.hpp' -o -name '*.h' -o -name '*.cpp' -o -name '*.c' -o -name '*.cu' \
  -o -name '*.cuh' -o -name '*.sh' -o -name '*.cmake' -o -name '*.cmake.in' -o -name CMakeLists.txt \
  -o -name '*.py' -o -name '*.yml' -o -path './.ci/*' \))
count=0
while read -r file; do
  [ -n "$file" ] || continue
  count=$((count + 1))
  head -n 3 "$file" | grep -q 'SPDX-License-Identifier: [A-Za-z0-9.-]' ||
    report "$file: no SPDX-License-Identifier in lines 1 to 3"
done <<END
$files
END
done_checking "$count" "source files"
