"""Attackers and what they learn from each quasi-identifier, against a literal count over all pairs."""

from __future__ import annotations

import json

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from loose_releases import LooseRelease, loose_releases

from shoal.auditing.classes import classes_of
from shoal.auditing.consistency import consistency_of, graph_of
from shoal.auditing.contribution import contributions_of
from shoal.auditing.risks import Attack, Risks, consistency_with_population, risks_of
from shoal.errors import InputError, Reason
from shoal.schema import Schema


def check(found: Attack, crowds: list[int], threshold: float) -> None:
    risks = [1 / size for size in crowds if size]
    assert sorted(found.risks) == pytest.approx(sorted(risks))
    assert found.highest == pytest.approx(max(risks, default=0))
    assert found.mean == pytest.approx(np.mean(risks) if risks else 0)
    assert found.at_risk == pytest.approx(np.mean([risk > threshold for risk in risks]) if risks else 0)
    assert found.as_dict()["without_crowd"] == crowds.count(0)


def risks(loose: LooseRelease, population: pl.DataFrame | None = None, threshold: float = 0.2) -> Risks:
    whole = None
    if population is not None:
        whole = consistency_with_population(loose.released, population, loose.schema)
    columns = loose.columns
    found = consistency_of(columns, loose.table)
    return risks_of(classes_of(graph_of(columns, loose.table)), found, population=whole, threshold=threshold)


@given(loose_releases(), st.sampled_from([0.0, 0.2, 0.5, 1.0]))
def test_risks_are_one_in_the_size_of_a_crowd(loose: LooseRelease, threshold: float) -> None:
    found = risks(loose, threshold=threshold)
    written = loose.released.rows()
    check(found.classes, [written.count(row) for row in written], threshold)
    check(found.prosecutor, loose.fits.all(axis=2).sum(axis=1).tolist(), threshold)
    assert found.journalist is found.prosecutor
    assert found.marketer == found.prosecutor.mean
    plain = json.loads(json.dumps(found.as_dict()))
    assert plain["journalist_is_prosecutor"]
    assert plain["population"] is None


@given(loose_releases(), st.lists(st.tuples(st.integers(-3, 9), st.sampled_from("abcdz")), max_size=8))
def test_the_journalist_looks_among_the_population(
    loose: LooseRelease, strangers: list[tuple[int, str]]
) -> None:
    """Also among people with values that no record of the table has."""
    more = pl.DataFrame(strangers, schema={"age": pl.Int64, "job": pl.String}, orient="row")
    found = risks(loose, pl.concat([loose.original, more]))
    fits = loose.fits.all(axis=2).sum(axis=0)
    for row, (age, job) in enumerate(loose.released.rows()):
        for stranger_age, stranger_job in strangers:
            low, high = map(int, age.split("..")) if age and age != "*" else (-9, 9 if age else -10)
            fits[row] += low <= stranger_age <= high and (
                job == "*" or (job is not None and stranger_job in job.split("|"))
            )
    check(found.journalist, fits.tolist(), 0.2)
    assert found.marketer == found.journalist.mean
    assert found.population == len(loose.original) + len(strangers)
    assert not found.as_dict()["journalist_is_prosecutor"]


def test_nobody_of_the_population_is_left_out_for_a_missing_value() -> None:
    original = pl.DataFrame({"age": [1, 2]})
    schema = Schema.infer(original, quasi=["age"])
    (column,) = schema.columns
    strict = Schema((type(column)("age", role="quasi", kind="numeric", missing="suppress"),))
    population = pl.DataFrame({"age": [1, 2, None]})
    found = consistency_with_population(pl.DataFrame({"age": ["1..2", "*"]}), population, strict)
    assert found.records_of_row.tolist() == [2, 3]


def test_classes_that_do_not_overlap_are_crowds() -> None:
    """Two of 1, three of 2..3: as ARX or sdcMicro would have it."""
    original = pl.DataFrame({"age": [1, 1, 2, 3, 3]})
    released = pl.DataFrame({"age": ["1", "1", "2..3", "2..3", "2..3"]})
    schema = Schema.infer(original, quasi=["age"])
    found = risks(LooseRelease(original, released, schema, np.empty(0, dtype=np.bool_)), threshold=0.4)
    for attack in (found.classes, found.prosecutor):
        assert attack.highest == 0.5
        assert attack.mean == found.marketer == pytest.approx(2 / 5)
        assert attack.at_risk == 0.4


@pytest.mark.parametrize("threshold", [-0.1, 1.1, float("nan")])
@given(loose=loose_releases(most=2))
def test_impossible_thresholds_are_refused(threshold: float, loose: LooseRelease) -> None:
    with pytest.raises(InputError) as caught:
        risks(loose, threshold=threshold)
    assert caught.value.reason is Reason.PARAMETER


@given(loose_releases())
def test_contributions_are_counts_without_a_column(loose: LooseRelease) -> None:
    found = contributions_of(("age", "job"), graph_of(loose.columns, loose.table))
    assert [each.column for each in found] == ["age", "job"]
    known = consistency_of(loose.columns, loose.table)
    for unknown, each in enumerate(found):
        fits = loose.fits[:, :, 1 - unknown]
        rows = [int(count) for count in fits.sum(axis=1)]
        assert each.rows_per_record == min((count for count in rows if count), default=0)
        assert each.records_per_row == fits.sum(axis=0).min() >= known.records_of_row.min()
        assert each.mean_risk == pytest.approx(
            np.mean([1 / count for count in rows if count]) if any(rows) else 0
        )
        assert json.loads(json.dumps(each.as_dict()))["column"] == each.column


def test_without_the_only_quasi_identifier_every_row_covers_every_record() -> None:
    original = pl.DataFrame({"age": [1, 2, 3]})
    loose = LooseRelease(original, original, Schema.infer(original, quasi=["age"]), np.empty(0, np.bool_))
    (found,) = contributions_of(("age",), graph_of(loose.columns, loose.table))
    assert (found.rows_per_record, found.records_per_row) == (3, 3)
