"""Releases in which rows generalize one record each: every level, measured by brute force or by the audit."""

from __future__ import annotations

import math
from itertools import combinations
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
import polars as pl
import pytest
from examples import examples
from hypothesis import given
from hypothesis import strategies as st
from strategies import tables

from shoal import KK, Concealment, InfeasibleError, InputError, KOne, OneK, Schema, anonymize, audit
from shoal.base.randomness import Randomness
from shoal.measures.em import em
from shoal.measures.gcp import gcp
from shoal.measures.lm import lm
from shoal.methods import Circumstances
from shoal.methods.concealment import TIGHTENING as EFFORTS
from shoal.methods.concealment import expansion, subsets
from shoal.models import CoverageModel
from shoal.recoding import Recoding
from shoal.recoding.coverage import Graph
from shoal.table import Table

Model = CoverageModel | Concealment
MODELS: list[type[Model]] = [OneK, KOne, KK, Concealment]
LOSSES = {"gcp": gcp, "lm": lm, "em": em}
ROUNDING = 1e-9


def made(table: Table, model: Model, **options: Any) -> Recoding:
    return expansion(table, model, Circumstances(Randomness(0)), **options)


@st.composite
def promises(draw: st.DrawFn, kind: type[Model], n: int) -> Model:
    """Draw a promise for a table of n records; what it says of sensitive values may be impossible."""
    diversity = {
        "l": draw(st.sampled_from([None, None, 1.2, 2.0])),
        "p": draw(st.sampled_from([None, None, 2])),
        "entropy_l": draw(st.sampled_from([None, None, 1.5])),
    }
    k = draw(st.integers(2, n))
    chance = draw(st.sampled_from([None, 1, 0.5, 0.34, 0.2]))
    if kind is Concealment:
        return Concealment(k=k, two_sided=draw(st.booleans()), chance=chance, **diversity)
    return kind(k=k, withhold=draw(st.sampled_from([0.0, 0.0, 0.01, 0.3])), chance=chance, **diversity)


@pytest.mark.parametrize("kind", MODELS)
@given(drawn=tables(min_rows=2, max_rows=12, sensitive=True), data=st.data())
def test_the_audit_confirms_every_level(
    kind: type[Model], drawn: tuple[Any, Schema], data: st.DataObject
) -> None:
    frame, schema = drawn
    n = len(nw.from_native(frame))
    model = data.draw(promises(kind, n))
    options = {
        "effort": data.draw(st.sampled_from(sorted(EFFORTS))),
        "measure": data.draw(st.sampled_from(sorted(LOSSES))),
        "randomized": data.draw(st.booleans()),
    }
    withheld = math.ceil(getattr(model, "withhold", 0.0) * n)
    try:
        release = anonymize(frame, schema, model, **options)
    except InfeasibleError:
        assert model.diversity is not None or model.degree > n - withheld
        return
    except InputError:
        assert model.k > n - withheld
        return
    assert release.audit.holds
    assert release.audit.rows == n - withheld
    assert release.certificate["withheld"] == withheld
    found = audit(frame, release.table, schema, model)  # from the files alone
    assert found.holds, found.verdict
    assert release.recoding.covers().all()


def test_a_row_covers_the_record_it_carries_not_the_one_with_its_number() -> None:
    """With p = 2, the row that carries t covers everybody, and rows are those of a graph as in `freeform`."""
    frame = pl.DataFrame({"a": [0] * 6, "b": [0, 0, 0, 0, 1, 0], "secret": list("ssssst")})
    schema = Schema.infer(frame, quasi=["a", "b"], sensitive=["secret"])
    for seed in range(20):
        recoding = anonymize(frame, schema, KK(k=2, p=2, chance=0.5), seed=seed).recoding
        assert recoding.graph is not None
        assert recoding.covers().all()


@pytest.mark.parametrize("randomized", [False, True])
@given(drawn=tables(min_rows=3, max_rows=12, sensitive=True), data=st.data())
def test_rows_only_grow_from_step_to_step(
    randomized: bool, drawn: tuple[Any, Schema], data: st.DataObject
) -> None:
    table = Table.encode(*drawn)
    k = data.draw(st.integers(2, len(table)))
    different = len(set(table.sensitive[0].codes.tolist()))
    measure = data.draw(st.sampled_from(sorted(LOSSES)))
    steps = [
        KOne(k=k),
        KK(k=k, chance=1),
        Concealment(k=k, chance=1),
        Concealment(k=k, chance=1, p=different),
    ]
    before = None
    for model in steps:
        recoding = made(table, model, effort="fast", randomized=randomized, measure=measure)
        fits = np.array(
            [
                [
                    v.covers(np.array([row]), a.codes[[record]])[0]
                    for v, a in zip(recoding.values, table.attributes, strict=True)
                ]
                for row in range(len(table))
                for record in range(len(table))
            ]
        ).all(axis=1)
        assert before is None or (fits >= before).all()
        before = fits


def closed(table: Table, members: list[int]) -> Recoding:
    values = tuple(a.domain.closure(a.codes[members], np.array([0, len(members)])) for a in table.attributes)
    return Recoding(table, values, np.zeros(1, np.int32))


@pytest.mark.parametrize("measure", sorted(LOSSES))
@given(drawn=tables(min_rows=2, max_rows=6, max_columns=3, flavours=["polars"]), data=st.data())
@examples(20)
def test_subsets_are_optimal_and_expansion_is_near(
    measure: str, drawn: tuple[Any, Schema], data: st.DataObject
) -> None:
    table = Table.encode(*drawn)
    n = len(table)
    k = data.draw(st.integers(2, n))
    best = subsets(table, KOne(k=k), Circumstances(), measure=measure)
    loss = LOSSES[measure]
    least = np.mean(
        [
            min(
                loss(closed(table, [record, *others]))
                for others in combinations([r for r in range(n) if r != record], k - 1)
            )
            for record in range(n)
        ]
    )
    assert loss(best) == pytest.approx(least, abs=ROUNDING)
    assert Graph.of_recoding(best).degrees()[1].min() >= k
    greedy = made(table, KOne(k=k), effort="fast", randomized=False, measure=measure)
    assert measure == "em" or loss(best) <= loss(greedy) + ROUNDING
    # Proposition 13: for measures that are monotone and sub-additive.
    assert measure == "em" or loss(greedy) <= (k - 1) * loss(best) + ROUNDING


@given(tables(min_rows=3, max_rows=7, flavours=["polars"]), st.randoms(use_true_random=False))
@examples(20)
def test_the_optimum_knows_no_order_of_rows_and_doubles_with_the_table(
    drawn: tuple[pl.DataFrame, Schema], random: Any
) -> None:
    frame, schema = drawn
    order = list(range(len(frame)))
    random.shuffle(order)
    once, again = (
        gcp(subsets(Table.encode(f, schema), KOne(k=2), Circumstances())) for f in (frame, frame[order])
    )
    assert once == pytest.approx(again, abs=ROUNDING)
    doubled = Table.encode(pl.concat([frame, frame]), schema)
    assert gcp(subsets(doubled, KOne(k=2), Circumstances())) == 0.0
    assert gcp(made(doubled, KOne(k=2), effort="fast", randomized=False)) == 0.0


@given(tables(min_rows=4, max_rows=12, sensitive=True), st.data())
def test_the_level_has_nothing_to_do_with_chance(drawn: tuple[Any, Schema], data: st.DataObject) -> None:
    table = Table.encode(*drawn)
    k = data.draw(st.integers(2, len(table)))
    seen = set()
    for seed in range(3):
        recoding = expansion(
            table, Concealment(k=k, chance=1), Circumstances(Randomness(seed)), effort="balanced"
        )
        matches = Graph.of_recoding(recoding).matches(np.arange(len(table)))
        assert matches.concealment >= k
        seen.add(gcp(recoding))
    assert all(0 <= loss <= 1 for loss in seen)


def test_efforts_lose_less_and_nothing_is_repeated() -> None:
    generator = np.random.default_rng(5)
    frame = pl.DataFrame(
        {
            "age": generator.integers(0, 90, 400),
            "job": generator.choice(list("abcdefgh"), 400),
            "zip": generator.integers(0, 50, 400),
        }
    )
    schema = Schema.infer(frame, quasi=frame.columns, kinds={"zip": "categorical"})
    table = Table.encode(frame, schema)
    for model in (KK(k=5, chance=1), Concealment(k=5, chance=1)):
        for randomized in (False, True):
            lost = [gcp(made(table, model, effort=effort, randomized=randomized)) for effort in EFFORTS]
            assert lost[0] > max(lost[1:])
        assert gcp(made(table, model, effort="fast", randomized=False)) < gcp(
            made(table, model, effort="fast")
        )
    one, other = (anonymize(frame, schema, KK(k=5, chance=1), effort="fast").loss.gcp for _ in range(2))
    assert one != other
    again = [gcp(made(table, KK(k=5, chance=1), effort="balanced", randomized=False)) for _ in range(2)]
    assert again[0] == again[1]


def test_each_measure_is_kept_small() -> None:
    generator = np.random.default_rng(6)
    skewed = (generator.integers(0, 40, 300) ** 3).tolist()
    frame = pl.DataFrame({"income": skewed, "job": generator.choice(list("aaaaaaabbbcd"), 300).tolist()})
    schema = Schema.infer(frame, quasi=frame.columns)
    table = Table.encode(frame, schema)
    lost = {
        name: {
            by: LOSSES[by](made(table, KOne(k=6), measure=name, effort="balanced", randomized=False))
            for by in LOSSES
        }
        for name in LOSSES
    }
    for by in LOSSES:
        assert min(lost, key=lambda name, by=by: lost[name][by]) == by


def people(n: int = 40) -> tuple[pl.DataFrame, Schema]:
    frame = pl.DataFrame({"age": range(n), "secret": ["a"] * (n * 3 // 4) + ["b"] * (n // 4)})
    return frame, Schema.infer(frame, quasi=["age"], sensitive=["secret"])


@pytest.mark.parametrize("kind", MODELS)
def test_what_cannot_be_had_names_what_can(kind: type[Model]) -> None:
    frame, schema = people()
    with pytest.raises(InfeasibleError, match=r"at most l = 1\.333"):
        anonymize(frame, schema, kind(k=2, l=1.4))
    with pytest.raises(InfeasibleError, match="at most p = 2"):
        anonymize(frame, schema, kind(k=2, p=3))
    with pytest.raises(InputError, match="can be 40 at most"):
        anonymize(frame, schema, kind(k=41))
    with pytest.raises(InputError, match="did you mean 'em'"):
        anonymize(frame, schema, kind(k=2), measure="ems")
    with pytest.raises(InputError, match="is unknown"):
        anonymize(frame, schema, kind(k=2), effort="utmost")


def test_subsets_refuse_what_takes_for_ever() -> None:
    frame, schema = people(200)
    with pytest.raises(InputError, match="too many sets"):
        anonymize(frame, schema, KOne(k=6), method="subsets")
    with pytest.raises(InputError, match="nothing about sensitive values"):
        anonymize(frame, schema, KOne(k=2, p=2), method="subsets")


def test_neither_more_nor_fewer_than_the_withheld_must_be_missing() -> None:
    frame, schema = people()
    release = anonymize(frame, schema, KK(k=3, withhold=0.1), seed=1)
    assert release.audit.rows == 36
    assert audit(frame, release.table, schema, KK(k=3, withhold=0.1)).holds
    less = audit(frame, release.table, schema, KK(k=3, withhold=0.05))
    assert any("although 2 were to be withheld" in finding for finding in less.findings)
    more = audit(frame, release.table, schema, KK(k=3, withhold=0.2))
    assert any("although 8 were to be withheld" in finding for finding in more.findings)
    none = audit(frame, release.table, schema, KK(k=3))
    assert any("left out on purpose" in finding for finding in none.findings)
    for wrong in (-0.1, 1.0, "many"):
        with pytest.raises(InputError, match="withhold"):
            KK(k=3, withhold=wrong)
