"""The power of the reader for releases of km-anonymity, chosen by data that `reading` does not use.

`python -m benchmarks.reading_narrowed` prints for each release and power the mean error of counts as a share
of that of an even spread, and how many intervals of counts and of means contain the truth.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import polars as pl

from benchmarks.reading_releases import loaded
from benchmarks.reading_weights import counts_of, coverage, drawn_questions, means_of, whole_coverage
from shoal import KmAnonymity, Release, Schema, ShoalWarning, anonymize
from shoal.measures.queries import conditions_of
from shoal.reading import assumptions, open_release
from shoal.reading.assumptions import Weights
from shoal.reading.mixture import Assumption
from shoal.table import Table

DATA = ("census 1", "patients", "made-up 2", "census 3", "census 2", "made-up 4", "census 4")
KS, KNOWN = (5, 10, 50), (1, 2, 3)
POWERS = (-0.3, 0.0, 0.2, 0.35, 0.5, 0.65)
LEAST = 0.005
"""If the error of an even spread is smaller, nearly all cells are exact, and errors are not compared."""


def work(frame: pl.DataFrame, schema: Schema, model: KmAnonymity) -> tuple[float, list[list[float]]]:
    """Return the error of an even spread, and for each power the error and the coverage of both intervals."""
    table = Table.encode(frame, schema)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ShoalWarning)  # releases from a seed are not to be published
        release = anonymize(frame, schema, model, effort="fast", seed=1)
    questions = list(drawn_questions(table))
    truth = np.array([each.answer for each in questions])
    evenly = open_release(release.written("csv"), codebook=release.certified.codebook(), estimator="even")
    even = np.array([evenly.count(conditions_of(table, each)).estimate for each in questions])
    found = [_figures(release, table, frame, power) for power in POWERS]
    return float(np.mean(np.abs(even - truth) / truth)), found


def _figures(release: Release, table: Table, frame: pl.DataFrame, power: float) -> list[float]:
    present = assumptions.NARROWED
    assumptions.NARROWED = replace(present, assumption=Assumption(power))
    try:
        reader = release.reader()
        counts, means = (
            np.array(list(measure(reader, table, frame))).reshape(-1, 10) for measure in (counts_of, means_of)
        )
    finally:
        assumptions.NARROWED = present
    return [
        float(np.mean(np.abs(counts[:, 1] - counts[:, 0]) / counts[:, 0])),
        whole_coverage(counts, _parts(present.weights)),
        coverage(means, _parts(present.means)),
    ]


def _parts(weights: Weights) -> np.ndarray:
    squared = [weights.model**2, weights.spread**2, weights.hidden**2]
    return np.array([weights.chance, weights.shared, *squared])


def main(options: Sequence[str]) -> None:
    """Print the errors and the coverage of each release and power."""
    print("powers", *POWERS)
    ratios, inside = [], []
    for data in options or DATA:
        frame, schema = loaded(data)
        for knows, k in ((knows, k) for knows in KNOWN for k in KS):
            even, found = work(frame, schema, KmAnonymity(k=k, knows=knows))
            inside.append([each[1:] for each in found])
            if even >= LEAST:
                ratios.append([each[0] / even for each in found])
            shown = (f"{each[0]:.3f} ({each[1]:.0%}, {each[2]:.0%})" for each in found)
            print(f"{data}, knows {knows}, k {k}: even {even:.3f};", *shown, flush=True)
    shares = zip(np.exp(np.log(ratios).mean(axis=0)), np.mean(inside, axis=0), strict=True)
    print("all:", *(f"{ratio:.3f} ({counts:.1%}, {means:.1%})" for ratio, (counts, means) in shares))


if __name__ == "__main__":
    main(sys.argv[1:])
