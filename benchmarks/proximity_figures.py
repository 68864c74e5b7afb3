"""Figures 5 and 6 of the paper on XColor in more detail: time, and errors with its taxonomies and weights.

Times are processor seconds of the method alone. `python -m benchmarks proximity_figures --only time` measures
one part and prints it; `benchmarks.proximity` puts all of them on its page.
"""

from __future__ import annotations

import argparse
import itertools
import time
from collections.abc import Sequence
from typing import Any

import numpy as np

from benchmarks.harness import markdown_table, remembered
from benchmarks.proximity import DEFAULTS, QUERIES, TIMED, acs_like_sal, adult_like_sal, refusal
from benchmarks.proximity import VARIED as SWEPT
from shoal import Column, Dissimilarity, Hierarchy, InfeasibleError, Schema
from shoal.base.randomness import Randomness
from shoal.measures.gcp import gcp
from shoal.measures.queries import draw_queries, query_error
from shoal.methods import Circumstances, method_for
from shoal.recoding import Recoding
from shoal.table import Table

GROWTH = (25_000, 50_000, 100_000, 200_000, 400_000)
RECORDS = (30_000, 35_000, 40_000, 45_000, 50_000)
VARIED = {
    "epsilon": (0.05, 0.1, 0.15, 0.2),
    "delta": (0.6, 0.7, 0.8, 0.9),
    "k": (10, 15, 20, 25),
}
"""What Figure 6 varies besides the number of records; the other parameters are its defaults."""
STARTS = {"locality": "default", "paper": "as printed"}
WORK = {
    "Private": ("employed", "paid"),
    "Self-emp-inc": ("self-employed", "paid"),
    "Self-emp-not-inc": ("self-employed", "paid"),
    "Federal-gov": ("government", "paid"),
    "State-gov": ("government", "paid"),
    "Local-gov": ("government", "paid"),
    "Without-pay": ("none", "unpaid"),
    "Never-worked": ("none", "unpaid"),
}
"""A taxonomy of classes of work of height 4: value, sort of employer, whether paid, all."""
TAXED = {**SWEPT["adult"], "delta": (0.2, 0.3, 0.4, 0.5)}
"""What is varied with taxonomies and weights."""
WEIGHTS = {"education": 3.0, "workclass": 1.0, "income": 2.0}
"""The paper takes its weights from a report and does not print them; these are ours."""


def work(task: str, **arguments: Any) -> dict[str, Any]:
    """Measure one cell."""
    return _timed(**arguments) if task == "time" else _errors(**arguments)


def _timed(records: int, start: str, epsilon: float, delta: float, k: int) -> dict[str, Any]:
    frame, schema = acs_like_sal(records)
    return _released(Table.encode(frame, schema), start, epsilon, delta, k)[0]


def _errors(
    start: str, epsilon: float, delta: float, k: int, taxonomies: bool, selectivities: Sequence[float]
) -> dict[str, Any]:
    """Return the errors of count queries on Adult, with or without the taxonomies of Table III."""
    frame, schema = adult_like_sal()
    if taxonomies:
        schema = Schema(tuple(_with_taxonomy(column, frame[column.name]) for column in schema.columns))
    table = Table.encode(frame, schema)
    found, recoding = _released(table, start, epsilon, delta, k)
    if recoding is None:
        return found
    for s, dimensions in itertools.product(selectivities, (1, 2, 3)):
        queries = draw_queries(table, QUERIES, Randomness(7), selectivity=s, quasi=dimensions)
        found[f"error {s} {dimensions}"] = query_error(recoding, queries).mean
    return found


def _with_taxonomy(column: Column, values: Any) -> Column:
    """Return a column with the taxonomy it has in Table III: of height 2, or 4 for classes of work."""
    weight = WEIGHTS.get(column.name, 1.0)
    if column.name == "workclass":
        levels = [[value, *WORK[value], "*"] for value in values.unique().sort()]
    elif column.name in ("sex", "marital", "race"):
        levels = [[value, "*"] for value in values.unique().sort()]
    else:
        return Column(column.name, column.role, column.kind, weight=weight)
    return Column(column.name, column.role, hierarchy=Hierarchy.from_levels(levels), weight=weight)


def _released(
    table: Table, start: str, epsilon: float, delta: float, k: int
) -> tuple[dict[str, Any], Recoding | None]:
    model = Dissimilarity(k=k, epsilon=epsilon, delta=delta)
    began = time.process_time()
    try:
        recoding = method_for(model)[1](table, model, Circumstances(Randomness(1)), start=start)
    except InfeasibleError as error:
        return {"refused": str(error), "seconds": time.process_time() - began}, None
    return {"gcp": gcp(recoding), "seconds": time.process_time() - began}, recoding


def growth() -> str:
    """Return the section on growth to 400,000 records."""
    rows: list[tuple[object, ...]] = []
    before: tuple[int, float] | None = None
    for size in GROWTH:
        found = remembered("proximity_figures", task="time", records=size, start="locality", **TIMED)
        seconds = found["seconds"]
        step = "" if before is None else f"{np.log(seconds / before[1]) / np.log(size / before[0]):.2f}"
        rows.append((size, f"{found['gcp']:.4f}", f"{seconds:.1f}", step, f"{found['peak_mib']:.0f}"))
        before = size, seconds
    limits = ", ".join(f"{key} = {value}" for key, value in TIMED.items())
    return "\n\n".join(
        (
            "## Time",
            f"Bootstraps of the survey, {limits}, locality start; processor seconds of the method. The "
            "exponent is that of the growth from the row before.",
            markdown_table(("records", "GCP", "processor seconds", "exponent", "peak MiB"), rows),
            "From 5,000 classes on (here 100,000 records), if at least a quarter as many neighbours are in "
            "excess as there are records, these change places within parts of 2,500 classes first. Before, "
            "time grew as n^1.54 to 200,000 and as n^1.67 to 400,000 records (28 and 89 s; GCP 0.0514 and "
            "0.0695), because ever more similar classes had too many close values and "
            "had to be searched. GCP still rises at 400,000 records: with few quasi-identifiers, more "
            "classes look identical and have to be told apart. [025](../decisions/025-colours.md) has the "
            "figures, and other remedies that were tried.",
        )
    )


def figure_6() -> str:
    """Return time against n, epsilon, delta and k, for the default and for the algorithm as printed."""
    parts = [
        "## Figure 6: time against n, epsilon, delta and k",
        "Processor seconds of the method on bootstraps of the survey. One parameter is varied; the others "
        "are the defaults of the paper (epsilon = 0.15, delta = 0.9, k = 20), with 30,000 records. *As "
        "printed* is `--start paper`; *identical* and *stuck*, as above, mean "
        "that there is no release; the time is that of all exchanges.",
        _times("records", RECORDS, {}),
    ]
    parts += [_times(name, values, {"records": RECORDS[0]}) for name, values in VARIED.items()]
    return "\n\n".join(parts)


def _times(name: str, values: Sequence[float], others: dict[str, int]) -> str:
    """Return a table of times along one parameter."""
    rows = []
    for value in values:
        row: list[object] = [value]
        for start in STARTS:
            found = remembered(
                "proximity_figures", task="time", start=start, **{**TIMED, **others, name: value}
            )
            row += [f"{found['seconds']:.1f}", f"{found['gcp']:.4f}" if "gcp" in found else refusal(found)]
        rows.append(row)
    return markdown_table(
        (name, *(f"{how} {what}" for how in STARTS.values() for what in ("s", "GCP"))), rows
    )


def figure_5() -> str:
    """Return errors with the taxonomies of Table III and unequal weights, along each parameter."""
    parts = [
        "## Figure 5 with taxonomies and weights",
        "Adult. The paper's Table III has taxonomies of height 2 for sex, marital status and race (a value "
        "or all), and of height 4 for classes of work. It takes the weights of education, class of work and "
        "income from a report and does not print them; 3, 1 and 2 are ours. Mean relative errors of queries "
        "about one, two and three quasi-identifiers. The first table compares with columns without "
        "taxonomies and with equal weights, at epsilon = 0.1, delta = 0.4, k = 10, s = 0.1; the others have "
        "taxonomies and weights, and vary one parameter.",
    ]
    rows: list[list[object]] = []
    for start, taxonomies in itertools.product(STARTS, (False, True)):
        how = "taxonomies, weights 3:1:2" if taxonomies else "sets, equal weights"
        rows.append([STARTS[start], how, *_shown(start, taxonomies, {}, 0.1)])
    parts.append(markdown_table(("start", "columns", "GCP", "error 1", "error 2", "error 3"), rows))
    for name, values in TAXED.items():
        rows = []
        for value in values:
            changes, s = ({}, value) if name == "s" else ({name: value}, 0.1)
            rows.append([value, *itertools.chain(*(_shown(start, True, changes, s) for start in STARTS))])
        head = (name, *(f"{how}: {what}" for how in STARTS.values() for what in ("GCP", 1, 2, 3)))
        parts.append(markdown_table(head, rows))
    return "\n\n".join(parts)


def _shown(start: str, taxonomies: bool, changes: dict[str, float], s: float) -> list[str]:
    """Return GCP and errors of a release with the default parameters but for some."""
    chosen = {name: value for name, value in {**DEFAULTS["adult"], **changes}.items() if name != "s"}
    found = remembered(
        "proximity_figures",
        task="errors",
        start=start,
        taxonomies=taxonomies,
        selectivities=[s] if changes else list(TAXED["s"]),
        **chosen,
    )
    if "gcp" not in found:
        return [refusal(found), "", "", ""]
    return [f"{found['gcp']:.4f}", *(f"{found[f'error {s} {d}']:.1%}" for d in (1, 2, 3))]


PARTS = {"growth": growth, "figure_6": figure_6, "figure_5": figure_5}


def main(options: Sequence[str] = ()) -> None:
    """Measure all parts, or one, and print them."""
    parser = argparse.ArgumentParser(prog="benchmarks proximity_figures")
    parser.add_argument("--only", choices=PARTS)
    chosen = parser.parse_args(options)
    for name, part in PARTS.items():
        if chosen.only in (None, name):
            print(part(), flush=True)
