"""Random choices: from the operating system, so that they cannot be replayed, unless a seed is given."""

from __future__ import annotations

import operator
import os
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.errors import InputError, Reason

SEED_BITS = 128
"""The number of bits that a seed can have; more would add nothing."""


def checked_seed(seed: Any) -> int | None:
    """Return a seed as a plain whole number, or None if there is none.

    Parameters
    ----------
    seed
        What the user gave: None, or a whole number from 0 to 2^128 - 1 of any type.

    Raises
    ------
    InputError
        If it is anything else.
    """
    if seed is None:
        return None
    try:
        number = None if isinstance(seed, bool) else operator.index(seed)
    except TypeError:
        number = None
    if number is None:
        plain = isinstance(seed, str | float | bool)
        raise _impossible(
            repr(seed) if plain else f"a value of type {type(seed).__name__}", "not a whole number"
        )
    # A number of thousands of digits cannot even be written.
    shown = (
        str(number) if number.bit_length() <= 2 * SEED_BITS else f"a number of {number.bit_length():,} bits"
    )
    if number < 0:
        raise _impossible(shown, "below 0")
    if number.bit_length() > SEED_BITS:
        raise _impossible(shown, "too large")
    return number


def _impossible(shown: str, what: str) -> InputError:
    return InputError(
        f"seed = {shown:.80} is {what}; give a whole number from 0 to 2^{SEED_BITS} - 1, or none",
        reason=Reason.PARAMETER,
    )


class Randomness:
    """A source of random numbers.

    Parameters
    ----------
    seed
        None draws every bit from the operating system, which is what a release for others needs. A number
        makes the run repeatable, for experiments: anyone who has the seed can undo the shuffle.

    Raises
    ------
    InputError
        If the seed is not possible; see `checked_seed`.
    """

    def __init__(self, seed: int | None = None) -> None:
        seed = checked_seed(seed)
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
