"""Releases that a checker of identical rows passes, though they hide no record or are of another table."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from shoal import Audit, Freeform, KAnonymity, Schema, audit
from shoal.auditing.reading import read_release
from shoal.models import Model
from shoal.recoding.coverage import Graph, Matches
from shoal.schema import as_frame
from shoal.table import Table

ORIGINAL = pl.DataFrame({"age": [1, 1, 2, 2], "job": ["a", "a", "b", "b"]})


def judged(
    original: pl.DataFrame, released: pl.DataFrame, model: Model | None = None
) -> tuple[Audit, Matches]:
    """Return the audit of a release, and its matches."""
    schema = Schema.infer(original, quasi=original.columns)
    table = Table.encode(original, schema)
    columns = read_release(as_frame(released), table)
    cells = np.column_stack([column.cell for column in columns])
    matches = Graph.of(table.codes, cells, [column.values for column in columns]).matches()
    return audit(original, released, schema, model), matches


def equal_rows(released: pl.DataFrame) -> int:
    """Return what a checker of identical rows would call k."""
    return int(released.group_by(released.columns).len()["len"].min())  # type: ignore[arg-type]


def test_the_original_of_these_tests_is_2_anonymous() -> None:
    found, matches = judged(ORIGINAL, ORIGINAL, KAnonymity(k=2))
    assert found.holds
    assert matches.perfect


def test_rows_that_match_nobody() -> None:
    released = pl.DataFrame({"age": ["1", "1", "7", "7"], "job": ["a", "a", "b", "b"]})
    assert equal_rows(released) == 2
    found, matches = judged(ORIGINAL, released, KAnonymity(k=2))
    assert not found.holds
    assert found.consistency.rows_without_record == 2
    assert not matches.perfect


def test_shuffled_cells() -> None:
    """Each cell is one of the original's, and so are their counts; but no record is 1 and b."""
    released = ORIGINAL.with_columns(job=pl.Series(["b", "b", "a", "a"])).cast(pl.String)
    assert equal_rows(released) == 2
    found, matches = judged(ORIGINAL, released, KAnonymity(k=2))
    assert not found.holds
    assert found.consistency.rows_without_record == 4
    assert matches.unmatched_records == 4


def test_k_equal_rows_and_a_unique_one() -> None:
    original = pl.DataFrame({"age": [1, 1, 1, 9]})
    found, _ = judged(original, original, KAnonymity(k=3))
    assert not found.holds
    assert found.k == 1


def test_a_unique_row_among_equal_ones_that_all_fit() -> None:
    """All rows cover the odd one, and its row covers all: a checker that counts covering rows passes this."""
    original = pl.DataFrame({"age": [1, 1, 1, 9]})
    released = pl.DataFrame({"age": ["*", "*", "*", "9"]})
    found, matches = judged(original, released, Freeform(k=3))
    assert found.consistency.rows_of_record.tolist() == [3, 3, 3, 4]
    assert not found.holds
    assert matches.matches_of_record.tolist() == [3, 3, 3, 1]
    assert found.concealment == 1


def test_a_row_too_few() -> None:
    """Three rows for four records that all could be in them: which one was left out is unknown."""
    original = pl.DataFrame({"age": [1, 1, 2, 2]})
    released = pl.DataFrame({"age": ["1..2"] * 3})
    assert equal_rows(released) == 3
    found, matches = judged(original, released, KAnonymity(k=3))
    assert not found.holds
    assert not matches.perfect
    assert (matches.unmatched_records, matches.unmatched_rows) == (1, 0)


def test_a_row_too_many() -> None:
    original = pl.DataFrame({"age": [1, 1]})
    found, matches = judged(original, pl.DataFrame({"age": ["1"] * 3}), KAnonymity(k=2))
    assert not found.holds
    assert matches.unmatched_rows == 1


def test_rows_that_cannot_all_have_a_record() -> None:
    """Two rows cover each record and each row covers two; yet four rows are for the two records of 2."""
    original = pl.DataFrame({"age": [1, 1, 1, 1, 2, 2]})
    released = pl.DataFrame({"age": ["1", "1", "2", "2", "2", "2"]})
    assert equal_rows(released) == 2
    found, matches = judged(original, released)
    assert found.consistency.rows_per_record == found.consistency.records_of_row.min() == 2
    assert (matches.unmatched_records, matches.unmatched_rows) == (2, 2)
    assert "not made from this table" in found.verdict


@pytest.mark.parametrize("last", ["1..4", "*"])
def test_a_ring_is_not_k_equal_to_1(last: str) -> None:
    original = pl.DataFrame({"age": [1, 2, 3, 4]})
    released = pl.DataFrame({"age": ["1..2", "2..3", "3..4", last]})
    assert equal_rows(released) == 1
    found, matches = judged(original, released, Freeform(k=2))
    assert found.holds
    assert found.consistency.rows_of_record.tolist() == [2, 3, 3, 2]
    assert found.consistency.records_of_row.tolist() == [2, 2, 2, 4]
    assert found.concealment == matches.matches_of_record.min() == 2


@pytest.mark.parametrize("kind", ["age", "job"])
def test_a_missing_quasi_identifier_is_counted(kind: str) -> None:
    """A checker that drops rows with gaps sees two classes of two, and certifies k = 2."""
    original = pl.concat([ORIGINAL, ORIGINAL.head(1).with_columns(pl.lit(None).alias(kind))])
    complete = original.drop_nulls()
    assert equal_rows(complete) == 2
    found, matches = judged(original, original, KAnonymity(k=2))
    assert not found.holds
    assert found.k == 1
    assert found.records == 5
    assert found.consistency.rows_of_record.tolist() == [2, 2, 2, 2, 1]
    assert matches.matches_of_record[-1] == 1


def test_a_gap_in_the_release_is_no_joker() -> None:
    """An empty cell says that a value is missing; only a star may stand for any."""
    original = pl.DataFrame({"age": [1, 2, None]})
    empty, _ = judged(original, pl.DataFrame({"age": [None] * 3}, schema={"age": pl.String}), KAnonymity(k=3))
    assert not empty.holds
    starred, _ = judged(original, pl.DataFrame({"age": ["*"] * 3}), KAnonymity(k=3))
    assert starred.holds
