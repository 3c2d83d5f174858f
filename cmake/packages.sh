# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=sh
# Sourced by demo.sh and test.sh: finds and installs the packages they need, and runs the build.
# POSIX sh. The caller sets `name` (for messages), `root` (the source tree) and `assume_yes`.
# shellcheck disable=SC2034,SC2154

say() { printf '%s\n' "$*"; }
step() { printf '\n== %s\n' "$*"; }
warn() { printf '%s: %s\n' "$name" "$*" >&2; }
die() { # die STATUS MESSAGE
  status=$1
  shift
  printf '%s: %s\n' "$name" "$*" >&2
  exit "$status"
}

# Package lists: package, the command that proves the tool on other systems (or -), the version it
# is tested with (Debian 12's), what it is for.
packages_tool='
g++                   g++                   12    C++20 compiler (or clang++)
cmake                 cmake                 3.25  build description
ninja-build           ninja                 1.11  build
libcli11-dev          -                     2.1   CLI11: command lines of the mxref tool
nlohmann-json3-dev    -                     3.11  JSON reports
libfmt-dev            -                     9.1   fmt: printed text
zlib1g-dev            -                     1.2   compressed .npz files
'
packages_test='
libhwy-dev            -                     1.0.3 Highway: vector kernels
libeigen3-dev         -                     3.4.0 Eigen: the tests of mxref/eigen.hpp
libgtest-dev          -                     1.12  GoogleTest: sweeps over all formats
catch2                -                     2.13  Catch2: the conformance suite, clause by clause
libbenchmark-dev      -                     1.7   Google Benchmark: the benchmarks are compiled
libdnnl-dev           -                     2.6   oneDNN: the benchmark against it is compiled
libgmp-dev            -                     6.2   GMP: independent exact arithmetic to test against
libmpfr-dev           -                     4.2   MPFR: independent rounding to test against
librandom123-dev      -                     1.14  Random123: random words to test against
pkgconf               pkg-config            1.8   pkg-config: its files are tested
clang-format          clang-format          14    source layout is checked
clang-tidy            clang-tidy            14    names and bug patterns are checked
'
packages_rows='
clang                 clang++               14    second compiler
g++-aarch64-linux-gnu aarch64-linux-gnu-g++ 12    second processor: the same bits on AArch64
qemu-user             qemu-aarch64          7.2   runs the AArch64 programs
doxygen               doxygen               1.9   reference pages must build without a warning
'

# each_package LIST FUNCTION: calls FUNCTION package command version why
each_package() {
  while read -r pkg cmd version why <&3; do
    [ -z "$pkg" ] || "$2" "$pkg" "$cmd" "$version" "$why"
  done 3<<END
$1
END
}

print_package() { printf '  %-22s %-6s %s\n' "$1" "$3" "$4"; }
list_packages() { each_package "$1" print_package; }

is_installed() {
  case $(dpkg-query -W -f='${Status}' "$1" 2>/dev/null || true) in
    *' ok installed') return 0 ;;
  esac
  return 1
}

add_if_missing() {
  is_installed "$1" || {
    missing="$missing $1"
    missing_why="$missing_why
$1 $2 $3 $4"
  }
}

add_if_no_command() {
  [ "$2" = - ] || command -v "$2" >/dev/null 2>&1 || missing="$missing $2"
}

# need_packages LIST: returns when everything is there; asks, installs, or explains and exits 2.
# Reads assume_yes (yes or no).
need_packages() {
  missing=''
  missing_why=''
  if ! command -v apt-get >/dev/null 2>&1 || ! command -v dpkg-query >/dev/null 2>&1; then
    say "This system has no apt-get. Needed here, by their Debian names and tested versions:"
    list_packages "$1"
    each_package "$1" add_if_no_command
    [ -z "$missing" ] ||
      die 2 "not found in PATH:$missing. Install what is listed above and run this again."
    say "The programs are found; going on. CMake will name any library that is missing."
    return 0
  fi

  each_package "$1" add_if_missing
  if [ -z "$missing" ]; then
    say "All packages are installed."
    return 0
  fi
  say "Missing packages:"
  list_packages "$missing_why"

  privilege=''
  by_hand="apt-get update && apt-get install --no-install-recommends$missing"
  if [ "$(id -u)" != 0 ]; then
    if ! command -v sudo >/dev/null 2>&1; then
      die 2 "installing packages needs root, and sudo is not installed. As root, run:
  $by_hand
and then run this again."
    fi
    privilege=sudo
    by_hand="sudo apt-get update && sudo apt-get install --no-install-recommends$missing"
  fi

  if [ "$assume_yes" = yes ]; then
    :
  elif [ -t 0 ]; then
    printf 'Install them now%s? [Y/n] ' "${privilege:+ with sudo}" >&2
    read -r answer || answer=n
    case $answer in
      '' | [Yy]*) ;;
      *) die 2 "nothing was installed. To do it by hand:
  $by_hand" ;;
    esac
  elif [ "$(id -u)" != 0 ] || [ "${CI:-}" != true ]; then
    die 2 "packages are missing, and there is no terminal to ask on. Run this with --yes, or:
  $by_hand"
  fi
  install_missing
}

# apt VERB ARG...: apt-get that asks nothing and waits for another package manager to finish.
apt() {
  # shellcheck disable=SC2086  # the empty prefix must vanish
  ${privilege:+$privilege $sudo_options} env DEBIAN_FRONTEND=noninteractive LC_ALL=C \
    apt-get -q -y -o Acquire::Retries=3 -o DPkg::Lock::Timeout=300 -o Dpkg::Use-Pty=0 "$@"
}

install_missing() {
  mkdir -p "$root/build" || die 2 "cannot write to $root/build"
  log=$root/build/packages.log
  sudo_options=''
  [ -t 0 ] || sudo_options=-n # without a terminal sudo could only hang on its password
  say "Reading the package lists ..."
  # A broken third-party source must not stop us: what is needed may still be there.
  apt update >"$log" 2>&1 || warn "apt-get update reported errors (see build/packages.log); going on"
  say "Installing (log: build/packages.log) ..."
  # shellcheck disable=SC2086  # a list of words
  if ! apt install --no-install-recommends $missing >>"$log" 2>&1; then
    tail -n 15 "$log" >&2
    die 2 "the packages could not be installed; the whole log is in $log. By hand:
  $by_hand"
  fi
  say "Installed:$missing"
}

# What these scripts were tried on; anything else is told, not refused.
note_system() {
  system=unknown
  # shellcheck disable=SC1091
  [ ! -r /etc/os-release ] || system=$(. /etc/os-release && printf '%s %s' "${ID:-?}" "${VERSION_ID:-?}")
  case $system in
    'debian 12') ;;
    *) say "Note: tried on Debian 12 only; this is $system." ;;
  esac
}

# Number of parallel jobs: the user's word, else every core.
set_jobs() {
  if [ -z "${CMAKE_BUILD_PARALLEL_LEVEL:-}" ]; then
    CMAKE_BUILD_PARALLEL_LEVEL=$(getconf _NPROCESSORS_ONLN 2>/dev/null || echo 1)
  fi
  export CMAKE_BUILD_PARALLEL_LEVEL
}

# configure BUILD_DIR OPTION...: configures, and starts afresh when the directory belongs to another
# source tree (a copied or moved checkout) or another generator.
configure() {
  build=$1
  shift
  cache=$build/CMakeCache.txt
  if [ -f "$cache" ] && ! { grep -qxF "CMAKE_HOME_DIRECTORY:INTERNAL=$root" "$cache" &&
    grep -qx 'CMAKE_GENERATOR:INTERNAL=Ninja' "$cache"; }; then
    say "$build was made for another tree or generator: starting afresh."
    rm -rf "$build"
  fi
  cmake -S "$root" -B "$build" -G Ninja "$@" ||
    die 2 "CMake could not configure $build; its message is above"
}
