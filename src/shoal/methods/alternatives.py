"""Alternative labellings: l ways to give labels to records, each of which explains a release equally well.

An attacker with the code can ask which labels would have led to the rows that are shown. So the true labels
are hidden among l - 1 alternatives, in which each record has another label. Rows are then made from all l
labellings, without knowing which one is true. Blocks of neighbours pass labels on within themselves; the
blocks depend on labels, but would be the same with each alternative. Decision 070 has the proof.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.base.randomness import Randomness

TRIES = 100
"""How often alternatives of a block are drawn until the block would be the same with each of them. This can
fail only where the numbers of records in the parts of a block differ by one."""


@dataclass(frozen=True, eq=False)
class Alternatives:
    """Labellings, one of which is true.

    Parameters
    ----------
    labels
        The label of each record, a column for each labelling. In each row all labels differ, and in each
        column each label is as frequent as in the others.
    true
        Which column is the true labelling.
    """

    labels: NDArray[np.int32]
    true: int


def alternatives(
    labels: NDArray[np.integer[Any]],
    order: NDArray[np.integer[Any]],
    different: int,
    randomness: Randomness,
) -> Alternatives:
    """Draw labellings that cannot be told from the true one.

    Parameters
    ----------
    labels
        The label of each record, numbered from 0. None is more frequent than 1 / l.
    order
        The records in an order in which neighbours are similar, made without labels.
    different
        The number of labellings, l; at least 2.
    randomness
        The source of random choices.

    Returns
    -------
    Alternatives
        About O(n (l + number of labels)), if many blocks are small.
    """
    true = randomness.below(different)
    found = np.empty((len(labels), different), dtype=np.int32)
    along = labels[order].astype(np.int64)
    for begin, parts in _blocks(along, different):
        end = begin + sum(parts)
        found[order[begin:end]] = _within(along[begin:end], parts, different, true, randomness)
    return Alternatives(found, true)


def _blocks(labels: NDArray[np.int64], different: int) -> Iterator[tuple[int, list[int]]]:
    """Yield where each block begins and the sizes of its parts.

    A block is cut into parts, as many as the smallest divisor of l above 1, if in each of them no label is
    more frequent than 1 / l, and each part is a block again. If a part would have fewer than l records, the
    block is not cut, whatever its labels are: such a block has a single part.
    """
    pieces = next(number for number in range(2, different + 1) if different % number == 0)
    left = [(0, len(labels))]
    while left:
        begin, end = left.pop()
        size = end - begin
        if size < pieces * different:
            yield begin, [size]
            continue
        parts = [size // pieces + (part < size % pieces) for part in range(pieces)]
        if _eligible(labels[begin:end], parts, different):
            for part in parts:
                left.append((begin, begin + part))
                begin += part
        else:
            yield begin, parts


def _eligible(labels: NDArray[np.int64], parts: list[int], different: int) -> bool:
    """Return whether no label is more frequent than 1 / l in any part."""
    return all(
        int(np.bincount(part).max()) * different <= len(part)
        for part in np.split(labels, np.cumsum(parts)[:-1])
    )


def _within(
    labels: NDArray[np.int64], parts: list[int], different: int, true: int, randomness: Randomness
) -> NDArray[np.int64]:
    """Return l labellings of a block, the true one at the given place.

    Records are distributed to groups of l or a few more, with different labels in each. A group has equally
    many records of each part, and these take turns. In each labelling, the records of a group pass on their
    labels by the same number of places, so the labels of whole parts are passed on as well.
    """
    found = np.empty((len(labels), different), dtype=np.int64)
    for _ in range(TRIES if len(parts) > 1 and len(labels) % different else 1):
        for group in _groups(labels, parts, different, randomness):
            passed = labels[group]
            for column in range(different):
                found[group, column] = np.roll(passed, true - column)
        if len(parts) == 1 or not any(_eligible(column, parts, different) for column in found.T):
            break
    return found


def _groups(
    labels: NDArray[np.int64], parts: list[int], different: int, randomness: Randomness
) -> list[list[int]]:
    """Return groups of at least l records with different labels, at random, each in a cyclic order.

    The records of a block are dealt to l seats and, where these are left over, further ones; each seat has
    records of one part. Each group gets one record of each of the first l seats.
    """
    size = len(labels)
    many = size // different
    shuffled = randomness.permutation(size)
    part_of = np.repeat(np.arange(len(parts)), parts)[shuffled]
    seats = np.empty(size, dtype=np.int64)
    over = []
    for part in range(len(parts)):
        records = shuffled[part_of == part]
        seated = many * different // len(parts)
        # Seats of one part are as far apart as possible: seat i is of part i modulo the number of parts.
        seats[records[:seated]] = part + len(parts) * (np.arange(seated) // many)
        over.extend(records[seated:].tolist())
    seats[over] = different + np.arange(len(over)) // many
    names = randomness.permutation(int(labels.max()) + 1)
    turns = randomness.permutation(int(seats.max()) + 1)
    edges = shuffled[np.lexsort((names[labels[shuffled]], turns[seats[shuffled]]))]
    group_of = coloured(seats[edges].tolist(), labels[edges].tolist(), many)
    groups: list[list[int]] = [[] for _ in range(many)]
    for place in np.argsort(seats[edges], kind="stable").tolist():
        groups[group_of[place]].append(int(edges[place]))
    return groups


def coloured(ones: list[int], others: list[int], colours: int) -> list[int]:
    """Return a colour for each edge of a bipartite graph, such that edges at a vertex differ.

    Parameters
    ----------
    ones, others
        The two ends of each edge; several edges may have the same ends.
    colours
        The number of colours, at least the number of edges at each vertex.

    Returns
    -------
    list
        Numbers from 0. Edges are coloured one after the other; if their ends have no free colour in common,
        two colours change places along a path (König 1916).
    """
    colouring = _Colouring(list(zip(ones, others, strict=True)), colours)
    for edge in range(len(ones)):
        colouring.add(edge)
    return colouring.colour_of


LOOKS = 8
"""How many free colours of one end are tried at the other before two colours change places."""


class _Colouring:
    """Colours of some edges of a bipartite graph, at each vertex all different."""

    def __init__(self, ends: list[tuple[int, int]], colours: int) -> None:
        self._ends = ends
        self._colours = colours
        self.colour_of = [-1] * len(ends)
        # On each side, by vertex: the edge of each colour, and a colour below which none is free.
        self._edges: tuple[dict[int, dict[int, int]], ...] = ({}, {})
        self._low: tuple[dict[int, int], ...] = ({}, {})
        for side in (0, 1):
            for pair in ends:
                self._edges[side].setdefault(pair[side], {})
                self._low[side].setdefault(pair[side], 0)

    def add(self, edge: int) -> None:
        """Colour one more edge."""
        one, other = self._ends[edge]
        taken = self._edges[1][other]
        tried = list(islice(self._free(0, one), LOOKS))
        colour = next((each for each in tried if each not in taken), tried[0])
        if colour in taken:
            self._exchange(other, colour, next(self._free(1, other)))
        self._set(edge, colour)

    def _free(self, side: int, vertex: int) -> Iterator[int]:
        """Yield the free colours of a vertex."""
        taken = self._edges[side][vertex]
        colour = self._low[side][vertex]
        while colour in taken:
            colour += 1
        self._low[side][vertex] = colour
        yield from (each for each in range(colour, self._colours) if each not in taken)

    def _exchange(self, other: int, colour: int, instead: int) -> None:
        """Make a colour free at a vertex of the other side, at which another is: both change along a path."""
        path, side, vertex, wanted = [], 1, other, colour
        while (edge := self._edges[side][vertex].get(wanted)) is not None:
            path.append(edge)
            side = 1 - side
            vertex = self._ends[edge][side]
            wanted = colour + instead - wanted
        for edge in path:
            for side in (0, 1):
                vertex = self._ends[edge][side]
                del self._edges[side][vertex][self.colour_of[edge]]
                self._low[side][vertex] = min(self._low[side][vertex], colour, instead)
        for edge in path:
            self._set(edge, colour + instead - self.colour_of[edge])

    def _set(self, edge: int, colour: int) -> None:
        self.colour_of[edge] = colour
        for side in (0, 1):
            self._edges[side][self._ends[edge][side]][colour] = edge
