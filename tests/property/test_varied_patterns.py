"""Suppression by patterns with varied sensitive values: against brute force, and as releases."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import patterns as twins
import polars as pl
import pytest
from examples import examples
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from shoal import InfeasibleError, Patterned, Schema, anonymize, audit
from shoal.kernels import PatternSearch, VariedLabels, cover
from shoal.methods.pattern_program import PatternProgram
from shoal.methods.suppression import Patterns, heuristic, improved
from shoal.methods.varied_program import solve_varied

ASKED = [(2.0, 0, 0.0), (1.5, 0, 0.0), (0.0, 2, 0.0), (0.0, 3, 0.0), (0.0, 0, math.log(1.8)), (1.5, 2, 0.5)]
Problem = tuple[NDArray[np.int32], Patterns, int, VariedLabels]


@st.composite
def problems(draw: st.DrawFn, most_rows: int, most_patterns: int, sensitive: int = 2) -> Problem:
    """Return codes, patterns, one of which suppresses everything, k, and labels that can be varied."""
    width = draw(st.integers(1, 3))
    n = draw(st.integers(4, most_rows))
    rows = draw(st.lists(st.tuples(*[st.integers(0, 2)] * width), min_size=n, max_size=n))
    blank = draw(st.sets(st.tuples(*[st.booleans()] * width), max_size=most_patterns - 1))
    suppressed = np.array(sorted(blank | {(True,) * width}))
    costs = suppressed.sum(axis=1).astype(np.float64)
    order = np.argsort(costs, kind="stable")
    labels = [
        np.array(draw(st.lists(st.integers(0, 3), min_size=n, max_size=n)), dtype=np.int32)
        for _ in range(draw(st.integers(1, sensitive)))
    ]
    asked = draw(st.sampled_from(ASKED))
    patterns = Patterns(suppressed[order], costs[order])
    return (
        np.array(rows, dtype=np.int32),
        patterns,
        draw(st.integers(2, 3)),
        VariedLabels([(column, 4) for column in labels], *asked),
    )


def plain(problem: Problem) -> tuple[list[twins.Row], list[list[int]], bool]:
    """Return rows, labels, and whether all rows together are varied enough."""
    codes, _, _, labels = problem
    columns = [column.tolist() for column, _ in labels.columns]
    rows = [tuple(row) for row in codes.tolist()]
    return rows, columns, twins.varied(columns, labels.asked, list(range(len(rows))))


def check(problem: Problem, pattern_of: NDArray[np.int32]) -> None:
    """Assert that each class of the rows that have a pattern is large and varied enough."""
    _, patterns, k, labels = problem
    rows, columns, _ = plain(problem)
    placed = np.flatnonzero(pattern_of >= 0).tolist()
    found = twins.classes([rows[i] for i in placed], patterns.suppressed, pattern_of[placed].tolist())
    for members in found:
        assert len(members) >= k
        assert twins.varied(columns, labels.asked, [placed[i] for i in members])


@given(problems(most_rows=20, most_patterns=8))
def test_cover_agrees_with_its_twin(problem: Problem) -> None:
    codes, patterns, k, labels = problem
    rows, columns, _ = plain(problem)
    found = cover(codes, patterns.kept, k, labels=labels).pattern_of
    assert found.tolist() == twins.varied_cover(rows, patterns.suppressed, k, columns, labels.asked)
    check(problem, found)


@given(problems(most_rows=24, most_patterns=8))
def test_the_search_keeps_classes_varied(problem: Problem) -> None:
    codes, patterns, k, labels = problem
    first = cover(codes, patterns.kept, k, labels=labels).pattern_of
    search = PatternSearch(codes, patterns.kept, patterns.costs, 1000.0, k, first, labels)
    for _ in range(3):
        before = search.cost
        saved = search.sweep()
        assert (search.cost < before) == (saved > 0)
        check(problem, search.pattern_of)


@examples(25)
@given(problems(most_rows=7, most_patterns=4, sensitive=1))
def test_the_program_and_the_best_effort_find_the_optimum(problem: Problem) -> None:
    codes, patterns, k, labels = problem
    rows, columns, together = plain(problem)
    least = twins.varied_optimum(rows, patterns.suppressed, patterns.costs, k, columns, labels.asked)
    assert np.isfinite(least) == together
    program = PatternProgram.of(codes, patterns.suppressed, patterns.costs, k, labels)
    assert program is not None
    solution = solve_varied(program, k, 60.0, labels)
    if not together:
        assert solution.impossible
        return
    assert solution.pattern_of is not None
    check(problem, solution.pattern_of)
    assert patterns.costs[solution.pattern_of].sum() == least == pytest.approx(solution.bound)
    for search in (False, True):
        known = heuristic(codes, patterns, k, search=search, labels=labels)
        check(problem, known)
        assert (known >= 0).all()
        assert patterns.costs[known].sum() >= least
    best, bound = improved(codes, patterns, k, known, 60.0, labels=labels)
    check(problem, best)
    assert patterns.costs[best].sum() == least == pytest.approx(bound)


@examples(25)
@given(problems(most_rows=40, most_patterns=8))
def test_every_row_finds_a_class_if_all_rows_together_are_varied(problem: Problem) -> None:
    codes, patterns, k, labels = problem
    if not plain(problem)[2]:
        return
    greedy = heuristic(codes, patterns, k, search=False, labels=labels)
    found = heuristic(codes, patterns, k, search=True, labels=labels)
    for each in (greedy, found):
        assert (each >= 0).all()
        check(problem, each)
    assert patterns.costs[found].sum() <= patterns.costs[greedy].sum()


@pytest.mark.parametrize("effort", ["fast", "balanced", "best"])
@pytest.mark.parametrize("asked", [{"l": 2.0}, {"p": 3}, {"entropy_l": 2.0}, {"l": 1.5, "p": 2}])
@given(
    st.lists(st.tuples(*[st.integers(0, 3)] * 2, st.sampled_from("mf"), st.sampled_from("abc")), min_size=9)
)
@examples(10)
def test_releases_pass_the_audit_or_are_infeasible(
    effort: str, asked: dict[str, Any], rows: list[tuple[int, int, str, str]]
) -> None:
    frame = pl.DataFrame(rows, schema=["age", "zip", "sex", "illness"], orient="row")
    schema = Schema.infer(frame, quasi=["age", "zip", "sex"], sensitive=["illness"])
    model = Patterned(k=3, **asked)
    often = frame["illness"].value_counts()["count"].to_numpy()
    shares = often / often.sum()
    enough = (
        (1 / shares.max() >= asked.get("l", 1) * (1 - 1e-9))
        and len(often) >= asked.get("p", 1)
        and math.exp(-(shares * np.log(shares)).sum()) >= asked.get("entropy_l", 1) * (1 - 1e-9)
    )
    if not enough:
        with pytest.raises(InfeasibleError, match="is not achievable"):
            anonymize(frame, schema, model, effort=effort)
        return
    release = anonymize(frame, schema, model, effort=effort)
    assert release.audit.holds
    assert audit(frame, release.table, schema, model).holds
    for _, group in release.table.group_by("age", "zip", "sex"):
        labels = group["illness"].to_list()
        most = max(labels.count(each) for each in labels)
        assert len(labels) >= 3
        assert most * asked.get("l", 1) <= len(labels)
        assert len(set(labels)) >= asked.get("p", 1)


def test_columns_that_no_pattern_suppresses_limit_what_is_achievable() -> None:
    frame = pl.DataFrame({"sex": list("mmmmffff"), "age": range(8), "illness": list("aaaaabcd")})
    schema = Schema.infer(frame, quasi=["sex", "age"], sensitive=["illness"])
    with pytest.raises(InfeasibleError, match=r"same values in 'sex'.*'illness' allows at most l = 1;"):
        anonymize(frame, schema, Patterned(k=2, l=1.5, never=["sex"]))
    assert anonymize(frame, schema, Patterned(k=2, l=1.5)).audit.holds


def test_the_audit_finds_a_class_that_is_not_varied() -> None:
    frame = pl.DataFrame({"sex": list("mmff"), "illness": list("aabc")})
    schema = Schema.infer(frame, quasi=["sex"], sensitive=["illness"])
    assert audit(frame, frame, schema, Patterned(k=2)).holds
    found = audit(frame, frame, schema, Patterned(k=2, l=2))
    assert not found.holds
    assert "'illness' has only l = 1 instead of 2 in some class" in found.verdict


def test_a_search_that_brings_nothing_varied_is_refused() -> None:
    """Each of the two patterns shows too much of some record, and nothing else is allowed."""
    frame = pl.DataFrame({"a": [1, 1, 2, 2], "b": [1, 2, 1, 2], "illness": list("aabb")})
    schema = Schema.infer(
        frame, quasi=["a", "b"], sensitive=["illness"], kinds=dict.fromkeys("ab", "categorical")
    )
    patterns = [{"suppress": ["a"]}, {"suppress": ["b"]}]
    assert anonymize(frame, schema, Patterned(k=2, p=2, patterns=patterns, leftovers="refuse")).audit.holds
    patterns = [{"suppress": ["b"]}]
    with pytest.raises(InfeasibleError, match="allows at most p = 1"):
        anonymize(frame, schema, Patterned(k=2, p=2, patterns=patterns, leftovers="refuse"))
