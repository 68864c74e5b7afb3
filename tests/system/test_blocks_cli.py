"""`shoal anonymize --engine blocks` in its own processes: killed in the middle, it goes on and ends well."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import polars as pl

from shoal.samples import hospital

ROLES = ("--quasi", "age,sex,zip", "--sensitive", "diagnosis", "--drop", "patient,name")
PROMISE = ("--model", "freeform", "--k", "5")


def start(folder: Path, *arguments: str) -> subprocess.Popen[str]:
    call = [sys.executable, "-m", "shoal", *arguments]
    return subprocess.Popen(call, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def finish(process: subprocess.Popen[str], code: int = 0) -> str:
    out, err = process.communicate(timeout=600)
    assert process.returncode == code, err
    assert "Traceback" not in err
    return out


def test_a_killed_run_goes_on_and_nobody_is_lost_or_doubled(tmp_path: Path) -> None:
    frame = hospital(2_400).with_row_index("row")
    frame.write_csv(tmp_path / "patients.csv")
    blocks = ("--engine", "blocks", "--block-rows", "400", "--work", "work", "--jobs", "1", "--json")
    call = ("anonymize", "patients.csv", *ROLES, *PROMISE, *blocks, "-o", "out", "--effort", "fast")
    process = start(tmp_path, *call)
    done = tmp_path / "work" / "done"
    deadline = time.monotonic() + 500
    while not (done.exists() and any(done.iterdir())) and time.monotonic() < deadline:
        assert process.poll() is None
        time.sleep(0.01)
    os.kill(process.pid, signal.SIGKILL)
    process.communicate()
    assert not (tmp_path / "out").exists()
    kept = {folder.name: folder.stat().st_mtime_ns for folder in done.iterdir()}
    # Another promise is another call: it does not take over what is there.
    other = start(tmp_path, *call, "--seed", "1")
    assert json.loads(finish(other, code=2))["error"]["reason"] == "output-exists"

    certificate = json.loads(finish(start(tmp_path, *call)))
    assert kept
    assert certificate["engine"]["blocks"] > len(kept)
    assert certificate["rows"] == 2_400
    release = pl.read_csv(tmp_path / "out" / "release.csv", infer_schema=False)
    assert sorted(release["row"].cast(pl.Int64)) == list(range(2_400))
    assert not (tmp_path / "work").exists()
    judged = start(tmp_path, "audit", "patients.csv", "out/release.csv", *ROLES, *PROMISE, "--json")
    assert json.loads(finish(judged))["holds"] is True


def test_what_needs_the_whole_table_says_so(tmp_path: Path) -> None:
    hospital(50).write_csv(tmp_path / "patients.csv")
    for more in (("--keep-key",), ("--long", "patient,diagnosis")):
        call = ("anonymize", "patients.csv", *ROLES, "--k", "2", "--engine", "blocks", "-o", "out", *more)
        assert (
            "--engine memory"
            in json.loads(finish(start(tmp_path, *call, "--json"), code=2))["error"]["message"]
        )
    unknown = ("anonymize", "patients.csv", *ROLES, "--k", "2", "--engine", "block", "-o", "out", "--json")
    assert "did you mean 'blocks'" in finish(start(tmp_path, *unknown), code=2)
