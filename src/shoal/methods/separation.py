"""Exchanges of records that separate close sensitive values; in a large table, within parts of it."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from shoal.kernels import Closeness, Coloring
from shoal.measures.geometry import geometry
from shoal.methods.chain import ClassExchanges, improve
from shoal.methods.dissimilarity_limits import allowed_neighbours
from shoal.methods.method import Circumstances
from shoal.models import Dissimilarity
from shoal.table import Table

FEW = 16
"""The number of classes that repairs try first."""
PART = 2500
"""The number of classes of a part; a table with twice as many classes may have several parts."""
CROWDED = 0.25
"""Neighbours in excess for each record, from which on exchanges within parts are worthwhile."""


@dataclass(frozen=True)
class Sweeps:
    """What is done once the guarantee holds, to lose less.

    Parameters
    ----------
    pairs
        The number of classes in which a record looks for another to change places with; 0 for none.
    cycles
        The number of classes in which it looks for cycles of three; 0 for none.
    """

    pairs: int
    cycles: int


SWEEPS = {"fast": Sweeps(0, 0), "balanced": Sweeps(64, 0), "best": Sweeps(256, 8)}


@dataclass(frozen=True, eq=False)
class Separation:
    """A table, the guarantee, the sensitive value of each record, and which values are close."""

    table: Table
    model: Dissimilarity
    values: NDArray[np.int32]
    closeness: Closeness
    circumstances: Circumstances

    def separated(self, class_of: NDArray[np.int32], sweeps: Sweeps | None) -> Coloring:
        """Return classes after exchanges; the guarantee holds unless a record has neighbours in excess.

        Parameters
        ----------
        class_of
            The first class of each record; classes with neighbouring numbers are similar.
        sweeps
            Exchanges that reduce the loss afterwards. None for none, and for no parts either.
        """
        coloring = self._coloring(class_of)
        parts = (int(class_of.max()) + 1) // PART
        if sweeps is not None and parts > 1 and coloring.excess >= CROWDED * len(class_of):
            coloring = self._coloring(self._part_after_part(class_of, parts, sweeps))
        mend(coloring, self.circumstances)
        if sweeps is not None and not coloring.excess:
            refine(coloring, sweeps, self.circumstances)
        return coloring

    def _part_after_part(self, class_of: NDArray[np.int32], parts: int, sweeps: Sweeps) -> NDArray[np.int32]:
        """Return classes after exchanges within each part of a large table.

        The larger the table, the more classes are similar, and lack room for the same values. A record would
        have to search ever more of them. So classes are dealt to parts in turn: each part is a small table
        with the same variety, and the number of classes to search does not depend on the size of the table.
        Exchanges across parts follow only where a part alone does not succeed. Where few records have too
        many neighbours, the nearest classes have room, and those of a part are farther away.
        """
        class_of = class_of.copy()
        part_of = class_of % parts
        for part in range(parts):
            records = np.flatnonzero(part_of == part)
            coloring = self._coloring(class_of[records] // parts, records)
            within = self._within(part, parts)
            mend(coloring, within)
            if not coloring.excess:
                refine(coloring, sweeps, within)
            class_of[records] = coloring.class_of * parts + part
            if coloring.excess:
                break
        return class_of

    def _within(self, part: int, parts: int) -> Circumstances:
        """Return circumstances in which the progress of a part is reported as that of all parts."""
        progress = self.circumstances.progress

        def report(stage: str, share: float) -> None:
            progress(stage, (part + share) / parts)

        return replace(self.circumstances, progress=report)

    def _coloring(
        self, class_of: NDArray[np.int32], records: NDArray[np.int64] | slice = slice(None)
    ) -> Coloring:
        """Return the classes of these records, with the number of neighbours that each class allows."""
        table = self.table
        return Coloring(
            table.codes[records],
            geometry(table),
            class_of,
            self.closeness,
            self.values[records],
            allowed_neighbours(np.bincount(class_of), self.model.delta),
            None if table.owners is None else table.owners[records],
            self.model.k,
        )


def mend(coloring: Coloring, circumstances: Circumstances) -> None:
    """Exchange records until none has too many neighbours, or no exchange helps."""
    first = coloring.excess
    before = first + 1
    while 0 < coloring.excess < before:
        before = coloring.excess
        for goal, cycles in (
            (Coloring.CAREFUL, False),
            (Coloring.POTENTIAL, False),
            (Coloring.POTENTIAL, True),
            (Coloring.EXCESS, True),
        ):
            circumstances.progress("separating close values", 1 - coloring.excess / first)
            if coloring.excess:
                coloring.mend(goal, FEW, cycles=cycles)
    circumstances.progress("separating close values", 1.0)


def refine(coloring: Coloring, sweeps: Sweeps, circumstances: Circumstances) -> None:
    """Exchange records as long as this reduces the loss and keeps the guarantee."""
    if sweeps.pairs:
        improve(ClassExchanges(coloring, sweeps.pairs, False), "exchanging records", circumstances)
    if sweeps.cycles:
        improve(ClassExchanges(coloring, sweeps.cycles, True), "exchanging records in cycles", circumstances)
