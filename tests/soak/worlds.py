"""The campaign "worlds": random tables, models, methods and engines, judged by an oracle and the audit.

Several worlds share a table: the first is released by the public functions, the others by those that take a
table which is already encoded, as comparisons of methods do. This saves about a quarter of the time.
"""

from __future__ import annotations

import csv
import math
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
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
from oracle import GUARANTEES, breaches, persons_broken
from oracle_reading import Plain, Reading, Sheet, read_csv
from soaking import Campaign, Finding

from shoal import Audit, InfeasibleError, InputError, Schema, anonymize, anonymize_file, audit, read_table
from shoal.auditing import audit_table
from shoal.engines import blocks
from shoal.engines.local import anonymize_table
from shoal.files.writing import write_csv
from shoal.methods.method import COUNTING_PERSONS, METHODS, options_of
from shoal.models import Model, declarations
from shoal.release import Release
from shoal.report.document import Report
from shoal.table import Table

EVERY = [(m, method) for m, methods in METHODS.items() for method in methods if m.name in GUARANTEES]
"""Models that other tests have added have no oracle."""
SECONDS = 5.0
"""The time limit of methods that have one."""
SHARING = 6
"""The number of worlds that share a table."""
AGAIN = 3
"""One in this number of releases of a shared table is also audited as a file; the audit that each release had
to pass is judged in any case."""
WITH_PAGES = 128
"""One in this number of worlds in blocks also writes its pages, whose charts take most of its time."""


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
    people: Mapping[str, Sequence[str]]

    @property
    def asked(self) -> dict[str, Any]:
        """The parameters of the model that are set; of a population, the texts of its columns."""
        others = {"population": self.people} if self.model.needs_population else {}
        return {**self.model.parameters, **others}

    @property
    def records(self) -> int:
        """The number of records that rows are made of."""
        n = len(self.sheet.kept)
        return n - math.ceil(self.asked.get("withhold", 0.0) * n)


def case(draw: Draw, folder: Path) -> str:
    """Draw a world, make a release, and judge it."""
    return tried(drawn_world(draw), folder)


def several(draw: Draw, folder: Path) -> str:
    """Draw a world and others with the same table, make a release of each, and judge it."""
    first = drawn_world(draw)
    ended = counted(tried(first, folder))
    if first.sheet.refused or not first.sheet.kept or "duplicate-column" in ended:
        return ended
    tables = Tables(
        Table.encode(frame_of(first, folder), first.schema),
        Table.encode(plain_frame(first.sheet), first.schema, times=True),
    )
    for place in range(SHARING - 1):
        inside = folder / str(place)
        inside.mkdir()
        counted(tried(other_world(draw, first), inside, tables))
    return ended


def counted(ended: str) -> str:
    """Count a world."""
    CAMPAIGN.counts["worlds"] += 1
    CAMPAIGN.counts[f"worlds: {ended}"] += 1
    return ended


@dataclass(frozen=True)
class Tables:
    """The table of a world, encoded once to be released and once to be audited."""

    released: Table
    audited: Table


def tried(world: World, folder: Path, tables: Tables | None = None) -> str:
    """Make a release of a world, perhaps of a table that is already encoded, and judge it."""
    try:
        if tables is None:
            released, key = release_of(world, folder)
        else:
            release = release_of_table(world, tables.released)
            released, key = written(release, folder)
    except InputError as error:
        if not refusable(world, error):
            raise
        return f"refused: {error.reason.value}"
    except InfeasibleError:
        if possible(world.sheet, world.model.name, world.asked) and not world.method.startswith("printed"):
            raise
        return "infeasible"
    reading = judge(world, released, key)
    if tables is None:
        compare(
            world, reading, audit(plain_frame(world.sheet), read_table(released), world.schema, world.model)
        )
    else:
        compare(world, reading, release.audit)
        if world.seed % AGAIN == 0:
            again = audit_table(tables.audited, read_table(released), world.model, thorough=True)
            compare(world, reading, again)
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
    people = population_of(draw, sheet, {each.plain.name: each.pool for each in columns})
    model = model_for(draw, kind, k, schema, people)
    options = options_for(draw, kind, method)
    form = draw.choice(["file", "polars", "polars", "pandas", "pyarrow"])
    return World(sheet, schema, model, method, options, engine, form, draw.randrange(2**32), people)


def other_world(draw: Draw, world: World) -> World:
    """Draw another model, method and options for the table of a world, in memory."""
    kind, method = draw.choice(fitting(world))
    k = min(draw.choice([2, 2, 2, 3, 3, 4]), len(world.sheet.kept))
    model = model_for(draw, kind, max(k, 2), world.schema, world.people)
    options = options_for(draw, kind, method)
    seed = draw.randrange(2**32)
    return replace(world, model=model, method=method, options=options, engine="memory", seed=seed)


def population_of(draw: Draw, sheet: Sheet, pools: Mapping[str, Sequence[str]]) -> dict[str, list[str]]:
    """Draw everyone who could be in a table: its records, now and then without one of them, and others."""
    others = draw.choice([0, 1, 3, 10, 30])
    kept = [record for record in sheet.kept if draw.random() < 0.98] or sheet.kept
    return {
        column.name: [sheet.cells[column.name][record] for record in kept]
        + [draw.choice(pools[column.name]) for _ in range(others)]
        for column in sheet.having("quasi")
    }


def model_for(
    draw: Draw, kind: type[Model], k: int, schema: Schema, people: Mapping[str, Sequence[str]]
) -> Model:
    """Draw a model of a kind."""
    asked = parameters(draw, kind, k, schema)
    if kind.needs_population:
        asked["population"] = as_texts(people)
    return kind(**asked)


def fitting(world: World) -> list[tuple[type[Model], str]]:
    """Return the models and methods that the table of a world is made for."""
    items = any(column.kind == "items" for column in world.sheet.columns)
    return [
        (kind, method)
        for kind, method in EVERY
        if kind.needs_items == items
        and (world.schema.sensitive or not kind.needs_sensitive)
        and (world.sheet.owners is None or METHODS[kind][method] in COUNTING_PERSONS)
    ]


def options_for(draw: Draw, kind: type[Model], method: str) -> dict[str, Any]:
    """Draw options of a method."""
    return {
        name: SECONDS if each.type is float else draw.choice(each.choices or (True, False))
        for name, each in options_of(METHODS[kind][method]).items()
        if draw.random() < 0.6
    }


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
    "delta_min": lambda draw, k, quasi: draw.choice([0.0, 0.0, 0.1, 0.3]),
    "delta_max": lambda draw, k, quasi: draw.choice([0.3, 0.5, 0.8, 1.0]),
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
    return as_texts(sheet.cells)


def as_texts(cells: Mapping[str, Sequence[str]]) -> pl.DataFrame:
    """Return columns as texts; an empty one is missing."""
    columns = {name: [text or None for text in texts] for name, texts in cells.items()}
    return pl.DataFrame(columns, schema=dict.fromkeys(columns, pl.String))


def frame_of(world: World, folder: Path) -> Any:
    """Return the original as a frame."""
    if world.form == "file":
        write_sheet(world.sheet, folder / "original.csv")
        return read_table(folder / "original.csv")
    frame = plain_frame(world.sheet)
    return {"pandas": frame.to_pandas, "pyarrow": frame.to_arrow}.get(world.form, lambda: frame)()


def release_of(world: World, folder: Path) -> tuple[Path, list[int] | None]:
    """Make the release; return its file, and the record of each row if the engine tells it."""
    call = {"method": world.method, "seed": world.seed, **world.options}
    if world.engine == "blocks":
        write_sheet(world.sheet, folder / "original.csv")
        pages = mock.patch.multiple(Report, html=lambda _: "", evidence=lambda _: "")
        with (
            workers_in_this_process(),
            mock.patch.object(blocks, "SAFE", 1),
            nullcontext() if world.seed % WITH_PAGES == 0 else pages,
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
    if world.seed % 8 == 0:
        release.written("parquet")  # which is audited as well
    return written(release, folder)


def release_of_table(world: World, table: Table) -> Release:
    """Make the release of a table that is already encoded."""
    return anonymize_table(table, world.model, method=world.method, seed=world.seed, **world.options)


def written(release: Release, folder: Path) -> tuple[Path, list[int]]:
    """Write a release; return its file, and the record of each row."""
    write_csv(release.written("csv"), folder / "release.csv")
    return folder / "release.csv", release.key.tolist()


def judge(world: World, file: Path, key: list[int] | None) -> Reading:
    """Compare what the oracle finds with what was promised, and return what it has read.

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
    return reading


def check_cell(column: Plain, sheet: Sheet, cells: list[str], record: int) -> None:
    """Refuse a released cell that does not contain its record's value as written, or that changed it."""
    text = sheet.cells[column.name][record]
    if column.role == "quasi" and not column.covers(cells, column.value(text)):
        raise Finding(f"{cells} does not contain {text!r}")
    if column.role in ("sensitive", "other") and cells != [text]:
        raise Finding(f"{cells} instead of {text!r}")


def compare(world: World, reading: Reading, found: Audit) -> None:
    """Compare the auditor's figures with the oracle's.

    Raises
    ------
    Finding
        If they differ.
    """
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


CAMPAIGN = Campaign("worlds", several, slice=12)
