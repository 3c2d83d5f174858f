#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Checks the include order of include/mxref against levels.txt. Usage: include_levels.sh SOURCE_TREE
set -eu
# shellcheck source=cmake/checks/common.sh
. "$(dirname -- "$0")/common.sh"

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
(cd include/mxref && find . -type f | sed 's,^\./,,' | sort) >"$scratch/headers"
# One line per include directive: header, line number, the directive from its first delimiter on.
while read -r header; do
  sed -n -E '/^[[:space:]]*#[[:space:]]*include[[:space:]]*["<]/{=;s/^[^"<]*//;p;}' \
    "include/mxref/$header" | paste - - | sed "s,^,$header	,"
done <"$scratch/headers" >"$scratch/includes"

status=0
awk -F '\t' '
  function finding(text) { print text; findings++ }
  function folder(h) { return h ~ /^simd\// ? "simd" : h ~ /^cuda\// ? "cuda" : "" }
  function is_listed(h) {
    if (!(h in level) && ((folder(h) "/*") in level)) level[h] = level[folder(h) "/*"]
    return h in level
  }
  function rank_of(h) { return level[h] == "side" ? 5 : level[h] }
  # Why header `from` must not include header `to`; empty when it may.
  function objection(from, to) {
    if (folder(to) != "")
      return folder(from) == folder(to) ? "" : "only headers of " folder(to) "/ may include it"
    if (level[to] == "side") return "it is a side door"
    if (rank_of(to) > rank_of(from)) return "it is of higher level " level[to]
    if (rank_of(to) == rank_of(from) && place[to] >= place[from])
      return "it does not stand above it in levels.txt"
    return ""
  }
  FILENAME == ARGV[1] {
    sub(/#.*/, "")
    words = split($0, word, " ")
    if (words == 0) next
    if (words != 2 || word[1] !~ /^([0-9]|side)$/) {
      finding("levels.txt:" FNR ": not `level header`: " $0); next
    }
    if (word[2] in level) finding("levels.txt:" FNR ": " word[2] " is listed twice")
    level[word[2]] = word[1]; place[word[2]] = FNR
    if (folder(word[2]) != "" && word[1] != "5")
      finding("levels.txt:" FNR ": " word[2] " must be of level 5")
    next
  }
  FILENAME == ARGV[2] {
    exists[$0] = 1; count++
    if (!is_listed($0)) finding("include/mxref/" $0 " is not listed in levels.txt")
    next
  }
  {
    target = $3
    quoted = target ~ /^"/
    sub(/^["<]/, "", target); sub(/[">].*/, "", target)
    where = "include/mxref/" $1 ":" $2 ": "
    if (target !~ /^mxref\//) {
      base = $1; sub(/[^\/]*$/, "", base)
      if (quoted && (target ~ /^\.\.?\// || (base target) in exists))
        finding(where "spell it mxref/...: " target)
      next
    }
    sub(/^mxref\//, "", target)
    if (!(target in exists)) { finding(where "no such header: mxref/" target); next }
    if (!(target in level) || !($1 in level)) next  # reported above
    why = objection($1, target)
    if (why != "") finding(where $1 " (level " level[$1] ") includes " target ": " why)
  }
  END {
    for (h in level) if (!(h in exists) && h !~ /\/\*$/) finding("levels.txt lists " h ", which does not exist")
    if (count == 0) { print "nothing was checked: no headers"; exit 2 }
    print count " headers, " findings + 0 " findings"
    exit findings ? 1 : 0
  }
' cmake/checks/levels.txt "$scratch/headers" "$scratch/includes" || status=$?
exit "$status"
