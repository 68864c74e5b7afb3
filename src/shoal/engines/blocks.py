"""Blocks of a large table: how it may be cut, a release of one of them, and what all of them say together."""

from __future__ import annotations

import datetime
import time
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from importlib import metadata
from typing import Any

import numpy as np
import polars as pl

from shoal.base import fresh_columns
from shoal.base.randomness import checked_seed
from shoal.engines.cutting import CutTree, cut_tree
from shoal.engines.domains import Reference, Summary
from shoal.engines.local import anonymize_table
from shoal.engines.own_values import OwnValues, judged
from shoal.errors import InputError, InternalError, Reason
from shoal.kinds.ranges import interval_type
from shoal.models import Model
from shoal.release import Format, Release, described_columns, index_notes
from shoal.schema import Role, Schema
from shoal.table import Table

BLOCK_ROWS = 50_000
"""How many records a block has, about."""
SAMPLE = 400_000
"""From how many records at most the cuts are learnt."""
SAFE = 20
"""A block has at least so many times as many records as a crowd."""


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
        raise InputError(f"blocks of {asked} rows hold nobody; give 1 or more", reason=Reason.PARAMETER)
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
        """The columns without identifiers: nobody needs these, and so they are not kept meanwhile."""
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


@dataclass(frozen=True)
class Facts:
    """What is known about the release of a block, as plain data without a value of any record.

    Parameters
    ----------
    rows
        How many rows it has.
    method
        Who made it.
    gcp, by_attribute
        What was lost, as in `Loss`.
    items
        For each column of items the error rate, the uncertain items and the bits, as in `ItemsLoss`.
    audit
        What the auditor found, as `Audit.as_dict` has it.
    crowds
        How many records fit how many rows of the block: pairs of a number of rows and one of records.
    notes
        What the method has to say.
    digest
        The sum of the digests of all rows, whatever their order.
    seconds
        How long it took.
    """

    rows: int
    method: str
    gcp: float
    by_attribute: Mapping[str, float]
    items: Mapping[str, Mapping[str, float]]
    audit: Mapping[str, Any]
    crowds: Sequence[tuple[int, int]]
    notes: Sequence[str]
    digest: int
    seconds: float

    def as_dict(self) -> dict[str, Any]:
        """Return the facts as plain data."""
        return asdict(self)


def anonymize_block(frame: pl.DataFrame, task: Task, number: int) -> tuple[pl.DataFrame, Facts]:
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
    return written, _facts(release, written, time.perf_counter() - started)


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
    facts: Sequence[Facts],
    classes: Mapping[str, int | float] | None,
    own: Mapping[str, OwnValues],
    *,
    summary: Summary,
    seconds: float,
    engine: Mapping[str, Any],
) -> dict[str, Any]:
    """Return what was promised, lost and found in all blocks together, as plain data.

    Parameters
    ----------
    schema
        What the columns are.
    task
        What was done with each block.
    facts
        What is known about each.
    classes
        The classes of equal rows in the joined release, if the promise is about these.
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
        If the blocks do not hold everybody.
    """
    audits = [each.audit for each in facts]
    audit = judged(joined_audit(audits), audits, own, schema, task.model)
    if not audit["holds"] or audit["records"] != summary.rows:
        raise InternalError(f"the blocks have {audit['records']} records, the table {summary.rows}")
    model = task.model
    notes = [*index_notes(schema), *sorted({note for each in facts for note in each.notes})]
    return {
        "shoal": metadata.version("shoal"),
        "created": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        "model": {"name": model.name, **model.parameters, "promise": model.sentence()},
        "method": facts[0].method,
        "options": dict(task.options),
        "seeded": task.seed is not None,
        **({"notes": notes} if notes else {}),
        "seconds": round(seconds, 3),
        "engine": {
            **engine,
            "blocks": len(facts),
            "smallest": min(each.rows for each in facts),
            "largest": max(each.rows for each in facts),
            "seconds_in_blocks": round(sum(each.seconds for each in facts), 3),
        },
        "rows": sum(each.rows for each in facts),
        "left_out": summary.left_out,
        "withheld": 0,
        "columns": described_columns(schema),
        "loss": joined_loss(facts),
        "audit": audit if classes is None else {**audit, "k": classes["smallest"], "classes": classes},
    }


def joined_loss(facts: Sequence[Facts]) -> dict[str, Any]:
    """Return what all blocks lost together: GCP is a mean over rows, so it is that of the whole release."""
    weights = np.array([each.rows for each in facts], dtype=np.float64)

    def mean(figures: Iterable[float]) -> float:
        return float(np.average(list(figures), weights=weights))

    return {
        "gcp": mean(each.gcp for each in facts),
        "by_attribute": {
            name: mean(each.by_attribute[name] for each in facts) for name in facts[0].by_attribute
        },
        "items": {
            name: {what: mean(each.items[name][what] for each in facts) for what in figures}
            for name, figures in facts[0].items.items()
        },
    }


def joined_audit(audits: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return what the auditor found in all blocks, in the form of `Audit.as_dict`.

    Levels are those of the worst block. In the whole release they are no worse: rows of other blocks that a
    person fits add to the crowd.
    """
    rows = np.array([each["rows"] for each in audits], dtype=np.float64)

    def least(*path: str) -> Any:
        return min(_at(each, path) for each in audits)

    def total(*path: str) -> int:
        return sum(_at(each, path) for each in audits)

    def attack(who: str) -> dict[str, Any]:
        return {
            "highest": max(_at(each, ("risks", who, "highest")) for each in audits),
            "mean": float(np.average([_at(each, ("risks", who, "mean")) for each in audits], weights=rows)),
            "at_risk": float(
                np.average([_at(each, ("risks", who, "at_risk")) for each in audits], weights=rows)
            ),
            "without_crowd": total("risks", who, "without_crowd"),
        }

    prosecutor = attack("prosecutor")
    suppressed = Counter[tuple[str, ...]]()
    for each in audits:
        for kind in each["suppressions"]:
            suppressed[tuple(kind["suppress"])] += kind["rows"]
    return {
        "holds": all(each["holds"] for each in audits),
        "verdict": audits[0]["verdict"],
        "findings": sorted({finding for each in audits for finding in each["findings"]}),
        "promise": audits[0]["promise"],
        "records": total("records"),
        "rows": total("rows"),
        "k": least("k"),
        "classes": {
            "count": total("classes", "count"),
            "smallest": least("classes", "smallest"),
            "mean": total("rows") / total("classes", "count"),
            "largest": max(_at(each, ("classes", "largest")) for each in audits),
        },
        "consistency": {
            "rows_per_record": least("consistency", "rows_per_record"),
            "records_per_row": least("consistency", "records_per_row"),
            "records_without_row": total("consistency", "records_without_row"),
            "rows_without_record": total("consistency", "rows_without_record"),
            "strayed_rows": total("consistency", "strayed_rows"),
        },
        "concealment": least("concealment"),
        "matches": {
            "perfect": all(each["matches"]["perfect"] for each in audits),
            "unmatched_records": total("matches", "unmatched_records"),
            "unmatched_rows": total("matches", "unmatched_rows"),
            "concealment": least("matches", "concealment"),
            "matches_per_row": least("matches", "matches_per_row"),
        },
        "risks": {
            "threshold": audits[0]["risks"]["threshold"],
            "classes": attack("classes"),
            "prosecutor": prosecutor,
            "marketer": prosecutor["mean"],
        },
        **{
            where: [_least_varied([each[where][i] for each in audits]) for i in range(len(audits[0][where]))]
            for where in ("diversity", "diversity_around", "diversity_consistent")
        },
        "proximity": [
            {**near, "risk": max(each["proximity"][i]["risk"] for each in audits)}
            for i, near in enumerate(_without(audits[0]["proximity"], "crowds", "mean", "vulnerability"))
        ],
        "suppressions": [
            {"suppress": list(columns), "rows": count} for columns, count in suppressed.most_common()
        ],
    }


def joined_crowds(facts: Sequence[Facts]) -> list[tuple[int, int]]:
    """Return how many records fit how many rows of their block, ascending."""
    together = Counter[int]()
    for each in facts:
        for size, records in each.crowds:
            together[size] += records
    return sorted(together.items())


def _facts(release: Release, written: pl.DataFrame, seconds: float) -> Facts:
    sizes, records = np.unique(release.audit.consistency.rows_of_record, return_counts=True)
    return Facts(
        rows=written.height,
        method=release.circumstances["method"],
        gcp=release.loss.gcp,
        by_attribute=dict(release.loss.by_attribute),
        items={
            name: {"error_rate": lost.error_rate, "uncertain": lost.uncertain, "bits": lost.bits}
            for name, lost in release.loss.items.items()
        },
        audit=release.audit.as_dict(),
        crowds=list(zip(sizes.tolist(), records.tolist(), strict=True)),
        notes=list(release.circumstances.get("notes", ())),
        digest=digest_of(written),
        seconds=round(seconds, 3),
    )


def _at(data: Mapping[str, Any], path: Sequence[str]) -> Any:
    found: Any = data
    for name in path:
        found = found[name]
    return found


def _least_varied(columns: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    return {
        "column": columns[0]["column"],
        **{level: min(column[level] for column in columns) for level in ("p", "l", "entropy_l")},
        "highest_frequency": max(column["highest_frequency"] for column in columns),
    }


def _without(records: Sequence[Mapping[str, Any]], *names: str) -> list[dict[str, Any]]:
    return [{name: value for name, value in each.items() if name not in names} for each in records]
