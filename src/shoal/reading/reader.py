"""The reader of a release: counts, means, tables, drawn tables and typed columns, from the release alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from itertools import product
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
import polars as pl
from numpy.typing import NDArray

from shoal.errors import InputError, Reason, did_you_mean, listing, unknown_column
from shoal.kinds import notation
from shoal.reading.answers import Answer, Count, evidence, standard_error
from shoal.reading.assumptions import Family, family_of, is_narrowed
from shoal.reading.codebook import Codebook, Tightness
from shoal.reading.columns import class_sizes, read_columns
from shoal.reading.frames import Flavour, Form, drawn_frame, in_form, of_flavour
from shoal.reading.joint import ESTIMATORS, Estimator, Joint
from shoal.reading.means import mean_evidence
from shoal.reading.mixture import RANDOM
from shoal.reading.ordered_cells import AskedRanges, OrderedCells
from shoal.reading.set_cells import AskedLabels


class Reader:
    """A release to compute with; made by `open_release`.

    Parameters
    ----------
    frame
        The released table.
    codebook
        What is known about it.
    estimator, seed
        See `open_release`.
    """

    def __init__(
        self, frame: nw.DataFrame[Any], codebook: Codebook, estimator: Estimator = "tight", seed: int = 0
    ) -> None:
        if estimator not in ESTIMATORS:
            raise InputError(
                f"estimator {estimator!r} is unknown{did_you_mean(str(estimator), ESTIMATORS)}; there is "
                f"{listing(ESTIMATORS)}",
                reason=Reason.PARAMETER,
                parameter="estimator",
            )
        if len(frame) == 0:
            raise InputError("the release has no rows", reason=Reason.NO_ROWS)
        self.codebook, self.estimator, self.seed = codebook, estimator, seed
        self._frame = frame
        self._columns, self._items = read_columns(frame, codebook, self._tightness)
        if not self._columns and not self._items:
            raise InputError(
                "the release has no column that the codebook describes", reason=Reason.UNKNOWN_COLUMN
            )

    def __repr__(self) -> str:
        return f"Reader({len(self)} rows, {len(self.columns)} columns, estimator={self.estimator!r})"

    def __len__(self) -> int:
        """Return the number of rows."""
        return len(self._frame)

    @property
    def columns(self) -> list[str]:
        """The columns that questions can be about."""
        return [*self._columns, *self._items]

    @property
    def _tightness(self) -> Tightness:
        known = self.codebook.tightness
        if self.estimator not in ("tight", "columns"):
            return Tightness()
        # If each record is covered by k rows, rows cover k records on average, even if some cover fewer.
        return (
            replace(known, records=max(known.records, self.codebook.k)) if known.around == "rows" else known
        )

    @cached_property
    def _joint(self) -> Joint:
        """The columns, and their joint distribution."""
        assumption = RANDOM
        if self.estimator in ("tight", "columns"):
            assumption = self._family.assumption
        return Joint(
            len(self), self._columns, self._items, self.estimator, self.seed, assumption, self._sharing
        )

    @cached_property
    def _family(self) -> Family:
        """What is assumed about releases of this kind."""
        return family_of(self.codebook, self._sharing)

    @cached_property
    def _sharing(self) -> NDArray[np.int64]:
        """For each row, the number of records that it was made for."""
        known = self.codebook.tightness
        if known.around == "rows" or is_narrowed(self.codebook):
            return np.full(len(self), max(known.records, self.codebook.k))
        return class_sizes(self._columns, self._items, len(self))

    def fit(self) -> Reader:
        """Estimate the joint distribution now instead of with the first question; return the reader."""
        _ = self._joint.members
        return self

    def count(self, conditions: Mapping[str, Any] | None = None, /, **named: Any) -> Count:
        """Return how many rows meet conditions.

        Parameters
        ----------
        conditions
            Conditions by column, for names that are no Python words.
        **named
            The same by keyword. A tuple is a closed range, where None is no end; a list is a set of values,
            None a missing value, anything else one value. In a column of items, a row meets the condition if
            it has at least one of the values.

        Returns
        -------
        Count
            The estimate, its standard error, and how many rows meet the conditions for certain and possibly.

        Raises
        ------
        InputError
            If there is no such column, or a condition makes no sense for it.
        """
        asked = self._asked({**(conditions or {}), **named})
        found = evidence(self._joint, asked)
        error = standard_error(found, self._family.weights)
        return Count(found.estimate, error, found.certain, found.possible)

    def mean(self, column: str, conditions: Mapping[str, Any] | None = None, /, **named: Any) -> Answer:
        """Return the mean of a column of numbers over the rows that meet conditions.

        Parameters
        ----------
        column
            The column; missing values are left out.
        conditions, **named
            See `count`.

        Raises
        ------
        InputError
            If the column has no numbers, or no row can meet the conditions.
        """
        numbers = self._columns.get(column)
        if numbers is None:
            raise unknown_column(column, self.columns, "the release")
        if not isinstance(numbers, OrderedCells) or not numbers.notes.kind.numeric:
            raise InputError(
                f"column {column!r} is {numbers.notes.kind.value}; a mean needs numbers",
                reason=Reason.BAD_VALUE,
                column=column,
            )
        asked = self._asked({**(conditions or {}), **named})
        found = mean_evidence(self._joint, numbers, asked)
        error = standard_error(found, self._family.means)
        return Answer(found.estimate, error, found.certain, found.possible)

    def table(
        self,
        by: str | Sequence[str] | Mapping[str, Sequence[Any]],
        conditions: Mapping[str, Any] | None = None,
        /,
        *,
        mean: str | None = None,
        flavour: Flavour | None = None,
        **named: Any,
    ) -> Any:
        """Return how many rows there are in each group, or the mean of a column in each.

        Parameters
        ----------
        by
            A column or several, or a mapping of columns to lists of conditions, one for each group. Without
            such a list, the groups are the values, or stretches of a long scale. They add up to all rows.
        conditions, **named
            See `count`.
        mean
            The column whose mean is asked for.
        flavour
            ``polars``, ``pandas`` or ``pyarrow``; by default that of the release.

        Returns
        -------
        frame
            A column for each of `by`, then ``estimate``, ``error``, the interval from ``low`` to ``high``,
            ``certain`` and ``possible``.
        """
        if isinstance(by, str):
            by = [by]
        groups = {name: self._groups(name, by[name] if isinstance(by, Mapping) else None) for name in by}
        others = {**(conditions or {}), **named}
        _refuse_both(others, groups)
        rows = []
        for combination in product(*groups.values()):
            asked = dict(zip(groups, (condition for _, condition in combination), strict=True))
            labels = [None if label is None else str(label) for label, _ in combination]
            found = self._group_answer(mean, {**others, **asked})
            rows.append({**dict(zip(groups, labels, strict=True)), **found})
        return of_flavour(pl.DataFrame(rows, infer_schema_length=None), self._frame, flavour)

    def _group_answer(self, mean: str | None, conditions: Mapping[str, Any]) -> dict[str, Any]:
        """Return the answer for one group; without an estimate if no row can be in it."""
        count = self.count(conditions)
        answer: Answer = count
        if mean is not None:
            if count.possible == 0:
                nothing = dict.fromkeys(("estimate", "error", "low", "high"))
                return {**nothing, "certain": 0, "possible": 0}
            answer = self.mean(mean, conditions)
        low, high = answer.interval
        data = answer.as_dict()
        return {"estimate": data["estimate"], "error": data["error"], "low": low, "high": high} | data

    def draw(self, m: int = 1, seed: int | None = None, *, flavour: Flavour | None = None) -> list[Any]:
        """Return m ordinary tables with one value in each cell, drawn from the joint estimate.

        They are functions of the release alone, so its guarantee holds for them, too. Compute a result
        from each and combine the results by Rubin's rules.

        Parameters
        ----------
        m
            The number of tables.
        seed
            Makes the tables repeatable.
        flavour
            ``polars``, ``pandas`` or ``pyarrow``; by default that of the release.

        Raises
        ------
        InputError
            If m is not a positive whole number.
        """
        if not isinstance(m, int) or isinstance(m, bool) or m < 1:
            raise InputError(
                f"m = {m!r} is not allowed; it must be a whole number of at least 1",
                reason=Reason.PARAMETER,
                parameter="m",
            )
        generator = np.random.default_rng(seed)
        drawn = [drawn_frame(self._frame, self._joint, generator) for _ in range(m)]
        return [of_flavour(each, self._frame, flavour, drawn=True) for each in drawn]

    def frame(
        self,
        form: Form = "low-high",
        *,
        copies: int = 10,
        seed: int | None = None,
        flavour: Flavour | None = None,
    ) -> Any:
        """Return the release with typed columns.

        Parameters
        ----------
        form
            ``low-high``: two columns, ``age_low`` and ``age_high``, for each quasi-identifier with an order;
            ``middle``: the middle of each interval instead; ``members``: for each other quasi-identifier
            also a column of truth values for each value, ``education=Masters``; ``long``: each row several
            times, with drawn values, its number in ``row`` and its ``weight``.
        copies
            For ``long``, how many times.
        seed
            For ``long``, makes the draws repeatable.
        flavour
            ``polars``, ``pandas`` or ``pyarrow``; by default that of the release.
        """
        if form == "long":
            parts = [
                each.with_row_index("row").with_columns(weight=pl.lit(1 / copies))
                for each in self.draw(copies, seed, flavour="polars")
            ]
            return of_flavour(pl.concat(parts).sort("row", maintain_order=True), self._frame, flavour)
        return of_flavour(in_form(self._frame, self._columns, form), self._frame, flavour)

    def _asked(self, conditions: Mapping[str, Any]) -> list[tuple[str, Any]]:
        """Return conditions as the columns understand them."""
        asked = []
        for name, condition in conditions.items():
            if name in self._items:
                asked.append((name, self._items[name].question(condition)))
            elif name in self._columns:
                column = self._columns[name]
                ready = isinstance(condition, AskedRanges | AskedLabels)
                asked.append((name, condition if ready else column.question(condition)))
            else:
                raise unknown_column(name, self.columns, "the release")
        return asked

    def _groups(self, name: str, given: Sequence[Any] | None) -> list[tuple[Any, Any]]:
        if name in self._items:
            items = self._items[name]
            return [(item, item) for item in (items.names if given is None else given)]
        if name not in self._columns:
            raise unknown_column(name, self.columns, "the release")
        if given is None:
            return self._columns[name].default_groups()
        return [(_group_label(each), each) for each in given]


def _refuse_both(conditions: Mapping[str, Any], groups: Mapping[str, Any]) -> None:
    """Refuse a column that is both in a condition and grouped by."""
    shared = sorted(set(conditions) & set(groups))
    if shared:
        raise InputError(
            f"column {shared[0]!r} is both in `by` and in a condition; give the groups that you want in `by`",
            reason=Reason.PARAMETER,
            column=shared[0],
        )


def _group_label(condition: Any) -> str:
    if isinstance(condition, tuple):
        return notation.BETWEEN.join("" if end is None else str(end) for end in condition)
    if isinstance(condition, list | set | frozenset):
        return "|".join(map(str, condition))
    return str(condition)
