#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Runs a command beside a fresh git repository, branch main, of what a project that uses mxref needs of
# its tree: no tests, no examples. Usage: fetch_content.sh SOURCE_TREE REPOSITORY COMMAND...
# Exit 77, a skipped test, when there is no git.
set -eu
source=$1
repository=$2
shift 2
if ! command -v git >/dev/null 2>&1; then
  echo "SKIPPED: git is missing"
  exit 77
fi
rm -rf "$repository"
git init -q -b main "$repository"
export GIT_DIR="$repository/.git"
git -C "$source" --work-tree=. add CMakeLists.txt cmake include
git -c user.name=mxref -c user.email=mxref@localhost -c commit.gpgSign=false commit -q -m "The working tree"
unset GIT_DIR
exec "$@"
