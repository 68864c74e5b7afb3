"""An attacker looks for what killed runs left, or plants what the next run in that place would remove."""

from __future__ import annotations

import json
import os
import signal
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from leftovers import names, start, wait_for

from shoal.files.private_folders import private_folder
from shoal.files.staging import staged_file, staged_folder
from shoal.samples import hospital


@pytest.fixture(autouse=True)
def umask() -> Iterator[None]:
    before = os.umask(0o022)
    yield
    os.umask(before)


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
