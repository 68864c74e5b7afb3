"""Lists of numbers as compact arrays, such as sets of items."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, eq=False)
class Lists:
    """Lists of any length: the i-th is values[starts[i]:starts[i + 1]].

    Parameters
    ----------
    starts
        Where each list begins, and the end of the last.
    values
        All lists, one after the other.
    """

    starts: NDArray[np.int64]
    values: NDArray[np.int32]

    @classmethod
    def of(cls, lists: Sequence[Iterable[int]]) -> Self:
        """Return plain lists as arrays."""
        arrays = [np.fromiter(each, dtype=np.int32) for each in lists]
        return cls.of_sizes(
            np.array([len(a) for a in arrays], dtype=np.int64), np.concatenate([_NONE, *arrays])
        )

    @classmethod
    def of_sizes(cls, sizes: NDArray[np.integer[Any]], values: NDArray[np.int32]) -> Self:
        """Return lists of these sizes, all in a row."""
        return cls(np.concatenate(([0], np.cumsum(sizes, dtype=np.int64))), values)

    def __len__(self) -> int:
        """Return how many lists there are."""
        return len(self.starts) - 1

    def __getitem__(self, index: int) -> NDArray[np.int32]:
        """Return one list."""
        return self.values[self.starts[index] : self.starts[index + 1]]

    @property
    def arrays(self) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
        """Both arrays, as kernels take them."""
        return self.starts, self.values

    @property
    def sizes(self) -> NDArray[np.int64]:
        """The length of each list."""
        return np.diff(self.starts)

    @property
    def owners(self) -> NDArray[np.int64]:
        """For each value, the list it is in."""
        return np.repeat(np.arange(len(self)), self.sizes)

    def gather(self, index: NDArray[np.integer[Any]]) -> Lists:
        """Return the lists with these numbers, in this order."""
        sizes = self.sizes[index]
        ends = np.cumsum(sizes)
        places = np.arange(ends[-1] if len(ends) else 0) + np.repeat(
            self.starts[index] - (ends - sizes), sizes
        )
        return Lists.of_sizes(sizes, self.values[places])

    def filtered(self, kept: NDArray[np.bool_]) -> Lists:
        """Return the lists with only some of their values."""
        before = np.concatenate(([0], np.cumsum(kept)))
        return Lists(before[self.starts], self.values[kept])

    def numbers(self) -> NDArray[np.int32]:
        """Return the number of each list among the different ones, in the order of a dictionary.

        Numbers in the lists must not be negative.
        """
        distinct, shown = self.different()
        return distinct._ranks()[shown]

    def different(self) -> tuple[Lists, NDArray[np.int64]]:
        """Return the different lists, and which of them each is.

        Numbers in the lists must not be negative. Ascending lists of numbers below 512 are compared as sets
        of bits, others one after the other.
        """
        bits = self._bits()
        if bits is None:
            ranks = self._ranks()
            _, first, shown = np.unique(ranks, return_index=True, return_inverse=True)
        else:
            _, first, shown = np.unique(bits, return_index=True, return_inverse=True)
        return self.gather(first), shown

    def _bits(self) -> NDArray[Any] | None:
        """Return each list as a set of bits; None if lists do not ascend or have large numbers."""
        words = int(self.values.max(initial=0)) // 64 + 1
        within = np.ones(len(self.values) + 1, dtype=np.bool_)
        within[self.starts] = False  # where a list begins, the number before it is another list's
        if words > 8 or (np.diff(self.values, prepend=0)[within[:-1]] <= 0).any():
            return None
        bits = np.zeros((len(self), words), dtype=np.uint64)
        bit = np.uint64(1) << (self.values % 64).astype(np.uint64)
        some = self.sizes > 0
        for word in range(words):
            part = np.where(self.values // 64 == word, bit, np.uint64(0))
            if len(part):
                bits[some, word] = np.bitwise_or.reduceat(part, self.starts[:-1][some])
        return bits[:, 0] if words == 1 else bits.view([("", np.uint64)] * words)[:, 0]

    def _ranks(self) -> NDArray[np.int32]:
        keys = self.values.astype(">i4").tobytes()  # so written, they are in the order of their bytes
        texts = [keys[4 * a : 4 * b] for a, b in zip(self.starts[:-1], self.starts[1:], strict=True)]
        rank = {text: number for number, text in enumerate(sorted(set(texts)))}
        return np.array([rank[text] for text in texts], dtype=np.int32)


@dataclass(frozen=True, eq=False)
class Subsets(Lists):
    """Subsets of the codes 0..size-1, each an ascending list.

    Parameters
    ----------
    size
        How many codes there are.
    """

    size: int


_NONE = np.empty(0, dtype=np.int32)


def ascending_sets(owners: NDArray[np.integer[Any]], values: NDArray[np.integer[Any]], count: int) -> Lists:
    """Return the set of values that each owner has, ascending, from pairs in any order.

    Parameters
    ----------
    owners, values
        The pairs; some may be there several times.
    count
        How many owners there are; some may have nothing.
    """
    width = int(values.max(initial=0)) + 1
    keys = np.sort(owners.astype(np.int64) * width + values, kind="stable")
    keys = keys[np.diff(keys, prepend=-1) > 0]
    return Lists.of_sizes(np.bincount(keys // width, minlength=count), (keys % width).astype(np.int32))
