"""Mondrian as the textbook has it, in plain Python: the reference for quality and time."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from shoal.kinds.ranges import RangeDomain
from shoal.table import Table


def textbook_mondrian(table: Table, k: int) -> NDArray[np.int32]:
    """Return classes by strict Mondrian: cut the attribute with the widest normalized range at its median.

    Categories stand in their alphabetical order, as many implementations have it.
    """
    codes = table.codes
    sizes = np.array([max(len(a.domain) - 1, 1) for a in table.attributes])
    positions = [
        a.domain.positions if isinstance(a.domain, RangeDomain) else np.arange(len(a.domain)) / size
        for a, size in zip(table.attributes, sizes, strict=True)
    ]
    classes = np.empty(len(table), dtype=np.int32)
    pending, finished = [np.arange(len(table))], 0
    while pending:
        rows = pending.pop()
        part = codes[rows]
        spans = [p[part[:, a].max()] - p[part[:, a].min()] for a, p in enumerate(positions)]
        for a in sorted(range(len(spans)), key=lambda a: -spans[a]):
            left = part[:, a] <= np.median(part[:, a])
            if left.sum() == len(rows):
                left = part[:, a] < np.median(part[:, a])
            if k <= left.sum() <= len(rows) - k:
                pending += [rows[left], rows[~left]]
                break
        else:
            classes[rows] = finished
            finished += 1
    return classes
