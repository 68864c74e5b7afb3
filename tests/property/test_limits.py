"""Limits of columns in random tables: no cell of any method exceeds one, and the share left out is kept."""

from __future__ import annotations

import warnings
from dataclasses import replace
from itertools import combinations
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import shoal
from shoal import Column, Hierarchy, Role, Schema
from shoal.methods import METHODS
from shoal.methods.limit_regions import LimitedTable, _cut
from shoal.models import make_model
from shoal.table import Table

PLACES = Hierarchy.from_levels(
    [(f"{region}{number}", region, "all") for region in "abc" for number in range(3)], name="place"
)
PARAMETERS: dict[str, dict[str, Any]] = {
    "k-anonymity": {"k": 3},
    "freeform": {"k": 3},
    "concealment": {"k": 3},
    "1k": {"k": 3},
    "k1": {"k": 3},
    "kk": {"k": 3},
    "dissimilarity": {"k": 3, "epsilon": 0, "delta": 0.1},
    "km-anonymity": {"k": 3, "knows": 2},
    "patterned": {"k": 3},
}
WAYS = [
    (model, method)
    for model, methods in METHODS.items()
    if model.name in PARAMETERS
    for method in methods
    if not method.startswith("optimum")
]


def columns(draw: st.DrawFn) -> tuple[Column, ...]:
    """Draw the limits of four columns."""
    age = draw(
        st.sampled_from(
            [
                *({}, {"widest": 10}, {"widest": 9.5, "bands": "every 5"}, {"bands": (0, 7, 30, 60)}),
                *({"suppressible": False}, {"widest": 12, "suppressible": False}),
            ]
        )
    )
    day = draw(
        st.sampled_from(
            [{}, {"widest": 40}, {"bands": "every month", "widest": "2 months"}, {"bands": "every week"}]
        )
    )
    job = draw(st.sampled_from([{}, {"exact": True}, {"widest": 2}, {"suppressible": False}]))
    place = draw(st.sampled_from([{}, {"widest": "level 1"}, {"widest": 3}, {"suppressible": False}]))
    return (
        Column("age", Role.QUASI, "numeric", **age),
        Column("day", Role.QUASI, "date", **day),
        Column("job", Role.QUASI, "categorical", **job),
        Column("place", Role.QUASI, "categorical", hierarchy=PLACES, **place),
        Column("ill", Role.SENSITIVE, "numeric"),
    )


@st.composite
def limited(draw: st.DrawFn) -> tuple[pl.DataFrame, Schema]:
    """Draw a table and its schema; some values are missing."""
    random = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    rows = draw(st.integers(12, 40))
    ages = random.integers(0, 60, rows).astype(object)
    if draw(st.booleans()):
        ages[random.random(rows) < 0.2] = None
    days = pl.date_range(pl.date(2024, 1, 1), pl.date(2024, 6, 30), eager=True)
    frame = pl.DataFrame(
        {
            "age": ages.tolist(),
            "day": days.gather(random.integers(0, len(days), rows)),
            "job": random.choice(["cook", "nurse", "smith", "clerk"], rows, p=[0.4, 0.3, 0.2, 0.1]),
            "place": random.choice(PLACES.leaves, rows),
            "ill": random.integers(0, 50, rows),
        },
        strict=False,
    )
    return frame, Schema(columns(draw))


@pytest.mark.parametrize("way", WAYS, ids=lambda way: f"{way[0].name}-{way[1]}")
@settings(max_examples=6)
@given(limited(), st.sampled_from([0.0, 0.3, 0.9]))
def test_no_cell_exceeds_a_limit(way: Any, drawn: tuple[pl.DataFrame, Schema], leave_out: float) -> None:
    frame, schema = drawn
    kind, method = way
    model = make_model(kind.name, PARAMETERS[kind.name])
    limits = Limits(schema, frame)
    leave_out = leave_out if limits.any and kind.name != "km-anonymity" else 0.0
    if kind.name == "patterned":  # cells are exact or suppressed, so there are no bands
        schema = Schema(tuple(replace(column, bands=None) for column in schema))
        limits = Limits(schema, frame)
        leave_out = leave_out if limits.any else 0.0
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            release = shoal.anonymize(frame, schema, model, method=method, seed=1, leave_out=leave_out)
    except shoal.InfeasibleError:
        return
    for name in ("age", "day", "job", "place"):
        for cell in release.table[name].to_list():
            assert limits.keeps(name, cell), (name, cell)
    left = len(frame) - len(release.table)
    assert left == release.certified.stranded
    assert left <= leave_out * len(frame)
    found = shoal.audit(frame, release.table, schema, model, leave_out=leave_out)
    assert found.holds, found.verdict


ITEMS = ["a", "b", "c", "d", "e", "f"]


@settings(max_examples=30)
@given(st.integers(0, 2**32 - 1), st.integers(1, 4), st.sampled_from(["freeform", "ring"]), st.booleans())
def test_no_row_has_more_uncertain_items(seed: int, widest: int, method: str, mixed: bool) -> None:
    random = np.random.default_rng(seed)
    rows = int(random.integers(6, 30))
    near = random.random(len(ITEMS)) < 0.5
    sets = [
        [item for item, has in zip(ITEMS, near ^ (random.random(6) < 0.2), strict=True) if has]
        for _ in range(rows)
    ]
    frame = pl.DataFrame(
        {"basket": sets, "age": random.integers(20, 60, rows)},
        schema_overrides={"basket": pl.List(pl.String)},
    )
    basket = Column("basket", Role.QUASI, "items", widest=widest)
    age = Column("age", Role.QUASI if mixed else Role.OTHER, "numeric", widest=25 if mixed else None)
    schema = Schema((basket, age))
    model = shoal.SetAnonymity(k=3)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            release = shoal.anonymize(frame, schema, model, method=method, seed=1, leave_out=0.9)
        except shoal.InfeasibleError:
            return
    written = release.written("parquet")
    assert written["basket_uncertain"].list.len().max() <= widest
    assert len(written) == rows - release.certified.stranded
    assert shoal.audit(frame, written, schema, model, leave_out=0.9).holds
    narrow = schema.changed("basket", widest=None, exact=True)
    if written["basket_uncertain"].list.len().max():
        assert not shoal.audit(frame, written, narrow, model, leave_out=0.9).holds


@given(st.lists(st.integers(0, 12), min_size=2, max_size=8), st.integers(2, 3), st.integers(0, 3))
def test_stretches_of_an_order_leave_out_as_few_as_possible(values: list[int], k: int, reach: int) -> None:
    """Against all ways to choose stretches of a short order."""
    table = Table.encode(
        pl.DataFrame({"x": values}), Schema((Column("x", Role.QUASI, "numeric", widest=reach),))
    )
    (attribute,) = LimitedTable.of(table).bounded
    found = list(_cut([attribute], attribute.codes[:, None], k, np.arange(len(values))))
    taken = np.concatenate([np.empty(0, dtype=np.int64), *found])
    assert len(set(taken.tolist())) == len(taken)
    for each in found:
        assert len(each) >= k
        assert np.ptp(np.array(values)[each]) <= reach
    spans = [
        set(range(begin, end))
        for begin, end in combinations(range(len(values) + 1), 2)
        if end - begin >= k and np.ptp(values[begin:end]) <= reach
    ]
    most = 0
    for some in range(1, len(values) // k + 1):
        for chosen in combinations(spans, some):
            both = set().union(*chosen)
            if len(both) == sum(map(len, chosen)):
                most = max(most, len(both))
    assert len(taken) == most


class Limits:
    """The limits of the four columns, checked by hand on written cells."""

    def __init__(self, schema: Schema, frame: pl.DataFrame) -> None:
        self.schema, self.frame = schema, frame
        self.any = any(
            c.exact or c.widest is not None or c.bands is not None or not c.suppressible for c in schema.quasi
        )

    def keeps(self, name: str, cell: str | None) -> bool:
        """Say whether a cell is within its limit."""
        column = self.schema[name]
        if cell in (None, ""):
            return True
        if cell == "*":
            # All values are within the limit, if there are few of them.
            few = isinstance(column.widest, int) and self.frame[name].n_unique() <= column.widest
            return column.suppressible and not column.exact and (column.widest is None or few)
        if name == "job":
            members = cell.split("|")
            most = 1 if column.exact else column.widest or 4
            return len(members) <= int(most)
        if name == "place":
            return column.widest is None or cell in PLACES.leaves or cell in "abc"
        low, _, high = cell.partition("..")
        high = high or low
        return self._ends(column, low, high) if name == "age" else self._days(column, low, high)

    @staticmethod
    def _ends(column: Column, low: str, high: str) -> bool:
        first, last = int(low), int(high)
        if column.bands == "every 5" and (first % 5 or (last + 1) % 5):
            return False
        if isinstance(column.bands, tuple) and (first not in (0, 7, 30) or last not in (6, 29, 60)):
            return False
        return column.widest is None or last - first <= float(column.widest)

    @staticmethod
    def _days(column: Column, low: str, high: str) -> bool:
        first, last = (pl.Series([day]).str.to_date()[0] for day in (low, high))
        if column.bands == "every month" and first.day != 1:
            return False
        if column.bands == "every month" and pl.select(pl.lit(last).dt.month_end()).item() != last:
            return False
        if column.bands == "every week" and (first.weekday() != 0 or last.weekday() != 6):
            return False
        widest = {"2 months": 62, None: 10**6}.get(column.widest, column.widest)  # type: ignore[call-overload]
        return (last - first).days <= int(widest)
