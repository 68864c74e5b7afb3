"""The auditor against plain code that reads the written files again: the same levels and the same verdict."""

from __future__ import annotations

import csv
import datetime
from collections.abc import Callable
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import plain_reader
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from examples import examples
from hypothesis import event, given
from hypothesis import strategies as st
from plain_reader import Quasi, UnreadableError

from shoal import (
    KK,
    Concealment,
    Freeform,
    InfeasibleError,
    InputError,
    KAnonymity,
    KOne,
    OneK,
    anonymize,
    audit,
)
from shoal.files.reading import read_table
from shoal.kinds.hierarchy import Hierarchy
from shoal.models import Model
from shoal.schema import Column, Kind, Role, Schema

DAY = datetime.datetime(2024, 1, 5)
HOURS = [DAY + datetime.timedelta(hours=hours) for hours in (0, 8, 23, 24, 32)]
BERLIN = datetime.timezone(datetime.timedelta(hours=1))
ORDER = ("low", "middle", "high", "a|b")
LABELS = ["a", "b", "c d", "a|b", "*", "x\\y", "{a, b}"]
CHAINS = (("11", "1x", "any"), ("12", "1x", "any"), ("21", "2x", "any"), ("22", "2x", "any"))
FORM = "%d.%m.%Y %H:%M"

POOLS: dict[str, list[Any]] = {
    "integer": [18, 20, 30, 47, 90],
    "decimal": ["0.5", "2", "2.50", "-1.25", "1e1"],
    "day": [DAY.date(), datetime.date(2024, 1, 6), datetime.date(1899, 12, 31)],
    "time": HOURS,
    "zone": [time.replace(tzinfo=BERLIN) for time in HOURS],
    "formatted": [time.strftime(FORM) for time in HOURS],
    "ordinal": list(ORDER),
    "category": LABELS,
    "tree": [chain[0] for chain in CHAINS],
}
KINDS = {
    "integer": "number",
    "decimal": "number",
    **dict.fromkeys(("day", "time", "zone", "formatted"), "date"),
    "ordinal": "ordinal",
    "category": "category",
    "tree": "tree",
}
OF_SHOAL = {
    "number": Kind.NUMERIC,
    "date": Kind.DATE,
    "ordinal": Kind.ORDINAL,
    "category": Kind.CATEGORICAL,
    "tree": Kind.CATEGORICAL,
}
MODELS: dict[str, Callable[..., Model]] = {
    "k-anonymity": KAnonymity,
    "freeform": Freeform,
    "1k": OneK,
    "k1": KOne,
    "kk": partial(KK, chance=1),
    "concealment": partial(Concealment, chance=1),
}
Cells = dict[str, list[Any]]


def described(kinds: dict[str, str]) -> tuple[list[Quasi], Schema]:
    """Return the same columns for the plain reader and for Shoal."""
    plain, columns = [], []
    for name, pool in kinds.items():
        kind = KINDS[pool]
        form = FORM if pool == "formatted" else None
        order = ORDER if kind == "ordinal" else ()
        chains = CHAINS if kind == "tree" else ()
        plain.append(Quasi(name, kind, form, order, chains, ("?",)))
        columns.append(
            Column(
                name,
                Role.QUASI,
                OF_SHOAL[kind],
                date_format=form,
                domain=order or None,
                hierarchy=Hierarchy.from_levels(chains) if chains else None,
                missing_marks=("?",),
            )
        )
    rest = (Column("name", Role.IDENTIFIER), Column("secret", Role.SENSITIVE))
    return plain, Schema((*columns, *rest))


def write(cells: Cells, path: Path) -> None:
    if path.suffix == ".parquet":
        pq.write_table(pa.table({name: pa.array(column) for name, column in cells.items()}), path)
        return
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, quoting=csv.QUOTE_ALL)
        writer.writerow(cells)
        writer.writerows([text_of(cell) for cell in row] for row in zip(*cells.values(), strict=True))


def text_of(cell: Any) -> str:
    return "" if cell is None else str(cell)


@st.composite
def originals(draw: st.DrawFn) -> tuple[dict[str, str], Cells]:
    kinds = {
        f"{i} {pool}": pool
        for i, pool in enumerate(draw(st.lists(st.sampled_from(list(POOLS)), min_size=1, max_size=3)))
    }
    rows = draw(st.integers(2, 7))
    cells: Cells = {}
    for name, pool in kinds.items():
        values: list[Any] = draw(st.lists(st.sampled_from(POOLS[pool]), min_size=1, max_size=3, unique=True))
        if draw(st.integers(0, 3)) == 0:
            values = [*values, None]
        first = next(value for value in values if value is not None)
        cells[name] = [first, *draw(st.lists(st.sampled_from(values), min_size=rows - 1, max_size=rows - 1))]
    cells["name"] = [f"person {row}" for row in range(rows)]
    cells["secret"] = draw(st.lists(st.sampled_from("xyz"), min_size=rows, max_size=rows))
    return kinds, cells


def other_notations(cell: str, kind: str) -> list[str]:
    """Return other ways to write a cell, and ways to write something else."""
    found = [cell, f" {cell}", f"{cell} ", "*", "", "?", "nonsense"]
    low, dots, high = cell.partition("..")
    if dots:
        found += [
            f"[{low}, {high}]",
            f"[{low},{high}[",
            f"({low}, {high}]",
            f"{high}..{low}",
            low,
            high,
            f"{low}-{high}",
        ]
    else:
        found += [f"{cell}..{cell}", f"[{cell}, {cell}]", f"[{cell}, {cell}["]
    if kind == "number":
        found += [f"{low}.0", f"{low}e0", f"+{low}", f"0{low}", "20..47", "-5..100"]
    if kind == "date":
        day = low[:10]
        found += [day, f"{day}T08:00:00", f"{day} 08:00", f"{day}T08:00:00.000001", f"{day}T08:00:00+01:00"]
        found += [
            f"{day}..2024-01-06",
            f"{day} 08:00..2024-01-06 09:00:00",
            f"[{day}, 2024-01-07[",
            f"{day} 25:00",
        ]
    if kind == "category":
        found += [
            "|".join(reversed(cell.split("|"))),
            "{a, b}",
            "a|b",
            "a\\|b",
            "a|",
            "\\*",
            "a|zzz",
            "x\\\\y",
        ]
    if kind == "tree":
        found += ["1x", "2x", "any", "11", "3x"]
    if kind == "ordinal":
        found += ["low..high", "high..low", "middle", "a\\|b", "low..a\\|b"]
    return found


def other_cells(cell: Any, values: list[Any], kind: str) -> list[Any]:
    """Return typed cells that a column may have in the place of another."""
    found: list[Any] = [cell, None]
    if isinstance(cell, dict) or cell is None:
        known = [value for value in values if value is not None]
        found += [
            {"low": None, "high": None},
            {"low": known[0], "high": None},
            {"low": None, "high": known[-1]},
        ]
        found += [{"low": known[0], "high": known[0]}, {"low": known[-1], "high": known[0]}]
        found += [{"low": known[0], "high": known[-1], "exact": known[0]}]
    elif isinstance(cell, list):
        found += [[], [None], list(reversed(cell)), [*cell, *cell], [*cell, "zzz"], ["a"], LABELS]
    elif isinstance(cell, str):
        found += other_notations(cell, kind)
    else:
        found += values
    return found


def retyped(column: list[Any], kind: str) -> list[list[Any]]:
    """Return a typed column as columns of other types."""
    found = [column, [None if cell is None else [text_of(cell)] for cell in column]]
    if any(isinstance(cell, dict) for cell in column):
        ends = [None if cell is None else cell["low"] for cell in column]
        found += [ends, [None if end is None else {"from": end} for end in ends]]
        if all(isinstance(end, datetime.date | None) for end in ends):
            found.append(
                [None if end is None else datetime.datetime(end.year, end.month, end.day) for end in ends]
            )
    elif kind in ("number", "date", "ordinal") and not any(isinstance(cell, list) for cell in column):
        found.append([None if cell is None else {"low": cell, "high": cell} for cell in column])
    return found


@st.composite
def changes(draw: st.DrawFn, cells: Cells, original: Cells, kinds: dict[str, str], *, typed: bool) -> Cells:
    """Draw a single change of a cell, a notation, a type or a column; or none."""
    what = draw(st.sampled_from(["none", "cell", "cell", "cell", "type" if typed else "cell", "column"]))
    event(f"change: {what}")
    changed = dict(cells)
    name = draw(st.sampled_from(list(kinds)))
    kind = KINDS[kinds[name]]
    if what == "cell":
        row = draw(st.integers(0, len(cells[name]) - 1))
        column = list(cells[name])
        options = (
            other_cells(column[row], original[name], kind) if typed else other_notations(column[row], kind)
        )
        if not typed:
            options += [text_of(value) for value in original[name]]
        column[row] = draw(st.sampled_from(options))
        changed[name] = column
    elif what == "type":
        changed[name] = draw(st.sampled_from(retyped(cells[name], kind)))
    elif what == "column":
        other = draw(st.sampled_from([*kinds, "name", "secret", "dropped"]))
        if other == "dropped":
            del changed[name]
        elif other == "name":
            changed["name"] = original["name"][: len(cells[name])]
        else:
            changed[name], changed[other] = cells[other], cells[name]
    return changed


def compare(
    original: Path,
    released: Path,
    plain: list[Quasi],
    schema: Schema,
    model: str,
    k: int,
    diverse: int | None,
) -> None:
    promise = MODELS[model](k=k, l=diverse)
    try:
        expected = plain_reader.levels(original, released, plain, "secret", ["name"])
    except UnreadableError:
        event("unreadable")
        with pytest.raises(InputError):
            audit(read_table(original), read_table(released), schema, promise)
        return
    found = audit(read_table(original), read_table(released), schema, promise)
    assert sorted(found.classes.sizes.tolist()) == expected.classes
    assert found.consistency.rows_of_record.tolist() == expected.rows_of_record
    assert found.consistency.records_of_row.tolist() == expected.records_of_row
    assert found.matches.matches_of_record.tolist() == expected.matches_of_record
    assert found.k == expected.classes[0]
    assert found.concealment == expected.concealment
    places = [found.diversity, found.diversity_consistent, found.diversity_around]
    for place, diversity in enumerate(places if any(expected.rows_of_record) else places[:1]):
        distinct, share = expected.diversity(place)
        assert diversity[0].p == distinct
        assert diversity[0].l == pytest.approx(float(share))
    assert found.holds == expected.keeps(model, k, diverse), found.verdict
    event(f"holds: {found.holds}")


@examples(20)
@given(originals(), st.data())
def test_the_auditor_agrees_with_plain_code(drawn: tuple[dict[str, str], Cells], data: st.DataObject) -> None:
    kinds, cells = drawn
    plain, schema = described(kinds)
    model = data.draw(st.sampled_from(list(MODELS)))
    k, diverse = data.draw(st.integers(2, 3)), data.draw(st.sampled_from([None, None, 2]))
    with TemporaryDirectory() as place:
        folder = Path(place)
        original = folder / f"original.{data.draw(st.sampled_from(['csv', 'parquet']))}"
        write(cells, original)
        form = data.draw(st.sampled_from(["csv", "parquet"]))
        released = folder / f"released.{form}"
        rows = released_cells(
            original, schema, MODELS[model](k=k, l=diverse), folder, form, itself=data.draw(st.booleans())
        )
        typed = form == "parquet"
        changed = data.draw(changes(rows, plain_reader.read_file(original), kinds, typed=typed))
        try:
            write(changed, released)
        except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError):
            event("no such column")  # Arrow has one type for all cells
            return
        compare(original, released, plain, schema, model, k, diverse)


def released_cells(
    original: Path, schema: Schema, model: Model, folder: Path, form: Any, *, itself: bool
) -> Cells:
    """Return the release of a method, as it is written, or the original itself in its place."""
    frame = read_table(original)
    if not itself:
        try:
            path = anonymize(frame, schema, model, seed=1).save(folder / "release", format=form)
        except (InfeasibleError, InputError):  # k is above the number of records
            itself = True
        else:
            return plain_reader.read_file(path / f"release.{form}")
    found = plain_reader.read_file(original)
    del found["name"]
    return (
        found if form == "parquet" else {name: list(map(text_of, column)) for name, column in found.items()}
    )
