"""Generalized values and their algebra: closure, containment, size, and how they are written."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from math import log
from typing import Any, Self

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shoal import kernels, written
from shoal.domain import (
    Attribute,
    Codes,
    Domain,
    ItemsDomain,
    RangeDomain,
    SetDomain,
    TreeDomain,
    named_items,
)
from shoal.kernels import itemsets
from shoal.lists import Lists
from shoal.table import Table


class Generalized(ABC):
    """Generalized values of one attribute: an array of intervals, of sets, of nodes, or of sets of sets."""

    @abstractmethod
    def __len__(self) -> int:
        """Return how many generalized values there are."""

    @abstractmethod
    def covers(self, index: NDArray[np.integer[Any]], codes: Codes) -> NDArray[np.bool_]:
        """Return whether the index[i]-th generalized value contains codes[i], for each i."""

    @abstractmethod
    def ncp(self) -> NDArray[np.float64]:
        """Return the normalized certainty penalty of each, 0 (exact) to 1 (says nothing)."""

    @abstractmethod
    def sizes(self) -> NDArray[np.int64]:
        """Return how many possible values each contains."""

    @abstractmethod
    def entropies(self, counts: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return the entropy in bits of the column's value, given that it lies in each.

        Parameters
        ----------
        counts
            How often each code occurs in the column.
        """

    @abstractmethod
    def keys(self) -> list[NDArray[np.int32]]:
        """Return numbers that are the same for two generalized values if and only if they are equal."""

    @abstractmethod
    def texts(self) -> list[str]:
        """Return each as it is written in a text file."""

    @abstractmethod
    def typed(self) -> pl.Series:
        """Return each as a typed value, for Arrow and Parquet."""

    def columns(self, name: str, *, typed: bool) -> list[pl.Series]:
        """Return the columns that a release has for them, typed or as text; the first has this name."""
        return [(self.typed() if typed else pl.Series(self.texts(), dtype=pl.String)).rename(name)]


@dataclass(frozen=True, eq=False)
class Ranges(Generalized):
    """Intervals of codes, both ends included; an interval of nothing has low > high."""

    domain: RangeDomain
    low: Codes
    high: Codes

    @classmethod
    def closure(cls, domain: RangeDomain, codes: Codes, starts: NDArray[np.int64]) -> Ranges:
        """Return the smallest interval around each group; group i is codes[starts[i]:starts[i + 1]].

        Numbers and the missing value have only the whole domain in common.
        """
        low = np.minimum.reduceat(codes, starts[:-1])
        high = np.maximum.reduceat(codes, starts[:-1])
        if domain.missing is not None:
            low = np.where((high == domain.missing) & (low < high), np.int32(0), low)
        return cls(domain, low, high)

    def __len__(self) -> int:
        return len(self.low)

    def covers(self, index: NDArray[np.integer[Any]], codes: Codes) -> NDArray[np.bool_]:
        return np.asarray((self.low[index] <= codes) & (codes <= self.high[index]))

    def ncp(self) -> NDArray[np.float64]:
        positions = self.domain.positions
        spans = np.minimum(positions[self.high] - positions[self.low], 1.0)
        return np.where(self.low <= self.high, spans, 0.0)

    def sizes(self) -> NDArray[np.int64]:
        return (self.high - self.low + 1).astype(np.int64)

    def entropies(self, counts: NDArray[np.int64]) -> NDArray[np.float64]:
        return _entropies_of_intervals(counts, self.low, self.high)

    def keys(self) -> list[NDArray[np.int32]]:
        return [self.low, self.high]

    def texts(self) -> list[str]:
        labels = self.domain.labels
        # All numbers of a column with missing values still say that the value is not missing.
        whole = (self.low == 0) & (self.high == len(labels) - 1) & (self.low < self.high)
        suppressed = whole & (self.ncp() >= 1.0)
        return [
            written.SUPPRESSED
            if everything
            else written.write_point(labels[low])
            if low == high
            else written.write_interval(labels[low], labels[high])
            for low, high, everything in zip(self.low, self.high, suppressed, strict=True)
        ]

    def typed(self) -> pl.Series:
        """Return structs of low and high: null for the missing value, no bounds where nothing is said."""
        mixed = pl.Series((self.high == self.domain.missing) & (self.low < self.high))
        values = self.domain.values
        bounds = pl.select(
            low=pl.when(~mixed).then(values.gather(self.low)),
            high=pl.when(~mixed).then(values.gather(self.high)),
        ).to_struct(values.name)
        missing = pl.Series((self.low == self.domain.missing) & (self.low == self.high))
        return pl.select(pl.when(~missing).then(bounds)).to_series().rename(values.name)


@dataclass(frozen=True, eq=False)
class Sets(Generalized):
    """Sets of codes, for any cardinality: the i-th is members[starts[i]:starts[i + 1]], ascending."""

    domain: SetDomain | ItemsDomain
    starts: NDArray[np.int64]
    members: Codes

    @classmethod
    def closure(cls, domain: SetDomain, codes: Codes, starts: NDArray[np.int64]) -> Sets:
        """Return the set of codes in each group; group i is codes[starts[i]:starts[i + 1]]."""
        groups = np.repeat(np.arange(len(starts) - 1, dtype=np.int64), np.diff(starts))
        # Groups ascend, so the keys are almost sorted; np.unique would hash them, ten times as slow.
        keys = np.sort(groups * len(domain) + codes, kind="stable")
        keys = keys[np.diff(keys, prepend=-1) > 0]
        sizes = np.bincount(keys // len(domain), minlength=len(starts) - 1)
        return cls(domain, np.concatenate(([0], np.cumsum(sizes))), (keys % len(domain)).astype(np.int32))

    def __len__(self) -> int:
        return len(self.starts) - 1

    @cached_property
    def _keys(self) -> NDArray[np.int64]:
        """One ascending number for each pair of a set and a member."""
        owners = np.repeat(np.arange(len(self), dtype=np.int64), np.diff(self.starts))
        return owners * len(self.domain) + self.members

    def covers(self, index: NDArray[np.integer[Any]], codes: Codes) -> NDArray[np.bool_]:
        wanted = index.astype(np.int64) * len(self.domain) + codes
        found = np.searchsorted(self._keys, wanted)
        return np.asarray(np.append(self._keys, -1)[found] == wanted)

    def ncp(self) -> NDArray[np.float64]:
        return _share(self.sizes(), self.domain)

    def sizes(self) -> NDArray[np.int64]:
        return np.diff(self.starts)

    def entropies(self, counts: NDArray[np.int64]) -> NDArray[np.float64]:
        weights = counts[self.members].astype(np.float64)
        return _entropies(_sums(weights, self.starts), _sums(_xlogx(weights), self.starts))

    def keys(self) -> list[NDArray[np.int32]]:
        numbers: dict[bytes, int] = {}
        stretches = zip(self.starts[:-1], self.starts[1:], strict=True)
        return [
            np.array(
                [numbers.setdefault(self.members[a:b].tobytes(), len(numbers)) for a, b in stretches],
                np.int32,
            )
        ]

    def texts(self) -> list[str]:
        labels, size = self.domain.labels, len(self.domain)
        parts = [self.members[a:b] for a, b in zip(self.starts[:-1], self.starts[1:], strict=True)]
        return [
            written.write_single(labels[part[0]])
            if len(part) == 1
            else written.SUPPRESSED
            if len(part) == size
            else written.write_set(labels[code] for code in part)
            for part in parts
        ]

    def typed(self) -> pl.Series:
        """Return lists of values; a missing value is a null member."""
        texts = [None if code == self.domain.missing else self.domain.labels[code] for code in self.members]
        lists = [texts[a:b] for a, b in zip(self.starts[:-1], self.starts[1:], strict=True)]
        return pl.Series(self.domain.values.name, lists, dtype=pl.List(pl.String))


@dataclass(frozen=True, eq=False)
class Nodes(Generalized):
    """Nodes of a hierarchy; -1 is a node that covers nothing."""

    domain: TreeDomain
    nodes: NDArray[np.int32]

    @classmethod
    def closure(cls, domain: TreeDomain, codes: Codes, starts: NDArray[np.int64]) -> Nodes:
        """Return the lowest common ancestor of each group; group i is codes[starts[i]:starts[i + 1]]."""
        low = np.minimum.reduceat(codes, starts[:-1])
        high = np.maximum.reduceat(codes, starts[:-1])
        return cls(domain, domain.hierarchy.ancestor(low, high))

    def __len__(self) -> int:
        return len(self.nodes)

    @property
    def low(self) -> Codes:
        """The first leaf of each node."""
        return np.where(self.nodes < 0, np.int32(0), self.domain.hierarchy.first[self.nodes])

    @property
    def high(self) -> Codes:
        """The last leaf of each node, below the first for a node of nothing."""
        return np.where(self.nodes < 0, np.int32(-1), self.domain.hierarchy.last[self.nodes])

    def covers(self, index: NDArray[np.integer[Any]], codes: Codes) -> NDArray[np.bool_]:
        return np.asarray((self.low[index] <= codes) & (codes <= self.high[index]))

    def ncp(self) -> NDArray[np.float64]:
        return _share(self.sizes(), self.domain)

    def sizes(self) -> NDArray[np.int64]:
        before = np.concatenate(([0], np.cumsum(self.domain.possible)))
        return before[self.high + 1] - before[self.low]

    def entropies(self, counts: NDArray[np.int64]) -> NDArray[np.float64]:
        return _entropies_of_intervals(counts, self.low, self.high)

    def keys(self) -> list[NDArray[np.int32]]:
        return [self.nodes]

    def texts(self) -> list[str]:
        tree = self.domain.hierarchy
        names = [written.write_node(label) for label in tree.labels]
        if len(tree.leaves) > 1:
            names[0] = written.SUPPRESSED
        return [names[node] for node in self.nodes]

    def typed(self) -> pl.Series:
        return pl.Series(self.domain.values.name, self.texts(), dtype=pl.String)


@dataclass(frozen=True, eq=False)
class Worlds(Generalized):
    """Generalized sets of items (Xue et al. 2012, Section 3), each standing for several: its possible worlds.

    Those differ from the base in uncertain items only, and in no more than a given number of them.

    Parameters
    ----------
    domain
        The items and the sets that occur.
    base, uncertain
        The base items and the uncertain items of each, ascending; an item may be both.
    most_errors
        In how many items each may differ; if that is negative, it stands for nothing.
    """

    domain: ItemsDomain
    base: Lists
    uncertain: Lists
    most_errors: NDArray[np.int32]

    @classmethod
    def closure(cls, domain: ItemsDomain, codes: Codes, starts: NDArray[np.int64]) -> Worlds:
        """Return the smallest one around each group, by bit voting.

        Group i is codes[starts[i]:starts[i + 1]].
        """
        sets = kernels.Subsets(len(domain.names), *domain.sets.arrays)
        voted = itemsets.vote(sets, starts, codes)
        most_errors = np.maximum.reduceat(voted.distances, starts[:-1])
        return cls(domain, Lists(*voted.base.arrays), Lists(*voted.uncertain.arrays), most_errors)

    def __len__(self) -> int:
        return len(self.most_errors)

    @cached_property
    def worlds(self) -> Sets:
        """The possible worlds of each among the sets that occur."""
        found = kernels.sets_among_worlds(
            self.domain.sets.arrays,
            self.base.arrays,
            self.uncertain.arrays,
            self.most_errors,
            len(self.domain.names),
        )
        return Sets(self.domain, *found)

    def covers(self, index: NDArray[np.integer[Any]], codes: Codes) -> NDArray[np.bool_]:
        return self.worlds.covers(index, codes)

    def ncp(self) -> NDArray[np.float64]:
        """Return the share of uncertain items among all items of each; 0 where nothing may be wrong.

        Around a group, that is the share of the items of any that not all of them have. It never falls when
        the group grows.
        """
        each = np.arange(len(self))
        either = kernels.differences(self.base.arrays, self.uncertain.arrays, each, each)
        together = (self.base.sizes + self.uncertain.sizes + either) // 2
        uncertain = np.where(self.most_errors > 0, self.uncertain.sizes, 0)
        return np.asarray(uncertain / np.maximum(together, 1))

    def sizes(self) -> NDArray[np.int64]:
        return self.worlds.sizes()

    def bits(self) -> NDArray[np.float64]:
        """Return the binary logarithm of how many possible worlds each has, whether they occur or not."""
        shapes = np.column_stack((self.uncertain.sizes, np.maximum(self.most_errors, 0)))
        pairs, place = np.unique(shapes, axis=0, return_inverse=True)
        return np.array([_log2_of_ways(items, most) for items, most in pairs.tolist()])[place.ravel()]

    def entropies(self, counts: NDArray[np.int64]) -> NDArray[np.float64]:
        return self.worlds.entropies(counts)

    def keys(self) -> list[NDArray[np.int32]]:
        return [self.base.numbers(), self.uncertain.numbers(), self.most_errors]

    def texts(self) -> list[str]:
        """Return the base items of each."""
        return _item_texts(self.base, self.domain).to_list()

    def typed(self) -> pl.Series:
        """Return lists of the base items of each."""
        return named_items(self.base, self.domain.names)

    def columns(self, name: str, *, typed: bool) -> list[pl.Series]:
        """Return base items, uncertain items and the most errors, as three columns."""
        both = [
            named_items(lists, self.domain.names) if typed else _item_texts(lists, self.domain)
            for lists in (self.base, self.uncertain)
        ]
        errors = pl.Series(self.most_errors, dtype=pl.Int64)
        names = written.items_columns(name)
        return [column.rename(each) for column, each in zip((*both, errors), names, strict=True)]


@dataclass(frozen=True, eq=False)
class Cells(Generalized):
    """Single values and suppressed cells, of any kind of attribute.

    Parameters
    ----------
    distinct
        The generalized values of which there may be some: every single value, by its code, and at last all
        of them.
    shown
        Which of these each is.
    """

    distinct: Generalized
    shown: NDArray[np.int32]

    @classmethod
    def of(cls, attribute: Attribute, codes: Codes, suppressed: NDArray[np.bool_]) -> Cells:
        """Return each code as it is, or a suppressed cell."""
        size = len(attribute.domain)
        singles = np.arange(size, dtype=np.int32)
        starts = np.append(np.arange(size + 1), 2 * size)
        return cls(
            closure(attribute, np.tile(singles, 2), starts),
            np.where(suppressed, size, codes).astype(np.int32),
        )

    def __len__(self) -> int:
        return len(self.shown)

    def covers(self, index: NDArray[np.integer[Any]], codes: Codes) -> NDArray[np.bool_]:
        return self.distinct.covers(self.shown[index], codes)

    def ncp(self) -> NDArray[np.float64]:
        penalties = self.distinct.ncp()
        penalties[-1] = 1.0  # also if the data has fewer values than were declared possible, or one
        return penalties[self.shown]

    def sizes(self) -> NDArray[np.int64]:
        return self.distinct.sizes()[self.shown]

    def entropies(self, counts: NDArray[np.int64]) -> NDArray[np.float64]:
        return self.distinct.entropies(counts)[self.shown]

    def keys(self) -> list[NDArray[np.int32]]:
        return [self.shown]

    def texts(self) -> list[str]:
        texts = [*self.distinct.texts()[:-1], written.SUPPRESSED]
        return [texts[cell] for cell in self.shown]

    def typed(self) -> pl.Series:
        """Return what the attribute's kind returns; an interval of everything has no bounds."""
        typed = self.distinct.typed()
        if isinstance(typed.dtype, pl.Struct):
            nothing = pl.Series(typed.name, [{"low": None, "high": None}], dtype=typed.dtype)
            typed = typed.head(-1).append(nothing)
        return typed.gather(self.shown)


@dataclass(frozen=True, eq=False)
class Recoding:
    """What is released for the quasi-identifiers: boxes of generalized values, and the box of each row.

    Parameters
    ----------
    table
        The table that was recoded.
    values
        For each attribute, the generalized value of each box.
    box
        For each released row, which box it shows. Where there are classes, row i shows record i's.
    graph
        For each released row, the records it was made to cover, equally many and each of them equally often;
        None where classes of equal rows hide everybody, or nothing but what covers what.
    assignment
        For each released row, the record whose other columns it has to carry; None where that is to be drawn,
        or, without a graph, where each record has a row of its own, in the order of the records.
    account
        What the method has to say of it, for the certificate; nothing about single records.
    """

    table: Table
    values: tuple[Generalized, ...]
    box: NDArray[np.int32]
    graph: NDArray[np.int32] | None = None
    assignment: NDArray[np.int32] | None = None
    account: Mapping[str, Any] = field(default_factory=dict)

    def __repr__(self) -> str:
        return f"Recoding({len(self.box)} rows of {self.table!r})"

    @classmethod
    def of_classes(cls, table: Table, classes: NDArray[np.int32]) -> Self:
        """Return the recoding in which each class of records shows its closure; classes are 0, 1, 2, ..."""
        order = np.argsort(classes, kind="stable")
        starts = np.concatenate(([0], np.cumsum(np.bincount(classes))))
        values = tuple(closure(a, a.codes[order], starts) for a in table.attributes)
        return cls(table, values, classes)

    @classmethod
    def of_suppression(
        cls,
        table: Table,
        suppressed: NDArray[np.bool_],
        pattern: NDArray[np.int32],
        account: Mapping[str, Any],
    ) -> Self:
        """Return the recoding in which records with the same pattern and the same kept values are a class.

        Parameters
        ----------
        table, account
            As for the recoding.
        suppressed
            Which columns each pattern suppresses.
        pattern
            The pattern of each record.
        """
        shown = np.where(suppressed[pattern], np.int32(-1), table.codes)
        box, first = kernels.group_rows(shown)
        values = tuple(
            Cells.of(attribute, attribute.codes[first], suppressed[pattern[first], column])
            for column, attribute in enumerate(table.attributes)
        )
        return cls(table, values, box, account=account)

    @classmethod
    def of_graph(
        cls,
        table: Table,
        graph: NDArray[np.int32],
        *,
        grown: tuple[NDArray[np.int32], NDArray[np.int32]] | None = None,
        assignment: NDArray[np.int32] | None = None,
    ) -> Self:
        """Return the recoding in which row i shows the closure of the records in row i of a regular graph.

        Parameters
        ----------
        table, graph, assignment
            As for the recoding.
        grown
            Rows and records that these cover besides, in pairs.
        """
        n, degree = graph.shape
        members = graph.ravel()
        starts = np.arange(0, n * degree + 1, degree, dtype=np.int64)
        if grown is not None:
            rows, records = grown
            members = np.insert(members, starts[rows + 1], records)
            starts = starts + np.concatenate(([0], np.cumsum(np.bincount(rows, minlength=n))))
        values = tuple(closure(a, a.codes[members], starts) for a in table.attributes)
        return cls(table, values, np.arange(n, dtype=np.int32), graph, assignment)

    @classmethod
    def of_rows(
        cls, table: Table, starts: NDArray[np.int64], members: NDArray[np.int32], kept: NDArray[np.int64]
    ) -> Self:
        """Return the recoding in which each record that is kept has a row of its own.

        Parameters
        ----------
        table
            The table.
        starts, members
            The row of record i shows the closure of the records ``members[starts[i]:starts[i + 1]]``.
        kept
            The records whose rows are released, ascending.
        """
        sizes = np.diff(starts)[kept]
        ends = np.cumsum(sizes)
        which = np.arange(ends[-1]) - np.repeat(ends - sizes - starts[kept], sizes)
        groups = np.concatenate(([0], ends))
        values = tuple(closure(a, a.codes[members[which]], groups) for a in table.attributes)
        box = np.arange(len(kept), dtype=np.int32)
        return cls(table, values, box, assignment=kept.astype(np.int32))

    @property
    def withheld(self) -> int:
        """How many records have no row."""
        return len(self.table) - len(self.box)

    @cached_property
    def records(self) -> NDArray[np.int64]:
        """The record that each row was made for; where that is drawn later, the one of the same number."""
        if self.graph is None and self.assignment is not None:
            return self.assignment.astype(np.int64)
        return np.arange(len(self.box))

    @cached_property
    def types(self) -> NDArray[np.int32]:
        """The row type of each row: rows have the same if and only if they show the same values."""
        boxes = np.column_stack([key for values in self.values for key in values.keys()])  # noqa: SIM118 - not a dict
        type_of_box, _ = kernels.group_rows(boxes)
        return type_of_box[self.box]

    def covers(self) -> NDArray[np.bool_]:
        """Return for each row whether it covers its record (see `records`) in every attribute."""
        inside = [
            v.covers(self.box, a.codes[self.records])
            for v, a in zip(self.values, self.table.attributes, strict=True)
        ]
        return np.asarray(np.logical_and.reduce(inside))


def closure(attribute: Attribute, codes: Codes, starts: NDArray[np.int64]) -> Generalized:
    """Return the smallest generalized value around each group of codes of an attribute.

    Parameters
    ----------
    attribute
        The attribute.
    codes, starts
        Group i is ``codes[starts[i]:starts[i + 1]]``; no group is empty.
    """
    match attribute.domain:
        case RangeDomain() as domain:
            return Ranges.closure(domain, codes, starts)
        case SetDomain() as domain:
            return Sets.closure(domain, codes, starts)
        case TreeDomain() as domain:
            return Nodes.closure(domain, codes, starts)
        case ItemsDomain() as domain:
            return Worlds.closure(domain, codes, starts)
    raise TypeError(f"unknown domain {type(attribute.domain).__name__}")


def _item_texts(lists: Lists, domain: ItemsDomain) -> pl.Series:
    names = [written.write_items([name]) for name in domain.names]
    return named_items(lists, names).list.join(" ")


def _log2_of_ways(items: int, most: int) -> float:
    """Return the binary logarithm of the number of ways to choose at most so many of some items."""
    chosen = np.arange(min(items, most))
    ways = np.concatenate(([0.0], np.cumsum(np.log((items - chosen) / (chosen + 1)))))
    return float(np.logaddexp.reduce(ways)) / log(2)


def _share(sizes: NDArray[np.int64], domain: Domain) -> NDArray[np.float64]:
    """Return (size - 1) / (cardinality - 1)."""
    return np.maximum(sizes - 1, 0) / max(domain.cardinality - 1, 1)


def _xlogx(x: NDArray[np.float64]) -> NDArray[np.float64]:
    return x * np.log2(np.maximum(x, 1.0))


def _sums(values: NDArray[np.float64], starts: NDArray[np.int64]) -> NDArray[np.float64]:
    before = np.concatenate(([0.0], np.cumsum(values)))
    return before[starts[1:]] - before[starts[:-1]]


def _entropies_of_intervals(counts: NDArray[np.int64], low: Codes, high: Codes) -> NDArray[np.float64]:
    weights = counts.astype(np.float64)
    total = np.concatenate(([0.0], np.cumsum(weights)))
    logs = np.concatenate(([0.0], np.cumsum(_xlogx(weights))))
    return _entropies(total[high + 1] - total[low], logs[high + 1] - logs[low])


def _entropies(total: NDArray[np.float64], logs: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the entropy of counts with sum `total` and sum of c log c `logs`."""
    safe = np.maximum(total, 1.0)
    return np.maximum(np.log2(safe) - logs / safe, 0.0)
