#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Runs a compiler. Usage: compile.sh COMPILER FLAG...
# Exit 77, a skipped test, when there is no such compiler.
set -eu
if ! command -v "$1" >/dev/null 2>&1; then
  echo "SKIPPED: $1 is missing"
  exit 77
fi
exec "$@"
