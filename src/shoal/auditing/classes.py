"""Classes of identical rows in a release, and how diverse the sensitive values in each are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.base.tally import Often, merged
from shoal.kinds.domain import Sensitive
from shoal.recoding.coverage import Graph

BINS = np.linspace(0.0, 1.0, 11)
"""Shares of a crowd are counted between these."""
NEARLY_CERTAIN = 0.9
"""A sensitive value is nearly certain if more than this share of a crowd has it."""


def bin_of(shares: NDArray[np.float64]) -> NDArray[np.int64]:
    """Return the bin of `BINS` that each share is in; the end of a bin, such as a half, belongs to it."""
    return np.digitize(shares - 1e-9, BINS[1:-1])


@dataclass(frozen=True, eq=False)
class Classes:
    """Rows of a release with identical quasi-identifiers, as they are written.

    Parameters
    ----------
    of_row
        The class of each row.
    sizes
        How many rows each class has.
    often
        How many classes have each size, if they are counted by size; no row then has a class.
    """

    of_row: NDArray[np.int32]
    sizes: NDArray[np.int64]
    often: Often = None

    @property
    def count(self) -> int:
        """The number of classes."""
        return len(self.sizes) if self.often is None else int(self.often.sum())

    @property
    def smallest(self) -> int:
        """The size of the smallest class."""
        return int(self.sizes.min())

    @classmethod
    def merge(cls, parts: Sequence[Classes]) -> Classes:
        """Return the classes of several releases together, counted by size."""
        return cls(np.empty(0, np.int32), *merged((part.sizes, part.often) for part in parts))

    def as_dict(self) -> dict[str, Any]:
        """Return the figures as plain data."""
        return {
            "count": self.count,
            "smallest": self.smallest,
            "mean": float(np.average(self.sizes, weights=self.often)),
            "largest": int(self.sizes.max()),
        }


@dataclass(frozen=True, eq=False)
class Diversity:
    """How diverse one sensitive column is in each of some crowds.

    Parameters
    ----------
    column
        Its name.
    distinct
        The number of different values in each crowd.
    highest
        The share of the most frequent value in each crowd.
    entropy
        The entropy of the values in each crowd, in nats.
    people
        Number of records in each crowd.
    """

    column: str
    distinct: NDArray[np.int64]
    highest: NDArray[np.float64]
    entropy: NDArray[np.float64]
    people: NDArray[np.int64]

    @classmethod
    def merge(cls, parts: Sequence[Diversity]) -> Diversity:
        """Return the worst crowd in each of `BINS`, with all records there, of several releases together."""
        highest = np.concatenate([part.highest for part in parts])
        bins = bin_of(highest)
        order = np.argsort(bins, kind="stable")
        starts = np.flatnonzero(np.diff(bins[order], prepend=-1))

        def worst(of: np.ufunc, name: str) -> NDArray[Any]:
            everything = np.concatenate([getattr(part, name) for part in parts])
            return np.asarray(of.reduceat(everything[order], starts))

        return cls(
            parts[0].column,
            worst(np.minimum, "distinct"),
            worst(np.maximum, "highest"),
            worst(np.minimum, "entropy"),
            worst(np.add, "people"),
        )

    @classmethod
    def joined(cls, parts: Sequence[Diversity]) -> Diversity:
        """Return the crowds of several lists as one list."""
        names = ("distinct", "highest", "entropy", "people")
        return cls(parts[0].column, *(np.concatenate([getattr(p, name) for p in parts]) for name in names))

    def people_by_share(self) -> NDArray[np.int64]:
        """Return how many records have a crowd whose most frequent value has such a share, by `BINS`."""
        return np.bincount(bin_of(self.highest), self.people, len(BINS) - 1).astype(np.int64)

    def nearly_certain(self, share: float = NEARLY_CERTAIN) -> int:
        """Return for how many records one value has more than a share of the crowd, or all of it."""
        return int(self.people[(self.highest > share + 1e-9) | (self.highest > 1 - 1e-9)].sum())

    @property
    def p(self) -> int:
        """The minimum number of different values in any crowd."""
        return int(self.distinct.min())

    @property
    def l(self) -> float:  # noqa: E743 - the letter the literature knows it by
        """The largest l such that no value is more frequent than 1/l in any crowd."""
        return float(1.0 / self.highest.max())

    @property
    def entropy_l(self) -> float:
        """The largest l such that the entropy is at least log(l) in every crowd."""
        return float(np.exp(self.entropy.min()))

    def as_dict(self) -> dict[str, Any]:
        """Return the figures of the worst crowd as plain data."""
        return {
            "column": self.column,
            "p": self.p,
            "l": self.l,
            "entropy_l": self.entropy_l,
            "highest_frequency": float(self.highest.max()),
        }


def classes_of(graph: Graph) -> Classes:
    """Return the classes of a release; a missing cell is a value like any other."""
    return Classes(graph.row_type, np.bincount(graph.row_type))


def diversity_of(column: Sensitive, classes: Classes) -> Diversity:
    """Return how diverse a sensitive column of the release is in each class, O(n log n)."""
    values = len(column)
    keys = classes.of_row.astype(np.int64) * values + column.codes
    if len(classes.sizes) * values <= 8 * len(keys):
        counts = np.bincount(keys)
        pairs = np.flatnonzero(counts)
        often = counts[pairs]
    else:
        pairs, often = np.unique(keys, return_counts=True)
    owner = pairs // values
    starts = np.flatnonzero(np.concatenate(([True], owner[1:] != owner[:-1])))
    shares = often / classes.sizes[owner]
    return Diversity(
        column.name,
        np.diff(np.append(starts, len(owner))),
        np.maximum.reduceat(shares, starts),
        np.maximum(-np.add.reduceat(shares * np.log(shares), starts), 0.0),
        classes.sizes,
    )
