"""The weights of standard errors, fitted to data that the benchmark `reading` does not use.

`python -m benchmarks.reading_weights` prints them by family, as `shoal/reading/assumptions.py` has them, with
the coverage of each data set and k. Releases are made once and kept; so is what was measured of them.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import sys
from collections.abc import Iterator, Mapping, Sequence

import numpy as np
import polars as pl
from numpy.typing import NDArray
from scipy.optimize import minimize

from benchmarks import harness
from benchmarks.harness import MEASURED
from benchmarks.reading_releases import LARGE, NUMBERS, TRAINING, loaded, release_of
from shoal import InputError
from shoal.base.randomness import Randomness
from shoal.measures.queries import Query, conditions_of, draw_queries, met_by
from shoal.reading import Reader, assumptions, open_release
from shoal.reading.answers import CONFIDENCE, Evidence, evidence
from shoal.reading.assumptions import Family, Weights
from shoal.reading.means import mean_evidence, nothing_known
from shoal.reading.ordered_cells import OrderedCells
from shoal.table import Table

FAMILIES = {
    "joined": ("matching", "ring", "chain"),
    "merged": ("agglomerative", "forest"),
    "cut": ("mondrian",),
    "own": ("paper-concealment", "paper-kk"),
    "nearest": ("k1",),
    "covering": ("1k",),
    "suppressed": ("patterned",),
}
OF_MEANS = {
    "joined": ("ring",),
    "merged": ("agglomerative", "forest"),
    "cut": ("mondrian",),
    "own": ("k1", "paper-concealment", "1k"),
    "suppressed": ("patterned",),
}
"""Methods that the weights of means are fitted to; `nearest` and `covering` have those of `own`."""
TABLES_OF_MEANS = tuple(each for each in TRAINING if each not in ("nursery", "made-up 1"))
MERGED_LARGE_TABLES = (NUMBERS, "made-up 6")
"""Tables of means, and the large ones among them that `agglomerative` releases; others have `ring` and
`mondrian` only."""
KS_OF_MEANS = (2, 10, 50)
KS = (2, 5, 10, 25, 50)
LARGE_KS = {
    "ring": (10, 50),
    "chain": (10, 50),
    "agglomerative": (10, 50),
    "mondrian": (10, 50),
    "paper-concealment": (10,),
}
"""Of large tables, fewer releases are read."""
FEWER_METHODS = {"made-up 4": ("ring", "chain", "agglomerative", "mondrian", "paper-concealment", "k1")}
WORKLOADS = ((1, 0.1), (2, 0.1), (3, 0.1), (4, 0.1), (2, 0.01), (2, 0.3), (1, 0.03), (3, 0.25))
QUESTIONS, SEED = 6, 31
"""The number of questions of each workload, and their seed; the benchmark has another."""
PARTS = ("doubt", "shared", "unsure", "spread", "hidden")
START = {
    "counts": np.log([0.5, 0.2, 0.02**2, 0.7**2]),
    "means": np.log([0.5, 0.2, 0.05**2, 0.7**2]),
}
PRIOR = {"counts": 2e-3, "means": 2e-4}
"""How strongly the logarithms of the weights are kept near those of the start."""
ROUNDING = {"counts": 1e-3, "means": 1e-6}
"""The variance of an answer that nothing makes uncertain."""
LEAST = 0.9
"""Of means, the share of intervals that contain the truth on every table."""
FREEDOM = 4
"""Degrees of freedom: some errors are far larger than others."""

Floats = NDArray[np.float64]


def measured(data: str, method: str, k: int, what: str) -> Floats:
    """Return for each question the truth, the estimate, what is certain, possible, unknown, and its parts.

    Parameters
    ----------
    data, method, k
        The release.
    what
        ``counts`` or ``means``. Means are those of one column of numbers after the other, in units of its
        standard deviation; of means, nothing is certain.
    """
    file = MEASURED / "reading_weights" / reader_digest() / f"{data}-{method}-{k}-{what}.json"
    if not file.exists():
        frame, schema = loaded(data)
        table = Table.encode(frame, schema)
        reader = open_release(release_of(data, method, k))
        rows = list((counts_of if what == "counts" else means_of)(reader, table, frame))
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(json.dumps(rows), encoding="utf-8")
    return np.array(json.loads(file.read_text(encoding="utf-8"))).reshape(-1, 10)


def reader_digest() -> str:
    """Return a digest of the estimator, apart from the weights and from how answers are put."""
    folder = harness.ROOT / "src" / "shoal" / "reading"
    parts = ("mixture", "joint", "means", "set_cells", "ordered_cells", "columns")
    text = b"".join((folder / f"{part}.py").read_bytes() for part in parts)
    powers = [family_power(name) for name in FAMILIES]
    return hashlib.sha256(text + repr(powers).encode()).hexdigest()[:12]


def family_power(name: str) -> float:
    """Return the power of a family."""
    family: Family = getattr(assumptions, name.upper())
    return family.assumption.power


def counts_of(reader: Reader, table: Table, _: pl.DataFrame) -> Iterator[list[float]]:
    """Return what `measured` does for counts, question by question."""
    for query in drawn_questions(table):
        found = evidence(reader._joint, reader._asked(conditions_of(table, query)))
        answer = (query.answer, found.estimate, found.certain, found.possible, found.unknown)
        yield [*map(float, answer), *_parts(found)]


def means_of(reader: Reader, table: Table, frame: pl.DataFrame) -> Iterator[list[float]]:
    """Return what `measured` does for means, question by question."""
    numbers = {
        name: column
        for name, column in reader._columns.items()
        if isinstance(column, OrderedCells) and column.notes.kind.numeric and not nothing_known(column)
    }
    for place, query in enumerate(drawn_questions(table) if numbers else ()):
        name, column = list(numbers.items())[place % len(numbers)]
        values = frame[name].cast(pl.Float64).to_numpy()
        chosen = values[met_by(table, query) & ~np.isnan(values)]
        if not len(chosen):
            continue
        unit = float(np.nanstd(values))
        found = mean_evidence(reader._joint, column, reader._asked(conditions_of(table, query)))
        doubt, shared, *others = _parts(found)
        answer = (chosen.mean() / unit, found.estimate / unit, -1e9, 1e9, found.unknown / unit)
        yield [*map(float, answer), doubt / unit**2, shared / unit**2, *(each / unit for each in others)]


def _parts(found: Evidence) -> list[float]:
    return [float(getattr(found, name)) for name in PARTS]


def drawn_questions(table: Table) -> Iterator[Query]:
    """Return random questions about a table, of several workloads."""
    for columns, share in WORKLOADS:
        try:
            yield from draw_queries(
                table, QUESTIONS, Randomness(SEED), selectivity=share, quasi=columns, sensitive=1
            )
        except InputError:
            continue


def variance(rows: Floats, weights: Floats) -> Floats:
    """Return the variance of each answer; the weights of the last three parts are squares."""
    parts = np.concatenate([rows[:, 5:7], rows[:, 7:] ** 2], axis=1)
    return np.asarray(parts @ weights + (rows[:, 4] / CONFIDENCE) ** 2)


def coverage(rows: Floats, weights: Floats) -> float:
    """Return the share of intervals that contain the truth."""
    truth, estimate, certain, possible = rows[:, :4].T
    half = CONFIDENCE * np.sqrt(variance(rows, weights)) + 1e-6
    inside = (np.maximum(estimate - half, certain - 1e-6) <= truth) & (
        truth <= np.minimum(estimate + half, possible + 1e-6)
    )
    return float(inside.mean())


def fitted(releases: Sequence[Floats], counts: Floats, what: str) -> Floats:
    """Return the weights of the parts for some releases, apart from what is hidden.

    They maximize the likelihood of the errors, and are then scaled so that 95% of the intervals contain the
    truth, on average over the releases.

    Parameters
    ----------
    releases
        What was measured of each.
    counts
        How much each release counts.
    what
        ``counts`` or ``means``.
    """
    unsure = [rows[rows[:, 5] > 0] for rows in releases]
    every = np.concatenate(unsure)
    by_question = np.concatenate(
        [np.full(len(rows), count / max(len(rows), 1)) for rows, count in zip(unsure, counts, strict=True)]
    )
    off, start = every[:, 0] - every[:, 1], START[what]

    def padded(logs: Floats) -> Floats:
        return np.append(np.exp(logs), 0.0)

    def unlikely(logs: Floats) -> float:
        spread = variance(every, padded(logs)) + ROUNDING[what]
        terms = (FREEDOM + 1) / 2 * np.log1p(off**2 / spread / (FREEDOM - 2)) + np.log(spread) / 2
        return float(np.average(terms, weights=by_question) + PRIOR[what] * np.square(logs - start).sum())

    weights = padded(minimize(unlikely, start, method="L-BFGS-B").x)
    scales = np.linspace(0.3, 4, 371)
    covered = [
        np.average([coverage(rows, weights * scale**2) for rows in releases], weights=counts)
        for scale in scales
    ]
    return np.asarray(weights * scales[int(np.argmax(np.array(covered) >= 0.95))] ** 2)


def widened(found: Mapping[tuple[str, int, str], Floats], weights: Floats) -> Floats:
    """Return weights with the smallest one for what is hidden such that 90% of intervals hold on every table.

    A fit would not find it: how columns depend on each other inside rows differs from table to table.
    """
    for hidden in np.arange(0, 0.8, 0.01):
        wider = weights + np.array([0, 0, 0, 0, hidden**2])
        by_table: dict[str, list[float]] = {}
        for (data, _, _), rows in found.items():
            by_table.setdefault(data, []).append(coverage(rows, wider))
        if min(map(np.mean, by_table.values())) >= LEAST:
            break
    return np.asarray(wider)


def main(options: Sequence[str]) -> None:
    """Print the weights of each family, and the coverage by data set and k."""
    parser = argparse.ArgumentParser("reading_weights")
    parser.add_argument("--what", default="counts,model,means")
    parser.add_argument("--families", default=",".join(FAMILIES))
    parser.add_argument("--only", default=",".join(TRAINING), help="data sets")
    parser.add_argument("--k", default=",".join(map(str, KS)))
    given = parser.parse_args(options)
    for what in given.what.split(","):
        if what == "model":
            _show_models(given.families.split(","))
            continue
        families = FAMILIES if what == "counts" else OF_MEANS
        for family in (each for each in given.families.split(",") if each in families):
            found = {}
            for data, method, k in (_releases if what == "counts" else _releases_of_means)(families[family]):
                wanted = data in given.only.split(",") and str(k) in given.k.split(",")
                if wanted and len(rows := measured(data, method, k, what)):
                    found[data, k, method] = rows
            _show(f"{family}, {what}", found, what)


def _show(title: str, found: Mapping[tuple[str, int, str], Floats], what: str) -> None:
    """Print the weights, and the coverage of each data set by weights that were fitted to the others."""
    tables = [data for data, _, _ in found]

    def weights_for(chosen: Sequence[tuple[str, int, str]]) -> Floats:
        # Of means, each table counts the same, so that the weights hold for another table.
        counts = [1 / tables.count(data) if what == "means" else 1.0 for data, _, _ in chosen]
        weights = fitted([found[each] for each in chosen], np.array(counts), what)
        return widened({each: found[each] for each in chosen}, weights) if what == "means" else weights

    chance, shared, *others = weights_for(list(found))
    print(f"{title}: {chance:.2f}, {shared:.2f}, {', '.join(f'{np.sqrt(each):.3f}' for each in others)}")
    for data in dict.fromkeys(tables):
        weights = weights_for([each for each in found if each[0] != data])
        cells = [(k, coverage(rows, weights)) for (of, k, _), rows in found.items() if of == data]
        by_k = {one: np.mean([share for k, share in cells if k == one]) for one, _ in cells}
        shares = ", ".join(f"{share:.0%} (k = {k})" for k, share in by_k.items())
        print(f"    {data}: {np.mean([share for _, share in cells]):.0%}; {shares}")
    sys.stdout.flush()


def _show_models(families: Sequence[str]) -> None:
    """Print the smallest weights of the model part of counts with which 95% of intervals hold.

    The fit has them from small tables, in which chance hides what the model misses.
    """
    for name in families:
        releases = _releases_of_means(FAMILIES[name][1:2] if name == "joined" else FAMILIES[name])
        found = {each: measured(*each, "counts") for each in releases}
        given: Weights = getattr(assumptions, name.upper()).weights
        for model in np.arange(0.015, 0.3, 0.005):
            weights = np.array([given.chance, given.shared, model**2, given.spread**2, 0.0])
            by_table: dict[str, list[float]] = {}
            for (data, _, _), rows in found.items():
                by_table.setdefault(data, []).append(whole_coverage(rows, weights))
            shares = [float(np.mean(each)) for each in by_table.values()]
            if np.mean(shares) >= 0.95:
                break
        print(f"{name}, model part of counts: {model:.3f}; {min(shares):.0%} to {max(shares):.0%} by table")


def whole_coverage(rows: Floats, weights: Floats) -> float:
    """Return the share of intervals with whole ends that contain the truth."""
    truth, estimate, certain, possible = rows[:, :4].T
    half = CONFIDENCE * np.sqrt(variance(rows, weights))
    low = np.maximum(np.floor(estimate - half + 1e-6), certain)
    high = np.minimum(np.ceil(estimate + half - 1e-6), possible)
    return float(((low <= truth) & (truth <= high)).mean())


def _releases_of_means(methods: Sequence[str]) -> Iterator[tuple[str, str, int]]:
    """Return the releases that the weights of means are fitted to."""
    for data in TABLES_OF_MEANS:
        large = ("ring", "mondrian", *(("agglomerative",) if data in MERGED_LARGE_TABLES else ()))
        for method in methods:
            if data not in LARGE or method in large:
                yield from ((data, method, k) for k in KS_OF_MEANS)


def _releases(methods: Sequence[str]) -> Iterator[tuple[str, str, int]]:
    """Return the releases that the weights of a family are fitted to."""
    for data in TRAINING:
        large = data in LARGE
        chosen = tuple(LARGE_KS) if large else FEWER_METHODS.get(data, methods)
        for method in (each for each in methods if each in chosen):
            for k in LARGE_KS[method] if large else KS:
                yield data, method, k


if __name__ == "__main__":
    main(sys.argv[1:])
