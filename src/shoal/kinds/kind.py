"""The kinds of columns: one class for each, which says how its values are read and generalized."""

from __future__ import annotations

from abc import ABCMeta, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from decimal import Decimal
from itertools import pairwise
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

import narwhals.stable.v2 as nw
import numpy as np
import polars as pl
from numpy.typing import NDArray

from shoal.base.wording import with_article
from shoal.errors import InputError, Reason, listing
from shoal.kinds import exact_numbers as exact
from shoal.kinds import limits, moments
from shoal.kinds.domain import Attribute, Codes, Domain, released_members
from shoal.kinds.encoding import plain, to_polars
from shoal.kinds.generalized import Generalized
from shoal.kinds.marks import without_marks
from shoal.kinds.ranges import Scale

if TYPE_CHECKING:
    from shoal.schema import Column


F = TypeVar("F", bound=Callable[..., Any])


def _abstract(method: F) -> F:
    """Mark a method that every kind has to define.

    Type checkers do not see this mark: to them, ``Kind("date")`` would make an object of an abstract class.
    """
    return abstractmethod(method)


_REMEDIES = {
    "Time": "make its kind time",
    "Duration": "convert it to a number, such as hours",
}
"""What to do with columns of types that are no quasi-identifiers."""


class _Kinds(ABCMeta):
    """The registry of kinds, in the order in which they were declared."""

    known: ClassVar[dict[str, Kind]] = {}

    def __new__(
        cls, title: str, bases: tuple[type, ...], members: dict[str, Any], *, name: str | None = None
    ) -> Any:
        """Make a class and, if it has the name of a kind, register its one object.

        Raises
        ------
        TypeError
            If a kind lacks a method that it has to define.
        """
        made: Any = super().__new__(cls, title, bases, members)
        if name is not None:
            if lacking := sorted(made.__abstractmethods__):
                raise TypeError(f"kind {name!r} is incomplete: class {title} must define {listing(lacking)}")
            kind = cls.known[name] = str.__new__(made, name)
            setattr(Kind, name.upper(), kind)
        return made

    def __iter__(cls) -> Iterator[Kind]:
        return iter(_Kinds.known.values())

    def __len__(cls) -> int:
        return len(_Kinds.known)


class Kind(str, metaclass=_Kinds):
    """The kind of a column: what values it has, and how they are generalized.

    A kind is a subclass that is declared with its name: ``class Dates(ValueKind, name="date")``. There is one
    object of it, which equals its name and is found by it: ``Kind("date")`` and ``Kind.DATE``. A class with a
    name must define all abstract methods. Most kinds are a `ValueKind`, with one value in each cell.

    Examples
    --------
    >>> shoal.Kind("date") is shoal.Kind.DATE
    True
    """

    __slots__ = ()

    NUMERIC: ClassVar[Kind]
    """An interval of numbers."""
    DATE: ClassVar[Kind]
    """An interval of days; times of day are generalized to their day."""
    HOUR: ClassVar[Kind]
    """An interval of hours of time stamps."""
    TIME: ClassVar[Kind]
    """An interval of times of day, without a date."""
    CATEGORICAL: ClassVar[Kind]
    """A set of values, or a node of a hierarchy."""
    ORDINAL: ClassVar[Kind]
    """An interval of values in a declared order."""
    ITEMS: ClassVar[Kind]
    """Several items in one cell: a base, uncertain items, and how many of them are wrong."""

    numeric: ClassVar[bool] = False
    """Whether its values are numbers, also where they are texts."""
    ordered: ClassVar[bool] = False
    """Whether its values have an order, so that some are closer to each other than others."""
    measured: ClassVar[bool] = False
    """Whether its values have a unit, so that the lowest and the highest bound the possible values."""
    unit: ClassVar[str] = ""
    """Unit of widths, with a leading space."""
    several: ClassVar[bool] = False
    """Whether a cell holds several values; in a text, with a separator between them."""
    any_text: ClassVar[bool] = False
    """Whether any text is a value, so that no value can show that a column is of another kind."""
    needs_domain: ClassVar[bool] = False
    """Whether a column must declare all its values, lowest first."""
    settings: ClassVar[frozenset[str]] = frozenset({"hierarchy"})
    """Which of `hierarchy`, `date_format` and `separator` a column can have."""
    often_known: ClassVar[str] = ""
    """What others may know of a person from such a column, whatever its name is; empty if nothing follows."""
    known_if_sensitive: ClassVar[bool] = False
    """Whether that counts more than a name that suggests a sensitive column."""

    def __new__(cls, name: str) -> Kind:
        """Return the kind with a name."""
        if not isinstance(name, str) or name not in _Kinds.known:
            raise ValueError(f"{name!r} is not a valid {cls.__name__}")
        return _Kinds.known[name]

    def __reduce__(self) -> tuple[Callable[[type[Kind]], Kind], tuple[type[Kind]]]:
        return _the_one, (type(self),)  # by its class, so that another process loads the file of the kind

    def __repr__(self) -> str:
        return f"<Kind.{self.upper()}: {self.value!r}>"

    @property
    def value(self) -> str:
        """Its name."""
        return str(self)

    def united(self, other: Kind) -> Kind:
        """Return the kind of a column, some rows of which are of this kind and some of another."""
        return self if self is other else Kind.CATEGORICAL

    def fits(self, series: nw.Series[Any], texts: nw.Series[Any] | None) -> bool:
        """Return whether the values of a column suggest this kind.

        Parameters
        ----------
        series
            The column.
        texts
            For text, the different values that are not missing, at least one; otherwise None.
        """
        del series, texts
        return False

    def checked_domain(self, column: Column) -> tuple[Any, ...] | None:
        """Return the declared domain of a column as the kind keeps it, if the column can be of this kind.

        Raises
        ------
        ValueError
            If it cannot; the message says why.
        """
        if column.domain is None:
            return None
        if len(set(map(str, column.domain))) != len(column.domain):
            raise ValueError("the domain names a value twice")
        if not column.domain:
            raise ValueError("the domain is empty")
        return tuple(column.domain)

    def read_cells(self, series: nw.Series[Any], column: Column) -> pl.Series:
        """Return the cells of a quasi-identifier, with null where a value is missing."""
        cells = plain(to_polars(series))
        if not (cells.dtype.is_numeric() or cells.dtype in (pl.String, pl.Boolean, pl.Date, pl.Datetime)):
            raise InputError(
                f"column {column.name!r} holds {cells.dtype}, which cannot be a quasi-identifier; "
                + _REMEDIES.get(str(cells.dtype.base_type()), "convert it to text, or leave it out"),
                reason=Reason.BAD_VALUE,
                column=column.name,
            )
        return without_marks(cells, column.missing_marks, numeric=self.numeric)

    @_abstract
    def attribute(  # type: ignore[empty-body]  # abstract, which type checkers do not see
        self,
        cells: pl.Series,
        column: Column,
        rows: NDArray[np.int64],
        known: Domain | None = None,
        *,
        times: bool = False,
    ) -> Attribute:
        """Return a quasi-identifier as codes into its domain.

        Parameters
        ----------
        cells
            Its values, null where missing, as `read_cells` returns them.
        column
            What it is.
        rows
            The position of each cell in the input, for error messages.
        known
            The domain of the same column in a larger table that these cells are a part of; without it, the
            domain is that of the cells.
        times
            Whether different times of a day are different values, if the column has any. Methods generalize
            to days, which their releases say; an auditor must see times that are shown.

        Raises
        ------
        InputError
            If a value is not valid in the column; the message names the first row with such a value.
        """

    def texts(self, values: pl.Series, column: Column) -> tuple[str, ...]:
        """Return how each value of a column is written; whole numbers without a fraction."""
        if values.dtype == pl.Date and column.date_format is not None:
            texts = moments.write_days(values, column.date_format)
            if texts is None:
                raise InputError(
                    f"column {column.name!r}: days written as {column.date_format} cannot be read back; "
                    "choose a date_format with year, month and day",
                    reason=Reason.SCHEMA,
                    column=column.name,
                )
            return tuple(texts)
        if values.dtype.is_float() or self.numeric:
            return tuple(exact.labels(values))
        return tuple(values.cast(pl.String).to_list())

    def on_a_line(self, values: pl.Series, column: Column) -> pl.Series | None:
        """Return the positions of values as numbers, null for other texts; None if values have no order.

        Parameters
        ----------
        values
            Different values of a sensitive column, null for a missing one.
        column
            What it is.
        """
        del values, column
        return None

    def off_the_line(self, places: pl.Series) -> pl.Series | None:
        """Return the values at positions of `on_a_line`; None if the positions are the values."""
        del places
        return None

    def width(self, column: Column) -> Decimal:
        """Return the limit `widest` of an interval, as a difference of `places`; of a set, its members.

        Raises
        ------
        ValueError
            If the limit is not understood.
        """
        return Decimal(limits.members(column.widest, "values"))

    def bands(
        self, column: Column, low: limits.Place | None, high: limits.Place | None, *, whole: bool
    ) -> Iterator[limits.Band]:
        """Yield the bands of a column that is `measured`, from one that has `low` to one that has `high`.

        Parameters
        ----------
        column
            What it is.
        low, high
            Two `places`; None if the bands are only checked.
        whole
            Whether all values are whole numbers.

        Raises
        ------
        ValueError
            If the bands are not understood, or a value is outside them.
        """
        del low, high, whole
        raise ValueError(f"{with_article(column.kind.value)} column has no bands")

    def places(self, values: pl.Series) -> Sequence[limits.Place]:
        """Return where ascending values lie, none of them missing: by default their ranks."""
        return range(len(values))

    def place(self, end: Any) -> limits.Place:
        """Return where the end of an interval lies, as the `scale` reads it."""
        place: limits.Place = end
        return place

    def scale(self, domain: Domain, column: Column) -> Scale:
        """Return the values of a domain for the auditor, who looks up the ends of released intervals."""
        del column
        return Scale(range(domain.known), domain.code_of.get)

    def typed_dates(self, days: pl.Series, domain: Domain, column: Column) -> list[str]:
        """Return the texts of different typed dates or times of a release."""
        del domain
        return days.cast(pl.String).to_list() if days.dtype == pl.Datetime else [*self.texts(days, column)]

    def released_columns(self, name: str) -> tuple[str, ...]:
        """Return the columns that a column becomes in a release; the first has its name."""
        return (name,)

    def released_types(self, name: str, each: pl.DataType | None, *, typed: bool) -> dict[str, pl.DataType]:
        """Return the data types of the columns that a column becomes in a release.

        Parameters
        ----------
        name
            Its name.
        each
            The type of a generalized value, as `Domain.released_type` has it.
        typed
            Whether values are typed; otherwise all are text.
        """
        return {name: each if typed and each is not None else pl.String()}

    def within_bounds(self, cells: pl.Series, column: Column) -> bool:
        """Return whether released cells lie within the bounds of a column that is `measured`."""
        low, high = column.domain or (None, None)
        members = [each for each in released_members(cells, intervals=True) if each != ""]
        data = [self.parsed(each, column) if isinstance(each, str) else each for each in members]
        return not data or (None not in data and low <= min(data) and max(data) <= high)

    def parsed(self, text: str, column: Column) -> Any:
        """Return a text as a value that can be compared with bounds; None if it is no value."""
        del column
        return text

    def up_to(self, values: pl.Series, bound: Any) -> int:
        """Return how many ascending values are not above a bound, without the missing one."""
        return int((values <= bound).sum())

    def group_starts(
        self, domain: Domain, counts: NDArray[np.int64], least: int, most: int
    ) -> Iterator[tuple[int, str]]:
        """Yield the codes at which groups of neighbours may begin, and how the value there is written.

        Parameters
        ----------
        domain
            Values that are in an order.
        counts
            How many records have each code.
        least
            The minimum number of records of a group: no fewer records may decide where groups begin.
        most
            About how many groups there may be.
        """
        del counts, least
        step = max(1, -(-domain.known // most))
        yield from ((code, domain.labels[code]) for code in range(step, domain.known, step))

    def group_labels(self, domain: Domain, starts: Sequence[int], names: Sequence[str]) -> list[str]:
        """Return what groups of neighbours are called.

        Parameters
        ----------
        domain
            Values that are in an order.
        starts
            The code at which each group begins, 0 for the first.
        names
            How the values are written at which all but the first begin.
        """
        del names
        return [
            domain.labels[begin]
            if end - begin == 1
            else f"{domain.labels[begin]} to {domain.labels[end - 1]}"
            for begin, end in pairwise([*starts, domain.known])
        ]

    def read_released(
        self, frame: nw.DataFrame[Any], attribute: Attribute
    ) -> tuple[Generalized, Codes] | None:
        """Read a quasi-identifier that has several columns in a release; None for kinds with one column.

        Returns
        -------
        tuple or None
            What different rows can stand for, and which of these each row shows.
        """
        del frame, attribute
        return None


def _the_one(kind: type[Kind]) -> Kind:
    """Return the only object of a kind."""
    return next(known for known in Kind if type(known) is kind)


def refuse(
    wrong: pl.Series,
    cells: pl.Series,
    column: Column,
    rows: NDArray[np.int64],
    problem: str,
    reason: Reason = Reason.BAD_VALUE,
) -> None:
    """Raise an error that names the first wrong cell, if there is one."""
    if wrong.any():
        first = int(wrong.arg_true()[0])
        cell = repr(cells[first]) if cells.dtype == pl.String else str(cells[first])
        raise InputError(
            f"column {column.name!r}, row {int(rows[first]) + 1}: {cell} {problem}",
            reason=reason,
            column=column.name,
        )


def refuse_years(cells: pl.Series, column: Column, rows: NDArray[np.int64]) -> None:
    """Refuse typed dates before the year 1 or after the year 9999."""
    if (far := moments.beyond(cells)).any():
        row = int(rows[int(far.arg_true()[0])]) + 1
        raise InputError(
            f"column {column.name!r}, row {row}: the date is before the year 1 or after the year 9999; "
            "correct it or leave it empty",
            reason=Reason.BAD_VALUE,
            column=column.name,
        )
