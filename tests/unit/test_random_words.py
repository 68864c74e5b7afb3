"""The random generator of the compiled core gives the published keystream of ChaCha with 12 rounds."""

from __future__ import annotations

import os
import shutil
import struct
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NoReturn

import pytest

NATIVE = Path(__file__).parents[2] / "native"

DRIVER = """
#include <array>
#include <cstdio>
#include <cstdlib>

#include "base/random_words.hpp"

int main(int, char** argv) {  // bound, count, four words of the key
  std::array<std::uint64_t, 4> key{};
  for (int i = 0; i < 4; ++i) key[static_cast<std::size_t>(i)] = std::strtoull(argv[3 + i], nullptr, 10);
  shoal::RandomWords random(key);
  const auto bound = static_cast<std::uint32_t>(std::strtoul(argv[1], nullptr, 10));
  for (long i = 0; i < std::strtol(argv[2], nullptr, 10); ++i)
    std::printf("%lu\\n", static_cast<unsigned long>(random.below(bound)));
}
"""

# draft-strombergson-chacha-test-vectors-01, 256-bit key, 12 rounds, IV of zeros: TC1 and TC2, blocks 0 and 1.
VECTORS = {
    bytes(32): (
        "9bf49a6a0755f953811fce125f2683d50429c3bb49e074147e0089a52eae155f"
        "0564f879d27ae3c02ce82834acfa8c793a629f2ca0de6919610be82f411326be"
        "0bd58841203e74fe86fc71338ce0173dc628ebb719bdcbcc151585214cc089b4"
        "42258dcda14cf111c602b8971b8cc843e91e46ca905151c02744a6b017e69316"
    ),
    b"\x01" + bytes(31): (
        "12056e595d56b0f6eef090f0cd25a20949248c2790525d0f930218ff0b4ddd10"
        "a6002239d9a454e29e107a7d06fefdfef0210feba044f9f29b1772c960dc29c0"
        "0c7366c5cbc604240e665eb02a69372a7af979b26fbb78092ac7c4b88029a7c8"
        "54513bc217bbfc7d90432e308eba15afc65aeb48ef100d5601e6afba257117a9"
    ),
}

Draw = Callable[[bytes, int, int], list[int]]


@pytest.fixture(scope="module")
def draw(tmp_path_factory: pytest.TempPathFactory, unavailable: Callable[[str], NoReturn]) -> Draw:
    """Return a function that draws numbers below a bound from a key, by the generator of the core."""
    compiler = shutil.which(os.environ.get("CXX", "c++")) or shutil.which("g++") or shutil.which("clang++")
    if compiler is None:
        unavailable("there is no C++ compiler")
    folder = tmp_path_factory.mktemp("random_words")
    (folder / "driver.cpp").write_text(DRIVER)
    sources = [folder / "driver.cpp", NATIVE / "base" / "random_words.cpp"]
    command: Sequence[str | Path] = [compiler, "-std=c++20", "-I", NATIVE, *sources, "-o", folder / "driver"]
    # A sanitizer that is loaded into this process must not be loaded into the compiler.
    environment = {name: value for name, value in os.environ.items() if name != "LD_PRELOAD"}
    subprocess.run(command, check=True, env=environment)

    def drawn(key: bytes, bound: int, count: int) -> list[int]:
        words = [str(word) for word in struct.unpack("<4Q", key)]
        found = subprocess.run(
            [folder / "driver", str(bound), str(count), *words],
            check=True,
            capture_output=True,
            text=True,
            env=environment,
        )
        return [int(line) for line in found.stdout.split()]

    return drawn


@pytest.mark.parametrize("key", VECTORS)
def test_words_are_the_published_keystream(draw: Draw, key: bytes) -> None:
    published = bytes.fromhex(VECTORS[key])
    # Below 2^32 - 1, a word is returned as it is, unless it is 0 or 2^32 - 1.
    assert struct.pack("<32I", *draw(key, 2**32 - 1, 32)) == published


@pytest.mark.parametrize("key", VECTORS)
@pytest.mark.parametrize("bound", [1, 6, 2**16, 2**31 + 1, 3 * 2**30])
def test_numbers_below_a_bound_are_words_that_favour_none(draw: Draw, key: bytes, bound: int) -> None:
    words = struct.unpack("<32I", bytes.fromhex(VECTORS[key]))
    expected = [word % bound for word in words if word >= 2**32 % bound]
    assert draw(key, bound, len(expected)) == expected
