"""The files that a how-to page shows, and programs and commands that use them."""

from __future__ import annotations

import atexit
import json
import os
import re
import subprocess
import sys
from functools import cache
from pathlib import Path

from calling import call_here
from hypothesis import settings

CALLS_MAIN = "; from shoal.cli import main; main()"
"""The end of a program that is the command line, after it has imported a module of its own."""


def files_of(page: Path, folder: Path) -> None:
    """Write the files whose parts a page shows."""
    files: dict[str, list[str]] = {}
    for title, code in re.findall(r'```\w+ title="([\w./-]+)"\n(.*?)```', page.read_text(), re.DOTALL):
        files.setdefault(title, []).append(code)
    for name, parts in files.items():
        (folder / name).write_text("\n\n".join(parts))


def run(folder: Path, *words: str, code: str) -> subprocess.CompletedProcess[str]:
    """Run a program in the folder, or a command after the imports of a program.

    Commands with the same imports share one process, which saves its start; not in a campaign.
    """
    if words and code.endswith(CALLS_MAIN) and settings().derandomize:
        return _Commands.of(folder, code.removesuffix(CALLS_MAIN)).run(*words)
    return subprocess.run(
        [sys.executable, "-c", code, *words], cwd=folder, env=_env(folder), capture_output=True, text=True
    )


def serve() -> None:
    """Run the commands that are asked for, and answer what they print: the program of the shared process."""
    for line in sys.stdin:
        done = call_here(Path.cwd(), *json.loads(line))
        print(json.dumps([done.returncode, done.stdout, done.stderr]), flush=True)


class _Commands:
    """A process that runs one command after the other."""

    def __init__(self, folder: Path, imports: str) -> None:
        tests = str(Path(__file__).parent)
        code = f"{imports}; import sys; sys.path.append({tests!r}); import how_to; how_to.serve()"
        self.process = subprocess.Popen(
            [sys.executable, "-c", code],
            cwd=folder,
            env=_env(folder),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        atexit.register(self.process.communicate)

    @classmethod
    @cache
    def of(cls, folder: Path, imports: str) -> _Commands:
        """Return the process that has imported something in a folder."""
        return cls(folder, imports)

    def run(self, *words: str) -> subprocess.CompletedProcess[str]:
        """Return what a command prints, and its exit code."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        print(json.dumps(words), file=self.process.stdin, flush=True)
        return subprocess.CompletedProcess(words, *json.loads(self.process.stdout.readline()))


def _env(folder: Path) -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": os.pathsep.join((str(folder), os.environ.get("PYTHONPATH", "")))}
