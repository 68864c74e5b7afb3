"""Set-valued records (Xue et al. 2012, Figures 6 and 7): orders, graphs, labels, rivals, time."""

from __future__ import annotations

import gzip
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import altair as alt
import numpy as np
import polars as pl
from numpy.typing import NDArray

from benchmarks.harness import data_folder, line_chart, markdown_table, remembered, timed, write_page
from benchmarks.walks import PATIENCE, WALK_COLUMNS, WALKS, decomposed, walk_cells
from shoal import Schema, SetAnonymity, SetDiversity, anonymize
from shoal.base.ragged import Subsets
from shoal.base.randomness import Randomness
from shoal.measures.items import QUERIES, items_loss
from shoal.methods.baselines.sets import broken, gray_ring, literal
from shoal.methods.items import as_items
from shoal.methods.setdiversity import Diverse
from shoal.methods.setgraphs import error_rate, pure_ring, ring
from shoal.recoding import Recoding
from shoal.table import Table

KS = (2, 5, 10, 20, 40)
LS = (2, 4, 6, 8, 10)
QUALITY = ("Chess", "Pumsb")
GRAPHS = {"Gray": "gray", "Ring": "ring", "Freeform": "balanced"}
"""What is compared for k, by the names of `anonymized`."""
LABELS = 470
ENLARGED = (1, 2, 4, 8, 16)


def transactions(name: str) -> NDArray[np.int64] | list[NDArray[np.int64]]:
    """Return the items of each transaction of a file; a matrix if all have equally many."""
    file = data_folder() / name
    written = gzip.decompress(file.read_bytes()) if file.suffix == ".gz" else file.read_bytes()
    rows = [np.unique(np.array(line.split(), dtype=np.int64)) for line in written.splitlines()]
    return np.stack(rows) if len({len(row) for row in rows}) == 1 else rows


def perturbed(matrix: NDArray[np.int64], rows: int, strange: float) -> Iterator[NDArray[np.int64]]:
    """Yield a bootstrap of transactions with one item for each attribute.

    One cell in ten is that of another transaction, and a share of them any item in the attribute's range.
    """
    rng = np.random.default_rng(1)
    attributes = np.arange(matrix.shape[1])
    drawn = matrix[rng.permutation(rows) % len(matrix)]
    other = matrix[rng.integers(0, len(matrix), drawn.shape), attributes]
    any_item = rng.integers(matrix.min(axis=0), matrix.max(axis=0) + 1, drawn.shape)
    drawn = np.where(rng.random(drawn.shape) < 0.1, other, drawn)
    drawn = np.where(rng.random(drawn.shape) < strange, any_item, drawn)
    yield from map(np.unique, drawn)


def data_set(name: str, times: int = 1) -> pl.DataFrame:
    """Return transactions with a label each; Chess also several times as large, perturbed."""
    rows: Iterable[NDArray[np.int64]]
    if name == "Chess":
        chess = np.asarray(transactions("chess.dat"))
        rows = chess if times == 1 else perturbed(chess, times * len(chess), 0.0)
    elif name == "Pumsb":
        rows = transactions("pumsb_first4334.dat.gz")
    elif name == "generated":  # the shape of all of Pumsb
        rows = perturbed(np.asarray(transactions("pumsb_first4334.dat.gz")), 49_046, 0.02)
    else:
        rows = transactions("retail.dat.gz")
    items = pl.Series([row.tolist() for row in rows], dtype=pl.List(pl.Int64))
    return pl.DataFrame({"items": items, "label": skewed_labels(len(items))})


def skewed_labels(records: int) -> NDArray[np.int64]:
    """Return a label for each record; the most frequent of 470 has a share of 2.6%."""
    shares = 1 / (np.arange(LABELS) + 10)
    return np.random.default_rng(2).choice(LABELS, records, p=shares / shares.sum())


def work(data: str, method: str, parameter: int, times: int = 1) -> dict[str, Any]:
    """Anonymize a data set and measure what is lost; seconds of the method, and of the whole run."""
    frame = data_set(data, times)
    if method == "literal":
        return _literal(frame, parameter)
    began: dict[str, float] = {}

    def note(stage: str, _share: float) -> None:
        began.setdefault(stage, time.perf_counter())

    model, options, sensitive = _run(method, parameter)
    frame = frame.select("items", *sensitive)
    schema = Schema.infer(frame, quasi=["items"], sensitive=sensitive)
    release, whole = timed(anonymize, frame, schema, model, seed=1, progress=note, **options)
    seconds = began["auditing"] - began["putting records in order"]
    return {"seconds": seconds, "whole": whole, **lost(release.recoding)}


def _run(method: str, parameter: int) -> tuple[SetAnonymity | SetDiversity, dict[str, str], list[str]]:
    """Return the promise, the options and the sensitive columns that a method is run with."""
    match method:
        case "gray" | "ring":
            return SetAnonymity(k=parameter), {"method": method}, []
        case "cahd":
            return SetDiversity(l=parameter), {"method": method}, ["label"]
        case "diverse":
            return SetDiversity(l=parameter), {"method": "exchanges"}, ["label"]
    return SetAnonymity(k=parameter), {"effort": method}, []


def _literal(frame: pl.DataFrame, different: int) -> dict[str, Any]:
    """Return what is lost by the procedure of the paper, which is no method since it breaks the promise."""
    table = Table.encode(frame, Schema.infer(frame, quasi=["items"], sensitive=["label"]))
    made, seconds = timed(literal, as_items(table), table.sensitive[0].codes, different, Randomness(1))
    if made is None:
        return {"seconds": seconds, "failed": True}
    recoding = Recoding.of_graph(table, made.graph, assignment=made.assignment)
    return {"seconds": seconds, **lost(recoding)}


def lost(recoding: Recoding) -> dict[str, float | None]:
    """Return what is lost, and around how many records two rows carry the same label."""
    loss = items_loss(recoding)["items"]
    share, everybody = 0.0, loss.error_rate
    if recoding.graph is not None and recoding.assignment is not None:
        made = Diverse(recoding.graph, recoding.assignment)
        share = float(broken(made, recoding.table.sensitive[0].codes).mean())
        everybody = items_loss(replace(recoding, assignment=None))["items"].error_rate
    return {
        "er": loss.error_rate,
        "all": everybody,
        "uncertain": loss.uncertain,
        "broken": share,
        "qe_present": loss.query_error_present,
        "qe_absent": loss.query_error_absent,
    }


def cell(data: str, method: str, parameter: int, times: int = 1) -> dict[str, Any]:
    """Return what `work` measures, in a process of its own, or did before at the same commit."""
    return remembered("setvalued", data=data, method=method, parameter=parameter, times=times)


def utility(name: str, methods: dict[str, str], parameters: Sequence[int], along: str) -> tuple[str, Any]:
    """Return a table of losses against k or l, the last method against each other, and a chart."""
    rows, points = [], []
    for parameter in parameters:
        measured = {title: cell(name, method, parameter) for title, method in methods.items()}
        cells: list[str] = []
        for figures in measured.values():
            cells += (
                ["", "", ""]
                if "failed" in figures
                else [f"{figures['er']:.4f}", f"{figures['qe_present']:.5f}", f"{figures['qe_absent']:.5f}"]
            )
        rows.append((parameter, *cells))
        points += [
            {along: parameter, "ER": figures["er"], "method": title}
            for title, figures in measured.items()
            if "er" in figures
        ]
    head = [along, *(f"{title} {what}" for title in methods for what in ("ER", "QE I", "QE II"))]
    chart = line_chart(points, f"{name}: error rate", along, "ER", alt.Scale(zero=True))
    return markdown_table(head, rows), chart


def main() -> None:
    """Measure and write the results page."""
    charts: dict[str, Any] = {}
    sections = [*_losses(charts), *_published_labels(), *_times(), *_walks(), *_as_printed()]
    write_page("setvalued", "\n\n".join(sections), charts)


def _losses(charts: dict[str, Any]) -> list[str]:
    text = [
        "# Set-valued records",
        "Records are sets of items. Each row publishes the items that most of its k records have "
        "(*base*), the items in which they differ (*uncertain*), and the maximum number of differences. "
        "The error rate ER is the number of wrongly published items divided by the number of items of the "
        "record, on average over the rows that the record can get. Query errors QE are the errors of "
        f"counts over base sets, as a share of all records, on average over {QUERIES} random queries: "
        "counts of records that have certain items (I), or have none of certain items (II). Chess: 3,196 "
        "records with 37 of 75 items. Pumsb: the first 4,334 records, 74 of 1,539 items.",
        "## k-anonymity",
        "*Gray*: a ring over the Gray order. *Ring*: a ring over the order improved within segments. "
        "*Freeform*: the ring, refined (effort `balanced`). Freeform rows have smaller errors than Gray's "
        "and the ring's everywhere. Counts over base sets are also more accurate than Gray's, with one "
        "exception: Pumsb at k = 2, queries of type I, by 0.2 of 4,334 records.",
    ]
    for name in QUALITY:
        table, charts[f"{name.lower()}-k"] = utility(name, GRAPHS, KS, "k")
        text += [f"### {name}", table, f"![{name}, k](setvalued-{name.lower()}-k.svg)"]
    text += [
        "## Different labels",
        f"Labels are drawn from a skewed distribution over {LABELS} values; the most frequent has a share "
        "of 2.6%. Baselines: *CAHD*, groups with a vote in each, and *Literal*, greedy assignment "
        "extraction as in the paper. *Shoal*: the method `exchanges`, by which labels "
        "differ as published. The default method `freeform` also holds off an attacker who has the code, and "
        "loses about as much as CAHD ([decision 070](../decisions/070-alternative-labellings.md)).",
    ]
    for name in QUALITY:
        table, charts[f"{name.lower()}-l"] = utility(
            name, {"CAHD": "cahd", "Literal": "literal", "Shoal": "diverse"}, LS, "l"
        )
        text += [f"### {name}", table, f"![{name}, l](setvalued-{name.lower()}-l.svg)"]
    return text


def _published_labels() -> list[str]:
    return [
        "### How often the literal procedure breaks the guarantee",
        "Share of records around which two rows are published with the same label. *Own*: ER relative to "
        "that of all records of a row; the closer to 1, the less it reveals which of them was drawn.",
        markdown_table(
            ("data", "l", "literal", "Shoal", "own, Shoal"),
            [
                (
                    name,
                    each,
                    _share(cell(name, "literal", each)),
                    _share(cell(name, "diverse", each)),
                    f"{cell(name, 'diverse', each)['er'] / cell(name, 'diverse', each)['all']:.2f}",
                )
                for name in QUALITY
                for each in LS
            ],
        ),
    ]


def _times() -> list[str]:
    return [
        "## Time",
        "Seconds, each measured in a separate process: of the method, and of the whole run with reading, "
        "audit and measures; memory is the peak of that process, including the data. Generated: 49,046 "
        "records of the shape of Pumsb, 74 of 7,117 items. Retail: 88,162 baskets, 16,470 items.",
        markdown_table(
            ("data", "method", "k or l", "method s", "whole s", "peak MiB", "ER"),
            [
                (
                    name if times == 1 else f"{name} x {times}",
                    title,
                    parameter,
                    f"{figures['seconds']:.1f}",
                    f"{figures['whole']:.1f}",
                    f"{figures['peak_mib']:.0f}",
                    f"{figures['er']:.4f}",
                )
                for name, times, parameter in (("generated", 1, 10), ("Chess", 16, 16), ("Retail", 1, 10))
                for title, method in {**GRAPHS, "Freeform, fast": "fast", "Shoal, l": "diverse"}.items()
                for figures in (cell(name, method, parameter, times),)
            ],
        ),
        "### Different labels in enlarged Chess tables",
        "Chess is duplicated and perturbed; l = 6; seconds.",
        markdown_table(
            ("times", "CAHD", "literal", "Shoal"),
            [
                (
                    times,
                    *(
                        f"{cell('Chess', method, 6, times)['seconds']:.2f}"
                        for method in ("cahd", "literal", "diverse")
                    ),
                )
                for times in ENLARGED
            ],
        ),
    ]


def _walks() -> list[str]:
    return [
        "### Closed walks compared with backtracking",
        "Figure 7 of the paper: all assignments of the ring; Pumsb by k, then enlarged Chess tables with "
        "k = 16. *Closed*: Shoal's closed walk, which ends at any free row. *Printed*: the closed walk "
        "exactly as in the paper (`--walk paper`). All are compiled; times are processor seconds, medians "
        "of five draws. Steps are the edges examined and the steps back, for each record and "
        "assignment. Backtracking stops after "
        f"{PATIENCE:.0f} seconds; the last column is the share of records that had a row by then.",
        _walks_table([("Pumsb", k, 1) for k in KS] + [("Chess", 16, times) for times in ENLARGED]),
    ]


def _as_printed() -> list[str]:
    return [
        "## The order by itself",
        "Error rates of rings along the Gray order, along the Gray-TSP order by itself (`--order gray-tsp`; "
        "a local search stands for the genetic algorithm of the paper), and along the better of the two in "
        "each segment, which is what `ring` does.",
        _orders_table([(name, k) for name in QUALITY for k in KS] + [("Retail", 10)]),
    ]


def _items(data: str, times: int = 1) -> Subsets:
    frame = data_set(data, times)
    return as_items(Table.encode(frame, Schema.infer(frame, quasi=["items"])))


def _orders_table(cells: Sequence[tuple[str, int]]) -> str:
    rows = []
    for data, k in cells:
        sets = _items(data)
        errors = [error_rate(sets, graph(sets, k)) for graph in (gray_ring, pure_ring, ring)]
        rows.append((data, k, *(f"{error:.4f}" for error in errors)))
    return markdown_table(("data", "k", "Gray", "Gray-TSP", "Ring"), rows)


def _named(data: str, times: int) -> str:
    return data if times == 1 else f"{data} x {times}"


def _share(figures: dict[str, Any]) -> str:
    return "no assignment found" if "failed" in figures else f"{figures['broken']:.1%}"


def _walks_table(cells: Sequence[tuple[str, int, int]]) -> str:
    rows = []
    for data, k, times in cells:
        graph = ring(_items(data, times), k)
        walked = walk_cells(*(decomposed(graph, how) for how in WALKS))
        rows.append((_named(data, times), k, *walked))
    return markdown_table(("data", "k", *WALK_COLUMNS), rows)
