"""Freeform: loss and seconds against k beside Mondrian, the least loss and the rivals; growth with rows.

Every cell is measured in a process of its own and remembered, so that an interrupted run can continue
later, or be done in pieces: `python -m benchmarks freeform --only adult --k 5,10` or `--only growth` measures
these cells and prints them. Without options, all that are left are measured and the page is written.
"""

from __future__ import annotations

import argparse
import functools
import json
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import altair as alt
import numpy as np
import polars as pl

from benchmarks import literal_sort_greedy
from benchmarks.harness import (
    acs,
    acs_schema,
    adult,
    adult_like,
    adult_schema,
    cmc,
    cmc_schema,
    line_chart,
    loss_chart,
    markdown_table,
    remembered,
    timed,
    write_page,
)
from shoal import Freeform, KAnonymity, Schema, anonymize
from shoal.methods import METHODS

KS = (2, 5, 10, 25, 50, 100)
SIZES = (30_000, 60_000, 120_000, 240_000, 480_000)
MILLION = 1_000_000
K_OF_GROWTH = 10

# GCP of the best among other tools on the same task, measured separately.
RIVAL = {5: ("anonypy 0.2.1", 0.0319), 10: ("anonypy 0.2.1", 0.0593), 50: ("ARX 3.9.2", 0.1513)}


@dataclass(frozen=True)
class Source:
    """A table to be released: how it is called, what it is, where it comes from, and its schema."""

    title: str
    about: str
    frame: Callable[[], pl.DataFrame]
    schema: Callable[[pl.DataFrame], Schema]


SOURCES = {
    "adult": Source(
        "Adult",
        "30,162 complete training records, eight quasi-identifiers: age (numeric), work class, education, "
        "marital status, occupation, race, sex and native country (categories without hierarchies).",
        adult,
        adult_schema,
    ),
    "cmc": Source(
        "CMC",
        "1,473 records, nine quasi-identifiers: all columns except the class; the husband's occupation is "
        "a category, the others are numeric.",
        cmc,
        cmc_schema,
    ),
    "acs": Source(
        "NIST ACS",
        "27,253 records of the national excerpt, nine quasi-identifiers: age and education (numeric), area, "
        "sex, marital status, Hispanic origin, race, tenure and industry group (categories); `N` is a "
        "missing value.",
        acs,
        acs_schema,
    ),
}
HOW: dict[str, dict[str, str]] = {
    "greedy": {"method": "greedy", "effort": "fast"},
    "sort_greedy": {"method": "sort_greedy", "effort": "fast"},
    "fast": {"effort": "fast"},
    "balanced": {"effort": "balanced"},
    "best": {"effort": "best"},
    **({"ring": {"method": "ring"}} if "ring" in METHODS[Freeform] else {}),
    "mondrian": {},
}
"""What is compared, and its choices; `fast`, `balanced` and `best` are of the default method."""


def work(source: str, k: int, how: str, rows: int | None = None, clock: bool = False) -> dict[str, Any]:
    """Anonymize a table, or as many rows like those of Adult, end to end after start-up.

    Seconds are processor seconds of all threads, which other work on the machine hardly changes, or those of
    the `clock`, for which nothing else may run.
    """
    frame = SOURCES[source].frame() if rows is None else adult_like(rows)
    schema = SOURCES[source].schema(frame)
    model = KAnonymity(k=k) if how == "mondrian" else Freeform(k=k)
    begun = time.process_time()
    release, seconds = timed(anonymize, frame, schema, model, **HOW[how])
    took = seconds if clock else time.process_time() - begun
    return {"gcp": release.loss.gcp, "bound": release.loss.bound, "seconds": took}


cell = functools.partial(remembered, "freeform")


def main(options: Sequence[str] = ()) -> None:
    """Measure and write the results page, or measure some cells only."""
    parser = argparse.ArgumentParser(prog="benchmarks freeform")
    parser.add_argument(
        "--only", choices=[*SOURCES, "clock", "growth", "literal"], help="measure this part only"
    )
    parser.add_argument("--k", type=_numbers, help="only for these k, separated by commas")
    parser.add_argument("--how", choices=HOW, help="measure this way only")
    parser.add_argument("--rows", type=_numbers, help="growth: only these numbers of rows")
    chosen = parser.parse_args(options)
    if options:
        _measure(chosen)
        return
    charts = {}
    sections = []
    for name, source in SOURCES.items():
        measured = {k: {how: cell(source=name, k=k, how=how) for how in HOW} for k in KS}
        sections.append(_section(name, source, measured))
        charts[f"{name}-loss"] = _loss_chart(name, source, measured)
        charts[f"{name}-seconds"] = _seconds_chart(source, measured)
    growth, charts["growth"] = _growth()
    text = "\n\n".join((_introduction(), _by_the_clock(), *sections, growth, *_printed()))
    write_page("freeform", text, charts, by_hand=("Targets",))


def _printed() -> tuple[str, str]:
    return literal_sort_greedy.growth_section(), literal_sort_greedy.section()


def _measure(chosen: argparse.Namespace) -> None:
    """Measure the chosen cells and print each as a line."""
    if chosen.only == "literal":
        print("\n\n".join(_printed()))
    cells = [
        {"source": name, "k": k, "how": how}
        for name in SOURCES
        if chosen.only in (None, name)
        for k in chosen.k or KS
        for how in HOW
        if chosen.how in (None, how)
    ]
    if chosen.only == "clock":
        cells = [_cell_by_the_clock(how) for how in HOW_BY_THE_CLOCK]
    if chosen.only == "growth":
        cells = [_cell_of_growth(rows) for rows in chosen.rows or (*SIZES, MILLION)]
    for arguments in cells:
        print(json.dumps({**arguments, **cell(**arguments)}), flush=True)


def _numbers(text: str) -> list[int]:
    return [int(part) for part in text.split(",")]


def _introduction() -> str:
    rivals = ", ".join(f"k = {k}: {tool} {gcp:.4f}" for k, (tool, gcp) in RIVAL.items())
    return "\n\n".join(
        (
            "# Freeform",
            "Information loss (GCP) and time. `greedy` and `sort_greedy` are the methods alone "
            f"(effort `fast`); `fast`, `balanced` and `best` are efforts of `{_default()}`, the default"
            f"{'; `ring` is a separate method' if 'ring' in HOW else ''}; `mondrian` makes classes. No "
            "release loses less than the bound. Each cell is measured in a separate process; "
            "seconds are processor seconds of all threads, end to end after start-up, with the audit. "
            "[Loss against time](front.md) has the methods by themselves.",
            f"The best of other tools on Adult, measured separately: {rivals}.",
        )
    )


HOW_BY_THE_CLOCK = ("mondrian", "fast", "balanced", "best")


def _cell_by_the_clock(how: str) -> dict[str, Any]:
    return {"source": "adult", "k": K_OF_GROWTH, "how": how, "clock": True}


def _by_the_clock() -> str:
    """Return the seconds of the clock that a release of Adult takes."""
    return "\n\n".join(
        (
            "## By the clock",
            f"Adult, k = {K_OF_GROWTH}, from the table in memory to the audited release, with nothing else "
            "running.",
            markdown_table(
                ("", "seconds"),
                [(how, f"{cell(**_cell_by_the_clock(how))['seconds']:.1f}") for how in HOW_BY_THE_CLOCK],
            ),
        )
    )


def _default() -> str:
    return next(iter(METHODS[Freeform]))


Measured = dict[int, dict[str, dict[str, Any]]]
"""The figures of each k and way."""


def _section(name: str, source: Source, measured: Measured) -> str:
    """Return what was lost, what that means, and the seconds, for one table."""
    losses, ratios, seconds = [], [], []
    for k, figures in measured.items():
        gcp = {how: figure["gcp"] for how, figure in figures.items()}
        bound = figures["balanced"]["bound"]
        losses.append((k, *(f"{value:.4f}" for value in gcp.values()), f"{bound:.4f}"))
        rival = RIVAL.get(k) if name == "adult" else None
        ratios.append(
            (
                k,
                f"{gcp['fast'] / gcp['sort_greedy']:.3f}",
                f"{gcp['balanced'] / gcp['sort_greedy']:.3f}",
                f"{gcp['best'] / gcp['sort_greedy']:.3f}",
                f"{gcp['balanced'] / gcp['mondrian']:.2f}",
                *(() if name != "adult" else ("" if rival is None else f"{gcp['balanced'] / rival[1]:.2f}",)),
                f"{gcp['best'] / bound:.2f}" if bound else "",
            )
        )
        seconds.append((k, *(f"{figure['seconds']:.1f}" for figure in figures.values())))
    against = ("fast", "balanced", "best")
    return "\n\n".join(
        (
            f"## {source.title}",
            source.about,
            "**GCP**",
            markdown_table(("k", *HOW, "bound"), losses),
            f"![Loss against k on {source.title}](freeform-{name}-loss.svg)",
            "**Ratios** of GCP: against SortGreedy alone, against Mondrian"
            f"{', against the best of other tools' if name == 'adult' else ''} and against the bound.",
            markdown_table(
                (
                    "k",
                    *(f"{how} / sort_greedy" for how in against),
                    "balanced / mondrian",
                    *(("balanced / best rival",) if name == "adult" else ()),
                    "best / bound",
                ),
                ratios,
            ),
            "**Processor seconds**",
            markdown_table(("k", *HOW), seconds),
            f"![Processor seconds against k on {source.title}](freeform-{name}-seconds.svg)",
        )
    )


def _loss_chart(name: str, source: Source, measured: Measured) -> alt.Chart:
    points = [
        {"k": k, "GCP": figure["gcp"], "method": how}
        for k, figures in measured.items()
        for how, figure in figures.items()
    ]
    points += [
        {"k": k, "GCP": figures["balanced"]["bound"], "method": "bound"} for k, figures in measured.items()
    ]
    if name == "adult":
        points += [{"k": k, "GCP": gcp, "method": "best rival"} for k, (_, gcp) in RIVAL.items()]
    return loss_chart(points, f"Loss of releases of {source.title}: lower is better")


def _seconds_chart(source: Source, measured: Measured) -> alt.Chart:
    points = [
        {"k": k, "seconds": figure["seconds"], "method": how}
        for k, figures in measured.items()
        for how, figure in figures.items()
    ]
    return line_chart(points, f"Processor seconds for {source.title}", "k", "seconds", alt.Scale(type="log"))


def _cell_of_growth(rows: int) -> dict[str, Any]:
    return {"source": "adult", "k": K_OF_GROWTH, "how": "balanced", "rows": rows}


def _growth() -> tuple[str, alt.Chart]:
    """Return how time and memory grow with the rows: a section and its chart."""
    measured = {rows: cell(**_cell_of_growth(rows)) for rows in (*SIZES, MILLION)}
    rows, seconds = np.array([(n, measured[n]["seconds"]) for n in SIZES]).T
    exponent = np.polyfit(np.log(rows), np.log(seconds), 1)[0]
    largest = measured[MILLION]
    text = "\n\n".join(
        (
            "## Growth",
            f"Perturbed bootstraps of Adult, k = {K_OF_GROWTH}, effort `balanced`; memory is the peak of "
            "the whole process, including the table.",
            markdown_table(
                ("rows", "GCP", "processor seconds", "peak MiB"),
                [
                    (
                        f"{n:,}",
                        f"{figure['gcp']:.4f}",
                        f"{figure['seconds']:.1f}",
                        f"{figure['peak_mib']:.0f}",
                    )
                    for n, figure in measured.items()
                ],
            ),
            f"From {SIZES[0]:,} to {SIZES[-1]:,} rows, time grows as n^{exponent:.2f}. A million rows take "
            f"{largest['seconds']:.0f} processor seconds and {largest['peak_mib'] / 1024:.1f} GiB.",
            "![Processor seconds against rows](freeform-growth.svg)",
        )
    )
    points = [
        {"rows": n, "seconds": figure["seconds"], "method": "balanced"} for n, figure in measured.items()
    ]
    return text, line_chart(
        points, "Processor seconds against rows", "rows", "seconds", alt.Scale(type="log")
    )
