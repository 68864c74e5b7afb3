"""Crowds: what is carried by the released rows that look the same, or that could be the same person's."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.audit.classes import Classes
from shoal.audit.reading import ReleasedColumn
from shoal.matches import Graph
from shoal.table import Table

PAIRS = 1 << 22
"""So many pairs, of a record and a row or of two values, are listed at a time."""


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


def crowds_of_classes(classes: Classes, values: NDArray[np.int32]) -> Histograms:
    """Return what each class of equal rows carries.

    Parameters
    ----------
    classes
        The classes.
    values
        The value that each row carries.
    """
    return Histograms.of(len(classes.sizes), classes.of_row, values, np.ones(len(values), dtype=np.int64))


def crowds_of_records(
    columns: Sequence[ReleasedColumn], table: Table, values: NDArray[np.int32]
) -> Iterator[tuple[NDArray[np.int64], Histograms]]:
    """Yield what the crowds of some records carry, until all had their turn.

    The crowd of a record is the rows that are consistent with it. Equal records have the same; there, one
    stands for all. Memory does not grow with the number of consistent pairs, time does.

    Parameters
    ----------
    columns
        The release as an outsider reads it.
    table
        The original.
    values
        The value that each row carries.

    Yields
    ------
    tuple
        How many records each crowd stands for, and the crowds.
    """
    cells = np.column_stack([column.cell for column in columns])
    graph = Graph.of(table.codes, cells, [column.values for column in columns])
    copies = np.bincount(graph.record_type)
    carried = Histograms.of(len(graph.boxes), graph.row_type, values, np.ones(len(values), dtype=np.int64))
    begins = np.searchsorted(carried.crowd, np.arange(len(graph.boxes) + 1))
    largest = np.zeros(len(copies), dtype=np.int64)
    largest[graph.record_type] = graph.degrees()[0]
    for begin, end in stretches(largest):
        types = np.arange(begin, end)
        starts, boxes = graph.crowds(types)
        crowd = np.repeat(np.arange(len(types)), np.diff(starts))
        many = begins[boxes + 1] - begins[boxes]
        place = np.arange(many.sum()) + np.repeat(begins[boxes] - (np.cumsum(many) - many), many)
        pairs = np.repeat(crowd, many), carried.value[place], carried.count[place]
        yield copies[types], Histograms.of(len(types), *pairs)


def stretches(sizes: NDArray[np.int64]) -> Iterator[tuple[int, int]]:
    """Yield the ends of stretches of lists that together have `PAIRS` entries at most, or are single."""
    ends = np.cumsum(sizes)
    begin = 0
    while begin < len(sizes):
        before = ends[begin - 1] if begin else 0
        end = max(int(np.searchsorted(ends, before + PAIRS, side="right")), begin + 1)
        yield begin, end
        begin = end
