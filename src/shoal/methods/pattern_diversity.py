"""Suppression by patterns with diverse sensitive values: records without a class are placed in one."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from shoal import kernels
from shoal.errors import InfeasibleError, listing
from shoal.kernels import ROUNDING, VariedLabels
from shoal.methods.feasibility import largest_diversity, rounded_down
from shoal.models import Patterned
from shoal.models.diversity import NO_DIVERSITY
from shoal.table import Table

SLACK = ROUNDING / 2
"""Half of the rounding that the audit accepts."""


def labels_of(table: Table, model: Patterned) -> VariedLabels:
    """Return the sensitive values of a table, and how diverse a model requires them to be in each class."""
    asked = model.diversity or NO_DIVERSITY
    columns = [(column.codes, len(column)) for column in asked.among(table.sensitive)]
    return VariedLabels(columns if model.diversity else [], asked.frequency_l, asked.distinct, asked.entropy)


def missing(labels: VariedLabels, counts: Sequence[NDArray[np.int64]]) -> float:
    """Return how far a class is from what is required; 0 if it is diverse enough.

    Parameters
    ----------
    labels
        What is required.
    counts
        For each sensitive column, how often each label is in the class.
    """
    sum_ = 0.0
    for often in counts:
        size = float(often.sum())
        if labels.frequency_l:
            sum_ += float(np.maximum(0.0, labels.frequency_l * (1 - SLACK) * often - size).sum())
        sum_ += max(0, labels.distinct - int((often > 0).sum()))
        if labels.entropy and size:
            present = often[often > 0]
            entropy = math.log(size) - float((present * np.log(present)).sum()) / size
            sum_ += size * max(0.0, labels.entropy - SLACK - entropy)
    return sum_


def require_varied(
    table: Table, model: Patterned, groups: NDArray[np.int32], shown: NDArray[np.int64]
) -> None:
    """Refuse a requirement that the records of some group cannot keep even as one class.

    Parameters
    ----------
    table, model
        The table and the guarantee.
    groups
        The group of each record: records of two groups are never in one class.
    shown
        The columns that no pattern suppresses, in which the records of a group are equal.

    Raises
    ------
    InfeasibleError
        If there is such a group; the message says what is achievable.
    """
    asked = {"l": model.l, "p": model.p, "entropy_l": model.entropy_l}
    order = np.argsort(groups, kind="stable")
    names = listing([table.attributes[column].column.name for column in shown])
    for column in (model.diversity or NO_DIVERSITY).among(table.sensitive):
        parts = np.split(column.codes[order], np.flatnonzero(np.diff(groups[order])) + 1)
        found = [largest_diversity(part) for part in parts]
        for name, least in asked.items():
            possible = min(each[name] for each in found)
            if least is not None and least > possible * (1 + 1e-9):
                raise InfeasibleError(
                    f"{name} = {least:.10g} is not achievable: among records with the same values in "
                    f"{names}, which no pattern suppresses, {column.name!r} allows at most {name} = "
                    f"{rounded_down(possible):.10g}; allow patterns that suppress more",
                    column=column.name,
                    parameter=name,
                )


class Settling:
    """Classes of rows, and moves that bring rows without a class into one that suppresses the most.

    Parameters
    ----------
    codes
        One row for each record.
    suppressed
        The columns that each pattern suppresses, the cheapest first; the last suppresses all that others do.
    k, labels
        What is required of each class. All rows that look the same under the last pattern keep it together.
    pattern_of
        The pattern of each row, or -1; classes keep what is required.
    """

    def __init__(
        self,
        codes: NDArray[np.int32],
        suppressed: NDArray[np.bool_],
        k: int,
        labels: VariedLabels,
        pattern_of: NDArray[np.int32],
    ) -> None:
        self._k, self._labels, self._last = k, labels, len(suppressed) - 1
        self._taken: set[int] = set()
        self.pattern_of = pattern_of.copy()
        self._codes, self._suppressed = codes, suppressed
        self._groups, _ = kernels.group_rows(np.where(suppressed[-1], np.int32(-1), codes))

    def settle(self) -> NDArray[np.int32]:
        """Return the pattern of each row after all that had none were given the last one.

        They form classes together with rows that other classes can spare, then with whole classes; the
        cheapest first. O(rows x labels) for each group of rows with the same look under the last pattern.
        """
        for group in np.unique(self._groups[self.pattern_of < 0]):
            self._settle(np.flatnonzero(self._groups == group))
        return self.pattern_of

    def _settle(self, rows: NDArray[np.int64]) -> None:
        here = self.pattern_of[rows]
        joined = [*rows[(here < 0) | (here == self._last)]]
        counts = self._counts(np.array(joined))
        classes = self._classes(rows[(here >= 0) & (here < self._last)])
        for members in classes:
            if self._miss(counts) == 0:
                break
            joined += self._spare(members, counts)
        # Whole classes: first those that help by themselves.
        for helpful in (True, False):
            for members in classes:
                before = self._miss(counts)
                if before == 0:
                    break
                left = [row for row in members if row not in self._taken]
                more = self._counts(np.array(left, dtype=np.int64))
                together = [one + other for one, other in zip(counts, more, strict=True)]
                if left and (not helpful or self._miss(together) < before):
                    counts = together
                    joined += left
                    self._taken.update(left)
        self.pattern_of[np.array(joined)] = self._last

    def _classes(self, rows: NDArray[np.int64]) -> list[list[int]]:
        """Return the classes of some rows, those that lose least by the last pattern first."""
        patterns = self.pattern_of[rows]
        looks = np.column_stack(
            (patterns, np.where(self._suppressed[patterns], np.int32(-1), self._codes[rows]))
        ).astype(np.int32)
        number, first = kernels.group_rows(np.ascontiguousarray(looks))
        members: list[list[int]] = [[] for _ in first]
        for row, one in zip(rows, number, strict=True):
            members[one].append(int(row))
        return sorted(members, key=lambda each: (-int(self.pattern_of[each[0]]), each[0]))

    def _spare(self, members: list[int], counts: list[NDArray[np.int64]]) -> list[int]:
        """Return rows that help the new class and that their own class can spare; `counts` grows by them."""
        left = self._counts(np.array(members))
        size, given = len(members), []
        before = self._miss(counts)
        for row in members:
            if before == 0 or size == self._k:
                break
            self._add(left, row, -1)
            self._add(counts, row, 1)
            after = self._miss(counts)
            if after < before and missing(self._labels, left) == 0:
                given.append(row)
                size, before = size - 1, after
            else:
                self._add(left, row, 1)
                self._add(counts, row, -1)
        self._taken.update(given)
        return given

    def _miss(self, counts: list[NDArray[np.int64]]) -> float:
        return missing(self._labels, counts) + max(0, self._k - int(counts[0].sum()))

    def _counts(self, rows: NDArray[np.int64]) -> list[NDArray[np.int64]]:
        return [np.bincount(codes[rows], minlength=size) for codes, size in self._labels.columns]

    def _add(self, counts: list[NDArray[np.int64]], row: int, by: int) -> None:
        for often, (codes, _) in zip(counts, self._labels.columns, strict=True):
            often[codes[row]] += by
