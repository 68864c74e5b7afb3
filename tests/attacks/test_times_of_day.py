"""An attacker who knows when an event was looks for the one row that shows the same time of the same day."""

from __future__ import annotations

import datetime
from pathlib import Path
from typing import Any

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from shoal import (
    Concealment,
    Freeform,
    InputError,
    KAnonymity,
    KOne,
    OneK,
    Pattern,
    Patterned,
    Schema,
    ShoalError,
    anonymize,
    audit,
)
from shoal.models import Model
from shoal.schema import Column, Kind, Role

DAY = datetime.datetime(2024, 1, 5)
TIMES = [DAY + datetime.timedelta(hours=hour) for hour in (1, 5, 8, 11, 17, 23)]
BERLIN = datetime.timezone(datetime.timedelta(hours=1))
MODELS = [
    KAnonymity(k=2),
    KAnonymity(k=6, l=2),
    Freeform(k=2),
    Concealment(k=2),
    OneK(k=2),
    KOne(k=2),
    Patterned(k=2, patterns=(Pattern(keep=("seen",)), Pattern(suppress=("seen",)))),
]


def frames() -> dict[str, Any]:
    """Return six different times of one day in every form that a table may have them in."""
    aware = [time.replace(tzinfo=BERLIN) for time in TIMES]
    texts = [time.isoformat() for time in TIMES]
    nanoseconds = pd.to_datetime([f"2024-01-05 08:30:00.00000000{digit}" for digit in range(6)])
    return {
        "text": pl.DataFrame({"seen": texts}),
        "text with a space": pl.DataFrame({"seen": [text.replace("T", " ")[:16] for text in texts]}),
        "text with fractions": pl.DataFrame({"seen": [f"2024-01-05T08:30:00.{d}" for d in range(6)]}),
        "text with offsets": pl.DataFrame({"seen": [f"2024-01-05T08:30:00+0{h}:00" for h in range(6)]}),
        "text of pandas": pd.DataFrame({"seen": texts}),
        **{
            f"polars {unit}": pl.DataFrame({"seen": pl.Series(TIMES, dtype=pl.Datetime(unit))})
            for unit in ("ms", "us", "ns")
        },
        "polars zone": pl.DataFrame({"seen": pl.Series(TIMES).dt.replace_time_zone("Europe/Berlin")}),
        "pandas": pd.DataFrame({"seen": pd.to_datetime(TIMES)}),
        "pandas nanoseconds": pd.DataFrame({"seen": nanoseconds}),
        "pandas zone": pd.DataFrame({"seen": pd.to_datetime(TIMES).tz_localize("Europe/Berlin")}),
        "pandas objects": pd.DataFrame({"seen": pd.Series(TIMES, dtype=object)}),
        "pandas aware objects": pd.DataFrame({"seen": pd.Series(aware, dtype=object)}),
        "arrow": pa.table({"seen": pa.array(TIMES)}),
        "arrow seconds": pa.table({"seen": pa.array(TIMES, pa.timestamp("s"))}),
        "arrow zone": pa.table({"seen": pa.array(aware, pa.timestamp("us", "Europe/Berlin"))}),
    }


FORMS = list(frames())


def with_secret(frame: Any) -> Any:
    secret = ["a", "b", "c", "d", "e", "f"]
    if isinstance(frame, pd.DataFrame):
        return frame.assign(secret=secret)
    if isinstance(frame, pl.DataFrame):
        return frame.with_columns(secret=pl.Series(secret))
    return frame.append_column("secret", pa.array(secret))


def schema(**properties: Any) -> Schema:
    return Schema((Column("seen", Role.QUASI, Kind.DATE, **properties), Column("secret", Role.SENSITIVE)))


@pytest.mark.parametrize("model", MODELS, ids=repr)
@pytest.mark.parametrize("form", FORMS)
def test_a_table_of_times_does_not_hide_itself(form: str, model: Model) -> None:
    frame = with_secret(frames()[form])
    found = audit(frame, frame, schema(), model)
    assert not found.holds
    assert found.k == found.concealment == found.consistency.rows_per_record == 1
    assert int(found.consistency.records_of_row.max()) == 1
    assert all(column.l == 1 for column in found.diversity)


@pytest.mark.parametrize("form", FORMS)
def test_times_are_seen_where_the_column_is_declared_to_hold_days(form: str) -> None:
    frame = with_secret(frames()[form])
    declared = schema(date_format="%Y-%m-%d")
    try:
        found = audit(frame, frame, declared, KAnonymity(k=2))
    except InputError:
        return  # texts with a time are not written so
    assert not found.holds
    assert found.k == 1


@pytest.mark.parametrize("form", [form for form in FORMS if not form.startswith("text of")])
@pytest.mark.parametrize("model", MODELS, ids=repr)
def test_released_cells_say_the_day_where_the_method_generalizes_to_days(form: str, model: Model) -> None:
    frame = with_secret(frames()[form])
    release = anonymize(frame, schema(), model, seed=1)
    shown = {str(cell) for cell in release.written("csv")["seen"]}
    assert shown <= {"2024-01-05", "*"}
    again = audit(frame, release.table, schema(), model)
    assert again.holds, again.verdict
    assert again.consistency.rows_per_record == 6


def test_typed_releases_say_the_day_too(tmp_path: Path) -> None:
    frame = with_secret(frames()["pandas"])
    release = anonymize(frame, schema(), KAnonymity(k=3), seed=1)
    release.save(tmp_path / "release", format="parquet")
    typed = pl.read_parquet(next((tmp_path / "release").glob("*.parquet")))
    assert typed["seen"].to_list() == [{"low": DAY.date(), "high": DAY.date()}] * 6
    found = audit(frame, typed, schema(), KAnonymity(k=3))
    assert found.holds, found.verdict
    assert found.k == 6


def test_one_time_in_a_release_of_days_is_found() -> None:
    frame = with_secret(frames()["text"])
    released = frame.with_columns(seen=pl.Series(["2024-01-05"] * 5 + ["2024-01-05T23:00:00"]))
    found = audit(frame, released, schema(), KAnonymity(k=5))
    assert not found.holds
    assert found.k == 1
    assert found.consistency.records_of_row.tolist() == [6] * 5 + [1]
    assert found.consistency.rows_of_record.tolist() == [5] * 5 + [6]


@pytest.mark.parametrize(
    ("cell", "covered"),
    [
        ("2024-01-05T05:00:00..2024-01-05T11:00:00", 3),
        ("2024-01-05 05:00..2024-01-05 11:00", 3),
        ("[2024-01-05T05:00, 2024-01-05T11:00[", 2),
        ("]2024-01-05T05:00, 2024-01-05T11:00[", 1),
        ("2024-01-04..2024-01-05", 6),
        ("2024-01-04..2024-01-05T08:00:00", 3),
        ("[2024-01-04, 2024-01-05[", 0),
        ("]2024-01-05, 2024-01-06]", 0),
        ("2024-01-05", 6),
        ("2024-01-05T08:00", 1),
        ("2024-01-05T08:00:00.000000001", 0),
        ("2024-01-05T08:00:00Z", 0),
        ("*", 6),
    ],
)
def test_what_cells_cover(cell: str, covered: int) -> None:
    frame = with_secret(frames()["text"])
    released = frame.with_columns(seen=pl.lit(cell))
    found = audit(frame, released, schema())
    assert found.consistency.records_of_row.tolist() == [covered] * 6


def test_midnight_is_a_time_like_any_other() -> None:
    """Of two records at midnight and many at other times, each would otherwise fit the rows at midnight."""
    times = [DAY, DAY, *TIMES]
    frame = pl.DataFrame({"seen": times})
    for form in (None, "%d.%m.%Y %H:%M"):
        written = frame if form is None else frame.with_columns(pl.col("seen").dt.strftime(form))
        declared = Schema((Column("seen", Role.QUASI, Kind.DATE, date_format=form),))
        found = audit(written, written, declared, OneK(k=2))
        assert not found.holds
        assert found.consistency.rows_of_record.tolist() == [2, 2, 1, 1, 1, 1, 1, 1]
        release = anonymize(written, declared, OneK(k=2), seed=1)
        assert audit(written, release.table, declared, OneK(k=2)).holds


def test_a_format_with_a_time_writes_days_without_one() -> None:
    texts = [time.strftime("%d.%m.%Y %H:%M") for time in TIMES]
    frame = with_secret(pl.DataFrame({"seen": texts}))
    declared = schema(date_format="%d.%m.%Y %H:%M")
    release = anonymize(frame, declared, KAnonymity(k=3), seed=1)
    assert set(release.written("csv")["seen"]) == {"05.01.2024"}
    assert audit(frame, release.table, declared, KAnonymity(k=3)).holds
    itself = audit(frame, frame, declared, KAnonymity(k=2))
    assert itself.k == itself.concealment == 1


@pytest.mark.parametrize("form", ["%d.%m.%Y %H:%M", "%Y-%m-%dT%H:%M:%S", "%H:%M %d.%m.%Y", "%H%d%m%Y", "%c"])
@pytest.mark.parametrize("kind", ["text", "typed"])
def test_a_format_with_a_time_and_typed_releases(form: str, kind: str, tmp_path: Path) -> None:
    times = [TIMES[number % 6] + datetime.timedelta(days=number // 2) for number in range(12)]
    cells: Any = times if kind == "typed" else [time.strftime(form) for time in times]
    frame = pl.DataFrame({"seen": cells, "age": [30 + number for number in range(12)]})
    declared = Schema(
        (
            Column("seen", Role.QUASI, Kind.DATE, date_format=form),
            Column("age", Role.QUASI, Kind.NUMERIC),
        )
    )
    release = anonymize(frame, declared, KAnonymity(k=3), seed=1)
    release.save(tmp_path / "typed", format="parquet")
    typed = pl.read_parquet(next((tmp_path / "typed").glob("*.parquet")))
    for released in (release.table, typed, typed.to_arrow()):
        found = audit(frame, released, declared, KAnonymity(k=3))
        assert found.holds, found.verdict


def test_mixed_objects_are_refused_not_cut() -> None:
    day, time = DAY.date(), TIMES[2]
    for cells in (
        [day, time, time, time],
        [time, time.replace(tzinfo=BERLIN), time, time],
        [pd.Timestamp("2024-01-05 08:30:00.000000001"), pd.Timestamp("2024-01-05 08:30")] * 2,
    ):
        frame = pd.DataFrame({"seen": pd.Series(cells, dtype=object)})
        declared = Schema((Column("seen", Role.QUASI, Kind.DATE),))
        with pytest.raises(InputError, match="column 'seen'"):
            audit(frame, frame, declared, KAnonymity(k=4))


def test_years_of_two_digits_are_those_of_python() -> None:
    days = [f"{day:02}.02.{year}" for year in (68, 69, 70, 99, 0) for day in (1, 2)]
    frame = pl.DataFrame({"seen": [f"{text[:6]}{int(text[6:]):02}" for text in days]})
    declared = Schema((Column("seen", Role.QUASI, Kind.DATE, date_format="%d.%m.%y"),))
    release = anonymize(frame, declared, KAnonymity(k=2), seed=1)
    found = audit(frame, release.table, declared, KAnonymity(k=2))
    assert found.holds, found.verdict
    first = anonymize(pl.DataFrame({"seen": ["01.02.69"] * 2}), declared, KAnonymity(k=2))
    assert first.written("parquet")["seen"][0]["low"] == datetime.date(1969, 2, 1)


def odd_years() -> list[Any]:
    late, early = 2932897, -719163  # the first day of the year 10000, the last of the year 1 BC
    far = [late, early, 10**9, 2**31 - 1, -(2**31)]
    return [
        *(pl.Series("seen", [0, number, 1], dtype=pl.Int32).cast(pl.Date) for number in far),
        *(
            pl.Series("seen", [0, number * 86_400_000, 1]).cast(pl.Datetime("ms", zone))
            for number in far
            for zone in (None, "UTC", "Europe/Berlin")
        ),
        pl.Series("seen", [0, 2**63 - 1, 1]).cast(pl.Datetime("us")),
        pl.Series("seen", [0, -(2**63) + 1, 1]).cast(pl.Datetime("ms")),
    ]


@pytest.mark.parametrize("number", range(len(odd_years())))
@pytest.mark.parametrize("arrow", [False, True])
@pytest.mark.parametrize("kind", [Kind.DATE, Kind.CATEGORICAL])
def test_years_that_do_not_fit_are_refused_by_name(number: int, arrow: bool, kind: Kind) -> None:
    cells = odd_years()[number]
    frame: Any = pl.DataFrame([cells])
    fine: Any = pl.DataFrame({"seen": ["1970-01-01", "1970-01-02", "1970-01-03"]})
    if arrow:
        try:
            frame = frame.to_arrow()
        except BaseException:  # Polars gives up with a panic
            pytest.skip("there is no such Arrow table")
    declared = Schema((Column("seen", Role.QUASI, kind),))
    with pytest.raises(InputError, match=r"column 'seen', row 2: .*year") as caught:
        anonymize(frame, declared, KAnonymity(k=2))
    assert isinstance(caught.value, ShoalError)
    with pytest.raises(InputError, match=r"'seen' of the release.*year"):
        audit(fine, frame, declared, KAnonymity(k=2))


def test_sensitive_times_are_told_apart() -> None:
    frame = pl.DataFrame({"age": [30] * 6, "seen": TIMES})
    declared = Schema((Column("age", Role.QUASI, Kind.NUMERIC), Column("seen", Role.SENSITIVE, Kind.DATE)))
    texts = frame.with_columns(pl.col("seen").dt.strftime("%Y-%m-%dT%H:%M:%S"))
    for each in (frame, texts):
        found = audit(each, each, declared, epsilon=0.05, delta=0.5)
        assert found.diversity[0].p == 6
        assert found.proximity[0].risk == 0  # hours apart are not within an hour


def test_carried_dates_that_no_text_can_hold_are_refused(tmp_path: Path) -> None:
    far = pl.Series([0, 10**9], dtype=pl.Int32).cast(pl.Date)
    frame = pl.DataFrame({"age": [30, 31], "seen": far})
    release = anonymize(frame, Schema((Column("age", Role.QUASI, Kind.NUMERIC),)), KAnonymity(k=2))
    with pytest.raises(InputError, match="'seen'"):
        release.save(tmp_path / "release")
    assert not (tmp_path / "release").exists()


def test_carried_times_stay_as_they_are() -> None:
    frame = pl.DataFrame({"age": [30, 31], "seen": TIMES[:2]})
    release = anonymize(frame, Schema((Column("age", Role.QUASI, Kind.NUMERIC),)), KAnonymity(k=2))
    assert sorted(release.table["seen"]) == TIMES[:2]
