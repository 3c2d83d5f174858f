#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# No public header is longer than 400 lines. Usage: line_cap.sh SOURCE_TREE
set -eu
# shellcheck source=cmake/checks/common.sh
. "$(dirname -- "$0")/common.sh"

cap=400
count=0
while read -r file; do
  [ -n "$file" ] || continue
  count=$((count + 1))
  lines=$(wc -l <"$file")
  [ "$lines" -le "$cap" ] || report "$file: $((lines)) lines, more than $cap"
done <<END
$(tree_files -path './include/*')
END
done_checking "$count" headers
