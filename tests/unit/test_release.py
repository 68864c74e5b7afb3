"""The release: shuffled, free of identifiers and indexes, in the flavour that went in, saved as a whole."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from shoal import InputError, InternalError, KAnonymity, Schema, anonymize, read_table
from shoal.auditing import released
from shoal.base.randomness import Randomness
from shoal.recoding import Recoding
from shoal.release import publish
from shoal.release import release as publishing
from shoal.release.saving import read_key, write_key
from shoal.samples import hospital
from shoal.table import Table

N = 600


def patients() -> pl.DataFrame:
    return hospital(N).with_row_index("serial").with_columns(pl.col("serial").cast(pl.Int64))


def schema_of(frame: Any) -> Schema:
    return Schema.infer(
        frame, quasi=["age", "sex", "admitted"], sensitive=["diagnosis"], drop=["patient", "name"]
    )


FLAVOURS = {"polars": lambda f: f, "pandas": lambda f: f.to_pandas(), "pyarrow": lambda f: f.to_arrow()}


@pytest.mark.parametrize("flavour", FLAVOURS)
def test_rows_come_in_a_fresh_random_order_each_time(flavour: str) -> None:
    frame = FLAVOURS[flavour](patients())
    orders = []
    for _ in range(3):
        release = anonymize(frame, schema_of(frame), KAnonymity(k=5))
        order = np.array(nw.from_native(release.table)["serial"].to_list())
        assert sorted(order) == list(range(N))
        assert (order == release.key).all()
        # A random permutation has about one fixed point and hardly any correlation with the original order.
        assert (order == np.arange(N)).sum() < 12
        assert abs(np.corrcoef(order, np.arange(N))[0, 1]) < 0.25
        orders.append(order)
    assert len({tuple(order) for order in orders}) == 3


def test_the_order_does_not_depend_on_the_classes() -> None:
    frame = patients()
    release = anonymize(frame, schema_of(frame), KAnonymity(k=5))
    boxes = release.recoding.box[release.order]
    neighbours = (boxes[1:] == boxes[:-1]).mean()
    assert neighbours < 0.1  # about one class in N / k, not rows class by class


def test_a_seed_repeats_the_release_and_is_told() -> None:
    frame = patients()
    one, two, three = (anonymize(frame, schema_of(frame), KAnonymity(k=5), seed=seed) for seed in (7, 7, 8))
    assert one.table.equals(two.table)
    assert not one.table.equals(three.table)
    assert one.certificate["seeded"] is True


def test_a_pandas_index_does_not_survive() -> None:
    frame = patients().to_pandas().set_index(pd.Index([f"secret-{i}" for i in range(N)], name="ssn"))
    released = anonymize(frame, schema_of(frame), KAnonymity(k=5)).table
    assert isinstance(released.index, pd.RangeIndex)
    assert released.index.name is None
    assert "ssn" not in released.columns


@pytest.mark.parametrize("flavour", FLAVOURS)
def test_carried_columns_keep_type_and_values(flavour: str) -> None:
    frame = FLAVOURS[flavour](patients())
    release = anonymize(frame, schema_of(frame), KAnonymity(k=5))
    assert type(release.table) is type(frame)
    before, after = nw.from_native(frame), nw.from_native(release.table)
    assert after.columns == [name for name in before.columns if name not in ("patient", "name")]
    for name in ("zip", "days", "diagnosis", "serial", "occupation"):
        assert after[name].dtype == before[name].dtype
        assert after[name].to_list() == [before[name].to_list()[i] for i in release.key]


def test_pyarrow_and_parquet_carry_typed_values(tmp_path: Path) -> None:
    frame = patients().to_arrow()
    release = anonymize(frame, schema_of(frame), KAnonymity(k=5))
    assert pa.types.is_struct(release.table.schema.field("age").type)
    assert pa.types.is_list(release.table.schema.field("sex").type) or pa.types.is_large_list(
        release.table.schema.field("sex").type
    )
    release.save(tmp_path / "out", format="parquet")
    saved = pl.read_parquet(tmp_path / "out" / "release.parquet")
    assert saved.schema["age"] == pl.Struct({"low": pl.Int64, "high": pl.Int64})
    assert saved.schema["admitted"] == pl.Struct({"low": pl.Date, "high": pl.Date})
    assert saved.schema["sex"] == pl.List(pl.String)


def test_what_is_saved_is_what_was_returned(tmp_path: Path) -> None:
    frame = patients()
    release = anonymize(frame, schema_of(frame), KAnonymity(k=5))
    folder = release.save(tmp_path / "new" / "out")
    assert read_table(folder / "release.csv").equals(release.table.cast(pl.String))
    certificate = json.loads((folder / "certificate.json").read_text())
    certificate.pop("files")
    assert certificate == json.loads(json.dumps(release.certificate))
    assert sorted(path.name for path in folder.iterdir()) == [
        "certificate.json",
        "codebook.json",
        "evidence.html",
        "release.csv",
        "report.html",
        "report.json",
    ]
    with pytest.raises(InputError, match="allow to overwrite"):
        release.save(folder)


def test_columns_of_lists_are_carried_and_written(tmp_path: Path) -> None:
    frame = pl.DataFrame({"age": [1, 1, 2, 2], "items": [["a", "b"], [], ["c"], None]})
    release = anonymize(frame, Schema.infer(frame, quasi=["age"]), KAnonymity(k=2))
    assert release.table.schema["items"] == pl.List(pl.String)
    release.save(tmp_path / "out")
    assert "a b" in read_table(tmp_path / "out" / "release.csv")["items"].to_list()


def test_left_out_records_are_counted_and_the_key_still_points_to_them() -> None:
    frame = pl.DataFrame({"age": [None, 1, 1, 2, 2, None], "serial": range(6)})
    schema = Schema.infer(frame, quasi=["age"], missing={"age": "suppress"})
    release = anonymize(frame, schema, KAnonymity(k=2))
    assert release.certificate["left_out"] == 2
    assert release.table["serial"].to_list() == release.key.tolist()
    assert sorted(release.key.tolist()) == [1, 2, 3, 4]


def test_a_method_that_breaks_its_promise_is_stopped_by_the_audit() -> None:
    frame = pl.DataFrame({"age": [1, 2, 3, 4]})
    table = Table.encode(frame, Schema.infer(frame, quasi=["age"]))
    recoding = Recoding.of_classes(table, np.array([0, 0, 1, 2], dtype=np.int32))
    with pytest.raises(InternalError, match="bug"):
        publish(recoding, KAnonymity(k=2), Randomness(), {"method": "broken"})


def test_unknown_methods_and_options_are_refused() -> None:
    frame = patients()
    with pytest.raises(InputError, match="did you mean 'mondrian'"):
        anonymize(frame, schema_of(frame), KAnonymity(k=5), method="mondriann")
    with pytest.raises(InputError, match="did you mean 'relaxed'"):
        anonymize(frame, schema_of(frame), KAnonymity(k=5), relaxd=True)


def test_progress_may_cancel_a_run() -> None:
    class CancelledError(Exception):
        pass

    def stop(stage: str, share: float) -> None:
        raise CancelledError(stage, share)

    frame = patients()
    with pytest.raises(CancelledError):
        anonymize(frame, schema_of(frame), KAnonymity(k=5), progress=stop)


@pytest.mark.parametrize("flavour", FLAVOURS)
def test_what_is_saved_was_rendered_audited_and_read_once(
    flavour: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls: list[str] = []
    for module, name in (
        (publishing, "published"),
        (publishing, "audit_table"),
        (released, "read_release"),
        (released, "encode_sensitive"),
        (released, "graph_of"),
    ):
        original = getattr(module, name)

        def counted(*given: Any, of: str = name, call: Any = original, **named: Any) -> Any:
            calls.append(of)
            return call(*given, **named)

        monkeypatch.setattr(module, name, counted)
    frame = FLAVOURS[flavour](patients())
    own = "parquet" if flavour == "pyarrow" else "csv"
    release = anonymize(frame, schema_of(frame), KAnonymity(k=5, l=2))
    assert len(release.table) == N
    for _ in range(2):
        release.save(tmp_path / "own", format=own, overwrite=True)
    once = ["published", "audit_table", "read_release", "graph_of", "encode_sensitive"]
    assert sorted(calls) == sorted(once)
    for _ in range(2):
        release.save(tmp_path / "other", format="csv" if own == "parquet" else "parquet", overwrite=True)
    assert sorted(calls) == sorted(2 * once)


def test_a_frame_that_its_owner_changes_is_not_what_is_saved(tmp_path: Path) -> None:
    frame = patients().to_pandas()
    release = anonymize(frame, schema_of(frame), KAnonymity(k=5))
    release.table["diagnosis"] = release.key.astype(str)
    release.save(tmp_path / "out")
    assert set(read_table(tmp_path / "out" / "release.csv")["diagnosis"]) <= set(frame["diagnosis"])


def test_a_key_is_read_as_it_was_written(tmp_path: Path) -> None:
    write_key(tmp_path / "key.csv", np.array([2, 0, 1]))
    assert read_key(tmp_path / "key.csv").tolist() == [2, 0, 1]
    head, *rows = (tmp_path / "key.csv").read_text().splitlines()
    (tmp_path / "key.csv").write_text("\n".join([head, *reversed(rows)]))  # the order of lines says nothing
    assert read_key(tmp_path / "key.csv").tolist() == [2, 0, 1]
    for text in (f"{head}\n1,one\n", f"{head}\n1,\n", f"{head}\n1,1.5\n", "row,record\n1,1\n"):
        (tmp_path / "key.csv").write_text(text)
        with pytest.raises(InputError, match="is not a key: it must have whole numbers in the columns"):
            read_key(tmp_path / "key.csv")
