"""A run in blocks on this machine: divide the table, release each block, join and certify the result."""

from __future__ import annotations

import pickle
import time
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from pathlib import Path

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shoal.base.randomness import Randomness
from shoal.engines.blocks import (
    SAMPLE,
    Call,
    Task,
    categorical_columns,
    joined_certificate,
    release_schema,
)
from shoal.engines.cutting import CutTree
from shoal.engines.disk_blocks import PART, DiskBlocks
from shoal.engines.domains import Reference, Reservoir, Summary, reference, summarize
from shoal.engines.joining import Check, join
from shoal.engines.person_numbers import numbered
from shoal.engines.workspace import PLAN, emptied, write_whole
from shoal.files.streams import BatchedTable
from shoal.methods import Progress
from shoal.release import Certificate, Format, into, sha256, write_documents
from shoal.table import some_of_each

BUFFERED = 500_000
"""The number of rows that are kept in memory before they are written to their blocks."""
MANY_BLOCKS = 500
"""With more blocks than this, up to four times as many rows are kept, since each time takes many files."""


@dataclass(frozen=True, eq=False)
class Division:
    """How a table is divided.

    Parameters
    ----------
    summary
        The summary of the table.
    columns
        Its columns and their data types.
    task
        What is done with each block.
    tree
        The tree that assigns records to blocks.
    counts
        The number of records in each block.
    over_limit
        The number of records left out because their person has more than are kept.
    """

    summary: Summary
    columns: pl.Schema
    task: Task
    tree: CutTree
    counts: tuple[int, ...]
    over_limit: int


class DiskRun:
    """A run of the engine.

    Parameters
    ----------
    call
        The request.
    source
        The table.
    form
        The format of the release.
    folder
        The working folder.
    jobs
        The number of blocks worked on at a time.
    progress
        Called with what is being done and the share of it that is done; may raise to cancel.
    """

    def __init__(
        self, call: Call, source: BatchedTable, form: Format, folder: Path, jobs: int, progress: Progress
    ) -> None:
        self.call, self.source, self.form = call, source, form
        self.folder, self.jobs, self.progress = folder, jobs, progress
        self.schema = call.kept
        self.blocks = DiskBlocks(folder)
        self.randomness = Randomness(call.seed)

    def finished(self, staging: Path) -> Certificate:
        """Do what an earlier run has not done, write the files of the release, and return its certificate."""
        started = time.perf_counter()
        plan = self._plan()
        task = plan.task
        units = self.blocks.release_all(plan.tree, plan.counts, self.jobs, self.progress)
        facts = [self.blocks.facts(unit) for unit in units]
        rows = sum(each.rows for each in facts)
        file = staging / f"release.{self.form}"
        check = Check(
            self.call.model, task.reference, release_schema(plan.columns, task.reference, self.form)
        )
        parts = [self.blocks.done(unit) / PART for unit in units]
        aside = emptied(self.folder / "join")
        categorical = categorical_columns(plan.columns, task.reference)
        join(parts, rows, file, self.form, check, self.randomness, aside, self.progress, categorical)
        certificate = joined_certificate(
            task,
            facts,
            check.passed(rows, [each.digest for each in facts]),
            check.own,
            summary=plan.summary,
            seconds=time.perf_counter() - started,
            engine={"name": "blocks", "jobs": self.jobs},
            files={file.name: sha256(file)},
            over_limit=plan.over_limit,
        )
        write_documents(certificate.report(), certificate.codebook(), into(staging))
        return certificate

    def _plan(self) -> Division:
        """Divide the table into its blocks, unless an earlier run did, and return how."""
        file = self.folder / PLAN
        if file.exists():
            with file.open("rb") as opened:
                known: Division = pickle.load(opened)
            return known
        summary, sample, columns = self._summarized()
        agreed = reference(summary, self.schema)
        tree = self.call.tree(sample, agreed, summary.rows)
        counts = self._divided(agreed, tree, summary.rows)
        task = Task(self.call, agreed, self.form)
        self.blocks.prepare(task, tree.units(counts, self.call.least))
        over_limit = 0 if self._of_each is None else int((~self._of_each).sum())
        plan = Division(summary, columns, task, tree, counts, over_limit)
        write_whole(file, pickle.dumps(plan))
        return plan

    def _summarized(self) -> tuple[Summary, pl.DataFrame, pl.Schema]:
        """Return the summary of the table, a sample of its quasi-identifiers, and the types of columns."""
        summary, seen = Summary(), 0
        reservoir = Reservoir(SAMPLE, self.randomness)
        names = [column.name for column in self.schema.quasi]
        columns = pl.Schema()
        for batch in self._batches():
            self.progress("reading values", 0.0)
            columns = batch.schema
            part, kept = summarize(batch, self.schema, first_row=seen)
            summary, seen = summary.merged(part), seen + batch.height
            reservoir.add(kept[names])
        return summary, reservoir.sample, columns

    def _batches(self) -> Iterator[pl.DataFrame]:
        """Yield the table without its identifiers, and with numbers that stand for its persons."""
        seen = 0
        for batch in self._all_batches():
            kept = batch if self._of_each is None else batch.filter(self._of_each[seen : seen + batch.height])
            seen += batch.height
            if kept.height or not batch.height:
                yield kept

    def _all_batches(self) -> Iterator[pl.DataFrame]:
        person = self.schema.person
        for batch in self.source.batches():
            kept = batch[list(self.schema.names)]
            yield kept if person is None else numbered(kept, person, self._persons_key)

    @cached_property
    def _of_each(self) -> NDArray[np.bool_] | None:
        """Which records are kept if there is a limit on those of each person."""
        most, person = self.call.most_per_person, self.schema.person
        if most is None or person is None:
            return None
        self.progress("counting persons", 0.0)
        cells = pl.concat([batch[person.name] for batch in self._all_batches()])
        kept = cells.is_null().to_numpy()  # no person: the policy for missing values decides
        known = np.flatnonzero(~kept)
        kept = kept.copy()
        kept[known] = some_of_each(cells.drop_nulls().to_numpy(), most, self.randomness)
        return kept

    @cached_property
    def _persons_key(self) -> bytes:
        return self.randomness.words(4).tobytes()

    def _divided(self, agreed: Reference, tree: CutTree, rows: int) -> tuple[int, ...]:
        """Write each record to its block, and return the number of records in each block."""
        self.blocks.clear()
        counts = np.zeros(len(tree), dtype=np.int64)
        held: list[pl.DataFrame] = []
        blocks: list[NDArray[np.int32]] = []
        turn = 0
        enough = BUFFERED * min(max(len(tree) / MANY_BLOCKS, 1), 4)
        for batch in chain(self._batches(), [None]):
            table = None if batch is None else agreed.encode(batch)
            if table is not None:
                held.append(table.frame.to_native())
                blocks.append(tree.blocks_of(table, self.randomness))
            if held and (batch is None or sum(map(len, held)) >= enough):
                self.blocks.append(turn, pl.concat(held, rechunk=True), np.concatenate(blocks))
                counts += np.bincount(np.concatenate(blocks), minlength=len(tree))
                held, blocks, turn = [], [], turn + 1
                self.progress("dividing into blocks", float(counts.sum()) / rows)
        return tuple(counts.tolist())
