"""The engine for tables that do not fit into memory: blocks on disk, some at a time, joined in one order.

Everything that is spilled lies in a working folder that only its owner can read. A run that was broken off
leaves it behind, and the same call goes on where that one was; whatever is finished stays finished. A run
that was refused leaves nothing.
"""

from __future__ import annotations

import hashlib
import json
import os
import pickle
import shutil
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, replace
from functools import cached_property
from importlib import metadata
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shoal.auditing import Audit
from shoal.base.randomness import Randomness
from shoal.engines.blocks import (
    BLOCK_ROWS,
    SAMPLE,
    BlockFacts,
    Call,
    Task,
    anonymize_block,
    call_for,
    categorical_columns,
    joined_certificate,
    release_schema,
)
from shoal.engines.cutting import CutTree
from shoal.engines.domains import Reference, Reservoir, Summary, reference, summarize
from shoal.engines.joining import Check, join
from shoal.engines.workers import DIED, PARALLEL, Crew, failure, tell
from shoal.engines.workspace import (
    PLAN,
    default_folder,
    emptied,
    private_file,
    unfinished,
    workspace,
    write_whole,
)
from shoal.errors import InputError, Reason
from shoal.files.staging import staged_folder
from shoal.files.streams import Source, open_source
from shoal.files.writing import write_parquet
from shoal.measures import Loss
from shoal.methods import Progress, method_for, require_options, silent
from shoal.models import Model
from shoal.release import RELEASE_FILES, Certificate, Format, into, require_format, sha256, write_documents
from shoal.report import Report
from shoal.schema import Schema

MEMORY_ROWS = 500_000
"""Tables of more rows are cut into blocks unless told otherwise: time grows faster than they do."""
SMALL = 1 << 22
"""Files of fewer bytes are small, whatever they hold."""
MEMORY_SHARE = 0.05
"""So are files larger than this share of the memory that the machine has."""
BUFFERED = 500_000
"""Number of rows that are held back before they are written to their blocks."""
PART, FACTS = "part.parquet", "facts.pickle"
_WORKER = "from shoal.engines.on_disk import answer; answer()"


@dataclass(frozen=True, eq=False)
class BlockedRelease:
    """A release that was made block by block and written to a folder.

    Parameters
    ----------
    folder
        Where its files are.
    certified
        What was promised, lost and found.

    Examples
    --------
    >>> from shoal.samples import hospital
    >>> patients = hospital(100)
    >>> schema = shoal.Schema.infer(patients, quasi=["age", "sex"], drop=["patient", "name"])
    >>> patients.write_csv("patients.csv")
    >>> release = shoal.anonymize_file("patients.csv", schema, shoal.KAnonymity(k=5), "out", jobs=1)
    >>> release.certificate["rows"]
    100
    """

    folder: Path | str
    certified: Certificate

    def __repr__(self) -> str:
        return (
            f"{type(self).__name__}({self.certified.rows} rows, {self.model!r}, "
            f"blocks={self.certified.engine['blocks']}, gcp={self.loss.gcp:.4f})"
        )

    @cached_property
    def certificate(self) -> dict[str, Any]:
        """What was promised, lost and found, as plain data; it holds no value of any record."""
        return self.certified.as_dict()

    @property
    def model(self) -> Model:
        """The promise."""
        return self.certified.model

    @property
    def loss(self) -> Loss:
        """What was lost; figures that only the whole table tells are None."""
        return self.certified.loss

    @property
    def audit(self) -> Audit:
        """What the auditor found; levels are those of the worst block."""
        return self.certified.audit

    @cached_property
    def report(self) -> Report:
        """What the release is worth: a page, plain data and charts, as far as blocks tell."""
        return self.certified.report()


def exceeds_memory(source: Source) -> bool:
    """Return whether a table is so large that it is better cut into blocks than worked on at once."""
    if source.size < SMALL:
        return False
    memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return source.rows_about() > MEMORY_ROWS or source.size > MEMORY_SHARE * memory


def anonymize_file(
    path: str | os.PathLike[str] | Sequence[str | os.PathLike[str]] | Source,
    schema: Schema,
    model: Model,
    output: str | os.PathLike[str],
    *,
    delimiter: str | None = None,
    encoding: str | None = None,
    format: Format = "csv",  # noqa: A002 - the word of the command line
    method: str | None = None,
    seed: int | None = None,
    block_rows: int = BLOCK_ROWS,
    jobs: int | None = None,
    work: str | os.PathLike[str] | None = None,
    fresh: bool = False,
    overwrite: bool = False,
    strict: bool = False,
    progress: Progress = silent,
    **options: Any,
) -> BlockedRelease:
    """Make a release of a table of any size, from files to files, block by block.

    Parameters
    ----------
    path
        A file, several files of one schema, or a folder of them, in any format that `read_table` reads; or a
        table that is already open.
    schema
        What its columns are.
    model
        The promise.
    output
        The folder for the release; it appears when all is done.
    delimiter, encoding
        Delimiter and encoding of text files, as for `read_table`.
    format
        Whether the release is text (``csv``) or typed (``parquet``).
    method, seed
        As for `anonymize`.
    block_rows
        How many records a block has, about; not fewer than some crowds.
    jobs
        How many blocks are worked on at a time; one for each core by default.
    work
        The folder for what is spilled, which is personal data: readable by its owner only, and removed at the
        end, also if the call is refused. By default beside `output`. It stays only if the run is interrupted
        while blocks are worked on; the error then says so, and the same call goes on from there.
    fresh
        Whether to begin anew, and remove what another call left in `work`.
    overwrite
        Whether an earlier release in `output` is replaced.
    strict
        Whether to write nothing if the promise holds, but a column that is carried along could identify.
    progress
        Called with what is being done and the share of it that is done; may raise to cancel.
    **options
        Options of the method, as for `anonymize`.

    Returns
    -------
    BlockedRelease
        A release of which the auditor has passed every block.

    Raises
    ------
    InputError
        If files, schema or options are wrong, or cutting the table could break the promise.
    InfeasibleError
        If no release of this table can keep the promise.
    PromiseError
        If the audit has a warning, and `strict` is set.

    Examples
    --------
    >>> from shoal.samples import hospital
    >>> hospital(200).write_csv("patients.csv")
    >>> schema = shoal.scan(shoal.read_table("patients.csv")).schema
    >>> release = shoal.anonymize_file("patients.csv", schema, shoal.KAnonymity(k=5), "out", jobs=1)
    >>> release.certificate["audit"]["k"] >= 5
    True
    """
    require_format(format)
    if jobs is not None and jobs < 1:
        raise InputError(f"jobs = {jobs} is below 1", reason=Reason.PARAMETER, parameter="jobs")
    require_options(*method_for(model, method), options)
    source = path if isinstance(path, Source) else open_source(path, delimiter=delimiter, encoding=encoding)
    call = call_for(
        source.head.columns,
        schema,
        model,
        method=method,
        options=options,
        seed=seed,
        block_rows=block_rows,
    )
    output = Path(output)
    folder = Path(os.path.realpath(work)) if work is not None else default_folder(output)
    with (
        staged_folder(output, overwrite=overwrite, ours=RELEASE_FILES) as staging,
        workspace(folder, _fingerprint(call, source, format), fresh=fresh, progress=progress) as opened,
    ):
        run = _Run(call, source, format, folder, jobs or os.cpu_count() or 1, opened.progress)
        certificate = run.finished(staging)
        if strict:
            certificate.audit.require(strict=True)
    return BlockedRelease(output, certificate)


def _fingerprint(call: Call, source: Source, form: Format) -> str:
    """Return what changes when anything does that the result depends on."""
    said = [
        metadata.version("shoal"),
        source.fingerprint,
        [source.delimiter, source.encoding],
        call.schema.to_toml(),
        [call.model.name, call.model.parameters],
        [method_for(call.model, call.method)[0], dict(call.options)],
        [call.seed, form, call.block_rows],
    ]
    return hashlib.sha256(json.dumps(said, sort_keys=True, default=str).encode()).hexdigest()


@dataclass(frozen=True, eq=False)
class _Plan:
    """How a table is divided.

    Parameters
    ----------
    summary
        What it has.
    columns
        Its columns and their data types.
    task
        What to do with each block.
    tree
        Which record belongs to which block.
    counts
        How many records each block has.
    """

    summary: Summary
    columns: pl.Schema
    task: Task
    tree: CutTree
    counts: tuple[int, ...]


class _Run:
    """A run of the engine.

    Parameters
    ----------
    call
        What to do.
    source
        The table.
    form
        The format of the release.
    folder
        The working folder.
    jobs
        How many blocks are worked on at a time.
    progress
        Whom to tell.
    """

    def __init__(
        self, call: Call, source: Source, form: Format, folder: Path, jobs: int, progress: Progress
    ) -> None:
        self.call, self.source, self.form = call, source, form
        self.folder, self.jobs, self.progress = folder, jobs, progress
        self.schema = call.kept
        self.randomness = Randomness(call.seed)

    def finished(self, staging: Path) -> Certificate:
        """Do all that is left to do, write the files of the release, and return its certificate."""
        started = time.perf_counter()
        call = self.call
        plan = self._plan()
        units = self._worked(plan)
        facts = [_facts_of(self._done(unit)) for unit in units]
        rows = sum(each.rows for each in facts)
        file = staging / f"release.{self.form}"
        columns = release_schema(plan.columns, plan.task.reference, self.form)
        check = Check(call.model, plan.task.reference, columns)
        parts = [self._done(unit) / PART for unit in units]
        aside = emptied(self.folder / "join")
        named = categorical_columns(plan.columns, plan.task.reference)
        join(parts, rows, file, self.form, check, self.randomness, aside, self.progress, named)
        classes = check.passed(rows, [each.digest for each in facts])
        certificate = joined_certificate(
            call.schema,
            plan.task,
            facts,
            classes,
            check.own,
            summary=plan.summary,
            seconds=time.perf_counter() - started,
            engine={"name": "blocks", "jobs": self.jobs},
        )
        certificate = replace(certificate, files={file.name: sha256(file)})
        write_documents(certificate.report(), into(staging))
        return certificate

    def _plan(self) -> _Plan:
        """Return how the table is divided, and spill it into its blocks, unless that was done before."""
        file = self.folder / PLAN
        if file.exists():
            with file.open("rb") as opened:
                known: _Plan = pickle.load(opened)
            return known
        call = self.call
        summary, sample, columns = self._summarized()
        agreed = reference(summary, self.schema)
        tree = call.tree(sample, agreed, summary.rows)
        counts = self._spilled(agreed, tree, summary.rows)
        task = call.task(agreed, self.form)
        write_whole(self.folder / "task.pickle", pickle.dumps(task))
        plan = _Plan(summary, columns, task, tree, counts)
        self._remember(tree.units(counts, call.least))
        write_whole(file, pickle.dumps(plan))
        return plan

    def _summarized(self) -> tuple[Summary, pl.DataFrame, pl.Schema]:
        """Return what the table has, a sample of its quasi-identifiers, and the types of its columns."""
        summary, seen = Summary(), 0
        reservoir = Reservoir(SAMPLE, self.randomness)
        names = [column.name for column in self.schema.quasi]
        columns = pl.Schema()
        for batch in self._batches():
            self.progress("reading values", 0.0)
            columns = batch.schema
            part, kept = summarize(batch, self.schema, first_row=seen)
            summary, seen = summary.merged(part), seen + batch.height
            reservoir.add(kept.select(names))
        return summary, reservoir.sample, columns

    def _batches(self) -> Iterator[pl.DataFrame]:
        """Yield the table without its identifiers."""
        for batch in self.source.batches():
            yield batch.select(self.schema.names)

    def _spilled(self, agreed: Reference, tree: CutTree, rows: int) -> tuple[int, ...]:
        """Write each record to its block, and return how many each has."""
        folder = emptied(self.folder / "blocks")
        counts = np.zeros(len(tree), dtype=np.int64)
        held: list[pl.DataFrame] = []
        blocks: list[NDArray[np.int32]] = []
        turn = 0
        for batch in chain(self._batches(), [None]):
            table = None if batch is None else agreed.encode(batch)
            if table is not None:
                held.append(table.frame.to_native())
                blocks.append(tree.blocks_of(table, self.randomness))
            if held and (batch is None or sum(map(len, held)) >= BUFFERED):
                _append(folder, turn, pl.concat(held), np.concatenate(blocks))
                counts += np.bincount(np.concatenate(blocks), minlength=len(tree))
                held, blocks, turn = [], [], turn + 1
                self.progress("dividing into blocks", float(counts.sum()) / rows)
        return tuple(counts.tolist())

    def _worked(self, plan: _Plan) -> list[range]:
        """Make the releases of all blocks that are not finished, and return what was worked on together.

        What cannot keep the promise alone is united with the part that it was cut from, and tried again.
        """
        units = [range(first, last) for first, last in json.loads((self.folder / "units.json").read_text())]
        share = str(max(1, (os.cpu_count() or 1) // self.jobs))
        crew = Crew(environment=dict.fromkeys(PARALLEL, share))
        waiting: dict[Future[dict[str, Any]], range] = {}

        def begin(unit: range) -> None:
            task = pickle.dumps((str(self.folder), unit))
            waiting[pool.submit(crew.ask, _WORKER, task)] = unit

        with ThreadPoolExecutor(self.jobs) as pool:
            try:
                # The largest take longest: begun first, they do not run alone at the end.
                left = [unit for unit in units if not self._done(unit).exists()]
                for unit in sorted(left, key=lambda unit: -sum(plan.counts[unit.start : unit.stop])):
                    begin(unit)
                while waiting:
                    finished = sum(self._done(unit).exists() for unit in units)
                    self.progress(f"{finished} of {len(units)} blocks", finished / len(units))
                    for done in wait(waiting, return_when=FIRST_COMPLETED).done:
                        unit, told = waiting.pop(done), done.result()
                        if unit not in units or "reason" not in told:
                            continue  # it belongs to a larger one by now, or all is well
                        wider = _wider(plan.tree, unit, told)
                        for future in [f for f, other in waiting.items() if other.start in wider]:
                            if future.cancel():
                                del waiting[future]
                        units = sorted(
                            [*(each for each in units if each.start not in wider), wider],
                            key=lambda each: each.start,
                        )
                        self._remember(units)
                        begin(wider)
            except BaseException:
                pool.shutdown(wait=False, cancel_futures=True)
                crew.stop()
                raise
        return units

    def _remember(self, units: Sequence[range]) -> None:
        ends = [(unit.start, unit.stop) for unit in units]
        write_whole(self.folder / "units.json", json.dumps(ends).encode())

    def _done(self, unit: range) -> Path:
        return _folder_of(self.folder, unit)


def answer() -> None:
    """Make the release of the block that stdin names: what a process of the crew does."""

    def work() -> dict[str, Any]:
        folder, unit = pickle.load(sys.stdin.buffer)
        release_unit(Path(folder), unit)
        return {}

    tell(work)


def release_unit(folder: Path, unit: range) -> None:
    """Make the release of some blocks together, and put it and its facts beside them in one step.

    Parameters
    ----------
    folder
        The working folder.
    unit
        The blocks.

    Raises
    ------
    InfeasibleError
        If no release of them can keep the promise.
    """
    with (folder / "task.pickle").open("rb") as opened:
        task: Task = pickle.load(opened)
    files = [file for block in unit for file in sorted((folder / "blocks" / str(block)).glob("*.arrow"))]
    frame = pl.concat([pl.read_ipc(file) for file in files])
    release, facts = anonymize_block(frame, task, unit.start)
    done = _folder_of(folder, unit)
    try:
        done.parent.mkdir(mode=0o700, exist_ok=True)
        # Another process may be at the same blocks, if a run was killed and begun again: one of both is kept.
        aside = Path(tempfile.mkdtemp(dir=folder))
        try:
            write_parquet(release, private_file(aside / PART))
            write_whole(aside / FACTS, pickle.dumps(facts))
            if not done.exists():
                aside.rename(done)
        finally:
            shutil.rmtree(aside, ignore_errors=True)
    except OSError as error:
        if not done.exists():
            raise InputError(
                f"a block cannot be written: {(error.strerror or str(error)).lower()}",
                reason=Reason.OUTPUT_UNWRITABLE,
            ) from error


def _folder_of(folder: Path, unit: range) -> Path:
    return folder / "done" / f"{unit.start}-{unit.stop}"


def _facts_of(done: Path) -> BlockFacts:
    with (done / FACTS).open("rb") as opened:
        facts: BlockFacts = pickle.load(opened)
    return facts


def _wider(tree: CutTree, unit: range, told: Mapping[str, Any]) -> range:
    """Return what a block that cannot keep the promise alone is united to, or raise why it failed."""
    if told["reason"] == DIED:
        raise unfinished(
            f"a block's worker process died, perhaps for lack of memory ({told['message']}); call again with "
            "fewer jobs to go on with what is finished, or begin anew with smaller blocks"
        )
    wider = tree.wider(unit)
    if told["reason"] != Reason.INFEASIBLE or wider is None:
        raise failure(told)
    return wider


def _append(folder: Path, turn: int, frame: pl.DataFrame, blocks: NDArray[np.int32]) -> None:
    """Write records to a file in the folder of each block."""
    order = np.argsort(blocks, kind="stable")
    frame, blocks = frame[order], blocks[order]
    starts = np.flatnonzero(np.diff(blocks, prepend=-1))
    for start, stop in zip(starts, [*starts[1:], len(blocks)], strict=True):
        place = folder / str(blocks[start])
        place.mkdir(mode=0o700, exist_ok=True)
        file = private_file(place / f"{turn:06}.arrow")
        frame[int(start) : int(stop)].write_ipc(file, compression="lz4")
