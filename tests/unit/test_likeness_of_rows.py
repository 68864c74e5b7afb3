"""Why likeness to the whole is guaranteed for classes only: the example of decision 066."""

from __future__ import annotations

from fractions import Fraction
from itertools import permutations

import polars as pl
import pytest

import shoal
from shoal import Freeform, Schema, TCloseness
from shoal.samples import hospital

RECORDS = "abcdef"
ROWS = {1: "abcdef", 2: "abcdf", 3: "df", 4: "ef", 5: "abf", 6: "abdf"}
"""The records that each row covers; odd rows have the value x, even rows y."""


def test_values_around_each_record_are_those_of_the_whole_and_one_is_nearly_certain() -> None:
    frame = pl.DataFrame({"who": list(RECORDS), "ill": ["x", "y"] * 3})
    released = pl.DataFrame({"who": ["|".join(each) for each in ROWS.values()], "ill": ["x", "y"] * 3})
    schema = Schema.infer(frame, quasi=["who"], sensitive=["ill"])
    found = shoal.audit(frame, released, schema, Freeform(k=2, l=2))
    assert found.holds, found.verdict
    assert (found.matches.matches_of_record == found.consistency.rows_of_record).all()
    for record in RECORDS:
        covering = [number for number, records in ROWS.items() if record in records]
        assert sum(number % 2 == 0 for number in covering) * 2 == len(covering)
    ways = [
        way
        for way in permutations(ROWS)
        if all(record in ROWS[row] for record, row in zip(RECORDS, way, strict=True))
    ]
    beliefs = [Fraction(sum(way[i] % 2 == 0 for way in ways), len(ways)) for i in range(6)]
    assert len(ways) == 22
    assert beliefs == [Fraction(n, 11) for n in (5, 5, 6, 3, 10, 4)]
    assert not shoal.audit(frame, released, schema, TCloseness(k=2, t=0.5)).holds  # there are no classes


def test_a_release_of_classes_keeps_freeform_as_well() -> None:
    frame = hospital(150, seed=1).select("age", "sex", "diagnosis")
    schema = Schema.infer(frame, quasi=["age", "sex"], sensitive=["diagnosis"])
    with pytest.warns(shoal.ShoalWarning):
        release = shoal.anonymize(frame, schema, TCloseness(k=5, t=0.4), seed=1)
    assert shoal.audit(frame, release.table, schema, Freeform(k=5)).holds
