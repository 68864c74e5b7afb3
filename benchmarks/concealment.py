"""Concealment and its relatives: against freeform and classes on Adult, and the paper's Figures 5 to 10.

`python -m benchmarks concealment --only table --k 10` measures some cells only; a run without options writes
the page from what was measured at this commit, and measures the rest. The figures need the paper's data sets
and its two rivals; where these are not at hand, the page has the table alone.
"""

from __future__ import annotations

import argparse
import functools
import importlib.util
from collections.abc import Iterator, Sequence
from typing import Any

import altair as alt

from benchmarks.freeform import RIVAL
from benchmarks.harness import (
    adult,
    adult_schema,
    line_chart,
    markdown_table,
    remembered,
    timed,
    write_page,
)
from shoal import KK, Concealment, Freeform, KAnonymity, KOne, anonymize
from shoal.models import Model, OwnRowsModel

TABLE_KS = (5, 10, 50)
FLOOR = "(k,1), best"
"""Rows that each cover k records at the least loss found, and do not grow for the crowds of others."""

TABLE: dict[str, tuple[type[Model], dict[str, Any]]] = {
    FLOOR: (KOne, {"effort": "best", "randomized": False}),
    "mondrian": (KAnonymity, {"method": "mondrian"}),
    "freeform, best": (Freeform, {"effort": "best"}),
    "concealment, the paper's": (Concealment, {"effort": "fast", "randomized": False}),
    "the same, randomized": (Concealment, {"effort": "fast"}),
    "(k,k), balanced": (KK, {"randomized": False}),
    "(k,k), balanced, randomized": (KK, {}),
    "(k,k), best": (KK, {"effort": "best", "randomized": False}),
    "concealment, balanced": (Concealment, {"randomized": False}),
    "concealment, balanced, randomized": (Concealment, {}),
    "concealment, best": (Concealment, {"effort": "best", "randomized": False}),
    "concealment, best, randomized": (Concealment, {"effort": "best"}),
}
"""What is compared on the task of the freeform benchmark."""

DEFAULT = "balanced, randomized"
FIGURES: dict[str, tuple[type[Model], dict[str, Any]]] = {
    "forest": (KAnonymity, {"method": "forest"}),
    "agglomerative": (KAnonymity, {"method": "agglomerative"}),
    "concealment": (Concealment, {"effort": "fast", "randomized": False}),
    "randomized": (Concealment, {"effort": "fast"}),
    DEFAULT: (Concealment, {}),
}
"""What the paper compares, and what is published by default."""

KS = (10, 25, 50, 75, 100)
ORDER = (
    ("concealment", "agglomerative"),
    ("agglomerative", "forest"),
    ("randomized", "agglomerative"),
    (DEFAULT, "agglomerative"),
)
"""Who loses less than whom in the paper, and what is published by default."""
SLOW, SLOW_KS = ("adult", "em"), (10,)
"""Here `balanced` takes many minutes; it is measured for some k, and on a sample."""
SAMPLE, SAMPLE_KS = 5_000, (10, 25)
"""Records of the sample, and the k that are measured on it."""
DIVERSE = {"adult": 1.1, "nursery": 2.0}
"""The l of Figure 10."""


def work(
    part: str,
    how: str,
    k: int,
    measure: str = "gcp",
    l: float | None = None,  # noqa: E741
    rows: int | None = None,
) -> dict[str, Any]:
    """Anonymize Adult, or one of the paper's data sets, end to end after start-up."""
    model, options = (TABLE if part == "table" else FIGURES)[how]
    if part == "table":
        frame = adult()
        schema = adult_schema(frame)
    else:
        frame, schema = _data()[part]()
        frame = frame if rows is None else frame.sample(rows, seed=1)
        options = {**options, "measure": measure}
    parameters = {"k": k} if l is None else {"k": k, "l": l}
    release, seconds = timed(anonymize, frame, schema, _plain(model, parameters), **options)
    loss, found = release.loss, release.audit
    return {
        **{name: loss[name] for name in ("gcp", "lm", "em")},
        "widest": int(found.consistency.records_of_row.max()),
        "seconds": seconds,
    }


def _plain(model: type[Model], parameters: dict[str, Any]) -> Model:
    """Return a model as in the paper, which does not bound the chance of a right guess."""
    return model(**parameters, **({"chance": 1} if issubclass(model, OwnRowsModel) else {}))


cell = functools.partial(remembered, "concealment")


def main(options: Sequence[str] = ()) -> None:
    """Measure and write the results page, or measure some cells only."""
    parser = argparse.ArgumentParser(prog="benchmarks concealment")
    parser.add_argument("--only", help="measure this part only: table, or a data set")
    parser.add_argument("--k", type=int, help="only for this k")
    parser.add_argument("--how", help="measure this way only")
    parser.add_argument("--measure", help="figures: by this measure only")
    chosen = parser.parse_args(options)
    if options:
        for arguments in _cells():
            asked = {"part": chosen.only, "k": chosen.k, "how": chosen.how, "measure": chosen.measure}
            if all(value in (None, arguments.get(name)) for name, value in asked.items()):
                print(arguments, cell(**arguments), flush=True)
        return
    sections = [_introduction(), *(_table(k) for k in TABLE_KS)]
    charts = {}
    if _data():
        sections.append(_about_figures())
        for part in _data():
            for measure in ("lm", "em"):
                points = list(_points(part, measure, None))
                sections.append(_section(part, measure, None, points))
                charts[f"{part}-{measure}"] = line_chart(
                    points, f"{part}, {measure}", "k", "loss", alt.Scale(zero=True)
                )
        sections.append(_sampled())
        for part, l in DIVERSE.items():  # noqa: E741
            points = list(_points(part, "lm", l))
            sections.append(_section(part, "lm", l, points))
            charts[f"{part}-diverse"] = line_chart(
                points, f"{part}, l = {l:g}", "k", "loss", alt.Scale(zero=True)
            )
        sections.append(_times())
    write_page("concealment", "\n\n".join(sections), charts)


def _cells() -> Iterator[dict[str, Any]]:
    """Yield the arguments of everything there is to measure."""
    for k in TABLE_KS:
        yield from ({"part": "table", "how": how, "k": k} for how in TABLE)
    for part in _data():
        for measure in ("lm", "em"):
            for k in KS:
                if (part, measure) == SLOW and k in SAMPLE_KS:
                    yield from _sample_cells(k)
                for how in _ways(part, measure, k):
                    yield {"part": part, "how": how, "k": k, "measure": measure}
                    if part in DIVERSE and measure == "lm":
                        yield {"part": part, "how": how, "k": k, "measure": "lm", "l": DIVERSE[part]}


def _data() -> dict[str, Any]:
    """Return the paper's data sets, if they are at hand."""
    if importlib.util.find_spec("benchmarks.concealment_data") is None:
        return {}
    data: dict[str, Any] = importlib.import_module("benchmarks.concealment_data").DATA
    return data


def _ways(part: str, measure: str, k: int) -> list[str]:
    """Return what is measured of the figures."""
    return [how for how in FIGURES if (part, measure) != SLOW or how != DEFAULT or k in SLOW_KS]


def _introduction() -> str:
    return "\n\n".join(
        (
            "# Concealment",
            "k-concealment and its relatives (Tassa, Mazza and Gionis 2012), compared with freeform "
            "releases and classes of identical rows. *The paper's* is effort `fast`. *Randomized* "
            "releases may be published; the others are experiments.",
            "## Adult, as in the freeform benchmark",
            "30,162 complete training records, eight quasi-identifiers (age numeric, the others "
            "categories without hierarchies). The floor is the loss of a release of `k1` (effort `best`): "
            "rows that each cover k records and do not grow further for the crowds of other records. It is "
            "computed in the same run. "
            "*Widest* is the maximum number of records that a row covers: rows that cover very many "
            "records protect none of them, and are cheap. Time is end to end, with the audit.",
        )
    )


def _about_figures() -> str:
    return "\n\n".join(
        (
            "## Figures 5 to 10 of the paper",
            "5,000 artificial records as the paper describes them, Adult (45,222 records, 14 attributes), "
            "CMC (1,473, 9) and Nursery (12,960, 8), by LM and by EM. All attributes have hierarchies; "
            "those of the real tables are Shoal's, since the paper does not list its own. *Concealment* "
            "and *randomized* are the paper's algorithms (effort `fast`, without and with Algorithm 6); "
            "*balanced, randomized* is what Shoal publishes by default. On Adult by EM it takes many "
            "minutes, so it was measured there for some k only, and is also compared on a sample.",
            "In the paper, concealment loses less than agglomerative clustering, which loses less than "
            "the forest algorithm, and randomized concealment stays below agglomerative clustering (shown "
            "for Adult only). The text below each table says whether this holds here. It does not hold in "
            "these cases:",
            "- *Randomized*, implemented literally, takes k - 1 of the 2(k - 1) nearest records, found "
            "one by one. Near records differ from a record in different attributes, so the records that "
            "are drawn together span far more than each of them does. Nursery shows it best: its records "
            "are all combinations of its values, each once. Effort `balanced` draws where a row starts to "
            "grow, and gives up records that other rows cover for less.",
            "- By *EM*, two expensive clusters lose little more than one of them, whatever they cover. So "
            "agglomerative clustering unites records that have nothing in common, and on Nursery even the "
            "forest algorithm sometimes loses less ([why](../decisions/029-clusters.md)).",
            "- With *l*, classes are united afterwards until all are diverse enough (Algorithm 8). "
            "Agglomerative clustering makes smaller classes, of which more have to be united; the paper "
            "shows no forest there.",
        )
    )


def _table(k: int) -> str:
    rival, lost = RIVAL[k]
    floor = cell(part="table", how=FLOOR, k=k)["gcp"]
    rows: list[Sequence[object]] = [(rival, f"{lost:.4f}", f"{lost / floor:.2f}", "", "")]
    for how in TABLE:
        found = cell(part="table", how=how, k=k)
        rows.append(
            (
                how,
                f"{found['gcp']:.4f}",
                f"{found['gcp'] / floor:.2f}",
                found["widest"],
                f"{found['seconds']:.1f}",
            )
        )
    head = ("release", "GCP", "times the floor", "widest", "seconds")
    return f"### k = {k}\n\nThe floor is {floor:.4f}.\n\n{markdown_table(head, rows)}"


def _times() -> str:
    """Return how long the largest table takes."""
    rows = []
    for how in FIGURES:
        found = [cell(part="adult", how=how, k=k, measure="lm") for k in KS]
        seconds = (f"{each['seconds']:.0f}" for each in found)
        rows.append((how, *seconds, f"{max(each['peak_mib'] for each in found):.0f}"))
    head = ("method", *(f"k = {k}" for k in KS), "peak MiB")
    return "\n\n".join(
        (
            "## Seconds",
            "Adult, 45,222 records and 14 attributes, by LM, end to end with the audit; memory is the "
            "peak of the whole process, including the table.",
            markdown_table(head, rows),
        )
    )


def _points(part: str, measure: str, l: float | None) -> Iterator[dict[str, Any]]:  # noqa: E741
    for how in FIGURES:
        for k in (each for each in KS if how in _ways(part, measure, each)):
            arguments = {"part": part, "how": how, "k": k, "measure": measure}
            found = cell(**arguments) if l is None else cell(**arguments, l=l)
            yield {"method": how, "k": k, "loss": found[measure], "seconds": found["seconds"]}


def _sample_cells(k: int) -> Iterator[dict[str, Any]]:
    part, measure = SLOW
    yield from ({"part": part, "how": how, "k": k, "measure": measure, "rows": SAMPLE} for how in FIGURES)


def _sampled() -> str:
    """Return the losses of all methods on a sample of the table that takes long."""
    found = {(each["how"], k): cell(**each) for k in SAMPLE_KS for each in _sample_cells(k)}
    part, measure = SLOW
    lost = {key: figures[measure] for key, figures in found.items()}
    table, verdict = _compared(list(FIGURES), lost, SAMPLE_KS)
    title = f"## {part.capitalize()}, {measure.upper()}, a sample of {SAMPLE:,} records"
    return f"{title}\n\n{table}\n\n{verdict}"


def _section(part: str, measure: str, l: float | None, points: list[dict[str, Any]]) -> str:  # noqa: E741
    """Return a table of losses, and whether the order of the paper's figures holds."""
    lost = {(point["method"], point["k"]): point["loss"] for point in points}
    table, verdict = _compared(list(FIGURES), lost)
    diverse = "" if l is None else f", l = {l:g}"
    name = f"{part}-diverse" if l is not None else f"{part}-{measure}"
    return "\n\n".join(
        (
            f"## {part.capitalize()}, {measure.upper()}{diverse}",
            table,
            verdict,
            f"![Loss against k](concealment-{name}.svg)",
        )
    )


def _compared(
    ways: Sequence[str], lost: dict[tuple[str, int], float], ks: Sequence[int] = KS
) -> tuple[str, str]:
    """Return a table of losses, and a sentence on who loses less than whom."""
    rows = [(how, *(f"{lost[how, k]:.4f}" if (how, k) in lost else "" for k in ks)) for how in ways]
    verdicts = []
    for better, other in ORDER:
        ratios = {k: lost[better, k] / lost[other, k] for k in ks if (better, k) in lost}
        worse = [f"k = {k}: {ratio:.2f}" for k, ratio in ratios.items() if ratio >= 1]
        low, high = f"{min(ratios.values()):.2f}", f"{max(ratios.values()):.2f}"
        only = f" at k = {' and '.join(map(str, ratios))}" if len(ratios) < len(ks) else ""
        verdicts.append(
            f"*{better}* loses {low if low == high else f'{low} to {high}'} times as much as *{other}*"
            + (f" (more at {', '.join(worse)})" if worse and len(ks) > 1 else only)
        )
    return markdown_table(("method", *(f"k = {k}" for k in ks)), rows), f"{'; '.join(verdicts)}."
