"""Joining the releases of blocks: all rows in one random order, and the checks of the whole."""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray
from polars.selectors import by_name

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
from shoal.kinds.hierarchy import MISSING
from shoal.methods import Progress
from shoal.models import Model
from shoal.release import Format
from shoal.schema import Column

TOGETHER = 400_000
"""The number of rows that are shuffled in memory at a time."""
MANY = 50
"""With more buckets than this, more rows are read at a time: each time takes a file for each bucket."""


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
    """Write the rows of all parts into one file, in a uniformly random order, with little memory.

    Each row goes into a random bucket; buckets are shuffled one at a time and written one after the other.

    Parameters
    ----------
    parts
        Parquet files, the rows of each in random order.
    rows
        The number of rows in all parts.
    file, form
        The file to write and its format.
    check
        Is shown every row that is written.
    randomness
        The source of the order.
    folder
        A folder for temporary files.
    progress
        Called with what is being done and the share of it that is done; may raise to cancel.
    categorical
        Columns of text that become categories: the values in all parts, ascending.
    """
    types = _categories(parts, categorical) if form == "parquet" else {}
    pieces: list[Path] = []
    for frame in _shuffled(parts, rows, randomness, folder, progress):
        check.see(frame)
        piece = private_file(folder / f"piece-{len(pieces)}.{form}")
        if form == "csv":
            write_csv(frame, piece, header=not pieces)
        else:
            write_parquet(frame.with_columns(frame[name].cast(each) for name, each in types.items()), piece)
        pieces.append(piece)
    if form == "parquet":
        with writing(file):
            pl.scan_parquet(pieces, glob=False).sink_parquet(file)
    else:
        _concatenate(pieces, file)


def _shuffled(
    parts: Sequence[Path], rows: int, randomness: Randomness, folder: Path, progress: Progress
) -> Iterator[pl.DataFrame]:
    """Yield all rows in random order, one bucket at a time."""
    buckets = max(1, -(-rows // TOGETHER))
    for number, files in enumerate(_scatter(parts, buckets, randomness, folder, progress)):
        progress("joining blocks", 0.5 + 0.5 * number / buckets)
        if not files:
            continue
        frame = pl.concat([pl.read_ipc(each) for each in files], rechunk=True)  # in one piece, rows move fast
        yield frame[randomness.permutation(frame.height)]
        for each in files:
            each.unlink()


def _concatenate(pieces: Sequence[Path], file: Path) -> None:
    """Write the bytes of all pieces into one file, and remove the pieces."""
    with file.open("wb") as out:
        for piece in pieces:
            with piece.open("rb") as opened:
                shutil.copyfileobj(opened, out)
            piece.unlink()


def _categories(parts: Sequence[Path], names: Sequence[str]) -> dict[Any, pl.DataType]:
    """Return a categorical type for each column: the values in all parts, ascending."""
    rows = pl.scan_parquet(list(parts), glob=False)
    return {
        name: pl.Enum(rows.select(by_name(name).drop_nulls().unique().sort()).collect().to_series())
        for name in names
    }


def _scatter(
    parts: Sequence[Path], buckets: int, randomness: Randomness, folder: Path, progress: Progress
) -> list[list[Path]]:
    """Put each row of all parts into a random bucket; return the files of each bucket.

    How many rows of a part go into each bucket is drawn as if each row drew its bucket. The rows of a part
    are in random order already, so the first ones can be those of the first bucket, and so on.
    """
    scattered: list[list[Path]] = [[] for _ in range(buckets)]
    for turn, group in enumerate(_groups(parts, TOGETHER if buckets <= MANY else 4 * TOGETHER)):
        progress("joining blocks", 0.5 * min(turn / buckets, 1.0))
        frames = [pl.read_parquet(part) for part in group]
        ends = [_ends(frame.height, buckets, randomness) for frame in frames]
        for number in range(buckets):
            pieces = [
                frame[int(end[number]) : int(end[number + 1])]
                for frame, end in zip(frames, ends, strict=True)
            ]
            if sum(piece.height for piece in pieces):
                file = private_file(folder / f"scattered-{number}-{turn}.arrow")
                pl.concat(pieces).write_ipc(file, compression="lz4")
                scattered[number].append(file)
    return scattered


def _ends(rows: int, buckets: int, randomness: Randomness) -> NDArray[np.int64]:
    """Return where the rows of each bucket end, and 0 before them, if each row draws its bucket."""
    drawn = (randomness.words(rows) % np.uint64(buckets)).astype(np.int64)
    return np.concatenate(([0], np.cumsum(np.bincount(drawn, minlength=buckets))))


def _groups(parts: Sequence[Path], wanted: int) -> Iterator[list[Path]]:
    """Yield groups of parts with about the wanted number of rows each."""
    group: list[Path] = []
    rows = 0
    for part in parts:
        group.append(part)
        rows += int(pl.scan_parquet(part, glob=False).select(pl.len()).collect().item())
        if rows >= wanted:
            yield group
            group, rows = [], 0
    if group:
        yield group


class Check:
    """Checks all rows of a release as they are written.

    Parameters
    ----------
    model
        The privacy model.
    reference
        The schema of the table and the values that its columns can have.
    columns
        The columns that the release must have, and their data types.

    Attributes
    ----------
    rows, digest
        The number of rows seen so far, and their digest.
    classes, sizes
        The digests of the equivalence classes seen so far, and the number of rows in each; empty if the model
        is not about classes.
    own
        The unique values seen in each carried column.
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
            seen = np.concatenate((self.classes, frame[self._quasi].hash_rows(seed=0).to_numpy()))
            sizes = np.concatenate((self.sizes, np.ones(frame.height, dtype=np.int64)))
            self.classes, which = np.unique(seen, return_inverse=True)
            self.sizes = np.bincount(which, sizes).astype(np.int64)

    def passed(self, rows: int, digests: Sequence[int]) -> Classes | None:
        """Return the equivalence classes, if the model is about these, after all rows were seen.

        Parameters
        ----------
        rows
            The number of rows that the release must have.
        digests
            The digests of the parts.

        Raises
        ------
        InternalError
            If rows are missing or repeated, or a class is smaller than the model allows.
        """
        require_whole(self.rows, self.digest, rows, digests)
        if not self._by_classes:
            return None
        return classes_found(self._model, *tally(self.sizes))

    def _within(self, cells: pl.Series, column: Column) -> bool:
        """Return whether released cells contain only values that the table can have."""
        if column.kind.several:
            known = set(self._reference.items[column.name])
            lists = cells.to_list()
            return all(known.issuperset(notation.read_items(e) if isinstance(e, str) else e) for e in lists)
        domain = self._reference.domains.get(column.name)
        if cells.dtype == pl.String:
            cells = cells.fill_null(MISSING)
        return column.kind.within_bounds(cells, column) if domain is None else domain.has_released(cells)


def require_whole(seen: int, digest: int, rows: int, digests: Iterable[int]) -> None:
    """Refuse a joined release in which rows are missing or repeated.

    Parameters
    ----------
    seen, digest
        The number of its rows, and their digest.
    rows, digests
        The number of rows in all parts, and the digest of each part.
    """
    if seen != rows or digest != total_digest(digests):
        raise InternalError(f"the joined release has {seen} rows, not the {rows} of its blocks")


def classes_found(model: Model, sizes: NDArray[np.int64], often: NDArray[np.int64]) -> Classes:
    """Return the equivalence classes; refuse those that are smaller than the model allows.

    Parameters
    ----------
    model
        The privacy model.
    sizes, often
        The sizes of classes, and the number of classes of each size.
    """
    if sizes.min() < model.crowd:
        raise InternalError(f"the joined release has a class of {sizes.min()} rows")
    return Classes(np.empty(0, dtype=np.int32), sizes, often)
