"""A run with Spark: divide the table, release each block, join and certify the result.

Rows stay with Spark: the driver sees summaries, a sample of bounded size, and the facts of each block. Random
choices are written to a working folder before they are used, and Spark keeps one attempt of each task that
writes: a task that runs again never mixes its choices with those of an earlier attempt.
"""

from __future__ import annotations

import json
import pickle
import time
from base64 import b64decode, b64encode
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
import polars as pl

from shoal.auditing.classes import Classes
from shoal.base.randomness import Randomness
from shoal.engines.additions import packed, unpacked
from shoal.engines.blocks import (
    SAMPLE,
    BlockFacts,
    Call,
    Task,
    anonymize_block,
    joined_certificate,
    release_schema,
    seed_of,
    united,
)
from shoal.engines.cutting import CutTree
from shoal.engines.domains import Reference, Summary, reference, summarize
from shoal.engines.joining import Check, classes_found, require_whole
from shoal.engines.own_values import OwnValues, carried_names, merged, seen_in
from shoal.engines.person_numbers import numbered
from shoal.engines.spark_files import digests, write_text
from shoal.engines.spark_frames import (
    arrow_batch,
    arrow_table,
    frames_of,
    headings,
    named,
    plain_columns,
    plain_names,
)
from shoal.engines.spark_jobs import run_job
from shoal.errors import InputError, Reason, ShoalError
from shoal.methods import Progress
from shoal.release import Certificate, write_documents
from shoal.schema import Column, Schema

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, DataFrameWriter
    from pyspark.sql.types import StructType

SUMMARIES = 16
"""The maximum number of summaries that reach the driver, each of a part of the table."""
RELEASE = "release.parquet"
"""The name of the released table in its folder."""
_UNIT, _PLACE, _TOLD, _POSITION, _BLOCK, _NUMBER = "unit", "place", "told", "position", "block", "number"

_Result = TypeVar("_Result")


class SparkRun:
    """A run of the engine.

    Parameters
    ----------
    call
        The request.
    table
        The table.
    folder
        The address of the working folder.
    progress
        Called with what is being done and the share of it that is done; may raise to cancel.
    """

    def __init__(self, call: Call, table: DataFrame, folder: str, progress: Progress) -> None:
        self.call, self.folder, self.progress = call, folder, progress
        self.session = table.sparkSession
        self.schema, self.modules = call.kept, call.modules
        self.names = [name for name in table.columns if name in self.schema.names]
        places = [table.columns.index(name) for name in self.names]
        self.table = plain_columns(plain_columns(table).select(*(f"c{place}" for place in places)))
        if self.schema.person is not None:
            self.table = self._numbered(self.schema.person)

    def _numbered(self, person: Column) -> DataFrame:
        """Return the table with numbers that stand for its persons."""
        from pyspark.sql.types import LongType, StructField, StructType

        names, key = self.names, Randomness(self.call.seed).words(4).tobytes()
        place = names.index(person.name)
        fields = list(self.table.schema.fields)
        fields[place] = StructField(fields[place].name, LongType())

        def number(batches: Iterator[Any]) -> Iterator[Any]:
            for frame in frames_of(batches):
                numbers = numbered(named(frame, names), person, key)[person.name]
                yield from arrow_table(frame.with_columns(numbers.alias(f"c{place}"))).to_batches()

        return self.table.mapInArrow(self._handed(number), StructType(fields))

    def finished(self, staging: str) -> Certificate:
        """Write the files of the release, and return its certificate."""
        started = time.perf_counter()
        call, release = self.call, f"{staging}/{RELEASE}"
        over_limit = self._limited()
        columns = headings(self.table, self.names).schema
        summary = self._summarized()
        agreed = reference(summary, self.schema)
        tree = call.tree(self._sample(summary), agreed, summary.rows)
        units = tree.units(self._assigned(agreed, tree, summary), call.least)
        task = Task(call, agreed, "parquet")
        released = release_schema(columns, agreed, "parquet")
        parts, facts = self._released(task, tree, units, released)
        self._joined(parts, released, release)
        files = digests(self.session, release)
        certificate = joined_certificate(
            task,
            facts,
            self._checked(task, released, facts, release),
            self._own_values(released, release),
            summary=summary,
            seconds=time.perf_counter() - started,
            engine={"name": "spark", "jobs": self.session.sparkContext.defaultParallelism},
            files={f"{RELEASE}/{name}": files[name] for name in files},
            over_limit=over_limit,
        )
        write_documents(
            certificate.report(),
            certificate.codebook(),
            lambda name, text: write_text(self.session, f"{staging}/{name}", text),
        )
        return certificate

    def _limited(self) -> int:
        """Keep some records of each person if there is a limit, drawn at random; count the others."""
        from pyspark.sql import Window
        from pyspark.sql import functions as sf

        most, person = self.call.most_per_person, self.schema.person
        if most is None or person is None:
            return 0
        seed, owner, columns = self.call.seed, f"c{self.names.index(person.name)}", self.table.columns
        rows = self.table.withColumn(_POSITION, sf.monotonically_increasing_id())
        form, like = self._form({**headings(rows).schema, _PLACE: pl.Int64()})

        def draw(batches: Iterator[Any]) -> Iterator[Any]:
            randomness = Randomness(None if seed is None else seed_of(seed, _partition()))
            for frame in frames_of(batches):
                places = pl.Series(_PLACE, randomness.words(frame.height).view(np.int64))
                yield from arrow_table(frame.with_columns(places), like).to_batches()

        order = Window.partitionBy(owner).orderBy(_PLACE, _POSITION)
        drawn = rows.mapInArrow(draw, form).withColumn(_NUMBER, sf.row_number().over(order))
        # Without a person, the policy for missing values decides later.
        kept = drawn.where((sf.col(_NUMBER) <= most) | sf.col(owner).isNull())
        if seed is not None:
            kept = kept.orderBy(_POSITION)
        before = self._done("counting", self.table.count)
        self._written(kept.select(*columns), "kept", "counting persons")
        self.table = self._kept("kept")
        return before - self._done("counting", self.table.count)

    def _summarized(self) -> Summary:
        """Return the summary of the table."""
        names, schema = self.names, self.schema

        def look(batches: Iterator[Any]) -> Iterator[Any]:
            summary = Summary()
            told = None
            try:
                for frame in frames_of(batches):
                    summary = summary.merged(summarize(named(frame, names), schema)[0])
            except InputError as error:
                told = json.dumps(error.as_dict())
            yield arrow_batch({"summary": [pickle.dumps(summary)], _TOLD: [told]})

        def merge(batches: Iterator[Any]) -> Iterator[Any]:
            summary = Summary()
            told = None
            for batch in batches:
                for row in batch.to_pylist():
                    summary = summary.merged(pickle.loads(row["summary"]))
                    told = told or row[_TOLD]
            yield arrow_batch({"summary": [pickle.dumps(summary)], _TOLD: [told]})

        form = f"summary binary, {_TOLD} string"
        parts = self.table.mapInArrow(self._handed(look), form)
        merged = parts.repartition(self._summaries).mapInArrow(merge, form)
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
            seed = self.call.seed
            # Seeds of Spark have 63 bits.
            seed = None if seed is None else seed % 2**63
            rows = rows.sample(fraction=SAMPLE / summary.rows, seed=seed)
        frame = pl.DataFrame(self._done("drawing a sample", rows.toArrow))
        frame.columns = wanted.names
        return summarize(frame, wanted)[1][[column.name for column in schema.quasi]]

    def _assigned(self, agreed: Reference, tree: CutTree, summary: Summary) -> list[int]:
        """Write all records with the number of their block, and count the records of each block."""
        from pyspark.sql import functions as sf

        names, seed = self.names, self.call.seed
        rows = self.table
        if seed is not None:
            # A shuffle changes the order of rows; a seeded block needs them in their original order.
            rows = rows.withColumn(_POSITION, sf.monotonically_increasing_id())
        form, like = self._form({**headings(rows).schema, _BLOCK: pl.Int32()})

        def assign(batches: Iterator[Any]) -> Iterator[Any]:
            randomness = Randomness(None if seed is None else seed_of(seed, _partition()))
            for frame in frames_of(batches):
                table = agreed.encode(named(frame, names))
                if table is not None:
                    blocks = pl.Series(_BLOCK, tree.blocks_of(table, randomness), dtype=pl.Int32)
                    yield from arrow_table(frame[table.rows].with_columns(blocks), like).to_batches()

        self._written(rows.mapInArrow(self._handed(assign), form), "blocks", "dividing into blocks")
        known = self._kept("blocks").groupBy(_BLOCK).count()
        counts = [0] * len(tree)
        for row in self._done("counting", known.collect):
            counts[row[_BLOCK]] = row["count"]
        if sum(counts) != summary.rows:
            raise InputError(
                f"the table had {summary.rows} records when it was read first, and {sum(counts)} later; "
                "write it to files, and read these",
                reason=Reason.SPARK,
            )
        return counts

    def _released(
        self, task: Task, tree: CutTree, units: Sequence[range], columns: pl.Schema
    ) -> tuple[list[DataFrame], list[BlockFacts]]:
        """Make the releases of all blocks; return the rows, in parts, and the facts of each block.

        A unit for which the guarantee is infeasible is united with the part it was cut from, and tried again.
        """
        made: dict[range, tuple[int, BlockFacts]] = {}
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
                    made[unit] = turn, pickle.loads(b64decode(told[unit.start]["facts"]))
                elif unit in units:  # otherwise it is part of a larger unit by now
                    units, _ = united(units, tree, unit, told[unit.start])
            turn += 1
        parts = [
            self._among(f"released-{each}", [(u.start,) for u in units if made[u][0] == each], f"{_UNIT} int")
            for each in sorted({made[unit][0] for unit in units})
        ]
        return parts, [made[unit][1] for unit in units]

    def _releases(self, task: Task, units: Sequence[range], columns: pl.Schema) -> DataFrame:
        """Return the rows of the releases of some units; one row of each also has its facts or its error."""
        names, seed = self.names, task.call.seed
        plain = plain_names(len(columns))
        extra = {_UNIT: pl.Int32(), _PLACE: pl.Int64(), _TOLD: pl.String()}
        form, like = self._form({**dict(zip(plain, columns.values(), strict=True)), **extra})

        def released(table: Any, start: int) -> Any:
            frame = pl.DataFrame(table)
            if seed is not None:
                frame = frame.sort(_POSITION)
            try:
                rows, facts = anonymize_block(named(frame, names), task, start)
                told: dict[str, Any] = {"facts": b64encode(pickle.dumps(facts)).decode()}
            except ShoalError as error:
                rows = columns.to_frame().clear(1)
                told = error.as_dict()
            rows.columns = plain
            # The sort key of each row, drawn here so that it is written once and never drawn again.
            randomness = Randomness(None if seed is None else seed_of(seed_of(seed, start), start))
            places = randomness.words(rows.height).view(np.int64)
            rows = rows.with_columns(
                pl.lit(start, pl.Int32).alias(_UNIT),
                pl.Series(_PLACE, places),
                pl.Series(_TOLD, [json.dumps(told)]).extend_constant(None, rows.height - 1),
            )
            return arrow_table(rows, like)

        handed = self._handed(released)

        def release(key: Any, table: Any) -> Any:
            return handed(table, key[0].as_py())

        where = [(block, unit.start) for unit in units for block in unit]
        rows = self._among("blocks", where, f"{_BLOCK} int, {_UNIT} int")
        # As many partitions as units, because Spark would give many small ones to a few tasks.
        divided = rows.repartition(len(units), _UNIT)
        return divided.groupBy(_UNIT).applyInArrow(release, form)

    def _joined(self, parts: Sequence[DataFrame], columns: pl.Schema, address: str) -> None:
        """Write all rows in the order of their random keys."""
        rows = parts[0]
        for part in parts[1:]:
            rows = rows.union(part)
        plain = plain_names(len(columns))
        ordered = rows.orderBy(_PLACE).select(*plain).toDF(*columns.names())
        self._done("joining blocks", lambda: _writer(ordered).parquet(address))

    def _checked(
        self, task: Task, columns: pl.Schema, facts: Sequence[BlockFacts], address: str
    ) -> Classes | None:
        """Check the release as it was written; return its classes if the model is about these."""
        from pyspark.sql import functions as sf

        model, agreed = task.call.model, task.reference

        def look(batches: Iterator[Any]) -> Iterator[Any]:
            check = Check(model, agreed, columns)
            for frame in frames_of(batches):
                check.see(named(frame, columns.names()))
            # The digest in two halves, whose sums do not overflow.
            low, high = check.digest % 2**32, check.digest >> 32
            yield arrow_batch({"class": [None], "rows": [check.rows], "low": [low], "high": [high]}, like)
            others = {"class": check.classes.view(np.int64), "rows": check.sizes}
            nothing = np.zeros(len(check.classes), dtype=np.int64)
            yield arrow_batch({**others, "low": nothing, "high": nothing}, like)

        form, like = self._form(dict.fromkeys(("class", "rows", "low", "high"), pl.Int64()))
        seen = plain_columns(self.session.read.parquet(address)).mapInArrow(self._handed(look), form)
        sums = seen.groupBy("class").agg(*(sf.sum(name).alias(name) for name in ("rows", "low", "high")))
        figures = sums.groupBy(sf.col("class").isNull().alias("whole"), "rows").agg(
            sf.count("*").alias("count"),
            sf.sum("low").alias("low"),
            sf.sum("high").alias("high"),
        )
        found = self._done("checking the release", figures.collect)
        (whole,) = (row for row in found if row["whole"])
        digest = (whole["low"] + (whole["high"] << 32)) % 2**64
        require_whole(whole["rows"], digest, sum(e.rows for e in facts), [e.digest for e in facts])
        sizes = np.array(sorted((row["rows"], row["count"]) for row in found if not row["whole"]), np.int64)
        return classes_found(model, *sizes.T) if len(sizes) else None

    def _own_values(self, columns: pl.Schema, address: str) -> dict[str, OwnValues]:
        """Return the unique values in each carried column of the release."""
        known, carried = columns.names(), carried_names(self.schema)

        def look(batches: Iterator[Any]) -> Iterator[Any]:
            own: dict[str, OwnValues] = {}
            for frame in frames_of(batches):
                own = merged(own, seen_in(named(frame, known), carried))
            yield arrow_batch({"own": [pickle.dumps(own)]})

        def merge(batches: Iterator[Any]) -> Iterator[Any]:
            own: dict[str, OwnValues] = {}
            for batch in batches:
                for row in batch.to_pylist():
                    own = merged(own, pickle.loads(row["own"]))
            yield arrow_batch({"own": [pickle.dumps(own)]})

        parts = plain_columns(self.session.read.parquet(address)).mapInArrow(look, "own binary")
        together = parts.repartition(self._summaries).mapInArrow(merge, "own binary")
        own = {name: OwnValues() for name in carried}
        for row in self._done("looking at other columns", together.collect):
            own = merged(own, pickle.loads(row["own"]))
        return own

    @property
    def _summaries(self) -> int:
        """The number of summaries: no more than the tasks that the session wants after a shuffle."""
        wanted = self.session.conf.get("spark.sql.shuffle.partitions") or SUMMARIES
        return min(SUMMARIES, int(wanted))

    def _among(self, name: str, keys: Sequence[tuple[int, ...]], form: str) -> DataFrame:
        """Return the kept rows with one of these keys, joined with the columns of the keys."""
        from pyspark.sql import functions as sf

        known = self.session.createDataFrame(list(keys), form)
        return self._kept(name).join(sf.broadcast(known), form.split()[0])

    def _kept(self, name: str) -> DataFrame:
        return self.session.read.parquet(f"{self.folder}/{name}")

    def _written(self, rows: DataFrame, name: str, what: str) -> None:
        """Write rows to the working folder; of several attempts of a task, Spark keeps one."""
        self._done(what, lambda: _writer(rows).parquet(f"{self.folder}/{name}"))

    def _form(self, columns: Mapping[str, pl.DataType]) -> tuple[StructType, Any]:
        """Return the Spark schema of columns, and the Arrow schema that a task returns them in."""
        table = self.session.createDataFrame(arrow_table(pl.DataFrame(schema=columns)))
        return table.schema, table.toArrow().schema

    def _handed(self, function: Callable[..., _Result]) -> Callable[..., _Result]:
        """Return a function for workers of Spark, which import the modules that the release depends on."""
        if not self.modules:
            return function
        from pyspark import cloudpickle

        data = packed(function, self.modules, cloudpickle.dumps)

        def handed(*given: Any) -> _Result:
            result: _Result = unpacked(data)(*given)
            return result

        return handed

    def _done(self, what: str, action: Callable[[], _Result]) -> _Result:
        return run_job(self.session.sparkContext, what, action, self.progress)


def _writer(rows: DataFrame) -> DataFrameWriter:
    # No file that only marks success: it is not part of the table.
    return rows.write.option("mapreduce.fileoutputcommitter.marksuccessfuljobs", "false")


def _partition() -> int:
    """Return the number of the partition that this task works on."""
    from pyspark import TaskContext

    context = TaskContext.get()
    return 0 if context is None else context.partitionId()
