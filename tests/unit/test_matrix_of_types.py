"""Every library x every common type: as a quasi-identifier and carried along, out again, nothing leaked."""

from __future__ import annotations

import datetime as dt
import random
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import narwhals.stable.v2 as nw
import pandas as pd
import polars as pl
import pytest

import shoal
from shoal.files.writing import write_csv

N = 24
UTC = dt.UTC
DAY = dt.date(2024, 1, 1)
CELLS: dict[str, tuple[pl.DataType, list[Any], str | None]] = {
    # the type, two different values, and the kind as a quasi-identifier (None: refused with a remedy)
    "int8": (pl.Int8(), [1, 2], "numeric"),
    "int64": (pl.Int64(), [10**12, 10**12 + 5], "numeric"),
    "uint32": (pl.UInt32(), [7, 9], "numeric"),
    "float64": (pl.Float64(), [1.5, 2.25], "numeric"),
    "float32": (pl.Float32(), [1.5, 2.5], "numeric"),
    "decimal": (pl.Decimal(10, 2), [Decimal("1.10"), Decimal("2.20")], "numeric"),
    "boolean": (pl.Boolean(), [True, False], "categorical"),
    "text": (pl.String(), ["red", "blue"], "categorical"),
    "categorical": (pl.Categorical(), ["red", "blue"], "categorical"),
    "enum": (pl.Enum(["low", "high", "unused"]), ["low", "high"], "ordinal"),
    "date": (pl.Date(), [DAY, dt.date(2024, 3, 1)], "date"),
    "datetime": (pl.Datetime("us"), [dt.datetime(2024, 1, 1, 10), dt.datetime(2024, 3, 1)], "date"),
    "zoned": (
        pl.Datetime("us", "UTC"),
        [dt.datetime(2024, 1, 1, 10, tzinfo=UTC), dt.datetime(2024, 3, 1, tzinfo=UTC)],
        "date",
    ),
    "time": (pl.Time(), [dt.time(10, 30), dt.time(11)], "time"),
    "duration": (pl.Duration("us"), [dt.timedelta(hours=1), dt.timedelta(hours=2)], None),
    "list": (pl.List(pl.String()), [["a"], ["a", "b"]], "items"),
}
FLAVOURS = ["polars", "pandas", "pandas nullable", "pandas objects", "pyarrow", "duckdb"]


def column(name: str, missing: bool) -> pl.Series:
    dtype, values, _ = CELLS[name]
    cells = [values[place % 2] for place in range(N)]
    if missing:
        cells[::6] = [None] * len(cells[::6])
    return pl.Series("x", cells, dtype=dtype)


def frame_of(flavour: str, frame: pl.DataFrame) -> Any:
    if flavour == "polars":
        return frame
    if flavour == "pandas":
        return frame.to_pandas()
    if flavour == "pandas nullable":
        return frame.to_pandas(use_pyarrow_extension_array=True)
    if flavour == "pandas objects":  # as tables come from SQL
        return pd.DataFrame({name: pd.Series(frame[name].to_list(), dtype=object) for name in frame.columns})
    if flavour == "pyarrow":
        return frame.to_arrow()
    return pytest.importorskip("duckdb").from_arrow(frame.to_arrow())


def values_of(frame: Any) -> list[str]:
    """Return the values of the column x, as texts in ascending order, for any library."""
    data = nw.from_native(frame)
    data = data.collect() if isinstance(data, nw.LazyFrame) else data
    cells = nw.from_native(data.to_native())["x"].to_list()
    return sorted("missing" if _is_missing(cell) else _plain(cell) for cell in cells)


def _is_missing(cell: Any) -> bool:
    return cell is None or (
        not isinstance(cell, list) and bool(pd.api.types.is_scalar(cell) and pd.isna(cell))
    )


def _plain(cell: Any) -> str:
    if isinstance(cell, pd.Timestamp | pd.Timedelta):
        cell = cell.to_pydatetime() if isinstance(cell, pd.Timestamp) else cell.to_pytimedelta()
    if isinstance(cell, dt.datetime):
        return cell.replace(tzinfo=None).isoformat()
    if isinstance(cell, float):
        return str(int(cell)) if cell.is_integer() else str(cell)
    return str(list(cell)) if hasattr(cell, "__len__") and not isinstance(cell, str) else str(cell)


SAME: dict[str, Callable[[Any], Any]] = {
    "polars": lambda frame: frame.schema["x"],
    "pandas": lambda frame: frame["x"].dtype,
    "pyarrow": lambda frame: frame.schema.field("x").type,
}


@pytest.mark.parametrize("missing", [False, True])
@pytest.mark.parametrize("flavour", FLAVOURS)
@pytest.mark.parametrize("name", CELLS)
def test_carried_along(name: str, flavour: str, missing: bool) -> None:
    secret = random.Random(name).sample(range(10**6, 10**7), N)
    base = pl.DataFrame({"age": [30 + place % 3 for place in range(N)], "who": [f"id-{n}" for n in secret]})
    given = frame_of(flavour, base.with_columns(column(name, missing)))
    schema = shoal.Schema.infer(given, quasi=["age"], drop=["who"])
    release = shoal.anonymize(given, schema, shoal.KAnonymity(k=4))
    assert values_of(release.table) == values_of(given)
    if flavour in SAME and name not in ("categorical", "enum"):
        assert SAME[flavour](release.table) == SAME[flavour](given)
    if (name, flavour) == ("duration", "duckdb"):  # intervals of months, days and nanoseconds
        with pytest.raises(shoal.InputError, match="convert them to text or numbers"):
            release.written("csv")
        return
    written = str(nw.from_native(release.written("csv")).to_dict(as_series=False)) + str(release.table)
    assert not [number for number in secret if f"id-{number}" in written]
    assert "unused" not in str(getattr(release.table, "schema", "")) + str(release.certified.codebook())


@pytest.mark.parametrize("missing", [False, True])
@pytest.mark.parametrize("flavour", FLAVOURS)
@pytest.mark.parametrize("name", CELLS)
def test_as_a_quasi_identifier(name: str, flavour: str, missing: bool, tmp_path: Path) -> None:
    given = frame_of(flavour, pl.DataFrame([column(name, missing)]))
    schema = shoal.Schema.infer(given, quasi=["x"])
    kind = CELLS[name][2]
    if name == "enum" and flavour in ("duckdb", "pandas objects"):
        kind = "categorical"  # both have texts; DuckDB makes these of an Arrow dictionary
    model = shoal.SetAnonymity(k=4) if kind == "items" else shoal.KAnonymity(k=4)
    if kind is None:
        with pytest.raises(shoal.InputError, match=r"convert (it|them) to"):
            shoal.anonymize(given, schema, model)
        return
    assert schema["x"].kind.value == kind
    release = shoal.anonymize(given, schema, model)
    assert shoal.audit(given, release.table, schema, model).holds
    if kind != "items" and missing and flavour in ("polars", "pandas"):
        shown = values_of(release.table)
        assert "missing" in shown  # the missing value of the library, not an empty text
        assert "" not in shown
    # Files of a release that are read back; the other documents do not depend on the library.
    write_csv(release.written("csv"), tmp_path / "release.csv")
    assert shoal.audit(given, shoal.read_table(tmp_path / "release.csv"), schema, model).holds
    if flavour == "polars":
        release.save(tmp_path / "out")
        assert (tmp_path / "out" / "release.csv").read_bytes() == (tmp_path / "release.csv").read_bytes()


def test_the_same_table_has_the_same_schema_wherever_it_comes_from(tmp_path: Path) -> None:
    rng = random.Random(7)
    frame = pl.DataFrame(
        {
            "age": [rng.randrange(18, 90) for _ in range(200)],
            "sex": [rng.choice([1, 2]) for _ in range(200)],
            "zip": [f"0{rng.randrange(1000, 1010)}" for _ in range(200)],
            "born": [f"{rng.randrange(1, 29):02}.{rng.randrange(1, 13):02}.1980" for _ in range(200)],
            "visit": [DAY + dt.timedelta(rng.randrange(300)) for _ in range(200)],
            "stamp": [f"2024-01-{rng.randrange(1, 29):02}T10:00:00Z" for _ in range(200)],
            "at": [dt.time(rng.randrange(24), rng.randrange(60)) for _ in range(200)],
            "amount": [rng.randrange(10**4) / 4 for _ in range(200)],
            "smoker": [rng.choice([True, False]) for _ in range(200)],
            "note": [rng.choice(["a", "b", None]) for _ in range(200)],
            "diagnosis": [rng.choice(["flu", "gout", "cold"]) for _ in range(200)],
        }
    )
    frame.write_csv(tmp_path / "t.csv")
    frame.write_parquet(tmp_path / "t.parquet")
    routes = {
        "csv": shoal.read_table(tmp_path / "t.csv"),
        "parquet": shoal.read_table(tmp_path / "t.parquet"),
        "pandas": frame.to_pandas(),
        "polars": frame,
        "pyarrow": frame.to_arrow(),
    }
    scanned = {name: shoal.scan(table).schema for name, table in routes.items()}
    first = scanned["polars"]
    roles = {"quasi": [c.name for c in first.quasi], "sensitive": [c.name for c in first.sensitive]}
    drop = [c.name for c in first if c.role is shoal.Role.IDENTIFIER]
    for name, table in routes.items():
        assert scanned[name] == first, name
        assert shoal.Schema.infer(table, **roles, drop=drop) == first, name
    from shoal.web.tasks import Source, look

    for file in ("t.csv", "t.parquet"):
        shown = look(Source(tmp_path / file, file), lambda *_: None)["columns"]
        assert [(c["name"], c["role"], c["kind"], c["dates"]) for c in shown] == [
            (c.name, c.role.value, c.kind.value, c.date_format or "") for c in first
        ]
