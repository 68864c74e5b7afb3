"""Another tool at work, in an environment of its own: reads a table, writes what the tool makes of it.

Nothing of Shoal is imported here, as the environment has only the tool and what it needs. What to do comes as
JSON in the first argument, and the figures leave as the last line that is printed.
"""

from __future__ import annotations

import json
import resource
import sys
import time
from typing import Any

import pandas as pd

Task = dict[str, Any]


def anonypy(frame: pd.DataFrame, task: Task) -> pd.DataFrame:
    """Return anonypy's Mondrian classes, with as many rows as it counts."""
    from anonypy import Preserver

    categories = [name for name in frame.columns if name != "age"]
    frame = frame.astype(dict.fromkeys(categories, "category"))
    rows = Preserver(frame, task["quasi"], task["sensitive"]).anonymize_k_anonymity(k=task["k"])
    made = pd.DataFrame(rows)
    for name in task["quasi"]:
        made[name] = made[name].str[0]  # each cell is a list of one text
    return made.loc[made.index.repeat(made["count"])].drop(columns="count")


def anjana(frame: pd.DataFrame, task: Task) -> pd.DataFrame:
    """Return what anjana generalizes by hierarchies, with rows left out up to a share."""
    from anjana.anonymity import k_anonymity

    levels = {name: {i: of[c].to_numpy() for i, c in enumerate(of)} for name, of in hierarchies(task).items()}
    return k_anonymity(frame, [], task["quasi"], task["k"], task["suppressed_percent"], levels)


def crowds(frame: pd.DataFrame, task: Task) -> pd.DataFrame:
    """Return what the Optimal Lattice Anonymization of crowds makes by hierarchies."""
    from crowds.kanonymity.generalizations import GenRule
    from crowds.kanonymity.ola import anonymize

    rules = {}
    for name, levels in hierarchies(task).items():
        between = [dict(zip(levels.iloc[:, 0], levels[c], strict=True)).get for c in levels.columns[1:-1]]
        rules[name] = GenRule(between)
    made, _ = anonymize(frame, generalization_rules=rules, k=task["k"], max_sup=task["suppressed_percent"])
    return made.fillna("*")


def pycanon(frame: pd.DataFrame, task: Task) -> int:
    """Return which k a release has by pyCANON."""
    from pycanon.anonymity import k_anonymity

    return int(k_anonymity(frame, task["quasi"]))


def hierarchies(task: Task) -> dict[str, pd.DataFrame]:
    """Return for each quasi-identifier a table of its values and their levels."""
    return {name: pd.read_csv(f"{task['hierarchies']}/{name}.csv") for name in task["quasi"]}


TOOLS = {"anonypy": anonypy, "anjana": anjana, "crowds": crowds, "pycanon": pycanon}


def main() -> None:
    """Do the task and print its figures."""
    task: Task = json.loads(sys.argv[1])
    frame = pd.read_csv(task["original"])
    started = time.perf_counter()
    made = TOOLS[task["tool"]](frame, task)
    figures: dict[str, Any] = {"seconds": time.perf_counter() - started}
    if isinstance(made, pd.DataFrame):
        made.to_csv(task["released"], index=False)
    else:
        figures["k"] = made
    figures["memory_mib"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(json.dumps(figures))


if __name__ == "__main__":
    main()
