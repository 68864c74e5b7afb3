"""Exchanges of records between rows of a regular graph, for the few rows that are beyond a limit."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from shoal.recoding import Recoding

MOST_ROWS = 256
"""With more rows beyond a limit, no exchanges are tried."""
WEIGHED = 512
"""The number of possible exchanges whose costs are compared."""

Limits = NDArray[np.int32]
"""For each column with a limit, the last code of the widest interval that begins at each code."""


def within_by_exchanges(recoding: Recoding) -> Recoding | None:
    """Return a recoding with a graph in which rows beyond a limit have exchanged records with others.

    Each record is still covered by as many rows. A row gives away the records that are too far from the
    others, and gets for each of them the one that costs least among those that another row can spare.

    Parameters
    ----------
    recoding
        Rows of a regular graph, each of them the closure of its records.

    Returns
    -------
    Recoding or None
        None if there are too many such rows, if an exchange is not possible, or if limits are not those of
        intervals alone.
    """
    attributes = [a for a in recoding.table.attributes if a.limit is not None]
    if recoding.graph is None or any(a.limit is not None and a.limit.most is not None for a in attributes):
        return None
    bounded = [a for a in attributes if a.limit is not None and a.limit.reach is not None]
    search = _Search(
        recoding,
        recoding.graph.copy(),
        np.column_stack([a.codes for a in bounded]),
        [a.limit.reach for a in bounded if a.limit is not None and a.limit.reach is not None],
    )
    rows = np.flatnonzero(~search.fits(search.low, search.high))
    if len(rows) > MOST_ROWS or not all(search.mend(int(row)) for row in rows):
        return None
    return Recoding.of_graph(recoding.table, search.graph)


class _Search:
    """A graph whose rows exchange records.

    Parameters
    ----------
    recoding
        Where the graph comes from.
    graph
        The records of each row; is changed.
    codes
        The codes of the records in the columns with a limit.
    reach
        The limit of each of these columns.
    """

    def __init__(
        self,
        recoding: Recoding,
        graph: NDArray[np.int32],
        codes: NDArray[np.int32],
        reach: list[NDArray[np.int32]],
    ) -> None:
        self.table, self.graph, self.codes, self.reach = recoding.table, graph, codes, reach
        self.low, self.high = codes[graph].min(axis=1), codes[graph].max(axis=1)

    def fits(self, low: NDArray[np.int32], high: NDArray[np.int32]) -> NDArray[np.bool_]:
        """Return which boxes are within all limits."""
        columns = zip(self.reach, low.T, high.T, strict=True)
        return np.asarray(np.logical_and.reduce([end <= reach[start] for reach, start, end in columns]))

    def mend(self, row: int) -> bool:
        """Exchange records of a row, so that it is within all limits; return whether this was possible.

        It keeps as many of its records as fit together, around one of them.
        """
        members = self.codes[self.graph[row]]
        ways = {tuple(self._near(members, start).tolist()) for start in members}
        for kept in sorted(ways, key=sum, reverse=True):
            before = self.graph.copy() if kept.count(False) > 1 else None
            if all(self._exchange(row, place, kept) for place, stays in enumerate(kept) if not stays):
                return True
            if before is not None:
                self.graph = before
                self.low, self.high = self.codes[before].min(axis=1), self.codes[before].max(axis=1)
        return False

    def _near(self, members: NDArray[np.int32], start: NDArray[np.int32]) -> NDArray[np.bool_]:
        """Return which members lie in the widest box that begins at one of them."""
        ends = np.array([reach[code] for reach, code in zip(self.reach, start, strict=True)])
        return np.asarray(((members >= start) & (members <= ends)).all(axis=1))

    def _exchange(self, row: int, place: int, kept: tuple[bool, ...]) -> bool:
        """Exchange the record at a place of a row for one that fits to those that are kept or came before."""
        stay = [each or number < place for number, each in enumerate(kept)]
        low, high = (f(self.codes[self.graph[row][stay]], axis=0) for f in (np.min, np.max))
        given = self.graph[row, place]
        own = self.codes[given]
        takers = self.fits(np.minimum(self.low, own), np.maximum(self.high, own))
        takers &= ~self._have(given)
        wanted = self.fits(np.minimum(low, self.codes), np.maximum(high, self.codes))
        wanted[self.graph[row]] = False
        rows = np.flatnonzero(takers)
        number, there = np.nonzero(wanted[self.graph[rows]])
        if not len(number):
            return False
        some = np.unique(np.linspace(0, len(number) - 1, WEIGHED).astype(np.int64))
        others, there = rows[number[some]], there[some]
        taken = self.graph[others, there]
        after = self.graph[others]
        after[np.arange(len(some)), there] = given
        mine = np.repeat(self.graph[row][None], len(some), axis=0)
        mine[:, place] = taken
        cost = self._costs(after) + self._costs(mine) - self._costs(self.graph[others])
        best = int(np.argmin(cost))
        for changed, members in ((row, mine[best]), (int(others[best]), after[best])):
            self.graph[changed] = members
            self.low[changed], self.high[changed] = (
                self.codes[members].min(axis=0),
                self.codes[members].max(axis=0),
            )
        return True

    def _have(self, record: int) -> NDArray[np.bool_]:
        """Return which rows have a record, or another one of its person."""
        if self.table.owners is None:
            return np.asarray((self.graph == record).any(axis=1))
        return np.asarray((self.table.owners[self.graph] == self.table.owners[record]).any(axis=1))

    def _costs(self, graph: NDArray[np.int32]) -> NDArray[np.float64]:
        """Return the information loss of rows that show the closures of these records."""
        starts = np.arange(0, graph.size + 1, graph.shape[1])
        weighted = zip(self.table.attributes, self.table.weights, strict=True)
        return np.asarray(
            sum(w * a.domain.closure(a.codes[graph.ravel()], starts).ncp() for a, w in weighted)
        )
