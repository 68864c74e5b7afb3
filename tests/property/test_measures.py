"""Each measure of loss against a literal transcription of its definition, on random classes."""

from __future__ import annotations

import datetime
import json
import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from strategies import as_frame, tables

from shoal.kinds.domain import Attribute
from shoal.kinds.trees import TreeDomain
from shoal.measures import RowTypes, measure
from shoal.measures.em import em
from shoal.measures.gcp import gcp, gcp_by_attribute
from shoal.measures.gcp import ncp as ncp_of_rows
from shoal.measures.lm import lm
from shoal.measures.row_types import average_class_size, discernibility, row_types
from shoal.measures.usefulness import usefulness
from shoal.recoding import Recoding
from shoal.schema import Column, Kind, Role, Schema
from shoal.table import Table

MISSING = object()
"""A missing value, equal only to itself."""


@dataclass(frozen=True)
class Literal:
    """One quasi-identifier in plain values: what each record has and what each row shows.

    Parameters
    ----------
    values
        The value of each record: a number, a day as a number, a rank, or a category.
    ordered
        Whether a generalized value is an interval.
    shown
        The set of possible values that the row of each record shows.
    possible
        All possible values.
    bounds
        The lowest and the highest possible value of an ordered attribute.
    """

    values: list[Any]
    ordered: bool
    shown: list[frozenset[Any]]
    possible: frozenset[Any]
    bounds: tuple[Any, Any] | None
    weight: float


def literal(attribute: Attribute, classes: list[int]) -> Literal:
    column, domain = attribute.column, attribute.domain
    ordinals = {label: rank for rank, label in enumerate(column.domain or ())}

    def plain(value: Any) -> Any:
        if value is None:
            return MISSING
        if column.hierarchy is None and column.kind is Kind.ORDINAL:
            return ordinals[value]
        return value.toordinal() if isinstance(value, datetime.date) else value

    values = [plain(value) for value in attribute.decode().to_list()]
    observed = frozenset(values)
    members = {
        c: frozenset(v for v, other in zip(values, classes, strict=True) if other == c) for c in classes
    }
    weight = column.weight
    if isinstance(domain, TreeDomain):
        shown = {
            c: smallest_node(domain, [values.index(v) for v in of_c], attribute)
            for c, of_c in members.items()
        }
        of_code = dict(zip(attribute.codes.tolist(), values, strict=True))
        possible = frozenset(
            of_code.get(code, ("unseen", code)) for code in np.flatnonzero(domain.possible).tolist()
        )
        sets = {
            c: frozenset(of_code.get(code, ("unseen", code)) for code in codes if domain.possible[code])
            for c, codes in shown.items()
        }
        return Literal(values, False, [sets[c] for c in classes], possible, None, weight)
    if column.kind is Kind.CATEGORICAL:
        possible = observed | frozenset(column.domain or ())
        return Literal(values, False, [members[c] for c in classes], possible, None, weight)

    known = [v for v in observed if v is not MISSING]
    bounds = (min(known), max(known)) if known else None
    if column.kind is Kind.ORDINAL:
        bounds = (0, len(ordinals) - 1)
        possible = frozenset(ordinals.values()) | observed
    else:
        bounds = column.domain if column.domain is not None else bounds
        possible = observed

    def interval(of_class: frozenset[Any]) -> frozenset[Any]:
        if MISSING in of_class:
            return of_class if len(of_class) == 1 else possible
        low, high = min(of_class), max(of_class)
        return frozenset(v for v in possible if v is not MISSING and low <= v <= high)

    return Literal(values, True, [interval(members[c]) for c in classes], possible, bounds, weight)


def smallest_node(domain: TreeDomain, records: list[int], attribute: Attribute) -> range:
    """Return the leaves of the smallest node that holds the values of some records."""
    tree = domain.hierarchy
    codes = {int(attribute.codes[record]) for record in records}
    nodes = [range(int(a), int(b) + 1) for a, b in zip(tree.first, tree.last, strict=True)]
    return min((node for node in nodes if codes <= set(node)), key=len)


def ncp(attribute: Literal, shown: frozenset[Any]) -> float:
    if not attribute.ordered:
        return (len(shown) - 1) / (len(attribute.possible) - 1) if len(attribute.possible) > 1 else 0.0
    if MISSING in shown:
        return 0.0 if len(shown) == 1 else 1.0
    assert attribute.bounds is not None
    low, high = attribute.bounds
    # Halves, so that the widest range of floats does not overflow.
    return (max(shown) / 2 - min(shown) / 2) / (high / 2 - low / 2) if high > low else 0.0


def varies(attribute: Literal) -> bool:
    return len(set(attribute.values) - {MISSING}) > 1


def weighted_mean(attributes: list[Literal], cost: Any) -> float:
    """Return the mean over rows of the weighted mean over attributes of cost(attribute, shown)."""
    rows = len(attributes[0].values)
    total = 0.0
    for row in range(rows):
        for attribute in attributes:
            total += attribute.weight * cost(attribute, attribute.shown[row])
    return total / rows / sum(attribute.weight for attribute in attributes)


def row_classes(attributes: list[Literal]) -> list[list[int]]:
    """Return the rows that show the same in every attribute."""
    found: dict[Any, list[int]] = {}
    for row in range(len(attributes[0].values)):
        found.setdefault(tuple(attribute.shown[row] for attribute in attributes), []).append(row)
    return list(found.values())


@st.composite
def recodings(draw: st.DrawFn) -> tuple[Recoding, list[Literal]]:
    """Draw a table cut into random classes."""
    frame, schema = draw(tables(flavours=["polars"], max_rows=10))
    table = Table.encode(frame, schema)
    drawn = draw(st.lists(st.integers(0, 3), min_size=len(table), max_size=len(table)))
    classes = np.unique(drawn, return_inverse=True)[1].astype(np.int32)
    literals = [literal(attribute, classes.tolist()) for attribute in table.attributes]
    return Recoding.of_classes(table, classes), literals


@given(recodings())
def test_gcp_is_the_mean_share_of_the_domain_that_is_spanned(drawn: tuple[Recoding, list[Literal]]) -> None:
    recoding, attributes = drawn
    assert gcp(recoding) == pytest.approx(weighted_mean(attributes, ncp))
    assert 0 <= gcp(recoding) <= 1 + 1e-12
    by_attribute = gcp_by_attribute(recoding)
    assert list(by_attribute) == [a.column.name for a in recoding.table.attributes]
    for found, attribute in zip(by_attribute.values(), attributes, strict=True):
        assert found == pytest.approx(np.mean([ncp(attribute, shown) for shown in attribute.shown]))


@given(recodings())
def test_ncp_is_that_of_each_row(drawn: tuple[Recoding, list[Literal]]) -> None:
    recoding, attributes = drawn
    weights = [attribute.weight for attribute in attributes]
    assert ncp_of_rows(recoding) == pytest.approx(
        [
            sum(a.weight * ncp(a, a.shown[row]) for a in attributes) / sum(weights)
            for row in range(len(recoding.box))
        ]
    )


@given(recodings())
def test_lm_counts_the_values_that_are_left_open(drawn: tuple[Recoding, list[Literal]]) -> None:
    recoding, attributes = drawn

    def cost(attribute: Literal, shown: frozenset[Any]) -> float:
        return (len(shown) - 1) / (len(attribute.possible) - 1) if len(attribute.possible) > 1 else 0.0

    assert lm(recoding) == pytest.approx(weighted_mean(attributes, cost))
    assert 0 <= lm(recoding) <= 1 + 1e-12


@given(recodings())
def test_em_is_the_entropy_of_the_value_given_what_is_shown(drawn: tuple[Recoding, list[Literal]]) -> None:
    recoding, attributes = drawn

    def cost(attribute: Literal, shown: frozenset[Any]) -> float:
        inside = [value for value in attribute.values if value in shown]
        shares = [inside.count(value) / len(inside) for value in set(inside)]
        return -sum(share * math.log2(share) for share in shares)

    assert em(recoding) == pytest.approx(weighted_mean(attributes, cost), abs=1e-9)
    assert em(recoding) >= 0


@given(recodings())
def test_discernibility_charges_each_row_its_class(drawn: tuple[Recoding, list[Literal]]) -> None:
    recoding, attributes = drawn
    rows = len(recoding.box)
    total = 0
    for members in row_classes(attributes):
        for row in members:
            suppressed = all(a.shown[row] == a.possible for a in attributes)
            total += rows if suppressed else len(members)
    assert discernibility(recoding) == total


@given(recodings(), st.integers(1, 5))
def test_row_types_are_the_classes_of_equal_rows(drawn: tuple[Recoding, list[Literal]], k: int) -> None:
    recoding, attributes = drawn
    sizes = [len(members) for members in row_classes(attributes)]
    found = row_types(recoding)
    assert (found.count, found.smallest, found.largest) == (len(sizes), min(sizes), max(sizes))
    assert found.mean == pytest.approx(sum(sizes) / len(sizes))
    assert average_class_size(recoding, k) == pytest.approx(sum(sizes) / len(sizes) / k)


@given(recodings())
def test_usefulness_is_the_mean_diversity_of_the_row_types(drawn: tuple[Recoding, list[Literal]]) -> None:
    recoding, attributes = drawn
    # Positions within a declared domain that is vastly wider than the data cannot tell its values apart.
    assume(all(ncp(a, frozenset(a.values) - {MISSING}) > 1e-9 for a in attributes if a.ordered and varies(a)))

    def diversity(attribute: Literal, originals: set[Any]) -> float:
        if not attribute.ordered:
            return len(originals) / len(set(attribute.values))
        known = [value for value in attribute.values if value is not MISSING]
        if MISSING in originals:
            return 0.0 if len(originals) == 1 else 1.0
        span = max(known) / 2 - min(known) / 2
        return (max(originals) / 2 - min(originals) / 2) / span if span > 0 else 0.0

    total_weight = sum(attribute.weight for attribute in attributes)
    types = row_classes(attributes)
    expected = 0.0
    for members in types:
        for attribute in attributes:
            share = attribute.weight * len(attributes) / total_weight
            expected += share * diversity(attribute, {attribute.values[row] for row in members}) / len(types)
    assert usefulness(recoding) == pytest.approx(expected, rel=1e-5)


def test_usefulness_compares_with_the_values_that_occur() -> None:
    column = Column("x", role=Role.QUASI, kind=Kind.ORDINAL, domain=("a", "b", "c", "d", "e"))
    table = Table.encode(as_frame({"x": ["b", "c", "d", "d"]}, "polars"), Schema((column,)))
    recoding = Recoding.of_classes(table, np.array([0, 0, 1, 1], np.int32))
    assert usefulness(recoding) == pytest.approx((1 / 2 + 0) / 2)
    assert gcp(recoding) == pytest.approx((1 / 4 + 1 / 4 + 0 + 0) / 4)


@given(tables(flavours=["polars"], max_rows=8))
def test_nothing_is_lost_where_every_class_is_one_kind_of_record(drawn: tuple[Any, Schema]) -> None:
    table = Table.encode(*drawn)
    classes = np.unique(table.codes, axis=0, return_inverse=True)[1].astype(np.int32).ravel()
    found = measure(Recoding.of_classes(table, classes), 1)
    assert found.gcp == found.lm == 0
    assert found.em == pytest.approx(0, abs=1e-9)
    assert set(found.by_attribute.values()) == {0.0}
    assert found.row_types.count == len(set(classes.tolist()))


@given(tables(flavours=["polars"], max_rows=8))
def test_one_class_of_all_loses_whatever_can_be_lost(drawn: tuple[Any, Schema]) -> None:
    frame, schema = drawn
    table = Table.encode(frame, schema)
    found = measure(Recoding.of_classes(table, np.zeros(len(table), np.int32)), 1)
    assert found.row_types == RowTypes(1, len(table), len(table), len(table))
    assert found.discernibility == len(table) ** 2
    for column, attribute in zip(schema, table.attributes, strict=True):
        varies = np.ptp(attribute.codes) > 0
        if column.domain is None and not isinstance(attribute.domain, TreeDomain):
            assert found.by_attribute[column.name] == pytest.approx(float(varies))


@given(recodings())
def test_all_figures_come_together_as_plain_data(drawn: tuple[Recoding, list[Literal]]) -> None:
    recoding, _ = drawn
    found = measure(recoding, 2)
    assert found["gcp"] == found.gcp == gcp(recoding)
    plain = found.as_dict()
    assert json.loads(json.dumps(plain)) == plain
    assert plain["row_types"]["count"] == found.row_types.count
    assert set(plain) == {
        "gcp",
        "lm",
        "em",
        "discernibility",
        "average_class_size",
        "usefulness",
        "row_types",
        "by_attribute",
        "bound",
        "bound_error",
        "items",
        "ratio",
    }
