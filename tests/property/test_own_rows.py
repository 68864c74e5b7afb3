"""Rows of their own: each step of native code against what brute force says of it."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np
import pytest
import twins
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from spaces import LARGE, geometries, records

from shoal.kernels import RANGE, TREE, Geometry, OwnRows

Members = list[list[int]]
ROUNDING = 1e-9


@dataclass
class Drawn:
    """Records, what they cost, and rows of their own."""

    attributes: list[Geometry]
    codes: NDArray[np.int32]
    by_entropy: bool
    withheld: list[int]

    @property
    def n(self) -> int:
        return len(self.codes)

    @property
    def kept(self) -> list[int]:
        return [row for row in range(self.n) if row not in self.withheld]

    @cached_property
    def rows(self) -> OwnRows:
        return self.fresh()

    def fresh(self) -> OwnRows:
        return OwnRows(
            self.codes,
            self.attributes,
            self.n,
            entropies=self.tables if self.by_entropy else (),
            withheld=np.array(self.withheld, dtype=np.int32),
        )

    @cached_property
    def tables(self) -> list[NDArray[np.float64]]:
        """Return counts of codes, and for trees some entropy of each node that may fall with its size."""
        return [
            np.abs(np.sin(7 * attribute.table))
            if attribute.kind == TREE
            else np.bincount(column, minlength=attribute.size).astype(np.float64)
            for attribute, column in zip(self.attributes, self.codes.T, strict=True)
        ]

    def members(self, rows: OwnRows | None = None) -> Members:
        starts, places = (rows or self.rows).members
        return [places[a:b].tolist() for a, b in pairwise(starts)]

    def box(self, members: Sequence[int]) -> list[tuple[int, ...]]:
        return [tuple(self.codes[m].tolist()) for m in members]

    def cost(self, members: Sequence[int]) -> float:
        if not self.by_entropy:
            return twins.box_cost(self.attributes, self.box(members))
        return sum(
            a.weight * self.entropy(c, {int(self.codes[m, c]) for m in members})
            for c, a in enumerate(self.attributes)
        )

    def entropy(self, a: int, codes: set[int]) -> float:
        attribute, table = self.attributes[a], self.tables[a]
        low, high = min(codes), max(codes)
        if attribute.kind == TREE:
            return 0.0 if low == high else abs(math.sin(7 * attribute.table[low:high].max()))
        if attribute.kind == RANGE:
            mixed = len(codes) > 1 and high == attribute.size - 1 and attribute.table[-1] > 1
            codes = set(range(0 if mixed else low, high + 1))
        counts = [table[code] for code in codes if table[code] > 0]
        return -sum(c / sum(counts) * math.log2(c / sum(counts)) for c in counts)

    def extra(self, members: Sequence[int], record: int) -> float:
        return self.cost([*members, record]) - self.cost(members)

    def covers(self, members: Sequence[int], record: int) -> bool:
        return twins.covers(self.attributes, self.box(members), tuple(self.codes[record].tolist()))

    def edges(self, members: Members) -> list[list[bool]]:
        """Return whether each record (first) lies in each row that is not withheld."""
        return [
            [row not in self.withheld and self.covers(members[row], record) for row in range(self.n)]
            for record in range(self.n)
        ]

    def total(self, members: Members) -> float:
        return sum(self.cost(members[row]) for row in self.kept)


@st.composite
def drawn(draw: st.DrawFn, *, withheld: bool = False, monotone: bool = False, most: int = 9) -> Drawn:
    attributes, codes = draw(records(most, 2))
    without = draw(st.sets(st.integers(0, len(codes) - 1), max_size=len(codes) - 2)) if withheld else set()
    return Drawn(attributes, codes, not monotone and draw(st.booleans()), sorted(without))


@given(drawn(withheld=True), st.data())
def test_rows_take_in_what_costs_least(space: Drawn, data: st.DataObject) -> None:
    k = data.draw(st.integers(1, space.n))
    space.rows.expand(k)
    for row, members in enumerate(space.members()):
        assert members[0] == row
        if row in space.withheld:
            assert members == [row]
            continue
        for i, record in enumerate(members[1:], 1):
            before = members[:i]
            others = [r for r in range(space.n) if not space.covers(before, r)]
            least = min(space.extra(before, r) for r in others)
            assert record in others
            assert space.extra(before, record) == pytest.approx(least, abs=ROUNDING)
            assert least <= ROUNDING or sum(space.covers(before, r) for r in range(space.n)) < k
        assert sum(space.covers(members, r) for r in range(space.n)) >= k


@given(
    st.lists(geometries().filter(lambda a: a.size < LARGE), min_size=1, max_size=4),
    st.integers(0, 2**32 - 1),
)
def test_entropy_leaves_nobody_out_of_sight(attributes: list[Geometry], seed: int) -> None:
    k, n = 4, 90
    random = np.random.default_rng(seed)
    codes = np.stack([random.choice(a.size, 12)[random.integers(0, 12, n)] for a in attributes], axis=1)
    space = Drawn(attributes, codes.astype(np.int32), True, [])
    space.rows.expand(k)
    some = random.choice(n, 3)
    for members in (space.members()[row] for row in some):
        for i, record in enumerate(members[1:], 1):
            costs = {r: space.extra(members[:i], r) for r in range(n) if not space.covers(members[:i], r)}
            assert costs[record] == pytest.approx(min(costs.values()), abs=ROUNDING)
    others = space.fresh()
    others.expand_at_random(k, random.integers(0, 2**63, 4 * n).view(np.uint64))
    for row in some:
        best, drawn = space.members()[row], space.members(others)[row]
        if len(drawn) == k and best not in (drawn, drawn[:-1]):  # neither the same nor grown
            costs = {r: space.extra([row], r) for r in range(n) if r != row}
            assert max(costs[r] for r in drawn[1:]) <= sorted(costs.values())[2 * (k - 1) - 1] + ROUNDING


@given(drawn(monotone=True), st.data())
def test_several_starts_cost_no_more(space: Drawn, data: st.DataObject) -> None:
    k = data.draw(st.integers(1, space.n))
    space.rows.expand(k)
    several = space.fresh()
    several.expand_from_several(k, data.draw(st.integers(0, 5)))
    for greedy, best in zip(space.members(), space.members(several), strict=True):
        assert space.cost(best) <= space.cost(greedy) + ROUNDING
        assert sum(space.covers(best, r) for r in range(space.n)) >= k


@pytest.mark.parametrize("several", [False, True])
@given(space=drawn(withheld=True), data=st.data())
def test_drawn_rows_cover_k(several: bool, space: Drawn, data: st.DataObject) -> None:
    k = data.draw(st.integers(2, space.n))
    keys = (
        np.random.default_rng(data.draw(st.integers(0, 99))).integers(0, 2**63, 4 * space.n).view(np.uint64)
    )
    best = space.fresh()
    if several:
        best.expand_from_several(k, 3)
        space.rows.expand_from_several(k, 3, keys)
    else:
        best.expand(k)
        space.rows.expand_at_random(k, keys)
    for row, (members, without_coin) in enumerate(zip(space.members(), space.members(best), strict=True)):
        assert members[0] == row
        if row in space.withheld:
            assert members == [row]
        elif members != without_coin:
            assert sum(space.covers(members, r) for r in range(space.n)) >= k


def test_coins_fall_on_both_sides() -> None:
    codes = np.arange(400, dtype=np.int32).reshape(-1, 1) ** 2
    space = Drawn([Geometry(RANGE, 1.0, 160_000, np.arange(160_000) / 160_000)], codes, False, [])
    best = space.fresh()
    best.expand(5)
    changed = []
    for seed in range(3):
        rows = space.fresh()
        rows.expand_at_random(5, np.random.default_rng(seed).integers(0, 2**63, 1600).view(np.uint64))
        changed.append(
            [sorted(x) != sorted(y) for x, y in zip(space.members(rows), space.members(best), strict=True)]
        )
    assert all(120 < sum(each) < 280 for each in changed)
    assert changed[0] != changed[1] != changed[2]


@given(drawn(withheld=True), st.data())
def test_a_record_goes_to_the_rows_it_costs_least(space: Drawn, data: st.DataObject) -> None:
    k = data.draw(st.integers(1, len(space.kept)))
    space.rows.expand(data.draw(st.integers(1, k)))
    before = space.members()
    record = data.draw(st.sampled_from(range(space.n)))
    around = [row for row in space.kept if space.covers(before[row], record)]
    grown = space.rows.cover(np.array([record]), k)
    after = space.members()
    if len(around) >= k or (record in space.withheld and not around):
        assert grown == 0
        assert after == before
        return
    assert grown == k - len(around)
    changed = [row for row in range(space.n) if after[row] != before[row]]
    assert len(changed) == grown
    assert all(after[row] == [*before[row], record] for row in changed)
    extras = sorted(space.extra(before[row], record) for row in space.kept if row not in around)
    assert sorted(space.extra(before[row], record) for row in changed) == pytest.approx(
        extras[:grown], abs=ROUNDING
    )


@given(drawn(withheld=True), st.data())
def test_everybody_is_covered(space: Drawn, data: st.DataObject) -> None:
    k = data.draw(st.integers(1, len(space.kept)))
    space.rows.expand(k)
    before = space.members()
    space.rows.cover(np.array(data.draw(st.permutations(range(space.n)))), k)
    after = space.members()
    assert all(new[: len(old)] == old for new, old in zip(after, before, strict=True))
    for record, around in enumerate(space.edges(after)):
        assert sum(around) >= k or (sum(around) == 0 and record in space.withheld)


@given(drawn(withheld=True), st.data())
def test_tightened_rows_keep_the_level_and_cost_less(space: Drawn, data: st.DataObject) -> None:
    k = data.draw(st.integers(2, max(2, len(space.kept))))
    k = min(k, len(space.kept))
    keep = data.draw(st.booleans())
    space.rows.expand(k)
    cores = space.members()
    widest = data.draw(st.sampled_from([2 * k, 8 * k]))
    space.rows.begin_tightening(k, keep_cores=keep)
    space.rows.cover_dearest_first(widest)
    for together in data.draw(st.lists(st.integers(1, 4), min_size=1, max_size=3)):
        before = space.members()
        order = np.array(data.draw(st.permutations(range(space.n))))
        saved = space.rows.relieve(order, together, widest)
        after = space.members()
        assert saved >= 0
        assert space.total(after) == pytest.approx(space.total(before) - saved, abs=ROUNDING)
        edges = space.edges(after)
        for record in range(space.n):
            assert sum(edges[record]) >= k
        for row in space.kept:
            assert edges[row][row]
            assert sum(edges[record][row] for record in range(space.n)) >= k
            if keep:
                assert all(space.covers(after[row], core) for core in cores[row])


def components(edges: list[list[bool]]) -> NDArray[np.int32]:
    """Return the component of each record, if records lead to those whose rows cover them."""
    n = len(edges)
    reach = np.array(edges) | np.eye(n, dtype=np.bool_)
    for _ in range(n):
        reach = (reach.astype(np.int64) @ reach) > 0
    both = reach & reach.T
    return np.unique(both.argmax(axis=1), return_inverse=True)[1].astype(np.int32)


def concealed(
    space: Drawn, members: Members, place: Sequence[int], order: Sequence[int], k: int, tie: Tie
) -> Members:
    """Return rows after Algorithm 5, all matches found anew after each step; ties go to the first place."""
    members = [list(each) for each in members]
    for one in order:
        while True:
            edges = space.edges(members)
            component = components(edges)
            fits = [
                other
                for other in range(space.n)
                if (edges[one][other] if tie is RECORDS else edges[other][one])
            ]
            apart = [other for other in fits if component[other] != component[one]]
            if len(fits) - len(apart) >= k or not apart:
                break

            def extra(other: int, one: int = one) -> tuple[float, int]:
                row, record = tie(one, other)
                return space.extra(members[row], record), place[other]

            row, record = tie(one, min(apart, key=extra))
            if not space.covers(members[row], record):
                members[row].append(record)
    return members


Tie = Callable[[int, int], tuple[int, int]]


def RECORDS(record: int, row: int) -> tuple[int, int]:  # noqa: N802 - a constant that is called
    return record, row


def ROWS(row: int, record: int) -> tuple[int, int]:  # noqa: N802 - a constant that is called
    return record, row


@pytest.mark.parametrize("tie", [RECORDS, ROWS])
@given(space=drawn(monotone=True), data=st.data())
def test_concealing_agrees_with_finding_all_matches_anew(tie: Tie, space: Drawn, data: st.DataObject) -> None:
    k = data.draw(st.integers(1, space.n))
    space.rows.expand(k)
    order = np.array(data.draw(st.permutations(range(space.n))))
    space.rows.cover(order, k)
    before = space.members()
    space.rows.join(components(space.edges(before)))
    place = np.argsort(space.rows._order).tolist()
    conceal = space.rows.conceal_records if tie is RECORDS else space.rows.conceal_rows
    conceal(order, k)
    expected = concealed(space, before, place, order.tolist(), k, tie)
    assert space.members() == expected
    matches = np.array(twins.matches(space.edges(expected), space.n))
    assert matches.sum(axis=1 if tie is RECORDS else 0).min() >= k


@given(drawn(), st.data())
def test_cheapest_first_conceals_as_well(space: Drawn, data: st.DataObject) -> None:
    k = data.draw(st.integers(1, space.n))
    space.rows.expand(k)
    space.rows.cover(np.arange(space.n), k)
    before = space.members()
    space.rows.join(components(space.edges(before)))
    space.rows.conceal_cheapest_first(np.arange(space.n), k)
    after = space.members()
    assert all(new[: len(old)] == old for new, old in zip(after, before, strict=True))
    assert np.array(twins.matches(space.edges(after), space.n)).sum(axis=1).min() >= k


@given(drawn(monotone=True, most=9), st.data())
def test_rows_are_tightened_without_losing_matches(space: Drawn, data: st.DataObject) -> None:
    k = data.draw(st.integers(2, space.n))
    keep = data.draw(st.booleans())
    space.rows.expand(k)
    space.rows.begin_tightening(k, keep_cores=keep)
    space.rows.cover_dearest_first(8 * k)
    space.rows.join(components(space.edges(space.members())))
    space.rows.conceal_cheapest_first(np.arange(space.n), k)
    before = space.members()
    space.rows.hold_together()
    saved = 0.0
    for together in data.draw(st.lists(st.integers(1, 4), min_size=1, max_size=3)):
        order = np.array(data.draw(st.permutations(range(space.n))))
        saved += space.rows.relieve(order, together, 8 * k)
    after = space.members()
    assert space.total(after) == pytest.approx(space.total(before) - saved, abs=ROUNDING)
    edges = np.array(space.edges(after))
    assert edges.sum(axis=0).min() >= k
    assert np.array(twins.matches(edges.tolist(), space.n)).sum(axis=1).min() >= k


def crowd(space: Drawn, members: Members, record: int, only_matches: bool) -> list[int]:
    edges = space.edges(members)
    component = components(edges)
    return [
        row
        for row in range(space.n)
        if edges[record][row] and (not only_matches or component[row] == component[record])
    ]


@given(drawn(withheld=True), st.data())
def test_one_more_label_comes_from_the_cheapest_row(space: Drawn, data: st.DataObject) -> None:
    only_matches = not space.withheld and data.draw(st.booleans())
    space.rows.expand(2)
    before = space.members()
    labels = np.array(data.draw(st.lists(st.integers(0, 3), min_size=space.n, max_size=space.n)), np.int32)
    record = data.draw(st.sampled_from(range(space.n)))
    around = crowd(space, before, record, only_matches)
    seen = {int(labels[row]) for row in around}
    new = [row for row in space.kept if int(labels[row]) not in seen]
    space.rows.join(components(space.edges(before)) if only_matches else None)
    grown = space.rows.vary(np.array([record]), [labels], distinct=len(seen) + 1)
    after = space.members()
    if not around or not new:
        assert not around or grown >= 0
        return
    assert grown == 1
    costs = [
        space.extra(before[row], record) + (space.extra(before[record], row) if only_matches else 0.0)
        for row in new
    ]
    assert space.total(after) - space.total(before) == pytest.approx(min(costs), abs=ROUNDING)
    assert len({int(labels[row]) for row in crowd(space, after, record, only_matches)}) > len(seen)


@given(drawn(withheld=True), st.data())
def test_all_crowds_become_varied(space: Drawn, data: st.DataObject) -> None:
    only_matches = not space.withheld and data.draw(st.booleans())
    labels = np.array(data.draw(st.lists(st.integers(0, 3), min_size=space.n, max_size=space.n)), np.int32)
    of_rows = labels[space.kept].tolist()
    shares = np.bincount(of_rows) / len(of_rows)
    shares = shares[shares > 0]
    asked = {
        "frequency_l": data.draw(st.sampled_from([0.0, 1.0, float(1 / shares.max())])),
        "distinct": data.draw(st.integers(0, len(shares))),
        "entropy": data.draw(st.sampled_from([0.0, 0.5, 1.0])) * float(-(shares * np.log(shares)).sum()),
    }
    before = space.members()
    space.rows.join(components(space.edges(before)) if only_matches else None)
    order = np.array(data.draw(st.permutations(range(space.n))))
    while space.rows.vary(order, [labels], **asked):  # records without any row may come to fit some
        pass
    after = space.members()
    for record in range(space.n):
        around = labels[crowd(space, after, record, only_matches)].tolist()
        assert (not around and record in space.withheld) or twins.miss(around, **asked) <= ROUNDING
    assert all(new[: len(old)] == old for new, old in zip(after, before, strict=True))
