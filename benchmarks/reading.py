"""Reading releases: errors of answers by estimator, coverage of intervals, drawn tables for models, time.

`python -m benchmarks reading --only adult --k 2,10` measures some of the cells, and `--page` writes the page
of everything that was measured with the reader as it is now. Models are trained with scikit-learn; without
it, that section is left out.
"""

from __future__ import annotations

import argparse
import ast
import hashlib
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
from benchmarks.harness import in_fresh_process, timed, write_page
from benchmarks.reading_page import page_text
from benchmarks.reading_releases import (
    DATA,
    KS,
    LARGE,
    METHODS,
    is_made,
    loaded,
    release_of,
    released_by_rival,
    slow_methods,
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
MEANS = 6
"""One of this number of questions also asks for the mean of a column of numbers."""
RIVALS = {"anonypy 0.2.1": KAnonymity(k=10), "anjana 1.2.3, 20% suppression": None}
"""Other tools, and the model that their cells are tight by; None for labels of hierarchies."""


def questions_of(data: str, k: int, workload: tuple[int, float]) -> int:
    """Return the number of questions of a workload: most at k = 10, and more of small tables."""
    few = data in LARGE
    if workload == STANDARD:
        return 300 if k == 10 else 60 if few else 120
    return (30 if few else 60) if k == 10 else 12 if few else 24


def work(data: str, method: str, k: int) -> dict[str, Any]:
    """Answer questions of several workloads from a release, with every estimator."""
    frame, schema = loaded(data)
    table = Table.encode(frame, schema)
    folder = release_of(data, method, k)
    made = json.loads((folder / "made.json").read_text(encoding="utf-8"))
    workloads = _workloads(table, data, k)
    estimators = ESTIMATORS if k == 10 else ("tight", "even")
    return {
        **{name: made[name] for name in ("gcp", "effort", "commit")},
        **_by_estimator(
            table, workloads, lambda estimator: open_release(folder, estimator=estimator), estimators
        ),
    }


def work_rival(rival: str) -> dict[str, Any]:
    """Answer the same questions from another tool's release of Adult with k = 10."""
    frame, schema = loaded("adult")
    table = Table.encode(frame, schema)
    released = released_by_rival(rival, 10)
    workloads = {"2 0.1": _workloads(table, "adult", 10)["2 0.1"]}
    model = RIVALS[rival]
    return {
        "rows": len(released),
        **_by_estimator(
            table, workloads, lambda estimator: open_release(released, schema, model, estimator=estimator)
        ),
    }


def _workloads(table: Table, data: str, k: int) -> dict[str, Sequence[Query]]:
    found: dict[str, Sequence[Query]] = {}
    for columns, share in WORKLOADS:
        count = questions_of(data, k, (columns, share))
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
            asked = len(workloads["2 0.1"]) // MEANS
            figures[estimator]["means"] = _means(reader, table, workloads["2 0.1"][:asked])
    for name in workloads:
        gain = errors[f"even {name}"] - errors[f"tight {name}"]
        figures["tight"][name] |= {
            "gain": float(gain.mean()),
            "gain_error": float(gain.std(ddof=1) / np.sqrt(len(gain))),
            "closer": float((gain > 0).mean() + (gain == 0).mean() / 2),
        }
    return figures


def _figures(
    reader: Reader, table: Table, queries: Sequence[Query]
) -> tuple[dict[str, float], np.ndarray[Any, Any]]:
    answers, seconds = timed(lambda: [_answer(reader, conditions_of(table, query)) for query in queries])
    truth = np.array([query.answer for query in queries])
    estimate, low, high, certain, possible = np.array(answers).T
    errors = np.abs(estimate - truth) / truth
    return {
        "mean": float(errors.mean()),
        "median": float(np.median(errors)),
        "coverage": float(((low - 1e-9 <= truth) & (truth <= high + 1e-9)).mean()),
        "bounded": float(((certain <= truth) & (truth <= possible)).mean()),
        "width": float(np.median((high - low) / truth)),
        "questions": len(queries),
        "seconds": seconds / len(queries),
    }, errors


def _means(reader: Reader, table: Table, queries: Sequence[Query]) -> dict[str, float]:
    """Return how often intervals of means contain the truth, and the mean error in standard deviations."""
    numbers = [a for a in table.attributes if a.column.kind.numeric]
    inside, off = [], []
    for place, query in enumerate(queries):
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


def reader_digest() -> str:
    """Return a digest of the sources that the figures depend on, apart from the releases."""
    folder = harness.ROOT / "src" / "shoal" / "reading"
    sources = sorted(each for each in folder.glob("*.py") if each.name != "wording.py")
    return hashlib.sha256("".join(map(_code, sources)).encode()).hexdigest()[:12]


def _code(file: Path) -> str:
    """Return what a module does, apart from its comments and docstrings."""
    tree = ast.parse(file.read_text(encoding="utf-8"))
    for node in ast.walk(tree):
        body = getattr(node, "body", None)
        if isinstance(body, list):
            node.body = [each for each in body if not _is_text(each)]  # type: ignore[attr-defined]
    return ast.dump(tree)


def _is_text(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def kept(name: str, measure: Callable[[], dict[str, Any]] | None) -> dict[str, Any] | None:
    """Return what was measured with the reader as it is now; if nothing was, measure it if that is wanted."""
    file = harness.MEASURED / "reading" / reader_digest() / f"{name}.json"
    if not file.exists():
        if measure is None:
            return None
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(json.dumps(measure()), encoding="utf-8")
        print(name, flush=True)
    found: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
    return found


def main(options: Sequence[str] = ()) -> None:
    """Measure, and write the results page."""
    parser = argparse.ArgumentParser("reading")
    parser.add_argument("--only", default=",".join(DATA))
    parser.add_argument("--k", default=",".join(map(str, KS)))
    parser.add_argument("--methods", default=",".join(METHODS))
    parser.add_argument("--made", action="store_true", help="only releases that were made before")
    parser.add_argument("--others", action="store_true", help="other tools, models and a million rows")
    parser.add_argument("--page", action="store_true", help="only write the page of what was measured")
    given = parser.parse_args(options)
    for data in given.only.split(","):
        for k in map(int, given.k.split(",")):
            for method in given.methods.split(","):
                if not given.page and _wanted(data, method, k, given.made):
                    kept(f"{data}-{method}-{k}", lambda d=data, m=method, n=k: work(d, m, n))  # type: ignore[misc]
    whole = not options
    for name, measure in _others().items():
        if given.others or whole:
            kept(name, measure)
    if given.page or whole:
        write_page("reading", page_text(measured(), {name: kept(name, None) for name in _others()}), {})


def measured() -> dict[tuple[str, str, int], dict[str, Any]]:
    """Return all cells that were measured."""
    cells = [(data, method, k) for data in DATA for method in METHODS for k in KS]
    found = {cell: kept("{}-{}-{}".format(*cell), None) for cell in cells}
    return {cell: figures for cell, figures in found.items() if figures is not None}


def _wanted(data: str, method: str, k: int, only_made: bool) -> bool:
    return is_made(data, method, k) or not (only_made or method in slow_methods(data))


def _others() -> dict[str, Callable[[], dict[str, Any]]]:
    rivals = {f"rival {name}": (lambda rival=name: work_rival(rival)) for name in RIVALS}
    return {**rivals, "models": work_models, "large": lambda: work_large(1_000_000)}
