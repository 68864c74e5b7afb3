"""XColor: classes as colours, exchanged until close sensitive values lie apart."""

from __future__ import annotations

import heapq
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, Literal

import numpy as np
from numpy.typing import NDArray

from shoal.errors import InfeasibleError
from shoal.kernels import Closeness, Coloring
from shoal.measures.distances import Distance, distance_over
from shoal.measures.geometry import geometry
from shoal.methods.chain import cheap_order, improve
from shoal.methods.dissimilarity_limits import Advice, advice_of, allowed_neighbours
from shoal.methods.feasibility import require_rows
from shoal.methods.method import Circumstances, Effort, Option, keeps
from shoal.models import Dissimilarity
from shoal.recoding import Recoding
from shoal.table import Table

Start = Annotated[
    Literal["locality", "degree"],
    Option("First classes: of similar records, or by degree as in the paper."),
]
FEW = 16
"""At how many classes repairs look first."""
MOST_ROUNDS = 30
"""How often classes that look identical, and together break the guarantee, are made different."""


@dataclass(frozen=True)
class Sweeps:
    """What is done once the promise is kept, to lose less.

    Parameters
    ----------
    pairs
        At how many classes a record looks for one to change places with; 0 for none.
    cycles
        At how many it looks for cycles of three; 0 for none.
    """

    pairs: int
    cycles: int


SWEEPS = {"fast": Sweeps(0, 0), "balanced": Sweeps(64, 0), "best": Sweeps(256, 8)}


@keeps(Dissimilarity, default=True)
def xcolor(
    table: Table,
    model: Dissimilarity,
    circumstances: Circumstances,
    /,
    *,
    start: Annotated[
        Start, Option("First classes: of similar records, or by degree as in the paper.")
    ] = "locality",
    effort: Effort = "balanced",
) -> Recoding:
    """Return classes of k records or a few more in which few sensitive values are close to any one.

    Records with too many neighbours in their class, whose values are close to theirs, change places with
    others, each time so that there are fewer pairs of neighbours within classes, and at the least loss. That
    is sure to end well if no record has too many neighbours in the table (see `Advice.guarantees`), and often
    does if not; where it does not, exchanges go on that leave fewer neighbours too many. If that does not
    help either, and the table as one class would keep the promise, classes become larger. Only different
    values are compared, and no graph over records is ever made.

    Parameters
    ----------
    table, model, circumstances
        As for every method.
    start
        ``locality``: classes of records that are alike in the quasi-identifiers; what is exchanged is as near
        as possible, and afterwards exchanges go on as long as classes lose less and nothing is broken.
        ``degree``: the paper's algorithm, whose classes have the same number of neighbours in all, whatever
        the quasi-identifiers are; it ends when the promise is kept.
    effort
        ``fast``, ``balanced`` or ``best``: how hard to look for less loss, with the locality start.

    Raises
    ------
    InfeasibleError
        If no partition can keep the promise, or none was found; the message says what is left and which delta
        was reached.
    """
    require_rows(table, model)
    values, distance = distance_over(table.sensitive, table.schema.sensitive, model.distance)
    advice = advice_of(values, distance, model.epsilon)
    _require_possible(advice, model)
    guaranteed = advice.guarantees(model.k, model.delta)
    if not guaranteed:
        circumstances.notes.append(_no_guarantee(advice, model))
    closeness = distance.closeness(model.epsilon)
    failed: list[tuple[int, int, str]] = []
    for least in _least_sizes(advice, model):
        for class_of in _starts(start, table, values, distance, least, model.epsilon, circumstances):
            allowed = allowed_neighbours(np.bincount(class_of), model.delta)
            coloring = Coloring(table.codes, geometry(table), class_of, closeness, values, allowed)
            _mend(coloring, circumstances)
            if not coloring.excess:
                break
            failed.append((coloring.excess, len(failed), _failure(coloring, allowed, model)))
        else:
            assert not guaranteed or least > model.k, "Lemma 2 says that there is another exchange"
            continue
        if start == "locality":
            _refine(coloring, SWEEPS[effort], circumstances)
        recoding, left = _told_apart(table, model, coloring, closeness, values, circumstances)
        if not left:
            if least > model.k:
                circumstances.notes.append(
                    f"with classes of k = {model.k} the promise could not be kept; they have at least {least}"
                )
            return recoding
        failed.append((0, len(failed), _same_looking(left)))
    raise InfeasibleError(min(failed)[2])


def _least_sizes(advice: Advice, model: Dissimilarity) -> Iterator[int]:
    """Yield k; and, where the table as one class would do, half as much more each time until it is one.

    In a larger class, more than none may be close to a value.
    """
    yield model.k
    if advice.degree <= int(allowed_neighbours(np.array([advice.records]), model.delta)[0]):
        least = model.k
        while 2 * least <= advice.records:
            least += -(-least // 2)
            yield least


def equal_sizes(records: int, k: int) -> NDArray[np.int64]:
    """Return the sizes of as many classes of at least k as there can be; they differ by 1 at most."""
    classes = records // k
    sizes = np.full(classes, records // classes)
    sizes[: records % classes] += 1
    return sizes


def balanced_classes(degrees: NDArray[np.int64], sizes: NDArray[np.int64]) -> NDArray[np.int32]:
    """Return classes of these sizes whose records have about the same degrees in all (Algorithm 1).

    Parameters
    ----------
    degrees
        How many others are close to each record.
    sizes
        How many records the classes have; they differ by 1 at most, and which has which is found here.

    Returns
    -------
    NDArray
        The class of each record. O(n log n).
    """
    class_of = np.empty(len(degrees), dtype=np.int32)
    order = np.argsort(-degrees, kind="stable")
    smallest = int(sizes.min())
    filled = smallest * len(sizes)
    open_classes = [(0, number, smallest) for number in range(len(sizes))]
    full: list[tuple[int, int, int]] = []
    for place, record in enumerate(order):
        if place == filled:
            # Each class has the same number now; what is left goes to those with the least sum, one each.
            open_classes = [(total, number, 1) for total, number, _ in full]
            heapq.heapify(open_classes)
        total, number, room = heapq.heappop(open_classes)
        class_of[record] = number
        entry = (total + int(degrees[record]), number, room - 1)
        if room > 1:
            heapq.heappush(open_classes, entry)
        else:
            full.append(entry)
    return class_of


def _starts(
    start: str,
    table: Table,
    values: NDArray[np.int32],
    distance: Distance,
    least: int,
    epsilon: float,
    circumstances: Circumstances,
) -> Iterator[NDArray[np.int32]]:
    """Yield first classes of this size, others if the first cannot be mended."""
    sizes = equal_sizes(len(table), least)
    if start == "locality":
        order = cheap_order(table, least, circumstances)
        # The order is a ring: it can be cut in the middle of what would be classes, too.
        for shift in (0, least // 2):
            yield near_classes(table, values, np.roll(order, -shift), sizes)
    yield balanced_classes(distance.degrees(np.bincount(values), epsilon)[values], sizes)


def near_classes(
    table: Table, values: NDArray[np.int32], order: NDArray[np.int64], sizes: NDArray[np.int64]
) -> NDArray[np.int32]:
    """Return classes of these sizes along an order in which neighbours are alike.

    Of records that are wholly alike, each class gets a share of all values: that costs nothing.
    """
    codes = table.codes[order]
    run = np.cumsum(np.append(0, (codes[1:] != codes[:-1]).any(axis=1)))
    number = np.repeat(np.arange(len(sizes), dtype=np.int32), sizes)
    offset = np.arange(len(order)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    places = np.lexsort((number, offset, run))  # one place of each class after the other
    class_of = np.empty(len(order), dtype=np.int32)
    class_of[order[np.lexsort((values[order], run))]] = number[places]
    return class_of


def _mend(coloring: Coloring, circumstances: Circumstances) -> None:
    """Exchange records until none has too many neighbours, or nothing helps any more."""
    first = coloring.excess
    before = first + 1
    while 0 < coloring.excess < before:
        before = coloring.excess
        for goal, cycles in (
            (Coloring.CAREFUL, False),
            (Coloring.POTENTIAL, False),
            (Coloring.POTENTIAL, True),
            (Coloring.EXCESS, True),
        ):
            circumstances.progress("taking close values apart", 1 - coloring.excess / first)
            if coloring.excess:
                coloring.mend(goal, FEW, cycles=cycles)
    circumstances.progress("taking close values apart", 1.0)


@dataclass(frozen=True)
class _Sweeping:
    """Exchanges that make classes cheaper, with their options."""

    coloring: Coloring
    few: int
    cycles: bool

    @property
    def cost(self) -> float:
        return self.coloring.cost

    def sweep(self) -> int:
        return self.coloring.sweep(self.few, cycles=self.cycles)


def _refine(coloring: Coloring, effort: Sweeps, circumstances: Circumstances) -> None:
    if effort.pairs:
        improve(_Sweeping(coloring, effort.pairs, False), "exchanging records", circumstances)
    if effort.cycles:
        improve(_Sweeping(coloring, effort.cycles, True), "exchanging records in cycles", circumstances)


def _told_apart(
    table: Table,
    model: Dissimilarity,
    coloring: Coloring,
    closeness: Closeness,
    values: NDArray[np.int32],
    circumstances: Circumstances,
) -> tuple[Recoding, int]:
    """Return the recoding, after classes that show the same were made to differ where they have to.

    Also returns how many classes still break the promise together with others.

    A reader of the release sees classes that look identical as one. What each keeps all of them together may
    break: a record may have few neighbours in its own class and many in the others.
    """
    for round_ in range(MOST_ROUNDS):
        circumstances.progress("telling classes apart", round_ / MOST_ROUNDS)
        class_of = coloring.class_of
        recoding = Recoding.of_classes(table, class_of)
        leaving = _leaving(recoding.types, class_of, closeness, values, model.delta)
        if not len(leaving) or not coloring.part(leaving, FEW):
            break
    circumstances.progress("telling classes apart", 1.0)
    return recoding, len(leaving)


def _same_looking(classes: int) -> str:
    return (
        f"{classes} classes show the same as others in all quasi-identifiers and break the promise together "
        "with them, and nothing was found to tell them apart; choose a smaller delta or epsilon, or more "
        "quasi-identifiers"
    )


def _leaving(
    types: NDArray[np.int32],
    class_of: NDArray[np.int32],
    closeness: Closeness,
    values: NDArray[np.int32],
    delta: float,
) -> NDArray[np.int64]:
    """Return classes without which those that are left of each type keep the promise together."""
    type_of = np.empty(int(class_of.max()) + 1, dtype=np.int64)
    type_of[class_of] = types
    shared = np.bincount(type_of)[types] > 1
    order = np.flatnonzero(shared)[np.argsort(types[shared], kind="stable")]
    leaving: list[int] = []
    for records in np.split(order, np.flatnonzero(np.diff(types[order])) + 1) if len(order) else ():
        present, value = np.unique(values[records], return_inverse=True)
        numbers, row = np.unique(class_of[records], return_inverse=True)
        counts = np.zeros((len(numbers), len(present)), dtype=np.int64)
        np.add.at(counts, (row, value), 1)
        near = closeness.near(present, counts)
        stays = np.ones(len(numbers), dtype=np.bool_)
        there, around = counts.sum(axis=0), near.sum(axis=0)
        while stays.sum() > 1:
            neighbours = np.where(there > 0, around - 1, -1)
            worst = int(neighbours.argmax())
            if neighbours[worst] <= allowed_neighbours(there.sum(), delta):
                break
            # The class goes in which the worst value has most neighbours.
            goes = int(np.where(stays, near[:, worst], -1).argmax())
            stays[goes] = False
            there, around = there - counts[goes], around - near[goes]
            leaving.append(int(numbers[goes]))
    return np.array(leaving, dtype=np.int64)


def _require_possible(advice: Advice, model: Dissimilarity) -> None:
    """Refuse a delta that no partition can have."""
    most = advice.possible(model.k)
    if model.delta > most * (1 + 1e-9):
        raise InfeasibleError(
            f"delta = {model.delta:g} is not achievable: {advice.clique} of {advice.records} records have "
            f"sensitive values within epsilon = {model.epsilon:g} of each other, so that delta can be "
            f"{most:.4g} at most with k = {model.k}"
        )


def _no_guarantee(advice: Advice, model: Dissimilarity) -> str:
    best = advice.guaranteed(model.k)
    return (
        f"nothing guaranteed beforehand that this promise can be kept: one record has {advice.degree} others "
        f"within epsilon = {model.epsilon:g}; "
        + (
            f"with k = {model.k}, delta = {best:.4g} is guaranteed"
            if best is not None
            else f"with k = {model.k}, no delta is guaranteed"
        )
    )


def _failure(coloring: Coloring, allowed: NDArray[np.int32], model: Dissimilarity) -> str:
    class_of, neighbours = coloring.class_of, coloring.neighbours
    sizes = np.bincount(class_of)
    violating = neighbours > allowed[class_of]
    reached = 1 - float((neighbours / np.maximum(sizes[class_of] - 1, 1)).max())
    return (
        f"no partition was found that keeps delta = {model.delta:g} with k = {model.k} and epsilon = "
        f"{model.epsilon:g}: {int(violating.sum())} records in {len(np.unique(class_of[violating]))} of "
        f"{len(sizes)} classes still have too many close to them, and the best delta reached in all classes "
        f"is {max(reached, 0.0):.4g}; no guarantee existed beforehand (`shoal advise` tells what is "
        "guaranteed)"
    )
