"""Laws of generalized values, against every generalized value that a small domain has."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import AWKWARD, as_frame, tables

from shoal.base.ragged import Lists
from shoal.kinds import notation
from shoal.kinds.domain import Attribute, Domain
from shoal.kinds.generalized import Generalized
from shoal.kinds.hierarchy import Hierarchy
from shoal.kinds.ranges import RangeDomain, Ranges
from shoal.kinds.sets import SetDomain, Sets
from shoal.kinds.trees import Nodes, TreeDomain
from shoal.recoding import Recoding
from shoal.schema import Column, Kind, Role, Schema
from shoal.table import Table


def everything_sayable(domain: Domain) -> tuple[Generalized, list[set[int]]]:
    """Return all generalized values of a domain and, found independently, the codes that each contains."""
    size = len(domain)
    match domain:
        case RangeDomain():
            known = size - (domain.missing is not None)
            ends = [(low, high) for low in range(known) for high in range(low, known)]
            if domain.missing is not None:
                ends += [(known, known)] + ([(0, known)] if known else [])
            low, high = np.array(ends, dtype=np.int32).T
            return Ranges(domain, low, high), [set(range(a, b + 1)) for a, b in ends]
        case SetDomain():
            subsets = [list(s) for count in range(1, size + 1) for s in combinations(range(size), count)]
            starts = np.cumsum([0, *map(len, subsets)])
            members = np.array([code for subset in subsets for code in subset], dtype=np.int32)
            return Sets(domain, Lists(starts, members)), [set(subset) for subset in subsets]
        case TreeDomain():
            tree = domain.hierarchy
            below: list[set[int]] = [set() for _ in tree.labels]
            for leaf, node in enumerate(tree.leaf_node.tolist()):
                while node >= 0:
                    below[node].add(leaf)
                    node = int(tree.parent[node])
            return Nodes(domain, np.arange(len(below), dtype=np.int32)), below
    raise AssertionError


def contents(values: Generalized, domain: Domain) -> list[set[int]]:
    """Return the codes that each generalized value covers."""
    count, size = len(values), len(domain)
    index = np.repeat(np.arange(count, dtype=np.int32), size)
    codes = np.tile(np.arange(size, dtype=np.int32), count)
    covered = values.covers(index, codes).reshape(count, size)
    return [set(np.flatnonzero(row).tolist()) for row in covered]


def attributes(**options: Any) -> st.SearchStrategy[Attribute]:
    """Draw a quasi-identifier of any kind."""
    drawn = tables(flavours=["polars"], max_columns=1, **options)
    return drawn.map(lambda frame_and_schema: Table.encode(*frame_and_schema).attributes[0])


@given(attributes())
def test_covers_says_what_each_generalized_value_contains(attribute: Attribute) -> None:
    values, expected = everything_sayable(attribute.domain)
    assert contents(values, attribute.domain) == expected


@given(attributes(), st.data())
def test_a_closure_is_the_smallest_generalized_value_around_its_members(
    attribute: Attribute, data: st.DataObject
) -> None:
    domain = attribute.domain
    codes = st.integers(0, len(domain) - 1)
    groups = data.draw(st.lists(st.lists(codes, min_size=1, max_size=4), min_size=1, max_size=5))
    flat = np.array([code for group in groups for code in group], dtype=np.int32)
    starts = np.cumsum([0, *map(len, groups)])
    _, sayable = everything_sayable(domain)
    closures = contents(attribute.domain.closure(flat, starts), domain)
    for group, closed in zip(groups, closures, strict=True):
        assert closed in sayable
        assert closed >= set(group)
        assert all(other >= closed for other in sayable if other >= set(group))


@given(attributes(), st.data())
def test_keys_are_equal_where_the_values_are(attribute: Attribute, data: st.DataObject) -> None:
    domain = attribute.domain
    codes = st.integers(0, len(domain) - 1)
    groups = data.draw(st.lists(st.lists(codes, min_size=1, max_size=3), min_size=2, max_size=8))
    flat = np.array([code for group in groups for code in group], dtype=np.int32)
    values = attribute.domain.closure(flat, np.cumsum([0, *map(len, groups)]))
    covered = contents(values, domain)
    keys = np.column_stack(values.keys()).tolist()
    for i, j in combinations(range(len(groups)), 2):
        assert (keys[i] == keys[j]) == (covered[i] == covered[j])


@given(attributes())
def test_sizes_count_the_possible_values(attribute: Attribute) -> None:
    domain = attribute.domain
    possible = (
        set(np.flatnonzero(domain.possible)) if isinstance(domain, TreeDomain) else set(range(len(domain)))
    )
    values, expected = everything_sayable(domain)
    assert values.sizes().tolist() == [len(codes & possible) for codes in expected]
    assert domain.cardinality == len(possible)


def split(text: str) -> list[tuple[str, bool]]:
    """Return the characters of a cell and whether a backslash stood before each."""
    rest = iter(text)
    return [(next(rest), True) if character == "\\" else (character, False) for character in rest]


def read(text: str, domain: Domain) -> set[int]:
    """Read a cell as the documentation says that it is written."""
    if text == "*" and len(domain) > 1:
        return set(range(len(domain)))
    if isinstance(domain, TreeDomain):
        tree = domain.hierarchy
        label = text[1:] if text.endswith("*") and not text[:-1].strip("\\") else text
        node = tree.labels.index(label)
        return set(range(int(tree.first[node]), int(tree.last[node]) + 1))
    marked = split(text)
    if isinstance(domain, RangeDomain):
        between = [
            place
            for place in range(len(marked) - 1)
            if marked[place] == (".", False) and marked[place + 1] == (".", False)
        ]
        if between:
            low = "".join(character for character, _ in marked[: between[0]])
            high = "".join(character for character, _ in marked[between[0] + 2 :])
            return set(range(domain.labels.index(low), domain.labels.index(high) + 1))
        return {domain.labels.index("".join(character for character, _ in marked))}
    members = [""]
    for character, escaped in marked:
        if character == "|" and not escaped:
            members.append("")
        else:
            members[-1] += character
    return {domain.labels.index(member) for member in members}


def check_written(attribute: Attribute) -> None:
    """Check that all generalized values of an attribute read back, and that no two are written alike."""
    values, expected = everything_sayable(attribute.domain)
    texts = values.texts()
    assert [read(text, attribute.domain) for text in texts] == expected
    assert len(set(texts)) == len(texts)


NUMBERS = ["integer", "float", "numeric text", "date", "datetime", "date text"]
CATEGORIES = ["categorical", "boolean", "integer category"]
TREES = ["tree", "prefixes", "intervals"]


@given(attributes(kinds=NUMBERS, max_values=6))
def test_written_numbers_and_dates_read_back(attribute: Attribute) -> None:
    check_written(attribute)


@given(attributes(kinds=["ordinal"], max_values=6))
def test_written_ordered_categories_read_back(attribute: Attribute) -> None:
    check_written(attribute)


@given(attributes(kinds=CATEGORIES, max_values=6))
def test_written_sets_read_back(attribute: Attribute) -> None:
    check_written(attribute)


@given(attributes(kinds=TREES, max_values=6))
def test_written_nodes_read_back(attribute: Attribute) -> None:
    check_written(attribute)


@pytest.mark.parametrize(
    "cells", [[0, 1, 2**60], [0, 2**60, 2**60 + 1], [0, 1, 2**60, None], [-1e300, 0.0, 1e-300, 1e300]]
)
def test_numbers_that_lie_too_close_to_be_measured_are_written_apart(cells: list[Any]) -> None:
    column = Column("x", role=Role.QUASI, kind=Kind.NUMERIC)
    check_written(Table.encode(as_frame({"x": cells}, "polars"), Schema((column,))).attributes[0])


@pytest.mark.parametrize("order", [AWKWARD, AWKWARD[::-1]])
def test_awkward_labels_are_written_apart(order: tuple[str, ...]) -> None:
    frame = as_frame({"x": list(order)}, "polars")
    ordinal = Column("x", role=Role.QUASI, kind=Kind.ORDINAL, domain=order)
    check_written(Table.encode(frame, Schema((ordinal,))).attributes[0])
    tree = Hierarchy.from_levels([[label, f"{label[0]} and so on", "all"] for label in order])
    check_written(Table.encode(frame, Schema((replace(ordinal, hierarchy=tree),))).attributes[0])


@given(attributes())
def test_a_value_that_says_nothing_is_a_star(attribute: Attribute) -> None:
    domain = attribute.domain
    codes = np.arange(len(domain), dtype=np.int32)
    (text,) = attribute.domain.closure(codes, np.array([0, len(domain)])).texts()
    spans_all = not isinstance(domain, RangeDomain) or domain.missing is not None or domain.positions[-1] == 1
    if len(domain) > 1 and spans_all and attribute.column.domain is None:
        assert text == "*"


@given(attributes(max_values=6))
def test_the_readers_of_the_library_read_what_it_writes(attribute: Attribute) -> None:
    domain = attribute.domain
    values, expected = everything_sayable(domain)
    for text, codes in zip(values.texts(), expected, strict=True):
        if text == notation.SUPPRESSED:
            assert codes == set(range(len(domain)))
        elif isinstance(domain, TreeDomain):
            assert domain.hierarchy.labels.index(notation.read_node(text)) in values.keys()[0]
            assert notation.write_node(notation.read_node(text)) == text
        elif isinstance(domain, RangeDomain) and (ends := notation.read_interval(text)) is not None:
            assert {min(codes), max(codes)} == {domain.code_of[end] for end in ends}
        else:
            assert {domain.code_of[label] for label in notation.read_set(text)} == codes


@given(attributes())
def test_a_value_that_was_not_generalized_is_written_as_it_is_unless_it_looks_like_something_else(
    attribute: Attribute,
) -> None:
    domain = attribute.domain
    codes = np.arange(len(domain), dtype=np.int32)
    texts = attribute.domain.closure(codes, np.arange(len(domain) + 1)).texts()
    for label, text in zip(domain.labels, texts, strict=True):
        assert text == label or any(sign in label for sign in ("|", "\\", "*", ".."))


@given(attributes())
def test_typed_values_say_the_same(attribute: Attribute) -> None:
    domain = attribute.domain
    values, expected = everything_sayable(domain)
    typed = values.typed()
    assert typed.name == attribute.column.name
    cells = typed.to_list()
    if isinstance(domain, TreeDomain):
        assert cells == values.texts()
        return
    for cell, codes in zip(cells, expected, strict=True):
        if isinstance(domain, SetDomain):
            assert {domain.labels.index("" if member is None else member) for member in cell} == codes
        elif cell is None:
            assert codes == {domain.missing}
        elif cell["low"] is None:
            assert cell["high"] is None
            assert codes == set(range(len(domain)))
            assert domain.missing is not None
        else:
            known = domain.values.to_list()
            assert codes == set(range(known.index(cell["low"]), known.index(cell["high"]) + 1))


@given(tables(flavours=["polars"]), st.data())
def test_a_recoding_of_classes_covers_its_records_and_equal_rows_have_one_type(
    drawn: tuple[Any, Schema], data: st.DataObject
) -> None:
    table = Table.encode(*drawn)
    draws = data.draw(st.lists(st.integers(0, 3), min_size=len(table), max_size=len(table)))
    classes = np.unique(draws, return_inverse=True)[1].astype(np.int32)
    recoding = Recoding.of_classes(table, classes)
    assert recoding.covers().all()
    boxes = [contents(v, a.domain) for v, a in zip(recoding.values, table.attributes, strict=True)]
    shown = [tuple(map(frozenset, (column[c] for column in boxes))) for c in classes.tolist()]
    for i, j in combinations(range(len(table)), 2):
        assert (recoding.types[i] == recoding.types[j]) == (shown[i] == shown[j])
    # A row that shows another class covers its record only by chance, and `covers` says when.
    elsewhere = Recoding(table, recoding.values, classes[::-1].copy())
    records = table.codes.tolist()
    assert elsewhere.covers().tolist() == [
        all(code in codes for code, codes in zip(record, row, strict=True))
        for record, row in zip(records, reversed(shown), strict=True)
    ]


@given(attributes())
def test_a_value_of_nothing_covers_nothing_and_costs_nothing(attribute: Attribute) -> None:
    domain = attribute.domain
    values: Generalized
    match domain:
        case RangeDomain():
            values = Ranges(domain, np.array([0], np.int32), np.array([-1], np.int32))
        case SetDomain():
            values = Sets(domain, Lists.of([[]]))
        case TreeDomain():
            values = Nodes(domain, np.array([-1], np.int32))
    assert contents(values, domain) == [set()]
    assert values.sizes().tolist() == values.ncp().tolist() == [0]
    assert values.entropies(attribute.counts).tolist() == [0]


def test_a_domain_without_a_kind_is_refused() -> None:
    with pytest.raises(TypeError, match="abstract"):
        Domain(("a",), pl.Series(["a"]), None)  # type: ignore[abstract]


@pytest.mark.parametrize(
    ("cell", "members"),
    [
        ("a", ["a"]),
        ("", [""]),
        ("a|b", ["a", "b"]),
        ("a|", ["a", ""]),
        ("|", ["", ""]),
        ("a\\|b|c", ["a|b", "c"]),
        ("a\\\\|b", ["a\\", "b"]),
        ("\\*", ["*"]),
        ("a\\", ["a\\"]),
        ("a\nb|c\\\n", ["a\nb", "c\n"]),
    ],
)
def test_reading_sets(cell: str, members: list[str]) -> None:
    assert notation.read_set(cell) == members


@pytest.mark.parametrize(
    ("cell", "ends"),
    [
        ("28..39", ("28", "39")),
        ("-5..-3.5", ("-5", "-3.5")),
        ("2020-01-01..2020-02-01", ("2020-01-01", "2020-02-01")),
        ("a\\...b", ("a.", "b")),
        ("a..\\.b", ("a", ".b")),
        ("a\\.\\.b..c", ("a..b", "c")),
        ("a\\.\\.b", None),
        ("28", None),
        ("..", None),
        ("..5", None),
        ("5..", None),
        ("28-39", None),
    ],
)
def test_reading_intervals(cell: str, ends: tuple[str, str] | None) -> None:
    assert notation.read_interval(cell) == ends


@pytest.mark.parametrize(
    ("cell", "interval"),
    [
        ("[20, 40[", ("20", "40", True, False)),
        ("[20,40)", ("20", "40", True, False)),
        ("]20, 40]", ("20", "40", False, True)),
        ("(20; 40]", ("20", "40", False, True)),
        ("[20, 40]", ("20", "40", True, True)),
        ("20-40", ("20", "40", True, True)),
        ("-20--5", ("-20", "-5", True, True)),
        ("1.5 - 2.5", ("1.5", "2.5", True, True)),
        ("20", None),
        ("2020-01-01", None),
        ("a-b", None),
    ],
)
def test_reading_intervals_of_other_tools(cell: str, interval: tuple[str, str, bool, bool] | None) -> None:
    assert notation.read_foreign_interval(cell) == interval
