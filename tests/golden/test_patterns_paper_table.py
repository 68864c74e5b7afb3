"""Table 1 of Bredereck, Nichterlein and Niedermeier (2013): the greedy heuristic on Adult, to the digit."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from shoal import Patterned, Schema, anonymize, kernels, read_table
from shoal.measures.row_types import row_types
from shoal.measures.usefulness import usefulness
from shoal.methods.suppression import Patterns
from shoal.recoding import Recoding
from shoal.table import Table

NUMERIC = ["age", "education-num", "capital-gain", "capital-loss", "hours-per-week"]


@pytest.fixture(scope="module")
def table(shared_data: Path) -> Table:
    frame = read_table(shared_data / "adult_train.csv.gz").drop("fnlwgt")
    kinds = {name: "numeric" if name in NUMERIC else "categorical" for name in frame.columns}
    return Table.encode(frame, Schema.infer(frame, quasi=frame.columns, kinds=kinds))


@pytest.mark.parametrize(
    ("k", "useful", "types", "mean", "largest"),
    [
        (2, 2.062, 14589, 2.232, 16),
        (3, 2.290, 9208, 3.536, 18),
        (4, 2.470, 6670, 4.882, 25),
        (5, 2.615, 5199, 6.263, 31),
        (6, 2.738, 4315, 7.546, 42),
        (7, 2.851, 3669, 8.875, 53),
        (8, 2.942, 3193, 10.198, 53),
        (9, 3.026, 2832, 11.498, 52),
        (10, 3.106, 2559, 12.724, 56),
        (25, 3.840, 1046, 31.129, 161),
        (50, 4.462, 537, 60.635, 317),
        (75, 4.873, 354, 91.980, 317),
        (100, 5.151, 274, 118.836, 317),
    ],
)
def test_table_1(table: Table, k: int, useful: float, types: int, mean: float, largest: int) -> None:
    patterns = Patterns.of(Patterned(k=k).mask(dict.fromkeys(table.schema.names, 1.0)))
    assert len(patterns) == 2**14
    cover = kernels.cover(table.codes, patterns.kept, k)
    # There, fewer than k rows that are left over are suppressed as they are.
    literal = np.where(cover.pattern_of < 0, len(patterns) - 1, cover.pattern_of).astype(np.int32)
    recoding = Recoding.of_suppression(table, patterns.suppressed, literal, {})
    found = row_types(recoding)
    assert round(usefulness(recoding), 3) == useful
    assert (found.count, round(found.mean, 3), found.largest) == (types, mean, largest)
    # No pattern counts rows that are too rare for it: all of them would be 2^14 times 32,561.
    assert cover.counted < 0.02 * len(patterns) * len(table)


def test_a_release_of_adult_by_patterns(table: Table) -> None:
    release = anonymize(table.frame, table.schema, Patterned(k=100), effort="fast")
    assert release.audit.holds
    assert release.audit.k >= 100
    blank = [kind.rows for kind in release.audit.suppressions if len(kind.suppressed) == 14]
    assert blank == [135]  # 33 were left over, and a class of 102 joins them more cheaply than spare rows
    assert release.recoding.account["cost"] == 153192
