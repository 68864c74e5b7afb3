"""Publishing: shuffle the rows, write generalized values, certify what was done, and save it all at once."""

from __future__ import annotations

import csv
import datetime
import hashlib
import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NoReturn, Self

import narwhals.stable.v2 as nw
import numpy as np
import polars as pl
from numpy.typing import NDArray

from shoal.auditing import Audit, audit_table
from shoal.base import fresh_columns
from shoal.base.randomness import Randomness
from shoal.errors import InputError, InternalError, Reason, listing
from shoal.files.reading import read_table
from shoal.files.staging import staged_folder
from shoal.files.writing import write_csv, write_parquet
from shoal.kinds.encoding import to_polars
from shoal.measures import Loss, measure
from shoal.models import Model
from shoal.recoding import Recoding
from shoal.recoding.assignment import random_assignment
from shoal.schema import Role, Schema, is_index
from shoal.table import Table

if TYPE_CHECKING:
    from shoal.report import Report

Format = Literal["csv", "parquet"]

RELEASE_FILES = (
    "release.csv",
    "release.parquet",
    "certificate.json",
    "report.html",
    "report.json",
    "key.csv",
)
"""All files that a saved release may consist of."""


KEY_COLUMNS = ("released_row", "original_row")
"""The columns of ``key.csv``; rows are counted from 1, without the header."""


@dataclass(frozen=True, eq=False)
class Release:
    """A table that may be published, with what was promised, lost and found.

    Made by `shoal.anonymize`; none exists that its audit has not passed.

    Parameters
    ----------
    recoding
        The generalized values of each record.
    rows
        The row of the recoding that each released row shows.
    order
        The record whose other columns each released row carries: the secret key.
    model
        The promise.
    loss
        What was lost.
    audit
        What the auditor found.
    circumstances
        How it was made: method, options, seed or not, time.
    """

    recoding: Recoding
    rows: NDArray[np.int64]
    order: NDArray[np.int64]
    model: Model
    loss: Loss
    audit: Audit
    circumstances: Mapping[str, Any]

    def __repr__(self) -> str:
        return (
            f"Release({len(self.order)} rows, {self.model!r}, method={self.circumstances['method']!r}, "
            f"gcp={self.loss.gcp:.4f})"
        )

    def __reduce_ex__(self, protocol: Any) -> NoReturn:
        raise TypeError(
            "a Release is not pickled, as it holds the secret key and the original records; pickle "
            "release.table and release.certificate instead, or write files with release.save"
        )

    def __copy__(self) -> Self:
        return self  # it is frozen

    def __deepcopy__(self, memo: Any) -> Self:
        return self

    def _repr_html_(self) -> str:
        return self.report.summary()

    @cached_property
    def table(self) -> Any:
        """The table to publish, a frame of the flavour that went in.

        Generalized values are text (``28..39``, ``a|b``, ``*``), in PyArrow tables typed values. All columns
        are built anew from the released values: categories are those that occur, in ascending order (in
        Polars an `Enum` of them), and no index, metadata or attribute of the input is copied.
        """
        return self._frame(typed=self.recoding.table.frame.implementation.is_pyarrow())

    @cached_property
    def certificate(self) -> dict[str, Any]:
        """What was promised, lost and found, as plain data; it holds no value of any record."""
        table = self.recoding.table
        return {
            "shoal": metadata.version("shoal"),
            "created": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
            "model": {"name": self.model.name, **self.model.parameters, "promise": self.model.sentence()},
            **self.circumstances,
            "rows": len(self.order),
            "left_out": table.left_out,
            "withheld": self.recoding.withheld,
            "columns": described_columns(table.schema),
            **({"account": dict(self.recoding.account)} if self.recoding.account else {}),
            "loss": self.loss.as_dict(),
            "audit": self.audit.as_dict(),
        }

    @cached_property
    def report(self) -> Report:
        """What the release is worth: a page, plain data and charts, without a value of any single record."""
        return self._report(self.certificate)

    def _report(self, certificate: Mapping[str, Any]) -> Report:
        from shoal.report import Material, Report  # late: not everybody asks for one

        return Report(
            Material(self.recoding, self.rows, self.order, self.model, self.loss, self.audit, certificate)
        )

    def plot(self, name: str | None = None) -> Any:
        """Return charts of the report as Altair's: one of them, or all, side by side.

        Parameters
        ----------
        name
            The name of a chart, such as ``crowds``, ``chances``, ``hiding``, ``loss`` or ``widths``;
            ``release.report.charts`` has all that apply.

        Raises
        ------
        InputError
            If there is no such chart.
        """
        return self.report.plot(name)

    def _frame(self, *, typed: bool) -> Any:
        """Return the frame to publish; typed values are audited, too, as nobody has looked at them yet."""
        frame = published(self.recoding, self.rows, self.order, typed=typed)
        if typed:
            _audited(self.recoding, frame, self.order, self.model)
        return frame

    def written(self, form: Format) -> pl.DataFrame:
        """Return the table to publish as it stands in a file of a format."""
        columns = _columns(self._frame(typed=form == "parquet"))
        frame = pl.DataFrame([fresh_columns.rebuilt(to_polars(column)) for column in columns])
        return _flat(frame) if form == "csv" else frame

    @property
    def key(self) -> NDArray[np.int64]:
        """The secret: for each released row, the position of its record in the input. Never publish it."""
        return self.recoding.table.rows[self.order]

    def save(
        self,
        folder: str | os.PathLike[str],
        *,
        format: Format = "csv",  # noqa: A002 - the word of the command line
        keep_key: bool = False,
        overwrite: bool = False,
    ) -> Path:
        """Write the release, its certificate and its report into a folder, all of it or nothing.

        Parameters
        ----------
        folder
            Where to; it must not exist or be empty.
        format
            Whether the release is text (``csv``) or typed (``parquet``).
        keep_key
            Whether to write ``key.csv``, readable by its owner only, which undoes the shuffle.
        overwrite
            Whether an earlier release in that folder is replaced.

        Raises
        ------
        InputError
            If the folder holds something else or cannot be written.
        """
        with staged_folder(folder, overwrite=overwrite, ours=RELEASE_FILES) as staging:
            self.write_files(staging, form=format, keep_key=keep_key)
        return Path(folder)

    def write_files(self, folder: Path, *, form: Format = "csv", keep_key: bool = False) -> Report:
        """Write the files of `save` into a folder that is there already; return the report among them."""
        require_format(form)
        file = folder / f"release.{form}"
        frame = self.written(form)
        write_csv(frame, file) if form == "csv" else write_parquet(frame, file)
        digest = hashlib.sha256(file.read_bytes()).hexdigest()
        certificate = {**self.certificate, "files": {file.name: {"sha256": digest}}}
        report = self._report(certificate)
        (folder / "report.html").write_text(report.html(), encoding="utf-8")
        for name, data in (("certificate", certificate), ("report", report.as_dict())):
            (folder / f"{name}.json").write_text(json.dumps(data, indent=2) + "\n", encoding="utf-8")
        if keep_key:
            _write_key(folder / "key.csv", self.key)
        return report


def require_format(form: str) -> None:
    """Refuse a format that releases are not written in."""
    if form not in ("csv", "parquet"):
        raise InputError(f"format {form!r} is unknown; it is csv or parquet", reason=Reason.PARAMETER)


def described_columns(schema: Schema) -> list[dict[str, Any]]:
    """Return what a certificate says of the columns."""
    return [
        {"name": c.name, "role": c.role.value}
        | (
            {
                "kind": c.kind.value,
                "weight": c.weight,
                "missing": c.missing.value,
                "hierarchy": c.hierarchy is not None,
            }
            if c.role is Role.QUASI
            else {}
        )
        for c in schema
    ]


def publish(
    recoding: Recoding, model: Model, randomness: Randomness, circumstances: Mapping[str, Any]
) -> Release:
    """Decide at random who gets which row, unless the method had to, shuffle the rows, and audit the result.

    Parameters
    ----------
    recoding
        What a method made of the table.
    model
        The promise it was made for.
    randomness
        Where the order of the rows comes from.
    circumstances
        How it was made, for the certificate.

    Raises
    ------
    InternalError
        If the audit finds that the promise does not hold: a method is wrong, and nothing is released.
    """
    rows = randomness.permutation(len(recoding.box))
    order = recoding.records[rows]
    if recoding.graph is not None:
        assignment = recoding.assignment
        if assignment is None:
            assignment = random_assignment(recoding.graph, randomness)
        order = assignment[rows].astype(np.int64)
    found = _audited(recoding, published(recoding, rows, order), order, model)
    if notes := [*circumstances.get("notes", ()), *_notes(recoding.table)]:
        circumstances = {**circumstances, "notes": notes}
    loss = measure(recoding, model.crowd, records_per_row=model.records_per_row)
    # Only the audit needs identifiers: what a release refers to has none.
    kept = replace(recoding, table=recoding.table.without_identifiers())
    return Release(kept, rows, order, model, loss, found, circumstances)


def _notes(table: Table) -> list[str]:
    """Return what a certificate says of columns that are released otherwise than one may expect."""
    names = [column.name for column in table.schema if column.role in (Role.SENSITIVE, Role.OTHER)]
    ordered = fresh_columns.orders_of_categories(table.frame, names)
    return [*index_notes(table.schema), *(_ORDER_LEFT_OUT.format(name=repr(name)) for name in ordered)]


def index_notes(schema: Schema) -> list[str]:
    """Return what a certificate says of the index of a pandas frame among the columns of a table."""
    return [
        f"Column {column.name!r} is the index of a pandas frame and was left out."
        for column in schema
        if column.role is Role.IDENTIFIER and is_index(column.name)
    ]


_ORDER_LEFT_OUT = (
    "The categories of column {name} are those that occur, in ascending order; the order that the input "
    "declared was left out."
)


def _audited(recoding: Recoding, frame: Any, order: NDArray[np.int64], model: Model) -> Audit:
    """Return the audit of a frame that is about to leave the house, or refuse to let it."""
    found = audit_table(recoding.table, frame, model, key=order)
    if not found.holds:
        raise InternalError(f"the audit refused a release: {found.verdict.rstrip('.')}")
    return found


def published(
    recoding: Recoding, rows: NDArray[np.int64], order: NDArray[np.int64], *, typed: bool = False
) -> Any:
    """Return the frame to publish: rows in a new order, identifiers gone, quasi-identifiers generalized.

    Parameters
    ----------
    recoding
        The generalized values.
    rows
        The row of the recoding that each released row shows.
    order
        The record whose other columns each released row carries.
    typed
        Whether generalized values are typed (structs, lists) instead of text.
    """
    table = recoding.table
    generalized = {
        attribute.column.name: values.columns(attribute.column.name, typed=typed)
        for attribute, values in zip(table.attributes, recoding.values, strict=True)
    }
    boxes = recoding.box[rows]
    columns: dict[str, Any] = {}
    for column in table.schema:
        if column.role is Role.QUASI:
            for written in generalized[column.name]:
                columns[written.name] = fresh_columns.in_flavour(written.gather(boxes), table.frame)
        elif column.role is not Role.IDENTIFIER:
            columns[column.name] = fresh_columns.gathered(table.frame[column.name], order)
    return fresh_columns.frame_of(columns, table.frame)


def _columns(frame: Any) -> list[nw.Series[Any]]:
    return list(nw.from_native(frame, eager_only=True).iter_columns())


def _flat(frame: pl.DataFrame) -> pl.DataFrame:
    """Return a frame without nested columns, which text files cannot hold: lists are joined by spaces."""
    return frame.with_columns(
        pl.col(name).cast(pl.List(pl.String)).list.join(" ") if isinstance(dtype, pl.List) else pl.col(name)
        for name, dtype in frame.schema.items()
    )


def read_key(path: str | Path) -> NDArray[np.int64]:
    """Read ``key.csv``: for each released row, the position (from 0) of its record in the input.

    Raises
    ------
    InputError
        If the file is not a key.
    """
    frame = read_table(path)
    columns = [frame[name].cast(pl.Int64, strict=False) for name in KEY_COLUMNS if name in frame.columns]
    if len(columns) != 2 or any(column.null_count() for column in columns):
        raise InputError(
            f"{path} is not a key: it must have whole numbers in the columns {listing(KEY_COLUMNS)}",
            reason=Reason.FILE_FORMAT,
        )
    return columns[1].gather(columns[0].arg_sort()).to_numpy() - 1


def _write_key(path: Path, key: NDArray[np.int64]) -> None:
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with open(descriptor, "w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(KEY_COLUMNS)
        writer.writerows(enumerate((int(row) + 1 for row in key), start=1))
