"""Frames of any library as narwhals frames, and the kinds of their columns."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable
from importlib import import_module
from typing import Any

import narwhals.stable.v2 as nw
from narwhals.stable.v2.typing import IntoDataFrame

from shoal.base.fresh_columns import readable
from shoal.errors import InputError, Reason
from shoal.kinds.kind import Kind
from shoal.schema.column import Role


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
        data: nw.DataFrame[Any] = given.collect() if isinstance(given, nw.LazyFrame) else given
    except nw.exceptions.DuplicateError:
        raise InputError(
            "the table has several columns with the same name; rename all but one",
            reason=Reason.DUPLICATE_COLUMN,
        ) from None
    except TypeError:
        raise InputError(
            f"{type(frame).__name__} is not a table that Shoal can read; give a table of pandas, Polars, "
            "PyArrow or DuckDB",
            reason=Reason.PARAMETER,
        ) from None
    for name in data.columns:
        if not isinstance(name, str):
            raise InputError(
                f"the name of column {name!r} is not a text; rename it", reason=Reason.SCHEMA, column=name
            )
    return readable(data)


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


def infer_kind(series: nw.Series[Any], missing_marks: Collection[str] = ()) -> Kind:
    """Return the kind of a column by its type or, for text, by all its values.

    Text counts as numeric only if reading it as numbers loses nothing: codes with leading zeros, such as ZIP
    codes, remain categories.
    """
    texts = None
    if series.dtype == nw.String:
        texts = series.filter(~series.is_null()).unique()
        texts = texts.filter(~texts.is_in(["", *missing_marks]))
        if not len(texts):
            return Kind.CATEGORICAL
    return next((kind for kind in Kind if kind.fits(series, texts)), Kind.CATEGORICAL)


def merged_kinds(batches: Iterable[Any], missing_marks: Collection[str] = ()) -> dict[str, Kind]:
    """Return the kinds of all columns of a table in batches, as `infer_kind` does for the whole table.

    Parameters
    ----------
    batches
        Frames with the same columns.
    missing_marks
        Texts that mean "missing".
    """
    kinds: dict[str, Kind] = {}
    for batch in batches:
        data = as_frame(batch)
        for name in data.columns:
            series = data[name]
            if name in kinds and kinds[name].any_text:
                continue  # no further value can change that
            if series.dtype == nw.String:
                series = series.drop_nulls()
                series = series.filter(~series.is_in(["", *missing_marks]))
                if len(series) == 0:
                    continue  # no values in this batch
            kind = infer_kind(series, missing_marks)
            kinds[name] = kinds.get(name, kind).united(kind)
    return kinds
