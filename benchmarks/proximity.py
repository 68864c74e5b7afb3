"""Proximity: Figures 4 to 6 of the paper on XColor, on Adult and the NIST excerpt prepared like their SAL."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import altair as alt
import numpy as np
import polars as pl

from benchmarks.enlarging import enlarge
from benchmarks.harness import acs, adult, line_chart, markdown_table, remembered, timed, write_page
from shoal import Dissimilarity, InfeasibleError, KAnonymity, Schema
from shoal.auditing.classes import Classes
from shoal.auditing.proximity import proximity_of_classes
from shoal.base.randomness import Randomness
from shoal.measures.distances import distance_over
from shoal.measures.gcp import gcp
from shoal.measures.queries import draw_queries, query_error
from shoal.methods import Circumstances, method_for
from shoal.recoding import Recoding
from shoal.table import Table

QUERIES = 1000
LEVELS = 50
"""Number of levels of income, as in SAL."""
DATA = ("acs", "adult")
DEFAULTS = {
    "acs": {"epsilon": 0.1, "delta": 0.8, "k": 10, "s": 0.1},
    "adult": {"epsilon": 0.1, "delta": 0.4, "k": 10, "s": 0.1},
}
"""What is not varied; Adult knows only two incomes, and so cannot have the paper's delta."""
VARIED = {
    "acs": {
        "epsilon": (0.05, 0.1, 0.15, 0.2),
        "delta": (0.5, 0.6, 0.7, 0.8, 0.9),
        "k": (5, 10, 15, 20, 25),
        "s": (0.05, 0.1, 0.15, 0.2, 0.25),
    },
    "adult": {
        "epsilon": (0.05, 0.1, 0.15),
        "delta": (0.2, 0.3, 0.4, 0.5, 0.6),
        "k": (5, 10, 15, 20, 25),
        "s": (0.05, 0.1, 0.15, 0.2, 0.25),
    },
}
STARTS = {"locality": "locality", "degree": "degree", "paper": "as printed"}
"""Shoal's start, the paper's start with Shoal's exchanges, and the algorithm as printed."""
EPSILONS = (0.05, 0.1, 0.15, 0.2, 0.25, 0.3)
DELTAS = (0.5, 0.6, 0.7, 0.8, 0.9)
TIMED = {"epsilon": 0.15, "delta": 0.9, "k": 20}
"""The defaults of the paper's Figure 6."""


def acs_like_sal(rows: int | None = None) -> tuple[pl.DataFrame, Schema]:
    """Return the adults of the survey who work, or a bootstrap of them: income in levels of equal size."""
    frame = acs().filter(~pl.any_horizontal(pl.col("PINCP", "EDU", "INDP_CAT") == "N"))
    income = pl.col("PINCP").cast(pl.Float64).rank("ordinal") - 1
    frame = frame.select(
        pl.col("AGEP").cast(pl.Int64).alias("age"),
        pl.col("SEX").alias("sex"),
        pl.col("MSP").alias("marital"),
        pl.col("RAC1P").alias("race"),
        pl.col("EDU").cast(pl.Int64).alias("education"),
        pl.col("INDP_CAT").alias("industry"),
        (income * LEVELS // pl.len()).cast(pl.Int64).alias("income"),
    )
    if rows is not None:
        frame = enlarge(frame, rows, numeric={"age": 3, "income": 2}, seed=1)
    return frame, _schema(frame, ["education", "industry", "income"], ["industry"])


def adult_like_sal(rows: int | None = None) -> tuple[pl.DataFrame, Schema]:
    """Return Adult, or a bootstrap of it: education in years, class of work, and which of two incomes."""
    frame = adult().select(
        "age",
        "sex",
        pl.col("marital-status").alias("marital"),
        "race",
        pl.col("education-num").alias("education"),
        "workclass",
        "income",
    )
    if rows is not None:
        frame = enlarge(frame, rows, numeric={"age": 3}, seed=1)
    return frame, _schema(frame, ["education", "workclass", "income"], ["workclass", "income"])


def _schema(frame: pl.DataFrame, sensitive: list[str], categories: list[str]) -> Schema:
    kinds = dict.fromkeys([*categories, "sex", "marital", "race"], "categorical")
    return Schema.infer(frame, quasi=["age", "sex", "marital", "race"], sensitive=sensitive, kinds=kinds)


PREPARED = {"acs": acs_like_sal, "adult": adult_like_sal}


def work(task: str, data: str, **arguments: Any) -> dict[str, Any]:
    """Measure one cell in a process of its own."""
    frame, schema = PREPARED[data](arguments.pop("rows", None))
    table = Table.encode(frame, schema)
    measure: Callable[..., dict[str, Any]] = _vulnerability if task == "vulnerability" else _release
    return measure(table, **arguments)


def _vulnerability(table: Table, norm: str, diversity: float) -> dict[str, Any]:
    """Return the share of breached classes of a varied Mondrian, for all epsilon and delta."""
    values, distance = distance_over(table.sensitive, table.schema.sensitive, norm)
    # All columns are one value here, and it is this value that is varied.
    whole = pl.DataFrame({"value": pl.Series(values)})
    composite = table.frame.to_native().select("age", "sex", "marital", "race").hstack(whole)
    schema = Schema.infer(
        composite,
        quasi=["age", "sex", "marital", "race"],
        sensitive=["value"],
        kinds=dict.fromkeys(("sex", "marital", "race", "value"), "categorical"),
    )
    model = KAnonymity(k=max(2, round(diversity)), l=diversity)
    recoding = method_for(model, "mondrian")[1](Table.encode(composite, schema), model, Circumstances())
    classes = Classes(recoding.types, np.bincount(recoding.types))
    shares = {}
    for epsilon in EPSILONS:
        near = proximity_of_classes(classes, "value", values, distance, epsilon=epsilon)
        for delta in DELTAS:
            shares[f"{epsilon} {delta}"] = float((near.risks > 1 - delta + 1e-9).mean())
    return {"classes": len(classes.sizes), "shares": shares}


def _release(
    table: Table, start: str, epsilon: float, delta: float, k: int, selectivities: list[float], effort: str
) -> dict[str, Any]:
    """Return loss, time and query errors of one release, or why there is none."""
    model = Dissimilarity(k=k, epsilon=epsilon, delta=delta)
    circumstances = Circumstances(Randomness(1))
    try:
        recoding, seconds = timed(
            method_for(model)[1], table, model, circumstances, start=start, effort=effort
        )
    except InfeasibleError as error:
        return {"refused": str(error)}
    assert isinstance(recoding, Recoding)
    errors = {}
    for s in selectivities:
        for dimensions in (1, 2, 3):
            queries = draw_queries(table, QUERIES, Randomness(7), selectivity=s, quasi=dimensions)
            found = query_error(recoding, queries)
            errors[f"{s} {dimensions}"] = {"mean": found.mean, "median": found.median}
    return {
        "gcp": gcp(recoding),
        "seconds": seconds,
        "errors": errors,
        "guaranteed": not circumstances.notes,
    }


def refusal(found: dict[str, Any]) -> str:
    """Return one word for why there is no release."""
    if "identical" in found["refused"]:
        return "identical"
    return "refused" if "not achievable" in found["refused"] else "stuck"


def released(data: str, start: str, **changes: Any) -> dict[str, Any]:
    """Return the figures of a release with the default parameters but for some."""
    chosen = {**DEFAULTS[data], **changes}
    selectivities = list(VARIED[data]["s"]) if not changes else [chosen["s"]]
    chosen.pop("s")
    return remembered(
        "proximity",
        task="release",
        data=data,
        start=start,
        selectivities=selectivities,
        effort="balanced",
        **chosen,
    )


def figure_4(data: str) -> tuple[str, dict[str, alt.Chart]]:
    """Return how many classes of an l-diverse Mondrian are breached."""
    diversity = 20.0 if data == "acs" else 4.0
    rows, points = [], []
    for norm in ("l1", "l2"):
        found = remembered("proximity", task="vulnerability", data=data, norm=norm, diversity=diversity)
        for delta in DELTAS:
            shares = [found["shares"][f"{epsilon} {delta}"] for epsilon in EPSILONS]
            rows.append((norm, delta, *(f"{share:.0%}" for share in shares)))
            points += [
                {"epsilon": e, "vulnerability": share, "method": f"{norm}, delta = {delta}"}
                for e, share in zip(EPSILONS, shares, strict=True)
                if norm == "l1"
            ]
    text = (
        f"Shares of the classes of Mondrian with l = {diversity:g} that are breached.\n\n"
        + markdown_table(("norm", "delta", *(f"epsilon = {e}" for e in EPSILONS)), rows)
    )
    chart = line_chart(points, "Breached classes", "epsilon", "vulnerability", alt.Scale(zero=True))
    return text, {f"{data}-vulnerability": chart}


def figure_5(data: str) -> tuple[str, dict[str, alt.Chart]]:
    """Return query errors along each parameter, for all starts."""
    parts, points = [], []
    for parameter, values in VARIED[data].items():
        rows = []
        for value in values:
            key = f"{value if parameter == 's' else DEFAULTS[data]['s']}"
            row: list[object] = [value]
            for start in STARTS:
                changes = {} if parameter == "s" else {parameter: value}
                found = released(data, start, **changes)
                if "refused" in found:
                    row += [refusal(found), "", "", ""]
                    continue
                row.append(f"{found['gcp']:.4f}")
                for dimensions in (1, 2, 3):
                    error = found["errors"][f"{key} {dimensions}"]
                    row.append(f"{error['mean']:.1%} / {error['median']:.1%}")
                points.append(
                    {
                        "parameter": parameter,
                        "value": value,
                        "error": found["errors"][f"{key} 2"]["mean"],
                        "method": STARTS[start],
                    }
                )
            rows.append(row)
        head = (parameter, *(f"{s}: {w}" for s in STARTS.values() for w in ("GCP", 1, 2, 3)))
        parts.append(markdown_table(head, rows))
    chart = (
        alt.Chart(pl.DataFrame(points))
        .mark_line(point=True)
        .encode(
            x=alt.X("value:Q"),
            y=alt.Y("error:Q", scale=alt.Scale(type="log"), title="average error, two dimensions"),
            color=alt.Color("method:N", title=None),
        )
        .properties(width=200, height=160)
        .facet("parameter:N", columns=2)
        .resolve_scale(x="independent")
    )
    return "\n\n".join(parts), {f"{data}-errors": chart}


def main() -> None:
    """Measure and write the results page."""
    charts: dict[str, Any] = {}
    parts = [
        "# Proximity",
        "Figures 4 to 6 of the paper on *XColor*. Its table SAL is not available; two other tables are "
        "prepared like it. Age, sex, marital status and race are quasi-identifiers. Education, industry "
        f"and income (in {LEVELS} levels) of the NIST excerpt of the American Community Survey, or "
        "education, class of work and income (two levels) of Adult, are one composite sensitive value, by "
        "the normalized L1 norm with equal weights. The survey consists of the adults with an industry "
        "and an income.",
    ]
    for data in DATA:
        name = {"acs": "American Community Survey", "adult": "Adult"}[data]
        text, drawn = figure_4(data)
        parts += [f"## {name}: vulnerability of l-diverse classes", text, _picture(drawn)]
        charts |= drawn
        text, drawn = figure_5(data)
        defaults = ", ".join(f"{key} = {value}" for key, value in DEFAULTS[data].items())
        parts += [
            f"## {name}: errors of count queries",
            f"One parameter is varied, the others are {defaults}. The tables show GCP, then the mean and "
            f"the median relative error of {QUERIES} random range queries about one, two and three "
            "quasi-identifiers and two sensitive columns, of selectivity s; queries without an answer are "
            "drawn again. *As printed* is `--start paper`. *Refused*: no release has this guarantee. "
            "*Identical*: some classes look identical and break the guarantee together. *Stuck*: a record "
            "has too many neighbours, and the algorithm as printed has no exchange for it.",
            text,
            _picture(drawn),
        ]
        charts |= drawn
    from benchmarks import proximity_figures as more  # late: it takes its tables from here

    parts += [more.figure_5(), more.figure_6(), more.growth()]
    write_page("proximity", "\n\n".join(parts), charts)


def _picture(charts: dict[str, Any]) -> str:
    return "\n\n".join(f"![{name}](proximity-{name}.svg)" for name in charts)
