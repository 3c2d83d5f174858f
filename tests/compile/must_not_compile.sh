#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Compiles one case of must_not_compile.cpp without and with its mistake. Usage:
#   must_not_compile.sh CASE EXPECTED_ERROR COMPILER FLAG...
# Passes when the first compiles and the second gives the error (an extended regular expression).
set -eu
case_name=$1
expected=$2
shift 2

if ! errors=$("$@" -DBROKEN=0 "-DCASE_$case_name" -c -o /dev/null 2>&1); then
  printf '%s\n' "$errors"
  echo "FAILED: $case_name does not compile without its mistake"
  exit 1
fi
if errors=$("$@" -DBROKEN=1 "-DCASE_$case_name" -c -o /dev/null 2>&1); then
  echo "FAILED: $case_name compiles with its mistake"
  exit 1
fi
if ! printf '%s\n' "$errors" | grep -E 'error:' | grep -qE "$expected"; then
  printf '%s\n' "$errors"
  echo "FAILED: $case_name is refused for another reason than '$expected'"
  exit 1
fi
printf '%s\n' "$errors" | grep -E 'error:' | head -n 1
