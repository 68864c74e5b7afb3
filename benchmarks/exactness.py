"""Distance to the optimum: every method on small samples of Adult and CMC, beside the proven least loss."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from itertools import product
from statistics import mean
from typing import Any

import numpy as np
import polars as pl
import scipy.optimize  # noqa: F401 - the method loads it late, which is not part of its time

from benchmarks.harness import (
    adult,
    adult_schema,
    cmc,
    cmc_schema,
    loss_chart,
    markdown_table,
    timed,
    write_page,
)
from shoal import Freeform, KAnonymity, Schema, anonymize
from shoal.methods import METHODS
from shoal.methods.refinement import EXCHANGES as EFFORTS

SIZES = (16, 20, 24)
KS = (2, 3, 4, 5)
SEEDS = range(5)
OPTIMUM = "optimum (GCP)"


def rivals() -> Iterator[tuple[str, type[Freeform | KAnonymity], dict[str, Any]]]:
    """Yield every method but the exact one, with each of its efforts: its title, its model, its choices."""
    models: tuple[type[Freeform | KAnonymity], ...] = (Freeform, KAnonymity)
    for model in models:
        for name, method in METHODS[model].items():
            if name == "exact":
                continue
            takes_effort = "effort" in inspect.signature(method).parameters
            for effort in EFFORTS if takes_effort else (None,):
                choices = {"method": name} | ({"effort": effort} if takes_effort else {})
                yield f"{name}, {effort}" if takes_effort else name, model, choices


def work(frame: pl.DataFrame, schema: Schema, k: int, seed: int) -> dict[str, Any]:
    """Return the optimum of a sample, its seconds, and how many times as much each method loses."""
    best, seconds = timed(anonymize, frame, schema, Freeform(k=k), method="exact")
    ratios = {
        title: anonymize(frame, schema, model(k=k), seed=seed, **choices).loss.gcp / best.loss.gcp
        for title, model, choices in rivals()
    }
    return {"k": k, "rows": len(frame), OPTIMUM: best.loss.gcp, "seconds": seconds, **ratios}


def main() -> None:
    """Measure and write the results page."""
    tables = {
        "Adult": (adult(), adult_schema),
        "CMC": (cmc(), cmc_schema),
    }
    runs = []
    for (table, (frame, describe)), rows, k, seed in product(tables.items(), SIZES, KS, SEEDS):
        sample = frame[np.random.default_rng(seed).choice(len(frame), rows, replace=False)]
        runs.append({"table": table, **work(sample, describe(sample), k, seed)})
    titles = [title for title, _, _ in rivals()]
    head = [f"k = {k}" for k in KS]
    text = "\n\n".join(
        (
            "# Distance to the optimum",
            "The loss (GCP) of each method divided by the proven optimum of `exact`, which is a lower "
            "limit for all regular graphs and all classes. Random samples of Adult (eight "
            f"quasi-identifiers) and CMC (nine) of {', '.join(map(str, SIZES))} records, {len(SEEDS)} of "
            "each size; means over all of them.",
            *(
                f"## {table}\n\n"
                + markdown_table(
                    ("method", *head),
                    [
                        (what, *(f"{_mean(runs, what, table=table, k=k):.3f}" for k in KS))
                        for what in (OPTIMUM, *titles)
                    ],
                )
                for table in tables
            ),
            "![Loss over the optimum against k](exactness-ratio.svg)",
            "## Time of the proof",
            "Mean time of `exact` in seconds, end to end after start-up, with the audit.",
            markdown_table(
                ("records", *head),
                [(rows, *(f"{_mean(runs, 'seconds', rows=rows, k=k):.2f}" for k in KS)) for rows in SIZES],
            ),
        )
    )
    points = [
        {"k": k, "loss / optimum": _mean(runs, title, k=k), "method": title}
        for title, k in product(titles, KS)
    ]
    chart = loss_chart(points, "Loss over the optimum, samples of Adult and CMC", value="loss / optimum")
    write_page("exactness", text, {"ratio": chart})


def _mean(runs: list[dict[str, Any]], what: str, **where: Any) -> float:
    """Return the mean of a figure over the runs that are as asked for."""
    return float(mean(run[what] for run in runs if where.items() <= run.items()))
