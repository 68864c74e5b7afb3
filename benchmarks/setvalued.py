"""Set-valued records (Xue et al. 2012, Figures 6 and 7): orders, graphs, labels, rivals, time."""

from __future__ import annotations

import gzip
from collections.abc import Iterator, Sequence
from typing import Any

import altair as alt
import numpy as np
from numpy.typing import NDArray

from benchmarks.harness import data_folder, line_chart, markdown_table, remembered, timed, write_page
from benchmarks.walks import PATIENCE, decomposed
from shoal.assignment import random_assignment
from shoal.kernels import Subsets, itemsets
from shoal.methods.contract import Circumstances
from shoal.methods.setdiversity import Diverse, broken, cahd, diverse, literal
from shoal.methods.setgraphs import freeform, gray_ring, published, ring
from shoal.randomness import Randomness

KS = (2, 5, 10, 20, 40)
LS = (2, 4, 6, 8, 10)
QUALITY = ("Chess", "Pumsb")
GRAPHS = {"Gray": "gray", "Ring": "ring", "Freeform": "balanced"}
"""What is compared for k, by the names of `anonymized`."""
QUERIES = 500
ITEMS_OF_A_QUERY = {"Chess": (3, 4)}
"""Items that must be there, or must not, as in the paper; (1, 5) elsewhere."""
LABELS = 470
ENLARGED = (1, 2, 4, 8, 16)


def transactions(name: str) -> NDArray[np.int64] | list[NDArray[np.int64]]:
    """Return the items of each transaction of a file; a matrix if all have equally many."""
    file = data_folder() / name
    written = gzip.decompress(file.read_bytes()) if file.suffix == ".gz" else file.read_bytes()
    rows = [np.unique(np.array(line.split(), dtype=np.int64)) for line in written.splitlines()]
    return np.stack(rows) if len({len(row) for row in rows}) == 1 else rows


def as_sets(rows: Sequence[NDArray[np.int64]] | NDArray[np.int64], width: int | None = None) -> Subsets:
    """Return transactions as sets; without a width, items that do not occur are left out."""
    starts = np.append(0, np.cumsum([len(row) for row in rows])).astype(np.int64)
    items = np.concatenate(list(rows))
    if width is None:
        known, items = np.unique(items, return_inverse=True)
        width = len(known)
    return Subsets(width, starts, items.astype(np.int32))


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


def data_set(name: str, times: int = 1) -> Subsets:
    """Return a data set of the comparisons; Chess also several times as large, perturbed."""
    if name == "Chess":
        chess = transactions("chess.dat")
        return as_sets(chess if times == 1 else list(perturbed(np.asarray(chess), times * len(chess), 0.0)))
    if name == "Pumsb":
        return as_sets(transactions("pumsb_first4334.dat.gz"))
    if name == "generated":  # the shape of all of Pumsb
        pumsb = np.asarray(transactions("pumsb_first4334.dat.gz"))
        return as_sets(list(perturbed(pumsb, 49_046, 0.02)), 7_117)
    return as_sets(transactions("retail.dat.gz"))


def skewed_labels(records: int) -> NDArray[np.int64]:
    """Return a label for each record; the most frequent of 470 has a share of 2.6%."""
    shares = 1 / (np.arange(LABELS) + 10)
    return np.random.default_rng(2).choice(LABELS, records, p=shares / shares.sum())


def work(data: str, method: str, parameter: int, times: int = 1) -> dict[str, Any]:
    """Anonymize a data set and measure what is lost; time is that of the method, without the measures."""
    sets = data_set(data, times)
    labels = skewed_labels(len(sets.starts) - 1)
    made, seconds = timed(anonymized, sets, labels, method, parameter)
    if made is None:
        return {"seconds": seconds, "failed": True}
    sizes = np.maximum(np.diff(sets.starts), 1)
    if isinstance(made, Diverse):
        found = published(sets, made.graph)
        rates = found.errors / sizes[made.graph]
        own = rates[made.graph == made.assignment[:, None]]
        weight, share = np.ones(len(rates)), broken(made, labels).mean()
        base, uncertain = found.base, found.uncertain
    else:  # groups, each a row for each of its records
        members = np.argsort(made, kind="stable").astype(np.int32)
        weight = np.bincount(made).astype(np.float64)
        voted = itemsets.vote(sets, np.append(0, np.cumsum(weight)).astype(np.int64), members)
        rates = own = voted.distances / sizes[members]
        base, uncertain, share = voted.base, voted.uncertain, 0.0
    return {
        "seconds": seconds,
        "er": own.mean(),
        "all": rates.mean(),
        "uncertain": float(np.diff(uncertain.starts) @ weight / weight.sum()),
        "broken": float(share),
        **query_errors(sets, base, weight, *ITEMS_OF_A_QUERY.get(data, (1, 5))),
    }


def anonymized(
    sets: Subsets, labels: NDArray[np.int64], method: str, parameter: int
) -> Diverse | NDArray[np.int32] | None:
    """Return rows and who gets them, or groups; nothing if the literal procedure found no way on."""
    circumstances = Circumstances(Randomness(1))
    match method:
        case "cahd":
            return cahd(sets, labels, parameter)
        case "literal":
            return literal(sets, labels, parameter, circumstances.randomness)
        case "diverse":
            return diverse(sets, labels, parameter, circumstances)
        case "gray":
            graph = gray_ring(sets, parameter)
        case "ring":
            graph = ring(sets, parameter)
        case _:
            graph = freeform(sets, parameter, circumstances, effort=method)
    return Diverse(graph, random_assignment(graph, circumstances.randomness))


def query_errors(
    sets: Subsets, base: Subsets, weight: NDArray[np.float64], present: int, absent: int
) -> dict[str, float]:
    """Return the mean error of counts, of records with some items and of records without some others."""
    rng = np.random.default_rng(3)
    errors = np.zeros(2)
    sides = [(*_rows_of(sets), np.ones(len(sets.starts) - 1)), (*_rows_of(base), weight)]
    for _ in range(QUERIES):
        for number, many in enumerate((present, absent)):
            items = rng.choice(sets.size, min(many, sets.size), replace=False)
            counts = []
            for starts, rows, weights in sides:
                found = np.concatenate([rows[starts[item] : starts[item + 1]] for item in items])
                having = np.bincount(found, minlength=len(weights))
                counts.append(weights[having == (len(items) if number == 0 else 0)].sum())
            errors[number] += abs(counts[0] - counts[1]) / (len(sets.starts) - 1)
    return {"qe_present": errors[0] / QUERIES, "qe_absent": errors[1] / QUERIES}


def _rows_of(sets: Subsets) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return where the records that have each item start, and these."""
    starts = np.append(0, np.cumsum(np.bincount(sets.members, minlength=sets.size)))
    rows = np.repeat(np.arange(len(sets.starts) - 1), np.diff(sets.starts))
    return starts, rows[np.argsort(sets.members, kind="stable")]


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
    sections = [*_losses(charts), *_published_labels(), *_times(), *_walks()]
    write_page("setvalued", "\n\n".join(sections), charts)


def _losses(charts: dict[str, Any]) -> list[str]:
    text = [
        "# Set-valued records",
        "Records are sets of items. Each row publishes the items that most of its k records have (*base*), "
        "those in which they differ (*uncertain*), and in how many at most. The error rate ER is how many "
        "items are published wrongly for each that a record has, in the row that was drawn for it. "
        "Query errors QE are those of counts over base sets, as a share of all records, on average over "
        f"{QUERIES} random queries: of records that have some items (I), or have none of some (II). Chess: "
        "3,196 records with 37 of 75 items. Pumsb: the first 4,334 records, 74 of 1,539 items.",
        "## k-anonymity",
        "*Gray*: a ring over the Gray order. *Ring*: over the order improved within segments. *Freeform*: "
        "the ring, refined (effort `balanced`).",
    ]
    for name in QUALITY:
        table, charts[f"{name.lower()}-k"] = utility(name, GRAPHS, KS, "k")
        text += [f"### {name}", table, f"![{name}, k](setvalued-{name.lower()}-k.svg)"]
    text += [
        "## Different labels",
        f"Labels are drawn from a skewed distribution over {LABELS} values, the most frequent with a share "
        "of 2.6%. *CAHD*: groups with a vote in each. *Literal*: greedy assignment extraction as the paper "
        "has it. *Shoal*: labels differ as they are published.",
    ]
    for name in QUALITY:
        table, charts[f"{name.lower()}-l"] = utility(
            name, {"CAHD": "cahd", "Literal": "literal", "Shoal": "diverse"}, LS, "l"
        )
        text += [f"### {name}", table, f"![{name}, l](setvalued-{name.lower()}-l.svg)"]
    return text


def _published_labels() -> list[str]:
    return [
        "### How often the literal procedure breaks the promise",
        "Share of records around which two rows are published with the same label. *Own*: ER against that of "
        "all records of a row; the nearer to 1, the less it tells which of them is drawn.",
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
        "Seconds, each in a process of its own; memory is the peak of that process with the data in it. "
        "Generated: 49,046 records of the shape of Pumsb, 74 of 7,117 items. Retail: 88,162 baskets, 16,470 "
        "items.",
        markdown_table(
            ("data", "method", "k or l", "seconds", "peak MiB", "ER"),
            [
                (
                    name if times == 1 else f"{name} x {times}",
                    title,
                    parameter,
                    f"{figures['seconds']:.1f}",
                    f"{figures['peak_mib']:.0f}",
                    f"{figures['er']:.4f}",
                )
                for name, times, parameter in (("generated", 1, 10), ("Chess", 16, 16), ("Retail", 1, 10))
                for title, method in {**GRAPHS, "Freeform, fast": "fast", "Shoal, l": "diverse"}.items()
                for figures in (cell(name, method, parameter, times),)
            ],
        ),
        "### Different labels as Chess grows",
        "Duplicated and perturbed, l = 6; seconds.",
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
        "### Closed walks against backtracking",
        "All assignments of the ring; Pumsb against k, then Chess enlarged with k = 16. Backtracking is "
        f"given up after {PATIENCE:.0f} seconds; the last column is the share of records that had got a row "
        "by then.",
        _walks_table([("Pumsb", k, 1) for k in KS] + [("Chess", 16, times) for times in ENLARGED]),
    ]


def _share(figures: dict[str, Any]) -> str:
    return "no way on" if "failed" in figures else f"{figures['broken']:.1%}"


def _walks_table(cells: Sequence[tuple[str, int, int]]) -> str:
    rows = []
    for data, k, times in cells:
        graph = ring(data_set(data, times), k)
        closed, back = decomposed(graph, backtracking=False), decomposed(graph, backtracking=True)
        rows.append(
            (
                data if times == 1 else f"{data} x {times}",
                k,
                f"{closed['seconds']:.3f}",
                f"{back['seconds']:.3f}",
                f"{back['seconds'] / closed['seconds']:.1f}",
                f"{back['steps'] / closed['steps']:.1f}",
                f"{back['share']:.1%}",
            )
        )
    return markdown_table(
        ("data", "k", "closed s", "backtracking s", "ratio", "steps, ratio", "assigned"), rows
    )
