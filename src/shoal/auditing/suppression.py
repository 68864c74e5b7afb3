"""Which cells the rows of a release suppress, and whether all others are exact."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal import kernels
from shoal.auditing.reading import ReleasedColumn
from shoal.table import Table

EXACT, SUPPRESSED, EITHER, BLURRED = range(4)
"""What a cell shows: one value, none, both if the column has a single value, or something in between."""


@dataclass(frozen=True)
class Suppression:
    """Rows that suppress the same cells.

    Parameters
    ----------
    suppressed
        The columns that they suppress.
    either
        The columns that have a single value, so that exact and suppressed are the same.
    blurred
        The columns in which they are neither exact nor suppressed.
    rows
        Number of such rows.
    """

    suppressed: tuple[str, ...]
    either: tuple[str, ...]
    blurred: tuple[str, ...]
    rows: int

    @classmethod
    def merge(cls, parts: Sequence[Sequence[Suppression]]) -> tuple[Suppression, ...]:
        """Return which cells the rows of several releases suppress, those of most rows first."""
        rows = Counter[tuple[tuple[str, ...], tuple[str, ...]]]()
        for kind in chain.from_iterable(parts):
            rows[kind.suppressed, kind.blurred] += kind.rows
        return tuple(cls(names, (), blurred, count) for (names, blurred), count in rows.most_common())

    def as_dict(self) -> dict[str, Any]:
        """Return the figures as plain data."""
        return {"suppress": list(self.suppressed), "rows": self.rows} | (
            {"blurred": list(self.blurred)} if self.blurred else {}
        )


def suppressions_of(columns: Sequence[ReleasedColumn], table: Table) -> tuple[Suppression, ...]:
    """Return which cells rows suppress, those of most rows first, O(n)."""
    shown = np.column_stack(
        [
            _shown(column, len(attribute.domain))[column.cell]
            for column, attribute in zip(columns, table.attributes, strict=True)
        ]
    )
    group, first = kernels.group_rows(shown)
    rows = np.bincount(group)

    def named(state: int, kind: NDArray[np.int32]) -> tuple[str, ...]:
        return tuple(column.name for column, one in zip(columns, kind, strict=True) if one == state)

    return tuple(
        Suppression(
            named(SUPPRESSED, shown[first[g]]),
            named(EITHER, shown[first[g]]),
            named(BLURRED, shown[first[g]]),
            int(rows[g]),
        )
        for g in np.argsort(-rows, kind="stable")
    )


def _shown(column: ReleasedColumn, size: int) -> NDArray[np.int32]:
    """Return what each different cell of a column shows."""
    exact, nothing = column.values.is_exact() | column.days, column.values.is_everything(size)
    states = np.where(exact, np.where(nothing, EITHER, EXACT), np.where(nothing, SUPPRESSED, BLURRED))
    return states.astype(np.int32)
