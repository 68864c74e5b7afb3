"""An attacker reads the dictionaries of carried columns: their order, and values that were left out."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.feather as feather
import pyarrow.parquet as pq
import pytest

from shoal import KAnonymity, Schema, anonymize, anonymize_file

N = 60
SECRET = "HIV-positive-since-1994"


def notes() -> list[str]:
    return [f"note {(7 * i) % N:03} of a person" for i in range(N)]


def ages() -> list[int]:
    return [20 + i % 40 for i in range(N)]


def schema() -> Schema:
    return Schema.infer(pl.DataFrame({"age": [1], "note": ["a"]}), quasi=["age"])


def released(frame: Any) -> Any:
    return anonymize(frame, schema(), KAnonymity(k=5))


def test_the_indices_of_an_arrow_dictionary_are_not_the_key(tmp_path: Path) -> None:
    frame = pa.table({"age": ages(), "note": pa.array(notes()).dictionary_encode()})
    release = released(frame)
    pq.write_table(release.table, tmp_path / "a.parquet")
    feather.write_feather(release.table, str(tmp_path / "a.feather"))
    tables = (
        release.table,
        pq.read_table(tmp_path / "a.parquet"),
        feather.read_table(tmp_path / "a.feather"),
    )
    for table in tables:
        column = table["note"].combine_chunks()
        assert column.to_pylist() == [notes()[row] for row in release.key]
        if pa.types.is_dictionary(column.type):
            assert column.indices.to_pylist() != release.key.tolist()
    column = release.table["note"].combine_chunks()
    assert column.dictionary.to_pylist() == sorted(notes())


def test_a_dictionary_in_chunks_of_their_own_tells_nothing() -> None:
    halves = [pa.array(notes()[:31]).dictionary_encode(), pa.array(notes()[31:]).dictionary_encode()]
    release = released(
        pa.table({"age": pa.chunked_array([ages()[:7], ages()[7:]]), "note": halves_of(halves)})
    )
    assert release.table["note"].num_chunks == 1
    assert release.table["note"].chunk(0).dictionary.to_pylist() == sorted(notes())
    assert release.table["note"].to_pylist() == [notes()[row] for row in release.key]


def halves_of(halves: list[Any]) -> Any:
    return pa.chunked_array(halves)


@pytest.mark.parametrize("kind", ["categorical", "enum"])
def test_the_physical_codes_of_polars_are_not_the_key(kind: str) -> None:
    dtype = pl.Categorical() if kind == "categorical" else pl.Enum(notes())
    frame = pl.DataFrame({"age": ages(), "note": pl.Series(notes(), dtype=dtype)})
    release = released(frame)
    column = release.table["note"]
    assert column.cast(pl.String).to_list() == [notes()[row] for row in release.key]
    ranks = np.argsort(np.argsort(column.cast(pl.String).to_numpy()))
    assert column.to_physical().to_list() == ranks.tolist()
    again = pl.read_ipc(written_ipc(release.table))["note"]
    assert again.to_physical().to_list() == ranks.tolist()


@pytest.mark.parametrize("ordered", [False, True])
def test_the_codes_of_pandas_are_not_the_key(ordered: bool) -> None:
    note = pd.Categorical(notes(), categories=notes(), ordered=ordered)
    release = released(pd.DataFrame({"age": ages(), "note": note}))
    column = release.table["note"]
    assert list(column) == [notes()[row] for row in release.key]
    assert list(column.cat.categories) == sorted(notes())
    assert not column.cat.ordered
    said = release.certificate.get("notes", ())
    assert any("'note'" in note and "order" in note for note in said) == ordered


def written_ipc(frame: pl.DataFrame) -> io.BytesIO:
    file = io.BytesIO()
    frame.write_ipc(file)
    file.seek(0)
    return file


def with_one_left_out() -> pl.DataFrame:
    status = ["healthy", "ill"] * (N // 2 - 1) + [SECRET, "ill"]
    return pl.DataFrame(
        {
            "age": [*ages()[:-2], None, 30],
            "status": pl.Series(status, dtype=pl.Enum(["ill", SECRET, "healthy"])),
        }
    )


FLAVOURS = {
    "polars-enum": lambda f: f,
    "polars-categorical": lambda f: f.cast({"status": pl.Categorical}),
    "pandas": lambda f: pd.DataFrame(
        {"age": f["age"].to_list(), "status": pd.Categorical(f["status"].to_list())}
    ),
    "pandas-arrow": lambda f: pd.DataFrame(
        {
            "age": f["age"].to_list(),
            "status": pd.array(
                f["status"].to_list(), dtype=pd.ArrowDtype(pa.dictionary(pa.int32(), pa.string()))
            ),
        }
    ),
    "pyarrow": lambda f: pa.table(
        {"age": f["age"].to_list(), "status": pa.array(f["status"].to_list()).dictionary_encode()}
    ),
}


def bytes_of(table: Any) -> bytes:
    """Return a table as others may write it."""
    if isinstance(table, pl.DataFrame):
        return written_ipc(table).getvalue()
    if isinstance(table, pd.DataFrame):
        import pickle

        return pickle.dumps(table)
    sink = pa.BufferOutputStream()
    with pa.ipc.new_file(sink, table.schema) as writer:
        writer.write_table(table)
    return bytes(sink.getvalue())


@pytest.mark.parametrize("flavour", FLAVOURS)
@pytest.mark.parametrize("role", ["sensitive", "other"])
def test_the_value_of_a_person_who_is_left_out_stays_out(flavour: str, role: str, tmp_path: Path) -> None:
    frame = FLAVOURS[flavour](with_one_left_out())
    sensitive = ["status"] if role == "sensitive" else []
    described = Schema.infer(frame, quasi=["age"], sensitive=sensitive, missing={"age": "suppress"})
    release = anonymize(frame, described, KAnonymity(k=5))
    assert release.certificate["left_out"] == 1
    assert SECRET.encode() not in bytes_of(release.table)
    for form in ("csv", "parquet"):
        folder = release.save(tmp_path / form, format=form)
        for file in folder.iterdir():
            assert SECRET.encode() not in file.read_bytes(), file.name
    saved = pl.read_parquet(tmp_path / "parquet" / "release.parquet")
    assert saved.schema["status"] == pl.Enum(["healthy", "ill"])


def test_the_value_of_a_withheld_person_stays_out() -> None:
    from shoal import KOne

    status = pd.Categorical([f"status {i}" for i in range(N)])
    frame = pd.DataFrame({"age": ages(), "status": status})
    release = anonymize(frame, Schema.infer(frame, quasi=["age"]), KOne(k=3, withhold=0.2))
    assert release.certificate["withheld"] > 0
    assert set(release.table["status"].cat.categories) == set(release.table["status"])


def test_blocks_write_no_value_of_a_person_who_is_left_out(tmp_path: Path) -> None:
    frame = pl.concat([with_one_left_out()] * 4)
    frame.write_parquet(tmp_path / "in.parquet")
    described = Schema.infer(frame, quasi=["age"], missing={"age": "suppress"})
    anonymize_file(
        tmp_path / "in.parquet",
        described,
        KAnonymity(k=2),
        tmp_path / "out",
        format="parquet",
        block_rows=120,
        jobs=1,
    )
    saved = pl.read_parquet(tmp_path / "out" / "release.parquet")
    assert saved.schema["status"] == pl.Enum(["healthy", "ill"])
    assert saved.height == 4 * N - 4
    for file in (tmp_path / "out").iterdir():
        assert SECRET.encode() not in file.read_bytes(), file.name
    assert "'status'" in str(json.loads((tmp_path / "out" / "certificate.json").read_text())["notes"])


def test_dictionaries_inside_lists_and_structs_become_plain_values() -> None:
    status = with_one_left_out()["status"]
    frame = pl.DataFrame(
        {
            "age": with_one_left_out()["age"],
            "lists": status.reshape((N, 1)).arr.to_list(),
            "structs": pl.DataFrame({"status": status}).to_struct(),
        }
    )
    described = Schema.infer(frame, quasi=["age"], missing={"age": "suppress"})
    release = anonymize(frame, described, KAnonymity(k=5))
    kept = status.cast(pl.String).to_list()
    assert release.table.schema["lists"] == pl.List(pl.String)
    assert release.table["lists"].to_list() == [[kept[row]] for row in release.key]
    assert release.table["structs"].to_list() == [{"status": kept[row]} for row in release.key]
    assert SECRET.encode() not in bytes_of(release.table)
    arrow = frame.to_arrow()
    inside = arrow.schema.field("structs").type.field(0).type
    assert pa.types.is_dictionary(inside)
    table = anonymize(arrow, described, KAnonymity(k=5)).table
    assert SECRET.encode() not in bytes_of(table)
    assert not pa.types.is_dictionary(table.schema.field("structs").type.field(0).type)
