"""Times of day: recognized in every library, generalized to intervals, read back exactly."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

import shoal

N = 120
TIMES = [dt.time(h * 5 % 24, h * 7 % 60, h % 3 * 15, h % 2 * 500_000) for h in range(N)]
TEXTS = [f"{time.hour:02}:{time.minute:02}" for time in TIMES]
WARDS = ["north", "south", "east"] * (N // 3)

FRAMES: dict[str, Callable[[], Any]] = {
    "polars": lambda: pl.DataFrame({"at": TIMES, "text": TEXTS, "ward": WARDS}),
    "pandas": lambda: pd.DataFrame({"at": TIMES, "text": TEXTS, "ward": WARDS}),
    "pyarrow": lambda: pl.DataFrame({"at": TIMES, "text": TEXTS, "ward": WARDS}).to_arrow(),
}


def seconds(text: str) -> float:
    hour, minute, second = ([float(part) for part in text.split(":")] + [0.0])[:3]
    return hour * 3600 + minute * 60 + second


@pytest.mark.parametrize("model", [shoal.KAnonymity(k=5), shoal.Freeform(k=5), shoal.Concealment(k=5)])
@pytest.mark.parametrize("flavour", FRAMES)
def test_times_become_intervals(flavour: str, model: Any) -> None:
    frame = FRAMES[flavour]()
    schema = shoal.Schema.infer(frame, quasi=["at", "text"])
    assert {schema["at"].kind, schema["text"].kind} == {shoal.Kind.TIME}
    assert shoal.scan(frame).schema["at"].role is shoal.Role.QUASI
    release = shoal.anonymize(frame, schema, model)
    for form in ("csv", "parquet"):
        assert shoal.audit(frame, release.written(form), schema, model).holds  # type: ignore[arg-type]
    written = release.written("csv")
    spoiled = written.with_columns(at=pl.lit("03:00..03:01"))
    assert not shoal.audit(frame, spoiled, schema, model).holds
    for row, record in zip(written["at"], release.key, strict=True):
        low, _, high = row.partition("..")
        time = TIMES[record]
        at = time.hour * 3600 + time.minute * 60 + time.second + time.microsecond / 1e6
        assert seconds(low) <= at <= seconds(high or low)


def test_missing_times_and_marks() -> None:
    frame = pl.DataFrame({"at": [*TEXTS[:60], *[None] * 10, *["?"] * 10]})
    schema = shoal.Schema.infer(frame, quasi=["at"], missing_marks=["?"])
    assert schema["at"].kind is shoal.Kind.TIME
    release = shoal.anonymize(frame, schema, shoal.KAnonymity(k=5))
    assert release.table["at"].null_count() == 20


@pytest.mark.parametrize("text", ["24:00", "8:30", "08:60", "08:30:61", "noon", "08:30Z"])
def test_what_is_no_time_is_refused(text: str) -> None:
    frame = pl.DataFrame({"at": [*TEXTS, text]})
    assert shoal.Schema.infer(frame, quasi=["at"])["at"].kind is shoal.Kind.CATEGORICAL
    schema = shoal.Schema.infer(frame, quasi=["at"], kinds={"at": "time"})
    with pytest.raises(shoal.InputError, match=f"row {N + 1}: '{text}' is not a time of day"):
        shoal.anonymize(frame, schema, shoal.KAnonymity(k=5))


def test_a_domain_is_refused() -> None:
    with pytest.raises(shoal.InputError, match="has no domain"):
        shoal.Column("at", kind=shoal.Kind.TIME, domain=("08:00", "09:00"))


def test_readers_of_the_release_compute_with_times() -> None:
    frame = FRAMES["polars"]()
    schema = shoal.Schema.infer(frame, quasi=["at"], drop=["text"])
    release = shoal.anonymize(frame, schema, shoal.KAnonymity(k=5))
    reader = release.reader()
    found = reader.count(at=("08:00", "12:00"))
    true = sum(dt.time(8) <= time <= dt.time(12) for time in TIMES)
    assert found.certain <= true <= found.possible
    assert abs(found.estimate - true) < 10
    assert reader.table("at")["estimate"].sum() == pytest.approx(N, abs=1e-6)


def test_times_in_blocks_and_files(tmp_path: Path) -> None:
    frame = pl.concat([FRAMES["polars"]()] * 5)
    frame.write_csv(tmp_path / "t.csv")
    frame.write_parquet(tmp_path / "t.parquet")
    for name in ("t.csv", "t.parquet"):
        read = shoal.read_table(tmp_path / name)
        schema = shoal.Schema.infer(read, quasi=["at", "text"])
        assert schema["at"].kind is shoal.Kind.TIME
        made = shoal.anonymize_file(
            tmp_path / name, schema, shoal.KAnonymity(k=5), tmp_path / f"{name}.out", block_rows=200, jobs=1
        )
        assert made.certificate["engine"]["blocks"] > 1
    release = shoal.read_table(tmp_path / "t.csv.out" / "release.csv")
    assert shoal.audit(frame, release, schema, shoal.KAnonymity(k=5)).holds


def test_sensitive_times_are_compared_in_seconds() -> None:
    frame = pl.DataFrame({"age": np.arange(N) % 40, "at": TIMES})
    schema = shoal.Schema.infer(frame, quasi=["age"], sensitive=["at"])
    model = shoal.Dissimilarity(k=4, epsilon=60, delta=0.5)
    assert shoal.anonymize(frame, schema, model).audit.holds
