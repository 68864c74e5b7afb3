"""The version of a package: from git tags, from a source distribution, and where neither is there."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
pytest.importorskip("setuptools_scm")


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """Return a folder with the configuration of the project, and nothing else."""
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    return tmp_path


def git(folder: Path, *words: str) -> None:
    call = ["git", "-c", "user.name=a", "-c", "user.email=a@b", "-c", "init.defaultBranch=main", *words]
    subprocess.run(call, cwd=folder, check=True, capture_output=True)


def version(folder: Path) -> str:
    code = "from scikit_build_core.metadata.setuptools_scm import dynamic_metadata as d; print(d('version'))"
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=folder, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_a_copy_without_git_is_version_zero(copy: Path) -> None:
    assert version(copy) == "0.0"


def test_a_source_distribution_knows_its_version(copy: Path) -> None:
    (copy / "PKG-INFO").write_text("Metadata-Version: 2.1\nName: shoal-privacy\nVersion: 1.2.3\n")
    assert version(copy) == "1.2.3"


def test_a_tag_is_the_version_and_commits_after_it_lead_to_the_next(copy: Path) -> None:
    git(copy, "init")
    git(copy, "add", "pyproject.toml")
    git(copy, "commit", "-m", "one")
    assert re.fullmatch(r"0\.1\.dev1\+g[0-9a-f]+(\.d\d+)?", version(copy))
    git(copy, "tag", "-a", "v1.2.3", "-m", "1.2.3")
    assert version(copy) == "1.2.3"
    git(copy, "commit", "--allow-empty", "-m", "two")
    assert re.fullmatch(r"1\.2\.4\.dev1\+g[0-9a-f]+(\.d\d+)?", version(copy))
    git(copy, "tag", "-a", "v1.2.4rc1", "-m", "1.2.4rc1")
    assert version(copy) == "1.2.4rc1"
