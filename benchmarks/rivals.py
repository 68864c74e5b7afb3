"""Shoal's models and other tools on one task: guarantee, loss, queries, time, audit.

Tools that pip can install run here, each in an environment of its own below `build/rivals`, and Shoal's audit
judges what they release. For tools that need R or Java, or are not a package, the page has figures from
separate runs. `python -m benchmarks rivals --k 10 --how anonypy` measures some cells only, and with `--page`
writes a page of these; a run without options writes the page from what was measured at this commit, and
measures the rest.
"""

from __future__ import annotations

import argparse
import functools
import json
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import altair as alt
import numpy as np
import polars as pl

from benchmarks.harness import (
    ADULT_QUASI,
    ROOT,
    adult,
    adult_schema,
    data_folder,
    markdown_table,
    remembered,
    timed,
    write_page,
)
from shoal import KK, Concealment, Freeform, KAnonymity, Patterned, anonymize, audit
from shoal.auditing.reading import read_release
from shoal.base.randomness import Randomness
from shoal.kinds.generalized import Cells
from shoal.measures.queries import draw_queries, query_error
from shoal.models import Model
from shoal.recoding import Recoding
from shoal.schema import as_frame
from shoal.table import Table

KS = (5, 10, 50)
SECONDS = 600
"""A tool is stopped after this time."""
INSTALLATION_SECONDS = 3600
QUERIES = 1000
ENVIRONMENTS = ROOT / "build" / "rivals"
TOOLS = Path(__file__).with_name("rival_tools.py")


@dataclass(frozen=True)
class Rival:
    """A tool, what pip installs for it, how it is called, and whether it generalizes by hierarchies."""

    tool: str
    packages: tuple[str, ...]
    options: dict[str, Any] = field(default_factory=dict)
    by_hierarchies: bool = True


RIVALS = {
    "anonypy 0.2.1": Rival("anonypy", ("anonypy==0.2.1", "pandas<3"), by_hierarchies=False),
    "anjana 1.2.3": Rival("anjana", ("anjana==1.2.3",), {"suppressed_percent": 0}),
    "anjana 1.2.3, 20% suppression": Rival("anjana", ("anjana==1.2.3",), {"suppressed_percent": 20}),
    "crowds 0.0.1": Rival("crowds", ("crowds==0.0.1", "pandas<3"), {"suppressed_percent": 0}),
}
CHECKER = Rival("pycanon", ("pycanon==1.3.5",))

OURS: dict[str, tuple[Callable[..., Model], dict[str, Any], str]] = {
    "freeform, best": (Freeform, {"effort": "best"}, "freeform"),
    "freeform, balanced": (Freeform, {}, "freeform"),
    "freeform, fast": (Freeform, {"effort": "fast"}, "freeform"),
    "freeform, ring": (Freeform, {"method": "ring"}, "freeform"),
    "concealment": (functools.partial(Concealment, chance=1), {}, "concealment"),
    "(k,k)": (functools.partial(KK, chance=1), {}, "(k,k)"),
    "chain": (KAnonymity, {"method": "chain"}, "classes"),
    "agglomerative": (KAnonymity, {"method": "agglomerative"}, "classes"),
    "mondrian": (KAnonymity, {}, "classes"),
    "patterned": (Patterned, {"effort": "fast"}, "classes, exact or suppressed"),
}
"""Shoal's releases: the model, the options, and the guarantee."""
REFERENCE = "mondrian"

APART: dict[str, dict[int, tuple[float, float, int]]] = {
    "ARX 3.9.2, global": {5: (0.661, 0.5, 306), 10: (0.661, 0.2, 316), 50: (0.715, 0.2, 366)},
    "ARX 3.9.2, global, 5% suppression": {
        5: (0.274, 2.0, 346),
        10: (0.344, 1.0, 309),
        50: (0.487, 0.9, 326),
    },
    "ARX 3.9.2, global, any suppression": {
        5: (0.233, 3.0, 413),
        10: (0.278, 2.1, 412),
        50: (0.372, 3.5, 478),
    },
    "ARX 3.9.2, local, best of seven": {
        5: (0.0553, 11.0, 791),
        10: (0.0795, 15.0, 657),
        50: (0.1513, 25.0, 654),
    },
    "Mondrian of qiyuangong, strict": {5: (0.0762, 0.9, 52), 10: (0.1077, 0.7, 52), 50: (0.2169, 0.2, 54)},
    "sdcMicro 5.8.1, kAnon": {5: (0.111, 816.0, 310)},
}
"""GCP, seconds and MiB of the tools that do not run here."""


def work(how: str, k: int) -> dict[str, Any]:
    """Return the figures of one release of Adult, by Shoal or by a rival."""
    frame = adult().select(*ADULT_QUASI, "income")
    table = Table.encode(frame, adult_schema(frame))
    queries = draw_queries(table, QUERIES, Randomness(1), quasi=2, sensitive=1)
    if how in OURS:
        model, options, _ = OURS[how]
        release, seconds = timed(anonymize, frame, table.schema, model(k=k), **options)
        errors = query_error(release.recoding, queries, rows=release.rows, records=release.order)
        figures = {
            "gcp": release.loss.gcp,
            "bound": release.loss.bound,
            "seconds": seconds,
            **_audited(release.audit),
            "checker": run_rival(CHECKER, release.table).get("k"),
        }
    else:
        figures = run_rival(RIVALS[how], frame, k=k)
        if "released" not in figures:
            return figures
        released = readable(figures.pop("released"), frame, RIVALS[how].by_hierarchies)
        found = audit(frame, released, table.schema, KAnonymity(k=k), may_leave_out=True)
        recoding, records = _recoding(table, released)
        errors = query_error(recoding, queries, rows=np.arange(len(released)), records=records)
        figures |= {"gcp": _gcp(recoding), **_audited(found), "besides": _besides(recoding, released, frame)}
    return {**figures, "query_mean": errors.mean, "query_median": errors.median}


cell = functools.partial(remembered, "rivals")


def main(options: Sequence[str] = ()) -> None:
    """Measure and write the results page, or measure some cells only."""
    parser = argparse.ArgumentParser(prog="benchmarks rivals")
    parser.add_argument("--k", type=int, action="append", help="only for this k; may be given again")
    parser.add_argument("--how", action="append", help="only what begins like this; may be given again")
    parser.add_argument("--page", action="store_true", help="write a page of these")
    chosen = parser.parse_args(options)
    ways = [how for how in (*OURS, *RIVALS) if not chosen.how or how.startswith(tuple(chosen.how))]
    measured: dict[int, dict[str, dict[str, Any]]] = {}
    for k in chosen.k or KS:
        measured[k] = {}
        for how in ways:
            measured[k][how] = cell(how=how, k=k)
            print(json.dumps({"how": how, "k": k, **measured[k][how]}), flush=True)
    if not options or chosen.page:
        _write(measured)


def _write(measured: dict[int, dict[str, dict[str, Any]]]) -> None:
    """Write the page of what was measured for each k."""
    sections = [_introduction(), *(_section(k, of_k) for k, of_k in measured.items()), _remarks(measured)]
    charts = {f"k{k}": _chart(k, of_k) for k, of_k in measured.items()}
    write_page("rivals", "\n\n".join(sections), charts)


def run_rival(rival: Rival, frame: pl.DataFrame, **task: Any) -> dict[str, Any]:
    """Return the figures of a tool and what it released, as text, or why there is nothing."""
    with tempfile.TemporaryDirectory() as folder:
        original, released = Path(folder) / "original.csv", Path(folder) / "released.csv"
        frame.write_csv(original)
        task = {"quasi": ADULT_QUASI, "sensitive": "income"} | task
        task |= {
            **rival.options,
            "tool": rival.tool,
            "original": str(original),
            "released": str(released),
            "hierarchies": str(data_folder() / "adult_hierarchies"),
        }
        command = [str(_environment(rival)), str(TOOLS), json.dumps(task)]
        try:
            done = subprocess.run(command, check=True, capture_output=True, text=True, timeout=SECONDS)
        except subprocess.TimeoutExpired:
            return {"failed": f"not done after {SECONDS} s"}
        except subprocess.CalledProcessError as error:
            return {"failed": error.stderr.strip().splitlines()[-1]}
        figures: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
        if released.exists():
            figures["released"] = pl.read_csv(released, infer_schema=False)
        return figures


def _environment(rival: Rival) -> Path:
    """Return the interpreter of a tool's own environment; the first call installs it."""
    folder = ENVIRONMENTS / rival.tool
    python, done = folder / "bin" / "python", folder / "installed"
    if not done.exists():
        subprocess.run([sys.executable, "-m", "venv", "--clear", str(folder)], check=True)
        install = [str(python), "-m", "pip", "install", "--quiet", *rival.packages]
        subprocess.run(install, check=True, timeout=INSTALLATION_SECONDS, stdout=sys.stderr)
        done.touch()
    return python


def readable(released: pl.DataFrame, original: pl.DataFrame, by_hierarchies: bool) -> pl.DataFrame:
    """Return a rival's release in Shoal's notation, labels as the values below them that occur.

    What a label says need not be what is below it: in the hierarchy of ages, 40 lies below 20-39.
    """
    for name in ADULT_QUASI:
        texts = {}
        if by_hierarchies:
            known = original[name].unique()
            levels = pl.read_csv(data_folder() / "adult_hierarchies" / f"{name}.csv", infer_schema=False)
            levels = levels.filter(pl.col("value").is_in(known.cast(pl.String).implode()))
            for level in levels.columns[1:-1]:
                for (label,), below in levels.group_by(level):
                    values = below["value"].cast(known.dtype)
                    low, high = values.min(), values.max()
                    numbers = f"{low!s}..{high!s}" if name == "age" else None
                    texts[label] = numbers or "|".join(values.sort())
        elif name != "age":
            texts = {text: text.replace(",", "|") for text in released[name].unique()}
        released = released.with_columns(pl.col(name).replace(texts))
    return released


def _recoding(table: Table, released: pl.DataFrame) -> tuple[Recoding, np.ndarray]:
    """Return a rival's release as one of the table, and for each row some record with its income."""
    columns = read_release(as_frame(released), table)
    rows = np.arange(len(released), dtype=np.int32)
    recoding = Recoding(table, tuple(Cells(c.values, c.cell) for c in columns), rows)
    (income,) = table.sensitive
    first = {income.values[code]: int(np.flatnonzero(income.codes == code)[0]) for code in range(len(income))}
    return recoding, np.array([first[value] for value in released["income"]])


def _gcp(recoding: Recoding) -> float:
    """Return the GCP of a rival's release; cells of rows that it leaves out count as 1."""
    penalties = [
        values.distinct.ncp()[values.shown] for values in recoding.values if isinstance(values, Cells)
    ]
    return float(np.mean(penalties, axis=0).sum() + recoding.withheld) / len(recoding.table)


def _audited(found: Any) -> dict[str, Any]:
    return {
        "findings": list(found.findings),
        "smallest_class": found.k,
        "concealment": found.concealment,
        "left_out": found.records - found.rows,
    }


def _besides(recoding: Recoding, released: pl.DataFrame, original: pl.DataFrame) -> list[str]:
    """Return what else a release gives away or loses."""
    added = [name for name in released.columns if name not in original.columns]
    said = [f"column `{name}`: the number of each original row" for name in added if name == "index"]
    if not recoding.withheld and recoding.covers().all():
        said.append("rows in the original order")
    return said


def _introduction() -> str:
    return "\n\n".join(
        (
            "# Shoal's models and other tools",
            "All releases solve the same task: Adult, 30,162 complete training records, eight "
            "quasi-identifiers (age numeric, the others categories); income is released unchanged. GCP is "
            "the information loss; a label of a hierarchy counts as the values below it that occur, and "
            "cells of suppressed rows count as 1. Query errors are the mean and the median error of "
            f"{QUERIES:,} random counts over two quasi-identifiers and income, each about a tenth of "
            "the possible values. *Smallest class* is the size of the smallest class of identical rows; "
            "*rows left* is the minimum number of rows that remain for a record against the strongest "
            "attacker. The audit determines both from the two tables alone, whichever tool made them.",
            "Shoal's seconds are end to end after start-up, with the audit; those of other tools are "
            "their anonymization alone, in memory. Peak memory is that of the whole process. Shoal and "
            "the tools that pip can install were measured in the same run, each of these tools in its own "
            f"environment and for at most {SECONDS} s. Releases marked *separate run* were measured on "
            "the same task and a similar machine, but not in this run, and their output was not audited.",
            markdown_table(
                ("guarantee", "meaning"),
                (
                    (
                        "freeform",
                        "k rows cover each record, one of them is its own by a random draw, and each row "
                        "covers k records",
                    ),
                    ("concealment", "k rows remain for each record even when every record must have a row"),
                    (
                        "(k,k)",
                        "k rows cover each record, and each row covers k records; no random draw, and an "
                        "attacker can exclude rows",
                    ),
                    ("classes", "each row is identical to k - 1 others: k-anonymity"),
                ),
            ),
            "Models with other guarantees have separate pages: [similar sensitive values](proximity.md), "
            "[sets of items](setvalued.md), [diverse sensitive values](diversity.md).",
        )
    )


def _section(k: int, measured: dict[str, dict[str, Any]]) -> str:
    """Return the table of one k, the least loss first."""
    reference = measured[REFERENCE]["gcp"]
    rows = [
        (figures["gcp"], _row(how, figures, reference))
        for how, figures in measured.items()
        if "failed" not in figures
    ]
    for how, of_k in APART.items():
        if k in of_k:
            gcp, seconds, memory = of_k[k]
            names = (f"{how} *(separate run)*", "classes", f"{gcp:.4f}", f"{gcp / reference:.2f}")
            rows.append((gcp, (*names, "", _seconds(seconds), str(memory), "", "", "", "")))
    failed = [f"{how}: {figures['failed']}." for how, figures in measured.items() if "failed" in figures]
    head = (
        "release",
        "guarantee",
        "GCP",
        "ratio",
        "query errors",
        "seconds",
        "peak MiB",
        "smallest class",
        "rows left",
    )
    return "\n\n".join(
        (
            f"## k = {k}",
            f"*Ratio* is GCP divided by that of `{REFERENCE}`. Every release with classes or freeform rows "
            f"loses at least about {measured[REFERENCE]['bound']:.4f}.",
            markdown_table((*head, "left out", "findings"), [row for _, row in sorted(rows)]),
            *failed,
            f"![Loss against seconds, k = {k}](rivals-k{k}.svg)",
        )
    )


def _row(how: str, figures: dict[str, Any], reference: float) -> tuple[str, ...]:
    name, promise = (f"**{how}**", OURS[how][2]) if how in OURS else (how, "classes")
    return (
        name,
        promise,
        f"{figures['gcp']:.4f}",
        f"{figures['gcp'] / reference:.2f}",
        f"{figures['query_mean']:.1%} / {figures['query_median']:.1%}",
        _seconds(figures["seconds"]),
        f"{figures.get('memory_mib', figures['peak_mib']):.0f}",
        str(figures["smallest_class"]),
        str(figures["concealment"]),
        f"{figures['left_out']:,}" if figures["left_out"] else "",
        "; ".join(figures["findings"] + figures.get("besides", [])),
    )


def _seconds(seconds: float) -> str:
    return f"{seconds:.1f}" if seconds < 10 else f"{seconds:.0f}"


def _remarks(measured: dict[int, dict[str, dict[str, Any]]]) -> str:
    k = next(iter(measured))
    checked = {how: figures["checker"] for how, figures in measured[k].items() if figures.get("checker")}
    said = ", ".join(f"{found} for `{how}`" for how, found in checked.items())
    return "\n\n".join(
        (
            "## Remarks",
            "- **A check of classes does not show the crowds of freeform.** The k that pyCANON reports "
            f"for the releases with k = {k}: {said}. It counts identical rows, and only classes have "
            "them.\n"
            "- **anonypy** returns the quasi-identifiers, one sensitive column and how often each row "
            "occurs; all other columns are lost.\n"
            "- **anjana** leaves rows in their original order, and adds the numbers of the original rows "
            "as a column if it drops some. Either re-identifies every row.\n"
            "- **crowds** carries results of one call over to the next call in the same process; here each "
            "call has its own process.\n"
            "- **ARX**: the start-up of the Java virtual machine, 1.5 to 4 s, is not counted. With any "
            "suppression, 10 to 21% of the rows are suppressed.\n"
            "- **The Mondrian of qiyuangong** depends on the order in which categories are coded: GCP "
            "0.295 with another order.\n"
            "- **sdcMicro** was stopped after 15 minutes at k = 10. At k = 5, its k holds only if a "
            "missing value matches every other value; read as written, 20% of the records are in smaller "
            "classes.",
        )
    )


def _chart(k: int, measured: dict[str, dict[str, Any]]) -> alt.LayerChart:
    """Return a picture of loss against time, both logarithmic."""
    points = [
        {"name": how, "GCP": f["gcp"], "seconds": f["seconds"], "by": "Shoal" if how in OURS else "same run"}
        for how, f in measured.items()
        if "failed" not in f
    ]
    points += [
        {"name": how, "GCP": of_k[k][0], "seconds": of_k[k][1], "by": "separate run"}
        for how, of_k in APART.items()
        if k in of_k
    ]
    base = alt.Chart(pl.DataFrame(points), title=f"k = {k}: lower loses less, left is faster").encode(
        x=alt.X("seconds:Q", scale=alt.Scale(type="log", padding=20)),
        y=alt.Y("GCP:Q", scale=alt.Scale(type="log", padding=10)),
        color=alt.Color("by:N", title=None, sort=["Shoal", "same run", "separate run"]),
    )
    dots = base.mark_point(filled=True, size=60)
    names = base.mark_text(align="left", dx=7, fontSize=9).encode(text="name:N")
    chart: alt.LayerChart = (dots + names).properties(width=620, height=420)
    return chart
