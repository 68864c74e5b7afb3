"""An attacker who knows every record runs the method again and again, and learns who rows are made for."""

from __future__ import annotations

from collections import Counter, defaultdict

import numpy as np
import polars as pl
import pytest

import shoal
from shoal.recoding.coverage import Graph

TRAINING, TESTS = 200, 60


def people(n: int) -> pl.DataFrame:
    """Return a table with some spread, the same in every run."""
    numbers = np.random.default_rng(7)
    return pl.DataFrame(
        {
            "age": numbers.integers(18, 80, n),
            "zip": numbers.integers(0, 30, n),
            "children": numbers.integers(0, 4, n),
        }
    )


def rows_of(release: shoal.Release) -> list[tuple[str, ...]]:
    """Return the quasi-identifiers of each row as text."""
    return [tuple(map(str, row)) for row in release.table.rows()]


@pytest.mark.parametrize("model", [shoal.Concealment(k=3), shoal.KK(k=3)])
def test_rows_do_not_tell_for_whom_they_were_made(model: shoal.Model) -> None:
    table = people(20)
    schema = shoal.Schema.infer(table, quasi=table.columns)
    owners: dict[tuple[str, ...], Counter[int]] = defaultdict(Counter)
    for _ in range(TRAINING):
        release = shoal.anonymize(table, schema, model)
        for row, record in zip(rows_of(release), release.key, strict=True):
            owners[row][int(record)] += 1
    right, allowed = [], []
    for _ in range(TESTS):
        release = shoal.anonymize(table, schema, model)
        rows = rows_of(release)
        graph = Graph.of_recoding(release.recoding)
        covering = np.zeros((20, 20), dtype=np.bool_)
        starts, boxes = graph.crowds(np.arange(len(graph.records)))
        for kind in range(len(graph.records)):
            of_rows = np.isin(graph.row_type, boxes[starts[kind] : starts[kind + 1]])
            covering[np.ix_(graph.record_type == kind, of_rows)] = True
        shown = covering[:, release.rows]
        for record in range(20):
            chances = [
                (owners[row][record] + 1) / (owners[row].total() + 3) if inside else 0.0
                for row, inside in zip(rows, shown[record], strict=True)
            ]
            right.append(int(release.key[int(np.argmax(chances))]) == record)
        assert release.audit.chance is not None
        assert release.audit.chance.least is not None
        allowed.append(float(release.audit.chance.least))
    error = np.sqrt(0.25 / len(right))
    assert np.mean(right) <= np.mean(allowed) + 4 * error
    # Well below certainty, however the rows were made.
    assert np.mean(right) <= 0.5
