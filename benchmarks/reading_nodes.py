"""The power of the reader for nodes of hierarchies, chosen by data that neither `reading` nor its tests use.

`python -m benchmarks.reading_nodes` prints for each table and power the mean error of answers as a share of
that of an even spread, and how many of the intervals contain the truth. In these tables, every column of
labels with at least five values has a hierarchy: three values each are a group, and all groups together `*`.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl

from benchmarks.reading_releases import loaded
from benchmarks.reading_weights import drawn_questions
from shoal import Freeform, Hierarchy, KAnonymity, Schema, ShoalWarning, anonymize
from shoal.measures.queries import conditions_of
from shoal.models import Model
from shoal.reading import Reader, open_release
from shoal.reading.answers import Count, evidence, standard_error
from shoal.table import Table

DATA = ("census 2", "census 3", "made-up 2")
RELEASES: tuple[tuple[Model, str], ...] = (
    (Freeform(k=8), "matching"),
    (KAnonymity(k=8), "chain"),
    (KAnonymity(k=8), "mondrian"),
)
POWERS = (0.0, 0.15, 0.25, 0.35, 0.5, 0.65)
FEWEST = 5
"""Columns with fewer labels have no hierarchy."""


def work(data: str, model: Model, method: str) -> list[tuple[float, float]]:
    """Return for each power the ratio of mean errors, and the share of intervals with the truth."""
    frame, plain = loaded(data)
    quasi = [column.name for column in plain.columns if column.name != frame.columns[-1]]
    trees = {
        name: _hierarchy(sorted(frame[name].unique().to_list()))
        for name in quasi
        if frame[name].dtype == pl.String and frame[name].n_unique() >= FEWEST
    }
    schema = Schema.infer(frame, quasi=quasi, sensitive=frame.columns[-1:], hierarchies=trees)
    table = Table.encode(frame, schema)
    questions = list(drawn_questions(table))
    truth = np.array([each.answer for each in questions])
    conditions = [conditions_of(table, each) for each in questions]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ShoalWarning)  # releases from a seed are not to be published
        release = anonymize(frame, schema, model, method=method, seed=1)
    book = release.certified.codebook()
    evenly = open_release(release.written("csv"), codebook=book, estimator="even")
    even = np.array([evenly.count(each).estimate for each in conditions])
    worst = float(np.mean(np.abs(even - truth) / truth))
    found = []
    for power in POWERS:
        answers = _answers(release.reader(), conditions, power)
        off = np.abs(np.array([each.estimate for each in answers]) - truth) / truth
        inside = [a.interval[0] <= t <= a.interval[1] for a, t in zip(answers, truth, strict=True)]
        found.append((float(off.mean()) / worst, float(np.mean(inside))))
    return found


def _answers(reader: Reader, conditions: Sequence[dict[str, Any]], power: float) -> list[Count]:
    joint = replace(reader._joint, assumption=replace(reader._joint.assumption, nodes=power))
    found = [evidence(joint, reader._asked(each)) for each in conditions]
    weights = reader._family.weights
    return [Count(e.estimate, standard_error(e, weights), e.certain, e.possible) for e in found]


def _hierarchy(labels: Sequence[str]) -> Hierarchy:
    return Hierarchy.from_levels([(label, f"group {at // 3}", "*") for at, label in enumerate(labels)])


def main(options: Sequence[str]) -> None:
    """Print the errors and the coverage of each table and power."""
    print("powers", *POWERS)
    every = []
    for data in options or DATA:
        for model, method in RELEASES:
            found = work(data, model, method)
            every.append(found)
            print(f"{data}, {method}:", *(f"{ratio:.2f} ({share:.0%})" for ratio, share in found))
            sys.stdout.flush()
    ratios, inside = np.moveaxis(np.array(every), 2, 0)
    means = zip(np.exp(np.log(ratios).mean(axis=0)), inside.mean(axis=0), strict=True)
    print("all:", *(f"{ratio:.3f} ({share:.1%})" for ratio, share in means))


if __name__ == "__main__":
    main(sys.argv[1:])
