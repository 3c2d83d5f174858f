#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Runs the digest program and compares it with the stored digest. Usage:
#
#   compare.sh EXPECTED [--require] [--program FILE] [--source FILE --include DIR --output FILE
#              --compiler NAME --flags "FLAG..."] [--runner NAME] "ARGUMENT..."...
#
# With --program that file is run; else the source is compiled with the compiler and the flags first.
# --runner runs the program (an emulator). Each last argument is one run with those arguments.
# Exit 0 equal, 1 different or not compiled, 77 skipped: the compiler, the runner, a flag or a mode
# of the processor is missing. With --require these are failures.
set -eu
# shellcheck source=tests/support/optional.sh
. "$(dirname -- "$0")/../support/optional.sh"

expected=$1
shift
require=no
program=''
source=''
include=''
output=''
compiler=''
flags=''
runner=''
while [ $# -gt 0 ]; do
  case $1 in
    --require)
      require=yes
      shift
      continue
      ;;
    --program) program=$2 ;;
    --source) source=$2 ;;
    --include) include=$2 ;;
    --output) output=$2 ;;
    --compiler) compiler=$2 ;;
    --flags) flags=$2 ;;
    --runner) runner=$2 ;;
    *) break ;;
  esac
  shift 2
done

if [ -z "$program" ]; then
  need_programs "$compiler" "$flags" "$runner" "$output.probe"
  # shellcheck disable=SC2086
  if ! "$compiler" -std=c++20 $flags -I "$include" "$source" -o "$output"; then
    echo "FAILED: $compiler $flags does not compile $source"
    exit 1
  fi
  program=$output
fi

want=$(sed '/^#/d' "$expected")
result=0
for arguments in "$@"; do
  status=0
  # shellcheck disable=SC2086
  got=$($runner "$program" --parts $arguments) || status=$?
  [ "$status" != 3 ] || missing "the processor lacks the mode $arguments"
  if [ "$status" != 0 ]; then
    echo "FAILED: the program with arguments '$arguments' ends with status $status"
    result=1
  elif [ "$got" = "$want" ]; then
    echo "equal, arguments '$arguments': $(printf '%s\n' "$got" | tail -n 1)"
  else
    echo "FAILED: with arguments '$arguments' the results are not those of $expected"
    printf '%s\n' "$got" | while read -r name value; do
      stored=$(printf '%s\n' "$want" | sed -n "s/^$name //p")
      [ "$stored" = "$value" ] || echo "differs: $name $value, stored ${stored:-nothing}"
    done
    result=1
  fi
done
exit "$result"
