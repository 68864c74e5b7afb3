"""Persons with several records on Spark: counted over all blocks, limited, and refused where they must be."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
import test_spark
from blockwise import people
from test_spark import released

import shoal
from shoal import Freeform, InfeasibleError, InputError, Schema

pytestmark = test_spark.pytestmark


def test_spark_counts_persons(session: Any, tmp_path: Path) -> None:
    rng = np.random.default_rng(7)
    persons = rng.integers(0, 150, 600)
    frame = pl.DataFrame(
        {
            "patient": [f"patient {person}" for person in persons],
            "age": 20 + persons % 50 + rng.integers(0, 4, 600),
            "town": rng.choice(["Ulm", "Bonn", "Kiel"], 600),
        }
    )
    schema = Schema.infer(frame, quasi=["age", "town"], person="patient")
    release = shoal.anonymize_spark(
        session.createDataFrame(frame.to_arrow()), schema, Freeform(k=3), tmp_path / "out", block_rows=180
    )
    assert release.certified.engine["blocks"] > 1
    rows = released(tmp_path / "out")
    assert "patient" not in rows.columns
    assert shoal.audit(frame, rows, schema, Freeform(k=3)).holds
    assert release.audit.persons is not None
    assert release.audit.persons.count == frame["patient"].n_unique()
    assert int(release.audit.persons.records_of_person.sum()) == 600


def test_spark_keeps_some_records_of_each_person(session: Any, tmp_path: Path) -> None:
    rng = np.random.default_rng(8)
    persons = rng.integers(0, 150, 600)
    frame = pl.DataFrame(
        {
            "patient": [None if row < 2 else f"patient {person}" for row, person in enumerate(persons)],
            "age": 20 + persons % 50 + rng.integers(0, 4, 600),
            "town": rng.choice(["Ulm", "Bonn", "Kiel"], 600),
            "row": range(600),
        }
    )
    schema = Schema.infer(frame, quasi=["age", "town"], person="patient", missing={"patient": "suppress"})
    table = session.createDataFrame(frame.to_arrow())
    call: dict[str, Any] = {"block_rows": 180, "most_per_person": 2, "seed": 3}
    release = shoal.anonymize_spark(table, schema, Freeform(k=3), tmp_path / "out", **call)
    known = frame.drop_nulls()
    often = known["patient"].value_counts()["count"].to_numpy()
    rows = released(tmp_path / "out")
    owners = frame["patient"].gather(rows["row"])
    assert owners.null_count() == 0
    assert np.array_equal(np.sort(owners.value_counts()["count"]), np.sort(np.minimum(often, 2)))
    assert release.certificate["over_limit"] == len(known) - len(rows)
    assert release.certificate["left_out"] == 2
    assert release.audit.persons is not None
    assert int(release.audit.persons.records_of_person.max()) == 2
    shoal.anonymize_spark(table, schema, Freeform(k=3), tmp_path / "again", **call)
    assert released(tmp_path / "again").equals(rows)
    shoal.anonymize_spark(table, schema, Freeform(k=3), tmp_path / "other", **(call | {"seed": 4}))
    assert set(released(tmp_path / "other")["row"]) != set(rows["row"])
    with pytest.raises(InputError, match="positive whole number"):
        shoal.anonymize_spark(table, schema, Freeform(k=3), tmp_path / "no", most_per_person=0)


def test_spark_says_what_is_wrong_with_a_person_column(session: Any, tmp_path: Path) -> None:
    frame = people(120)
    schema = Schema.infer(frame, quasi=["age", "town"])
    cases = {
        "must not have missing values, but 1": [None, *(f"p{row % 40}" for row in range(1, 120))],
        "no k is achievable": ["p"] * 120,
    }
    for words, persons in cases.items():
        table = session.createDataFrame(frame.with_columns(who=pl.Series(persons)).to_arrow())
        named = schema.completed(table.columns).changed("who", role="person")
        with pytest.raises((InputError, InfeasibleError), match=words):
            shoal.anonymize_spark(table, named, Freeform(k=3), tmp_path / "out", block_rows=120)
    unique = session.createDataFrame(frame.with_columns(who=pl.Series(range(120))).to_arrow())
    named = schema.completed(unique.columns).changed("who", role="person")
    made = shoal.anonymize_spark(unique, named, Freeform(k=3), tmp_path / "out", block_rows=120)
    assert made.audit.persons is not None
    assert made.audit.persons.count == 120
    assert not made.audit.risks.of_persons
