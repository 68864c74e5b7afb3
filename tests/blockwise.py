"""A release of a small table made block by block, without files: what tests of blocks share."""

from __future__ import annotations

import numpy as np
import polars as pl

from shoal.base.randomness import Randomness
from shoal.engines.blocks import BlockFacts, Call, Task, anonymize_block
from shoal.engines.cutting import CutTree, cut_tree
from shoal.engines.domains import Reference, Summary, reference, summarize
from shoal.errors import InfeasibleError
from shoal.models import Model
from shoal.release import Format
from shoal.schema import Column, Kind, Role, Schema
from shoal.table import Table

PEOPLE = Schema(
    (
        Column("age", Role.QUASI, Kind.NUMERIC),
        Column("town", Role.QUASI),
        Column("name", Role.IDENTIFIER),
        Column("illness", Role.SENSITIVE),
    )
)
"""What the columns of `people` are; those not named here are carried along."""


def people(rows: int, seed: int = 0) -> pl.DataFrame:
    """Return some made-up people."""
    rng = np.random.default_rng(seed)
    return pl.DataFrame(
        {
            "age": rng.integers(18, 90, rows),
            "town": rng.choice(["Ulm", "Bonn", "Köln", "Jena"], rows),
            "name": [f"person {number}" for number in range(rows)],
            "illness": rng.choice(["flu", "cold", "gout"], rows),
            "row": np.arange(rows),
        }
    )


def agreed(frame: pl.DataFrame, schema: Schema, rows_at_once: int = 5) -> Reference:
    """Return what all parts agree on, found in small parts."""
    schema = schema.completed(frame.columns)
    summary = Summary()
    for start in range(0, max(frame.height, 1), rows_at_once):
        part, _ = summarize(frame[start : start + rows_at_once], schema, first_row=start)
        summary = summary.merged(part)
    return reference(summary, schema)


def blocks_of(
    frame: pl.DataFrame, schema: Schema, model: Model, *, block_rows: int, least: int
) -> tuple[Reference, CutTree, Table, list[int]]:
    """Return what parts agree on, the cut tree, the table as arrays, and the block of each record."""
    known = agreed(frame, schema)
    table = known.encode(frame)
    assert table is not None
    tree = cut_tree(
        table,
        known,
        len(table),
        block_rows=block_rows,
        least=least,
        apart=model.blocks_must_not_overlap(known.schema),
    )
    return known, tree, table, tree.blocks_of(table, Randomness(1)).tolist()


def released(
    frame: pl.DataFrame,
    schema: Schema,
    model: Model,
    *,
    block_rows: int,
    least: int,
    form: Format = "csv",
    method: str | None = None,
) -> tuple[pl.DataFrame, list[BlockFacts]]:
    """Return a release made in blocks and the facts of each; those that are infeasible alone are united."""
    known, tree, table, blocks = blocks_of(frame, schema, model, block_rows=block_rows, least=least)
    kept = pl.DataFrame(table.frame.to_native())
    counts = [blocks.count(block) for block in range(len(tree))]
    task = Task(Call(known.schema, model, method, {}, 1, block_rows), known, form)
    units = tree.units(counts, least)
    made: dict[range, tuple[pl.DataFrame, BlockFacts]] = {}
    while len(made) < len(units):
        unit = next(each for each in units if each not in made)
        try:
            made[unit] = anonymize_block(kept.filter([block in unit for block in blocks]), task, unit.start)
        except InfeasibleError:
            wider = tree.wider(unit)
            if wider is None:
                raise
            units = [each for each in units if each.start not in wider] + [wider]
            made = {each: what for each, what in made.items() if each in units}
    return pl.concat([frame for frame, _ in made.values()]), [facts for _, facts in made.values()]
