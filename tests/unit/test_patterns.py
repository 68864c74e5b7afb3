"""Patterns as users describe them, what is refused at once, and what the audit finds."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from shoal import InfeasibleError, InputError, Pattern, Patterned, Schema, anonymize, audit
from shoal.errors import Reason
from shoal.models.patterned import read_patterns
from shoal.models.patterns import Mask

COLUMNS = {"age": 1.0, "zip": 2.0, "sex": 1.0}
FRAME = pl.DataFrame(
    {
        "age": [30, 30, 30, 41, 41, 41, 55, 56],
        "zip": ["a", "a", "a", "a", "b", "b", "b", "b"],
        "sex": ["f", "f", "f", "m", "m", "m", "f", "f"],
        "diagnosis": list("stuvwxyz"),
    }
)
SCHEMA = Schema.infer(FRAME, quasi=list(COLUMNS), sensitive=["diagnosis"])


def mask(**parameters: Any) -> Mask:
    return Patterned(k=2, **parameters).mask(COLUMNS)


def names(found: Mask) -> list[str]:
    """Return all patterns by the letters of the columns they suppress."""
    return ["".join(np.array(list("azs"))[pattern]) for pattern in found.patterns()]


def test_patterns_come_by_cost_and_then_with_the_first_columns_kept() -> None:
    assert names(mask(weights={"zip": 1})) == ["", "s", "z", "a", "zs", "as", "az", "azs"]
    assert names(mask()) == ["", "s", "a", "z", "as", "zs", "az", "azs"]


@pytest.mark.parametrize(
    ("parameters", "expected"),
    [
        ({"up_to": 1}, ["", "s", "a", "z", "azs"]),
        ({"up_to": 1, "leftovers": "refuse"}, ["", "s", "a", "z"]),
        ({"never": ["sex"]}, ["", "a", "z", "az"]),
        ({"priorities": [["age", "zip", "sex"]]}, ["", "s", "zs", "azs"]),
        ({"priorities": [["age", "zip"]], "never": ["sex"]}, ["", "z", "az"]),
        ({"patterns": [{"keep": ["sex"]}, {"suppress": ["age"]}]}, ["a", "az", "azs"]),
        ({"patterns": [Pattern(suppress=("age",))] * 2, "leftovers": "refuse"}, ["a"]),
        ({"patterns": [{"suppress": []}], "never": ["zip"]}, ["", "as"]),
    ],
)
def test_which_patterns_are_allowed(parameters: dict[str, Any], expected: list[str]) -> None:
    found = mask(**parameters)
    assert names(found) == expected
    nothing_free = np.zeros(3, dtype=np.bool_)
    for number in range(8):
        suppressed = np.array([number & 4, number & 2, number & 1], dtype=np.bool_)
        name = "".join(np.array(list("azs"))[suppressed])
        assert found.allows(suppressed, nothing_free) == (name in expected)


def test_columns_with_a_single_value_may_count_either_way() -> None:
    found = mask(priorities=[["age", "zip"]], leftovers="refuse", up_to=2)
    age = np.array([True, False, False])
    assert not found.allows(age, np.array([False, False, True]))
    assert found.allows(age, np.array([False, True, False]))
    assert not mask(priorities=[["age", "zip"]], leftovers="refuse", up_to=1).allows(age, ~age)


@pytest.mark.parametrize(
    ("parameters", "words"),
    [
        ({"patterns": [{"suppress": ["aeg"]}]}, "did you mean 'age'"),
        ({"never": ["sexx"]}, "never: column 'sexx'"),
        ({"priorities": [["age", "city"]]}, "priorities: column 'city'"),
        ({"weights": {"city": 2.0}}, "weights: column 'city'"),
        ({"patterns": [{"suppress": ["sex"]}], "never": ["sex"]}, "'sex', which must never be suppressed"),
        ({"patterns": [{"keep": ["age"]}], "up_to": 1}, "up_to allows 1"),
        ({"patterns": [{"suppress": ["age"]}], "priorities": [["age", "zip"]]}, "have less priority"),
        ({"patterns": "some"}, 'must be "all" or a list'),
        ({"patterns": []}, 'must be "all" or a list'),
        ({"patterns": ["age"]}, "is not a pattern"),
        ({"patterns": [{"drop": ["age"]}]}, "no 'drop'"),
        ({"patterns": [{"keep": ["age"], "suppress": ["zip"]}]}, "either which columns"),
        ({"patterns": [{}]}, "either which columns"),
        ({"patterns": [{"keep": "age"}]}, "must be a list of columns"),
        ({"never": ["age", "age"]}, "twice"),
        ({"up_to": -1}, "up_to"),
        ({"weights": {"age": 0}}, "must be a positive number"),
        ({"weights": {"age": True}}, "must be a positive number"),
        ({"weights": ["age"]}, "must be a table"),
        ({"priorities": 3}, "must be a list of lists"),
        ({"leftovers": "drop"}, "suppress or refuse"),
    ],
)
def test_what_cannot_be_meant_is_refused(parameters: dict[str, Any], words: str) -> None:
    with pytest.raises(InputError, match=words):
        mask(**parameters)


def test_too_many_patterns_are_refused_before_any_work() -> None:
    with pytest.raises(InputError, match="up_to") as caught:
        Patterned(k=2).mask({f"c{i}": 1.0 for i in range(30)}).patterns()
    assert caught.value.reason is Reason.TOO_LARGE
    assert len(Patterned(k=2, up_to=2).mask({f"c{i}": 1.0 for i in range(30)}).patterns()) == 1 + 30 + 435 + 1
    with pytest.raises(InputError, match="at most 64"):
        Patterned(k=2, up_to=1).mask({f"c{i}": 1.0 for i in range(65)})


@pytest.mark.parametrize(
    ("k", "parameters", "words"),
    [
        (
            4,
            {"never": ["sex"]},
            "3 records: fewer than k = 4 have their values in 'sex'.* k = 3 at most",
        ),
        (3, {"patterns": [{"suppress": ["zip"]}], "leftovers": "refuse"}, "no pattern can hold 2 records"),
    ],
)
def test_patterns_that_cannot_hold_every_row(k: int, parameters: dict[str, Any], words: str) -> None:
    with pytest.raises(InfeasibleError, match=words):
        anonymize(FRAME, SCHEMA, Patterned(k=k, **parameters))


def test_rows_that_cannot_all_have_a_pattern_although_each_could() -> None:
    """The rows in the middle are needed on both sides, and there are enough for one only."""
    frame = pl.DataFrame({"a": [1, 1, 1, 2], "b": [1, 2, 2, 2]})
    schema = Schema.infer(frame, quasi=["a", "b"], kinds={"a": "categorical", "b": "categorical"})
    patterns = [{"suppress": ["a"]}, {"suppress": ["b"]}]
    with pytest.raises(InfeasibleError, match="there is no way"):
        anonymize(frame, schema, Patterned(k=3, patterns=patterns, leftovers="refuse"))


@pytest.mark.parametrize("effort", ["fast", "balanced", "best"])
def test_what_heuristics_do_not_find_is_found_all_the_same(effort: str) -> None:
    """Greedy classes leave rows over that no exchange of a few rows brings in."""
    rows = ["001", "210", "221", "020", "211", "120", "011", "200", "112", "020", "222", "222"]
    frame = pl.DataFrame([list(row) for row in rows], schema=["a", "b", "c"], orient="row")
    schema = Schema.infer(frame, quasi=["a", "b", "c"], kinds=dict.fromkeys("abc", "categorical"))
    patterns: list[dict[str, list[str]]] = [{"suppress": []}, {"suppress": ["b"]}, {"suppress": ["a", "c"]}]
    model = Patterned(k=2, patterns=patterns, leftovers="refuse")
    release = anonymize(frame, schema, model, effort=effort)
    assert release.audit.holds
    assert release.recoding.account["cost"] == 12


def test_rows_that_are_left_over_are_joined_by_others() -> None:
    """Two fully suppressed rows alone are known: an attacker who knows every record knows whose they are."""
    model = Patterned(k=3, patterns=[{"suppress": []}, {"suppress": ["age"]}, {"suppress": ["zip"]}])
    release = anonymize(FRAME, SCHEMA, model, effort="fast")
    blank = next(kind for kind in release.audit.suppressions if len(kind.suppressed) == 3)
    assert blank.rows >= 3
    assert release.audit.concealment >= 3


def test_two_blank_rows_are_not_three() -> None:
    cells = {"age": ["30"] * 3 + ["41"] * 3 + ["*"] * 2, "zip": ["a"] * 3 + ["*"] * 5}
    cells |= {"sex": ["f"] * 3 + ["m"] * 3 + ["*"] * 2, "diagnosis": FRAME["diagnosis"].to_list()}
    found = audit(FRAME, pl.DataFrame(cells), SCHEMA, Patterned(k=3))
    assert not found.holds
    assert "1 classes with 2 rows have fewer than k = 3 rows" in found.verdict
    assert found.concealment == 2


@pytest.mark.parametrize(
    ("age", "parameters", "finding"),
    [
        (["30"] * 3 + ["41"] * 3 + ["*"] * 2, {}, None),
        (["30"] * 3 + ["41"] * 3 + ["55..56"] * 2, {}, "2 rows are neither exact nor suppressed in 'age'"),
        (["30"] * 3 + ["41"] * 3 + ["*"] * 2, {"never": ["age"]}, "2 rows suppress 'age', 'zip'"),
        (["30"] * 3 + ["41"] * 3 + ["30..56"] * 2, {}, None),  # all that there is says nothing
        (["30"] * 3 + ["41"] * 3 + ["*"] * 2, {"up_to": 1}, "2 rows suppress 'age', 'zip', which no pattern"),
        (["31"] * 3 + ["41"] * 3 + ["*"] * 2, {}, "3 released rows cover no original record"),
    ],
)
def test_what_the_audit_finds(age: list[str], parameters: dict[str, Any], finding: str | None) -> None:
    cells = {"age": age, "zip": ["a"] * 3 + ["*"] * 5, "sex": FRAME["sex"], "diagnosis": FRAME["diagnosis"]}
    found = audit(FRAME, pl.DataFrame(cells), SCHEMA, Patterned(k=2, **parameters))
    assert found.holds == (finding is None)
    assert finding is None or finding in found.verdict


def test_a_file_says_the_same(tmp_path: Path) -> None:
    file = tmp_path / "patterns.toml"
    file.write_text(
        'up_to = 2\nnever = ["sex"]\npriorities = [["age", "zip"]]\n'
        'leftovers = "refuse"\n[weights]\nzip = 2\n'
    )
    said = Patterned(k=2, **read_patterns(file))
    given = Patterned(
        k=2, up_to=2, never=["sex"], priorities=[["age", "zip"]], leftovers="refuse", weights={"zip": 2}
    )
    assert said == given
    assert hash(said) == hash(given)
    file.write_text('[[patterns]]\nsuppress = ["age"]\n[[patterns]]\nkeep = ["sex"]\n')
    assert Patterned(k=2, **read_patterns(file)).parameters == {
        "k": 2,
        "patterns": [{"suppress": ["age"]}, {"keep": ["sex"]}],
        "leftovers": "suppress",
    }
    file.write_text("upto = 2\n")
    with pytest.raises(InputError, match="did you mean 'up_to'"):
        read_patterns(file)
    with pytest.raises(InputError, match="no patterns file"):
        read_patterns(tmp_path / "none.toml")


def test_the_certificate_lists_patterns_and_the_proven_bound() -> None:
    release = anonymize(FRAME, SCHEMA, Patterned(k=2), effort="best")
    certificate = release.certificate
    assert certificate["account"] == {"patterns": 8, "bound": 5.0, "cost": 5.0}
    assert sum(kind["rows"] for kind in certificate["audit"]["suppressions"]) == 8
    assert {"suppress": ["age"], "rows": 2} in certificate["audit"]["suppressions"]
    assert release.loss.row_types.smallest >= 2


@pytest.mark.parametrize(
    ("parameters", "words"),
    [
        ({}, "a row suppresses any combination of columns"),
        (
            {"up_to": 2},
            "at most 2 columns, or all that may be suppressed where nothing else is possible",
        ),
        ({"up_to": 2, "leftovers": "refuse", "never": ["sex"]}, "at most 2 columns, never 'sex'"),
        ({"patterns": [{"keep": ["sex"]}], "leftovers": "refuse"}, "a row suppresses the same columns"),
        (
            {"patterns": [{"keep": ["sex"]}, {"keep": []}]},
            "one of 2 combinations of columns, or all",
        ),
    ],
)
def test_the_promise_in_words(parameters: dict[str, Any], words: str) -> None:
    assert words in Patterned(k=2, **parameters).sentence()
