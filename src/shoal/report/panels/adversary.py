"""The attacker's view: how many rows cover each record, and how likely a guess is right."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.auditing.posterior import Distribution
from shoal.base.tally import Often, tally
from shoal.report.chart import WIDTH, Chart, Spec, axis, promised, values
from shoal.report.panel import Content, Grid, Material, number, percent, report_panel

KNOWS_ONE = "knows one person"
KNOWS_ALL = "knows every record"
MOST_BINS = 12
SHARES = np.linspace(0.0, 1.0, 51)


@report_panel("adversary", "The attacker's view", place=20)
def adversary(material: Material) -> Content:
    """Return the panel on how well records are hidden."""
    found, k = material.audit, material.model.crowd
    one = _some(found.consistency.rows_of_record, found.consistency.records_often)
    every = _some(found.matches.matches_of_record, found.matches.records_often)
    crowds = {KNOWS_ONE: one}
    if not all(np.array_equal(few, many) for few, many in zip(every, one, strict=True)):
        crowds[KNOWS_ALL] = every
    sizes, people = (np.concatenate(each) for each in zip(*crowds.values(), strict=True))
    bins = crowd_bins(int(sizes.min()), int(_quantiles(sizes, people, 0.98)), k)
    counts = {
        who: np.histogram(sizes, [*bins, np.inf], weights=people)[0].tolist()
        for who, (sizes, people) in crowds.items()
    }
    chances = {
        who: _quantiles(1.0 / sizes, people, SHARES).tolist() for who, (sizes, people) in crowds.items()
    }
    link = None if found.posterior is None else found.posterior.link
    return Content(
        paragraphs=(
            "An attacker knows all quasi-identifiers of a record in this table and looks for its row. Every "
            "row that covers the record could be it."
            + (
                f" An attacker who {KNOWS_ALL} can rule out rows that other records need."
                if KNOWS_ALL in crowds
                else f" Even an attacker who {KNOWS_ALL} can rule out none of them: each can be the record's "
                "own in some assignment that gives every record a row."
            )
            + (
                " Rows were counted only in the block of each record; rows of other blocks can only add to "
                "them."
                if material.in_blocks
                else ""
            )
            + (
                " The charts count records; the table below counts persons, some of whom have several."
                if found.risks.of_persons
                else ""
            ),
        ),
        facts=tuple(found.facts()),
        charts=(crowd_chart(bins, counts, k), _chance_chart(chances, link, k)),
        grids=(_attackers(material),),
        data={
            "bins": bins,
            "people": counts,
            "shares": SHARES.tolist(),
            "highest_chance_of_share": chances,
        },
    )


def _some(sizes: NDArray[np.int64], often: Often) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the sizes of crowds that are not empty, each once, and how many records have each."""
    values, people = tally(sizes, often)
    return values[values > 0], people[values > 0]


def _quantiles(
    numbers: NDArray[Any], often: NDArray[np.int64], shares: float | NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return which numbers some shares of all do not exceed, between two of them in proportion."""
    order = np.argsort(numbers, kind="stable")
    last = np.cumsum(often[order]) - 1
    place = np.asarray(shares) * last[-1]
    low, high = (numbers[order][np.searchsorted(last, edge(place))] for edge in (np.floor, np.ceil))
    return np.asarray(low + (high - low) * (place % 1))


def crowd_bins(low: int, high: int, k: int) -> list[int]:
    """Return where each group of crowd sizes begins: even steps, or ever larger ones if sizes differ much.

    Parameters
    ----------
    low, high
        The size of the smallest crowd, and one that few are larger than.
    k
        The guaranteed size.
    """
    if high <= 8 * low:
        step = max(1, -(-(high - low + 1) // MOST_BINS))
        return list(range(low, high + 1, step))
    starts, start = [low], k
    while start <= high:
        for factor in (1.0, 1.5, 2.0, 3.0, 5.0, 7.0):
            edge = round(start * factor)
            if starts[-1] < edge <= high:
                starts.append(edge)
        start *= 10
    return starts


def crowd_chart(bins: list[int], counts: dict[str, list[int]], k: int) -> Chart:
    """Return the chart of how many records are hidden among how many rows, for each attacker.

    Parameters
    ----------
    bins
        Where each group of crowd sizes begins.
    counts
        How many records there are in each group.
    k
        The guaranteed size.
    """
    labels = [
        f"{low:,}" if high == low else f"{low:,} to {high:,}"
        for low, high in zip(bins, [start - 1 for start in bins[1:]], strict=False)
    ]
    labels.append(f"{bins[-1]:,}+")
    rows = [
        {"who": who, "crowd": label, "people": count}
        for who, of_bins in counts.items()
        for label, count in zip(labels, of_bins, strict=True)
    ]
    encoding: Spec = {
        "x": axis(
            "crowd", "ordinal", "rows that could be the record's own", sort=labels, axis={"labelAngle": -40}
        ),
        "y": axis("people", "quantitative", "records", axis={"tickCount": 5, "format": ",d"}),
    }
    if len(counts) > 1:
        who = axis("who", "nominal", "attacker", sort=list(counts))
        encoding |= {"color": who, "xOffset": {"field": "who", "sort": list(counts)}}
    first = next(iter(counts.values()))
    most = int(np.argmax(first))
    return Chart(
        "crowds",
        f"Each record is hidden among at least {bins[0]:,} released rows"
        if bins[0] >= k
        else f"Some records are hidden among fewer than {k} released rows",
        f"Bar chart of the number of records by the number of rows that could be theirs. Most records, "
        f"{first[most]:,}, have {labels[most]}; {first[-1]:,} have {labels[-1].replace('+', ' or more')}.",
        {
            "data": values(rows),
            "mark": {"type": "bar"},
            "encoding": encoding,
            "width": WIDTH - 60,
            "height": 190,
        },
    )


def _chance_chart(chances: dict[str, list[float]], link: Distribution | None, k: int) -> Chart:
    rows: list[dict[str, Any]] = [
        {"who": who, "share": float(share), "chance": chance}
        for who, of_shares in chances.items()
        for share, chance in zip(SHARES, of_shares, strict=True)
    ]
    series = list(chances)
    if link is not None:
        series.append("weighs all matchings")
        rows += [{"who": series[-1], "share": share, "chance": chance} for share, chance in link.quantiles]
    highest = max(row["chance"] for row in rows)
    right = max(highest, 1 / k)
    title = "probability that a guess is right"
    encoding: Spec = {
        "x": axis(
            "chance",
            "quantitative",
            title,
            scale={"domain": [0, right * 1.05], "nice": False},
            axis={"format": ".0%" if right > 0.08 else ".1%", "tickCount": 5},
        ),
        "y": axis(
            "share",
            "quantitative",
            "records with at most this probability",
            axis={"format": ".0%", "tickCount": 5},
        ),
        "order": {"field": "share"},
    }
    if len(series) > 1:
        who = axis("who", "nominal", "attacker", sort=series)
        encoding |= {
            "color": who,
            "strokeDash": {**who, "legend": None, "scale": {"range": [[1, 0], [5, 2], [2, 2]]}},
        }
    line = {"data": values(rows), "mark": {"type": "line", "interpolate": "step-after"}, "encoding": encoding}
    first = chances[KNOWS_ONE]
    return Chart(
        "chances",
        f"A guess is right at most 1 time in {1 / highest:,.0f}"
        if link is None and highest <= 1 / k * (1 + 1e-9)
        else "How often a guess is right",
        f"A rising line: a guess is right with a probability of at most {percent(first[25])} for half of the "
        f"records, {percent(first[45])} for nine in ten, and {percent(highest)} for all. "
        f"A dashed line marks the guaranteed 1 in {k}, {percent(1 / k)}.",
        {
            "layer": [line, *promised(1 / k, f"1/k = {percent(1 / k)}", title, nearly_right=True)],
            "width": WIDTH - 60,
            "height": 190,
        },
    )


def _attackers(material: Material) -> Grid:
    risks = material.audit.risks
    kinds = [("prosecutor", "knows that the person is in the table", risks.prosecutor)]
    if risks.population is not None:
        kinds.append(
            ("journalist", f"knows the {risks.population:,} people who could be in it", risks.journalist)
        )
    rows = [
        [name, what, percent(risk.highest), percent(risk.mean), percent(risk.at_risk)]
        for name, what, risk in kinds
    ]
    rows.append(["marketer", "links the whole table", "", percent(risks.marketer), ""])
    threshold = f"above {percent(risks.threshold)}"
    if risks.of_persons:
        whose, counted = "any record of a person, and are right if it is that person's", "persons"
    else:
        whose, counted = "a record", "records"
    return Grid(
        f"Attackers who pick one of the rows that cover {whose}; a risk {threshold} counts as high "
        f"(crowds of fewer than {number(1 / risks.threshold)})",
        ("attacker", "what the attacker does", "highest risk", "mean risk", f"{counted} {threshold}"),
        rows,
    )
