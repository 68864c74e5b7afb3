"""What each k costs, from quick runs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

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


OTHERS: dict[str, dict[str, Any]] = {
    "patterned": {},
    "concealment": {},
    "kk": {},
    "km-anonymity": {"knows": 2},
    "t-closeness": {"t": 0.4},
    "k-map": {"population": FRAME},
    "dissimilarity": {"epsilon": 0, "delta": 0.1},
}


@pytest.mark.parametrize("model", OTHERS)
def test_every_model_with_a_crowd(model: str) -> None:
    schema = SCHEMA.changed("city", role="sensitive") if model in ("t-closeness", "dissimilarity") else SCHEMA
    (cost,) = advise_crowds(FRAME, schema, [4], model, OTHERS[model]).costs
    assert cost.gcp is not None
    assert set(cost.by_attribute) == {column.name for column in schema.quasi}


def test_sets_of_items_have_their_size() -> None:
    frame = pl.DataFrame({"bought": ["a b", "a", "b c", "a c", "b", "a b c"], "ill": list("uvwxyz")})
    schema = Schema.infer(frame, quasi=["bought"], sensitive=["ill"], kinds={"bought": "items"})
    for model in ("set-anonymity", "set-diversity"):
        assert [each.gcp is not None for each in advise_crowds(frame, schema, [2, 3], model).costs] == [
            True
        ] * 2


def test_widths_and_suggestions_in_words() -> None:
    advice = advise_crowds(FRAME, SCHEMA, [2, 20])
    assert list(advice.costs[0].widths) == ["age"]
    assert 0 < advice.costs[0].widths["age"] < advice.costs[1].widths["age"] < 79
    assert advice.suggestions() == [
        "age to 5 costs 0.62% of the records at k = 2",
        "age to 10 costs 0.62% of the records at k = 20",
    ]
    assert advice.as_dict()["suggestions"] == advice.suggestions()


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
    with pytest.raises(InputError, match="has no crowd size to advise on"):
        advise_crowds(FRAME, SCHEMA, [2], "delta-presence", {"delta_max": 0.5, "population": FRAME})
    with pytest.raises(InputError, match="'t'"):
        advise_crowds(FRAME, SCHEMA, [2], "t-closeness")
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
    free = call(tmp_path, *arguments[:4], "--k", "5", "--model", "km-anonymity", "--knows", "2")
    assert free.returncode == 0, free.stderr
    assert "Mean width of cells" in " ".join(free.stdout.split())
    assert "of the records at k = 5." in " ".join(free.stdout.split())
