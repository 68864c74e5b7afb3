"""Conversion between frames of Spark and Polars, inside tasks and outside."""

from __future__ import annotations

import pickle
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import polars as pl

from shoal.engines.spark_sessions import failures_explained, prepared
from shoal.errors import InputError, Reason
from shoal.schema import merged_columns
from shoal.schema.frames import Inferred

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

TOGETHER = 100_000
"""Number of rows that a task looks at at a time."""


def inferred_in(table: DataFrame, missing_marks: Sequence[str] = ()) -> dict[str, Inferred]:
    """Return what the columns of a Spark frame that have values suggest, as `merged_columns` does.

    Parameters
    ----------
    table
        The table.
    missing_marks
        Texts that mean "missing".
    """
    names = table.columns

    def look(batches: Iterator[Any]) -> Iterator[Any]:
        found = merged_columns((named(frame, names) for frame in frames_of(batches)), missing_marks)
        few = {name: each.without_quantities(name, last=name == names[-1]) for name, each in found.items()}
        yield arrow_batch({"found": [pickle.dumps(few)]})

    found: dict[str, Inferred] = {}
    with failures_explained(), prepared(table.sparkSession):
        for row in plain_columns(table).mapInArrow(look, "found binary").collect():
            for name, each in pickle.loads(row["found"]).items():
                found[name] = found[name].united(each) if name in found else each
    return found


def headings(table: DataFrame, names: Sequence[str] | None = None) -> pl.DataFrame:
    """Return a frame without rows that has the columns of a Spark frame.

    Parameters
    ----------
    table
        The frame.
    names
        New names of its columns; unchanged if omitted.

    Raises
    ------
    InputError
        If a column has a type that a release cannot contain.
    """
    import pyarrow as pa

    empty = table.limit(0).toArrow().rename_columns(list(names or table.columns))
    for known, given in zip(empty.schema, table.schema, strict=True):
        try:
            column = arrow_table(pl.DataFrame(pa.table([[]], schema=pa.schema([known]))))
            again = table.sparkSession.createDataFrame(column).schema[0].dataType.simpleString()
        except (pa.ArrowException, pl.exceptions.PolarsError, NotImplementedError, ValueError):
            again = None
        kind = given.dataType.simpleString()
        if again != kind:
            raise InputError(
                f"column {known.name!r} is of a type ({kind}) that a release cannot carry; leave it out, or "
                "make text of it",
                reason=Reason.SCHEMA,
                column=known.name,
            )
    return pl.DataFrame(empty)


def plain_columns(table: DataFrame) -> DataFrame:
    """Return a frame with columns c0, c1, ..., because Spark treats some characters in names as syntax."""
    return table.toDF(*plain_names(len(table.columns)))


def plain_names(count: int) -> list[str]:
    """Return the names of this many columns."""
    return [f"c{number}" for number in range(count)]


def frames_of(batches: Iterable[Any]) -> Iterator[pl.DataFrame]:
    """Yield the rows of a task in large batches."""
    import pyarrow as pa

    held: list[Any] = []
    for batch in batches:
        held.append(batch)
        if sum(each.num_rows for each in held) >= TOGETHER:
            yield pl.DataFrame(pa.Table.from_batches(held))
            held = []
    if held:
        yield pl.DataFrame(pa.Table.from_batches(held))


def named(frame: pl.DataFrame, names: Sequence[str]) -> pl.DataFrame:
    """Return the columns c0, c1, ... of a frame with their original names."""
    named = frame.select(plain_names(len(names)))
    named.columns = list(names)
    return named


def arrow_table(frame: pl.DataFrame, like: Any = None) -> Any:
    """Return a frame as an Arrow table, with the types in `like` if given."""
    table = frame.to_arrow(compat_level=pl.CompatLevel.oldest())
    return table if like is None else table.cast(like)


def arrow_batch(columns: Mapping[str, Any], like: Any = None) -> Any:
    """Return columns as an Arrow batch, with the types in `like` if given."""
    import pyarrow as pa

    return pa.RecordBatch.from_pydict(dict(columns), schema=like)
