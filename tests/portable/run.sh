#!/usr/bin/env bash
# Compiles the kernels with every compiler and for every platform that is found here, and compares what they compute
# with the first one that runs. Where a program for another platform cannot be run, compiling it is the test.
#   CXX_FLAGS   options for all compilers (-O1)
#   ZIG         the compiler of the package ziglang, which brings the libraries of other platforms
# Names of targets as arguments choose among them: g++, g++-32, clang++, clang++-libc++, s390x, zig-...
set -euo pipefail

root=$(cd "$(dirname "$0")/../.." && pwd)
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
read -ra flags <<<"${CXX_FLAGS:--O1} -std=c++20 -Wall -Wextra -Wpedantic -Werror -I$root/native"
zig=${ZIG:-python-zig}
mapfile -t sources < <(find "$root/native" -name '*.cpp' -not -path '*/bindings/*' | sort)
jobs=$(getconf _NPROCESSORS_ONLN)
expected='' tried=0

wanted=("$@")
asked() { [[ ${#wanted[@]} -eq 0 || " ${wanted[*]} " == *" $1 "* ]]; }

# name of the target, how it is run ('' if it is not), the compiler and its options
try() {
  local name=$1 runner=$2
  shift 2
  asked "$name" || return 0
  command -v "$1" >/dev/null || { echo "$name: $1 is not here"; return 0; }
  # A compiler without the libraries of a target is as good as none.
  echo 'int main() {}' | "$@" -x c++ - -o "$scratch/$name-empty" 2>/dev/null || { echo "$name: no libraries"; return 0; }
  mkdir -p "$scratch/$name"
  printf '%s\0' "$root/tests/portable/kernels.cpp" "${sources[@]}" |
    xargs -0 -n 1 -P "$jobs" bash -c '
      target=$0/$(basename "$(dirname "${*: -1}")")-$(basename "${*: -1}").o
      exec "${@:1:$#-1}" -c "${*: -1}" -o "$target"' "$scratch/$name" "$@" "${flags[@]}" ||
    { echo "$name: does not compile"; exit 1; }
  "$@" "$scratch/$name"/*.o -pthread -o "$scratch/$name-kernels"
  tried=$((tried + 1))
  [[ -n $runner ]] || { echo "$name: compiles"; return 0; }
  command -v "${runner%% *}" >/dev/null || { echo "$name: compiles; ${runner%% *} is not here to run it"; return 0; }
  local found
  found=$($runner "$scratch/$name-kernels") || { echo "$name: fails"; exit 1; }
  if [[ -z $expected ]]; then
    expected=$found
    echo "$found"
  elif [[ $found != "$expected" ]]; then
    echo "$name: computes something else"
    diff <(echo "$expected") <(echo "$found") || true
    exit 1
  fi
  echo "$name: passed"
}

try g++ env g++
try g++-32 env g++ -m32 -msse2 -mfpmath=sse
try clang++ env clang++
try clang++-libc++ env clang++ -stdlib=libc++
try s390x 'qemu-s390x' s390x-linux-gnu-g++ -static
try zig-linux-32 env "$zig" c++ -target x86-linux-musl
try zig-linux-arm64 qemu-aarch64 "$zig" c++ -target aarch64-linux-musl
try zig-linux-s390x qemu-s390x "$zig" c++ -target s390x-linux-musl
try zig-windows '' "$zig" c++ -target x86_64-windows-gnu
try zig-macos '' "$zig" c++ -target aarch64-macos
[[ $tried -gt 0 ]] || { echo "no compiler was found"; exit 1; }
