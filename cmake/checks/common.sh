# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=sh
# Sourced by the checks. Each takes the source tree as its first argument, prints one line per
# finding, and exits 1 if there was any, 2 if it could not look.

root=${1:?usage: $0 SOURCE_TREE}
cd "$root" || exit 2
findings=0

report() {
  printf '%s\n' "$*"
  findings=$((findings + 1))
}

# Ends a check: done_checking COUNT WHAT. A check that looked at nothing is red, too.
done_checking() {
  if [ "$1" -eq 0 ]; then
    printf 'nothing was checked: no %s found in %s\n' "$2" "$root"
    exit 2
  fi
  if [ "$findings" -ne 0 ]; then
    printf '%s findings in %s %s\n' "$findings" "$1" "$2"
    exit 1
  fi
  printf '%s %s: no findings\n' "$1" "$2"
}

# Files of the tree, one per line, without version control, caches and build directories (by name, or
# because CMake has configured them). Takes find's tests.
tree_files() {
  find . \( -path ./.git -o -path './build*' -o -path ./.cache -o -name __pycache__ \) -prune -o \
    -type d ! -path . -exec test -e '{}/CMakeCache.txt' \; -prune -o \
    -type f "$@" -print | sed 's,^\./,,' | sort
}
