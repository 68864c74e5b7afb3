"""What new users meet: kinds by one path, plain remedies, figures that agree, sentences that are right."""

from __future__ import annotations

import datetime as dt
import uuid
from decimal import Decimal
from pathlib import Path
from typing import Any

import pandas as pd
import polars as pl
import pytest
from typer.testing import CliRunner

import shoal
from shoal.cli.app import app
from shoal.samples import hospital
from shoal.schema import infer_column, merged_columns

N = 60
DAYS = [dt.date(2020, 1, 1) + dt.timedelta(number) for number in range(N)]
run = CliRunner().invoke


def kinds(frame: Any) -> dict[str, tuple[str, str]]:
    """Return the kinds that `infer` and `scan` find."""
    inferred, scanned = shoal.Schema.infer(frame), shoal.scan(frame).schema
    return {column.name: (column.kind.value, scanned[column.name].kind.value) for column in inferred}


def test_objects_of_pandas_have_the_kind_of_their_values() -> None:
    frame = pd.DataFrame(
        {
            "whole": pd.Series(list(range(N)), dtype=object),
            "day": pd.Series(DAYS, dtype=object),
            "stamp": pd.Series([pd.Timestamp(day) for day in DAYS], dtype=object),
            "decimal": pd.Series([Decimal(number) / 4 for number in range(N)], dtype=object),
        }
    )
    found = kinds(frame)
    assert found == {
        "whole": ("numeric", "numeric"),
        "day": ("date", "date"),
        "stamp": ("date", "date"),
        "decimal": ("numeric", "numeric"),
    }


def test_unordered_categories_stay_categorical() -> None:
    frame = pd.DataFrame({"x": pd.Categorical(["a", "b"] * 5)})
    assert shoal.Schema.infer(frame)["x"].kind.value == "categorical"


@pytest.mark.parametrize(
    ("texts", "form"),
    [
        (["31.01.1980", "1.2.1981"], "%d.%m.%Y"),
        (["1980/01/31"], "%Y/%m/%d"),
        (["31/01/1980", "01/02/1980"], "%d/%m/%Y"),
        (["01/31/1980", "01/02/1980"], "%m/%d/%Y"),
        (["31-01-1980"], "%d-%m-%Y"),
        (["01/02/1980", "03/04/1980"], None),  # day or month first?
        (["31/01/1980", "01/31/1980"], None),  # both
        (["10.20.30.40"], None),
        (["32.01.1980"], None),
    ],
)
def test_common_forms_of_dates_are_recognized(texts: list[str], form: str | None) -> None:
    frame = pl.DataFrame({"when": texts * 10})
    found = shoal.Schema.infer(frame)["when"]
    assert found.date_format == form
    assert found.kind.value == ("categorical" if form is None else "date")
    scanned = shoal.scan(frame).schema["when"]
    assert (scanned.kind, scanned.date_format) == (found.kind, found.date_format)


def test_times_with_an_offset_are_dates() -> None:
    for end in ("Z", "+02:00", "-0530"):
        frame = pl.DataFrame({"t": [f"{day}T10:30:00{end}" for day in DAYS]})
        assert kinds(frame) == {"t": ("date", "date")}
        release = shoal.anonymize(frame, shoal.Schema.infer(frame, quasi=["t"]), shoal.KAnonymity(k=5))
        assert all(".." in cell for cell in release.table["t"])


def test_numbers_that_are_codes_by_their_name_are_so_everywhere() -> None:
    frame = pl.DataFrame(
        {"sex": [1, 2] * 30, "region": list(range(1, 7)) * 10, "family_size": [1, 2, 3] * 20}
    )
    assert kinds(frame) == {
        "sex": ("categorical", "categorical"),
        "region": ("categorical", "categorical"),
        "family_size": ("numeric", "numeric"),
    }
    parts = merged_columns([frame[:7], frame[7:]])
    schema = shoal.Schema.infer(frame.clear(), inferred=parts)
    assert {c.name: c.kind.value for c in schema} == {name: both[0] for name, both in kinds(frame).items()}


def test_parts_of_a_table_suggest_what_the_whole_does() -> None:
    frame = pl.DataFrame(
        {
            "day": [f"{number % 28 + 1:02}.03.1980" for number in range(N)],
            "mixed": ["1"] * (N - 1) + ["x"],
            "slash": ["01/02/1980"] * (N // 2) + ["31/12/1980"] * (N // 2),  # the first part can be both
            "unclear": ["01/02/1980", "03/04/1981"] * (N // 2),
            "both": ["31/12/1980"] * (N // 2) + ["12/31/1980"] * (N // 2),
            "later": ["01/02/1980"] * (N - 1) + ["unknown"],
        }
    )
    merged = merged_columns([frame[:1], frame[1:50], frame[50:]])
    for name in frame.columns:
        whole = infer_column(shoal.schema.as_frame(frame)[name])
        assert merged[name].settings(name) == whole.settings(name), name
    assert merged["slash"].date_format == "%d/%m/%Y"
    assert {merged[name].kind for name in ("unclear", "both", "later")} == {shoal.Kind.CATEGORICAL}


def test_categories_that_should_be_something_else_are_warned_of() -> None:
    frame = pl.DataFrame(
        {
            "amount": [str(number) for number in range(N - 1)] + ["unknown"],
            "born": ["01/02/1980", "03/04/1981", "05/06/1982"] * (N // 3),
            "price": ["1,5", "2,25", "1.000,5"] * (N // 3),
            "word": [f"word {number}" for number in range(N)],
            "sex": ["m", "f"] * (N // 2),
        }
    )
    schema = shoal.Schema.infer(frame, quasi=frame.columns)
    said = shoal.anonymize(frame, schema, shoal.KAnonymity(k=5)).warnings
    assert [each.split("'")[1] for each in said] == ["amount", "born", "price", "word"]
    assert "all its values but one are numbers" in said[0]
    assert "look like dates" in said[1]
    assert "60 different values in 60 records" in said[3]
    assert "read the file with decimal ',' and thousands '.'" in said[2]
    frame = frame.select("amount")
    marked = shoal.Schema.infer(frame, quasi=["amount"], missing_marks=["unknown"])
    assert shoal.anonymize(frame, marked, shoal.KAnonymity(k=5)).warnings == ()


def test_survey_weights_are_no_body_weights() -> None:
    frame = pl.DataFrame({name: [1.5 + n for n in range(N)] for name in ("instance_weight", "weight_survey")})
    first, second = shoal.scan(frame).suggestions
    assert (first.role, second.role) == (shoal.Role.WEIGHT, shoal.Role.OTHER)  # a table has one
    for found in (first, second):
        assert "a survey weight" in found.reason
        assert "it looks identifying" in found.reason
    body = shoal.scan(frame.rename({"instance_weight": "weight"})).suggestions[0]
    assert body.role is shoal.Role.QUASI


def test_types_that_cannot_be_generalized_come_with_a_remedy() -> None:
    durations = pl.DataFrame({"x": [dt.timedelta(number) for number in range(N)]})
    times = pl.DataFrame({"x": [dt.time(number % 24) for number in range(N)]})
    for frame, given, words in (
        (durations, {}, "such as hours"),
        (times, {"x": "numeric"}, "make its kind time"),
        (pl.DataFrame({"x": [{"a": 1}] * N}), {}, "convert it to text"),
    ):
        schema = shoal.Schema.infer(frame, quasi=["x"], kinds=given)
        with pytest.raises(shoal.InputError, match=words):
            shoal.anonymize(frame, schema, shoal.KAnonymity(k=5))
    uuids = pd.DataFrame({"x": [uuid.uuid4() for _ in range(N)]})
    with pytest.raises(shoal.InputError, match="convert it to text"):
        shoal.anonymize(uuids, shoal.Schema.infer(uuids, quasi=["x"]), shoal.KAnonymity(k=5))


def test_misuses_in_python_are_explained(tmp_path: Path) -> None:
    frame = hospital(60).select("age", "sex")
    schema = shoal.Schema.infer(frame, quasi=["age", "sex"])
    schema.write(tmp_path / "schema.toml")
    release = shoal.anonymize(frame, str(tmp_path / "schema.toml"), shoal.KAnonymity(k=5))
    assert release.audit.holds
    assert shoal.audit(frame, release.table, tmp_path / "schema.toml").holds
    with pytest.raises(shoal.InputError, match="dict is not a schema"):
        shoal.anonymize(frame, {}, shoal.KAnonymity(k=5))  # type: ignore[arg-type]
    for wrong in (5, shoal.Freeform):
        with pytest.raises(shoal.InputError, match="not a privacy model"):
            shoal.anonymize(frame, schema, wrong)  # type: ignore[arg-type]
        with pytest.raises(shoal.InputError, match="not a privacy model"):
            shoal.audit(frame, release.table, schema, wrong)  # type: ignore[arg-type]
    with pytest.raises(shoal.InputError, match=r"Freeform\(k=5\)"):
        shoal.Freeform(5)  # type: ignore[misc]
    for wrong_option in ({"limit": 0}, {"jobs": 0}):
        with pytest.raises(shoal.InputError, match="not above 0"):
            shoal.compare(frame, schema, k=5, **wrong_option)


def test_models_and_methods_are_found_by_the_names_people_know(tmp_path: Path) -> None:
    hospital(80).select("age", "sex", "diagnosis").write_csv(tmp_path / "t.csv")
    call = [
        "anonymize",
        str(tmp_path / "t.csv"),
        "--quasi",
        "age,sex",
        "--sensitive",
        "diagnosis",
        "--k",
        "5",
    ]
    wrong = run(app, [*call, "--model", "l-diversity", "-o", str(tmp_path / "a")])
    assert isinstance(wrong.exception, shoal.InputError)
    assert wrong.exception.parameter == "l"
    assert "set-diversity" not in str(wrong.exception)
    done = run(app, [*call, "--method", "mondrian", "-o", str(tmp_path / "b")])
    assert done.exit_code == 0, done.exception
    frame = hospital(80)
    schema = shoal.Schema.infer(frame, quasi=["age"], drop=["patient", "name"])
    with pytest.raises(shoal.InputError, match="it is a method of 'k-anonymity'"):
        shoal.anonymize(frame, schema, shoal.Freeform(k=5), method="mondrian")


def test_a_scan_says_what_many_columns_identify_together(tmp_path: Path) -> None:
    answers = {f"q{number}": [str((row >> (number % 6)) & 1) for row in range(64)] for number in range(20)}
    pl.DataFrame(answers).write_csv(tmp_path / "t.csv")
    found = shoal.scan(shoal.read_table(tmp_path / "t.csv"))
    assert (len(found.others), found.others_unique) == (20, 1.0)
    told = run(app, ["scan", str(tmp_path / "t.csv"), "-o", str(tmp_path / "schema.toml")])
    assert "together they are unique in 100% of the records" in " ".join(told.output.split())
    assert "no column looks like a quasi-identifier" in " ".join(told.output.split())


def test_ip_addresses_are_not_dates() -> None:
    frame = pl.DataFrame({"ip": [f"10.20.30.{number}" for number in range(N)]})
    (found,) = shoal.scan(frame).suggestions
    assert "dates" not in found.reason


def test_a_population_does_not_change_the_figure_of_a_random_guess() -> None:
    frame = hospital(60).select("age", "sex")
    schema = shoal.Schema.infer(frame, quasi=["age", "sex"])
    released = shoal.anonymize(frame, schema, shoal.KAnonymity(k=5)).table
    alone = dict(shoal.audit(frame, released, schema).facts())
    among = dict(shoal.audit(frame, released, schema, population=hospital(600).select("age", "sex")).facts())
    assert alone["a random guess is right"] == among["a random guess is right"]


def test_one_is_singular(tmp_path: Path) -> None:
    pl.DataFrame({"age": list(range(40)), "ill": ["flu"] * 40}).write_csv(tmp_path / "t.csv")
    call = ["anonymize", str(tmp_path / "t.csv"), "--quasi", "age", "--sensitive", "ill", "--k", "5"]
    call += ["--l", "1", "--model", "k-anonymity", "--engine", "blocks"]
    done = run(app, [*call, "-o", str(tmp_path / "out")])
    assert done.exit_code == 0, done.exception
    shown = " ".join(done.output.split())
    assert "at least 1 value in a class" in shown
    assert "in 1 block," in shown
    assert not [
        words for words in ("1 values", "1 blocks", "1 records ", "1 persons") if f" {words}" in shown
    ]


@pytest.mark.parametrize("command", [each.callback.__name__ for each in app.registered_commands])  # type: ignore[union-attr]
def test_help_names_what_options_take_in_words(command: str) -> None:
    shown = run(app, [command, "--help"], env={"COLUMNS": "200", "TERM": "dumb"})
    assert shown.exit_code == 0
    for line in shown.output.splitlines():
        if "--help" not in line:  # typer's own
            for of_python in (
                "<Any>",
                "<str>" if "--" in line else "<Any>",
                "<bool>",
                "<int",
                "<float",
                "list[",
            ):
                assert of_python not in line, line
