#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Every file of the tree that a header, a source or a page names exists. Usage: references.sh SOURCE_TREE
set -eu
# shellcheck source=cmake/checks/common.sh
. "$(dirname -- "$0")/common.sh"

# The checks and their self-test name files of other trees.
files=$(tree_files \( -name '*.hpp' -o -name '*.cpp' -o -name '*.md' -o -name CMakeLists.txt \))
count=0
while read -r file; do
  [ -n "$file" ] || continue
  count=$((count + 1))
  names=$(grep -oE '(^|[^A-Za-z0-9_/.{}-])(tests|bench|examples|include|cmake|\.github)/[A-Za-z0-9_./-]*[A-Za-z0-9_]\.[a-z]+' "$file" |
    sed -E 's,^[^A-Za-z.],,' || true)
  for name in $names; do
    [ -e "$name" ] || report "$file: names $name, which does not exist"
  done
done <<END
$files
END
done_checking "$count" files
