#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Shows that the suite sees constants: each of these is changed by one in a copy of the headers, and the
# test beside it, compiled against the copy, must fail to compile or fail. About a minute; run by hand, or as the
# test `mutations` under MXREF_EXHAUSTIVE.
# Usage: mutations.sh SOURCE_TREE BUILD_TREE [FIRST [LAST]]   (BUILD_TREE: tests are built there)
# Environment: CXX
set -eu
source=$(CDPATH="" cd -- "${1:?usage: $0 SOURCE_TREE BUILD_TREE [FIRST [LAST]]}" && pwd)
build=$(CDPATH="" cd -- "${2:?usage: $0 SOURCE_TREE BUILD_TREE [FIRST [LAST]]}" && pwd)
first=${3:-1}
last=${4:-1000}
CXX=${CXX:-c++}
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

# header | what is replaced | by what | test that must see it
mutations='
formats.hpp|E5M2 = element<format_desc{5, 2, 15|E5M2 = element<format_desc{5, 2, 16|faults
formats.hpp|E4M3 = element<format_desc{4, 3, 7|E4M3 = element<format_desc{4, 3, 8|faults
formats.hpp|E2M1 = element<format_desc{2, 1, 1}|E2M1 = element<format_desc{2, 1, 2}|faults
formats.hpp|E8M0 = element<format_desc{8, 0, 127|E8M0 = element<format_desc{8, 0, 126|faults
rounding.hpp|half = std::uint64_t{1} << 63|half = std::uint64_t{1} << 62|faults
rounding.hpp|d.fraction >> (64 - bits);\n    return floor_delta|d.fraction >> (63 - bits);\n    return floor_delta|faults
format.hpp|: 1 - bias;|: 2 - bias;|faults
convert.hpp|e > f.emax() + 1|e > f.emax()|faults
scale.hpp|man_bits - 1;|man_bits - 2;|scale_rules
scale.hpp|max_of(-127, min_of(127, exp)) + 127|max_of(-126, min_of(127, exp)) + 127|scale_rules
scale.hpp|1e-4F|2e-4F|scale_log2
scale.hpp|E8M0{1} : code|E8M0{2} : code|scale_log2
rounded_log2.hpp|width + j - precision|width + j - precision + 1|scale_log2
rounded_log2.hpp|width - 1 + j - precision|width + j - precision|scale_log2
scale_log2.hpp|min_of(125, exp)|min_of(126, exp)|scale_log2
scale_log2.hpp|- element.emax() + 127|- element.emax() + 128|scale_log2
scale_log2.hpp|static_cast<std::uint64_t>(twice)) - 2|static_cast<std::uint64_t>(twice)) - 1|scale_log2
nvfp4.hpp|2688.0F|2689.0F|golden_nvfp4
nvfp4.hpp|least{1, -6|least{1, -7|golden_nvfp4
nvfp4.hpp|largest_scale = 448.0F) noexcept|largest_scale = 449.0F) noexcept|golden_nvfp4
nvfp4.hpp|code > 7 ? 7|code > 8 ? 8|golden_nvfp4
nvfp4.hpp|to_number(248.0F)|to_number(249.0F)|golden_nvfp4
nvfp4.hpp|to_number(1.5F)|to_number(2.5F)|golden_nvfp4
convention.hpp|f.inf_magnitude() + 1|f.inf_magnitude() + 2|golden_preset
convention.hpp|ulp_exp - 25|ulp_exp - 24|golden_preset
convention.hpp|in(4, 6)|in(4, 5)|golden_preset
scale_layout.hpp|{scale_axis::row, 32, 4}|{scale_axis::row, 16, 4}|golden_layout
philox.hpp|multiplier0 = 0xD2511F53|multiplier0 = 0xD2511F54|philox
'

number=0
survived=0
while IFS='|' read -r header from to test; do
  [ -n "$header" ] || continue
  number=$((number + 1))
  { [ "$number" -ge "$first" ] && [ "$number" -le "$last" ]; } || continue
  rm -rf "$scratch/include"
  cp -R "$source/include" "$scratch/include"
  file=$scratch/include/mxref/$header
  sed -i -z "s/$(printf '%s' "$from" | sed 's,[][/.*],\\&,g')/$(printf '%s' "$to" | sed 's,[/&],\\&,g')/" "$file"
  if cmp -s "$file" "$source/include/mxref/$header"; then
    printf 'STALE    %2d %s: %s is not there\n' "$number" "$header" "$from"
    survived=$((survived + 1))
    continue
  fi
  libraries=''
  case $test in golden_*)
    libraries="$(find "$build" -name 'golden.cpp.o') $(find "$build" -name 'libmxref_array_io.a') -lfmt -lz"
    ;;
  esac
  verdict=red
  # shellcheck disable=SC2086
  if "$CXX" -std=c++20 -O0 "-I$scratch/include" "-I$source/tests" "-I$source/tests/sweep" "-I$source/examples/mxref" \
    "-DMXREF_TEST_DATA_DIR=\"$source/tests/data\"" "$source/tests/sweep/${test}_test.cpp" $libraries \
    -lgtest -lgtest_main -lpthread -o "$scratch/test" >"$scratch/log" 2>&1; then
    # The ledger of the golden arrays wants all suites: here only this one's tests count.
    if "$scratch/test" --gtest_brief=1 >"$scratch/log" 2>&1 || ! grep -q '^\[  FAILED  \]' "$scratch/log"; then
      verdict=SURVIVED
      survived=$((survived + 1))
    fi
  elif ! grep -qE 'error: (static assertion|.*constant)|static_assert' "$scratch/log"; then
    verdict='BROKEN (does not compile, for another reason)'
    survived=$((survived + 1))
    sed -n 1,5p "$scratch/log"
  fi
  printf '%-8s %2d %s: %s -> %s (%s_test)\n' "$verdict" "$number" "$header" "$from" "$to" "$test"
done <<END
$mutations
END
printf '%s constants, %s not seen\n' "$number" "$survived"
[ "$survived" -eq 0 ]
