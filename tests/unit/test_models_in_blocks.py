"""Models that need the whole table or a population refuse blocks and Spark, with the reason."""

from __future__ import annotations

import inspect
from typing import Any

import polars as pl
import pytest

from shoal import (
    BetaLikeness,
    Column,
    DeltaDisclosure,
    DeltaPresence,
    InputError,
    KAnonymity,
    KmAnonymity,
    KMap,
    Role,
    Schema,
    TCloseness,
)
from shoal.engines import on_disk, spark
from shoal.engines.blocks import call_for

SCHEMA = Schema((Column("age", Role.QUASI, "numeric"), Column("ill", Role.SENSITIVE)))
PEOPLE = pl.DataFrame({"age": [1, 2, 3]})


def call(model: Any, schema: Schema = SCHEMA) -> Any:
    return call_for(schema.names, schema, model, None, {}, None, 100)


@pytest.mark.parametrize(
    ("model", "says"),
    [
        (TCloseness(k=2, t=0.5), "compared with the whole table, which a block does not know"),
        (BetaLikeness(k=2, beta=1), "compared with the whole table, which a block does not know"),
        (
            DeltaDisclosure(k=2, disclosure_delta=1),
            "compared with the whole table, which a block does not know",
        ),
        (KMap(k=2, population=PEOPLE), "the whole population, which blocks do not have"),
        (DeltaPresence(delta_max=0.5, population=PEOPLE), "the whole population, which blocks do not have"),
        (
            KmAnonymity(k=2, knows=1),
            "counts combinations of values in the whole table; anonymize it in memory",
        ),
    ],
    ids=lambda each: getattr(each, "name", ""),
)
def test_models_that_refuse_blocks(model: Any, says: str) -> None:
    with pytest.raises(InputError, match=says):
        call(model)


def test_survey_weights_refuse_blocks() -> None:
    weighted = Schema((*SCHEMA.columns, Column("w", Role.WEIGHT, "numeric")))
    with pytest.raises(InputError, match="give the column the role identifier, which leaves it out"):
        call(KAnonymity(k=2), weighted)
    call(KAnonymity(k=2), weighted.changed("w", role=Role.IDENTIFIER))


@pytest.mark.parametrize("engine", [on_disk, spark])
def test_both_engines_check_requests_by_the_same_function(engine: Any) -> None:
    assert "call_for(" in inspect.getsource(engine)
