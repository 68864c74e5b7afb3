"""What the page is made of, without a browser: names of files, fields, time left, commands, processes."""

from __future__ import annotations

import asyncio
import json
import os
import re
import time
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from htmltools import TagList, tags

import shoal
from shoal.samples import hospital
from shoal.schema import Kind, Role, Schema
from shoal.web import export, parts
from shoal.web.columns import described
from shoal.web.data import shown_name, tables_in
from shoal.web.memory import Memory
from shoal.web.parameters import usual_k
from shoal.web.planning import planned, suitable
from shoal.web.project import filled_in, read_project
from shoal.web.result import promise_words
from shoal.web.sessions import Sessions
from shoal.web.state import Pace, Plan, Run
from shoal.web.tasks import Source, as_on_page, explained, folded, look
from shoal.web.work import Job

NAMES = ["age", "sex", "zip", "diagnosis"]
USUAL = {
    "kind": "categorical",
    "hierarchy": "none",
    "rule": "",
    "levels": None,
    "missing": "category",
    "marks": "",
    "weight": 1,
    "order": "",
    "dates": "",
    "separator": "",
    "widest": "",
    "bands": "",
    "exact": False,
    "shown": False,
}


def fields(**changes: Any) -> dict[str, Any]:
    roles = ["quasi", "quasi", "quasi", "sensitive"]
    given = {f"role_{place}": role for place, role in enumerate(roles)}
    for place in range(len(roles)):
        given |= {f"{name}_{place}": value for name, value in USUAL.items()}
    return {**given, "kind_0": "numeric", **changes}


def schema(**changes: Any) -> Schema:
    found, problems = described(NAMES, fields(**changes).__getitem__)
    assert problems == {}
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("given", "shown"),
    [
        ("patients.csv", "patients.csv"),
        ("../../etc/passwd.csv", "passwd.csv"),
        ("C:\\data\\a b.csv", "a b.csv"),
        ("a\0b\n.csv", "ab.csv"),
        ("..", "table"),
        ("", "table"),
        ("<b>.csv", "<b>.csv"),
        ("x" * 300 + ".csv", "x" * 96 + ".csv"),
    ],
)
def test_names_of_files_are_only_names(given: str, shown: str) -> None:
    assert shown_name(given) == shown


def test_only_tables_of_the_folder_itself_are_offered(tmp_path: Path) -> None:
    inside, outside = tmp_path / "inside", tmp_path / "secret.csv"
    (inside / "deeper").mkdir(parents=True)
    outside.write_text("a\n1\n")
    for name in ("b.csv", "a.parquet", "notes.md", "deeper/c.csv"):
        (inside / name).write_text("a\n1\n")
    (inside / "link.csv").symlink_to(outside)
    assert tables_in(inside) == ["a.parquet", "b.csv"]
    assert tables_in(tmp_path / "removed") == []


def test_fields_describe_columns() -> None:
    made = schema(hierarchy_2="prefixes", rule_2="3, 2", marks_1="?, n/a", weight_0=2, missing_1="suppress")
    assert [column.role for column in made] == [Role.QUASI] * 3 + [Role.SENSITIVE]
    assert made["age"].kind is Kind.NUMERIC
    assert made["age"].weight == 2
    assert made["zip"].hierarchy == shoal.Prefixes((3, 2))
    assert made["sex"].missing_marks == ("?", "n/a")
    assert schema(hierarchy_0="intervals", rule_0="5 10")["age"].hierarchy == shoal.Intervals((5, 10))
    ordered = schema(kind_1="ordinal", order_1="low, high")
    assert ordered["sex"].domain == ("low", "high")


def test_levels_are_read_from_small_text_files_only(tmp_path: Path) -> None:
    levels = tmp_path / "0.csv"
    levels.write_text("f;*\nm;*\n")
    made = schema(hierarchy_1="file", levels_1=("x.csv", levels))
    assert isinstance(made["sex"].hierarchy, shoal.Hierarchy)
    packed = levels.with_name("0.gz")
    packed.write_bytes(b"")
    for given, words in (
        (None, "Choose the hierarchy file"),
        (("x.gz", packed), "must be"),
    ):
        _, problems = described(NAMES, fields(hierarchy_1="file", levels_1=given).__getitem__)
        assert words in problems["hierarchy_1"]


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"hierarchy_0": "intervals", "rule_0": "wide"}, "hierarchy_0"),
        ({"hierarchy_2": "prefixes", "rule_2": ""}, "hierarchy_2"),
        ({"weight_1": -1}, "role_1"),
        ({"kind_1": "ordinal"}, "role_1"),
        ({f"role_{place}": "other" for place in range(4)}, "columns"),
    ],
)
def test_what_is_wrong_stands_beside_its_field(changes: dict[str, Any], field: str) -> None:
    found, problems = described(NAMES, fields(**changes).__getitem__)
    assert found is None
    assert list(problems) == [field]


ASKED = {
    "k": 4,
    "l": None,
    "p": None,
    "entropy_l": None,
    "two_sided": False,
    "withhold": 0,
    "epsilon": 1.5,
    "delta": 0.25,
    "distance": "",
    "up_to": None,
    "never": None,
    "method": "",
    "effort": "",
    "seed": "",
    "form": "csv",
    "keep_key": False,
}


def plan(source: Source, described_by: Schema, model: str, **changes: Any) -> Plan:
    made, problems = planned(source, described_by, model, {**ASKED, **changes}.get)
    assert problems == {}
    assert made is not None
    return made


@pytest.mark.parametrize(
    ("model", "changes", "field"),
    [
        ("freeform", {"k": None}, "k"),
        ("freeform", {"k": 1}, "k"),
        ("freeform", {"k": 2.5}, "k"),
        ("freeform", {"l": 0.5}, "l"),
        ("freeform", {"seed": "often"}, "seed"),
        ("freeform", {"predict": "no such column"}, "predict"),
        ("freeform", {"run_again": "2.5"}, "run_again"),
        ("kk", {"withhold": 1}, "withhold"),
        ("dissimilarity", {"epsilon": None, "delta": 2}, "epsilon"),
        ("dissimilarity", {"delta": 2}, "delta"),
        ("patterned", {"up_to": -1}, "up_to"),
    ],
)
def test_impossible_promises_are_refused_at_their_field(
    model: str, changes: dict[str, Any], field: str
) -> None:
    made, problems = planned(Source(Path("t.csv"), "t.csv"), schema(), model, {**ASKED, **changes}.get)
    assert made is None
    assert field in problems


def test_models_that_suit_a_table() -> None:
    assert all(model.title and model.explanation for model in shoal.models.MODELS.values())
    assert suitable(schema())[0] == "freeform"
    assert "dissimilarity" in suitable(schema())
    assert "dissimilarity" not in suitable(schema(role_3="other"))
    assert suitable(schema(kind_1="items")) == ["set-anonymity", "set-diversity"]
    assert suitable(schema(kind_1="items", role_3="other")) == ["set-anonymity"]
    assert [usual_k(records) for records in (1, 30, 1000)] == [2, 3, 10]


def test_time_left_is_told_when_it_is_known() -> None:
    now = 0.0
    pace = Pace(lambda: now).at("sorting", 0.0)
    assert pace.left() == ""
    now = 10.0
    assert pace.at("sorting", 0.25).left() == "about 30 s left in this stage"
    now = 100.0
    assert pace.at("sorting", 0.1).left() == "about 15 minutes left in this stage"
    assert pace.at("auditing", 0.5).left() == ""  # has just begun
    assert pace.words() == "1 min 40 s so far"
    now = 110.0
    assert pace.words() == "1 min 50 s so far, about 10 s left in this stage"
    now = 120.0  # nothing was heard meanwhile, so it takes longer than it seemed
    assert pace.words() == "2 min 0 s so far, about 20 s left in this stage"


def test_panels_of_a_result_fold() -> None:
    panel = (
        '<section id="{0}" aria-labelledby="title-{0}">\n<h3 id="title-{0}">T</h3>\n<p>{0}</p>\n</section>\n'
    )
    names = ("decision", "adversary", "loss", "making")
    shown = folded("<p>before</p>" + "".join(map(panel.format, names)))
    assert shown.startswith("<p>before</p><section")
    assert shown.count("<details") == shown.count("</details></section>") == 4
    unfolded = re.findall(r'<details open><summary><h3 id="title-(\w+)"', shown)
    assert unfolded == ["adversary", "loss"]  # risk and information loss
    assert [f"<p>{each}</p>" in shown for each in names] == [True] * 4


@pytest.fixture(scope="module")
def clinic(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("clinic")
    hospital(120).select(*NAMES[:3], "diagnosis").write_csv(folder / "-odd name'.csv", separator=";")
    return folder


def run_command(command: str, folder: Path) -> None:
    """Run a command line of ours in a folder, in this process."""
    import shlex

    from shoal.cli.app import app

    before = Path.cwd()
    os.chdir(folder)
    try:
        app(shlex.split(command)[1:], standalone_mode=False)
    finally:
        os.chdir(before)


@pytest.mark.parametrize(
    ("model", "changes"),
    [
        ("freeform", {"l": 2, "effort": "fast"}),
        ("k-anonymity", {"p": 3, "method": "mondrian"}),
        ("concealment", {"two_sided": True, "entropy_l": 1.25}),
        ("kk", {"withhold": 0.05, "chance": 0.4}),
        ("k1", {}),
        ("1k", {}),
        ("patterned", {"up_to": 2, "never": ["sex"]}),
        ("patterned", {}),
        ("dissimilarity", {"epsilon": 0, "delta": 0.123456789, "distance": "equality"}),
    ],
)
def test_command_and_script_make_the_same_release(
    clinic: Path, tmp_path: Path, model: str, changes: dict[str, Any]
) -> None:
    name = "-odd name'.csv"
    source = Source(clinic / name, name, delimiter=";", encoding="utf-8")
    made = plan(source, schema(hierarchy_2="prefixes", rule_2="3"), model, seed="7", **changes)
    release = shoal.anonymize(source.read(), made.schema, made.model, **made.choices)
    (tmp_path / name).write_bytes(source.path.read_bytes())
    export.write_beside(made, tmp_path)
    # The seed is on the screen, and in no file.
    run_command(export.command(made), tmp_path)
    assert (tmp_path / export.COMMAND).read_text().splitlines()[-1] == export.command(made).replace(
        " --seed 7", ""
    )
    script = (tmp_path / export.SCRIPT).read_text()
    assert script.endswith(export.script(made).replace(", seed=7", ""))
    by_command = pl.read_csv(tmp_path / "release" / "release.csv", infer_schema=False)
    os.rename(tmp_path / "release", tmp_path / "by-command")
    before = Path.cwd()
    os.chdir(tmp_path)
    try:
        exec(compile(export.script(made), export.SCRIPT, "exec"), {})
    finally:
        os.chdir(before)
    by_script = pl.read_csv(tmp_path / "release" / "release.csv", infer_schema=False)
    assert by_command.equals(by_script)
    assert by_command.equals(release.table.cast(pl.String))


def test_the_bundle_has_everything_but_the_key(clinic: Path, tmp_path: Path) -> None:
    import zipfile

    source = Source(clinic / "-odd name'.csv", "t.csv", delimiter=";")
    made = plan(source, schema(), "k-anonymity", keep_key=True)
    release = shoal.anonymize(source.read(), made.schema, made.model)
    release.write_files(tmp_path, keep_key=True)
    export.write_beside(made, tmp_path)
    names = set(zipfile.ZipFile(export.bundle(Run(1, made, tmp_path, {}))).namelist())
    assert (tmp_path / "key.csv").exists()
    assert "--keep-key" in export.command(made)
    assert names == {
        f"release/{name}"
        for name in (
            "release.csv",
            "certificate.json",
            "codebook.json",
            "report.html",
            "report.json",
            "evidence.html",
            "schema.toml",
            "repeat.sh",
            "repeat.py",
        )
    }


def follow(job: Job, *, end_after: int | None = None) -> list[dict[str, Any]]:
    async def listen() -> list[dict[str, Any]]:
        told = []
        async for message in job.messages():
            told.append(message)
            if end_after == len(told):
                job.end()
        return told

    return asyncio.run(listen())


def test_work_tells_progress_and_a_result(clinic: Path, tmp_path: Path) -> None:
    told = follow(Job("look", Source(clinic / "-odd name'.csv", "t.csv"), {}, tmp_path))
    assert all("progress" in message for message in told[:-1])
    assert told[-1]["result"]["rows"] == 120
    assert told[-1]["result"]["dialect"]["delimiter"] == ";"


def test_errors_call_files_by_their_names(tmp_path: Path) -> None:
    (tmp_path / "table.csv").write_bytes(b"a,b\n1\n")
    told = follow(Job("look", Source(tmp_path / "table.csv", "mine.csv"), {}, tmp_path))
    assert told[-1]["error"]["reason"] == "ragged-row"
    assert str(tmp_path) not in told[-1]["error"]["message"]
    assert told[-1]["error"]["message"].startswith("mine.csv: line 2")


def test_a_worker_that_a_signal_ends_is_no_bug(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shoal.web.work._WORKER", "import os; os.abort()")
    told = follow(Job("look", Source(tmp_path / "t.parquet", "t.parquet"), {}, tmp_path))
    assert told[-1]["error"]["reason"] == "too-large"
    assert "signal 6. The file may be damaged, or memory may be short" in told[-1]["error"]["message"]


def test_work_can_be_ended_at_once(tmp_path: Path) -> None:
    pl.DataFrame({"a": pl.Series(range(300_000)) % 9973, "b": pl.Series(range(300_000)) % 997}).write_csv(
        tmp_path / "t.csv"
    )
    source = Source(tmp_path / "t.csv", "t.csv")
    frame_schema = Schema.infer(source.read(), quasi=["a", "b"])
    arguments = {
        "schema": frame_schema,
        "model": shoal.Freeform(k=50),
        "choices": {},
        "form": "csv",
        "keep_key": False,
        "after": None,
        "folder": tmp_path,
    }
    started = time.monotonic()
    told = follow(Job("make", source, arguments, tmp_path), end_after=2)
    assert all("progress" in message for message in told)
    assert time.monotonic() - started < 60  # the whole takes far longer
    assert not (tmp_path / "release.csv").exists()


def test_fields_are_drawn_again_as_they_were() -> None:
    def drawn() -> str:
        shown = TagList(
            parts.number("k", "k", 10),
            parts.choice("effort", "Effort", {"": "default", "best": "best"}, ""),
            parts.tick("keep_key", "Key"),
            tags.div(
                [tags.input(type="radio", name="model", value=each) for each in ("a", "b")],
                id="model",
                class_="shiny-input-radiogroup",
            ),
        )
        return str(memory.filled(shown))

    memory = Memory()
    before = drawn()
    memory.recall({"k": "10", "effort": "", "keep_key": False, "model": None, "other": "x"})
    assert drawn() == before
    memory.recall({"k": "7", "effort": "best", "keep_key": True, "model": "b"})
    after = drawn()
    assert 'value="7"' in after
    assert 'value="best" selected=""' in after
    assert after.count('checked=""') == 2
    assert drawn() == after
    memory.recall({"effort": "unknown", "model": "c"})  # what a field does not offer is not chosen
    assert 'value="" selected=""' in drawn()
    memory.forget()
    assert drawn() == before


def test_a_run_is_named_by_all_that_was_chosen() -> None:
    source = Source(Path("t.csv"), "t.csv")
    asked = plan(source, schema(), "dissimilarity", epsilon=0, delta=0)
    shown = promise_words(Run(1, asked, Path(), {}))
    assert shown == "dissimilarity, k = 4, epsilon = 0, delta = 0"
    assert promise_words(Run(1, plan(source, schema(), "concealment", two_sided=True), Path(), {})).endswith(
        "k = 4, chance = 0.5, two_sided"
    )


def test_too_many_columns_are_refused(tmp_path: Path) -> None:
    (tmp_path / "wide.csv").write_text(
        ",".join(f"c{n}" for n in range(1001)) + "\n" + ",".join(["1"] * 1001) + "\n"
    )
    told = []
    with pytest.raises(shoal.ShoalError, match="1,001 columns, and the page shows 1,000") as raised:
        look(Source(tmp_path / "wide.csv", "wide.csv"), lambda *each: told.append(each))
    assert explained(raised.value, Source(tmp_path / "wide.csv", "wide.csv"))["message"].startswith(
        "wide.csv:"
    )


def test_the_page_calls_settings_as_it_labels_them() -> None:
    assert as_on_page("set its date_format") == "set its date format"


def test_all_files_together_have_a_limit(tmp_path: Path) -> None:
    sessions = Sessions(tmp_path, 1000, None, 60)
    assert sessions.room() == 4000
    (tmp_path / "session-x").mkdir()
    (tmp_path / "session-x" / "table.csv").write_bytes(bytes(3900))
    assert sessions.room() == 100


def test_a_project_fills_in_what_was_entered(tmp_path: Path) -> None:
    levels = tmp_path / "0.csv"
    levels.write_text('value;all\n"a;b";*\nvalue;*\n')
    made = schema(
        hierarchy_2="prefixes",
        rule_2="3, 2",
        marks_1="?, n/a",
        weight_0="2.5",
        missing_1="suppress",
        hierarchy_1="file",
        levels_1=("x.csv", levels),
        hierarchy_0="intervals",
        rule_0="5, 10",
    )
    (tmp_path / "schema.toml").write_text(made.to_toml())
    loaded = read_project("schema.toml", tmp_path / "schema.toml")
    table = ["more", *reversed(NAMES)]
    entries, lost = filled_in(loaded.schema, table, tmp_path)
    assert lost == []
    again, problems = described(list(reversed(NAMES)), lambda name: entries[_next(name)])
    assert problems == {}
    assert again is not None
    assert {column.name: column for column in again} == {column.name: column for column in made}
    # What has no field is named.
    bounded = Schema((shoal.Column("age", Role.QUASI, Kind.NUMERIC, domain=(0, 120)), *made.columns[1:]))
    assert filled_in(bounded, NAMES, tmp_path)[1] == ["age"]


def _next(name: str) -> str:
    field, _, place = name.rpartition("_")
    return f"{field}_{int(place) + 1}"


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("x.json", "[]", "is not a project file"),
        ("x.json", "{", "is not a project file"),
        ("x.json", '{"format": "shoal project", "version": 9}', "of this version"),
        ("x.json", '{"format": "shoal project", "version": 1, "schema": 1}', "is not a project file"),
        ("x.json", '{"format": "shoal project", "version": 1, "schema": "a = ["}', "x.json is not"),
        ("x.toml", "columns = 1", "x.toml"),
        ("x.toml", '[columns.a]\nhierarchy = "/etc/passwd"', "Attach the file"),
        ("x.toml", '[columns.a]\nrole = "king"', "role 'king' is unknown"),
    ],
)
def test_what_is_no_project_is_refused(tmp_path: Path, name: str, content: str, words: str) -> None:
    (tmp_path / name).write_text(content)
    with pytest.raises(shoal.ShoalError, match=words) as raised:
        read_project(name, tmp_path / name)
    assert str(tmp_path) not in str(raised.value)


def test_settings_of_a_project_are_checked(tmp_path: Path) -> None:
    settings = {"k": "5", "seed": "7", "upload": "x", "l": [1], "two_sided": True, "go": 1, "role_0": "quasi"}
    content = {"format": "shoal project", "version": 1, "schema": schema().to_toml(), "runs": []}
    (tmp_path / "x.json").write_text(json.dumps({**content, "settings": settings}))
    assert read_project("x.json", tmp_path / "x.json").settings == {"k": "5", "two_sided": True}
