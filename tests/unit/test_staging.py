"""Outputs appear whole or not at all."""

from __future__ import annotations

import os
import shutil
import tempfile
import threading
import time
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from shoal.errors import InputError, Reason
from shoal.files import private_folders, staging
from shoal.files.private_folders import remove_folder
from shoal.files.staging import staged_file, staged_folder

if TYPE_CHECKING:
    from collections.abc import Iterator

OURS = ("release.csv", "report.html")


@pytest.fixture(autouse=True)
def umask() -> Iterator[None]:
    before = os.umask(0o027)
    yield
    os.umask(before)


def contents(folder: Path) -> dict[str, str]:
    """Return all files below a folder, hidden ones too, so that leftovers show."""
    return {str(path.relative_to(folder)): path.read_text() for path in folder.rglob("*") if path.is_file()}


def everything(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*"))


def fill(folder: Path, **files: str) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in files.items():
        (folder / name.replace("_", ".")).write_text(text)
    return folder


def fill_and_fail(folder: Path, error: BaseException | type[BaseException]) -> None:
    fill(folder, half="written")
    raise error


def refused(reason: Reason, target: Path, overwrite: bool = False) -> str:
    with pytest.raises(InputError) as caught, staged_folder(target, overwrite=overwrite, ours=OURS):
        pytest.fail("the block must not run")
    assert caught.value.reason is reason
    return str(caught.value)


@pytest.mark.parametrize("there_already", [False, True])
def test_a_folder_appears_whole(tmp_path: Path, there_already: bool) -> None:
    target = tmp_path / "out"
    if there_already:
        target.mkdir()
    with staged_folder(target, ours=OURS) as folder:
        assert folder.parent == tmp_path
        assert folder.name.startswith(".out.")
        assert folder.stat().st_mode & 0o777 == 0o700
        fill(folder, release_csv="new")
        (folder / "release.csv").chmod(0o600)
        fill(folder / "charts", a_svg="chart")
        assert not there_already or everything(target) == []
    assert contents(tmp_path) == {"out/release.csv": "new", "out/charts/a.svg": "chart"}
    assert target.stat().st_mode & 0o777 == 0o750
    assert (target / "release.csv").stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("error", [ValueError, OSError, KeyboardInterrupt, SystemExit])
@pytest.mark.parametrize("overwrite", [False, True])
def test_a_failure_leaves_everything_as_it_was(
    tmp_path: Path, error: type[BaseException], overwrite: bool
) -> None:
    if overwrite:
        fill(tmp_path / "a" / "out", release_csv="old")
    before = everything(tmp_path)
    with (
        pytest.raises(error),
        staged_folder(tmp_path / "a" / "out", overwrite=overwrite, ours=OURS) as folder,
    ):
        fill_and_fail(folder, error)
    assert everything(tmp_path) == before


def test_parents_are_created_and_those_in_use_stay(tmp_path: Path) -> None:
    with staged_folder(tmp_path / "a" / "b" / "out") as folder:
        fill(folder, x="1")
    assert contents(tmp_path) == {"a/b/out/x": "1"}
    with pytest.raises(ValueError, match="stop"), staged_folder(tmp_path / "c" / "d" / "out"):
        fill_and_fail(tmp_path / "c", ValueError("stop"))
    assert everything(tmp_path / "c") == ["half"]


def test_our_own_files_are_replaced_only_when_asked(tmp_path: Path) -> None:
    target = fill(tmp_path / "out", release_csv="old", report_html="old")
    message = refused(Reason.OUTPUT_EXISTS, target)
    assert "'release.csv', 'report.html'" in message
    assert "allow to overwrite them" in message
    with staged_folder(target, overwrite=True, ours=OURS) as folder:
        fill(folder, release_csv="new")
        assert contents(target)["release.csv"] == "old"
    assert contents(tmp_path) == {"out/release.csv": "new"}


@pytest.mark.parametrize("overwrite", [False, True])
def test_files_of_others_are_never_replaced(tmp_path: Path, overwrite: bool) -> None:
    target = fill(tmp_path / "out", release_csv="old", a="", b="", c="", thesis="")
    message = refused(Reason.OUTPUT_EXISTS, target, overwrite)
    assert "'a', 'b', 'c' and 1 more" in message
    assert "--overwrite" not in message
    assert len(contents(tmp_path)) == 5


def test_files_that_others_write_meanwhile_are_kept(tmp_path: Path) -> None:
    target = fill(tmp_path / "out", release_csv="old")
    with pytest.raises(InputError, match="thesis"), staged_folder(target, overwrite=True, ours=OURS):
        fill(target, thesis="five years")
    assert contents(tmp_path) == {"out/release.csv": "old", "out/thesis": "five years"}


@pytest.mark.parametrize("failing_call", [1, 2])
@pytest.mark.parametrize("error", [OSError, KeyboardInterrupt])
def test_a_swap_that_fails_restores_the_old_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, failing_call: int, error: type[BaseException]
) -> None:
    target = fill(tmp_path / "out", release_csv="old")
    rename, calls = os.rename, []

    def failing(source: Path, destination: Path) -> None:
        calls.append(source)
        if len(calls) == failing_call:
            raise error(28, "No space left on device")
        rename(source, destination)

    monkeypatch.setattr(staging.os, "rename", failing)
    expected = InputError if error is OSError else error
    with pytest.raises(expected), staged_folder(target, overwrite=True, ours=OURS) as folder:
        fill(folder, release_csv="new")
    assert everything(tmp_path) == ["out", "out/release.csv"]
    assert contents(target) == {"release.csv": "old"}


def test_a_file_or_the_current_folder_is_no_target(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "out").write_text("mine")
    assert "is a file" in refused(Reason.OUTPUT_EXISTS, tmp_path / "out", overwrite=True)
    here = fill(tmp_path / "here")
    monkeypatch.chdir(here)
    assert "current folder" in refused(Reason.OUTPUT_EXISTS, here)


def test_a_link_is_followed(tmp_path: Path) -> None:
    fill(tmp_path / "disk")
    (tmp_path / "out").symlink_to(tmp_path / "disk")
    with staged_folder(tmp_path / "out") as folder:
        fill(folder, x="1")
    assert (tmp_path / "out").is_symlink()
    assert contents(tmp_path / "disk") == {"x": "1"}


@pytest.mark.parametrize(
    "where", ["file.txt/out", "file.txt/a/b/out", "/proc/out", "/proc/a/b/out", "x" * 300]
)
@pytest.mark.parametrize("stage", [staged_folder, staged_file])
def test_an_unwritable_place_is_refused(tmp_path: Path, where: str, stage: type[staged_folder]) -> None:
    fill(tmp_path, file_txt="mine")
    with pytest.raises(InputError) as caught, stage(tmp_path / where):
        pytest.fail("the block must not run")
    assert caught.value.reason is Reason.OUTPUT_UNWRITABLE
    assert contents(tmp_path) == {"file.txt": "mine"}


def test_a_file_appears_whole(tmp_path: Path) -> None:
    target = tmp_path / "a" / "schema.toml"
    with staged_file(target) as path:
        assert path.suffix == ".toml"
        path.write_text("new")
        assert not target.exists()
    assert contents(tmp_path) == {"a/schema.toml": "new"}
    assert everything(tmp_path) == ["a", "a/schema.toml"]
    assert target.stat().st_mode & 0o777 == 0o640


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt])
def test_a_failure_leaves_no_file(tmp_path: Path, error: type[BaseException]) -> None:
    with pytest.raises(error), staged_file(tmp_path / "a" / "schema.toml") as path:
        fill_and_fail(path.parent, error)
    assert everything(tmp_path) == []


def test_a_file_is_replaced_only_when_asked(tmp_path: Path) -> None:
    target = tmp_path / "schema.toml"
    target.write_text("old")
    target.chmod(0o600)
    with pytest.raises(InputError, match="allow to overwrite it") as caught, staged_file(target):
        pytest.fail("the block must not run")
    assert caught.value.reason is Reason.OUTPUT_EXISTS
    assert caught.value.parameter == "overwrite"
    with pytest.raises(ValueError, match="stop"), staged_file(target, overwrite=True) as path:
        raise ValueError("stop")
    assert target.read_text() == "old"
    with staged_file(target, overwrite=True) as path:
        path.write_text("new")
    assert contents(tmp_path) == {"schema.toml": "new"}
    assert target.stat().st_mode & 0o777 == 0o600


def test_a_folder_is_never_replaced_by_a_file(tmp_path: Path) -> None:
    with pytest.raises(InputError) as caught, staged_file(tmp_path, overwrite=True):
        pytest.fail("the block must not run")
    assert caught.value.reason is Reason.OUTPUT_EXISTS


def test_a_folder_that_somebody_still_writes_into_is_removed(tmp_path: Path) -> None:
    folder = tmp_path / "work"
    folder.mkdir()
    began = threading.Event()

    def write() -> None:
        until = time.monotonic() + 0.5
        with suppress(FileNotFoundError):  # the folder is gone
            while time.monotonic() < until:
                Path(tempfile.mkdtemp(dir=folder), "rows").touch()
                began.set()

    writer = threading.Thread(target=write)
    writer.start()
    began.wait()
    remove_folder(folder)
    writer.join()
    assert not folder.exists()


def test_a_folder_that_cannot_be_removed_is_told_of(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "rmtree", lambda *_, **__: None)
    monkeypatch.setattr(private_folders, "REMOVAL", 0.2)
    with pytest.warns(UserWarning, match="holds personal data"):
        remove_folder(tmp_path)
