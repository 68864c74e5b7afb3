"""What each k costs, from quick runs."""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl
import pytest
from calling import call

import shoal
from shoal import Column, InputError, Role, Schema
from shoal.engines.advice import advise_crowds

FRAME = pl.DataFrame(
    {
        "age": [20 + i % 40 for i in range(159)] + [99],
        "sex": ["f", "m"] * 80,
        "city": ["a", "b", "b", "c"] * 40,
    }
)
SCHEMA = Schema.infer(FRAME, quasi=["age", "sex", "city"])


@pytest.mark.parametrize("model", ["freeform", "k-anonymity"])
def test_a_larger_crowd_costs_more(model: str) -> None:
    advice = advise_crowds(FRAME, SCHEMA, [2, 5, 20, 500], model)
    losses = [each.gcp for each in advice.costs]
    assert [each.k for each in advice.costs] == [2, 5, 20]  # the table has fewer records than 500
    assert None not in losses
    assert losses == sorted(losses)  # type: ignore[type-var]
    assert all(each.left_out == 0 for each in advice.costs)
    ages = [each for each in advice.widths if each.column == "age"]
    # The one person of 99 years can be hidden in no narrow cell.
    assert [each.widest for each in ages] == [5, 10, 20]
    assert all(each.left_out[5] == pytest.approx(1 / 160) for each in ages)


def test_the_share_is_what_a_release_leaves_out() -> None:
    limited = SCHEMA.changed("age", widest=10).changed("sex", exact=True)
    (cost,) = advise_crowds(FRAME, limited, [5]).costs
    with pytest.warns(shoal.ShoalWarning):
        release = shoal.anonymize(FRAME, limited, shoal.Freeform(k=5), seed=1, leave_out=0.5)
    assert cost.left_out == release.certified.stranded / len(FRAME) > 0
    assert cost.by_attribute["sex"] == 0


def test_persons_are_hidden_among_persons() -> None:
    """As many records as there are hide each other, but they belong to 40 persons."""
    frame = FRAME.with_columns(person=pl.Series([i % 40 for i in range(160)]))
    schema = Schema.infer(frame, quasi=["age", "sex", "city"], person="person")
    advice = advise_crowds(frame, schema, [5, 50])
    assert [each.gcp is None for each in advice.costs] == [False, True]
    assert advice.widths == ()  # no records are left out where persons have several


def test_no_release_is_an_answer() -> None:
    frame = pl.DataFrame({"age": [10, 20, 30, 40]})
    schema = Schema((Column("age", Role.QUASI, "numeric", widest=1),))
    (cost,) = advise_crowds(frame, schema, [2]).costs
    assert (cost.gcp, cost.left_out) == (None, 1.0)


def test_impossible_questions_are_refused() -> None:
    with pytest.raises(InputError, match="no quick runs"):
        advise_crowds(FRAME, SCHEMA, [2], "patterned")
    with pytest.raises(InputError, match="below 2"):
        advise_crowds(FRAME, SCHEMA, [1])


def test_advice_on_the_command_line(tmp_path: Path) -> None:
    FRAME.write_csv(tmp_path / "people.csv")
    arguments = ["advise", "people.csv", "--quasi", "age,sex,city", "--limit", "age=10", "--k", "2,5"]
    shown = call(tmp_path, *arguments)
    assert shown.returncode == 0, shown.stderr
    assert "k = 5" in shown.stdout
    said = json.loads(call(tmp_path, *arguments, "--json", "--model", "k-anonymity").stdout)
    assert [each["k"] for each in said["costs"]] == [2, 5]
    assert said["widths"] == []
