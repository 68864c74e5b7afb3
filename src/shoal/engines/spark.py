"""The engine for tables in a lake: the same blocks as on one machine, worked on by Spark.

Rows stay with Spark: the driver sees summaries, a sample of bounded size, and the facts of each block. What
is drawn at random is written to a working folder before anything is made of it, and Spark keeps one attempt
of each task that writes: a task that runs again never mixes its draws with those of an earlier attempt.
"""

from __future__ import annotations

import json
import os
import pickle
import secrets
import time
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from itertools import takewhile
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
import polars as pl

from shoal.engines.blocks import (
    Facts,
    Task,
    anonymize_block,
    block_size,
    joined_certificate,
    joined_crowds,
    least_rows,
    must_lie_apart,
    release_schema,
    seed_of,
)
from shoal.engines.cuts import CutTree, cut_tree
from shoal.engines.joining import Check, classes_found, require_whole
from shoal.engines.large import BLOCK_ROWS, PARALLEL, SAMPLE, BlockedRelease
from shoal.engines.session import require_spark
from shoal.engines.spark_files import (
    address_of,
    digests,
    private_folder,
    read_files,
    staged_output,
    write_text,
)
from shoal.engines.statistics import Reference, Summary, reference, summarize
from shoal.errors import InfeasibleError, InputError, InternalError, Reason, ShoalError, listing
from shoal.methods import Progress, method_for, require_options, silent
from shoal.models import Model
from shoal.randomness import Randomness
from shoal.release import RELEASE_FILES
from shoal.report import outline
from shoal.schema import Kind, Role, Schema, merged_kinds
from shoal.table import Table

if TYPE_CHECKING:
    from pyspark import SparkContext
    from pyspark.sql import DataFrame, DataFrameWriter, SparkSession
    from pyspark.sql.types import StructType

TOGETHER = 100_000
"""A task looks at so many rows at a time."""
SUMMARIES = 16
"""So many summaries reach the driver, each of a part of the table."""
RELEASE = "release.parquet"
_UNIT, _PLACE, _TOLD, _POSITION, _BLOCK = "unit", "place", "told", "position", "block"

_Result = TypeVar("_Result")


@dataclass(frozen=True, eq=False, repr=False)
class SparkRelease(BlockedRelease):
    """A release that Spark made block by block and wrote to a folder.

    Parameters
    ----------
    model, folder, certificate
        As of `BlockedRelease`; the folder may also be an address.
    session
        The Spark that made it.
    """

    session: SparkSession

    @property
    def table(self) -> DataFrame:
        """The table to publish, as it stands in the folder."""
        return self.session.read.parquet(f"{address_of(self.folder)}/{RELEASE}")


def anonymize_spark(
    table: DataFrame | str | os.PathLike[str] | Sequence[str | os.PathLike[str]],
    schema: Schema,
    model: Model,
    output: str | os.PathLike[str],
    *,
    session: SparkSession | None = None,
    delimiter: str | None = None,
    encoding: str | None = None,
    method: str | None = None,
    seed: int | None = None,
    block_rows: int = BLOCK_ROWS,
    work: str | os.PathLike[str] | None = None,
    overwrite: bool = False,
    progress: Progress = silent,
    **options: Any,
) -> SparkRelease:
    """Make a release of a table with Spark, block by block.

    Parameters
    ----------
    table
        A Spark frame, or files or folders of delimited text or Parquet, as paths that all workers see or as
        addresses such as ``s3a://bucket/table``. It is read three times: a frame must be the same each time.
    schema
        What its columns are.
    model, method, seed, **options
        As for `anonymize`.
    output
        The folder for the release, a path that all workers see or an address; it appears when all is done.
        The release in it is Parquet, in several files, in random order over all of them.
    session
        The Spark that reads files; by default the active one.
    delimiter, encoding
        Of text files, as for `read_table`.
    block_rows
        How many records a block has, about; not fewer than some crowds.
    work
        The folder in which to keep rows meanwhile, which are personal data; readable by its owner only, and
        removed at the end. By default beside `output`.
    overwrite
        Whether an earlier release in `output` is replaced.
    progress
        Called with what is being done and the share of it that is done; may raise to cancel.

    Returns
    -------
    SparkRelease
        A release of which the auditor has passed every block.

    Raises
    ------
    InputError
        If the table, the schema or the options are wrong, cutting the table could break the promise, or Spark
        is not there or fails.
    InfeasibleError
        If no release of this table can keep the promise.
    """
    require_spark()
    require_options(*method_for(model, method), options)
    from pyspark.sql import DataFrame

    if isinstance(table, DataFrame):
        session = table.sparkSession
    session = session or _active_session()
    with ExitStack() as stack:
        stack.enter_context(_failures_explained())
        stack.enter_context(_prepared(session))
        if not isinstance(table, DataFrame):
            table = read_files(session, table, delimiter=delimiter, encoding=encoding)
        _require_different(table.columns)
        completed = schema.completed(table.columns)
        must_lie_apart(model, completed)
        size = block_size(block_rows, model)
        call = _Call(table, completed, model, method, options, seed, size)
        staging = stack.enter_context(staged_output(session, output, overwrite=overwrite, ours=RELEASE_FILES))
        beside = output if work is None else f"{os.fspath(work)}/shoal"
        folder = stack.enter_context(private_folder(session, beside))
        certificate = _Run(call, session, folder, progress).finished(staging)
    return SparkRelease(model, os.fspath(output), certificate, session)


def kinds_in(table: DataFrame, missing_marks: Sequence[str] = ()) -> dict[str, Kind]:
    """Return the kinds of all columns of a Spark frame with values, as `merged_kinds` does.

    Parameters
    ----------
    table
        The table.
    missing_marks
        Texts that mean "missing".
    """
    names = table.columns

    def look(batches: Iterator[Any]) -> Iterator[Any]:
        kinds = merged_kinds((_named(frame, names) for frame in _frames(batches)), missing_marks)
        yield _batch({"kinds": [json.dumps(kinds)]})

    found: dict[str, Kind] = {}
    with _failures_explained(), _prepared(table.sparkSession):
        for row in _plain(table).mapInArrow(look, "kinds string").collect():
            for name, text in json.loads(row["kinds"]).items():
                kind = Kind(text)
                found[name] = kind if found.get(name, kind) is kind else Kind.CATEGORICAL
    return found


def headings(table: DataFrame, names: Sequence[str] | None = None) -> pl.DataFrame:
    """Return a frame without rows that has the columns of a Spark frame.

    Parameters
    ----------
    table
        The frame.
    names
        What its columns are to be called; as they are, if not given.

    Raises
    ------
    InputError
        If there is a column of a type that a release cannot carry.
    """
    import pyarrow as pa

    empty = table.limit(0).toArrow().rename_columns(list(names or table.columns))
    for known, given in zip(empty.schema, table.schema, strict=True):
        try:
            column = _arrow(pl.DataFrame(pa.table([[]], schema=pa.schema([known]))))
            again = table.sparkSession.createDataFrame(column).schema[0].dataType.simpleString()
        except (pa.ArrowException, pl.exceptions.PolarsError, NotImplementedError, ValueError):
            again = None
        kind = given.dataType.simpleString()
        if again != kind:
            raise InputError(
                f"column {known.name!r} is of a type ({kind}) that a release cannot carry; leave it out, or "
                "make text of it",
                reason=Reason.SCHEMA,
            )
    return pl.DataFrame(empty)


@dataclass(frozen=True)
class _Call:
    """What is to be done with a table.

    Parameters
    ----------
    table, schema
        The table, and what all its columns are.
    model, method, options, seed
        As for `anonymize`.
    block_rows
        How many records a block should have.
    """

    table: DataFrame
    schema: Schema
    model: Model
    method: str | None
    options: Mapping[str, Any]
    seed: int | None
    block_rows: int


class _Run:
    """A run of the engine.

    Parameters
    ----------
    call
        What to do.
    session
        Spark.
    folder
        The address of the working folder.
    progress
        Whom to tell.
    """

    def __init__(self, call: _Call, session: SparkSession, folder: str, progress: Progress) -> None:
        self.call, self.session, self.folder, self.progress = call, session, folder, progress
        self.schema = Schema(tuple(c for c in call.schema if c.role is not Role.IDENTIFIER))
        # Nobody needs identifiers, and so they are not kept meanwhile.
        self.names = [name for name in call.table.columns if name in self.schema.names]
        places = [call.table.columns.index(name) for name in self.names]
        self.table = _plain(_plain(call.table).select(*(f"c{place}" for place in places)))
        self.least = least_rows(call.model)

    def finished(self, staging: str) -> dict[str, Any]:
        """Do all that is to do, write the files of the release, and return its certificate."""
        started = time.perf_counter()
        call = self.call
        columns = headings(self.table, self.names).schema
        summary = self._summarized()
        agreed = reference(summary, self.schema)
        tree = cut_tree(
            Table.encode(self._sample(summary), Schema(agreed.schema.quasi), domains=agreed.domains),
            agreed,
            summary.rows,
            block_rows=call.block_rows,
            least=self.least,
            apart=must_lie_apart(call.model, call.schema),
        )
        units = tree.units(self._assigned(agreed, tree, summary), self.least)
        task = Task(agreed, call.model, call.method, call.options, call.seed, "parquet")
        released = release_schema(columns, agreed, "parquet")
        parts, facts = self._released(task, tree, units, released)
        self._joined(parts, released, f"{staging}/{RELEASE}")
        classes = self._checked(task, released, facts, f"{staging}/{RELEASE}")
        certificate = joined_certificate(
            call.schema,
            task,
            facts,
            classes,
            summary=summary,
            seconds=time.perf_counter() - started,
            engine={"name": "spark", "jobs": self.session.sparkContext.defaultParallelism},
        )
        certificate["files"] = {
            f"{RELEASE}/{name}": {"sha256": digest}
            for name, digest in digests(self.session, f"{staging}/{RELEASE}").items()
        }
        report = outline(call.model, certificate, joined_crowds(facts))
        write_text(self.session, f"{staging}/report.html", report.html())
        for name, data in (("certificate", certificate), ("report", report.as_dict())):
            write_text(self.session, f"{staging}/{name}.json", json.dumps(data, indent=2) + "\n")
        return certificate

    def _summarized(self) -> Summary:
        """Return what the table has."""
        names, schema = self.names, self.schema

        def look(batches: Iterator[Any]) -> Iterator[Any]:
            summary = Summary()
            told = None
            try:
                for frame in _frames(batches):
                    summary = summary.merged(summarize(_named(frame, names), schema)[0])
            except InputError as error:
                told = json.dumps({"reason": error.reason, "message": str(error)})
            yield _batch({"summary": [pickle.dumps(summary)], _TOLD: [told]})

        def merge(batches: Iterator[Any]) -> Iterator[Any]:
            summary = Summary()
            told = None
            for batch in batches:
                for row in batch.to_pylist():
                    summary = summary.merged(pickle.loads(row["summary"]))
                    told = told or row[_TOLD]
            yield _batch({"summary": [pickle.dumps(summary)], _TOLD: [told]})

        form = f"summary binary, {_TOLD} string"
        parts = self.table.mapInArrow(look, form)
        merged = parts.repartition(SUMMARIES).mapInArrow(merge, form)
        summary = Summary()
        for row in self._done("reading values", merged.collect):
            if row[_TOLD] is not None:
                told = json.loads(row[_TOLD])
                message = f"{told['message']} (rows are counted within a part of the table)"
                raise InputError(message, reason=Reason(told["reason"]))
            summary = summary.merged(pickle.loads(row["summary"]))
        return summary

    def _sample(self, summary: Summary) -> pl.DataFrame:
        """Return the quasi-identifiers of some records, drawn uniformly."""
        schema = self.schema
        wanted = Schema((*schema.quasi, *schema.sensitive))
        places = [self.names.index(column.name) for column in wanted]
        rows = self.table.select(*(f"c{place}" for place in places))
        if summary.rows > SAMPLE:
            rows = rows.sample(fraction=SAMPLE / summary.rows, seed=self.call.seed)
        frame = pl.DataFrame(self._done("drawing a sample", rows.toArrow))
        frame.columns = wanted.names
        return summarize(frame, wanted)[1].select([column.name for column in schema.quasi])

    def _assigned(self, agreed: Reference, tree: CutTree, summary: Summary) -> list[int]:
        """Write all records with the number of their block, and return how many each block has."""
        from pyspark.sql import functions as sf

        names, seed = self.names, self.call.seed
        rows = self.table
        if seed is not None:
            # Rows come out of a shuffle in any order; a block that is to be repeated needs them in their own.
            rows = rows.withColumn(_POSITION, sf.monotonically_increasing_id())
        form, like = self._form({**headings(rows).schema, _BLOCK: pl.Int32()})

        def assign(batches: Iterator[Any]) -> Iterator[Any]:
            randomness = Randomness(None if seed is None else seed_of(seed, _partition()))
            for frame in _frames(batches):
                table = agreed.encode(_named(frame, names))
                if table is not None:
                    blocks = pl.Series(_BLOCK, tree.blocks_of(table, randomness), dtype=pl.Int32)
                    yield from _batches(frame[table.rows].with_columns(blocks), like)

        self._written(rows.mapInArrow(assign, form), "blocks", "dividing into blocks")
        known = self._kept("blocks").groupBy(_BLOCK).count()
        counts = [0] * len(tree)
        for row in self._done("counting", known.collect):
            counts[row[_BLOCK]] = row["count"]
        if sum(counts) != summary.rows:
            raise InputError(
                f"the table had {summary.rows} records when it was read first, and {sum(counts)} later; "
                "write it to files, and use these",
                reason=Reason.SPARK,
            )
        return counts

    def _released(
        self, task: Task, tree: CutTree, units: Sequence[range], columns: pl.Schema
    ) -> tuple[list[DataFrame], list[Facts]]:
        """Make the releases of all blocks; return the rows, in parts, and the facts of each block.

        What cannot keep the promise alone is united with the part that it was cut from, and tried again.
        """
        made: dict[range, tuple[int, Facts]] = {}
        turn = 0
        while left := [unit for unit in units if unit not in made]:
            name = f"released-{turn}"
            self._written(self._releases(task, left, columns), name, f"{len(units)} blocks")
            found = self._kept(name).where(f"{_TOLD} is not null").select(_UNIT, _TOLD)
            told = {
                row[_UNIT]: json.loads(row[_TOLD]) for row in self._done("gathering facts", found.collect)
            }
            for unit in left:
                if "facts" in told[unit.start]:
                    made[unit] = turn, Facts(**told[unit.start]["facts"])
                elif unit in units:  # else it belongs to a larger one by now
                    wider = _wider(tree, unit, told[unit.start])
                    units = [*(each for each in units if each.start not in wider), wider]
            turn += 1
        units = sorted(units, key=lambda unit: unit.start)
        parts = [
            self._among(f"released-{each}", [(u.start,) for u in units if made[u][0] == each], f"{_UNIT} int")
            for each in sorted({made[unit][0] for unit in units})
        ]
        return parts, [made[unit][1] for unit in units]

    def _releases(self, task: Task, units: Sequence[range], columns: pl.Schema) -> DataFrame:
        """Return the rows of the releases of some blocks, with what there is to tell on one row of each."""
        names, seed = self.names, task.seed
        plain = _plain_names(len(columns))
        extra = {_UNIT: pl.Int32(), _PLACE: pl.Int64(), _TOLD: pl.String()}
        form, like = self._form({**dict(zip(plain, columns.values(), strict=True)), **extra})

        def release(key: Any, table: Any) -> Any:
            start = key[0].as_py()
            frame = pl.DataFrame(table)
            if seed is not None:
                frame = frame.sort(_POSITION)
            try:
                rows, facts = anonymize_block(_named(frame, names), task, start)
                told: dict[str, Any] = {"facts": facts.as_dict()}
            except ShoalError as error:
                rows = columns.to_frame().clear(1)
                told = {"reason": error.reason, "message": str(error)}
            rows.columns = plain
            # The key of the order of all rows, drawn here so that it is written and never drawn again.
            randomness = Randomness(None if seed is None else seed_of(seed_of(seed, start), start))
            places = randomness.words(rows.height).view(np.int64)
            rows = rows.with_columns(
                pl.lit(start, pl.Int32).alias(_UNIT),
                pl.Series(_PLACE, places),
                pl.Series(_TOLD, [json.dumps(told)]).extend_constant(None, rows.height - 1),
            )
            return _arrow(rows, like)

        where = [(block, unit.start) for unit in units for block in unit]
        rows = self._among("blocks", where, f"{_BLOCK} int, {_UNIT} int")
        # As many partitions as blocks, or Spark would give many small ones to a few tasks.
        divided = rows.repartition(len(units), _UNIT)
        return divided.groupBy(_UNIT).applyInArrow(release, form)

    def _joined(self, parts: Sequence[DataFrame], columns: pl.Schema, address: str) -> None:
        """Write all rows in the order of the keys that were drawn for them."""
        rows = parts[0]
        for part in parts[1:]:
            rows = rows.union(part)
        plain = _plain_names(len(columns))
        ordered = rows.orderBy(_PLACE).select(*plain).toDF(*columns.names())
        self._done("joining blocks", lambda: _writer(ordered).parquet(address))

    def _checked(
        self, task: Task, columns: pl.Schema, facts: Sequence[Facts], address: str
    ) -> dict[str, int | float] | None:
        """Look at the release as it was written: rows, values, and the classes if the promise is of these."""
        from pyspark.sql import functions as sf

        model, agreed = task.model, task.reference

        def look(batches: Iterator[Any]) -> Iterator[Any]:
            check = Check(model, agreed, columns)
            for frame in _frames(batches):
                check.see(_named(frame, columns.names()))
            # Halves of the digest, as sums of the whole would leave the range of numbers.
            low, high = check.digest % 2**32, check.digest >> 32
            yield _batch({"class": [None], "rows": [check.rows], "low": [low], "high": [high]}, like)
            others = {"class": check.classes.view(np.int64), "rows": check.sizes}
            nothing = np.zeros(len(check.classes), dtype=np.int64)
            yield _batch({**others, "low": nothing, "high": nothing}, like)

        form, like = self._form(dict.fromkeys(("class", "rows", "low", "high"), pl.Int64()))
        seen = _plain(self.session.read.parquet(address)).mapInArrow(look, form)
        sums = seen.groupBy("class").agg(*(sf.sum(name).alias(name) for name in ("rows", "low", "high")))
        figures = sums.groupBy(sf.col("class").isNull().alias("whole")).agg(
            sf.count("*").alias("count"),
            sf.min("rows").alias("smallest"),
            sf.avg("rows").alias("mean"),
            sf.max("rows").alias("largest"),
            sf.sum("low").alias("low"),
            sf.sum("high").alias("high"),
        )
        found = {row["whole"]: row for row in self._done("checking the release", figures.collect)}
        whole = found[True]
        digest = (whole["low"] + (whole["high"] << 32)) % 2**64
        require_whole(whole["largest"], digest, sum(e.rows for e in facts), [e.digest for e in facts])
        if False not in found:
            return None
        of = found[False]
        return classes_found(model, of["count"], of["smallest"], of["mean"], of["largest"])

    def _among(self, name: str, keys: Sequence[tuple[int, ...]], form: str) -> DataFrame:
        """Return the kept rows that have one of some keys, with what else is known of these."""
        from pyspark.sql import functions as sf

        known = self.session.createDataFrame(list(keys), form)
        return self._kept(name).join(sf.broadcast(known), form.split()[0])

    def _kept(self, name: str) -> DataFrame:
        return self.session.read.parquet(f"{self.folder}/{name}")

    def _written(self, rows: DataFrame, name: str, what: str) -> None:
        """Keep rows in the working folder: each task's once, whatever becomes of other attempts of it."""
        self._done(what, lambda: _writer(rows).parquet(f"{self.folder}/{name}"))

    def _form(self, columns: Mapping[str, pl.DataType]) -> tuple[StructType, Any]:
        """Return columns as Spark describes them, and as Spark wants them from a task."""
        table = self.session.createDataFrame(_arrow(pl.DataFrame(schema=columns)))
        return table.schema, table.toArrow().schema

    def _done(self, what: str, action: Callable[[], _Result]) -> _Result:
        """Have Spark do something, and tell how far it is; cancel it if the caller wants no more."""
        context = self.session.sparkContext
        group = f"shoal-{secrets.token_hex(8)}"

        def work() -> _Result:
            context.setJobGroup(group, what, interruptOnCancel=True)
            return action()

        with ThreadPoolExecutor(1) as pool:
            future = pool.submit(work)
            try:
                while True:
                    self.progress(what, _share_done(context, group))
                    if wait([future], timeout=0.5).done:
                        return future.result()
            except BaseException:
                while not future.done():  # a job may begin only now
                    context.cancelJobGroup(group)
                    wait([future], timeout=0.5)
                raise


def _share_done(context: SparkContext, group: str) -> float:
    """Return the share of the tasks of a group of jobs that is finished."""
    tracker = context.statusTracker()
    jobs = [tracker.getJobInfo(job) for job in tracker.getJobIdsForGroup(group)]
    stages = [tracker.getStageInfo(stage) for job in jobs if job is not None for stage in job.stageIds]
    known = [stage for stage in stages if stage is not None]
    return sum(stage.numCompletedTasks for stage in known) / max(sum(stage.numTasks for stage in known), 1)


def _wider(tree: CutTree, unit: range, told: Mapping[str, Any]) -> range:
    """Return what a block that cannot keep the promise alone is united to, or raise why it failed."""
    if told["reason"] != Reason.INFEASIBLE:
        raise InternalError(f"a block failed: {told['message']}")
    wider = tree.wider(unit)
    if wider is None:
        raise InfeasibleError(told["message"])
    return wider


def _active_session() -> SparkSession:
    from pyspark.sql import SparkSession

    session = SparkSession.getActiveSession()
    if session is None:
        raise InputError(
            "there is no active Spark session; open one with shoal.spark_session(), or name one",
            reason=Reason.SPARK,
        )
    return session


@contextmanager
def _prepared(session: SparkSession) -> Iterator[None]:
    """Give tasks no more threads than Spark counts on, and times one zone, as long as the block lasts."""
    context = session.sparkContext
    threads = context.getConf().get("spark.task.cpus", "1") or "1"
    environment = dict(context.environment)
    zone = session.conf.get("spark.sql.session.timeZone")
    context.environment.update(dict.fromkeys(PARALLEL, threads))
    session.conf.set("spark.sql.session.timeZone", "UTC")
    try:
        with warnings.catch_warnings():
            # Spark asks for pandas wherever Arrow is used, and warns of new ones; nothing here is pandas.
            warnings.filterwarnings("ignore", "PySpark does not yet fully support pandas", FutureWarning)
            yield
    finally:
        context.environment.clear()
        context.environment.update(environment)
        if zone is not None:
            session.conf.set("spark.sql.session.timeZone", zone)


@contextmanager
def _failures_explained() -> Iterator[None]:
    """Turn what Spark throws into an error that says the reason first."""
    from py4j.protocol import Py4JError
    from pyspark.errors import PySparkException

    try:
        yield
    except (PySparkException, Py4JError) as error:
        why = _cause(str(error))
        if why.startswith("shoal.errors.InternalError: "):
            raise InternalError(why.partition(": ")[2]) from error
        raise InputError(f"Spark failed: {why}", reason=Reason.SPARK) from error


def _cause(text: str) -> str:
    """Return the innermost reason in what Spark throws, without the places in the code."""
    lines = [line.strip() for line in text.splitlines()]
    ours = [line for line in lines if line.startswith("shoal.errors.")]
    if ours:
        return ours[0]
    causes = [number for number, line in enumerate(lines) if line.startswith("Caused by: ")]
    said = takewhile(lambda line: not line.startswith(("at ", "...")), lines[causes[-1] if causes else 0 :])
    return " ".join(line for line in said if line).removeprefix("Caused by: ")


def _require_different(names: Sequence[str]) -> None:
    repeated = sorted({name for name in names if names.count(name) > 1})
    if repeated:
        raise InputError(
            f"the table has more than one column called {listing(repeated)}; rename all but one",
            reason=Reason.DUPLICATE_COLUMN,
        )


def _plain(table: DataFrame) -> DataFrame:
    """Return a frame with columns c0, c1, ...: Spark takes some characters in names for syntax."""
    return table.toDF(*_plain_names(len(table.columns)))


def _plain_names(count: int) -> list[str]:
    return [f"c{number}" for number in range(count)]


def _writer(rows: DataFrame) -> DataFrameWriter:
    # A file that only says that all went well is no part of a table.
    return rows.write.option("mapreduce.fileoutputcommitter.marksuccessfuljobs", "false")


def _partition() -> int:
    """Return the number of the part of the table that this task is at."""
    from pyspark import TaskContext

    context = TaskContext.get()
    return 0 if context is None else context.partitionId()


def _frames(batches: Iterable[Any]) -> Iterator[pl.DataFrame]:
    """Yield the rows that a task is given, many at a time."""
    import pyarrow as pa

    held: list[Any] = []
    for batch in batches:
        held.append(batch)
        if sum(each.num_rows for each in held) >= TOGETHER:
            yield pl.DataFrame(pa.Table.from_batches(held))
            held = []
    if held:
        yield pl.DataFrame(pa.Table.from_batches(held))


def _named(frame: pl.DataFrame, names: Sequence[str]) -> pl.DataFrame:
    """Return the columns c0, c1, ... of a frame under their own names."""
    named = frame.select(_plain_names(len(names)))
    named.columns = list(names)
    return named


def _arrow(frame: pl.DataFrame, like: Any = None) -> Any:
    """Return a frame as an Arrow table, of the types that Spark uses if these are given."""
    table = frame.to_arrow(compat_level=pl.CompatLevel.oldest())
    return table if like is None else table.cast(like)


def _batches(frame: pl.DataFrame, like: Any) -> Iterator[Any]:
    yield from _arrow(frame, like).to_batches()


def _batch(columns: Mapping[str, Any], like: Any = None) -> Any:
    import pyarrow as pa

    return pa.RecordBatch.from_pydict(dict(columns), schema=like)
