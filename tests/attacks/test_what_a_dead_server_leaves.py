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

from shoal.samples import hospital
from shoal.web.leftovers import MARKER, PREFIX, private_folder, sweep


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
        assert len(list(temporary.iterdir())) == 2
        left = files(temporary)
        assert any("ann" in path.read_text(errors="replace") for path in left)
        with with_a_table(live), running(folder, temporary) as another:
            assert len(list(temporary.iterdir())) == 2  # of the two that live
            assert any("ann" in path.read_text(errors="replace") for path in files(temporary))
            assert another.ask("/")[0] == live.ask("/")[0] == 200


def abandoned(parent: Path, name: str = "x", **owner: object) -> Path:
    """Return a folder as a dead server leaves it."""
    folder = parent / f"{PREFIX}{name}"
    folder.mkdir(mode=0o700)
    marker = folder / MARKER
    marker.write_text(json.dumps({"process": 2**22 + 7, "start": 1, "machine": "other", **owner}))
    marker.chmod(0o600)
    (folder / "table.csv").write_text("name\nann\n")
    return folder


def test_what_is_dead_goes(tmp_path: Path) -> None:
    folder = abandoned(tmp_path)
    assert sweep(tmp_path) == [folder]
    assert list(tmp_path.iterdir()) == []


def test_a_process_with_the_same_number_is_not_the_owner(tmp_path: Path) -> None:
    folder = abandoned(tmp_path, process=os.getpid(), start=1)
    assert sweep(tmp_path) == [folder]


def test_what_lives_stays(tmp_path: Path) -> None:
    with private_folder(tmp_path) as folder:
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700
        assert stat.S_IMODE((folder / MARKER).stat().st_mode) == 0o600
        assert sweep(tmp_path) == []
        # Nor does another process remove it, not even if it cannot see the owner among its processes.
        marker = folder / MARKER
        marker.write_text(json.dumps({"process": 2**22 + 7, "start": 1, "machine": "other"}))
        code = "import sys, pathlib, shoal.web.leftovers as l; print(l.sweep(pathlib.Path(sys.argv[1])))"
        done = subprocess.run([sys.executable, "-c", code, str(tmp_path)], capture_output=True, text=True)
        assert done.stdout.strip() == "[]", done.stderr
        assert folder.exists()
    assert list(tmp_path.iterdir()) == []


def test_what_is_not_ours_stays(tmp_path: Path) -> None:
    parent, elsewhere = tmp_path / "parent", tmp_path / "elsewhere"
    parent.mkdir()
    elsewhere.mkdir()
    (parent / "shoal-other").mkdir()
    (parent / f"{PREFIX}file").write_text("x")
    (parent / f"{PREFIX}empty").mkdir(mode=0o700)
    (parent / f"{PREFIX}link").symlink_to(abandoned(elsewhere))
    abandoned(parent, "open").chmod(0o755)
    for name, content in {
        "torn": '{"process": 7',
        "list": "[]",
        "odd": '{"process": "x", "start": 1}',
    }.items():
        (abandoned(parent, name) / MARKER).write_text(content)
    outside = tmp_path / "marker"
    outside.write_text(json.dumps({"process": 2**22 + 7, "start": 1, "machine": "other"}))
    linked = abandoned(parent, "linked")
    (linked / MARKER).unlink()
    (linked / MARKER).symlink_to(outside)
    before = sorted(parent.rglob("*"))
    assert sweep(parent) == []
    assert sorted(parent.rglob("*")) == before
    assert (elsewhere / f"{PREFIX}x" / "table.csv").exists()
    assert sweep(tmp_path / "nowhere") == []


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
    assert sweep(parent) == [folder]
    assert (precious / "file").read_text() == "x"


def test_the_marker_goes_last(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A sweep that is killed half-way leaves a folder that the next one still knows."""
    folder = abandoned(tmp_path)
    (folder / "session").mkdir()

    def killed(_: Path) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr("shoal.web.leftovers.remove_folder", killed)
        with pytest.raises(KeyboardInterrupt):
            sweep(tmp_path)
    assert (folder / MARKER).exists()
    assert sweep(tmp_path) == [folder]
