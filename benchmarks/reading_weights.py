"""The weights of standard errors, fitted to data that the benchmark `reading` does not use.

`python -m benchmarks.reading_weights` prints them by family, as `shoal/reading/assumptions.py` has them, with
the coverage of each data set and k. Releases are made once and kept; so is what was measured of them.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize

from benchmarks.harness import MEASURED
from benchmarks.reading_releases import LARGE, TRAINING, loaded, release_of
from shoal import InputError
from shoal.base.randomness import Randomness
from shoal.measures.queries import Query, conditions_of, draw_queries
from shoal.reading import open_release
from shoal.reading.answers import CONFIDENCE, evidence
from shoal.table import Table

FAMILIES = {
    "joined": ("matching", "ring", "chain"),
    "merged": ("agglomerative", "forest"),
    "cut": ("mondrian",),
    "own": ("concealment", "kk", "k1", "1k"),
    "suppressed": ("patterned",),
}
KS = (2, 5, 10, 25, 50)
LARGE_KS = {
    "ring": (10, 50),
    "chain": (10, 50),
    "agglomerative": (10, 50),
    "mondrian": (10, 50),
    "concealment": (10,),
}
"""Of large tables, fewer releases are read."""
FEWER_METHODS = {"made-up 4": ("ring", "chain", "agglomerative", "mondrian", "concealment", "kk")}
WORKLOADS = ((1, 0.1), (2, 0.1), (3, 0.1), (4, 0.1), (2, 0.01), (2, 0.3), (1, 0.03), (3, 0.25))
QUESTIONS, SEED = 6, 31
"""The number of questions of each workload, and their seed; the benchmark has another."""
PARTS = ("doubt", "shared", "unsure", "spread")
START = np.log([0.5, 0.2, 0.02**2, 0.7**2])
FREEDOM = 4
"""Degrees of freedom: some errors are far larger than others."""

Floats = NDArray[np.float64]


def measured(data: str, method: str, k: int) -> Floats:
    """Return for each question the truth, the estimate, what is certain, possible, unknown, and its parts."""
    file = MEASURED / "reading_weights" / f"{data}-{method}-{k}.json"
    if not file.exists():
        frame, schema = loaded(data)
        table = Table.encode(frame, schema)
        reader = open_release(release_of(data, method, k))
        rows = []
        for query in _questions(table):
            found = evidence(reader._joint, reader._asked(conditions_of(table, query)))
            parts = [float(getattr(found, name)) for name in PARTS]
            answer = (query.answer, found.estimate, found.certain, found.possible, found.unknown)
            rows.append([*map(float, answer), *parts])
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(json.dumps(rows), encoding="utf-8")
    return np.array(json.loads(file.read_text(encoding="utf-8")))


def _questions(table: Table) -> Iterator[Query]:
    for columns, share in WORKLOADS:
        try:
            yield from draw_queries(
                table, QUESTIONS, Randomness(SEED), selectivity=share, quasi=columns, sensitive=1
            )
        except InputError:
            continue


def variance(rows: Floats, weights: Floats) -> Floats:
    """Return the variance of each answer; the weights of the last two parts are squares."""
    doubt, shared, unsure, spread = rows[:, 5:].T
    parts = np.stack([doubt, shared, unsure**2, spread**2], axis=1)
    return np.asarray(parts @ weights + (rows[:, 4] / CONFIDENCE) ** 2)


def coverage(rows: Floats, weights: Floats) -> float:
    """Return the share of intervals that contain the truth."""
    truth, estimate, certain, possible = rows[:, :4].T
    half = CONFIDENCE * np.sqrt(variance(rows, weights)) + 1e-6
    inside = (np.maximum(estimate - half, certain - 1e-6) <= truth) & (
        truth <= np.minimum(estimate + half, possible + 1e-6)
    )
    return float(inside.mean())


def fitted(releases: Sequence[Floats]) -> Floats:
    """Return the weights of the parts for some releases, each of which counts the same.

    They maximize the likelihood of the errors, and are then scaled so that 95% of the intervals contain the
    truth, on average over the releases.
    """
    unsure = [rows[rows[:, 5] > 0] for rows in releases]
    every = np.concatenate(unsure)
    counts = np.concatenate([np.full(len(rows), 1 / max(len(rows), 1)) for rows in unsure])
    off = every[:, 0] - every[:, 1]

    def unlikely(logs: Floats) -> float:
        spread = variance(every, np.exp(logs)) + 1e-3
        terms = (FREEDOM + 1) / 2 * np.log1p(off**2 / spread / (FREEDOM - 2)) + np.log(spread) / 2
        return float(np.average(terms, weights=counts) + 0.002 * np.square(logs - START).sum())

    weights = np.exp(minimize(unlikely, START, method="Nelder-Mead", options={"maxiter": 4000}).x)
    scales = np.linspace(0.3, 4, 371)
    covered = [np.mean([coverage(rows, weights * scale**2) for rows in releases]) for scale in scales]
    return np.asarray(weights * scales[int(np.argmax(np.array(covered) >= 0.95))] ** 2)


def main() -> None:
    """Print the weights of each family, and the coverage by data set and k."""
    for family, methods in FAMILIES.items():
        found = {}
        for data in TRAINING:
            large = data in LARGE
            chosen = tuple(LARGE_KS) if large else FEWER_METHODS.get(data, methods)
            for method in (each for each in methods if each in chosen):
                for k in LARGE_KS[method] if large else KS:
                    found[data, k, method] = measured(data, method, k)
        weights = fitted(list(found.values()))
        chance, shared, model, spread = weights
        print(f"{family}: {chance:.2f}, {shared:.2f}, {np.sqrt(model):.3f}, {np.sqrt(spread):.2f}")
        for data in TRAINING:
            for k in KS:
                cells = [coverage(rows, weights) for (*at, _), rows in found.items() if at == [data, k]]
                if cells:
                    print(f"    {data}, k = {k}: {np.mean(cells):.0%}")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
