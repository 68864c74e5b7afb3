"""From cells to codes: categories, with hierarchies and without."""

from __future__ import annotations

import datetime
from decimal import Decimal
from typing import Any

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from one_column import FLAVOURS, NAN, encoded, refused, values_of

from shoal.errors import Reason
from shoal.kinds.hierarchy import Hierarchy
from shoal.kinds.hierarchy_rules import Intervals, Prefixes
from shoal.kinds.ranges import RangeDomain
from shoal.kinds.sets import SetDomain
from shoal.kinds.trees import TreeDomain

# Categories


@pytest.mark.parametrize("flavour", FLAVOURS)
def test_categories_are_coded_in_their_order(flavour: str) -> None:
    attribute = encoded(["b", "a", None, "B", ""], flavour)
    assert isinstance(attribute.domain, SetDomain)
    assert attribute.domain.labels == ("B", "a", "b", "")
    assert attribute.codes.tolist() == [2, 1, 3, 0, 3]


def test_categories_keep_their_spaces() -> None:
    assert encoded(["a", " a", "a ", " "]).domain.labels == (" ", " a", "a", "a ")


@pytest.mark.parametrize("flavour", FLAVOURS)
def test_numbers_may_be_categories(flavour: str) -> None:
    attribute = encoded([10, 9, None], flavour)
    assert attribute.domain.labels == ("9", "10", "")
    assert values_of(attribute) == [9, 10, None]
    assert encoded([1.5, 2.0, NAN], flavour).domain.labels == ("1.5", "2", "")


@pytest.mark.parametrize("flavour", FLAVOURS)
def test_booleans_are_categories(flavour: str) -> None:
    attribute = encoded([True, None, False], flavour)
    assert attribute.domain.labels == ("false", "true", "")
    assert attribute.codes.tolist() == [1, 2, 0]


def test_days_and_decimals_may_be_categories() -> None:
    assert encoded([datetime.date(2020, 1, 1)]).domain.labels == ("2020-01-01",)
    assert encoded([Decimal("1.50"), Decimal("1.25")]).domain.labels == ("1.25", "1.50")


@pytest.mark.parametrize(
    "frame",
    [
        pd.DataFrame({"x": pd.Categorical(["b", "a", None], categories=["b", "a", "c"])}),
        pl.DataFrame({"x": pl.Series(["b", "a", None], dtype=pl.Categorical)}),
        pl.DataFrame({"x": pl.Series(["b", "a", None], dtype=pl.Enum(["b", "a", "c"]))}),
        pa.table({"x": pa.array(["b", "a", None]).dictionary_encode()}),
    ],
)
def test_dictionary_types_are_text(frame: Any) -> None:
    attribute = encoded(frame)
    assert attribute.domain.labels == ("a", "b", "")
    assert attribute.codes.tolist() == [1, 0, 2]


def test_a_pandas_categorical_of_numbers_keeps_them() -> None:
    assert values_of(encoded(pd.DataFrame({"x": pd.Categorical([2, 1, None])}))) == [1, 2, None]


@pytest.mark.parametrize("flavour", FLAVOURS)
def test_declared_categories_come_in_their_order_and_all(flavour: str) -> None:
    attribute = encoded(["b", "a", None], flavour, domain=("c", "b", "a"))
    assert attribute.domain.labels == ("c", "b", "a", "")
    assert attribute.codes.tolist() == [1, 2, 3]
    assert attribute.counts.tolist() == [0, 1, 1, 1]


@pytest.mark.parametrize("flavour", FLAVOURS)
@pytest.mark.parametrize("declared", [(9, 1, 3), (9.0, 1.0, 3.0), ("9", "1", "3")])
def test_declared_numbers_are_the_same_however_they_are_declared(
    declared: tuple[Any, ...], flavour: str
) -> None:
    attribute = encoded([1, 9, None], flavour, domain=declared)
    assert attribute.domain.labels == ("9", "1", "3", "")
    assert values_of(attribute) == [9, 1, 3, None]


def test_declared_booleans_and_days() -> None:
    assert values_of(encoded([True, False], kind="ordinal", domain=(True, False))) == [True, False]
    assert encoded([True], kind="ordinal", domain=("true", "false")).domain.labels == ("true", "false")
    days = (datetime.date(2020, 1, 2), datetime.date(2020, 1, 1))
    assert values_of(encoded([days[1]], domain=days)) == list(days)


def test_a_declared_missing_value_is_the_missing_value() -> None:
    attribute = encoded(
        ["a", "", "?"], kind="ordinal", domain=("", "b", None, "?", "a"), missing_marks=("?",)
    )
    assert attribute.domain.labels == ("b", "a", "")
    assert attribute.codes.tolist() == [1, 2, 2]


@pytest.mark.parametrize("flavour", FLAVOURS)
@pytest.mark.parametrize("kind", ["categorical", "ordinal"])
def test_a_category_that_was_not_declared_is_named(kind: str, flavour: str) -> None:
    error = refused(["low", None, "zero", "a"], flavour, kind=kind, domain=("low", "high"))
    assert error.reason is Reason.OUT_OF_DOMAIN
    assert str(error) == "column 'x', row 3: 'zero' is not in the declared domain 'low', 'high'"


@pytest.mark.parametrize("flavour", FLAVOURS)
def test_ordinal_values_lie_at_even_distances_in_the_declared_order(flavour: str) -> None:
    attribute = encoded(["high", "low", None], flavour, kind="ordinal", domain=("low", "mid", "high"))
    assert isinstance(attribute.domain, RangeDomain)
    assert attribute.domain.labels == ("low", "mid", "high", "")
    assert attribute.domain.positions.tolist() == [0, 0.5, 1, 2]
    assert attribute.codes.tolist() == [2, 0, 3]
    single = encoded(["low"], kind="ordinal", domain=("low",)).domain
    assert isinstance(single, RangeDomain)
    assert single.positions.tolist() == [0]


def test_a_hundred_thousand_categories() -> None:
    cells = [f"category {i * 7919 % 100_000:05d}" for i in range(100_000)]
    attribute = encoded(cells)
    assert len(attribute.domain) == 100_000
    assert attribute.domain.labels[0] == "category 00000"
    assert attribute.decode().to_list() == cells
    declared = encoded(cells, domain=tuple(sorted(cells, reverse=True)))
    assert declared.domain.labels[0] == "category 99999"
    assert declared.decode().to_list() == cells


# Hierarchies

CITIES = Hierarchy.from_levels([["Bonn", "Rhine"], ["Cologne", "Rhine"], ["Kiel", "Baltic"]])


@pytest.mark.parametrize("flavour", FLAVOURS)
def test_codes_of_a_hierarchy_are_its_leaves(flavour: str) -> None:
    attribute = encoded(["Kiel", "Bonn", "Kiel"], flavour, hierarchy=CITIES)
    assert isinstance(attribute.domain, TreeDomain)
    assert attribute.domain.labels == ("Bonn", "Cologne", "Kiel")
    assert attribute.codes.tolist() == [2, 0, 2]
    assert attribute.domain.possible.tolist() == [True, False, True]
    assert attribute.domain.cardinality == 2
    assert attribute.decode().to_list() == ["Kiel", "Bonn", "Kiel"]


@pytest.mark.parametrize("flavour", FLAVOURS)
def test_a_missing_value_is_a_leaf_of_its_own(flavour: str) -> None:
    attribute = encoded(["Kiel", None, ""], flavour, hierarchy=CITIES)
    domain = attribute.domain
    assert isinstance(domain, TreeDomain)
    assert domain.labels == ("Bonn", "Cologne", "Kiel", "")
    assert domain.missing == 3
    assert domain.possible.tolist() == [False, False, True, True]
    assert attribute.codes.tolist() == [2, 3, 3]
    assert domain.hierarchy.ancestor(2, 3) == 0


def test_a_hierarchy_may_say_where_missing_values_belong() -> None:
    tree = Hierarchy.from_levels([["", "unknown"], ["x", "unknown"], ["a", "known"], ["b", "known"]])
    attribute = encoded(["a", None], hierarchy=tree)
    assert attribute.domain.missing == 0
    assert attribute.codes.tolist() == [2, 0]
    without = encoded(["a", "b"], hierarchy=tree)
    assert without.domain.missing is None
    assert without.codes.tolist() == [2, 3]


@pytest.mark.parametrize("flavour", FLAVOURS)
def test_values_that_the_hierarchy_lacks_are_named_with_their_column(flavour: str) -> None:
    error = refused(["Kiel", "Born", "Paris"], flavour, hierarchy=CITIES)
    assert error.reason is Reason.HIERARCHY_INCOMPLETE
    assert str(error) == (
        "column 'x': the hierarchy lacks 2 of the values: 'Born' (did you mean 'Bonn'?), 'Paris'; "
        "add a line for each"
    )


def test_a_rule_for_numbers_names_the_column_of_what_is_none() -> None:
    error = refused(["5", "many"], hierarchy=Intervals((5.0,)))
    assert error.reason is Reason.BAD_VALUE
    assert str(error).startswith("column 'x': 'many' is not a number")


@pytest.mark.parametrize("flavour", FLAVOURS)
def test_intervals_over_numbers(flavour: str) -> None:
    attribute = encoded([12, 3, None, 7], flavour, kind="numeric", hierarchy=Intervals((5.0, 10.0)))
    domain = attribute.domain
    assert isinstance(domain, TreeDomain)
    assert domain.labels == ("3", "7", "12", "")
    assert values_of(attribute) == [3, 7, 12, None]
    assert attribute.codes.tolist() == [2, 0, 3, 1]
    assert domain.hierarchy.labels[int(domain.hierarchy.ancestor(0, 1))] == "[0, 10)"


def test_prefixes_over_codes() -> None:
    attribute = encoded(["02139", "02140", "10001"], hierarchy=Prefixes((3, 1)))
    assert isinstance(attribute.domain, TreeDomain)
    tree = attribute.domain.hierarchy
    assert tree.labels[int(tree.ancestor(0, 1))] == "021**"


def test_declared_values_are_possible_leaves() -> None:
    for hierarchy in (CITIES, Prefixes((1,))):
        attribute = encoded(["Kiel"], hierarchy=hierarchy, domain=("Kiel", "Bonn"))
        assert isinstance(attribute.domain, TreeDomain)
        assert attribute.domain.cardinality == 2
        assert attribute.domain.possible[attribute.domain.code_of["Bonn"]]
    error = refused(["Kiel", "Cologne"], hierarchy=CITIES, domain=("Kiel", "Bonn"))
    assert error.reason is Reason.OUT_OF_DOMAIN
    assert "row 2: 'Cologne'" in str(error)
    error = refused(["Kiel"], hierarchy=CITIES, domain=("Kiel", "Rome"))
    assert error.reason is Reason.HIERARCHY_INCOMPLETE


def test_numbers_with_a_hierarchy_keep_to_their_declared_range() -> None:
    error = refused([5, 200], kind="numeric", hierarchy=Intervals((5.0,)), domain=(0, 100))
    assert error.reason is Reason.OUT_OF_DOMAIN
