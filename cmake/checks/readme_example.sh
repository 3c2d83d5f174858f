#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Extracts the complete program of README.md: the one ```cpp block that starts with
# #include <mxref/mxref.hpp> and has a main().
# Usage: readme_example.sh README.md OUTPUT.cpp
set -eu
readme=${1:?usage: $0 README.md OUTPUT.cpp}
output=${2:?usage: $0 README.md OUTPUT.cpp}

awk '
  function close_block() {
    if (first == "#include <mxref/mxref.hpp>" && text ~ /(^|\n)int main\(/) { found++; program = text }
    inside = 0
  }
  !inside && /^```cpp[[:space:]]*$/ { inside = 1; first = ""; text = ""; next }
  inside && /^```[[:space:]]*$/ { close_block(); next }
  inside { if (first == "" && text == "") first = $0; text = text $0 "\n" }
  END {
    if (found != 1) {
      print "README.md must have exactly one complete program; found " found + 0 | "cat >&2"
      exit 1
    }
    printf "%s", program
  }
' "$readme" >"$output.tmp" || {
  rm -f "$output.tmp"
  exit 1
}
mv "$output.tmp" "$output"
