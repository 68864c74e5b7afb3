"""Calls of the command line: here, which saves the start of a process, or in a process of their own."""

from __future__ import annotations

import contextlib
import io
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from unittest import mock

from hypothesis import settings

from shoal.cli import main

SHOAL = [sys.executable, "-m", "shoal"]


def call(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Return what a command prints and its exit code; in a campaign, it runs in a process of its own."""
    command = [*SHOAL, *arguments]
    if not settings().derandomize:
        return subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=300, check=False)
    return call_here(folder, *arguments)


def call_here(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Return what a command prints and its exit code; it runs in this process."""
    out, err = (io.TextIOWrapper(io.BytesIO(), encoding="utf-8", write_through=True) for _ in range(2))
    with (
        contextlib.chdir(folder),
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(err),
        mock.patch.object(sys, "argv", ["shoal", *arguments]),
        mock.patch.dict(os.environ, {"COLUMNS": "80"}),
        _signals_kept(),
    ):
        try:
            main()
        except SystemExit as ended:
            code = ended.code
    shown = [each.buffer.getvalue().decode("utf-8") for each in (out, err)]
    return subprocess.CompletedProcess([*SHOAL, *arguments], code if isinstance(code, int) else 0, *shown)


def called(folder: Path, *arguments: str, code: int = 0) -> subprocess.CompletedProcess[str]:
    """Return what a command prints, which ends with the given exit code."""
    done = call(folder, *arguments)
    assert done.returncode == code, done.stderr
    assert "Traceback" not in done.stderr
    return done


@contextlib.contextmanager
def _signals_kept() -> Iterator[None]:
    """Restore what `main` sets: how signals, of which Windows lacks some, and lost errors are answered."""
    names = [name for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)]
    numbers = [signal.Signals[name] for name in names]
    before = [signal.getsignal(number) for number in numbers]
    shown = sys.unraisablehook
    try:
        yield
    finally:
        sys.unraisablehook = shown
        for number, answer in zip(numbers, before, strict=True):
            signal.signal(number, answer)
