"""Limits and texts of the audit, worked by hand: what the campaign of mutants found no other test for."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest

import shoal
from shoal import InputError, Patterned, Schema
from shoal.auditing.carried import Carried, identifying
from shoal.auditing.classes import Classes
from shoal.auditing.limits import too_many_left_out
from shoal.auditing.proximity import Proximity


@pytest.mark.parametrize("share", [1, 1.0, 1.5, -0.1, True, "half"])
def test_a_share_of_records_to_leave_out_is_below_one(share: Any) -> None:
    with pytest.raises(InputError, match="from 0 to below 1"):
        list(too_many_left_out(None, share))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("age", "allowed", "says"),
    [
        (["*"] * 4, {"suppress": ["sex"]}, "4 rows suppress 'age', which no pattern allows"),
        (["30", "30", "40", "40"], {"suppress": ["age"]}, "4 rows suppress nothing, which no pattern allows"),
    ],
)
def test_the_audit_names_what_no_pattern_allows(age: list[str], allowed: dict[str, Any], says: str) -> None:
    original = pl.DataFrame({"age": [30, 30, 40, 40], "sex": ["f", "f", "m", "m"]})
    released = original.with_columns(age=pl.Series(age))
    schema = Schema.infer(original, quasi=["age", "sex"])
    model = Patterned(k=2, patterns=[allowed], leftovers="refuse")
    assert says in shoal.audit(original, released, schema, model).verdict


def test_no_row_has_a_class_in_merged_classes() -> None:
    one = Classes(np.array([0, 0, 1], dtype=np.int32), np.array([2, 1]))
    merged = Classes.merge([one, one])
    assert len(merged.of_row) == 0
    assert (merged.count, merged.smallest) == (4, 1)


@pytest.mark.parametrize(
    ("own", "rows", "sensitive", "could"),
    [
        (1, 1, False, False),
        (2, 2, False, True),
        (2, 2, True, False),
        (8, 9, False, False),
        (9, 9, False, True),
        (5, 10, True, True),
        (4, 10, False, False),
    ],
)
def test_how_many_values_of_their_own_could_identify(
    own: int, rows: int, sensitive: bool, could: bool
) -> None:
    """In fewer than ten rows, all of them; otherwise at least half."""
    assert identifying(own, rows, sensitive) is could


def test_without_crowds_none_is_breached() -> None:
    nothing = Proximity("income", 5.0, 0.8, np.empty(0), np.empty(0, dtype=np.int64))
    assert (nothing.vulnerability, nothing.mean, nothing.risk) == (0.0, 0.0, 0.0)


def test_a_column_that_could_identify_as_data_and_in_words() -> None:
    plain = {"column": "x", "own_values": 0.999, "repeats": ["identifier 'a'"], "gives_away": []}
    found = Carried("x", 0.999, ("identifier 'a'",))
    assert found.as_dict() == plain
    assert found.warning.endswith(
        "it repeats the identifier 'a', and 99% of the rows have a value of their own"
    )
    named = Carried("x", 1, looks="its name says so")
    assert named.as_dict()["looks"] == "its name says so"
    assert named.warning.endswith(": its name says so, and every row has a value of its own")
