"""Hierarchies: trees over the values of an attribute, read from a table of levels."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Protocol

import numpy as np

from shoal.errors import InputError, Reason, did_you_mean
from shoal.files.reading import read_rows

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence
    from pathlib import Path

    from numpy.typing import ArrayLike, NDArray

MISSING = ""
"""The value that stands for a missing one; a leaf below the root unless the hierarchy says otherwise."""


class HierarchySource(Protocol):
    """A hierarchy, or a rule that builds one from the values of the attribute."""

    def over(self, values: Sequence[str]) -> Hierarchy:
        """Return a hierarchy in which each of `values` is a leaf."""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Hierarchy:
    """An immutable tree of labels, in which each node stands for the set of leaves below it.

    Made by `from_levels`, `from_file`, `Intervals` or `Prefixes`. No two nodes cover the same leaves: a chain
    of single children is one node with the lowest label of the chain, which is the most precise. Only the
    root keeps its highest label, unless the tree is a single leaf. `node_of` also finds the other labels of
    a chain. Hierarchies are equal if labels and parents are.

    Parameters
    ----------
    labels
        Label of each node. Nodes are numbered in preorder, the root is node 0.
    parent
        Parent of each node, -1 for the root.
    depth
        Distance of each node from the root.
    first, last
        Each node covers the leaves ``first..last``, both included.
    leaf_node
        Node of each leaf. Leaves are numbered in tree order.
    leaves
        Label of each leaf.
    leaf_index
        Number of the leaf with a label.

    Examples
    --------
    >>> places = [("Boston", "MA", "*"), ("Salem", "MA", "*"), ("Reno", "NV", "*")]
    >>> len(shoal.Hierarchy.from_levels(places).leaves)
    3
    """

    labels: tuple[str, ...]
    parent: NDArray[np.int32]
    depth: NDArray[np.int32]
    first: NDArray[np.int32]
    last: NDArray[np.int32]
    leaf_node: NDArray[np.int32]
    leaves: tuple[str, ...]
    leaf_index: Mapping[str, int]
    _node_of: Mapping[str, int]
    _meeting: NDArray[np.int32]

    @classmethod
    def from_levels(cls, rows: Iterable[Sequence[str]], *, name: str = "hierarchy") -> Hierarchy:
        """Read a hierarchy from a table of levels.

        Rows may differ in length. A label repeated by its neighbour in the row adds no level, nor does an
        empty cell other than the first. Siblings stand in the order in which they first appear. Takes time
        linear in the number of cells.

        Parameters
        ----------
        rows
            For each value: the value, its label on level 1, ..., its label at the top. Unless all rows end
            in the same label, a root `*` is put on top (with further stars if `*` is a value).
        name
            What to call the hierarchy in error messages.

        Raises
        ------
        InputError
            If there are no rows, or if a label has two parents or is a value as well as a group of values.
        """
        chains = [_without_repeats(row) for row in rows if row]
        if not chains:
            raise InputError(
                f"{name} is empty; it needs a line for each value", reason=Reason.HIERARCHY_INCOMPLETE
            )
        values = {chain[0] for chain in chains}
        tops = {chain[-1] for chain in chains}
        root = tops.pop() if len(tops) == 1 else unused("*", values)

        # Each row leads to the root, which has no parent: if no label has two, there is no cycle either.
        parents: dict[str, str | None] = {root: None}
        for chain in chains:
            if chain[-1] != root:
                chain.append(root)
            for label, above in pairwise(chain):
                known = parents.setdefault(label, above)
                if known != above:
                    problem = f"{label!r} lies {_place(known)} and {_place(above)}; a label has one parent"
                    raise InputError(f"{name}: {problem}", reason=Reason.HIERARCHY_NOT_A_TREE)
        for label, group in parents.items():
            if group in values:
                place = _place(parents[group])
                problem = f"{group!r} is a value {place} and a group above {label!r}; rename the group"
                raise InputError(f"{name}: {problem}", reason=Reason.HIERARCHY_NOT_A_TREE)
        return _number_nodes(parents)

    @classmethod
    def from_file(cls, path: str | Path) -> Hierarchy:
        """Read a table of levels from a file, separated by commas or, as ARX writes it, by semicolons.

        Parameters
        ----------
        path
            A file as `from_levels` reads it. Its first line is considered a header and skipped if it begins
            with `value`, `values`, `level0` or `level 0`, or if it is the only one of three or more lines
            that does not end in the same label as the others.

        Raises
        ------
        InputError
            If the file cannot be read or does not hold a tree.
        """
        rows = [row for row in read_rows(path) if any(row)]
        return cls.from_levels(rows[1:] if _has_header(rows) else rows, name=f"hierarchy {path}")

    def over(self, values: Sequence[str]) -> Hierarchy:
        """Return this hierarchy after checking that each value is a leaf of it.

        Parameters
        ----------
        values
            Values of the attribute. If `MISSING` is among them and is not yet a leaf, the hierarchy
            returned has it as the last leaf below the root.

        Raises
        ------
        InputError
            If other values are not leaves.
        """
        absent = set(values).difference(self.leaf_index)
        unknown = sorted(absent - {MISSING})
        if unknown:
            # Suggestions from very many leaves would take too long.
            options = self.leaves if len(self.leaves) <= 2_000 else ()
            shown = ", ".join(f"{value!r}{did_you_mean(value, options)}" for value in unknown[:5])
            more = ", ..." if len(unknown) > 5 else ""
            raise InputError(
                f"the hierarchy lacks {len(unknown)} of the values: {shown}{more}; add a line for each",
                reason=Reason.HIERARCHY_INCOMPLETE,
            )
        return self._with_missing() if absent else self

    def node_of(self, label: str) -> int | None:
        """Return the node with a label, even if it is shown with another label; None if there is none."""
        return self._node_of.get(label)

    def ancestor(self, first_leaf: ArrayLike, last_leaf: ArrayLike) -> NDArray[np.int32]:
        """Return the lowest common ancestor of each pair of leaves, in constant time each.

        As leaves are in tree order, the lowest common ancestor of any set of leaves is that of the smallest
        and the largest of them.

        Parameters
        ----------
        first_leaf, last_leaf
            Numbers of leaves, in any shapes that broadcast; either may be the smaller one.

        Returns
        -------
        NDArray
            A node for each pair; for a leaf and itself the node of that leaf.
        """
        left, right = np.asarray(first_leaf, dtype=np.intp), np.asarray(last_leaf, dtype=np.intp)
        low, high = np.minimum(left, right), np.maximum(left, right)
        # Two windows, the widest that fit, cover all meetings of neighbours in low..high.
        steps = np.maximum(high - low, 1)
        power = np.frexp(steps)[1] - 1
        from_low = self._meeting[power, high - steps + 1]
        to_high = self._meeting[power, high - (1 << power) + 1]
        return np.where(low == high, self.leaf_node[low], np.minimum(from_low, to_high))

    def size(self, nodes: ArrayLike) -> NDArray[np.int64]:
        """Return the number of leaves below each of `nodes`; a leaf counts itself."""
        chosen = np.asarray(nodes, dtype=np.intp)
        return np.asarray(self.last[chosen] - self.first[chosen] + 1, dtype=np.int64)

    def levels(self) -> list[list[str]]:
        """Return the table of levels: for each leaf its label, those above it, and last that of the root.

        All rows have the same length: a leaf closer to the root than others repeats its label. `from_levels`
        reads the table back to an equal hierarchy.
        """
        columns = [self.leaf_node]
        for depth in range(int(self.depth.max()) - 1, -1, -1):
            nodes = columns[-1]
            columns.append(np.where(self.depth[nodes] > depth, self.parent[nodes], nodes))
        return [[self.labels[node] for node in row] for row in np.stack(columns, axis=1).tolist()]

    def __repr__(self) -> str:
        leaves, nodes = len(self.leaves), len(self.labels)
        return f"<Hierarchy {self.labels[0]!r}: {leaves} leaves, {nodes} nodes, height {self.depth.max()}>"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Hierarchy):
            return NotImplemented
        return self.labels == other.labels and np.array_equal(self.parent, other.parent)

    def __hash__(self) -> int:
        return hash((self.labels, self.parent.tobytes()))

    def _with_missing(self) -> Hierarchy:
        """Return this hierarchy with `MISSING` as the last leaf below the root."""
        # Labels were noted in preorder and each chain from its top, so the one above a label is the lowest
        # yet of its own node or, at the top of a chain, of the parent.
        parents: dict[str, str | None] = {}
        lowest: dict[int, str] = {}
        for label, node in self._node_of.items():
            parents[label] = lowest.get(node, lowest.get(int(self.parent[node])))
            lowest[node] = label
        root = next(iter(parents))
        if root in self.leaf_index:
            value, root = root, unused("*", parents)
            parents = {root: None, value: root}
        return _number_nodes({**parents, MISSING: root})


def unused(label: str, taken: Collection[str]) -> str:
    """Return a label with as many stars appended as are needed to make it different from the taken ones."""
    while label in taken:
        label += "*"
    return label


def from_paths(paths: Iterable[Iterable[str]], root: str, with_missing: bool) -> Hierarchy:
    """Return the hierarchy of paths from values to the root; paths that meet must not separate again."""
    parents: dict[str, str | None] = {root: None}
    for path in paths:
        for label, above in pairwise(path):
            if label in parents:
                break
            parents[label] = above
    if with_missing:
        parents[MISSING] = root
    if len(parents) == 1:
        raise InputError("there are no values to build a hierarchy of", reason=Reason.HIERARCHY_INCOMPLETE)
    return _number_nodes(parents)


def _has_header(rows: Sequence[Sequence[str]]) -> bool:
    if rows and rows[0][0].lower() in {"value", "values", "level0", "level 0"}:
        return True
    tops = [next(filter(None, reversed(row))) for row in rows]
    return len(tops) > 2 and len(set(tops)) == 2 and tops.count(tops[0]) == 1


def _without_repeats(row: Sequence[str]) -> list[str]:
    """Return the labels of a row, value first, without empty and repeated ones."""
    chain = [row[0]]
    for cell in row[1:]:
        if cell and cell != chain[-1]:
            chain.append(cell)
    return chain


def _place(above: str | None) -> str:
    return "at the top" if above is None else f"below {above!r}"


def _number_nodes(parents: Mapping[str, str | None]) -> Hierarchy:
    """Return the hierarchy in which each label lies below its parent, siblings in the order of `parents`."""
    children: dict[str | None, list[str]] = {}
    for label, group in parents.items():
        children.setdefault(group, []).append(label)

    labels: list[str] = []
    parent: list[int] = []
    depth: list[int] = []
    node_of: dict[str, int] = {}
    nothing: list[str] = []
    stack = [(children[None][0], -1)]
    while stack:
        top, above = stack.pop()
        node = node_of[top] = len(labels)
        lowest, below = top, children.get(top, nothing)
        while len(below) == 1:
            lowest = below[0]
            node_of[lowest] = node
            below = children.get(lowest, nothing)
        labels.append(top if node == 0 and below else lowest)
        parent.append(above)
        depth.append(depth[above] + 1 if node else 0)
        stack.extend([(child, node) for child in reversed(below)])

    is_leaf = np.ones(len(labels), dtype=np.bool_)
    is_leaf[parent[1:]] = False
    first = np.cumsum(is_leaf, dtype=np.int32) - is_leaf
    last: list[int] = first.tolist()
    for node in range(len(labels) - 1, 0, -1):
        last[parent[node]] = max(last[parent[node]], last[node])
    leaf_node = np.flatnonzero(is_leaf)
    leaves = tuple(labels[node] for node in leaf_node.tolist())
    return Hierarchy(
        labels=tuple(labels),
        parent=_frozen(parent),
        depth=_frozen(depth),
        first=_frozen(first),
        last=_frozen(last),
        leaf_node=_frozen(leaf_node),
        leaves=leaves,
        leaf_index={label: index for index, label in enumerate(leaves)},
        _node_of=node_of,
        _meeting=_frozen(_meeting_table(_frozen(parent), first)),
    )


def _meeting_table(parent: NDArray[np.int32], first: NDArray[np.int32]) -> NDArray[np.int32]:
    """Return in cell (p, i) where the leaves from i - 1 to i + 2**p - 1 meet, if there are as many.

    The highest node that begins with leaf i is the first in preorder; leaves i - 1 and i meet in its parent.
    An ancestor has a smaller number than what lies below it, so several leaves meet in the smallest of the
    nodes in which neighbours do: a range minimum, answered from windows whose widths are powers of two [1]_.

    References
    ----------
    .. [1] M. A. Bender, M. Farach-Colton, "The LCA problem revisited", LATIN 2000.
    """
    table = [parent[np.unique(first, return_index=True)[1]]]
    width = 1
    while 2 * width <= len(table[0]):
        narrow = table[-1]
        table.append(np.append(np.minimum(narrow[:-width], narrow[width:]), narrow[-width:]))
        width *= 2
    return np.stack(table)


def _frozen(numbers: ArrayLike) -> NDArray[np.int32]:
    array = np.asarray(numbers, dtype=np.int32)
    array.setflags(write=False)
    return array
