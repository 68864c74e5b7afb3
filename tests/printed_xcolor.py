"""Algorithms 1 and 2 of the paper on XColor, transcribed line by line for small tables of numbers."""

from __future__ import annotations

import math
from collections.abc import Sequence


def initialize(degrees: Sequence[int], k: int) -> list[list[int]]:
    """Return the first classes (Algorithm 1)."""
    n = len(degrees)
    m = n // k
    vertices = sorted(range(n), key=lambda v: -degrees[v])
    buckets: list[list[int]] = [[] for _ in range(m)]
    for i, v in enumerate(vertices):
        height = k if i < k * m else k + 1
        open_buckets = [bucket for bucket in buckets if len(bucket) < height]
        min(open_buckets, key=lambda bucket: sum(degrees[u] for u in bucket)).append(v)
    return buckets


def xcolor(
    rows: Sequence[Sequence[float]], values: Sequence[float], k: int, epsilon: float, delta: float
) -> list[list[int]] | None:
    """Return the classes (Algorithm 2), or None where the paper knows no exchangeable vertex.

    Among equals, the vertex with the lowest number.
    """
    n, d = len(rows), len(rows[0])
    t = math.floor((1 - delta) * (k - 1) + 1e-9)
    lengths = [max(row[i] for row in rows) - min(row[i] for row in rows) for i in range(d)]

    def adjacent(u: int, v: int) -> bool:
        return u != v and abs(values[u] - values[v]) <= epsilon

    def degree(v: int, group: Sequence[int]) -> int:
        return sum(adjacent(v, u) for u in group)

    def loss(group: Sequence[int]) -> float:
        columns = [[rows[v][i] for v in group] for i in range(d)]
        return sum((max(c) - min(c)) / length for c, length in zip(columns, lengths, strict=True))

    classes = initialize([degree(v, range(n)) for v in range(n)], k)
    while True:
        violations = [(v, group) for group in classes for v in group if degree(v, group) >= t + 1]
        if not violations:
            return classes
        v, here = min(violations, key=lambda each: (loss(_less(each[1], each[0])) - loss(each[1]), each[0]))
        exchangeable = []
        for there in classes:
            if there is here or degree(v, there) > t:
                continue
            for other in there:
                change = degree(v, there) - degree(v, here)
                change += degree(other, _less(here, v)) - degree(other, [*there, v])
                if change < 0:
                    exchangeable.append((other, there))
        if not exchangeable:
            return None

        def after(each: tuple[int, list[int]], v: int = v, here: list[int] = here) -> tuple[float, int]:
            other, there = each
            new_here, new_there = [*_less(here, v), other], [*_less(there, other), v]
            return loss(new_here) + loss(new_there) - loss(here) - loss(there), other

        other, there = min(exchangeable, key=after)
        here[here.index(v)], there[there.index(other)] = other, v


def _less(group: Sequence[int], gone: int) -> list[int]:
    return [u for u in group if u != gone]
