"""A bound on the chance of a right guess: rows have places for it, and the audit judges it by the release."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import polars as pl
import pytest
from examples import examples
from hypothesis import given
from hypothesis import strategies as st
from strategies import tables

from shoal import KK, Concealment, Freeform, InfeasibleError, InputError, KOne, OneK, Schema, anonymize, audit
from shoal.kernels import OwnRows
from shoal.measures.geometry import geometry
from shoal.recoding import Recoding
from shoal.recoding.chances import least_chance
from shoal.recoding.coverage import Graph
from shoal.samples import hospital
from shoal.table import Table

PATIENTS = hospital(60, seed=2).select("age", "zip", "diagnosis")
SCHEMA = Schema.infer(PATIENTS, quasi=["age", "zip"], sensitive=["diagnosis"])


def covered(recoding: Recoding) -> np.ndarray[Any, Any]:
    """Return which row (first axis) covers which record."""
    n, attributes = len(recoding.table), recoding.table.attributes
    rows, records = np.divmod(np.arange(n * n), n)
    inside = [v.covers(rows, a.codes[records]) for v, a in zip(recoding.values, attributes, strict=True)]
    return np.all(inside, axis=0).reshape(n, n)


@given(drawn=tables(min_rows=2, max_rows=12), data=st.data())
@examples(40)
def test_rows_grow_until_every_record_has_its_places(drawn: tuple[Any, Schema], data: st.DataObject) -> None:
    table = Table.encode(*drawn)
    n = len(table)
    k, degree = data.draw(st.integers(1, n)), data.draw(st.integers(2, n))
    rows = OwnRows(table.codes, geometry(table), k)
    rows.expand(k)
    before = covered(Recoding.of_rows(table, *rows.members, np.arange(n)))
    rows.place(degree, data.draw(st.sampled_from([2, 8 * k])))
    recoding = Recoding.of_rows(table, *rows.members, np.arange(n))
    after = covered(recoding)
    assert (after >= before).all()
    graph = Graph.of_recoding(recoding)
    least = least_chance(graph, graph.matches())
    assert least is not None
    assert least <= Fraction(1, degree)


@given(k=st.integers(2, 60))
def test_by_default_no_guess_is_right_more_often_than_two_in_k(k: int) -> None:
    for model in (Concealment(k=k), KK(k=k)):
        assert model.chance is not None
        assert model.chance <= min(2 / k, 0.5)
        assert model.degree == round(1 / model.chance)
        assert type(model)(**model.parameters) == model
    for comparison in (OneK(k=k), KOne(k=k)):
        assert "chance" not in comparison.parameters


@pytest.mark.parametrize(
    ("chance", "degree"), [(1, 1), (0.5, 2), (0.51, 2), (0.49, 3), (1 / 3, 3), (0.1, 10), (1 / 7, 7)]
)
def test_a_chance_needs_so_many_places(chance: float, degree: int) -> None:
    assert Concealment(k=10, chance=chance).degree == degree


@pytest.mark.parametrize("chance", [0, -0.1, 1.5, math.nan, "0.5"])
def test_impossible_chances_are_refused(chance: Any) -> None:
    with pytest.raises(InputError, match="chance"):
        Concealment(k=3, chance=chance)


@pytest.mark.parametrize(
    "model",
    [
        Concealment(k=8),
        Concealment(k=8, chance=0.5, two_sided=True),
        Concealment(k=8, chance=0.34, p=2),
        KK(k=8, chance=0.34, withhold=0.1),
        KK(k=8, chance=0.05),
        OneK(k=8, chance=0.5),
        KOne(k=8, chance=0.34),
    ],
    ids=repr,
)
@pytest.mark.parametrize("options", [{}, {"measure": "em"}, {"effort": "fast"}], ids=repr)
def test_releases_keep_the_bound(model: Any, options: dict[str, Any]) -> None:
    release = anonymize(PATIENTS, SCHEMA, model, seed=1, **options)
    found = audit(PATIENTS, release.table, SCHEMA, model)
    assert found.holds
    assert found.chance is not None
    assert found.chance.least is not None
    assert found.chance.least <= model.chance + 1e-9
    stricter = audit(PATIENTS, release.table, SCHEMA, type(model)(k=2, chance=0.01))
    assert not stricter.holds
    assert "instead of at most 0.01" in " ".join(stricter.findings)


def test_the_model_of_the_paper_has_no_bound() -> None:
    release = anonymize(PATIENTS, SCHEMA, Concealment(k=8, chance=1), seed=1)
    assert release.audit.holds
    assert "least chance" not in release.model.sentence()
    chance = release.audit.chance
    assert chance is not None
    assert chance.least is not None
    assert chance.least > 0.25
    assert not audit(PATIENTS, release.table, SCHEMA, Concealment(k=8)).holds
    default = anonymize(PATIENTS, SCHEMA, Concealment(k=8), seed=1)
    assert "the least chance of a right guess about a row is at most 0.25" in default.model.sentence()


def test_near_one_in_k_rows_are_those_of_freeform() -> None:
    concealed, freeform = (
        anonymize(PATIENTS, SCHEMA, model, seed=1) for model in (Concealment(k=6), Freeform(k=6))
    )
    assert concealed.loss.gcp == pytest.approx(freeform.loss.gcp)
    assert "rows are those of the model freeform" in " ".join(concealed.certificate["notes"])


def test_more_than_all_rows_are_not_achievable() -> None:
    with pytest.raises(InfeasibleError, match="probability of at least"):
        anonymize(PATIENTS, SCHEMA, Concealment(k=3, chance=0.01))
    few = pl.concat([PATIENTS.head(6)] * 2)
    release = anonymize(few, SCHEMA, KK(k=3, chance=1 / 12), seed=1)
    assert release.audit.holds
