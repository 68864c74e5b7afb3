"""Encoding loses nothing: a table reads back as it was, in every flavour, whatever its columns hold."""

from __future__ import annotations

import datetime
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
import pandas as pd
from hypothesis import given
from hypothesis import strategies as st
from strategies import MARK, WITH_TIMES, tables

from shoal.kinds.ranges import RangeDomain
from shoal.kinds.trees import TreeDomain
from shoal.schema import Column, Kind, Missing, Schema
from shoal.table import Table


def normal(cell: Any, column: Column) -> Any:
    """Return a cell as it must read back: a number, day, time or category, or None for a missing value."""
    if cell is None or cell is pd.NaT or cell != cell or cell in ("", MARK):
        return None
    if column.kind is Kind.NUMERIC and isinstance(cell, str):
        return float(cell)
    if column.kind is Kind.DATE:
        if isinstance(cell, str):
            return datetime.date.fromisoformat(cell[:10])
        return cell.date() if isinstance(cell, datetime.datetime) else cell
    if column.kind is Kind.HOUR:
        return str(cell)[:13].replace(" ", "T")
    if column.kind is Kind.TIME:
        return datetime.time.fromisoformat(str(cell))
    return cell


def normal_columns(frame: Any, schema: Schema) -> dict[str, list[Any]]:
    data = nw.from_native(frame, eager_only=True)
    return {c.name: [normal(cell, c) for cell in data[c.name].to_list()] for c in schema.quasi}


@given(tables(max_rows=8, kinds=WITH_TIMES))
def test_a_decoded_table_is_the_one_that_was_encoded(drawn: tuple[Any, Schema]) -> None:
    frame, schema = drawn
    table = Table.encode(frame, schema)
    decoded = table.decode()
    assert type(decoded) is type(frame)
    assert normal_columns(decoded, schema) == normal_columns(frame, schema)
    if isinstance(decoded, pd.DataFrame):
        assert decoded.index.equals(pd.RangeIndex(len(frame)))


@given(tables(max_rows=8, kinds=WITH_TIMES))
def test_codes_are_equal_where_cells_are_and_the_missing_value_has_its_own(drawn: tuple[Any, Schema]) -> None:
    frame, schema = drawn
    table = Table.encode(frame, schema)
    assert table.codes.shape == (len(table), len(schema.quasi))
    assert table.codes.dtype == np.int32
    for attribute, cells in zip(table.attributes, normal_columns(frame, schema).values(), strict=True):
        codes, domain = attribute.codes.tolist(), attribute.domain
        assert len(set(zip(codes, cells, strict=True))) == len(set(codes)) == len(set(cells))
        assert {code for code, cell in zip(codes, cells, strict=True) if cell is None} == (
            set() if domain.missing is None else {domain.missing}
        )
        assert attribute.counts.tolist() == [codes.count(code) for code in range(len(domain))]


@given(tables(max_rows=8, kinds=WITH_TIMES))
def test_domains_are_ordered_and_labelled(drawn: tuple[Any, Schema]) -> None:
    table = Table.encode(*drawn)
    for attribute in table.attributes:
        domain, kind = attribute.domain, attribute.column.kind
        assert len(set(domain.labels)) == len(domain.labels) == len(domain.values)
        assert [domain.code_of[label] for label in domain.labels] == list(range(len(domain)))
        if domain.missing is not None:
            assert domain.labels[domain.missing] == ""
            assert domain.values[domain.missing] is None
        if isinstance(domain, RangeDomain):
            known = len(domain) - (domain.missing is not None)
            assert domain.missing in (None, known)
            assert (np.diff(domain.positions[:known]) >= 0).all()
            assert ((domain.positions[:known] >= 0) & (domain.positions[:known] <= 1)).all()
            assert (domain.positions[known:] == 2).all()
            if kind is Kind.NUMERIC:
                assert [float(label) for label in domain.labels[:known]] == domain.values[:known].to_list()
        if isinstance(domain, TreeDomain):
            assert domain.possible[attribute.codes].all()
        elif kind in (Kind.CATEGORICAL, Kind.ORDINAL) and attribute.column.domain is not None:
            declared = [str(value) for value in attribute.column.domain]
            assert list(domain.labels[: len(declared)]) == declared


@given(tables(max_rows=8, kinds=WITH_TIMES), st.data())
def test_suppressing_leaves_out_exactly_the_rows_with_a_missing_value(
    drawn: tuple[Any, Schema], data: st.DataObject
) -> None:
    frame, schema = drawn
    policies = {
        column.name: data.draw(st.sampled_from([Missing.CATEGORY, Missing.SUPPRESS])) for column in schema
    }
    for name, policy in policies.items():
        schema = schema.changed(name, missing=policy)
    cells = normal_columns(frame, schema)
    keep = [
        row
        for row in range(len(frame))
        if not any(
            cells[name][row] is None for name, policy in policies.items() if policy is Missing.SUPPRESS
        )
    ]
    if not keep:
        return
    table = Table.encode(frame, schema)
    assert table.rows.tolist() == keep
    assert table.left_out == len(frame) - len(keep)
    assert len(table.frame) == len(table) == len(keep)
    assert normal_columns(table.decode(), schema) == {
        name: [column[row] for row in keep] for name, column in cells.items()
    }


@given(tables(max_rows=8, sensitive=True))
def test_sensitive_values_are_coded_one_to_one(drawn: tuple[Any, Schema]) -> None:
    frame, schema = drawn
    (secret,) = Table.encode(frame, schema).sensitive
    cells = nw.from_native(frame, eager_only=True)["secret"].to_list()
    assert secret.values.gather(secret.codes).to_list() == cells
    assert len(secret) == len(set(cells))
