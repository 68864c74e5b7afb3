"""The tasks of the page: functions of plain arguments, which run in a process of their own."""

from __future__ import annotations

import math
import re
import zipfile
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from shoal import engines
from shoal.attacking import attack
from shoal.auditing.together import joint_audit
from shoal.engines.scanning import combinations, scan
from shoal.errors import InputError, InternalError, Reason, ShoalError
from shoal.files.formats import format_of
from shoal.files.reading import read_table
from shoal.files.spreadsheets import EXCEL, sheet_names
from shoal.files.text import DELIMITED, sniff
from shoal.methods import Progress
from shoal.methods.dissimilarity_limits import advise
from shoal.methods.feasibility import largest_diversity
from shoal.models import Model
from shoal.reading.wording import asked, facts, group_table, grouped
from shoal.release import Format
from shoal.schema import Schema
from shoal.schema.suggesting import suspects
from shoal.table import Table
from shoal.web.earlier import After, anonymize_after
from shoal.web.fields import written_list
from shoal.web.looking import rows
from shoal.web.outline import outline
from shoal.web.quick import narrower, try_several

DRAWN, DRAWS = "drawn", 5
"""The form of drawn tables, and how many of them are written."""
TABLES_FILE = "tables.zip"
"""The archive of tables that were written to be used."""
MOST_COLUMNS = 1_000
"""Maximum number of columns of a table; a browser needs long to show the fields of more."""
OPEN_PANELS = ("adversary", "loss")
"""The panels of a result that are shown unfolded: risk and information loss."""
STEPS_OF_THEIR_OWN = ("attacks",)
"""The panels of a report that are a step of the page, and not shown in the result."""
_PANEL = re.compile(r"(<section [^>]*>)\s*(<h3 [^>]*>.*?</h3>)(.*?)</section>", re.DOTALL)
BARS = 16
"""Maximum number of bars in the small picture of a column."""
PREVIEWED = 6
"""Number of rows in the preview."""
MOST_COMBINATIONS = 8
"""The maximum number of combinations of columns that are shown, the most identifying ones."""


@dataclass(frozen=True)
class Source:
    """The file of a table.

    Parameters
    ----------
    path
        The file, under a name that the server chose.
    name
        The name that the user gave it, only for display.
    delimiter, encoding, skip_rows, decimal, thousands, sheet
        As for `read_table`.
    most_bytes
        Maximum size after decompression.
    made_up
        Whether the page made it up and has the only copy.
    """

    path: Path
    name: str
    delimiter: str | None = None
    encoding: str | None = None
    most_bytes: int | None = None
    made_up: bool = False
    skip_rows: int = 0
    decimal: str | None = None
    thousands: str | None = None
    sheet: str | None = None

    @property
    def reading(self) -> dict[str, Any]:
        """How the user says that it is written, as arguments of `read_table`."""
        names = ("delimiter", "encoding", "skip_rows", "decimal", "thousands", "sheet")
        return {name: value for name in names if (value := getattr(self, name))}

    def read(self) -> pl.DataFrame:
        """Return the table."""
        return read_table(self.path, most_bytes=self.most_bytes, **self.reading)

    @property
    def is_text(self) -> bool:
        """Whether it is delimited text, whose delimiter and encoding are detected."""
        return format_of(self.path) is DELIMITED

    @property
    def is_spreadsheet(self) -> bool:
        """Whether it is a spreadsheet, of which one sheet is read."""
        return format_of(self.path) is EXCEL


def look(source: Source, progress: Progress) -> dict[str, Any]:
    """Read a table: its first rows, the suggested columns, and how identifying they are."""
    progress("reading the file", 0.0)
    frame = source.read()
    if frame.width > MOST_COLUMNS:
        raise InputError(
            f"{source.path}: the table has {frame.width:,} columns, and the page shows {MOST_COLUMNS:,} at "
            "most; leave out columns that are not published, or use the command line",
            reason=Reason.TOO_LARGE,
        )
    progress("examining the columns", 0.4)
    found = scan(frame)
    dialect = None
    if source.is_text:
        dialect = asdict(
            sniff(
                source.path,
                delimiter=source.delimiter,
                encoding=source.encoding,
                skip_rows=source.skip_rows,
            )
        )
    return {
        "rows": found.records,
        "dialect": dialect,
        "sheets": sheet_names(source.path) if source.is_spreadsheet else [],
        "columns": [
            {
                "name": each.name,
                "role": each.role.value,
                "kind": each.kind.value,
                "dates": each.date_format or "",
                "order": written_list(each.domain or ()),
                "reason": as_on_page(each.reason),
                "distinct": each.distinct,
                "missing": each.missing,
                "missing_share": each.missing / max(1, found.records),
                "unique_share": each.unique_share,
                "histogram": _histogram(frame[each.name], numeric=each.kind.numeric),
            }
            for each in found.suggestions
        ],
        "combinations": [each.as_dict() for each in found.combinations[:MOST_COMBINATIONS]],
        "preview": [
            ["" if cell is None else _shown(cell) for cell in row] for row in frame.head(PREVIEWED).rows()
        ],
    }


def weigh(source: Source, schema: Schema, progress: Progress) -> dict[str, Any]:
    """Return what a table with this schema allows: unique records, achievable diversity, warnings."""
    progress("reading the file", 0.0)
    frame = source.read()
    progress("counting unique records", 0.3)
    table = Table.encode(frame, schema, times=True)
    return {
        "records": len(table),
        "left_out": table.left_out,
        "combinations": [each.as_dict() for each in combinations(table)[:MOST_COMBINATIONS]],
        "diversity": {column.name: largest_diversity(column.codes) for column in table.sensitive},
        "suspects": {name: as_on_page(why) for name, why in suspects(frame, schema).items()},
    }


def frontier(
    source: Source, schema: Schema, epsilon: float, distance: str | None, progress: Progress
) -> dict[str, Any]:
    """Return which delta is achievable for several k."""
    progress("comparing sensitive values", 0.0)
    return advise(source.read(), schema, epsilon=epsilon, distance=distance).as_dict()


def make(
    source: Source,
    schema: Schema,
    model: Model,
    choices: Mapping[str, Any],
    form: Format,
    keep_key: bool,
    after: After | None,
    folder: Path,
    progress: Progress,
) -> dict[str, Any]:
    """Make a release, write its files to a folder, and return its certificate and report."""
    frame = source.read()
    if after is None:
        release = engines.anonymize(frame, schema, model, progress=progress, **choices)
    else:
        release = anonymize_after(frame, schema, model, after, progress, choices)
    progress("writing the report", 0.0)
    report = release.write_files(folder, form=form, keep_key=keep_key)
    return {
        "certificate": release.certificate,
        "status": report.status,
        "verdict": report.verdict_text,
        "tiles": report.tiles,
        "panels": folded(report.sections()),
    }


def folded(panels: str) -> str:
    """Return the panels of a result, with the content of each below a heading that folds it."""
    parts = _PANEL.split(panels)
    found = [parts[0]]
    for section, title, content, after in zip(*[iter(parts[1:])] * 4, strict=True):
        if any(f'id="{name}"' in section for name in STEPS_OF_THEIR_OWN):
            continue
        is_open = " open" if any(f'id="{name}"' in section for name in OPEN_PANELS) else ""
        found.append(
            f"{section}<details{is_open}><summary>{title}</summary>{content}</details></section>{after}"
        )
    return "".join(found)


def both_releases(
    source: Source,
    schema: Schema,
    model: Model,
    release: Path,
    earlier: Path,
    earlier_table: Path | None,
    left_out: bool,
    progress: Progress,
) -> dict[str, Any]:
    """Audit a release together with an earlier one: a task of the page.

    Parameters
    ----------
    source, schema, model, release
        The table, its columns, the privacy model, and the file of the release.
    earlier, earlier_table
        The file of the earlier release, and that of its table; the same table if None.
    left_out
        Whether records were left out of the release.
    """
    if left_out:
        raise InputError(
            "Records were left out of this release, and only its key says which. Make it without a control "
            "group, an earlier release and records left out, or use the command line with the key.",
            reason=Reason.PARAMETER,
        )
    progress("reading the files", 0.0)
    table = source.read()
    before = table if earlier_table is None else read_table(earlier_table, most_bytes=source.most_bytes)
    others = [(before, read_table(earlier, most_bytes=source.most_bytes), None)]
    progress("auditing both releases", 0.3)
    found = joint_audit(table, read_table(release), schema, model, earlier=others)
    return {
        "status": found.status,
        "verdict": found.verdict,
        "facts": [[name, str(words)] for name, words in found.facts()],
    }


def attack_release(source: Source, schema: Schema, release: Path, progress: Progress) -> dict[str, Any]:
    """Attack a release without a control group; return what was found, as a certificate has it."""
    progress("reading the files", 0.0)
    table, released = source.read(), read_table(release)
    return attack(table, released, schema, progress=progress).as_dict()


def ask(
    source: Source, folder: Path, question: str, by: str, mean: str, progress: Progress
) -> dict[str, Any]:
    """Answer a question from the files of a release, in words."""
    from shoal.reading import open_release  # late: few callers need it

    del source
    progress("reading the release", 0.0)
    reader = open_release(folder).fit()
    if not by:
        return {"facts": facts(asked(reader, question, mean or None))}
    names = [name.strip() for name in by.split(",")]
    head, lines = group_table(grouped(reader, question, names, mean or None), names, mean or None)
    return {"head": head, "lines": lines}


def write_tables(source: Source, folder: Path, form: str, progress: Progress) -> dict[str, Any]:
    """Write a release as ordinary tables, in one archive beside it."""
    from shoal.reading import open_release  # late: few callers need it

    del source
    progress("reading the release", 0.0)
    reader = open_release(folder)
    if form == DRAWN:
        tables = reader.draw(DRAWS, flavour="polars")
        named = {f"drawn-{number}.csv": table for number, table in enumerate(tables, start=1)}
    else:
        named = {f"release-{form}.csv": reader.frame(form, flavour="polars")}  # type: ignore[arg-type]
    with zipfile.ZipFile(folder / TABLES_FILE, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, table in named.items():
            archive.writestr(name, table.write_csv())
    return {"files": list(named)}


def explained(error: Exception, source: Source) -> dict[str, str | None]:
    """Return an error for the page, with the file name that the user knows."""
    if not isinstance(error, ShoalError):
        error = InternalError(f"{type(error).__name__}: {error}")
    return {**error.as_dict(), "message": as_on_page(str(error)).replace(str(source.path), source.name)}


def as_on_page(text: str) -> str:
    """Return a text of the library with the names that settings of a column have on the page."""
    for setting, label in _LABELS.items():
        text = text.replace(setting, label)
    return text


TASKS: dict[str, Callable[..., dict[str, Any]]] = {
    task.__name__: task
    for task in (
        *(look, outline, weigh, frontier, try_several, narrower),
        *(make, both_releases, attack_release, rows, ask, write_tables),
    )
}
"""The tasks by name."""


_LABELS = {
    "date_format": "date format",
    "missing_marks": "texts that mean missing",
    "hold_out = ": "a share of ",
}


def _histogram(cells: pl.Series, *, numeric: bool) -> list[int]:
    """Return how often values occur: numbers in intervals of equal width, or the most frequent values."""
    present = cells.drop_nulls()
    if numeric and not present.dtype.is_nested():
        numbers = present.cast(pl.Float64, strict=False).drop_nulls()
        numbers = numbers.filter(numbers.is_finite())
        if numbers.n_unique() > BARS:
            low, high = float(numbers.min()), float(numbers.max())  # type: ignore[arg-type]
            if math.isfinite(high - low):
                counts = np.histogram(numbers.to_numpy(), bins=BARS, range=(low, high))[0]
                return [int(count) for count in counts]
    if present.dtype.is_nested() or not len(present):
        return []
    counted = present.value_counts(sort=True)["count"]
    return counted.head(BARS).to_list()


def _shown(cell: Any, most: int = 60) -> str:
    text = " ".join(map(str, cell)) if isinstance(cell, list) else str(cell)
    return text if len(text) <= most else f"{text[: most - 1]}…"
