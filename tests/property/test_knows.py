"""Attackers who know some columns: the audit agrees with counting by hand, over all combinations."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import shoal
from shoal import Freeform, InputError, Schema
from shoal.auditing import knowledge

NAMES = ["a", "b", "c", "d"]


@st.composite
def released(draw: st.DrawFn) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Draw a table, and a release in which cells are exact, sets of two values, or suppressed."""
    random = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    rows = draw(st.integers(4, 30))
    codes = random.integers(0, 3, (rows, len(NAMES)))
    width = random.choice(3, (rows, len(NAMES)), p=draw(st.sampled_from([[1, 0, 0], [0.6, 0.3, 0.1]])))
    wide = [
        ["*" if w == 2 else _cell(v, w) for v, w in zip(*row, strict=True)]
        for row in zip(codes, width, strict=True)
    ]
    return (
        pl.DataFrame(codes.astype(str), schema=NAMES),
        pl.DataFrame(wide, schema=NAMES, orient="row").sample(fraction=1.0, shuffle=True, seed=1),
    )


def _cell(value: int, width: int) -> str:
    return str(value) if width == 0 else "|".join(sorted({str(value), str((value + 1) % 3)}))


def covers(cell: str, value: str) -> bool:
    return cell == "*" or value in cell.split("|")


@settings(max_examples=25)
@given(released(), st.integers(1, 4), st.integers(2, 4))
def test_the_audit_counts_all_combinations(
    drawn: tuple[pl.DataFrame, pl.DataFrame], knows: int, k: int
) -> None:
    frame, release = drawn
    schema = Schema.infer(frame, quasi=NAMES, kinds=dict.fromkeys(NAMES, "categorical"))
    found = shoal.audit(frame, release, schema, Freeform(k=k), knows=knows)
    fewest = [
        min(
            sum(all(covers(row[i], record[i]) for i in known) for row in release.rows())
            for record in frame.rows()
        )
        for known in combinations(range(4), knows)
    ]
    covered = [
        min(
            sum(all(covers(row[i], record[i]) for i in known) for record in frame.rows())
            for row in release.rows()
        )
        for known in combinations(range(4), knows)
    ]
    assert found.partial is not None
    assert found.holds is (min(fewest) >= k and min(covered) >= k)
    if found.partial.looked_at:
        assert found.partial.rows_per_record == min(fewest)
        assert found.partial.records_per_row == min(covered)
        assert found.partial.combinations == len(fewest)
    if knows == 4:
        assert found.partial.rows_per_record == found.consistency.rows_per_record


def test_an_attacker_with_fewer_columns_finds_no_fewer_rows() -> None:
    frame = pl.DataFrame({"a": ["x", "x", "y", "y"], "b": ["x", "y", "x", "y"]})
    schema = Schema.infer(frame, quasi=["a", "b"])
    assert shoal.audit(frame, frame, schema, Freeform(k=2), knows=1).holds
    found = shoal.audit(frame, frame, schema, Freeform(k=2), knows=2)
    assert "an attacker who knows a, b finds fewer than k = 2 rows for 4 records" in found.verdict
    said = shoal.audit(frame, frame, schema, Freeform(k=2), knows=1).verdict
    assert said.endswith("for attackers who know at most 1 of the quasi-identifiers.")
    assert shoal.audit(frame, frame, schema, knows=1).as_dict()["partial"]["rows_per_record"] == 2


def test_impossible_numbers_of_known_columns_are_refused() -> None:
    frame = pl.DataFrame({"a": ["x", "x"], "b": ["x", "x"]})
    schema = Schema.infer(frame, quasi=["a", "b"])
    for knows in (0, 3, True):
        with pytest.raises(InputError, match="from 1 to 2"):
            shoal.audit(frame, frame, schema, Freeform(k=2), knows=knows)
    with pytest.raises(InputError, match="freeform with k alone"):
        shoal.audit(frame, frame, schema, shoal.KAnonymity(k=2), knows=1)


def test_as_many_combinations_as_allowed_are_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    frame = pl.DataFrame({name: ["x", "x"] for name in NAMES})
    schema = Schema.infer(frame, quasi=NAMES)
    monkeypatch.setattr(knowledge, "MOST_COMBINATIONS", 6)
    assert shoal.audit(frame, frame, schema, Freeform(k=2), knows=2).holds
    monkeypatch.setattr(knowledge, "MOST_COMBINATIONS", 5)
    with pytest.raises(InputError, match="6 combinations of 4 quasi-identifiers, more than 5"):
        shoal.audit(frame, frame, schema, Freeform(k=2), knows=2)
