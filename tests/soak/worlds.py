"""The campaign "worlds": random tables, models, methods and engines, judged by an oracle and the audit."""

from __future__ import annotations

import csv
import math
from collections.abc import Mapping
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest import mock

import polars as pl
from drawing import (
    NUMBERED,
    SORTS,
    Draw,
    numbered_column,
    person_column,
    possible,
    quasi_column,
    renamed,
    schema_of,
    sensitive_column,
    sheet_of,
)
from in_process import workers_in_this_process
from oracle import breaches, persons_broken
from oracle_reading import Plain, Reading, Sheet, read_csv
from soaking import Campaign, Finding

from shoal import InfeasibleError, InputError, Schema, anonymize, anonymize_file, audit, read_table
from shoal.engines import blocks
from shoal.files.writing import write_csv
from shoal.methods.method import COUNTING_PERSONS, METHODS, options_of
from shoal.models import Model, declarations
from shoal.report.document import Report

EVERY = [(m, method) for m, methods in METHODS.items() for method in methods if not m.needs_population]
"""Models with a population need a second table; `test_population_models.py` has them."""
SECONDS = 5.0
"""The time limit of methods that have one."""


@dataclass(frozen=True)
class World:
    """A table, and what is asked for."""

    sheet: Sheet
    schema: Schema
    model: Model
    method: str
    options: Mapping[str, Any]
    engine: str
    form: str
    seed: int

    @property
    def asked(self) -> dict[str, Any]:
        """The parameters of the model that are set."""
        return dict(self.model.parameters)

    @property
    def records(self) -> int:
        """The number of records that rows are made of."""
        n = len(self.sheet.kept)
        return n - math.ceil(self.asked.get("withhold", 0.0) * n)


def case(draw: Draw, folder: Path) -> str:
    """Draw a world, make a release, and judge it."""
    world = drawn_world(draw)
    try:
        released, key = release_of(world, folder)
    except InputError as error:
        if not refusable(world, error):
            raise
        return f"refused: {error.reason.value}"
    except InfeasibleError:
        if possible(world.sheet, world.model.name, world.asked) and not world.method.startswith("printed"):
            raise
        return "infeasible"
    judge(world, released, key)
    return f"released: {world.engine}"


def drawn_world(draw: Draw) -> World:
    """Draw a table, a model, a method with options, and an engine."""
    kind, method = draw.choice(EVERY)
    k = draw.choice([2, 2, 2, 3, 3, 4])
    engine = draw.choice(["memory"] * 9 + ["blocks"])
    records = draw.choice([k, 2 * k - 1, 2 * k, draw.randint(k, 5 * k), draw.randint(5, 14)])
    if engine == "blocks":
        records *= 3
    columns = [
        quasi_column(draw, f"q{i}", draw.choice(SORTS)) for i in range(draw.choice([1, 1, 2, 2, 3, 4]))
    ]
    if kind.needs_items:
        columns[0] = quasi_column(draw, "q0", "items")
    secret = kind.needs_sensitive or draw.random() < 0.6
    columns += [sensitive_column(draw, f"s{i}") for i in range(draw.choice([1, 1, 1, 2]) if secret else 0)]
    if METHODS[kind][method] in COUNTING_PERSONS and draw.random() < 0.2:
        columns.append(person_column(draw, records))
    if engine == "blocks" or draw.random() < 0.7:
        columns.append(numbered_column())
    draw.shuffle(columns)
    if draw.random() < 0.5:
        columns = renamed(draw, columns)
    sheet = sheet_of(draw, columns, records)
    schema = schema_of(columns)
    model = kind(**parameters(draw, kind, k, schema))
    options = {
        name: SECONDS if each.type is float else draw.choice(each.choices or (True, False))
        for name, each in options_of(METHODS[kind][method]).items()
        if draw.random() < 0.6
    }
    form = draw.choice(["file", "polars", "polars", "pandas", "pyarrow"])
    return World(sheet, schema, model, method, options, engine, form, draw.randrange(2**32))


def parameters(draw: Draw, kind: type[Model], k: int, schema: Schema) -> dict[str, Any]:
    """Draw the parameters of a model from their declarations; some of those that may be omitted are."""
    quasi = [column.name for column in schema.quasi]
    chosen: dict[str, Any] = {}
    for name, declared, own in declarations(kind):
        needed = own.default is own.default_factory  # neither is given
        if declared.about_sensitive and not schema.sensitive:
            continue
        if not needed and draw.random() < 0.6:
            continue
        if declared.type is int and needed and name != "k":
            chosen[name] = max(k, int(declared.least))
        elif name in SPECIAL:
            chosen[name] = SPECIAL[name](draw, k, quasi)
        elif declared.choices:
            chosen[name] = draw.choice(declared.choices)
        elif declared.type is bool:
            chosen[name] = draw.random() < 0.5
        elif declared.type in (int, float):
            low = max(declared.least, 0)
            value = draw.choice([low, low + 1, low + draw.random()])
            chosen[name] = int(value) if declared.type is int else min(value, declared.most)
    return chosen


SPECIAL: dict[str, Any] = {
    "k": lambda draw, k, quasi: k,
    "l": lambda draw, k, quasi: draw.choice([1, 1.2, 1.5, 2]),
    "p": lambda draw, k, quasi: draw.choice([1, 2, 3]),
    "entropy_l": lambda draw, k, quasi: draw.choice([1.0, 1.5, 2.0]),
    "chance": lambda draw, k, quasi: draw.choice([1, 0.5, max(1 / k, 0.4)]),
    "withhold": lambda draw, k, quasi: draw.choice([0.0, 0.05, 0.07, 0.1, 0.3]),
    "epsilon": lambda draw, k, quasi: draw.choice([0.0, 0.1, 0.5, 1.0, 3.0]),
    "delta": lambda draw, k, quasi: draw.choice([0.0, 0.2, 0.5, 2 / 3]),
    "distance": lambda draw, k, quasi: draw.choice(["equality", "absolute", "l1", "l2", "linf", "least"]),
    "patterns": lambda draw, k, quasi: [
        {"suppress": draw.sample(quasi, draw.randint(0, len(quasi)))} for _ in range(draw.randint(1, 4))
    ],
    "up_to": lambda draw, k, quasi: draw.randint(0, len(quasi)),
    "never": lambda draw, k, quasi: draw.sample(quasi, draw.randint(0, 1)),
    "priorities": lambda draw, k, quasi: [draw.sample(quasi, draw.randint(1, len(quasi)))],
    "weights": lambda draw, k, quasi: {draw.choice(quasi): draw.choice([0.5, 2.0])},
    "leftovers": lambda draw, k, quasi: draw.choice(["suppress", "refuse"]),
}
"""How parameters are drawn whose declarations do not say enough."""


def refusable(world: World, error: InputError) -> bool:
    """Return whether the call itself is wrong in the way that an error says."""
    names = [name for column in world.sheet.columns for name in (column.name, *column.released_as[1:])]
    if len(set(names)) < len(names):  # a column of items becomes three
        return "rename" in str(error)
    match error.reason.value:
        case "missing-value":
            return world.sheet.refused
        case "no-rows":
            return not world.sheet.kept
        case "parameter" if error.parameter in ("k", "l") and "records" in str(error):
            return max(world.model.crowd, world.asked.get("k", 0)) > world.records
        case "no-sensitive":
            return not world.schema.sensitive
        case reason:
            return reason in ("parameter", "too-large")


def write_sheet(sheet: Sheet, path: Path) -> None:
    """Write an original as a CSV file."""
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, quoting=csv.QUOTE_ALL)
        writer.writerow(sheet.cells)
        writer.writerows(zip(*sheet.cells.values(), strict=True))


def plain_frame(sheet: Sheet) -> pl.DataFrame:
    """Return an original as texts, as files are read."""
    columns = {name: [text or None for text in texts] for name, texts in sheet.cells.items()}
    return pl.DataFrame(columns, schema=dict.fromkeys(columns, pl.String))


def frame_of(world: World, folder: Path) -> Any:
    """Return the original as a frame."""
    if world.form == "file":
        write_sheet(world.sheet, folder / "original.csv")
        return read_table(folder / "original.csv")
    frame = pl.DataFrame(
        {name: [text or None for text in texts] for name, texts in world.sheet.cells.items()}
    )
    frame = frame.cast(pl.String)
    return {"pandas": frame.to_pandas, "pyarrow": frame.to_arrow}.get(world.form, lambda: frame)()


def release_of(world: World, folder: Path) -> tuple[Path, list[int] | None]:
    """Make the release; return its file, and the record of each row if the engine tells it."""
    call = {"method": world.method, "seed": world.seed, **world.options}
    if world.engine == "blocks":
        write_sheet(world.sheet, folder / "original.csv")
        # Pages and their charts take most of the time.
        pages = mock.patch.multiple(Report, html=lambda _: "", evidence=lambda _: "")
        with (
            workers_in_this_process(),
            mock.patch.object(blocks, "SAFE", 1),
            nullcontext() if world.seed % 16 == 0 else pages,
        ):
            anonymize_file(
                folder / "original.csv",
                world.schema,
                world.model,
                folder / "out",
                block_rows=1,
                jobs=1,
                **call,
            )
        return folder / "out" / "release.csv", None
    release = anonymize(frame_of(world, folder), world.schema, world.model, **call)
    write_csv(release.written("csv"), folder / "release.csv")
    if world.seed % 8 == 0:
        release.written("parquet")  # which is audited as well
    return folder / "release.csv", release.key.tolist()


def judge(world: World, file: Path, key: list[int] | None) -> None:
    """Compare what the oracle finds with what was promised, and with what the auditor finds.

    Raises
    ------
    Finding
        If they differ.
    """
    sheet, released = world.sheet, read_csv(file)
    wanted = [name for column in sheet.columns for name in column.released_as]
    if list(released) != wanted:
        raise Finding(f"columns {list(released)} instead of {wanted}")
    own = key if NUMBERED not in released else [int(text) for text in released[NUMBERED]]
    if own is None:
        raise Finding("no key")
    if len(set(own)) != len(own) or not set(own) <= set(sheet.kept) or key not in (None, own):
        raise Finding("rows carry other records than the key says, or one of them twice")
    for column in sheet.columns:
        for row, record in enumerate(own):
            check_cell(column, sheet, [released[name][row] for name in column.released_as], record)
    reading = Reading(sheet, released)
    place = {record: at for at, record in enumerate(sheet.kept)}
    broken = breaches(reading, world.model.name, world.asked)
    broken += persons_broken(reading, world.model.name, world.model.crowd, [place[each] for each in own])
    if broken:
        raise Finding(f"the guarantee is broken: {broken}")
    compare(world, reading, file)


def check_cell(column: Plain, sheet: Sheet, cells: list[str], record: int) -> None:
    """Refuse a released cell that does not contain its record's value as written, or that changed it."""
    text = sheet.cells[column.name][record]
    if column.role == "quasi" and not column.covers(cells, column.value(text)):
        raise Finding(f"{cells} does not contain {text!r}")
    if column.role in ("sensitive", "other") and cells != [text]:
        raise Finding(f"{cells} instead of {text!r}")


def compare(world: World, reading: Reading, file: Path) -> None:
    """Compare the auditor's figures with the oracle's."""
    found = audit(plain_frame(world.sheet), read_table(file), world.schema, world.model)
    if not found.holds:
        raise Finding(f"the audit refuses what the oracle accepts: {found.findings}")
    counted = {
        "k": min(map(len, reading.classes)),
        "rows_per_record": min((len(rows) for rows in reading.around if rows), default=0),
        "records_per_row": min(reading.covered),
    }
    told = {
        "k": found.k,
        "rows_per_record": found.consistency.rows_per_record,
        "records_per_row": int(found.consistency.records_of_row.min()),
    }
    if reading.rows == reading.records:
        counted["concealment"] = min(map(len, reading.matches))
        told["concealment"] = found.concealment
    for each in found.diversity:
        column = next(column for column in world.sheet.columns if column.name == each.column)
        crowds = reading.values_in(column, reading.classes)
        counted[f"p of {each.column}"] = min(map(len, crowds))
        told[f"p of {each.column}"] = each.p
        counted[f"l of {each.column}"] = min(round(c.total() / max(c.values()), 6) for c in crowds)
        told[f"l of {each.column}"] = round(each.l, 6)
    if counted != told:
        raise Finding(f"the oracle counts {counted}, the audit {told}")


CAMPAIGN = Campaign("worlds", case, slice=50)
