"""Results of the page without a browser: warnings, files, attacks, and the words for what can be chosen."""

from __future__ import annotations

from contextlib import chdir
from pathlib import Path
from typing import Any

import pytest

import shoal
from shoal.attacking.results import WITHOUT_CONTROL, attack_cells, attacks_in_words, most_gained
from shoal.base.choices import CHOICES
from shoal.cli import earlier_options, limit_options, options
from shoal.methods import silent
from shoal.release import COPIES
from shoal.samples import hospital
from shoal.web import cards, export, run
from shoal.web.again import read_after
from shoal.web.planning import FORMS
from shoal.web.result import _shortened, warnings_of
from shoal.web.state import Plan, Run, Snapshot
from shoal.web.summary import confirmation, dangers, reminder, summary
from shoal.web.tasks import Source, attack_release, make, weigh


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Source:
    path = tmp_path_factory.mktemp("tables") / "patients.csv"
    hospital(150).select("name", "age", "sex", "diagnosis", "days").write_csv(path)
    return Source(path, "patients.csv")


def with_dangers(source: Source, folder: Path, **choices: Any) -> Run:
    """Return a run with a published name and an unprotected sensitive column."""
    schema = shoal.Schema.infer(source.read(), quasi=["age", "sex"], sensitive=["diagnosis", "days"])
    model = shoal.Freeform(k=5, l=2, diverse=["diagnosis"])
    weighed = weigh(source, schema, silent)
    found = dangers(schema, weighed, model)
    plan = Plan(source, schema, model, choices, dangers=found)
    release = shoal.anonymize(source.read(), schema, model, **choices)
    release.write_files(folder)
    kept = Snapshot(source, {}, [], schema, weighed, {}, found, {})
    return Run(1, plan, folder, {"certificate": release.certificate}, snapshot=kept)


def test_each_warning_is_given_once_and_the_most_serious_first(source: Source, tmp_path: Path) -> None:
    found = warnings_of(with_dangers(source, tmp_path, seed=1))
    assert found[0].startswith("Do not publish this release.")
    for word in ("name", "days"):
        about = [each for each in found if f"{word} is " in each or f"'{word}'" in each]
        certain = [each for each in about if "an attacker is certain of" in each]
        assert len(about) - len(certain) == 1, (word, about)


def test_the_summary_of_many_columns_stays_short() -> None:
    columns = [shoal.Column(f"q{number}", shoal.Role.IDENTIFIER) for number in range(300)]
    schema = shoal.Schema((shoal.Column("age", shoal.Role.QUASI), *columns))
    shown = str(summary(schema, {"left_out": 0, "diversity": {}}, None))
    before, _, folded = shown.partition("and 285 more")
    assert "q14" in before
    assert "q15" not in before
    assert "q299" in folded


def test_many_warnings_and_a_long_verdict_are_folded() -> None:
    found = [f"warning {number}." for number in range(82)]
    for shown in (confirmation(found, confirmed=False), reminder(found, "dangers")):
        before, _, folded = str(shown).partition("and 74 more")
        assert "82 warnings" in before
        assert "warning 7." in before
        assert "warning 8." not in before
        assert "warning 81." in folded
    assert "<details" not in str(reminder(found[:8], "dangers"))
    words = " ".join(f"column{number}" for number in range(100))
    before, _, folded = str(_shortened(words)).partition("All of it")
    assert "column99" not in before
    assert words in folded
    assert "details" not in str(_shortened("The guarantee holds."))


def test_a_release_is_attacked(source: Source, tmp_path: Path) -> None:
    run = with_dangers(source, tmp_path)
    found = attack_release(source, run.plan.schema, run.file, silent)
    lines = [attack_cells(each) for each in found["results"]]
    titles = [line[0] for line in lines]
    assert titles[0] == "singling out"
    assert "inference of diagnosis" in titles
    assert {line[2] for line in lines} == {"no control group"}
    assert WITHOUT_CONTROL in attacks_in_words(found)


@pytest.mark.parametrize(
    ("risks", "words"),
    [
        (
            [(0.0, 0.0, 0.1), (0.3, 0.2, 0.4)],
            "An attacker gains most in inference: the risk is 30% (20% to 40%).",
        ),
        (
            [(0.0, 0.0, 0.1), (0.3, 0.0, 0.4)],
            "No risk is certain: the interval of each begins at 0%. The highest is that of inference: 30% "
            "(0% to 40%).",
        ),
        ([], "No attack was possible."),
    ],
)
def test_the_attack_that_gains_most_is_named(risks: list[tuple[float, ...]], words: str) -> None:
    titles = ("linkability", "inference")
    results = [
        {"title": title, "risk": dict(zip(("value", "low", "high"), risk, strict=True))}
        for title, risk in zip(titles, risks, strict=False)
    ]
    assert most_gained({"results": results}) == words


def test_a_release_is_made_after_an_earlier_one(tmp_path: Path) -> None:
    """Once with new persons only, once with the rows of the earlier release; its script does the same."""
    patients = hospital(120).select("patient", "age", "sex")
    roles = {"quasi": ["age", "sex"], "person": "patient"}
    schema, model = shoal.Schema.infer(patients, **roles), shoal.KAnonymity(k=4)  # type: ignore[arg-type]
    names = {"after_release": "release.csv", "after_table": "before.csv", "after_key": "key.csv"}
    patients[:80].write_csv(tmp_path / "before.csv")
    patients.write_csv(tmp_path / "now.csv")
    shoal.anonymize(patients[:80], schema, model).write_files(tmp_path, keep_key=True)
    entries: dict[str, Any] = {field: (name, tmp_path / name) for field, name in names.items()}
    for stable, rows in ((False, 40), (True, 120)):
        after, problems = read_after({**entries, "keep_rows": stable}.get, schema, {}, "csv")
        assert problems == {}
        source, folder = Source(tmp_path / "now.csv", "now.csv"), tmp_path / str(stable)
        folder.mkdir()
        found = make(source, schema, model, {"seed": 3}, "csv", False, after, folder, silent)
        assert found["certificate"]["rows"] == rows
        plan = Plan(source, schema, model, {"seed": 3}, after=after)
        assert plan.leaves_out
        asked = "--after release.csv --after-table before.csv --key key.csv"
        assert (asked + " --stable" in export.command(plan)) is stable
        (tmp_path / "schema.toml").write_text(schema.to_toml())
        script = export.script(plan).replace("save('release')", f"save('by-script-{stable}')")
        with chdir(tmp_path):
            exec(compile(script, "repeat.py", "exec"), {})
        by_script = (tmp_path / f"by-script-{stable}" / "release.csv").read_text()
        assert by_script == (folder / "release.csv").read_text()


def test_what_a_release_after_another_does_not_support_is_named() -> None:
    schema = shoal.Schema((shoal.Column("who", shoal.Role.PERSON), shoal.Column("age", shoal.Role.QUASI)))
    given: dict[str, Any] = {"after_release": ("r.csv", Path("r.csv")), "keep_rows": True}
    _, problems = read_after(given.get, schema, {"hold_out": 0.1, "most_per_person": 2}, "parquet")
    assert set(problems) == {"hold_out", "most_per_person", "after_table", "after_key", "form"}
    no_person = shoal.Schema((shoal.Column("age", shoal.Role.QUASI),))
    assert read_after(given.get, no_person, {}, "csv") == (None, {})


@pytest.mark.parametrize(
    ("form", "files"),
    [
        ("csv", ["release.csv"]),
        ("parquet", ["release.parquet"]),
        *((each, ["release.csv", f"release.{each}"]) for each in COPIES),
    ],
)
def test_every_format_of_a_release_is_offered(source: Source, form: Any, files: list[str]) -> None:
    schema = shoal.Schema.infer(source.read(), quasi=["age"])
    assert Plan(source, schema, shoal.Freeform(k=5), {}, form).files == files
    assert form in FORMS


def test_command_line_and_page_have_the_same_words() -> None:
    declared = {
        "seed": options.Seed,
        "hold_out": options.HoldOut,
        "predict": options.Predict,
        "run_again": options.RunAgain,
        "keep_key": options.KeepKey,
        "leave_out": limit_options.LeaveOut,
        "most_per_person": options.MostPerPerson,
        "stable": earlier_options.Stable,
        "widest": limit_options.Limits,
        "bands": limit_options.ForBands,
    }
    assert set(declared) == set(CHOICES)
    schema = shoal.Schema(
        (
            shoal.Column("name", shoal.Role.PERSON),
            shoal.Column("age", shoal.Role.QUASI, shoal.Kind.NUMERIC, widest=10),
        )
    )
    column = {"name": "age", "role": "quasi", "kind": "numeric", "distinct": 9, "missing": 0, "reason": "r"}
    card = cards.column_card(0, {**column, "missing_share": 0, "unique_share": 0, "histogram": []}, {})
    page = str(run._control()) + str(run._more(schema)) + str(card).replace("'", "")
    for name, option in declared.items():
        words = CHOICES[name].help
        assert words.rstrip(".").lower() in option.__metadata__[0].help.lower(), name
        assert words.replace("'", "") in page, name
        assert CHOICES[name].label in page
