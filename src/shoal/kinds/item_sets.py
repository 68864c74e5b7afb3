"""The kind of sets of items: original sets as codes, and released sets as an attacker reads them."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any, ClassVar

import narwhals.stable.v2 as nw
import numpy as np
import polars as pl
from numpy.typing import NDArray

from shoal import kernels
from shoal.base.ragged import Lists, ascending_sets
from shoal.errors import InputError, Reason
from shoal.kinds import notation
from shoal.kinds.domain import Attribute, Codes, Domain
from shoal.kinds.encoding import plain, to_polars
from shoal.kinds.hierarchy import MISSING
from shoal.kinds.items import ItemsDomain, Worlds, named_items
from shoal.kinds.kind import Kind, refuse
from shoal.kinds.marks import check_marks, without_marks

if TYPE_CHECKING:
    from shoal.schema import Column


class Items(Kind, name="items"):
    """Several items in one cell; the items of a column are those that occur."""

    __slots__ = ()

    several: ClassVar[bool] = True
    unit: ClassVar[str] = " uncertain items"
    settings: ClassVar[frozenset[str]] = frozenset({"separator"})
    often_known: ClassVar[str] = "some of a person's items"

    def fits(self, series: nw.Series[Any], texts: nw.Series[Any] | None) -> bool:
        del texts
        if series.dtype == nw.Object:
            return isinstance(
                next(iter(series.drop_nulls().head(1)), None), list | tuple | set | frozenset | np.ndarray
            )
        return isinstance(series.dtype, nw.List | nw.Array)

    def checked_domain(self, column: Column) -> None:
        for attribute in ("hierarchy", "domain"):
            if getattr(column, attribute) is not None:
                raise ValueError(f"a column of kind items has no {attribute}; its items are those that occur")

    def read_cells(self, series: nw.Series[Any], column: Column) -> pl.Series:
        """Return lists of names, null where a set is missing."""
        cells = _listed(series) if series.dtype == nw.Object else plain(to_polars(series))
        if cells.dtype == pl.String:
            texts = without_marks(cells, column.missing_marks)
            if column.separator is None:
                return texts.str.extract_all(r"\S+")
            parts = texts.str.split(column.separator).list.eval(pl.element().str.strip_chars())
            return parts.list.eval(pl.element().filter(pl.element() != MISSING))
        inner = cells.dtype.inner if isinstance(cells.dtype, pl.List | pl.Array) else None
        if inner is None or isinstance(inner, pl.List | pl.Array | pl.Struct):
            raise InputError(
                f"column {column.name!r} holds {cells.dtype}, which are not items; give lists, or texts "
                "with a separator",
                reason=Reason.BAD_VALUE,
                column=column.name,
            )
        lists = cells.cast(pl.List(inner))
        if inner.is_float():
            return lists.list.eval(pl.element().cast(pl.String).str.strip_suffix(".0"))
        return lists.cast(pl.List(pl.String))

    def attribute(
        self,
        cells: pl.Series,
        column: Column,
        rows: NDArray[np.int64],
        known: Domain | None = None,
        *,
        times: bool = False,
    ) -> Attribute:
        """Return sets of items as codes into the sets that occur; `known` is not used."""
        del known, times
        check_marks(column)
        lists = cells.fill_null([])  # in a text file, a missing set looks like an empty one
        nameless = lists.list.eval(pl.element().is_null() | (pl.element() == MISSING)).list.any()
        texts = lists.list.join(" ", ignore_nulls=True) if nameless.any() else lists
        refuse(nameless, texts, column, rows, "has an item without a name; remove the item")
        flat = lists.filter(lists.list.len() > 0).explode()
        names = in_order(flat.unique())
        items = flat.cast(pl.Enum(names)).to_physical().cast(pl.Int32).to_numpy()
        owners = np.repeat(np.arange(len(lists)), lists.list.len().to_numpy())
        sets = ascending_sets(owners, items, len(lists))
        codes = sets.numbers()
        distinct = sets.gather(np.unique(codes, return_index=True)[1])
        return Attribute(column, _items_domain(column.name, tuple(names.to_list()), distinct), codes)

    def released_columns(self, name: str) -> tuple[str, ...]:
        return notation.items_columns(name)

    def released_types(self, name: str, each: pl.DataType | None, *, typed: bool) -> dict[str, pl.DataType]:
        del each
        names = pl.List(pl.String()) if typed else pl.String()
        return dict(zip(self.released_columns(name), (names, names, pl.Int64()), strict=True))

    def read_released(self, frame: nw.DataFrame[Any], attribute: Attribute) -> tuple[Worlds, Codes]:
        assert isinstance(attribute.domain, ItemsDomain)
        return read_items(frame, attribute.column.name, attribute.domain)


def in_order(names: pl.Series) -> pl.Series:
    """Return names in ascending order: as numbers if all are whole numbers, otherwise as texts."""
    numbers = names.cast(pl.Int64, strict=False)
    if numbers.cast(pl.String).eq_missing(names).all():
        return numbers.sort().cast(pl.String)
    return names.sort()


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
    """Return the names in each cell, and which cells are suppressed."""
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
    in it: that is one error more if it is uncertain; otherwise the row covers no record.
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
    """Return the worlds, with suppressed cells standing for every set."""
    if not suppressed.any():
        return worlds
    width = len(worlds.domain.names)
    everything = np.arange(width, dtype=np.int32)
    parts = [everything if star else worlds.uncertain[i] for i, star in enumerate(suppressed)]
    most = np.where(suppressed, width, worlds.most_errors).astype(np.int32)
    return Worlds(worlds.domain, worlds.base, Lists.of(parts), most)


def _listed(series: nw.Series[Any]) -> pl.Series:
    """Return a column of Python sets as lists, and any other column as Polars reads it."""
    nulls = series.is_null().to_list()
    cells = [None if none else cell for cell, none in zip(series.to_list(), nulls, strict=True)]
    if not any(isinstance(cell, set | frozenset) for cell in cells):
        return plain(to_polars(series))
    with suppress(TypeError):
        lists = [None if cell is None else sorted(map(str, cell)) for cell in cells]
        return pl.Series(series.name, lists, dtype=pl.List(pl.String))
    raise InputError(
        f"column {series.name!r} mixes sets with other values; convert it to lists",
        reason=Reason.BAD_VALUE,
        column=series.name,
    )


def _items_domain(column: str, names: tuple[str, ...], sets: Lists) -> ItemsDomain:
    escaped = [notation.write_items([name]) for name in names]
    labels = tuple(named_items(sets, escaped).list.join(" ").to_list())
    return ItemsDomain(labels, named_items(sets, names).rename(column), None, names, sets)
