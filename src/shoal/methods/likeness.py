"""Classes whose sensitive values are distributed nearly as in the whole table, by cuts or along a chain."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from shoal.errors import InputError, Reason
from shoal.kernels import ROUNDING
from shoal.kinds.domain import Sensitive
from shoal.measures.distances import Absolute, LinearDistance, TreeDistance, ground_distance
from shoal.methods.chain import cheap_classes, cheap_order
from shoal.methods.cutting import Records, Sides, cut_into_classes
from shoal.methods.feasibility import require_rows
from shoal.methods.method import Circumstances, keeps
from shoal.models import BetaLikeness, DeltaDisclosure, LikenessModel, TCloseness
from shoal.recoding import Recoding
from shoal.schema import Column
from shoal.table import Table

SLACK = ROUNDING / 2
"""Half of the rounding that the audit accepts."""

NO_PERSONS = "each record counts in the distributions that are compared"

Counts = NDArray[np.int64]
"""How often each of some values occurs in each of some crowds, one crowd in each row."""


@keeps(TCloseness, BetaLikeness, DeltaDisclosure, name="mondrian", default=True, persons=NO_PERSONS)
def like_mondrian(table: Table, model: LikenessModel, circumstances: Circumstances, /) -> Recoding:
    """Return classes by recursive cuts, of which both sides are distributed as the model asks.

    See `cut_into_classes`. The table as one class always keeps the guarantee.

    Parameters
    ----------
    table, model, circumstances
        As for every method.
    """
    columns = _limited_columns(table, model)
    return Recoding.of_classes(table, cut_into_classes(table, model.k, _LikeSides(columns), circumstances))


@keeps(TCloseness, BetaLikeness, DeltaDisclosure, name="chain", persons=NO_PERSONS)
def like_chain(table: Table, model: LikenessModel, circumstances: Circumstances, /) -> Recoding:
    """Return classes along a chain of similar records, joined until they are distributed as the model asks.

    The classes of the method `chain` of k-anonymity, without moves, are joined with their neighbours. What
    holds for two classes holds for both together, and the whole table keeps the guarantee, so this ends.

    Parameters
    ----------
    table, model, circumstances
        As for every method.
    """
    columns = _limited_columns(table, model)
    order = cheap_order(table, model.k, circumstances)
    numbers = cheap_classes(table, order, model.k, circumstances, moving=False)
    classes = np.empty(len(table), dtype=np.int32)
    classes[order] = _joined(columns, order, numbers)
    return Recoding.of_classes(table, classes)


def _joined(
    columns: Sequence[_LimitedColumn], order: Records, numbers: NDArray[np.int32]
) -> NDArray[np.int32]:
    """Return classes along an order, joined with the next ones until each keeps the limits.

    Parameters
    ----------
    columns
        The sensitive columns with their limits.
    order
        The records.
    numbers
        The class of each of them, ascending.
    """
    starts = np.append(np.flatnonzero(np.diff(numbers, prepend=-1)), len(order))
    kept: list[tuple[int, list[Counts]]] = []  # where each class begins, and its counts in each column
    begin, counts = 0, [column.nothing() for column in columns]
    for first, end in pairwise(starts.tolist()):
        counts = [sums + c.counted(order[first:end]) for sums, c in zip(counts, columns, strict=True)]
        if all(column.keeps(each) for column, each in zip(columns, counts, strict=True)):
            kept.append((begin, counts))
            begin, counts = end, [column.nothing() for column in columns]
    while begin < len(order):  # what is left joins the class before it, until that keeps the limits
        begin, before = kept.pop() if kept else (0, [column.nothing() for column in columns])
        counts = [one + other for one, other in zip(counts, before, strict=True)]
        if begin == 0 or all(column.keeps(each) for column, each in zip(columns, counts, strict=True)):
            kept.append((begin, counts))
            break
    joined = np.zeros(len(order), dtype=np.int32)
    joined[[place for place, _ in kept[1:]]] = 1
    return np.cumsum(joined, dtype=np.int32)


def _limited_columns(table: Table, model: LikenessModel) -> list[_LimitedColumn]:
    """Return the sensitive columns with the limits of a model, after checking that there are any.

    Raises
    ------
    InputError
        If the table has no sensitive column, k is larger than the table, or a column does not suit the
        distance.
    """
    require_rows(table, model)
    if not table.sensitive:
        raise InputError(
            f"{model.name} is a guarantee about sensitive columns, but none is named; name the sensitive "
            "columns",
            reason=Reason.NO_SENSITIVE,
            parameter="sensitive",
        )
    described = {column.name: column for column in table.schema.sensitive}
    return [_LimitedColumn.of(model, column, described[column.name]) for column in table.sensitive]


class _ShareLimit(ABC):
    """What the shares of values in a crowd must keep beside those of the whole table."""

    @abstractmethod
    def kept(self, shares: NDArray[np.float64], values: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Return which crowds keep it.

        Parameters
        ----------
        shares
            The shares of some values, one crowd in each row; other values do not occur in any of them.
        values
            Which values these are, ascending.
        """


@dataclass(frozen=True, eq=False)
class _LimitedColumn:
    """A sensitive column by which a model judges crowds.

    Parameters
    ----------
    codes
        The value of each record, by rank where the distance has one.
    size
        How many values there are.
    limit
        What the shares of a crowd must keep.
    """

    codes: NDArray[np.int64]
    size: int
    limit: _ShareLimit

    @classmethod
    def of(cls, model: LikenessModel, column: Sensitive, described: Column) -> _LimitedColumn:
        """Return a sensitive column with the limit of a model."""
        codes = column.codes.astype(np.int64)
        if isinstance(model, TCloseness):
            distance = ground_distance(column.values, described, model.ground_distance)
            codes = distance.rank[codes]
        whole = np.bincount(codes, minlength=len(column)) / len(codes)
        if isinstance(model, TCloseness):
            return cls(codes, len(column), _Moved(whole, distance, model.t + SLACK))
        if isinstance(model, BetaLikeness):
            gain = np.full(len(whole), model.beta)
            if model.enhanced:
                gain = np.minimum(gain, -np.log(np.maximum(whole, np.finfo(float).tiny)))
            return cls(codes, len(column), _Bounded(np.zeros(len(whole)), whole * (1 + gain + SLACK)))
        assert isinstance(model, DeltaDisclosure)
        factor = 2.0 ** min(model.disclosure_delta * (1 - 2 * ROUNDING), 1000.0)
        return cls(codes, len(column), _Bounded(whole / factor, whole * factor))

    def nothing(self) -> Counts:
        """Return the counts of no record."""
        return np.zeros(self.size, dtype=np.int64)

    def counted(self, records: Records) -> Counts:
        """Return how many of some records have each value."""
        return np.bincount(self.codes[records], minlength=self.size)

    def keeps(self, counts: Counts) -> bool:
        """Return whether a crowd with these counts keeps the limit."""
        values = np.flatnonzero(counts)
        return bool(self.limit.kept(counts[None, values] / counts.sum(), values)[0])


@dataclass(frozen=True, eq=False)
class _Bounded(_ShareLimit):
    """Each value has a share between two bounds."""

    low: NDArray[np.float64]
    high: NDArray[np.float64]

    def kept(self, shares: NDArray[np.float64], values: NDArray[np.int64]) -> NDArray[np.bool_]:
        if np.delete(self.low, values).any():
            return np.zeros(len(shares), dtype=np.bool_)
        within = (shares >= self.low[values]) & (shares <= self.high[values])
        return np.asarray(within.all(axis=1))


@dataclass(frozen=True, eq=False)
class _Moved(_ShareLimit):
    """The earth mover's distance from the whole is at most this."""

    whole: NDArray[np.float64]
    distance: LinearDistance
    most: float

    def kept(self, shares: NDArray[np.float64], values: NDArray[np.int64]) -> NDArray[np.bool_]:
        if isinstance(self.distance, TreeDistance):
            difference = np.tile(-self.whole, (len(shares), 1))
            difference[:, values] += shares
            work = self.distance.moved(difference)
        elif isinstance(self.distance, Absolute):
            work = self._along(shares, values)
        else:
            work = 1.0 - np.minimum(shares, self.whole[values]).sum(axis=1)
        return np.asarray(work <= self.most)

    def _along(self, shares: NDArray[np.float64], values: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return the distances by ranks: the mean difference of the shares up to each rank.

        The share of a crowd is constant from one of its values to the next, and that of the whole grows.
        """
        last = len(self.whole) - 1
        up_to = np.cumsum(self.whole)[:last]
        sums = np.concatenate(([0.0], np.cumsum(up_to)))
        height = np.cumsum(shares, axis=1)
        begin = np.minimum(values, last)
        end = np.append(begin[1:], last)
        turn = np.clip(np.searchsorted(up_to, height), begin, end)
        below = height * (turn - begin) - (sums[turn] - sums[begin])
        above = sums[end] - sums[turn] - height * (end - turn)
        return np.asarray(((below + above).sum(axis=1) + sums[begin[0]]) / max(last, 1))


@dataclass(frozen=True)
class _LikeSides(Sides):
    """Both sides of a cut keep the limits of all sensitive columns."""

    columns: Sequence[_LimitedColumn]

    def halves(self, records: Records, rank: NDArray[np.int64]) -> NDArray[np.bool_] | None:
        """Return the lower half of the records with each combination of sensitive values."""
        values = np.column_stack([column.codes[records] for column in self.columns])
        value = np.unique(values, axis=0, return_inverse=True)[1].reshape(-1)
        order = np.lexsort((rank, value))
        often = np.bincount(value)
        begin = np.cumsum(often) - often
        # Half of all records up to the last of each value, so that roundings cancel out.
        left = (begin + often) // 2 - begin // 2
        first = np.empty(len(records), dtype=np.bool_)
        first[order] = np.arange(len(records)) - np.repeat(begin, often) < np.repeat(left, often)
        return first

    def accepts(self, left: Records, right: Records) -> bool:
        return all(column.keeps(column.counted(side)) for column in self.columns for side in (left, right))

    def allowed(self, records: Records, part: NDArray[np.int64], parts: int) -> NDArray[np.bool_]:
        fine = np.ones(parts - 1, dtype=np.bool_)
        for column in self.columns:
            values, place = np.unique(column.codes[records], return_inverse=True)
            keys = part * len(values) + place.reshape(-1)
            counts = np.bincount(keys, minlength=parts * len(values)).reshape(parts, -1)
            left = np.cumsum(counts, axis=0)
            for side in (left[:-1], left[-1] - left[:-1]):
                fine &= column.limit.kept(side / side.sum(axis=1, keepdims=True), values)
        return fine
