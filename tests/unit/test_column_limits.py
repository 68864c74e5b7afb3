"""Limits of columns: how they are declared, what releases do with them, and what the audit finds."""

from __future__ import annotations

import datetime as dt
import re
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from calling import call

import shoal
from shoal import Column, InfeasibleError, InputError, Role, Schema, kernels
from shoal.cli import loading
from shoal.cli.compare import _without_seconds
from shoal.engines.on_disk import anonymize_file
from shoal.samples import hospital

pytestmark = pytest.mark.filterwarnings("ignore::shoal.ShoalWarning")


def quasi(name: str, kind: str = "numeric", **limits: Any) -> Column:
    return Column(name, Role.QUASI, kind, **limits)


@pytest.mark.parametrize(
    ("kind", "limits", "says"),
    [
        ("numeric", {"widest": -1}, "at least 0"),
        ("numeric", {"widest": "wide"}, "must be a number"),
        ("numeric", {"bands": "5"}, "such as 'every 5'"),
        ("numeric", {"bands": "every 0"}, "such as 'every 5'"),
        ("numeric", {"bands": (5, 1)}, "ascending"),
        ("numeric", {"exact": True, "widest": 3}, "no other limit"),
        ("numeric", {"exact": 1}, "true or false"),
        ("date", {"widest": "3 moons"}, "6 months"),
        ("date", {"bands": "every blue moon"}, "every month"),
        ("categorical", {"widest": 0}, "number of values"),
        ("categorical", {"bands": "every 5"}, "numbers and dates"),
        ("items", {"widest": 0}, "number of uncertain items"),
    ],
)
def test_impossible_limits_are_refused(kind: str, limits: dict[str, Any], says: str) -> None:
    with pytest.raises(InputError, match=re.escape(says)):
        quasi("x", kind, **limits)


def test_limits_are_written_and_read(tmp_path: Path) -> None:
    schema = Schema(
        (
            quasi("age", widest=10, bands="every 5"),
            quasi("height", bands=(0, 150, 180, 250), suppressible=False),
            quasi("sex", "categorical", exact=True),
            quasi("born", "date", widest="6 months", bands="every month"),
        )
    )
    schema.write(tmp_path / "schema.toml")
    assert Schema.read(tmp_path / "schema.toml") == schema


def test_intervals_end_where_bands_do() -> None:
    frame = pl.DataFrame({"age": [18, 19, 33, 34, 61, 64] * 3})
    table = shoal.anonymize(
        frame, Schema((quasi("age", bands=(0, 18, 35, 65)),)), shoal.KAnonymity(k=2), seed=1
    ).table
    assert set(table["age"]) == {"18..34", "35..65"}


def test_bands_of_fractions_end_at_cuts() -> None:
    frame = pl.DataFrame({"x": [0.5, 1.25, 2.5, 2.75, 4.0, 4.5] * 3})
    schema = Schema((quasi("x", bands="every 2.5", widest=2.5),))
    release = shoal.anonymize(frame, schema, shoal.KAnonymity(k=2), seed=1)
    assert set(release.table["x"]) == {"0..2.5", "2.5..5"}


def test_limits_on_days_are_in_calendar_units() -> None:
    days = pl.date_range(pl.date(2023, 12, 30), pl.date(2024, 3, 2), eager=True)
    schema = Schema((quasi("day", "date", bands="every month", widest="1 month"),))
    release = shoal.anonymize(pl.DataFrame({"day": days}), schema, shoal.KAnonymity(k=2), seed=1)
    assert set(release.table["day"]) == {
        *("2023-12-01..2023-12-31", "2024-01-01..2024-01-31"),
        *("2024-02-01..2024-02-29", "2024-03-01..2024-03-31"),
    }


AGES = pl.DataFrame({"age": [20, 21, 22, 23, 40, 41, 42, 43], "sex": ["f", "m"] * 4})
LIMITED = Schema((quasi("age", widest=10), quasi("sex", "categorical", exact=True)))


@pytest.mark.parametrize(
    ("age", "sex", "says"),
    [
        (["20..23"] * 4 + ["40..43"] * 4, ["f", "m"] * 4, None),
        (["20..23"] * 4 + ["40..43"] * 4, ["f|m"] * 8, "'sex', which must be exact"),
        (["*"] * 8, ["f", "m"] * 4, "8 released rows break the limit of 'age'"),
        (["10..30"] * 4 + ["40..43"] * 4, ["f", "m"] * 4, "4 released rows break the limit of 'age'"),
        (["[18, 29["] * 4 + ["40..43"] * 4, ["f", "m"] * 4, "at most 10 wide"),
    ],
)
def test_the_audit_reads_what_is_written(age: list[str], sex: list[str], says: str | None) -> None:
    found = shoal.audit(AGES, pl.DataFrame({"age": age, "sex": sex}), LIMITED, shoal.KAnonymity(k=2))
    assert found.holds is (says is None)
    assert says is None or says in found.verdict


@pytest.mark.parametrize(
    ("cell", "holds"),
    [("20..24", True), ("20..29", True), ("20..23", False), ("21..24", False), ("20..25", False)],
)
def test_the_audit_finds_cut_bands(cell: str, holds: bool) -> None:
    frame = pl.DataFrame({"age": [21, 22, 23]})
    schema = Schema((quasi("age", bands="every 5"),))
    released = pl.DataFrame({"age": [cell] * 3})
    assert shoal.audit(frame, released, schema, shoal.KAnonymity(k=2)).holds is holds


def test_records_that_cannot_be_hidden_are_left_out() -> None:
    frame = pl.DataFrame({"age": [*range(20, 40), 90], "city": ["x"] * 21})
    schema = Schema((quasi("age", widest=12), quasi("city", "categorical")))
    with pytest.raises(InfeasibleError, match="1 of 21 records cannot be hidden") as error:
        shoal.anonymize(frame, schema, shoal.Freeform(k=3), seed=1)
    assert "leave_out = 0.0477" in str(error.value)
    assert "k = " not in str(error.value).partition("What would do")[2]
    release = shoal.anonymize(frame, schema, shoal.Freeform(k=3), seed=1, leave_out=0.0477)
    assert len(release.table) == 20
    assert release.certificate["stranded"] == 1
    assert release.certificate["leave_out"] == 0.0477
    assert release.certificate["columns"][0]["limits"] == "at most 12 wide"
    model = shoal.Freeform(k=3)
    assert shoal.audit(frame, release.table, schema, model, leave_out=0.0477).holds
    assert "may be" in shoal.audit(frame, release.table, schema, model, leave_out=0.04).verdict
    assert not shoal.audit(frame, release.table, schema, model).holds


def test_what_would_do_does() -> None:
    """Each change that the message names makes the release achievable."""
    frame = pl.DataFrame({"age": [20 + i // 4 for i in range(160)] + [70] * 30, "city": ["x", "y"] * 95})
    schema = Schema((quasi("age", widest=1), quasi("city", "categorical")))
    with pytest.raises(InfeasibleError) as error:
        shoal.anonymize(frame, schema, shoal.KAnonymity(k=10), seed=1)
    said = str(error.value).partition("What would do: ")[2]
    share, k, width = (float(found[1]) for found in re.finditer(r"(?:=|of) ([\d.]*\d)", said))
    shoal.anonymize(frame, schema, shoal.KAnonymity(k=10), seed=1, leave_out=share)
    shoal.anonymize(frame, schema, shoal.KAnonymity(k=int(k)), seed=1)
    with pytest.raises(InfeasibleError):
        shoal.anonymize(frame, schema, shoal.KAnonymity(k=int(k) + 1), seed=1)
    shoal.anonymize(frame, schema.changed("age", widest=int(width)), shoal.KAnonymity(k=10), seed=1)


def test_the_report_tells_how_left_out_records_differ() -> None:
    frame = pl.DataFrame({"age": [*([20, 30] * 50), *([60, 80] * 4), 90], "sex": ["f", "m"] * 54 + ["f"]})
    schema = Schema((quasi("age", widest=5), quasi("sex", "categorical")))
    release = shoal.anonymize(frame, schema, shoal.KAnonymity(k=5), seed=1, leave_out=0.2)
    panel = next(panel for panel in release.report.panels if panel.name == "left_out")
    assert release.certified.stranded == 9
    assert "9 records" in panel.paragraphs[0]
    told = {each["group"]: each["left_out"] for each in panel.data["age"]}
    assert sorted(told.values(), key=str)[-1] == 1.0  # all who are older than 30
    # One sex lost five records, the other four: the four would follow from the five.
    assert [each["left_out"] for each in panel.data["sex"]] == [None, None]
    assert "not told" in release.report.html()


def test_a_left_out_record_does_not_count_as_one_of_a_crowd() -> None:
    """Rows that hide only among a record that must have been left out break the guarantee."""
    frame = pl.DataFrame({"age": [20, 21, 22, 30, 31, 32, 25]})
    schema = Schema((quasi("age", widest=10),))
    # The record of 25 is covered by two rows only: an attacker knows that it was left out.
    released = pl.DataFrame({"age": ["20..22"] * 3 + ["30..32", "25..32", "25..32"]})
    found = shoal.audit(frame, released, schema, shoal.Freeform(k=3), leave_out=0.2)
    assert found.holds
    released = pl.DataFrame({"age": ["20..22"] * 3 + ["30..31", "25..32", "25..32"]})
    assert not shoal.audit(frame, released, schema, shoal.Freeform(k=3), leave_out=0.2).holds


def test_what_keeps_no_limits_is_refused(tmp_path: Path) -> None:
    AGES.write_csv(tmp_path / "ages.csv")
    persons = Schema((*LIMITED.columns, Column("person", Role.PERSON)))
    frame = AGES.with_columns(person=pl.Series([0, 0, 1, 2, 3, 4, 5, 6]))
    banded = Schema((quasi("age", bands="every 5"),))
    with pytest.raises(InputError, match="no interval could end at a cut; leave out bands"):
        shoal.anonymize(AGES, banded, shoal.Patterned(k=2))
    with pytest.raises(InputError, match="compared with the whole table"):
        shoal.anonymize(
            AGES.with_columns(ill=pl.lit("x")),
            Schema((*LIMITED.columns, Column("ill", Role.SENSITIVE))),
            shoal.TCloseness(k=2, t=0.5),
        )
    with pytest.raises(InputError, match="compared with a population"):
        shoal.anonymize(AGES, LIMITED, shoal.KMap(k=2, population=AGES))
    with pytest.raises(InputError, match="leave_out is not for km-anonymity"):
        shoal.anonymize(AGES, LIMITED, shoal.KmAnonymity(k=2, knows=1), leave_out=0.1)
    with pytest.raises(InputError, match="withhold"):
        shoal.anonymize(AGES, LIMITED, shoal.KK(k=2, withhold=0.2))
    with pytest.raises(InputError, match="does not keep limits"):
        anonymize_file(tmp_path / "ages.csv", banded, shoal.Patterned(k=2), tmp_path / "out")
    pl.DataFrame({"age": [20.5, 21.0, 40.0, 41.0]}).write_csv(tmp_path / "half.csv")
    with pytest.raises(InputError, match="bands of numbers with a fraction"):
        anonymize_file(tmp_path / "half.csv", banded, shoal.KAnonymity(k=2), tmp_path / "out")
    for share in (-0.1, 1.0, True):
        with pytest.raises(InputError, match="leave_out"):
            shoal.anonymize(AGES, LIMITED, shoal.KAnonymity(k=2), leave_out=share)
    with pytest.raises(InputError, match="needs a limit"):
        shoal.anonymize(AGES, Schema((quasi("age"),)), shoal.KAnonymity(k=2), leave_out=0.1)
    with pytest.raises(InputError, match="counts records"):
        shoal.anonymize(frame, persons, shoal.KAnonymity(k=2), leave_out=0.1)


@pytest.mark.parametrize("model", [shoal.KAnonymity(k=5), shoal.Freeform(k=5)])
def test_blocks_keep_limits(model: Any, tmp_path: Path) -> None:
    """Every block keeps limits; one that cannot is united with others, and bands are those of the table."""
    random = np.random.default_rng(8)
    frame = pl.DataFrame(
        {
            "age": random.integers(17, 93, 1500),
            "seen": [dt.date(2024, 1, 1) + dt.timedelta(int(day)) for day in random.integers(0, 365, 1500)],
            "sex": random.choice(["f", "m"], 1500),
            "town": random.choice(["a", "b", "c", "d"], 1500),
        }
    )
    frame.write_parquet(tmp_path / "t.parquet")
    schema = Schema(
        (
            quasi("age", widest=40, bands="every 5"),
            quasi("seen", "date", bands="every month"),
            quasi("sex", "categorical", exact=True),
            quasi("town", "categorical", widest=3),
        )
    )
    out = tmp_path / "out"
    made = anonymize_file(tmp_path / "t.parquet", schema, model, out, block_rows=400, jobs=1, seed=1)
    assert made.certificate["engine"]["blocks"] > 1
    released = shoal.read_table(out / "release.csv")
    assert shoal.audit(frame, released, schema, model).holds
    for age, seen, sex, town in released.select("age", "seen", "sex", "town").rows():
        low, high = map(int, age.split(".."))
        assert (low % 5, high % 5) == (0, 4)
        assert high - low <= 40
        ends = [dt.date.fromisoformat(each) for each in seen.split("..")] if seen != "*" else []
        assert not ends or (ends[0].day == 1 and (ends[-1] + dt.timedelta(1)).day == 1)
        assert sex in ("f", "m")
        assert town != "*"
        assert len(town.split("|")) <= 3


def test_bands_of_a_domain_that_lies_far_from_zero() -> None:
    frame = pl.DataFrame({"year": [1950, 1951, 1954, 1956, 1957, 1958]})
    schema = Schema((quasi("year", bands="every 5", domain=(1950, 1959)),))
    release = shoal.anonymize(frame, schema, shoal.KAnonymity(k=3))
    assert sorted(set(release.table["year"])) == ["1950..1954", "1955..1959"]


def test_patterns_never_suppress_a_column_with_a_limit() -> None:
    frame = pl.DataFrame({"age": [20, 20, 20, 30, 30, 41], "sex": ["f", "m", "m", "f", "f", "m"]})
    schema = Schema((quasi("age", suppressible=False), quasi("sex", "categorical")))
    with pytest.raises(InfeasibleError, match="1 of 6 records cannot be hidden"):
        shoal.anonymize(frame, schema, shoal.Patterned(k=2), seed=1)
    release = shoal.anonymize(frame, schema, shoal.Patterned(k=2), seed=1, leave_out=0.2)
    assert sorted(release.table["age"]) == ["20", "20", "20", "30", "30"]
    assert release.certificate["model"]["name"] == "patterned"
    listed = shoal.Patterned(k=2, patterns=[{"suppress": ["age"]}])
    with pytest.raises(InputError, match="which must never be suppressed"):
        shoal.anonymize(frame, schema, listed, seed=1, leave_out=0.2)


def test_few_columns_within_limits() -> None:
    """km-anonymity narrows classes that keep the limits already, also in strata and bands."""
    frame = hospital(150, seed=4).select("age", "sex", "zip").filter(pl.col("sex") != "other")
    schema = Schema.infer(frame, quasi=["age", "sex", "zip"])
    schema = schema.changed("age", widest=30, bands="every 5").changed("sex", exact=True)
    release = shoal.anonymize(frame, schema, shoal.KmAnonymity(k=4, knows=2), seed=1)
    ends = [list(map(int, cell.split(".."))) for cell in release.table["age"]]
    assert all(low % 5 == 0 and high % 5 == 4 and high - low <= 30 for low, high in ends)
    assert set(release.table["sex"]) == {"female", "male"}
    assert shoal.audit(frame, release.table, schema, shoal.KmAnonymity(k=4, knows=2)).holds
    with pytest.raises(InfeasibleError, match="What would do: a limit of") as error:
        shoal.anonymize(frame, schema.changed("age", widest=4, bands=None), shoal.KmAnonymity(k=9, knows=2))
    assert "leave_out" not in str(error.value)


def test_cuts_stay_within_a_limit_where_they_can() -> None:
    """The kernel with a limit agrees with all ways to cut a short row, weighed by hand."""
    random = np.random.default_rng(4)
    for _ in range(20):
        codes = np.sort(random.integers(0, 12, 9)).astype(np.int32)
        positions = np.sort(random.random(12))
        reach = np.minimum(np.arange(12) + 3, 11)
        costs = kernels.Geometry(kernels.RANGE, 1.0, 12, np.concatenate([positions, reach]))
        starts = kernels.cut(codes[:, None].copy(), [costs], 2)

        def cost(begin: int, end: int, codes: Any = codes, positions: Any = positions) -> float:
            low, high = codes[begin], codes[end - 1]
            return (end - begin) * (positions[high] - positions[low] + 1024 * max(0, high - low - 3))

        def total(bounds: list[int], cost: Any = cost) -> float:
            return float(sum(cost(a, b) for a, b in pairwise(bounds)))

        ways = [
            [0, *(place for place in range(1, 9) if chosen >> place & 1), 9] for chosen in range(0, 512, 2)
        ]
        least = min(total(way) for way in ways if all(b - a >= 2 for a, b in pairwise(way)))
        assert total([*starts.tolist(), 9]) == pytest.approx(least)


def test_compare_limits_columns_and_still_knows_its_former_time_limit(
    capsys: pytest.CaptureFixture[str],
) -> None:
    for given, columns, seconds in (
        (["age=10", "30"], ["age=10"], 30.0),
        (["2.5"], None, 2.5),
        (["age=10"], ["age=10"], None),
        (None, None, None),
    ):
        load, found = _without_seconds(partial(loading.load, limit=given), None)
        assert (load.keywords["limit"], found) == (columns, seconds)
        assert ("use --time-limit" in capsys.readouterr().err) == (seconds is not None)


def test_limits_on_the_command_line(tmp_path: Path) -> None:
    hospital(300).write_csv(tmp_path / "patients.csv")
    described = ["--quasi", "age,sex,zip", "--sensitive", "diagnosis", "--drop", "patient,name"]
    limits = ["--limit", "age=10", "--bands", "age=every 5", "--strata", "sex", "--limit", "zip=shown"]
    made = call(
        tmp_path,
        *("anonymize", "patients.csv", *described, *limits, "--k", "5", "--l", "1", "--seed", "1"),
        *("--leave-out", "0.2", "-o", "out", "--quiet"),
    )
    assert made.returncode == 0, made.stderr
    release = pl.read_csv(tmp_path / "out" / "release.csv", infer_schema=False)
    assert not release["sex"].str.contains("|", literal=True).any()
    assert "*" not in release["zip"].to_list()
    # The folder says which limits to check, and how many records may be missing.
    assert call(tmp_path, "audit", "patients.csv", "out").returncode == 0
    narrow = ["--limit", "age=3", "--leave-out", "0.2", "--k", "5"]
    assert call(tmp_path, "audit", "patients.csv", "out/release.csv", *described, *narrow).returncode == 1
