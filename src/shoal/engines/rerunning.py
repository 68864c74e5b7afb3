"""The attacker who has the code: runs a method repeatedly, and learns what its rows reveal."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
from numpy.typing import NDArray

from shoal.errors import InputError, Reason
from shoal.kinds.generalized import Cells
from shoal.methods import Progress
from shoal.recoding import Recoding
from shoal.recoding.coverage import Graph
from shoal.release import Release
from shoal.schema import Schema

SEEN = 20
"""A release that occurred this often in training is recognized as a whole; others are judged row by row."""

FEWEST = 20
"""The minimum number of runs where a release is made: with fewer, the figures would say nothing."""

MOST = 5_000
"""The maximum number of records. The attacker compares every record with every row."""

CONFIDENCE = 1.96
"""Standard errors on each side of a figure: 19 of 20 intervals contain the true one."""

Row = tuple[str, ...]


@dataclass(frozen=True)
class Guesses:
    """How often the best guess about a person was right.

    Parameters
    ----------
    right
        The share of right guesses, over all persons and test runs.
    error
        Half the width of its 95% confidence interval.
    worst
        The share of right guesses about the person for whom it is the highest.
    certain
        The share of persons and test runs in which the attacker was certain, although another value was
        possible; None if no release was recognized as a whole.

    Examples
    --------
    >>> shoal.Guesses(right=0.5, error=0.02, worst=0.6).as_dict()["worst"]
    0.6
    """

    right: float
    error: float
    worst: float
    certain: float | None = None

    def as_dict(self) -> dict[str, Any]:
        """Return the figures as plain data."""
        return {"right": self.right, "error": self.error, "worst": self.worst, "certain": self.certain}


@dataclass(frozen=True)
class RepeatedAttack:
    """The gain of an attacker who knows all quasi-identifiers and runs the method on them repeatedly.

    Parameters
    ----------
    training, tests
        The number of runs to learn from, and of runs to guess in.
    least_chance
        The mean of the least chance in the audits of the test runs; None if one was not computed.
    row
        Guesses of the row of a person.
    row_knowing_values
        The same by an attacker who knows the sensitive values of everyone; None without a sensitive column.
    values
        Guesses of the value in each sensitive column, by an attacker who knows only how often each occurs.

    Examples
    --------
    >>> guesses = shoal.Guesses(right=0.5, error=0.02, worst=0.6)
    >>> shoal.RepeatedAttack(200, 100, 0.5, guesses, None).as_dict()["row"]["right"]
    0.5
    """

    training: int
    tests: int
    least_chance: float | None
    row: Guesses
    row_knowing_values: Guesses | None
    values: Mapping[str, Guesses] = field(default_factory=dict)

    def as_dict(self) -> dict[str, Any]:
        """Return the figures as plain data."""
        known = self.row_knowing_values
        return {
            "training": self.training,
            "tests": self.tests,
            "least_chance": self.least_chance,
            "row": self.row.as_dict(),
            "row_knowing_values": None if known is None else known.as_dict(),
            "values": {column: guesses.as_dict() for column, guesses in self.values.items()},
        }


def run_again(
    frame: nw.DataFrame[Any],
    schema: Schema,
    make: Callable[[Any, int | None], Release[Any]],
    *,
    training: int,
    tests: int,
    seed: int | None,
    progress: Progress,
) -> RepeatedAttack:
    """Run a method on a table with its sensitive values assigned at random, learn from that, and guess.

    Parameters
    ----------
    frame, schema
        The table and its schema.
    make
        Makes a release of a table with a seed, as the attacker does.
    training, tests, seed, progress
        As for `repeated_attack`.

    Raises
    ------
    InputError
        If there are too few runs, or too many records.
    """
    if training < 1 or tests < 2:
        raise InputError(
            f"training = {training} and tests = {tests} are not possible; there must be at least one run to "
            "learn from and two to guess in",
            reason=Reason.PARAMETER,
        )
    _require_few(frame)
    attack = _Attacker(frame, schema)
    random = np.random.default_rng(seed)
    chances: list[float | None] = []
    for run in range(training + tests):
        progress("running the method again", run / (training + tests))
        dealt, values = attack.dealt(random)
        release = make(dealt, None if seed is None else int(random.integers(2**63)))
        if run < training:
            attack.learn(release, values)
        else:
            attack.guess(release, values)
            chance = release.audit.chance
            chances.append(None if chance is None or chance.least is None else float(chance.least))
    progress("running the method again", 1.0)
    known = [chance for chance in chances if chance is not None]
    least = float(np.mean(known)) if len(known) == len(chances) else None
    return attack.result(training, tests, least)


def checked_runs(runs: Any, frame: nw.DataFrame[Any]) -> int:
    """Return how often the method of a release runs again.

    Raises
    ------
    InputError
        If it is not a whole number of at least 20, or the table has too many records.
    """
    if isinstance(runs, bool) or not isinstance(runs, int) or runs < FEWEST:
        raise InputError(
            f"run_again = {runs!r} must be a whole number of at least {FEWEST}",
            reason=Reason.PARAMETER,
            parameter="run_again",
        )
    _require_few(frame)
    return runs


def _require_few(frame: nw.DataFrame[Any]) -> None:
    if len(frame) > MOST:
        raise InputError(
            f"the table has {len(frame):,} records; the attack that runs the method again supports at most "
            f"{MOST:,}, so give a sample of them",
            reason=Reason.PARAMETER,
            parameter="run_again",
        )


class _Attacker:
    """What the attacker has learned, and how often it was right."""

    def __init__(self, frame: nw.DataFrame[Any], schema: Schema) -> None:
        self._frame = frame
        self._sensitive = [column.name for column in schema.sensitive]
        quasi = {column.name for column in schema.quasi}
        self._hidden = {column.name for column in schema.columns if column.name not in quasi}
        self._values = {name: np.array(frame[name].cast(nw.String).to_list()) for name in self._sensitive}
        # How often a row that looks like this carried each record; how often each release occurred, and with
        # which value of each record.
        self._rows: dict[Row, Counter[int]] = defaultdict(Counter)
        self._times: Counter[Any] = Counter()
        self._seen: dict[Any, dict[str, list[Counter[str]]]] = {}
        self._right: dict[str, list[NDArray[np.bool_]]] = defaultdict(list)
        self._certain: dict[str, list[NDArray[np.bool_]]] = defaultdict(list)

    def dealt(self, random: np.random.Generator) -> tuple[Any, dict[str, NDArray[np.str_]]]:
        """Return the table with its sensitive values assigned at random, and the values of each record."""
        order = random.permutation(len(self._frame))
        columns = [self._frame[name][order.tolist()] for name in self._sensitive]
        dealt = self._frame.with_columns(*columns) if columns else self._frame
        return dealt.to_native(), {name: values[order] for name, values in self._values.items()}

    def learn(self, release: Release[Any], values: Mapping[str, NDArray[np.str_]]) -> None:
        """Count who has which rows, and which values, in a release."""
        rows, shown = self._texts(release)
        for row, record in zip(rows, release.key, strict=True):
            self._rows[row][int(record)] += 1
        whole = _whole(rows, shown)
        self._times[whole] += 1
        counts = self._seen.setdefault(
            whole, {name: [Counter() for _ in range(len(self._frame))] for name in values}
        )
        for name, of_record in values.items():
            for counter, value in zip(counts[name], of_record, strict=True):
                counter[value] += 1

    def guess(self, release: Release[Any], values: Mapping[str, NDArray[np.str_]]) -> None:
        """Guess the row and the values of each record in a release, and look who was right."""
        rows, shown = self._texts(release)
        covering, match = _coverage(release, len(self._frame))
        likely = np.zeros(covering.shape)
        for place, row in enumerate(rows):
            counter = self._rows.get(row, Counter())
            found = np.array([counter[record] for record in range(len(covering))])
            likely[:, place] = (found + 1) / (found.sum() + covering[:, place].sum())
        likely[~covering] = 0.0
        own = np.empty(len(covering), dtype=np.int64)
        own[:] = -1
        own[release.key] = np.arange(len(rows))
        self._right["row"].append(likely.argmax(axis=1) == own)
        whole = _whole(rows, shown)
        same = np.ones(covering.shape, dtype=np.bool_)
        for name, of_record in values.items():
            same &= of_record[:, None] == shown[name][None, :]
            self._guess_values(name, of_record, shown[name], likely, match, whole)
        if values:
            self._right["row knowing values"].append((likely * same).argmax(axis=1) == own)

    def _guess_values(
        self,
        name: str,
        of_record: NDArray[np.str_],
        shown: NDArray[np.str_],
        likely: NDArray[np.float64],
        match: NDArray[np.bool_],
        whole: Any,
    ) -> None:
        familiar = self._times[whole] >= SEEN
        right = np.zeros(len(of_record), dtype=np.bool_)
        certain = np.zeros(len(of_record), dtype=np.bool_)
        kinds = np.unique(shown)
        weights = np.column_stack([likely[:, shown == kind].sum(axis=1) for kind in kinds])
        for record, value in enumerate(of_record):
            if familiar:
                counter = self._seen[whole][name][record]
                right[record] = counter.most_common(1)[0][0] == value
                certain[record] = len(counter) == 1 and len(set(shown[match[record]])) > 1
            else:
                right[record] = kinds[weights[record].argmax()] == value
        self._right[name].append(right)
        if familiar:
            self._certain[name].append(certain)

    def result(self, training: int, tests: int, least: float | None) -> RepeatedAttack:
        """Return the figures."""
        known = self._guesses("row knowing values") if self._sensitive else None
        values = {name: self._guesses(name) for name in self._sensitive}
        return RepeatedAttack(training, tests, least, self._guesses("row"), known, values)

    def _guesses(self, what: str) -> Guesses:
        right = np.array(self._right[what], dtype=np.float64)
        of_run = right.mean(axis=1)
        error = CONFIDENCE * float(of_run.std(ddof=1)) / np.sqrt(len(of_run))
        certain = float(np.mean(self._certain[what])) if self._certain.get(what) else None
        return Guesses(float(right.mean()), float(error), float(right.mean(axis=0).max()), certain)

    def _texts(self, release: Release[Any]) -> tuple[list[Row], dict[str, NDArray[np.str_]]]:
        """Return the quasi-identifiers of each row as text, and its sensitive values."""
        table = nw.from_native(release.table, eager_only=True)
        texts = {name: list(map(str, table[name].to_list())) for name in table.columns}
        names = [name for name in texts if name not in self._hidden]
        shown = {name: np.array(texts[name]) for name in self._sensitive}
        return list(zip(*(texts[name] for name in names), strict=True)), shown


def _whole(rows: list[Row], shown: Mapping[str, NDArray[np.str_]]) -> Any:
    """Return a release as something to count: its rows in order."""
    return tuple(sorted(zip(rows, *shown.values(), strict=True)))


def _coverage(release: Release[Any], records: int) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Return which rows of a release cover each record, and which of them are matches."""
    recoding = release.recoding
    if any(isinstance(values, Cells) for values in recoding.values):
        covering = match = _covered_one_by_one(recoding)  # in classes, hardly any covering row is no match
    else:
        graph = Graph.of_recoding(recoding)
        starts, boxes = graph.crowds(np.arange(len(graph.records)))
        covers = np.zeros((len(graph.records), len(graph.boxes)), dtype=np.bool_)
        covers[np.repeat(np.arange(len(graph.records)), np.diff(starts)), boxes] = True
        covering = covers[graph.record_type][:, graph.row_type]
        matches = graph.matches()
        match = covering & (matches.component_of_record[:, None] == matches.component_of_row[None, :])
    kept = recoding.table.rows
    found = np.zeros((2, records, len(release.rows)), dtype=np.bool_)
    found[0, kept], found[1, kept] = covering[:, release.rows], match[:, release.rows]
    return found[0], found[1]


def _covered_one_by_one(recoding: Recoding) -> NDArray[np.bool_]:
    """Return which rows cover each record, if some of their cells are suppressed."""
    covering = np.empty((len(recoding.table), len(recoding.box)), dtype=np.bool_)
    for record in range(len(covering)):
        inside = [
            values.covers(recoding.box, np.full(len(recoding.box), attribute.codes[record]))
            for values, attribute in zip(recoding.values, recoding.table.attributes, strict=True)
        ]
        covering[record] = np.logical_and.reduce(inside)
    return covering
