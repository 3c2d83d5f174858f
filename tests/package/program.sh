#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Compiles a program with nothing but a compiler, and runs it.
# Usage: program.sh PROGRAM PACKAGE COMPILER ARGUMENT...
# PACKAGE: what pkg-config knows (in PKG_CONFIG_PATH), or none.
# Exit 77, a skipped test, when there is no pkg-config.
set -eu
program=$1
package=$2
shift 2
flags=''
if [ "$package" != none ]; then
  if ! command -v pkg-config >/dev/null 2>&1; then
    echo "SKIPPED: pkg-config is missing"
    exit 77
  fi
  flags=$(pkg-config --cflags --libs "$package")
fi
mkdir -p "$(dirname "$program")"
rm -f "$program"
# pkg-config writes words for a shell, with the spaces of paths escaped.
eval "set -- \"\$@\" $flags"
"$@" -o "$program"
exec "$program"
