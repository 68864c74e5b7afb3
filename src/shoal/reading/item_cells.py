"""Columns of items: each row has base items, uncertain items, and the number of items that may be wrong."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shoal.base.ragged import Lists
from shoal.errors import InputError, Reason, did_you_mean, listing
from shoal.kernels.sparse import SparseMatrix
from shoal.kinds import notation
from shoal.reading.codebook import ColumnNotes

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class ItemCells:
    """Generalized sets of items, and which of them each row shows.

    Parameters
    ----------
    notes
        What is known about the column.
    names
        The names of the items.
    cell
        For each row, the number of its generalized set.
    base, uncertain
        The base items and the uncertain items of each: matrices with a row for each generalized set.
    errors
        The maximum number of uncertain items that are wrong.
    suppressed
        Which of them say nothing.
    records
        The number of records that each was made for.
    """

    notes: ColumnNotes
    names: tuple[str, ...]
    cell: NDArray[np.int32]
    base: SparseMatrix
    uncertain: SparseMatrix
    errors: NDArray[np.int64]
    suppressed: NDArray[np.bool_]
    records: int

    def question(self, condition: Any) -> Floats:
        """Return which items are asked for; a row meets the question if it has one of them."""
        members = condition if isinstance(condition, list | set | frozenset | tuple) else [condition]
        code_of = {name: code for code, name in enumerate(self.names)}
        asked = np.zeros(len(self.names))
        for each in members:
            name = str(each)
            if name in code_of:
                asked[code_of[name]] = 1.0
            elif not self.suppressed.any():
                raise InputError(
                    f"column {self.notes.name!r}: no row can have {name!r}"
                    f"{did_you_mean(name, self.names)}; its items are {listing(self.names)}",
                    reason=Reason.BAD_VALUE,
                    column=self.notes.name,
                )
        return asked

    def certain(self, asked: Floats) -> NDArray[np.bool_]:
        """Return which generalized sets have one of the items for certain: more of them than may be wrong."""
        there = self.base @ asked
        doubtful = self.base.where(np.isin(self.base.places, self.uncertain.places)) @ asked
        sure = np.asarray((there > doubtful) | (doubtful > self.errors))
        return sure & ~self.suppressed

    def possible(self, asked: Floats) -> NDArray[np.bool_]:
        """Return which generalized sets may have one of the items."""
        there = (self.base @ asked) > 0
        maybe = ((self.uncertain @ asked) > 0) & (self.errors > 0)
        return there | maybe | self.suppressed

    @property
    def wrong(self) -> Floats:
        """The probability that an uncertain item is wrong, for each generalized set.

        Each uncertain item is wrong for at least one of the records, and for no more than half of them.
        """
        doubtful = np.maximum(self.uncertain.sizes, 1)
        most = np.minimum(self.errors / doubtful, 1.0)
        return np.where(self.errors > 0, np.clip(most / 2, 1 / max(self.records, 2), 0.5), 0.0)

    def shares(self) -> SparseMatrix:
        """Return the probability that each generalized set has each item."""
        places = np.union1d(self.base.places, self.uncertain.places)
        rows, items = np.divmod(places, len(self.names))
        there, doubtful = np.isin(places, self.base.places), np.isin(places, self.uncertain.places)
        wrong = self.wrong[rows]
        share = there + wrong * doubtful - 2 * (wrong * (there & doubtful))
        shape = (len(self.base), len(self.names))
        return SparseMatrix.of_places(share, rows, items, shape).where(share != 0)

    def probability(self, asked: Floats) -> Floats:
        """Return the probability that each generalized set has one of the items."""
        chosen = self.shares().dense(np.flatnonzero(asked))
        found = 1 - np.prod(1 - np.clip(chosen, 0.0, 1.0), axis=1)
        mean = float(found[~self.suppressed].mean()) if (~self.suppressed).any() else 0.5
        return np.where(self.suppressed, mean, found)

    def drawn(self, generator: np.random.Generator) -> pl.Series:
        """Return a set of items for each row."""
        shares = self.shares()[self.cell]
        has = generator.random(len(shares.values)) < shares.values
        rows, items = shares.rows[has], shares.columns[has]
        flat = pl.DataFrame({"row": rows, "item": pl.Series(self.names, dtype=pl.String).gather(items)})
        lists = flat.group_by("row", maintain_order=True).agg("item")
        every = pl.DataFrame({"row": np.arange(len(self.cell), dtype=rows.dtype)})
        joined = every.join(lists, on="row", how="left", maintain_order="left")
        return joined["item"].fill_null([]).rename(self.notes.name)


def item_cells(notes: ColumnNotes, columns: Sequence[pl.Series], records: int) -> ItemCells:
    """Return the cells of a column of items.

    Parameters
    ----------
    notes
        What is known about the column.
    columns
        Base items, uncertain items, and the number of errors; the last two may be absent.
    records
        The number of records that each row was made for.
    """
    base, *others = columns
    texts = [_texts(each) for each in (base, *others[:1])]
    errors = others[1].cast(pl.Int64) if len(others) > 1 else pl.Series(np.zeros(len(base), dtype=np.int64))
    uncertain = texts[1] if len(texts) > 1 else pl.Series([""] * len(base), dtype=pl.String)
    rows = pl.DataFrame({"base": texts[0], "uncertain": uncertain, "errors": errors.fill_null(0)})
    distinct = rows.unique(maintain_order=True).with_row_index("cell")
    cell = rows.join(distinct, on=["base", "uncertain", "errors"], how="left", maintain_order="left")["cell"]
    suppressed = (distinct["base"] == notation.SUPPRESSED).to_numpy()
    named = [
        [[] if text == notation.SUPPRESSED else notation.read_items(text) for text in distinct[name]]
        for name in ("base", "uncertain")
    ]
    names = tuple(sorted({item for lists in named for items in lists for item in items}))
    number = {name: item for item, name in enumerate(names)}
    matrices = [
        _matrix([sorted({number[i] for i in items}) for items in lists], len(names)) for lists in named
    ]
    return ItemCells(
        notes,
        names,
        cell.cast(pl.Int32).to_numpy(),
        matrices[0],
        matrices[1],
        distinct["errors"].to_numpy(),
        suppressed,
        records,
    )


def _texts(series: pl.Series) -> pl.Series:
    if isinstance(series.dtype, pl.List):
        escaped = series.cast(pl.List(pl.String)).list.eval(
            pl.element().str.replace_all(r"([\s\\])", r"\${1}")
        )
        series = escaped.list.join(" ")
    return series.cast(pl.String).fill_null("")


def _matrix(lists: Sequence[Sequence[int]], width: int) -> SparseMatrix:
    found = Lists.of(lists)
    return SparseMatrix(np.ones(len(found.values)), found.values, found.starts, width)
