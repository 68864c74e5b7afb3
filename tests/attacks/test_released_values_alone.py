"""An attacker compares the bytes of releases of inputs that differ in nothing that is released."""

from __future__ import annotations

import io
import pickle
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.feather as feather
import pyarrow.parquet as pq
import pytest
from examples import examples
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from shoal import KAnonymity, Missing, Schema, read_table
from shoal.base.randomness import Randomness
from shoal.files.writing import write_csv, write_parquet
from shoal.recoding import Recoding
from shoal.release import Release, publish
from shoal.table import Table

TEXTS = st.none() | st.text("abcä \x00", max_size=20)
COLUMNS = ("age", "serial", "note", "group", "tags")


@dataclass(frozen=True)
class Variation:
    """What may be different about an input with the same records to release: no value of them."""

    order: list[int]  # of all records
    left_out: list[tuple[str | None, str | None]]  # note and group of people without an age
    more: list[str]  # categories that no record has
    backwards: bool  # whether dictionaries are listed in descending order
    chunks: int
    said: str  # metadata


@dataclass(frozen=True)
class Input:
    """Records to release, two for each age, and one of the inputs that have them."""

    notes: list[str | None]
    groups: list[str | None]
    variation: Variation

    @property
    def columns(self) -> dict[str, list[Any]]:
        count, others = len(self.notes), self.variation.left_out
        notes = [*self.notes, *(note for note, _ in others)]
        everybody = {
            "age": [*(i // 2 for i in range(count)), *(None for _ in others)],
            "serial": list(range(len(notes))),
            "note": notes,
            "group": [*self.groups, *(group for _, group in others)],
            "tags": [None if note is None else [note, None, "end"] for note in notes],
        }
        return {name: [cells[i] for i in self.variation.order] for name, cells in everybody.items()}

    def categories(self, name: str) -> list[str]:
        found = {cell for cell in self.columns[name] if cell is not None}
        return sorted({*found, *self.variation.more}, reverse=self.variation.backwards)


@st.composite
def pairs(draw: st.DrawFn) -> tuple[Input, Input]:
    count = 2 * draw(st.integers(1, 4))
    notes = draw(st.lists(TEXTS, min_size=count, max_size=count))
    groups = draw(st.lists(st.none() | st.sampled_from("xyz"), min_size=count, max_size=count))

    def variation() -> Variation:
        left_out = draw(st.lists(st.tuples(TEXTS, TEXTS), max_size=3))
        return Variation(
            order=draw(st.permutations(range(count + len(left_out)))),
            left_out=left_out,
            more=draw(st.lists(st.text("abcxyz", min_size=1, max_size=20), max_size=3)),
            backwards=draw(st.booleans()),
            chunks=draw(st.integers(1, 3)),
            said=draw(st.text("abc", max_size=5)),
        )

    return Input(notes, groups, variation()), Input(notes, groups, variation())


def polars(given: Input, kind: str) -> pl.DataFrame:
    frame = pl.DataFrame(
        {name: pl.Series(cells, dtype=_TYPES[name]) for name, cells in given.columns.items()}
    )
    if kind == "categorical":
        frame = frame.cast({"note": pl.Categorical, "group": pl.Categorical, "tags": pl.List(pl.Categorical)})
    if kind == "enum":
        frame = frame.cast({name: pl.Enum(given.categories(name)) for name in ("note", "group")})
    cut = len(frame) // given.variation.chunks
    return pl.concat([frame.head(cut), frame.tail(len(frame) - cut)], rechunk=False)


_TYPES: dict[str, Any] = {
    "age": pl.Int64,
    "serial": pl.Int64,
    "note": pl.String,
    "group": pl.String,
    "tags": pl.List(pl.String),
}


def pandas(given: Input, kind: str) -> pd.DataFrame:
    columns: dict[str, Any] = dict(given.columns)
    columns["age"] = pd.array(columns["age"], dtype="Int64")
    for name in ("note", "group"):
        columns[name] = pd.array(columns[name], dtype="str")
    if kind in ("categorical", "ordered"):
        for name in ("note", "group"):
            kinds = pd.Index(given.categories(name), dtype="str", name=given.variation.said)
            columns[name] = pd.Categorical(columns[name], categories=kinds, ordered=kind == "ordered")
    columns["tags"] = pd.array(columns["tags"], dtype=pd.ArrowDtype(pa.list_(pa.string())))
    frame = pd.DataFrame(columns)
    frame.attrs["said"] = given.variation.said
    if kind == "index":
        frame.index = pd.Index([f"{given.variation.said}{i}" for i in range(len(frame))])
        frame.columns.name = given.variation.said
    return frame


def pyarrow(given: Input, kind: str) -> pa.Table:
    columns = {name: pa.array(cells, _ARROW[name]) for name, cells in given.columns.items()}
    if kind == "dictionary":
        for name in ("note", "group"):
            known = given.categories(name)
            places = [None if cell is None else known.index(cell) for cell in given.columns[name]]
            width = pa.int8() if given.variation.backwards else pa.int64()
            columns[name] = pa.DictionaryArray.from_arrays(
                pa.array(places, width), pa.array(known, pa.string())
            )
    if kind == "views":
        columns["note"] = columns["note"].cast(pa.string_view())
    said = {"said": given.variation.said}
    fields = [pa.field(name, column.type, metadata=said) for name, column in columns.items()]
    table = pa.table(list(columns.values()), schema=pa.schema(fields, metadata=said))
    if kind == "pandas":
        table = pa.Table.from_pandas(pandas(given, "index"))
    cut = len(table) // given.variation.chunks
    return pa.concat_tables([table.slice(0, cut), table.slice(cut)])


_ARROW: dict[str, Any] = {
    "age": pa.int64(),
    "serial": pa.int64(),
    "note": pa.string(),
    "group": pa.string(),
    "tags": pa.list_(pa.string()),
}


def in_file(given: Input, ending: str) -> pl.DataFrame:
    """Return an input as it is read from a file that another program wrote."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, f"table{ending}")
        if ending == ".csv":
            plain = (
                polars(given, "plain")
                .drop("tags")
                .with_columns(pl.col(pl.String).str.replace_all("\x00", ""))
            )
            plain.write_csv(file)
        elif ending == ".parquet":
            pq.write_table(pyarrow(given, "dictionary"), file)
        elif ending == ".feather":
            feather.write_feather(pyarrow(given, "pandas"), str(file))
        else:
            polars(given, "enum").write_ipc(file)
        return read_table(file)


FLAVOURS: dict[str, Callable[[Input], Any]] = {
    **{f"polars {kind}": lambda g, kind=kind: polars(g, kind) for kind in ("plain", "categorical", "enum")},
    **{
        f"pandas {kind}": lambda g, kind=kind: pandas(g, kind)
        for kind in ("plain", "index", "categorical", "ordered")
    },
    **{
        f"pyarrow {kind}": lambda g, kind=kind: pyarrow(g, kind)
        for kind in ("plain", "dictionary", "views", "pandas")
    },
    **{
        f"file {end}": lambda g, end=end: in_file(g, end)
        for end in (".csv", ".parquet", ".feather", ".arrow")
    },
}


class InOrder(Randomness):
    """Lists the rows by the serial number of their records, instead of at random."""

    def __init__(self, serials: Any) -> None:
        super().__init__(0)
        self._order = np.argsort(np.array(serials, dtype=np.int64)).astype(np.int64)

    def permutation(self, count: int) -> NDArray[np.int64]:
        assert count == len(self._order)
        return self._order


def release_of(frame: Any) -> Release:
    schema = Schema.infer(frame, quasi=["age"], missing={"age": "suppress"}, kinds={"age": "numeric"})
    schema = schema.changed("age", missing=Missing.SUPPRESS)
    table = Table.encode(frame, schema)
    recoding = Recoding.of_classes(table, table.attributes[0].codes)
    return publish(recoding, KAnonymity(k=2), InOrder(table.frame["serial"].to_list()), {"method": "none"})


def bytes_of(release: Release) -> dict[str, bytes]:
    """Return a release as its owner may write it."""
    table = release.table
    written: dict[str, bytes] = {"pickle": pickle.dumps(table)}
    file = io.BytesIO()
    if isinstance(table, pl.DataFrame):
        table.write_ipc(file, compression="uncompressed")
    elif isinstance(table, pd.DataFrame):
        table.to_parquet(file)
    else:
        feather.write_feather(table, file, compression="uncompressed")
        sink = io.BytesIO()
        pq.write_table(table, sink)
        written["parquet"] = sink.getvalue()
    written["file"] = file.getvalue()
    with tempfile.TemporaryDirectory() as folder:
        write_csv(release.written("csv"), Path(folder, "release.csv"))
        write_parquet(release.written("parquet"), Path(folder, "release.parquet"))
        written |= {file.name: file.read_bytes() for file in Path(folder).iterdir()}
    return written


@pytest.mark.parametrize("flavour", FLAVOURS)
@given(pair=pairs())
@examples(12)
def test_a_release_is_a_function_of_the_released_values(flavour: str, pair: tuple[Input, Input]) -> None:
    one, two = (bytes_of(release_of(FLAVOURS[flavour](each))) for each in pair)
    assert one.keys() == two.keys()
    for name in one:
        assert one[name] == two[name], name


@pytest.mark.parametrize("flavour", FLAVOURS)
@given(pair=pairs())
@examples(5)
def test_the_released_values_are_those_of_the_records(flavour: str, pair: tuple[Input, Input]) -> None:
    frame = FLAVOURS[flavour](pair[0])
    released = release_of(frame).written("parquet")
    rows = {row["serial"]: row for row in pl.DataFrame(frame).to_dicts()}
    for row in released.drop("age").to_dicts():
        assert row == {name: rows[row["serial"]][name] for name in row}
