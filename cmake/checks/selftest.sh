#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Every check must be able to fail: each is run on a small good tree (green) and on copies with one
# fault each (red, for the expected reason). Usage: selftest.sh SOURCE_TREE
# Environment: CMAKE, GENERATOR, CXX; CLANG_FORMAT, CLANG_TIDY, DOXYGEN (empty: that check is not tried)
set -eu
source=$(CDPATH="" cd -- "${1:?usage: $0 SOURCE_TREE}" && pwd)
checks=$source/cmake/checks
CMAKE=${CMAKE:-cmake}
GENERATOR=${GENERATOR:-Ninja}
CXX=${CXX:-c++}
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
good=$scratch/good
tree=$scratch/tree
tried=0
failures=0

# A tree with a space in its path on which every check is green.
tree="$scratch/a tree"
mkdir -p "$good/include/mxref/simd" "$good/include/mxref/cuda" "$good/cmake/checks"
cp "$source/.clang-format" "$source/.clang-tidy" "$good/"
cp "$source/cmake/Doxyfile.in" "$good/cmake/"
licence='// SPDX-License-Identifier: Apache-2.0'
header() { # header PATH GUARD: the body comes from standard input
  {
    printf '%s\n#ifndef MXREF_%s_\n#define MXREF_%s_\n' "$licence" "$2" "$2"
    cat
    printf '#endif  // MXREF_%s_\n' "$2"
  } >"$good/include/mxref/$1"
}
header config.hpp CONFIG_HPP <<'END'

/// The library.
namespace mxref {
/// One.
inline constexpr int one = 1;
}  // namespace mxref

END
header bits.hpp BITS_HPP <<'END'

#include "mxref/config.hpp"

namespace mxref {
/// Adds one to x.
inline int next(int x) { return x + one; }
}  // namespace mxref

END
printf '\n#include "mxref/bits.hpp"\n\n' | header mxref.hpp MXREF_HPP
printf '\n#include "mxref/bits.hpp"\n\n' | header io.hpp IO_HPP
printf '\n#include "mxref/mxref.hpp"\n\n' | header simd/one.hpp SIMD_ONE
printf '\n#include "mxref/simd/one.hpp"\n\n' | header simd/two.hpp SIMD_TWO
printf '\n#include "mxref/mxref.hpp"\n\n' | header cuda/one.hpp CUDA_ONE
cat >"$good/cmake/checks/levels.txt" <<'END'
# comment
0 config.hpp
0 bits.hpp
4 mxref.hpp
side io.hpp
5 simd/one.hpp
5 simd/two.hpp
5 cuda/*
END
cat >"$good/README.md" <<'END'
# Title

```cpp
int fragment = 1;
```

```cpp
#include <mxref/mxref.hpp>

int main() { return mxref::next(-1); }
```
END
mkdir -p "$good/tests/spec"
cat >"$good/tests/spec/one_spec.cpp" <<'END'
// SPDX-License-Identifier: Apache-2.0
TEST_CASE("mx-1-one: it is", "[ocp-mx-1.0][1][mx-1-one]") {}
TEST(Faults, Fault_1_IsNot) {}
END
printf '# comment\nmx-1-one\nmx-2-open left open\n' >"$good/tests/spec/clauses.txt"
printf '1 | here | this | tests/spec/one_spec.cpp:Fault_1_\n2 | there | that | - a choice\n' \
  >"$good/tests/spec/faults.txt"
cat >"$good/CMakeLists.txt" <<'END'
# SPDX-License-Identifier: Apache-2.0
cmake_minimum_required(VERSION 3.22)
project(selftest LANGUAGES CXX)
add_library(mxref INTERFACE)
add_library(mxref::mxref ALIAS mxref)
target_include_directories(mxref INTERFACE include)
target_compile_features(mxref INTERFACE cxx_std_20)
add_library(mxref_warnings INTERFACE)
target_compile_options(mxref_warnings INTERFACE -Wall -Wextra -Wshadow -Werror)
include(${CHECKS}/header_alone.cmake)
mxref_add_header_alone(alone)
mxref_add_header_alone(alone_simd FOLDERS simd cuda)
END

# The checks, each as a function of the tree.
include_levels() { sh "$checks/include_levels.sh" "$tree"; }
line_cap() { sh "$checks/line_cap.sh" "$tree"; }
references() { sh "$checks/references.sh" "$tree"; }
requirements() { sh "$checks/requirements.sh" "$tree"; }
spdx() { sh "$checks/spdx.sh" "$tree"; }
words() { sh "$checks/words.sh" "$tree"; }
scalar_umbrella() { "$CMAKE" "-DROOT=$tree" "-DCXX=$CXX" -P "$checks/scalar_umbrella.cmake"; }
readme_example() { sh "$checks/readme_example.sh" "$tree/README.md" "$scratch/out.cpp"; }
clang_format() { sh "$checks/clang_format.sh" "$tree" "$CLANG_FORMAT"; }
clang_tidy() { sh "$checks/clang_tidy.sh" "$tree" "$CLANG_TIDY"; }
doxygen() {
  "$CMAKE" "-DROOT=$tree" "-DOUTPUT=$scratch/pages" -DVERSION=1.0 "-DDOXYGEN=$DOXYGEN" \
    -P "$checks/doxygen.cmake"
}
header_alone() {
  "$CMAKE" -S "$tree" -B "$tree/build" -G "$GENERATOR" "-DCHECKS=$checks" "-DCMAKE_CXX_COMPILER=$CXX" &&
    "$CMAKE" --build "$tree/build"
}

fresh() {
  rm -rf "$tree"
  cp -R "$good" "$tree"
}
# run CHECK: its exit code in $code, its text in $scratch/log
run() {
  code=0
  "$1" >"$scratch/log" 2>&1 || code=$?
  tried=$((tried + 1))
}
complain() {
  failures=$((failures + 1))
  printf 'FAILED %s\n' "$*"
  sed 's/^/    /' "$scratch/log"
}
green() {
  fresh
  run "$1"
  [ "$code" = 0 ] || complain "$1 is red on a good tree"
}
# red CHECK REASON: the fault is already in $tree; REASON is a part of the expected message
red() {
  run "$1"
  if [ "$code" = 0 ]; then
    complain "$1 is green in spite of: $2"
  elif ! grep -qF -e "$2" "$scratch/log"; then
    complain "$1 is red, but does not say: $2"
  fi
  fresh
}
in_tree() { cat >>"$tree/$1"; }
line() { printf '%s\n' "$1" >>"$tree/$2"; }

green include_levels
line '#include "mxref/bits.hpp"' include/mxref/config.hpp
red include_levels 'config.hpp (level 0) includes bits.hpp: it does not stand above it'
line '  #  include <mxref/mxref.hpp>  // spelled otherwise' include/mxref/bits.hpp
red include_levels 'bits.hpp (level 0) includes mxref.hpp: it is of higher level 4'
line '#include "mxref/io.hpp"' include/mxref/mxref.hpp
red include_levels 'includes io.hpp: it is a side door'
line '#include "mxref/io.hpp"' include/mxref/simd/one.hpp
red include_levels 'includes io.hpp: it is a side door'
line '#include "mxref/simd/one.hpp"' include/mxref/mxref.hpp
red include_levels 'only headers of simd/ may include it'
line '#include "mxref/simd/one.hpp"' include/mxref/io.hpp
red include_levels 'only headers of simd/ may include it'
line '#include "mxref/simd/one.hpp"' include/mxref/cuda/one.hpp
red include_levels 'only headers of simd/ may include it'
line '#include "mxref/cuda/one.hpp"' include/mxref/simd/one.hpp
red include_levels 'only headers of cuda/ may include it'
line '#include "config.hpp"' include/mxref/bits.hpp
red include_levels 'spell it mxref/...'
line '#include "../config.hpp"' include/mxref/simd/one.hpp
red include_levels 'spell it mxref/...'
line '#include "mxref/gone.hpp"' include/mxref/bits.hpp
red include_levels 'no such header'
line '// new' include/mxref/new.hpp
red include_levels 'new.hpp is not listed'
sed '/cuda/d' "$good/cmake/checks/levels.txt" >"$tree/cmake/checks/levels.txt"
red include_levels 'cuda/one.hpp is not listed'
line '3 gone.hpp' cmake/checks/levels.txt
red include_levels 'gone.hpp, which does not exist'
line '3 bits.hpp' cmake/checks/levels.txt
red include_levels 'bits.hpp is listed twice'
line '4 simd/three.hpp' cmake/checks/levels.txt
red include_levels 'must be of level 5'
line 'bits.hpp' cmake/checks/levels.txt
red include_levels "not \`level header\`"
rm -rf "$tree"/include/mxref/*
red include_levels 'nothing was checked'

green line_cap
awk 'BEGIN { for (i = 0; i < 395; i++) print "" }' | in_tree include/mxref/simd/one.hpp
red line_cap 'simd/one.hpp'
rm -rf "$tree/include"
red line_cap 'nothing was checked'

green requirements
fresh && echo 'mx-3-new' >>"$tree/tests/spec/clauses.txt"
red requirements 'mx-3-new has no test case and no reason'
fresh && sed -i '/^mx-1-one/d' "$tree/tests/spec/clauses.txt"
red requirements 'lacks mx-1-one, which has a test case'
fresh && sed -i 's/Fault_1_IsNot/Fault_2_IsNot/' "$tree/tests/spec/one_spec.cpp"
red requirements "1: tests/spec/one_spec.cpp has no 'Fault_1_'"
fresh && sed -i '/^1 /d' "$tree/tests/spec/faults.txt"
red requirements '2 where 1 should be'

green references
line '// Checked: tests/gone_test.cpp, by hand' include/mxref/bits.hpp
red references 'bits.hpp: names tests/gone_test.cpp'
line 'See `examples/gone.md`.' README.md
red references 'README.md: names examples/gone.md'
line '// include/mxref/bits.hpp exists, my/tests/gone.cpp is no file of this tree' include/mxref/bits.hpp
run references
[ "$code" = 0 ] || complain "references looks for files of other trees"
fresh
find "$tree" -type f -delete
red references 'nothing was checked'

green spdx
for file in a.hpp a.cpp a.cuh a.sh a.cmake a.py cmake/CMakeLists.txt; do
  printf '\n\n\n%s\n' "$licence" | in_tree "$file"
  red spdx "$file: no SPDX"
done
for folder in build build-x out; do # build directories are not looked at
  mkdir "$tree/$folder"
  line 'int x;' $folder/unmarked.cpp
done
line '' out/CMakeCache.txt
run spdx
[ "$code" = 0 ] || complain "spdx looks into build directories"
mkdir "$tree/other"
line 'int x;' other/unmarked.cpp
red spdx other/unmarked.cpp
rm -rf "$tree" && mkdir "$tree"
red spdx 'nothing was checked'

green words
folder=ho
line "XXXXXX and todo are other words; so is https://example.org/${folder}me/page" notes.md
run words
[ "$code" = 0 ] || complain "words is red on harmless words"
fresh
# In two parts, so that this file passes the check.
for halves in 'TO DO' 'FIX ME' 'X XX' 'HA CK'; do
  word=${halves% *}${halves#* }
  line "// $word: later" include/mxref/bits.hpp
  red words "unfinished-work marker"
done
for folder in wo,rk ro,ot ho,me Us,ers; do
  line "see /${folder%,*}${folder#*,}/me" notes.md
  red words "path of a machine"
done

green readme_example
grep -qx 'int main() { return mxref::next(-1); }' "$scratch/out.cpp" ||
  complain "readme_example extracted another text"
! grep -q fragment "$scratch/out.cpp" || complain "readme_example extracted too much"
sed 's/int main/int other/' "$good/README.md" >"$tree/README.md"
red readme_example 'found 0'
in_tree README.md <"$good/README.md"
red readme_example 'found 2'

green scalar_umbrella
mkdir -p "$tree/include/hwy"
line '' include/hwy/highway.h
line '#include "hwy/highway.h"' include/mxref/bits.hpp
red scalar_umbrella hwy/highway.h
mkdir -p "$tree/include/Eigen"
line '' include/Eigen/Core
line '#include <Eigen/Core>' include/mxref/bits.hpp
red scalar_umbrella Eigen/Core
line '' include/cuda_runtime.h
line '#include <cuda_runtime.h>' include/mxref/bits.hpp
red scalar_umbrella cuda_runtime.h
for stream in iostream ostream istream fstream sstream; do
  line "#include <$stream>" include/mxref/bits.hpp
  red scalar_umbrella "/$stream"
done
line '#include <no_such_header>' include/mxref/bits.hpp
red scalar_umbrella 'could not preprocess'
printf '' >"$tree/include/mxref/mxref.hpp"
red scalar_umbrella 'nothing was checked'

green header_alone
sed '/include/d' "$good/include/mxref/bits.hpp" >"$tree/include/mxref/bits.hpp"
red header_alone bits.hpp
line 'inline int twice() { return 2; }' include/mxref/config.hpp # outside the guard
red header_alone twice
line 'inline int shadows(int x) { { int x = 1; return x; } }' include/mxref/simd/two.hpp
red header_alone shadow
rm -rf "$tree/include/mxref"
red header_alone 'no headers found'

if [ -n "${CLANG_FORMAT:-}" ]; then
  green clang_format
  line 'int  x ;' include/mxref/bits.hpp
  red clang_format 'bits.hpp: not formatted'
fi

if [ -n "${CLANG_TIDY:-}" ]; then
  green clang_tidy
  # body TEXT: bits.hpp with one line more inside its guard
  body() {
    sed '$d' "$good/include/mxref/bits.hpp" >"$tree/include/mxref/bits.hpp"
    line "$1" include/mxref/bits.hpp
    line '#endif' include/mxref/bits.hpp
  }
  body 'inline int CamelName() { return 1; }'
  red clang_tidy "invalid case style for function 'CamelName'"
  body 'struct Camel {};'
  red clang_tidy "invalid case style for struct 'Camel'"
  body 'inline int f(int Wide) { return Wide; }'
  red clang_tidy "invalid case style for parameter 'Wide'"
  body '#define OTHER_MACRO 1'
  red clang_tidy "invalid case style for macro definition 'OTHER_MACRO'"
  body 'template <class lower> struct s {};'
  red clang_tidy "invalid case style for template parameter 'lower'"
  body 'class c { int x = 0; public: int get() const { return x; } };'
  red clang_tidy "invalid case style for private member 'x'"
  body 'inline bool b(int x) { return x == x; }'
  red clang_tidy 'misc-redundant-expression'
  body 'struct E4M3 {}; struct INT8 {}; using UE4M3 = E4M3; inline int f(int M) { return M; }'
  run clang_tidy
  [ "$code" = 0 ] || complain "clang_tidy is red on the standard's own names"
  fresh
fi

if [ -n "${DOXYGEN:-}" ]; then
  green doxygen
  sed 's,^/// Adds one to x.,/// Adds one.\n/// @param y no such parameter,' \
    "$good/include/mxref/bits.hpp" >"$tree/include/mxref/bits.hpp"
  red doxygen 'without a warning'
fi

printf '%s trials of the checks, %s failures\n' "$tried" "$failures"
[ "$failures" = 0 ]
