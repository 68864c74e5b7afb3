"""Greedy and SortGreedy as printed, against transcriptions that look at one edge at a time."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
import twins
from hypothesis import event, given
from hypothesis import strategies as st

from shoal import Freeform, InfeasibleError, InputError, Schema, anonymize
from shoal.measures.geometry import geometry
from shoal.methods import Circumstances
from shoal.methods.baselines import printed_growth
from shoal.methods.greedy import lexicographic_order
from shoal.table import Table


@st.composite
def tables(draw: st.DrawFn) -> Table:
    """Draw a column of numbers and one of categories, with costs that are exact."""
    n = draw(st.integers(3, 12))
    ages = [0, 16, *draw(st.lists(st.integers(0, 16), min_size=n - 2, max_size=n - 2))]
    towns = ["a", "b", "c", *draw(st.lists(st.sampled_from("abc"), min_size=n - 3, max_size=n - 3))]
    frame = pl.DataFrame({"age": ages, "town": towns})
    return Table.encode(frame, Schema.infer(frame, quasi=["age", "town"]))


def transcribed(table: Table, k: int, *, in_order: bool) -> list[list[int]] | None:
    """Return the records of each row by Algorithm 1 or 2, or None where the paper has no rule."""
    n, attributes = len(table), geometry(table)
    records = [tuple(row) for row in table.codes.tolist()]
    order = lexicographic_order(table.codes).tolist()
    rows = [[i] for i in range(n)]

    def weight(i: int, j: int) -> float:
        before = twins.box_cost(attributes, [records[r] for r in rows[j]])
        return twins.box_cost(attributes, [records[r] for r in [*rows[j], i]]) - before

    for _ in range(1, k):
        matched: dict[int, int] = {}

        def available(i: int, matched: dict[int, int] = matched) -> list[int]:
            return [j for j in range(n) if j not in matched.values() and i not in rows[j]]

        def substitute(i: int, others: list[int], matched: dict[int, int] = matched) -> bool:
            for other in others:
                if other in matched and i not in rows[matched[other]] and available(other):
                    spare = min(available(other), key=lambda m: (weight(other, m), m))
                    matched[i], matched[other] = matched[other], spare
                    return True
            return False

        if in_order:
            for place, i in enumerate(order):
                if available(i):
                    matched[i] = min(available(i), key=lambda j, i=i: (weight(i, j), j))
                elif not substitute(i, order[:place][::-1]):
                    return None
        else:
            edges = [(weight(i, j), i, j) for i in range(n) for j in range(n) if i not in rows[j]]
            for _, i, j in sorted(edges):
                if i not in matched and j not in matched.values():
                    matched[i] = j
            for place, i in enumerate(order):
                near = sorted(range(n), key=lambda other, place=place: abs(other - place))
                if i not in matched and not substitute(i, [order[other] for other in near]):
                    return None
        for i, j in matched.items():
            rows[j].append(i)
    return rows


@pytest.mark.parametrize("in_order", [True, False])
@given(table=tables(), k=st.integers(2, 6))
def test_they_are_the_paper_s_algorithms(in_order: bool, table: Table, k: int) -> None:
    k = min(k, len(table))
    expected = transcribed(table, k, in_order=in_order)
    iteration = printed_growth.one_after_the_other if in_order else printed_growth.lightest_first
    if expected is None:
        event("the paper has no rule")
        with pytest.raises(InfeasibleError, match="ends here"):
            printed_growth.grow_as_printed(table, k, iteration, Circumstances())
        return
    found = printed_growth.grow_as_printed(table, k, iteration, Circumstances())
    assert found.tolist() == expected


@pytest.mark.parametrize("method", ["printed_greedy", "printed_sort_greedy"])
def test_releases_as_printed(method: str) -> None:
    generator = np.random.default_rng(1)
    frame = pl.DataFrame({"age": generator.integers(0, 50, 60), "town": generator.choice(list("abcd"), 60)})
    schema = Schema.infer(frame, quasi=["age", "town"])
    release = anonymize(frame, schema, Freeform(k=5), method=method)
    assert release.audit.holds
    large = pl.DataFrame({"age": range(5_001)})
    with pytest.raises(InputError, match="5,000 records"):
        anonymize(large, Schema.infer(large, quasi=["age"]), Freeform(k=2), method=method)
