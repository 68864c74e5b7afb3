"""Cells that become narrower: against a plain twin, as narrow as single steps make them, never dearer."""

from __future__ import annotations

from collections import Counter
from itertools import combinations
from typing import Any

import numpy as np
import polars as pl
import pytest
from examples import examples
from hypothesis import given
from hypothesis import strategies as st

import shoal
from shoal import Column, Hierarchy, InputError, KAnonymity, KmAnonymity, Role, Schema
from shoal.base.ragged import Lists
from shoal.kernels import RANGE, SET, TREE
from shoal.kernels.narrowing import CellColumn, Narrowing

# A tree over the codes 0..3: the root is node 0, nodes 1 and 2 have two leaves each.
PARENT, FIRST, LAST, LEAF = (
    np.array(each, dtype=np.int32)
    for each in ([-1, 0, 0, 1, 1, 2, 2], [0, 0, 2, 0, 1, 2, 3], [3, 1, 3, 0, 1, 2, 3], [3, 4, 5, 6])
)
COLUMNS = [
    CellColumn(RANGE, 5, None),
    CellColumn(RANGE, 5, 4),
    CellColumn(SET, 4, None),
    CellColumn(TREE, 4, None, (PARENT, FIRST, LAST, LEAF)),
]


class Twin:
    """The same by counting everything again for each step."""

    def __init__(self, codes: Any, cells: list[list[set[int]]], knows: int, k: int) -> None:
        self.codes, self.cells, self.knows, self.k = codes.tolist(), cells, knows, k

    def keeps(self) -> bool:
        for some in combinations(range(len(COLUMNS)), self.knows):
            for record in self.codes:
                if sum(all(record[c] in row[c] for c in some) for row in self.cells) < self.k:
                    return False
            for row in self.cells:
                if sum(all(record[c] in row[c] for c in some) for record in self.codes) < self.k:
                    return False
        return True

    def attempt(self, row: int, column: int, kept: set[int]) -> bool:
        before = self.cells[row][column]
        if kept >= before:
            return False
        self.cells[row][column] = kept & before
        if self.keeps():
            return True
        self.cells[row][column] = before
        return False

    def narrow(self, row: int, column: int) -> None:
        own, about = self.codes[row][column], COLUMNS[column]
        cell = self.cells[row][column]
        if len(cell) == 1 or self.attempt(row, column, {own}):
            return
        if about.kind == SET:
            for member in sorted(cell - {own}):
                self.attempt(row, column, self.cells[row][column] - {member})
        elif about.kind == TREE:
            node = int(LEAF[own])
            while node >= 0 and LAST[node] - FIRST[node] + 1 < len(cell):
                if self.attempt(row, column, set(range(FIRST[node], LAST[node] + 1))):
                    return
                node = int(PARENT[node])
        else:
            self.narrow_range(row, column, own)

    def narrow_range(self, row: int, column: int, own: int) -> None:
        missing = COLUMNS[column].missing
        if missing in self.cells[row][column] and (
            own == missing or not self.attempt(row, column, self.cells[row][column] - {missing})
        ):
            return
        for lower in (True, False):
            cell = self.cells[row][column]
            step = own - min(cell) if lower else max(cell) - own
            while step > 0:
                cell = self.cells[row][column]
                low = min(cell) + step if lower else min(cell)
                high = max(cell) if lower else max(cell) - step
                if not (low <= own <= high and self.attempt(row, column, set(range(low, high + 1)))):
                    step //= 2


def closed(codes: Any, column: int) -> set[int]:
    """Return the cell of a class."""
    about = COLUMNS[column]
    low, high = int(codes.min()), int(codes.max())
    if about.kind == SET:
        return set(codes.tolist())
    if about.kind == RANGE:
        return set(range(about.size if high == about.missing and low < high else high + 1)) - set(
            range(0 if high == about.missing and low < high else low)
        )
    node = int(LEAF[low])
    while not FIRST[node] <= low <= high <= LAST[node]:
        node = int(PARENT[node])
    return set(range(FIRST[node], LAST[node] + 1))


@examples(25)
@given(st.integers(0, 2**32 - 1), st.integers(1, 4), st.integers(2, 3))
def test_the_kernel_agrees_with_its_twin(seed: int, knows: int, k: int) -> None:
    random = np.random.default_rng(seed)
    n = int(random.integers(k, 11))
    codes = np.column_stack([random.integers(0, c.size, n) for c in COLUMNS]).astype(np.int32)
    box = np.sort(np.arange(n) % max(1, n // k))
    cells = [[closed(codes[box == b, c], c) for c in range(4)] for b in box]
    twin = Twin(codes, cells, knows, k)
    assert twin.keeps()
    order = np.argsort(box, kind="stable").astype(np.int32)
    rows = Lists.of_sizes(np.bincount(box), order)
    starts = [
        Lists.of([sorted(closed(codes[box == b, c], c)) for b in range(int(box.max()) + 1)]) for c in range(4)
    ]
    kernel = Narrowing(codes, COLUMNS, rows, starts, knows, k)
    turns = random.permutation(4 * n)
    kernel.narrow(turns)
    for place in turns.tolist():
        twin.narrow(*divmod(place, 4))
    for column in range(4):
        found = kernel.cells(column)
        assert [set(found[row].tolist()) for row in range(n)] == [row[column] for row in twin.cells]
    assert twin.keeps()
    for row, column in np.ndindex(n, 4):  # no further cell can become exact
        assert not twin.attempt(row, column, {int(codes[row, column])})


PLACES = Hierarchy.from_levels(
    [["a", "west", "*"], ["b", "west", "*"], ["c", "east", "*"], ["d", "east", "*"]]
)


@examples(15)
@given(st.integers(0, 2**32 - 1), st.integers(1, 4), st.integers(2, 4))
def test_releases_hold_cover_their_records_and_lose_no_more_than_classes(
    seed: int, knows: int, k: int
) -> None:
    random = np.random.default_rng(seed)
    n = int(random.integers(k, 40))
    frame = pl.DataFrame(
        {
            "age": [None if random.random() < 0.1 else int(random.integers(0, 9)) for _ in range(n)],
            "job": random.choice(["x", "y", "z"], n),
            "place": random.choice(["a", "b", "c", "d"], n),
            "number": random.integers(0, 4, n) / 4,
        }
    )
    schema = Schema.infer(frame, quasi=frame.columns).changed("place", hierarchy=PLACES)
    model = KmAnonymity(k=k, knows=knows)
    release = shoal.anonymize(frame, schema, model, seed=1)
    assert release.audit.holds
    assert shoal.audit(frame, release.written("parquet"), schema, model, key=release.key).holds
    classes = shoal.anonymize(frame, schema, KAnonymity(k=k), method="chain", seed=1)
    assert release.loss.gcp <= classes.loss.gcp + 1e-12
    # Its own audit is that of the option with the same meaning.
    same = shoal.audit(frame, release.table, schema, shoal.Freeform(k=k), knows=min(knows, 4))
    assert same.holds


def test_one_known_column_needs_only_frequent_values() -> None:
    frame = pl.DataFrame({"a": [1, 1, 2, 2], "b": ["x", "y", "y", "x"]})
    schema = Schema.infer(frame, quasi=["a", "b"])
    release = shoal.anonymize(frame, schema, KmAnonymity(k=2, knows=1))
    assert release.loss.gcp == 0
    assert Counter(map(tuple, release.written("csv").select("a", "b").rows())) == Counter(
        [("1", "x"), ("1", "y"), ("2", "x"), ("2", "y")]
    )
    pairs = shoal.anonymize(frame, schema, KmAnonymity(k=2, knows=2))
    assert pairs.loss.gcp > 0
    assert not shoal.audit(frame, release.table, schema, KmAnonymity(k=2, knows=2)).holds
    figures = release.report.tiles
    assert figures[1][0] == "2"
    assert "who know at most 1 of the quasi-identifiers" in figures[1][1]
    assert figures[2][0] == "1"  # and this many for those who know all


def test_what_is_refused() -> None:
    frame = pl.DataFrame({"a": [1, 1, 2, 2], "who": [1, 1, 2, 3]})
    schema = Schema.infer(frame, quasi=["a"], drop=["who"])
    model = KmAnonymity(k=2, knows=1)
    with pytest.raises(InputError, match="whole number from 1 to 8"):
        KmAnonymity(k=2, knows=9)
    persons = schema.changed("who", role=Role.PERSON)
    with pytest.raises(InputError, match="counted in records"):
        shoal.anonymize(frame, persons, model)
    with pytest.raises(InputError, match="counts records"):
        shoal.audit(frame, frame.select("a"), persons, model)
    with pytest.raises(InputError, match="not checked across releases"):
        shoal.joint_audit(frame, frame.select("a"), schema, model, earlier=[frame.select("a")])
    many = pl.DataFrame({f"c{i}": ["x", "y"] for i in range(30)})
    wide = pl.DataFrame({f"c{i}": range(6000) for i in range(40)}).cast(pl.String)
    for table, knows in ((many, 5), (wide, 3)):
        described = Schema(tuple(Column(name, Role.QUASI) for name in table.columns))
        with pytest.raises(InputError, match="too many to count"):
            shoal.anonymize(table, described, KmAnonymity(k=2, knows=knows))
    described = Schema(tuple(Column(name, Role.QUASI) for name in many.columns))
    with pytest.raises(InputError, match="choose a smaller number"):
        shoal.audit(many, many, described, KmAnonymity(k=2, knows=5))
