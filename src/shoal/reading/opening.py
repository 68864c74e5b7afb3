"""Opening a release: a folder, a file or a frame, with its codebook or a schema."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import narwhals.stable.v2 as nw
import polars as pl

from shoal.base.fresh_columns import readable
from shoal.errors import InputError, Reason
from shoal.files.access import is_file, is_folder
from shoal.files.reading import read_table
from shoal.reading.codebook import FILE, Codebook
from shoal.reading.joint import Estimator
from shoal.reading.reader import Reader

if TYPE_CHECKING:
    from shoal.models import Model
    from shoal.schema import Schema

TABLES = ("release.parquet", "release.csv")


def open_release(
    release: Any,
    schema: Schema | None = None,
    model: Model | None = None,
    *,
    codebook: Any = None,
    estimator: Estimator = "tight",
    seed: int = 0,
) -> Reader:
    """Return a reader that computes with a release, and needs nothing but the release.

    Parameters
    ----------
    release
        The folder of a release, its table as a file, or any frame that narwhals supports.
    schema
        For a release without a codebook: the schema of the original.
    model
        With a schema: the guarantee of the release. Without it, cells are not taken to be tight, as is right
        for releases of other tools.
    codebook
        For a frame or a file: the codebook, as a file, as data or from another reader. In a folder it is
        found.
    estimator
        How values are estimated: ``tight`` uses that all members of a set and both ends of an interval occur,
        and estimates all columns jointly; ``columns`` does the same for each column by itself; ``marginal``
        takes generalization to be random; ``even`` takes all values of a cell to be equally likely.
    seed
        Of the first guess of the joint estimate. The same seed gives the same answers.

    Raises
    ------
    InputError
        If the release cannot be read, or nothing describes its columns.

    Examples
    --------
    >>> from shoal.samples import hospital
    >>> patients = hospital(300)
    >>> schema = shoal.Schema.infer(patients, quasi=["age", "sex"], drop=["patient", "name"])
    >>> folder = shoal.anonymize(patients, schema, shoal.Freeform(k=5)).save("out")
    >>> answer = shoal.open_release(folder).count(age=(30, 39))
    >>> answer.certain <= answer.estimate <= answer.possible
    True
    """
    frame, found = released_table(release)
    if codebook is not None:
        book = _described(codebook)
    elif schema is not None:
        book = Codebook.of_schema(schema, model)
    elif found is not None:
        book = found
    else:
        raise InputError(
            f"nothing describes the columns of the release: it has no {FILE}; give its schema",
            reason=Reason.SCHEMA,
            parameter="schema",
        )
    return Reader(readable(nw.from_native(frame, eager_only=True)), book, estimator, seed)


def released_table(release: Any) -> tuple[Any, Codebook | None]:
    """Return a released table, and its codebook if there is one beside it."""
    if not isinstance(release, str | os.PathLike):
        return release, None
    path = Path(release)
    if not is_folder(path):
        return read_table(path), _beside(path)
    if path.name == TABLES[0]:  # Spark writes a folder of Parquet files
        return _parts(path), _beside(path)
    for name in TABLES:
        if is_folder(path / name):
            return _parts(path / name), _beside(path / name)
        if is_file(path / name):
            return read_table(path / name), _beside(path / name)
    raise InputError(
        f"there is no release in {path}: neither {TABLES[0]} nor {TABLES[1]}", reason=Reason.MISSING_FILE
    )


def _described(codebook: Any) -> Codebook:
    if isinstance(codebook, Codebook):
        return codebook
    return Codebook.from_dict(codebook) if isinstance(codebook, dict) else Codebook.from_file(Path(codebook))


def _parts(folder: Path) -> pl.DataFrame:
    return pl.read_parquet(sorted(folder.glob("*.parquet")))


def _beside(table: Path) -> Codebook | None:
    file = table.parent / FILE
    return Codebook.from_file(file) if is_file(file) else None
