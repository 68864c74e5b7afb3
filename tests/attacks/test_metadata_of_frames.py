"""An attacker reads what travels beside the columns: schema metadata, the index of pandas, attributes."""

from __future__ import annotations

import json
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

from shoal import InputError, KAnonymity, Schema, anonymize, anonymize_file
from shoal.engines.scanning import scan

N = 40
SECRET = "names of everybody in the study"


def people() -> pd.DataFrame:
    return pd.DataFrame(
        {"age": [20 + i % 8 for i in range(N)], "note": [f"n{i % 5}" for i in range(N)]},
        index=[f"patient {i:02}" for i in range(N)],
    )


def released(frame: Any) -> Any:
    return anonymize(frame, Schema.infer(frame, quasi=["age"]), KAnonymity(k=4))


def test_no_metadata_of_an_arrow_table_is_copied() -> None:
    inner = pa.struct([pa.field("x", pa.int64(), metadata={"inner": SECRET})])
    fields = [
        pa.field("age", pa.int64(), metadata={"age": SECRET}),
        pa.field("note", pa.string(), metadata={"note": SECRET}),
        pa.field("deep", inner),
        pa.field("list", pa.list_(pa.field("item", pa.int64(), metadata={"list": SECRET}))),
    ]
    rows = [{"age": 20 + i % 8, "note": "a", "deep": {"x": i}, "list": [i]} for i in range(N)]
    table = pa.Table.from_pylist(rows, schema=pa.schema(fields, metadata={"study": SECRET, "pandas": "{}"}))
    result = released(table).table
    assert result.schema.metadata is None
    assert SECRET.encode() not in result.schema.serialize().to_pybytes()


def test_a_release_of_a_pandas_table_in_arrow_can_be_read_by_pandas() -> None:
    frame = people().drop(columns="note").reset_index(drop=True)
    for table in (pa.Table.from_pandas(frame), pa.Table.from_pandas(people())):
        back = released(table).table.to_pandas()
        assert len(back) == N
        assert isinstance(back.index, pd.RangeIndex)


@pytest.mark.parametrize("flavour", ["pyarrow", "polars", "infer", "schema"])
def test_the_index_of_pandas_is_not_a_column_of_the_release(flavour: str) -> None:
    table = pa.Table.from_pandas(people())
    assert "__index_level_0__" in table.column_names
    frame = pl.DataFrame(table) if flavour == "polars" else table
    described = Schema.infer(frame, quasi=["age"])
    if flavour == "schema":
        described = Schema((described["age"],))
    release = anonymize(frame, described, KAnonymity(k=4))
    names = list(release.written("csv").columns)
    assert names == ["age", "note"]
    assert any("__index_level_0__" in note for note in release.certificate["notes"])


def test_the_index_of_pandas_stays_out_of_blocks(tmp_path: Path) -> None:
    people().to_parquet(tmp_path / "in.parquet")
    described = Schema.infer(pl.DataFrame({"age": [1]}), quasi=["age"])
    anonymize_file(
        tmp_path / "in.parquet", described, KAnonymity(k=2), tmp_path / "out", format="parquet", jobs=1
    )
    out = tmp_path / "out" / "release.parquet"
    assert pl.read_parquet(out).columns == ["age", "note"]
    assert b"patient 07" not in out.read_bytes()
    assert set(pq.read_metadata(out).metadata or {}) <= {b"ARROW:schema"}
    said = json.loads((tmp_path / "out" / "certificate.json").read_text())
    assert any("__index_level_0__" in note for note in said["notes"])


def test_an_index_that_is_given_a_role_keeps_it() -> None:
    frame = pl.DataFrame(pa.Table.from_pandas(people()))
    described = Schema.infer(frame, quasi=["age"], sensitive=["__index_level_0__"])
    release = anonymize(frame, described, KAnonymity(k=4))
    assert "__index_level_0__" in release.table.columns
    assert "notes" not in release.certificate


def test_a_scan_suggests_to_drop_the_index_of_pandas() -> None:
    found = scan(pl.DataFrame(pa.Table.from_pandas(people())))
    assert found.schema["__index_level_0__"].role == "identifier"


def test_pandas_attributes_and_names_of_indexes_are_not_copied() -> None:
    frame = people()
    frame.attrs["study"] = SECRET
    frame.columns.name = SECRET
    frame.index.name = SECRET
    frame["note"] = pd.Categorical(
        frame["note"], categories=pd.Index(sorted(set(frame["note"])), name=SECRET)
    )
    frame["note"].attrs["study"] = SECRET
    table = released(frame).table
    assert table.attrs == {}
    assert table.columns.name is None
    assert SECRET.encode() not in pickle.dumps(table)
    assert b"patient 07" not in pickle.dumps(table)


def test_extension_types_bring_no_metadata() -> None:
    class Tagged(pa.ExtensionType):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__(pa.int64(), "tests.tagged")

        def __arrow_ext_serialize__(self) -> bytes:
            return SECRET.encode()

        @classmethod
        def __arrow_ext_deserialize__(cls, storage_type: Any, serialized: bytes) -> Any:
            return cls()

    tagged = pa.ExtensionArray.from_storage(Tagged(), pa.array(np.arange(N)))
    table = pa.table({"age": [20 + i % 8 for i in range(N)], "tag": tagged})
    release = anonymize(table, Schema.infer(table.select(["age"]), quasi=["age"]), KAnonymity(k=4))
    assert release.table["tag"].to_pylist() == release.key.tolist()
    assert SECRET.encode() not in release.table.schema.serialize().to_pybytes()


def test_the_chunks_of_a_table_do_not_survive() -> None:
    table = pa.Table.from_pandas(people().reset_index(drop=True))
    parts = pa.concat_tables([table.slice(0, 3), table.slice(3, 20), table.slice(23)])
    result = released(parts).table
    assert [column.num_chunks for column in result.columns] == [1, 1]
    frame = pl.concat([pl.DataFrame(table).head(3), pl.DataFrame(table).tail(N - 3)], rechunk=False)
    assert released(frame).table.n_chunks() == 1


def test_every_type_of_arrow_comes_through_or_is_refused() -> None:
    number = pa.array(range(N))
    text = pa.array([f"t{i}" for i in range(N)])
    columns = {
        "view": text.cast(pa.string_view()),
        "runs": pc.run_end_encode(text),
        "lists of views": pa.array([[f"t{i}"] for i in range(N)], pa.list_(pa.string_view())),
        "structs of views": pa.array([{"x": "a"}] * N, pa.struct([("x", pa.string_view())])),
        "list view": pa.array([[i] for i in range(N)], pa.list_view(pa.int64())),
        "time": number.cast(pa.timestamp("ns", "UTC")),
        "duration": number.cast(pa.duration("us")),
        "decimal": number.cast(pa.decimal128(25, 2)),
        "null": pa.nulls(N),
        "bytes": pa.array([b"1234"] * N, pa.binary(4)),
        "booleans": pa.array([True, None] * (N // 2)).dictionary_encode(),
        "numbers": pa.array([1.5, None] * (N // 2)).dictionary_encode(),
        "empty": pa.array([{}] * N, pa.struct([])),
    }
    table = pa.table({"age": [20 + i % 8 for i in range(N)], **columns})
    schema = Schema.infer(table.select(["age"]), quasi=["age"])
    release = anonymize(table, schema, KAnonymity(k=4))
    for name, column in columns.items():
        assert release.table[name].to_pylist() == [column[int(row)].as_py() for row in release.key], name
    ids, places = pa.array([0] * N, pa.int8()), pa.array(range(N), pa.int32())
    union = pa.UnionArray.from_dense(ids, places, [number])
    with pytest.raises(InputError, match="'union' is of a type"):
        anonymize(pa.table({"age": table["age"], "union": union}), schema, KAnonymity(k=4))


def test_every_type_of_polars_comes_through() -> None:
    frame = pl.DataFrame({"age": [20 + i % 8 for i in range(N)], "n": range(N)}).with_columns(
        bits=pl.col("n") % 2 == 0,
        time=pl.col("n").cast(pl.Datetime("ns", "UTC")),
        day=pl.col("n").cast(pl.Int32).cast(pl.Date),
        clock=pl.col("n").cast(pl.Time),
        duration=pl.col("n").cast(pl.Duration("ms")),
        decimal=pl.col("n").cast(pl.Decimal(20, 2)),
        nothing=pl.lit(None),
        no_text=pl.lit(None, pl.String),
        raw=pl.col("n").cast(pl.String).cast(pl.Binary),
        some=pl.when(pl.col("n") % 3 > 0).then("n"),
        lists=pl.when(pl.col("n") % 3 > 0).then(pl.concat_list("n", pl.lit(None, pl.Int64))),
        empty=pl.when(pl.col("n") % 3 > 0).then(pl.lit([], pl.List(pl.String))),
        deep=pl.concat_list(pl.struct(pl.col("n").cast(pl.String), pl.concat_list("n").alias("m"))),
        array=pl.when(pl.col("n") % 3 > 0).then(pl.concat_list("n", "n").list.to_array(2)),
        grid=pl.concat_list("n", "n", "n", "n").list.to_array(4).reshape((-1, 2, 2)),
        wide=pl.col("n").cast(pl.Int128),
        kind=pl.concat_str(pl.lit("k"), pl.col("n") % 4).cast(pl.Categorical),
    )
    release = anonymize(frame, Schema.infer(frame.select("age"), quasi=["age"]), KAnonymity(k=4))
    for name in frame.columns[1:]:
        assert release.table[name].to_list() == frame[name].gather(release.key).to_list(), name
        if name != "kind":
            assert release.table[name].dtype == frame[name].dtype
        if frame[name].null_count() < N:
            assert not release.table[name].flags["SORTED_ASC"], name


def test_every_type_of_pandas_comes_through() -> None:
    days = pd.date_range("2020-01-01", periods=N, freq="D")
    frame = pd.DataFrame(
        {
            "age": [20 + i % 8 for i in range(N)],
            "day": days,
            "zone": days.tz_localize("Europe/Paris"),
            "period": days.to_period("D"),
            "interval": pd.interval_range(0, N),
            "cut": pd.cut(range(N), 4),
            "sparse": pd.arrays.SparseArray([0] * (N - 1) + [1]),
            "mixed": [1, "a"] * (N // 2),
            "mixed categories": pd.Categorical([1, "a"] * (N // 2)),
            "numbers": pd.Categorical.from_codes([i % 4 for i in range(N)], pd.RangeIndex(9)),
            "python": pd.array(["a", None] * (N // 2), dtype=pd.StringDtype("python")),
            "objects": [{"a": [i]} for i in range(N)],
        }
    )
    release = anonymize(frame, Schema.infer(frame[["age"]], quasi=["age"]), KAnonymity(k=4))
    for name in frame.columns[1:]:
        expected = frame[name].iloc[release.key].astype(object).reset_index(drop=True)
        assert release.table[name].astype(object).equals(expected), name
        if name not in ("sparse", "cut", "mixed categories", "numbers"):
            assert release.table[name].dtype == frame[name].dtype
    assert list(release.table["numbers"].cat.categories) == [0, 1, 2, 3]
