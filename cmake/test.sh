#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Builds and runs every test on a bare system. See --help.
set -eu
name=test.sh
root=$(CDPATH='' cd -- "$(dirname -- "$0")/.." && pwd -P)
# shellcheck source=cmake/packages.sh
. "$root/cmake/packages.sh"

usage() {
  cat <<'END'
Usage: sh cmake/test.sh [--yes] [--quick]

Installs what is missing, builds everything with warnings as errors, and runs all tests.

  -y, --yes    install missing packages without asking
  --quick      default compiler only: no clang, no AArch64 emulation, no reference pages
  -h, --help   this text

Rows       default compiler, into build/test: every test, the source checks, AArch64 under
           emulation, the reference pages; then clang, into build/test-clang.
           A row that fails does not stop the next; the summary at the end names it.

Without --yes it asks before it installs. Without a terminal it installs only for root with CI=true
in the environment, and otherwise says what to install. Packages come from the system's own
apt-get, through sudo when not root. Apart from them only build/ in the source tree is written.

Systems    Debian 12: tested. Ubuntu 24.04: the packages have the same names; untested.
           Others: install the tools below by hand; the script goes on when it finds them.
Variables  CMAKE_BUILD_PARALLEL_LEVEL: parallel jobs (default: every core). CXX: the compiler.
Exit       0 everything passed, 1 something failed, 2 the system lacks something.

Packages (package, version tested with, what for):
END
  list_packages "$packages_tool$packages_test"
  say "Left out by --quick:"
  list_packages "$packages_rows"
}

assume_yes=no
quick=no
for arg in "$@"; do
  case $arg in
    -y | --yes) assume_yes=yes ;;
    --quick) quick=yes ;;
    -h | --help)
      usage
      exit 0
      ;;
    *) die 2 "unknown option '$arg' (try --help)" ;;
  esac
done

step "Packages"
note_system
packages=$packages_tool$packages_test
[ "$quick" = yes ] || packages=$packages$packages_rows
need_packages "$packages"
set_jobs
export CTEST_OUTPUT_ON_FAILURE=1

summary=''
failures=0

# row NAME DIRECTORY LABELS TESTS CMAKE_OPTION...: configures, builds and tests one variant, without
# the tests whose label or name matches the regular expressions LABELS and TESTS.
row() {
  row_name=$1
  row_dir=$root/build/$2
  labels_out=$3
  tests_out=$4
  shift 4
  step "$row_name: build (directory build/${row_dir##*/})"
  configure "$row_dir" -DCMAKE_BUILD_TYPE=Release -DMXREF_WERROR=ON -DMXREF_BUILD_TESTS=ON \
    -DMXREF_BUILD_EXAMPLES=ON -DMXREF_BUILD_BENCH=ON -DMXREF_SIMD=ON "$@"
  if ! cmake --build "$row_dir"; then
    verdict='does not compile'
  else
    step "$row_name: tests"
    set -- -j "$CMAKE_BUILD_PARALLEL_LEVEL" --no-tests=error
    [ -z "$labels_out" ] || set -- "$@" -LE "$labels_out"
    [ -z "$tests_out" ] || set -- "$@" -E "$tests_out"
    if (cd "$row_dir" && ctest "$@"); then
      verdict=passed
    else
      verdict='tests failed'
    fi
  fi
  [ "$verdict" = passed ] || failures=$((failures + 1))
  summary="$summary
  $row_name: $verdict"
}

if [ "$quick" = yes ]; then
  row "default compiler" test '^doc$' '^(digest|static)\.(clang|aarch64)' -DMXREF_REQUIRE_ALL=OFF
else
  row "default compiler" test '' '' -DMXREF_REQUIRE_ALL=ON
  # What does not depend on the configured compiler was judged in the first row.
  row "clang" test-clang '^(doc|source)$' '^(digest|static)\.(g\+\+|clang|aarch64)' -DCMAKE_CXX_COMPILER=clang++
fi

step "Summary"
say "${summary#?}"
[ "$failures" = 0 ] || die 1 "$failures of the rows failed"
