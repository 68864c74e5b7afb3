"""Crowds: the sensitive values of identical rows, or of the rows that cover a record."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from hashlib import blake2b
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.auditing.classes import Classes
from shoal.recoding.coverage import Graph

PAIRS = 1 << 22
"""Maximum number of pairs, of a record and a row or of two values, that are listed at a time."""


@dataclass(frozen=True, eq=False)
class Histograms:
    """How often each value occurs in each of some crowds.

    Parameters
    ----------
    crowds
        How many crowds there are; some may be empty.
    crowd, value
        The pairs that occur, in ascending order, each once.
    count
        How often each of them occurs.
    """

    crowds: int
    crowd: NDArray[np.int64]
    value: NDArray[np.int64]
    count: NDArray[np.int64]

    @classmethod
    def of(
        cls,
        crowds: int,
        crowd: NDArray[np.integer[Any]],
        value: NDArray[np.integer[Any]],
        count: NDArray[np.int64],
    ) -> Histograms:
        """Return the histograms of pairs in any order, some of them perhaps several times."""
        values = int(value.max(initial=0)) + 1
        keys = crowd.astype(np.int64) * values + value
        order = np.argsort(keys, kind="stable")
        keys = keys[order]
        first = np.flatnonzero(np.diff(keys, prepend=-1))
        sums = np.add.reduceat(count[order], first) if len(first) else count[:0]
        return cls(crowds, keys[first] // values, keys[first] % values, sums)

    @cached_property
    def sizes(self) -> NDArray[np.int64]:
        """How many values each crowd has, repetitions included."""
        return np.bincount(self.crowd, self.count, self.crowds).astype(np.int64)


def crowds_of_classes(classes: Classes, values: NDArray[np.integer[Any]]) -> Histograms:
    """Return the values in each class of identical rows.

    Parameters
    ----------
    classes
        The classes.
    values
        The value that each row carries.
    """
    return Histograms.of(len(classes.sizes), classes.of_row, values, np.ones(len(values), dtype=np.int64))


def crowds_of_records(
    graph: Graph, values: NDArray[np.integer[Any]]
) -> Iterator[tuple[NDArray[np.int64], Histograms]]:
    """Yield the values in the crowds of some records at a time, until all records were considered.

    The crowd of a record is the rows that cover it. Records with the same crowd share it, equal or not.
    Time grows with the number of pairs of a record and a covering row; memory does not.

    Parameters
    ----------
    graph
        Which rows cover which records.
    values
        The value that each row carries.

    Yields
    ------
    tuple
        How many records have each crowd, and the crowds.
    """
    sizes = np.zeros(len(graph.records), dtype=np.int64)
    sizes[graph.record_type] = graph.degrees()[0]
    types, members = _different(graph, sizes)
    carried = Histograms.of(len(graph.boxes), graph.row_type, values, np.ones(len(values), dtype=np.int64))
    begins = np.searchsorted(carried.crowd, np.arange(len(graph.boxes) + 1))
    for begin, end in stretches(sizes[types]):
        starts, boxes = graph.crowds(types[begin:end])
        crowd = np.repeat(np.arange(end - begin), np.diff(starts))
        many = begins[boxes + 1] - begins[boxes]
        place = np.arange(many.sum()) + np.repeat(begins[boxes] - (np.cumsum(many) - many), many)
        pairs = np.repeat(crowd, many), carried.value[place], carried.count[place]
        yield members[begin:end], Histograms.of(end - begin, *pairs)


def _different(graph: Graph, sizes: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return a type of record for each different crowd, and how many records have that crowd.

    Parameters
    ----------
    graph
        Which rows cover which records.
    sizes
        How large the crowd of each type is.
    """
    number: dict[bytes, int] = {}
    crowd_of = np.empty(len(sizes), dtype=np.int64)
    for begin, end in stretches(sizes):
        starts, boxes = graph.crowds(np.arange(begin, end))
        for i in range(end - begin):
            # Lists can be long, and many; equal digests of different ones will not occur.
            digest = blake2b(boxes[starts[i] : starts[i + 1]].tobytes(), digest_size=16).digest()
            crowd_of[begin + i] = number.setdefault(digest, len(number))
    _, first = np.unique(crowd_of, return_index=True)
    return first, np.bincount(crowd_of[graph.record_type], minlength=len(number))


def stretches(sizes: NDArray[np.int64]) -> Iterator[tuple[int, int]]:
    """Yield the ends of stretches of lists that together have `PAIRS` entries at most, or are single."""
    ends = np.cumsum(sizes)
    begin = 0
    while begin < len(sizes):
        before = ends[begin - 1] if begin else 0
        end = max(int(np.searchsorted(ends, before + PAIRS, side="right")), begin + 1)
        yield begin, end
        begin = end
