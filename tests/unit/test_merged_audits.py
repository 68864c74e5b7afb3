"""Merging: several releases published together have one audit, of the same type and small."""

from __future__ import annotations

import json
import pickle
from typing import Any

import numpy as np
import polars as pl
import pytest

from shoal import Audit, Dissimilarity, Freeform, KAnonymity, Loss, Schema, anonymize
from shoal.models import Model
from shoal.release import Release
from shoal.samples import hospital

MODELS = (Freeform(k=4, l=2), KAnonymity(k=4, l=2), Dissimilarity(k=4, epsilon=0, delta=0.2))


def parts(model: Model) -> list[Release]:
    """Return releases of two halves of a table."""
    frame = hospital(400).select("age", "sex", "zip", "diagnosis")
    schema = Schema.infer(frame, quasi=["age", "sex", "zip"], sensitive=["diagnosis"])
    young = pl.col("age") < 45
    return [anonymize(half, schema, model, seed=1) for half in (frame.filter(young), frame.filter(~young))]


@pytest.mark.parametrize("model", MODELS, ids=repr)
def test_the_audit_of_one_release_says_the_same_when_merged(model: Model) -> None:
    for release in parts(model):
        merged = Audit.merge([release.audit])
        before, after = (json.loads(json.dumps(each.as_dict())) for each in (release.audit, merged))
        before["matches"].pop("components")
        assert rounded(before) == rounded(after)
        assert merged.facts() == release.audit.facts()
        again = pickle.loads(pickle.dumps(merged))
        assert rounded(again.as_dict()) == rounded(merged.as_dict())
        assert len(pickle.dumps(merged)) < 20_000


@pytest.mark.parametrize("model", MODELS, ids=repr)
def test_levels_of_the_whole_are_those_of_the_worst_part(model: Model) -> None:
    found = [release.audit for release in parts(model)]
    whole = Audit.merge([Audit.merge([each]) for each in found])
    assert rounded(whole.as_dict()) == rounded(Audit.merge(found).as_dict())
    assert whole.holds
    assert whole.promise == model
    assert whole.rows == whole.records == 400
    assert whole.k == min(each.k for each in found)
    assert whole.concealment == min(each.concealment for each in found)
    assert whole.classes.count == sum(each.classes.count for each in found)
    risks = np.concatenate([each.risks.prosecutor.risks for each in found])
    assert whole.risks.prosecutor.mean == pytest.approx(float(risks.mean()))
    assert whole.risks.prosecutor.highest == risks.max()
    for name in ("diversity", "diversity_around"):
        for place, column in enumerate(getattr(whole, name)):
            each = [getattr(one, name)[place] for one in found]
            assert (column.p, column.l) == (min(d.p for d in each), min(d.l for d in each))
            shares = sum(d.people_by_share() for d in each)
            assert column.people_by_share().tolist() == shares.tolist()


def test_losses_are_means_over_rows_and_what_cannot_be_merged_is_absent() -> None:
    losses = [release.loss for release in parts(Freeform(k=4))]
    merged = Loss.merge(losses, [100, 300])
    assert merged.gcp == pytest.approx((losses[0].gcp + 3 * losses[1].gcp) / 4)
    assert merged.lm is None
    assert merged.ratio is None
    assert set(merged.as_dict()) == {"gcp", "by_attribute", "items"}


def rounded(data: Any) -> Any:
    """Return plain data without the last digits of its numbers."""
    if isinstance(data, dict):
        return {name: rounded(value) for name, value in data.items()}
    if isinstance(data, list):
        return [rounded(value) for value in data]
    return float(f"{data:.9g}") if isinstance(data, float) else data
