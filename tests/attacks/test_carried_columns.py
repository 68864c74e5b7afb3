"""The attacker ignores the quasi-identifiers and looks people up by the columns that are carried along."""

from __future__ import annotations

import datetime
import json
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from typer.testing import CliRunner

from shoal import Freeform, KAnonymity, PromiseError, Schema, anonymize, anonymize_file, audit
from shoal.auditing import carried
from shoal.auditing.reading import read_release
from shoal.cli.app import app
from shoal.engines.own_values import SIZE, OwnValues
from shoal.samples import hospital
from shoal.schema import as_frame
from shoal.table import Table

ROWS = 240
FLAVOURS = [pl.DataFrame, pd.DataFrame, pa.table]


def people() -> dict[str, list[Any]]:
    rng = np.random.default_rng(1)
    towns = rng.integers(0, 6, ROWS)
    ages = rng.integers(18, 80, ROWS)
    return {
        "age": ages.tolist(),
        "zip": [str(81660 + 7 * town) for town in towns],
        "name": [f"Person {number:03}" for number in rng.permutation(ROWS)],
        "ill": rng.choice(["flu", "gout", "cold"], ROWS).tolist(),
        "ward": rng.choice(["A", "B", "C", "D"], ROWS).tolist(),
    }


def released(extra: dict[str, list[Any]], *, identifiers: tuple[str, ...] = ("name",), **options: Any) -> Any:
    frame = pl.DataFrame({**people(), **extra})
    schema = Schema.infer(frame, quasi=["age", "zip"], sensitive=["ill"], drop=list(identifiers))
    return anonymize(frame, schema, KAnonymity(k=8), seed=3, **options).audit


def test_an_ordinary_column_is_no_reason_for_a_caution() -> None:
    found = released({})
    assert found.status == "holds"
    assert found.warnings == ()
    found.require(strict=True)


@pytest.mark.parametrize("flavour", FLAVOURS)
def test_a_unique_name_makes_the_verdict_amber(flavour: Any) -> None:
    frame = flavour(people())
    schema = Schema.infer(frame, quasi=["age", "zip"], sensitive=["ill"])
    release = anonymize(frame, schema, KAnonymity(k=8))  # without a seed, so that it may be published
    for found in (release.audit, audit(frame, release.table, schema, KAnonymity(k=8))):
        assert found.holds  # the guarantee is about the quasi-identifiers
        assert found.status == "caution"
        (warning,) = found.warnings
        assert "'name'" in warning
        assert "every row has a value of its own" in warning
        assert found.verdict.startswith("The guarantee holds for the quasi-identifiers, but ")
        assert "Person" not in json.dumps(found.as_dict())
        found.require()
        with pytest.raises(PromiseError, match="'name'"):
            found.require(strict=True)
    written = release.certificate["audit"]
    assert written["status"] == "caution"
    assert written["warnings"] == list(release.audit.warnings)
    assert 'class="verdict caution"' in release.report.html()


def test_a_unique_name_in_a_tiny_table_is_seen_but_different_illnesses_are_not() -> None:
    frame = pl.DataFrame(
        {"age": [20, 20, 30, 30], "name": list("wxyz"), "ill": ["flu", "cold", "gout", "hiv"]}
    )
    schema = Schema.infer(frame, quasi=["age"], sensitive=["ill"])
    (warning,) = audit(frame, frame, schema, KAnonymity(k=2)).warnings
    assert "'name'" in warning


def test_nearly_unique_amounts_and_sensitive_values_are_amber_too() -> None:
    rng = np.random.default_rng(2)
    amounts = rng.normal(100, 10, ROWS)
    amounts[:40] = 100.0
    found = released({"amount": amounts.tolist()})
    assert found.status == "caution"
    assert "83% of the rows have a value of their own" in found.warnings[0]
    frame = pl.DataFrame({**people(), "amount": amounts})
    schema = Schema.infer(frame, quasi=["age", "zip"], sensitive=["amount"], drop=["name"])
    assert anonymize(frame, schema, KAnonymity(k=8)).audit.status == "caution"


@pytest.mark.parametrize("copy", [str, str.upper, lambda name: f" {name.lower()}\u200b "])
def test_a_copy_of_an_identifier_is_told_by_name(copy: Any) -> None:
    names = [f"Person {number % 60}" for number in range(ROWS)]  # several rows of each person
    found = released({"name": names, "contact": [copy(name) for name in names]})
    assert found.status == "caution"
    assert "'contact'" in found.warnings[0]
    assert "repeats the identifier 'name'" in found.warnings[0]


def test_numbers_of_people_as_text_and_pseudonyms_are_copies() -> None:
    rng = np.random.default_rng(4)
    numbers = rng.integers(1, 60, ROWS)
    found = released(
        {"patient": numbers.tolist(), "case": [f"{n:05}" for n in numbers]}, identifiers=("name", "patient")
    )
    assert "repeats the identifier 'patient'" in found.warnings[0]
    secret = rng.permutation(1000)
    found = released(
        {"patient": numbers.tolist(), "pseudonym": [f"p{secret[n]}" for n in numbers]},
        identifiers=("name", "patient"),
    )
    assert "gives away the identifier 'patient'" in found.warnings[0]


def test_an_exact_copy_of_a_quasi_identifier_is_told() -> None:
    found = released({"years": [f"{age}.0" for age in people()["age"]]})
    assert "repeats the quasi-identifier 'age'" in found.warnings[0]


def test_a_column_that_only_the_release_has_is_compared_too() -> None:
    columns = people()
    original = pl.DataFrame(columns)
    schema = Schema.infer(original, quasi=["age", "zip"], sensitive=["ill"], drop=["name"])
    made = anonymize(original, schema, KAnonymity(k=8), seed=3)
    exact = [columns["age"][row] for row in made.key]
    names = [columns["name"][row] for row in made.key]
    assert isinstance(made.table, pl.DataFrame)
    late = made.table.with_columns(pl.Series("years", exact), pl.Series("who", [n.upper() for n in names]))
    found = audit(original, late, schema, KAnonymity(k=8))
    assert found.holds
    assert any("'years'" in w and "repeats the quasi-identifier 'age'" in w for w in found.warnings)
    assert any("'who'" in w and "repeats the identifier 'name'" in w for w in found.warnings)


def test_columns_that_determine_a_quasi_identifier_are_told() -> None:
    columns = people()
    towns = {code: f"town {place}" for place, code in enumerate(sorted(set(columns["zip"])))}
    found = released(
        {
            "city": [towns[code] for code in columns["zip"]],
            "birth_year": [2024 - age for age in columns["age"]],
        }
    )
    assert found.status == "caution"
    assert any("'city'" in w and "gives away the quasi-identifier 'zip'" in w for w in found.warnings)
    assert any("'birth_year'" in w and "gives away the quasi-identifier 'age'" in w for w in found.warnings)


def test_a_few_typing_errors_do_not_hide_that() -> None:
    columns = people()
    city = [f"town {code}" for code in columns["zip"]]
    city[:5] = ["town x", "town 81660", "town 81667", "town 81674", "town x"]
    assert "gives away the quasi-identifier 'zip'" in released({"city": city}).warnings[0]


def test_a_quasi_identifier_that_the_release_shows_exactly_cannot_be_given_away() -> None:
    frame = pl.DataFrame({"zip": ["a", "b"] * 20, "city": ["A", "B"] * 20})
    found = audit(frame, frame, Schema.infer(frame, quasi=["zip"]), KAnonymity(k=10))
    assert found.status == "holds"


def test_a_column_that_another_tool_generalized_gives_nothing_away() -> None:
    columns = people()
    original = pl.DataFrame({**columns, "city": [f"town {code}" for code in columns["zip"]]})
    schema = Schema.infer(original, quasi=["age", "zip"], sensitive=["ill"], drop=["name"])
    made = anonymize(original, schema, KAnonymity(k=8)).table.with_columns(city=pl.lit("*"))
    assert audit(original, made, schema, KAnonymity(k=8)).status == "holds"


def test_chance_is_no_caution() -> None:
    for seed in range(60):
        rng = np.random.default_rng(seed)
        size = int(rng.integers(12, 80))
        frame = pl.DataFrame(
            {
                "age": rng.integers(0, int(rng.integers(2, 9)), size),
                "sex": rng.random(size) < 0.1,
                "a": rng.integers(0, max(size // 4, 2), size),
                "b": rng.integers(0, 4, size),
            }
        )
        schema = Schema.infer(frame, quasi=["age", "sex"])
        cells = pl.DataFrame({"age": ["*"] * size, "sex": ["*"] * size, "a": frame["a"], "b": frame["b"]})
        assert audit(frame, cells, schema).warnings == (), seed


def test_missing_and_odd_values_do_not_stop_the_audit() -> None:
    frame = pd.DataFrame(
        {"age": [20] * 6 + [30] * 6, "mixed": [1, "a", None, 2.5, b"x", "a"] * 2, "none": None}
    )
    schema = Schema.infer(frame, quasi=["age"])
    assert audit(frame, frame, schema, KAnonymity(k=6)).status == "holds"
    nested = pl.DataFrame({"age": [20] * 12, "list": [[n] for n in range(12)], "struct": [{"a": 1}] * 12})
    (warning,) = audit(nested, nested, Schema.infer(nested, quasi=["age"]), KAnonymity(k=6)).warnings
    assert "'list'" in warning


def test_a_name_that_sounds_like_a_generalized_column_hides_nothing() -> None:
    names = people()["name"]
    for column in ("age_uncertain", "age_max_errors"):
        assert f"'{column}'" in released({column: names}).warnings[0]


def test_values_of_every_type_are_looked_at() -> None:
    size = 40
    when = datetime.datetime(2025, 1, 1)
    columns: dict[str, pl.Series] = {
        "binary": pl.Series([bytes([n]) for n in range(size)]),
        "decimal": pl.Series([Decimal(n) / 8 for n in range(size)]),
        "time": pl.Series([datetime.time(1, n) for n in range(size)]),
        "duration": pl.Series([datetime.timedelta(n) for n in range(size)]),
        "moment": pl.Series([when + datetime.timedelta(n) for n in range(size)]),
        "zoned": pl.Series([when + datetime.timedelta(n) for n in range(size)]).dt.replace_time_zone("UTC"),
        "large": pl.Series([2**64 - 1 - n for n in range(size)], dtype=pl.UInt64),
        "category": pl.Series([f"c{n}" for n in range(size)], dtype=pl.Categorical),
        "array": pl.Series([[n, n] for n in range(size)], dtype=pl.Array(pl.Int64, 2)),
        "struct": pl.Series([{"a": n} for n in range(size)]),
        "object": pl.Series([complex(n) for n in range(size)], dtype=pl.Object),
    }
    frame = pl.DataFrame({"age": [20, 30] * (size // 2), "flag": [True, False] * (size // 2), **columns})
    schema = Schema.infer(frame, quasi=["age"], drop=["flag"])
    hidden = frame.drop("flag").with_columns(age=pl.lit("*"))
    found = audit(frame, hidden, schema, KAnonymity(k=2))
    assert [each.column for each in found.carried] == list(columns)
    half = {name: pl.concat([column.head(size // 2)] * 2) for name, column in columns.items()}
    twice = pl.DataFrame({"age": [*range(size // 2)] * 2, "flag": frame["flag"], **half})
    found = audit(twice, twice.drop("flag").with_columns(age=pl.lit("*")), schema, KAnonymity(k=2))
    assert [w for w in found.warnings if "quasi-identifier 'age'" not in w] == []
    assert len(found.warnings) == len(columns)


def test_the_command_line_says_so_and_fails_only_if_it_is_strict(tmp_path: Path) -> None:
    pl.DataFrame(people()).write_csv(tmp_path / "table.csv")
    table, out = str(tmp_path / "table.csv"), tmp_path / "out"
    roles = ["--quasi", "age,zip", "--sensitive", "ill", "--k", "8", "--model", "k-anonymity"]
    run = CliRunner().invoke
    assert run(app, ["anonymize", table, *roles, "-o", str(tmp_path / "strict"), "--strict"]).exit_code == 1
    assert not (tmp_path / "strict").exists()
    done = run(app, ["anonymize", table, *roles, "-o", str(out)])
    assert done.exit_code == 0
    assert "but" in " ".join(done.output.split())
    for engine in ("blocks",):
        call = ["anonymize", table, *roles, "--engine", engine, "-o", str(tmp_path / engine), "--strict"]
        assert run(app, call).exit_code == 1
        assert not (tmp_path / engine).exists()
        assert not list(tmp_path.glob(".*work"))
    judged = run(app, ["audit", table, str(out / "release.csv"), *roles])
    assert judged.exit_code == 0
    assert "The guarantee holds for the quasi-identifiers, but" in " ".join(judged.output.split())
    assert run(app, ["audit", table, str(out / "release.csv"), *roles, "--strict"]).exit_code == 1
    told = run(app, ["audit", table, str(out / "release.csv"), *roles, "--strict", "--json"])
    assert told.exit_code == 1
    assert json.loads(told.stdout)["status"] == "caution"
    clean = [*roles, "--drop", "name,ward"]
    assert run(app, ["anonymize", table, *clean, "-o", str(tmp_path / "fine"), "--strict"]).exit_code == 0


def test_blocks_count_over_the_whole_table(tmp_path: Path) -> None:
    rng = np.random.default_rng(6)
    size = 1200
    zips = rng.integers(0, 12, size)
    frame = pl.DataFrame(
        {
            "age": rng.integers(18, 80, size),
            "zip": [f"z{z}" for z in zips],
            "row": np.arange(size),
            # Each number is there in several blocks, but mostly once in each.
            "twice": rng.permutation(np.repeat(np.arange(size // 2), 2)),
            "city": [f"town {z}" for z in zips],
            "ward": rng.integers(0, 5, size),
        }
    )
    frame.write_csv(tmp_path / "table.csv")
    schema = Schema.infer(frame, quasi=["age", "zip"], weights={"age": 50})
    done = anonymize_file(tmp_path / "table.csv", schema, KAnonymity(k=4), tmp_path / "out", block_rows=240)
    assert done.certificate["engine"]["blocks"] > 2
    found = done.audit
    assert found.status == "caution"
    assert found.holds
    named = " ".join(found.warnings)
    assert "'row' could identify" in named
    assert "'city'" in named
    assert "'twice'" not in named
    assert "'ward'" not in named
    assert found.verdict.startswith("The guarantee holds for the quasi-identifiers, but ")
    assert 'class="verdict caution"' in (tmp_path / "out" / "report.html").read_text()


def test_the_demo_is_green() -> None:
    frame = hospital(400, seed=1)
    schema = Schema.infer(
        frame,
        quasi=["age", "sex", "zip", "admitted", "marital", "occupation"],
        sensitive=["diagnosis"],
        drop=["patient", "name"],
    )
    found = anonymize(frame, schema, Freeform(k=5)).audit
    assert found.status == "holds", found.warnings


def test_counting_in_parts_agrees_with_counting_at_once() -> None:
    rng = np.random.default_rng(8)
    for size, values in ((500, 300), (60_000, 30_000), (60_000, 10_000_000)):
        cells = pl.Series(rng.integers(0, values, size))
        exact = int(cells.is_unique().sum())
        own = OwnValues()
        for start in range(0, size, 7_000):
            own = own.merged(OwnValues.of(cells.slice(start, 7_000)))
        assert len(own.hashes) <= SIZE
        assert abs(own.count(size) - exact) <= (0 if size < SIZE else 0.03 * size)
    everyone = OwnValues()
    for start in range(0, 40_000, 10_000):
        everyone = everyone.merged(OwnValues.of(pl.Series(range(start, start + 10_000))))
    assert everyone.count(40_000) == 40_000
    assert OwnValues.of(pl.Series([None, "", "a"], dtype=pl.String)).count(3) == 1
    assert OwnValues.of(pl.Series([None, float("nan"), 1.0])).count(3) == 1


def test_a_sample_shows_what_all_records_show(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(2)
    rows = 3 * carried.SAMPLE
    town = np.where(rng.random(rows) < 0.8, 0, rng.integers(1, 40, rows))
    age = rng.integers(18, 80, rows)

    def with_errors(share: float) -> Any:
        """Return a code for each town, with some that are wrong."""
        return np.where(rng.random(rows) < share, rng.integers(0, 40, rows), town) * 7 + 3

    frame = pl.DataFrame(
        {
            "age": age,
            "town": town,
            "noise": rng.integers(0, 50, rows),
            "many": rng.integers(0, rows // 2, rows),
            "copied": age,
            "right": with_errors(0.01),
            "mostly": with_errors(0.05),
            "rarely": with_errors(0.2),
            "mixed": np.where(rng.random(rows) < 0.5, town, 1000 + rng.integers(0, rows, rows)),
            "unique": rng.permutation(rows),
            "half": np.where(rng.random(rows) < 0.55, rng.permutation(rows), -1),
            "fewer": np.where(rng.random(rows) < 0.35, rng.permutation(rows), -1),
        }
    )
    schema = Schema.infer(frame, quasi=["age", "town"])
    table = Table.encode(frame, schema)
    shown = frame.sample(fraction=1, shuffle=True, seed=1).with_columns(pl.lit("*").alias("town"))
    shown = shown.with_columns(pl.lit("*").alias("age"))
    columns = read_release(as_frame(shown), table)
    by_sample = carried.carried_along(as_frame(shown), table, columns)
    monkeypatch.setattr(carried, "SAMPLE", 10**9)
    assert by_sample == carried.carried_along(as_frame(shown), table, columns)
    found = {each.column: each for each in by_sample}
    assert found["copied"].repeats
    assert found["unique"].own_values == 1
    assert found["right"].gives_away
    assert 0.5 < (found["half"].own_values or 0) < 0.6
    assert not found.keys() & {"noise", "many", "rarely", "fewer"}
