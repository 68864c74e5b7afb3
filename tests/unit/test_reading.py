"""Readers of releases: answers, drawn tables, typed frames, codebooks, and questions as texts."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import shoal
from shoal.reading import Answer, Codebook, Count
from shoal.reading.answers import standard_error
from shoal.reading.assumptions import Weights
from shoal.reading.means import mean_evidence
from shoal.reading.questions import read_question
from shoal.reading.wording import asked, facts, group_table, grouped
from shoal.release import codebook_of
from shoal.samples import hospital


@pytest.fixture(scope="module")
def patients() -> Any:
    return hospital(1500, seed=4)


@pytest.fixture(scope="module")
def schema(patients: Any) -> shoal.Schema:
    return shoal.Schema.infer(
        patients, quasi=["age", "sex", "zip"], sensitive=["diagnosis"], drop=["patient", "name"]
    )


@pytest.fixture(scope="module")
def folder(patients: Any, schema: shoal.Schema, tmp_path_factory: pytest.TempPathFactory) -> Path:
    release = shoal.anonymize(patients, schema, shoal.Freeform(k=5), seed=1)
    return release.save(tmp_path_factory.mktemp("release") / "out")


def test_an_answer_says_what_is_certain_possible_and_likely(folder: Path, patients: Any) -> None:
    reader = shoal.open_release(folder)
    answer = reader.count(age=(30, 39), sex=["female"])
    cells = pl.DataFrame(patients)
    truth = cells.filter(pl.col("age").is_between(30, 39) & (pl.col("sex") == "female")).height
    assert answer.certain <= truth <= answer.possible
    low, high = answer.interval
    assert low <= answer.estimate <= high
    assert answer.estimate == pytest.approx(truth, rel=0.1)


@pytest.mark.parametrize("model", [shoal.Freeform(k=20), shoal.KAnonymity(k=20)], ids=repr)
def test_the_joint_estimate_is_closer_than_an_even_spread(patients: Any, model: Any) -> None:
    schema = shoal.Schema.infer(
        patients, quasi=["age", "sex", "occupation", "marital"], drop=["patient", "name", "zip"]
    )
    release = shoal.anonymize(patients, schema, model, seed=1)
    cells = pl.DataFrame(patients).select(occupation=pl.col("occupation").fill_null(""), sex="sex")
    questions = [
        {"occupation": each, "sex": sex}
        for each in cells["occupation"].unique().sort()
        for sex in ("female", "male")
    ]
    truth = np.array([cells.filter(**question).height for question in questions])
    errors, bias = {}, {}
    for estimator in ("tight", "columns", "marginal", "even"):
        reader = shoal.open_release(release.written("csv"), schema, model, estimator=estimator)
        answers = np.array([reader.count(question).estimate for question in questions])
        errors[estimator] = float(np.abs(answers - truth).sum())
        bias[estimator] = float(np.polyfit(truth, answers, 1)[0])
    assert errors["tight"] < 0.7 * errors["even"]
    assert errors["tight"] < errors["marginal"]
    assert bias["tight"] == pytest.approx(1, abs=0.1)


@pytest.mark.parametrize(
    ("count", "interval"),
    [
        (Count(0.04, 0.02, 0, 3), (0.0, 1.0)),
        (Count(7.3, 1.0, 2, 40), (5.0, 10.0)),
        (Count(7.3, 1.0, 6, 9), (6.0, 9.0)),
        (Count(5.0, 0.0, 5, 5), (5.0, 5.0)),
        (Count(5.0 + 1e-9, 0.0, 3, 9), (5.0, 5.0)),
    ],
)
def test_intervals_of_counts_end_at_whole_numbers(count: Count, interval: tuple[float, float]) -> None:
    """They are rounded outward: of rows that hardly ever meet a question, one still may."""
    assert count.interval == interval


def test_means_and_tables(folder: Path, patients: Any) -> None:
    reader = shoal.open_release(folder)
    cells = pl.DataFrame(patients)
    ages = [int(age) for age in cells["age"] if age is not None]
    mean = reader.mean("age")
    assert mean.estimate == pytest.approx(float(np.mean(ages)), abs=1)
    groups = reader.table("sex")
    assert groups["estimate"].sum() == pytest.approx(len(cells))
    both = reader.table({"sex": ["female", "male"], "age": [(0, 39), (40, 120)]}, mean="age")
    assert both.height == 4
    means = both["estimate"].to_list()
    assert max(means[0], means[2]) < 40 <= min(means[1], means[3])
    with pytest.raises(shoal.InputError, match="needs numbers"):
        reader.mean("sex")
    with pytest.raises(shoal.InputError, match="both in `by` and in a condition"):
        reader.table("sex", sex="female")


def test_a_mean_over_a_part_of_its_own_column_counts_only_that_part() -> None:
    """Ends of intervals that lie outside the question are the values of other records."""
    frame = pl.DataFrame({"x": ["0..100"] * 4 + ["40..60"] * 4, "y": ["a"] * 8})
    schema = shoal.Schema.infer(pl.DataFrame({"x": [0, 100], "y": ["a", "a"]}), quasi=["x", "y"])
    for model in (shoal.Freeform(k=2), shoal.Freeform(k=4)):
        reader = shoal.open_release(frame, schema, model)
        assert reader.mean("x", x=(30, 70)).estimate == pytest.approx(50, abs=0.5)
        assert reader.mean("x", x=(60, 60)).estimate == pytest.approx(60)
        assert 59 < reader.mean("x", x=(55, 100)).estimate <= 100
        assert reader.mean("x", x=(100, 100)).error == pytest.approx(0, abs=1e-4)


def test_the_error_of_a_mean_grows_with_what_is_hidden_inside_cells() -> None:
    frame = pl.DataFrame(
        {
            "exact": [str(age) for age in range(20, 60)],
            "wide": ["20..60"] * 40,
            "group": ["a|b"] * 20 + ["a"] * 20,
        }
    )
    schema = shoal.Schema.infer(
        frame,
        quasi=["exact", "wide", "group"],
        kinds={"exact": "numeric", "wide": "numeric", "group": "categorical"},
    )
    reader = shoal.open_release(frame, schema, shoal.KAnonymity(k=5))
    asked = reader._asked({"group": "a"})
    exact, wide = (mean_evidence(reader._joint, reader._columns[name], asked) for name in ("exact", "wide"))
    assert exact.hidden == 0 < exact.unsure  # which rows count is open, but not their numbers
    assert wide.hidden == pytest.approx(wide.unsure)  # all of the variance is inside cells
    weights = Weights(0, 0, 0, 0, hidden=0.5)
    assert standard_error(exact, weights) == 0
    assert standard_error(wide, weights) == pytest.approx(wide.hidden / 2)


def test_a_mean_leaves_out_missing_values() -> None:
    frame = pl.DataFrame({"x": ["1", "3", "", "*"], "y": ["a", "a", "b", "b"]})
    schema = shoal.Schema.infer(pl.DataFrame({"x": [1, 3], "y": ["a", "b"]}), quasi=["x", "y"])
    reader = shoal.open_release(frame, schema)
    assert reader.mean("x", y="a").estimate == pytest.approx(2)
    assert 1 <= reader.mean("x", y="b").estimate <= 3
    for cells in (["*", "*"], ["*", "3"]):
        with pytest.raises(shoal.InputError, match="its numbers are suppressed"):
            shoal.open_release(pl.DataFrame({"x": cells, "y": ["a", "b"]}), schema).mean("x")


@pytest.mark.parametrize("flavour", ["polars", "pandas", "pyarrow"])
def test_drawn_tables_are_ordinary_and_say_that_they_are_drawn(folder: Path, flavour: Any) -> None:
    first, second = shoal.open_release(folder).draw(2, seed=1, flavour=flavour)
    assert type(first).__module__.split(".")[0] == flavour
    names = list(first.columns) if flavour != "pyarrow" else first.column_names
    assert names == ["age", "sex", "zip", *names[3:]]
    if flavour == "pandas":
        assert "drawn" in first.attrs["shoal"]
        assert not first.equals(second)
    if flavour == "pyarrow":
        assert b"drawn" in first.schema.metadata[b"shoal"]
    if flavour == "polars":
        assert first["age"].dtype == pl.Int64


def test_frames_have_typed_columns(folder: Path) -> None:
    reader = shoal.open_release(folder)
    ends = reader.frame("low-high")
    known = ends.filter(pl.col("age_low").is_not_null())
    assert (known["age_low"] <= known["age_high"]).all()
    assert reader.frame("middle")["age"].dtype == pl.Float64
    members = reader.frame("members")
    assert members["sex=female"].dtype == pl.Boolean
    long = reader.frame("long", copies=4, seed=1)
    assert long.height == 4 * len(reader)
    assert long["weight"].sum() == pytest.approx(len(reader))
    with pytest.raises(shoal.InputError, match="form 'wide' is unknown"):
        reader.frame("wide")  # type: ignore[arg-type]


def test_text_and_parquet_are_read_alike(patients: Any, schema: shoal.Schema, tmp_path: Path) -> None:
    release = shoal.anonymize(patients, schema, shoal.KAnonymity(k=5), seed=1)
    readers = [
        shoal.open_release(release.save(tmp_path / form, format=form))  # type: ignore[arg-type]
        for form in ("csv", "parquet")
    ]
    for question in ({"age": (20, 29)}, {"sex": "male", "zip": "02134"}, {"age": None}):
        try:
            answers = [reader.count(question) for reader in readers]
        except shoal.InputError:
            continue
        assert answers[0].certain == answers[1].certain
        assert answers[0].possible == answers[1].possible


def test_items_are_read_as_base_and_uncertain_items() -> None:
    generator = np.random.default_rng(1)
    sets = [sorted({f"i{each}" for each in generator.integers(0, 8, size=4)}) for _ in range(120)]
    frame = pl.DataFrame({"basket": sets})
    schema = shoal.Schema.infer(frame, quasi=["basket"], kinds={"basket": "items"})
    release = shoal.anonymize(frame, schema, shoal.SetAnonymity(k=4), seed=1)
    for form in ("csv", "parquet"):
        reader = shoal.open_release(release.written(form), schema, release.model)  # type: ignore[arg-type]
        for item in ("i0", "i3", ["i1", "i2"]):
            wanted = {item} if isinstance(item, str) else set(item)
            truth = sum(bool(wanted & set(each)) for each in sets)
            answer = reader.count(basket=item)
            assert answer.certain <= truth <= answer.possible
            assert answer.certain <= answer.estimate <= answer.possible
        assert reader.draw(1, seed=1)[0].columns == ["basket"]


def test_a_release_is_read_where_nothing_else_exists(folder: Path, tmp_path: Path) -> None:
    """No method, no audit, no model and no original is needed, nor imported."""
    code = (
        "import sys\n"
        "from shoal.reading import open_release\n"
        "print(open_release('out').count(age=(30, 39)).estimate > 0)\n"
        "wrong = [m for m in sys.modules if m.startswith(('shoal.methods', 'shoal.auditing', 'shoal.schema',"
        " 'shoal.models', 'shoal.engines', 'shoal.table'))]\n"
        "print(wrong)\n"
    )
    for name in ("release.csv", "codebook.json"):
        (tmp_path / "out").mkdir(exist_ok=True)
        (tmp_path / "out" / name).write_bytes((folder / name).read_bytes())
    room = (
        "import importlib.machinery, importlib.util, sys, types\n"
        "found = importlib.util.find_spec('shoal')\n"
        "bare = types.ModuleType('shoal')\n"
        "bare.__path__ = list(found.submodule_search_locations)\n"
        "sys.modules['shoal'] = bare\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", room + code], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.stdout.split("\n")[:2] == ["True", "[]"], done.stderr


def test_questions_are_read_as_people_write_them() -> None:
    columns = ["age", "sex", "marital status", "age group"]
    assert read_question("age 30..39, sex=Female", columns) == {"age": ("30", "39"), "sex": "Female"}
    assert read_question("age group=a|b,marital status=", columns) == {
        "age group": ["a", "b"],
        "marital status": None,
    }
    assert read_question(r"sex=a\,b", columns) == {"sex": "a,b"}
    assert read_question("", columns) == {}
    with pytest.raises(shoal.InputError, match="did you mean 'age'"):
        read_question("agee 3", columns)
    with pytest.raises(shoal.InputError, match="two conditions"):
        read_question("age 3, age 4", columns)
    with pytest.raises(shoal.InputError, match="write age 30"):
        read_question("age>=30", columns)


def test_a_range_may_lack_an_end(folder: Path) -> None:
    reader = shoal.open_release(folder)
    assert reader.count(age=(60, None)) == reader.count(age=(60, 200)) == reader.count(age="60..")
    assert reader.count(age=(None, 20)) == reader.count(age=(0, 20)) == reader.count(age="..20")
    assert asked(reader, "age 60.., sex=female", None) == reader.count(age=(60, 200), sex="female")
    assert reader.count(age=(None, None)).certain == reader.count(age=(0, 200)).certain
    assert reader.table({"age": [(None, 59), (60, None)]})["age"].to_list() == ["..59", "60.."]


def test_numbers_that_are_carried_along_are_numbers(folder: Path, patients: Any) -> None:
    """A CSV file has them as text, and text is compared letter by letter: "10" is less than "5"."""
    reader = shoal.open_release(folder)
    days = sum(each for each in patients["days"] if each is not None)
    for table in (*reader.draw(1, seed=1), reader.frame("low-high"), reader.frame("long", copies=1, seed=1)):
        assert table["days"].dtype == pl.Int64
        assert table["days"].sum() == days
    frame = pl.DataFrame(
        {"age": ["1..2", "1..2"], "a": ["0.5", ""], "b": ["7", "none"], "c": ["1", "x"], "d": ["02", "3"]}
    )
    columns = [{"name": "age", "role": "quasi", "kind": "numeric"}]
    columns += [{"name": name, "role": "other", "kind": "numeric"} for name in "ab"]
    columns[2]["missing_marks"] = ["none"]  # type: ignore[assignment]
    columns += [{"name": name, "role": "other", "kind": "categorical"} for name in "cd"]
    read = shoal.open_release(frame, codebook={"codebook": 1, "columns": columns}).frame("low-high")
    assert read.select("a", "b").to_dict(as_series=False) == {"a": [0.5, None], "b": [7, None]}
    assert read.select("c", "d").equals(frame.select("c", "d"))


def test_a_condition_that_says_two_dots_can_be_a_value() -> None:
    frame = pl.DataFrame({"rank": ["low..", "high"] * 4, "label": ["a..", "b"] * 4})
    schema = shoal.Schema.infer(
        frame, quasi=["rank", "label"], kinds={"rank": "ordinal"}, domains={"rank": ["low..", "high"]}
    )
    reader = shoal.open_release(frame, schema)
    assert reader.count(rank="low..").certain == reader.count(label="a..").certain == 4


def test_what_cannot_be_answered_is_said(folder: Path, tmp_path: Path) -> None:
    reader = shoal.open_release(folder)
    with pytest.raises(shoal.InputError, match="did you mean 'female'"):
        reader.count(sex="Female")
    with pytest.raises(shoal.InputError, match="is not in the release"):
        reader.count(height=3)
    with pytest.raises(shoal.InputError, match="not a numeric value"):
        reader.count(age="old")
    with pytest.raises(shoal.InputError, match=r"a range is written 30\.\.39"):
        reader.count(age="30-39")
    with pytest.raises(shoal.InputError, match=r"39\.\.30 ends before it begins"):
        reader.count(age=(39, 30))
    with pytest.raises(shoal.InputError, match="estimator 'best' is unknown"):
        shoal.open_release(folder, estimator="best")  # type: ignore[arg-type]
    with pytest.raises(shoal.InputError, match="nothing describes"):
        shoal.open_release(pl.DataFrame({"age": ["1"]}))
    with pytest.raises(shoal.InputError, match="there is no release"):
        shoal.open_release(tmp_path)


def test_answers_in_words_show_the_ends_of_an_interval_apart(folder: Path) -> None:
    shown = dict(facts(Answer(36.2961, 0.012, 10, 12)))
    assert shown["95% interval"] == "36.27 to 36.32"
    assert dict(facts(Count(10_200.0, 40.0, 10, 20_000)))["estimate"] == "10,200"
    reader = shoal.open_release(folder)
    groups = grouped(reader, "", ["age"], None)
    assert groups[-1]["age"] == ""
    head, lines = group_table([{**each, "possible": 1} for each in groups], ["age"], None)
    assert head[:2] == ["age", "rows"]
    assert lines[-1][0] == "(missing)"
    without = [{**each, "possible": 0} if each["age"] == "" else each for each in groups]
    assert [line[0] for line in group_table(without, ["age"], None)[1]] == [line[0] for line in lines[:-1]]


def test_a_codebook_can_be_that_of_another_reader(folder: Path) -> None:
    reader = shoal.open_release(folder)
    other = shoal.open_release(folder / "release.csv", codebook=reader.codebook, estimator="even")
    assert other.codebook is reader.codebook


def test_answers_depend_on_the_seed_alone(folder: Path) -> None:
    answers = [shoal.open_release(folder, seed=3).count(age=(30, 50), sex="male") for _ in range(2)]
    assert answers[0] == answers[1]


@pytest.mark.parametrize(
    ("kind", "cell"),
    [
        ("numeric", "34..x"),
        ("numeric", "5..nan"),
        ("numeric", "[5, x)"),
        ("numeric", "58..34"),
        ("date", "1999-12-31..2024-02-"),
        ("date", "2024-01-01..1999-01-01"),
        ("ordinal", "a..x"),
        ("ordinal", "c..a"),
    ],
)
def test_an_interval_that_ends_nowhere_is_refused(kind: str, cell: str) -> None:
    order = ("a", "b", "c") if kind == "ordinal" else None
    schema = shoal.Schema((shoal.Column("x", "quasi", kind, domain=order),))
    with pytest.raises(shoal.InputError, match="is neither a"):
        shoal.open_release(pl.DataFrame({"x": ["*", cell]}), schema=schema).count()


def test_numbers_beyond_floats_can_be_read() -> None:
    schema = shoal.Schema((shoal.Column("x", "quasi", "numeric"),))
    reader = shoal.open_release(pl.DataFrame({"x": ["1e350", "-1e350..1e350", "3", "1..5"]}), schema=schema)
    assert reader.count({"x": (0, 10)}).certain == 2


def test_an_interval_reaches_what_is_possible_where_nothing_is_known() -> None:
    """No cell names a value: a suppressed column says nothing about how frequent it is."""
    frame = pl.DataFrame({"age": ["30", "31", "*", "*"], "town": ["*"] * 4})
    schema = shoal.Schema.infer(
        pl.DataFrame({"age": [30, 31], "town": ["Salem", "Reno"]}), quasi=["age", "town"]
    )
    reader = shoal.open_release(frame, schema)
    for answer in (reader.count(town="Salem"), reader.count(town=["Salem", "Reno"])):
        assert answer.interval == (0, 4)
    assert reader.count(age=(80, 90)).interval == (0, 2)
    assert reader.count(age=(30, 31)).interval[0] >= 2


@pytest.mark.parametrize(
    ("model", "own"),
    [
        (shoal.Freeform(k=4), False),
        (shoal.KOne(k=4), True),
        (shoal.Concealment(k=4), False),  # others than the row's own record are as likely
        (shoal.Concealment(k=4, chance=1), True),
    ],
    ids=repr,
)
def test_a_codebook_says_whether_rows_are_those_of_their_own_records(model: Any, own: bool) -> None:
    schema = shoal.Schema.infer(pl.DataFrame({"age": [1, 2, 3, 4]}), quasi=["age"])
    assert codebook_of(model, schema, {})["tight"] == {"around": "rows", "records": 4, "own": own}
    assert Codebook.of_schema(schema, model).tightness.own is own
