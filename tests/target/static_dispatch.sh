#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The tests of this folder with static dispatch: compiled for one target, by any compiler, and run,
# under an emulator if need be. Usage:
#
#   static_dispatch.sh --target NAME --compiler NAME --flags "FLAG..." [--runner "COMMAND..."]
#                      --root SOURCE_TREE [--highway DIR] --googletest DIR --output DIR [--require]
#
# NAME is Highway's, or `any`: what the flags give, or `scalar`. DIR of --highway holds
# hwy/highway.h (without it: MXREF_NO_HIGHWAY); DIR of --googletest holds src/gtest-all.cc.
# Exit 0 passed on the target NAME, 1 not, 77 skipped: the compiler, the emulator, the sources or a
# feature of the processor is missing. With --require these are failures.
set -eu
# shellcheck source=tests/support/optional.sh
. "$(dirname -- "$0")/../support/optional.sh"

require=no
runner=''
highway=''
while [ $# -gt 0 ]; do
  case $1 in
    --require)
      require=yes
      shift
      continue
      ;;
    --target) target=$2 ;;
    --compiler) compiler=$2 ;;
    --flags) flags=$2 ;;
    --runner) runner=$2 ;;
    --root) root=$2 ;;
    --highway) highway=$2 ;;
    --googletest) googletest=$2 ;;
    --output) output=$2 ;;
    *)
      echo "unknown option $1"
      exit 2
      ;;
  esac
  shift 2
done

[ -z "$highway" ] || [ -f "$highway/hwy/highway.h" ] || missing "no hwy/highway.h in $highway"
[ -f "$googletest/src/gtest-all.cc" ] || missing "no src/gtest-all.cc in $googletest"

mkdir -p "$output/include"
cd "$output"
rm -f include/hwy
if [ -n "$highway" ]; then
  ln -s "$highway/hwy" include/hwy # what lies beside it may belong to another processor
else
  flags="$flags -DMXREF_NO_HIGHWAY"
fi

need_programs "$compiler" "$flags -static" "$runner" ./probe

# compile SOURCE FLAG...: to an object named after the source
compile() {
  file=$1
  shift
  # shellcheck disable=SC2086
  "$compiler" -std=c++20 -O2 "$@" -I "$googletest/include" -c "$file" -o "$(basename "$file").o"
}

compile "$googletest/src/gtest-all.cc" -I "$googletest"
compile "$googletest/src/gtest_main.cc" -I "$googletest"
for source in static_kernels control_register_test convert_test gemm_test; do
  # shellcheck disable=SC2086
  compile "$root/tests/target/$source.cpp" $flags -I "$root/include" -isystem include
done
# shellcheck disable=SC2086
"$compiler" $flags -static ./*.cpp.o gtest-all.cc.o gtest_main.cc.o -o tests 2>link.log || {
  cat link.log
  exit 1
}
$runner ./tests --gtest_list_tests >list.txt
[ "$target" != any ] || target='[A-Z0-9_]*'
grep "^  .*/$target " list.txt || {
  cat list.txt
  echo "FAILED: the kernels are not those of $target"
  exit 1
}
$runner ./tests --gtest_brief=1
