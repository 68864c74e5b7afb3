"""Run all benchmarks, or those that are named: `python -m benchmarks [NAME ...]`.

A benchmark of many cells takes options that tell which of them to measure now, for example
`python -m benchmarks freeform --only adult --k 5,10`; see its own description.
"""

from __future__ import annotations

import importlib
import inspect
import pkgutil
import sys
from pathlib import Path

NOT_BENCHMARKS = {
    "__main__",
    "beside_arx",
    "concealment_data",
    "harness",
    "literal_sort_greedy",
    "reading_cells",
    "reading_large",
    "reading_page",
    "reading_powers",
    "reading_releases",
    "reading_weights",
    "rival_tools",
    "textbook",
}


def main() -> None:
    """Run the chosen benchmarks one after the other; what begins with a dash is for them."""
    names = [module.name for module in pkgutil.iter_modules([str(Path(__file__).parent)])]
    names = sorted(set(names) - NOT_BENCHMARKS)
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


main()
