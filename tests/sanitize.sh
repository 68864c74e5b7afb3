#!/usr/bin/env bash
# Builds the compiled core with sanitizers and runs the kernels' tests against it: for addresses and undefined
# behaviour, for data races, or, if neither `addresses` nor `races` comes first, for both. Further arguments go
# to pytest. PYTHON chooses the interpreter (.venv/bin/python).
set -euo pipefail

root=$(cd "$(dirname "$0")/.." && pwd)
python=${PYTHON:-$root/.venv/bin/python}
[[ $python != */* ]] || python=$(cd "$(dirname "$python")" && pwd)/$(basename "$python")
export PATH=$PATH:$(dirname "$python")  # its cmake and ninja serve where the system has none
compiler=${CXX:-g++}

build() {  # folder, sanitizers
  local generator=()
  if [[ ! -e $1/CMakeCache.txt ]] && command -v ninja >/dev/null; then generator=(-G Ninja); fi
  cmake -S "$root" -B "$1" "${generator[@]}" -DSHOAL_SANITIZE="$2" -DSHOAL_WERROR=ON -DCMAKE_BUILD_TYPE=Debug \
    -DCMAKE_CXX_FLAGS_DEBUG=-g1 -DCMAKE_CXX_COMPILER="$compiler" -DPython_EXECUTABLE="$python" \
    -Dnanobind_DIR="$("$python" -m nanobind --cmake_dir)" >"$1.log" || { cat "$1.log"; return 1; }
  cmake --build "$1" --parallel
}

run() {  # folder, runtime of the sanitizer, profile of hypothesis, arguments for pytest
  local core runtime standard
  core=$(find "$1" -maxdepth 1 -name '_native*.so' -print -quit)
  runtime=$("$compiler" -print-file-name="$2")
  standard=$("$compiler" -print-file-name=libstdc++.so.6)  # there from the start, or exceptions are not understood
  # Full capture keeps what the runtime says. Objects of Python may come from its own allocator, which takes less
  # time: kernels are handed none, and arrays and vectors come from the allocator of the C library.
  (cd "$root" && env SHOAL_NATIVE="$core" PYTHONMALLOC=pymalloc LD_PRELOAD="$runtime $standard" \
    "${unrandomized[@]}" "$python" -m pytest -p no:cacheprovider --capture=sys --hypothesis-profile="$3" \
    -m "not slow and not large" "${tests[@]}" "${@:4}")
}

export ASAN_OPTIONS=detect_leaks=0
export UBSAN_OPTIONS=print_stacktrace=1:halt_on_error=1
# At a fork, Polars' allocator takes more locks than the detector of deadlocks can follow; races are found as before.
export TSAN_OPTIONS=halt_on_error=1:exitcode=66:detect_deadlocks=0
export _RJEM_MALLOC_CONF=background_thread:false  # Polars' allocator would start a thread the runtime cannot follow
unrandomized=()
mkdir -p "$root/build"
# The kernels' own tests import them and neither a method nor Polars, whose threads the runtime cannot follow.
mapfile -t tests < <(cd "$root" && grep -rlE --include='test_*.py' \
  '^(from|import) shoal\.kernels|^from shoal import .*\bkernels\b' tests/unit tests/property \
  | xargs grep -LE '^from shoal\.methods|^import polars|anonymize' | sort)
what=both
case ${1-} in addresses | races) what=$1; shift ;; esac

if [[ $what != races ]]; then
  echo "== addresses and undefined behaviour"
  build "$root/build/sanitize" ON
  run "$root/build/sanitize" libasan.so few "$@"
fi

if [[ $what != addresses ]]; then
  echo "== data races"
  build "$root/build/sanitize-thread" thread
  # Older runtimes do not find their way about where addresses are randomized widely.
  if setarch --addr-no-randomize true 2>/dev/null; then unrandomized=(setarch --addr-no-randomize); fi
  # A race depends on how threads meet, not on what an example contains: four of each test are enough.
  run "$root/build/sanitize-thread" libtsan.so fewest "$@"
fi
