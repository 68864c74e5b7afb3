"""Bad input: a clear error, exit code 2, and no file is written."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from calling import call

GOOD = "name,age,sex,zip,diagnosis\n" + "".join(
    f"n{i},{20 + i % 30},{'fm'[i % 2]},0213{i % 4},d{i % 3}\n" for i in range(40)
)


@dataclass(frozen=True)
class Case:
    """One mistake: the table, the options, and what the error must say."""

    reason: str
    says: tuple[str, ...]
    table: str | bytes | None = GOOD
    options: tuple[str, ...] = ("--quasi", "age,sex,zip", "--sensitive", "diagnosis", "--drop", "name")
    k: str = "3"
    output: str = "out"
    files: dict[str, str] = field(default_factory=dict)
    before: Callable[[Path], object] = Path.exists


def other_files(folder: Path) -> None:
    (folder / "out").mkdir()
    (folder / "out" / "thesis.txt").write_text("mine")


CASES = {
    "missing file": Case("missing-file", ("table.csv",), table=None),
    "empty file": Case("empty-file", ("table.csv", "empty"), table=""),
    "header only": Case("no-rows", ("table.csv",), table="name,age,sex,zip,diagnosis\n"),
    "ragged rows": Case("ragged-row", ("line 3", "4", "5"), table=GOOD.replace("n1,21,", "n1,")),
    "wrong delimiter": Case("unknown-column", ("'age'",), options=("--quasi", "age", "--delimiter", ";")),
    "undecodable bytes": Case("encoding", ("--encoding",), table=b"name,age\nM\x81ller,3\nx,4\n"),
    "wrong encoding": Case(
        "encoding", ("ascii",), table="name,age\nMüller,3\n", options=("--encoding", "ascii")
    ),
    "binary file": Case("file-format", ("zip",), table=b"PK\x03\x04rest"),
    "duplicate columns": Case("duplicate-column", ("'age'",), table="age,age\n1,2\n3,4\n"),
    "unknown column": Case(
        "unknown-column", ("'agee'", "did you mean 'age'"), options=("--quasi", "agee,sex")
    ),
    "unknown hierarchy column": Case(
        "unknown-column", ("'zipp'",), options=("--quasi", "age", "--hierarchy", "zipp=zip.csv")
    ),
    "no quasi-identifier": Case("no-quasi-identifier", ("--quasi",), options=()),
    "k below 2": Case("parameter", ("k = 1",), k="1"),
    "k above n": Case("parameter", ("k = 41", "40"), k="41"),
    "one record": Case(
        "parameter", ("k = 2", "no record can hide"), table="age\n3\n", options=("--quasi", "age"), k="2"
    ),
    "every record is withheld": Case(
        "parameter",
        ("withholding leaves no row of 40 records", "withhold a smaller share"),
        options=("--quasi", "age", "--model", "kk", "--withhold", "0.99"),
    ),
    "patterns for another model": Case(
        "parameter",
        ("'freeform'", "'patterns'"),
        options=("--quasi", "age", "--patterns", "p.toml"),
        files={"p.toml": "up_to = 1"},
    ),
    "a file with an equals sign": Case(
        "missing-file", ("a=b.csv does not exist",), options=("--quasi", "age", "--hierarchy", "zip=a=b.csv")
    ),
    "not a number": Case(
        "bad-value",
        ("'age'", "row 2", "'unknown'"),
        table=GOOD.replace("n1,21,", "n1,unknown,"),
        options=("--quasi", "age,sex", "--kind", "age=numeric"),
    ),
    "not a date": Case("bad-value", ("'age'", "row 1"), options=("--quasi", "age", "--kind", "age=date")),
    "infinity": Case(
        "not-finite",
        ("'age'", "row 2"),
        table=GOOD.replace("n1,21,", "n1,inf,"),
        options=("--quasi", "age,sex", "--kind", "age=numeric"),
    ),
    "hierarchy misses values": Case(
        "hierarchy-incomplete",
        ("zip", "'02133'"),
        options=("--quasi", "age,zip", "--hierarchy", "zip=zip.csv"),
        files={"zip.csv": "02130,0213*,*\n02131,0213*,*\n02132,0213*,*\n"},
    ),
    "hierarchy is not a tree": Case(
        "hierarchy-not-a-tree",
        ("'a'",),
        options=("--quasi", "age,zip", "--hierarchy", "zip=zip.csv"),
        files={"zip.csv": "02130,a,b,*\n02131,a,c,*\n"},
    ),
    "hierarchy file missing": Case(
        "missing-file", ("zip.csv",), options=("--quasi", "age,zip", "--hierarchy", "zip=zip.csv")
    ),
    "output has other files": Case("output-exists", ("thesis.txt",), before=other_files),
    "output is a file": Case("output-exists", ("out",), before=lambda folder: (folder / "out").touch()),
    "unwritable output": Case(
        "output-unwritable", ("wall",), output="wall/out", before=lambda folder: (folder / "wall").touch()
    ),
    "column in two roles": Case(
        "role-conflict", ("'age'", "two roles"), options=("--quasi", "age", "--sensitive", "age")
    ),
    "schema file missing": Case("missing-file", ("s.toml",), options=("--schema", "s.toml")),
    "schema is not TOML": Case(
        "schema", ("s.toml",), options=("--schema", "s.toml"), files={"s.toml": "[[["}
    ),
    "schema with unknown key": Case(
        "schema",
        ("'rolle'", "did you mean 'role'"),
        options=("--schema", "s.toml"),
        files={"s.toml": '[columns.age]\nrolle = "quasi"\n'},
    ),
    "schema with unknown role": Case(
        "schema",
        ("'quassi'", "did you mean 'quasi'"),
        options=("--schema", "s.toml"),
        files={"s.toml": '[columns.age]\nrole = "quassi"\n'},
    ),
    "schema of another table": Case(
        "unknown-column",
        ("'height'",),
        options=("--schema", "s.toml"),
        files={"s.toml": '[columns.height]\nrole = "quasi"\n'},
    ),
    "missing values refused": Case(
        "missing-value",
        ("'age'", "row 2"),
        table=GOOD.replace("n1,21,", "n1,,"),
        options=("--quasi", "age,sex", "--missing", "age=error"),
    ),
    "weight is not a number": Case(
        "parameter", ("--weight",), options=("--quasi", "age", "--weight", "age=heavy")
    ),
    "weight is negative": Case("schema", ("'age'", "-1"), options=("--quasi", "age", "--weight", "age=-1")),
    "unknown model": Case(
        "parameter", ("'k-anonimity'",), options=("--quasi", "age", "--model", "k-anonimity")
    ),
    "unknown method": Case("parameter", ("'mondrain'",), options=("--quasi", "age", "--method", "mondrain")),
    "l without sensitive column": Case(
        "no-sensitive", ("--sensitive",), options=("--quasi", "age", "--l", "2")
    ),
    "l below 1": Case("parameter", ("l = 0.5",), options=("--quasi", "age", "--l", "0.5")),
}


@pytest.mark.parametrize("name", CASES)
def test_bad_input_is_explained_and_nothing_is_written(name: str, tmp_path: Path) -> None:
    case = CASES[name]
    if case.table is not None:
        data = case.table if isinstance(case.table, bytes) else case.table.encode()
        (tmp_path / "table.csv").write_bytes(data)
    for file, text in case.files.items():
        (tmp_path / file).write_text(text)
    case.before(tmp_path)
    there = sorted(tmp_path.rglob("*"))

    done = call(tmp_path, "anonymize", "table.csv", "--k", case.k, "-o", case.output, "--json", *case.options)

    assert done.returncode == 2, done.stderr
    assert "Traceback" not in done.stderr
    error = json.loads(done.stdout)["error"]
    assert error["reason"] == case.reason, error
    for words in case.says:
        assert words in (done.stderr if words.startswith("--") else error["message"])
    assert error["message"] in done.stderr
    assert sorted(tmp_path.rglob("*")) == there


def test_an_infeasible_promise_is_no_input_error_but_says_what_can_be_had(tmp_path: Path) -> None:
    (tmp_path / "table.csv").write_text(GOOD)
    done = call(
        tmp_path,
        *("anonymize", "table.csv", "--quasi", "age", "--sensitive", "diagnosis"),
        *("--k", "3", "--l", "9", "-o", "out", "--json"),
    )
    assert done.returncode == 1
    error = json.loads(done.stdout)["error"]
    assert error["reason"] == "infeasible"
    assert "at most l = 2.857" in error["message"]
    assert not (tmp_path / "out").exists()


def test_a_wrong_call_is_explained(tmp_path: Path) -> None:
    for arguments in (
        ["anonymise"],
        ["anonymize", "t.csv"],
        ["anonymize", "t.csv", "--k", "many", "-o", "o"],
    ):
        done = call(tmp_path, *arguments)
        assert done.returncode == 2
        assert done.stderr
        assert "Traceback" not in done.stderr


def test_errors_of_the_library_name_no_options_of_the_command_line() -> None:
    """Messages are read in Python and on the page, too; the command line adds its own words."""
    source = Path(__file__).resolve().parents[2] / "src" / "shoal"
    found = []
    for file in sorted(source.rglob("*.py")):
        if file.is_relative_to(source / "cli") or file.name in (
            "commands.py",
            "export.py",
            "spark_sessions.py",
        ):
            continue
        strings = [
            node.value
            for node in ast.walk(ast.parse(file.read_text(encoding="utf-8")))
            if isinstance(node, ast.Constant) and isinstance(node.value, str)
        ]
        found += [
            (file.name, text)
            for text in strings
            if re.search(r"(?<![\w`-])--[a-z]", text) and "``--" not in text
        ]
    assert found == []
