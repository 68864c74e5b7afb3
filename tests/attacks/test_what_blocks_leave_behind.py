"""An attacker searches the disk for personal data after runs in blocks that were refused or interrupted."""

from __future__ import annotations

import errno
import json
import os
import pickle
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from blockwise import PEOPLE, people
from leftovers import BLOCKS, LONG, names, require_private, start, stop_at_blocks, wait_for

import shoal
from shoal import Freeform, InfeasibleError, InputError, InternalError
from shoal.engines import disk_blocks, disk_run
from shoal.engines.on_disk import anonymize_file
from shoal.errors import Reason
from shoal.samples import hospital

pytestmark = pytest.mark.processes


@pytest.fixture(autouse=True)
def umask() -> Iterator[None]:
    before = os.umask(0o022)
    yield
    os.umask(before)


@pytest.fixture
def table(tmp_path: Path) -> Path:
    people(400).write_parquet(tmp_path / "in.parquet")
    return tmp_path / "in.parquet"


# Refused for good


@pytest.mark.parametrize("work", [(), ("--work", "work")])
def test_nothing_stays_after_an_infeasible_promise(work: tuple[str, ...], tmp_path: Path) -> None:
    hospital(600).write_csv(tmp_path / "patients.csv")
    process = start(tmp_path, "--model", "k-anonymity", "--k", "5", "--l", "50", *BLOCKS, "-o", "out", *work)
    _, err = process.communicate(timeout=LONG)
    assert process.returncode == 1, err
    assert names(tmp_path) == ["patients.csv"]


@pytest.mark.parametrize("seed", ["-1", "340282366920938463463374607431768211456"])
@pytest.mark.parametrize("engine", ["blocks", "memory"])
def test_an_impossible_seed_is_a_wrong_call(engine: str, seed: str, tmp_path: Path) -> None:
    hospital(600).write_csv(tmp_path / "patients.csv")
    process = start(tmp_path, "--k", "5", "--engine", engine, "--seed", seed, "-o", "out", "--json")
    out, err = process.communicate(timeout=LONG)
    assert process.returncode == 2, err
    assert json.loads(out)["error"]["reason"] == "parameter"
    assert names(tmp_path) == ["patients.csv"]


@pytest.mark.parametrize(
    ("told", "error"),
    [
        ({"reason": "parameter", "message": "k is wrong"}, InputError),
        ({"reason": "infeasible", "message": "no way"}, InfeasibleError),
        ({"reason": "promise-broken", "message": "the audit failed"}, shoal.PromiseError),
        ({"reason": "bug", "message": "odd"}, InternalError),
    ],
)
def test_nothing_stays_after_a_final_refusal_of_a_worker(
    told: dict[str, str], error: type[Exception], table: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(disk_blocks.Crew, "ask", lambda *_: told)
    with pytest.raises(error):
        anonymize_file(table, PEOPLE, Freeform(k=2), table.parent / "out", block_rows=120)
    assert names(table.parent) == ["in.parquet"]


def test_nothing_stays_after_a_failed_audit_of_the_whole(
    table: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def failed(*_: Any) -> None:
        raise InternalError("rows are missing")

    monkeypatch.setattr("shoal.engines.joining.Check.passed", failed)
    with pytest.raises(InternalError):
        anonymize_file(table, PEOPLE, Freeform(k=2), table.parent / "out")
    assert names(table.parent) == ["in.parquet"]


@pytest.mark.parametrize("error", [KeyboardInterrupt, SystemExit, ValueError])
def test_nothing_stays_of_what_no_run_can_go_on_with(table: Path, error: type[BaseException]) -> None:
    def progress(stage: str, _: float) -> None:
        if stage == "dividing into blocks":
            raise error

    with pytest.raises(error):
        anonymize_file(table, PEOPLE, Freeform(k=2), table.parent / "out", progress=progress)
    assert names(table.parent) == ["in.parquet"]


# Broken off, to go on later


@pytest.mark.parametrize("error", [KeyboardInterrupt(), SystemExit(130), ValueError("cancelled")])
def test_what_stays_is_private_and_told_of(table: Path, error: BaseException) -> None:
    out, work = table.parent / "out", table.parent / ".out.work"
    call: dict[str, Any] = {"block_rows": 120, "jobs": 1}
    with pytest.raises(type(error)) as caught:
        anonymize_file(table, PEOPLE, Freeform(k=2), out, progress=stop_at_blocks(error), **call)
    assert names(table.parent) == [".out.work", "in.parquet"]
    require_private(work)
    (note,) = caught.value.__notes__
    for said in (str(work), "personal data", "same call", "(fresh)"):
        assert said in note
    anonymize_file(table, PEOPLE, Freeform(k=2), out, **call)
    assert names(table.parent) == ["in.parquet", "out"]


def test_a_worker_that_died_tells_what_stays(table: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(disk_blocks.Crew, "ask", lambda *_: {"reason": "died", "message": "signal 9"})
    with pytest.raises(InputError, match="signal 9") as caught:
        anonymize_file(table, PEOPLE, Freeform(k=2), table.parent / "out")
    assert caught.value.reason is Reason.TOO_LARGE
    assert str(table.parent / ".out.work") in str(caught.value)
    assert "(fresh)" in str(caught.value)
    assert type(pickle.loads(pickle.dumps(caught.value))) is type(caught.value)
    require_private(table.parent / ".out.work")


def test_a_full_disk_is_no_bug(table: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: Any, **__: Any) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    # While the table is spilled: nothing could go on from that, so nothing stays.
    with monkeypatch.context() as patched:
        patched.setattr(disk_blocks.DiskBlocks, "append", full)
        with pytest.raises(InputError, match="no space left") as caught:
            anonymize_file(table, PEOPLE, Freeform(k=2), table.parent / "out")
        assert caught.value.reason is Reason.OUTPUT_UNWRITABLE
        assert names(table.parent) == ["in.parquet"]
    # While blocks are joined: what is finished is kept, and the message says so.
    with monkeypatch.context() as patched:
        patched.setattr(disk_run, "join", full)
        with pytest.raises(InputError, match="no space left") as caught:
            anonymize_file(table, PEOPLE, Freeform(k=2), table.parent / "out")
        assert str(table.parent / ".out.work") in str(caught.value)
    anonymize_file(table, PEOPLE, Freeform(k=2), table.parent / "out")
    assert names(table.parent) == ["in.parquet", "out"]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_an_interrupted_command_says_what_stays(number: signal.Signals, tmp_path: Path) -> None:
    hospital(2_400).write_csv(tmp_path / "patients.csv")
    process = start(tmp_path, "--k", "5", *BLOCKS, "-o", "out")
    done = tmp_path / ".out.work" / "done"
    wait_for(process, lambda: done.exists() and any(done.iterdir()))
    process.send_signal(number)
    _, err = process.communicate(timeout=LONG)
    assert process.returncode == 128 + number
    assert "Traceback" not in err
    assert names(tmp_path) == [".out.work", "patients.csv"]
    require_private(tmp_path / ".out.work")
    assert ".out.work holds personal data" in " ".join(err.split())
    assert "--fresh" in err


# Killed


def test_a_resumed_run_removes_what_the_killed_one_left(tmp_path: Path) -> None:
    hospital(2_400).write_csv(tmp_path / "patients.csv")
    call = ("--k", "5", *BLOCKS, "-o", "out", "--effort", "fast")
    process = start(tmp_path, *call)
    done = tmp_path / ".out.work" / "done"
    wait_for(process, lambda: done.exists() and any(done.iterdir()))
    os.kill(process.pid, signal.SIGKILL)
    process.communicate()
    for folder in tmp_path.glob(".out.*"):
        if folder.is_dir():
            require_private(folder)
    again = start(tmp_path, *call)
    _, err = again.communicate(timeout=LONG)
    assert again.returncode == 0, err
    assert names(tmp_path) == ["out", "patients.csv"]


def test_workers_end_with_the_run_that_started_them() -> None:
    code = "from shoal.engines.workers import tell\nimport time\ntell(lambda task: time.sleep(600))"
    parent = (
        "import threading\nfrom shoal.engines.workers import Crew\ncrew = Crew()\n"
        f"threading.Thread(target=crew.ask, args=({code!r}, b'')).start()\n"
        "import time\n"
        "while not crew._working: time.sleep(0.01)\n"
        "print(next(iter(crew._working)).process.pid, flush=True)\n"
        "time.sleep(2)\n"
        "print('ready', flush=True)\n"
        "time.sleep(600)\n"
    )
    process = subprocess.Popen([sys.executable, "-c", parent], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    worker = int(process.stdout.readline())
    assert process.stdout.readline() == "ready\n"
    os.kill(worker, 0)  # it is there
    process.kill()
    process.wait()
    process.stdout.close()
    deadline = time.monotonic() + 20
    while _lives(worker):
        assert time.monotonic() < deadline
        time.sleep(0.05)


def _lives(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False
