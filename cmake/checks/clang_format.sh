#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Every C++ file is laid out as .clang-format says. Usage: clang_format.sh SOURCE_TREE CLANG_FORMAT
set -eu
# shellcheck source=cmake/checks/common.sh
. "$(dirname -- "$0")/common.sh"
tool=${2:-clang-format}

files=$(tree_files \( -name '*.hpp' -o -name '*.cpp' -o -name '*.cuh' -o -name '*.cu' \))
count=0
while read -r file; do
  [ -n "$file" ] || continue
  count=$((count + 1))
  "$tool" --style=file --dry-run --Werror "$file" >/dev/null 2>&1 ||
    report "$file: not formatted; run: $tool -i $file"
done <<END
$files
END
done_checking "$count" "C++ files"
