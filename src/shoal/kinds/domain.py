"""The possible values of an attribute, and columns as codes into this domain."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shoal.base.ragged import Lists, ascending_sets
from shoal.kinds import notation
from shoal.kinds.limits import Bands, ColumnLimit

if TYPE_CHECKING:
    from shoal.kernels import Geometry
    from shoal.kinds.generalized import Generalized
    from shoal.schema import Column

Codes = NDArray[np.int32]


@dataclass(frozen=True, eq=False)
class Domain(ABC):
    """The possible values of an attribute, in an order that its generalized values respect.

    Parameters
    ----------
    labels
        How each code is written; the missing value, if there is one, is the last code and written ``""``.
    values
        The same, typed; null for the missing value.
    missing
        The code of the missing value, or None.
    bands
        Where intervals may end, if not everywhere.
    """

    labels: tuple[str, ...]
    values: pl.Series
    missing: int | None
    bands: Bands | None = field(default=None, kw_only=True)

    ordered: ClassVar[bool] = False
    """Whether its values have an order that people know, so that intervals of them are released."""
    in_boxes: ClassVar[bool] = True
    """Whether generalized values can be ranges of codes, so that boxes of them have a cost."""

    def __len__(self) -> int:
        """Return the number of codes."""
        return len(self.labels)

    @property
    def cardinality(self) -> int:
        """Number of possible values: the |A| of the loss measures."""
        return len(self)

    @property
    def known(self) -> int:
        """Number of codes without the missing value."""
        return len(self) - (self.missing is not None)

    @cached_property
    def code_of(self) -> dict[str, int]:
        """The code of each label."""
        return {label: code for code, label in enumerate(self.labels)}

    def reads_as_several(self, text: str, is_value: Callable[[str], bool]) -> bool:
        """Return whether a text could be a generalized or an escaped value.

        Parameters
        ----------
        text
            The text.
        is_value
            Whether a text is a value of the column, as the end of an interval.
        """
        del is_value
        members = notation.read_set(text)
        return members != [text] and all(member in self.code_of for member in members)

    def read_released(self, cells: Sequence[str | None], column: Column) -> Generalized:
        """Return what released cells can stand for, as an attacker reads them.

        Parameters
        ----------
        cells
            Different cells as they are written; None for one that stands for nothing.
        column
            What the column is.

        Raises
        ------
        InputError
            If a cell cannot be read.
        TypeError
            If values become several columns, which `Kind.read_released` reads together.
        """
        del cells, column
        raise TypeError(f"values of {type(self).__name__} are not read cell by cell")

    @property
    def released_type(self) -> pl.DataType | None:
        """The data type of generalized values; None if they take several columns."""
        return None

    def occurring(self, counts: NDArray[np.int64]) -> tuple[pl.Series, int]:
        """Return the values that occur in a column, to be united with those of other parts of a table.

        Parameters
        ----------
        counts
            How many records have each code.

        Returns
        -------
        tuple
            The different values without the missing one, and how many values are missing.
        """
        occurs, missing = counts > 0, 0
        if self.missing is not None:
            missing, occurs[self.missing] = int(counts[self.missing]), False
        return self.values.filter(pl.Series(occurs)), missing

    def sets_among(self, names: Sequence[str]) -> Lists:
        """Return the set of items of each code, by the numbers that the items have in `names`.

        Raises
        ------
        TypeError
            If values are not sets of items.
        """
        del names
        raise TypeError(f"values of {type(self).__name__} are not sets of items")

    def has_released(self, cells: pl.Series) -> bool:
        """Return whether released cells, written or typed, have only values of this domain."""
        return all(str(each) in self.code_of for each in released_members(cells, intervals=self.ordered))

    def are_whole_days(self, cells: Sequence[str], column: Column) -> NDArray[np.bool_]:
        """Return which cells are a day without a time, in a domain whose values have times."""
        del column
        return np.zeros(len(cells), dtype=np.bool_)

    @abstractmethod
    def closure(self, codes: Codes, starts: NDArray[np.int64]) -> Generalized:
        """Return the smallest generalized value around each group of codes.

        Parameters
        ----------
        codes, starts
            Group i is ``codes[starts[i]:starts[i + 1]]``; no group is empty.
        """

    def geometry(self, weight: float) -> Geometry:
        """Return the cost of covering several codes (NCP), as input for kernels.

        Raises
        ------
        TypeError
            If its values are not `in_boxes`.
        """
        del weight
        raise TypeError(f"values of {type(self).__name__} do not lie in boxes")

    def lm_geometry(self, weight: float) -> Geometry:
        """Return what it costs to cover several codes by LM: the same, unless values lie on a scale."""
        return self.geometry(weight)

    def in_bands(self) -> Domain:
        """Return the bands as a domain of their own, for a domain that has any.

        Raises
        ------
        TypeError
            If values have no bands.
        """
        raise TypeError(f"{type(self).__name__} have no bands")

    def limit(self, column: Column) -> ColumnLimit:
        """Return which codes may share a cell, by the limits of a column."""
        parts = np.arange(len(self), dtype=np.int32) if column.exact else None
        return ColumnLimit(parts) if column.exact else self.widest(column)

    def widest(self, column: Column) -> ColumnLimit:
        """Return the same for a column that is not exact."""
        del column
        return ColumnLimit()

    def exceeding(
        self, cells: Sequence[str | None], values: Generalized, column: Column
    ) -> NDArray[np.bool_]:
        """Return which different released cells break the limits of a column.

        Parameters
        ----------
        cells
            The cells as they are written; None for one that stands for nothing.
        values
            What each can stand for.
        column
            What the column is.
        """
        wide = self.wider(cells, values, column)
        if column.suppressible:
            return wide
        return wide | np.array([cell == notation.SUPPRESSED for cell in cells], dtype=np.bool_)

    def wider(self, cells: Sequence[str | None], values: Generalized, column: Column) -> NDArray[np.bool_]:
        """Return which different released cells are wider than a column allows, or end inside a band."""
        del cells
        return ~values.is_exact() if column.exact else np.zeros(len(values), dtype=np.bool_)

    def expected_costs(self, counts: NDArray[np.int64], k: int) -> NDArray[np.float64]:
        """Return the expected cost that each code adds to 1, 2, ..., k - 1 random records, summed.

        Up to a constant for the attribute, and approximate if values are missing.

        Parameters
        ----------
        counts
            How many records have each code.
        k
            The size of a crowd.

        Raises
        ------
        TypeError
            If its values are not `in_boxes`.
        """
        del counts, k
        raise TypeError(f"values of {type(self).__name__} do not lie in boxes")

    def best_cut(self, counts: NDArray[np.int64], fewest: float) -> tuple[float, NDArray[np.bool_]] | None:
        """Return how to divide records in two, so that two records of one part cost least together.

        Parameters
        ----------
        counts
            How many records have each code.
        fewest
            How many records each part must have.

        Returns
        -------
        tuple or None
            By how much the expected cost falls, and which codes are in the lower part; None if no division
            leaves enough records in both.
        """
        del counts, fewest
        return None

    def cut_parts_are_apart(self, *, missing: bool) -> bool:
        """Return whether no generalized value of one part of a cut can cover a value of the other.

        Parameters
        ----------
        missing
            Whether some value of the attribute is missing, in any part of the table.
        """
        del missing
        return False

    def as_items(self, steps: int) -> tuple[Lists, int]:
        """Return each code as a set of items; near codes share many items.

        Parameters
        ----------
        steps
            Approximate number of items for the whole attribute.

        Returns
        -------
        tuple
            The items of each code, and how many different items there are.
        """
        codes = np.arange(len(self))
        copies = max(round(steps / max(self.cardinality - 1, 1)), 1)
        return copied_items(len(self), [codes], [codes], copies), len(self) * copies

    def set_sizes(self) -> NDArray[np.int64] | None:
        """Return how many items each code has, where values are sets of items."""
        return None

    def kernel_entropies(self, counts: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return what kernels compute entropies from: how many records have each code."""
        return counts.astype(np.float64)

    def diversity(
        self, codes: Codes, starts: NDArray[np.int64], counts: NDArray[np.int64]
    ) -> NDArray[np.float64]:
        """Return how diverse the values in each group are, 0 to 1: the share of the values that occur.

        Parameters
        ----------
        codes, starts
            Group i is ``codes[starts[i]:starts[i + 1]]``.
        counts
            How many records of the column have each code.
        """
        groups = np.repeat(np.arange(len(starts) - 1, dtype=np.int64), np.diff(starts))
        distinct = np.unique(groups * len(self) + codes) // len(self)
        return np.asarray(np.bincount(distinct, minlength=len(starts) - 1) / np.count_nonzero(counts))


def released_members(cells: pl.Series, *, intervals: bool) -> list[Any]:
    """Return the values that released cells name: members of sets, or the ends of intervals.

    Parameters
    ----------
    cells
        Written or typed cells.
    intervals
        Whether written ones may be intervals.
    """
    if isinstance(cells.dtype, pl.Struct):
        return pl.concat([cells.struct.field("low"), cells.struct.field("high")]).drop_nulls().to_list()
    if isinstance(cells.dtype, pl.List):
        return ["" if each is None else each for each in cells.explode().unique().to_list()]
    texts = [cell for cell in cells if cell not in (None, notation.SUPPRESSED)]
    return [
        end
        for text in texts
        for end in (notation.read_interval(text) if intervals else None) or notation.read_set(text)
    ]


def sum_of_powers(x: NDArray[np.float64], k: int) -> NDArray[np.float64]:
    """Return x + x^2 + ... + x^(k-1) for numbers from 0 to 1."""
    x = np.clip(x, 0.0, 1.0)
    certain = x > 1 - 1e-9
    return np.where(certain, k - 1.0, (x - x**k) / np.where(certain, 1.0, 1 - x))


def copied_items(
    count: int, owners: list[NDArray[np.int64]], values: list[NDArray[np.int64]], copies: int
) -> Lists:
    """Return the values of each owner, each of them as several items.

    Parameters
    ----------
    count
        The number of owners.
    owners, values
        Pairs of an owner and a value, in several arrays.
    copies
        The number of items that stand for one value.
    """
    if not owners:
        return Lists.of_sizes(np.zeros(count, np.int64), np.empty(0, np.int32))
    items = np.concatenate(values)[:, None] * copies + np.arange(copies)
    return ascending_sets(np.repeat(np.concatenate(owners), copies), items.ravel(), count)


@dataclass(frozen=True, eq=False)
class Attribute:
    """One quasi-identifier: its description, its domain, and one code for each record.

    Parameters
    ----------
    column, domain, codes
        These three.
    limit
        Which codes may share a cell, in the table that a method is given; None if all may.
    """

    column: Column
    domain: Domain
    codes: Codes
    limit: ColumnLimit | None = None

    @cached_property
    def counts(self) -> NDArray[np.int64]:
        """How many records have each code."""
        return np.bincount(self.codes, minlength=len(self.domain))

    def geometry(self, weight: float, *, lm: bool = False) -> Geometry:
        """Return what it costs to cover several codes within the limit, by NCP or LM, for kernels."""
        costs = self.domain.lm_geometry(weight) if lm else self.domain.geometry(weight)
        return costs if self.limit is None else costs._replace(table=self.limit.table(costs.table))

    def within_limits(self) -> Attribute:
        """Return the attribute as methods are given it: with its limit, and bands instead of values."""
        limit = self.domain.limit(self.column)
        if self.domain.bands is None:
            return replace(self, limit=limit)
        return Attribute(self.column, self.domain.in_bands(), self.domain.bands.of_code[self.codes], limit)

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

    @cached_property
    def ranks(self) -> NDArray[np.int64]:
        """The rank of each value, a missing one last."""
        ranks = np.empty(len(self), dtype=np.int64)
        ranks[self.values.arg_sort(nulls_last=True).to_numpy()] = np.arange(len(self))
        return ranks

    @cached_property
    def in_order(self) -> list[Any]:
        """The values in the order of their ranks."""
        return self.values.gather(np.argsort(self.ranks)).to_list()
