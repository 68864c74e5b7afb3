"""Joining the releases of blocks: all rows in one random order, and what the whole must be checked for."""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shoal.auditing.classes import Classes
from shoal.base.randomness import Randomness
from shoal.base.tally import tally
from shoal.engines.blocks import digest_of, total_digest
from shoal.engines.domains import Reference
from shoal.engines.own_values import OwnValues, carried_names, merged, seen_in
from shoal.engines.workspace import private_file
from shoal.errors import InternalError
from shoal.files.writing import write_csv, write_parquet, writing
from shoal.kinds import notation
from shoal.methods import Progress
from shoal.models import Model
from shoal.release import Format
from shoal.schema import Column

TOGETHER = 400_000
"""Number of rows that are shuffled in memory at a time."""


def join(
    parts: Sequence[Path],
    rows: int,
    file: Path,
    form: Format,
    check: Check,
    randomness: Randomness,
    folder: Path,
    progress: Progress,
    categorical: Sequence[str] = (),
) -> None:
    """Write the rows of all parts into one file, in a uniformly random order, without holding them all.

    Each row goes into a bucket that is drawn for it; buckets are shuffled one at a time and written one after
    the other.

    Parameters
    ----------
    parts
        Parquet files.
    rows
        How many rows they have together.
    file, form
        The file to write and its format.
    check
        Is shown every row that is written.
    randomness
        Where the order comes from.
    folder
        Where rows may be put meanwhile.
    progress
        Whom to tell.
    categorical
        The columns of text that become categories: those that occur in all parts together, ascending.
    """
    types = _categories(parts, categorical) if form == "parquet" else {}
    buckets = max(1, -(-rows // TOGETHER))
    scattered = _scatter(parts, buckets, randomness, folder, progress)
    pieces: list[Path] = []
    for number, files in enumerate(scattered):
        progress("joining blocks", 0.5 + 0.5 * number / buckets)
        if not files:
            continue
        frame = pl.concat([pl.read_ipc(each) for each in files])
        frame = frame[randomness.permutation(frame.height)]
        check.see(frame)
        pieces.append(private_file(folder / f"piece-{number}.{form}"))
        if form == "csv":
            write_csv(frame, pieces[-1], header=len(pieces) == 1)
        else:
            write_parquet(frame.cast(types), pieces[-1])
        for each in files:
            each.unlink()
    if form == "parquet":
        with writing(file):
            pl.scan_parquet(pieces, glob=False).sink_parquet(file)
        return
    with file.open("wb") as out:
        for piece in pieces:
            with piece.open("rb") as opened:
                shutil.copyfileobj(opened, out)
            piece.unlink()


def _categories(parts: Sequence[Path], names: Sequence[str]) -> dict[Any, pl.DataType]:
    """Return the type of each of some columns that lists the values in all parts, ascending."""
    rows = pl.scan_parquet(list(parts), glob=False)
    return {
        name: pl.Enum(rows.select(pl.col(name).drop_nulls().unique().sort()).collect().to_series())
        for name in names
    }


def _scatter(
    parts: Sequence[Path], buckets: int, randomness: Randomness, folder: Path, progress: Progress
) -> list[list[Path]]:
    """Put each row of all parts into a bucket drawn for it; return the files of each bucket."""
    scattered: list[list[Path]] = [[] for _ in range(buckets)]
    for turn, group in enumerate(_groups(parts)):
        progress("joining blocks", 0.5 * min(turn / buckets, 1.0))
        frame = pl.concat([pl.read_parquet(part) for part in group])
        bucket = (randomness.words(frame.height) % np.uint64(buckets)).astype(np.int64)
        order = np.argsort(bucket, kind="stable")
        frame = frame[order]
        ends = np.searchsorted(bucket[order], np.arange(buckets + 1))
        for number in range(buckets):
            if ends[number + 1] > ends[number]:
                file = private_file(folder / f"scattered-{number}-{turn}.arrow")
                frame[int(ends[number]) : int(ends[number + 1])].write_ipc(file)
                scattered[number].append(file)
    return scattered


def _groups(parts: Sequence[Path]) -> Iterator[list[Path]]:
    """Yield parts that have about `TOGETHER` rows together."""
    group: list[Path] = []
    rows = 0
    for part in parts:
        group.append(part)
        rows += int(pl.scan_parquet(part, glob=False).select(pl.len()).collect().item())
        if rows >= TOGETHER:
            yield group
            group, rows = [], 0
    if group:
        yield group


class Check:
    """Looks at all rows of a release as they are written, and at nothing else.

    Parameters
    ----------
    model
        The promise.
    reference
        What the columns of the table are and which values they can have.
    columns
        The columns that the release must have, and their data types.

    Attributes
    ----------
    rows, digest
        How many rows were seen, and their digest.
    classes, sizes
        The digests of the classes of identical rows that were seen, and how many rows each has; none if the
        promise is not about these.
    own
        The values of their own that were seen in each column that is carried along.
    """

    def __init__(self, model: Model, reference: Reference, columns: pl.Schema) -> None:
        self._model, self._reference, self._columns = model, reference, columns
        quasi = [c.name for c in reference.schema.quasi]
        self._quasi = [name for name in columns if name in quasi]
        self._by_classes = model.crowd_kind == "classes"
        self._carried = carried_names(reference.schema)
        self.own: dict[str, OwnValues] = {name: OwnValues() for name in self._carried}
        self.rows, self.digest = 0, 0
        self.classes: NDArray[np.uint64] = np.empty(0, dtype=np.uint64)
        self.sizes: NDArray[np.int64] = np.empty(0, dtype=np.int64)

    def see(self, frame: pl.DataFrame) -> None:
        """Look at some rows.

        Raises
        ------
        InternalError
            If columns or values are not what they must be.
        """
        if frame.schema != self._columns:
            raise InternalError("the joined release has other columns than it should")
        self.rows += frame.height
        self.digest = total_digest((self.digest, digest_of(frame)))
        for column in self._reference.schema.quasi:
            if not self._within(frame[column.name].unique(), column):
                raise InternalError(f"the joined release has a value of {column.name!r} outside its domain")
        self.own = merged(self.own, seen_in(frame, self._carried))
        if self._by_classes:
            seen = np.concatenate((self.classes, frame.select(self._quasi).hash_rows(seed=0).to_numpy()))
            sizes = np.concatenate((self.sizes, np.ones(frame.height, dtype=np.int64)))
            self.classes, which = np.unique(seen, return_inverse=True)
            self.sizes = np.bincount(which, sizes).astype(np.int64)

    def passed(self, rows: int, digests: Sequence[int]) -> Classes | None:
        """Return the classes of identical rows, if the promise is about these, once all rows were seen.

        Parameters
        ----------
        rows
            How many rows there must be.
        digests
            The digests of the parts.

        Raises
        ------
        InternalError
            If rows are missing or there twice, or a class has fewer rows than was promised.
        """
        require_whole(self.rows, self.digest, rows, digests)
        if not self._by_classes:
            return None
        return classes_found(self._model, *tally(self.sizes))

    def _within(self, cells: pl.Series, column: Column) -> bool:
        """Return whether released cells speak of values that the table can have."""
        if column.kind.several:
            known = set(self._reference.items[column.name])
            lists = cells.to_list()
            return all(known.issuperset(notation.read_items(e) if isinstance(e, str) else e) for e in lists)
        domain = self._reference.domains.get(column.name)
        return column.kind.within_bounds(cells, column) if domain is None else domain.has_released(cells)


def require_whole(seen: int, digest: int, rows: int, digests: Iterable[int]) -> None:
    """Refuse a joined release in which rows are missing or there twice.

    Parameters
    ----------
    seen, digest
        How many rows it has, and their digest.
    rows, digests
        How many rows its parts have together, and the digest of each.
    """
    if seen != rows or digest != total_digest(digests):
        raise InternalError(f"the joined release has {seen} rows, not the {rows} of its blocks")


def classes_found(model: Model, sizes: NDArray[np.int64], often: NDArray[np.int64]) -> Classes:
    """Return the classes of identical rows, if none is smaller than was promised.

    Parameters
    ----------
    model
        The promise.
    sizes, often
        The sizes of classes, and how many have each.
    """
    if sizes.min() < model.crowd:
        raise InternalError(f"the joined release has a class of {sizes.min()} rows")
    return Classes(np.empty(0, dtype=np.int32), sizes, often)
