"""Publishing: shuffle the rows, write generalized values, audit, certify and save the release."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, NoReturn, Self, TypeVar

import narwhals.stable.v2 as nw
import numpy as np
import polars as pl
from narwhals.stable.v2.typing import IntoDataFrame
from numpy.typing import NDArray

from shoal.auditing import Audit, audit_table
from shoal.base import fresh_columns
from shoal.base.memory import give_back_memory
from shoal.base.randomness import Randomness
from shoal.errors import InfeasibleError, InternalError
from shoal.files.staging import staged_folder
from shoal.files.writing import without_formulas, write_csv, write_parquet
from shoal.measures import Loss, measure
from shoal.models import Model
from shoal.recoding import Recoding
from shoal.recoding.assignment import random_assignment
from shoal.release.certificate import Certificate, index_notes
from shoal.release.rendering import for_file, published
from shoal.release.saving import (
    COPIES,
    FOR_SPREADSHEETS,
    RELEASE_FILES,
    Format,
    into,
    require_format,
    sha256,
    write_copy,
    write_documents,
    write_key,
)
from shoal.release.survey_weights import coarse_weights, note_on_weights, with_coarse_weights
from shoal.schema import Role
from shoal.schema.repetition import repeated_identifiers
from shoal.table import Table

if TYPE_CHECKING:
    from typing_extensions import TypeVar as TypeVarWithDefault

    from shoal.reading import Reader
    from shoal.report import Detail, Report

    FrameT = TypeVarWithDefault("FrameT", bound=IntoDataFrame, default=Any)  # Release is Release[Any]
else:
    FrameT = TypeVar("FrameT")


@dataclass(frozen=True, eq=False)
class Release(Generic[FrameT]):
    """A released table, with its guarantee, information loss and audit.

    Made by `shoal.anonymize`. Every release has passed its audit; `publishable` says whether it may be
    published, and `warnings` what to know before.

    Parameters
    ----------
    recoding
        The generalized values of each record.
    rows
        The row of the recoding that each released row shows.
    order
        The record whose other columns each released row carries: the secret key.
    model
        The privacy model.
    loss
        The information loss.
    audit
        The result of the audit.
    circumstances
        How it was made: method, options, seed or not, time.
    shown, typed
        The frame that was audited, and whether its generalized values are typed instead of text.
    flavour
        Gives a table the type of a lazy input again; None if the input was in memory.
    audited
        The table it was audited against, with the records that were left out, and the share that may be.

    Examples
    --------
    >>> from shoal.samples import hospital
    >>> patients = hospital(100)
    >>> schema = shoal.Schema.infer(patients, quasi=["age", "sex"], drop=["patient", "name"])
    >>> release = shoal.anonymize(patients, schema, shoal.KAnonymity(k=5))
    >>> release.loss.gcp < 0.5
    True
    >>> release.save("out", format="parquet").name
    'out'
    """

    recoding: Recoding
    rows: NDArray[np.int64]
    order: NDArray[np.int64]
    model: Model
    loss: Loss
    audit: Audit
    circumstances: Mapping[str, Any]
    shown: Any
    typed: bool
    flavour: Callable[[Any], Any] | None = None
    audited: tuple[Table, float] | None = None

    def __repr__(self) -> str:
        return (
            f"Release({len(self.order)} rows, {self.model.call}, method={self.circumstances['method']!r}, "
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
    def table(self) -> FrameT:
        """The table to publish, a frame of the same type as the input.

        Generalized values are text (``28..39``, ``a|b``, ``*``), in PyArrow tables typed values. Items that
        were given as lists or sets are lists. All columns are built anew from the released values: categories
        are those that occur, in ascending order (in Polars an `Enum` of them), and no index, metadata or
        attribute of the input is copied.
        """
        frame = self._frame(typed=self.recoding.table.frame.implementation.is_pyarrow())
        # A copy: what is saved is what was audited, whatever becomes of this frame.
        table = nw.from_native(frame, eager_only=True).clone().to_native()
        given: FrameT = table if self.flavour is None else self.flavour(table)
        return given

    @cached_property
    def certified(self) -> Certificate:
        """The certificate."""
        table = self.recoding.table
        return Certificate(
            self.model,
            table.schema,
            self.circumstances,
            len(self.order),
            self.loss,
            self.audit,
            left_out=table.left_out,
            over_limit=table.over_limit,
            stranded=table.stranded,
            withheld=self.recoding.withheld,
            account=self.recoding.account,
        )

    @cached_property
    def certificate(self) -> dict[str, Any]:
        """The certificate as plain data, without a value of any record."""
        return self.certified.as_dict()

    @property
    def warnings(self) -> tuple[str, ...]:
        """All that those who decide on the release should know, as sentences, the most serious first."""
        return self.certified.warnings

    @property
    def publishable(self) -> bool:
        """Whether the release may be published; the certificate has the reasons if not."""
        return not self.certified.reasons_not_to_publish

    @cached_property
    def report(self) -> Report:
        """The report as a page, plain data and charts, without a value of any single record."""
        return self.certified.report(self._detail)

    @property
    def _detail(self) -> Detail:
        from shoal.report import Detail  # late: few callers ask for a report

        whole = None if self.audited is None else self.audited[0]
        return Detail(self.recoding, self.rows, self.order, self.reader, whole)

    def reader(self) -> Reader:
        """Return a reader that computes with the release, and knows nothing else; see `open_release`."""
        from shoal.reading import open_release  # late: few callers need it

        form: Format = "parquet" if self.typed else "csv"  # the one that is rendered already
        return open_release(self.written(form), codebook=self.certified.codebook())

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
        """Return the frame to publish that was audited, with typed values or text."""
        return self.shown if typed is self.typed else self._other

    @cached_property
    def _other(self) -> Any:
        """The frame to publish in the other form, which is audited before it is returned."""
        whole, leave_out = self.audited or (self.recoding.table, 0.0)
        form = _Form(self.recoding, self.rows, self.order, self.model, whole, leave_out)
        return form.audited(typed=not self.typed)[0]

    def written(self, form: Format) -> pl.DataFrame:
        """Return the table to publish as a file of this format contains it."""
        typed = form == "parquet"
        items = [
            name
            for column in self.recoding.table.schema.quasi
            if column.kind.several
            for name in column.kind.released_columns(column.name)
        ]
        return for_file(self._frame(typed=typed), nested=typed, items=items, fresh=True)

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
        safe_for_spreadsheets: bool = False,
    ) -> Path:
        """Write the release, its certificate and its report into a folder, all of it or nothing.

        Parameters
        ----------
        folder
            The folder to write; it must not exist, or be empty.
        format
            Whether the release is text (``csv``) or typed (``parquet``); ``xlsx``, ``sav`` and ``dta`` are a
            copy for Excel, SPSS or Stata beside ``release.csv``.
        keep_key
            Whether to write ``key.csv``, readable by its owner only, which undoes the shuffle.
        overwrite
            Whether an earlier release in that folder is replaced.
        safe_for_spreadsheets
            Whether to write also a copy in which no cell can be taken for a formula by a spreadsheet.

        Raises
        ------
        InputError
            If the folder holds something else or cannot be written.
        """
        with staged_folder(folder, overwrite=overwrite, ours=RELEASE_FILES) as staging:
            self.write_files(
                staging, form=format, keep_key=keep_key, safe_for_spreadsheets=safe_for_spreadsheets
            )
        return Path(folder)

    def write_files(
        self,
        folder: Path,
        *,
        form: Format = "csv",
        keep_key: bool = False,
        safe_for_spreadsheets: bool = False,
    ) -> Report:
        """Write the files of `save` into an existing folder, and return the report."""
        require_format(form, copies=True)
        file = folder / ("release.parquet" if form == "parquet" else "release.csv")
        frame = self.written(form)
        write_parquet(frame, file) if form == "parquet" else write_csv(frame, file)
        files = [file]
        if form in COPIES:
            files.append(folder / f"release.{form}")
            write_copy(files[-1], frame, self.written("parquet"), self.recoding.table.schema.labels)
        if safe_for_spreadsheets:
            files.append(folder / FOR_SPREADSHEETS)
            write_csv(without_formulas(self.written("csv")), files[-1])
        certificate = replace(self.certified, files={each.name: sha256(each) for each in files})
        report = certificate.report(self._detail)
        write_documents(report, certificate.codebook(), into(folder))
        if keep_key:
            write_key(folder / "key.csv", self.key)
        return report


def publish(
    recoding: Recoding,
    model: Model,
    randomness: Randomness,
    circumstances: Mapping[str, Any],
    *,
    typed: bool | None = None,
    whole: Table | None = None,
    leave_out: float = 0.0,
) -> Release:
    """Assign records to rows at random, unless the method did, shuffle the rows, and audit the result.

    Parameters
    ----------
    recoding
        The result of a method.
    model
        The privacy model.
    randomness
        The source of the order of the rows.
    circumstances
        How it was made, for the certificate.
    typed
        Whether the frame that is audited has typed values; by default if PyArrow is the flavour of the table.
        The other form is rendered and audited when it is asked for.
    whole
        The table with the records that were left out because of limits; the recoded one if omitted.
    leave_out
        The largest share of it that may be left out.

    Raises
    ------
    InternalError
        If the audit finds that the guarantee does not hold: a method is wrong, and nothing is released.
    InfeasibleError
        If it holds as text only, and the frame is typed.
    """
    coarse = coarse_weights(recoding.table, model)
    if coarse is not None:
        same = whole is None or whole is recoding.table
        recoding = replace(recoding, table=with_coarse_weights(recoding.table, coarse))
        whole = recoding.table if same or whole is None else with_coarse_weights(whole, coarse)
    rows = randomness.permutation(len(recoding.box))
    order = _records_of(recoding, rows, randomness)
    if typed is None:
        typed = recoding.table.frame.implementation.is_pyarrow()
    form = _Form(recoding, rows, order, model, whole or recoding.table, leave_out)
    frame, found = form.audited(typed=typed)
    notes = [*circumstances.get("notes", ()), *_notes(recoding.table)]
    if notes := [*notes, *note_on_weights(recoding.table, coarse, model)]:
        circumstances = {**circumstances, "notes": notes}
    if several := repeated_identifiers(recoding.table.frame, recoding.table.schema):
        circumstances = {**circumstances, "warnings": several}
    give_back_memory(len(recoding.table))
    loss = measure(recoding, model.crowd, records_per_row=model.records_per_row)
    give_back_memory(len(recoding.table))
    # Only the audit needs identifiers: what a release refers to has none.
    kept = replace(recoding, table=recoding.table.without_identifiers())
    audited = (whole.without_identifiers(), leave_out) if whole is not None and leave_out else None
    return Release(kept, rows, order, model, loss, found, circumstances, frame, typed, audited=audited)


def _notes(table: Table) -> list[str]:
    """Return notes for the certificate on columns that are released in an unexpected way."""
    names = [column.name for column in table.schema if column.role in (Role.SENSITIVE, Role.OTHER)]
    ordered = fresh_columns.orders_of_categories(table.frame, names)
    return [
        *index_notes(table.schema),
        *(_ORDER_LEFT_OUT.format(name=repr(name)) for name in ordered),
    ]


_ORDER_LEFT_OUT = (
    "The categories of column {name} are those that occur, in ascending order; the order that the input "
    "declared was left out."
)


def _records_of(recoding: Recoding, rows: NDArray[np.int64], randomness: Randomness) -> NDArray[np.int64]:
    """Return the record that each row carries: drawn at random if rows are free to carry others."""
    if recoding.graph is None:
        return recoding.records[rows]
    assignment = recoding.assignment
    if assignment is None:
        assignment = random_assignment(recoding.graph, randomness)
    return assignment[rows].astype(np.int64)


@dataclass(frozen=True)
class _Form:
    """What is to be released, as text or typed."""

    recoding: Recoding
    rows: NDArray[np.int64]
    order: NDArray[np.int64]
    model: Model
    whole: Table
    leave_out: float

    def audited(self, *, typed: bool) -> tuple[Any, Audit]:
        """Return the frame to publish and its audit.

        Raises
        ------
        InternalError
            If the audit fails.
        InfeasibleError
            If the audit fails for typed cells alone, which name all values of the table where a text has
            ``*``, and the guarantee is about a population that has others.
        """
        frame, found = self._judged(typed=typed)
        if found.holds:
            return frame, found
        if typed and self.model.needs_population and self._judged(typed=False)[1].holds:
            raise InfeasibleError(
                f"{self.model.name} is achievable as text only: typed cells name all values of the table, "
                "where a text has *, so they cover fewer people of the population; make the release as text"
            )
        raise InternalError(f"the audit refused a release: {found.verdict.rstrip('.')}")

    def _judged(self, *, typed: bool) -> tuple[Any, Audit]:
        own, whole = self.recoding.table, self.whole
        frame = published(self.recoding, self.rows, self.order, typed=typed)
        key = self.order if whole is own else np.searchsorted(whole.rows, own.rows[self.order])
        return frame, audit_table(whole, frame, self.model, key=key, leave_out=self.leave_out)
