"""A release beside its original, read once: each fact about it is computed when it is first asked for."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.auditing.chance import Chance, promised_chance
from shoal.auditing.classes import Classes, Diversity, classes_of, diversity_of
from shoal.auditing.consistency import Consistency, consistency_of, diversity_around, graph_of
from shoal.auditing.persons import Persons, persons_of
from shoal.auditing.principles import Principles, principles_of
from shoal.auditing.proximity import Proximity, proximity_of_classes
from shoal.auditing.reading import ReleasedColumn, read_release
from shoal.auditing.suppression import Suppression, suppressions_of
from shoal.errors import InputError
from shoal.kinds.domain import Sensitive
from shoal.kinds.encoding import sensitive as encode_sensitive
from shoal.measures.distances import Distance, Equality, LinearDistance, distance_of, distance_over
from shoal.models import RequiredDistance
from shoal.recoding.coverage import Graph, Matches
from shoal.schema import Column, as_frame
from shoal.table import Table


class ReleasedTable:
    """A release as an outsider reads it, beside the original: all that audit rules may look at.

    Parameters
    ----------
    released
        The release, any frame that narwhals supports.
    table
        The original.
    key
        For each released row, the record of the table it was made from, if the auditor may know.
    """

    def __init__(self, released: Any, table: Table, key: NDArray[np.int64] | None = None) -> None:
        self.frame, self.table, self.key = as_frame(released), table, key
        self._proximity: dict[RequiredDistance, Proximity] = {}

    def __len__(self) -> int:
        return len(self.frame)

    @cached_property
    def columns(self) -> tuple[ReleasedColumn, ...]:
        """The cells of the quasi-identifiers."""
        return read_release(self.frame, self.table)

    @cached_property
    def sensitive(self) -> dict[str, Sensitive]:
        """The sensitive columns that the release has, as codes, by name."""
        return {
            column.name: encode_sensitive(self.frame[column.name], column)
            for column in self.table.schema.sensitive
            if column.name in self.frame.columns
        }

    @cached_property
    def classes(self) -> Classes:
        """The classes of identical rows."""
        return classes_of(self.graph)

    @cached_property
    def graph(self) -> Graph:
        """Which rows cover which records."""
        return graph_of(self.columns, self.table)

    @cached_property
    def consistency(self) -> Consistency:
        """How many rows cover each record, and how many records each row covers."""
        return consistency_of(self.columns, self.table, self.key, self.graph)

    @cached_property
    def matches(self) -> Matches:
        """Which of the covering rows can be a record's own when every record needs a row."""
        return self.graph.matches(self.key)

    @cached_property
    def chance(self) -> Chance | None:
        """The least chance, however long it takes; None if some rows have no record of their own."""
        return promised_chance(self.graph, self.matches)

    @cached_property
    def persons(self) -> Persons | None:
        """How well persons are hidden; None if no column says whose record each is."""
        if self.table.schema.person is None:
            return None
        return persons_of(self.table, self.graph, self.matches, self.key)

    @cached_property
    def diversity(self) -> tuple[Diversity, ...]:
        """How diverse each sensitive column is in the classes."""
        return tuple(diversity_of(shown, self.classes) for shown in self.sensitive.values())

    @cached_property
    def diversity_overall(self) -> tuple[Diversity, ...]:
        """How diverse each sensitive column is in the release as a whole."""
        whole = Classes(np.zeros_like(self.classes.of_row), np.array([len(self)]))
        return tuple(diversity_of(shown, whole) for shown in self.sensitive.values())

    @cached_property
    def diversity_consistent(self) -> tuple[Diversity, ...]:
        """How diverse each sensitive column is among the rows that cover each record; empty if none does."""
        if not self.consistency.rows_of_record.any():
            return ()
        return tuple(diversity_around(shown, self.graph) for shown in self.sensitive.values())

    @cached_property
    def diversity_around(self) -> tuple[Diversity, ...]:
        """How diverse each sensitive column is among the matches of each record."""
        if not (self.matches.matches_of_record < self.consistency.rows_of_record).any():
            return self.diversity_consistent
        return tuple(diversity_around(shown, self.graph, self.matches) for shown in self.sensitive.values())

    @cached_property
    def suppressions(self) -> tuple[Suppression, ...]:
        """Which cells rows suppress, those of most rows first."""
        return suppressions_of(self.columns, self.table)

    def proximity(self, required: RequiredDistance) -> Proximity | None:
        """Return how close sensitive values are in the classes, as a model measures it; None without any."""
        if self.sensitive and required not in self._proximity:
            what = self.composite(self.table.schema.sensitive, required.distance)
            limits: dict[str, Any] = {"epsilon": required.epsilon, "delta": required.delta}
            self._proximity[required] = proximity_of_classes(self.classes, *what, **limits)
        return self._proximity.get(required)

    def composite(
        self, columns: Sequence[Column], distance: str | Callable[[Any, Any], float] | None
    ) -> tuple[str, NDArray[np.int32], Distance]:
        """Return some sensitive columns as one: its name, the value of each row, and the distance."""
        there = [column for column in columns if column.name in self.sensitive]
        shown = [self.sensitive[column.name] for column in there]
        return " and ".join(column.name for column in there), *distance_over(shown, there, distance)

    def principles(self, epsilon: float | None) -> tuple[Principles, ...]:
        """Return how far the classes keep other principles, by the distance that suits each column."""
        found = []
        for name, shown in self.sensitive.items():
            distance: LinearDistance = Equality(len(shown))
            with suppress(InputError):  # a release may hold other values than its schema says
                distance = distance_of(shown.values, self.table.schema[name])
            found.append(principles_of(self.classes, name, shown.codes, distance, epsilon))
        return tuple(found)
