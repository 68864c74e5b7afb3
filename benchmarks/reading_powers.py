"""The powers of the reader, chosen by data that the benchmark `reading` does not use.

`python -m benchmarks.reading_powers` prints for each method, k and power the error of answers as a share of
that of an even spread: the geometric mean over releases of the ratio of mean errors. Releases are made once
and kept; so is what was measured of them.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from benchmarks.harness import MEASURED
from benchmarks.reading_releases import loaded, release_of
from benchmarks.reading_weights import drawn_questions
from shoal.measures.queries import conditions_of
from shoal.reading import open_release
from shoal.reading.mixture import Assumption
from shoal.table import Table

DATA = ("made-up 1", "patients", "nursery")
METHODS = (
    "chain",
    "agglomerative",
    "forest",
    "mondrian",
    "concealment",
    "paper-concealment",
    "paper-kk",
    "k1",
    "1k",
    "patterned",
)
KS = (5, 10, 50)
POWERS = (-0.6, -0.3, 0.0, 0.2, 0.35, 0.5, 0.65, 0.8, 0.9)


def errors(data: str, method: str, k: int) -> dict[str, list[float]]:
    """Return the error of each answer by power, and with an even spread."""
    file = MEASURED / "reading_powers" / f"{data}-{method}-{k}.json"
    if not file.exists():
        frame, schema = loaded(data)
        table = Table.encode(frame, schema)
        questions = list(drawn_questions(table))
        conditions = [conditions_of(table, question) for question in questions]
        truth = np.array([question.answer for question in questions])
        folder = release_of(data, method, k)
        estimates = {"even": _estimates(folder, conditions, None)}
        estimates |= {str(power): _estimates(folder, conditions, power) for power in POWERS}
        found = {name: (np.abs(each - truth) / truth).tolist() for name, each in estimates.items()}
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(json.dumps(found), encoding="utf-8")
    read: dict[str, list[float]] = json.loads(file.read_text(encoding="utf-8"))
    return read


def _estimates(
    folder: Path, conditions: Sequence[dict[str, object]], power: float | None
) -> NDArray[np.float64]:
    reader = open_release(folder, estimator="even" if power is None else "tight")
    joint = reader._joint if power is None else replace(reader._joint, assumption=Assumption(power))
    found = []
    for each in conditions:
        asked = reader._asked(each)
        certain, possible = joint.bounds(asked)
        found.append(float(certain.sum() + joint.weights(asked, np.flatnonzero(possible & ~certain)).sum()))
    return np.array(found)


def main(options: Sequence[str]) -> None:
    """Print the errors of each method by power."""
    parser = argparse.ArgumentParser("reading_powers")
    parser.add_argument("--methods", default=",".join(METHODS))
    parser.add_argument("--only", default=",".join(DATA))
    given = parser.parse_args(options)
    print("powers", *POWERS)
    for method in given.methods.split(","):
        for k in KS:
            ratios = []
            for data in given.only.split(","):
                means = {name: float(np.mean(each)) for name, each in errors(data, method, k).items()}
                ratios.append([means[str(power)] / max(means["even"], 1e-9) for power in POWERS])
            print(f"{method}, k = {k}:", *(f"{each:.3f}" for each in np.exp(np.log(ratios).mean(axis=0))))
            sys.stdout.flush()


if __name__ == "__main__":
    main(sys.argv[1:])
