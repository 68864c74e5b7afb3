"""What each column is: its role, its kind, and how it may be generalized."""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any

import narwhals.stable.v2 as nw

from shoal.errors import InputError, Reason, did_you_mean, listing, unknown_column
from shoal.hierarchy import HierarchySource


class Role(StrEnum):
    """What a column means for privacy."""

    IDENTIFIER = "identifier"  # names a person; never released
    QUASI = "quasi"  # known to others and identifying in combination; generalized
    SENSITIVE = "sensitive"  # what must not be learned about a person; released as it is
    OTHER = "other"  # neither; carried along as it is


class Kind(StrEnum):
    """What values a column holds, and so what a generalized value of it is."""

    NUMERIC = "numeric"  # an interval of numbers
    DATE = "date"  # an interval of days
    CATEGORICAL = "categorical"  # a set of values, or a node of a hierarchy
    ORDINAL = "ordinal"  # an interval of values in a declared order
    SET_VALUED = "set-valued"  # several items in one cell


class Missing(StrEnum):
    """What happens to a record whose value is missing."""

    CATEGORY = "category"  # missing is a value of its own
    SUPPRESS = "suppress"  # the record is left out of the release, and counted
    ERROR = "error"  # the table is refused


@dataclass(frozen=True)
class Column:
    """One column and what is to be done with it.

    Parameters
    ----------
    name
        Its name in the table.
    role, kind
        What it means for privacy and what values it holds.
    weight
        How much a loss in this column counts against a loss in the others.
    hierarchy
        A tree over the values, or a rule that builds one; generalized values are then its nodes.
    domain
        The values that are possible: two bounds (numeric, date) or all categories (in their order, for an
        ordinal column). None takes what the data has.
    missing
        What to do where a value is missing.
    missing_marks
        Texts that mean "missing" besides the empty cell, such as ``?``.
    date_format
        How dates are written (as in ``strptime``); None expects ISO dates.
    """

    name: str
    role: Role = Role.OTHER
    kind: Kind = Kind.CATEGORICAL
    weight: float = 1.0
    hierarchy: HierarchySource | None = None
    domain: tuple[Any, ...] | None = None
    missing: Missing = Missing.CATEGORY
    missing_marks: tuple[str, ...] = ()
    date_format: str | None = None

    def __post_init__(self) -> None:
        for attribute, options in (("role", Role), ("kind", Kind), ("missing", Missing)):
            given = getattr(self, attribute)
            try:
                object.__setattr__(self, attribute, options(given))
            except ValueError:
                names = [option.value for option in options]
                raise self._error(
                    f"{attribute} {given!r} is unknown{did_you_mean(str(given), names)}; "
                    f"it is one of {listing(names)}"
                ) from None
        if isinstance(self.weight, bool) or not isinstance(self.weight, int | float):
            raise self._error(f"weight {self.weight!r} is not a number")
        if not (math.isfinite(self.weight) and self.weight > 0):
            raise self._error(f"weight {self.weight!r} must be a positive number")
        self._check_domain()

    def _check_domain(self) -> None:
        if self.kind is Kind.ORDINAL and self.domain is None:
            raise self._error("an ordinal column needs its domain: all values, lowest first")
        if self.domain is None:
            return
        object.__setattr__(self, "domain", tuple(self.domain))
        if self.kind in (Kind.NUMERIC, Kind.DATE):
            if len(self.domain) != 2 or not self.domain[0] <= self.domain[1]:
                raise self._error(f"domain {list(self.domain)!r} must be a lowest and a highest value")
        elif len(set(self.domain)) != len(self.domain):
            raise self._error("the domain names a value twice")
        elif not self.domain:
            raise self._error("the domain is empty")

    def _error(self, message: str) -> InputError:
        return InputError(f"column {self.name!r}: {message}", reason=Reason.SCHEMA)


@dataclass(frozen=True)
class Schema:
    """A description of a table: one `Column` for each column, in the table's order."""

    columns: tuple[Column, ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "columns", tuple(self.columns))
        names = [column.name for column in self.columns]
        twice = sorted({name for name in names if names.count(name) > 1})
        if twice:
            raise InputError(
                f"the schema describes {listing(twice)} more than once", reason=Reason.DUPLICATE_COLUMN
            )

    def __iter__(self) -> Iterator[Column]:
        return iter(self.columns)

    def __len__(self) -> int:
        return len(self.columns)

    def __getitem__(self, name: str) -> Column:
        for column in self.columns:
            if column.name == name:
                return column
        raise unknown_column(name, self.names, "the schema")

    @property
    def names(self) -> tuple[str, ...]:
        """The names of all columns."""
        return tuple(column.name for column in self.columns)

    def having(self, role: Role) -> tuple[Column, ...]:
        """Return the columns that have `role`."""
        return tuple(column for column in self.columns if column.role is role)

    @property
    def quasi(self) -> tuple[Column, ...]:
        """The quasi-identifiers."""
        return self.having(Role.QUASI)

    @property
    def sensitive(self) -> tuple[Column, ...]:
        """The sensitive columns."""
        return self.having(Role.SENSITIVE)

    def changed(self, name: str, **changes: Any) -> Schema:
        """Return this schema with some properties of one column changed."""
        column = self[name]
        return Schema(tuple(replace(c, **changes) if c is column else c for c in self.columns))

    def completed(self, names: Iterable[str]) -> Schema:
        """Return this schema for a table with these columns, in their order.

        A column that the schema does not mention is carried along (role `other`).

        Raises
        ------
        InputError
            If the schema has a column that the table lacks, or no quasi-identifier.
        """
        names = list(names)
        for column in self.columns:
            if column.name not in names:
                raise unknown_column(column.name, names)
        known = {column.name: column for column in self.columns}
        completed = Schema(tuple(known.get(name, Column(name)) for name in names))
        if not completed.quasi:
            raise InputError(
                "no column is a quasi-identifier, so there is nothing to protect; name those that others may "
                f"know about a person (--quasi, or quasi=[...]) among {listing(names)}",
                reason=Reason.NO_QUASI_IDENTIFIER,
            )
        return completed

    @classmethod
    def infer(
        cls,
        frame: Any,
        *,
        quasi: Collection[str] = (),
        sensitive: Collection[str] = (),
        drop: Collection[str] = (),
        kinds: Mapping[str, Kind | str] | None = None,
        weights: Mapping[str, float] | None = None,
        hierarchies: Mapping[str, HierarchySource] | None = None,
        domains: Mapping[str, Sequence[Any]] | None = None,
        missing: Mapping[str, Missing | str] | None = None,
        missing_marks: Collection[str] = (),
    ) -> Schema:
        """Describe a frame: kinds from its values, roles from the caller.

        Parameters
        ----------
        frame
            Any frame that narwhals supports (pandas, Polars, PyArrow, ...).
        quasi, sensitive, drop
            The names of the quasi-identifiers, the sensitive columns and the identifiers to leave out. All
            others are carried along.
        kinds, weights, hierarchies, domains, missing
            What is known better than inferred, by column name.
        missing_marks
            Texts that mean "missing", in every column.

        Raises
        ------
        InputError
            If a name is not a column of the frame or stands in two roles.
        """
        data = nw.from_native(frame, eager_only=True)
        roles = _roles(data.columns, quasi, sensitive, drop)
        overrides: tuple[tuple[str, Mapping[str, Any]], ...] = (
            ("kind", kinds or {}),
            ("weight", weights or {}),
            ("hierarchy", hierarchies or {}),
            ("domain", domains or {}),
            ("missing", missing or {}),
        )
        for _, mapping in overrides:
            for name in mapping:
                if name not in data.columns:
                    raise unknown_column(name, data.columns)
        marks = tuple(missing_marks)
        columns = []
        for name in data.columns:
            known = {key: mapping[name] for key, mapping in overrides if name in mapping}
            if "kind" not in known:
                known["kind"] = infer_kind(data[name], marks)
            columns.append(Column(name, role=roles.get(name, Role.OTHER), missing_marks=marks, **known))
        return cls(tuple(columns))


def infer_kind(series: nw.Series[Any], missing_marks: Collection[str] = ()) -> Kind:
    """Return the kind of a column, judged by its type and, for text, by all its values.

    Text counts as numeric only where reading it as numbers loses nothing: codes with leading zeros, such as
    ZIP codes, stay categories.
    """
    dtype = series.dtype
    if dtype.is_numeric():
        return Kind.NUMERIC
    if dtype in (nw.Date, nw.Datetime):
        return Kind.DATE
    if isinstance(dtype, nw.List | nw.Array):
        return Kind.SET_VALUED
    if dtype in (nw.String, nw.Object):
        texts = [text for text in series.drop_nulls().unique().to_list() if text not in ("", *missing_marks)]
        if texts and all(isinstance(text, str) for text in texts):
            if all(_NUMBER.fullmatch(text) for text in texts):
                return Kind.NUMERIC
            if all(_ISO_DATE.fullmatch(text) for text in texts):
                return Kind.DATE
    return Kind.CATEGORICAL


_NUMBER = re.compile(r"\s*-?(0|[1-9]\d*)(\.\d+)?([eE][+-]?\d+)?\s*")
_ISO_DATE = re.compile(r"\d{4}-(0[1-9]|1[0-2])-(0[1-9]|[12]\d|3[01])([T ]\d{2}:\d{2}(:\d{2}(\.\d+)?)?)?")


def _roles(
    names: Sequence[str], quasi: Collection[str], sensitive: Collection[str], drop: Collection[str]
) -> dict[str, Role]:
    roles: dict[str, Role] = {}
    for role, chosen in ((Role.QUASI, quasi), (Role.SENSITIVE, sensitive), (Role.IDENTIFIER, drop)):
        if isinstance(chosen, str):
            raise InputError(
                f"the {role.value} columns must be a list of names, not the text {chosen!r}",
                reason=Reason.PARAMETER,
            )
        for name in chosen:
            if name not in names:
                raise unknown_column(name, names)
            if roles.setdefault(name, role) is not role:
                raise InputError(
                    f"column {name!r} has two roles, {roles[name].value} and {role.value}; give it one",
                    reason=Reason.ROLE_CONFLICT,
                )
    return roles
