#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Builds the mxref tool on a bare system and shows it judging a GEMM dump. See --help.
set -eu
name=demo.sh
root=$(CDPATH='' cd -- "$(dirname -- "$0")/.." && pwd -P)
# shellcheck source=cmake/packages.sh
. "$root/cmake/packages.sh"

usage() {
  cat <<'END'
Usage: sh cmake/demo.sh [--yes]

Installs what is missing, builds the mxref tool into build/demo, and runs it on a small GEMM dump:
once on a correct output (MATCH) and once on a damaged one (MISMATCH, with a report).

  -y, --yes    install missing packages without asking
  -h, --help   this text

Without --yes it asks before it installs. Without a terminal it installs only for root with CI=true
in the environment, and otherwise says what to install. Packages come from the system's own
apt-get, through sudo when not root. Apart from them only build/ in the source tree is written.

Systems    Debian 12: tested. Ubuntu 24.04: the packages have the same names; untested.
           Others: install the tools below by hand; the script goes on when it finds them.
Variables  CMAKE_BUILD_PARALLEL_LEVEL: parallel jobs (default: every core). CXX: the compiler.
Exit       0 the tool gave both expected verdicts, 1 it did not or did not compile,
           2 the system lacks something.

Packages (package, version tested with, what for):
END
  list_packages "$packages_tool"
}

assume_yes=no
for arg in "$@"; do
  case $arg in
    -y | --yes) assume_yes=yes ;;
    -h | --help)
      usage
      exit 0
      ;;
    *) die 2 "unknown option '$arg' (try --help)" ;;
  esac
done

step "1/3 Packages"
note_system
need_packages "$packages_tool"

step "2/3 Build (directory build/demo)"
set_jobs
# A small product needs no vector kernels: one library less to install.
configure "$root/build/demo" -DCMAKE_BUILD_TYPE=Release -DMXREF_SIMD=OFF \
  -DMXREF_BUILD_TESTS=OFF -DMXREF_BUILD_EXAMPLES=ON -DMXREF_BUILD_BENCH=OFF
cmake --build "$root/build/demo" --target mxref_tool ||
  die 1 "the tool did not compile; the compiler's message is above"

step "3/3 Is this GEMM output right, bit for bit?"
cd "$root"
tool=build/demo/examples/mxref/mxref
[ -x "$tool" ] || die 1 "the build made no $tool"
say "D = A B^T with M = N = 16, K = 256: FP8 E4M3 elements, one E8M0 scale per 32 of them, as the
mxf8f6f4 instruction of NVIDIA Blackwell takes them. The dumps are in examples/data/."

# verify_dump FILE: runs the tool on one dump; leaves its output in $output and exit code in $code.
verify_dump() {
  set -- verify --a "$1:a" --a-format e4m3 --a-scales "$1:a_scales" \
    --b "$1:b" --b-format e4m3 --b-scales "$1:b_scales" \
    --accumulate nvidia-blackwell-tcgen05-mxf8f6f4 --d "$1:d"
  printf '\n$ %s verify \\\n' "$tool"
  printf '    --a %s --a-format e4m3 --a-scales %s \\\n' "$3" "$7"
  printf '    --b %s --b-format e4m3 --b-scales %s \\\n' "$9" "${13}"
  printf '    --accumulate %s --d %s\n' "${15}" "${17}"
  code=0
  output=$("$tool" "$@" 2>&1) || code=$?
  printf '%s\n' "$output"
  say "(exit code $code)"
}

verify_dump examples/data/gemm.npz
[ "$code" = 0 ] || die 1 "the correct dump must give exit code 0, not $code"
printf '%s\n' "$output" | grep -qx 'MATCH 256/256 bit-exact' ||
  die 1 "the report must have the line: MATCH 256/256 bit-exact"

say ""
say "Now the output of a kernel with two bugs: it skips the last K block in its last two columns,
and rounds one element to nearest where the hardware model truncates:"
verify_dump examples/data/gemm_damaged.npz
[ "$code" = 1 ] || die 1 "the damaged dump must give exit code 1, not $code"
printf '%s\n' "$output" | grep -q '^MISMATCH 31/256' ||
  die 1 "the report must have a line that starts with: MISMATCH 31/256"

cat <<'END'

Read it from the map at its end: two whole columns are wrong (a tile's edge), and one lone element
is off by one unit in the last place (a rounding).

Both verdicts are as expected. The judge here is a public model of the tensor core (MMA-Sim v2),
not measured silicon: a match says that the output has exactly the bits of that model.

Next
  Your own kernel   dump A, B, their scales and D (README.md, "Verify a kernel's output") and put the
                    files into the command above
  The tool          build/demo/examples/mxref/mxref --help
  The library       README.md, "In your code": one include, nothing to link
  How it is proven  sh cmake/test.sh
END
