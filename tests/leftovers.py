"""Runs that are refused, interrupted or killed, and what lies on the disk afterwards."""

from __future__ import annotations

import stat
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

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
    """Check that only the owner can read what lies below, even if the folder above were opened."""
    for path in (folder, *folder.rglob("*")):
        mode = stat.S_IMODE(path.lstat().st_mode)
        assert mode == (0o700 if path.is_dir() else 0o600), (path, oct(mode))


def stop_at_blocks(error: BaseException) -> Callable[[str, float], None]:
    def progress(stage: str, share: float) -> None:
        if share and " of " in stage:
            raise error

    return progress
