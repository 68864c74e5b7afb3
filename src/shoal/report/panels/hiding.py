"""Which rows could belong to which records, for a few of them and without any value."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from shoal.recoding import Recoding
from shoal.report.chart import WIDTH, Chart, axis, values
from shoal.report.panel import Content, Material, in_memory, plural, report_panel

MOST = 30
"""How many records and rows an excerpt has at most."""


@dataclass(frozen=True)
class Excerpt:
    """A few records, rows that cover them, and which could belong together.

    Parameters
    ----------
    kind
        What a link means: the row is in the record's class (``classes``), was made to cover the record
        (``graph``), or covers it (``consistency``).
    records, rows
        How many there are.
    links
        Pairs of a record and a row, both counted from 0. The numbers mean nothing outside the excerpt, and
        where a record or row stands does not depend on whose row it truly is.
    """

    kind: str
    records: int
    rows: int
    links: tuple[tuple[int, int], ...]


def excerpt_of(recoding: Recoding, rows: NDArray[np.int64], k: int) -> Excerpt:
    """Return an excerpt around the first released row.

    Parameters
    ----------
    recoding
        The generalized values, and which rows cover which records.
    rows
        The row of the recoding that each released row shows. It is a random order, so its first row is one
        that chance has picked.
    k
        The minimum crowd size.
    """
    kind, links = _links(recoding, k)
    records: list[int] = []
    for start in rows:
        if len(records) >= MOST:
            break
        records += _around(links, int(start), set(records), MOST - len(records))
    candidates = np.concatenate([links.rows(record) for record in records])
    shown, often = np.unique(candidates, return_counts=True)
    # Of the rows around these records, those that have most of their records here.
    shown = shown[np.argsort(-often, kind="stable")[:MOST]]
    linked = np.array([np.isin(records, links.records(int(row))) for row in shown]).T
    across, down = _orders(linked)
    pairs = np.argwhere(linked[across][:, down])
    return Excerpt(kind, len(across), len(down), tuple((int(a), int(b)) for a, b in pairs))


@report_panel("hiding", "Which row could be whose", applies=in_memory, place=40)
def hiding(material: Material) -> Content:
    """Return the panel with a picture of which records hide among which rows."""
    detail = material.held
    excerpt = excerpt_of(detail.recoding, detail.rows, material.model.crowd)
    words = {
        "classes": "Rows of one class are identical, so each could belong to each record of the class.",
        "graph": "Each row was made to cover several records, and no two rows need to cover the same ones. "
        "Which of its rows is a record's own was drawn at random.",
        "consistency": "A line leads to each row that covers the record.",
    }[excerpt.kind]
    return Content(
        paragraphs=(
            f"A random excerpt: {plural(excerpt.records, 'record')} and "
            f"{plural(excerpt.rows, 'row')}. "
            f"{words} Lines to records and rows outside the excerpt are not drawn.",
        ),
        charts=(_chart(excerpt),),
        data={
            "kind": excerpt.kind,
            "records": excerpt.records,
            "rows": excerpt.rows,
            "links": [list(pair) for pair in excerpt.links],
        },
    )


@dataclass(frozen=True, eq=False)
class _PossiblePairs:
    """Which records a row could belong to, and which rows a record; both ascending."""

    records: Callable[[int], NDArray[np.int64]]
    rows: Callable[[int], NDArray[np.int64]]


def _links(recoding: Recoding, k: int) -> tuple[str, _PossiblePairs]:
    graph = recoding.graph
    if graph is not None:
        members, size = graph.ravel(), graph.shape[1]
        # The order within a row of the graph may reveal the record that it was first made for.
        return "graph", _PossiblePairs(
            lambda row: np.sort(graph[row]).astype(np.int64),
            lambda record: np.unique(np.flatnonzero(members == record) // size),
        )
    types = recoding.types
    if recoding.assignment is None and np.bincount(types).min() >= k:
        return "classes", _PossiblePairs(
            lambda row: np.flatnonzero(types == types[row]),
            lambda record: np.flatnonzero(types == types[record]),
        )
    pairs = list(zip(recoding.values, recoding.table.attributes, strict=True))
    box, n = recoding.box, len(recoding.table)
    return "consistency", _PossiblePairs(
        lambda row: np.flatnonzero(
            np.logical_and.reduce([v.covers(np.full(n, box[row]), a.codes) for v, a in pairs])
        ),
        lambda record: np.flatnonzero(
            np.logical_and.reduce([v.covers(box, np.full(len(box), a.codes[record])) for v, a in pairs])
        ),
    )


def _around(links: _PossiblePairs, start: int, known: set[int], most: int) -> list[int]:
    """Return records that are near a row: its own, then those of their rows, and so on."""
    found: dict[int, None] = {}
    waiting, seen = [start], {start}
    while waiting and len(found) < most:
        new = [r for r in links.records(waiting.pop(0)).tolist() if r not in known and r not in found]
        found |= dict.fromkeys(new[: most - len(found)])
        for record in new:
            if len(waiting) < most:
                more = [row for row in links.rows(record).tolist() if row not in seen]
                waiting += more
                seen.update(more)
    return list(found)


def _orders(linked: NDArray[np.bool_]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return orders of records and rows in which links cross little, part by part.

    Each connected part lies along the second singular vectors of its links, each link divided by the root of
    how many its two ends have: neighbours in that order have much the same links.
    """
    records, rows = linked.shape
    part = np.arange(records)
    for _ in range(records):
        of_row = np.min(np.where(linked, part[:, None], records), axis=0)
        part = np.minimum(part, np.min(np.where(linked, of_row[None, :], records), axis=1))
    of_row = np.min(np.where(linked, part[:, None], records), axis=0)
    along_records, along_rows = np.zeros(records), np.zeros(rows)
    for number in np.unique(part):
        left, right = np.flatnonzero(part == number), np.flatnonzero(of_row == number)
        if min(len(left), len(right)) < 2:
            continue
        inside = linked[np.ix_(left, right)].astype(np.float64)
        inside /= np.sqrt(np.outer(np.maximum(inside.sum(axis=1), 1), np.maximum(inside.sum(axis=0), 1)))
        u, _, v = np.linalg.svd(inside)
        along_records[left], along_rows[right] = u[:, 1], v[1]
    return np.lexsort((along_records, part)), np.lexsort((along_rows, of_row))


def _chart(excerpt: Excerpt) -> Chart:
    def place(number: int, count: int) -> float:
        return (number + 0.5) / count

    lines = [
        {"x": 0, "y": place(record, excerpt.records), "x2": 1, "y2": place(row, excerpt.rows)}
        for record, row in excerpt.links
    ]
    ends = {
        "record": (0, excerpt.records, {"align": "right", "dx": -9}),
        "row": (1, excerpt.rows, {"align": "left", "dx": 9}),
    }
    x = axis("x", "quantitative", None, axis=None, scale={"domain": [0, 1]})
    y = axis("y", "quantitative", None, axis=None, scale={"domain": [1, 0]})
    layers = [
        {
            "data": values(lines),
            "mark": {
                "type": "rule",
                "style": "link",
                "opacity": max(0.25, min(0.8, 60 / max(len(lines), 1))),
            },
            "encoding": {"x": x, "y": y, "x2": {"field": "x2"}, "y2": {"field": "y2"}},
        }
    ]
    for name, (side, count, beside) in ends.items():
        data = values([{"x": side, "y": place(i, count), "label": f"{name} {i + 1}"} for i in range(count)])
        layers += [
            {
                "data": data,
                "mark": {"type": "circle", "style": name, "size": 45, "opacity": 1},
                "encoding": {"x": x, "y": y},
            },
            {
                "data": data,
                "mark": {"type": "text", "style": "label", **beside},
                "encoding": {"x": x, "y": y, "text": {"field": "label"}},
            },
        ]
    fewest = np.bincount([record for record, _ in excerpt.links], minlength=excerpt.records)
    return Chart(
        "hiding",
        "Which record could be which row, for a few of them",
        f"Two columns of dots, {excerpt.records} records and {excerpt.rows} rows without any value, and "
        f"{len(lines)} lines between those that could belong together. Within the excerpt, a record has "
        f"{fewest.min()} to {fewest.max()} lines.",
        {"layer": layers, "width": WIDTH - 130, "height": max(excerpt.records, excerpt.rows) * 15},
    )
