"""Limits and texts of the audit, worked by hand: what the campaign of mutants found no other test for."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from types import SimpleNamespace
from typing import Any

import numpy as np
import polars as pl
import pytest

import shoal
from shoal import InputError, KAnonymity, Patterned, Schema
from shoal.auditing.carried import Carried, identifying
from shoal.auditing.classes import Classes
from shoal.auditing.limits import too_many_left_out
from shoal.auditing.persons import Persons
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


def test_a_key_names_each_record_once() -> None:
    original = pl.DataFrame({"age": [30, 40], "illness": ["a", "b"]})
    schema = Schema.infer(original, quasi=["age"], sensitive=["illness"])
    released = pl.DataFrame({"age": ["30..40", "30..40"], "illness": ["b", "a"]})
    assert shoal.audit(original, released, schema, KAnonymity(k=2), key=[1, 0]).holds
    with pytest.raises(InputError, match="two released rows to the same record"):
        shoal.audit(original, released, schema, KAnonymity(k=2), key=[1, 1])


def test_levels_of_classes_are_told_only_if_there_are_classes() -> None:
    original = pl.DataFrame({"age": [30, 30, 40, 40], "illness": ["a", "b", "a", "b"]})
    schema = Schema.infer(original, quasi=["age"], sensitive=["illness"])
    alone = original.with_columns(age=pl.Series(["30", "30..40", "40", "40..50"]))
    told = [
        "illness in each class" in dict(shoal.audit(original, each, schema).facts())
        for each in (original, alone)
    ]
    assert told == [True, False]


def test_one_table_with_a_record_for_each_person_is_enough_to_say_so() -> None:
    one = np.ones(1, dtype=np.int64)
    parts = [
        Persons(one, one, one, one, one, np.ones(1), np.ones(1), np.array([number]), one_each=number == 0)
        for number in range(2)
    ]
    merged = Persons.merge(parts)
    assert merged is not None
    assert merged.one_each


@pytest.mark.parametrize(("share", "told"), [(0.5, False), (float("nan"), True)])
def test_facts_name_what_cannot_be_seen_without_the_key(share: float, told: bool) -> None:
    one = np.ones(1, dtype=np.int64)
    found = Persons(one, one, one, one, one, np.array([share]), np.ones(1))
    assert ("not visible without the key" in dict(found.facts())) is told


def test_an_audit_without_a_model_counts_sensitive_values_around_records() -> None:
    original = pl.DataFrame({"age": [30, 30, 40, 40], "illness": ["a", "b", "a", "b"]})
    schema = Schema.infer(original, quasi=["age"], sensitive=["illness"])
    found = shoal.audit(original, original, schema)
    assert [each.p for each in (*found.diversity_around, *found.diversity_consistent)] == [2, 2]


@pytest.mark.parametrize(("least", "highest"), [(None, 0.5), (Fraction(1, 4), 0.5), (Fraction(3, 4), 0.75)])
def test_the_highest_risk_is_at_least_the_chance_of_the_best_guess(
    least: Fraction | None, highest: float
) -> None:
    original = pl.DataFrame({"age": [30, 30, 40, 40]})
    found = shoal.audit(original, original, Schema.infer(original, quasi=["age"]))
    chance: Any = SimpleNamespace(least=least)
    assert replace(found, chance=chance).highest_risk == highest
