"""Count queries against a plain count, value by value."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal import Freeform, Hierarchy, InputError, KAnonymity, Schema, anonymize
from shoal.base.randomness import Randomness
from shoal.measures.queries import Query, draw_queries, query_error
from shoal.recoding import Recoding
from shoal.table import Table

TOWNS = Hierarchy.from_levels(
    [["a", "north", "*"], ["b", "north", "*"], ["c", "south", "*"], ["d", "south", "*"]]
)


@st.composite
def tables(draw: st.DrawFn) -> Table:
    n = draw(st.integers(2, 12))

    def column(values: Any) -> list[Any]:
        return draw(st.lists(st.sampled_from(values), min_size=n, max_size=n))

    frame = pl.DataFrame(
        {
            "age": column([20, 21, 22, 30, 40, None]),
            "town": column(["a", "b", "c", "d"]),
            "job": column(["x", "y", "z"]),
            "ill": column(["flu", "gout", None]),
            "pay": column([3, 1, 2]),
        }
    )
    schema = Schema.infer(
        frame, quasi=["age", "town", "job"], sensitive=["ill", "pay"], hierarchies={"town": TOWNS}
    )
    return Table.encode(frame, schema)


def literal_answer(recoding: Recoding, query: Query, carried: list[int]) -> float:
    """Spread each row evenly over all combinations of values it covers, and count those asked for."""
    table, answer = recoding.table, 0.0
    ranks = [column.ranks for column in table.sensitive]
    for row, record in enumerate(carried):
        if not all(
            first <= ranks[s][table.sensitive[s].codes[record]] <= last for s, first, last in query.sensitive
        ):
            continue
        covered = []
        for attribute, values in zip(table.attributes, recoding.values, strict=True):
            codes = np.arange(len(attribute.domain), dtype=np.int32)
            inside = values.covers(np.full(len(codes), recoding.box[row]), codes)
            possible = getattr(attribute.domain, "possible", np.ones(len(codes), dtype=np.bool_))
            covered.append([int(code) for code in codes[inside & possible]])
        boxes = list(product(*covered))
        answer += sum(all(f <= box[a] <= last for a, f, last in query.quasi) for box in boxes) / len(boxes)
    return answer


@given(tables(), st.integers(1, 3), st.integers(0, 2), st.sampled_from([0.05, 0.3, 1.0]), st.data())
def test_errors_are_those_of_a_plain_count(
    table: Table, quasi: int, sensitive: int, selectivity: float, data: st.DataObject
) -> None:
    n = len(table)
    classes = np.array(data.draw(st.permutations([i % max(n // 2, 1) for i in range(n)])), dtype=np.int32)
    recoding = Recoding.of_classes(table, classes)
    seed = Randomness(data.draw(st.integers(0, 99)))
    queries = draw_queries(table, 5, seed, selectivity=selectivity, quasi=quasi, sensitive=sensitive)
    carried = data.draw(st.permutations(range(n)))
    found = query_error(recoding, queries, rows=np.arange(n), records=np.array(carried))
    exact = Recoding.of_classes(table, np.arange(n, dtype=np.int32))
    for query, error in zip(queries, found.errors, strict=True):
        assert len(query.quasi) == quasi
        assert len({place for place, _, _ in query.quasi}) == quasi
        assert len(query.sensitive) == sensitive
        assert literal_answer(exact, query, list(range(n))) == pytest.approx(query.answer)
        expected = abs(literal_answer(recoding, query, list(carried)) - query.answer) / query.answer
        assert error == pytest.approx(expected)
    assert found.mean == pytest.approx(np.mean(found.errors))
    assert found.median == pytest.approx(np.median(found.errors))
    assert query_error(exact, queries).errors == pytest.approx(0)


def test_every_model_can_be_asked() -> None:
    frame = pl.DataFrame({"age": [20, 21, 22, 23, 24, 25], "ill": list("abcabc")})
    schema = Schema.infer(frame, quasi=["age"], sensitive=["ill"])
    for model in (KAnonymity(k=2), Freeform(k=2)):
        release = anonymize(frame, schema, model, seed=1)
        queries = draw_queries(release.recoding.table, 20, Randomness(1), quasi=1)
        found = query_error(release.recoding, queries, rows=release.rows, records=release.order)
        assert found.as_dict()["queries"] == 20
        assert 0 < found.mean < 1.5


@pytest.mark.parametrize("wrong", [{"selectivity": 0.0}, {"selectivity": 1.5}, {"quasi": 0}, {"quasi": 9}])
def test_impossible_queries(wrong: dict[str, Any]) -> None:
    frame = pl.DataFrame({"age": [1, 2], "ill": ["a", "b"]})
    table = Table.encode(frame, Schema.infer(frame, quasi=["age"], sensitive=["ill"]))
    with pytest.raises(InputError, match="not possible"):
        draw_queries(table, 1, Randomness(1), **{"quasi": 1, **wrong})


def test_queries_that_nobody_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shoal.measures.queries.MOST_DRAWS", 1)
    frame = pl.DataFrame({"age": range(100), "pay": range(100)})
    table = Table.encode(frame, Schema.infer(frame, quasi=["age"], sensitive=["pay"]))
    with pytest.raises(InputError, match="hardly any"):
        draw_queries(table, 50, Randomness(1), quasi=1, selectivity=0.001)
