#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# No file carries an unfinished-work marker or the path of somebody's machine.
# Usage: words.sh SOURCE_TREE
set -eu
# shellcheck source=cmake/checks/common.sh
. "$(dirname -- "$0")/common.sh"

# Put together here so that this file does not contain what it looks for.
markers="TO""DO|FIX""ME|X""XX|HA""CK"
paths="/(wo""rk|ro""ot|ho""me|Us""ers)/[A-Za-z0-9_.]|[A-Z]:\\\\Us""ers\\\\"

count=0
while read -r file; do
  [ -n "$file" ] || continue
  count=$((count + 1))
  # -I: binary files are data. (The if also takes grep's "no match" away from set -e.)
  if hits=$(grep -I -nwE "$markers" "$file"); then report "$file: unfinished-work marker: $hits"; fi
  if hits=$(grep -I -nE "(^|[^A-Za-z0-9_./}-])($paths)" "$file"); then
    report "$file: path of a machine: $hits"
  fi
done <<END
$(tree_files -name '*')
END
done_checking "$count" files
