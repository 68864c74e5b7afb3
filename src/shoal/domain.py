"""What values an attribute can take: the four kinds of domain, and columns as codes into one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shoal.hierarchy import Hierarchy
from shoal.lists import Lists
from shoal.moments import Moment
from shoal.schema import Column

Codes = NDArray[np.int32]


@dataclass(frozen=True, eq=False)
class Domain:
    """The values an attribute can take, in an order that its generalized values respect.

    Parameters
    ----------
    labels
        How each code is written; the missing value, if there is one, is the last code and written ``""``.
    values
        The same, typed; null for the missing value.
    missing
        The code of the missing value, or None.
    """

    labels: tuple[str, ...]
    values: pl.Series
    missing: int | None

    def __len__(self) -> int:
        """Return the number of codes."""
        return len(self.labels)

    @property
    def cardinality(self) -> int:
        """How many values are possible: the |A| of the loss measures."""
        return len(self)

    @cached_property
    def code_of(self) -> dict[str, int]:
        """The code of each label."""
        return {label: code for code, label in enumerate(self.labels)}


@dataclass(frozen=True, eq=False)
class RangeDomain(Domain):
    """Numbers, dates or ordered categories; a generalized value is an interval of them.

    Parameters
    ----------
    positions
        Where each code lies between the lowest (0) and the highest (1) possible value. The missing value
        lies at 2, farther from every number than any two numbers from each other.
    """

    positions: NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class TimesDomain(RangeDomain):
    """Dates of which some have a time of day, as an auditor tells them apart.

    Parameters
    ----------
    moments
        The moment that each code but the missing one stands for, ascending; `values` has their days.
    """

    moments: tuple[Moment, ...]


@dataclass(frozen=True, eq=False)
class SetDomain(Domain):
    """Categories without a hierarchy; a generalized value is a set of them."""


@dataclass(frozen=True, eq=False)
class TreeDomain(Domain):
    """Leaves of a hierarchy in tree order; a generalized value is a node.

    Parameters
    ----------
    hierarchy
        The tree; code i is its i-th leaf.
    possible
        Which leaves count as possible values: those that occur, or those that were declared.
    """

    hierarchy: Hierarchy
    possible: NDArray[np.bool_]

    @property
    def cardinality(self) -> int:
        """How many leaves are possible."""
        return int(self.possible.sum())


@dataclass(frozen=True, eq=False)
class ItemsDomain(Domain):
    """Sets of items, one code for each different set that occurs; nothing is a set like any other.

    Parameters
    ----------
    names
        The name of each item.
    sets
        The items in each set, ascending.
    """

    names: tuple[str, ...]
    sets: Lists

    @cached_property
    def item_of(self) -> dict[str, int]:
        """The number of each item."""
        return {name: item for item, name in enumerate(self.names)}


def named_items(lists: Lists, names: Sequence[str]) -> pl.Series:
    """Return lists of items as lists of their names."""
    flat = pl.Series(names, dtype=pl.String).gather(lists.values)
    named = (
        pl.DataFrame({"owner": lists.owners, "name": flat}).group_by("owner", maintain_order=True).agg("name")
    )
    owners = pl.DataFrame({"owner": np.arange(len(lists))})
    return owners.join(named, on="owner", how="left", maintain_order="left")["name"].fill_null([])


@dataclass(frozen=True, eq=False)
class Attribute:
    """One quasi-identifier: its description, its domain, and one code for each record."""

    column: Column
    domain: Domain
    codes: Codes

    @cached_property
    def counts(self) -> NDArray[np.int64]:
        """How many records have each code."""
        return np.bincount(self.codes, minlength=len(self.domain))

    def decode(self) -> pl.Series:
        """Return the values of all records, typed, null where missing."""
        return self.domain.values.gather(self.codes).rename(self.column.name)


@dataclass(frozen=True, eq=False)
class Sensitive:
    """One sensitive column as codes; a missing value is a value of its own."""

    name: str
    values: pl.Series
    codes: Codes

    def __len__(self) -> int:
        """Return the number of different values."""
        return len(self.values)
