"""Attacks that are carried out: their rates on tables where the right answer is known."""

from __future__ import annotations

from collections import Counter
from itertools import permutations

import numpy as np
import polars as pl
import pytest

import shoal
from shoal.attacking.inferring import likeliest_values, links_in
from shoal.attacking.linking import halves_of
from shoal.attacking.rates import Gain, Rate
from shoal.attacking.scene import Scene, scene_of
from shoal.attacking.singling_out import isolated_controls, isolated_members, narrowed
from shoal.auditing.reading import read_release
from shoal.base.randomness import Randomness
from shoal.models import Model
from shoal.samples import hospital
from shoal.schema import as_frame

PATIENTS = hospital(700).select("age", "sex", "zip", "marital", "diagnosis")
SCHEMA = shoal.Schema.infer(PATIENTS, quasi=["age", "sex", "zip", "marital"], sensitive=["diagnosis"])
MEMBERS, CONTROL = PATIENTS[:500], PATIENTS[500:]


def released(model: Model) -> pl.DataFrame:
    return shoal.anonymize(MEMBERS, SCHEMA, model, seed=1).table


def coarse() -> pl.DataFrame:
    """Return a release that says nothing but the sex."""
    star = pl.lit("*")
    return MEMBERS.with_columns(age=star, zip=star, marital=star).sample(fraction=1.0, shuffle=True, seed=1)


def test_the_original_itself_is_at_high_risk_and_a_coarse_release_at_none() -> None:
    exact = shoal.attack(MEMBERS, MEMBERS, SCHEMA, CONTROL, seed=1)
    for name in ("singling-out", "linkability", "inference"):
        assert exact[name].risk.low > 0.2, name
    good = shoal.attack(MEMBERS, coarse(), SCHEMA, CONTROL, seed=1)
    for each in good:
        assert each.risk.low == 0, each.name
    assert good["singling-out"].members.successes == 0


def test_rows_of_k_anonymous_releases_single_no_record_out() -> None:
    for model in (shoal.KAnonymity(k=5), shoal.Freeform(k=5)):
        found = shoal.attack(MEMBERS, released(model), SCHEMA, CONTROL, seed=1)
        assert found["singling-out"].members.successes == 0
        assert found["singling-out"].risk.value == 0


def test_a_diverse_release_is_guessed_no_better_than_its_bound() -> None:
    found = shoal.attack(MEMBERS, released(shoal.Freeform(k=5, l=3)), SCHEMA, CONTROL, seed=1)
    assert found["inference"].members.interval[0] <= 1 / 3


def scene(frame: pl.DataFrame, targets: int = 80) -> Scene:
    return scene_of(MEMBERS, frame, SCHEMA, CONTROL, targets=targets, randomness=Randomness(7))


@pytest.mark.parametrize("how", ["freeform", "k-anonymity", "original"])
def test_isolated_records_are_those_of_the_definition(how: str) -> None:
    models = {"freeform": shoal.Freeform(k=3), "k-anonymity": shoal.KAnonymity(k=3)}
    frame = MEMBERS if how == "original" else released(models[how])
    seen = scene(frame)
    table = seen.release.table
    columns = read_release(as_frame(frame), table)
    covers = np.ones((len(table), len(frame)), dtype=bool)
    for column, attribute in zip(columns, table.attributes, strict=True):
        pairs = np.tile(column.cell, len(table)), np.repeat(attribute.codes, len(frame))
        covers &= column.values.covers(*pairs).reshape(len(table), len(frame))
    predicates = seen.rows.some(seen.release.graph.row_type)
    assert (predicates.holding(seen.codes) == covers).all()
    assert (predicates.conditions(seen.codes)[covers] == 4).all()
    counts = covers[seen.is_member].sum(axis=0)
    assert (predicates.counts(seen.codes[seen.is_member]) == counts).all()
    expected = (covers[seen.members] & (counts == 1)).any(axis=1)
    assert (isolated_members(seen, predicates) == expected).all()
    # Whichever record leaves, only a row that covers at most one record can single out a control record.
    possible = (covers[seen.control] & (counts <= 1)).any(axis=1)
    certain = (covers[seen.control] & (counts == 0)).any(axis=1)
    found = isolated_controls(seen, predicates)
    assert (found <= possible).all()
    assert (found >= certain).all()


def test_narrowed_rows_lie_within_their_rows_and_are_as_many() -> None:
    seen = scene(released(shoal.KAnonymity(k=5)))
    rows, narrow = seen.rows, narrowed(seen)
    assert len(narrow) == len(MEMBERS)
    whole = np.repeat(rows.holding(seen.codes), seen.copies, axis=1)
    held = narrow.holding(seen.codes)
    assert not (held & ~whole).any()
    assert held.sum() < whole.sum() / 2
    # Ends of intervals and values of sets occur in the original: cells are as small as records allow.
    assert (narrow.counts(seen.codes[seen.is_member]) > 0).mean() > 0.9


def test_a_seed_repeats_the_attacks() -> None:
    once, again = (shoal.attack(MEMBERS, coarse(), SCHEMA, CONTROL, seed=5, targets=50) for _ in range(2))
    assert once.as_dict() == again.as_dict()
    assert "singling out" in once._repr_html_()


def test_without_a_control_group_the_risk_is_the_gain_over_the_baseline() -> None:
    found = shoal.attack(MEMBERS, MEMBERS, SCHEMA, seed=1)
    each = found["inference"]
    assert each.control is None
    assert found.control == 0
    assert each.risk == Gain.over(each.members, each.baseline)


def test_the_risk_is_measured_against_what_succeeds_more_often() -> None:
    good, low, high = Rate(90, 100), Rate(10, 100), Rate(50, 100)
    for control, baseline in ((low, high), (high, low)):
        result = shoal.AttackResult("inference", "", good, control, baseline, "x")
        assert result.risk.value == pytest.approx(0.8)


def test_halves_can_be_chosen_and_are_checked() -> None:
    found = shoal.attack(MEMBERS, MEMBERS, SCHEMA, CONTROL, halves=[["age"], ["sex", "zip"]], targets=50)
    assert "knows 'age' of" in found["linkability"].about
    seen = scene(MEMBERS)
    assert sorted(np.concatenate(halves_of(seen, None)).tolist()) == [0, 1, 2, 3]
    for wrong in ([["age"]], [["age"], []], [["age"], ["age"]], [["age"], ["diagnosis"]]):
        with pytest.raises(shoal.InputError):
            halves_of(seen, wrong)


def test_what_is_not_possible_is_noted() -> None:
    schema = shoal.Schema.infer(MEMBERS, quasi=["age"])
    found = shoal.attack(MEMBERS, MEMBERS, schema, CONTROL, targets=20)
    assert [each.name for each in found] == ["singling-out", "singling-out-narrowed"]
    assert len(found.notes) == 2
    with pytest.raises(KeyError):
        found["inference"]


@pytest.mark.parametrize("wrong", [{"targets": 0}, {"targets": True}, {"confidence": 1.0}])
def test_impossible_parameters_are_refused(wrong: dict[str, float]) -> None:
    with pytest.raises(shoal.InputError):
        shoal.attack(MEMBERS, MEMBERS, SCHEMA, CONTROL, **wrong)  # type: ignore[arg-type]


def test_wrong_control_groups_are_refused() -> None:
    with pytest.raises(shoal.InputError, match="zip"):
        shoal.attack(MEMBERS, MEMBERS, SCHEMA, CONTROL.drop("zip"))
    with pytest.raises(shoal.InputError, match="no records"):
        shoal.attack(MEMBERS, MEMBERS, SCHEMA, CONTROL[:0])
    with pytest.raises(shoal.InputError, match="types that differ"):
        shoal.attack(MEMBERS, MEMBERS, SCHEMA, CONTROL.with_columns(sex=pl.lit([1, 2])))


def test_a_person_is_either_in_the_original_or_in_the_control_group() -> None:
    numbered = PATIENTS.with_columns(who=pl.Series(np.arange(700) // 3))
    schema = shoal.Schema.infer(numbered, quasi=["age", "sex"], sensitive=["diagnosis"], person="who")
    with pytest.raises(shoal.InputError, match="persons are both"):
        shoal.attack(numbered[:500], MEMBERS, schema, numbered[500:])
    found = shoal.attack(numbered[:501], MEMBERS[:501], schema, numbered[501:])
    # One record of each person is attacked.
    assert found["singling-out"].members.trials == 167


def test_other_libraries_and_typed_cells_are_read() -> None:
    pandas = pytest.importorskip("pandas")
    typed = shoal.anonymize(MEMBERS.to_arrow(), SCHEMA, shoal.Freeform(k=5), seed=1).table
    text = shoal.anonymize(MEMBERS, SCHEMA, shoal.Freeform(k=5), seed=1).table
    assert isinstance(MEMBERS.to_pandas(), pandas.DataFrame)
    found = shoal.attack(MEMBERS.to_pandas(), typed, SCHEMA, CONTROL, seed=3, targets=60)
    assert found.as_dict() == shoal.attack(MEMBERS, text, SCHEMA, CONTROL, seed=3, targets=60).as_dict()


def test_rows_that_cover_no_record_are_noted() -> None:
    found = shoal.attack(MEMBERS, MEMBERS.with_columns(zip=pl.lit("00000")), SCHEMA, CONTROL, targets=20)
    assert "500 of 500 released rows cover no record" in found.notes[0]
    assert shoal.attack(MEMBERS, coarse(), SCHEMA, CONTROL, targets=20).notes == ()
    (note,) = shoal.attack(MEMBERS, coarse()[:450], SCHEMA, CONTROL, targets=20).notes
    assert "50 rows fewer" in note


@pytest.mark.parametrize("how", ["dates and a tree", "items", "missing values"])
def test_cells_of_every_kind_are_attacked(how: str) -> None:
    patients = hospital(400).select("age", "admitted", "zip", "occupation", "diagnosis")
    model: Model = shoal.KAnonymity(k=4)
    if how == "dates and a tree":
        tree = shoal.Hierarchy.from_levels([[z, z[:3] + "**", "*"] for z in sorted(set(patients["zip"]))])
        schema = shoal.Schema.infer(patients, quasi=["admitted", "zip"], sensitive=["diagnosis"])
        schema = schema.changed("zip", hierarchy=tree)
    elif how == "items":
        patients = patients.with_columns(
            bought=pl.format("i{} i{} i{}", pl.col("age") % 5, pl.col("age") % 7, pl.col("age") % 3)
        ).select("bought", "diagnosis")
        schema = shoal.Schema.infer(
            patients, quasi=["bought"], sensitive=["diagnosis"], kinds={"bought": "items"}
        )
        model = shoal.SetAnonymity(k=4)
    else:
        patients = patients.with_columns(pl.when(pl.col("age") % 4 > 0).then("zip").alias("zip"))
        schema = shoal.Schema.infer(patients, quasi=["zip", "occupation"], sensitive=["diagnosis"])
    members, control = patients[:300], patients[300:]
    good = shoal.anonymize(members, schema, model, seed=1)
    found = shoal.attack(members, good.table, schema, control, seed=1)
    assert found["singling-out"].members.successes == 0
    assert found.notes == () or how == "items"
    exact = shoal.attack(members, members, schema, control, seed=1)
    assert exact["inference"].members.share > found["inference"].members.share


@pytest.mark.parametrize("seed", range(6))
def test_likeliest_values_are_those_of_most_matchings(seed: int) -> None:
    chances = np.random.default_rng(seed)
    ages = chances.integers(0, 8, 7)
    values = chances.choice(["a", "b", "c"], 7)
    low, high = ages[:5] - chances.integers(0, 4, 5), ages[:5] + chances.integers(0, 4, 5)
    everyone = pl.DataFrame({"age": ages, "value": values})
    rows = pl.DataFrame({"age": [f"{a}..{b}" for a, b in zip(low, high, strict=True)], "value": values[:5]})
    schema = shoal.Schema.infer(everyone, quasi=["age"], sensitive=["value"], kinds={"age": "numeric"})
    seen = scene_of(everyone[:5], rows, schema, everyone[5:], targets=10, randomness=Randomness(100 + seed))
    often: Counter[tuple[int, str]] = Counter()
    for records in permutations(range(7), 5):
        if all(low[i] <= ages[record] <= high[i] for i, record in enumerate(records)):
            often.update((record, str(values[i])) for i, record in enumerate(records))
    links = links_in(seen, 20.0)
    assert links is not None
    (labels,) = seen.labels
    names = {int(code): str(value) for code, value in zip(labels.of_record, values, strict=True)}
    for record, code in enumerate(likeliest_values(seen, labels, links)):
        most = max(often[record, value] for value in "abc")
        assert (code < 0) == (most == 0)
        assert code < 0 or often[record, names[code]] == most
