"""The tables of Tassa, Mazza and Gionis, k-Concealment: each lands in exactly the classes the proofs say."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial

import numpy as np
import polars as pl
import pytest

from shoal import KK, Concealment, Hierarchy, KAnonymity, KOne, OneK, Schema, audit
from shoal.auditing.classes import classes_of
from shoal.auditing.consistency import consistency_of
from shoal.auditing.reading import read_release
from shoal.models import Model
from shoal.recoding.coverage import Graph, Matches
from shoal.schema import as_frame
from shoal.table import Table

Values = Sequence[int | str]


def judged(original: pl.DataFrame, released: pl.DataFrame, schema: Schema) -> tuple[dict[str, int], Matches]:
    """Return the largest k of each kind of anonymity that a release has as it is written, and its matches."""
    table = Table.encode(original, schema)
    columns = read_release(as_frame(released), table)
    consistency = consistency_of(columns, table)
    cells = np.column_stack([column.cell for column in columns])
    graph = Graph.of(table.codes, cells, [column.values for column in columns])
    matches = graph.matches()
    assert matches.perfect
    one_k, k_one = consistency.rows_of_record.min(), consistency.records_of_row.min()
    levels = {
        "k": classes_of(graph).sizes.min(),
        "(1,k)": one_k,
        "(k,1)": k_one,
        "(k,k)": min(one_k, k_one),
        "concealment": matches.matches_of_record.min(),
    }
    return {name: int(level) for name, level in levels.items()}, matches


def sets(records: Values, rows: Iterable[Iterable[int | str]]) -> tuple[dict[str, int], Matches]:
    """Judge a release of one attribute, whose rows are sets of values."""
    return judged(*as_tables(records, rows))


def as_tables(
    records: Values, rows: Iterable[Iterable[int | str]]
) -> tuple[pl.DataFrame, pl.DataFrame, Schema]:
    """Return a table of one attribute, a release of it, whose rows are sets of values, and its schema."""
    original = pl.DataFrame({"value": [str(record) for record in records]})
    released = pl.DataFrame({"value": ["|".join(str(value) for value in row) for row in rows]})
    return original, released, Schema.infer(original, quasi=["value"], kinds={"value": "categorical"})


# --- Appendix A ---------------------------------------------------------------------------------------------


def without(everything: Values, value: int | str) -> list[int | str]:
    return [each for each in everything if each != value]


def all_equal(k: int) -> tuple[Values, list[Values]]:
    everything = range(1, k + 2)
    return everything, [everything] * (k + 1)


def rows_for_records_only(k: int) -> tuple[Values, list[Values]]:
    everything = range(1, k + 2)
    return everything, [[1], *[everything] * (k - 1), without(everything, 1)]


def records_for_rows_only(k: int) -> tuple[Values, list[Values]]:
    everything = range(1, k + 2)
    return everything, [without(everything, k + 1), *[without(everything, 1)] * k]


def each_but_one(k: int) -> tuple[Values, list[Values]]:
    """Row i covers all records but the i-th: no record stands beside a row of its own."""
    everything = range(1, k + 2)
    return everything, [without(everything, value) for value in everything]


def a_small_row(k: int) -> tuple[Values, list[Values]]:
    everything = range(1, k + 2)
    return everything, [range(1, k), *[everything] * k]


def a_row_that_is_needed(k: int) -> tuple[Values, list[Values]]:
    a, b = [f"a{i}" for i in range(1, k + 2)], [f"b{i}" for i in range(1, k + 1)]
    return [*a, *b], [[a[0], *b[:-1]], *[a] * (k - 1), a[1:], *[b] * k]


REGIONS = [
    (all_equal, {"k", "(k,k)", "(1,k)", "(k,1)", "concealment"}),
    (each_but_one, {"(k,k)", "(1,k)", "(k,1)", "concealment"}),
    (a_row_that_is_needed, {"(k,k)", "(1,k)", "(k,1)"}),
    (a_small_row, {"(1,k)", "concealment"}),
    (rows_for_records_only, {"(1,k)"}),
    (records_for_rows_only, {"(k,1)"}),
]
"""The six regions of Figure 1: a table in each, and the classes that it is in."""


def test_the_regions_are_six() -> None:
    assert len({frozenset(classes) for _, classes in REGIONS}) == 6


@pytest.mark.parametrize("k", [3, 4, 5, 6])
@pytest.mark.parametrize(("made", "classes"), REGIONS)
@pytest.mark.parametrize("shuffled", [False, True])
def test_each_region_of_figure_1(
    k: int, made: Callable[[int], tuple[Values, list[Values]]], classes: set[str], shuffled: bool
) -> None:
    records, rows = made(k)
    if shuffled:  # where a row stands must not matter
        rows = [rows[i] for i in np.random.default_rng(k).permutation(len(rows))]
    levels, _ = sets(records, rows)
    assert {name for name, level in levels.items() if level >= k} == classes


JUDGES: dict[str, Callable[..., Model]] = {
    "k": KAnonymity,
    "(1,k)": OneK,
    "(k,1)": KOne,
    "(k,k)": partial(KK, chance=1),
    "concealment": partial(Concealment, chance=1),
}


@pytest.mark.parametrize(("made", "classes"), REGIONS)
def test_each_model_is_judged_by_its_own_class(
    made: Callable[[int], tuple[Values, list[Values]]], classes: set[str]
) -> None:
    records, rows = made(4)
    original, released, schema = as_tables(records, rows)
    held = {name for name, model in JUDGES.items() if audit(original, released, schema, model(k=4)).holds}
    assert held == classes


def test_two_sides_are_more_than_one() -> None:
    original, released, schema = as_tables(*a_small_row(4))
    assert audit(original, released, schema, Concealment(k=4, chance=1)).holds
    judged = audit(original, released, schema, Concealment(k=4, chance=1, two_sided=True))
    assert judged.findings == ("1 released rows match fewer than k = 4 records; the worst matches 3",)


@pytest.mark.parametrize("k", [3, 4, 5, 6])
def test_how_many_matches_the_proofs_count(k: int) -> None:
    _, small_row = sets(*a_small_row(k))
    assert small_row.matches_of_record.tolist() == [k + 1] * (k - 1) + [k, k]
    _, needed = sets(*a_row_that_is_needed(k))
    assert needed.matches_of_record[0] == 1
    assert needed.matched[0] == 0
    _, records_only = sets(*rows_for_records_only(k))
    assert records_only.matches_of_record[0] == 1
    _, but_one = sets(*each_but_one(k))
    assert but_one.matches_of_record.tolist() == [k] * (k + 1)
    assert all(row != record for record, row in enumerate(but_one.matched))


# --- Table 1 ------------------------------------------------------------------------------------------------

PEOPLE = pl.DataFrame({"age": [30, 21, 21, 55, 47], "zip": ["10055", "10055", "10023", "10165", "10224"]})
ANONYMIZED = pl.DataFrame(
    {"age": ["21..30"] * 3 + ["47..55"] * 2, "zip": ["100**"] * 3 + ["10***"] * 2},
)
CONCEALED = ANONYMIZED.with_columns(
    age=pl.Series(["21..30", "21", "21..30", "47..55", "47..55"]),
    zip=pl.Series(["10055", "100**", "100**", "10***", "10***"]),
)


def people() -> Schema:
    codes = [[code, f"{code[:3]}**", f"{code[:2]}***", "*"] for code in PEOPLE["zip"].unique().sort()]
    return Schema.infer(PEOPLE, quasi=["age", "zip"], hierarchies={"zip": Hierarchy.from_levels(codes)})


def test_the_anonymization_of_table_1() -> None:
    levels, _ = judged(PEOPLE, ANONYMIZED, people())
    assert levels == dict.fromkeys(("k", "(1,k)", "(k,1)", "(k,k)", "concealment"), 2)


def test_the_concealment_of_table_1() -> None:
    levels, matches = judged(PEOPLE, CONCEALED, people())
    assert levels == {"k": 1, "(1,k)": 2, "(k,1)": 2, "(k,k)": 2, "concealment": 2}
    assert matches.matches_of_record.tolist() == [2, 3, 2, 2, 2]


# --- Figure 4 -----------------------------------------------------------------------------------------------


def test_a_graph_with_cycles_and_one_perfect_matching() -> None:
    """Edges u1-v3, u1-v4, u2-v3 and u2-v4 are a cycle, but none of them is a match."""
    records, rows = [1, 2, 3, 4], [[1], [2], [1, 2, 3], [1, 2, 4]]
    levels, matches = sets(records, rows)
    assert matches.matched.tolist() == [0, 1, 2, 3]
    assert matches.matches_of_record.tolist() == matches.matches_of_row.tolist() == [1, 1, 1, 1]
    assert levels == {"k": 1, "(1,k)": 1, "(k,1)": 1, "(k,k)": 1, "concealment": 1}
