"""The campaign "properties": property tests and tests of attacks with new seeds and many more examples."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from drawing import Draw
from soaking import Campaign, Finding

ROOT = Path(__file__).resolve().parents[2]
MINUTES = 30
"""Tests of a file that take longer hang."""
NO_TESTS = 5
"""The exit code of pytest if all tests of a file are slow."""


def case(draw: Draw, folder: Path) -> str:
    """Run the quick tests of one file with a random seed.

    Raises
    ------
    Finding
        If one of them fails.
    """
    files = sorted(
        file for room in ("property", "attacks") for file in (ROOT / "tests" / room).glob("test_*.py")
    )
    file, seed = draw.choice(files), draw.randrange(2**32)
    words = ["-x", "-q", "-p", "no:cacheprovider", "-m", "not slow", f"--hypothesis-seed={seed}"]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", *words, f"--basetemp={folder / 'tests'}", str(file)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=60 * MINUTES,
        check=False,
    )
    if done.returncode not in (0, NO_TESTS):
        raise Finding(f"{file.relative_to(ROOT)} with --hypothesis-seed={seed}: {done.stdout[-3000:]}")
    return f"{file.parent.name}"


CAMPAIGN = Campaign("properties", case, slice=0)
