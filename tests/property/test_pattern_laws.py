"""Pattern-guided k-anonymity: optima, what heuristics guarantee, and releases that the audit passes."""

from __future__ import annotations

import importlib

import numpy as np
import patterns as twins
import polars as pl
import pytest
from examples import examples
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from shoal import Patterned, Schema, anonymize, audit
from shoal.methods.pattern_prices import Prices
from shoal.methods.pattern_program import PatternProgram, solve
from shoal.methods.suppression import Patterns, heuristic, improved, lower_bound

Problem = tuple[NDArray[np.int32], Patterns, int]


@st.composite
def problems(draw: st.DrawFn, most_rows: int, most_patterns: int, most_columns: int = 4) -> Problem:
    """Return codes, patterns, one of which suppresses everything, and k."""
    columns = draw(st.integers(1, most_columns))
    row = st.tuples(*[st.integers(0, 2)] * columns)
    rows = draw(st.lists(row, min_size=2, max_size=most_rows))
    blank = draw(st.sets(st.tuples(*[st.booleans()] * columns), max_size=most_patterns - 1))
    suppressed = np.array(sorted(blank | {(True,) * columns}))
    costs = suppressed.sum(axis=1).astype(np.float64)
    order = np.argsort(costs, kind="stable")
    k = draw(st.integers(2, min(4, len(rows))))
    return np.array(rows, dtype=np.int32), Patterns(suppressed[order], costs[order]), k


def cost(patterns: Patterns, pattern_of: NDArray[np.int32]) -> float:
    return float(patterns.costs[pattern_of].sum())


def solved(codes: NDArray[np.int32], patterns: Patterns, k: int) -> NDArray[np.int32]:
    program = PatternProgram.of(codes, patterns.suppressed, patterns.costs, k)
    assert program is not None
    solution = solve(program, k, 60.0)
    assert solution.pattern_of is not None
    assert solution.bound == pytest.approx(cost(patterns, solution.pattern_of))
    return solution.pattern_of


@examples(12)
@given(problems(most_rows=7, most_patterns=4))
def test_the_program_finds_the_optimum(problem: Problem) -> None:
    codes, patterns, k = problem
    rows = [tuple(row) for row in codes.tolist()]
    best = solved(codes, patterns, k)
    assert cost(patterns, best) == twins.optimum(rows, patterns.suppressed, patterns.costs, k)
    assert min(twins.sizes(rows, patterns.suppressed, best.tolist()).values()) >= k


@examples(10)
@given(problems(most_rows=8, most_patterns=2, most_columns=2))
def test_the_fixed_parameter_algorithm_agrees(problem: Problem) -> None:
    codes, patterns, k = problem
    kinds = np.unique(codes, axis=0)[:4]
    codes = kinds[np.arange(len(codes)) % len(kinds)]
    rows = [tuple(row) for row in codes.tolist()]
    least = twins.fixed_parameter_optimum(rows, patterns.suppressed, patterns.costs, k)
    assert cost(patterns, solved(codes, patterns, k)) == least


@examples(20)
@given(problems(most_rows=20, most_patterns=12))
def test_heuristics_lie_between_the_optimum_and_their_guarantee(problem: Problem) -> None:
    codes, patterns, k = problem
    greedy = cost(patterns, heuristic(codes, patterns, k, search=False))
    searched = cost(patterns, heuristic(codes, patterns, k, search=True))
    best = cost(patterns, solved(codes, patterns, k))
    assert lower_bound(codes, patterns, k) <= best <= searched <= greedy
    # Rows that join those that are left over are not in the guarantee of Theorem 3.
    literal = twins.cover([tuple(row) for row in codes.tolist()], patterns.suppressed, k)
    if -1 not in literal:
        assert greedy <= codes.shape[1] * best


@examples(20)
@given(problems(most_rows=20, most_patterns=12))
def test_prices_never_ask_for_more_than_the_optimum(problem: Problem) -> None:
    codes, patterns, k = problem
    best = cost(patterns, solved(codes, patterns, k))
    program = PatternProgram.of(codes, patterns.suppressed, patterns.costs, k)
    assert program is not None
    prices, before = Prices(program, k), lower_bound(codes, patterns, k)
    assert prices.offer.bound == pytest.approx(before)
    going, steps = True, 0
    while going and steps < 200:
        going, steps = prices.improve(best + 1), steps + 1
        assert before <= prices.offer.bound + 1e-9
        assert prices.offer.bound <= best + 1e-6
        before = prices.offer.bound
    found = prices.solution()
    rows = [tuple(row) for row in codes[found >= 0].tolist()]
    assert all(s >= k for s in twins.sizes(rows, patterns.suppressed, found[found >= 0].tolist()).values())


@examples(20)
@given(problems(most_rows=20, most_patterns=12), st.booleans())
def test_the_best_effort_proves_what_it_can(problem: Problem, small: bool) -> None:
    """With the integer program, the optimum; without, a cost and a bound with the optimum in between."""
    codes, patterns, k = problem
    rows = [tuple(row) for row in codes.tolist()]
    known = heuristic(codes, patterns, k, search=False)
    with pytest.MonkeyPatch.context() as patch:
        if not small:
            patch.setattr(importlib.import_module("shoal.methods.suppression"), "MOST_SOLVED", -1)
        found, bound = improved(codes, patterns, k, known, 60.0)
    best = cost(patterns, solved(codes, patterns, k))
    assert bound <= best + 1e-6
    assert best <= cost(patterns, found) <= cost(patterns, known)
    assert min(twins.sizes(rows, patterns.suppressed, found.tolist()).values()) >= k
    if small:
        assert cost(patterns, found) == best
        assert bound == pytest.approx(best)


@pytest.mark.parametrize("columns", [3, 4, 6])
def test_the_worst_case_of_the_greedy_heuristic(columns: int) -> None:
    """The instance in the proof of Theorem 3, with patterns of no, one and all columns.

    With all patterns, as the proof has it, two columns are enough to unite rows of two kinds.
    """
    k = m = columns
    rows = [[1] * m for _ in range(k)]
    for column in range(m):
        for copy in range(k - 1):
            rows.append([1] * m)
            rows[-1][column] = 2 + copy
    codes = np.array(rows, dtype=np.int32)
    suppressed = np.vstack(
        [np.zeros(m, dtype=np.bool_), np.eye(m, dtype=np.bool_)[::-1], np.ones(m, np.bool_)]
    )
    patterns = Patterns(suppressed, suppressed.sum(axis=1).astype(np.float64))
    assert cost(patterns, heuristic(codes, patterns, k, search=False)) == (m - 1) * m * m
    assert cost(patterns, heuristic(codes, patterns, k, search=True)) < (m - 1) * m * m
    assert cost(patterns, solved(codes, patterns, k)) == m * m
    every = Patterns.of(Patterned(k=k).mask({str(column): 1.0 for column in range(m)}))
    assert cost(every, heuristic(codes, every, k, search=False)) < (m - 1) * m * m


@st.composite
def tables(draw: st.DrawFn) -> tuple[pl.DataFrame, Schema]:
    rows = draw(st.integers(6, 20))
    frame = pl.DataFrame(
        {
            "age": draw(st.lists(st.integers(20, 23), min_size=rows, max_size=rows)),
            "zip": draw(st.lists(st.sampled_from(["a", "b*", "*"]), min_size=rows, max_size=rows)),
            "sex": draw(st.lists(st.sampled_from(["m", "f", None]), min_size=rows, max_size=rows)),
            "constant": ["x"] * rows,
            "secret": [str(i) for i in range(rows)],
        },
        schema_overrides={"sex": pl.String},
    )
    return frame, Schema.infer(frame, quasi=["age", "zip", "sex", "constant"], sensitive=["secret"])


MODELS = [
    {},
    {"up_to": 1},
    {"patterns": [{"suppress": ["age"]}, {"keep": ["sex"]}]},
    {"patterns": [{"suppress": ["constant"]}, {"keep": ["constant"]}]},
    {"weights": {"age": 3.0, "sex": 0.5}},
    {"priorities": [["age", "zip", "constant"]]},
    {"never": ["constant"]},
]


@pytest.mark.parametrize("effort", ["fast", "balanced", "best"])
@given(tables(), st.sampled_from(MODELS), st.integers(2, 4))
@examples(25)
def test_releases_pass_the_audit(
    effort: str, table: tuple[pl.DataFrame, Schema], parameters: dict[str, object], k: int
) -> None:
    frame, schema = table
    model = Patterned(k=k, **parameters)  # type: ignore[arg-type]
    release = anonymize(frame, schema, model, effort=effort)
    assert release.audit.holds
    assert release.audit.k >= k
    assert sum(kind.rows for kind in release.audit.suppressions) == len(frame)
    assert audit(frame, release.table, schema, model, key=release.key).holds
    # Every cell that is shown is the record's own.
    for name in ("age", "zip", "sex", "constant"):
        shown = release.table[name].fill_null("").to_list()
        true = [str(v) if v is not None else "" for v in frame[name].gather(release.key).to_list()]
        escaped = {"*": "\\*"}
        assert all(cell in ("*", escaped.get(value, value)) for cell, value in zip(shown, true, strict=True))
    typed = anonymize(frame.to_arrow(), schema, model, effort=effort)
    assert typed.audit.holds
    assert typed.table.num_rows == len(frame)


@given(tables(), st.permutations(range(4)), st.integers(2, 4))
@examples(25)
def test_the_order_of_records_does_not_matter(
    table: tuple[pl.DataFrame, Schema], order: list[int], k: int
) -> None:
    frame, schema = table
    places = np.concatenate([np.arange(len(frame))[i::4] for i in order])
    costs = [
        anonymize(each, schema, Patterned(k=k), effort="fast").recoding.account["cost"]
        for each in (frame, frame[places.tolist()])
    ]
    assert costs[0] == pytest.approx(costs[1])
