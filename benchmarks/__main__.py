"""Run all benchmarks, or the one that is named: `python -m benchmarks [NAME]`."""

from __future__ import annotations

import importlib
import pkgutil
import sys
from pathlib import Path

NOT_BENCHMARKS = {"__main__", "harness", "literal_sort_greedy", "textbook"}


def main() -> None:
    """Run the chosen benchmarks one after the other."""
    names = [module.name for module in pkgutil.iter_modules([str(Path(__file__).parent)])]
    names = sorted(set(names) - NOT_BENCHMARKS)
    chosen = sys.argv[1:] or names
    for name in chosen:
        if name not in names:
            sys.exit(f"there is no benchmark {name!r}; there is {', '.join(names)}")
        importlib.import_module(f"benchmarks.{name}").main()


main()
