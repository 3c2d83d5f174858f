#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Every requirement of tests/spec/clauses.txt has a test case or a reason, every test case a requirement, and
# every line of tests/spec/faults.txt names a test that is there. Usage: requirements.sh SOURCE_TREE
set -eu
# shellcheck source=cmake/checks/common.sh
. "$(dirname -- "$0")/common.sh"

count=0
ids=' '
while read -r id reason; do
  case $id in '' | '#'*) continue ;; esac
  count=$((count + 1))
  ids="$ids$id "
  [ -n "$reason" ] && continue
  grep -qF "[$id]" tests/spec/*.cpp || report "tests/spec/clauses.txt: $id has no test case and no reason"
done <tests/spec/clauses.txt

for tag in $(grep -ohE '\[(mx|ofp8)-[A-Za-z0-9.-]*\]' tests/spec/*.cpp | tr -d '[]' | grep -vx 'ofp8-1\.0' | sort -u); do
  case $ids in *" $tag "*) ;; *) report "tests/spec/clauses.txt: lacks $tag, which has a test case" ;; esac
done

number=0
while IFS='|' read -r id _ _ where; do
  case $id in '' | '#'*) continue ;; esac
  count=$((count + 1))
  number=$((number + 1))
  [ "$((id))" = "$number" ] || report "tests/spec/faults.txt: $((id)) where $number should be"
  where=${where# }
  case $where in
    '- '*) continue ;;
  esac
  file=${where%%:*}
  text=${where#*:}
  { [ -f "$file" ] && grep -qF -- "$text" "$file"; } || report "tests/spec/faults.txt: $number: $file has no '$text'"
done <tests/spec/faults.txt
done_checking "$count" requirements
