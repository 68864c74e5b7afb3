"""An attacker reads the temporary folder: what a server that ended, or was killed, left there."""

from __future__ import annotations

import json
import os
import signal
import stat
import subprocess
import sys
from pathlib import Path

import pytest
from visitor import Forger, Server, running

from shoal.files import private_folders
from shoal.files.private_folders import private_folder, sweep
from shoal.samples import hospital


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "tables"
    folder.mkdir()
    hospital(60).write_csv(folder / "patients.csv")
    return folder


@pytest.fixture
def temporary(tmp_path: Path) -> Path:
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    return temporary


def with_a_table(server: Server) -> Forger:
    """Return a client that has uploaded a table."""
    forger = Forger(server)
    forger.upload(b"name,age\nann,1\nbob,2\n")
    assert "columns_done" in forger.listen("columns_done")
    return forger


def files(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*") if path.is_file()]


def folders(parent: Path) -> list[Path]:
    return [path for path in parent.iterdir() if path.is_dir()]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_every_signal_that_can_be_handled_cleans_up(folder: Path, temporary: Path, number: int) -> None:
    with running(folder, temporary, signal_number=number) as server, with_a_table(server):
        assert any("ann" in path.read_text(errors="replace") for path in files(temporary))
    assert list(temporary.iterdir()) == []
    assert server.process.returncode == 128 + number


def test_files_are_closed_to_others(folder: Path, temporary: Path) -> None:
    with running(folder, temporary) as server, with_a_table(server):
        for path in temporary.rglob("*"):
            assert not path.lstat().st_mode & 0o077, path


def test_the_next_start_removes_what_a_killed_server_left(folder: Path, temporary: Path) -> None:
    with running(folder, temporary) as live:
        with running(folder, temporary, signal_number=signal.SIGKILL) as server:
            forger = with_a_table(server)
        forger.__exit__()
        assert len(folders(temporary)) == 2
        left = files(temporary)
        assert any("ann" in path.read_text(errors="replace") for path in left)
        with with_a_table(live), running(folder, temporary) as another:
            assert len(folders(temporary)) == 2  # of the two that live
            assert len(list(temporary.iterdir())) == 4  # each has a mark
            assert any("ann" in path.read_text(errors="replace") for path in files(temporary))
            assert another.ask("/")[0] == live.ask("/")[0] == 200


def mark_of(folder: Path) -> Path:
    return folder.with_name(f"{folder.name}.lock")


def abandoned(parent: Path, name: str = "dead0000", **told: object) -> Path:
    """Return a folder as a dead server leaves it."""
    folder = parent / f".shoal-page.shoal-{name}"
    folder.mkdir(mode=0o700)
    (folder / "table.csv").write_text("name\nann\n")
    host, boot = private_folders._machine()
    content = {"shoal": private_folders._MARK, "name": folder.name, "host": host, "boot": boot}
    mark = mark_of(folder)
    mark.touch(mode=0o600)
    mark.write_text(json.dumps({**content, "process": 2**22 + 7, **told}))
    return folder


def test_what_is_dead_goes(tmp_path: Path) -> None:
    abandoned(tmp_path)
    sweep(tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_a_process_with_the_same_number_is_not_the_owner(tmp_path: Path) -> None:
    abandoned(tmp_path, process=os.getpid())
    sweep(tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_what_lives_stays(tmp_path: Path) -> None:
    with private_folder(tmp_path / "shoal-page") as folder:
        mark = mark_of(folder)
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700
        assert stat.S_IMODE(mark.stat().st_mode) == 0o600
        sweep(tmp_path)
        assert folder.exists()
        # Nor does another process remove it, not even if it cannot see the owner among its processes.
        mark.write_text(json.dumps({**json.loads(mark.read_text()), "process": 2**22 + 7}))
        code = "import sys, shoal.files.private_folders as p; p.sweep(p.Path(sys.argv[1]))"
        subprocess.run([sys.executable, "-c", code, str(tmp_path)], check=True)
        assert folder.exists()
    assert list(tmp_path.iterdir()) == []


def test_what_is_not_ours_stays(tmp_path: Path) -> None:
    parent, elsewhere = tmp_path / "parent", tmp_path / "elsewhere"
    parent.mkdir()
    elsewhere.mkdir()
    mark_of(abandoned(parent, "open0000")).chmod(0o644)
    for name, content in {
        "torn0000": '{"shoal": "A run',
        "list0000": "[]",
        "odd00000": '{"process": "x", "start": 1}',
    }.items():
        mark_of(abandoned(parent, name)).write_text(content)
    linked = mark_of(abandoned(parent, "linked00"))
    linked.rename(tmp_path / "mark")
    linked.symlink_to(tmp_path / "mark")
    (parent / "shoal-other").mkdir()
    (parent / ".shoal-page.shoal-empty000").mkdir(mode=0o700)
    before = sorted(parent.rglob("*"))
    assert len(folders(parent)) == 7
    sweep(parent)
    assert sorted(parent.rglob("*")) == before
    # A file or a link in the place of a folder is not removed, nor what the link leads to.
    precious = abandoned(elsewhere)
    for name in ("file0000", "link0000"):
        folder = abandoned(parent, name)
        folder.rename(tmp_path / name)
        folder.write_text("x") if name.startswith("file") else folder.symlink_to(precious)
    sweep(parent)
    assert (parent / ".shoal-page.shoal-file0000").read_text() == "x"
    assert (parent / ".shoal-page.shoal-link0000" / "table.csv").exists()


def test_links_are_removed_and_not_followed(tmp_path: Path) -> None:
    precious = tmp_path / "precious"
    precious.mkdir()
    (precious / "file").write_text("x")
    parent = tmp_path / "parent"
    parent.mkdir()
    folder = abandoned(parent)
    (folder / "link").symlink_to(precious)
    (folder / "session").mkdir()
    (folder / "session" / "link").symlink_to(precious / "file")
    sweep(parent)
    assert list(parent.iterdir()) == []
    assert (precious / "file").read_text() == "x"


def test_the_mark_goes_last(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A sweep that is killed half-way leaves a folder that the next one still knows."""
    folder = abandoned(tmp_path)

    def killed(_: Path) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(private_folders, "remove_folder", killed)
        with pytest.raises(KeyboardInterrupt):
            sweep(tmp_path)
    assert mark_of(folder).exists()
    sweep(tmp_path)
    assert list(tmp_path.iterdir()) == []
