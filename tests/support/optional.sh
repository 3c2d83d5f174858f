# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=sh
# Sourced by tests that compile and run programs with what a machine may lack. The caller sets
# `require` (yes or no).

# missing WHAT: skips the test, or fails it where everything must be there.
missing() {
  # shellcheck disable=SC2154
  if [ "$require" = yes ]; then
    echo "FAILED: $1, and MXREF_REQUIRE_ALL is on"
    exit 1
  fi
  echo "SKIPPED: $1"
  exit 77
}

# need_programs COMPILER FLAGS RUNNER PROBE: the compiler knows the flags, and the machine, or the
# emulator RUNNER (may be empty), runs what it makes. PROBE: a name for the files of the attempt.
need_programs() {
  if [ -n "$3" ]; then
    command -v "${3%% *}" >/dev/null 2>&1 || missing "${3%% *} is missing"
  fi
  command -v "$1" >/dev/null 2>&1 || missing "$1 is missing"
  printf 'int main() {}\n' >"$4.cpp"
  # shellcheck disable=SC2086  # lists of words
  if ! "$1" -std=c++20 $2 "$4.cpp" -o "$4" >"$4.log" 2>&1 || ! $3 "$4" >>"$4.log" 2>&1; then
    cat "$4.log"
    missing "$1 $2 does not make a program that runs here"
  fi
}
