"""The commands as a user runs them. In a campaign, each runs in a process of its own."""

from __future__ import annotations

import csv
import json
import os
import re
import shlex
import signal
import stat
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import polars as pl
import pytest
from calling import SHOAL
from calling import called as run

from shoal.samples import hospital

ROLES = ("--quasi", "age,sex,zip,admitted", "--sensitive", "diagnosis", "--drop", "patient,name")


@pytest.fixture(scope="module")
def clinic(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with patients.csv and a release of it in out/."""
    folder = tmp_path_factory.mktemp("clinic")
    hospital(1_000).write_csv(folder / "patients.csv")
    run(
        folder,
        "anonymize",
        "patients.csv",
        *ROLES,
        "--k",
        "5",
        "--l",
        "2",
        "-o",
        "out",
        "--keep-key",
        "--json",
    )
    return folder


def test_demo_ends_with_what_was_promised_found_and_lost(tmp_path: Path) -> None:
    shown = run(tmp_path, "demo").stdout
    for words in ("guaranteed", "audit found", "The guarantee holds", "lost", "at most", "release.csv"):
        assert words in shown
    certificate = json.loads((tmp_path / "shoal-demo" / "release" / "certificate.json").read_text())
    assert certificate["model"] | {"promise": ""} == {"name": "freeform", "k": 10, "l": 2.0, "promise": ""}
    assert certificate["audit"]["concealment"] >= 10
    checked = next(line for line in shown.splitlines() if line.strip().startswith("shoal audit"))
    run(tmp_path, "demo")  # again, over the old one
    shown = run(tmp_path, *checked.split()[1:]).stdout  # the command that it suggests
    for words in (
        "each record is covered by",
        "each record matches",
        "a random guess",
        "The guarantee holds",
    ):
        assert words in shown


def test_scan_suggests_a_schema_that_anonymize_takes(clinic: Path, tmp_path: Path) -> None:
    table = str(clinic / "patients.csv")
    seen = json.loads(run(tmp_path, "scan", table, "--json").stdout)
    roles = {column["name"]: column["role"] for column in seen["columns"]}
    assert roles["name"] == roles["patient"] == "identifier"
    assert roles["age"] == roles["zip"] == "quasi"
    assert roles["diagnosis"] == "sensitive"
    assert seen["combinations"][0]["share"] > 0.9
    shown = run(tmp_path, "scan", table, "-o", "other.toml").stdout
    assert "why" in shown
    assert "diagnosis" in shown
    run(tmp_path, "scan", table, code=2)  # schema.toml is there already
    run(tmp_path, "anonymize", table, "--schema", "schema.toml", "--k", "5", "-o", "out", "-q")
    run(tmp_path, "audit", table, "out/release.csv", "--schema", "schema.toml", "--k", "5", "-q")


def test_the_certificate_says_what_was_done(clinic: Path) -> None:
    certificate = json.loads((clinic / "out" / "certificate.json").read_text())
    assert certificate["model"]["name"] == "freeform"
    assert certificate["method"] == "matching"
    assert certificate["seeded"] is False
    assert certificate["audit"]["holds"] is True
    assert certificate["audit"]["concealment"] >= 5
    loss = certificate["loss"]
    assert 0 < loss["bound"] < loss["gcp"] < 1
    assert loss["ratio"] == loss["gcp"] / loss["bound"]
    assert loss["bound_error"] == 0  # so few records are all asked
    assert certificate["rows"] == 1_000
    assert certificate["files"]["release.csv"]["sha256"]


def test_no_value_of_a_single_record_is_in_the_certificate(clinic: Path) -> None:
    text = (clinic / "out" / "certificate.json").read_text()
    frame = pl.read_csv(clinic / "patients.csv", infer_schema=False)
    for column in ("patient", "name", "zip", "admitted", "diagnosis"):
        assert not [value for value in frame[column].unique() if f'"{value}"' in text]


def test_the_key_is_private_and_undoes_the_shuffle(clinic: Path) -> None:
    key_file = clinic / "out" / "key.csv"
    assert stat.S_IMODE(key_file.stat().st_mode) == 0o600
    with key_file.open() as file:
        key = [(int(row["released_row"]), int(row["original_row"])) for row in csv.DictReader(file)]
    original = pl.read_csv(clinic / "patients.csv", infer_schema=False)
    released = pl.read_csv(clinic / "out" / "release.csv", infer_schema=False)
    assert [r for r, _ in key] == list(range(1, 1_001))
    for row, record in key:
        assert released["diagnosis"][row - 1] == original["diagnosis"][record - 1]
        assert released["days"][row - 1] == original["days"][record - 1]


def test_the_audit_takes_the_key(clinic: Path, tmp_path: Path) -> None:
    files = (str(clinic / "patients.csv"), str(clinic / "out" / "release.csv"))
    key = clinic / "out" / "key.csv"
    found = json.loads(run(tmp_path, "audit", *files, *ROLES, "--k", "5", "--key", str(key), "--json").stdout)
    assert found["consistency"]["strayed_rows"] == 0
    head, *lines = key.read_text().splitlines()
    records = [line.partition(",")[2] for line in lines]
    turned = [f"{row},{record}" for row, record in enumerate((*records[1:], records[0]), start=1)]
    (tmp_path / "wrong.csv").write_text("\n".join([head, *turned]))
    done = run(tmp_path, "audit", *files, *ROLES, "--k", "5", "--key", "wrong.csv", "--json", code=1)
    assert json.loads(done.stdout)["consistency"]["strayed_rows"] > 0
    (tmp_path / "short.csv").write_text("\n".join([head, *lines[1:]]))
    run(tmp_path, "audit", *files, *ROLES, "--key", "short.csv", code=2)
    run(tmp_path, "audit", *files, *ROLES, "--key", str(clinic / "patients.csv"), code=2)


def test_identifiers_are_gone_and_other_columns_stay(clinic: Path) -> None:
    released = pl.read_csv(clinic / "out" / "release.csv", infer_schema=False)
    original = pl.read_csv(clinic / "patients.csv", infer_schema=False)
    assert released.columns == [name for name in original.columns if name not in ("patient", "name")]
    for column in ("diagnosis", "days", "marital"):
        assert sorted(released[column].fill_null("")) == sorted(original[column].fill_null(""))


def test_the_audit_reads_text_and_typed_releases_alike(clinic: Path, tmp_path: Path) -> None:
    table = str(clinic / "patients.csv")
    run(
        tmp_path,
        "anonymize",
        table,
        *ROLES,
        "--k",
        "5",
        "--format",
        "parquet",
        "--seed",
        "1",
        "-o",
        "typed",
        "-q",
    )
    run(
        tmp_path, "anonymize", table, *ROLES, "--k", "5", "--format", "csv", "--seed", "1", "-o", "text", "-q"
    )
    audits = [
        json.loads(run(tmp_path, "audit", table, file, *ROLES, "--k", "5", "--json").stdout)
        for file in ("typed/release.parquet", "text/release.csv")
    ]
    assert audits[0] == audits[1]
    assert audits[0]["holds"]


def test_a_broken_promise_is_exit_code_1(clinic: Path, tmp_path: Path) -> None:
    table = str(clinic / "patients.csv")
    released = pl.read_csv(clinic / "out" / "release.csv", infer_schema=False)
    released[1:].write_csv(tmp_path / "row_missing.csv")
    done = run(tmp_path, "audit", table, "row_missing.csv", *ROLES, "--k", "50", "--json", code=1)
    assert not json.loads(done.stdout)["holds"]
    assert (
        "fewer than k = 50"
        in run(tmp_path, "audit", table, "row_missing.csv", *ROLES, "--k", "50", code=1).stdout
    )
    run(tmp_path, "audit", table, table, *ROLES, "--k", "2", code=1)  # the original is no release of itself


def test_overwrite_replaces_a_release_and_nothing_else(clinic: Path, tmp_path: Path) -> None:
    table = str(clinic / "patients.csv")
    call = ("anonymize", table, *ROLES, "--k", "5", "-o", "out", "-q")
    run(tmp_path, *call)
    before = (tmp_path / "out" / "release.csv").read_bytes()
    run(tmp_path, *call, code=2)
    assert (tmp_path / "out" / "release.csv").read_bytes() == before
    run(tmp_path, *call, "--overwrite")
    assert (tmp_path / "out" / "release.csv").read_bytes() != before
    (tmp_path / "out" / "notes.txt").write_text("mine")
    run(tmp_path, *call, "--overwrite", code=2)
    assert (tmp_path / "out" / "notes.txt").read_text() == "mine"


def test_columns_that_look_identifying_are_warned_about(clinic: Path, tmp_path: Path) -> None:
    table = str(clinic / "patients.csv")
    done = run(tmp_path, "anonymize", table, "--quasi", "age,sex", "--k", "5", "-o", "out", "-q")
    assert "Warning" in done.stderr
    assert "'name'" in done.stderr


def test_warnings_for_key_and_seed(clinic: Path, tmp_path: Path) -> None:
    table = str(clinic / "patients.csv")
    done = run(
        tmp_path, "anonymize", table, *ROLES, "--k", "5", "--seed", "3", "--keep-key", "-o", "o", "--json"
    )
    assert "key.csv" in done.stderr
    assert "Do not publish this release. It was made from a seed" in done.stderr
    assert json.loads(done.stdout)["seeded"] is True


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_run_leaves_nothing(number: signal.Signals, tmp_path: Path) -> None:
    hospital(200_000).write_csv(tmp_path / "patients.csv")
    call = [*SHOAL, "anonymize", "patients.csv", *ROLES, "--k", "5", "-o", "out"]
    process = subprocess.Popen(call, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    deadline = time.monotonic() + 60
    while len(list(tmp_path.iterdir())) == 1:  # until the run has begun to prepare its output
        assert time.monotonic() < deadline
        assert process.poll() is None
        time.sleep(0.01)
    time.sleep(0.2)
    os.kill(process.pid, number)
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 128 + number
    assert b"Traceback" not in errors
    assert [path.name for path in tmp_path.iterdir()] == ["patients.csv"]


INTO_ANOTHER_ERROR = """
try:
    os.kill(os.getpid(), signal.SIGTERM)
    time.sleep(30)
except SystemExit:
    raise TypeError("'<unprintable str object>' is not a Polars data type")
"""
INTO_NOTHING = """
class Ended:
    def __del__(self):  # as when a library calls back
        os.kill(os.getpid(), signal.SIGTERM)

del (ended := [Ended()])[0]
time.sleep(30)
"""


@pytest.mark.parametrize("losing", [INTO_ANOTHER_ERROR, INTO_NOTHING])
def test_a_signal_whose_exit_a_library_loses(losing: str) -> None:
    code = "import os, signal, time\nfrom shoal.cli import app as cli\n"
    code += f"def app(**_: object) -> None:\n{textwrap.indent(losing, '    ')}\ncli.app = app\ncli.main()"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=50, check=False
    )
    assert done.returncode == 128 + signal.SIGTERM
    assert done.stderr == ""


def test_version_and_help(tmp_path: Path) -> None:
    assert run(tmp_path, "--version").stdout.startswith("shoal 0.")
    overview = run(tmp_path, "--help").stdout
    for command in ("demo", "scan", "anonymize", "audit"):
        assert command in overview
        assert "--json" in run(tmp_path, command, "--help").stdout


def test_a_promise_without_its_k_is_refused(clinic: Path, tmp_path: Path) -> None:
    files = (str(clinic / "patients.csv"), str(clinic / "out" / "release.csv"))
    run(tmp_path, "audit", *files, *ROLES)  # no promise: a report
    run(tmp_path, "audit", *files, *ROLES, "--l", "50", code=2)
    run(tmp_path, "audit", *files, *ROLES, "--model", "bogus", code=2)


def test_a_release_of_one_column_of_sets_is_read_back(tmp_path: Path) -> None:
    (tmp_path / "jobs.csv").write_text("job\na\nb\nc\nd\n")
    run(tmp_path, "anonymize", "jobs.csv", "--quasi", "job", "--k", "2", "-o", "out", "-q")
    run(tmp_path, "audit", "jobs.csv", "out/release.csv", "--quasi", "job", "--k", "2")


def test_the_optimum_is_proven_or_nothing_is_written(tmp_path: Path) -> None:
    rows = "".join(f"{age},{age * age % 23}\n" for age in range(20))
    (tmp_path / "t.csv").write_text("age,pay\n" + rows)
    call = (
        "anonymize",
        "t.csv",
        "--quasi",
        "age,pay",
        "--model",
        "freeform",
        "--k",
        "4",
        "-o",
        "out",
        "--json",
    )
    refused = run(tmp_path, *call, "--method", "exact", "--seconds", "1e-9", code=2)
    assert json.loads(refused.stdout)["error"]["reason"] == "too-large"
    assert not (tmp_path / "out").exists()
    proven = json.loads(run(tmp_path, *call, "--method", "exact", "--seconds", "30").stdout)
    assert proven["method"] == "exact"
    assert proven["options"] == {"seconds": 30}


def test_clusters_by_either_measure(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("age,pay\n" + "".join(f"{age},{age % 2}\n" for age in range(20)))
    call = [
        "anonymize",
        "t.csv",
        "--quasi",
        "age",
        "--sensitive",
        "pay",
        "--model",
        "k-anonymity",
        "--k",
        "4",
    ]
    call += ["--l", "2", "--overwrite", "-o", "out", "--json"]
    for method, measure in (("agglomerative", "em"), ("forest", "lm")):
        made = json.loads(run(tmp_path, *call, "--method", method, "--measure", measure).stdout)
        assert (made["method"], made["options"]) == (method, {"measure": measure})
        assert made["audit"]["holds"]
    refused = run(tmp_path, *call, "--method", "chain", "--measure", "lm", code=2)
    assert json.loads(refused.stdout)["error"]["reason"] == "parameter"


@pytest.mark.parametrize(
    ("model", "options", "promised"),
    [
        ("concealment", ["--two-sided", "--p", "2"], {"two_sided": True, "p": 2}),
        ("kk", ["--withhold", "0.1"], {"withhold": 0.1}),
        ("k1", ["--withhold", "0.1"], {"withhold": 0.1}),
        ("1k", [], {"withhold": 0.0}),
    ],
)
def test_rows_of_their_own(
    tmp_path: Path, model: str, options: list[str], promised: dict[str, object]
) -> None:
    (tmp_path / "t.csv").write_text("age,pay\n" + "".join(f"{age},{age % 2}\n" for age in range(20)))
    roles = ["--quasi", "age", "--sensitive", "pay", "--model", model, "--k", "4", *options]
    call = ["anonymize", "t.csv", *roles, "-o", "out", "--overwrite", "--json"]
    made = json.loads(run(tmp_path, *call, "--measure", "em", "--effort", "fast").stdout)
    assert made["options"] == {"measure": "em", "effort": "fast"}
    assert promised.items() <= made["model"].items()
    assert made["withheld"] == 20 - made["rows"] == (2 if promised.get("withhold") else 0)
    run(tmp_path, "audit", "t.csv", "out/release.csv", *roles)
    run(tmp_path, "audit", "t.csv", "out/release.csv", *roles, "--k", "21", code=1)
    certain = run(tmp_path, *call, "--no-randomized")
    assert json.loads(certain.stdout)["options"] == {"randomized": False}
    assert "not randomized" in certain.stderr


def test_a_scan_that_fails_leaves_nothing(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("visit_date\n2025-02-30\n2025-02-27\n")
    run(tmp_path, "scan", "t.csv", code=2)
    assert [path.name for path in tmp_path.iterdir()] == ["t.csv"]


def test_compare_shows_every_way_and_how_to_repeat_it(tmp_path: Path) -> None:
    hospital(150).write_csv(tmp_path / "table.csv")
    about = ("compare", "table.csv", *ROLES, "--seed", "3")
    ways = ("--k", "2,500", "--method", "mondrian,ring", "--effort", "fast")
    told = json.loads(run(tmp_path, *about, *ways, "--json").stdout)
    assert [(r["model"], r["method"], r["k"]) for r in told["runs"]] == [
        ("freeform", "ring", 2),
        ("freeform", "ring", 500),
        ("k-anonymity", "mondrian", 2),
        ("k-anonymity", "mondrian", 500),
    ]
    made = [r for r in told["runs"] if r["gcp"] is not None]
    assert len(made) == 2
    assert told["chosen"] == min(made, key=lambda r: r["gcp"])["run"]
    assert {r["reason"] for r in told["runs"] if r["gcp"] is None} == {"parameter"}
    for row in made:
        again = run(tmp_path, *shlex.split(row["command"])[1:], "--json")
        assert json.loads(again.stdout)["loss"]["gcp"] == row["gcp"]
    assert (tmp_path / "compare.html").stat().st_size < 5_000_000
    shown = run(tmp_path, *about, *ways, "--overwrite").stdout
    assert all(row["command"] in shown for row in told["runs"])


def test_compare_refuses_what_it_cannot_mean_and_fails_if_all_do(tmp_path: Path) -> None:
    hospital(120).write_csv(tmp_path / "table.csv")
    about = ("compare", "table.csv", *ROLES)
    refused = run(tmp_path, *about, "--method", "mondrain", code=2)
    assert "did you mean 'mondrian'" in " ".join(refused.stderr.split())
    assert "whole numbers" in run(tmp_path, *about, "--k", "2;5", code=2).stderr
    assert "--choose 7" in run(tmp_path, *about, "--k", "2,5", "--choose", "7", code=2).stderr
    assert not (tmp_path / "compare.html").exists()
    assert "unknown" in run(tmp_path, *about, "--model", "unheard-of", code=2).stderr
    failed = run(tmp_path, *about, "--k", "500", "--model", "freeform", "--method", "ring", code=1)
    assert re.search(r" ring .* no release ", failed.stdout)


def test_patterns_of_suppressed_cells(clinic: Path, tmp_path: Path) -> None:
    table, patterns = str(clinic / "patients.csv"), tmp_path / "patterns.toml"
    patterns.write_text('never = ["sex"]\npriorities = [["age", "zip"]]\n[weights]\nage = 2\n')
    model = (*ROLES, "--model", "patterned", "--patterns", "patterns.toml", "--k", "5")
    shown = run(
        tmp_path, "anonymize", table, *model, "--effort", "best", "--seconds", "5", "-o", "out"
    ).stdout
    for words in ("every cell is exact or suppressed", "never 'sex'", "suppressed", "proven"):
        assert words in " ".join(shown.split())
    certificate = json.loads((tmp_path / "out" / "certificate.json").read_text())
    assert certificate["account"]["bound"] <= certificate["account"]["cost"]
    assert sum(kind["rows"] for kind in certificate["audit"]["suppressions"]) == 1_000
    assert not any("sex" in kind["suppress"] for kind in certificate["audit"]["suppressions"])
    assert "What was suppressed" in (tmp_path / "out" / "report.html").read_text()
    run(tmp_path, "audit", table, "out/release.csv", *model, "-q")
    patterns.write_text("up_to = 0\nleftovers = 'refuse'\n")
    assert (
        "which no pattern allows" in run(tmp_path, "audit", table, "out/release.csv", *model, code=1).stdout
    )
    refused = run(tmp_path, "anonymize", table, *model, "-o", "other", "--json", code=1)
    assert json.loads(refused.stdout)["error"]["reason"] == "infeasible"
    patterns.write_text('never = ["sexe"]\n')
    refused = run(tmp_path, "anonymize", table, *model, "-o", "other", "--json", code=2)
    assert json.loads(refused.stdout)["error"]["reason"] == "unknown-column"


def test_dissimilarity_from_advice_to_audit(tmp_path: Path) -> None:
    rows = [(20 + i % 40, "fm"[i % 2], (i * 7919) % 100, "abcd"[i % 4]) for i in range(400)]
    frame = pl.DataFrame(rows, schema=["age", "sex", "pay", "ill"], orient="row")
    frame.write_csv(tmp_path / "table.csv")
    roles = ("--quasi", "age,sex", "--sensitive", "pay")
    advice = json.loads(run(tmp_path, "advise", "table.csv", *roles, "--epsilon", "5", "--json").stdout)
    delta = next(point["guaranteed_delta"] for point in advice["frontier"] if point["k"] == 10)
    shown = run(tmp_path, "advise", "table.csv", *roles, "--epsilon", "5", "--k", "5,10").stdout
    assert "delta guaranteed" in shown
    assert "# guaranteed" in shown
    promise = ("--model", "dissimilarity", "--k", "10", "--epsilon", "5", "--delta", str(delta))
    made = json.loads(run(tmp_path, "anonymize", "table.csv", *roles, *promise, "-o", "out", "--json").stdout)
    assert "notes" not in made
    assert made["audit"]["proximity"][0]["vulnerability"] == 0
    audited = run(tmp_path, "audit", "table.csv", "out/release.csv", *roles, *promise).stdout
    assert "The guarantee holds" in audited
    assert "other principles" in audited
    stricter = (*promise[:-1], "1")
    refused = run(tmp_path, "audit", "table.csv", "out/release.csv", *roles, *stricter, code=1).stdout
    assert "does not hold" in refused
    run(tmp_path, "anonymize", "table.csv", *roles, *promise[:6], "-o", "none", code=2)  # no delta
    run(tmp_path, "advise", "table.csv", *roles, "--epsilon", "-1", code=2)
    run(tmp_path, "advise", "table.csv", *roles, "--epsilon", "1", "--k", "ten", code=2)
    several = ("--quasi", "age,sex", "--sensitive", "pay,ill")
    choices = ("--distance", "l2", "--start", "degree", "--effort", "fast")
    limits = ("--model", "dissimilarity", "--k", "5", "--epsilon", "0.3", "--delta", "0.5")
    shown = run(tmp_path, "anonymize", "table.csv", *several, *limits, *choices, "-o", "both").stdout
    assert "pay and ill" in " ".join(shown.split())
    impossible = (*promise[:-2], "--epsilon", "90", "--delta", "0.9")
    assert (
        "is not achievable"
        in run(tmp_path, "anonymize", "table.csv", *roles, *impossible, "-o", "none", code=1).stderr
    )
