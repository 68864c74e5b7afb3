"""A table as compact arrays: the quasi-identifiers as codes, all other columns unchanged."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NoReturn, Self

import narwhals.stable.v2 as nw
import numpy as np
import polars as pl
from narwhals.stable.v2.typing import IntoDataFrame
from numpy.typing import NDArray

from shoal.base.randomness import Randomness
from shoal.errors import InputError, Reason, listing
from shoal.kinds import encoding
from shoal.kinds.domain import Attribute, Codes, Domain, Sensitive
from shoal.kinds.limits import is_limited
from shoal.schema import Missing, Role, Schema, as_frame


@dataclass(frozen=True, eq=False)
class Table:
    """A table as methods use it.

    Parameters
    ----------
    schema
        What each column of the frame is.
    frame
        The original records, without those left out for a missing value.
    attributes
        The quasi-identifiers.
    sensitive
        The sensitive columns.
    rows
        The position of each record in the input.
    left_out
        Number of records left out because a value was missing (policy `suppress`).
    owners
        The person of each record, numbered from 0; None if no person has several records.
    over_limit
        Number of records left out because their person has more than are kept.
    stranded
        Number of records left out because they cannot be hidden within the limits of the columns.
    survey_weights
        How many people of the population each record stands for; None if no column says that.
    """

    schema: Schema
    frame: nw.DataFrame[Any]
    attributes: tuple[Attribute, ...]
    sensitive: tuple[Sensitive, ...]
    rows: NDArray[np.int64]
    left_out: int
    owners: NDArray[np.int32] | None = None
    over_limit: int = 0
    stranded: int = 0
    survey_weights: NDArray[np.float64] | None = None

    def __repr__(self) -> str:
        return f"Table({len(self)} records, {len(self.schema)} columns)"

    def __reduce_ex__(self, protocol: Any) -> NoReturn:
        raise TypeError(
            "a Table and objects that refer to it cannot be pickled, because it has the original records; "
            "pickle release.table, the table to publish"
        )

    def __copy__(self) -> Self:
        return self  # it is frozen

    def __deepcopy__(self, memo: Any) -> Self:
        return self

    def __len__(self) -> int:
        """Return the number of records."""
        return len(self.rows)

    def without_identifiers(self) -> Table:
        """Return the same table without the columns that are never released, to be kept after the audit."""
        kept = [c.name for c in self.schema if c.role.released and c.name in self.frame.columns]
        return replace(self, frame=self.frame[kept], owners=None, survey_weights=None)

    def only(self, records: NDArray[np.int64]) -> Table:
        """Return the table with some of its records, in this order; domains stay those of the whole."""
        owners = None
        if self.owners is not None:
            owners = np.unique(self.owners[records], return_inverse=True)[1].astype(np.int32)
            owners = owners if len(owners) and np.bincount(owners).max() > 1 else None
        return replace(
            self,
            frame=self.frame[records],
            attributes=tuple(replace(a, codes=a.codes[records]) for a in self.attributes),
            sensitive=tuple(replace(column, codes=column.codes[records]) for column in self.sensitive),
            rows=self.rows[records],
            owners=owners,
            survey_weights=None if self.survey_weights is None else self.survey_weights[records],
        )

    @property
    def limited(self) -> bool:
        """Whether a quasi-identifier has a limit."""
        return any(is_limited(column) for column in self.schema.quasi)

    def with_fewer_records(self, most: int, randomness: Randomness) -> Table:
        """Return the table with at most this number of records of each person, drawn at random.

        Raises
        ------
        InputError
            If `most` is not a positive whole number, or the schema has no person column.
        """
        require_most_per_person(most, self.schema)
        if self.owners is None:
            return self
        kept = np.flatnonzero(some_of_each(self.owners, most, randomness))
        fewer = Table.encode(self.frame[kept], self.schema)
        return replace(fewer, rows=self.rows[kept], left_out=self.left_out, over_limit=len(self) - len(kept))

    @property
    def persons(self) -> int:
        """The number of persons; that of the records if no person has several."""
        return len(self) if self.owners is None else int(self.owners.max()) + 1

    @cached_property
    def codes(self) -> Codes:
        """All quasi-identifiers, one row for each record, contiguous."""
        return np.ascontiguousarray(np.column_stack([a.codes for a in self.attributes]), dtype=np.int32)

    @cached_property
    def weights(self) -> NDArray[np.float64]:
        """The weight of each attribute; they sum to 1."""
        weights = np.array([a.column.weight for a in self.attributes], dtype=np.float64)
        return np.asarray(weights / weights.sum())

    def decode(self) -> Any:
        """Return the quasi-identifiers as a frame of the original library."""
        return encoding.same_flavour([a.decode() for a in self.attributes], self.frame).to_native()

    @classmethod
    def of_population(cls, population: IntoDataFrame, schema: Schema) -> Table:
        """Return a population as a table of quasi-identifiers, and persons if it says whose its records are.

        No record is left out for a missing value, except those that have no person.

        Parameters
        ----------
        population
            Any frame that narwhals supports; it needs the quasi-identifiers only.
        schema
            What the columns of the table are.

        Raises
        ------
        InputError
            If it does not match the schema.
        """
        quasi = (replace(column, missing=Missing.CATEGORY) for column in schema.having(Role.QUASI))
        known = as_frame(population).columns
        who = (replace(c, missing=Missing.SUPPRESS) for c in schema.having(Role.PERSON) if c.name in known)
        return cls.encode(population, Schema((*quasi, *who)), times=True)

    @classmethod
    def encode(
        cls,
        frame: IntoDataFrame,
        schema: Schema,
        *,
        domains: Mapping[str, Domain] | None = None,
        first_row: int = 0,
        times: bool = False,
    ) -> Table:
        """Turn a frame into arrays.

        Parameters
        ----------
        frame
            Any frame that narwhals supports.
        schema
            Describes the columns; others are released unchanged.
        domains
            If the frame is a part of a larger table, the domains of some of its columns there.
        first_row
            The position of its first row there.
        times
            Whether different times of a day are different values, as for the auditor; methods use days.

        Raises
        ------
        InputError
            If the schema does not fit the frame, or a value does not fit its column.
        """
        data = as_frame(frame)
        schema = schema.completed(data.columns)
        if len(data) == 0:
            raise InputError("the table has no rows", reason=Reason.NO_ROWS)
        _check_names(schema)
        series = {column.name: column.kind.read_cells(data[column.name], column) for column in schema.quasi}
        kept = _rows_to_keep(data, series, schema, first_row)
        rows = np.arange(len(data)) if kept is None else np.flatnonzero(kept)
        places = rows + first_row
        if kept is not None:
            if len(rows) == 0:
                raise InputError("every row has a missing value and would be left out", reason=Reason.NO_ROWS)
            series = {name: cells.gather(rows) for name, cells in series.items()}
        given = domains or {}
        attributes = tuple(
            column.kind.attribute(series[column.name], column, places, given.get(column.name), times=times)
            for column in schema.quasi
        )
        kept_frame = data if kept is None else data[rows]
        sensitive = tuple(encoding.sensitive(kept_frame[column.name], column) for column in schema.sensitive)
        weights = None
        if (column := schema.survey_weight) is not None:
            weights = survey_weights(kept_frame, column.name, places)
        return cls(
            *(schema, kept_frame, attributes, sensitive, places, len(data) - len(rows)),
            owners=_owners(kept_frame, schema),
            survey_weights=weights,
        )


def survey_weights(frame: nw.DataFrame[Any], name: str, rows: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return the survey weights of some records.

    Parameters
    ----------
    frame
        The records.
    name
        The column of weights.
    rows
        Their positions in the input.

    Raises
    ------
    InputError
        If there is no such column, or some value is no positive number.
    """
    if name not in frame.columns:
        raise InputError(
            f"the original has no column {name!r} of survey weights", reason=Reason.PARAMETER, column=name
        )
    cells = pl.Series(frame[name].to_list(), strict=False)
    numbers = cells.cast(pl.Float64, strict=False).fill_null(0.0).to_numpy()
    wrong = ~(np.isfinite(numbers) & (numbers > 0))
    if wrong.any():
        raise InputError(
            f"column {name!r} has {int(wrong.sum()):,} survey weights that are not positive numbers, the "
            f"first in row {int(rows[wrong.argmax()]) + 1}",
            reason=Reason.BAD_VALUE,
            column=name,
        )
    return np.asarray(numbers, dtype=np.float64)


def require_most_per_person(most: int, schema: Schema) -> None:
    """Refuse a limit on the records of each person that is no such limit, or that nothing is limited by.

    Raises
    ------
    InputError
        If it is not a positive whole number, or the schema has no person column.
    """
    if isinstance(most, bool) or not isinstance(most, int) or most < 1:
        raise InputError(
            f"most_per_person = {most!r} is not a positive whole number",
            reason=Reason.PARAMETER,
            parameter="most_per_person",
        )
    if schema.person is None:
        raise InputError(
            "most_per_person needs a column that says whose record each is; name it (person)",
            reason=Reason.PARAMETER,
            parameter="most_per_person",
        )


def some_of_each(owners: NDArray[np.integer[Any]], most: int, randomness: Randomness) -> NDArray[np.bool_]:
    """Return which records are kept if at most this number of each person's are, drawn at random."""
    drawn = randomness.permutation(len(owners))
    order = drawn[np.argsort(owners[drawn], kind="stable")]
    number = np.arange(len(owners)) - np.searchsorted(owners[order], owners[order])
    kept = np.zeros(len(owners), dtype=np.bool_)
    kept[order[number < most]] = True
    return kept


def _check_names(schema: Schema) -> None:
    """Refuse a table with a column whose name the release needs for another column."""
    for column in schema.quasi:
        columns = column.kind.released_columns(column.name)
        for name in columns[1:]:
            if name in schema.names:
                raise InputError(
                    f"column {name!r} has a name that the release needs: {column.name!r} becomes "
                    f"{listing(columns)}; rename one of the two",
                    reason=Reason.DUPLICATE_COLUMN,
                    column=name,
                )


def _owners(frame: nw.DataFrame[Any], schema: Schema) -> NDArray[np.int32] | None:
    """Return the person of each record, numbered; None if there is no such column or each has one record."""
    column = schema.person
    if column is None:
        return None
    owners = encoding.sensitive(frame[column.name], column).codes
    return owners.astype(np.int32) if np.bincount(owners).max() > 1 else None


def _rows_to_keep(
    data: nw.DataFrame[Any], series: dict[str, pl.Series], schema: Schema, first_row: int
) -> NDArray[np.bool_] | None:
    """Return which rows the missing-value policies keep, or None for all."""
    kept: NDArray[np.bool_] | None = None
    for column in (*schema.quasi, *schema.sensitive, *schema.having(Role.PERSON)):
        # A record without a person may be anyone's, so that is never a person of its own.
        person = column.role is Role.PERSON
        if column.missing is Missing.CATEGORY and not person:
            continue
        cells = series.get(column.name)
        if cells is None:
            missing = encoding.missing_in(data[column.name], column)
        else:
            missing = cells.is_null().to_numpy()
        if not missing.any():
            continue
        if column.missing is not Missing.SUPPRESS:
            policies = "suppress, which leaves these records out" if person else "category or suppress"
            raise InputError(
                f"column {column.name!r} must not have missing values, but {int(missing.sum())} are missing, "
                f"the first in row {first_row + int(missing.argmax()) + 1}; give them a value, or choose "
                f"another policy ({policies})",
                reason=Reason.MISSING_VALUE,
                column=column.name,
            )
        kept = ~missing if kept is None else kept & ~missing
    return kept
