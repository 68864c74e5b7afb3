"""XColor: classes as colours; records change places until close sensitive values are in different classes."""

from __future__ import annotations

import heapq
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Annotated, Literal

import numpy as np
from numpy.typing import NDArray

from shoal.errors import InfeasibleError, InputError, Reason
from shoal.kernels import SET, Closeness, Coloring
from shoal.measures.distances import Distance, distance_over
from shoal.measures.geometry import geometry
from shoal.methods.chain import cheap_order
from shoal.methods.dissimilarity_limits import Advice, advice_of, allowed_neighbours
from shoal.methods.feasibility import require_persons, require_rows
from shoal.methods.method import Circumstances, Effort, Option, keeps
from shoal.methods.persons import person_classes
from shoal.methods.separation import FEW, SWEEPS, Separation, Sweeps
from shoal.models import Dissimilarity
from shoal.recoding import Recoding
from shoal.table import Table

Start = Annotated[
    Literal["locality", "degree", "paper"],
    Option("How the first classes are formed: from similar records, by degree, or as printed in the paper."),
]
EXCHANGES = 256
"""The number of exchanges of the algorithm as printed between two reports of progress."""
_PRINTED_FOR_RECORDS = (
    "the algorithm as printed takes each record for a person, and some persons have several records; choose "
    "the start 'locality'"
)
MOST_ROUNDS = 30
"""The maximum number of rounds in which identical classes that break the guarantee together are changed."""


@keeps(Dissimilarity, default=True, persons=True)
def xcolor(
    table: Table,
    model: Dissimilarity,
    circumstances: Circumstances,
    /,
    *,
    start: Start = "locality",
    effort: Effort = "balanced",
) -> Recoding:
    """Return classes of k records or a few more in which few sensitive values are close to any one.

    Two records are neighbours if their sensitive values are close. A record with too many neighbours in its
    class changes places with another record, so that fewer pairs of neighbours share a class, and at the
    smallest loss. This succeeds if no record has too many neighbours in the table (Lemma 2 and Theorem 3; see
    `Advice.guarantees`), and often otherwise. Where it does not, exchanges follow that reduce the number of
    neighbours above the limit. If these do not help either, and the table as one class would keep the
    guarantee, classes become larger. Only different values are compared, and no graph over records is built:
    an exchange takes about O(k) for each class it tries. If persons have several records, the first classes
    keep these apart, and no exchange brings them together; then success is not certain either.

    Parameters
    ----------
    table, model, circumstances
        As for every method.
    start
        ``locality``: classes of records that are similar in the quasi-identifiers; records change places
        with similar ones, and afterwards exchanges continue as long as they reduce the loss and keep the
        guarantee. ``degree``: the first classes of the paper, which have equal sums of degrees, whatever the
        quasi-identifiers are, and the same search for exchanges; it ends when the guarantee holds. ``paper``:
        Algorithms 1 and 2 exactly as printed, for comparison. Each exchange looks at all records, O(nk);
        it fails where the paper does not say how to continue, and does not count persons.
    effort
        ``fast``, ``balanced`` or ``best``: how long to search for less loss, with the start ``locality``.

    Raises
    ------
    InfeasibleError
        If no partition can keep the guarantee, or none was found; the message names the delta that was
        reached.
    """
    require_rows(table, model)
    require_persons(table, model.k)
    values, distance = distance_over(table.sensitive, table.schema.sensitive, model.distance)
    advice = advice_of(values, distance, model.epsilon)
    _require_possible(advice, model)
    guaranteed = table.owners is None and advice.guarantees(model.k, model.delta)
    if not guaranteed:
        circumstances.notes.append(_no_guarantee(table, advice, model))
    task = _ColoringTask(table, model, values, distance, distance.closeness(model.epsilon), circumstances)
    if start == "paper":
        if table.owners is not None:
            raise InputError(_PRINTED_FOR_RECORDS, reason=Reason.PARAMETER, parameter="start")
        return task.as_printed()
    if not guaranteed:
        task.require_different_rows(start, advice)
    for least in _least_sizes(advice, model):
        coloring = task.mended(start, least, SWEEPS[effort] if start == "locality" else None)
        if coloring is None:
            assert not guaranteed or least > model.k, "Lemma 2 says that there is another exchange"
            continue
        recoding = task.told_apart(coloring)
        if recoding is not None:
            if least > model.k:
                circumstances.notes.append(
                    f"classes of k = {model.k} records cannot keep the guarantee; they have at least {least}"
                )
            return recoding
    raise InfeasibleError(min(task.failures)[2])


@dataclass(frozen=True, eq=False)
class _ColoringTask:
    """A table, the guarantee, and the attempts to keep it that failed.

    Parameters
    ----------
    values, distance, closeness
        The sensitive value of each record, distances between values, and which of them are close.
    failures
        For each failed attempt how many neighbours above the limit were left, its number, and a message.
    """

    table: Table
    model: Dissimilarity
    values: NDArray[np.int32]
    distance: Distance
    closeness: Closeness
    circumstances: Circumstances
    failures: list[tuple[int, int, str]] = field(default_factory=list)

    def require_different_rows(self, start: str, advice: Advice) -> None:
        """Refuse a table with fewer different rows than classes, if the first classes break the guarantee.

        To a reader, classes with identical rows are one class. Exchanges mix close values within the small
        classes, but change little in the few large ones that a reader sees; they would take long and fail.
        """
        rows = _different_rows(self.table)
        if rows >= len(self.table) // self.model.k or _holds_as_one_class(advice, self.model):
            return
        for class_of in self._starts(start, self.model.k):
            types = Recoding.of_classes(self.table, class_of).types
            order = np.argsort(types, kind="stable")
            visible = np.split(self.values[order], np.flatnonzero(np.diff(types[order])) + 1)
            if all(_keeps(self.closeness, values, self.model.delta) for values in visible):
                return
        raise InfeasibleError(_few_rows(rows, self.model))

    def as_printed(self) -> Recoding:
        """Return the classes of Algorithms 1 and 2 of the paper.

        Line 1: every class allows the number of neighbours of a class of k, also if it has k + 1 records.

        Raises
        ------
        InfeasibleError
            If a record has too many neighbours and none is exchangeable with it, which Lemma 2 excludes
            within its bound; or if classes look identical and break the guarantee together, of which the
            paper says nothing.
        """
        model = self.model
        sizes = equal_sizes(len(self.table), model.k)
        class_of = balanced_classes(self._degrees(), sizes)
        allowed = np.repeat(allowed_neighbours(np.array([model.k]), model.delta), len(sizes))
        coloring = Coloring(
            self.table.codes, geometry(self.table), class_of, self.closeness, self.values, allowed
        )
        first = coloring.excess
        while coloring.excess and coloring.mend_as_printed(EXCHANGES):
            self.circumstances.progress("separating close values", max(0.0, 1 - coloring.excess / first))
        self.circumstances.progress("separating close values", 1.0)
        if coloring.excess:
            raise InfeasibleError(_failure(coloring, model, allowed))
        recoding = Recoding.of_classes(self.table, coloring.class_of)
        leaving = _leaving(recoding.types, coloring.class_of, self.closeness, self.values, model.delta)
        if len(leaving):
            raise InfeasibleError(
                _same_looking(len(leaving), "the algorithm as printed does not tell them apart")
            )
        return recoding

    def mended(self, start: str, least: int, sweeps: Sweeps | None) -> Coloring | None:
        """Return classes of at least this size that each keep the guarantee, or None."""
        separation = Separation(self.table, self.model, self.values, self.closeness, self.circumstances)
        for class_of in self._starts(start, least):
            coloring = separation.separated(class_of, sweeps)
            if not coloring.excess:
                return coloring
            self.failures.append((coloring.excess, len(self.failures), _failure(coloring, self.model)))
        return None

    def told_apart(self, coloring: Coloring) -> Recoding | None:
        """Return the recoding after identical classes were made to differ where necessary, or None.

        A reader of the release sees classes that look identical as one class. Together they may break a
        guarantee that each of them keeps: a record may have few neighbours in its own class and many in the
        others.
        """
        for round_ in range(MOST_ROUNDS):
            self.circumstances.progress("telling classes apart", round_ / MOST_ROUNDS)
            class_of = coloring.class_of
            recoding = Recoding.of_classes(self.table, class_of)
            leaving = _leaving(recoding.types, class_of, self.closeness, self.values, self.model.delta)
            if not len(leaving) or not coloring.part(leaving, FEW):
                break
        self.circumstances.progress("telling classes apart", 1.0)
        if not len(leaving):
            return recoding
        self.failures.append((0, len(self.failures), _same_looking(len(leaving))))
        return None

    def _starts(self, start: str, least: int) -> Iterator[NDArray[np.int32]]:
        """Yield first classes of this size, and others in case the first cannot be repaired."""
        for class_of in self._classes_of_records(start, least):
            yield class_of if self.table.owners is None else self._with_persons_apart(class_of, least)

    def _classes_of_records(self, start: str, least: int) -> Iterator[NDArray[np.int32]]:
        """Yield the same for any owners of the records."""
        sizes = equal_sizes(len(self.table), least)
        if start == "locality":
            order = cheap_order(self.table, least, self.circumstances)
            # The order is a ring, so it can also be cut in the middle of the first classes.
            for shift in (0, least // 2):
                yield near_classes(self.table, self.values, np.roll(order, -shift), sizes)
        yield balanced_classes(self._degrees(), sizes)

    def _with_persons_apart(self, class_of: NDArray[np.int32], least: int) -> NDArray[np.int32]:
        """Return similar classes in which no person has more than 1 in k records."""
        assert self.table.owners is not None
        order = np.argsort(class_of, kind="stable")
        apart = np.empty(len(order), dtype=np.int32)
        apart[order] = person_classes(
            self.table.codes[order], geometry(self.table), least, self.table.owners[order]
        )
        return apart

    def _degrees(self) -> NDArray[np.int64]:
        """Return the number of neighbours of each record in the table."""
        return self.distance.degrees(np.bincount(self.values), self.model.epsilon)[self.values]


def _least_sizes(advice: Advice, model: Dissimilarity) -> Iterator[int]:
    """Yield k; and, if the table as one class keeps the guarantee, sizes that grow by half each time.

    A larger class allows more neighbours.
    """
    yield model.k
    if _holds_as_one_class(advice, model):
        least = model.k
        while 2 * least <= advice.records:
            least += -(-least // 2)
            yield least


def _holds_as_one_class(advice: Advice, model: Dissimilarity) -> bool:
    """Return whether the table as one class keeps the guarantee."""
    return advice.degree <= int(allowed_neighbours(np.array([advice.records]), model.delta)[0])


def _different_rows(table: Table) -> int:
    """Return an upper limit of the number of different rows that a release can have."""
    rows = 1
    for attribute in geometry(table):
        # A set may hold any values; intervals and nodes of a tree are known by their first and last value.
        size = attribute.size
        rows *= 2 ** min(size, 64) - 1 if attribute.kind == SET else size * (size + 1) // 2
    return rows


def equal_sizes(records: int, k: int) -> NDArray[np.int64]:
    """Return the sizes of as many classes of at least k as possible; they differ by 1 at most."""
    classes = records // k
    sizes = np.full(classes, records // classes)
    sizes[: records % classes] += 1
    return sizes


def balanced_classes(degrees: NDArray[np.int64], sizes: NDArray[np.int64]) -> NDArray[np.int32]:
    """Return classes of these sizes with about equal sums of degrees (Algorithm 1).

    Parameters
    ----------
    degrees
        The number of neighbours of each record.
    sizes
        The numbers of records in the classes, in any order; they differ by 1 at most.

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
            # All classes have the same size now; the other records go to those with the smallest sums.
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


def near_classes(
    table: Table, values: NDArray[np.int32], order: NDArray[np.int64], sizes: NDArray[np.int64]
) -> NDArray[np.int32]:
    """Return classes of these sizes along an order in which neighbours are similar.

    Identical records are spread over their classes by sensitive value, which costs nothing.
    """
    codes = table.codes[order]
    run = np.cumsum(np.append(0, (codes[1:] != codes[:-1]).any(axis=1)))
    number = np.repeat(np.arange(len(sizes), dtype=np.int32), sizes)
    offset = np.arange(len(order)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    places = np.lexsort((number, offset, run))  # one place of each class after the other
    class_of = np.empty(len(order), dtype=np.int32)
    class_of[order[np.lexsort((values[order], run))]] = number[places]
    return class_of


def _few_rows(rows: int, model: Dissimilarity) -> str:
    return (
        f"no partition was found that keeps delta = {model.delta:g} with k = {model.k} and epsilon = "
        f"{model.epsilon:g}: with these quasi-identifiers a release has at most {rows} different rows, so "
        "that classes are identical to others and break the guarantee together with them; choose a smaller "
        "delta or epsilon, or more quasi-identifiers"
    )


def _same_looking(classes: int, why: str = "no exchange makes them differ") -> str:
    who = "1 class is" if classes == 1 else f"{classes:,} classes are"
    breaks = "breaks" if classes == 1 else "break"
    return (
        f"{who} identical to others in all quasi-identifiers and {breaks} the guarantee "
        f"together with them, and {why}; choose a smaller delta or epsilon, or more quasi-identifiers"
    )


def _keeps(closeness: Closeness, values: NDArray[np.int32], delta: float) -> bool:
    """Return whether records with these values keep the guarantee as one class."""
    present, counts = np.unique(values, return_counts=True)
    neighbours = closeness.near(present, counts[np.newaxis])[0] - 1
    return int(neighbours.max()) <= int(allowed_neighbours(np.array([len(values)]), delta)[0])


def _leaving(
    types: NDArray[np.int32],
    class_of: NDArray[np.int32],
    closeness: Closeness,
    values: NDArray[np.int32],
    delta: float,
) -> NDArray[np.int64]:
    """Return classes without which the other classes of each type keep the guarantee together."""
    type_of = np.empty(int(class_of.max()) + 1, dtype=np.int64)
    type_of[class_of] = types
    shared = np.bincount(type_of)[types] > 1
    order = np.flatnonzero(shared)[np.argsort(types[shared], kind="stable")]
    leaving: list[int] = []
    for records in np.split(order, np.flatnonzero(np.diff(types[order])) + 1) if len(order) else ():
        if _keeps(closeness, values[records], delta):
            continue
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
            # The class in which the worst value has most neighbours leaves.
            goes = int(np.where(stays, near[:, worst], -1).argmax())
            stays[goes] = False
            there, around = there - counts[goes], around - near[goes]
            leaving.append(int(numbers[goes]))
    return np.array(leaving, dtype=np.int64)


def _require_possible(advice: Advice, model: Dissimilarity) -> None:
    """Refuse a delta that no partition reaches."""
    most = advice.possible(model.k)
    if model.delta > most * (1 + 1e-9):
        raise InfeasibleError(
            f"delta = {model.delta:g} is not achievable: {advice.clique} of {advice.records} records have "
            f"sensitive values within epsilon = {model.epsilon:g} of each other, so that delta can be "
            f"{most:.4g} at most with k = {model.k}"
        )


def _no_guarantee(table: Table, advice: Advice, model: Dissimilarity) -> str:
    if table.owners is not None:
        return (
            "it was not certain beforehand that this guarantee is achievable, because some persons have "
            "several records, which must not be in the same class"
        )
    best = advice.guaranteed(model.k)
    return (
        f"it was not certain beforehand that this guarantee is achievable: one record has "
        f"{advice.degree} others within epsilon = {model.epsilon:g}; "
        + (
            f"with k = {model.k}, delta = {best:.4g} is guaranteed"
            if best is not None
            else f"with k = {model.k}, no delta is guaranteed"
        )
    )


def _failure(coloring: Coloring, model: Dissimilarity, allowed: NDArray[np.int32] | None = None) -> str:
    class_of, neighbours = coloring.class_of, coloring.neighbours
    sizes = np.bincount(class_of)
    allowed = allowed_neighbours(sizes, model.delta) if allowed is None else allowed
    violating = neighbours > allowed[class_of]
    reached = 1 - float((neighbours / np.maximum(sizes[class_of] - 1, 1)).max())
    return (
        f"no partition was found that keeps delta = {model.delta:g} with k = {model.k} and epsilon = "
        f"{model.epsilon:g}: {int(violating.sum())} records in {len(np.unique(class_of[violating]))} of "
        f"{len(sizes)} classes still have too many neighbours, and the delta reached in all classes "
        f"is {max(reached, 0.0):.4g}; it was not certain beforehand that this delta is achievable "
        "(`shoal.advise` tells which ones are)"
    )
