"""Releases as ordinary frames: with drawn values, or with typed columns."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, get_args

import narwhals.stable.v2 as nw
import numpy as np
import polars as pl

from shoal.errors import InputError, Reason, did_you_mean, listing
from shoal.kinds.encoding import same_flavour, to_polars
from shoal.kinds.hierarchy import MISSING
from shoal.reading.cells import ReadCells
from shoal.reading.drawing import drawn_classes, drawn_values
from shoal.reading.joint import Joint
from shoal.reading.ordered_cells import OrderedCells
from shoal.reading.set_cells import SetCells

Form = Literal["low-high", "middle", "members", "long"]
Flavour = Literal["polars", "pandas", "pyarrow"]
DRAWN = "values of quasi-identifiers are drawn from an anonymized release; they are not those of records"
"""What the metadata of drawn tables says, where a flavour has metadata."""


def drawn_frame(frame: nw.DataFrame[Any], joint: Joint, generator: np.random.Generator) -> pl.DataFrame:
    """Return the release with one value in each cell.

    Parameters
    ----------
    frame
        The release.
    joint
        The columns that were read, and their joint distribution.
    generator
        The source of random numbers.
    """
    values = drawn_values(joint, drawn_classes(joint, generator), generator)
    drawn: dict[str, pl.Series] = {name: joint.columns[name].decoded(each) for name, each in values.items()}
    for name, items in joint.items.items():
        drawn[name] = items.drawn(generator)
    aside = {
        extra for name, each in joint.items.items() for extra in each.notes.kind.released_columns(name)[1:]
    }
    names = [name for name in frame.columns if name not in aside]
    return pl.DataFrame(
        [drawn[name] if name in drawn else _carried(frame, name, joint.columns.get(name)) for name in names]
    )


def in_form(frame: nw.DataFrame[Any], columns: Mapping[str, ReadCells[Any]], form: str) -> pl.DataFrame:
    """Return the release with typed columns; see `Reader.frame`.

    Raises
    ------
    InputError
        If there is no such form.
    """
    forms = get_args(Form)
    if form not in forms:
        raise InputError(
            f"form {form!r} is unknown{did_you_mean(str(form), forms)}; choose one of {listing(forms)}",
            reason=Reason.PARAMETER,
            parameter="form",
        )
    found: list[pl.Series] = []
    for name in frame.columns:
        column = columns.get(name)
        if column is None or not column.notes.quasi:
            found.append(_carried(frame, name, column))
        elif isinstance(column, OrderedCells):
            found.extend(_ends(column, middle=form == "middle"))
        else:
            found.append(to_polars(frame[name]).rename(name))
            if form == "members" and isinstance(column, SetCells):
                found.extend(_memberships(column))
    return pl.DataFrame(found)


def _carried(frame: nw.DataFrame[Any], name: str, column: ReadCells[Any] | None) -> pl.Series:
    """Return a column that is released unchanged; numbers that a file has as text are numbers."""
    cells = to_polars(frame[name]).rename(name)
    if column is None or not column.notes.kind.numeric or cells.dtype != pl.String:
        return cells
    cells = cells.set(cells.is_in([MISSING, *column.notes.missing_marks]), None)
    for dtype in (pl.Int64, pl.Float64):
        numbers = cells.cast(dtype, strict=False)
        if numbers.null_count() == cells.null_count():
            return numbers
    return to_polars(frame[name]).rename(name)


def _ends(column: OrderedCells, *, middle: bool) -> list[pl.Series]:
    name = column.notes.name
    low, high = column.low[column.cell], column.high[column.cell]
    if middle and column.notes.kind.numeric:
        return [pl.Series(name, low / 2 + high / 2, dtype=pl.Float64).fill_nan(None)]
    if middle:
        return [column.decoded(np.floor(low / 2 + high / 2))]
    return [column.decoded(low).rename(f"{name}_low"), column.decoded(high).rename(f"{name}_high")]


def _memberships(column: SetCells) -> list[pl.Series]:
    name = column.notes.name
    order = np.argsort(column.members.columns, kind="stable")
    starts = np.searchsorted(column.members.columns[order], np.arange(len(column.labels) + 1))
    cells = np.split(column.members.rows[order], starts[1:])
    found = []
    for label, members in zip(column.labels, cells, strict=False):
        is_member = np.zeros(len(column.members), dtype=np.bool_)
        is_member[members] = True
        found.append(pl.Series(f"{name}={label}", is_member[column.cell]))
    return found


def of_flavour(
    frame: pl.DataFrame, like: nw.DataFrame[Any], flavour: Flavour | None, *, drawn: bool = False
) -> Any:
    """Return a frame in the flavour that is asked for, otherwise in that of another frame.

    Parameters
    ----------
    frame
        The frame.
    like
        The other frame.
    flavour
        What is asked for.
    drawn
        Whether the metadata is to say that values are drawn.

    Raises
    ------
    InputError
        If there is no such flavour.
    """
    wanted = flavour
    if wanted is None:
        if not any(
            (
                like.implementation.is_polars(),
                like.implementation.is_pandas(),
                like.implementation.is_pyarrow(),
            )
        ):
            return same_flavour(frame.get_columns(), like).to_native()
        wanted = like.implementation.value
    if wanted not in get_args(Flavour):
        raise InputError(
            f"flavour {flavour!r} is unknown; choose one of {listing(get_args(Flavour))}",
            reason=Reason.PARAMETER,
            parameter="flavour",
        )
    if wanted == "polars":
        return frame
    if wanted == "pyarrow":
        table = frame.to_arrow()
        return table.replace_schema_metadata({"shoal": DRAWN}) if drawn else table
    pandas = nw.from_dict({c.name: c.to_list() for c in frame.get_columns()}, backend="pandas").to_native()
    if drawn:
        pandas.attrs["shoal"] = DRAWN
    return pandas
