"""Blocks of a large table: the request, the release of one block, and the certificate of all."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import polars as pl

from shoal.auditing import Audit
from shoal.auditing.classes import Classes
from shoal.base import fresh_columns
from shoal.base.randomness import checked_seed
from shoal.base.statements import checked_about
from shoal.engines.additions import Modules, modules_used
from shoal.engines.cutting import CutTree, cut_tree
from shoal.engines.domains import Reference, Summary
from shoal.engines.local import anonymize_table
from shoal.engines.own_values import OwnValues, judged
from shoal.engines.workers import failure
from shoal.errors import InputError, InternalError, Reason
from shoal.kinds.limits import is_limited
from shoal.kinds.ranges import interval_type
from shoal.measures import Loss
from shoal.methods import method_for, require_options
from shoal.methods.limits import require_support
from shoal.models import Model, require_model
from shoal.release import Certificate, Format, column_warnings, index_notes
from shoal.schema import Role, Schema
from shoal.table import Table, require_most_per_person

BLOCK_ROWS = 50_000
"""The default number of records in a block, approximately."""
SAMPLE = 400_000
"""The maximum number of records in the sample that cuts are learned from."""
SAFE = 20
"""A block has at least this many times the records of a crowd."""


def least_rows(model: Model) -> int:
    """Return the minimum number of records in a block for a model."""
    return SAFE * model.crowd


@dataclass(frozen=True)
class Call:
    """A request to anonymize a table in blocks, the same for every engine that works in blocks.

    Parameters
    ----------
    schema
        The schema of all columns.
    model, method, options, seed
        As for `anonymize`.
    block_rows
        The intended number of records in a block.
    most_per_person
        The maximum number of records that are kept of each person.
    about
        What the steward states about the release.
    """

    schema: Schema
    model: Model
    method: str | None
    options: Mapping[str, Any]
    seed: int | None
    block_rows: int
    most_per_person: int | None = None
    about: Mapping[str, str] = field(default_factory=dict)

    @property
    def least(self) -> int:
        """The minimum number of records in a block."""
        return least_rows(self.model)

    @property
    def kept(self) -> Schema:
        """The schema without identifiers, which are never written to temporary files."""
        return Schema(tuple(column for column in self.schema if column.role is not Role.IDENTIFIER))

    @property
    def modules(self) -> Modules:
        """The modules outside Shoal that a worker process has to import."""
        return modules_used(self.schema, self.model, self.method)

    @property
    def apart(self) -> bool:
        """Whether rows of one block must not cover records of another.

        With persons, such rows might carry records of the same person and leave too few others.
        """
        by_rows = self.model.crowd_kind == "rows"
        return self.model.blocks_must_not_overlap(self.schema) or (by_rows and self.schema.person is not None)

    def tree(self, sample: pl.DataFrame, agreed: Reference, rows: int) -> CutTree:
        """Return the tree that assigns records to blocks.

        Parameters
        ----------
        sample
            The quasi-identifiers of some records, drawn uniformly.
        agreed
            What all blocks agree on.
        rows
            The number of records in the table.
        """
        return cut_tree(
            Table.encode(sample, Schema(agreed.schema.quasi), domains=agreed.domains),
            agreed,
            rows,
            block_rows=self.block_rows,
            least=self.least,
            apart=self.apart,
        )


def call_for(
    columns: Sequence[str],
    schema: Schema,
    model: Model,
    method: str | None,
    options: Mapping[str, Any],
    seed: int | None,
    block_rows: int,
    most_per_person: int | None = None,
    about: Mapping[str, str] | None = None,
) -> Call:
    """Return a checked request, with a schema of all columns and blocks that are large enough.

    Parameters
    ----------
    columns
        The names of all columns of the table.
    schema
        The schema of some or all of them.
    model, method, options, seed, block_rows, most_per_person, about
        As of `Call`.

    Raises
    ------
    InputError
        If the schema, the method, an option, the seed or the size of blocks is wrong, worker processes cannot
        import what the release depends on, or cutting the table could break the guarantee.
    """
    schema = Schema.of(schema)
    require_model(model)
    require_options(*method_for(model, method), options)
    completed = schema.completed(columns)
    if (weight := completed.survey_weight) is not None:
        raise InputError(
            f"survey weights in column {weight.name!r} are put into groups of the whole table, which blocks "
            "do not know; anonymize the whole table in memory, or give the column the role identifier, which "
            "leaves it out",
            reason=Reason.ROLE_CONFLICT,
            column=weight.name,
        )
    if any(is_limited(column) for column in completed.quasi):
        require_support(completed, model)
    modules_used(completed, model, method)  # raises an error if worker processes cannot import them
    model.blocks_must_not_overlap(completed)  # raises an error if the table must not be cut
    seed = checked_seed(seed)
    if most_per_person is not None:
        require_most_per_person(most_per_person, completed)
    if block_rows < 1:
        message = f"block_rows = {block_rows} is below 1"
        raise InputError(message, reason=Reason.PARAMETER, parameter="block_rows")
    rows = max(block_rows, 3 * least_rows(model))
    stated = checked_about(about)
    return Call(completed, model, method, options, seed, rows, most_per_person, stated)


@dataclass(frozen=True, eq=False)
class Task:
    """What is done with each block.

    Parameters
    ----------
    call
        The request.
    reference
        What all blocks agree on.
    form
        The format of the release.
    """

    call: Call
    reference: Reference
    form: Format


@dataclass(frozen=True, eq=False)
class BlockFacts:
    """What is known about the release of a block, without a value of any record.

    Parameters
    ----------
    rows
        The number of rows.
    method
        The name of the method.
    loss
        The information loss.
    audit
        The result of the audit, as `Audit.merge` keeps it.
    notes
        Notes of the method for the certificate.
    digest
        The sum of the digests of all rows, which does not depend on their order.
    seconds
        The time it took.
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
        The number of the block, which also selects its seed in a seeded run.

    Returns
    -------
    tuple
        The rows to publish, in random order and with the same data types in every block, and the facts.

    Raises
    ------
    InfeasibleError
        If no release of the block keeps the guarantee.
    """
    started = time.perf_counter()
    call = task.call
    seed = None if call.seed is None else seed_of(call.seed, number)
    table = task.reference.encode(frame)
    if table is None:
        raise InternalError(f"block {number} has no records")
    typed = task.form == "parquet"
    release = anonymize_table(table, call.model, method=call.method, seed=seed, typed=typed, **call.options)
    types = release_schema(frame.schema, task.reference, task.form)
    written = pl.DataFrame([column.cast(types[column.name]) for column in release.written(task.form)])
    audit = release.audit
    if audit.persons is not None and call.schema.person is not None:
        audit = replace(audit, persons=audit.persons.known_as(frame[call.schema.person.name].to_numpy()))
    facts = BlockFacts(
        written.height,
        release.circumstances["method"],
        release.loss,
        Audit.merge([audit]),
        list(release.circumstances.get("notes", ())),
        digest_of(written),
        round(time.perf_counter() - started, 3),
    )
    return written, facts


def united(
    units: Sequence[range], tree: CutTree, unit: range, told: Mapping[str, Any]
) -> tuple[list[range], range]:
    """Unite a unit for which the guarantee is infeasible with the part of the table that it was cut from.

    Parameters
    ----------
    units
        All units: the blocks that are worked on together.
    tree
        The tree that divides the table.
    unit
        The unit that failed.
    told
        Its error, as `ShoalError.as_dict` describes it.

    Returns
    -------
    tuple
        All units in their order, with the larger one in place of those in it; and the larger one.

    Raises
    ------
    ShoalError
        The error of the unit, if it is another one or there is nothing left to unite it with.
    """
    wider = tree.wider(unit)
    if told["reason"] != Reason.INFEASIBLE or wider is None:
        raise failure(told)
    others = [each for each in units if each.start not in wider]
    return sorted([*others, wider], key=lambda each: each.start), wider


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
        if not column.role.released:
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
    task: Task,
    facts: Sequence[BlockFacts],
    classes: Classes | None,
    own: Mapping[str, OwnValues],
    *,
    summary: Summary,
    seconds: float,
    engine: Mapping[str, Any],
    files: Mapping[str, str],
    over_limit: int = 0,
) -> Certificate:
    """Return the certificate of all blocks together.

    Parameters
    ----------
    task
        What was done with each block.
    facts
        What is known about the release of each.
    classes
        The equivalence classes of the joined release, if the model is about these.
    own
        The unique values in each carried column of the joined release.
    summary
        The summary of the table.
    seconds
        The time it took altogether.
    engine
        The name of the engine and its number of jobs.
    files
        The SHA-256 digest of each file of the release.
    over_limit
        The number of records left out because their person has more than are kept.

    Raises
    ------
    InternalError
        If the blocks do not hold all records.
    """
    call = task.call
    audit = judged([each.audit for each in facts], own, call.schema)
    if not audit.holds or audit.records != summary.rows:
        raise InternalError(f"the blocks have {audit.records} records, the table {summary.rows}")
    rows = [each.rows for each in facts]
    return Certificate(
        call.model,
        call.schema,
        _circumstances(call, facts, audit, seconds),
        sum(rows),
        Loss.merge([each.loss for each in facts], rows),
        audit if classes is None else replace(audit, classes=classes),
        left_out=summary.left_out,
        over_limit=over_limit,
        engine={**engine, **_division(facts)},
        files=files,
    )


def _circumstances(call: Call, facts: Sequence[BlockFacts], audit: Audit, seconds: float) -> dict[str, Any]:
    """Return how the release was made, as a certificate describes it."""
    notes = [*index_notes(call.schema), *sorted({note for each in facts for note in each.notes})]
    return {
        "method": facts[0].method,
        "options": dict(call.options),
        "seeded": call.seed is not None,
        **({"notes": notes} if notes else {}),
        "warnings": column_warnings(call.schema, audit),
        **({"about": dict(call.about)} if call.about else {}),
        "seconds": round(seconds, 3),
    }


def _division(facts: Sequence[BlockFacts]) -> dict[str, Any]:
    """Return how the table was divided, as a certificate describes it."""
    rows = [each.rows for each in facts]
    return {
        "blocks": len(facts),
        "smallest": min(rows),
        "largest": max(rows),
        "seconds_in_blocks": round(sum(each.seconds for each in facts), 3),
    }
