"""Random choices: from the operating system, so that nobody can replay them, unless a seed is given."""

from __future__ import annotations

import os

import numpy as np
from numpy.typing import NDArray


class Randomness:
    """A source of random numbers.

    Parameters
    ----------
    seed
        None draws every bit from the operating system, which is what a release for others needs. A number
        makes the run repeatable, for experiments: whoever knows the seed can undo the shuffle.
    """

    def __init__(self, seed: int | None = None) -> None:
        self.seeded = seed is not None
        self._generator = np.random.default_rng(seed) if self.seeded else None

    def words(self, count: int) -> NDArray[np.uint64]:
        """Return `count` independent uniform 64-bit words."""
        if self._generator is None:
            return np.frombuffer(os.urandom(8 * count), dtype=np.uint64)
        return self._generator.integers(0, 2**64, size=count, dtype=np.uint64)

    def below(self, bound: int) -> int:
        """Return a uniform whole number from 0 to bound - 1."""
        excess = 2**64 % bound  # words below it would favour some numbers
        while True:
            word = int(self.words(1)[0])
            if word >= excess:
                return word % bound

    def permutation(self, n: int) -> NDArray[np.int64]:
        """Return a uniformly random order of 0..n-1, O(n log n)."""
        keys = self.words(n)
        order = np.argsort(keys, kind="stable")
        ranked = keys[order]
        # A tie would keep the original order of two rows; with 64 bits it is practically never seen.
        return order if not np.any(ranked[1:] == ranked[:-1]) else self.permutation(n)
