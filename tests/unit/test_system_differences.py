"""What operating systems do differently: nothing half-written on Windows either, which is imitated here."""

from __future__ import annotations

import ast
import errno
import os
from pathlib import Path

import pytest

from shoal import KAnonymity, Schema, anonymize_file
from shoal.engines.workspace import workspace
from shoal.errors import InputError
from shoal.files import system
from shoal.files.private_folders import private_folder
from shoal.files.staging import staged_file, staged_folder
from shoal.methods import silent
from shoal.samples import hospital

SOURCES = Path(system.__file__).parents[1]
MODULES_OF_SOME = {"fcntl", "msvcrt", "pwd", "grp", "resource", "termios", "winreg", "posix", "nt"}
NAMES_OF_SOME = {
    "O_NOFOLLOW", "O_NONBLOCK", "O_CLOEXEC", "O_DIRECTORY", "getuid", "geteuid", "fork", "chown", "fchmod",
    "killpg", "mkfifo", "setsid", "sched_getaffinity", "sched_setaffinity", "startfile", "fdatasync",
}  # fmt: skip


class ImitatedWindows:
    """Locks of Windows: a byte of an open file, which no other open file can lock at the same time."""

    LK_NBLCK = 2

    def __init__(self) -> None:
        self.locked: dict[tuple[int, int], int] = {}
        self.places: list[int] = []

    def locking(self, file: int, mode: int, count: int) -> None:
        assert (mode, count) == (self.LK_NBLCK, 1)
        self.places.append(os.lseek(file, 0, os.SEEK_CUR))
        found = os.fstat(file)
        holder = self.locked.setdefault((found.st_dev, found.st_ino), file)
        if holder != file and _is_open(holder):
            raise OSError(errno.EACCES, "Permission denied")
        self.locked[found.st_dev, found.st_ino] = file


def _is_open(file: int) -> bool:
    try:
        os.fstat(file)
    except OSError:
        return False
    return True


@pytest.fixture
def windows(monkeypatch: pytest.MonkeyPatch) -> ImitatedWindows:
    """Imitate what matters of Windows."""
    imitated = ImitatedWindows()
    rename, unlink = os.rename, os.unlink

    def rename_only(source: Path, target: Path) -> None:
        if os.path.lexists(target):
            raise FileExistsError(errno.EEXIST, "exists", str(target))
        rename(source, target)

    def unlink_closed(path: Path, *, dir_fd: int | None = None) -> None:
        found = os.stat(path, dir_fd=dir_fd, follow_symlinks=False)
        holder = imitated.locked.get((found.st_dev, found.st_ino))
        if holder is not None and _is_open(holder) and os.path.samestat(os.fstat(holder), found):
            raise PermissionError(errno.EACCES, "in use", str(path))
        unlink(path, dir_fd=dir_fd)

    monkeypatch.setattr(system, "WINDOWS", True)
    monkeypatch.setattr(system, "fcntl", None)
    monkeypatch.setattr(system, "msvcrt", imitated)
    monkeypatch.setattr(system, "has_owners", lambda: False)
    monkeypatch.setattr(os, "rename", rename_only)
    monkeypatch.setattr(os, "unlink", unlink_closed)
    return imitated


def test_only_one_file_uses_what_some_systems_lack() -> None:
    for file in SOURCES.rglob("*.py"):
        if file == Path(system.__file__):
            continue
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import | ast.ImportFrom):
                names = {alias.name.split(".")[0] for alias in node.names} | {getattr(node, "module", "")}
                assert not names & MODULES_OF_SOME, f"{file}: {names}"
            if isinstance(node, ast.Attribute):
                assert node.attr not in NAMES_OF_SOME, f"{file}:{node.lineno}: {node.attr}"


def test_an_empty_folder_is_replaced(windows: ImitatedWindows, tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    with staged_folder(tmp_path / "out") as staging:
        (staging / "a.csv").write_text("1")
    assert [path.name for path in tmp_path.rglob("*")] == ["out", "a.csv"]
    assert windows.places  # a lock was taken


@pytest.mark.usefixtures("windows")
def test_a_folder_with_our_files_is_replaced_and_no_mark_stays(tmp_path: Path) -> None:
    for text in ("1", "2"):
        with staged_folder(tmp_path / "out", overwrite=True, ours=("a.csv",)) as staging:
            (staging / "a.csv").write_text(text)
    assert sorted(path.name for path in tmp_path.rglob("*")) == ["a.csv", "out"]
    assert (tmp_path / "out" / "a.csv").read_text() == "2"


@pytest.mark.usefixtures("windows")
def test_a_file_appears_whole_or_not_at_all(tmp_path: Path) -> None:
    with pytest.raises(ZeroDivisionError), staged_file(tmp_path / "a.csv") as staging:
        staging.write_text(str(1 / 0))
    assert list(tmp_path.iterdir()) == []
    with staged_file(tmp_path / "a.csv") as staging:
        staging.write_text("1")
    assert [path.name for path in tmp_path.iterdir()] == ["a.csv"]


def test_a_locked_byte_is_behind_all_that_is_written(windows: ImitatedWindows, tmp_path: Path) -> None:
    with private_folder(tmp_path / "out"):
        (mark,) = tmp_path.glob("*.lock")
        assert mark.stat().st_size < windows.places[0]
        assert mark.read_text().startswith("{")


@pytest.mark.usefixtures("windows")
def test_two_runs_do_not_share_a_working_folder(tmp_path: Path) -> None:
    folder = tmp_path / "work"
    with workspace(folder, "a call", fresh=False, progress=silent):
        with (
            pytest.raises(InputError, match="another process is using"),
            workspace(folder, "a call", fresh=False, progress=silent),
        ):
            pass
        assert folder.exists()
    assert not folder.exists()


@pytest.mark.usefixtures("windows")
def test_a_release_in_blocks_leaves_nothing_behind(tmp_path: Path) -> None:
    frame = hospital(400, seed=1)
    frame.write_csv(tmp_path / "patients.csv")
    schema = Schema.infer(frame, quasi=["age", "sex"], drop=["patient", "name"])
    out = tmp_path / "out"
    anonymize_file(tmp_path / "patients.csv", schema, KAnonymity(k=5), output=out, block_rows=200, jobs=1)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["out", "patients.csv"]


def test_without_any_locks_a_working_folder_is_refused(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(system, "fcntl", None)
    with (
        pytest.raises(InputError, match="another process is using"),
        workspace(tmp_path / "work", "a call", fresh=False, progress=silent),
    ):
        pass
