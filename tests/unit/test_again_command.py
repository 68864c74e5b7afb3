"""Publishing again on the command line: files in, files out."""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl
import pytest
from calling import called

from shoal.samples import hospital

DESCRIBED = ("--quasi", "age,sex,zip", "--sensitive", "diagnosis", "--drop", "name", "--person", "patient")
PROMISED = ("--model", "k-anonymity", "--k", "4", "--l", "1")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with a table at three times, and its first release with the key."""
    place = tmp_path_factory.mktemp("again")
    everyone = hospital(400).with_columns(days=pl.col("days") + 0.5)
    everyone[:300].write_csv(place / "first.csv")
    pl.concat([everyone[5:300], everyone[300:]]).sample(fraction=1, shuffle=True, seed=1).write_csv(
        place / "later.csv"
    )
    everyone[290:].write_csv(place / "new.csv")
    called(place, "anonymize", "first.csv", *DESCRIBED, *PROMISED, "-o", "out1", "--keep-key", "-q")
    return place


def after(folder: Path, table: str, output: str, *more: str, code: int = 0) -> str:
    earlier = ("--after", "out1", "--after-table", "first.csv")
    done = called(folder, "anonymize", table, *DESCRIBED, *PROMISED, *earlier, *more, "-o", output, code=code)
    return done.stdout + done.stderr


def test_nothing_changed_gives_the_same_file(folder: Path) -> None:
    after(folder, "first.csv", "same", "--stable", "--keep-key")
    for name in ("release.csv", "key.csv"):
        assert (folder / "same" / name).read_bytes() == (folder / "out1" / name).read_bytes()


def test_a_stable_second_release(folder: Path) -> None:
    shown = after(folder, "later.csv", "out2", "--stable", "--keep-key")
    assert "left out, because their class was removed" in " ".join(shown.split())
    certificate = json.loads((folder / "out2" / "certificate.json").read_text())
    again = certificate["again"]
    assert again["gone"] == 5
    assert again["new"] == 100
    assert again["kept"] + again["removed"] == 300
    assert again["removed"] == again["gone"] + again["left_out"] > 5
    assert certificate["together"]["holds"]
    assert "Earlier releases" in (folder / "out2" / "report.html").read_text(encoding="utf-8")
    lines = (folder / "out1" / "release.csv").read_bytes().splitlines()
    kept = (folder / "out2" / "release.csv").read_bytes().splitlines()[: 1 + again["kept"]]
    assert set(kept) <= set(lines)
    asked = ("audit", "later.csv", "out2/release.csv", *DESCRIBED, *PROMISED, "--may-leave-out", "--json")
    earlier = (
        "--key",
        "out2/key.csv",
        "--with",
        "out1",
        "--with-table",
        "first.csv",
        "--with-key",
        "out1/key.csv",
    )
    found = json.loads(called(folder, *asked, *earlier).stdout)
    assert found["together"]["holds"]
    assert found["together"]["linkages"][0]["whole_rows"]


def test_an_increment(folder: Path) -> None:
    after(folder, "new.csv", "more")
    certificate = json.loads((folder / "more" / "certificate.json").read_text())
    assert certificate["rows"] == 100
    assert certificate["again"] == {"new": 100, "published_before": 10}
    few = pl.read_csv(folder / "new.csv")[8:13]
    few.write_csv(folder / "few.csv")
    shown = after(folder, "few.csv", "none", code=1)
    assert "only 3 persons were not published before, and k-anonymity needs 4: wait for 1 more" in shown


def test_what_is_refused(folder: Path) -> None:
    asked = ("anonymize", "new.csv", *DESCRIBED, *PROMISED, "-o", "none")
    assert "--stable needs --after" in called(folder, *asked, "--stable", code=2).stderr
    assert "--after needs --after-table" in called(folder, *asked, "--after", "out1", code=2).stderr
    assert "--format csv" in after(folder, "new.csv", "none", "--stable", "--format", "parquet", code=2)
    assert "--most-per-person is not supported" in after(
        folder, "new.csv", "none", "--stable", "--most-per-person", "1", code=2
    )
    assert "--key must be given as often" in after(folder, "new.csv", "none", *("--key", "a") * 2, code=2)
