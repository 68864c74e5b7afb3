"""The audit of persons with several records: models, matches, risks and beliefs, against plain counts."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import polars as pl
import pytest
import twins
from hypothesis import given
from hypothesis import strategies as st
from persons_recount import covers
from test_link_laws import Edges, edge_lists, graph_of
from test_persons import QUASI, dealt, schema_of, texts, visits

import shoal
from shoal import KK, Concealment, Freeform, KAnonymity, KOne, OneK, Schema
from shoal.auditing.posterior import posterior


def edges_between(frame: pl.DataFrame, released: pl.DataFrame) -> list[list[bool]]:
    """Return which rows cover each record, by comparing texts."""
    original, shown = texts(frame), texts(released)
    records = list(zip(*(original[name] for name in QUASI), strict=True))
    rows = list(zip(*(shown[name] for name in QUASI), strict=True))
    return [[all(map(covers, row, record)) for row in rows] for record in records]


def recounted_sides(
    edges: list[list[bool]], persons: list[str], *, matching: bool
) -> tuple[list[int], dict[str, int]]:
    """Return of how many persons each row has records, and how many rows each person has."""
    if matching:
        chances = twins.links(edges, len(edges[0]))
        edges = [[chance > 0 for chance in row] for row in chances]
    inside = [{persons[i] for i, row in enumerate(edges) if row[j]} for j in range(len(edges[0]))]
    union: dict[str, set[int]] = {person: set() for person in persons}
    for person, row in zip(persons, edges, strict=True):
        union[person] |= {j for j, covered in enumerate(row) if covered}
    return [len(each) for each in inside], {person: len(rows) for person, rows in union.items()}


@pytest.mark.parametrize(
    "model",
    [
        OneK(k=3),
        KOne(k=3),
        KK(k=3),
        KK(k=3, withhold=0.2),
        Concealment(k=3),
        Concealment(k=3, two_sided=True),
        Freeform(k=3),
        KAnonymity(k=3),
    ],
    ids=repr,
)
def test_a_person_column_without_repetitions_changes_nothing(model: Any) -> None:
    frame = visits("one each", 60, 3, alike=False, seed=2)
    release = shoal.anonymize(frame, schema_of(frame), model, seed=1)
    without = shoal.anonymize(frame, Schema.infer(frame, quasi=QUASI, drop=["person"]), model, seed=1)
    assert release.table.equals(without.table)
    assert release.audit.risks.as_dict() == without.audit.risks.as_dict()
    assert shoal.audit(frame, release.table, schema_of(frame), model).holds


@given(st.integers(4, 7), st.integers(2, 3), st.booleans(), st.integers(0, 2**32))
def test_concealment_counts_the_matches_of_persons(records: int, k: int, alike: bool, seed: int) -> None:
    frame = visits("one to three", records, 2, alike=alike, seed=seed)
    dropped = Schema.infer(frame, quasi=QUASI, drop=["person"])
    release = shoal.anonymize(frame, dropped, Concealment(k=2), seed=seed)
    found = shoal.audit(frame, release.table, schema_of(frame), Concealment(k=k), key=release.key.tolist())
    persons = frame["person"].to_list()
    often = Counter(persons)
    edges = edges_between(frame, release.table)
    covered = recounted_sides(edges, persons, matching=False)
    matched = recounted_sides(edges, persons, matching=True)
    assert found.persons is not None
    assert found.persons.persons_of_row.tolist() == covered[0]
    assert found.persons.matched_persons_of_row.tolist() == matched[0]
    assert sorted(found.persons.matching_rows_of_person) == sorted(matched[1].values())
    both = max(often.values()) > 1
    exposed = any(rows < k * often[person] for person, rows in matched[1].items())
    if exposed or (both and min(matched[0]) < k):
        assert not found.holds
    told = (found.persons.covering_share * k > 1 + 1e-9).any()
    if not exposed and not told and min(matched[0]) >= k:
        assert found.holds, found.verdict


@given(st.integers(8, 40), st.integers(2, 4), st.booleans(), st.integers(0, 2**32))
def test_risks_are_those_of_persons(records: int, k: int, alike: bool, seed: int) -> None:
    frame = visits("one to three", records, k, alike=alike, seed=seed)
    dropped = Schema.infer(frame, quasi=QUASI, drop=["person"])
    release = shoal.anonymize(frame, dropped, Freeform(k=k), seed=seed)
    risks = shoal.audit(frame, release.table, schema_of(frame)).risks
    persons = frame["person"].to_list()
    often = Counter(persons)
    _, rows = recounted_sides(edges_between(frame, release.table), persons, matching=False)
    chances = [min(1.0, often[person] / rows[person]) for person in often]
    assert risks.of_persons == (max(often.values()) > 1)
    assert risks.prosecutor.highest == pytest.approx(max(chances))
    assert risks.marketer == pytest.approx(sum(chances) / len(chances))
    assert risks.prosecutor.at_risk == pytest.approx(np.mean([chance > 0.2 for chance in chances]))


def test_the_journalist_counts_persons_of_the_population() -> None:
    frame = visits("one to three", 30, 3, alike=True, seed=1)
    release = shoal.anonymize(frame, schema_of(frame), Freeform(k=3), seed=1)
    population = pl.concat([frame, visits("one to three", 60, 3, alike=True, seed=9)]).with_columns(
        person=pl.Series(dealt("one to three", 90, 30, np.random.default_rng(2))).cast(pl.String)
    )
    found = shoal.audit(frame, release.table, schema_of(frame), population=population)
    persons = population["person"].to_list()
    inside, _ = recounted_sides(edges_between(population, release.table), persons, matching=False)
    assert found.risks.population == population["person"].n_unique()
    assert found.risks.journalist.highest == pytest.approx(1 / min(inside))
    assert found.risks.marketer == pytest.approx(np.mean([1 / many for many in inside]))
    unnamed = shoal.audit(frame, release.table, schema_of(frame), population=population.drop("person"))
    assert unnamed.risks.population == 90


@given(edge_lists(most=7), st.data())
def test_the_posterior_adds_up_over_the_records_of_a_person(edges: Edges, data: st.DataObject) -> None:
    records, rows = edges.shape
    persons = data.draw(st.lists(st.integers(0, 3), min_size=records, max_size=records))
    owners = np.unique(persons, return_inverse=True)[1].astype(np.int32)
    graph = graph_of(edges)
    found = posterior(graph, graph.matches(), k=2, owners=owners).of_persons
    chance = np.array(twins.links(edges.tolist(), rows))
    best = [float(chance[owners == person].sum(axis=0).max()) for person in range(owners.max() + 1)]
    assert found is not None
    assert (found.persons, found.refused) == (len(best), 0)
    assert found.link is not None
    assert found.link.mean == pytest.approx(np.minimum(best, 1).mean())
    assert dict(found.link.quantiles)[1.0] == pytest.approx(min(max(best), 1.0))
    assert found.above == sum(each > 0.5 + 1e-9 for each in best)


def test_the_posterior_of_a_release_for_persons_is_at_most_one_in_k() -> None:
    frame = visits("as many as possible", 12, 3, alike=True, seed=4)
    release = shoal.anonymize(frame, schema_of(frame), KAnonymity(k=3), seed=1)
    found = shoal.audit(frame, release.table, schema_of(frame), KAnonymity(k=3), posterior=5)
    assert found.posterior is not None
    assert found.posterior.of_persons is not None
    assert found.posterior.of_persons.above == 0
    assert found.as_dict()["posterior"]["persons"]["persons"] == frame["person"].n_unique()


def test_a_release_with_fewer_records_of_each_person_can_be_audited_without_its_key() -> None:
    frame = visits("few with many", 90, 3, alike=True, seed=3)
    release = shoal.anonymize(frame, schema_of(frame), Freeform(k=3), most_per_person=2, seed=1)
    assert len(release.table) < len(frame)
    found = shoal.audit(frame, release.table, schema_of(frame), Freeform(k=3), may_leave_out=True)
    assert found.holds, found.verdict
    # No choice of the missing records explains a release that shows a person's records as they are.
    dropped = Schema.infer(frame, quasi=QUASI, drop=["person"])
    exact = shoal.anonymize(frame, dropped, Freeform(k=2), seed=1).table.head(len(frame) - 1)
    found = shoal.audit(frame, exact, schema_of(frame), Freeform(k=3), may_leave_out=True)
    assert not found.holds
