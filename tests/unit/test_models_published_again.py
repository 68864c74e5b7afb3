"""Every model and publishing again: which allow new persons and kept rows, and why the others refuse."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest

import shoal
from shoal import (
    KK,
    BetaLikeness,
    Concealment,
    DeltaDisclosure,
    DeltaPresence,
    Dissimilarity,
    Freeform,
    InputError,
    KAnonymity,
    KmAnonymity,
    KMap,
    KOne,
    OneK,
    Patterned,
    Schema,
    SetAnonymity,
    SetDiversity,
    TCloseness,
)
from shoal.methods import METHODS
from shoal.models import Model

PERSONS = 60


def patients(count: int = PERSONS) -> pl.DataFrame:
    draw = np.random.default_rng(4)
    return pl.DataFrame(
        {
            "who": [f"p{number}" for number in range(count)],
            "age": draw.integers(20, 40, count),
            "sex": draw.choice(["f", "m"], count),
            "diagnosis": draw.choice(["flu", "gout", "burn", "asthma"], count),
            "days": draw.integers(1, 9, count),
        }
    )


EVERYONE = patients()
FIRST = EVERYONE[:40]
SCHEMA = Schema.infer(
    EVERYONE, quasi=["age", "sex"], sensitive=["diagnosis"], person="who", kinds={"age": "numeric"}
)
POPULATION = pl.concat([EVERYONE, EVERYONE]).select("age", "sex")
CLASSES: list[Model] = [KAnonymity(k=3), KAnonymity(k=3, l=1.2), Patterned(k=3)]
ROWS: list[Model] = [Freeform(k=3), Concealment(k=3), KK(k=3), OneK(k=3), KOne(k=3)]
ALONE: list[Model] = [
    TCloseness(k=3, t=0.9),
    BetaLikeness(k=3, beta=5),
    DeltaDisclosure(k=3, disclosure_delta=5),
    Dissimilarity(k=3, epsilon=0, delta=0.3),
    KMap(k=3, population=POPULATION),
    DeltaPresence(delta_max=0.9, population=POPULATION),
    KmAnonymity(k=3, knows=1),
]
"""Models whose guarantee is not checked across releases."""
ITEMS: list[Model] = [SetAnonymity(k=3), SetDiversity(l=2)]


def published(model: Model, table: pl.DataFrame = FIRST, schema: Schema = SCHEMA) -> tuple[Any, Any, Any]:
    release = shoal.anonymize(table, schema, model)
    return table, release.written("csv"), release.key


def test_every_model_is_here() -> None:
    assert {type(each) for each in (*CLASSES, *ROWS, *ALONE, *ITEMS)} == set(METHODS)


@pytest.mark.parametrize("model", [*CLASSES, *ROWS], ids=str)
def test_models_that_keep_rows(model: Model) -> None:
    earlier = [published(model)]
    release = shoal.anonymize_again(EVERYONE, SCHEMA, model, after=earlier)
    assert release.circumstances["again"]["kept"] == 40
    assert release.circumstances["together"]["holds"]
    assert release.written("csv")[:40].equals(earlier[0][1])
    if model in ROWS:
        with pytest.raises(InputError, match=r"allows new persons only, as other people hide among these"):
            shoal.anonymize_again(EVERYONE[1:], SCHEMA, model, after=earlier)
    else:
        fewer = shoal.anonymize_again(EVERYONE[1:], SCHEMA, model, after=earlier)
        assert fewer.circumstances["again"]["removed"] >= model.crowd


@pytest.mark.parametrize("model", ALONE, ids=lambda each: each.name)
def test_models_that_are_not_checked_across_releases(model: Model) -> None:
    earlier = [published(model)]
    with pytest.raises(InputError, match=f"guarantee of {model.name} is not checked across releases"):
        shoal.anonymize_again(EVERYONE, SCHEMA, model, after=earlier)
    with pytest.raises(InputError, match=f"guarantee of {model.name} is not checked across releases"):
        shoal.joint_audit(EVERYONE, earlier[0][1], SCHEMA, model, earlier=earlier)


@pytest.mark.parametrize("model", [*CLASSES, *ROWS, *ALONE], ids=str)
def test_all_models_release_new_persons(model: Model) -> None:
    earlier = [published(model)]
    release = shoal.anonymize_new(EVERYONE, SCHEMA, model, after=earlier)
    assert set(EVERYONE["who"].gather(release.key)) == set(EVERYONE["who"][40:])


@pytest.mark.parametrize("model", ITEMS, ids=lambda each: each.name)
def test_sets_of_items(model: Model) -> None:
    table = EVERYONE.select("who", items=pl.format("{} {}", "sex", "diagnosis"), d="diagnosis")
    schema = Schema.infer(table, quasi=["items"], sensitive=["d"], person="who", kinds={"items": "items"})
    earlier = [published(model, table[:40], schema)]
    with pytest.raises(InputError, match="sets of items are not supported"):
        shoal.anonymize_again(table, schema, model, after=earlier)
    release = shoal.anonymize_new(table, schema, model, after=earlier)
    later = (table, release.written("csv"), release.key)
    assert shoal.joint_audit(*later[:2], schema, model, earlier=earlier, key=later[2]).holds
