"""The audit of several releases agrees with a comparison of every row with every record."""

from __future__ import annotations

from collections import Counter

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from linked_releases import Linkage, OneRecord, OneRow, Published, unchanged_places

import shoal
from shoal import KK, Freeform, Schema
from shoal.auditing.surviving import Surviving
from shoal.auditing.together import JointAudit

KINDS = ("a", "b", "c")


@st.composite
def histories(draw: st.DrawFn) -> tuple[list[Published], bool]:
    """Draw two or three releases of tables that grow, shrink and change; with or without a person column."""
    persons = draw(st.booleans())
    several = draw(st.booleans())
    people = draw(st.lists(st.integers(0, 4), min_size=2, max_size=5))
    carried = st.tuples(st.sampled_from(KINDS), st.sampled_from("xy"))
    everyone = [
        OneRecord(person if several else number, draw(st.integers(0, 3)), draw(carried))
        for number, person in enumerate(people)
    ]
    releases: list[Published] = []
    for _ in range(draw(st.integers(2, 3))):
        records = [each for each in everyone if draw(st.integers(0, 3))] or everyone[:1]
        if draw(st.booleans()):
            old = records[0]
            records[0] = OneRecord(
                old.person,
                draw(st.integers(0, 3)),
                draw(st.sampled_from((old.carried, ("a", "x"), ("a", old.carried[1])))),
            )
        if releases and draw(st.booleans()):  # nothing changes
            releases.append(releases[-1])
            continue
        rows = [
            OneRow(draw(st.integers(0, each.age)), draw(st.integers(each.age, 3)), each.carried)
            for each in records
        ]
        releases.append(Published(tuple(records), tuple(draw(st.permutations(rows)))))
    return releases, persons


def frames(published: Published) -> tuple[pl.DataFrame, pl.DataFrame]:
    records, rows = published.records, published.rows
    original = {
        "who": [f"p{each.person}" for each in records],
        "age": [each.age for each in records],
        "d": [each.carried[0] for each in records],
        "e": [each.carried[1] for each in records],
    }
    released = {
        "age": [f"{each.low}..{each.high}" if each.low < each.high else str(each.low) for each in rows],
        "d": [each.carried[0] for each in rows],
        "e": [each.carried[1] for each in rows],
    }
    return pl.DataFrame(original), pl.DataFrame(released)


def schema_of(persons: bool) -> Schema:
    example = pl.DataFrame({"who": ["p"], "age": [1], "d": ["a"], "e": ["x"]})
    named = {"person": "who"} if persons else {"drop": ["who"]}
    return Schema.infer(example, quasi=["age"], sensitive=["d"], kinds={"age": "numeric"}, **named)  # type: ignore[arg-type]


def audited(releases: list[Published], persons: bool, matching: bool) -> JointAudit:
    (original, released), *earlier = map(frames, releases)
    model = Freeform(k=2) if matching else KK(k=2)
    return shoal.joint_audit(original, released, schema_of(persons), model, earlier=earlier)


def same(found: Surviving, wanted: Linkage) -> None:
    """Compare all that is counted with its definition."""
    for i, published in enumerate(wanted.releases):
        of_row = [wanted.persons_of_row(i, row) for row in range(len(published.rows))]
        assert found.persons_of_row[i].tolist() == of_row
        for place, record in enumerate(published.records):
            who = wanted.identity(record)
            unit = found.unit_of_identity[found.links.identities[i][place]]
            mine = [each for each in published.records if each.person == record.person]
            group = [wanted.identity(each) for each in mine] if wanted.several else [who]
            if wanted.several and not wanted.whole:
                assert found.rows[i, unit] == len(set.union(*(wanted.survivors(each, i) for each in group)))
            if not wanted.several:
                assert found.rows[i, unit] == wanted.crowd(who, i).total()
            if not wanted.several:
                tuples = wanted.tuples(who)
                in_unit = Counter(found.unit_of_identity.tolist())[unit]
                alike = found.tuples[unit]
                assert alike == len(tuples), (in_unit, tuples)
                several = sum(who in there for there in wanted.there) > 1
                least = min((wanted.persons_of_tuple(each) for each in tuples), default=0) if several else 0
                assert found.persons_of_tuple is not None
                assert found.persons_of_tuple[unit] == least


@pytest.mark.parametrize("matching", [False, True])
@given(histories())
@settings(max_examples=30)
def test_every_count_is_that_of_a_comparison_of_all_rows_and_records(
    matching: bool, drawn: tuple[list[Published], bool]
) -> None:
    releases, persons = drawn
    several = persons and any(max(Counter(each.person for each in p.records).values()) > 1 for p in releases)
    found = audited(releases, persons, matching)
    ways = [
        Linkage(releases, whole=whole, persons=persons, several=several, matching=matching)
        for whole in (False, True)
    ]
    wanted = ways[:1]
    if ways[1].kept:
        changed = any(a > b for a, b in zip(ways[0].common(), ways[1].common(), strict=True))
        wanted = ways if changed else ways[1:]
    partly = unchanged_places(releases) if persons and not several else set()
    wanted = wanted + [
        Linkage(releases, whole=False, persons=True, several=False, matching=matching, places=places)
        for places in sorted(partly, key=lambda each: (-len(each), each))
    ]
    assert [each.links.whole_rows for each in found.linkages] == [each.whole for each in wanted]
    for linkage, definition in zip(found.linkages, wanted, strict=True):
        same(linkage, definition)
    if not several:
        for place, record in enumerate(releases[0].records):
            left = [
                each.crowd(who, i).total()
                for each in wanted
                for who in [each.identity(record)]
                for i in range(len(releases))
            ]
            assert found.rows_of_record[place] == min((n for n in left if n), default=0)


@given(histories())
@settings(max_examples=20)
def test_the_same_release_again_tells_nothing(drawn: tuple[list[Published], bool]) -> None:
    releases, persons = drawn
    original, released = frames(releases[0])
    alone = shoal.audit(original, released, schema_of(persons))
    found = shoal.joint_audit(original, released, schema_of(persons), earlier=[(original, released)] * 2)
    if alone.persons is None or not alone.persons.several:
        assert found.k == alone.concealment
    together, single = found.linkages[-1].diversity[0], alone.diversity_around
    assert [each.as_dict() for each in together] == [pytest.approx(each.as_dict()) for each in single]
