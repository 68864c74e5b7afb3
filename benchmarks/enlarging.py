"""Tables of any size with the shape of a given one."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shoal.base.randomness import checked_seed
from shoal.errors import InputError, Reason, unknown_column
from shoal.samples import check_count

REDRAWN = 0.02
"""Share of the cells that `enlarge` replaces in each column that is not perturbed."""


def enlarge(frame: pl.DataFrame, rows: int, *, numeric: Mapping[str, int], seed: int) -> pl.DataFrame:
    """Return a table of any size that has the shape of a given one.

    Rows are drawn with replacement. So that they are not mere copies, numbers are perturbed, and in each
    other column a small share of the cells (`REDRAWN`) is drawn anew from that column.

    Parameters
    ----------
    frame
        The table to draw from.
    rows
        Number of rows to return.
    numeric
        Columns to perturb, integers or strings of integers, each with its largest perturbation ``w``: a
        uniform integer from ``-w`` to ``w`` is added, and the sum kept within the column's own range.
        Nulls stay null.
    seed
        The same number gives the same table.

    Returns
    -------
    polars.DataFrame
        The same columns, with the same data types.

    Raises
    ------
    InputError
        If `rows` or a perturbation is negative, if `frame` has no rows to draw from, or if a column of
        `numeric` is not in it or does not hold integers.
    """
    check_count("rows", rows)
    for name, width in numeric.items():
        if name not in frame.columns:
            raise unknown_column(name, frame.columns)
        check_count(f"numeric[{name!r}]", width)
    if rows and frame.is_empty():
        raise InputError(
            "cannot enlarge a table without rows; give one with at least one", reason=Reason.NO_ROWS
        )
    rng = np.random.default_rng(checked_seed(seed))
    drawn = rng.integers(frame.height, size=rows) if rows else np.empty(0, dtype=np.int64)
    return pl.DataFrame(
        [
            _perturbed(rng, column, drawn, numeric[column.name])
            if column.name in numeric
            else _redrawn(rng, column, drawn)
            for column in frame.get_columns()
        ]
    )


def _redrawn(rng: np.random.Generator, column: pl.Series, drawn: NDArray[np.int64]) -> pl.Series:
    changed = np.flatnonzero(rng.random(len(drawn)) < REDRAWN)
    rows = drawn.copy()
    if len(changed):
        rows[changed] = rng.integers(len(column), size=len(changed))
    return column.gather(rows)


def _perturbed(
    rng: np.random.Generator, column: pl.Series, drawn: NDArray[np.int64], width: int
) -> pl.Series:
    is_text = column.dtype == pl.String
    numbers = column.cast(pl.Int64, strict=False) if is_text or column.dtype.is_integer() else None
    if numbers is None or numbers.null_count() > column.null_count():
        raise InputError(
            f"column {column.name!r} does not hold integers only; leave it out of numeric",
            reason=Reason.BAD_VALUE,
            column=column.name,
        )
    moved = numbers.gather(drawn) + pl.Series(rng.integers(-width, width + 1, size=len(drawn)))
    present = numbers.drop_nulls().to_numpy()
    if len(present):
        moved = moved.clip(present.min(), present.max())
    if not is_text:
        return moved.cast(column.dtype)
    # Codes such as 02139 keep their leading zeros.
    padded = column.str.contains("^0[0-9]").any()
    digits = column.str.len_chars().drop_nulls().to_numpy().min() if padded else 0
    return moved.cast(pl.String).str.zfill(int(digits))
