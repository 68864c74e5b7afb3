"""Laws of hierarchies, on random trees."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from shoal.kinds.hierarchy import MISSING, Hierarchy
from shoal.kinds.hierarchy_rules import Intervals, Prefixes


@st.composite
def trees(draw: st.DrawFn) -> Hierarchy:
    """Draw a tree: each node hangs below one of those before it; nodes without children are the values."""
    above = [draw(st.integers(0, node - 1)) for node in range(1, draw(st.integers(2, 40)))]
    rows = []
    for node in range(1, len(above) + 1):
        if node not in above:
            row = [node]
            while row[-1]:
                row.append(above[row[-1] - 1])
            rows.append([f"n{label}" for label in row])
    return Hierarchy.from_levels(draw(st.permutations(rows)))


def path(tree: Hierarchy, node: int) -> list[int]:
    nodes = [node]
    while nodes[-1]:
        nodes.append(int(tree.parent[nodes[-1]]))
    return nodes


def covered(tree: Hierarchy, node: int) -> set[int]:
    return {leaf for leaf, at in enumerate(tree.leaf_node.tolist()) if node in path(tree, at)}


@given(trees())
def test_each_node_covers_its_range_of_leaves_and_no_other_node_does(tree: Hierarchy) -> None:
    ranges = list(zip(tree.first.tolist(), tree.last.tolist(), strict=True))
    assert len(set(ranges)) == len(ranges)
    for node, (first, last) in enumerate(ranges):
        assert covered(tree, node) == set(range(first, last + 1))
        assert tree.size(node) == last - first + 1


@given(trees())
def test_numbering(tree: Hierarchy) -> None:
    nodes = np.arange(1, len(tree.labels))
    assert tree.parent[0] == -1
    assert (tree.parent[1:] < nodes).all()
    assert (tree.depth[1:] == tree.depth[tree.parent[1:]] + 1).all()
    assert [tree.node_of(label) for label in tree.labels] == list(range(len(tree.labels)))
    assert [tree.leaf_index[label] for label in tree.leaves] == list(range(len(tree.leaves)))
    assert tuple(tree.labels[node] for node in tree.leaf_node) == tree.leaves


@given(trees())
def test_ancestor_is_where_the_paths_to_the_root_meet(tree: Hierarchy) -> None:
    leaves = np.arange(len(tree.leaves))
    table = tree.ancestor(leaves[:, None], leaves)
    for one, at in enumerate(tree.leaf_node.tolist()):
        for other, towards in enumerate(tree.leaf_node.tolist()):
            others = path(tree, towards)
            assert table[one, other] == next(node for node in path(tree, at) if node in others)


@given(trees(), st.data())
def test_ancestor_of_the_outermost_leaves_is_the_smallest_node_that_covers_all(
    tree: Hierarchy, data: st.DataObject
) -> None:
    chosen = data.draw(st.sets(st.integers(0, len(tree.leaves) - 1), min_size=1))
    covering = [node for node in range(len(tree.labels)) if chosen <= covered(tree, node)]
    smallest = min(covering, key=lambda node: len(covered(tree, node)))
    assert tree.ancestor(min(chosen), max(chosen)) == smallest


@given(trees())
def test_levels_read_back(tree: Hierarchy) -> None:
    levels = tree.levels()
    assert len({len(row) for row in levels}) == 1
    again = Hierarchy.from_levels(levels)
    assert again == tree
    assert hash(again) == hash(tree)


@given(trees())
def test_missing_changes_nothing_else(tree: Hierarchy) -> None:
    wider = tree.over([*tree.leaves, MISSING])
    assert wider.leaves == (*tree.leaves, MISSING)
    assert wider.parent[wider.leaf_node[-1]] == 0
    assert all(wider.node_of(label) is not None for label in tree.labels)
    assert wider.over([MISSING]) is wider


@given(
    st.sets(st.decimals(-1000, 1000, places=3), min_size=1),
    st.floats(0.001, 100),
    st.lists(st.integers(2, 5), max_size=3),
    st.floats(-100, 100),
)
def test_intervals_hold_their_values(
    numbers: set[object], narrowest: float, factors: list[int], origin: float
) -> None:
    widths = [round(narrowest, 3)]
    for factor in factors:
        widths.append(round(widths[-1] * factor, 3))
    tree = Intervals(tuple(widths), round(origin, 3)).over([str(number) for number in numbers])
    values = np.array([float(leaf) for leaf in tree.leaves])
    assert (np.diff(values) > 0).all()
    for node, label in enumerate(tree.labels):
        if label.startswith("["):
            low, high = (float(bound) for bound in label.strip("[)").split(", "))
            inside = (low <= values) & (values < high)
            assert np.flatnonzero(inside).tolist() == list(range(tree.first[node], tree.last[node] + 1))


@given(st.sets(st.text("01*", max_size=5), min_size=1), st.sets(st.integers(1, 6), min_size=1))
def test_prefixes_gather_what_begins_alike(codes: set[str], lengths: set[int]) -> None:
    tree = Prefixes(tuple(sorted(lengths, reverse=True))).over(sorted(codes))
    assert set(tree.leaves) == codes
    assert len(set(tree.labels)) == len(tree.labels)
    known = sorted(codes - {MISSING})
    longest = max(map(len, known), default=0)
    expected = {frozenset(codes)} | {frozenset({code}) for code in codes}
    for length in lengths - set(range(longest, 7)):
        for prefix in {code[:length] for code in known if len(code) >= length}:
            expected.add(frozenset(code for code in known if code.startswith(prefix)))
    ranges = zip(tree.first.tolist(), tree.last.tolist(), strict=True)
    assert {frozenset(tree.leaves[first : last + 1]) for first, last in ranges} == expected
