"""Prints what an extra needs besides Shoal itself, one requirement a line: ``dependencies.py EXTRA``.

With it, a machine installs libraries while it compiles the kernels, which pip does one after the other.
"""

from __future__ import annotations

import re
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

PROJECT = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text(encoding="utf-8"))["project"]


def requirements(extra: str) -> Iterator[str]:
    """Yield the requirements of an extra, and of the other extras that it names."""
    for each in PROJECT["optional-dependencies"][extra]:
        own = re.fullmatch(rf"{PROJECT['name']}\[(.+)\]", each)
        if own is None:
            yield each
        else:
            for other in own[1].split(","):
                yield from requirements(other.strip())


if __name__ == "__main__":
    print(*sorted({*PROJECT["dependencies"], *requirements(sys.argv[1])}), sep="\n")
