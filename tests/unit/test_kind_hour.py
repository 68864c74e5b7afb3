"""Hours of time stamps: generalized to intervals of hours, read back by the audit and by readers."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import polars as pl
import pytest

import shoal

N = 120
START = dt.datetime(2025, 2, 27, 22, 59, 59, 999_999)
STAMPS = [START + dt.timedelta(minutes=37 * i) for i in range(N)]
TEXTS = [stamp.isoformat() + ("Z" if i % 2 else "+02:00") for i, stamp in enumerate(STAMPS)]
LOCAL = [stamp.strftime("%d.%m.%Y %H:%M") for stamp in STAMPS]

FRAMES: dict[str, Callable[[], Any]] = {
    "polars": lambda: pl.DataFrame({"at": STAMPS, "text": TEXTS}),
    "pandas": lambda: pd.DataFrame({"at": STAMPS, "text": TEXTS}),
    "pyarrow": lambda: pl.DataFrame({"at": STAMPS, "text": TEXTS}).to_arrow(),
}
HOURS = {"at": "hour", "text": "hour"}


def hour(stamp: dt.datetime) -> str:
    return stamp.strftime("%Y-%m-%dT%H")


@pytest.mark.parametrize("model", [shoal.KAnonymity(k=5), shoal.Freeform(k=5), shoal.Concealment(k=5)])
@pytest.mark.parametrize("flavour", FRAMES)
def test_time_stamps_become_intervals_of_hours(flavour: str, model: Any) -> None:
    frame = FRAMES[flavour]()
    schema = shoal.Schema.infer(frame, quasi=["at", "text"], kinds=HOURS)
    release = shoal.anonymize(frame, schema, model)
    for form in ("csv", "parquet"):
        assert shoal.audit(frame, release.written(form), schema, model).holds  # type: ignore[arg-type]
    written = release.written("csv")
    narrow = 0
    for name in ("at", "text"):
        for row, record in zip(written[name], release.key, strict=True):
            low, _, high = row.partition("..")
            assert low <= hour(STAMPS[record]) <= (high or low)
            narrow += low[:10] == (high or low)[:10]
    assert narrow > N  # most are hours of one day
    spoiled = written.with_columns(at=pl.lit("2025-02-28T03"))
    assert not shoal.audit(frame, spoiled, schema, model).holds


def test_a_day_covers_its_hours_and_minutes_are_no_hours() -> None:
    frame = FRAMES["polars"]().select("at")
    schema = shoal.Schema.infer(frame, quasi=["at"], kinds={"at": "hour"})
    days = pl.DataFrame({"at": [stamp.date().isoformat() for stamp in STAMPS]})
    fewest = min(days["at"].value_counts()["count"])
    assert shoal.audit(frame, days, schema, shoal.KAnonymity(k=2)).holds == (fewest >= 2)
    typed = pl.DataFrame({"at": [stamp.date() for stamp in STAMPS]})
    assert shoal.audit(frame, typed, schema).concealment == shoal.audit(frame, days, schema).concealment
    for shown in (frame, frame.with_columns(pl.col("at").cast(pl.String))):
        with pytest.raises(shoal.InputError, match="is neither an hour value"):
            shoal.audit(frame, shown, schema)


def test_local_forms_missing_values_and_marks() -> None:
    frame = pl.DataFrame({"at": [*LOCAL, *[None] * 10, *["?"] * 10]})
    column = shoal.Column(
        "at", shoal.Role.QUASI, shoal.Kind.HOUR, date_format="%d.%m.%Y %H:%M", missing_marks=("?",)
    )
    release = shoal.anonymize(frame, shoal.Schema((column,)), shoal.KAnonymity(k=5))
    assert release.table["at"].null_count() == 20
    assert all(cell[10] == "T" for cell in release.written("csv")["at"] if cell)


@pytest.mark.parametrize("text", ["noon", "2025-02-30T08:00", "2025-02-01T24:00", "08:30"])
def test_what_is_no_time_is_refused(text: str) -> None:
    frame = pl.DataFrame({"at": [*TEXTS, text]})
    schema = shoal.Schema.infer(frame, quasi=["at"], kinds={"at": "hour"})
    with pytest.raises(shoal.InputError, match=f"row {N + 1}: '{text}' is not a time written as"):
        shoal.anonymize(frame, schema, shoal.KAnonymity(k=5))


@pytest.mark.parametrize(
    ("settings", "problem"),
    [
        ({"domain": ("2025-01-01", "2025-02-01")}, "has no domain"),
        ({"hierarchy": shoal.Prefixes((7,))}, "has no hierarchy"),
        ({"bands": "every 6"}, "have bands"),
        ({"widest": "6 moons"}, "widest"),
    ],
)
def test_what_such_a_column_cannot_have(settings: dict[str, Any], problem: str) -> None:
    with pytest.raises(shoal.InputError, match=problem):
        shoal.Column("at", kind=shoal.Kind.HOUR, **settings)


@pytest.mark.parametrize(("widest", "hours"), [(6, 6), ("1 day", 24)])
def test_the_widest_cell_is_kept(widest: Any, hours: int) -> None:
    frame = FRAMES["polars"]().select("at")
    column = shoal.Column("at", shoal.Role.QUASI, shoal.Kind.HOUR, widest=widest)
    schema = shoal.Schema((column,))
    release = shoal.anonymize(frame, schema, shoal.Freeform(k=5))
    widths = []
    for cell in release.written("csv")["at"]:
        low, _, high = cell.partition("..")
        ends = [dt.datetime.strptime(end, "%Y-%m-%dT%H") for end in (low, high or low)]
        widths.append((ends[1] - ends[0]) / dt.timedelta(hours=1))
    assert 0 < max(widths) <= hours
    wide = pl.DataFrame({"at": ["2025-02-27T22..2025-03-02T23"] * N})
    assert not shoal.audit(frame, wide, schema, shoal.Freeform(k=5)).holds


def test_readers_of_the_release_compute_with_hours() -> None:
    frame = FRAMES["polars"]().select("at")
    schema = shoal.Schema.infer(frame, quasi=["at"], kinds={"at": "hour"})
    reader = shoal.anonymize(frame, schema, shoal.KAnonymity(k=5)).reader()
    asked = {
        ("2025-02-28T08", "2025-02-28T12"): lambda stamp: "2025-02-28T08" <= hour(stamp) <= "2025-02-28T12",
        ("2025-02-28", "2025-03-01"): lambda stamp: (
            dt.date(2025, 2, 28) <= stamp.date() <= dt.date(2025, 3, 1)
        ),
    }
    for condition, is_asked in asked.items():
        found = reader.count(at=condition)
        true = sum(map(is_asked, STAMPS))
        assert found.certain <= true <= found.possible
        assert abs(found.estimate - true) < 6
    assert reader.table("at")["estimate"].sum() == pytest.approx(N, abs=1e-6)


def test_hours_in_blocks_of_files(tmp_path: Path) -> None:
    frame = pl.DataFrame({"at": TEXTS * 5})
    frame.write_csv(tmp_path / "t.csv")
    schema = shoal.Schema.infer(frame, quasi=["at"], kinds={"at": "hour"})
    out = tmp_path / "out"
    made = shoal.anonymize_file(
        tmp_path / "t.csv", schema, shoal.KAnonymity(k=5), out, block_rows=200, jobs=1
    )
    assert made.certificate["engine"]["blocks"] > 1
    release = shoal.read_table(out / "release.csv")
    assert shoal.audit(frame, release, schema, shoal.KAnonymity(k=5)).holds


def test_a_scan_says_what_becomes_of_times() -> None:
    frame = pl.DataFrame({"at": TEXTS, "day": ["2025-02-28"] * N})
    found = {each.name: each for each in shoal.scan(frame).suggestions}
    assert found["at"].kind is shoal.Kind.DATE
    assert "its times are generalized to days: kind hour keeps the hours" in found["at"].reason
    assert "hour" not in found["day"].reason
