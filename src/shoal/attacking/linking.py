"""Linkability: given half of the columns of a record, which of some other halves is of the same record?"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from shoal.attacking.predicates import Predicates
from shoal.attacking.rates import Rate
from shoal.attacking.results import AttackResult
from shoal.attacking.scene import PAIRS, Scene
from shoal.errors import InputError, Reason, listing, unknown_column

LINE_UP = 100
"""The number of records whose other half the attacker chooses from."""
AT_ONCE = 400
"""The number of targets from which line-ups are drawn."""


def linkability(scene: Scene, halves: Sequence[Sequence[str]] | None, confidence: float) -> AttackResult:
    """Return how often the release tells which two halves of the columns are of the same record.

    The attacker knows one half of a target's quasi-identifiers, sees the other halves of a line-up of
    records, the target among them, and picks the one that the release makes likeliest: rows that cover both
    halves speak for it, each the more the fewer records have halves that it covers. The pick is right if it
    is the target's own, not only equal to it. Without the release, the attacker picks at random.
    """
    names = [attribute.column.name for attribute in scene.release.table.attributes]
    known, sought = halves_of(scene, halves)
    targets = np.concatenate((scene.members, scene.control))
    targets = targets[scene.randomness.permutation(len(targets))]
    right = np.zeros(len(scene.codes), dtype=np.bool_)
    guessed = np.zeros(len(scene.codes), dtype=np.bool_)
    size = min(LINE_UP, len(targets))
    step = max(min(AT_ONCE, PAIRS // len(scene.rows)), size)
    evidence = _PairsOfHalves(scene, known, sought)
    for begin in range(0, len(targets), step):
        some = targets[max(0, min(begin, len(targets) - step)) : begin + step]
        asked = (
            np.arange(len(some))
            if begin + step <= len(targets)
            else np.flatnonzero(np.isin(some, targets[begin:]))
        )
        right[some[asked]], guessed[some[asked]] = evidence.picks(some, asked, size)
    return AttackResult(
        "linkability",
        f"The attacker knows {listing([names[c] for c in known])} of a record, and picks its "
        f"{listing([names[c] for c in sought])} among those of {size} records, by the released rows that "
        "cover both.",
        Rate.of(right[scene.members], confidence),
        Rate.of(right[scene.control], confidence) if len(scene.control) else None,
        Rate.of(guessed[scene.members], confidence),
    )


class _PairsOfHalves:
    """What the rows of a release say about pairs of halves."""

    def __init__(self, scene: Scene, known: NDArray[np.int64], sought: NDArray[np.int64]) -> None:
        self._scene = scene
        self._codes = scene.codes[:, known], scene.codes[:, sought]
        rows = scene.rows.of(known), scene.rows.of(sought)
        often = [np.maximum(each.counts(codes), 1) for each, codes in zip(rows, self._codes, strict=True)]
        self._weight = scene.copies / (often[0].astype(np.float64) * often[1])
        self._known = rows[0]
        cells, first, self._half = np.unique(rows[1].cells, axis=0, return_index=True, return_inverse=True)
        del cells
        self._sought = Predicates(rows[1].columns, rows[1].cells[first])

    def picks(
        self, some: NDArray[np.int64], asked: NDArray[np.int64], size: int
    ) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        """Return for some of the targets whether the attacker's pick, and a random one, is right."""
        covered = self._sought.holding(self._codes[1][some])
        right, guessed = np.zeros((2, len(asked)), dtype=np.bool_)
        # Covering rows by the half that is known; their weight by the half that is sought.
        holds = self._known.holding(self._codes[0][some[asked]])
        for place, target in enumerate(asked.tolist()):
            rows = np.flatnonzero(holds[place])
            others = self._scene.randomness.permutation(len(some) - 1)[: size - 1]
            line_up = np.append(others + (others >= target), target)
            line_up = line_up[self._scene.randomness.permutation(size)]
            guessed[place] = line_up[0] == target
            weight = np.bincount(self._half[rows], self._weight[rows], len(self._sought))
            useful = np.flatnonzero(weight)
            scores = covered[np.ix_(line_up, useful)] @ weight[useful]
            right[place] = line_up[int(scores.argmax())] == target
        return right, guessed


def halves_of(
    scene: Scene, halves: Sequence[Sequence[str]] | None
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the columns of both halves; unless given, columns with many values are in turn in either.

    Raises
    ------
    InputError
        If a half is empty, or a column is no quasi-identifier or in both.
    """
    attributes = scene.release.table.attributes
    names = [attribute.column.name for attribute in attributes]
    if halves is None:
        by_size = np.argsort([-len(attribute.domain) for attribute in attributes], kind="stable")
        return np.sort(by_size[0::2]), np.sort(by_size[1::2])
    given = [list(half) for half in halves]
    for name in (name for half in given for name in half):
        if name not in names:
            raise unknown_column(name, names, "the quasi-identifiers")
    if len(given) != 2 or not all(given) or set(given[0]) & set(given[1]):
        raise InputError(
            "the halves must be two lists of quasi-identifiers without a common one",
            reason=Reason.PARAMETER,
            parameter="halves",
        )
    first, second = (np.array([names.index(name) for name in half]) for half in given)
    return first, second
