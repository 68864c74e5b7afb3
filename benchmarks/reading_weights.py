"""The weights of standard errors, fitted to data that the benchmark `reading` does not use.

`python -m benchmarks.reading_weights` prints them by family, as `shoal/reading/assumptions.py` has them.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray
from scipy.optimize import minimize

from benchmarks.harness import data_folder
from shoal import Concealment, Freeform, InputError, KAnonymity, Schema, anonymize, read_table
from shoal.base.randomness import Randomness
from shoal.measures.queries import conditions_of, draw_queries
from shoal.reading.answers import CONFIDENCE, evidence
from shoal.samples import hospital
from shoal.table import Table

FAMILIES = {
    "joined": (("ring", Freeform), ("chain", KAnonymity), ("agglomerative", KAnonymity)),
    "cut": (("mondrian", KAnonymity),),
    "own": (("expansion", Concealment),),
}
KS = {"patients": (3, 10, 40), "nursery": (10, 40)}
WORKLOADS = ((1, 0.05), (2, 0.05), (3, 0.2), (4, 0.05), (2, 0.2))
START = np.log([0.8, 0.2, 0.05, 0.5])
FREEDOM = 4
"""Degrees of freedom: some errors are far larger than others."""

Floats = NDArray[np.float64]


def tables() -> dict[str, tuple[pl.DataFrame, Schema]]:
    """Return the data to fit to."""
    patients = pl.DataFrame(hospital(1500, seed=9))
    quasi = ["age", "sex", "zip", "occupation", "marital"]
    nursery = read_table(data_folder() / "nursery.csv.gz").sample(2500, seed=1)
    return {
        "patients": (
            patients,
            Schema.infer(patients, quasi=quasi, sensitive=["diagnosis"], drop=["patient", "name"]),
        ),
        "nursery": (
            nursery,
            Schema.infer(nursery, quasi=nursery.columns[:-1], sensitive=nursery.columns[-1:]),
        ),
    }


def questions(table: Table) -> Iterator[Any]:
    """Return random questions, with and without a sensitive column."""
    for columns, share in WORKLOADS:
        for count, sensitive in ((22, 1), (8, 0)):
            try:
                yield from draw_queries(
                    table, count, Randomness(11), selectivity=share, quasi=columns, sensitive=sensitive
                )
            except InputError:
                continue


def measured(family: str) -> list[Floats]:
    """Return for each data set the evidence of all answers, and by how much they are off."""
    found = []
    for name, (frame, schema) in tables().items():
        table, rows = Table.encode(frame, schema), []
        asked = list(questions(table))
        for k in KS[name]:
            for method, model in FAMILIES[family]:
                options: dict[str, Any] = (
                    {} if method in ("mondrian", "agglomerative") else {"effort": "fast"}
                )
                reader = anonymize(frame, schema, model(k=k), method=method, seed=1, **options).reader()
                for query in asked:
                    each = evidence(reader._joint, reader._asked(conditions_of(table, query)))
                    if each.doubt > 0:
                        parts = (each.doubt, each.shared, each.unsure**2, each.spread**2)
                        rows.append((*parts, query.answer - each.estimate))
        found.append(np.array(rows))
    return found


def weights(data: list[Floats]) -> Floats:
    """Return the weights of the parts: those of the last two are squares."""
    every = np.concatenate(data)
    powers = np.array([1, 1, 2, 2])

    def variance(logs: Floats, rows: Floats) -> Floats:
        return np.asarray(rows[:, :4] @ np.exp(powers * logs) + 1e-6)

    def unlikely(logs: Floats) -> float:
        spread = variance(logs, every)
        terms = (FREEDOM + 1) / 2 * np.log1p(every[:, 4] ** 2 / spread / (FREEDOM - 2)) + np.log(spread) / 2
        return float(terms.mean() + 0.001 * np.square(logs - START).sum())

    logs = minimize(unlikely, START, method="Nelder-Mead", options={"maxiter": 3000}).x
    widths = [np.quantile(np.abs(rows[:, 4]) / np.sqrt(variance(logs, rows)), 0.95) for rows in data]
    return np.asarray(np.exp(powers * logs) * (np.mean(widths) / CONFIDENCE) ** 2)


def main() -> None:
    """Print the weights of each family."""
    for family in FAMILIES:
        chance, shared, model, spread = weights(measured(family))
        print(f"{family}: {chance:.3f}, {shared:.3f}, {np.sqrt(model):.3f}, {np.sqrt(spread):.3f}")


if __name__ == "__main__":
    main()
