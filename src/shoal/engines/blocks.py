"""Blocks of a large table: how it may be cut, a release of one of them, and what all of them say together."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import polars as pl

from shoal.auditing import Audit
from shoal.auditing.classes import Classes
from shoal.base import fresh_columns
from shoal.base.randomness import checked_seed
from shoal.engines.cutting import CutTree, cut_tree
from shoal.engines.domains import Reference, Summary
from shoal.engines.local import anonymize_table
from shoal.engines.own_values import OwnValues, judged
from shoal.errors import InputError, InternalError, Reason
from shoal.kinds.ranges import interval_type
from shoal.measures import Loss
from shoal.models import Model
from shoal.release import Certificate, Format, index_notes
from shoal.schema import Role, Schema
from shoal.table import Table

BLOCK_ROWS = 50_000
"""How many records a block has, about."""
SAMPLE = 400_000
"""From how many records at most the cuts are learnt."""
SAFE = 20
"""A block has at least this many times as many records as a crowd."""


def least_rows(model: Model) -> int:
    """Return how many records a block must have for a promise."""
    return SAFE * model.crowd


def block_size(asked: int, model: Model) -> int:
    """Return how many records a block should have: as many as asked for, and no fewer than some crowds.

    Raises
    ------
    InputError
        If not even one is asked for.
    """
    if asked < 1:
        raise InputError(f"blocks of {asked} rows hold no record; give 1 or more", reason=Reason.PARAMETER)
    return max(asked, 3 * least_rows(model))


@dataclass(frozen=True)
class Call:
    """What is to be done with a table that is cut into blocks.

    Parameters
    ----------
    schema
        What all its columns are.
    model, method, options, seed
        As for `anonymize`.
    block_rows
        How many records a block should have.
    """

    schema: Schema
    model: Model
    method: str | None
    options: Mapping[str, Any]
    seed: int | None
    block_rows: int

    @property
    def least(self) -> int:
        """How many records a block must have."""
        return least_rows(self.model)

    @property
    def kept(self) -> Schema:
        """The columns without identifiers, which are not needed and not kept meanwhile."""
        return Schema(tuple(column for column in self.schema if column.role is not Role.IDENTIFIER))

    def tree(self, sample: pl.DataFrame, agreed: Reference, rows: int) -> CutTree:
        """Return which record belongs to which block.

        Parameters
        ----------
        sample
            The quasi-identifiers of some records, drawn uniformly.
        agreed
            What all blocks agree on.
        rows
            How many records the table has.
        """
        return cut_tree(
            Table.encode(sample, Schema(agreed.schema.quasi), domains=agreed.domains),
            agreed,
            rows,
            block_rows=self.block_rows,
            least=self.least,
            apart=self.model.blocks_must_not_overlap(self.schema),
        )

    def task(self, agreed: Reference, form: Format) -> Task:
        """Return what is to be done with each block."""
        return Task(agreed, self.model, self.method, self.options, self.seed, form)


def call_for(
    columns: Sequence[str],
    schema: Schema,
    model: Model,
    *,
    method: str | None,
    options: Mapping[str, Any],
    seed: int | None,
    block_rows: int,
) -> Call:
    """Return what is asked for, with what all columns are and blocks that are large enough.

    Parameters
    ----------
    columns
        The names of the columns of the table.
    schema
        What some or all of them are.
    model, method, options, seed, block_rows
        As of `Call`.

    Raises
    ------
    InputError
        If the schema, the seed or the size of blocks is wrong, or cutting the table could break the promise.
    """
    completed = schema.completed(columns)
    model.blocks_must_not_overlap(completed)  # or an error
    return Call(completed, model, method, options, checked_seed(seed), block_size(block_rows, model))


@dataclass(frozen=True, eq=False)
class Task:
    """What is to be done with each block.

    Parameters
    ----------
    reference
        What all blocks agree on.
    model, method, options
        The promise and how to keep it, as for `anonymize`.
    seed
        Makes blocks repeatable, each in its own way.
    form
        The format that the release is written in.
    """

    reference: Reference
    model: Model
    method: str | None
    options: Mapping[str, Any]
    seed: int | None
    form: Format


@dataclass(frozen=True, eq=False)
class BlockFacts:
    """What is known about the release of a block, without a value of any record and nothing for each of them.

    Parameters
    ----------
    rows
        How many rows it has.
    method
        Who made it.
    loss
        What was lost.
    audit
        What the auditor found, as `Audit.merge` keeps it.
    notes
        What the method has to say.
    digest
        The sum of the digests of all rows, whatever their order.
    seconds
        How long it took.
    """

    rows: int
    method: str
    loss: Loss
    audit: Audit
    notes: Sequence[str]
    digest: int
    seconds: float


def anonymize_block(frame: pl.DataFrame, task: Task, number: int) -> tuple[pl.DataFrame, BlockFacts]:
    """Make a release of a block, audited like any other.

    Parameters
    ----------
    frame
        Its records.
    task
        What to do.
    number
        The number of the block.

    Returns
    -------
    tuple
        The rows to publish, in random order and with the same data types in every block, and the facts.

    Raises
    ------
    InfeasibleError
        If no release of the block can keep the promise.
    """
    started = time.perf_counter()
    seed = None if task.seed is None else seed_of(task.seed, number)
    table = task.reference.encode(frame)
    if table is None:
        raise InternalError(f"block {number} has no records")
    typed = task.form == "parquet"
    release = anonymize_table(table, task.model, method=task.method, seed=seed, typed=typed, **task.options)
    written = release.written(task.form).cast(release_schema(frame.schema, task.reference, task.form))
    facts = BlockFacts(
        written.height,
        release.circumstances["method"],
        release.loss,
        Audit.merge([release.audit]),
        list(release.circumstances.get("notes", ())),
        digest_of(written),
        round(time.perf_counter() - started, 3),
    )
    return written, facts


def release_schema(columns: pl.Schema, reference: Reference, form: Format) -> pl.Schema:
    """Return the columns of a release and their data types; categories are text until all are known.

    Parameters
    ----------
    columns
        Those of the table.
    reference
        What all blocks agree on.
    form
        The format of the release.
    """
    text = pl.String()
    types: dict[str, pl.DataType] = {}
    for column in reference.schema:
        if column.role is Role.IDENTIFIER:
            continue
        if column.role is not Role.QUASI:
            given = fresh_columns.plain_type(columns[column.name])
            types[column.name] = text if form == "csv" and isinstance(given, pl.List) else given
        else:
            domain, scale = reference.domains.get(column.name), reference.types.get(column.name)
            each = domain.released_type if domain is not None else scale and interval_type(scale)
            types |= column.kind.released_types(column.name, each, typed=form == "parquet")
    return pl.Schema(types)


def categorical_columns(columns: pl.Schema, reference: Reference) -> list[str]:
    """Return the columns that a release carries along and that hold categories in the table."""
    return [
        column.name
        for column in reference.schema
        if column.role in (Role.SENSITIVE, Role.OTHER)
        and isinstance(columns[column.name], pl.Categorical | pl.Enum)
    ]


def seed_of(seed: int, number: int) -> int:
    """Return the seed of one of several parts of a seeded run."""
    return int(np.random.SeedSequence([seed, number]).generate_state(1)[0])


def digest_of(frame: pl.DataFrame) -> int:
    """Return the sum of digests of all rows: the same for the same rows in any order."""
    return int(frame.hash_rows(seed=0).to_numpy().sum(dtype=np.uint64)) if frame.height else 0


def total_digest(digests: Iterable[int]) -> int:
    """Return the digest of several tables together."""
    return sum(digests) % 2**64


def joined_certificate(
    schema: Schema,
    task: Task,
    facts: Sequence[BlockFacts],
    classes: Classes | None,
    own: Mapping[str, OwnValues],
    *,
    summary: Summary,
    seconds: float,
    engine: Mapping[str, Any],
) -> Certificate:
    """Return what was promised, lost and found in all blocks together.

    Parameters
    ----------
    schema
        What the columns are.
    task
        What was done with each block.
    facts
        What is known about each.
    classes
        The classes of identical rows in the joined release, if the promise is about these.
    own
        The values of their own in the joined release, for each column that is carried along.
    summary
        What the table has.
    seconds
        How long it all took.
    engine
        Who did it.

    Raises
    ------
    InternalError
        If the blocks do not hold every record.
    """
    audit = judged([each.audit for each in facts], own, schema)
    if not audit.holds or audit.records != summary.rows:
        raise InternalError(f"the blocks have {audit.records} records, the table {summary.rows}")
    notes = [*index_notes(schema), *sorted({note for each in facts for note in each.notes})]
    rows = [each.rows for each in facts]
    return Certificate(
        task.model,
        schema,
        {
            "method": facts[0].method,
            "options": dict(task.options),
            "seeded": task.seed is not None,
            **({"notes": notes} if notes else {}),
            "seconds": round(seconds, 3),
        },
        sum(rows),
        Loss.merge([each.loss for each in facts], rows),
        audit if classes is None else replace(audit, classes=classes),
        left_out=summary.left_out,
        engine={
            **engine,
            "blocks": len(facts),
            "smallest": min(rows),
            "largest": max(rows),
            "seconds_in_blocks": round(sum(each.seconds for each in facts), 3),
        },
    )
