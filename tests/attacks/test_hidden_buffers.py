"""An attacker reads the memory behind a released table: shared buffers, and values that hide under nulls."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from shoal import KAnonymity, Schema, anonymize

N = 40
SECRET = "the only one who has this long text"
NUMBER = 7_234_567_890_123


def ipc(table: Any) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_file(sink, table.schema) as writer:
        writer.write_table(table)
    return bytes(sink.getvalue()) + pickle.dumps(table)


def polars_bytes(frame: pl.DataFrame) -> bytes:
    import io

    file = io.BytesIO()
    frame.write_ipc(file, compression="uncompressed")
    return file.getvalue() + pickle.dumps(frame)


def clean(data: bytes) -> bool:
    return SECRET.encode() not in data and NUMBER.to_bytes(8, "little") not in data


def texts() -> list[str]:
    return [f"a long text of one record, number {i:02}" for i in range(N - 1)] + [SECRET]


def ages(last: int | None) -> list[int | None]:
    return [20 + i % 8 for i in range(N - 1)] + [last]


def released(frame: Any) -> Any:
    described = Schema.infer(frame, quasi=["age"], missing={"age": "suppress"})
    return anonymize(frame, described, KAnonymity(k=4)).table


def test_polars_text_shares_no_buffer_with_people_who_are_left_out() -> None:
    frame = pl.DataFrame({"age": ages(None), "text": texts(), "raw": [t.encode() for t in texts()]})
    frame = frame.with_columns(list=pl.concat_list("text"), struct=pl.struct("text"))
    table = released(frame)
    assert len(table) == N - 1
    assert clean(polars_bytes(table))


def test_polars_has_nothing_under_nulls() -> None:
    frame = pl.DataFrame({"age": ages(20), "text": texts(), "number": [1] * (N - 1) + [NUMBER]})
    hidden = frame.with_columns(
        pl.when(pl.col("text") != SECRET).then(pl.col("text")).alias("text"),
        pl.when(pl.col("number") != NUMBER).then(pl.col("number")).alias("number"),
        pl.when(pl.col("text") != SECRET).then(pl.struct("text", "number")).alias("struct"),
        pl.when(pl.col("text") != SECRET).then(pl.concat_list("text")).alias("list"),
        pl.when(pl.col("text") != SECRET).then(pl.concat_list("number").list.to_array(1)).alias("array"),
    )
    table = released(hidden)
    assert table["number"].null_count() == table["struct"].null_count() == table["array"].null_count() == 1
    assert clean(polars_bytes(table))
    assert sorted(map(str, table.drop("age").rows())) == sorted(map(str, hidden.drop("age").rows()))


def hiding(array: Any) -> Any:
    """Return an array whose last value is null, and still there in its buffer."""
    valid = np.packbits([1] * (len(array) - 1) + [0], bitorder="little").tobytes()
    return pa.Array.from_buffers(array.type, len(array), [pa.py_buffer(valid), *array.buffers()[1:]])


@pytest.mark.parametrize("flavour", ["pyarrow", "pandas"])
def test_arrow_has_nothing_under_nulls(flavour: str) -> None:
    text, number = pa.array(texts()), pa.array([1] * (N - 1) + [NUMBER])
    mask = pa.array([False] * (N - 1) + [True])
    lists = pa.ListArray.from_arrays(pa.array(range(N + 1), pa.int32()), text)
    columns = {
        "text": hiding(text),
        "number": hiding(number),
        "struct": pa.StructArray.from_arrays([text, number], ["text", "number"], mask=mask),
        "list": pa.ListArray.from_arrays(pa.array(range(N + 1), pa.int32()), text, mask=mask),
        "fixed": pa.FixedSizeListArray.from_arrays(number, 1, mask=mask),
        "deep": pa.StructArray.from_arrays([lists], ["lists"], mask=mask),
        "map": pa.StructArray.from_arrays(
            [pa.MapArray.from_arrays(pa.array(range(N + 1), pa.int32()), text, number)], ["map"], mask=mask
        ),
    }
    table = pa.table({"age": ages(20), **columns})
    assert not clean(ipc(table))
    frame: Any = table
    if flavour == "pandas":
        frame = pd.DataFrame(
            {name: pd.Series(pd.arrays.ArrowExtensionArray(table[name])) for name in table.column_names}
        )
    result = released(frame)
    if flavour == "pandas":
        assert clean(pickle.dumps(result))
        result = pa.table({name: pa.array(result[name]) for name in result.columns})
    assert clean(ipc(result))
    before, after = table.drop_columns("age").to_pylist(), result.drop_columns("age").to_pylist()
    assert sorted(map(str, after)) == sorted(map(str, before))


def test_an_arrow_table_that_is_part_of_a_larger_one_brings_nothing_along() -> None:
    table = pa.table({"age": ages(20), "text": texts(), "list": [[t] for t in texts()]})
    part = table.slice(0, N - 1)
    assert clean(ipc(released(part)))


def test_pandas_has_nothing_under_masks() -> None:
    frame = pd.DataFrame(
        {
            "age": ages(20),
            "number": pd.array([1] * (N - 1) + [NUMBER], dtype="Int64"),
            "share": pd.array([0.5] * (N - 1) + [float(NUMBER)], dtype="Float64"),
            "flag": pd.array([False] * (N - 1) + [True], dtype="boolean"),
            "text": texts(),
        }
    )
    frame.loc[N - 1, ["number", "share", "flag", "text"]] = pd.NA
    assert NUMBER.to_bytes(8, "little") in pickle.dumps(frame)
    table = released(frame)
    assert clean(pickle.dumps(table))
    assert np.float64(NUMBER).tobytes() not in pickle.dumps(table)
    assert table["flag"].array._data.sum() == 0
    assert [str(table[name].dtype) for name in ("number", "share", "flag")] == ["Int64", "Float64", "boolean"]
    assert table["number"].isna().sum() == 1
