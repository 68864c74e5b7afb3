"""Reading released sets of items as an outsider does: which original sets could each row stand for?"""

from __future__ import annotations

from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
import polars as pl
from numpy.typing import NDArray

from shoal import kernels
from shoal.base.ragged import Lists, ascending_sets
from shoal.errors import InputError, Reason
from shoal.kinds import notation
from shoal.kinds.domain import Codes
from shoal.kinds.encoding import to_polars
from shoal.kinds.items import ItemsDomain, Worlds


def read_items(frame: nw.DataFrame[Any], name: str, domain: ItemsDomain) -> tuple[Worlds, Codes]:
    """Read the three columns of a set-valued quasi-identifier, written as text or typed.

    Where a column of uncertain items or of errors is absent, there are none.

    Parameters
    ----------
    frame
        The released table.
    name
        The column of base items.
    domain
        The items and sets of the original.

    Returns
    -------
    tuple
        What each different combination of the three cells can stand for, and which each row shows.

    Raises
    ------
    InputError
        If a cell cannot be read.
    """
    base_name, uncertain_name, errors_name = notation.items_columns(name)
    base, suppressed = _names(frame, base_name)
    uncertain, _ = _names(frame, uncertain_name)
    errors = _errors(frame, errors_name)
    numbers = _numbers(domain, base, uncertain)
    in_base, in_doubt = (_sets(lists, numbers) for lists in (base, uncertain))
    shown = np.column_stack((in_base.numbers(), in_doubt.numbers(), errors, suppressed))
    cell, first = kernels.group_rows(shown.astype(np.int32))
    worlds = _over_domain(domain, in_base.gather(first), in_doubt.gather(first), errors[first])
    return _with_suppressed(worlds, suppressed[first]), cell


def _names(frame: nw.DataFrame[Any], name: str) -> tuple[pl.Series, NDArray[np.bool_]]:
    """Return the names in each cell, and which cells are a star: they say nothing."""
    if name not in frame.columns:
        return pl.Series([[]] * len(frame), dtype=pl.List(pl.String)), np.zeros(len(frame), dtype=np.bool_)
    cells = to_polars(frame[name])
    if isinstance(cells.dtype, pl.List):
        return cells.cast(pl.List(pl.String)).fill_null([]), np.zeros(len(frame), dtype=np.bool_)
    texts = cells.cast(pl.String).fill_null("")
    stars = texts == notation.SUPPRESSED
    if texts.str.contains("\\", literal=True).any():
        lists = pl.Series([notation.read_items(text) for text in texts], dtype=pl.List(pl.String))
    else:
        lists = texts.str.extract_all(r"\S+")
    return lists.set(stars, None).fill_null([]) if stars.any() else lists, stars.to_numpy()


def _errors(frame: nw.DataFrame[Any], name: str) -> NDArray[np.int64]:
    if name not in frame.columns:
        return np.zeros(len(frame), dtype=np.int64)
    cells = to_polars(frame[name])
    numbers = cells.cast(pl.Int64, strict=False)
    wrong = numbers.is_null() | (numbers < 0).fill_null(False)
    if wrong.any():
        raise InputError(
            f"column {name!r} of the release, row {int(wrong.arg_true()[0]) + 1}: "
            f"{cells.filter(wrong)[0]!r} is not a number of errors; it must be 0 or more",
            reason=Reason.RELEASE_UNREADABLE,
            column=name,
        )
    return np.asarray(np.minimum(numbers.to_numpy(), np.iinfo(np.int32).max))


def _numbers(domain: ItemsDomain, *columns: pl.Series) -> pl.DataFrame:
    """Return a number for each name in these columns; items that the original never has come last."""
    strange = pl.concat([column.explode().drop_nulls().unique() for column in columns]).unique().to_list()
    names = [*domain.names, *sorted(set(strange).difference(domain.item_of))]
    return pl.DataFrame({"name": names}, schema={"name": pl.String}).with_row_index("number")


def _sets(lists: pl.Series, numbers: pl.DataFrame) -> Lists:
    sizes = lists.list.len().to_numpy()
    flat = pl.DataFrame({"name": lists.filter(lists.list.len() > 0).explode()}, schema={"name": pl.String})
    items = flat.join(numbers, on="name", how="left", maintain_order="left")["number"].to_numpy()
    return ascending_sets(np.repeat(np.arange(len(sizes)), sizes), items, len(sizes))


def _over_domain(domain: ItemsDomain, base: Lists, uncertain: Lists, errors: NDArray[np.int64]) -> Worlds:
    """Return what rows stand for in terms of the original's items.

    No record has an item that the original never has. Where such an item is in the base, each record differs
    in it: that is one error more if it is uncertain, and else rules out everybody.
    """
    width = len(domain.names)
    strange_base, strange_doubt = (
        base.filtered(base.values >= width),
        uncertain.filtered(uncertain.values >= width),
    )
    span = 1 + max(int(each.values.max(initial=0)) for each in (base, uncertain))
    in_base, in_doubt = (each.owners * span + each.values for each in (strange_base, strange_doubt))
    certain = strange_base.filtered(~np.isin(in_base, in_doubt)).sizes
    most = np.where(certain > 0, -1, errors - strange_base.sizes)
    return Worlds(
        domain,
        base.filtered(base.values < width),
        uncertain.filtered(uncertain.values < width),
        np.maximum(most, -1).astype(np.int32),
    )


def _with_suppressed(worlds: Worlds, suppressed: NDArray[np.bool_]) -> Worlds:
    """Return the same, where suppressed cells stand for every set."""
    if not suppressed.any():
        return worlds
    width = len(worlds.domain.names)
    everything = np.arange(width, dtype=np.int32)
    parts = [everything if star else worlds.uncertain[i] for i, star in enumerate(suppressed)]
    most = np.where(suppressed, width, worlds.most_errors).astype(np.int32)
    return Worlds(worlds.domain, worlds.base, Lists.of(parts), most)
