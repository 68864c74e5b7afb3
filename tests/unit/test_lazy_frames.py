"""Lazy tables of Polars, DuckDB and ibis go in, and tables of the same type come out."""

from __future__ import annotations

from typing import Any

import polars as pl
import pytest

import shoal
from shoal.errors import InputError
from shoal.samples import hospital

MODEL = shoal.KAnonymity(k=5)
PATIENTS = hospital(200)


def release_of(frame: Any) -> shoal.Release:
    schema = shoal.Schema.infer(frame, quasi=["age", "sex"], drop=["patient", "name"])
    assert shoal.scan(frame).records == 200
    return shoal.anonymize(frame, schema, MODEL, seed=1)


def test_polars() -> None:
    released = release_of(PATIENTS.lazy()).table
    assert isinstance(released, pl.LazyFrame)
    assert released.collect().equals(release_of(PATIENTS).table)


def test_duckdb() -> None:
    duckdb = pytest.importorskip("duckdb", reason="the extra duckdb is not installed")
    connection = duckdb.connect()
    connection.register("patients", PATIENTS.to_arrow())
    release = release_of(connection.sql("select * from patients"))
    assert isinstance(release.table, duckdb.DuckDBPyRelation)
    found = release.table.query("released", "select min(age.low), max(age.high), count(*) from released")
    assert found.fetchall() == [(PATIENTS["age"].min(), PATIENTS["age"].max(), 200)]
    schema = shoal.Schema.infer(PATIENTS, quasi=["age", "sex"], drop=["patient", "name"])
    assert shoal.audit(PATIENTS, release.table, schema, MODEL).holds


def test_ibis() -> None:
    ibis = pytest.importorskip("ibis", reason="ibis is not installed")
    release = release_of(ibis.memtable(PATIENTS))
    assert release.table.to_pyarrow().num_rows == 200


def test_what_is_no_table_is_refused() -> None:
    with pytest.raises(InputError, match="list is not a table that Shoal can read"):
        shoal.scan([1, 2])  # type: ignore[arg-type]
