"""Rows that generalize one record each, as wide as the guarantee requires."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.kernels import _native
from shoal.kernels.geometry import Geometry


class OwnRows:
    """Rows that generalize one record each and grow around others (Tassa, Mazza and Gionis 2012).

    Row i is made for record i. An order of turns is given by the numbers of the records.

    Parameters
    ----------
    codes, attributes
        The records, and what it costs to cover several codes.
    room
        Number of records that rows are made of at first.
    entropies
        If rows are to be measured by the entropy of the values in them: for each attribute how often each
        code occurs; of a tree, the entropy below the lowest common ancestor of each code and the next.
    withheld
        Records without a row.
    """

    def __init__(
        self,
        codes: NDArray[np.int32],
        attributes: Sequence[Geometry],
        room: int,
        *,
        entropies: Sequence[NDArray[np.float64]] = (),
        withheld: NDArray[np.integer[Any]] | None = None,
    ) -> None:
        without = np.empty(0, np.int32) if withheld is None else withheld.astype(np.int32)
        # Rows that have once been drawn at random may have to be made larger by one record.
        self._rows = _native.OwnRows(codes, attributes, entropies, without, room + 1)
        self._order = self._rows.order()
        self._place = np.empty_like(self._order)
        self._place[self._order] = np.arange(len(self._order), dtype=np.int32)

    @property
    def members(self) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
        """The records around which each row is the smallest box, its own first.

        Those of row i are ``records[starts[i]:starts[i + 1]]``: `starts` and `records`.
        """
        starts, places = self._rows.members()
        sizes = np.diff(starts)[self._place]
        ends = np.cumsum(sizes)
        which = np.arange(len(places)) - np.repeat(ends - sizes - starts[self._place], sizes)
        return np.concatenate(([0], ends)), self._order[places[which]]

    def expand(self, k: int) -> None:
        """Let each row take in the record that costs it least until it covers k (Algorithm 2); all cores."""
        self._rows.expand(k)

    def expand_at_random(self, k: int, keys: NDArray[np.uint64]) -> None:
        """Let rows take in records as `expand` does, or k - 1 of the 2 (k - 1) nearest (Algorithm 6).

        Parameters
        ----------
        k
            Number of records that a row is made of.
        keys
            Four random words for each row: they decide which of the two, and which records.
        """
        self._rows.expand_at_random(k, keys)

    def expand_from_several(self, k: int, starts: int, keys: NDArray[np.uint64] | None = None) -> None:
        """Let rows take in records as `expand` does, but several times, and keep what costs least.

        Parameters
        ----------
        k
            Number of records that a row covers.
        starts
            The number of nearest records that are tried as the first.
        keys
            Four random words for each row, if a coin decides for each whether it is the best or one of the
            next best.
        """
        words = np.empty(0, np.uint64) if keys is None else keys
        self._rows.expand_from_several(k, starts, words)

    def cover(self, order: NDArray[np.integer[Any]], k: int) -> int:
        """Let rows grow around one record after the other until k rows cover it (Algorithm 3).

        A record without a row of its own may also be covered by none. Returns how many rows grew.
        """
        return self._rows.cover(self._place[order], k)

    def begin_tightening(self, k: int, *, keep_cores: bool) -> None:
        """Take rows as they are now for their cores, before they grow further or are tightened.

        Parameters
        ----------
        k
            Number of records that each row covers, and of rows that must cover each record.
        keep_cores
            Whether rows have to stay around the records that they are made of now.
        """
        self._rows.begin_tightening(k, keep_cores)

    def cover_dearest_first(self, widest: int) -> None:
        """Let rows grow until k of them cover each record: first those whose own rows cost most.

        Parameters
        ----------
        widest
            Rows that cover this many records grow only if there is no other.
        """
        self._rows.cover_dearest_first(widest)

    def relieve(self, order: NDArray[np.integer[Any]], together: int, widest: int) -> float:
        """Let each row leave records to rows that take them at a lower cost; return the saving.

        Each record that was covered by k rows still is, and each row still covers k records.

        Parameters
        ----------
        order
            In which order rows have their turns.
        together
            Number of near rows that try this at once.
        widest
            As for `cover_dearest_first`.
        """
        return self._rows.relieve(self._place[order], together, widest)

    def place(self, degree: int, widest: int) -> None:
        """Let rows grow until each record has places in `degree` rows, and each row for as many records.

        The least chance is then at most 1 / degree. Once rows are tightened, they stay around the records
        that have a place in them. See native/rows/places.hpp.

        Parameters
        ----------
        degree
            Number of places; at most that of the records with a row.
        widest
            As for `cover_dearest_first`.
        """
        self._rows.place(degree, widest)

    def join(self, components: NDArray[np.integer[Any]] | None) -> None:
        """Say who is in a crowd from now on.

        Parameters
        ----------
        components
            For each record and its row a component 0, 1, 2, ...: only rows of the same component count, the
            matches. None lets all rows count that cover a record.
        """
        none = np.empty(0, np.int32)
        self._rows.join(none if components is None else components[self._order].astype(np.int32))

    def hold_together(self) -> None:
        """Let only matches count from now on when rows are tightened, so that no record loses one too many.

        Components stay connected: for that some records have to stay in some rows.
        """
        self._rows.hold_together(self._rows.components())

    def conceal_records(self, order: NDArray[np.integer[Any]], k: int) -> int:
        """Let the rows of records grow until each record has k matches (Algorithm 5); return how many did."""
        return self._rows.conceal_records(self._place[order], k)

    def conceal_cheapest_first(self, records: NDArray[np.integer[Any]], k: int) -> int:
        """Let rows grow until each of some records has k matches, the cheapest first; return how many did."""
        return self._rows.conceal_cheapest_first(self._place[records], k)

    def conceal_rows(self, order: NDArray[np.integer[Any]], k: int) -> int:
        """Let rows grow until each row is a match of k records; return how many did."""
        return self._rows.conceal_rows(self._place[order], k)

    def vary(
        self,
        order: NDArray[np.integer[Any]],
        labels: Sequence[NDArray[np.int32]],
        *,
        frequency_l: float = 0.0,
        distinct: int = 0,
        entropy: float = 0.0,
    ) -> int:
        """Let rows grow until the labels in the crowd of each record are diverse (Algorithm 7).

        Parameters
        ----------
        order
            In which order records have their turns.
        labels
            For each column, the label of each record, which its row carries.
        frequency_l, distinct, entropy
            As for `Diversification`.

        Returns
        -------
        int
            Number of pairs of rows that grew or, if all rows that cover a record count, of rows.
        """
        columns = [column[self._order] for column in labels]
        return self._rows.vary(self._place[order], columns, frequency_l, distinct, entropy)
