"""An attacker searches the disk for personal data after runs that were refused, interrupted or killed."""

from __future__ import annotations

import errno
import json
import os
import pickle
import signal
import stat
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from blockwise import PEOPLE, people

import shoal
from shoal import Freeform, InfeasibleError, InputError, InternalError, KAnonymity
from shoal.engines import disk_blocks, disk_run
from shoal.engines.on_disk import anonymize_file
from shoal.errors import Reason
from shoal.files.private_folders import private_folder
from shoal.files.staging import staged_file, staged_folder
from shoal.samples import hospital

ROLES = ("--quasi", "age,sex,zip", "--sensitive", "diagnosis", "--drop", "patient,name")
BLOCKS = ("--engine", "blocks", "--block-rows", "400", "--jobs", "1")
LONG = 120.0


def start(folder: Path, *arguments: str) -> subprocess.Popen[str]:
    call = [sys.executable, "-m", "shoal", "anonymize", "patients.csv", *ROLES, *arguments]
    return subprocess.Popen(call, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def wait_for(process: subprocess.Popen[str], ready: Callable[[], bool]) -> None:
    deadline = time.monotonic() + LONG
    while not ready():
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < deadline
        time.sleep(0.005)


def names(folder: Path) -> list[str]:
    return sorted(entry.name for entry in folder.iterdir())


def require_private(folder: Path) -> None:
    """Check that nobody but the owner can read what lies below, even if the folder above were opened."""
    for path in (folder, *folder.rglob("*")):
        mode = stat.S_IMODE(path.lstat().st_mode)
        assert mode == (0o700 if path.is_dir() else 0o600), (path, oct(mode))


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


def stop_at_blocks(error: BaseException) -> Callable[[str, float], None]:
    def progress(stage: str, share: float) -> None:
        if share and " of " in stage:
            raise error

    return progress


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
    code = "from shoal.engines.workers import tell\nimport time\ntell(lambda: time.sleep(600))"
    parent = (
        "import threading\nfrom shoal.engines.workers import Crew\ncrew = Crew()\n"
        f"threading.Thread(target=crew.ask, args=({code!r}, b'')).start()\n"
        "import time\n"
        "while not crew._working: time.sleep(0.01)\n"
        "print(next(iter(crew._working)).pid, flush=True)\n"
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


def test_the_memory_engine_sweeps_what_a_killed_run_left(tmp_path: Path) -> None:
    hospital(20_000).write_csv(tmp_path / "patients.csv")
    process = start(tmp_path, "--k", "5", "-o", "out", "--keep-key")
    wait_for(process, lambda: len(names(tmp_path)) > 2)
    os.kill(process.pid, signal.SIGKILL)
    process.communicate()
    left = [tmp_path / name for name in names(tmp_path) if name.startswith(".out.")]
    assert left
    hospital(100).write_csv(tmp_path / "patients.csv")
    # Another output in the same place is enough, and so is a file.
    with staged_file(tmp_path / "schema.toml") as file:
        file.write_text("x")
    assert names(tmp_path) == ["patients.csv", "schema.toml"]


KILLED = """
import os, signal, sys
from pathlib import Path
from shoal.files import staging
{before}
with staging.staged_folder(sys.argv[1], overwrite=True, ours=("a", "b")) as folder:
    (folder / "a").write_text("new")
    {inside}
"""


def killed(target: Path, *, before: str = "", inside: str = "") -> None:
    code = KILLED.format(before=before, inside=inside)
    done = subprocess.run([sys.executable, "-c", code, str(target)], check=False, capture_output=True)
    assert done.returncode == -signal.SIGKILL, done.stderr


SUICIDE = "os.kill(os.getpid(), signal.SIGKILL)"


def test_a_killed_run_between_two_renames_loses_no_earlier_release(tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "a").write_text("old")
    rename = "rename = os.rename\ndef once(a, b):\n    rename(a, b)\n    " + SUICIDE + "\nos.rename = once\n"
    killed(tmp_path / "out", before=rename)
    assert not (tmp_path / "out").exists()
    with staged_folder(tmp_path / "other"):
        pass
    assert (tmp_path / "out" / "a").read_text() == "old"
    assert names(tmp_path) == ["other", "out"]


def test_an_earlier_release_that_was_replaced_does_not_come_back(tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "a").write_text("old")
    rename = (
        "rename = os.rename\nseen = []\ndef twice(a, b):\n    rename(a, b)\n    seen.append(a)\n"
        f"    if len(seen) == 2: {SUICIDE}\nos.rename = twice\n"
    )
    killed(tmp_path / "out", before=rename)
    assert (tmp_path / "out" / "a").read_text() == "new"
    (tmp_path / "out" / "a").unlink()
    (tmp_path / "out").rmdir()
    with staged_folder(tmp_path / "other"):
        pass
    assert names(tmp_path) == ["other"]


# What must not be removed


def test_a_live_run_is_left_alone(tmp_path: Path) -> None:
    with staged_folder(tmp_path / "out") as folder:
        (folder / "a").write_text("new")
        before = names(tmp_path)
        # In the same process, and in another.
        with staged_folder(tmp_path / "out2"):
            assert (folder / "a").exists()
        code = (
            "import sys; from pathlib import Path; from shoal.files.private_folders import sweep; "
            "sweep(Path(sys.argv[1]))"
        )
        subprocess.run([sys.executable, "-c", code, str(tmp_path)], check=True)
        assert (folder / "a").exists()
        assert set(before) <= set(names(tmp_path))
    assert names(tmp_path) == ["out", "out2"]


def _swept(tmp_path: Path) -> None:
    with staged_folder(tmp_path / "other"):
        pass


def test_what_only_looks_like_ours_is_left_alone(tmp_path: Path) -> None:
    mine = tmp_path / ".out.shoal-abcd1234"
    mine.mkdir(mode=0o700)
    (mine / "diary").write_text("dear diary")
    _swept(tmp_path)
    for text in (
        "",
        "not json",
        "[]",
        "{}",
        '{"shoal": 1}',
        '{"shoal": "run", "name": ".else.shoal-abcd1234"}',
    ):
        (tmp_path / ".out.shoal-abcd1234.lock").write_text(text)
        _swept_again(tmp_path)
        assert (mine / "diary").exists()


def _swept_again(tmp_path: Path) -> None:
    with staged_file(tmp_path / "file", overwrite=True):
        pass


def test_links_are_not_followed(tmp_path: Path) -> None:
    place, treasure = tmp_path / "place", tmp_path / "treasure"
    place.mkdir()
    treasure.mkdir()
    (treasure / "a").write_text("mine")
    killed(place / "out", inside=SUICIDE)
    (left,) = (entry for entry in place.iterdir() if entry.is_dir())
    # The folder of a dead run is replaced by a link to another one, and so is a folder in it.
    (left / "inner").symlink_to(treasure)
    aside = left.rename(tmp_path / "moved")
    left.symlink_to(treasure)
    _swept_again(place)
    assert (treasure / "a").read_text() == "mine"
    if left.is_symlink():
        left.unlink()
    killed(place / "out", inside=SUICIDE)
    (left,) = (entry for entry in place.iterdir() if entry.is_dir())
    (left / "inner").symlink_to(treasure)
    _swept_again(place)
    assert names(place) == ["file"]
    assert (treasure / "a").read_text() == "mine"
    assert aside.exists()


def test_a_mark_that_is_a_link_is_no_mark(tmp_path: Path) -> None:
    killed(tmp_path / "out", inside=SUICIDE)
    (mark,) = tmp_path.glob("*.lock")
    elsewhere = mark.rename(tmp_path / "elsewhere")
    mark.symlink_to(elsewhere)
    _swept_again(tmp_path)
    assert elsewhere.exists()
    assert mark.with_suffix("").is_dir()


def test_the_run_of_another_machine_is_told_of_and_left_alone(tmp_path: Path) -> None:
    killed(tmp_path / "out", inside=SUICIDE)
    (mark,) = tmp_path.glob("*.lock")
    told = json.loads(mark.read_text()) | {"host": "elsewhere", "boot": "another"}
    mark.write_text(json.dumps(told))
    with pytest.warns(UserWarning, match="elsewhere.*personal data"):
        _swept_again(tmp_path)
    assert mark.with_suffix("").is_dir()


def test_what_was_left_before_the_machine_was_started_again_is_swept(tmp_path: Path) -> None:
    killed(tmp_path / "out", inside=SUICIDE)
    (mark,) = tmp_path.glob("*.lock")
    mark.write_text(json.dumps(json.loads(mark.read_text()) | {"boot": "before"}))
    _swept_again(tmp_path)
    assert names(tmp_path) == ["file"]


@pytest.mark.skipif(os.getuid() != 0, reason="only root can give files away")
def test_what_belongs_to_another_user_is_left_alone(tmp_path: Path) -> None:
    killed(tmp_path / "out", inside=SUICIDE)
    (mark,) = tmp_path.glob("*.lock")
    os.chown(mark, 12345, 12345)
    _swept_again(tmp_path)
    assert mark.with_suffix("").is_dir()
    os.chown(mark, 0, 0)
    os.chown(mark.with_suffix(""), 12345, 12345)
    _swept_again(tmp_path)
    assert mark.with_suffix("").is_dir()


def test_a_private_folder_is_private_and_goes(tmp_path: Path) -> None:
    with private_folder(tmp_path / "out") as folder:
        assert folder.parent == tmp_path
        for entry in tmp_path.iterdir():
            assert stat.S_IMODE(entry.lstat().st_mode) == (0o700 if entry.is_dir() else 0o600)
    assert names(tmp_path) == []
    with pytest.raises(ValueError, match="stop"), private_folder(tmp_path / "out"):
        raise ValueError("stop")
    assert names(tmp_path) == []


# The working folder as a trap


def test_a_working_folder_that_is_a_link_is_used_where_it_leads_only_if_named(table: Path) -> None:
    disk = table.parent / "disk"
    disk.mkdir()
    (table.parent / ".out.work").symlink_to(disk)
    with pytest.raises(InputError, match="link") as caught:
        anonymize_file(table, PEOPLE, Freeform(k=2), table.parent / "out")
    assert caught.value.reason is Reason.OUTPUT_EXISTS
    assert names(disk) == []
    (table.parent / ".out.work").rename(table.parent / "named")
    anonymize_file(table, PEOPLE, Freeform(k=2), table.parent / "out", work=table.parent / "named")
    assert names(table.parent) == ["in.parquet", "named", "out"]


@pytest.mark.skipif(os.getuid() != 0, reason="only root can give files away")
def test_a_working_folder_of_another_user_is_not_even_read(table: Path) -> None:
    work = table.parent / ".out.work"
    work.mkdir()
    (work / "manifest.json").write_text("a trap")
    os.chown(work, 12345, 12345)
    with pytest.raises(InputError) as caught:
        anonymize_file(table, PEOPLE, Freeform(k=2), table.parent / "out")
    assert caught.value.reason is Reason.OUTPUT_UNWRITABLE
    assert names(work) == ["manifest.json"]


@pytest.mark.parametrize("text", ["", "nonsense", "[]", "{}", '{"fingerprint": 1}'])
def test_a_broken_manifest_is_no_bug(text: str, table: Path) -> None:
    work = table.parent / ".out.work"
    work.mkdir()
    (work / "manifest.json").write_text(text)
    with pytest.raises(InputError) as caught:
        anonymize_file(table, PEOPLE, Freeform(k=2), table.parent / "out")
    assert caught.value.reason is Reason.OUTPUT_EXISTS
    assert (work / "manifest.json").read_text() == text


def test_two_runs_in_one_folder_do_not_meet(table: Path) -> None:
    seen: list[str] = []

    def progress(stage: str, _: float) -> None:
        if not seen and stage == "reading values":
            seen.append(stage)
            with pytest.raises(InputError, match="another process") as caught:
                anonymize_file(table, PEOPLE, Freeform(k=2), table.parent / "out", fresh=True)
            assert caught.value.reason is Reason.OUTPUT_EXISTS

    anonymize_file(table, PEOPLE, Freeform(k=2), table.parent / "out", progress=progress)
    assert seen
    assert names(table.parent) == ["in.parquet", "out"]


def test_another_engine_says_that_an_interrupted_run_left_something(tmp_path: Path) -> None:
    hospital(600).write_csv(tmp_path / "patients.csv")
    source = tmp_path / "patients.csv"
    schema = shoal.Schema.infer(
        shoal.read_table(source), quasi=["age"], sensitive=["diagnosis"], drop=["patient", "name"]
    )
    with pytest.raises(KeyboardInterrupt):
        anonymize_file(
            source, schema, KAnonymity(k=2), tmp_path / "out", progress=stop_at_blocks(KeyboardInterrupt()),
            block_rows=120, jobs=1,
        )  # fmt: skip
    assert names(tmp_path) == [".out.work", "patients.csv"]
    process = start(tmp_path, "--k", "5", "--engine", "memory", "-o", "out")
    _, err = process.communicate(timeout=LONG)
    assert process.returncode == 0, err
    assert ".out.work holds personal data" in " ".join(err.split())
