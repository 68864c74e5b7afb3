"""Run all benchmarks, or those that are named: `python -m benchmarks [NAME ...]`.

A benchmark of many cells takes options that tell which of them to measure now, for example
`python -m benchmarks freeform --only adult --k 5,10`; see its own description.
"""

from __future__ import annotations

import importlib
import inspect
import sys
from pathlib import Path

PARTS = {"__main__", "reading_powers", "reading_releases", "reading_weights", "rival_tools"}
"""Modules with a function `main` that are no benchmarks of their own."""


def benchmarks() -> list[str]:
    """Return the names of all benchmarks: modules with a function `main`."""
    files = sorted(Path(__file__).parent.glob("*.py"))
    return [
        file.stem for file in files if file.stem not in PARTS and "\ndef main(" in file.read_text("utf-8")
    ]


def main() -> None:
    """Run the chosen benchmarks one after the other; what begins with a dash is for them."""
    names = benchmarks()
    given = sys.argv[1:]
    first_option = next((i for i, word in enumerate(given) if word.startswith("-")), len(given))
    chosen, options = given[:first_option] or names, given[first_option:]
    for name in chosen:
        if name not in names:
            sys.exit(f"there is no benchmark {name!r}; there is {', '.join(names)}")
        module = importlib.import_module(f"benchmarks.{name}")
        takes_options = bool(inspect.signature(module.main).parameters)
        if options and not takes_options:
            sys.exit(f"benchmark {name!r} has no options")
        module.main(options) if takes_options else module.main()


if __name__ == "__main__":
    main()
