"""What all parts of a large table must agree on: bounds and categories, collected part by part."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import polars as pl

from shoal.base.randomness import Randomness
from shoal.errors import InputError, Reason
from shoal.kinds import exact_numbers as exact
from shoal.kinds.domain import Attribute, Domain
from shoal.kinds.item_sets import in_order
from shoal.kinds.value_kind import ValueKind
from shoal.schema import Column, Schema
from shoal.table import Table


@dataclass(frozen=True, eq=False)
class Found:
    """The values of one quasi-identifier in a part of a table.

    Parameters
    ----------
    values
        Its different values, ascending, without missing ones; for items, their names.
    missing
        The number of missing values.
    bounded
        Whether only the lowest and the highest value are kept, as for numbers and dates without a hierarchy.
    numeric
        Whether the values are numbers, which may be texts if no other type keeps them all (see `exact`).
    """

    values: pl.Series
    missing: int
    bounded: bool
    numeric: bool = False

    def merged(self, other: Found) -> Found:
        """Return the summary of two parts together."""
        # A part without fractions has whole numbers, and one without any value may have another type.
        known = [values for values in (self.values, other.values) if len(values)] or [self.values]
        if self.numeric or all(each.dtype.is_numeric() for each in known):
            values = exact.united(known)
        else:
            together = pl.concat([each.to_frame() for each in known], how="vertical_relaxed").to_series()
            values = together.unique().sort()
        if self.bounded:
            values = values.gather(sorted({0, len(values) - 1})) if len(values) else values
        return Found(values, self.missing + other.missing, self.bounded, self.numeric)


@dataclass(frozen=True, eq=False)
class Summary:
    """The summary of a part of a table. Parts can be summarized anywhere and merged in any order.

    Parameters
    ----------
    rows
        The number of records, without those left out.
    left_out
        The number of records left out because a value is missing (policy `suppress`).
    found
        The values of each quasi-identifier, by name.
    """

    rows: int = 0
    left_out: int = 0
    found: Mapping[str, Found] = field(default_factory=dict)

    def merged(self, other: Summary) -> Summary:
        """Return the summary of two parts together."""
        found = {
            name: self.found[name].merged(other.found[name])
            if name in self.found and name in other.found
            else self.found.get(name) or other.found[name]
            for name in {**self.found, **other.found}
        }
        return Summary(self.rows + other.rows, self.left_out + other.left_out, found)


@dataclass(frozen=True, eq=False)
class Reference:
    """How all parts of a table are encoded, so that codes and costs mean the same in each.

    Parameters
    ----------
    schema
        The schema, with the bounds of all numbers and dates.
    domains
        The domains of categories and of columns with a hierarchy, by name.
    items
        The items that occur in each column of items, in their order.
    types
        The data types of numbers and dates in the whole table, by name; a part may have only whole numbers.
    missing
        The quasi-identifiers with missing values.
    """

    schema: Schema
    domains: Mapping[str, Domain]
    items: Mapping[str, tuple[str, ...]]
    types: Mapping[str, pl.DataType]
    missing: frozenset[str]

    def encode(self, frame: pl.DataFrame) -> Table | None:
        """Return a part of the table as arrays; None if all its records are left out.

        Raises
        ------
        InputError
            If it has a value that was not there when the table was summarized.
        """
        table = _encoded(frame, self.schema, self.domains)
        if table is None:
            return None
        return replace(table, attributes=tuple(map(self._retyped, table.attributes)))

    def _retyped(self, attribute: Attribute) -> Attribute:
        """Return an attribute of numbers with the type of the whole table."""
        values, dtype = attribute.domain.values, self.types.get(attribute.column.name)
        if dtype is None or values.dtype == dtype or not attribute.column.kind.numeric:
            return attribute
        return replace(attribute, domain=replace(attribute.domain, values=exact.retyped(values, dtype)))


def summarize(frame: pl.DataFrame, schema: Schema, *, first_row: int = 0) -> tuple[Summary, pl.DataFrame]:
    """Summarize a part of a table.

    Parameters
    ----------
    frame
        The part; it may be empty.
    schema
        The schema of all columns.
    first_row
        The position of its first row in the whole table, for error messages.

    Returns
    -------
    tuple
        The summary, and the records without those left out.

    Raises
    ------
    InputError
        If a value is not valid in its column, or is missing in a column with the policy `error`.
    """
    table = _encoded(frame, schema, {}, first_row)
    if table is None:
        return Summary(left_out=frame.height), frame.clear()
    found = {attribute.column.name: _found(attribute) for attribute in table.attributes}
    kept = frame if table.left_out == 0 else frame[table.rows - first_row]
    return Summary(len(table), table.left_out, found), kept


def reference(summary: Summary, schema: Schema) -> Reference:
    """Return how all parts are encoded.

    Parameters
    ----------
    summary
        The summary of the whole table.
    schema
        The schema of all columns.

    Raises
    ------
    InputError
        If the table has no rows, or its values are not in a hierarchy.
    """
    if summary.rows == 0:
        left = "every row has a missing value and would be left out" if summary.left_out else "there is none"
        raise InputError(f"the table has no rows to release: {left}", reason=Reason.NO_ROWS)
    domains: dict[str, Domain] = {}
    items: dict[str, tuple[str, ...]] = {}
    for column in schema.quasi:
        found = summary.found[column.name]
        if column.kind.several:
            items[column.name] = tuple(in_order(found.values).to_list())
        elif not found.bounded:
            domains[column.name] = _domain(found, column)
        elif column.domain is None and len(found.values):
            ends = [found.values[0], found.values[-1]]
            if found.numeric:
                ends = [exact.exact(end) if isinstance(end, str) else end for end in ends]
            if column.bands is not None:
                ends = _ends_of_bands(found.values, column)
            schema = schema.changed(column.name, domain=tuple(ends))
    types = {name: found.values.dtype for name, found in summary.found.items() if found.bounded}
    missing = frozenset(name for name, found in summary.found.items() if found.missing)
    return Reference(schema, domains, items, types, missing)


def _ends_of_bands(values: pl.Series, column: Column) -> list[Any]:
    """Return where the first band with a value begins and the last ends: the same for all parts of a table.

    Raises
    ------
    InputError
        If a value is outside the bands, or the bands of a part could have other ends than those of the table.
    """
    kind = column.kind
    assert isinstance(kind, ValueKind)  # others have no bands
    if kind.numeric and not values.dtype.is_integer():
        raise InputError(
            f"column {column.name!r}: bands of numbers with a fraction need the whole table in memory, not "
            "blocks",
            reason=Reason.PARAMETER,
            column=column.name,
            parameter="engine",
        )
    places = kind.places(values)
    try:
        bands = list(kind.bands(column, places[0], places[-1], whole=True))
    except ValueError as error:
        raise InputError(
            f"column {column.name!r}: {error}", reason=Reason.OUT_OF_DOMAIN, column=column.name
        ) from None
    ends: list[Any] = kind.at_places([bands[0][0], bands[-1][1]], column).to_list()
    return ends


class Reservoir:
    """A uniform random sample of records that come in batches.

    Parameters
    ----------
    size
        The number of records to keep.
    randomness
        The source of the choice.
    """

    def __init__(self, size: int, randomness: Randomness) -> None:
        self._size, self._randomness = size, randomness
        self._kept: list[pl.DataFrame] = []
        self._keys = np.empty(0, dtype=np.uint64)

    def add(self, frame: pl.DataFrame) -> None:
        """Add records; those with the smallest random keys are kept."""
        self._kept.append(frame)
        self._keys = np.concatenate((self._keys, self._randomness.words(frame.height)))
        if len(self._keys) > self._size:
            chosen = np.sort(np.argpartition(self._keys, self._size)[: self._size])
            self._kept, self._keys = [pl.concat(self._kept)[chosen]], self._keys[chosen]

    @property
    def sample(self) -> pl.DataFrame:
        """The sample."""
        return pl.concat(self._kept)


def _encoded(
    frame: pl.DataFrame, schema: Schema, domains: Mapping[str, Domain], first_row: int = 0
) -> Table | None:
    try:
        return Table.encode(frame, schema, domains=domains, first_row=first_row)
    except InputError as error:
        if error.reason is not Reason.NO_ROWS:
            raise
        return None


def _found(attribute: Attribute) -> Found:
    column = attribute.column
    values, missing = attribute.domain.occurring(attribute.counts)
    found = Found(values, missing, column.measured, column.kind.numeric)
    return found.merged(Found(values.clear(), 0, column.measured))


def _domain(found: Found, column: Column) -> Domain:
    cells = found.values.extend_constant(None, 1) if found.missing else found.values
    return column.kind.attribute(cells, column, np.arange(len(cells))).domain
