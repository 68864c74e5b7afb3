"""Hierarchies while they are edited: groups of values that are made, renamed, moved and dissolved."""

from __future__ import annotations

import csv
import io
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from shoal.errors import InputError, Reason
from shoal.kinds.hierarchy import MISSING, Hierarchy, HierarchySource, unused
from shoal.methods import Progress
from shoal.schema import Column, Role, Schema
from shoal.table import Table

if TYPE_CHECKING:
    from shoal.web.tasks import Source

MOST_VALUES = 2_000
"""Maximum number of values of a column whose hierarchy is edited."""


@dataclass(frozen=True)
class Outline:
    """A tree of labels: values at the bottom, groups above them, one root.

    Parameters
    ----------
    root
        The label of the root.
    parents
        The label above each label except the root; siblings are in this order.
    values
        The labels that are values. All others are groups, and no group is empty.
    """

    root: str
    parents: Mapping[str, str]
    values: frozenset[str]

    @classmethod
    def flat(cls, values: Sequence[str]) -> Outline:
        """Return values without groups."""
        root = unused("*", values)
        return cls(root, dict.fromkeys(values, root), frozenset(values))

    @classmethod
    def of(cls, hierarchy: Hierarchy, values: Iterable[str] = ()) -> Outline:
        """Return a hierarchy; values that it lacks are below the root."""
        labels = hierarchy.labels
        parents = {labels[node]: labels[above] for node, above in enumerate(hierarchy.parent) if node}
        leaves = [leaf for leaf in hierarchy.leaves if leaf != MISSING]
        parents.pop(MISSING, None)
        root = labels[0]
        if root in leaves:  # a tree of one value
            root = unused("*", leaves)
            parents = dict.fromkeys(leaves, root)
        lacking = {value: root for value in values if value not in parents}
        return cls(root, {**parents, **lacking}, frozenset((*leaves, *lacking)))

    @property
    def groups(self) -> list[str]:
        """The labels of the groups, without the root."""
        return [label for label in self.parents if label not in self.values]

    def below(self) -> dict[str, list[str]]:
        """Return the labels directly below the root and below each group."""
        found: dict[str, list[str]] = {}
        for label, above in self.parents.items():
            found.setdefault(above, []).append(label)
        return found

    def path(self, label: str) -> list[str]:
        """Return a label and all those above it, the root last."""
        found = [label]
        while found[-1] != self.root:
            found.append(self.parents[found[-1]])
        return found

    def grouped(self, chosen: Sequence[str], name: str) -> Outline:
        """Return the outline with some values or groups in a new group.

        The new group is where the first of them was.

        Raises
        ------
        InputError
            If nothing is chosen, or the name is empty or taken.
        """
        moved, name = self._topmost(chosen), self._free_name(name)
        place = moved[0]
        parents: dict[str, str] = {}
        for label, above in self.parents.items():
            if label == place:
                parents[name] = above
            parents[label] = name if label in moved else above
        return replace(self, parents=parents)._pruned()

    def merged(self, chosen: Sequence[str], name: str) -> Outline:
        """Return the outline with several groups as one, which has all that was below them.

        Parameters
        ----------
        chosen
            The groups, at least two.
        name
            Name of the new group; empty for the name of the first of them.

        Raises
        ------
        InputError
            If fewer than two groups are chosen, or the name is taken by something else.
        """
        groups = [label for label in self._topmost(chosen) if label not in self.values]
        if len(groups) < 2:
            raise _wrong("Tick at least two groups to merge them.", "edit_chosen")
        new = name.strip() or groups[0]
        new = new if new in groups else self._free_name(new)
        parents: dict[str, str] = {}
        for label, above in self.parents.items():
            if label == groups[0]:
                parents[new] = above
            elif label not in groups:
                parents[label] = new if above in groups else above
        return replace(self, parents=parents)._pruned()

    def moved(self, chosen: Sequence[str], group: str) -> Outline:
        """Return the outline with some values or groups below another group, or below the root.

        Raises
        ------
        InputError
            If nothing is chosen, there is no such group, or it is below what is moved.
        """
        moved = self._topmost(chosen)
        if group != self.root and group not in self.groups:
            raise _wrong("Choose a group to move to.", "edit_target")
        if set(moved) & set(self.path(group)):
            raise _wrong(f"{group} cannot be moved into itself.", "edit_target")
        kept = {label: above for label, above in self.parents.items() if label not in moved}
        return replace(self, parents={**kept, **dict.fromkeys(moved, group)})._pruned()

    def dissolved(self, chosen: Sequence[str]) -> Outline:
        """Return the outline without some groups; what was below them is now below what was above.

        Raises
        ------
        InputError
            If no group is chosen.
        """
        gone = {label for label in self._known(chosen) if label not in self.values}
        if not gone:
            raise _wrong("Tick a group to split it up.", "edit_chosen")
        parents = {}
        for label in self.parents:
            if label not in gone:
                parents[label] = next(above for above in self.path(label)[1:] if above not in gone)
        return replace(self, parents=parents)._pruned()

    def renamed(self, chosen: Sequence[str], name: str) -> Outline:
        """Return the outline with another name for one group.

        Raises
        ------
        InputError
            If not exactly one group is chosen, or the name is empty or taken.
        """
        groups = [label for label in self._known(chosen) if label not in self.values]
        if len(groups) != 1:
            raise _wrong("Tick the one group to rename; values keep their names.", "edit_chosen")
        old, new = groups[0], self._free_name(name)
        parents = {
            new if label == old else label: new if above == old else above
            for label, above in self.parents.items()
        }
        return replace(self, parents=parents)

    def hierarchy(self) -> Hierarchy:
        """Return the hierarchy."""
        below = self.below()
        order: list[str] = []
        stack = list(reversed(below[self.root]))
        while stack:
            label = stack.pop()
            if label in self.values:
                order.append(label)
            stack.extend(reversed(below.get(label, [])))
        return Hierarchy.from_levels([self.path(value) for value in order])

    def _known(self, chosen: Sequence[str]) -> list[str]:
        found = [label for label in self.parents if label in chosen]
        if not found:
            raise _wrong("Tick the values or groups first.", "edit_chosen")
        return found

    def _topmost(self, chosen: Sequence[str]) -> list[str]:
        """Return the chosen labels without those below other chosen ones."""
        found = self._known(chosen)
        return [label for label in found if not set(self.path(label)[1:]) & set(found)]

    def _free_name(self, name: str) -> str:
        name = name.strip()
        if not name:
            raise _wrong("Enter a name for the group.", "edit_name")
        if name == self.root or name in self.parents:
            raise _wrong(f"There is already a value or group {name}. Enter another name.", "edit_name")
        return name

    def _pruned(self) -> Outline:
        """Return the outline without empty groups."""
        parents = dict(self.parents)
        while empty := [each for each in parents if each not in self.values | set(parents.values())]:
            for label in empty:
                del parents[label]
        return replace(self, parents=parents)


def built(rule: HierarchySource, values: Collection[str]) -> Outline:
    """Return the groups that a rule makes of values."""
    return Outline.of(rule.over(list(values)))


def levels_file(hierarchy: Hierarchy, *, header: bool) -> str:
    """Return a hierarchy as a file of levels, with semicolons, as ARX reads and writes them.

    Parameters
    ----------
    hierarchy
        The hierarchy.
    header
        Whether a first line names the levels, so that no value is taken for a header. ARX expects none.
    """
    rows = hierarchy.levels()
    text = io.StringIO()
    writer = csv.writer(text, delimiter=";", lineterminator="\n")
    if header:
        writer.writerow(["value", *(f"level{depth}" for depth in range(1, len(rows[0])))])
    writer.writerows(rows)
    return text.getvalue()


def outline(source: Source, column: Column, progress: Progress) -> dict[str, Any]:
    """Return the values of a column with their numbers of records, and their groups: a task of the page."""
    progress("reading the file", 0.0)
    frame = source.read().select(column.name)
    progress("counting values", 0.5)
    plain = replace(column, role=Role.QUASI, hierarchy=None, widest=None, bands=None)
    table = Table.encode(frame, Schema((plain,)))
    attribute = table.attributes[0]
    labels = attribute.domain.labels
    if len(labels) > MOST_VALUES:
        raise InputError(
            f"{column.name} has {len(labels):,} values, and the editor shows {MOST_VALUES:,} at most; use a "
            "rule or a file",
            reason=Reason.TOO_LARGE,
            column=column.name,
        )
    often = np.bincount(attribute.codes, minlength=len(labels)).tolist()
    counts = {label: count for label, count in zip(labels, often, strict=True) if label != MISSING}
    if not counts:
        raise InputError("The column has no values.", reason=Reason.HIERARCHY_INCOMPLETE, column=column.name)
    found = Outline.flat(list(counts))
    if isinstance(column.hierarchy, Hierarchy):
        found = Outline.of(column.hierarchy, counts)
    elif column.hierarchy is not None:
        found = built(column.hierarchy, counts)
    return {
        "root": found.root,
        "parents": dict(found.parents),
        "values": sorted(found.values),
        "counts": counts,
    }


def _wrong(message: str, field: str) -> InputError:
    return InputError(message, reason=Reason.PARAMETER, parameter=field)
