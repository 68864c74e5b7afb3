"""The closed walk of Xue et al. (2012), Algorithm 1, in plain Python, and the random words of the core."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

MASK = 2**32 - 1
ROUNDS = [(0, 4, 8, 12), (1, 5, 9, 13), (2, 6, 10, 14), (3, 7, 11, 15)]
ROUNDS += [(0, 5, 10, 15), (1, 6, 11, 12), (2, 7, 8, 13), (3, 4, 9, 14)]
Below = Callable[[int], int]
"""Returns a random whole number from 0 to a bound, without the bound."""


class Words:
    """ChaCha with 12 rounds, from four words of a key, as native code draws numbers."""

    def __init__(self, key: Sequence[int]) -> None:
        halves = [half for word in key for half in (int(word) & MASK, int(word) >> 32)]
        self.state = [0x61707865, 0x3320646E, 0x79622D32, 0x6B206574, *halves, 0, 0, 0, 0]
        self.left: list[int] = []

    def below(self, bound: int) -> int:
        """Return a uniform whole number from 0 to bound - 1."""
        while True:
            if not self.left:
                self.refill()
            word = self.left.pop(0)
            if word >= 2**32 % bound:
                return word % bound

    def refill(self) -> None:
        """Take the next block of 16 words."""
        x = list(self.state)
        for a, b, c, d in 6 * ROUNDS:
            for one, other, third, turn in ((a, b, d, 16), (c, d, b, 12), (a, b, d, 8), (c, d, b, 7)):
                x[one] = (x[one] + x[other]) & MASK
                mixed = x[third] ^ x[one]
                x[third] = (mixed << turn | mixed >> (32 - turn)) & MASK
        self.left = [(word + first) & MASK for word, first in zip(x, self.state, strict=True)]
        self.state[12] += 1


def closed_walk_assignments(graph: NDArray[np.int32], below: Below) -> list[list[int]]:
    """Return k disjoint assignments by closed walks as printed; each is the record of each row."""
    n, k = graph.shape
    hops: list[list[int]] = [[] for _ in range(n)]  # the rows to which each record still has an edge
    for row, records in enumerate(graph.tolist()):
        for record in records:
            hops[record].append(row)
    assignments = []
    for _ in range(k):
        row_of, record_of = list(range(n)), list(range(n))  # line 1; not all of these are edges
        matched = [False] * n
        for start in shuffled(n, below):  # lines 3 and 5: one that is left, at random
            if matched[start]:
                continue
            child = closed_walk(start, hops, row_of, record_of, matched, below)
            cycle = [start]
            while child[cycle[-1]] != start:
                cycle.append(child[cycle[-1]])
            holders = [record_of[row] for row in cycle]
            for record, row in zip(holders, [*cycle[1:], start], strict=True):  # line 13
                row_of[record], record_of[row] = row, record
                matched[record] = True
        for record, row in enumerate(row_of):
            place = hops[record].index(row)
            hops[record][place] = hops[record][-1]
            hops[record].pop()
        assignments.append(record_of)
    return assignments


def shuffled(n: int, below: Below) -> list[int]:
    """Return 0 to n - 1 in random order."""
    order = list(range(n))
    for last in range(n - 1, 0, -1):
        other = below(last + 1)
        order[last], order[other] = order[other], order[last]
    return order


def closed_walk(
    start: int,
    hops: list[list[int]],
    row_of: list[int],
    record_of: list[int],
    matched: list[bool],
    below: Below,
) -> dict[int, int]:
    """Return the row that followed each row last on a walk from a row back to it (lines 4 to 12)."""
    child: dict[int, int] = {}
    traversed: dict[int, set[int]] = {}
    row = start
    while True:
        record = record_of[row]
        gone = traversed.setdefault(record, set())
        # What is matched in this round is a loop from a node to itself, and leads nowhere.
        possible = set(hops[record]) - gone - ({row_of[record]} if matched[record] else set())
        unvisited = {each for each in possible if each == start or (each not in child and each != row)}
        chosen = pick(hops[record], len(gone), possible, unvisited, below)
        assert chosen in (unvisited or possible)
        gone.add(chosen)
        child[row] = chosen
        if chosen == start:
            return child
        row = chosen


def pick(hops: list[int], taken: int, possible: set[int], unvisited: set[int], below: Below) -> int:
    """Return the first unvisited hop in a random order of those that are not taken, or the first possible.

    The hops that were taken stand first, and the chosen one joins them.
    """
    chosen = None
    for place in range(taken, len(hops)):
        other = place + below(len(hops) - place)
        hops[place], hops[other] = hops[other], hops[place]
        if hops[place] in unvisited or (chosen is None and hops[place] in possible):
            chosen = place
        if hops[place] in unvisited:
            break
    assert chosen is not None
    hops[taken], hops[chosen] = hops[chosen], hops[taken]
    return hops[taken]
