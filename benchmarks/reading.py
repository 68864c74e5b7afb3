"""Reading releases: errors of answers by estimator, coverage of intervals, drawn tables for models, time.

`python -m benchmarks reading --only adult --k 2,10` measures some of the cells, and `--page` writes the page
of everything that was measured with the reader as it is now. What was measured is kept in `reading.jsonl`.
After a change of the reader that leaves all answers as they were, `--adopt DIGEST` keeps what was measured
before: it measures a cell of each method again, which must have the same figures.
Models are trained with scikit-learn; without it, that section is left out.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from benchmarks import harness
from benchmarks.harness import in_fresh_process, write_page
from benchmarks.reading_cells import adopt, kept, release_digest, tidy
from benchmarks.reading_page import page_text
from benchmarks.reading_releases import (
    DATA,
    KS,
    METHODS,
    loaded,
    release_in_time,
    release_of,
    released_by_rival,
)
from shoal import KAnonymity, anonymize, read_table
from shoal.base.randomness import Randomness
from shoal.errors import InputError
from shoal.measures.queries import Query, conditions_of, draw_queries, met_by
from shoal.reading import ESTIMATORS, Reader, open_release
from shoal.table import Table

WORKLOADS = ((1, 0.1), (2, 0.1), (3, 0.1), (4, 0.1), (2, 0.01), (2, 0.3))
"""The number of quasi-identifiers and the share of the domain that questions ask for."""
STANDARD = (2, 0.1)
QUESTIONS, OTHER_QUESTIONS, MEANS = 300, 60, 100
"""At k = 10, the number of standard questions, of each other workload, and of those that also ask for a mean;
at other k half of them."""
RIVALS = {"anonypy 0.2.1": KAnonymity(k=10), "anjana 1.2.3, 20% suppression": None}
"""Other tools, and the model that their cells are tight by; None for labels of hierarchies."""


def work(data: str, method: str, k: int) -> dict[str, Any]:
    """Answer questions of several workloads from a release, with every estimator.

    Releases of several methods may be the same; only the first of them is read.
    """
    state = release_in_time(data, method, k)
    if state is not None:
        return {"state": state}
    folder = release_of(data, method, k)
    made = json.loads((folder / "made.json").read_text(encoding="utf-8"))
    known = {name: made[name] for name in ("gcp", "effort", "commit")}
    known["release"] = release_digest(folder, open_release(folder))
    for other in METHODS:
        found = kept(f"{data}-{other}-{k}")
        if found is not None and found.get("release") == known["release"] and "tight" in found:
            return {**known, "same": other}
    frame, schema = loaded(data)
    table = Table.encode(frame, schema)
    estimators = ESTIMATORS if k == 10 else ("tight", "even")
    return {
        **known,
        **_by_estimator(
            table,
            _workloads(table, k),
            lambda estimator: open_release(folder, estimator=estimator),
            estimators,
        ),
    }


def work_rival(rival: str) -> dict[str, Any]:
    """Answer the same questions from another tool's release of Adult with k = 10."""
    frame, schema = loaded("adult")
    table = Table.encode(frame, schema)
    released = released_by_rival(rival, 10)
    workloads = {"2 0.1": _workloads(table, 10)["2 0.1"]}
    model = RIVALS[rival]
    return {
        "rows": len(released),
        **_by_estimator(
            table, workloads, lambda estimator: open_release(released, schema, model, estimator=estimator)
        ),
    }


def _workloads(table: Table, k: int) -> dict[str, Sequence[Query]]:
    found: dict[str, Sequence[Query]] = {}
    for columns, share in WORKLOADS:
        count = (QUESTIONS if (columns, share) == STANDARD else OTHER_QUESTIONS) // (1 if k == 10 else 2)
        with suppress(InputError):
            found[f"{columns} {share}"] = draw_queries(
                table, count, Randomness(5), selectivity=share, quasi=columns, sensitive=1
            )
    return found


def _by_estimator(
    table: Table,
    workloads: dict[str, Sequence[Query]],
    opened: Callable[[Any], Reader],
    estimators: Sequence[str] = ESTIMATORS,
) -> dict[str, Any]:
    """Return the figures of each estimator for each workload, and how `tight` compares with `even`."""
    figures: dict[str, Any] = {}
    errors: dict[str, Any] = {}
    for estimator in estimators:
        reader = opened(estimator)
        started = time.process_time()
        reader.fit()
        figures[estimator] = {"processor_seconds": time.process_time() - started}
        for name, queries in workloads.items():
            if estimator in ("tight", "even") or name == "2 0.1":
                figures[estimator][name], errors[f"{estimator} {name}"] = _figures(reader, table, queries)
        if estimator == "tight":
            figures[estimator]["means"] = _means(reader, table, workloads["2 0.1"])
    for name in workloads:
        gain = errors[f"even {name}"] - errors[f"tight {name}"]
        figures["tight"][name] |= {
            "gain": float(gain.mean()),
            "gain_error": float(gain.std(ddof=1) / np.sqrt(len(gain))),
        }
    return figures


def _figures(
    reader: Reader, table: Table, queries: Sequence[Query]
) -> tuple[dict[str, float], np.ndarray[Any, Any]]:
    answers = [_answer(reader, conditions_of(table, query)) for query in queries]
    truth = np.array([query.answer for query in queries])
    estimate, low, high, certain, possible = np.array(answers).T
    errors = np.abs(estimate - truth) / truth
    return {
        "mean": float(errors.mean()),
        "median": float(np.median(errors)),
        "coverage": float(((low - 1e-9 <= truth) & (truth <= high + 1e-9)).mean()),
        "bounded": float(((certain <= truth) & (truth <= possible)).mean()),
        "questions": len(queries),
    }, errors


def _means(reader: Reader, table: Table, queries: Sequence[Query]) -> dict[str, float]:
    """Return how often intervals of means contain the truth, and the mean error in standard deviations."""
    numbers = [a for a in table.attributes if a.column.kind.numeric]
    inside, off = [], []
    for place, query in enumerate(queries[:: QUESTIONS // MEANS]):
        attribute = numbers[place % len(numbers)]
        values = attribute.domain.values.cast(pl.Float64, strict=False).to_numpy()[attribute.codes]
        chosen = values[met_by(table, query)]
        true = float(np.nanmean(chosen)) if not np.isnan(chosen).all() else None
        if true is None:
            continue
        with suppress(InputError):  # no row can have such a value, or all numbers are suppressed
            found = reader.mean(attribute.column.name, conditions_of(table, query))
            low, high = found.interval
            inside.append(low - 1e-9 <= true <= high + 1e-9)
            off.append(abs(found.estimate - true) / np.nanstd(values))
    if not inside:
        return {"coverage": 1.0, "mean": 0.0, "questions": 0}
    return {"coverage": float(np.mean(inside)), "mean": float(np.mean(off)), "questions": len(inside)}


def _answer(reader: Reader, conditions: dict[str, Any]) -> tuple[float, float, float, int, int]:
    try:
        found = reader.count(conditions)
    except InputError:  # another tool left out all records with such a value
        return 0.0, 0.0, 0.0, 0, 0
    return found.estimate, *found.interval, found.certain, found.possible


def work_large(rows: int) -> dict[str, Any]:
    """Open and fit a large release in a process that has nothing else."""
    frame = harness.adult_like(rows)
    release = anonymize(frame, harness.adult_schema(frame), KAnonymity(k=10), method="mondrian", seed=1)
    with tempfile.TemporaryDirectory() as folder:
        release.written("parquet").write_parquet(Path(folder) / "release.parquet")
        book = json.dumps(release.certified.codebook())
        (Path(folder) / "codebook.json").write_text(book, encoding="utf-8")
        del release, frame
        return in_fresh_process("reading_large", folder=folder)


def work_models() -> dict[str, Any]:
    """Return the AUC on Adult's test set of models from the original and from five drawn tables."""
    try:
        from sklearn.ensemble import HistGradientBoostingClassifier
        from sklearn.linear_model import LogisticRegression
        from sklearn.metrics import roc_auc_score
        from sklearn.pipeline import make_pipeline
        from sklearn.preprocessing import StandardScaler
    except ImportError:
        return {}
    frame, _ = loaded("adult")
    test = read_table(harness.data_folder() / "adult_test.csv.gz")
    test = test.filter(~pl.any_horizontal(pl.all() == "?"))
    drawn = open_release(release_of("adult", "matching", 10)).draw(5, seed=1)
    names = [name for name in frame.columns if name not in ("income", "fnlwgt", "education-num")]
    labels = (test["income"] == ">50K").to_numpy()

    def prepared(table: pl.DataFrame) -> Any:
        columns = [table[name].cast(pl.Float64, strict=False) for name in names]
        parts = []
        for name, column in zip(names, columns, strict=True):
            if column.null_count() < len(column):
                parts.append(column.to_numpy().reshape(-1, 1))
            else:
                categories = frame[name].unique().sort().to_list()
                parts.append(np.stack([(table[name] == each).to_numpy() for each in categories], axis=1))
        return np.concatenate(parts, axis=1).astype(np.float64)

    makers = {
        "gradient boosting": lambda: HistGradientBoostingClassifier(random_state=0),
        "logistic regression": lambda: make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000)),
    }

    def score(make: Any, tables: Sequence[pl.DataFrame]) -> float:
        models = [make().fit(prepared(each), (each["income"] == ">50K").to_numpy()) for each in tables]
        chances = [model.predict_proba(prepared(test))[:, 1] for model in models]
        return float(roc_auc_score(labels, np.mean(chances, axis=0)))

    return {name: [score(make, [frame]), score(make, drawn)] for name, make in makers.items()}


def main(options: Sequence[str] = ()) -> None:
    """Measure, and write the results page."""
    parser = argparse.ArgumentParser("reading")
    parser.add_argument("--only", default=",".join(DATA))
    parser.add_argument("--k", default=",".join(map(str, KS)))
    parser.add_argument("--methods", default=",".join(METHODS))
    parser.add_argument("--others", action="store_true", help="only other tools, models and a million rows")
    parser.add_argument("--page", action="store_true", help="only write the page of what was measured")
    parser.add_argument("--adopt", help="keep the cells of the reader with this digest; answers are the same")
    given = parser.parse_args(options)
    if given.adopt:
        adopt(given.adopt, [*(f"cmc-{method}-5" for method in METHODS), "adult-ring-2"], _measured_again)
        return
    whole = not options
    if not given.page and not given.others:
        for data, method, k in _cells():
            wanted = (given.only, data), (given.methods, method), (given.k, str(k))
            if all(one in several.split(",") for several, one in wanted):
                kept(f"{data}-{method}-{k}", lambda d=data, m=method, n=k: work(d, m, n))  # type: ignore[misc]
    for name, measure in _others().items():
        if given.others or whole:
            kept(name, measure)
    if given.page or whole:
        tidy([*("{}-{}-{}".format(*cell) for cell in _cells()), *_others()])
        write_page("reading", page_text(measured(), {name: kept(name) for name in _others()}), {})


def _measured_again(name: str) -> dict[str, Any]:
    data, rest = name.split("-", 1)
    method, k = rest.rsplit("-", 1)
    return work(data, method, int(k))


def measured() -> dict[tuple[str, str, int], dict[str, Any]]:
    """Return all cells that were measured; those of identical releases have the same figures."""
    found = {}
    for data, method, k in _cells():
        cell = kept(f"{data}-{method}-{k}")
        if cell is not None and "same" in cell:
            cell = {**(kept(f"{data}-{cell['same']}-{k}") or {}), **cell}
        if cell is not None:
            found[data, method, k] = cell
    return found


def _cells() -> list[tuple[str, str, int]]:
    return [(data, method, k) for data in DATA for method in METHODS for k in KS]


def _others() -> dict[str, Callable[[], dict[str, Any]]]:
    rivals = {f"rival {name}": (lambda rival=name: work_rival(rival)) for name in RIVALS}
    return {**rivals, "models": work_models, "large": lambda: work_large(1_000_000)}
