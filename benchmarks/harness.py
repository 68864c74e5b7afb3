"""What benchmarks share: the data, measuring in a fresh process, and writing a results page."""

from __future__ import annotations

import json
import os
import platform
import resource
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import altair as alt
import polars as pl

from benchmarks.enlarging import enlarge
from shoal import Schema, read_table

ROOT = Path(__file__).resolve().parents[1]
RESULTS = ROOT / "docs" / "results"
MEASURED = ROOT / "build" / "benchmarks"
"""What was measured already, so that an interrupted run continues where it stopped."""
ADULT_QUASI = [
    "age",
    "workclass",
    "education",
    "marital-status",
    "occupation",
    "race",
    "sex",
    "native-country",
]


def data_folder() -> Path:
    """Return the folder of public data sets, or end with what to do."""
    folder = Path(os.environ.get("SHOAL_DATA", ROOT.parent / "shared" / "data"))
    if not folder.is_dir():
        sys.exit(f"benchmarks need the public data sets in {folder}; set SHOAL_DATA to where they are")
    return folder


def adult() -> pl.DataFrame:
    """Return the 30,162 complete training records of Adult."""
    frame = read_table(data_folder() / "adult_train.csv.gz")
    return frame.filter(~pl.any_horizontal(pl.all() == "?"))


def adult_like(rows: int, seed: int = 1) -> pl.DataFrame:
    """Return a perturbed bootstrap of Adult."""
    return enlarge(adult(), rows, numeric={"age": 3, "fnlwgt": 1000, "hours-per-week": 2}, seed=seed)


def adult_schema(frame: pl.DataFrame) -> Schema:
    """Return the schema of the comparisons: eight quasi-identifiers, income sensitive."""
    return Schema.infer(frame, quasi=ADULT_QUASI, sensitive=["income"])


def cmc() -> pl.DataFrame:
    """Return the 1,473 records of CMC."""
    return read_table(data_folder() / "cmc.csv")


def cmc_schema(frame: pl.DataFrame) -> Schema:
    """Return the schema of CMC: all but the class are quasi-identifiers, occupation is without an order."""
    *quasi, method = frame.columns
    return Schema.infer(frame, quasi=quasi, sensitive=[method], kinds={"husband_occupation": "categorical"})


def acs() -> pl.DataFrame:
    """Return the 27,253 records of the NIST excerpt of the American Community Survey."""
    return read_table(data_folder() / "nist_acs_national2019.csv.gz")


def acs_schema(frame: pl.DataFrame) -> Schema:
    """Return the schema of the survey: nine things that neighbours know; what does not apply is missing."""
    quasi = ["PUMA", "AGEP", "SEX", "MSP", "HISP", "RAC1P", "OWN_RENT", "EDU", "INDP_CAT"]
    kinds = {name: "categorical" for name in quasi if name not in ("AGEP", "EDU")}
    return Schema.infer(frame, quasi=quasi, sensitive=["PINCP_DECILE"], kinds=kinds, missing_marks=["N"])


def in_fresh_process(module: str, **arguments: Any) -> dict[str, Any]:
    """Run ``benchmarks.<module>.work(**arguments)`` alone; return its figures, seconds and peak memory.

    Peak memory is that of the whole process, with what it imported and read.
    """
    code = (
        "import json, sys; from benchmarks import harness; "
        "harness.report(sys.argv[1], json.loads(sys.argv[2]))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, module, json.dumps(arguments)],
        cwd=ROOT,
        check=True,
        capture_output=True,
        text=True,
    )
    result: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return result


def remembered(module: str, **arguments: Any) -> dict[str, Any]:
    """Return what `in_fresh_process` does, or did before at the same commit."""
    figures = recalled(module, **arguments)
    if figures is None:
        figures = in_fresh_process(module, **arguments)
        MEASURED.mkdir(parents=True, exist_ok=True)
        with (MEASURED / f"{module}.jsonl").open("a", encoding="utf-8") as out:
            cell = {"commit": commit(), "arguments": arguments}
            out.write(json.dumps({**cell, "figures": figures}) + "\n")
    return figures


def recalled(module: str, **arguments: Any) -> dict[str, Any] | None:
    """Return what was measured at the same commit; None if nothing was."""
    cell = {"commit": commit(), "arguments": arguments}
    file = MEASURED / f"{module}.jsonl"
    lines = file.read_text(encoding="utf-8").splitlines() if file.exists() else []
    for known in map(json.loads, lines):
        if cell.items() <= known.items():
            figures: dict[str, Any] = known["figures"]
            return figures
    return None


def report(module: str, arguments: dict[str, Any]) -> None:
    """Do what `in_fresh_process` asked for and print it as one line of JSON."""
    work = __import__(f"benchmarks.{module}", fromlist=["work"]).work
    figures = work(**arguments)
    figures["peak_mib"] = peak_mib()
    print(json.dumps(figures))


def peak_mib() -> float:
    """Return the peak memory of this process; on Linux without that of the process that started it."""
    status = Path("/proc/self/status")
    if status.exists():
        for line in status.read_text(encoding="utf-8").splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) / 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


@contextmanager
def watched_memory() -> Iterator[list[float]]:
    """Measure repeatedly how many MiB this process and all that it started have together."""
    found, done = [0.0], threading.Event()

    def look() -> None:
        while not done.wait(0.2):
            found.append(resident_mib(os.getpid()))

    looking = threading.Thread(target=look)
    looking.start()
    try:
        yield found
    finally:
        done.set()
        looking.join()


def resident_mib(process: int) -> float:
    """Return how many MiB of memory a process and all that it started have together."""
    sizes = [of_process(each, "statm").split() for each in (process, *started_by(process))]
    return sum(int(size[1]) for size in sizes if size) * resource.getpagesize() / 2**20


def started_by(process: int) -> set[int]:
    """Return all processes that a process started, and those that these started."""
    lists = [of_process(process, f"task/{thread.name}/children") for thread in _threads(process)]
    children = {int(each) for listed in lists for each in listed.split()}
    return children.union(*map(started_by, children))


def of_process(process: int, file: str) -> str:
    """Return what the system says about a process in one of its files, and nothing if it has ended."""
    try:
        return Path(f"/proc/{process}/{file}").read_text(encoding="ascii")
    except OSError:
        return ""


def _threads(process: int) -> list[Path]:
    try:
        return list(Path(f"/proc/{process}/task").iterdir())
    except OSError:
        return []


def timed(function: Any, *arguments: Any, **options: Any) -> tuple[Any, float]:
    """Return what a call returns and its seconds."""
    started = time.perf_counter()
    value = function(*arguments, **options)
    return value, time.perf_counter() - started


def commit() -> str:
    """Return the commit that is measured."""
    asked = ["git", "rev-parse", "--short", "HEAD"]
    found = subprocess.run(asked, cwd=ROOT, capture_output=True, text=True, check=False).stdout.strip()
    return found or "unknown"


def provenance() -> str:
    """Return commit, cores and versions, for the foot of a results page."""
    return (
        f"Measured at commit `{commit()}` with Python {platform.python_version()} on {os.cpu_count()} "
        f"cores of {platform.machine()}; timings on a shared machine, accurate to plus or minus 50%."
    )


def markdown_table(head: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    """Return a table in Markdown."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(str(cell) for cell in line) + " |" for line in lines)


def growth(module: str, sizes: Sequence[int], **arguments: Any) -> str:
    """Return a section of a results page: a bootstrap of Adult at several sizes, each in a fresh process."""
    measured = [(rows, in_fresh_process(module, rows=rows, **arguments)) for rows in sizes]
    how = ", ".join(f"{name} = {value}" for name, value in arguments.items())
    return "\n\n".join(
        (
            "## Growth",
            f"Perturbed bootstraps of Adult, {how}. Each size is measured in a fresh process; memory is "
            "the peak of the whole process, including the table.",
            markdown_table(
                ("rows", "GCP", "seconds", "peak MiB"),
                [(n, f"{g['gcp']:.4f}", f"{g['seconds']:.1f}", f"{g['peak_mib']:.0f}") for n, g in measured],
            ),
        )
    )


def loss_chart(points: Sequence[dict[str, Any]], title: str, value: str = "GCP") -> alt.Chart:
    """Return a chart of GCP, or another value, against k, a line for each method."""
    return line_chart(points, title, "k", value, alt.Scale(zero=value == "GCP"))


def line_chart(
    points: Sequence[dict[str, Any]], title: str, along: str, value: str, scale: alt.Scale
) -> alt.Chart:
    """Return a chart of a value on some scale along another on a logarithmic one, a line for each method."""
    chart: alt.Chart = (
        alt.Chart(pl.DataFrame(points), title=title)
        .mark_line(point=True)
        .encode(
            x=alt.X(f"{along}:Q", scale=alt.Scale(type="log")),
            y=alt.Y(f"{value}:Q", scale=scale),
            color=alt.Color("method:N", title=None),
        )
        .properties(width=480, height=280)
    )
    return chart


def write_page(
    name: str,
    text: str,
    charts: Mapping[str, alt.Chart | alt.LayerChart],
    *,
    by_hand: Sequence[str] = (),
) -> None:
    """Write docs/results/<name>.md and a picture of each chart beside it, and print the text.

    Sections with the headings `by_hand` are kept as the page has them, before all others.
    """
    RESULTS.mkdir(parents=True, exist_ok=True)
    for chart_name, chart in charts.items():
        chart.save(str(RESULTS / f"{name}-{chart_name}.svg"))
    page = RESULTS / f"{name}.md"
    if by_hand and page.exists():
        text = with_sections(text, page.read_text(encoding="utf-8"), by_hand)
    page.write_text(f"{text}\n\n{provenance()}\n", encoding="utf-8")
    print(text)


def with_sections(text: str, page: str, headings: Sequence[str]) -> str:
    """Return a text with some sections of a page before its own sections."""
    found = {each.partition("\n")[0]: each.rstrip() for each in page.split("\n## ")[1:]}
    before, mark, after = text.partition("\n## ")
    kept = "".join(f"\n## {found[heading]}\n" for heading in headings if heading in found)
    return f"{before}{kept}{mark}{after}"
