"""Persons whose records lie in several blocks: counted together, and never named in a temporary file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import shoal
from shoal import KK, Concealment, Freeform, InfeasibleError, KAnonymity, Schema
from shoal.engines.person_numbers import numbered

QUASI = ["age", "zip", "sex"]


def visits(records: int, seed: int) -> pl.DataFrame:
    rng = np.random.default_rng(seed)
    persons = rng.integers(0, records // 3, records)
    return pl.DataFrame(
        {
            "patient": [f"patient-{person}" for person in persons],
            "age": (18 + persons % 60 + rng.integers(0, 5, records)).tolist(),
            "zip": rng.integers(100, 999, records),
            "sex": np.where(persons % 2 == 0, "F", "M"),
            "visit": rng.choice(["flu", "burn", "cold", "check"], records),
        }
    )


@pytest.mark.parametrize("model", [Freeform(k=3), KAnonymity(k=3), Freeform(k=3, l=2)], ids=repr)
def test_a_release_in_blocks_counts_persons(model: Any, tmp_path: Path) -> None:
    frame = visits(900, 1)
    frame.write_parquet(tmp_path / "visits.parquet")
    schema = Schema.infer(frame, quasi=QUASI, sensitive=["visit"], person="patient")
    release = shoal.anonymize_file(
        tmp_path / "visits.parquet", schema, model, tmp_path / "out", block_rows=180, jobs=1
    )
    assert release.certified.engine["blocks"] > 1
    released = shoal.read_table(tmp_path / "out" / "release.csv")
    assert "patient" not in released.columns
    found = release.audit.persons
    assert found is not None
    assert found.count == frame["patient"].n_unique()
    assert int(found.records_of_person.sum()) == len(frame)
    assert int(found.records_of_person.max()) == frame["patient"].value_counts()["count"].max()
    whole = shoal.audit(frame, released, schema, model)
    assert whole.holds, whole.verdict
    assert whole.persons is not None
    # Rows of other blocks that cover a record come on top.
    assert (np.sort(whole.persons.rows_of_person) >= np.sort(found.rows_of_person)).all()


def test_a_person_who_fills_a_block_unites_it(tmp_path: Path) -> None:
    """All records of one person lie in one place: that block is united with its neighbour."""
    frame = visits(900, 2)
    crowded = pl.DataFrame(
        {
            "patient": ["patient-x"] * 80,
            "age": [99] * 80,
            "zip": [500] * 80,
            "sex": ["F"] * 80,
            "visit": ["flu"] * 80,
        },
        schema=frame.schema,
    )
    table = pl.concat([frame, crowded])
    table.write_parquet(tmp_path / "visits.parquet")
    schema = Schema.infer(table, quasi=QUASI, person="patient")
    call = (tmp_path / "visits.parquet", schema, Freeform(k=4), tmp_path / "out")
    release = shoal.anonymize_file(*call, block_rows=180, jobs=1)
    assert shoal.audit(table, shoal.read_table(tmp_path / "out" / "release.csv"), schema, Freeform(k=4)).holds
    assert release.audit.persons is not None
    with pytest.raises(InfeasibleError, match="1 person has more than"):
        shoal.anonymize_file(*call[:2], Freeform(k=13), tmp_path / "other", block_rows=180, jobs=1)


@pytest.mark.parametrize("model", [Concealment(k=3), KK(k=3), Freeform(k=3)], ids=repr)
def test_persons_with_one_record_in_each_block_are_counted_together(model: Any, tmp_path: Path) -> None:
    """In each block, every record is another person's, and methods work as without persons."""
    rng = np.random.default_rng(5)
    half = 240
    frame = pl.DataFrame(
        {
            "patient": [f"patient-{row % half}" for row in range(2 * half)],
            "age": np.concatenate((rng.integers(20, 30, half), rng.integers(80, 90, half))),
            "zip": np.concatenate((rng.integers(100, 150, half), rng.integers(900, 950, half))),
            "sex": ["F"] * half + ["M"] * half,
        }
    )
    frame.write_parquet(tmp_path / "visits.parquet")
    schema = Schema.infer(frame, quasi=QUASI, person="patient")
    release = shoal.anonymize_file(
        tmp_path / "visits.parquet", schema, model, tmp_path / "out", block_rows=half, jobs=1
    )
    assert release.certified.engine["blocks"] == 2
    found = release.audit.persons
    assert found is not None
    assert found.count == half
    assert found.one_each
    assert (found.records_of_person == 2).all()
    assert (found.rows_of_person >= 6).all()


def test_numbers_stand_for_persons() -> None:
    frame = pl.DataFrame({"who": ["Ann", "ann ", "Bob", None, ""], "age": [1, 2, 3, 4, 5]})
    column = Schema.infer(frame, quasi=["age"], person="who")["who"]
    cells = numbered(frame, column, b"secret")["who"]
    assert cells.dtype == pl.Int64
    assert cells[0] == cells[1] != cells[2]
    assert cells[3] is None
    assert cells[4] is None
    assert numbered(frame, column, b"other")["who"][0] != cells[0]
    later = numbered(frame.reverse(), column, b"secret")["who"]
    assert later.reverse().to_list() == cells.to_list()


def test_no_temporary_file_names_a_person(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from shoal.engines import disk_blocks

    frame = visits(600, 3)
    frame.write_parquet(tmp_path / "visits.parquet")
    schema = Schema.infer(frame, quasi=QUASI, person="patient")
    seen: list[str] = []
    kept = disk_blocks.DiskBlocks.append

    def watched(self: Any, turn: int, rows: pl.DataFrame, blocks: Any) -> None:
        seen.extend(str(each) for each in rows["patient"])
        kept(self, turn, rows, blocks)

    monkeypatch.setattr(disk_blocks.DiskBlocks, "append", watched)
    shoal.anonymize_file(
        tmp_path / "visits.parquet", schema, Freeform(k=3), tmp_path / "out", block_rows=180, jobs=1
    )
    assert len(seen) == len(frame)
    assert not set(seen) & set(frame["patient"])
    assert len(set(seen)) == frame["patient"].n_unique()


def test_blocks_keep_some_records_of_each_person(tmp_path: Path) -> None:
    frame = visits(900, 4)
    frame.write_parquet(tmp_path / "visits.parquet")
    schema = Schema.infer(frame, quasi=QUASI, person="patient")
    release = shoal.anonymize_file(
        tmp_path / "visits.parquet", schema, Freeform(k=3), tmp_path / "out",
        block_rows=180, jobs=1, most_per_person=2,
    )  # fmt: skip
    kept = np.minimum(frame["patient"].value_counts()["count"].to_numpy(), 2).sum()
    assert release.certificate["rows"] == kept
    assert release.certificate["over_limit"] == len(frame) - kept
    assert release.audit.persons is not None
    assert int(release.audit.persons.records_of_person.max()) == 2
