"""Quick runs of the page: what is tried, what is recommended, and what a limit costs."""

from __future__ import annotations

from typing import Any

import pytest

import shoal
from shoal.methods import silent
from shoal.samples import hospital
from shoal.web.quick import comparable, limit_of, narrower, nearest_k, try_several
from shoal.web.tasks import Source
from shoal.web.trying import read_asked

QUASI = ["age", "sex", "admitted"]


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Source:
    path = tmp_path_factory.mktemp("tables") / "patients.csv"
    hospital(200).select(*QUASI, "diagnosis").write_csv(path)
    return Source(path, "patients.csv")


def schema_of(source: Source) -> shoal.Schema:
    return shoal.Schema.infer(source.read(), quasi=QUASI, sensitive=["diagnosis"])


def test_runs_are_compared_and_the_best_for_the_wanted_k_is_recommended(source: Source) -> None:
    found = try_several(
        source,
        schema_of(source),
        ["freeform", "k-anonymity"],
        [2, 5, 500],
        {"l": 2.0},
        wanted=5,
        every_method=False,
        progress=silent,
    )
    assert [(run["model"], run["k"]) for run in found["runs"]] == [
        ("freeform", 2),
        ("freeform", 5),
        ("k-anonymity", 2),
        ("k-anonymity", 5),
    ]
    best = next(run for run in found["runs"] if run["recommended"])
    assert (best["model"], best["k"]) == ("freeform", 5)
    assert found["words"].startswith(f"freeform with the method {best['method']} and k = 5 loses")
    assert "With the same k, k-anonymity with mondrian loses" in found["words"]
    assert "The same model and method would lose" in found["words"]
    assert "k-anonymity, mondrian, k = 5: risk" in found["chart"]


def test_no_smaller_k_is_recommended_than_suits_the_table() -> None:
    assert nearest_k([2, 5, 10, 20], 10) == 10
    assert nearest_k([5, 20, 50], 10) == 20
    assert nearest_k([2, 5], 10) == 5


def test_runs_that_are_not_possible_are_among_the_others(source: Source) -> None:
    found = try_several(source, schema_of(source), ["freeform"], [2], {"l": 20.0}, 2, True, silent)
    assert {run["gcp"] for run in found["runs"]} == {None}
    assert all(run["message"] for run in found["runs"])
    assert (found["words"], found["chart"]) == ("", "")


def test_the_cost_of_a_limit_is_told(source: Source) -> None:
    found = narrower(source, schema_of(source), "age", 10, 5, "freeform", silent)
    assert found["possible"]
    assert found["words"].startswith("To keep age within 10, with k = 5, ")
    assert "of the information would be lost instead of" in found["words"]


def test_limits_are_read_as_on_the_command_line(source: Source) -> None:
    age, _, admitted, _ = schema_of(source)
    assert limit_of(age, " 10 ") == 10
    assert limit_of(age, "2.5") == 2.5
    assert limit_of(admitted, "6 months") == "6 months"
    for column, wrong in ((age, "wide"), (age, ""), (admitted, "6 fortnights")):
        with pytest.raises(shoal.InputError):
            limit_of(column, wrong)


def test_fields_of_what_is_tried_are_read_strictly(source: Source) -> None:
    schema = schema_of(source)
    weighed = {"records": 200, "diversity": {"diagnosis": {"l": 4.0, "p": 9, "entropy_l": 6.0}}}
    given: dict[str, Any] = {
        "try_k": "5, 2, 5",
        "try_models": ["freeform", "unknown"],
        "try_methods": "all",
        "model": "dissimilarity",
    }
    asked, problems = read_asked(given.get, schema, weighed)
    assert problems == {}
    assert asked["ks"] == [2, 5]
    assert asked["models"] == ["freeform"]
    assert asked["every_method"] is True
    assert asked["parameters"] == {"l": 2.0}
    asked, _ = read_asked({**given, "model": "freeform", "p": "3"}.get, schema, weighed)
    assert asked["parameters"] == {"p": 3}
    _, problems = read_asked({"try_k": "1, x", "try_models": None, "try_methods": "?"}.get, schema, weighed)
    assert set(problems) == {"try_k", "try_models", "try_methods"}
    assert {model.name for model in comparable(schema)} >= {"freeform", "k-anonymity", "concealment"}
    assert "dissimilarity" not in {model.name for model in comparable(schema)}
