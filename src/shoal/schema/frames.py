"""Frames of any library as narwhals frames, and the kinds of their columns."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Collection, Iterable
from contextlib import suppress
from dataclasses import dataclass, replace
from importlib import import_module
from typing import Any

import narwhals.stable.v2 as nw
from narwhals.stable.v2.typing import IntoDataFrame

from shoal.base.fresh_columns import declared_order, readable
from shoal.errors import InputError, Reason
from shoal.kinds import moments
from shoal.kinds.encoding import to_polars
from shoal.kinds.kind import Kind
from shoal.schema.column import Column, Role
from shoal.schema.column_names import are_codes


def as_frame(frame: IntoDataFrame) -> nw.DataFrame[Any]:
    """Return a frame of any supported library as a narwhals frame; a lazy one is computed.

    Raises
    ------
    InputError
        If it is not a table, or a column name is not a text or not unique.
    """
    try:
        given: Any = nw.from_native(frame)
        if isinstance(given, nw.LazyFrame) and given.implementation.is_spark_like():
            raise InputError(
                "a frame of Spark is not collected; use anonymize_spark", reason=Reason.PARAMETER
            )
        data: nw.DataFrame[Any] = _collected(given) if isinstance(given, nw.LazyFrame) else given
    except nw.exceptions.DuplicateError:
        raise InputError(
            "the table has several columns with the same name; rename all but one",
            reason=Reason.DUPLICATE_COLUMN,
        ) from None
    except TypeError:
        raise InputError(_not_a_frame(frame), reason=Reason.PARAMETER) from None
    for name in data.columns:
        if not isinstance(name, str):
            raise InputError(
                f"the name of column {name!r} is not a text; rename it", reason=Reason.SCHEMA, column=name
            )
        Column(name)  # refuses a name that no column can have
    return readable(data)


def _not_a_frame(given: object) -> str:
    """Return what is wrong with something that is no table, and what to give instead."""
    if isinstance(given, str | os.PathLike):
        return f"{str(given)!r} is a text, not a table; read the file with shoal.read_table({str(given)!r})"
    if hasattr(given, "table") and hasattr(given, "certificate"):
        return "a release is not a table; give its rows, release.table"
    return (
        f"{type(given).__name__} is not a table that Shoal can read; give a table of pandas, Polars, "
        "PyArrow or DuckDB"
    )


def _collected(lazy: nw.LazyFrame[Any]) -> nw.DataFrame[Any]:
    """Return a lazy frame in memory; enumerations of DuckDB keep their order, which Arrow would not show."""
    data = lazy.collect()
    if not (lazy.implementation.is_duckdb() and data.implementation.is_pyarrow()):
        return data
    native = data.to_native()
    for place, (name, dtype) in enumerate(lazy.collect_schema().items()):
        if dtype == nw.Enum:
            import pyarrow as pa  # DuckDB gave the frame as one of PyArrow's

            coded = pa.dictionary(pa.int32(), native.schema.field(name).type.value_type, ordered=True)
            native = native.set_column(place, name, native.column(name).cast(coded))
    return nw.from_native(native, eager_only=True)


def flavour_of(frame: Any) -> Callable[[Any], Any] | None:
    """Return how to give a table the type of a lazy frame again; None for a frame in memory."""
    kind = type(frame)
    package = kind.__module__.partition(".")[0]
    if package == "polars" and kind.__name__ == "LazyFrame":
        return lambda table: table.lazy()
    if package in ("duckdb", "_duckdb"):
        return lambda table: import_module("duckdb").from_arrow(table)
    if package == "ibis":
        return lambda table: import_module("ibis").memtable(table)
    return None


def is_index(name: str) -> bool:
    """Return whether a column is the index of a pandas frame, by its name in files."""
    return re.fullmatch(r"__index_level_[0-9]+__", name) is not None


def usual_role(name: str) -> Role:
    """Return the default role of a column."""
    return Role.IDENTIFIER if is_index(name) else Role.OTHER


@dataclass(frozen=True)
class Inferred:
    """What the values of a column suggest, by the same rules however the table is read.

    Parameters
    ----------
    kind
        Its kind.
    date_format
        Format of dates that are not written as YYYY-MM-DD.
    numbers
        For few numbers that may be codes: the different ones.
    order
        The categories in the order that the type of the column declares, lowest first.
    steps
        Those of them that occur, in the order in which they do.
    forms
        The formats that dates in a local form can have: two where nothing says whether day or month is first.
    """

    kind: Kind
    date_format: str | None = None
    numbers: frozenset[Any] | None = None
    order: tuple[Any, ...] | None = None
    steps: tuple[Any, ...] = ()
    forms: tuple[str, ...] = ()

    @classmethod
    def of_forms(cls, forms: tuple[str, ...]) -> Inferred:
        """Return what texts suggest that can be dates in some formats: dates if there is one."""
        if len(forms) == 1:
            return cls(Kind.DATE, date_format=forms[0], forms=forms)
        return cls(Kind.CATEGORICAL, forms=forms)

    @property
    def settled(self) -> bool:
        """Whether no further value can change what the column is."""
        return self.kind.any_text and self.order is None and not self.forms

    @property
    def scale(self) -> tuple[Any, ...] | None:
        """The categories that occur, lowest first; None if no order is declared.

        The order in which many values occur says which record was where, so it is not taken for a scale.
        """
        if not self.order or not self.steps:
            return None
        occurring = set(self.steps)
        scale = tuple(each for each in self.order if each in occurring)
        return None if len(scale) > _FEW_STEPS and scale == self.steps else scale

    def settings(self, name: str, *, last: bool = False, ordinal: bool = False) -> dict[str, Any]:
        """Return the kind and what belongs to it as arguments of `Column`.

        Parameters
        ----------
        name
            The name of the column: numbers may be codes by it, such as 1 and 2 for the sexes.
        last
            Whether it is the last column of the table.
        ordinal
            Whether categories with a declared order are ordinal.
        """
        if ordinal and self.scale is not None:
            return {"kind": Kind.ORDINAL, "domain": self.scale}
        kind = self.kind
        if kind.numeric and self.numbers is not None and are_codes(name, len(self.numbers), last=last):
            kind = Kind.CATEGORICAL
        found = {"kind": kind, "date_format": self.date_format}
        return {key: value for key, value in found.items() if value is not None}

    def without_quantities(self, name: str, *, last: bool) -> Inferred:
        """Return the same without numbers that are no codes in any case, of which there may be many."""
        if self.numbers is None or are_codes(name, len(self.numbers), last=last):
            return self
        return replace(self, numbers=None)

    def united(self, other: Inferred) -> Inferred:
        """Return what two parts of a column suggest together."""
        if self.forms or other.forms:
            return Inferred.of_forms(tuple(form for form in self.forms if form in other.forms))
        numbers = None if self.numbers is None or other.numbers is None else self.numbers | other.numbers
        same = self.order == other.order
        return Inferred(
            self.kind.united(other.kind),
            self.date_format,
            numbers if numbers is not None and len(numbers) <= MOST_CODES else None,
            self.order if same else None,
            tuple(dict.fromkeys(self.steps + other.steps)) if same else (),
        )


_FEW_STEPS = 8
"""The order of no more values than these may be the order in which they occur by chance."""
MOST_CODES = 20_000
"""More different numbers are never codes."""


def infer_kind(series: nw.Series[Any], missing_marks: Collection[str] = ()) -> Kind:
    """Return the kind of a column by its type and values, without its name; see `infer_column`."""
    return infer_column(series, missing_marks).kind


def infer_column(series: nw.Series[Any], missing_marks: Collection[str] = ()) -> Inferred:
    """Return what the type of a column or, for text and Python objects, all its values suggest.

    Text counts as numeric only if reading it as numbers loses nothing: codes with leading zeros, such as ZIP
    codes, remain categories. Common forms of dates are recognized, if day and month cannot be mistaken for
    each other. Categories whose type declares an order keep it, so that they can be ordinal.
    """
    if (order := declared_order(series)) is not None:
        occurring = series.drop_nulls().unique(maintain_order=True).to_list()
        values = [str(each) if isinstance(order[0], str) else each for each in occurring]
        steps = tuple(each for each in values if str(each) not in ("", *missing_marks))
        return Inferred(Kind.CATEGORICAL, order=tuple(order), steps=steps)
    if series.dtype == nw.Object:
        if Kind.NUMERIC.fits(series, None):  # also if its numbers are longer than those of any type
            return Inferred(Kind.NUMERIC)
        with suppress(InputError):
            series = nw.from_native(to_polars(series), series_only=True)
    texts = None
    if series.dtype == nw.String:
        texts = series.filter(~series.is_null()).unique()
        texts = texts.filter(~texts.is_in(["", *missing_marks]))
        if not len(texts):
            return Inferred(Kind.CATEGORICAL)
    kind = next((kind for kind in Kind if kind.fits(series, texts)), Kind.CATEGORICAL)
    if kind.numeric:
        known = series.drop_nulls().unique() if texts is None else texts
        few = len(known) <= MOST_CODES
        return Inferred(kind, numbers=frozenset(map(str, known.to_list())) if few else None)
    forms = moments.forms_of(to_polars(texts)) if kind.any_text and texts is not None else ()
    return Inferred.of_forms(forms) if forms else Inferred(kind)


def merged_columns(batches: Iterable[Any], missing_marks: Collection[str] = ()) -> dict[str, Inferred]:
    """Return what all columns of a table in batches suggest, as `infer_column` does for the whole table.

    Parameters
    ----------
    batches
        Frames with the same columns.
    missing_marks
        Texts that mean "missing".
    """
    found: dict[str, Inferred] = {}
    for batch in batches:
        data = as_frame(batch)
        for name in data.columns:
            series = data[name]
            if name in found and found[name].settled:
                continue  # no further value can change that
            if series.dtype == nw.String:
                series = series.drop_nulls()
                series = series.filter(~series.is_in(["", *missing_marks]))
            if len(series.drop_nulls()) == 0 and (series.dtype == nw.String or name in found):
                continue  # no values in this batch
            inferred = infer_column(series, missing_marks)
            found[name] = found[name].united(inferred) if name in found else inferred
    return found


def merged_kinds(batches: Iterable[Any], missing_marks: Collection[str] = ()) -> dict[str, Kind]:
    """Return the kinds of all columns of a table in batches; see `merged_columns`."""
    return {name: each.kind for name, each in merged_columns(batches, missing_marks).items()}
